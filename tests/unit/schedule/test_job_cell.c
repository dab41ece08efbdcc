/* SPDX-License-Identifier: Apache-2.0 */
/* What a job's cell tells, and what its target's curve and clock are told of it. */
#include "tests/unit/unit.h"

#include "tests/unit/schedule/job.h"

static void say(const char *text)
{
	job_cell_ops.output(&w.job, slice_of(text));
}

static void what_it_says_is_counted(void **state)
{
	(void)state;
	first_turn();
	say("INFO: Loaded 1 modules   (400 inline 8-bit counters): 400\n"
	    "INFO: -max_len is not provided; libFuzzer will not generate inputs larger than 4096 "
	    "bytes\n");
	assert_false(w.fleet.fuzzes);
	say("#9\tINITED cov: 30 ft: 40 corp: 7/9b exec/s: 0 rss: 30Mb\n");
	assert_true(w.fleet.fuzzes);
	assert_int_equal(w.fleet.curve.cov, 30);
	assert_int_equal(w.fleet.edges_total, 400);
	assert_int_equal(w.fleet.max_len, 4096);
	assert_int_equal(w.fleet.lim, 0);
	say("#16\tpulse  cov: 30 ft: 40 corp: 7/9b lim: 4 exec/s: 5 rss: 30Mb\n");
	assert_int_equal(w.fleet.lim, 4);
	assert_int_equal(w.fleet.curve.runs, 16);
}

/* libFuzzer does not say what it was given. */
static void the_longest_input_is_known_where_somebody_chose_it(void **state)
{
	(void)state;
	first_turn();
	w.job.attempt->max_len = 128;
	say("#9\tINITED cov: 30 ft: 40 corp: 7/9b exec/s: 0 rss: 30Mb\n");
	assert_int_equal(w.fleet.max_len, 128);
	say("INFO: -max_len is not provided; libFuzzer will not generate inputs larger than 7 "
	    "bytes\n#10\tpulse  cov: 30 lim: 4\n");
	assert_int_equal(w.fleet.max_len, 128);
}

/* A kill came before its progress was saved, or somebody brought inputs. */
static void what_its_seeds_reach_was_not_found(void **state)
{
	(void)state;
	first_turn();
	say("#9\tINITED cov: 30 ft: 40 corp: 7/9b exec/s: 0 rss: 30Mb\n");
	curve_spend(&w.fleet.curve, 1000 * S, 300 * S);
	cell_ends(77); /* and once more */
	assert_int_equal(w.cells, 2);
	say("#99\tINITED cov: 300 ft: 400 corp: 7/9b exec/s: 0 rss: 30Mb\n");
	assert_int_equal(w.fleet.curve.cov, 300);
	assert_true(curve_f1(&w.fleet.curve) == 0);
	say("#100\tNEW    cov: 301 ft: 400 corp: 8/10b lim: 4 exec/s: 5 rss: 30Mb\n");
	assert_int_equal(w.fleet.curve.cov, 301);
	assert_true(curve_f1(&w.fleet.curve) > 0);
}

/* A slow disk: it neither runs nor waits for a CPU, and does not hold still. */
static void its_waits_are_told(void **state)
{
	struct cell_end end = {.how = CELL_EXITED,
			       .last = {.usage_us = S / 10,
					.system_us = S / 20,
					.cpu = {.full_us = 2 * S},
					.memory = {.full_us = 3 * S},
					.io = {.full_us = 50 * S}}};

	(void)state;
	first_turn();
	job_pause(&w.job, false); /* no other cell comes after it */
	w.now += 60 * S;
	job_cell_ops.ended(&w.job, &end);
	assert_int_equal(w.fleet.clock.usage_us, S / 10);
	assert_int_equal(w.fleet.clock.waited_us, 2 * S);
	assert_int_equal(w.fleet.clock.last.system_us, S / 20);
	assert_int_equal(w.fleet.clock.last.memory_stall_us, 3 * S);
	assert_int_equal(w.fleet.clock.last.io_stall_us, 50 * S);
	assert_int_equal(w.fleet.clock.idle_us, 0);
}

static void seconds(unsigned n, uint64_t usage_us, uint64_t waits_us)
{
	for (unsigned i = 0; i < n; i++) {
		w.now += S;
		w.counters.usage_us += usage_us;
		w.counters.cpu.full_us += waits_us;
		job_tick(&w.job, w.now);
	}
}

/* Others had the CPU for as long as an input may take: of a minute that is little. */
static void a_short_burst_is_seen_when_an_input_times_out(void **state)
{
	(void)state;
	w.job.cfg.input_timeout_us = 5 * S;
	first_turn();
	seconds(100, S, 0);
	assert_true(job_waited_lately(&w.job) < 0.01);
	seconds(5, S / 10, S / 10 * 9);
	assert_true(w.fleet.clock.starved < 0.1);
	assert_true(job_waited_lately(&w.job) > 0.4);
	seconds(10, S, 0);
	assert_true(job_waited_lately(&w.job) < 0.01);
}

