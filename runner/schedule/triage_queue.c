/* SPDX-License-Identifier: Apache-2.0 */
/* The queue: what is each artifact? */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/workdir.h"
#include "runner/crash/odds.h"
#include "runner/schedule/triage_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One target's failures of one run are bounded by max_crashes; a queue of many runs
 * is worked off by as many. */
enum { QUEUE_MAX = WORKDIR_QUEUE_MAX };
#define STARVED_TOLD 0.2 /* share of the time that the finding cell waited for a CPU */

static int queue_open(const struct triage *t, int *ret, struct err *e)
{
	char path[300];

	snprintf(path, sizeof(path), "triage/%s", t->spec.target->name);
	return fs_open_dir(t->env->state->dirfd, path, ret, e);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum engine_artifact kind_of(const struct triage *t, const char *name)
{
	return engine_saved(t->spec.target->engine, slice_of(name));
}

static int queue_list(const struct triage *t, struct strv *ret, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	_autoclose_ int fd = -1;
	const struct dirent *ent;
	int r = queue_open(t, &fd, e);

	if (r == -ENOENT)
		return 0;
	if (r == 0 && !(d = sys_opendirat(fd, ".")))
		r = err_sys(e, "open the queue of '%s'", t->spec.target->name);
	while (r == 0 && ret->n < QUEUE_MAX && (ent = sys_readdir(d)))
		if (kept_is_lost(ent->d_name) || kind_of(t, ent->d_name) != ENGINE_ARTIFACT_NONE)
			r = strv_add(ret, ent->d_name, e);
	if (ret->n > 0)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_name);
	return r;
}

/* Timeouts and the like have a signature that needs no names.  That another target found the
 * signature says nothing of this one: then it is measured. */
static const struct known_crash *known(const struct triage *t, const char *raw_key,
				       const char *signature)
{
	const struct ledger *l = books_ledger(t->env->books);
	const struct known_crash *c = NULL;

	if (*raw_key)
		c = ledger_find_raw(l, t->spec.target->name, raw_key);
	if (!c && *signature && ledger_find_entry(l, signature, t->spec.target->name))
		c = ledger_find(l, signature);
	return c;
}

/* What is kept beside the artifact; that there is nothing is fine. */
static void read_kept(const struct triage *t, struct finding *f)
{
	struct crash_options o = {.target = t->spec.target->name};
	_autoclose_ int queue = -1;
	enum crash_own own;
	struct err e;

	if (queue_open(t, &queue, &e) < 0 || kept_read(queue, f->name, &f->kept, &e) < 0)
		return;
	own = crash_own_find(f->kept.own);
	f->by_cell = own != CRASH_OWN_ && !kept_is_lost(f->name);
	if (f->by_cell)
		crash_report_own(own, f->kept.detail, t->spec.target->name, &f->told);
	else if (crash_parse(f->kept.text, &o, &f->told, &e) < 0)
		f->told = (struct crash_report){0};
}

/* The finding cell's words are all that there is of a failure that never came back. */
static void take_told(struct finding *f)
{
	f->report = f->told;
	f->told = (struct crash_report){0};
	memcpy(f->raw_key, f->report.raw_key, sizeof(f->raw_key));
	if (f->kept.text.n > 0)
		finding_keep_output(f, f->kept.text);
	f->as_told = true;
}

static void without_hit(struct triage *t)
{
	const char *target = t->spec.target->name;

	if (t->f.told.found) {
		take_told(&t->f);
		return;
	}
	switch (kind_of(t, t->f.name)) {
	case ENGINE_ARTIFACT_TIMEOUT:
		crash_report_own(CRASH_OWN_TIME, NULL, target, &t->f.report);
		break;
	case ENGINE_ARTIFACT_OOM:
		crash_report_own(CRASH_OWN_MEMORY, NULL, target, &t->f.report);
		break;
	case ENGINE_ARTIFACT_PIDS:
		crash_report_own(CRASH_OWN_PIDS, NULL, target, &t->f.report);
		break;
	case ENGINE_ARTIFACT_SYSCALL:
		crash_report_own(CRASH_OWN_SECCOMP, NULL, target, &t->f.report);
		break;
	case ENGINE_ARTIFACT_NONE:
	case ENGINE_ARTIFACT_CRASH:
	case ENGINE_ARTIFACT_LEAK:
	case ENGINE_ARTIFACT_SLOW:
		crash_report_own(CRASH_OWN_EXIT, "not reproduced", target, &t->f.report);
		break;
	}
}

/* Told when the machine was busy, and not true when it was given its time. */
static bool machines_doing(const struct triage *t)
{
	const struct finding *f = &t->f;

	return kind_of(t, f->name) == ENGINE_ARTIFACT_TIMEOUT &&
	       (f->starved || f->kept.starved >= STARVED_TOLD);
}

static void on_try(void *arg, struct trial_end *end);

