/* SPDX-License-Identifier: Apache-2.0 */
/* Runs known inputs without fuzzing, for example for a pull request. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/task.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/cells.h"
#include "runner/command/common/pace.h"
#include "runner/command/crash/crash.h"
#include "runner/command/regress/result.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct regress {
	struct session session;
	const char *workers, *commit;
	uint64_t time_us; /* for all targets together; 0: no limit */
	bool all, allow_known, json;
	struct ledger *ledger;
	struct cells cells;

	struct regress_target *targets; /* one per entry of the plan */
	size_t at;
	struct regress_inputs inputs; /* of the target at `at` */
	char *dir;		      /* the directory of the inputs */
	struct batch *batch;
	struct source *end; /* its deadline */
	uint64_t end_us;    /* the deadline of all targets */
	struct pace pace;
	bool laying;
};

#define AT(member) OPTION_AT(struct regress, member)
static const struct option_spec specs[] = {
    COMMON_OPTIONS(struct regress, session.common),
    {"time", "TIME", "time limit; inputs that were not run are reported (default: none)",
     AT(time_us)},
    {"all", NULL, "all inputs: also spare ones of the corpus, and all of it in check variants",
     AT(all)},
    {"workers", "N", "cells at once (default: one per CPU)", AT(workers)},
    {"commit", "SHA", "the commit that the targets were built from, for crashes that come back",
     AT(commit)},
    {"allow-known", NULL, "open crashes that are known do not count, but those that came back",
     AT(allow_known)},
    {"json", NULL, "print JSON", AT(json)},
};

static const struct plan_entry *entry(const struct regress *a)
{
	return &a->session.plan.v[a->at];
}

/* --- one target after the other ------------------------------------------- */

static const char no_time[] = "the time was over (--time)";

static void lay_next(struct regress *a);

static void finish_target(struct regress *a, const char *why)
{
	struct regress_target *t = &a->targets[a->at];

	if (why && !*t->why)
		snprintf(t->why, sizeof(t->why), "%.299s", why);
	source_remove(a->end);
	a->end = NULL;
	pace_end(&a->pace);
	regress_sort(t);
	regress_print_target(t, stdout);
	regress_inputs_done(&a->inputs);
	free(a->dir);
	a->dir = NULL;
	a->at++;
	lay_next(a);
}

static const char *input_name(void *arg, size_t input)
{
	const struct regress *a = arg;

	return a->inputs.v[input].name;
}

/* Notes a sighting of a known crash; a fixed crash becomes regressed. */
static int note_sighting(struct regress *a, const struct known_crash *c, struct err *e)
{
	struct crash_sighting s = {
	    .signature = c->signature,
	    .target = entry(a)->target->name,
	    .build_of = entry(a)->target->of,
	    .commit = a->commit,
	    .time = clock_real_us() / USEC_PER_SEC,
	    .by_hand = true,
	};
	struct ledger_noted n;

	return ledger_note(a->ledger, &s, &n, e);
}

/* A crash counts as seen once, however many of its inputs fail. */
static bool regress_is_first(const struct regress_target *t)
{
	const char *last = t->failed[t->n_failed - 1].signature;

	for (size_t i = 0; i + 1 < t->n_failed; i++)
		if (strcmp(t->failed[i].signature, last) == 0)
			return false;
	return true;
}

static void regress_on_failed(void *arg, const struct batch_failure *f)
{
	struct regress *a = arg;
	struct regress_target *t = &a->targets[a->at];
	const struct known_crash *c = regress_note(t, &a->inputs.v[f->input], f, a->ledger);
	struct err e;
	int r = 0;

	if (!c)
		return;
	if (regress_is_first(t))
		r = note_sighting(a, c, &e);
	if (r == 0)
		r = ledger_reproduced(a->ledger, c->signature, c->fuzzer,
				      a->inputs.v[f->input].source, &e);
	if (r < 0 && !*t->why)
		snprintf(t->why, sizeof(t->why), "%.299s", e.msg);
}

static void regress_on_replayed(void *arg, const struct batch_sum *sum)
{
	struct regress *a = arg;
	struct regress_target *t = &a->targets[a->at];

	a->batch = NULL;
	t->sum = *sum;
	t->ran = true;
	finish_target(a, *sum->why ? sum->why : sum->stopped ? "stopped" : NULL);
}

/* --- its time ------------------------------------------------------------- */

static void regress_on_end(void *arg)
{
	struct regress *a = arg;

	batch_stop(a->batch, no_time);
}

