/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to end a cell.  The cells are simulated. */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "runner/run/job/exec.h"
#include "runner/run/triage/replay.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

enum { FOREVER = 600 }; /* seconds: a deadline that no test reaches */

struct cell {
	struct cell_ops ops;
	void *arg;
	struct source *timer;
};

static struct {
	struct loop *loop;
	struct cell *cell;
	struct exec *exec;
	/* The behaviour of the cell. */
	uint64_t ends_ms;	/* time after which it ends by itself; 0: never */
	unsigned ends_read;	/* number of readings after which it ends */
	unsigned status;	/* its status then */
	unsigned refused_after; /* readings until a fork is refused; 0: never */
	bool dumps;		/* ends when a dump is forced */
	bool comes_to_mark;	/* of its memory, immediately */
	unsigned immortal;	/* kills that it survives */
	bool dead;		/* its first process is dead, but the cell exists */
	bool stop_it;
	size_t says;	   /* bytes */
	bool runs_input;   /* and prints it: after one of three seconds of CPU time */
	bool reports;	   /* then it begins a report */
	bool restarts;	   /* then it executes itself */
	bool holds;	   /* then it hangs without CPU time */
	uint64_t input_us; /* exec_spec.input_us */
	const char *calls_first, *calls_then; /* refused calls before the input, and after it */
	enum { NONE, SILENT, REPORTS } watchdog;
	/* The calls on the cell. */
	unsigned reads, dumped, killed;
	uint64_t began_us, dumped_us, took_us;
	enum cell_thread alone; /* at the mark */
	enum engine_fault fault_told;
	uint64_t keeper_us; /* when the keeper kills it */
	bool overdue;	    /* and the keeper has killed it */
	/* The reports. */
	struct exec_end end;
	size_t n_output;
	char first, last; /* of the output */
	char refused[40], input[40];
	enum crash_own own;
	char detail[32];
	bool done;
} play;

static void end_cell(struct cell *c, enum cell_how how, int code)
{
	struct cell_end end = {.how = how, .code = code};

	end.last.pids_refused = play.refused_after && play.reads >= play.refused_after;
	end.last.usage_us = 3 * USEC_PER_SEC;
	end.overdue = play.overdue;
	source_remove(c->timer);
	play.cell = NULL;
	c->ops.ended(c->arg, &end);
	free(c);
}

static void on_cell(void *arg)
{
	struct cell *c = arg;
	char *text = NULL;

	if (play.says) {
		text = malloc(play.says);
		assert_non_null(text);
		memset(text, '.', play.says);
		text[0] = 'a';
		text[play.says - 1] = 'z';
		c->ops.output(c->arg, (struct slice){text, play.says});
		free(text);
	}
	if (play.calls_first)
		c->ops.refused(c->arg, play.calls_first);
	if (play.runs_input)
		c->ops.output(c->arg, SLICE("INFO: Running with entropic power schedule\n"
					    "Running: /input\n"));
	if (play.calls_then)
		c->ops.refused(c->arg, play.calls_then);
	if (play.reports)
		c->ops.output(c->arg, SLICE("==1== ERROR: libFuzzer: timeout after 1 seconds\n"));
	if (play.restarts)
		c->ops.output(c->arg, SLICE("INFO: Seed: 7\nINFO: Loaded 1 modules   (5 inline "
					    "8-bit counters): 5\nRunning: /other\n"));
	if (play.holds)
		return;
	if (play.stop_it)
		exec_stop(play.exec);
	else if (play.comes_to_mark)
		c->ops.memory(c->arg, true);
	else
		end_cell(c, play.overdue ? CELL_SIGNALED : CELL_EXITED,
			 play.overdue ? SIGKILL : (int)play.status);
}

static void on_killed(void *arg)
{
	end_cell(arg, CELL_SIGNALED, SIGKILL);
}

static void on_dumped(void *arg)
{
	end_cell(arg, CELL_EXITED, 77);
}

/* Called from the loop, as all reports of cells. */
static void soon(struct cell *c, timer_fn *fn)
{
	struct err e;

	source_remove(c->timer);
	assert_int_equal(loop_add_timer(play.loop, clock_mono_us(), fn, c, &c->timer, &e), 0);
}

int setup_start(const struct setup *s, const struct setup_cell *c, uid_t uid,
		const struct cell_ops *ops, void *arg, struct cell **ret, struct err *e)
{
	uint64_t at = play.ends_ms ? clock_mono_us() + play.ends_ms * USEC_PER_MSEC : UINT64_MAX;
	struct cell *cell = calloc(1, sizeof(*cell));

	(void)s;
	(void)c;
	(void)uid;
	assert_non_null(cell);
	*cell = (struct cell){.ops = *ops, .arg = arg};
	if (loop_add_timer(play.loop, at, on_cell, cell, &cell->timer, e) < 0) {
		free(cell);
		return -e->code;
	}
	play.cell = cell;
	*ret = cell;
	return 0;
}

