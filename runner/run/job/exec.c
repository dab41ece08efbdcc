/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/job/exec.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/lines.h"
#include "base/log.h"
#include "base/memory.h"
#include "runner/run/job/dump.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The forced dump writes one file. */
#define DUMP_GRACE_US (1 * USEC_PER_SEC)
/* A killed cell that still lives is killed again. */
#define KILL_RETRY_US (1 * USEC_PER_SEC)
/* LOOK_US: the period of checks for refused forks.  FORKS_GRACE_US: after a refused fork the input
 * may take so long to end by itself, because that shows more than a forced end. */
#define LOOK_US	       (250 * USEC_PER_MSEC)
#define FORKS_GRACE_US (1 * USEC_PER_SEC)
/* If a timer is this late, this process was suspended. */
#define ABSENT_US (1 * USEC_PER_SEC)

enum { HALF = EXEC_KEPT_MAX / 2 };

struct exec {
	const struct exec_env *env;
	struct exec_spec spec;
	const struct target *target;
	struct cell *cell;
	struct source *timer; /* deadline, then the steps of ending the command */
	struct source *look;  /* spec.forks_end_it */
	uint64_t began_us, refused_us;
	uint64_t until_us;     /* when the timer fires */
	uint64_t start_cpu_us; /* CPU time before the first input */
	enum ask ask;
	bool late, forced, stopped;
	bool marked; /* the cell came to its memory mark */
	/* The cell's counters at the start: not 0 if other commands ran there before. */
	struct cgroup_counters before;
	bool watched; /* at its memory mark, only the engine's watchdog runs */
	struct lines lines;
	struct engine_state engine;
	char refused[32];
	struct buf head;
	char *ring; /* the last HALF bytes after the head, made when the head is full */
	uint64_t ring_n;
};

static void exec_on_line(void *arg, struct slice line)
{
	struct exec *x = arg;

	x->target->engine->line(line, &x->engine);
}

static void keep_tail(struct exec *x, struct slice bytes)
{
	if (!x->ring)
		x->ring = xmalloc(HALF);
	if (bytes.n > HALF) {
		x->ring_n += bytes.n - HALF;
		bytes = (struct slice){bytes.p + bytes.n - HALF, HALF};
	}
	while (bytes.n > 0) {
		size_t at = (size_t)(x->ring_n % HALF);
		size_t n = bytes.n < HALF - at ? bytes.n : HALF - at;

		memcpy(x->ring + at, bytes.p, n);
		x->ring_n += n;
		bytes.p += n;
		bytes.n -= n;
	}
}

static void exec_keep(struct exec *x, struct slice bytes)
{
	size_t room = HALF - x->head.n;
	struct slice first = {bytes.p, bytes.n < room ? bytes.n : room};

	buf_put(&x->head, first);
	if (bytes.n > first.n)
		keep_tail(x, (struct slice){bytes.p + first.n, bytes.n - first.n});
}

/* Joins head and tail.  A line between them counts the missing bytes. */
static void join_output(struct exec *x)
{
	uint64_t missing = x->ring_n > HALF ? x->ring_n - HALF : 0;
	size_t n = x->ring_n < HALF ? (size_t)x->ring_n : HALF;
	size_t at = missing ? (size_t)(x->ring_n % HALF) : 0;

	if (!x->ring)
		return;
	x->head.max = EXEC_KEPT_MAX + 256;
	if (missing)
		buf_printf(&x->head, "\n[fuzzcell: %llu bytes left out]\n",
			   (unsigned long long)missing);
	buf_put(&x->head, (struct slice){x->ring + at, n - at});
	buf_put(&x->head, (struct slice){x->ring, at});
	assert(!x->head.full);
}

static int set_timer(struct exec *x, uint64_t at_us, struct err *e)
{
	int r = loop_set_timer(x->timer, at_us, e);

	if (r < 0)
		return r;
	x->until_us = at_us;
	/* Without the keeper the timer still ends the cell. */
	if (cell_deadline(x->cell, at_us + DUMP_GRACE_US + SETUP_KEEPER_SLACK_US, e) < 0)
		LOG(LOG_WARN, "keeper", f_str("what", e->msg));
	return 0;
}

/* The first input has started: applies its limit if that is before the deadline. */
static void limit_input(struct exec *x)
{
	uint64_t at = clock_mono_us() + x->spec.input_us;
	struct err e;

	if (x->spec.input_us && x->ask == ASK_NOTHING && at < x->until_us)
		(void)!set_timer(x, at, &e); /* on failure the deadline ends it */
}

/* exec_on_ended() reports the result. */
static void kill_now(struct exec *x)
{
	struct err e;

	x->forced = true;
	(void)!cell_kill(x->cell, &e); /* the timer retries */
	(void)!set_timer(x, clock_mono_us() + KILL_RETRY_US, &e);
}

