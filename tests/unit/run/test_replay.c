/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "runner/run/triage/replay.h"
#include "tests/unit/scratch.h"

/* Replays with simulated cells: the end of each is given in advance. */

#define MAY_TAKE UINT64_C(10)

enum { CELLS_MAX = 8 };

/* In seconds. */
struct played {
	unsigned times;			   /* the expected multiple of an input's time; 0: 1 */
	unsigned start, cpu, waited, wall; /* cpu: CPU time after the start */
	enum failure failure;
	bool late, stopped, crashed;
	unsigned cpu_milli; /* the cell's quota */
};

static struct {
	struct scratch dir;
	struct loop *loop;
	const struct played *cells; /* the last one repeats */
	size_t n_cells, fail_from;  /* from this cell on none starts; 0: all start */
	size_t n;
	uint64_t timeout_s[CELLS_MAX], deadline_us[CELLS_MAX];
	/* The reports. */
	bool done, failed, starved;
	char unusable[600], type[200];
} play;

struct exec {
	struct exec_spec spec;
	struct source *timer;
	struct engine_state engine;
	struct exec_end end;
};

static void on_end(void *arg)
{
	static const char text[] = "==7== ERROR: libFuzzer: timeout after 10 seconds\n";
	struct exec *x = arg;

	if (x->end.failure == FAILURE_TIMEOUT)
		x->spec.output(x->spec.arg, slice_of(text));
	x->end.engine = &x->engine;
	x->spec.done(x->spec.arg, &x->end);
	source_remove(x->timer);
	free(x);
}

static uint64_t timeout_of(const struct strv *argv)
{
	for (size_t i = 0; i < argv->n; i++)
		if (strncmp(argv->v[i], "-timeout=", 9) == 0)
			return strtoull(argv->v[i] + 9, NULL, 10);
	return 0;
}

/* The input, in each of its cells. */
static bool has_mount(const struct setup *s)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/input", play.dir.path);
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->mounts[i].source, path) == 0)
			return true;
	return false;
}

int exec_start(const struct exec_env *env, const struct exec_spec *spec, struct exec **ret,
	       struct err *e)
{
	size_t last = play.n_cells - 1, at = play.n < last ? play.n : last;
	const struct played *p = &play.cells[at];
	struct exec *x;

	if (play.fail_from && play.n >= play.fail_from)
		return err_set(e, ENOSPC, "no room for a cell");
	assert_true(play.n < CELLS_MAX);
	play.timeout_s[play.n] = timeout_of(&spec->setup->cmd.argv);
	play.deadline_us[play.n++] = spec->deadline_us;
	assert_true(spec->forks_end_it);
	assert_true(has_mount(spec->setup));
	x = calloc(1, sizeof(*x));
	assert_non_null(x);
	*x = (struct exec){.spec = *spec};
	x->engine.replaying = true;
	x->end = (struct exec_end){
	    .started = true,
	    .failure = p->crashed ? FAILURE_CRASH : p->failure,
	    .late = p->late,
	    .stopped = p->stopped,
	    .code = p->failure != FAILURE_NONE ? 70 : 0,
	    .refused = "",
	    .why = "",
	    .cpu_us = (p->start + p->cpu) * USEC_PER_SEC,
	    .input_cpu_us = p->cpu * USEC_PER_SEC,
	    .waited_us = p->waited * USEC_PER_SEC,
	    .wall_us = p->wall * USEC_PER_SEC,
	};
	*ret = x;
	return loop_add_timer(env->loop, clock_mono_us(), on_end, x, &x->timer, e);
}

void exec_stop(struct exec *x)
{
	x->end.stopped = true;
}

static void on_replayed(void *arg, struct replay_end *end)
{
	(void)arg;
	play.done = true;
	play.failed = end->failed;
	play.starved = end->starved;
	snprintf(play.unusable, sizeof(play.unusable), "%s", end->unusable);
	if (end->failed)
		snprintf(play.type, sizeof(play.type), "%s", end->report->type);
	loop_stop(play.loop);
}

static int setup(void **state)
{
	(void)state;
	memset(&play, 0, sizeof(play));
	play.dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&play.dir);
	scratch_write(play.dir.fd, "input", "x");
	assert_int_equal(fchmodat(play.dir.fd, "input", 0644, 0), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove(&play.dir);
	return 0;
}

