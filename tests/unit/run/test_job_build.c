/* SPDX-License-Identifier: Apache-2.0 */
/* A job with a binary that changes. */
#include "tests/unit/unit.h"

#include "tests/unit/run/job.h"

static void open_crashes_are_tried_on_each_build(void **state)
{
	(void)state;
	first_turn();
	assert_int_equal(w.triage.stages, TRIAGE_QUEUE | TRIAGE_CHECK);
	assert_false(w.triage.rebuilt);
	assert_false(w.triage.anew);
	pause_it();
	job_start(&w.job, 86400 * S); /* the same one */
	assert_int_equal(w.job.phase, PHASE_FUZZING);
	assert_int_equal(w.triages, 1);
	pause_it();
	build("another");
	job_start(&w.job, 86400 * S);
	assert_int_equal(w.triages, 2);
	assert_int_equal(w.triage.stages, TRIAGE_QUEUE | TRIAGE_CHECK);
	assert_true(w.triage.rebuilt);
	assert_true(w.triage.anew);
	triaged((struct triage_sum){.fixed = 1}, 1);
	assert_int_equal(w.job.phase, PHASE_FUZZING);
	assert_int_equal(w.job.restarts, 0);
	assert_int_equal(w.job.crashes.fixed, 1);
	assert_int_equal(w.cells, 3);
}

/* Stopped meanwhile: post-fuzzing work is for the old build. */
static void an_end_while_they_are_tried(void **state)
{
	(void)state;
	first_turn();
	pause_it();
	build("another");
	job_start(&w.job, 86400 * S);
	job_stop(&w.job, REASON_RUN_DEADLINE, false);
	triaged((struct triage_sum){0}, 1);
	merged();
	assert_int_equal(w.job.phase, PHASE_DONE);
	assert_int_equal(w.job.reason, REASON_RUN_DEADLINE);
	assert_int_equal(w.cells, 1);
}

/* Until its first cell the target keeps its old build. */
static void a_new_build_has_to_fuzz_itself(void **state)
{
	(void)state;
	first_turn();
	w.job.fuzzed = true;
	pause_it();
	job_start(&w.job, 86400 * S); /* the same one */
	assert_true(w.job.fuzzed);
	pause_it();
	build("another");
	job_start(&w.job, 86400 * S);
	assert_true(w.job.fuzzed);
	triaged((struct triage_sum){0}, 1);
	assert_int_equal(w.job.phase, PHASE_FUZZING);
	assert_false(w.job.fuzzed);
}

/* An unreadable binary is not reported as changed at each check. */
static void a_binary_that_stays_as_it_is(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(unlink(w.binary), 0);
	assert_int_equal(fs_mkdirs(w.dir.fd, "binary", 0755, &e), 0);
	assert_true(job_other_binary(&w.job));
	first_turn();
	assert_string_equal(w.job.build.id, "");
	assert_false(job_other_binary(&w.job));
	pause_it();
	assert_int_equal(rmdir(w.binary), 0);
	job_start(&w.job, 86400 * S);
	assert_int_equal(w.job.reason, REASON_NO_BINARY);
	assert_false(job_other_binary(&w.job));
}

/* Also when the same binary comes back. */
static void a_binary_that_comes_back(void **state)
{
	(void)state;
	first_turn();
	pause_it();
	assert_false(job_other_binary(&w.job));
	assert_int_equal(renameat(w.dir.fd, "binary", w.dir.fd, "away"), 0);
	assert_false(job_other_binary(&w.job));
	job_start(&w.job, 86400 * S);
	assert_int_equal(w.job.reason, REASON_NO_BINARY);
	assert_int_equal(renameat(w.dir.fd, "away", w.dir.fd, "binary"), 0);
	assert_true(job_other_binary(&w.job));
	job_revive(&w.job);
	job_start(&w.job, 86400 * S);
	triaged((struct triage_sum){0}, 1);
	assert_int_equal(w.job.phase, PHASE_FUZZING);
	assert_false(job_other_binary(&w.job));
}

static void one_that_may_be_run_now(void **state)
{
	(void)state;
	assert_int_equal(fchmodat(w.dir.fd, "binary", 0600, 0), 0);
	first_turn();
	assert_false(job_other_binary(&w.job));
	assert_int_equal(fchmodat(w.dir.fd, "binary", 0700, 0), 0);
	assert_true(job_other_binary(&w.job));
}

