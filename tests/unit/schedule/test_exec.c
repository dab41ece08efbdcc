/* SPDX-License-Identifier: Apache-2.0 */
/* How a cell is brought to its end.  The cells are played. */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/fault.h"
#include "runner/schedule/exec.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

enum { FOREVER = 600 }; /* seconds: a deadline that no test comes to */

struct cell {
	struct cell_ops ops;
	void *arg;
	struct source *timer;
};

static struct {
	struct loop *loop;
	struct cell *cell;
	struct exec *exec;
	/* What the cell does. */
	uint64_t ends_ms;	/* by itself, after so long; 0: not */
	unsigned ends_read;	/* likewise, after so many readings */
	unsigned status;	/* then */
	unsigned refused_after; /* readings until a fork was refused; 0: none is */
	bool dumps;		/* ends when it is told to dump */
	unsigned immortal;	/* kills that it outlives */
	bool dead;		/* its first process, but the cell is not gone */
	bool stop_it;
	size_t says;	 /* bytes */
	bool runs_input; /* and says so: after a second of CPU time, of three */
	const char *calls_first, *calls_then; /* what it is refused before that, and after it */
	unsigned fault;			      /* armed; 0: none */
	/* What was done to it. */
	unsigned reads, dumped, killed;
	uint64_t began_us, dumped_us, took_us;
	uint64_t keeper_us; /* when the keeper kills it */
	bool overdue;	    /* and it has */
	/* What was told. */
	struct exec_end end;
	size_t n_output;
	char first, last; /* of the output */
	char refused[40];
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
	if (play.stop_it)
		exec_stop(play.exec);
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

/* From the loop, as all that cells tell. */
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

int cell_deadline(struct cell *c, uint64_t until_us, struct err *e)
{
	(void)e;
	assert_ptr_equal(c, play.cell);
	assert_true(until_us > clock_mono_us());
	play.keeper_us = until_us - play.began_us;
	return 0;
}

int cell_memory_open(struct cell *c, enum cell_thread alone, uint64_t alone_us, struct err *e)
{
	(void)alone;
	(void)alone_us;
	(void)e;
	assert_ptr_equal(c, play.cell);
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
	snprintf(play.refused, sizeof(play.refused), "%s", end->refused);
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

/* 0, or how exec_start() failed. */
static int run(bool forks_end_it, uint64_t deadline_us)
{
	static char name[] = "t";
	struct target target = {.name = name, .engine = &engine_libfuzzer};
	struct setup s = {.target = &target};
	struct exec_env env = {.run = "r"};
	struct exec_spec spec = {.setup = &s,
				 .deadline_us = deadline_us,
				 .forks_end_it = forks_end_it,
				 .output = on_output,
				 .done = on_done};
	struct err e = {0};
	int r;

	assert_int_equal(loop_new(&play.loop, &e), 0);
	env.loop = play.loop;
	play.began_us = clock_mono_us();
	fault_arm(play.fault, FAULT_FAIL);
	r = exec_start(&env, &spec, &play.exec, &e);
	if (r == 0)
		assert_int_equal(loop_run(play.loop, &e), 0);
	fault_arm(0, FAULT_FAIL);
	assert_int_equal(play.done, r == 0);
	loop_free(play.loop);
	return r;
}

/* Long before its deadline, but not before it could say something itself. */
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

/* Among so many processes it may never come to that. */
static void who_does_not_dump_is_killed(void **state)
{
	(void)state;
	play.refused_after = 1;
	assert_int_equal(run(true, FOREVER * USEC_PER_SEC), 0);
	assert_int_equal(play.end.failure, FAILURE_PIDS);
	assert_int_equal(play.dumped, 1);
	assert_int_equal(play.killed, 1);
	assert_true(play.took_us >= 2 * USEC_PER_SEC);
}

/* What it does with its grace is its own. */
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

/* As every run of this target does: no input is to blame for it. */
static void what_its_start_is_refused_is_not_told(void **state)
{
	(void)state;
	play.ends_ms = 1;
	play.runs_input = true;
	play.calls_first = "bpf";
	assert_int_equal(run(false, FOREVER * USEC_PER_SEC), 0);
	assert_string_equal(play.refused, "");
}

static void what_an_input_is_refused_is_told(void **state)
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

static void who_did_not_ask_is_not_looked_at(void **state)
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

/* Its first process ended in time; the rest takes its own. */
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

/* The keeper killed it while we were stopped: nobody knows what the input did. */
static void what_the_keeper_killed_says_nothing(void **state)
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

/* done comes all the same. */
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

/* Whatever fails: it does not start, or it ends, and tells its end. */
static void faults(void **state)
{
	unsigned failed = 0, ended = 0;

	for (unsigned nth = 1; nth < 12; nth++) {
		(void)setup(state);
		play.fault = nth;
		play.ends_ms = 1;
		play.says = 3 * (size_t)EXEC_KEPT_MAX;
		if (run(true, FOREVER * USEC_PER_SEC) < 0)
			failed++;
		else
			ended++;
	}
	assert_true(failed >= 3);
	assert_true(ended >= 3);
}

#define CASE(f) cmocka_unit_test_setup(f, setup)
static void its_start_is_told_apart(void **state)
{
	play.ends_ms = 1;
	assert_int_equal(run(false, FOREVER * USEC_PER_SEC), 0);
	assert_int_equal(play.end.input_cpu_us, 3 * USEC_PER_SEC); /* nothing is known of it */
	(void)setup(state);
	play.ends_ms = 1;
	play.runs_input = true;
	assert_int_equal(run(false, FOREVER * USEC_PER_SEC), 0);
	assert_int_equal(play.end.cpu_us, 3 * USEC_PER_SEC);
	assert_int_equal(play.end.input_cpu_us, 2 * USEC_PER_SEC);
}

static const struct CMUnitTest tests[] = {
    CASE(a_refused_fork_ends_it),
    CASE(what_its_start_is_refused_is_not_told),
    CASE(what_an_input_is_refused_is_told),
    CASE(who_does_not_dump_is_killed),
    CASE(refused_it_may_end_by_itself),
    CASE(who_did_not_ask_is_not_looked_at),
    CASE(the_deadline_ends_it),
    CASE(the_deadline_of_one_that_has_ended),
    CASE(what_the_keeper_killed_says_nothing),
    CASE(stopped_it_ends_at_once),
    CASE(a_kill_that_fails_comes_again),
    CASE(output_is_kept_from_both_ends),
    CASE(its_start_is_told_apart),
    CASE(faults),
};

UNIT_MAIN(tests)
