/* SPDX-License-Identifier: Apache-2.0 */
/* A job with an engine that goes on after a failure, and writes its statistics to a file: AFL++. */
#include "tests/unit/unit.h"

#include "runner/engine/afl/afl.h"
#include "tests/unit/run/job.h"

#include <signal.h>

static void begins(void)
{
	w.target.engine = &engine_afl;
	first_turn();
}

/* The engine writes its statistics, and a second later they are read. */
static void writes(unsigned execs, unsigned edges)
{
	snprintf(w.stats, sizeof(w.stats),
		 "execs_done        : %u\nedges_found       : %u\ntotal_edges       : 400\n", execs,
		 edges);
	w.now += 1 * S;
	w.counters.usage_us += 1 * S;
	job_tick(&w.job, w.now);
	assert_int_equal(strlen(w.stats), 0);
}

static void says(const char *text)
{
	job_cell_ops.output(&w.job, slice_of(text));
}

static void ends_well(uint64_t oom_kills, uint64_t pids_refused)
{
	struct cell_end end = {.how = CELL_EXITED,
			       .last = {.usage_us = w.counters.usage_us,
					.oom_kills = oom_kills,
					.pids_refused = pids_refused}};

	says("[+] We're done here. Have a nice day!\n");
	job_cell_ops.ended(&w.job, &end);
}

static void its_file_has_the_statistics(void **state)
{
	(void)state;
	begins();
	assert_false(w.fleet.fuzzes);
	writes(15, 30);
	assert_string_equal(w.stats_path, "t/artifacts/default/fuzzer_stats");
	assert_true(w.fleet.fuzzes);
	assert_int_equal(w.fleet.curve.cov, 30);
	assert_int_equal(w.fleet.edges_total, 400);
	writes(5000, 31);
	assert_int_equal(w.fleet.curve.cov, 31);
	assert_int_equal(w.fleet.curve.runs, 5000);
	job_pause(&w.job, false);
	snprintf(w.stats, sizeof(w.stats), "execs_done : 9000\n"); /* the last, at its end */
	ends_well(0, 0);
	assert_int_equal(w.job.execs_before, 9000);
}

/* Only 20 executions a microsecond are possible. */
static void impossible_statistics_do_not_count(void **state)
{
	(void)state;
	begins();
	writes(15, 30);
	for (unsigned i = 0; i < 4; i++)
		writes(4000000000, 30);
	assert_int_equal(w.forges, 1);
	assert_int_equal(w.job.fuzzing->engine.execs, 15);
}

/* The call was in one of many inputs, which nothing tells. */
static void a_refused_call_ends_nothing(void **state)
{
	(void)state;
	begins();
	writes(15, 30);
	job_cell_ops.refused(&w.job, "bpf");
	assert_int_equal(w.job.phase, PHASE_FUZZING);
	assert_int_equal(w.job.n_refused, 1);
}

/* The kernel killed the target, and the engine saved the input. */
static void a_kill_that_it_survived_is_no_failure_of_the_cell(void **state)
{
	(void)state;
	begins();
	writes(15, 30);
	job_pause(&w.job, false);
	ends_well(3, 2);
	assert_int_equal(w.job.failures_total, 0);
	assert_int_equal(w.job.phase, PHASE_QUEUED);
}

static void a_kill_that_ended_it_is_one(void **state)
{
	struct cell_end end = {.how = CELL_SIGNALED, .code = SIGKILL, .last.oom_kills = 1};

	(void)state;
	begins();
	writes(15, 30);
	job_cell_ops.ended(&w.job, &end);
	assert_int_equal(w.job.failures[FAILURE_OOM_KILL], 1);
}

/* Its driver's edge is the only one, with every input. */
static void a_blind_target_is_not_fuzzed(void **state)
{
	(void)state;
	begins();
	writes(15, 1);
	job_stop(&w.job, REASON_TIME_LIMIT, false);
	snprintf(w.stats, sizeof(w.stats), "execs_done : 5000\nedges_found : 1\n");
	ends_well(0, 0);
	assert_int_equal(w.job.pending, REASON_NOT_INSTRUMENTED);
}

static void a_blind_target_is_stopped(void **state)
{
	(void)state;
	begins();
	writes(5000, 1);
	assert_int_equal(w.job.phase, PHASE_STOPPING);
	assert_int_equal(w.job.pending, REASON_NOT_INSTRUMENTED);
}

/* The user's own reason stays. */
static void a_stopped_target_was_stopped(void **state)
{
	(void)state;
	begins();
	writes(15, 1);
	job_stop(&w.job, REASON_STOPPED, false);
	snprintf(w.stats, sizeof(w.stats), "execs_done : 5000\nedges_found : 1\n");
	ends_well(0, 0);
	assert_int_equal(w.job.pending, REASON_STOPPED);
}

/* It does not measure inputs. */
static void its_corpus_is_not_merged(void **state)
{
	(void)state;
	w.cfg.merge_us = 60 * S;
	begins();
	writes(15, 30);
	job_stop(&w.job, REASON_TIME_LIMIT, false);
	ends_well(0, 0);
	assert_int_equal(w.merges, 0);
}

static const struct CMUnitTest tests[] = {
    CASE(its_file_has_the_statistics), CASE(impossible_statistics_do_not_count),
    CASE(a_refused_call_ends_nothing), CASE(a_kill_that_it_survived_is_no_failure_of_the_cell),
    CASE(a_kill_that_ended_it_is_one), CASE(a_blind_target_is_not_fuzzed),
    CASE(a_blind_target_is_stopped),   CASE(a_stopped_target_was_stopped),
    CASE(its_corpus_is_not_merged),
};

UNIT_MAIN(tests)