/* The binary changed while its cell failed: the next cell is for the new build. */
static void one_that_was_exchanged_has_a_turn_of_its_own(void **state)
{
	char was[DIGEST_SHA1_HEX];

	(void)state;
	first_turn();
	snprintf(was, sizeof(was), "%s", w.job.build.id);
	w.fleet.turn_began_us = 7;
	cell_fails();
	assert_int_equal(w.job.phase, PHASE_FUZZING); /* once more */
	assert_int_equal(w.job.restarts, 1);
	build("another");
	cell_fails();
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	assert_int_equal(w.job.reason, REASON_NONE);
	assert_int_equal(w.requeued, 1);
	assert_int_equal(w.fleet.turn_began_us, 0);
	assert_int_equal(w.cells, 2);
	job_start(&w.job, 86400 * S);
	assert_string_not_equal(w.job.build.id, was);
	triaged((struct triage_sum){0}, 1);
	assert_int_equal(w.job.phase, PHASE_FUZZING);
	assert_int_equal(w.job.restarts, 1);
}

/* The job's open crashes were replayed on a binary that no longer exists. */
static void one_that_was_exchanged_before_its_first_cell(void **state)
{
	(void)state;
	job_start(&w.job, 86400 * S);
	build("another");
	triaged((struct triage_sum){0}, 1);
	assert_int_equal(w.job.phase, PHASE_QUEUED);
	job_start(&w.job, 86400 * S);
	assert_int_equal(w.triage.stages, TRIAGE_QUEUE | TRIAGE_CHECK);
	assert_true(w.triage.rebuilt);
	triaged((struct triage_sum){0}, 1);
	assert_int_equal(w.job.phase, PHASE_FUZZING);
}

/* The run's commit belongs only to the binary at the run's start. */
static void whose_commit_it_is(void **state)
{
	struct target_row row;

	(void)state;
	first_turn();
	assert_false(w.triage.rebuilt);
	job_row(&w.job, w.now, &row);
	assert_false(row.rebuilt);
	build("another"); /* its crash is replayed with this binary */
	w.failures = 1;
	cell_ends(77);
	assert_int_equal(w.triage.stages, TRIAGE_QUEUE);
	assert_true(w.triage.rebuilt);
}

static void it_came_before_the_first_turn(void **state)
{
	struct target_row row;

	(void)state;
	build("another");
	first_turn();
	assert_true(w.triage.rebuilt);
	job_row(&w.job, w.now, &row);
	assert_true(row.rebuilt);
}

/* Returns a merge's line in the history; 0: the first. */
static bool merge_names_the_commit(unsigned line)
{
	char text[8192], *at;
	int stats = open_dir("stats");

	at = text;
	(void)scratch_text(stats, "corpus_history.jsonl", text, sizeof(text));
	close(stats);
	while (line-- > 0) {
		at = strchr(at, '\n');
		assert_non_null(at);
		at++;
	}
	at[strcspn(at, "\n")] = '\0';
	assert_non_null(strstr(at, "\"commit\":"));
	return strstr(at, "\"c1\"") != NULL;
}

static void whose_commit_is_in_the_history(void **state)
{
	(void)state;
	close(open_dir("stats"));
	w.env.triage_env.commit = "c1";
	w.cfg.minimize_us = 0;
	first_turn();
	pause_it();
	job_maintain(&w.job);
	merged();
	job_start(&w.job, 86400 * S);
	pause_it();
	build("another"); /* not fuzzed yet, but measured */
	job_maintain(&w.job);
	merged();
	assert_true(merge_names_the_commit(0));
	assert_false(merge_names_the_commit(1));
}

/* Counters of the old build. */
static void a_new_build_is_not_judged_by_the_old_one(void **state)
{
	(void)state;
	first_turn();
	w.job.failures_total = 99; /* limit: a hundred */
	w.job.stillborn = 3;
	w.job.cov = 1000;
	pause_it();
	job_start(&w.job, 86400 * S);
	assert_int_equal(w.job.forgiven, 0);
	assert_int_equal(w.job.cov, 1000);
	pause_it();
	build("another");
	job_start(&w.job, 86400 * S);
	assert_int_equal(w.job.forgiven, 99);
	assert_int_equal(w.job.stillborn, 0);
	assert_int_equal(w.job.cov, 0);
	triaged((struct triage_sum){0}, 1);
	cell_fails();
	assert_int_equal(w.job.phase, PHASE_FUZZING);
}

