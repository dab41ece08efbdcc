/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUN_BATCH_H
#define TESTS_RUN_BATCH_H

/* Simulated cells: the functions of exec.h and replay.h for tests of batches.  The first letter of
 * an input decides what it does. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/memory.h"
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "runner/run/triage/batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX = 3000 };

static struct play {
	struct loop *loop;
	struct batch *batch;
	const char *inputs[MAX];
	size_t n;
	unsigned cells, alone, running, most; /* at a time */
	unsigned seats;
	unsigned stop_after;	/* cells; 0: never */
	const char *stop_why;	/* NULL: the user */
	bool no_cell;		/* no cell starts */
	bool busy;		/* cells wait for a CPU */
	bool stuck;		/* the first cell holds still */
	unsigned starts, fault; /* of cells and seats; this one fails */
	char failed[MAX];	/* 'a': alone, 't': together; 0: not reported */
	char type[MAX][40];
	struct failure_cause cause[MAX];
	struct batch_sum sum;
	bool done;
} play;

/* --- a cell --------------------------------------------------------------- */

struct exec {
	struct exec_spec spec;
	struct source *timer;
	struct buf text;
	struct engine_state engine;
	struct exec_end end;
};

#define say(x, ...) buf_printf(&(x)->text, __VA_ARGS__)

static const char asan[] =
    "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000011 at pc 0x1 bp 0x2 "
    "sp 0x3\nWRITE of size 1 at 0x602000000011 thread T0\n    #0 0x55 in %s /src/a.c:1:2\n\n"
    "SUMMARY: AddressSanitizer: heap-buffer-overflow /src/a.c:1:2\n";

/* Prints the engine's lines for these inputs, as the target would. */
static void forge(struct exec *x, char *const *paths)
{
	for (; *paths; paths++)
		if (**paths == '/')
			say(x, "Running: %s\nExecuted %s in 0 ms\n", *paths, *paths);
}

/* False: the process ended in this input. */
static bool run_input(struct exec *x, char *const *all, char *const *at, unsigned *count)
{
	const char *path = *at;
	const char *name = strrchr(path, '/') + 1;

	if (*name != 'h')
		say(x, "Running: %s\n", path);
	switch (*name) {
	case 'c': /* crashes */
		say(x, asan, name);
		x->end.code = 76;
		x->end.end = ENGINE_FAULTED;
		x->end.failure = FAILURE_CRASH;
		return false;
	case 't': /* crashes as the second of its kind in a process */
		if (++*count < 2)
			break;
		say(x, asan, name);
		x->end.code = 76;
		x->end.failure = FAILURE_CRASH;
		return false;
	case 'l': /* its leak is found at the exit */
		x->end.code = 76;
		x->end.failure = FAILURE_LEAK;
		break;
	case 'm': /* two of them together leak */
		if (++*count < 2)
			break;
		x->end.code = 76;
		x->end.failure = FAILURE_LEAK;
		break;
	case 'r': /* makes a refused call, and continues */
		x->end.refused = "bpf";
		x->end.failure = FAILURE_SYSCALL;
		break;
	case 'e': /* exits by _exit(0) */
		return false;
	case 'x': /* and prints that it ran */
		say(x, "Executed %s in 0 ms\n", path);
		return false;
	case 'f': /* prints that all inputs ran */
		forge(x, all + 1);
		break;
	case 'd': /* prints that the inputs after it ran */
		forge(x, at + 1);
		break;
	case 'z': /* takes too long; alone: depends on the second letter */
		x->end.code = 70;
		x->end.failure = FAILURE_TIMEOUT;
		return false;
	case 'q': /* the same, without output of the engine: our deadline ends it */
		x->end.late = true;
		x->end.failure = FAILURE_STUCK;
		return false;
	case 'b': /* its fork is refused */
		x->end.failure = FAILURE_PIDS;
		return false;
	case 'k': /* three of them leave the maximum number of processes */
		if (++*count < 3)
			break;
		x->end.failure = FAILURE_PIDS;
		return false;
	case 'w': /* prints words without a newline */
		say(x, "words");
		break;
	default:
		break;
	}
	say(x, "Executed %s in 0 ms\n", path);
	return true;
}

