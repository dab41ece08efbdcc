/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/byhand.h"
#include "runner/command/common/cells.h"
#include "runner/command/common/pace.h"
#include "runner/command/crash/crash.h"
#include "runner/crash/odds.h"
#include "runner/crash/report/json.h"
#include "runner/run/triage/triage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TIMES_MAX = 1000, TIMES_USUAL = 10 };

struct reproduce {
	struct session session;
	const char *target;
	uint64_t times; /* 0: until the verdict is clear */
	bool shell, original, json;

	struct crash_subject subject;
	struct cells cells;
	struct replay *replay;
	struct replay_seat *seat;
	char input[PATH_MAX]; /* path that the cells read */
	uint64_t replays, hits, others;
	struct crash_report report; /* of the first hit, else of the first other failure */
	bool is_hit;		    /* report is that of a hit */
	char *output;
	size_t n_output;
	char why[300]; /* why the input could not be run */
	struct pace pace;
};

#define AT(member) OPTION_AT(struct reproduce, member)
static const struct option_spec specs[] = {
    STATE_OPTIONS(struct reproduce, session.common),
    TARGETS_OPTION(struct reproduce, session.common),
    {"target", "NAME", "the target, if several found the crash, or for a file", AT(target)},
    {"times", "N", "number of runs (default: until the verdict is clear, at most 10)", OPTION_TAKE},
    {"original", NULL, "the input as it was found, not the minimised one", AT(original)},
    {"shell", NULL, "only print the command for a machine without fuzzcell", AT(shell)},
    {"json", NULL, "print JSON (not with --shell)", AT(json)},
};

static bool crash_reproduce_take(void *arg, const char *name, const char *value)
{
	struct reproduce *a = arg;
	struct slice number = slice_of(value);

	(void)name; /* --times */
	if (scan_u64(&number, 10, TIMES_MAX, &a->times) && number.n == 0 && a->times)
		return true;
	(void)fail(EXIT_USAGE, "crash reproduce: --times: '%s' is not 1 to %d", value, TIMES_MAX);
	return false;
}

/* --- by hand -------------------------------------------------------------- */

