/* SPDX-License-Identifier: Apache-2.0 */
/* Are the open crashes of the target fixed in this build? */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/store.h"
#include "runner/crash/odds.h"
#include "runner/schedule/task.h"
#include "runner/schedule/triage_internal.h"

#include <stdio.h>
#include <string.h>

/* On the commit on which it was seen last nothing has changed. */
static bool worth_checking(const struct triage *t, const struct known_crash *c)
{
	const char *commit = t->env->commit;

	return ledger_state_open(c->state) && !*c->merged_into && *c->crash_file &&
	       strcmp(c->fuzzer, t->spec.target->name) == 0 &&
	       !(commit && strcmp(c->last_seen.commit, commit) == 0);
}

static const struct known_crash *in_work(const struct triage *t)
{
	return ledger_find(books_ledger(t->env->books), t->names.v[t->at]);
}

/* Passes on this very commit count from one run to the next. */
static unsigned passed_before(const struct triage *t, const struct known_crash *c, bool minimized)
{
	const char *commit = t->env->commit;

	if (!commit || strcmp(c->reproduction.clean_commit, commit) != 0)
		return 0;
	return (unsigned)(minimized ? c->reproduction.clean_minimized : c->reproduction.clean);
}

static int keep_regression(void *arg, struct buf *out, struct err *e)
{
	const struct triage *t = arg;
	const struct known_crash *c = in_work(t);
	const char *files[] = {c->crash_file, c->minimized};
	_autoclose_ int dir = -1;
	struct store_sum sum = {0};
	char path[300], hex[STORE_NAME];
	int r;

	(void)out;
	snprintf(path, sizeof(path), "regressions/%s", t->spec.target->name);
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
	struct err e;

	(void)result;
	if (failed ||
	    ledger_fixed(books_ledger(t->env->books), t->names.v[t->at],
			 clock_real_us() / USEC_PER_SEC, t->env->commit, t->env->run, &e) < 0) {
		on_saved(t, failed ? failed : e.msg);
		return;
	}
	t->sum.fixed++;
	save(t);
}

/* Both inputs passed as often as they were tried. */
static void all_passed(struct triage *t)
{
	const struct known_crash *c = in_work(t);
	struct task *task;
	struct err e;
	int r = 0;

	if (odds_passes(c->reproduction.tries, c->reproduction.hits) == 0)
		save(t); /* no number of passes would tell: it stays open */
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

static void try_input(struct triage *t);

static void on_try(void *arg, struct trial_end *end)
{
	struct triage *t = arg;
	struct err e;

	if (*end->unusable) {
		if (!t->stopping)
			triage_give_up(t, end->unusable);
		triage_next(t);
		return;
	}
	if (end->failed) {
		still_fails(t);
		return;
	}
	t->check.passed++;
	if (ledger_passed(books_ledger(t->env->books), t->names.v[t->at], t->env->commit,
			  !t->check.minimized, t->check.minimized, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
		return;
	}
	if (t->check.passed < t->check.need) {
		try_input(t);
		return;
	}
	if (!t->check.minimized && *in_work(t)->minimized) {
		t->check.minimized = true;
		t->check.passed = passed_before(t, in_work(t), true);
		try_input(t);
		return;
	}
	all_passed(t);
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

bool triage_check_step(struct triage *t)
{
	const struct known_crash *c;
	struct err e;
	unsigned need;

	if (!t->listed && triage_list(t, worth_checking, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
		return true;
	}
	if (t->at == t->names.n)
		return false;
	c = in_work(t);
	need = odds_passes(c->reproduction.tries, c->reproduction.hits);
	t->check.need = need > 0 ? need : 1;
	t->check.minimized = false;
	t->check.passed = passed_before(t, c, false);
	try_input(t);
	return true;
}
