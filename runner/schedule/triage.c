/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/crash/odds.h"
#include "runner/schedule/triage_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One target's failures of one run are bounded by max_crashes; a queue of many runs
 * is worked off by as many. */
enum { QUEUE_MAX = 10000 };
#define STARVED_TOLD 0.2 /* share of the time that the finding cell waited for a CPU */

/* Until there may be memory for a symbolizer. */
#define LATER_US (1 * USEC_PER_SEC)

void finding_done(struct finding *f)
{
	crash_report_done(&f->report);
	crash_report_done(&f->told);
	kept_done(&f->kept);
	free(f->output);
	*f = (struct finding){0};
}

void finding_keep_output(struct finding *f, struct slice text)
{
	free(f->output);
	f->n_output = 0;
	f->output = sys_malloc(text.n + 1);
	if (!f->output)
		return; /* the report says what matters */
	memcpy(f->output, text.p, text.n);
	f->n_output = text.n;
}

bool triage_path(const struct triage *t, const char *relative, char out[4096])
{
	int n = snprintf(out, 4096, "%s/%s", t->env->state->path, relative);

	return n > 0 && n < 4096;
}

void triage_give_up(struct triage *t, const char *why)
{
	if (!*t->sum.note)
		snprintf(t->sum.note, sizeof(t->sum.note), "%.199s", why);
	t->stage++;
	t->listed = false;
}

void triage_return_memory(struct triage *t)
{
	if (t->borrowed)
		t->env->return_memory(t->env->arg, t->borrowed);
	t->borrowed = 0;
}

static void on_trial(void *arg, struct trial_end *end)
{
	struct triage *t = arg;

	triage_return_memory(t);
	t->trial = NULL;
	t->done(t, end);
}

static bool borrow(struct triage *t)
{
	uint64_t bytes = t->spec.cfg->symbolizer_memory;

	if (!t->env->borrow_memory)
		return true;
	if (!t->env->borrow_memory(t->env->arg, bytes))
		return false;
	t->borrowed = bytes;
	return true;
}

/* Comes again a little later, through the loop. */
static int wait_for_memory(struct triage *t, const char *path, trial_done_fn *done, struct err *e)
{
	t->later.path = path;
	t->later.done = done;
	return loop_set_timer(t->idle, clock_mono_us() + LATER_US, e);
}

int triage_try(struct triage *t, const char *path, bool symbolize, trial_done_fn *done,
	       struct err *e)
{
	struct trial_spec s = {
	    .target = t->spec.target,
	    .cfg = t->spec.cfg,
	    .index = t->spec.index,
	    .input = path,
	    .symbolize = symbolize,
	    .until_us = t->end_us,
	    .done = on_trial,
	    .arg = t,
	};
	int r;

	if (symbolize && !borrow(t))
		return wait_for_memory(t, path, done, e);
	t->done = done;
	t->sum.trials++;
	r = trial_start(&t->env->trial, &s, &t->trial, e);
	if (r < 0)
		triage_return_memory(t);
	return r;
}

/* Names for what never came back, when there are any to be had; then it is noted. */
static void name_and_note(struct triage *t)
{
	bool wanted = triage_wants_names(t);
	struct err e;

	if (wanted && borrow(t))
		triage_names(t);
	else if (!wanted || wait_for_memory(t, t->f.path, NULL, &e) < 0)
		triage_note(t);
}

/* The one that waited for memory; false: there was none. */
static bool try_later(struct triage *t)
{
	const char *path = t->later.path;
	struct err e;

	if (!path)
		return false;
	t->later.path = NULL;
	if (!t->later.done)
		name_and_note(t);
	else if (triage_try(t, path, true, t->later.done, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
	}
	return true;
}

void triage_next(struct triage *t)
{
	struct err e;

	/* Its timer was armed before: arming it again does not allocate. */
	if (loop_set_timer(t->idle, clock_mono_us(), &e) < 0)
		triage_give_up(t, e.msg);
}

/* --- the queue ------------------------------------------------------------ */

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
		if (t->spec.target->engine->artifact(slice_of(ent->d_name)) != ENGINE_ARTIFACT_NONE)
			r = strv_add(ret, ent->d_name, e);
	if (ret->n > 0)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_name);
	return r;
}

/* Timeouts and the like have a signature that needs no names. */
static const struct known_crash *known(const struct triage *t, const char *raw_key,
				       const char *signature)
{
	const struct ledger *l = books_ledger(t->env->books);
	const struct known_crash *c = NULL;

	if (*raw_key)
		c = ledger_find_raw(l, t->spec.target->name, raw_key);
	return c || !*signature ? c : ledger_find(l, signature);
}

/* What is kept beside the artifact; that there is nothing is fine. */
static void read_kept(const struct triage *t, struct finding *f)
{
	struct crash_options o = {.target = t->spec.target->name};
	_autoclose_ int queue = -1;
	struct err e;

	if (queue_open(t, &queue, &e) < 0 || kept_read(queue, f->name, &f->kept, &e) < 0 ||
	    crash_parse(f->kept.text, &o, &f->told, &e) < 0)
		f->told = (struct crash_report){0};
}