static void run_inputs(struct exec *x, char *const *argv)
{
	unsigned count = 0;

	say(x, "%s: Running inputs\n", argv[0]);
	for (size_t i = 1; argv[i]; i++)
		if (argv[i][0] == '/' && !run_input(x, argv, argv + i, &count))
			return;
	say(x, "***\n*** NOTE: fuzzing was not performed, you have only\n");
}

static void each_line(struct slice text, struct engine_state *io)
{
	struct slice line;

	while (scan_line(&text, &line))
		engine_libfuzzer.line(line, io);
}

static void on_end(void *arg)
{
	struct exec *x = arg;

	if (x->end.started) {
		size_t half = x->text.n / 2;

		assert_false(x->text.full);
		x->spec.output(x->spec.arg, (struct slice){x->text.p, half});
		x->spec.output(x->spec.arg, (struct slice){x->text.p + half, x->text.n - half});
		each_line(buf_slice(&x->text), &x->engine);
	}
	x->end.engine = &x->engine;
	/* As in failure_of(): an exit without the engine's end. */
	if (x->end.code == 0 && !x->engine.done && x->end.failure == FAILURE_NONE)
		x->end.failure = FAILURE_EXIT;
	play.running--;
	if (play.stuck && play.cells == 1)
		batch_end_stuck(play.batch, 0);
	if (play.stop_after && play.cells == play.stop_after)
		batch_stop(play.batch, play.stop_why);
	x->spec.done(x->spec.arg, &x->end);
	source_remove(x->timer);
	buf_done(&x->text);
	free(x);
}

int exec_start(const struct exec_env *env, const struct exec_spec *spec, struct exec **ret,
	       struct err *e)
{
	struct exec *x;

	if (++play.starts == play.fault)
		return err_set(e, EMFILE, "no descriptor");
	x = xcalloc(1, sizeof(*x));
	*x = (struct exec){.spec = *spec, .text = BUF_INIT(1 << 20)};
	x->end = (struct exec_end){.started = !play.no_cell,
				   .refused = "",
				   .why = "no crun",
				   .end = ENGINE_FINISHED,
				   .waited_us = play.busy};
	if (loop_add_timer(env->loop, clock_mono_us(), on_end, x, &x->timer, e) < 0) {
		free(x);
		return -e->code;
	}
	run_inputs(x, spec->setup->cmd.argv.v);
	play.cells++;
	if (++play.running > play.most)
		play.most = play.running;
	assert_true(spec->index >= 5);
	*ret = x;
	return 0;
}

void exec_stop(struct exec *x)
{
	x->end.stopped = true;
	x->end.signo = 9;
}

/* --- one input alone ------------------------------------------------------ */

struct replay {
	struct replay_spec spec;
	struct source *timer;
	char *path;
	bool stopped;
};

static void on_replayed(void *arg)
{
	struct replay *t = arg;
	char name[40];
	struct crash_report report = {.found = true, .type = "Alone"};
	struct replay_end end = {.unusable = t->stopped ? "stopped" : "", .report = &report};

	snprintf(name, sizeof(name), "%s", strrchr(t->path, '/') + 1);
	if (*name == 'h' && !t->stopped)
		end.unusable = "the target ended before it ran the input";
	if ((*name == 'z' || *name == 'q') && name[1] == 'b' && !t->stopped) {
		end.unusable = "too busy";
		end.starved = true;
	}
	end.failed =
	    !t->stopped && (strchr("clreb", *name) || (strchr("zq", *name) && name[1] == 'f'));
	end.cause = *name == 'r'
			? (struct failure_cause){CRASH_OWN_SECCOMP, "bpf", ENGINE_ARTIFACT_SYSCALL}
			: (struct failure_cause){CRASH_OWN_NONE, "", ENGINE_ARTIFACT_CRASH};
	play.running--;
	t->spec.done(t->spec.arg, &end);
	source_remove(t->timer);
	free(t->path);
	free(t);
}

/* The seat's cell is gone a little later. */
struct replay_seat {
	struct source *timer;
	void (*closed)(void *arg);
	void *arg;
};

int replay_seat_new(const char *work, size_t index, struct replay_seat **ret, struct err *e)
{
	assert_string_equal(work, "/work");
	assert_in_range(index, 5, 5 + 8);
	if (++play.starts == play.fault)
		return err_set(e, EMFILE, "no descriptor");
	*ret = xcalloc(1, sizeof(**ret));
	play.seats++;
	return 0;
}