static int print_shell(const struct reproduce *a)
{
	const struct target *t = a->session.plan.v[0].target;
	const char *slash = strrchr(t->binary, '/');
	_autofree_ char *dir = xstrndup(t->binary, slash ? (size_t)(slash - t->binary) : 0);
	_autobuf_ struct buf out = BUF_INIT(BYHAND_MAX);
	struct byhand b = {.target = &a->session.plan.v[0],
			   .dir = t->dir ? t->dir : dir,
			   .binary = t->binary,
			   .input = a->subject.path,
			   .ub_goes_on = triage_ub_goes_on(a->subject.entry)};
	struct err e;

	if (byhand_print(&b, &out, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	if (a->subject.entry && strcmp(a->subject.entry->kind, "cell") == 0)
		fprintf(stderr, "note: what failed was a limit of its cell, which a shell does not "
				"have\n");
	fputs(buf_str(&out), stdout);
	return EXIT_DONE;
}

/* --- in a cell ------------------------------------------------------------ */

static bool crash_reproduce_is_the_crash(const struct reproduce *a, const struct crash_report *r)
{
	const struct ledger *l = a->subject.ledger;
	const struct known_crash *want = a->subject.crash, *got;

	if (!want)
		return !a->report.found || strcmp(a->report.signature, r->signature) == 0;
	want = ledger_find(l, want->signature);
	got = ledger_find(l, r->signature);
	if (!got && *r->raw_key)
		got = ledger_find_raw(l, a->subject.target, r->raw_key);
	return got && got == want;
}

static void crash_reproduce_keep(struct reproduce *a, struct replay_end *end, bool hit)
{
	if (a->report.found && (a->is_hit || !hit))
		return;
	crash_report_done(&a->report);
	free(a->output);
	a->report = *end->report;
	*end->report = (struct crash_report){0};
	a->is_hit = hit;
	a->output = xmalloc(end->output.n);
	a->n_output = end->output.n;
	memcpy(a->output, end->output.p, end->output.n);
}

static bool crash_reproduce_is_decided(const struct reproduce *a)
{
	if (a->times)
		return a->replays >= a->times;
	return odds_reproduce(a->replays, a->hits) != ODDS_UNDECIDED;
}

static void crash_reproduce_on_closed(void *arg)
{
	struct reproduce *a = arg;

	loop_stop(a->cells.replay.exec.loop);
}

static void crash_reproduce_finish(struct reproduce *a)
{
	struct replay_seat *seat = a->seat;

	a->seat = NULL;
	if (seat)
		replay_seat_close(seat, crash_reproduce_on_closed, a);
	else
		crash_reproduce_on_closed(a);
}

static void crash_reproduce_replay(struct reproduce *a);

static void crash_reproduce_on_replayed(void *arg, struct replay_end *end)
{
	struct reproduce *a = arg;
	bool hit;

	a->replay = NULL;
	if (*end->unusable) {
		snprintf(a->why, sizeof(a->why), "%s", end->unusable);
		crash_reproduce_finish(a);
		return;
	}
	a->replays++;
	if (end->failed) {
		hit = crash_reproduce_is_the_crash(a, end->report);
		a->hits += hit;
		a->others += !hit;
		crash_reproduce_keep(a, end, hit);
	}
	if (crash_reproduce_is_decided(a) || cells_stopped(&a->cells))
		crash_reproduce_finish(a);
	else
		crash_reproduce_replay(a);
}

static void crash_reproduce_replay(struct reproduce *a)
{
	const struct plan_entry *p = &a->session.plan.v[0];
	struct replay_spec s = {
	    .target = p->target,
	    .cfg = &p->cfg,
	    .input = a->input,
	    .seat = a->seat,
	    .symbolize = true,
	    .ub_goes_on = triage_ub_goes_on(a->subject.entry),
	    .done = crash_reproduce_on_replayed,
	    .arg = a,
	};
	struct err e;

	if (replay_start(&a->cells.replay, &s, &a->replay, &e) == 0)
		return;
	snprintf(a->why, sizeof(a->why), "%.299s", e.msg);
	crash_reproduce_finish(a);
}

static void crash_reproduce_on_stop(void *arg)
{
	struct reproduce *a = arg;

	if (a->replay)
		replay_stop(a->replay);
}

static int crash_reproduce_answer(const struct reproduce *a, json_t **ret)
{
	enum odds_verdict v = odds_reproduce(a->replays, a->hits);

	*ret = json_pack("{s:o, s:o, s:I, s:I, s:I, s:s?, s:o, s:o}", "crash",
			 a->subject.crash ? answer_text(a->subject.crash->signature) : json_null(),
			 "target", answer_text(a->subject.target), "tries", (json_int_t)a->replays,
			 "hits", (json_int_t)a->hits, "others", (json_int_t)a->others, "verdict",
			 v == ODDS_UNDECIDED ? NULL : odds_verdict_name(v), "problem",
			 *a->why ? answer_text(a->why) : json_null(), "report",
			 a->report.found ? crash_report_json(&a->report) : json_null());
	return EXIT_DONE;
}

static void crash_reproduce_look(void *arg, uint64_t *ret_done, uint64_t *ret_of)
{
	const struct reproduce *a = arg;

	*ret_done = a->replays;
	*ret_of = a->times ? a->times : TIMES_USUAL; /* upper bound */
}

static int crash_reproduce_conclude(const struct reproduce *a)
{
	enum odds_verdict v = odds_reproduce(a->replays, a->hits);
	char name[CRASH_LINE];

	if (a->report.found) {
		crash_print_report(&a->report);
		printf("\nreport ('>': frames of the application)\n");
		crash_print_marked((struct slice){a->output, a->n_output}, &a->report);
		putchar('\n');
	}
	if (*a->why)
		return fail(EXIT_NOT_FUZZED, "%s: %s", a->subject.target, a->why);
	if (a->report.found && !a->is_hit)
		printf("it fails in another way than crash %s\n",
		       crash_line(a->subject.crash->signature, name));
	printf("%llu of %llu replays%s%s", (unsigned long long)a->hits,
	       (unsigned long long)a->replays, v == ODDS_UNDECIDED ? "" : ": ",
	       v == ODDS_UNDECIDED ? "" : odds_verdict_name(v));
	if (a->others)
		printf("; %llu failed in another way", (unsigned long long)a->others);
	putchar('\n');
	return a->hits ? EXIT_DONE : CRASH_NOT_THERE;
}

static int run_in_cells(struct reproduce *a, json_t **ret)
{
	int r = session_open(&a->session);
	struct err e;

	if (r == EXIT_DONE)
		r = cells_open(&a->cells, &a->session, "reproduce");
	if (r == EXIT_DONE)
		r = cells_copy(&a->cells, a->subject.path, a->input);
	if (r == EXIT_DONE && replay_seat_new(a->cells.path, 0, &a->seat, &e) < 0)
		r = fail(EXIT_INTERNAL, "%s", e.msg);
	a->pace = (struct pace){
	    .look = crash_reproduce_look, .arg = a, .what = "crash reproduce", .unit = "replays"};
	if (r == EXIT_DONE && pace_begin(&a->pace, a->cells.replay.exec.loop, &e) < 0)
		r = fail(EXIT_INTERNAL, "%s", e.msg);
	if (r == EXIT_DONE) {
		crash_reproduce_replay(a);
		if (!*a->why)
			r = cells_run(&a->cells, crash_reproduce_on_stop, a);
	}
	pace_end(&a->pace);
	if (r == EXIT_DONE && a->json)
		r = crash_reproduce_answer(a, ret);
	if (r == EXIT_DONE)
		r = crash_reproduce_conclude(a);
	cells_close(&a->cells);
	return r;
}

int command_crash_reproduce(int argc, char **argv)
{
	struct reproduce a = {0};
	int at = options_parse(argc, argv, "crash reproduce [OPTION]... CRASH|FILE", specs,
			       sizeof(specs) / sizeof(specs[0]), crash_reproduce_take, &a);
	json_t *j = NULL;
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (argc - at != 1)
		return fail(EXIT_USAGE, "crash reproduce: give one crash, or a file");
	if (a.json && a.shell)
		return fail(EXIT_USAGE, "crash reproduce: --shell prints a command, not JSON");
	begun = answer_begin(a.json);
	r = crash_subject(&a.session, argv[at], a.target, a.original, &a.subject);
	if (r == EXIT_DONE)
		r = a.shell ? print_shell(&a) : run_in_cells(&a, &j);
	crash_report_done(&a.report);
	free(a.output);
	crash_subject_done(&a.subject);
	session_close(&a.session);
	return answer_end(begun, j, r);
}