static void exec_on_output(void *arg, struct slice bytes)
{
	struct exec *x = arg;
	bool ran = x->engine.replaying;
	struct cgroup_counters c;
	struct err e;

	exec_keep(x, bytes);
	if (x->spec.output)
		x->spec.output(x->spec.arg, bytes);
	lines_feed(&x->lines, bytes, exec_on_line, x);
	if (x->engine.restarted && x->ask == ASK_NOTHING) {
		x->ask = ASK_RESTART;
		kill_now(x);
	}
	if (ran || !x->engine.replaying)
		return;
	if (cell_read(x->cell, &c, &e) == 0)
		x->start_cpu_us = c.usage_us;
	limit_input(x);
}

static bool is_ended_for(struct exec *x, enum ask why, uint64_t grace_us)
{
	struct err e;

	x->ask = why;
	x->forced = true;
	if (set_timer(x, clock_mono_us() + grace_us, &e) < 0)
		kill_now(x);
	return true;
}

/* Forces the input in work out.  False: the command has ended, or is being ended already. */
static bool dump(struct exec *x, enum ask why)
{
	uint64_t grace = why == ASK_MEMORY ? DUMP_MARK_GRACE_US : DUMP_GRACE_US;
	struct err e;

	if ((x->ask != ASK_NOTHING && !(x->watched && why == ASK_MEMORY)) ||
	    dump_input(x->cell, x->target->engine, &x->engine, why == ASK_MEMORY, &e) == -ESRCH)
		return false;
	x->watched = false;
	return is_ended_for(x, why, grace);
}

static bool dump_at_mark(struct exec *x)
{
	struct err e;

	if (x->ask != ASK_NOTHING || x->engine.own_thread || dump_by_watchdog(x->cell, &e) < 0)
		return dump(x, ASK_MEMORY);
	x->watched = true;
	return is_ended_for(x, ASK_MEMORY, DUMP_WATCHDOG_US);
}

/* The watchdog's time is over.  A report that has begun may finish. */
static void end_watch(struct exec *x)
{
	if (!x->engine.own_thread && dump(x, ASK_MEMORY))
		return;
	x->watched = false;
	(void)is_ended_for(x, ASK_MEMORY, DUMP_MARK_GRACE_US - DUMP_WATCHDOG_US);
}

static void exec_on_timer(void *arg)
{
	struct exec *x = arg;
	uint64_t now = clock_mono_us(), deadline = x->began_us + x->spec.deadline_us;
	struct err e;

	/* This process was suspended, and the cell may have ended meanwhile: its end is handled
	 * first. */
	if (now - x->until_us >= ABSENT_US && set_timer(x, now + ABSENT_US, &e) == 0)
		return;
	if (x->watched)
		end_watch(x);
	else if (x->ask != ASK_NOTHING)
		kill_now(x);
	/* A report that has begun has time until the deadline. */
	else if (x->engine.fault == ENGINE_FAULT_NONE || now >= deadline ||
		 set_timer(x, deadline, &e) < 0)
		x->late = dump(x, ASK_STUCK);
}

static void on_look(void *arg)
{
	struct exec *x = arg;
	uint64_t now = clock_mono_us();
	struct cgroup_counters c;
	struct err e;

	if (!x->refused_us && cell_read(x->cell, &c, &e) == 0 &&
	    c.pids_refused > x->before.pids_refused)
		x->refused_us = now;
	if (x->refused_us && now - x->refused_us >= FORKS_GRACE_US)
		(void)dump(x, ASK_PIDS);
	else
		(void)!loop_set_timer(x->look, now + LOOK_US, &e); /* on failure: the deadline */
}

static void exec_on_refused(void *arg, const char *name)
{
	struct exec *x = arg;

	/* A call before the first input belongs to the target's start, not to the input. */
	if (!*x->refused && x->engine.replaying)
		snprintf(x->refused, sizeof(x->refused), "%.31s", name);
}

static void exec_on_memory(void *arg, bool halted)
{
	struct exec *x = arg;
	struct err e;

	x->marked = true;
	if (halted && !dump_at_mark(x))
		(void)!cell_memory_open(x->cell, CELL_EVERY_THREAD, 0, &e); /* it is ending */
}

static void exec_free(struct exec *x)
{
	source_remove(x->timer);
	source_remove(x->look);
	buf_done(&x->head);
	free(x->ring);
	free(x);
}

static bool exec_is_overdue(const struct exec *x, const struct cell_end *cell)
{
	return cell->overdue && x->ask == ASK_NOTHING;
}

