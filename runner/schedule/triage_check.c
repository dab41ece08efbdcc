/* SPDX-License-Identifier: Apache-2.0 */
/* Are the open crashes of the target fixed in this build? */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/store.h"
#include "runner/crash/ledger_input.h"
#include "runner/crash/odds.h"
#include "runner/schedule/task.h"
#include "runner/schedule/triage_internal.h"

#include <stdio.h>
#include <string.h>

/* Where the commit is not known, passes count within one run. */
static const char *build_of(const struct triage *t, char out[128])
{
	if (t->env->commit)
		return t->env->commit;
	snprintf(out, 128, "run %.100s", t->env->run);
	return out;
}

/* On the commit on which it was seen last nothing has changed. */
static bool worth_checking(const struct triage *t, const struct known_crash *c)
{
	const char *commit = t->env->commit;

	return ledger_state_open(c->state) && !*c->merged_into && *c->crash_file &&
	       ledger_found_by(c, t->spec.target->name) &&
	       !(commit && strcmp(c->last_seen.commit, commit) == 0);
}

static const struct known_crash *in_work(const struct triage *t)
{
	return ledger_find(books_ledger(t->env->books), t->names.v[t->at]);
}

static unsigned needed(const struct known_crash *c)
{
	unsigned n = odds_passes(c->reproduction.tries, c->reproduction.hits);

	return n > 0 ? n : 1;
}

static bool has_passed(const struct triage *t, const struct known_crash *c, const char *target)
{
	char buf[128];
	const char *build = build_of(t, buf);
	unsigned need = needed(c);

	return ledger_passes(c, target, build, false) >= need &&
	       (!*c->minimized || ledger_passes(c, target, build, true) >= need);
}

/* The next target that found it, from *at on: NULL at the end. */
static const char *next_finder(const struct known_crash *c, size_t *at)
{
	size_t i = (*at)++;

	if (i == 0)
		return c->fuzzer;
	return i <= c->targets.n ? c->targets.v[i - 1] : NULL;
}

/* The one that it still depends on; NULL: all that found it say that it passes. */
static const char *waits_for(const struct triage *t, const struct known_crash *c)
{
	const char *target, *waits = NULL;

	for (size_t at = 0; (target = next_finder(c, &at));) {
		if (!*target || has_passed(t, c, target))
			continue;
		if (t->env->has_target && !t->env->has_target(t->env->arg, target))
			return target; /* one that will not come is worth a word */
		waits = target;
	}
	return waits;
}

static int keep_in(const struct triage *t, const struct known_crash *c, const char *target,
		   struct err *e)
{
	const char *files[] = {c->crash_file, c->minimized};
	_autoclose_ int dir = -1;
	struct store_sum sum = {0};
	char path[300], hex[STORE_NAME];
	int r;

	snprintf(path, sizeof(path), "regressions/%s", target);
	r = fs_mkdirs(t->env->state->dirfd, path, 0755, e);
	if (r == 0)
		r = fs_open_dir(t->env->state->dirfd, path, &dir, e);
	for (size_t i = 0; r == 0 && i < sizeof(files) / sizeof(files[0]); i++)
		if (*files[i])
			r = store_file(t->env->state->dirfd, files[i], dir, NULL, &sum, hex, e);
	if (r == 0 && sys_syncfs(dir) < 0)
		r = err_sys(e, "sync '%s'", path);
	return r;
}

/* For each target that found it: any of them may be the one where it comes back. */
static int keep_regression(void *arg, struct buf *out, struct err *e)
{
	const struct triage *t = arg;
	const struct known_crash *c = in_work(t);
	const char *target;
	int r = ledger_input_check_all(t->env->state->dirfd, c, e);

	(void)out;
	for (size_t at = 0; r == 0 && (target = next_finder(c, &at));)
		if (fs_name_ok(slice_of(target))) /* the ledger may say anything */
			r = keep_in(t, c, target, e);
	return r;
}

static void on_saved(void *arg, const char *failed)
{
	struct triage *t = arg;

	if (failed)
		triage_give_up(t, failed);
	else
		t->at++;
	triage_next(t);
}

static void save(struct triage *t)
{
	struct err e;

	if (books_save(t->env->books, on_saved, t, &e) < 0)
		on_saved(t, e.msg);
}

static void on_kept(void *arg, struct slice result, const char *failed)
{
	struct triage *t = arg;
	const struct known_crash *c = in_work(t);
	bool was_open = c && ledger_state_open(c->state);
	struct err e;

	(void)result;
	if (failed ||
	    ledger_fixed(books_ledger(t->env->books), t->names.v[t->at],
			 clock_real_us() / USEC_PER_SEC, t->env->commit, t->env->run, &e) < 0) {
		on_saved(t, failed ? failed : e.msg);
		return;
	}
	t->sum.fixed += was_open;
	save(t);
}

