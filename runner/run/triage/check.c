/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether the open crashes of the target are fixed in this build. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/sys.h"
#include "base/task.h"
#include "runner/corpus/store.h"
#include "runner/crash/ledger/input.h"
#include "runner/crash/odds.h"
#include "runner/run/triage/internal.h"
#include "runner/targets/sanitizer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- the passes that a fix needs ------------------------------------------- */

const char *triage_commit(const struct triage *t)
{
	return t->spec.rebuilt ? NULL : t->env->commit;
}

/* The build for which passes count: the commit, or this run if the commit is not known. */
static const char *check_build(const struct triage *t, char out[128])
{
	if (triage_commit(t))
		return triage_commit(t);
	snprintf(out, 128, "run %.100s", t->env->run);
	return out;
}

/* The number of passes that each input of an entry needs: at least one, also if no number is
 * enough.
 */
static uint64_t check_passes_needed(const struct known_crash *entry)
{
	unsigned n = odds_passes(entry->reproduction.tries, entry->reproduction.hits);

	return n > 0 ? n : 1;
}

/* Whether the target is in this run. */
static bool check_is_here(const struct triage *t, const char *target)
{
	return !t->env->has_target || t->env->has_target(t->env->arg, target);
}

/* Whether all inputs that the target must replay have passed often enough. */
static bool check_has_passed(const struct triage *t, const struct known_crash *c)
{
	const struct ledger *l = books_ledger(t->env->books);
	struct ledger_asked a;
	char buf[128];
	const char *build = check_build(t, buf);

	for (size_t at = 0; ledger_next_asked(l, c, t->spec.target->name, &at, &a);) {
		uint64_t need = check_passes_needed(a.input);

		if (ledger_passes(a.count, build, false) < need ||
		    (*a.input->minimized && ledger_passes(a.count, build, true) < need))
			return false;
	}
	return true;
}

/* The entry that no number of passes proves fixed in the target; NULL: there is none. */
static const struct known_crash *check_unprovable(const struct triage *t,
						  const struct known_crash *c)
{
	const struct ledger *l = books_ledger(t->env->books);
	struct ledger_asked a;

	for (size_t at = 0; ledger_next_asked(l, c, t->spec.target->name, &at, &a);)
		if (odds_passes(a.input->reproduction.tries, a.input->reproduction.hits) == 0)
			return a.input;
	return NULL;
}

/* The target of an open entry that is not in this run; NULL: there is none. */
static const char *check_missing_target(const struct triage *t, const struct known_crash *c)
{
	for (size_t i = 0; i < c->n_by; i++)
		if (ledger_state_open(c->by[i]->state) && !check_is_here(t, c->by[i]->fuzzer))
			return c->by[i]->fuzzer;
	return NULL;
}

/* --- regressions ---------------------------------------------------------- */

static int check_keep_in(const struct triage *t, const struct known_crash *c, const char *target,
			 struct err *e)
{
	const char *files[] = {c->crash_file, c->minimized};
	_autoclose_ int dir = -1;
	struct store_sum sum = {0};
	char path[300], hex[STORE_NAME];
	int r;

	snprintf(path, sizeof(path), "regressions/%s", target);
	r = fs_make_dir(t->env->state->dirfd, path, 0755, &dir, e);
	for (size_t i = 0; r == 0 && i < sizeof(files) / sizeof(files[0]); i++)
		if (*files[i])
			r = store_file(t->env->state->dirfd, files[i], dir, NULL, &sum, hex, e);
	if (r == 0 && sys_syncfs(dir) < 0)
		r = err_sys(e, "sync '%s'", path);
	return r;
}

/* Copies all inputs that the target must replay to regressions/<target>/.  It blocks. */
static int check_keep_inputs(const struct triage *t, const struct known_crash *c, struct err *e)
{
	const struct ledger *l = books_ledger(t->env->books);
	const char *target = t->spec.target->name;
	struct ledger_asked a;
	int r = 0;

	if (!fs_name_ok(slice_of(target))) /* the ledger may contain any name */
		return 0;
	for (size_t at = 0; r == 0 && ledger_next_asked(l, c, target, &at, &a);) {
		r = ledger_input_check_all(t->env->state->dirfd, a.input, e);
		if (r == 0)
			r = check_keep_in(t, a.input, target, e);
	}
	return r;
}

/* --- the check ------------------------------------------------------------- */

/* Whether to check a crash.  A crash that was last seen on this commit is not checked: the code has
 * not changed. */
static bool check_is_worth(const struct triage *t, const struct known_crash *c)
{
	const struct ledger *l = books_ledger(t->env->books);
	const struct known_crash *own = ledger_entry(c, t->spec.target->name);
	const char *commit = triage_commit(t);
	struct ledger_asked a;
	size_t at = 0;

	if (!own || !ledger_state_open(own->state) || *c->merged_into ||
	    (commit && strcmp(own->last_seen.commit, commit) == 0))
		return false;
	if (!commit && !t->spec.rebuilt && !t->spec.anew &&
	    strcmp(own->last_seen.run, t->env->run) == 0)
		return false; /* the same program failed a moment ago */
	return ledger_next_asked(l, c, t->spec.target->name, &at, &a);
}

