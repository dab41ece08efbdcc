/* SPDX-License-Identifier: Apache-2.0 */
/* After a known crash the engine starts again at once, in its cell. */
#include "tests/unit/unit.h"

#include "runner/crash/report/report.h"
#include "tests/unit/run/job.h"

#include <stdio.h>

static const char report[] =
    "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000014 at pc 0x5555 bp "
    "0x7ffd sp 0x7ffc\n"
    "WRITE of size 1 at 0x602000000014 thread T0\n"
    "    #0 0x5555 (/target/t+0x1234)\n"
    "    #1 0x5556 (/target/t+0x2345)\n\n"
    "SUMMARY: AddressSanitizer: heap-buffer-overflow (/target/t+0x1234)\n"
    "==7==ABORTING\n"
    "artifact_prefix='/work/artifacts/'; Test unit written to "
    "/work/artifacts/crash-da39a3ee5e6b4b0d3255bfef95601890afd80709\n";

/* Makes a ledger with the report's crash in this state. */
static void know(const char *state)
{
	struct crash_options o = {.target = "t", .build = ""};
	struct crash_report r = {0};
	char text[1000], warning[300];
	struct err e;

	crash_parse(slice_of(report), &o, &r);
	assert_true(r.found && *r.raw_key);
	snprintf(
	    text, sizeof(text),
	    "{\"aaaaaaaaaaaaaaaa\": {\"state\": \"%s\", \"fuzzer\": \"t\", \"kind\": \"asan\", "
	    "\"crash_type\": \"Heap-buffer-overflow\", \"crash_file\": \"crashes/a/t\", "
	    "\"raw_keys\": [\"t:%s\"]}}",
	    state, r.raw_key);
	crash_report_done(&r);
	books_close(w.env.triage_env.books);
	scratch_write(w.dir.fd, "known_crashes.json", text);
	assert_int_equal(books_open(w.loop, &w.state, w.env.triage_env.run, &w.env.triage_env.books,
				    warning, &e),
			 0);
}

static void say(const char *text)
{
	job_cell_ops.output(&w.job, slice_of(text));
}

/* The job fuzzes, and fails with the report.  Its cell ends, or stays if it is in a seat. */
static void fails(void)
{
	struct cell_end end = {.how = CELL_EXITED, .code = 76};

	assert_non_null(w.job.fuzzing);
	say("#9\tINITED cov: 30 ft: 40 corp: 7/9b exec/s: 0 rss: 30Mb\n");
	say(report);
	w.now += S / 10;
	if (w.job.seat)
		job_cell_ops.exited(&w.job, &end, false);
	else
		job_cell_ops.ended(&w.job, &end);
}

static void leave_seat(void)
{
	assert_non_null(w.left_seat);
	w.left_seat(&w.job);
	w.left_seat = NULL;
}

static void known_failures_wait_for_one_triage(void **state)
{
	struct cell_end end = {.how = CELL_EXITED};
	unsigned before;

	(void)state;
	know("new");
	w.failures = 1;
	first_turn();
	before = w.triages;
	for (unsigned i = 0; i < 50; i++)
		fails();
	assert_int_equal(w.job.phase, PHASE_FUZZING);
	assert_int_equal(w.triages, before);
	assert_int_equal(w.cells, 51);
	assert_int_equal(w.parked, 49); /* the first cell was not in a seat yet */
	assert_int_equal(w.job.failures[FAILURE_CRASH], 50);
	/* At the end of the job the parked cell ends first, then triage runs. */
	job_stop(&w.job, REASON_TIME_LIMIT, false);
	job_cell_ops.exited(&w.job, &end, false);
	assert_int_equal(w.killed, 1);
	job_cell_ops.ended(&w.job, &end);
	assert_int_equal(w.job.phase, PHASE_COLLECTING);
	assert_int_equal(w.triages, before);
	leave_seat();
	assert_null(w.job.seat);
	assert_int_equal(w.job.phase, PHASE_TRIAGING);
	triaged((struct triage_sum){.artifacts = 50}, 1);
	merged();
	assert_int_equal(w.job.phase, PHASE_DONE);
}

static void others_are_looked_at_between_two_cells(void **state)
{
	static const char *const states[] = {"fixed", NULL};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		if (states[i])
			know(states[i]); /* the crash is back */
		if (i == 0)
			first_turn();
		w.failures = 1;
		fails();
		assert_null(w.job.seat);
		assert_int_equal(w.job.phase, PHASE_TRIAGING);
		triaged((struct triage_sum){.artifacts = 1}, 1);
		assert_int_equal(w.job.phase, PHASE_FUZZING);
	}
}