static void regress_look(void *arg, uint64_t *ret_done, uint64_t *ret_of)
{
	const struct regress *a = arg;

	*ret_done = a->batch ? batch_begun(a->batch) : 0;
	*ret_of = a->inputs.n;
}

/* Shares the remaining time equally: a target with many inputs leaves time for the others. */
static int regress_watch(struct regress *a, struct err *e)
{
	struct loop *l = a->cells.replay.exec.loop;
	uint64_t now = clock_mono_us(), left = a->end_us > now ? a->end_us - now : 0;
	int r;

	a->pace = (struct pace){
	    .look = regress_look, .arg = a, .what = a->targets[a->at].name, .unit = "inputs"};
	r = pace_begin(&a->pace, l, e);
	if (r < 0 || !a->end_us)
		return r;
	return loop_add_timer(l, now + left / (a->session.plan.n - a->at), regress_on_end, a,
			      &a->end, e);
}

static void regress_replay(struct regress *a)
{
	struct regress_target *t = &a->targets[a->at];
	struct batch_spec s = {
	    .work = a->cells.path,
	    .target = entry(a)->target,
	    .cfg = &entry(a)->cfg,
	    .workers = a->cells.workers,
	    .name = input_name,
	    .n = a->inputs.n,
	    .failed = regress_on_failed,
	    .done = regress_on_replayed,
	    .arg = a,
	};
	struct err e;

	t->inputs = a->inputs.n;
	for (size_t i = 0; i < a->inputs.n; i++)
		t->from[a->inputs.v[i].from]++;
	a->dir = xasprintf("%s/%s", a->cells.path, t->name);
	s.dir = a->dir;
	if (batch_start(&a->cells.replay, &s, &a->batch, &e) < 0)
		finish_target(a, e.msg);
	else if (regress_watch(a, &e) < 0)
		batch_stop(a->batch, e.msg);
}

/* Runs in a child process. First removes the inputs of the previous target. */
static int lay(void *arg, struct buf *out, struct err *e)
{
	const struct regress *a = arg;
	struct regress_sources s = {
	    .state = a->session.state, .ledger = a->ledger, .target = entry(a), .all = a->all};
	struct regress_left left = {0};
	int r = 0;

	if (a->at > 0)
		r = fs_remove_tree(a->cells.dirfd, a->targets[a->at - 1].name, e);
	if (r == 0)
		r = regress_inputs_lay(&s, a->cells.dirfd, entry(a)->target->name, &left, e);
	buf_put(out, (struct slice){(const char *)&left, sizeof(left)});
	return r < 0 ? r : buf_check(out, e);
}

static void on_laid(void *arg, struct slice result, const char *failed)
{
	struct regress *a = arg;
	struct regress_target *t = &a->targets[a->at];
	struct err e;

	a->laying = false;
	if (!failed && result.n != sizeof(t->left))
		failed = "a task gave no result";
	if (!failed)
		memcpy(&t->left, result.p, sizeof(t->left));
	if (failed)
		finish_target(a, failed);
	else if (cells_stopped(&a->cells))
		finish_target(a, "stopped");
	else if (regress_inputs_load(a->cells.dirfd, t->name, &a->inputs, &e) < 0)
		finish_target(a, e.msg);
	else
		regress_replay(a);
}

/* Returns why the target cannot run; NULL: it can. */
static const char *cannot_run(const struct regress *a)
{
	if (cells_stopped(&a->cells))
		return "stopped";
	return a->end_us && clock_mono_us() >= a->end_us ? no_time : entry(a)->target->unbuilt;
}

static void lay_next(struct regress *a)
{
	struct loop *l = a->cells.replay.exec.loop;
	struct task *task;
	struct err e;

	for (; a->at < a->session.plan.n; a->at++) {
		struct regress_target *t = &a->targets[a->at];
		const char *why = cannot_run(a);

		if (!why && task_start(l, lay, a, on_laid, a, &task, &e) == 0) {
			a->laying = true;
			return;
		}
		snprintf(t->why, sizeof(t->why), "%.299s", why ? why : e.msg);
		if (!cells_stopped(&a->cells))
			regress_print_target(t, stdout);
	}
	loop_stop(l);
}

static void regress_on_stop(void *arg)
{
	struct regress *a = arg;

	if (a->batch)
		batch_stop(a->batch, NULL);
}

/* --- all of them ---------------------------------------------------------- */

