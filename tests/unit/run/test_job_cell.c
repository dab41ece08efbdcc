/* SPDX-License-Identifier: Apache-2.0 */
/* News from a job's cell, and their effect on the target's curve and clock. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/crash/report/json.h"
#include "tests/unit/run/job.h"

#include <dirent.h>
#include <signal.h>

static void say(const char *text)
{
	job_cell_ops.output(&w.job, slice_of(text));
}

static void its_claims_are_counted(void **state)
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

/* libFuzzer does not print a given value. */
static void a_chosen_longest_input_is_known(void **state)
{
	(void)state;
	first_turn();
	w.job.fuzzing->max_len = 128;
	say("#9\tINITED cov: 30 ft: 40 corp: 7/9b exec/s: 0 rss: 30Mb\n");
	assert_int_equal(w.fleet.max_len, 128);
	say("INFO: -max_len is not provided; libFuzzer will not generate inputs larger than 7 "
	    "bytes\n#10\tpulse  cov: 30 lim: 4\n");
	assert_int_equal(w.fleet.max_len, 128);
}

/* A kill came before its progress was saved, or inputs came from outside. */
static void what_its_seeds_reach_was_not_found(void **state)
{
	(void)state;
	first_turn();
	say("#9\tINITED cov: 30 ft: 40 corp: 7/9b exec/s: 0 rss: 30Mb\n");
	curve_spend(&w.fleet.curve, 1000 * S, 300 * S);
	cell_fails(); /* a second time */
	assert_int_equal(w.cells, 2);
	say("#99\tINITED cov: 300 ft: 400 corp: 7/9b exec/s: 0 rss: 30Mb\n");
	assert_int_equal(w.fleet.curve.cov, 300);
	assert_true(curve_f1(&w.fleet.curve) == 0);
	say("#100\tNEW    cov: 301 ft: 400 corp: 8/10b lim: 4 exec/s: 5 rss: 30Mb\n");
	assert_int_equal(w.fleet.curve.cov, 301);
	assert_true(curve_f1(&w.fleet.curve) > 0);
}

/* On a slow disk the cell neither runs nor waits for a CPU, but is not stuck. */
static void its_waits_are_reported(void **state)
{
	struct cell_end end = {.how = CELL_EXITED,
			       .last = {.usage_us = S / 10,
					.system_us = S / 20,
					.cpu = {.full_us = 2 * S},
					.memory = {.full_us = 3 * S},
					.io = {.full_us = 50 * S}}};

	(void)state;
	first_turn();
	job_pause(&w.job, false); /* no other cell follows */
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

/* Other processes had the CPU for an input's time limit: a small part of a minute. */
static void a_short_burst_is_seen_when_an_input_times_out(void **state)
{
	(void)state;
	w.cfg.input_timeout_us = 5 * S;
	first_turn();
	seconds(100, S, 0);
	assert_true(job_waited_lately(&w.job) < 0.01);
	seconds(5, S / 10, S / 10 * 9);
	assert_true(w.fleet.clock.starved < 0.1);
	assert_true(job_waited_lately(&w.job) > 0.4);
	seconds(10, S, 0);
	assert_true(job_waited_lately(&w.job) < 0.01);
}

/* The end, milliseconds after a reading, gives no more information than the reading. */
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

/* A target that was killed directly was never asked to stop.  A target that was asked and then
 * killed did not obey. */
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
		w.job.fuzzing->engine.running = w.job.fuzzed = true;
		job_cell_ops.ended(&w.job, &end);
		assert_int_equal(w.job.phase, PHASE_DONE);
		assert_int_equal(w.job.reason, REASON_STOPPED);
		assert_string_equal(w.job.note, asked ? "did not stop when asked: killed" : "");
	}
}

/* The turn is over, and an input hangs.  The report of the forced dump is no failure of its own,
 * and a later turn must not end with a note about it. */
static void a_turn_ends_in_a_hanging_input(void **state)
{
	struct cell_end end = {.how = CELL_EXITED, .code = 77};

	(void)state;
	first_turn();
	job_pause(&w.job, false);
	w.job.fuzzing->forced = true;
	w.job.fuzzing->dump_sent = true;
	w.job.fuzzing->engine.running = w.job.fuzzed = true;
	w.job.fuzzing->engine.fault = ENGINE_FAULT_CRASH;
	snprintf(w.job.fuzzing->engine.fault_text, sizeof(w.job.fuzzing->engine.fault_text),
		 "libFuzzer: deadly signal");
	job_cell_ops.ended(&w.job, &end);
	assert_string_equal(w.job.note, "");
}