static void how_its_turns_ended_is_counted(void **state)
{
	static const struct {
		enum failure what;
		bool fuzzed;
		unsigned not_started, limited, crashed; /* more */
	} v[] = {{FAILURE_NONE, true, 0, 0, 0},	    {FAILURE_NONE, false, 0, 0, 0},
		 {FAILURE_CRASH, false, 1, 0, 0},   {FAILURE_OOM, false, 1, 0, 0},
		 {FAILURE_CRASH, true, 0, 0, 1},    {FAILURE_TIMEOUT, true, 0, 1, 0},
		 {FAILURE_OOM_KILL, true, 0, 1, 0}, {FAILURE_OOM, true, 0, 1, 0}};
	const struct share_health *h = &w.fleet.health;

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct share_health was = *h;

		struct fuzzing fuzzing = {.engine.running = v[i].fuzzed};

		w.job.fuzzing = &fuzzing;
		job_count_health(&w.job, v[i].what);
		w.job.fuzzing = NULL;
		assert_int_equal(h->turns, was.turns + 1);
		assert_int_equal(h->not_started, was.not_started + v[i].not_started);
		assert_int_equal(h->limited, was.limited + v[i].limited);
		assert_int_equal(h->crashed, was.crashed + v[i].crashed);
	}
	for (unsigned i = 0; i < 100; i++) /* recent behaviour counts */
		job_count_health(&w.job, FAILURE_NONE);
	assert_int_equal(h->not_started + h->limited + h->crashed, 0);
	assert_in_range(h->turns, 8, 16);
}

/* Sets the state as after this time of fuzzing. */
static void reaches(uint64_t cov, uint64_t seconds)
{
	w.fleet.known = true;
	w.fleet.edges_total = 5000;
	w.fleet.spent_us += seconds * S;
	curve_begin(&w.fleet.curve, cov);
	curve_spend(&w.fleet.curve, seconds * S, 300 * S);
}

/* Reported when it is noticed: a continuous run has no end for a report. */
static void coverage_that_dropped_is_reported_once(void **state)
{
	struct target_row row;
	char text[4096];

	(void)state;
	first_turn();
	reaches(1000, 600);
	job_tick(&w.job, w.now);
	assert_int_equal(w.dropped, 0);
	pause_it();
	build("another");
	job_start(&w.job, 86400 * S);
	triaged((struct triage_sum){0}, 1);
	reaches(700, 20);
	job_tick(&w.job, w.now);
	assert_int_equal(w.dropped, 0); /* too early to decide */
	reaches(700, 31);
	job_tick(&w.job, w.now);
	job_tick(&w.job, w.now);
	assert_int_equal(w.dropped, 1);
	job_row(&w.job, w.now, &row);
	assert_int_equal(row.cov_before, 1000);
	pause_it();
	build("a third one, which is as bad");
	job_start(&w.job, 86400 * S);
	triaged((struct triage_sum){0}, 1);
	reaches(700, 40);
	job_tick(&w.job, w.now);
	assert_int_equal(w.dropped, 1);
	joblog_flush(&w.job.log);
	assert_non_null(strstr(scratch_text(w.dirs.logs, "t.log", text, sizeof(text)),
			       "coverage dropped: 700 of 5000 edges, the build before reached "
			       "1000 of 5000"));
}

/* At any price, although the price changes the rule's times. */
static void coverage_that_dropped_is_reported_at_any_price(void **state)
{
	static const uint64_t settle_us[] = {1500, 30 * S, 1500 * S};

	(void)state;
	first_turn();
	reaches(1000, 600);
	for (size_t i = 0; i < 3; i++) {
		pause_it();
		build(&"another"[i]);
		w.fleet.spent_us = 0;
		job_start(&w.job, 86400 * S);
		triaged((struct triage_sum){0}, 1);
		w.fleet.rule.settle_us = settle_us[i];
		reaches(700, 2); /* it has hardly begun */
		job_tick(&w.job, w.now);
		assert_int_equal(w.dropped, i);
		reaches(700, 40);
		job_tick(&w.job, w.now);
		assert_int_equal(w.dropped, i + 1);
		reaches(1000, 600);
		job_tick(&w.job, w.now);
	}
}

/* A build that was replaced after a short time is no base for comparison. */
static void a_build_that_was_soon_replaced_hides_no_drop(void **state)
{
	struct target_row row;

	(void)state;
	first_turn();
	reaches(1000, 600);
	pause_it();
	build("another");
	job_start(&w.job, 86400 * S);
	triaged((struct triage_sum){0}, 1);
	reaches(700, 20);
	pause_it();
	build("a third one, which is as bad");
	w.fleet.spent_us = 0;
	job_start(&w.job, 86400 * S);
	triaged((struct triage_sum){0}, 1);
	reaches(700, 40);
	job_tick(&w.job, w.now);
	assert_int_equal(w.dropped, 1);
	job_row(&w.job, w.now, &row);
	assert_int_equal(row.cov_before, 1000);
}

/* Each build has its own "runs" limit, as its cap: the new build is fuzzed, too. */
static void a_new_build_has_inputs_of_its_own(void **state)
{
	(void)state;
	w.cfg.runs = 1000;
	first_turn();
	w.job.fuzzing->engine.execs = 1000;
	pause_it();
	job_start(&w.job, 86400 * S);
	assert_int_equal(job_runs_left(&w.job), 1);
	pause_it();
	build("another");
	job_start(&w.job, 86400 * S);
	assert_int_equal(job_runs_left(&w.job), 1000);
	triaged((struct triage_sum){0}, 1);
	w.job.fuzzing->engine.execs = 300;
	pause_it();
	assert_int_equal(job_runs_left(&w.job), 700);
	assert_int_equal(w.job.execs_before, 1300); /* total */
}

