/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include <math.h>

#include "tests/unit/run/job.h"

/* --- post-fuzzing work --------------------------------------------------------- */

/* Runs a turn that finds a new crash. */
static void turn_with_a_crash(void)
{
	first_turn();
	w.failures = 1;
	cell_ends(77);
	assert_int_equal(w.triage.stages, TRIAGE_QUEUE);
	triaged((struct triage_sum){.artifacts = 1, .found = 1}, 1);
	w.failures = 0;
	pause_it();
	assert_true(job_needs_maintenance(&w.job));
}

static void inputs_of_crashes_are_made_smaller(void **state)
{
	(void)state;
	turn_with_a_crash();
	job_maintain(&w.job);
	merged();
	assert_int_equal(w.triage.stages, TRIAGE_QUEUE | TRIAGE_MINIMISE);
	triaged((struct triage_sum){.minimised = 1}, 5);
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	assert_false(job_needs_maintenance(&w.job));
	assert_int_equal(w.job.triage_us, 7 * S);
	job_start(&w.job, 86400 * S); /* its turns did no minimisation */
	w.failures = 1;
	cell_ends(77);
	assert_int_equal(w.triage.stages, TRIAGE_QUEUE);
}

/* A crash that cannot be minimised is tried once; this needs no merge. */
static void they_are_made_smaller_once(void **state)
{
	(void)state;
	w.cfg.merge_us = 0;
	turn_with_a_crash();
	job_maintain(&w.job);
	assert_int_equal(w.triage.stages, TRIAGE_QUEUE | TRIAGE_MINIMISE);
	triaged((struct triage_sum){.artifacts = 1, .found = 1}, 5);
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	assert_false(job_needs_maintenance(&w.job));
}

/* A crash of an earlier run, of another commit. */
static void known_before(const char *commit)
{
	struct ledger *l = books_ledger(w.env.triage_env.books);
	struct crash_sighting s = {.signature = "s",
				   .target = "t",
				   .run = "before",
				   .commit = commit,
				   .crash_file = "crashes/s/input",
				   .tries = 3,
				   .hits = 3};
	struct ledger_noted n;
	struct err e;

	assert_int_equal(ledger_note(l, &s, &n, &e), 0);
}

/* This run sees no crash. */
static void a_later_run_makes_them_smaller(void **state)
{
	(void)state;
	known_before("a");
	w.cfg.merge_us = 0;
	first_turn();
	pause_it();
	assert_true(job_needs_maintenance(&w.job));
	job_maintain(&w.job);
	assert_int_equal(w.triage.stages, TRIAGE_QUEUE | TRIAGE_MINIMISE);
	assert_true(w.triage.minimise_old);
	triaged((struct triage_sum){.minimised = 1}, 5);
	assert_false(job_needs_maintenance(&w.job));
	w.job.launched = false; /* another build */
	w.cfg.minimize_us = 0;
	job_after_prepare(&w.job);
	assert_false(w.job.unminimised);
}