static const char inited[] = "#9\tINITED cov: 30 ft: 40 corp: 7/9b exec/s: 0 rss: 30Mb\n";

/* The engine prints nothing for silent_us, of which the cell has cpu_us of CPU time.  Then the
 * target neither stops nor dumps, and uses usage_us of CPU time. */
static void is_killed(uint64_t silent_us, uint64_t cpu_us, uint64_t usage_us,
		      const char *last_words)
{
	struct cell_end end = {.how = CELL_SIGNALED, .code = SIGKILL};
	struct err e;

	first_turn();
	say(inited);
	w.now += S;
	w.counters.usage_us += S;
	job_tick(&w.job, w.now);
	w.now += silent_us;
	w.counters.usage_us += cpu_us;
	job_stop(&w.job, REASON_TIME_LIMIT, false);
	job_step(&w.job, EVENT_GRACE);
	assert_int_equal(w.job.phase, PHASE_DUMPING);
	say(last_words);
	w.counters.usage_us += usage_us;
	w.now = w.job.grace_at;
	assert_int_equal(loop_run(w.loop, &e), 0);
	assert_int_equal(w.job.phase, PHASE_KILLING);
	job_cell_ops.ended(&w.job, &end);
	assert_int_equal(w.job.pending, REASON_TIME_LIMIT);
}

static void a_target_that_ignores_all_signals_has_a_timeout(void **state)
{
	(void)state;
	w.cfg.input_timeout_us = 30 * S;
	is_killed(99 * S, 31 * S, S / 2, "");
	assert_int_equal(w.job.failures[FAILURE_TIMEOUT], 1);
	assert_int_equal(w.job.failures_total, 1);
	assert_int_equal(w.job.phase, PHASE_TRIAGING);
	assert_int_equal(state_waiting(&w.state, "t"), 1);
}

static void a_short_input_a_starved_cell_and_a_late_dump_are_no_timeouts(void **state)
{
	static const struct {
		uint64_t silent_us, cpu_us, usage_us;
		const char *last_words;
	} all[] = {
	    {20 * S, 60 * S, S / 2, ""},  /* the input is within its limit */
	    {31 * S, 20 * S, S / 2, ""},  /* it had too little CPU time for its limit */
	    {31 * S, 31 * S, S / 10, ""}, /* too little CPU time to react */
	    {31 * S, 31 * S, S / 2, "==1== ERROR: libFuzzer: deadly signal\n"}, /* the dump began */
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (i > 0) {
			assert_int_equal(teardown(state), 0);
			assert_int_equal(setup(state), 0);
		}
		w.cfg.input_timeout_us = 30 * S;
		is_killed(all[i].silent_us, all[i].cpu_us, all[i].usage_us, all[i].last_words);
		assert_int_equal(w.job.failures_total, 0);
		assert_int_equal(state_waiting(&w.state, "t"), 0);
	}
}

static void a_replay_shows_whether_the_current_input_fails(void **state)
{
	(void)state;
	for (uint64_t overran = 0; overran < 2; overran++) {
		if (overran) {
			assert_int_equal(teardown(state), 0);
			assert_int_equal(setup(state), 0);
		}
		first_turn();
		w.suspects = 1;
		job_stop(&w.job, REASON_TIME_LIMIT, false);
		job_step(&w.job, EVENT_GRACE);
		cell_ends(77);
		assert_int_equal(w.job.failures_total, 0);
		triaged((struct triage_sum){.artifacts = 1, .overran = overran}, 1);
		assert_int_equal(w.job.failures[FAILURE_TIMEOUT], overran);
		assert_int_equal(w.job.failures_total, overran);
	}
}

/* One finding per run and name.  A library's call at its start changes nothing. */
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
	assert_string_equal(w.job.note, "made a system call that a cell may not make: bpf");
	triaged((struct triage_sum){.artifacts = 1}, 1);
	assert_int_equal(w.cells, 2);
	say(inited);
	job_cell_ops.refused(&w.job, "bpf");
	assert_int_equal(w.job.ask, ASK_NOTHING);
	job_cell_ops.refused(&w.job, "keyctl");
	assert_int_equal(w.job.ask, ASK_SYSCALL);
	job_row(&w.job, w.now, &row);
	assert_string_equal(row.refused, "bpf (3), keyctl (1)");
}