/* Reports whether the target is in this run, or need not be: the entry has no reproducer, or is
 * ignored. */
static bool is_here(const struct regress *a, const struct known_crash *entry)
{
	const struct known_crash *is =
	    ledger_find_entry(a->ledger, entry->signature, entry->fuzzer);
	bool here = !*entry->crash_file || (is ? is : entry)->state == LEDGER_IGNORED;

	for (size_t k = 0; !here && k < a->session.plan.n; k++)
		here = strcmp(a->session.plan.v[k].target->name, entry->fuzzer) == 0;
	return here;
}

/* Reports reproducers of targets that are not in this run. */
static size_t regress_say_others(const struct regress *a)
{
	size_t n = 0;

	if (a->session.common.filter)
		return 0;
	for (size_t i = 0; i < ledger_count(a->ledger); i++) {
		const struct known_crash *c = ledger_at(a->ledger, i);

		for (size_t k = 0; k < c->n_by; k++)
			if (!is_here(a, c->by[k])) {
				n++;
				break;
			}
	}
	if (n)
		printf("%zu known crashes are of targets that are not here: not run\n", n);
	return n;
}

static int regress_conclude(struct regress *a, json_t **ret)
{
	struct regress_total total = regress_sum(a->targets, a->session.plan.n);
	struct err e;
	int r;

	total.elsewhere = regress_say_others(a);
	regress_print_total(&total, a->session.plan.n, stdout);
	if (a->json)
		*ret = regress_json(a->targets, a->session.plan.n, &total);
	if (ledger_save(a->ledger, a->session.state->dirfd, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	r = regress_exit(&total, a->allow_known);
	return r == EXIT_DONE && a->session.common.targets.partial ? EXIT_NOT_FUZZED : r;
}

/* Whether a check variant has an input to run: of a known crash, or of a fixed one. */
static bool regress_wants(void *arg, const struct target *build)
{
	const struct regress *a = arg;
	_autofree_ char *fixed = xasprintf("regressions/%s", build->name);

	for (size_t i = 0; i < ledger_count(a->ledger); i++)
		if (ledger_entry(ledger_at(a->ledger, i), build->name))
			return true;
	return a->all || faccessat(a->session.state->dirfd, fixed, F_OK, 0) == 0;
}

static int regress_add_checks(struct regress *a)
{
	struct err e;

	return plan_add_builds(a->session.common.config, 1u << ROLE_CHECK | 1u << ROLE_FUZZ,
			       regress_wants, a, &a->session.plan, &e) < 0
		   ? fail(EXIT_USAGE, "%s", e.msg)
		   : EXIT_DONE;
}

static int run_all(struct regress *a)
{
	int r = session_open(&a->session);

	if (r == EXIT_DONE)
		r = crash_ledger(a->session.state, &a->ledger);
	if (r == EXIT_DONE)
		r = regress_add_checks(a);
	if (r == EXIT_DONE)
		r = cells_open(&a->cells, &a->session, "regress");
	if (r != EXIT_DONE)
		return r;
	if (a->time_us)
		a->end_us = clock_mono_us() + a->time_us;
	a->targets = xcalloc(a->session.plan.n + 1, sizeof(*a->targets));
	for (size_t i = 0; i < a->session.plan.n; i++)
		a->targets[i].name = a->session.plan.v[i].target->name;
	lay_next(a);
	return a->laying ? cells_run(&a->cells, regress_on_stop, a) : EXIT_DONE;
}

static int regress(struct regress *a)
{
	int begun = answer_begin(a->json);
	json_t *answer = NULL;
	int r = session_load(&a->session);

	if (r == EXIT_DONE)
		r = session_set(&a->session, "run.workers", a->workers, "--workers");
	if (r == EXIT_DONE)
		r = session_recall(&a->session);
	if (r == EXIT_DONE)
		r = session_plan(&a->session);
	if (r == EXIT_DONE)
		r = run_all(a);
	if (r == EXIT_DONE)
		r = regress_conclude(a, &answer);
	return answer_end(begun, answer, r);
}

int command_regress(int argc, char **argv)
{
	struct regress a = {0};
	int at = options_parse(argc, argv, "regress [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	int r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "regress: unexpected '%s'", argv[at]);
	r = regress(&a);
	for (size_t i = 0; a.targets && i < a.session.plan.n; i++)
		regress_target_done(&a.targets[i]);
	free(a.targets);
	ledger_free(a.ledger);
	cells_close(&a.cells);
	session_close(&a.session);
	return r;
}
