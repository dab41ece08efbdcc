/* SPDX-License-Identifier: Apache-2.0 */
/* Are the open crashes of the target fixed in this build? */
#include "base/clock.h"
#include "runner/crash/ledger_fix.h"
#include "runner/crash/ledger_input.h"
#include "runner/crash/odds.h"
#include "runner/schedule/task.h"
#include "runner/schedule/triage_internal.h"

#include <stdio.h>
#include <string.h>

/* Here, and on the commit on which it was seen last nothing has changed. */
static bool part_worth_checking(const struct triage *t, const struct known_crash *c,
				const struct known_crash *part)
{
	const char *commit = triage_commit(t);

	return ledger_is_asked(c, part, t->spec.target->name) &&
	       !(commit && strcmp(part->last_seen.commit, commit) == 0);
}

static bool worth_checking(const struct triage *t, const struct known_crash *c)
{
	const struct ledger *l = books_ledger(t->env->books);
	const char *commit = triage_commit(t);
	const struct known_crash *part;

	if (!ledger_state_open(c->state) || *c->merged_into ||
	    (commit && strcmp(c->last_seen.commit, commit) == 0))
		return false;
	for (size_t at = 0; (part = ledger_next_part(l, c, &at));)
		if (part_worth_checking(t, c, part))
			return true;
	return false;
}

static const struct known_crash *in_work(const struct triage *t)
{
	return ledger_find(books_ledger(t->env->books), t->names.v[t->at]);
}

static int keep_regression(void *arg, struct buf *out, struct err *e)
{
	const struct triage *t = arg;

	(void)out;
	return triage_keep(t, in_work(t), e);
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
			 clock_real_us() / USEC_PER_SEC, triage_commit(t), t->env->run, &e) < 0) {
		on_saved(t, failed ? failed : e.msg);
		return;
	}
	t->sum.fixed += was_open;
	save(t);
}

/* Nothing waits for a target that is not here, and nothing is silent about it. */
static void say_missing(struct triage *t, const struct known_crash *c, const char *target)
{
	if (!*t->sum.note && !triage_is_here(t, target))
		snprintf(
		    t->sum.note, sizeof(t->sum.note),
		    "crash %.16s passes here, but stays open: '%.60s', which found it too, was not "
		    "asked: it is not in this run",
		    c->signature, target);
}

static void say_never(struct triage *t, const struct known_crash *c, const struct known_crash *part)
{
	if (!*t->sum.note && part != c)
		snprintf(
		    t->sum.note, sizeof(t->sum.note),
		    "crash %.16s passes, but stays open: %.16s, which is merged into it, failed "
		    "too seldom for any number of passes to tell",
		    c->signature, part->signature);
}

