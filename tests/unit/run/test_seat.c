/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that share a cell, and the events that end it.  The cells are simulated. */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "runner/run/job/exec.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

struct cell {
	const struct cell_ops *ops;
	void *arg;
	struct source *timer;
	unsigned runs;
	bool killed;
};

/* The behaviour of a command's program. */
struct does {
	bool refused, mark, left, oom, pids, early, late, stop, dies;
	int code;
};

static struct {
	struct loop *loop;
	struct seat *seat;
	struct exec *exec;
	struct does does;
	struct cgroup_counters counters;
	unsigned started, living, killed;
	/* The results of the last ended command. */
	struct exec_end end;
	bool refused;
	unsigned done;
	bool closed;
	uint64_t wall_us; /* exec_spec.deadline_us */
} play;

static void later(struct cell *c, timer_fn *fn)
{
	struct err e;

	source_remove(c->timer);
	assert_int_equal(loop_add_timer(play.loop, clock_mono_us(), fn, c, &c->timer, &e), 0);
}

static void on_gone(void *arg)
{
	struct cell *c = arg;
	struct cell_end end = {.how = CELL_EXITED, .code = play.does.code, .last = play.counters};

	source_remove(c->timer);
	play.living--;
	c->ops->ended(c->arg, &end);
	free(c);
}

static void on_run(void *arg)
{
	struct cell *c = arg;
	const struct does *d = &play.does;
	struct cell_end end = {.how = CELL_EXITED, .code = d->code};

	play.counters.usage_us += USEC_PER_SEC;
	play.counters.oom_kills += d->oom;
	play.counters.pids_refused += d->pids;
	if (!d->early)
		c->ops->output(c->arg, SLICE("INFO: Running with entropic power schedule\n"
					     "Running: /input\n"));
	if (d->refused)
		c->ops->refused(c->arg, "socket");
	if (d->mark)
		c->ops->memory(c->arg, false);
	if (d->stop)
		exec_stop(play.exec);
	if (d->dies)
		later(c, on_gone);
	else if (!d->late) /* otherwise the deadline kills it */
		c->ops->exited(c->arg, &end, d->left);
}

int setup_start(const struct setup *s, const struct setup_cell *c, uid_t uid,
		const struct cell_ops *ops, void *arg, struct cell **ret, struct err *e)
{
	struct cell *cell = calloc(1, sizeof(*cell));

	(void)s;
	(void)uid;
	(void)e;
	assert_true(c->stays);
	assert_non_null(cell);
	*cell = (struct cell){.ops = ops, .arg = arg, .runs = 1};
	play.started++;
	play.living++;
	play.counters = (struct cgroup_counters){0};
	later(cell, on_run);
	*ret = cell;
	return 0;
}

uid_t setup_uid(size_t index)
{
	return (uid_t)index;
}

int cell_again(struct cell *c, struct err *e)
{
	(void)e;
	assert_false(c->killed);
	c->runs++;
	later(c, on_run);
	return 0;
}

int cell_read(struct cell *c, struct cgroup_counters *ret, struct err *e)
{
	(void)c;
	(void)e;
	*ret = play.counters;
	return 0;
}

int cell_signal(struct cell *c, int signo, struct err *e)
{
	(void)c;
	(void)signo;
	(void)e;
	return 0;
}

int cell_kill(struct cell *c, struct err *e)
{
	(void)e;
	play.killed += !c->killed;
	c->killed = true;
	later(c, on_gone);
	return 0;
}

int cell_deadline(struct cell *c, uint64_t until_us, struct err *e)
{
	(void)c;
	(void)until_us;
	(void)e;
	return 0;
}

bool cell_watchdog_works(const struct cell *c)
{
	(void)c;
	return false;
}

int cell_memory_open(struct cell *c, enum cell_thread alone, uint64_t alone_us, struct err *e)
{
	(void)c;
	(void)alone;
	(void)alone_us;
	(void)e;
	return 0;
}

/* --- commands ---------------------------------------------------------------- */

static int setup(void **state)
{
	struct err e;

	(void)state;
	memset(&play, 0, sizeof(play));
	play.wall_us = 600 * USEC_PER_SEC;
	assert_int_equal(loop_new(&play.loop, &e), 0);
	play.seat = seat_new();
	return 0;
}

struct command {
	const char *word;
	uint64_t memory;
	size_t index;
	uint64_t extra;
};