/* Nothing waits for a target that is not here, and nothing is silent about it. */
static void say_missing(struct triage *t, const struct known_crash *c, const char *target)
{
	if (!*t->sum.note && t->env->has_target && !t->env->has_target(t->env->arg, target))
		snprintf(
		    t->sum.note, sizeof(t->sum.note),
		    "crash %.16s passes here, but stays open: '%.60s', which found it too, was not "
		    "asked: it is not in this run",
		    c->signature, target);
}

/* Both inputs passed as often as they were tried. */
static void all_passed(struct triage *t)
{
	const struct known_crash *c = in_work(t);
	const char *target = waits_for(t, c);
	struct task *task;
	struct err e;
	int r = 0;

	if (target)
		say_missing(t, c, target);
	if (target || odds_passes(c->reproduction.tries, c->reproduction.hits) == 0)
		save(t); /* it stays open: others must say so too, or no number would tell */
	else
		r = task_start(t->env->trial.exec.loop, keep_regression, t, on_kept, t, &task, &e);
	if (r < 0)
		on_saved(t, e.msg);
}

/* It still fails, perhaps in another way: measured and noted as any artifact. */
static void still_fails(struct triage *t)
{
	struct err e;

	t->at++;
	t->f.tries = t->f.hits = 0;
	if (triage_measure(t, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
	}
}

/* It is the reproducer that was noted, whatever an older ledger knows of its content. */
static void reproduced(struct triage *t, const struct crash_report *r)
{
	struct ledger *l = books_ledger(t->env->books);
	const struct known_crash *c = in_work(t);
	const char *path = t->check.minimized ? c->minimized : c->crash_file;
	struct err e;

	if (ledger_find_raw(l, t->spec.target->name, r->raw_key) == c ||
	    ledger_find(l, r->signature) == c)
		(void)!ledger_reproduced(l, c->signature, path, &e); /* the next one does then */
}

static void go_on(struct triage *t);

static void on_try(void *arg, struct trial_end *end)
{
	struct triage *t = arg;
	char buf[128];
	struct err e;

	if (*end->unusable) {
		if (!t->stopping)
			triage_give_up(t, end->unusable);
		triage_next(t);
		return;
	}
	if (end->failed) {
		reproduced(t, end->report);
		still_fails(t);
		return;
	}
	if (ledger_passed(books_ledger(t->env->books), t->names.v[t->at], t->spec.target->name,
			  build_of(t, buf), !t->check.minimized, t->check.minimized, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
		return;
	}
	t->check.passed++;
	go_on(t);
}

static void try_input(struct triage *t)
{
	const struct known_crash *c = in_work(t);
	struct err e;

	if (t->stopping || clock_mono_us() >= t->end_us) {
		triage_next(t);
		return;
	}
	finding_done(&t->f);
	if (!triage_path(t, t->check.minimized ? c->minimized : c->crash_file, t->f.path) ||
	    triage_try(t, t->f.path, false, on_try, &e) < 0) {
		t->at++; /* its file is gone: nothing can be said of it */
		triage_next(t);
	}
}

static void begin_input(struct triage *t, bool minimized)
{
	char buf[128];

	t->check.minimized = minimized;
	t->check.passed =
	    ledger_passes(in_work(t), t->spec.target->name, build_of(t, buf), minimized);
}

static void go_on(struct triage *t)
{
	if (t->check.passed >= t->check.need && !t->check.minimized && *in_work(t)->minimized)
		begin_input(t, true);
	if (t->check.passed >= t->check.need)
		all_passed(t);
	else
		try_input(t);
}

/* --- one crash after the other ---------------------------------------------- */

static int check_inputs(void *arg, struct buf *out, struct err *e)
{
	const struct triage *t = arg;

	(void)out;
	return ledger_input_check_all(t->env->state->dirfd, in_work(t), e);
}

/* What is no longer the reproducer passes, and says nothing. */
static void on_checked(void *arg, struct slice result, const char *failed)
{
	struct triage *t = arg;

	(void)result;
	if (!failed) {
		t->check.need = needed(in_work(t));
		begin_input(t, false);
		go_on(t);
		return;
	}
	if (!*t->sum.note)
		snprintf(t->sum.note, sizeof(t->sum.note), "crash %.16s stays open: %.150s",
			 t->names.v[t->at], failed);
	t->at++;
	triage_next(t);
}

bool triage_check_step(struct triage *t)
{
	struct task *task;
	struct err e;

	if (!t->listed && triage_list(t, worth_checking, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
		return true;
	}
	if (t->at == t->names.n)
		return false;
	if (task_start(t->env->trial.exec.loop, check_inputs, t, on_checked, t, &task, &e) < 0)
		on_checked(t, SLICE(""), e.msg);
	return true;
}