/* A remaining process, a refused call or a kill by the kernel: a new cell comes next. */
static void a_cell_is_used_again_only_when_it_is_clean(void **state)
{
	struct cell_end end = {.how = CELL_EXITED, .code = 76};

	(void)state;
	know("known");
	w.failures = 1;
	first_turn();
	fails();
	assert_non_null(w.job.seat);
	say("#9\tINITED cov: 30 ft: 40 corp: 7/9b exec/s: 0 rss: 30Mb\n");
	say(report);
	job_cell_ops.exited(&w.job, &end, true);
	assert_int_equal(w.killed, 1);
	assert_int_equal(w.parked, 0);
	assert_int_equal(w.job.phase, PHASE_FUZZING); /* until the cell is gone */
	job_cell_ops.ended(&w.job, &end);
	assert_int_equal(w.cells, 3);

	say(report);
	w.counters.oom_kills = 1;
	job_cell_ops.exited(&w.job, &end, false);
	assert_int_equal(w.killed, 2);
	assert_int_equal(w.parked, 0);
	w.counters.oom_kills = 0;
	end.last.oom_kills = 1;
	job_cell_ops.ended(&w.job, &end);
	assert_int_equal(w.job.failures[FAILURE_OOM_KILL], 1);
	leave_seat();
}

/* The cell's counters continue, and its CPU time is counted once. */
static void what_a_cell_used_before_is_not_counted_again(void **state)
{
	(void)state;
	know("new");
	first_turn();
	fails();
	w.job.fuzzing->from.usage_us = 0;
	w.counters.usage_us = 5 * S;
	fails();
	assert_int_equal(w.job.before.usage_us, 5 * S);
	w.job.fuzzing->from.usage_us = 5 * S;
	w.counters.usage_us = 7 * S;
	fails();
	assert_int_equal(w.job.before.usage_us, 7 * S);
}

/* The same random seed would repeat the same run. */
static void a_given_seed_needs_a_cell_of_its_own(void **state)
{
	(void)state;
	know("new");
	w.cfg.seed = 7;
	first_turn();
	fails();
	assert_null(w.job.seat);
	assert_int_equal(w.job.phase, PHASE_FUZZING);
	assert_int_equal(w.cells, 2);
}

/* --- other builds ------------------------------------------------------------ */

/* The target has another build, with so much CPU time. */
static void other_build(uint64_t left_us)
{
	static struct target variant = {.name = (char *)(uintptr_t) "t@memory",
					.binary = (char *)(uintptr_t) "/bin/true",
					.role = ROLE_CHECK};
	static struct target_config cfg;

	w.target.variants = &variant;
	w.target.n_variants = 1;
	w.job.variants = &cfg;
	w.check_left = left_us;
}

/* The end of a turn, and of the job: what is new runs in the other builds, as long as their time
 * lasts and something runs. */
static void checks_come_last(void **state)
{
	(void)state;
	other_build(10 * S);
	first_turn();
	job_pause(&w.job, false);
	cell_ends(0);
	assert_int_equal(w.job.phase, PHASE_CHECKING);
	assert_int_equal(w.check.budget_us, 10 * S);
	assert_true(w.check.finds_fixes);
	checked((struct check_sum){.ran = 5, .left = 2, .incomplete = true, .cpu_us = 4 * S});
	assert_int_equal(w.job.phase, PHASE_CHECKING); /* the two that are left */
	assert_false(w.check.finds_fixes);
	checked((struct check_sum){.ran = 2, .failed = 1, .cpu_us = S, .triage.found = 1});
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	assert_int_equal(w.checks, 2);
	assert_int_equal(w.job.checks.ran, 7);
	assert_int_equal(w.job.crashes.found, 1);
	job_stop(&w.job, REASON_PLATEAU, false);
	assert_true(job_wraps_up(&w.job));
	job_wrap_up(&w.job);
	merged();
	assert_int_equal(w.job.phase, PHASE_DONE); /* nothing is new */
	assert_int_equal(w.checks, 2);
	w.target.n_variants = 0;
}

/* The target has a coverage build, in a continuous run that wants a report a day. */
static void coverage_build(void)
{
	static struct target variant = {.name = (char *)(uintptr_t) "t@coverage",
					.binary = (char *)(uintptr_t) "/bin/true",
					.role = ROLE_COVERAGE};
	static struct target_config cfg = {
	    .cpu_weight = 50, .enabled = true, .memory = UINT64_C(1) << 40};

	w.target.variants = &variant;
	w.target.n_variants = 1;
	w.job.variants = &cfg;
	w.env.coverage_us = 86400 * S;
	w.env.coverage_env.state = &w.state;
}

static void another_turn(void)
{
	job_start(&w.job, 600 * S);
	assert_int_equal(w.job.phase, PHASE_FUZZING);
	job_pause(&w.job, false);
	cell_ends(0);
}