/* All of its inputs passed here, as often as they must. */
static void all_passed(struct triage *t)
{
	const struct known_crash *c = in_work(t), *never = triage_never_told(t, c);
	const char *target = triage_waits_for(t, c);
	struct task *task;
	struct err e;
	int r = 0;

	if (target)
		say_missing(t, c, target);
	else if (never)
		say_never(t, c, never);
	if (target || never)
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

static const char *input_path(const struct triage *t)
{
	return ledger_input_path(t->check.part,
				 t->check.minimized ? LEDGER_MINIMIZED : LEDGER_INPUT);
}

/* It is the reproducer that was noted, whatever an older ledger knows of its content. */
static void reproduced(struct triage *t, const struct crash_report *r)
{
	struct ledger *l = books_ledger(t->env->books);
	const struct known_crash *c = in_work(t);
	const struct known_crash *part = t->check.part;
	struct err e;

	if (ledger_find_raw(l, t->spec.target->name, r->raw_key) == c ||
	    ledger_find(l, r->signature) == c)
		(void)!ledger_reproduced(l, part->signature, input_path(t),
					 &e); /* the next one does then */
}

static void go_on(struct triage *t);

static void on_try(void *arg, struct trial_end *end)
{
	struct triage *t = arg;
	char buf[128];
	struct err e;

	if (*end->unusable) {
		t->at += end->starved; /* it stays open */
		triage_cannot_tell(t, end);
		triage_next(t);
		return;
	}
	if (end->failed) {
		reproduced(t, end->report);
		still_fails(t);
		return;
	}
	if (ledger_passed(books_ledger(t->env->books), t->check.part->signature,
			  t->spec.target->name, triage_build(t, buf), !t->check.minimized,
			  t->check.minimized, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
		return;
	}
	t->check.passed++;
	go_on(t);
}

static void try_input(struct triage *t)
{
	struct err e;

	if (t->stopping || clock_mono_us() >= t->end_us) {
		triage_next(t);
		return;
	}
	finding_done(&t->f);
	if (!triage_path(t, input_path(t), t->f.path) ||
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
	    ledger_passes(t->check.part, t->spec.target->name, triage_build(t, buf), minimized);
}

/* The next part that this target is asked for; false: that was the last. */
static bool begin_part(struct triage *t)
{
	const struct known_crash *c = in_work(t), *part;

	do
		part = ledger_next_part(books_ledger(t->env->books), c, &t->check.at);
	while (part && !ledger_is_asked(c, part, t->spec.target->name));
	if (!part)
		return false;
	t->check.part = part;
	t->check.need = triage_needed(part);
	begin_input(t, false);
	return true;
}

static void go_on(struct triage *t)
{
	while (t->check.passed >= t->check.need) {
		if (!t->check.minimized && *t->check.part->minimized) {
			begin_input(t, true);
		} else if (!begin_part(t)) {
			all_passed(t);
			return;
		}
	}
	try_input(t);
}

/* --- one crash after the other ---------------------------------------------- */

static int check_inputs(void *arg, struct buf *out, struct err *e)
{
	const struct triage *t = arg;
	const struct ledger *l = books_ledger(t->env->books);
	const struct known_crash *part;
	int r = 0;

	(void)out;
	for (size_t at = 0; r == 0 && (part = ledger_next_part(l, in_work(t), &at));)
		r = ledger_input_check_all(t->env->state->dirfd, part, e);
	return r;
}

/* What is no longer the reproducer passes, and says nothing. */
static void on_checked(void *arg, struct slice result, const char *failed)
{
	struct triage *t = arg;

	(void)result;
	if (!failed) {
		t->check.at = t->check.need = t->check.passed = 0;
		if (begin_part(t))
			go_on(t);
		else
			all_passed(t);
		return;
	}
	if (!*t->sum.note)
		snprintf(t->sum.note, sizeof(t->sum.note), "crash %.16s stays open: %.150s",
			 t->names.v[t->at], failed);
	t->at++;
	triage_next(t);
}

static bool has_passed(const struct triage *t, const struct known_crash *part)
{
	const char *target = t->spec.target->name;
	char buf[128];
	const char *build = triage_build(t, buf);

	return ledger_passes(part, target, build, false) > 0 ||
	       ledger_passes(part, target, build, true) > 0;
}

/* Those of an older binary, and with them what others passed since: they are one count. */
static int forget_passes(struct triage *t, struct err *e)
{
	struct ledger *l = books_ledger(t->env->books);
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->names.n; i++) {
		const struct known_crash *part;

		for (size_t at = 0;
		     r == 0 && (part = ledger_next_part(l, ledger_find(l, t->names.v[i]), &at));)
			if (has_passed(t, part))
				r = ledger_passed(l, part->signature, t->spec.target->name, NULL, 0,
						  0, e);
	}
	return r;
}

static int list(struct triage *t, struct err *e)
{
	int r = triage_list(t, worth_checking, e);

	return r == 0 && t->spec.anew ? forget_passes(t, e) : r;
}

bool triage_check_step(struct triage *t)
{
	struct task *task;
	struct err e;

	if (!t->listed && list(t, &e) < 0) {
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