/* The run is too short to replay the open crashes: this is reported. */
static void crashes_that_were_not_looked_at_are_counted(void **state)
{
	static const struct {
		const char *commit, *now;
		unsigned want;
	} t[] = {{"a", "b", 1}, {"a", "a", 0}, {"a", NULL, 1}, {NULL, NULL, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct target_row row;

		known_before(t[i].commit);
		w.env.triage_env.run = "now";
		w.env.triage_env.commit = t[i].now;
		w.job.unchecked = true;
		job_list_crashes(&w.job);
		job_row(&w.job, w.now, &row);
		assert_int_equal(row.crashes_unchecked, t[i].want);
		w.job.unchecked = false;
		w.job.check_cut = i; /* the check of the crashes was cut short */
		job_list_crashes(&w.job);
		job_row(&w.job, w.now, &row);
		assert_int_equal(row.crashes_unchecked, i);
	}
}

/* Within the day's time for triage; a stopped triage is not done. */
static void what_is_left_is_for_another_time(void **state)
{
	(void)state;
	turn_with_a_crash();
	job_maintain(&w.job);
	merged();
	job_pause(&w.job, true);
	triaged((struct triage_sum){0}, 1);
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	assert_true(job_needs_maintenance(&w.job));
	job_maintain(&w.job);
	assert_int_equal(w.triage.budget_us, 597 * S);
	triaged((struct triage_sum){0}, 600);
	assert_false(job_needs_maintenance(&w.job));
	w.job.triage_us = 0; /* the next day */
	assert_true(job_needs_maintenance(&w.job));
	w.cfg.minimize_us = 0;
	assert_false(job_needs_maintenance(&w.job));
}

/* A new binary has no post-fuzzing work yet. */
static void nor_on_another_binary(void **state)
{
	(void)state;
	turn_with_a_crash();
	job_maintain(&w.job);
	build("another");
	merged();
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	job_start(&w.job, 86400 * S);
	assert_int_equal(w.triage.stages, TRIAGE_QUEUE | TRIAGE_CHECK);
}

/* --- artifacts without triage ------------------------------------------------------ */

/* Judged crashes are not counted again when more crashes arrive after the deadline. */
static void only_what_was_not_judged_waits(void **state)
{
	struct merge_result bad = {.verdict = MERGE_CLEANED, .bad = 2};
	struct target_row row;

	(void)state;
	first_turn();
	w.failures = 12;
	cell_ends(77);
	triaged((struct triage_sum){.artifacts = 12, .found = 12}, 1);
	w.failures = 0;
	job_stop(&w.job, REASON_RUN_DEADLINE, false);
	cell_ends(0);
	close(open_dir("triage/t")); /* and the bad inputs of the merge */
	scratch_write(w.dir.fd, "triage/t/leak-1", "x");
	scratch_write(w.dir.fd, "triage/t/leak-2", "x");
	scratch_write(w.dir.fd, "triage/t/.report-leak-2", "x");
	w.cfg.triage_us = 0;
	w.merge.done(w.merge.arg, &bad);
	assert_int_equal(w.job.phase, PHASE_DONE);
	job_row(&w.job, w.now, &row);
	assert_int_equal(row.crashes_new, 12);
	assert_int_equal(row.untriaged, 2);
	assert_int_equal(row.undecided, 0);
}

/* Two timeouts that an earlier run could not judge, and no turn: they are not new. */
static void what_a_run_before_could_not_decide(void **state)
{
	struct target_row row;

	(void)state;
	close(open_dir("stats/targets"));
	scratch_write(w.dir.fd, "stats/targets/t.jsonl", "{\"timeouts_undecided\": 2}\n");
	close(open_dir("triage/t"));
	scratch_write(w.dir.fd, "triage/t/timeout-1", "x");
	scratch_write(w.dir.fd, "triage/t/timeout-2", "x");
	job_stop(&w.job, REASON_RUN_DEADLINE, false);
	assert_int_equal(w.job.phase, PHASE_DONE);
	job_row(&w.job, w.now, &row);
	assert_int_equal(row.untriaged, 0);
	assert_int_equal(row.undecided, 2);
}

static void load_ledger(const char *text)
{
	char warning[300];
	struct err e;

	books_close(w.env.triage_env.books);
	scratch_write(w.dir.fd, "known_crashes.json", text);
	assert_int_equal(books_open(w.loop, &w.state, w.env.triage_env.run, &w.env.triage_env.books,
				    warning, &e),
			 0);
	assert_string_equal(warning, "");
}

/* A killed run has no exit status: the next run to end counts its crashes. */
static void crashes_of_a_killed_run_are_new(void **state)
{
	struct target_row row;

	(void)state;
	load_ledger("{\"a\": {\"state\": \"new\", \"fuzzer\": \"t\", \"crash_type\": \"SEGV\", "
		    "\"count\": 3, \"uncounted\": \"killed\"}, "
		    "\"b\": {\"state\": \"regressed\", \"fuzzer\": \"t\", \"uncounted\": "
		    "\"killed\"}, "
		    "\"c\": {\"state\": \"new\", \"fuzzer\": \"t\"}, "
		    "\"d\": {\"state\": \"new\", \"fuzzer\": \"u\", \"uncounted\": \"killed\"}, "
		    "\"e\": {\"state\": \"ignored\", \"fuzzer\": \"t\", \"uncounted\": "
		    "\"killed\"}}");
	job_stop(&w.job, REASON_RUN_DEADLINE, false);
	assert_int_equal(w.job.phase, PHASE_DONE);
	job_row(&w.job, w.now, &row);
	assert_int_equal(row.crashes_new, 1);
	assert_int_equal(row.crashes_regressed, 1);
	assert_int_equal(row.n_crashes, 2);
	assert_string_equal(row.crashes[0].signature, "a");
	assert_string_equal(row.crashes[0].state, "new");
	assert_string_equal(row.crashes[0].what, "SEGV; found in run killed, which was killed");
	assert_int_equal(row.crashes[0].count, 3);
}

/* --- pauses -------------------------------------------------------------------- */

/* The run is paused, or the disk is full: post-fuzzing work waits, too. */
static void its_end_can_wait(void **state)
{
	(void)state;
	turn_with_a_crash();
	job_stop(&w.job, REASON_STARVED, false);
	assert_true(job_wraps_up(&w.job));
	job_wrap_up(&w.job);
	job_pause(&w.job, true);
	merged();
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	assert_true(job_wraps_up(&w.job));
	for (unsigned i = 0; i < 2; i++) {
		job_wrap_up(&w.job);
		assert_int_equal(w.triage.stages, TRIAGE_QUEUE | TRIAGE_MINIMISE);
		if (i == 1)
			job_stop(&w.job, REASON_RUN_DEADLINE, false);
		job_pause(&w.job, true);
		triaged((struct triage_sum){.left = i}, 1);
		assert_int_equal(w.job.phase, PHASE_QUEUED);
		assert_int_equal(w.ended, 0);
	}
	assert_int_equal(w.merges, 1);
	job_wrap_up(&w.job);
	job_pause(&w.job, false); /* this only concerns fuzzing */
	triaged((struct triage_sum){0}, 1);
	assert_int_equal(w.job.phase, PHASE_DONE);
	assert_int_equal(w.job.reason, REASON_STARVED);
	assert_int_equal(w.ended, 1);
}

/* When the user ends the run, the job does no further work, whatever its reason to end was. */
static void stopped_it_does_nothing_more(void **state)
{
	(void)state;
	turn_with_a_crash();
	job_stop(&w.job, REASON_STARVED, false);
	job_wrap_up(&w.job);
	job_pause(&w.job, true);
	job_stop(&w.job, REASON_STOPPED, false);
	merged();
	assert_int_equal(w.job.phase, PHASE_DONE);
	assert_int_equal(w.job.reason, REASON_STARVED);
	assert_int_equal(w.ended, 1);
}

static void nor_does_one_that_was_just_ending(void **state)
{
	(void)state;
	first_turn();
	w.failures = 1;
	job_stop(&w.job, REASON_RUN_DEADLINE, false);
	assert_int_equal(w.job.phase, PHASE_STOPPING);
	job_stop(&w.job, REASON_STOPPED, false);
	cell_ends(77);
	assert_int_equal(w.job.phase, PHASE_DONE);
	assert_int_equal(w.triages, 1); /* before its first cell */
	assert_int_equal(w.merges, 0);
	job_revive(&w.job); /* then it continues */
	job_start(&w.job, 86400 * S);
	triaged((struct triage_sum){0}, 1);
	job_stop(&w.job, REASON_RUN_DEADLINE, false);
	cell_ends(77);
	assert_int_equal(w.job.phase, PHASE_TRIAGING);
}

/* --- the end of a cell -------------------------------------------------------- */

/* Without a second kill, a failed kill would leave the job without an end. */
static void a_kill_that_fails_comes_again(void **state)
{
	struct err e;

	(void)state;
	w.now = S; /* the loop's own clock is later */
	first_turn();
	w.immortal = 1;
	job_kill(&w.job, REASON_STOPPED);
	assert_int_equal(w.job.phase, PHASE_KILLING);
	assert_int_equal(w.killed, 1);
	w.now += S;
	assert_int_equal(loop_run(w.loop, &e), 0);
	assert_int_equal(w.killed, 2);
	assert_int_equal(w.job.phase, PHASE_KILLING);
	cell_ends(0);
	assert_int_equal(w.job.phase, PHASE_DONE);
	assert_int_equal(w.job.reason, REASON_STOPPED);
}

static void a_dump_has_the_time_that_it_needs(void **state)
{
	static const struct {
		double starved;
		uint64_t us;
	} v[] = {{0, S},	 {0.5, 2 * S},	     {0.75, 4 * S}, {0.875, 8 * S},
		 {0.95, 10 * S}, {1, 10 * S},	     {-1, S},	    {2, 10 * S},
		 {NAN, S},	 {INFINITY, 10 * S}, {-INFINITY, S}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		assert_int_equal(job_dump_grace(v[i].starved), v[i].us);
	for (unsigned i = 0; i < 1000; i++)
		assert_true(job_dump_grace(i / 1000.0) <= job_dump_grace((i + 1) / 1000.0));
}

static void a_starved_one_is_not_killed_at_its_dump(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		if (i == 0)
			first_turn();
		else
			job_start(&w.job, 86400 * S);
		w.fleet.clock.starved = i == 1 ? 0.75 : 0;
		w.job.pressure[1] = i == 2 ? 0.75 : 0; /* memory pressure */
		job_pause(&w.job, false);
		job_step(&w.job, EVENT_GRACE);
		assert_int_equal(w.job.phase, PHASE_DUMPING);
		assert_int_equal(w.job.grace_at - w.now, i ? 4 * S : S);
		cell_ends(77);
	}
}

/* --- while this process is suspended ------------------------------------------ */

/* Later than every step of fuzzcell, and at most a second after the last step. */
static void the_keeper_knows_when_a_cell_ends(void **state)
{
	uint64_t began;

	(void)state;
	w.cfg.grace_us = 3 * S;
	first_turn();
	began = w.now;
	assert_int_equal(w.keeper_us, began + (86400 + 3 + 1 + 1) * S);
	job_pause(&w.job, false);
	assert_int_equal(w.keeper_us, began + (3 + 1 + 1) * S);
	w.now += 3 * S;
	w.fleet.clock.starved = 0.75;
	job_step(&w.job, EVENT_GRACE);
	assert_int_equal(w.keeper_us, w.now + (4 + 1) * S);
	w.immortal = 1;
	job_step(&w.job, EVENT_GRACE);
	assert_int_equal(w.keeper_us, w.now + (1 + 1) * S);
	cell_ends(0);
	w.env.fuzz_until_us = w.now + 100 * S;
	job_start(&w.job, 86400 * S);
	assert_int_equal(w.keeper_us, w.now + (100 + 1 + 3 + 1 + 1) * S);
	cell_ends(77);
}

/* Neither a failure nor an attempt is counted: the reason is the passed limit. */
static void a_cell_that_the_keeper_killed_did_not_fail(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		w.env.fuzz_until_us = 0;
		first_turn();
		if (i == 1)
			w.env.fuzz_until_us = w.now + 10 * S;
		if (i == 2) /* fuzzcell's own timer fires first */
			job_stop(&w.job, REASON_TIME_LIMIT, false);
		w.fleet.clock.last.at_us = w.now;
		w.job.fuzzing->engine.running = w.job.fuzzed = true;
		keeper_kills_cell();
		assert_int_equal(w.job.last_failure, FAILURE_NONE);
		assert_int_equal(w.job.failures_total, 0);
		assert_int_equal(w.job.pending, i == 1 ? REASON_RUN_DEADLINE : REASON_TIME_LIMIT);
		assert_non_null(strstr(w.job.note, "fuzzcell was suspended for 60 s"));
		merged();
		assert_int_equal(w.job.phase, PHASE_DONE);
		job_revive(&w.job);
	}
}