/* The finding cell's words are all that there is of a failure that never came back. */
static void take_told(struct finding *f)
{
	f->report = f->told;
	f->told = (struct crash_report){0};
	memcpy(f->raw_key, f->report.raw_key, sizeof(f->raw_key));
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
	switch (t->spec.target->engine->artifact(slice_of(t->f.name))) {
	case ENGINE_ARTIFACT_TIMEOUT:
		crash_report_own(CRASH_OWN_TIME, NULL, target, &t->f.report);
		break;
	case ENGINE_ARTIFACT_OOM:
		crash_report_own(CRASH_OWN_MEMORY, NULL, target, &t->f.report);
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

	return t->spec.target->engine->artifact(slice_of(f->name)) == ENGINE_ARTIFACT_TIMEOUT &&
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
		name_and_note(t);
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

static bool queue_step(struct triage *t)
{
	const struct known_crash *c;
	char relative[400];

	if (t->at == t->names.n)
		return false;
	finding_done(&t->f);
	snprintf(t->f.name, sizeof(t->f.name), "%s", t->names.v[t->at++]);
	snprintf(relative, sizeof(relative), "triage/%s/%s", t->spec.target->name, t->f.name);
	if (!triage_path(t, relative, t->f.path))
		return false;
	read_kept(t, &t->f);
	c = t->f.told.found && !machines_doing(t) ? known(t, t->f.told.raw_key, t->f.told.signature)
						  : NULL;
	t->f.as_told = c != NULL;
	if (c)
		triage_count(t, c, t->f.told.raw_key);
	else
		try_again(t);
	return true;
}

int triage_list(struct triage *t,
		bool (*wanted)(const struct triage *t, const struct known_crash *c), struct err *e)
{
	const struct ledger *l = books_ledger(t->env->books);
	int r = 0;

	strv_done(&t->names);
	t->at = 0;
	t->listed = true;
	for (size_t i = 0; r == 0 && i < ledger_count(l); i++)
		if (wanted(t, ledger_at(l, i)))
			r = strv_add(&t->names, ledger_at(l, i)->signature, e);
	return r;
}

/* --- the stages ----------------------------------------------------------- */

static void finish(struct triage *t)
{
	struct strv left = {0};
	struct err e;

	if (queue_list(t, &left, &e) == 0)
		t->sum.left = left.n;
	strv_done(&left);
	strv_done(&t->names);
	finding_done(&t->f);
	triage_shrink_done(t);
	source_remove(t->idle);
	t->spec.done(t->spec.arg, &t->sum);
	free(t);
}

static bool wanted(const struct triage *t)
{
	static const unsigned flags[] = {
	    [STAGE_CHECK] = TRIAGE_CHECK,
	    [STAGE_QUEUE] = TRIAGE_QUEUE,
	    [STAGE_SHRINK] = TRIAGE_SHRINK,
	};

	return t->spec.stages & flags[t->stage];
}

static bool stage_step(struct triage *t)
{
	struct err e;

	switch (t->stage) {
	case STAGE_CHECK:
		return triage_check_step(t);
	case STAGE_QUEUE:
		if (!t->listed && queue_begin(t, &e) < 0) {
			triage_give_up(t, e.msg);
			triage_next(t);
			return true;
		}
		return queue_step(t);
	case STAGE_SHRINK:
		return triage_shrink_step(t);
	case STAGE_END:
		break;
	}
	return false;
}

static void on_idle(void *arg)
{
	struct triage *t = arg;

	if (t->stopping || clock_mono_us() >= t->end_us)
		t->stage = STAGE_END;
	else if (try_later(t))
		return;
	while (t->stage < STAGE_END) {
		if (wanted(t) && stage_step(t))
			return; /* something is under way and calls triage_next() */
		t->stage++;
		t->listed = false;
	}
	t->ending = true;
	if (t->saving == 0)
		finish(t);
}

int triage_start(const struct triage_env *env, const struct triage_spec *spec, struct triage **ret,
		 struct err *e)
{
	struct triage *t = sys_calloc(1, sizeof(*t));
	uint64_t now = clock_mono_us();
	int r;

	if (!t)
		return err_sys(e, "allocate the triage of '%s'", spec->target->name);
	t->env = env;
	t->spec = *spec;
	snprintf(t->work, sizeof(t->work), "%s", spec->work);
	t->end_us = now + spec->budget_us;
	r = loop_add_timer(env->trial.exec.loop, now, on_idle, t, &t->idle, e);
	if (r < 0) {
		free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void triage_stop(struct triage *t)
{
	t->stopping = true;
	if (t->trial)
		trial_stop(t->trial);
	triage_names_stop(t);
}