/* Many earlier names do not hide the finding. */
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
	assert_string_equal(w.job.fuzzing->refused, "bpf");
}

/* --- ends of a cell ---------------------------------------------------------- */

static void row(struct target_row *ret)
{
	job_row(&w.job, w.now, ret);
}

/* Reads the failure that waits for triage: its name in the queue, and its report. */
static void read_lost(struct kept *ret)
{
	_autoclose_ int queue = open_dir("triage/t");
	char path[64], name[64] = "";
	struct crash_report parsed;
	struct err e;
	DIR *d;
	const struct dirent *ent;

	snprintf(path, sizeof(path), "%s/triage/t", w.dir.path);
	d = opendir(path);
	assert_non_null(d);
	while ((ent = readdir(d)))
		if (kept_is_lost(ent->d_name))
			snprintf(name, sizeof(name), "%.60s", ent->d_name);
	closedir(d);
	if (!*name)
		fail_msg("no failure waits for triage");
	assert_int_equal(kept_read(queue, name, ret, &e), 0);
	assert_int_equal(crash_report_from_json(ret->report, &parsed, &e), 0);
	crash_report_done(&parsed);
	assert_int_equal(unlinkat(queue, name, 0), 0);
	assert_int_equal(kept_sweep(queue, &e), 0);
}

/* None of these ends leaves an artifact: an entry in the queue has the end of the cell. */
static void a_failure_without_an_artifact_waits_for_triage(void **state)
{
	static const struct {
		const char *says;
		int code, signo;
		uint64_t oom_kills;
		enum failure failure;
		const char *own, *detail;
		bool by_text;
	} all[] = {
	    {"", 0, 0, 0, FAILURE_EXIT, "exit", "status 0", false},
	    {"Done 7 runs in 1 second(s)\n", 0, 0, 0, FAILURE_EXIT, "exit", "status 0", false},
	    {"==1== libFuzzer: run interrupted; exiting\n", 72, 0, 0, FAILURE_INTERRUPT,
	     "interrupt", "", false},
	    {"", 72, 0, 0, FAILURE_EXIT, "exit", "status 72", false},
	    {"", 0, SIGKILL, 0, FAILURE_EXIT, "signal", "SIGKILL", false},
	    {"", 0, SIGKILL, 1, FAILURE_OOM_KILL, "memory", "", false},
	    {"==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0\n", 76, 0, 0, FAILURE_CRASH,
	     "exit", "status 76", true},
	};

	(void)state;
	first_turn();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct cell_end end = {.how = all[i].signo ? CELL_SIGNALED : CELL_EXITED,
				       .code = all[i].signo ? all[i].signo : all[i].code,
				       .last.oom_kills = all[i].oom_kills};
		uint64_t before = w.job.failures[all[i].failure];
		struct kept k;

		print_message("# %zu: %s\n", i, failure_name(all[i].failure));
		w.now += 60 * S;
		say("#9\tINITED cov: 30 ft: 40 corp: 7/9b exec/s: 0 rss: 30Mb\nlast words\n");
		say(all[i].says);
		job_cell_ops.ended(&w.job, &end);
		assert_int_equal(w.job.failures[all[i].failure], before + 1);
		assert_int_equal(w.job.reason, REASON_NONE);
		read_lost(&k);
		assert_string_equal(k.own, all[i].own);
		assert_string_equal(k.detail, all[i].detail);
		assert_int_equal(k.by_text, all[i].by_text);
		assert_string_equal(k.run, "20240501-103000");
		assert_non_null(memmem(k.text.p, k.text.n, "last words\n", 11));
		kept_done(&k);
		triaged((struct triage_sum){.artifacts = 1}, 1);
		assert_int_equal(w.job.phase, PHASE_FUZZING); /* once more */
	}
	w.failures = 1; /* with an artifact there is no such entry */
	cell_ends(77);
	assert_int_equal(w.job.phase, PHASE_TRIAGING);
	assert_true(scratch_has(w.dir.fd, "triage/t"));
	assert_int_equal(unlinkat(w.dir.fd, "triage/t", AT_REMOVEDIR), 0); /* the queue is empty */
}

