/* SPDX-License-Identifier: Apache-2.0 */
/* Impossible numbers of an engine.  The cells are simulated. */
#include "tests/unit/unit.h"

#include "tests/unit/run/job.h"

static void say(const char *text)
{
	job_cell_ops.output(&w.job, slice_of(text));
}

/* Prints a status line with this number of edges. */
static void claim(unsigned n, unsigned long long edges)
{
	char line[200];

	snprintf(line, sizeof(line), "#%u\tNEW    cov: %llu ft: 40 corp: 3/9b lim: 4\n", n, edges);
	say(line);
}

static void tick(uint64_t usage_us)
{
	w.now += S;
	w.counters.usage_us += usage_us;
	job_tick(&w.job, w.now);
}

/* Starts a cell of a program with this number of counters. */
static void begins(uint64_t counters)
{
	first_turn();
	job_claims_build(&w.job, counters);
	job_claims_launched(&w.job);
	w.pid = 7;
	w.look = MODULES_COUNTED;
	w.edges = counters;
	say("#9\tINITED cov: 30 ft: 40 corp: 7/9b exec/s: 0 rss: 30Mb\n");
}

static const char *forged(void)
{
	struct target_row row;

	job_row(&w.job, w.now, &row);
	return row.forged;
}

static void more_edges_than_counters_are_forged(void **state)
{
	(void)state;
	begins(103);
	claim(10, 103);
	assert_int_equal(w.fleet.curve.cov, 103);
	assert_int_equal(w.looks, 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(forged(), "");
		assert_int_equal(w.fleet.curve.cov, 103);
		claim(11 + i, 343172);
		assert_int_equal(w.job.cov, 103);
		tick(S);
	}
	assert_int_equal(w.forges, 1);
	assert_true(w.fleet.forges);
	assert_string_equal(forged(), "343172 edges reached, its program has 103");
	assert_int_equal(w.fleet.curve.cov, 0);
	assert_true(curve_f1(&w.fleet.curve) == 0);
	claim(20, 60); /* even possible numbers are no longer trusted */
	assert_int_equal(w.fleet.curve.cov, 0);
}

/* The gate uses the binary's number of edges: a claim of many instrumented edges would raise it. */
static void more_instrumented_edges_than_counters_are_forged(void **state)
{
	(void)state;
	begins(103);
	say("INFO: Loaded 1 modules   (9000000 inline 8-bit counters): 9000000\n");
	say("#10\tpulse  cov: 30 ft: 40 corp: 7/9b lim: 4 exec/s: 5 rss: 30Mb\n");
	assert_int_equal(w.fleet.edges_total, 0);
	say("INFO: Loaded 1 modules   (103 inline 8-bit counters): 103\n");
	say("#11\tpulse  cov: 30 ft: 40 corp: 7/9b lim: 4 exec/s: 5 rss: 30Mb\n");
	assert_int_equal(w.fleet.edges_total, 103);
}

/* Two threads that write at once can mix two true lines into such a line. */
static void one_odd_line_is_ignored_and_nothing_more(void **state)
{
	(void)state;
	begins(103);
	for (unsigned i = 0; i < 100; i++) {
		claim(20 + i, i == 50 ? 1277 : 60);
		tick(S);
	}
	assert_int_equal(w.job.claims.refused, 1);
	assert_string_equal(forged(), "");
	assert_int_equal(w.fleet.curve.cov, 60);
}

/* The edges of instrumented libraries count, also of those from dlopen(3). */
static void libraries_count_and_were_not_found_by_fuzzing(void **state)
{
	(void)state;
	begins(103);
	w.edges = 5000;
	claim(10, 700);
	assert_int_equal(w.looks, 1);
	assert_int_equal(w.fleet.curve.cov, 700);
	claim(11, 5000);
	assert_int_equal(w.looks, 1);
	assert_int_equal(w.job.claims.refused, 0);
}

