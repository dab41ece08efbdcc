/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/cells.h"
#include "runner/command/common/pace.h"
#include "runner/command/crash/crash.h"
#include "runner/crash/ledger/input.h"
#include "runner/run/triage/triage.h"

#include <stdio.h>
#include <string.h>

struct minimize {
	struct session session;
	uint64_t time_us; /* 0: as configured */
	struct crash_subject subject;
	const char *target;
	bool json;
	json_t *answer;
	struct cells cells;
	struct books *books;
	struct triage *triage;
	struct triage_sum sum;
	struct pace pace;
	char at_most[64];
};

#define AT(member) OPTION_AT(struct minimize, member)
static const struct option_spec specs[] = {
    STATE_OPTIONS(struct minimize, session.common),
    TARGETS_OPTION(struct minimize, session.common),
    {"target", "NAME", "the input of this target (default: the first target with an input)",
     AT(target)},
    {"time", "TIME", "time limit (default: minimize_time)", AT(time_us)},
    {"json", NULL, "print JSON", AT(json)},
};

static void crash_minimize_on_done(void *arg, const struct triage_sum *sum)
{
	struct minimize *a = arg;

	a->triage = NULL;
	a->sum = *sum;
	loop_stop(a->cells.replay.exec.loop);
}

static void crash_minimize_on_stop(void *arg)
{
	struct minimize *a = arg;

	if (a->triage)
		triage_stop(a->triage); /* keeps the smallest input so far */
}

static void crash_minimize_look(void *arg, uint64_t *ret_done, uint64_t *ret_of)
{
	const struct minimize *a = arg;

	*ret_done = a->triage ? triage_replays(a->triage) : a->sum.replays;
	*ret_of = 0;
}

static int begin_pace(struct minimize *a, uint64_t time_us, struct err *e)
{
	char time[UNITS_MAX];

	snprintf(a->at_most, sizeof(a->at_most), "crash minimize, at most %s",
		 units_time(time_us, time));
	a->pace = (struct pace){
	    .look = crash_minimize_look, .arg = a, .what = a->at_most, .unit = "replays"};
	return pace_begin(&a->pace, a->cells.replay.exec.loop, e);
}