/* The job was being paused, or dumped for a finding: it keeps that reason. */
static void an_earlier_request_to_end_keeps_its_reason(void **state)
{
	(void)state;
	first_turn();
	job_pause(&w.job, false);
	keeper_kills_cell();
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	assert_int_equal(w.job.failures_total, 0);
	job_start(&w.job, 86400 * S);
	job_cell_ops.memory(&w.job, true);
	assert_int_equal(w.job.ask, ASK_MEMORY);
	keeper_kills_cell();
	assert_int_equal(w.job.failures[FAILURE_OOM], 1);
}

/* An input that takes all memory at the end of a turn must not be lost. */
static void a_bomb_that_is_asked_to_stop_is_saved(void **state)
{
	(void)state;
	first_turn();
	w.job.fuzzing->engine.running = w.job.fuzzed = true;
	job_pause(&w.job, false);
	assert_int_equal(w.job.phase, PHASE_STOPPING);
	job_cell_ops.memory(&w.job, true);
	assert_int_equal(w.job.phase, PHASE_DUMPING);
	cell_ends(77);
	assert_int_equal(w.job.failures[FAILURE_OOM], 1);
	assert_non_null(strstr(w.job.note, "passed the memory mark"));
	triaged((struct triage_sum){.artifacts = 1}, 1);
	assert_int_equal(w.job.phase, PHASE_QUEUED); /* its turn is over anyway */
}