/* Lines that come before the process is known wait until it is. */
static void lines_before_the_process_is_known_wait(void **state)
{
	(void)state;
	first_turn();
	job_claims_build(&w.job, 103);
	job_claims_launched(&w.job);
	w.look = MODULES_COUNTED;
	w.edges = 5000;
	say("INFO: Loaded 2 modules   (5000 inline 8-bit counters): 103 4897\n"
	    "#9\tINITED cov: 900 ft: 40 corp: 7/9b exec/s: 0 rss: 30Mb\n");
	assert_true(w.fleet.fuzzes);
	assert_int_equal(w.looks, 0);
	tick(S);
	assert_int_equal(w.fleet.curve.cov, 0);
	w.pid = 7;
	tick(S);
	assert_int_equal(w.job.fuzzing->engine.cov, 900);
	assert_int_equal(w.job.fuzzing->engine.edges_total, 5000);
	assert_int_equal(w.fleet.curve.cov, 900);
	assert_int_equal(w.fleet.curve.base, 900); /* the seeds reach them: they are no finds */
	assert_int_equal(w.job.claims.refused, 0);
}

/* A look is possible once a second.  The lines in between wait for it, whatever causes it. */
static void a_line_that_looks_judges_the_lines_before_it(void **state)
{
	(void)state;
	begins(103);
	for (unsigned i = 0; i < 3; i++)
		claim(10 + i, 5000);
	assert_int_equal(w.looks, 1);
	assert_int_equal(w.job.claims.refused, 1);
	w.now += S;
	claim(13, 5000);
	assert_int_equal(w.looks, 2);
	assert_int_equal(w.job.claims.refused, 4);
	assert_int_equal(w.forges, 1);
}

/* Without section headers the counters are not known; memory is the bound. */
static void without_sections_it_is_believed(void **state)
{
	(void)state;
	w.cfg.memory = 1 << 20;
	begins(103);
	w.look = MODULES_UNKNOWN;
	claim(10, 5000);
	assert_int_equal(w.fleet.curve.cov, 5000);
	claim(11, 65537);
	tick(S);
	assert_int_equal(w.fleet.curve.cov, 5000);
	assert_int_equal(w.job.claims.refused, 1);
}

/* A process that cannot be read proves nothing. */
static void a_process_that_is_gone_proves_nothing(void **state)
{
	(void)state;
	begins(103);
	w.look = MODULES_GONE;
	for (unsigned i = 0; i < 50; i++) {
		claim(11 + i, 5000);
		tick(S);
	}
	assert_int_equal(w.job.claims.refused, 0);
	assert_int_equal(w.fleet.curve.cov, 30);
	assert_in_range(w.looks, 1, 16);
}

static void no_more_executions_than_cpu_time(void **state)
{
	struct target_row row;

	(void)state;
	begins(103);
	say("#400000\tpulse  cov: 30 ft: 40 corp: 7/9b lim: 4 exec/s: 5 rss: 30Mb\n");
	tick(S);
	for (unsigned i = 0; i < 3; i++) {
		say("#99999999999\tpulse  cov: 30 ft: 40 corp: 7/9b lim: 4 exec/s: 5 rss: 30Mb\n");
		job_row(&w.job, w.now, &row);
		assert_true(row.execs <= 20 * 2 * (i + 2) * S);
		tick(S);
		assert_int_equal(w.job.fuzzing->engine.execs, 400000);
	}
	assert_string_equal(forged(), "99999999999 executions, its CPU time allows 40000000");
}

/* A hundred lines come between two readings of the CPU time: each of them is refused as a whole. */
static void each_line_with_too_many_executions_counts(void **state)
{
	(void)state;
	begins(103);
	say("#400000\tpulse  cov: 30 ft: 40 corp: 7/9b lim: 4 exec/s: 5 rss: 30Mb\n");
	for (unsigned i = 0; i < 100; i++)
		say("#99999999999\tNEW    cov: 90 ft: 40 corp: 99999999/9b lim: 4\n");
	assert_int_equal(w.job.fuzzing->engine.execs, 400000);
	assert_int_equal(w.job.fuzzing->engine.corpus_units, 7);
	assert_int_equal(w.job.cov, 30);
	assert_int_equal(w.forges, 1);
	assert_true(w.fleet.forges);
}

/* A supervisor that reads the CPU time late marks no honest target. */
static void a_late_reading_proves_nothing(void **state)
{
	char line[200];

	(void)state;
	begins(103);
	for (unsigned i = 1; i <= 60; i++) {
		w.now += S;
		snprintf(line, sizeof(line), "#%llu\tpulse  cov: 30 ft: 40 corp: 7/9b lim: 4\n",
			 (unsigned long long)(10 * S * i));
		say(line);
	}
	assert_int_equal(w.job.claims.refused, 0);
	assert_int_equal(w.job.fuzzing->engine.execs, 600 * S);
}