uid_t setup_uid(size_t index)
{
	return (uid_t)index;
}

int cell_read(struct cell *c, struct cgroup_counters *ret, struct err *e)
{
	(void)e;
	assert_ptr_equal(c, play.cell);
	if (++play.reads == play.ends_read)
		soon(c, on_cell);
	*ret = (struct cgroup_counters){.pids_refused =
					    play.refused_after && play.reads >= play.refused_after,
					.usage_us = USEC_PER_SEC};
	return 0;
}

int cell_signal(struct cell *c, int signo, struct err *e)
{
	assert_ptr_equal(c, play.cell);
	if (play.dead)
		return err_set(e, ESRCH, "it runs no job any more");
	if (signo != engine_libfuzzer.dump_signal)
		return 0;
	play.dumped++;
	play.dumped_us = clock_mono_us() - play.began_us;
	if (play.dumps)
		soon(c, on_dumped);
	return 0;
}

int cell_kill(struct cell *c, struct err *e)
{
	assert_ptr_equal(c, play.cell);
	if (++play.killed <= play.immortal)
		return err_set(e, EMFILE, "no descriptor for it");
	soon(c, on_killed);
	return 0;
}

/* No command of these tests runs in a seat. */
int cell_again(struct cell *c, struct err *e)
{
	(void)c;
	return err_set(e, ENOTSUP, "not played");
}

int cell_deadline(struct cell *c, uint64_t until_us, struct err *e)
{
	(void)e;
	assert_ptr_equal(c, play.cell);
	assert_true(until_us > clock_mono_us());
	play.keeper_us = until_us - play.began_us;
	return 0;
}

static void on_report(void *arg)
{
	struct cell *c = arg;

	c->ops.output(c->arg, SLICE("ERROR: libFuzzer: out-of-memory (used: 9Mb; limit: 8Mb)\n"));
	end_cell(c, CELL_EXITED, 71);
}

bool cell_watchdog_works(const struct cell *c)
{
	(void)c;
	return false;
}

int cell_memory_open(struct cell *c, enum cell_thread alone, uint64_t alone_us, struct err *e)
{
	(void)alone_us;
	assert_ptr_equal(c, play.cell);
	if (alone == CELL_SECOND_THREAD && play.watchdog == NONE)
		return err_set(e, ESRCH, "it has no second thread");
	if (alone == CELL_SECOND_THREAD && play.watchdog == REPORTS)
		soon(c, on_report);
	play.alone = alone;
	return 0;
}

static void on_output(void *arg, struct slice bytes)
{
	(void)arg;
	play.n_output += bytes.n;
}

static void on_done(void *arg, const struct exec_end *end)
{
	(void)arg;
	assert_false(play.done);
	play.done = true;
	play.end = *end;
	play.fault_told = end->engine->fault;
	snprintf(play.refused, sizeof(play.refused), "%s", end->refused);
	snprintf(play.input, sizeof(play.input), "%.39s", end->engine->input);
	play.own = failure_own(end, false, play.detail);
	if (end->output.n > 0) {
		play.first = end->output.p[0];
		play.last = end->output.p[end->output.n - 1];
	}
	play.took_us = clock_mono_us() - play.began_us;
	loop_stop(play.loop);
}

static int setup(void **state)
{
	(void)state;
	memset(&play, 0, sizeof(play));
	return 0;
}

/* 0, or the error of exec_start(). */
static int run(bool forks_end_it, uint64_t deadline_us)
{
	static char name[] = "t";
	struct target target = {.name = name, .engine = &engine_libfuzzer};
	struct setup s = {.target = &target};
	struct exec_env env = {.run = "r"};
	struct exec_spec spec = {.setup = &s,
				 .deadline_us = deadline_us,
				 .input_us = play.input_us,
				 .forks_end_it = forks_end_it,
				 .output = on_output,
				 .done = on_done};
	struct err e = {0};
	int r;

	assert_int_equal(loop_new(&play.loop, &e), 0);
	env.loop = play.loop;
	play.began_us = clock_mono_us();
	r = exec_start(&env, &spec, &play.exec, &e);
	if (r == 0)
		assert_int_equal(loop_run(play.loop, &e), 0);
	assert_int_equal(play.done, r == 0);
	loop_free(play.loop);
	return r;
}

/* Long before the deadline, but not before the target can report by itself. */
static void a_refused_fork_ends_it(void **state)
{
	(void)state;
	play.refused_after = 2;
	play.dumps = true;
	assert_int_equal(run(true, FOREVER * USEC_PER_SEC), 0);
	assert_int_equal(play.end.failure, FAILURE_PIDS);
	assert_false(play.end.late);
	assert_int_equal(play.dumped, 1);
	assert_int_equal(play.killed, 0);
	assert_true(play.dumped_us >= 1 * USEC_PER_SEC);
}