static inline void on_seat(void *arg)
{
	struct replay_seat s = *(struct replay_seat *)arg;

	free(arg);
	source_remove(s.timer);
	play.seats--;
	s.closed(s.arg);
}

void replay_seat_close(struct replay_seat *s, void (*closed)(void *arg), void *arg)
{
	struct err e;

	s->closed = closed;
	s->arg = arg;
	if (loop_add_timer(play.loop, clock_mono_us(), on_seat, s, &s->timer, &e) < 0)
		on_seat(s);
}

int replay_start(const struct replay_env *env, const struct replay_spec *spec, struct replay **ret,
		 struct err *e)
{
	struct replay *t;

	if (++play.starts == play.fault)
		return err_set(e, EMFILE, "no descriptor");
	t = xcalloc(1, sizeof(*t));
	*t = (struct replay){.spec = *spec};
	if (loop_add_timer(env->exec.loop, clock_mono_us(), on_replayed, t, &t->timer, e) < 0) {
		free(t);
		return -e->code;
	}
	t->path = xstrdup(spec->input);
	play.alone++;
	if (++play.running > play.most)
		play.most = play.running;
	*ret = t;
	return 0;
}

void replay_stop(struct replay *t)
{
	t->stopped = true;
}

bool replay_starved(const struct exec_end *end)
{
	return end->waited_us > 0;
}

/* --- a test --------------------------------------------------------------- */

static const char *name_of(void *arg, size_t input)
{
	(void)arg;
	return play.inputs[input];
}

static void on_failed(void *arg, const struct batch_failure *f)
{
	(void)arg;
	assert_true(f->input < play.n);
	assert_int_equal(play.failed[f->input], 0); /* each input is reported once */
	assert_true(f->report->found);
	play.failed[f->input] = f->only_together ? 't' : 'a';
	play.cause[f->input] = f->cause;
	snprintf(play.type[f->input], sizeof(play.type[0]), "%.30s", f->report->type);
}

static void on_done(void *arg, const struct batch_sum *sum)
{
	(void)arg;
	play.sum = *sum;
	play.done = true;
	loop_stop(play.loop);
}

/* 0, or the error of batch_start(). */
static inline int run(unsigned workers)
{
	struct target target = {
	    .name = (char[]){"t"}, .binary = (char[]){"/out/t"}, .engine = &engine_libfuzzer};
	struct target_config cfg = {.memory = 1 << 28, .input_timeout_us = 2000000};
	struct replay_env env = {0};
	struct batch_spec s = {.target = &target,
			       .cfg = &cfg,
			       .index = 5,
			       .workers = workers,
			       .dir = "/inputs",
			       .work = "/work",
			       .name = name_of,
			       .n = play.n,
			       .failed = on_failed,
			       .done = on_done};
	struct err e;
	int r;

	assert_int_equal(loop_new(&play.loop, &e), 0);
	env.exec = (struct exec_env){.loop = play.loop, .run = "r"};
	r = batch_start(&env, &s, &play.batch, &e);
	if (r == 0)
		assert_int_equal(loop_run(play.loop, &e), 0);
	loop_free(play.loop);
	assert_int_equal(play.done, r == 0);
	assert_int_equal(play.running, 0);
	assert_int_equal(play.seats, 0);
	return r;
}

static inline void go(unsigned workers)
{
	assert_int_equal(run(workers), 0);
	assert_int_equal(play.sum.cells, play.cells + play.alone);
	assert_int_equal(play.sum.passed + play.sum.failed + play.sum.left_out, play.n);
}

/* Inputs by their names, separated by one blank. */
static inline void inputs(const char *names)
{
	static char text[1000];
	char *save = NULL;

	play = (struct play){0};
	snprintf(text, sizeof(text), "%s", names);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		play.inputs[play.n++] = w;
}

/* want: for each input '.', 'a' or 't'. */
static inline void expect(const char *want)
{
	for (size_t i = 0; i < play.n; i++)
		if ((play.failed[i] ? play.failed[i] : '.') != want[i])
			fail_msg("input %zu (%s): %c, not %c", i, play.inputs[i],
				 play.failed[i] ? play.failed[i] : '.', want[i]);
	assert_int_equal(play.sum.left_out, 0);
	assert_string_equal(play.sum.why, "");
}

#endif