/* Names are needed once; after that the cheap key tells whether it is the same. */
static void try_again(struct triage *t)
{
	struct finding *f = &t->f;
	struct err e;

	if (odds_reproduce(f->tries, f->hits) != ODDS_UNDECIDED) {
		if (f->hits == 0 && machines_doing(t)) {
			triage_dismiss(t);
			return;
		}
		if (f->hits == 0)
			without_hit(t);
		triage_name_and_note(t);
		return;
	}
	if (triage_try(t, f->path, f->cheap_done && !(f->report.found && *f->raw_key), on_try, &e) <
	    0) {
		triage_give_up(t, e.msg);
		triage_next(t);
	}
}

int triage_measure(struct triage *t, struct err *e)
{
	return triage_try(t, t->f.path, false, on_try, e);
}

static void keep_report(struct finding *f, struct trial_end *end)
{
	f->report = *end->report;
	*end->report = (struct crash_report){0};
	finding_keep_output(f, end->output);
}

static void judge_named(struct finding *f, struct trial_end *end)
{
	if (!f->report.found) {
		keep_report(f, end);
		f->hits++;
	} else if (strcmp(f->report.signature, end->report->signature) == 0) {
		f->hits++;
	}
}

static void on_try(void *arg, struct trial_end *end)
{
	struct triage *t = arg;
	struct finding *f = &t->f;
	bool cheap = !f->cheap_done || (f->report.found && *f->raw_key);

	if (*end->unusable) {
		triage_cannot_tell(t, end);
		triage_next(t);
		return;
	}
	f->tries++;
	f->starved = f->starved || end->starved;
	if (end->failed && !f->cheap_done) {
		const struct crash_report *r = end->report;
		const struct known_crash *c = known(t, r->raw_key, r->signature);

		memcpy(f->raw_key, end->report->raw_key, sizeof(f->raw_key));
		if (c) {
			triage_count(t, c, f->raw_key);
			return;
		}
		f->tries = 0; /* the measurement begins with the first try with names */
	} else if (end->failed && cheap) {
		f->hits += strcmp(f->raw_key, end->report->raw_key) == 0;
	} else if (end->failed) {
		judge_named(f, end);
	}
	f->cheap_done = true;
	try_again(t);
}

/* --- failures without an artifact ------------------------------------------ */

/* Nothing can be tried: the cell's last words and its end are all that is known. */
static void name_lost(struct triage *t)
{
	struct finding *f = &t->f;
	enum crash_own own = crash_own_find(f->kept.own ? f->kept.own : "");
	struct slice text = f->kept.data ? f->kept.text : SLICE("");

	if (f->told.found && f->kept.by_text) {
		take_told(f);
		return;
	}
	if (own == CRASH_OWN_)
		crash_report_own(CRASH_OWN_EXIT, "not known", t->spec.target->name, &f->report);
	else
		crash_report_own(own, f->kept.detail, t->spec.target->name, &f->report);
	memcpy(f->raw_key, f->report.raw_key, sizeof(f->raw_key));
	if (text.n > 0)
		finding_keep_output(f, text);
	f->as_told = f->kept.data != NULL;
}

static void note_lost(struct triage *t)
{
	struct finding *f = &t->f;
	const struct known_crash *c;

	f->lost = true;
	name_lost(t);
	if (f->report.kind == CRASH_CELL && strcmp(f->report.type, "Timeout") == 0 &&
	    f->kept.starved >= STARVED_TOLD) {
		triage_dismiss(t);
		return;
	}
	c = known(t, f->raw_key, f->report.signature);
	if (c)
		triage_count(t, c, f->raw_key);
	else
		triage_name_and_note(t);
}

static int queue_begin(struct triage *t, struct err *e)
{
	_autoclose_ int queue = -1;
	int r;

	strv_done(&t->names);
	t->at = 0;
	t->listed = true;
	r = queue_open(t, &queue, e);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = kept_sweep(queue, e);
	return r == 0 ? queue_list(t, &t->names, e) : r;
}

bool triage_queue_step(struct triage *t)
{
	const struct known_crash *c;
	char relative[400];
	struct err e;

	if (!t->listed && queue_begin(t, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
		return true;
	}
	if (t->at == t->names.n)
		return false;
	finding_done(&t->f);
	snprintf(t->f.name, sizeof(t->f.name), "%s", t->names.v[t->at++]);
	snprintf(relative, sizeof(relative), "triage/%s/%s", t->spec.target->name, t->f.name);
	if (!triage_path(t, relative, t->f.path))
		return false;
	read_kept(t, &t->f);
	if (kept_is_lost(t->f.name)) {
		note_lost(t);
		return true;
	}
	/* Of what the cell did to it one signature stands for all inputs: each is run. */
	c = t->f.told.found && !t->f.by_cell && !machines_doing(t)
		? known(t, t->f.told.raw_key, t->f.told.signature)
		: NULL;
	t->f.as_told = c != NULL;
	if (c)
		triage_count(t, c, t->f.told.raw_key);
	else
		try_again(t);
	return true;
}

size_t triage_queue_left(const struct triage *t)
{
	struct strv left = {0};
	struct err e;
	size_t n = queue_list(t, &left, &e) == 0 ? left.n : 0;

	strv_done(&left);
	return n;
}
