/* SPDX-License-Identifier: Apache-2.0 */
/* The queue: finds the crash of each artifact. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/workdir.h"
#include "runner/crash/odds.h"
#include "runner/crash/report/json.h"
#include "runner/run/job/suppress.h"
#include "runner/run/triage/internal.h"
#include "runner/state/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The maximum number of waiting artifacts of a target. */
enum { QUEUE_MAX = WORKDIR_QUEUE_MAX };
#define STARVED_FINDER 0.2 /* share of the time that the finding cell waited for a CPU */

static int queue_open(const struct triage *t, int *ret, struct err *e)
{
	char path[300];

	snprintf(path, sizeof(path), "triage/%s", t->spec.target->name);
	return fs_open_dir(t->env->state->dirfd, path, ret, e);
}

static int triage_queue_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum engine_artifact triage_queue_kind_of(const char *name)
{
	return engine_saved(slice_of(name));
}

static bool triage_queue_is_queued(const char *name)
{
	return kept_is_lost(name) || triage_queue_kind_of(name) != ENGINE_ARTIFACT_NONE;
}

/* Whether an entry is a directory, FIFO or link.  It cannot be replayed, and not always be removed:
 * with an artifact's name it would stop each triage of the target. */
static bool is_no_file(int queue, const char *name)
{
	struct stat st;

	return fstatat(queue, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode);
}

/* Whether the artifact belongs to this triage's part.  It depends only on the name, because the
 * queue changes meanwhile. */
static bool is_in_part(const struct triage *t, const char *name)
{
	const struct triage_parts *p = t->spec.parts;
	uint64_t sum = 5381; /* djb2 */

	for (; p && *name; name++)
		sum = sum * 33 + (unsigned char)*name;
	return !p || sum % p->n == t->spec.part;
}

/* own: only regular files of this triage's part. */
static int queue_list(const struct triage *t, bool own, struct strv *ret, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	_autoclose_ int fd = -1;
	const struct dirent *ent;
	int r = queue_open(t, &fd, e);

	if (r == -ENOENT)
		return 0;
	if (r == 0 && !(d = sys_opendirat(fd, ".")))
		r = err_sys(e, "open the queue of '%s'", t->spec.target->name);
	while (r == 0 && ret->n < QUEUE_MAX) {
		ent = sys_readdir(d);
		if (!ent && errno)
			r = err_sys(e, "list the queue of '%s'", t->spec.target->name);
		if (!ent)
			break;
		if (triage_queue_is_queued(ent->d_name) &&
		    !(own && (!is_in_part(t, ent->d_name) || is_no_file(fd, ent->d_name))))
			strv_push(ret, ent->d_name);
	}
	if (ret->n > 0)
		qsort(ret->v, ret->n, sizeof(*ret->v), triage_queue_by_name);
	return r;
}

/* The known crash of an artifact that needs no replay for names; NULL: none.  The signature of a
 * timeout and similar failures has no names.  If only another target found it, the result is NULL:
 * the rate in this target must be measured. */