static void try_it(const struct played *cells, size_t n, uint64_t until_us)
{
	static char name[] = "t", binary[] = "/somewhere/t";
	struct target target = {.name = name, .binary = binary, .engine = &engine_libfuzzer};
	struct target_config cfg = {.input_timeout_us = MAY_TAKE * USEC_PER_SEC,
				    .cpu_milli = cells->cpu_milli};
	struct replay_env env = {.exec = {.run = "r"}};
	char input[64];
	struct replay_spec s = {.target = &target,
				.cfg = &cfg,
				.input = input,
				.until_us = until_us,
				.done = on_replayed};
	struct replay *t;
	struct err e = {0};

	snprintf(input, sizeof(input), "%s/input", play.dir.path);
	play.cells = cells;
	play.n_cells = n;
	assert_int_equal(loop_new(&play.loop, &e), 0);
	env.exec.loop = play.loop;
	if (replay_start(&env, &s, &t, &e) < 0)
		fail_msg("%s", e.msg);
	memset(input, 'x', sizeof(input) - 1); /* the caller may reuse its buffer */
	assert_int_equal(loop_run(play.loop, &e), 0);
	loop_free(play.loop);
	assert_true(play.done);
	assert_int_equal(play.n, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t s_of = MAY_TAKE * (cells[i].times ? cells[i].times : 1);

		assert_int_equal(play.timeout_s[i], s_of);
		assert_true(play.deadline_us[i] > 2 * s_of * USEC_PER_SEC);
	}
}

#define TRY(...)                                     \
	try_it((const struct played[]){__VA_ARGS__}, \
	       sizeof((const struct played[]){__VA_ARGS__}) / sizeof(struct played), 0)

#define SLOW .failure = FAILURE_TIMEOUT

static void given_its_time_it_passes(void **state)
{
	(void)state;
	TRY({.cpu = 2, .waited = 8, .wall = 10, SLOW},
	    {.times = 8, .cpu = 8, .waited = 31, .wall = 39});
	assert_false(play.failed);
	assert_true(play.starved); /* so the load of the machine caused its report */
	assert_string_equal(play.unusable, "");
}

/* Before the input it used more than an input's time limit. */
static void its_start_is_not_its_inputs(void **state)
{
	(void)state;
	TRY({.start = 20, .cpu = 2, .waited = 20, .wall = 42, SLOW},
	    {.times = 8, .start = 20, .cpu = 8, .waited = 50, .wall = 78});
	assert_false(play.failed);
	assert_true(play.starved);
}

static void it_holds_as_cpu_time(void **state)
{
	(void)state;
	TRY({.cpu = 5, .waited = 5, .wall = 10, SLOW},
	    {.times = 4, .cpu = 10, .waited = 10, .wall = 20, SLOW});
	assert_true(play.failed);
	assert_string_equal(play.unusable, "");
	assert_non_null(strstr(play.type, "imeout"));
}

static void it_never_gets_its_time(void **state)
{
	(void)state;
	TRY({.cpu = 4, .waited = 6, .wall = 10, SLOW},
	    {.times = 4, .cpu = 4, .waited = 36, .wall = 40, SLOW},
	    {.times = 16, .cpu = 4, .waited = 156, .wall = 160, SLOW});
	assert_false(play.failed);
	assert_true(play.starved);
	assert_non_null(strstr(play.unusable, "too busy"));
}

/* No other process kept the CPU from it. */
static void a_target_that_holds_still_has_failed(void **state)
{
	(void)state;
	TRY({.cpu = 0, .waited = 2, .wall = 10, SLOW});
	assert_true(play.failed);
	assert_false(play.starved);
}

/* Not the engine, but fuzzcell's deadline reported the timeout. */
static void late_is_too_long_as_well(void **state)
{
	(void)state;
	TRY({.cpu = 1, .waited = 70, .wall = 80, .late = true},
	    {.times = 16, .cpu = 3, .waited = 7, .wall = 10});
	assert_false(play.failed);
}

static void a_crash_is_one_on_a_busy_machine_too(void **state)
{
	(void)state;
	TRY({.cpu = 0, .waited = 10, .wall = 10, .crashed = true});
	assert_true(play.failed);
	assert_false(play.starved);
}

static void a_crash_with_more_time_is_one(void **state)
{
	(void)state;
	TRY({.cpu = 1, .waited = 9, .wall = 10, SLOW},
	    {.times = 16, .cpu = 1, .waited = 9, .wall = 10, .crashed = true});
	assert_true(play.failed);
	assert_null(strstr(play.type, "imeout"));
}