static const struct known_crash *check_in_work(const struct triage *t)
{
	return ledger_find(books_ledger(t->env->books), t->names.v[t->at]);
}

static int check_keep_regression(void *arg, struct buf *out, struct err *e)
{
	const struct triage *t = arg;

	(void)out;
	return check_keep_inputs(t, check_in_work(t), e);
}

static void check_on_saved(void *arg, const char *failed)
{
	struct triage *t = arg;

	if (failed)
		triage_give_up(t, failed);
	else
		t->at++;
	triage_next(t);
}

/* Notes that a crash stays open because of a target that is not in this run. */
static void check_note_missing(struct triage *t, const struct known_crash *c)
{
	const char *target = check_missing_target(t, c);

	if (!*t->sum.note && target)
		snprintf(
		    t->sum.note, sizeof(t->sum.note),
		    "crash %.16s passes here, but stays open: '%.60s', which found it too, was not "
		    "asked: it is not in this run",
		    c->signature, target);
}

static void check_save(struct triage *t)
{
	books_save(t->env->books, check_on_saved, t);
}

static void check_on_kept(void *arg, struct slice result, const char *failed)
{
	struct triage *t = arg;
	struct ledger *l = books_ledger(t->env->books);
	const char *target = t->spec.target->name;
	const struct known_crash *own = ledger_entry(check_in_work(t), target);
	bool was_open = own && ledger_state_open(own->state);
	struct err e;

	(void)result;
	if (failed || ledger_fixed(l, t->names.v[t->at], target, clock_real_us() / USEC_PER_SEC,
				   triage_commit(t), t->env->run, &e) < 0) {
		check_on_saved(t, failed ? failed : e.msg);
		return;
	}
	t->sum.fixed += was_open;
	check_note_missing(t, check_in_work(t));
	check_save(t);
}

static void check_note_unprovable(struct triage *t, const struct known_crash *c,
				  const struct known_crash *part)
{
	if (!*t->sum.note && strcmp(part->signature, c->signature) != 0)
		snprintf(
		    t->sum.note, sizeof(t->sum.note),
		    "crash %.16s passes, but stays open: %.16s, which is merged into it, failed "
		    "too seldom for any number of passes to prove a fix",
		    c->signature, part->signature);
}

/* Each input of the crash has passed here as often as is asked in this run.  Decides whether that
 * proves a fix. */
static void check_all_passed(struct triage *t)
{
	const struct known_crash *c = check_in_work(t), *never = check_unprovable(t, c);
	struct task *task;
	struct err e;

	if (never)
		check_note_unprovable(t, c, never);
	if (never || !check_has_passed(t, c))
		check_save(t); /* it stays open: a fix cannot be proved, or passes are missing */
	else if (task_start(t->env->replay.exec.loop, check_keep_regression, t, check_on_kept, t,
			    &task, &e) < 0)
		check_on_saved(t, e.msg);
}

void triage_check_failed(struct triage *t, const struct known_crash *seen)
{
	const char *checked = t->at > 0 ? t->names.v[t->at - 1] : NULL;

	if (*t->sum.note || !checked || strcmp(checked, seen->signature) == 0)
		return;
	snprintf(
	    t->sum.note, sizeof(t->sum.note),
	    "crash %.16s stays open: its input, or that of a crash merged into it, fails as crash "
	    "%.16s now",
	    checked, seen->signature);
}