/* Nor does the end, milliseconds after a reading, say more than that one. */
static void without_a_cell_nothing_waits(void **state)
{
	struct target_row row;

	(void)state;
	first_turn();
	seconds(10, S / 10, S / 10 * 9);
	w.now += S / 100;
	w.counters.cpu.full_us += S / 100;
	job_tick(&w.job, w.now);
	job_row(&w.job, w.now, &row);
	assert_true(row.pressure_cpu > 0.89 && row.pressure_cpu < 0.91);
	assert_string_equal(row.pressure_state, "starved");
	job_pause(&w.job, false);
	cell_ends(0);
	job_row(&w.job, w.now, &row);
	assert_true(row.pressure_cpu == 0);
	assert_string_equal(row.pressure_state, "ok");
}

/* One that a person has killed was never asked; one that was, and then killed, did not obey. */
static void what_it_did_not_do_when_asked(void **state)
{
	(void)state;
	for (unsigned asked = 0; asked < 2; asked++) {
		struct cell_end end = {.how = CELL_SIGNALED, .code = 9};

		if (asked) {
			job_revive(&w.job);
			job_start(&w.job, 86400 * S);
			triaged((struct triage_sum){0}, 1);
			job_stop(&w.job, REASON_STOPPED, false);
		} else {
			first_turn();
		}
		job_kill(&w.job, REASON_STOPPED);
		w.job.engine.running = w.job.fuzzed = true;
		job_cell_ops.ended(&w.job, &end);
		assert_int_equal(w.job.phase, PHASE_DONE);
		assert_int_equal(w.job.reason, REASON_STOPPED);
		assert_string_equal(w.job.note, asked ? "did not stop when asked: killed" : "");
	}
}

static const char inited[] = "#9\tINITED cov: 30 ft: 40 corp: 7/9b exec/s: 0 rss: 30Mb\n";

/* Once a run and name; a library that looks for the call at its start changes nothing. */
static void an_input_that_is_refused_a_call_is_found(void **state)
{
	struct target_row row;

	(void)state;
	first_turn();
	job_cell_ops.refused(&w.job, "bpf");
	assert_int_equal(w.job.ask, ASK_NOTHING);
	say(inited);
	job_cell_ops.refused(&w.job, "bpf");
	assert_int_equal(w.job.ask, ASK_SYSCALL);
	cell_ends(77);
	assert_int_equal(w.job.failures[FAILURE_SYSCALL], 1);
	assert_string_equal(w.job.note, "called what a cell may not: bpf");
	assert_int_equal(w.cells, 2);
	say(inited);
	job_cell_ops.refused(&w.job, "bpf");
	assert_int_equal(w.job.ask, ASK_NOTHING);
	job_cell_ops.refused(&w.job, "keyctl");
	assert_int_equal(w.job.ask, ASK_SYSCALL);
	job_row(&w.job, w.now, &row);
	assert_string_equal(row.refused, "bpf (3), keyctl (1)");
}

/* However many other names come before it. */
static void many_refused_calls_hide_none(void **state)
{
	char name[32];

	(void)state;
	first_turn();
	for (unsigned i = 0; i < 2 * JOB_REFUSED_MAX; i++) {
		snprintf(name, sizeof(name), "number %u", i);
		job_cell_ops.refused(&w.job, name);
	}
	assert_int_equal(w.job.n_refused, JOB_REFUSED_MAX);
	assert_string_equal(w.job.refused[JOB_REFUSED_MAX - 1].name, "others");
	assert_int_equal(w.job.refused[JOB_REFUSED_MAX - 1].n, JOB_REFUSED_MAX + 1);
	say(inited);
	job_cell_ops.refused(&w.job, "bpf");
	assert_int_equal(w.job.ask, ASK_SYSCALL);
	assert_string_equal(w.job.attempt->refused, "bpf");
}

static const struct CMUnitTest tests[] = {
    CASE(an_input_that_is_refused_a_call_is_found),
    CASE(many_refused_calls_hide_none),
    CASE(what_it_says_is_counted),
    CASE(the_longest_input_is_known_where_somebody_chose_it),
    CASE(what_its_seeds_reach_was_not_found),
    CASE(its_waits_are_told),
    CASE(what_it_did_not_do_when_asked),
    CASE(a_short_burst_is_seen_when_an_input_times_out),
    CASE(without_a_cell_nothing_waits),
};

UNIT_MAIN(tests)