static void no_more_time_than_there_is(void **state)
{
	static const struct played cells[] = {
	    {.cpu = 1, .waited = 9, .wall = 10, SLOW},
	    {.times = 2, .cpu = 2, .waited = 18, .wall = 20, SLOW},
	};

	(void)state;
	/* 20 s, but not 40. */
	try_it(cells, 2, clock_mono_us() + 3 * MAY_TAKE * USEC_PER_SEC);
	assert_false(play.failed);
	assert_true(play.starved);
	assert_string_not_equal(play.unusable, "");
}

/* The cell used its whole quota, and no time is left: a later run would not know more. */
static void a_quota_does_not_excuse_a_timeout(void **state)
{
	static const struct played cells[] = {
	    {.cpu = 1, .waited = 9, .wall = 10, SLOW, .cpu_milli = 100},
	    {.times = 2, .cpu = 2, .waited = 18, .wall = 20, SLOW},
	};

	(void)state;
	try_it(cells, 2, clock_mono_us() + 3 * MAY_TAKE * USEC_PER_SEC);
	assert_true(play.failed);
	assert_string_equal(play.unusable, "");
}

/* The cell got only half of its quota. */
static void load_excuses_a_timeout_below_the_quota(void **state)
{
	static const struct played cells[] = {
	    {.cpu = 1, .waited = 9, .wall = 10, SLOW, .cpu_milli = 200}};

	(void)state;
	try_it(cells, 1, 1);
	assert_false(play.failed);
	assert_true(play.starved);
}

/* With more time it passes. */
static void a_throttled_input_gets_more_time(void **state)
{
	(void)state;
	TRY({.cpu = 1, .waited = 9, .wall = 10, SLOW, .cpu_milli = 100},
	    {.times = 16, .cpu = 8, .waited = 72, .wall = 80});
	assert_false(play.failed);
	assert_true(play.starved);
}

static void nor_when_that_is_over(void **state)
{
	static const struct played cells[] = {{.cpu = 1, .waited = 9, .wall = 10, SLOW}};

	(void)state;
	try_it(cells, 1, 1); /* until_us 1: a deadline in the past */
	assert_false(play.failed);
	assert_true(play.starved);
	assert_string_not_equal(play.unusable, "");
}

/* Without any CPU time its share of a CPU is unknown: it gets the maximum time. */
static void no_cpu_at_all(void **state)
{
	(void)state;
	TRY({.cpu = 0, .waited = 10, .wall = 10, SLOW},
	    {.times = 16, .cpu = 0, .waited = 160, .wall = 160, SLOW});
	assert_false(play.failed);
	assert_non_null(strstr(play.unusable, "too busy"));
}

static void a_refused_fork_is_no_matter_of_time(void **state)
{
	(void)state;
	TRY({.cpu = 1, .waited = 9, .wall = 10, .failure = FAILURE_PIDS});
	assert_true(play.failed);
	assert_string_equal(play.type, "Cell-process-limit");
}

static void no_cell_for_more_time(void **state)
{
	(void)state;
	play.fail_from = 1;
	TRY({.cpu = 1, .waited = 9, .wall = 10, SLOW});
	assert_string_equal(play.unusable, "no room for a cell");
	assert_false(play.failed);
}

static void a_stopped_target_is_not_started_again(void **state)
{
	(void)state;
	TRY({.cpu = 1, .waited = 9, .wall = 10, SLOW},
	    {.times = 16, .cpu = 1, .waited = 9, .wall = 10, .stopped = true, SLOW});
	assert_string_equal(play.unusable, "stopped");
	assert_false(play.failed);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
static const struct CMUnitTest tests[] = {
    CASE(given_its_time_it_passes),
    CASE(its_start_is_not_its_inputs),
    CASE(it_holds_as_cpu_time),
    CASE(it_never_gets_its_time),
    CASE(a_target_that_holds_still_has_failed),
    CASE(late_is_too_long_as_well),
    CASE(a_crash_is_one_on_a_busy_machine_too),
    CASE(a_crash_with_more_time_is_one),
    CASE(no_more_time_than_there_is),
    CASE(nor_when_that_is_over),
    CASE(a_quota_does_not_excuse_a_timeout),
    CASE(load_excuses_a_timeout_below_the_quota),
    CASE(a_throttled_input_gets_more_time),
    CASE(no_cpu_at_all),
    CASE(a_refused_fork_is_no_matter_of_time),
    CASE(no_cell_for_more_time),
    CASE(a_stopped_target_is_not_started_again),
};

UNIT_MAIN(tests)