static int crash_minimize_run(struct minimize *a)
{
	struct plan_entry *p = &a->session.plan.v[0];
	struct triage_env env = {.replay = a->cells.replay,
				 .books = a->books,
				 .state = a->session.state,
				 .run = a->cells.replay.exec.run};
	struct triage_spec s = {
	    .target = p->target,
	    .cfg = &p->cfg,
	    .stages = TRIAGE_MINIMISE,
	    .budget_us = p->cfg.minimize_us,
	    .work = a->cells.path,
	    .signature = a->subject.crash->signature,
	    .done = crash_minimize_on_done,
	    .arg = a,
	};
	struct err e;

	if (begin_pace(a, p->cfg.minimize_us, &e) < 0 || triage_start(&env, &s, &a->triage, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	return cells_run(&a->cells, crash_minimize_on_stop, a);
}

static json_t *crash_minimize_answer(const struct minimize *a, const struct known_crash *c)
{
	bool smaller = *c->minimized;

	return json_pack("{s:o, s:o, s:I, s:o, s:o, s:I}", "crash", answer_text(c->signature),
			 "target", answer_text(a->subject.target), "input_bytes",
			 (json_int_t)c->input_bytes, "minimized_bytes",
			 smaller ? json_integer((json_int_t)c->minimized_bytes) : json_null(),
			 "minimized", smaller ? answer_text(c->minimized) : json_null(), "tries",
			 (json_int_t)a->sum.replays);
}

static int crash_minimize_conclude(struct minimize *a)
{
	const struct known_crash *c = ledger_entry(
	    ledger_record(books_ledger(a->books), a->subject.crash->signature), a->subject.target);
	char sig[CRASH_LINE], path[CRASH_LINE];

	if (!c)
		return fail(EXIT_INTERNAL, "the crash is no longer in the ledger");
	crash_line(c->signature, sig);
	if (*a->sum.note)
		return fail(EXIT_NOT_FUZZED, "crash %s: %s", sig, a->sum.note);
	if (a->sum.replays == 0)
		return fail(EXIT_NOT_FUZZED, "crash %s: its input could not be replayed", sig);
	a->answer = crash_minimize_answer(a, c);
	if (!*c->minimized) {
		printf("crash %s: no smaller input than its %llu bytes in %llu replays\n", sig,
		       (unsigned long long)c->input_bytes, (unsigned long long)a->sum.replays);
		return EXIT_DONE;
	}
	printf("crash %s: %llu bytes -> %llu bytes%s in %llu replays: %s\n", sig,
	       (unsigned long long)c->input_bytes, (unsigned long long)c->minimized_bytes,
	       c->minimized_bytes < c->input_bytes ? "" : ", but simpler ones,",
	       (unsigned long long)a->sum.replays, crash_line(c->minimized, path));
	return EXIT_DONE;
}

static int crash_minimize_choose(struct minimize *a, const char *name)
{
	int r = crash_subject(&a->session, name, a->target, true, &a->subject);
	const struct known_crash *c = a->subject.crash;
	char sig[CRASH_LINE], into[CRASH_LINE];

	if (r != EXIT_DONE)
		return r;
	if (!c)
		return fail(EXIT_USAGE, "crash minimize: give a crash, not a file");
	if (strcmp(a->subject.entry->fuzzer, a->subject.target) != 0)
		return fail(EXIT_USAGE, "crash %s: no input of target '%s' was kept",
			    crash_line(c->signature, sig), crash_line(a->subject.target, into));
	if (*c->merged_into)
		return fail(EXIT_USAGE, "crash %s is merged into %s: minimize that",
			    crash_line(c->signature, sig), crash_line(c->merged_into, into));
	if (a->time_us)
		a->session.plan.v[0].cfg.minimize_us = a->time_us;
	if (a->session.plan.v[0].cfg.minimize_us == 0)
		return fail(EXIT_USAGE, "\"minimize_time\" is off: give --time TIME");
	return EXIT_DONE;
}

static int crash_minimize_minimize(struct minimize *a)
{
	int r = session_open(&a->session);
	char warning[300], shown[CRASH_LINE];
	struct err e;

	/* Checks that the inputs are unchanged since the ledger noted them. */
	if (r == EXIT_DONE &&
	    ledger_input_check_all(a->session.state->dirfd, a->subject.entry, &e) < 0)
		r = fail(EXIT_USAGE, "crash %s: %s", crash_line(a->subject.crash->signature, shown),
			 e.msg);
	if (r == EXIT_DONE)
		r = cells_open(&a->cells, &a->session, "minimize");
	if (r == EXIT_DONE &&
	    books_open(a->session.machine.loop, a->session.state, NULL, &a->books, warning, &e) < 0)
		r = fail(EXIT_MACHINE, "%s", e.msg);
	if (r == EXIT_DONE && *warning)
		warn("%s", warning);
	if (r == EXIT_DONE)
		r = crash_minimize_run(a);
	if (r == EXIT_DONE)
		r = crash_minimize_conclude(a);
	pace_end(&a->pace);
	books_close(a->books);
	cells_close(&a->cells);
	return r;
}

int command_crash_minimize(int argc, char **argv)
{
	struct minimize a = {0};
	int at = options_parse(argc, argv, "crash minimize [OPTION]... CRASH", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (argc - at != 1)
		return fail(EXIT_USAGE, "crash minimize: give one crash (fuzzcell crash list)");
	begun = answer_begin(a.json);
	r = crash_minimize_choose(&a, argv[at]);
	if (r == EXIT_DONE)
		r = crash_minimize_minimize(&a);
	crash_subject_done(&a.subject);
	session_close(&a.session);
	return answer_end(begun, a.answer, r);
}