/* A turn of a short run: the open crashes do not use all of it, but are replayed. */
static void open_crashes_leave_time_to_fuzz(void **state)
{
	struct target_row row;

	(void)state;
	w.job.turn_us = 60 * S;
	job_start(&w.job, 86400 * S);
	assert_int_equal(w.triage.budget_us, 30 * S);
	triaged((struct triage_sum){.left = 3}, 30);
	assert_int_equal(w.job.phase, PHASE_FUZZING);
	assert_true(w.job.untriaged);
	cell_ends(77);
	assert_int_equal(w.triages, 2);
	triaged((struct triage_sum){.left = 1, .undecided = 1},
		10); /* the CPU pressure was too high */
	assert_false(w.job.untriaged);
	job_row(&w.job, w.now, &row);
	assert_int_equal(row.untriaged, 0);
	assert_int_equal(row.undecided, 1);
	assert_int_equal(w.job.phase, PHASE_FUZZING);
	job_stop(&w.job, REASON_PLATEAU, false);
	w.failures = 1;
	cell_ends(77);
	assert_int_equal(w.triage.budget_us, 560 * S); /* not taken from any fuzzing time */
}

/* Triage does not count as fuzzing, even if a pause follows. */
static void triage_takes_nothing_of_its_time(void **state)
{
	uint64_t used;

	(void)state;
	job_start(&w.job, 86400 * S);
	triaged((struct triage_sum){0}, 500);
	pause_it(); /* after a minute */
	used = job_fuzzed_us(&w.job, w.now);
	assert_in_range(used, 60 * S, 62 * S);
	assert_in_range(job_wall_us(&w.job, w.now), 560 * S, 562 * S);
}

/* The fuzzed time does not shrink during triage either: a start by the user notes it then, and the
 * note must not exceed the time afterwards. */
static void fuzzed_time_never_shrinks(void **state)
{
	uint64_t used;

	(void)state;
	job_start(&w.job, 86400 * S);
	triaged((struct triage_sum){0}, 0);
	w.now += 60 * S;
	w.failures = 1;
	cell_ends(77);
	assert_int_equal(w.job.phase, PHASE_TRIAGING);
	used = job_fuzzed_us(&w.job, w.now);
	w.now += 300 * S;
	assert_int_equal(job_fuzzed_us(&w.job, w.now), used);
	triaged((struct triage_sum){0}, 10);
	assert_int_equal(job_fuzzed_us(&w.job, w.now), used);
}

/* Starts the next run, with the same binary. */
static bool next_run_knows_it(bool forget)
{
	job_done(&w.job);
	w.fleet = (struct fleet_target){0};
	w.cfg.plateau.forget = forget;
	job_init(&w.job, &w.env, &w.target, &w.cfg, NULL, 0, &w.fleet);
	job_load_progress(&w.job);
	return w.fleet.known && w.fleet.curve.cov == 1000;
}

static void what_is_known_is_forgotten_when_configured(void **state)
{
	(void)state;
	first_turn();
	reaches(1000, 600);
	pause_it();
	assert_true(next_run_knows_it(false));
	assert_false(next_run_knows_it(true));
	job_start(&w.job, 86400 * S);
	assert_false(w.fleet.known); /* not even with the same content */
	build("another");
	assert_false(next_run_knows_it(false));
}

static const struct CMUnitTest tests[] = {
    CASE(open_crashes_are_tried_on_each_build),
    CASE(an_end_while_they_are_tried),
    CASE(a_new_build_has_to_fuzz_itself),
    CASE(a_binary_that_stays_as_it_is),
    CASE(a_binary_that_comes_back),
    CASE(one_that_may_be_run_now),
    CASE(one_that_was_exchanged_has_a_turn_of_its_own),
    CASE(one_that_was_exchanged_before_its_first_cell),
    CASE(whose_commit_it_is),
    CASE(it_came_before_the_first_turn),
    CASE(whose_commit_is_in_the_history),
    CASE(a_new_build_is_not_judged_by_the_old_one),
    CASE(how_its_turns_ended_is_counted),
    CASE(coverage_that_dropped_is_reported_once),
    CASE(coverage_that_dropped_is_reported_at_any_price),
    CASE(a_build_that_was_soon_replaced_hides_no_drop),
    CASE(a_new_build_has_inputs_of_its_own),
    CASE(triage_takes_nothing_of_its_time),
    CASE(fuzzed_time_never_shrinks),
    CASE(open_crashes_leave_time_to_fuzz),
    CASE(what_is_known_is_forgotten_when_configured),
};

UNIT_MAIN(tests)