/* At the end of a turn, once a day, with a low weight; a report that fails is not tried again. */
static void coverage_once_a_day(void **state)
{
	struct coverage_end end = {.why = "its corpus is empty"};

	(void)state;
	coverage_build();
	w.real = 1795800000 * S;
	first_turn();
	job_pause(&w.job, false);
	cell_ends(0);
	assert_int_equal(w.job.phase, PHASE_COVERING);
	assert_string_equal(w.coverage.build->name, "t@coverage");
	assert_string_equal(w.coverage.target, "t");
	/* The job's corpus/ is in the directory above it. */
	assert_non_null(strstr(w.coverage_work, "/t/coverage"));
	assert_int_equal(w.coverage.cfg->cpu_weight, 5);
	w.coverage.done(w.coverage.arg, &end);
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	another_turn();
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	assert_int_equal(w.coverages, 1);
	/* A merge that gained asks for a report, an hour after the last one. */
	w.job.coverage_s -= 3000;
	w.job.coverage_merges = 1;
	another_turn();
	assert_int_equal(w.coverages, 1);
	w.job.coverage_s -= 700;
	another_turn();
	assert_int_equal(w.job.phase, PHASE_COVERING);
	w.coverage.done(w.coverage.arg, &end);
	another_turn();
	assert_int_equal(w.coverages, 2);
	w.job.coverage_s -= 86400;
	another_turn();
	assert_int_equal(w.coverages, 3);
	/* A user's stop ends it, and the last steps follow. */
	job_stop(&w.job, REASON_STOPPED, true);
	assert_int_equal(w.coverage_stops, 1);
	end.stopped = true;
	w.coverage.done(w.coverage.arg, &end);
	assert_int_equal(w.job.phase, PHASE_DONE);
	w.target.n_variants = 0;
}

static bool no_memory(void *arg, uint64_t bytes)
{
	(void)arg;
	(void)bytes;
	return false;
}

/* Without memory for it, a report is tried again in an hour. */
static void coverage_without_memory(void **state)
{
	(void)state;
	coverage_build();
	w.real = 1795800000 * S;
	w.env.triage_env.borrow_memory = no_memory;
	first_turn();
	job_pause(&w.job, false);
	cell_ends(0);
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	another_turn();
	assert_int_equal(w.coverages, 0);
	w.env.triage_env.borrow_memory = NULL;
	w.job.coverage_s -= 3600;
	another_turn();
	assert_int_equal(w.job.phase, PHASE_COVERING);
	assert_int_equal(w.coverages, 1);
	w.coverage.done(w.coverage.arg, &(struct coverage_end){.why = "none"});
	w.target.n_variants = 0;
}

/* Other runs, and targets without such a build, make none. */
static void no_coverage(void **state)
{
	(void)state;
	coverage_build();
	w.env.coverage_us = 0;
	first_turn();
	job_pause(&w.job, false);
	cell_ends(0);
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	w.env.coverage_us = 86400 * S;
	w.target.n_variants = 0;
	another_turn();
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	assert_int_equal(w.coverages, 0);
}

/* A check that can run nothing is not repeated for ever. */
static void checks_that_run_nothing(void **state)
{
	(void)state;
	other_build(10 * S);
	first_turn();
	job_pause(&w.job, false);
	cell_ends(0);
	checked((struct check_sum){.left = 3});
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	job_start(&w.job, 600 * S);
	assert_int_equal(w.job.phase, PHASE_FUZZING);
	job_pause(&w.job, false);
	cell_ends(0);
	assert_int_equal(w.job.phase, PHASE_CHECKING); /* after another cell */
	checked((struct check_sum){.left = 3});
	w.target.n_variants = 0;
}

/* Without CPU time for them, other builds wait. */
static void checks_without_time(void **state)
{
	(void)state;
	other_build(0);
	first_turn();
	job_pause(&w.job, false);
	cell_ends(0);
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	assert_int_equal(w.checks, 0);
	w.target.n_variants = 0;
}

/* A user's stop ends a check, and the job with it. */
static void stopped_while_it_checks(void **state)
{
	(void)state;
	other_build(10 * S);
	first_turn();
	job_pause(&w.job, false);
	cell_ends(0);
	job_stop(&w.job, REASON_STOPPED, false);
	assert_int_equal(w.check_stops, 1);
	checked((struct check_sum){.ran = 1, .left = 3});
	assert_int_equal(w.job.phase, PHASE_DONE);
	assert_int_equal(w.job.reason, REASON_STOPPED);
	w.target.n_variants = 0;
}

static const struct CMUnitTest tests[] = {
    CASE(known_failures_wait_for_one_triage),
    CASE(others_are_looked_at_between_two_cells),
    CASE(a_cell_is_used_again_only_when_it_is_clean),
    CASE(what_a_cell_used_before_is_not_counted_again),
    CASE(a_given_seed_needs_a_cell_of_its_own),
    CASE(checks_come_last),
    CASE(coverage_once_a_day),
    CASE(coverage_without_memory),
    CASE(no_coverage),
    CASE(checks_that_run_nothing),
    CASE(checks_without_time),
    CASE(stopped_while_it_checks),
};

UNIT_MAIN(tests)