/* Among so many processes the target may never get so far. */
static void a_target_that_does_not_dump_is_killed(void **state)
{
	(void)state;
	play.refused_after = 1;
	assert_int_equal(run(true, FOREVER * USEC_PER_SEC), 0);
	assert_int_equal(play.end.failure, FAILURE_PIDS);
	assert_int_equal(play.dumped, 1);
	assert_int_equal(play.killed, 1);
	assert_true(play.took_us >= 2 * USEC_PER_SEC);
}

/* Its actions in the grace period do not count. */
static void refused_it_may_end_by_itself(void **state)
{
	(void)state;
	play.refused_after = 1;
	play.ends_read = 1;
	assert_int_equal(run(true, FOREVER * USEC_PER_SEC), 0);
	assert_true(play.reads > 0);
	assert_int_equal(play.dumped, 0);
	assert_int_equal(play.end.code, 0);
}

/* A second run would end in the same way, or not at all. */
static void an_input_that_executes_its_target_fails(void **state)
{
	(void)state;
	play.ends_ms = 1;
	play.runs_input = play.restarts = play.holds = true;
	assert_int_equal(run(false, FOREVER * USEC_PER_SEC), 0);
	assert_int_equal(play.end.failure, FAILURE_EXIT);
	assert_int_equal(play.own, CRASH_OWN_EXIT);
	assert_string_equal(play.detail, "executed itself");
	assert_string_equal(play.input, "/input");
	assert_false(play.end.late);
	assert_int_equal(play.dumped, 0);
	assert_int_equal(play.killed, 1);
}

/* Every run of this target makes the call: the input is not the cause. */
static void a_refused_call_of_the_start_is_not_reported(void **state)
{
	(void)state;
	play.ends_ms = 1;
	play.runs_input = true;
	play.calls_first = "bpf";
	assert_int_equal(run(false, FOREVER * USEC_PER_SEC), 0);
	assert_string_equal(play.refused, "");
}

static void a_refused_call_of_an_input_is_reported(void **state)
{
	static const char *const calls[] = {"keyctl", "bpf"};

	for (size_t i = 0; i < 2; i++) {
		(void)setup(state);
		play.ends_ms = 1;
		play.runs_input = true;
		play.calls_first = "bpf";
		play.calls_then = calls[i];
		assert_int_equal(run(false, FOREVER * USEC_PER_SEC), 0);
		assert_string_equal(play.refused, calls[i]);
	}
}

static void a_plain_command_is_not_watched(void **state)
{
	(void)state;
	play.refused_after = 1;
	play.ends_ms = 600;
	assert_int_equal(run(false, FOREVER * USEC_PER_SEC), 0);
	assert_int_equal(play.reads, 0);
	assert_int_equal(play.dumped, 0);
}

static void the_deadline_ends_it(void **state)
{
	(void)state;
	play.dumps = true;
	assert_int_equal(run(true, 1), 0);
	assert_int_equal(play.dumped, 1);
	assert_true(play.end.late);
	assert_int_equal(play.end.failure, FAILURE_STUCK);
}

/* The input ignores the engine's alarm: the time for the start is not added. */
static void an_input_has_its_own_limit(void **state)
{
	(void)state;
	play.ends_ms = 1;
	play.runs_input = play.holds = play.dumps = true;
	play.input_us = 1;
	assert_int_equal(run(true, FOREVER * USEC_PER_SEC), 0);
	assert_int_equal(play.dumped, 1);
	assert_true(play.end.late);
	assert_int_equal(play.end.failure, FAILURE_STUCK);
}

/* Symbolization may take long. */
static void a_report_has_time_until_the_deadline(void **state)
{
	(void)state;
	play.ends_ms = 1;
	play.runs_input = play.reports = play.holds = play.dumps = true;
	play.input_us = 1;
	assert_int_equal(run(true, USEC_PER_SEC / 2), 0);
	assert_true(play.dumped_us >= USEC_PER_SEC / 2);
}

static void come_to_mark(void)
{
	play.ends_ms = 1;
	play.comes_to_mark = true;
	assert_int_equal(run(true, FOREVER * USEC_PER_SEC), 0);
	assert_int_equal(play.end.failure, FAILURE_OOM);
}

/* By chance the engine's watchdog may check before the mark: the failure is the same. */
static void at_the_mark_the_watchdog_reports(void **state)
{
	(void)state;
	play.watchdog = REPORTS;
	come_to_mark();
	assert_int_equal(play.dumped, 0);
	assert_int_equal(play.fault_told, ENGINE_FAULT_OOM);
}