/* The new engine continues as usual, also while the cell is asked to stop. */
static void a_target_that_executes_itself_has_failed(void **state)
{
	for (unsigned asked = 0; asked < 2; asked++) {
		struct cell_end end = {.how = CELL_SIGNALED, .code = SIGKILL};
		struct kept k;

		if (asked) {
			assert_int_equal(teardown(state), 0);
			assert_int_equal(setup(state), 0);
		}
		first_turn();
		say(inited);
		if (asked)
			job_pause(&w.job, false);
		say("INFO: Seed: 7\nINFO: Loaded 1 modules   (400 inline 8-bit counters): 400\n");
		assert_int_equal(w.job.phase, PHASE_KILLING);
		assert_int_equal(w.killed, 1);
		say(inited); /* killed, and reported once */
		assert_int_equal(w.killed, 1);
		w.now += 60 * S;
		job_cell_ops.ended(&w.job, &end);
		assert_int_equal(w.job.failures[FAILURE_EXIT], 1);
		assert_int_equal(w.job.failures_total, 1);
		assert_string_equal(w.job.note, "executed itself: its engine started again");
		read_lost(&k);
		assert_string_equal(k.own, "exit");
		assert_string_equal(k.detail, "executed itself");
		assert_false(k.by_text);
		kept_done(&k);
		triaged((struct triage_sum){.artifacts = 1}, 1);
		assert_int_equal(w.job.phase, asked ? PHASE_QUEUED : PHASE_FUZZING);
	}
}

/* An input of the corpus does this each time. */
static void a_target_that_executes_itself_without_end_does_not_start(void **state)
{
	struct cell_end end = {.how = CELL_SIGNALED, .code = SIGKILL};

	(void)state;
	first_turn();
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(w.killed, 0);
		say("INFO: Seed: 7\nINFO: Loaded 1 modules   (400 inline 8-bit counters): 400\n");
	}
	assert_int_equal(w.killed, 1);
	job_cell_ops.ended(&w.job, &end);
	assert_int_equal(w.job.reason, REASON_STARTUP_FAILED);
	assert_string_equal(w.job.note, "executed itself: its engine started again");
}

/* A target that never began to fuzz is "not fuzzed"; this is no crash. */
static void a_failed_start_is_no_crash(void **state)
{
	struct cell_end end = {.how = CELL_EXITED, .code = 72};
	struct target_row r;

	(void)state;
	first_turn();
	say("==1== libFuzzer: run interrupted; exiting\n");
	job_cell_ops.ended(&w.job, &end);
	assert_int_equal(w.job.reason, REASON_STARTUP_FAILED);
	row(&r);
	assert_true(r.unfuzzed);
	assert_false(r.given_up);
	assert_false(scratch_has(w.dir.fd, "triage/t"));
}

/* Inputs of other targets end a cell that reads them.  Four of them, or one without an artifact,
 * end the trial, and never the target. */
static void inputs_of_others_do_not_end_the_target(void **state)
{
	struct strategies *s = &w.fleet.strategies;
	struct cell_end crash = {.how = CELL_EXITED, .code = 77};
	struct cell_end end = {.how = CELL_EXITED, .code = 0};

	(void)state;
	first_turn();
	w.failures = 1; /* an artifact each time */
	for (unsigned i = 0; i < STRATEGY_FAILURES; i++) {
		s->now = s->next = STRATEGY_OTHERS;
		w.job.fuzzing->has_others = true;
		say("==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n"
		    "artifact_prefix='/work/artifacts/'; Test unit written to "
		    "/work/artifacts/crash-1\n");
		job_cell_ops.ended(&w.job, &crash);
		triaged((struct triage_sum){.artifacts = 1}, 1);
		assert_int_equal(w.job.phase, PHASE_FUZZING);
	}
	assert_int_equal(s->now, STRATEGY_PLAIN);
	assert_int_equal(w.job.failures_total, STRATEGY_FAILURES);
	assert_int_equal(w.job.forgiven, STRATEGY_FAILURES);
	assert_int_equal(w.job.stillborn, 0);
	assert_int_equal(w.fleet.health.crashed, 0);
	w.failures = 0;
	s->now = s->next = STRATEGY_OTHERS;
	w.job.fuzzing->has_others = true;
	job_cell_ops.ended(&w.job, &end); /* a start that fails so ends a target */
	assert_int_equal(w.job.phase, PHASE_FUZZING);
	assert_int_equal(s->now, STRATEGY_PLAIN);
	assert_true(s->arms[STRATEGY_OTHERS].stood > 0);
}