/* --- shortage of fuzzcell's resources ----------------------------------------- */

/* The target has not ended: it waits in the queue. */
static void a_shortage_is_no_end(void **state)
{
	static const int codes[] = {EMFILE, ENFILE, ENOMEM, EAGAIN, ENOSPC, EUSERS};

	(void)state;
	first_turn();
	pause_it();
	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		unsigned before = w.requeued;

		w.launch_fails = codes[i];
		job_start(&w.job, 86400 * S);
		assert_int_equal(w.job.phase, PHASE_QUEUED);
		assert_int_equal(w.job.pending, REASON_NONE);
		assert_int_equal(w.requeued, before + 1);
		assert_true(w.job.is_short);
		assert_non_null(strstr(w.job.note, strerror(codes[i])));
		w.job.is_short = false; /* the run has noted it */
	}
	job_start(&w.job, 86400 * S);
	assert_int_equal(w.job.phase, PHASE_FUZZING);
	assert_int_equal(w.job.failures_total, 0);
	cell_fails();
	w.launch_fails = ENOENT; /* another error */
	job_pause(&w.job, false);
	cell_ends(0);
	job_start(&w.job, 86400 * S);
	merged();
	assert_int_equal(w.job.phase, PHASE_DONE);
	assert_int_equal(w.job.reason, REASON_STARTUP_FAILED);
}