static const struct known_crash *triage_queue_known(const struct triage *t, const char *raw_key,
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

/* The same, but NULL if the crash has no input yet, because it was found without an artifact.  Then
 * the artifact is replayed as for a new crash. */
static const struct known_crash *known_with_input(const struct triage *t, const char *raw_key,
						  const char *signature)
{
	const struct known_crash *c = triage_queue_known(t, raw_key, signature);
	const struct known_crash *own = c ? ledger_entry(c, t->spec.target->name) : NULL;

	return own && *own->crash_file ? c : NULL;
}

/* Reads the report that is kept beside the artifact; no report is fine. */
static void read_kept(const struct triage *t, struct finding *f)
{
	struct crash_options o = {.target = t->spec.target->name};
	_autoclose_ int queue = -1;
	char build[FILE_ID_TEXT];
	enum crash_own own;
	struct err e;

	if (queue_open(t, &queue, &e) < 0 || kept_read(queue, f->name, &f->kept, &e) < 0)
		return;
	own = crash_own_find(f->kept.own);
	f->by_cell = own != CRASH_OWN_NONE && !kept_is_lost(f->name);
	o.build = file_id_text(&f->kept.binary, build);
	if (f->by_cell)
		crash_report_own(own, f->kept.detail, t->spec.target->name, &f->cell_report);
	else if (!f->kept.report || crash_report_from_json(f->kept.report, &f->cell_report, &e) < 0)
		crash_parse(f->kept.text, &o, &f->cell_report);
}

/* Takes the finding cell's report for a failure that never came back. */
static void queue_take_cell_report(struct finding *f)
{
	f->report = f->cell_report;
	f->cell_report = (struct crash_report){0};
	memcpy(f->raw_key, f->report.raw_key, sizeof(f->raw_key));
	if (f->kept.text.n > 0)
		finding_keep_output(f, f->kept.text);
	f->as_found = true;
}

static void without_hit(struct triage *t)
{
	const char *target = t->spec.target->name;

	if (t->f.cell_report.found) {
		queue_take_cell_report(&t->f);
		return;
	}
	switch (triage_queue_kind_of(t->f.name)) {
	case ENGINE_ARTIFACT_TIMEOUT:
	case ENGINE_ARTIFACT_SLOW:
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
	case ENGINE_ARTIFACT_COUNT:
	case ENGINE_ARTIFACT_CRASH:
	case ENGINE_ARTIFACT_LEAK:
		crash_report_own(CRASH_OWN_EXIT, "not reproduced", target, &t->f.report);
		break;
	}
}

/* Whether the artifact is the current input of a target that did not stop when asked.  It is a
 * failure only if it fails in a replay. */
static bool is_suspect(const struct triage *t)
{
	return triage_queue_kind_of(t->f.name) == ENGINE_ARTIFACT_SLOW;
}

/* Whether CPU pressure caused the timeout: the finding cell or a replay was starved. */
static bool machines_doing(const struct triage *t)
{
	const struct finding *f = &t->f;

	return (triage_queue_kind_of(f->name) == ENGINE_ARTIFACT_TIMEOUT || is_suspect(t)) &&
	       (f->starved || f->kept.starved >= STARVED_FINDER);
}

/* Whether the cell's deadline passed without a report. */
static bool is_late(const struct crash_report *r)
{
	return r->kind == CRASH_CELL && strcmp(r->type, "Timeout") == 0;
}

/* Whether the rate is known.  A failing replay can take long: after the triage time one hit is
 * enough. */
static bool triage_queue_is_decided(const struct triage *t)
{
	const struct finding *f = &t->f;

	return odds_reproduce(f->replays, f->hits) != ODDS_UNDECIDED ||
	       (f->hits > 0 && clock_mono_us() >= t->end_us);
}

static void triage_queue_on_replayed(void *arg, struct replay_end *end);

/* Starts the next replay, or notes the result.  Names are needed once; afterwards the cheap key
 * shows whether the failure is the same. */
static void try_again(struct triage *t)
{
	struct finding *f = &t->f;
	struct err e;

	if (f->replays > 0 && !f->failed && is_suspect(t)) {
		t->sum.passed++;
		triage_leave(t);
		return;
	}
	/* Behind undefined behaviour one pass decides: then only the cell's report is known. */
	if (triage_queue_is_decided(t) || (f->behind && f->replays > 0 && !f->failed)) {
		if (f->hits == 0 && machines_doing(t)) {
			triage_dismiss(t);
			return;
		}
		if (f->hits == 0)
			without_hit(t);
		triage_name_and_note(t);
		return;
	}
	if (triage_replay(t, f->path, f->cheap_done && !(f->report.found && *f->raw_key),
			  triage_queue_on_replayed, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
	}
}

int triage_measure(struct triage *t, struct err *e)
{
	return triage_replay(t, t->f.path, false, triage_queue_on_replayed, e);
}

static void keep_report(struct finding *f, struct replay_end *end)
{
	f->report = *end->report;
	*end->report = (struct crash_report){0};
	finding_keep_output(f, end->output);
}

static void judge_named(struct finding *f, struct replay_end *end)
{
	if (!f->report.found) {
		keep_report(f, end);
		f->hits++;
	} else if (strcmp(f->report.signature, end->report->signature) == 0) {
		f->hits++;
	}
}

/* Whether the replay ended at known undefined behaviour.  The finding cell suppressed that, and
 * found more undefined behaviour behind it. */
static bool meets_another_first(const struct triage *t, const struct replay_end *end)
{
	const struct finding *f = &t->f;
	const struct known_crash *c, *own;

	if (!end->failed || f->behind || f->cheap_done || !f->cell_report.found || f->by_cell ||
	    f->cell_report.kind != CRASH_UBSAN || end->report->kind != CRASH_UBSAN ||
	    strcmp(f->cell_report.raw_key, end->report->raw_key) == 0)
		return false;
	c = ledger_find_raw(books_ledger(t->env->books), t->spec.target->name,
			    end->report->raw_key);
	own = ledger_entry(c, t->spec.target->name);
	return own && suppress_goes_on(own) && strcmp(c->signature, f->cell_report.signature) != 0;
}

/* Whether the input must be run once more, past the undefined behaviour that it met first.  A run
 * past it that meets only undefined behaviour is no failure. */
static bool must_look_behind(struct triage *t, struct replay_end *end)
{
	struct finding *f = &t->f;
	bool first = meets_another_first(t, end);

	if (f->behind && end->failed && end->report->kind == CRASH_UBSAN)
		end->failed = false;
	f->behind |= first;
	return first;
}

static void triage_queue_on_replayed(void *arg, struct replay_end *end)
{
	struct triage *t = arg;
	struct finding *f = &t->f;
	bool cheap = !f->cheap_done || (f->report.found && *f->raw_key);

	if (*end->unusable) {
		triage_no_result(t, end);
		triage_next(t);
		return;
	}
	if (must_look_behind(t, end)) {
		try_again(t);
		return;
	}
	f->replays++;
	f->failed = f->failed || end->failed;
	f->starved = f->starved || end->starved;
	if (end->failed && !f->cheap_done) {
		const struct crash_report *r = end->report;
		const struct known_crash *c = known_with_input(t, r->raw_key, r->signature);

		memcpy(f->raw_key, end->report->raw_key, sizeof(f->raw_key));
		if (c) {
			triage_count(t, c, f->raw_key);
			return;
		}
		f->replays = 0;	  /* the measurement begins with the first replay with names */
		if (is_late(r)) { /* this report never has names */
			f->replays = f->hits = 1;
			keep_report(f, end);
		}
	} else if (end->failed && cheap) {
		f->hits += strcmp(f->raw_key, end->report->raw_key) == 0;
	} else if (end->failed) {
		judge_named(f, end);
	}
	f->cheap_done = true;
	try_again(t);
}

/* --- failures without an artifact ------------------------------------------ */

/* Names a failure without an input, from the cell's last output and its end. */
static void name_lost(struct triage *t)
{
	struct finding *f = &t->f;
	enum crash_own own = crash_own_find(f->kept.own ? f->kept.own : "");
	struct slice text = f->kept.data ? f->kept.text : SLICE("");

	if (f->cell_report.found && f->kept.by_text) {
		queue_take_cell_report(f);
		return;
	}
	if (own == CRASH_OWN_NONE)
		crash_report_own(CRASH_OWN_EXIT, "not known", t->spec.target->name, &f->report);
	else
		crash_report_own(own, f->kept.detail, t->spec.target->name, &f->report);
	memcpy(f->raw_key, f->report.raw_key, sizeof(f->raw_key));
	if (text.n > 0)
		finding_keep_output(f, text);
	f->as_found = f->kept.data != NULL;
}

static void triage_queue_note_lost(struct triage *t)
{
	struct finding *f = &t->f;
	const struct known_crash *c;

	f->lost = true;
	name_lost(t);
	if (is_late(&f->report) && f->kept.starved >= STARVED_FINDER) {
		triage_dismiss(t);
		return;
	}
	c = triage_queue_known(t, f->raw_key, f->report.signature);
	if (c)
		triage_count(t, c, f->raw_key);
	else
		triage_name_and_note(t);
}

/* Moves an entry that is no file out of the queue.  The note names the first such entry. */
static void triage_queue_set_aside(struct triage *t, int queue, const char *name)
{
	_autofree_ char *to = NULL;
	char path[600];
	struct err e;
	int r;

	snprintf(path, sizeof(path), "triage/%s/%s", t->spec.target->name, name);
	r = state_set_aside(t->env->state->dirfd, queue, name, path, &to, &e);
	if (*t->sum.note)
		return;
	if (r < 0)
		snprintf(t->sum.note, sizeof(t->sum.note), "'%.120s' is no file: %.60s", path,
			 e.msg);
	else
		snprintf(t->sum.note, sizeof(t->sum.note),
			 "no file was in the place of an artifact: look at '%.120s'", to);
}

static int set_all_aside(struct triage *t, int queue, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(queue, ".");
	CLEANUP(strv_done) struct strv odd = {0};
	const struct dirent *ent;

	if (!d)
		return err_sys(e, "open the queue of '%s'", t->spec.target->name);
	while (odd.n < QUEUE_MAX && (ent = sys_readdir(d)))
		if (is_no_file(queue, ent->d_name))
			strv_push(&odd, ent->d_name);
	for (size_t i = 0; i < odd.n; i++)
		triage_queue_set_aside(t, queue, odd.v[i]);
	return 0;
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
	if (r == 0 && t->spec.part == 0)
		r = set_all_aside(t, queue, e);
	if (r == 0 && t->spec.part == 0)
		r = kept_sweep(queue, e);
	return r == 0 ? queue_list(t, true, &t->names, e) : r;
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
		triage_queue_note_lost(t);
		return true;
	}
	/* Failures by the cell's limits share one signature, so each input is replayed. */
	c = t->f.cell_report.found && !t->f.by_cell && !machines_doing(t)
		? known_with_input(t, t->f.cell_report.raw_key, t->f.cell_report.signature)
		: NULL;
	t->f.as_found = c != NULL;
	if (c)
		triage_count(t, c, t->f.cell_report.raw_key);
	else
		try_again(t);
	return true;
}

size_t triage_queue_left(const struct triage *t)
{
	struct strv left = {0};
	struct err e;
	size_t n = queue_list(t, false, &left, &e) == 0 ? left.n : left.n + 1;

	strv_done(&left);
	return n;
}