/* The engine prints that it executed all of its inputs.  This counts as the end only with the right
 * number. */
static void only_as_many_inputs_as_runs_finish_it(void **state)
{
	static const struct {
		uint64_t runs;
		const char *flag, *says;
		enum reason reason;
	} all[] = {
	    {0, NULL, "Done 5000 runs in 1 second(s)\n", REASON_NONE},
	    {1000, NULL, "Done 999 runs in 1 second(s)\n", REASON_NONE},
	    {1000, NULL, "Done 1000 runs in 1 second(s)\n", REASON_FINISHED},
	    {0, "-runs=1000", "Done 999 runs in 1 second(s)\n", REASON_NONE},
	    {0, "-runs=1000", "Done 1001 runs in 1 second(s)\n", REASON_FINISHED},
	    {0, "-runs=0", "Done 5000 runs in 1 second(s)\n", REASON_NONE},
	    {0, "-runs=-1", "Done 5000 runs in 1 second(s)\n", REASON_NONE},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct cell_end end = {.how = CELL_EXITED};

		if (i > 0) {
			assert_int_equal(teardown(state), 0);
			assert_int_equal(setup(state), 0);
		}
		w.cfg.runs = all[i].runs;
		w.cfg.merge_us = w.cfg.triage_us = 0;
		if (all[i].flag)
			strv_push(&w.cfg.flags, all[i].flag);
		job_start(&w.job, 86400 * S);
		say("#9\tINITED cov: 30 ft: 40 corp: 7/9b exec/s: 0 rss: 30Mb\n");
		say(all[i].says);
		w.now += 60 * S;
		job_cell_ops.ended(&w.job, &end);
		print_message("# %s: %s", all[i].flag ? all[i].flag : "runs", all[i].says);
		assert_int_equal(w.job.reason, all[i].reason);
		assert_int_equal(w.job.failures[FAILURE_EXIT], all[i].reason == REASON_NONE);
	}
}

/* The rows of the table, for a target that was fuzzed. */
static void a_row_counts_by_its_reason(void **state)
{
	(void)state;
	first_turn();
	w.job.fuzzed = true;
	for (unsigned reason = REASON_NONE + 1; reason < REASON_COUNT; reason++) {
		struct target_row r;

		w.job.phase = PHASE_DONE;
		w.job.reason = (enum reason)reason;
		row(&r);
		assert_int_equal(r.given_up, reason_counts((enum reason)reason) == REASON_GIVEN_UP);
		assert_int_equal(r.unfuzzed, reason_counts((enum reason)reason) == REASON_UNFUZZED);
		w.job.fuzzed = false; /* not fuzzed: this overrides every reason */
		row(&r);
		assert_true(r.unfuzzed && !r.given_up);
		w.job.fuzzed = true;
	}
	w.job.phase = PHASE_FUZZING;
	cell_ends(0);
}

static const struct CMUnitTest tests[] = {
    CASE(a_target_that_ignores_all_signals_has_a_timeout),
    CASE(a_short_input_a_starved_cell_and_a_late_dump_are_no_timeouts),
    CASE(a_replay_shows_whether_the_current_input_fails),
    CASE(an_input_that_is_refused_a_call_is_found),
    CASE(many_refused_calls_hide_none),
    CASE(a_failure_without_an_artifact_waits_for_triage),
    CASE(a_target_that_executes_itself_has_failed),
    CASE(a_target_that_executes_itself_without_end_does_not_start),
    CASE(a_failed_start_is_no_crash),
    CASE(inputs_of_others_do_not_end_the_target),
    CASE(only_as_many_inputs_as_runs_finish_it),
    CASE(a_row_counts_by_its_reason),
    CASE(its_claims_are_counted),
    CASE(a_chosen_longest_input_is_known),
    CASE(what_its_seeds_reach_was_not_found),
    CASE(its_waits_are_reported),
    CASE(what_it_did_not_do_when_asked),
    CASE(a_turn_ends_in_a_hanging_input),
    CASE(a_short_burst_is_seen_when_an_input_times_out),
    CASE(without_a_cell_nothing_waits),
};

UNIT_MAIN(tests)