static void the_last_words_are_bounded_as_well(void **state)
{
	struct cell_end end = {.how = CELL_EXITED, .last = {.usage_us = S}};

	(void)state;
	begins(103);
	say("stat::number_of_executed_units: 9000000000\n");
	job_cell_ops.ended(&w.job, &end);
	assert_int_equal(w.job.execs_before, 9);
	assert_int_equal(w.job.claims.refused, 1);
}

static void memory_is_no_more_than_the_kernel_counted(void **state)
{
	struct target_row row;

	(void)state;
	begins(103);
	w.job.target = &w.target;
	w.counters.mem_peak = 100 << 20;
	say("#10\tpulse  cov: 30 ft: 40 corp: 7/9b lim: 4 exec/s: 5 rss: 90Mb\n");
	tick(S);
	job_row(&w.job, w.now, &row);
	assert_int_equal(row.rss_peak, 90 << 20);
	say("#11\tpulse  cov: 30 ft: 40 corp: 7/9b lim: 4 exec/s: 5 rss: 90000Mb\n");
	job_row(&w.job, w.now, &row);
	assert_int_equal(row.rss_peak, (UINT64_C(164) << 20) + w.target.size);
}

static void a_corpus_is_no_more_than_its_files(void **state)
{
	struct target_row row;

	(void)state;
	begins(103);
	w.job.seeds.files = 4;
	w.job.found.inputs = 3;
	say("#90\tNEW    cov: 30 ft: 40 corp: 60/90b lim: 4\n");
	job_row(&w.job, w.now, &row);
	assert_int_equal(row.corpus_units, 60); /* not collected yet */
	w.job.phase = PHASE_DONE;
	job_row(&w.job, w.now, &row);
	assert_int_equal(row.corpus_units, 8);
	w.job.phase = PHASE_FUZZING;
}

/* A curve that an earlier version accepted gets no CPU time now. */
static void a_curve_that_cannot_be_true_is_forgotten(void **state)
{
	(void)state;
	begins(103);
	w.fleet.curve.cov = 343172;
	tick(S);
	assert_int_equal(w.looks, 1);
	assert_false(w.fleet.known);
	claim(10, 60);
	assert_int_equal(w.fleet.curve.cov, 60);
	assert_string_equal(forged(), "");
}

static void the_next_run_knows_until_it_is_built_anew(void **state)
{
	struct fleet_target fleet = {0};
	struct target_config cfg = {0};
	struct err e;

	(void)state;
	begins(103);
	for (unsigned i = 0; i < 3; i++) {
		claim(11 + i, 343172);
		tick(S);
	}
	assert_int_equal(job_save_progress(&w.job, &e), 0);
	pause_it();
	job_done(&w.job);
	w.fleet = fleet;
	job_init(&w.job, &w.env, &w.target, &cfg, NULL, 0, &w.fleet);
	job_load_progress(&w.job);
	assert_true(w.fleet.forges);
	assert_string_equal(forged(), "343172 edges reached, its program has 103");
	job_take_build(&w.job, &w.job.binary.file, "1111111111111111111111111111111111111111");
	assert_false(w.fleet.forges);
	assert_string_equal(forged(), "");
}

static const struct CMUnitTest tests[] = {
    CASE(more_edges_than_counters_are_forged),
    CASE(more_instrumented_edges_than_counters_are_forged),
    CASE(one_odd_line_is_ignored_and_nothing_more),
    CASE(libraries_count_and_were_not_found_by_fuzzing),
    CASE(lines_before_the_process_is_known_wait),
    CASE(a_line_that_looks_judges_the_lines_before_it),
    CASE(without_sections_it_is_believed),
    CASE(a_process_that_is_gone_proves_nothing),
    CASE(no_more_executions_than_cpu_time),
    CASE(each_line_with_too_many_executions_counts),
    CASE(a_late_reading_proves_nothing),
    CASE(the_last_words_are_bounded_as_well),
    CASE(memory_is_no_more_than_the_kernel_counted),
    CASE(a_corpus_is_no_more_than_its_files),
    CASE(a_curve_that_cannot_be_true_is_forgotten),
    CASE(the_next_run_knows_until_it_is_built_anew),
};

UNIT_MAIN(tests)