/* The input still fails, perhaps in another way: it is measured and noted as any artifact. */
static void check_still_fails(struct triage *t)
{
	struct err e;

	t->at++;
	t->f.replays = t->f.hits = 0;
	if (triage_measure(t, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
	}
}

static const char *check_input_path(const struct triage *t)
{
	return ledger_input_path(t->check.asked.input,
				 t->check.minimized ? LEDGER_MINIMIZED : LEDGER_INPUT);
}

/* Confirms the input as the noted reproducer, also if the ledger has no hash of its content.
 */
static void check_reproduced(struct triage *t, const struct crash_report *r)
{
	struct ledger *l = books_ledger(t->env->books);
	const struct known_crash *c = check_in_work(t);
	const struct known_crash *of = t->check.asked.input;
	struct err e;

	if (of == t->check.asked.count &&
	    (ledger_find_raw(l, of->fuzzer, r->raw_key) == c || ledger_find(l, r->signature) == c))
		(void)!ledger_reproduced(l, of->signature, of->fuzzer, check_input_path(t),
					 &e); /* on failure the next replay does */
}

static void check_go_on(struct triage *t);

static void check_on_replayed(void *arg, struct replay_end *end)
{
	struct triage *t = arg;
	char buf[128];
	struct err e;

	if (*end->unusable) {
		t->at += end->starved; /* the crash stays open */
		triage_no_result(t, end);
		triage_next(t);
		return;
	}
	if (end->failed) {
		check_reproduced(t, end->report);
		check_still_fails(t);
		return;
	}
	if (ledger_passed(books_ledger(t->env->books), t->check.asked.count->signature,
			  t->spec.target->name, check_build(t, buf), !t->check.minimized,
			  t->check.minimized, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
		return;
	}
	t->check.passed++;
	check_go_on(t);
}

static void check_replay_input(struct triage *t)
{
	struct err e;

	if (t->stopping || clock_mono_us() >= t->end_us) {
		triage_next(t);
		return;
	}
	finding_done(&t->f);
	if (!triage_path(t, check_input_path(t), t->f.path) ||
	    triage_replay(t, t->f.path, false, check_on_replayed, &e) < 0) {
		t->at++; /* the file is gone: the crash stays open */
		triage_next(t);
	}
}

static void check_begin_input(struct triage *t, bool minimized)
{
	char buf[128];

	t->check.minimized = minimized;
	t->check.passed = ledger_passes(t->check.asked.count, check_build(t, buf), minimized);
}

/* Takes the next entry with inputs that this target must replay.  False: there is none. */
static bool check_begin_part(struct triage *t)
{
	if (!ledger_next_asked(books_ledger(t->env->books), check_in_work(t), t->spec.target->name,
			       &t->check.at, &t->check.asked))
		return false;
	t->check.need = check_passes_needed(t->check.asked.input);
	check_begin_input(t, false);
	return true;
}

static void check_go_on(struct triage *t)
{
	while (t->check.passed >= t->check.need) {
		if (!t->check.minimized && *t->check.asked.input->minimized) {
			check_begin_input(t, true);
		} else if (!check_begin_part(t)) {
			check_all_passed(t);
			return;
		}
	}
	check_replay_input(t);
}

/* --- one crash after the other ---------------------------------------------- */

static int check_verify_inputs(void *arg, struct buf *out, struct err *e)
{
	const struct triage *t = arg;
	const struct ledger *l = books_ledger(t->env->books);
	const char *target = t->spec.target->name;
	struct ledger_asked a;
	int r = 0;

	(void)out;
	for (size_t at = 0; r == 0 && ledger_next_asked(l, check_in_work(t), target, &at, &a);) {
		const char *missing = sanitizer_missing(t->spec.target, a.input->kind);

		if (missing)
			return err_set(e, ENOTSUP,
				       "this build has no %s, so its passes do not count", missing);
		r = ledger_input_check_all(t->env->state->dirfd, a.input, e);
	}
	return r;
}

/* A damaged input passes, and any input passes in a build that cannot report the failure.  Neither
 * proves a fix, so the replays start only after check_verify_inputs(). */
static void check_on_verified(void *arg, struct slice result, const char *failed)
{
	struct triage *t = arg;

	(void)result;
	if (!failed) {
		t->check.at = t->check.need = t->check.passed = 0;
		if (check_begin_part(t))
			check_go_on(t);
		else
			check_all_passed(t);
		return;
	}
	if (!*t->sum.note)
		snprintf(t->sum.note, sizeof(t->sum.note), "crash %.16s stays open: %.150s",
			 t->names.v[t->at], failed);
	t->at++;
	triage_next(t);
}

static bool check_has_any_pass(const struct triage *t, const struct known_crash *entry)
{
	char buf[128];
	const char *build = check_build(t, buf);

	return ledger_passes(entry, build, false) > 0 || ledger_passes(entry, build, true) > 0;
}

/* Forgets passes on an older binary. */
static int check_forget_passes(struct triage *t, struct err *e)
{
	struct ledger *l = books_ledger(t->env->books);
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->names.n; i++) {
		const struct known_crash *c = ledger_find(l, t->names.v[i]);
		const char *target = t->spec.target->name;
		struct ledger_asked a;

		for (size_t at = 0; r == 0 && ledger_next_asked(l, c, target, &at, &a);)
			if (check_has_any_pass(t, a.count))
				r = ledger_passed(l, a.count->signature, target, NULL, 0, 0, e);
	}
	return r;
}

/* Notes in each run the crashes that are fixed here but stay open for a missing target. */
static void check_note_all_missing(struct triage *t)
{
	const struct ledger *l = books_ledger(t->env->books);

	for (size_t i = 0; !*t->sum.note && i < ledger_count(l); i++) {
		const struct known_crash *c = ledger_at(l, i);
		const struct known_crash *own = ledger_entry(c, t->spec.target->name);

		if (own && own->state == LEDGER_FIXED && !*c->merged_into)
			check_note_missing(t, c);
	}
}

static int check_list(struct triage *t, struct err *e)
{
	triage_list(t, check_is_worth);
	check_note_all_missing(t);
	return t->spec.anew ? check_forget_passes(t, e) : 0;
}

bool triage_check_step(struct triage *t)
{
	struct task *task;
	struct err e;

	if (!t->listed && check_list(t, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
		return true;
	}
	if (t->at == t->names.n)
		return false;
	if (task_start(t->env->replay.exec.loop, check_verify_inputs, t, check_on_verified, t,
		       &task, &e) < 0)
		check_on_verified(t, SLICE(""), e.msg);
	return true;
}