/* crun lacked a resource.  At the cell's own limits, or if it repeats, the target fails. */
static void a_shortage_that_crun_reports(void **state)
{
	struct cell_end end = {.how = CELL_NOT_STARTED,
			       .why = "clone: Resource temporarily unavailable"};

	(void)state;
	first_turn();
	for (unsigned i = 0; i < 20; i++) {
		job_cell_ops.ended(&w.job, &end);
		assert_int_equal(w.job.phase, PHASE_QUEUED);
		assert_true(w.job.is_short);
		w.job.is_short = false;
		job_start(&w.job, 86400 * S);
		assert_int_equal(w.job.phase, PHASE_FUZZING);
	}
	job_cell_ops.ended(&w.job, &end);
	assert_int_equal(w.job.reason, REASON_STARTUP_FAILED);
	job_revive(&w.job);
	w.job.shortages = 0;
	first_turn();
	end.last.pids_refused = 1;
	job_cell_ops.ended(&w.job, &end);
	assert_int_equal(w.job.reason, REASON_STARTUP_FAILED);
}

/* If our helper or crun is killed, the target has not failed. */
static void a_killed_helper_is_no_end(void **state)
{
	struct cell_end end = {.how = CELL_NOT_STARTED, .why = "crun was ended by signal 9"};

	(void)state;
	first_turn();
	job_cell_ops.ended(&w.job, &end);
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	assert_true(w.job.is_short);
	w.job.is_short = false;
	w.task_fails = TASK_DIED;
	job_start(&w.job, 86400 * S); /* the child that prepares */
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	assert_true(w.job.is_short);
	w.job.is_short = false;
	job_start(&w.job, 86400 * S);
	job_pause(&w.job, false);
	w.task_fails = TASK_DIED;
	cell_ends(0); /* the child that collects */
	assert_int_equal(w.job.phase, PHASE_COLLECTING);
	job_collect(&w.job);
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	assert_int_equal(w.job.found.inputs, 3);
	assert_int_equal(w.job.reason, REASON_NONE);
	assert_false(w.job.uncollected);
}