/* The engine sees less than the cell: not the memory of a child, or of files. */
static void what_the_watchdog_does_not_see_is_dumped(void **state)
{
	(void)state;
	play.watchdog = SILENT;
	play.dumps = true;
	come_to_mark();
	assert_int_equal(play.dumped, 1);
	assert_true(play.dumped_us >= 2 * USEC_PER_SEC);
	assert_int_equal(play.alone, CELL_FIRST_THREAD);
}

static void at_the_mark_without_a_watchdog_it_is_dumped(void **state)
{
	(void)state;
	play.dumps = true;
	come_to_mark();
	assert_int_equal(play.dumped, 1);
	assert_true(play.dumped_us < 2 * USEC_PER_SEC);
}

/* The cell's first process ended in time; the end of the cell takes longer. */
static void the_deadline_of_one_that_has_ended(void **state)
{
	(void)state;
	play.dead = true;
	play.ends_ms = 300;
	assert_int_equal(run(true, 1), 0);
	assert_false(play.end.late);
	assert_int_equal(play.killed, 0);
	assert_int_equal(play.end.code, 0);
}

/* The keeper killed the cell while this process was suspended: the input's result is unknown. */
static void a_cell_that_the_keeper_killed_has_no_result(void **state)
{
	(void)state;
	play.ends_ms = 1;
	play.overdue = true;
	assert_int_equal(run(true, FOREVER * USEC_PER_SEC), 0);
	assert_int_equal(play.keeper_us / USEC_PER_SEC, FOREVER + 1 + 1);
	assert_false(play.end.started);
	assert_true(play.end.late);
	assert_int_equal(play.end.failure, FAILURE_NONE);
	assert_non_null(strstr(play.end.why, "did not run"));
}

static void stopped_it_ends_at_once(void **state)
{
	(void)state;
	play.ends_ms = 1;
	play.stop_it = true;
	assert_int_equal(run(true, FOREVER * USEC_PER_SEC), 0);
	assert_true(play.end.stopped);
	assert_int_equal(play.killed, 1);
	assert_int_equal(play.end.failure, FAILURE_NONE);
}

/* done() is called all the same. */
static void a_kill_that_fails_comes_again(void **state)
{
	(void)state;
	play.ends_ms = 1;
	play.stop_it = true;
	play.immortal = 1;
	assert_int_equal(run(true, FOREVER * USEC_PER_SEC), 0);
	assert_true(play.end.stopped);
	assert_int_equal(play.killed, 2);
}

static void output_is_kept_from_both_ends(void **state)
{
	(void)state;
	play.ends_ms = 1;
	play.says = 3 * (size_t)EXEC_KEPT_MAX;
	assert_int_equal(run(true, FOREVER * USEC_PER_SEC), 0);
	assert_int_equal(play.n_output, play.says);
	assert_in_range(play.end.output.n, EXEC_KEPT_MAX, EXEC_KEPT_MAX + 256);
	assert_int_equal(play.first, 'a');
	assert_int_equal(play.last, 'z');
}

#define CASE(f) cmocka_unit_test_setup(f, setup)
static void its_start_is_distinguished(void **state)
{
	play.ends_ms = 1;
	assert_int_equal(run(false, FOREVER * USEC_PER_SEC), 0);
	assert_int_equal(play.end.input_cpu_us,
			 3 * USEC_PER_SEC); /* nothing is known of the input */
	(void)setup(state);
	play.ends_ms = 1;
	play.runs_input = true;
	assert_int_equal(run(false, FOREVER * USEC_PER_SEC), 0);
	assert_int_equal(play.end.cpu_us, 3 * USEC_PER_SEC);
	assert_int_equal(play.end.input_cpu_us, 2 * USEC_PER_SEC);
}

static const struct CMUnitTest tests[] = {
    CASE(a_refused_fork_ends_it),
    CASE(a_refused_call_of_the_start_is_not_reported),
    CASE(a_refused_call_of_an_input_is_reported),
    CASE(an_input_that_executes_its_target_fails),
    CASE(a_target_that_does_not_dump_is_killed),
    CASE(refused_it_may_end_by_itself),
    CASE(a_plain_command_is_not_watched),
    CASE(the_deadline_ends_it),
    CASE(an_input_has_its_own_limit),
    CASE(a_report_has_time_until_the_deadline),
    CASE(at_the_mark_the_watchdog_reports),
    CASE(what_the_watchdog_does_not_see_is_dumped),
    CASE(at_the_mark_without_a_watchdog_it_is_dumped),
    CASE(the_deadline_of_one_that_has_ended),
    CASE(a_cell_that_the_keeper_killed_has_no_result),
    CASE(stopped_it_ends_at_once),
    CASE(a_kill_that_fails_comes_again),
    CASE(output_is_kept_from_both_ends),
    CASE(its_start_is_distinguished),
};

UNIT_MAIN(tests)