static void fill_end(const struct exec *x, const struct cell_end *cell, struct exec_end *ret)
{
	const struct cgroup_counters *before = &x->before;
	struct cell_facts f = {
	    .started = cell->how != CELL_NOT_STARTED,
	    .code = cell->how == CELL_EXITED ? cell->code : 0,
	    .signo = cell->how == CELL_SIGNALED ? cell->code : 0,
	    .ask = x->ask,
	    .forced = x->forced,
	    .oom_kills = cell->last.oom_kills - before->oom_kills,
	    .pids_refused = cell->last.pids_refused - before->pids_refused,
	    .fault = x->engine.fault,
	    .fuzzed = x->engine.running,
	};

	f.end = x->target->engine->classify(&x->engine, f.code, f.signo);
	/* If the keeper killed the cell, the input's result is not known. */
	f.started = f.started && !exec_is_overdue(x, cell);
	*ret = (struct exec_end){
	    .failure = failure_of(&f),
	    .started = f.started,
	    .late = x->late || exec_is_overdue(x, cell),
	    .stopped = x->stopped,
	    .code = f.code,
	    .signo = f.signo,
	    .end = f.end,
	    .engine = &x->engine,
	    .refused = x->refused,
	    .output = buf_slice(&x->head),
	    .cpu_us = cell->last.usage_us - before->usage_us,
	    .input_cpu_us =
		cell->last.usage_us > x->start_cpu_us ? cell->last.usage_us - x->start_cpu_us : 0,
	    .wall_us = clock_mono_us() - x->began_us,
	    .waited_us = cell->last.cpu.full_us - before->cpu.full_us,
	    .memory_peak = cell->last.mem_peak,
	    .why = exec_is_overdue(x, cell) ? "fuzzcell itself did not run until its deadline"
					    : cell->why,
	};
}

static void exec_on_ended(void *arg, const struct cell_end *cell)
{
	struct exec *x = arg;
	struct exec_end end;

	x->cell = NULL;
	lines_end(&x->lines, exec_on_line, x);
	join_output(x);
	fill_end(x, cell, &end);
	x->spec.done(x->spec.arg, &end);
	exec_free(x);
}

/* Whether the next command may run in the same cell. */
static bool exec_was_harmless(const struct exec *x, const struct cgroup_counters *last)
{
	return x->ask == ASK_NOTHING && !x->late && !x->stopped && !x->marked && !*x->refused &&
	       !x->engine.restarted && last->oom_kills == x->before.oom_kills &&
	       last->pids_refused == x->before.pids_refused;
}

static void exec_on_exited(void *arg, const struct cell_end *cell, bool left)
{
	struct exec *x = arg;
	struct cell_end end = *cell;
	struct err e;

	if (left || cell_read(x->cell, &end.last, &e) < 0 || !exec_was_harmless(x, &end.last)) {
		(void)!cell_kill(x->cell, &e); /* on failure the timer does */
		return;
	}
	seat_park(x->spec.seat);
	exec_on_ended(x, &end);
}

static const struct cell_ops ops = {
    .output = exec_on_output,
    .refused = exec_on_refused,
    .memory = exec_on_memory,
    .exited = exec_on_exited,
    .ended = exec_on_ended,
};

static int exec_start_cell(struct exec *x, const struct setup_cell *c, struct err *e)
{
	const struct exec_spec *spec = &x->spec;
	uid_t uid = setup_uid(spec->index);
	bool again;
	int r;

	if (!spec->seat)
		return setup_start(spec->setup, c, uid, &ops, x, &x->cell, e);
	r = seat_start(spec->seat, spec->setup, c, uid, &ops, x, &x->cell, &again, e);
	if (r < 0 || !again)
		return r;
	if (cell_read(x->cell, &x->before, e) < 0) /* its end could not be judged */
		(void)!cell_kill(x->cell, e);
	x->start_cpu_us = x->before.usage_us;
	return 0;
}

int exec_start(const struct exec_env *env, const struct exec_spec *spec, struct exec **ret,
	       struct err *e)
{
	static unsigned serial; /* makes the names of this process's cells unique */
	struct exec *x = xcalloc(1, sizeof(*x));
	char id[64];
	struct setup_cell c = {.host = env->host,
			       .rootfs = env->rootfs,
			       .id = id,
			       .extra_memory = spec->extra_memory,
			       .fixed_addresses = spec->fixed_addresses,
			       .wall_us = spec->deadline_us + DUMP_GRACE_US};
	int r;

	*x = (struct exec){.env = env, .spec = *spec, .target = spec->setup->target};
	x->lines.ends = true;
	x->head = BUF_INIT(HALF + 1);
	x->began_us = clock_mono_us();
	snprintf(id, sizeof(id), "%s-%zu-x%u", env->run, spec->index, serial++);
	r = loop_add_timer(env->loop, x->began_us + spec->deadline_us, exec_on_timer, x, &x->timer,
			   e);
	if (r == 0 && spec->forks_end_it)
		r = loop_add_timer(env->loop, x->began_us + LOOK_US, on_look, x, &x->look, e);
	if (r == 0)
		r = exec_start_cell(x, &c, e);
	if (r < 0) {
		exec_free(x);
		return r;
	}
	x->spec.setup = NULL; /* the caller may free it */
	if (set_timer(x, x->began_us + spec->deadline_us, e) < 0)
		kill_now(x);
	*ret = x;
	return 0;
}

void exec_stop(struct exec *x)
{
	x->stopped = true;
	x->watched = false;
	x->ask = ASK_FINISH;
	kill_now(x);
}