#define USUAL                            \
	{                                \
		"-runs=1", 1 << 20, 3, 0 \
	}

static void start(const struct command *c);

static struct {
	const struct command *commands;
	size_t n, at;
} plan;

static void on_closed(void *arg)
{
	(void)arg;
	assert_int_equal(play.living, 0);
	play.closed = true;
	loop_stop(play.loop);
}

static void on_done(void *arg, const struct exec_end *end)
{
	(void)arg;
	play.end = *end;
	play.refused = *end->refused;
	play.done++;
	play.does = (struct does){0};
	if (++plan.at < plan.n)
		start(&plan.commands[plan.at]);
	else
		seat_close(play.seat, on_closed, NULL);
}

static void start(const struct command *c)
{
	static char name[] = "t";
	static char file[] = "/proc/self/exe";
	static struct target target = {.name = name, .engine = &engine_libfuzzer, .binary = file};
	struct target_config cfg = {.memory = c->memory};
	struct setup s = {.target = &target, .cfg = &cfg};
	struct exec_env env = {.run = "r", .loop = play.loop};
	struct exec_spec spec = {.setup = &s,
				 .seat = play.seat,
				 .index = c->index,
				 .extra_memory = c->extra,
				 .deadline_us = play.wall_us,
				 .done = on_done};
	struct err e;

	strv_push(&s.cmd.argv, c->word);
	if (exec_start(&env, &spec, &play.exec, &e) < 0)
		fail_msg("%s", e.msg);
	strv_done(&s.cmd.argv);
}

/* Runs the commands one after the other, and then closes the seat. */
static void run(const struct command *commands, size_t n, const struct does *first)
{
	struct err e;

	plan.commands = commands;
	plan.n = n;
	plan.at = 0;
	play.does = *first;
	start(&commands[0]);
	assert_int_equal(loop_run(play.loop, &e), 0);
	assert_true(play.closed);
	assert_int_equal(play.done, n);
	loop_free(play.loop);
}

static const struct command thrice[] = {USUAL, USUAL, USUAL};

/* A command's figures are its own, without the cell's earlier commands. */
static void equal_commands_share_a_cell(void **state)
{
	static const struct does fails = {.code = 77};

	(void)state;
	run(thrice, 3, &fails);
	assert_int_equal(play.started, 1);
	assert_int_equal(play.killed, 1); /* when the seat was closed */
	assert_int_equal(play.end.cpu_us, USEC_PER_SEC);
	assert_true(play.end.input_cpu_us <= USEC_PER_SEC);
	assert_int_equal(play.end.code, 0);
}

static void another_command_gets_another_cell(void **state)
{
	static const struct command others[][2] = {
	    {USUAL, {"-runs=2", 1 << 20, 3, 0}},
	    {USUAL, {"-runs=1", 2 << 20, 3, 0}},
	    {USUAL, {"-runs=1", 1 << 20, 4, 0}},
	    {USUAL, {"-runs=1", 1 << 20, 3, 99}},
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		setup(state);
		run(others[i], 2, &(struct does){0});
		assert_int_equal(play.started, 2);
		assert_int_equal(play.killed, 2);
	}
}

static void after_anything_odd_the_cell_ends(void **state)
{
	static const struct {
		struct does does;
		bool late;
	} odd[] = {
	    {{.refused = true}, false}, {{.left = true}, false},
	    {{.mark = true}, false},	{{.oom = true}, false},
	    {{.pids = true}, false},	{{.stop = true, .late = true}, false},
	    {{.late = true}, true},	{{.dies = true}, false},
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		setup(state);
		play.wall_us = odd[i].late ? USEC_PER_SEC / 10 : play.wall_us;
		run(thrice, 2, &odd[i].does);
		if (play.started != 2)
			fail_msg("%zu: %u cells", i, play.started);
	}
}

/* The first command's events do not count for the second command. */
static void counters_of_before_are_not_its_own(void **state)
{
	static const struct does starts_badly = {.refused = true, .early = true};

	(void)state;
	run(thrice, 3, &starts_badly); /* the call belongs to the start: it is not odd */
	assert_int_equal(play.started, 1);
	assert_false(play.refused);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(equal_commands_share_a_cell, setup),
    cmocka_unit_test(another_command_gets_another_cell),
    cmocka_unit_test(after_anything_odd_the_cell_ends),
    cmocka_unit_test_setup(counters_of_before_are_not_its_own, setup),
};

UNIT_MAIN(tests)