/* Without space for the files the target has reached a limit; any other failure is ours. */
static void results_that_cannot_be_saved(void **state)
{
	static const struct {
		const char *why;
		enum reason want;
	} v[] = {{"copy 'x': No space left on device", REASON_DISK_LIMIT},
		 {"copy 'x': Disk quota exceeded", REASON_DISK_LIMIT},
		 {"copy 'x': Input/output error", REASON_LOST}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		first_turn();
		job_pause(&w.job, false);
		w.task_fails = v[i].why;
		cell_ends(0);
		assert_true(w.job.uncollected);
		assert_int_equal(w.job.reason, v[i].want);
		job_revive(&w.job);
	}
}

/* --- the disk ----------------------------------------------------------------- */

/* Only its progress could not be saved: the job continues. */
static void progress_that_is_not_saved(void **state)
{
	char text[4096];
	int stats = open_dir("stats");

	(void)state;
	scratch_write(stats, "progress", "in the way");
	first_turn();
	w.fleet.known = true;
	pause_it();
	assert_int_equal(w.job.reason, REASON_NONE);
	assert_false(w.job.uncollected);
	assert_int_equal(w.job.found.inputs, 1);
	assert_string_equal(buf_str(&w.job.artifacts), "crash-1\n");
	assert_non_null(strstr(w.job.note, "progress"));
	assert_non_null(
	    strstr(scratch_text(w.dirs.logs, "t.log", text, sizeof(text)), "progress: "));
	close(stats);
}

static const struct CMUnitTest tests[] = {
    CASE(inputs_of_crashes_are_made_smaller),
    CASE(they_are_made_smaller_once),
    CASE(a_later_run_makes_them_smaller),
    CASE(crashes_that_were_not_looked_at_are_counted),
    CASE(what_is_left_is_for_another_time),
    CASE(only_what_was_not_judged_waits),
    CASE(what_a_run_before_could_not_decide),
    CASE(crashes_of_a_killed_run_are_new),
    CASE(nor_on_another_binary),
    CASE(its_end_can_wait),
    CASE(stopped_it_does_nothing_more),
    CASE(nor_does_one_that_was_just_ending),
    CASE(a_kill_that_fails_comes_again),
    CASE(a_dump_has_the_time_that_it_needs),
    CASE(a_starved_one_is_not_killed_at_its_dump),
    CASE(the_keeper_knows_when_a_cell_ends),
    CASE(a_cell_that_the_keeper_killed_did_not_fail),
    CASE(an_earlier_request_to_end_keeps_its_reason),
    CASE(a_bomb_that_is_asked_to_stop_is_saved),
    CASE(a_shortage_is_no_end),
    CASE(a_shortage_that_crun_reports),
    CASE(a_killed_helper_is_no_end),
    CASE(results_that_cannot_be_saved),
    CASE(progress_that_is_not_saved),
};

UNIT_MAIN(tests)
