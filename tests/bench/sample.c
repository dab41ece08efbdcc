/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of sampling many cells once a second, as a run does: job_tick() for each of them
 * (counters, pressure, memory mark, effective clock, curves), then the machine's own pressure.
 * First the cells sleep, then each of them spins.  Measures the CPU time of this process, user and
 * system, for the sampling alone.  Needs root and crun.
 *
 * usage: sample [SAMPLES [CELLS]]    default: 20 64
 *
 * Status 1: the cost is above the aim.  A signal ends the benchmark and cleans up.  After a SIGKILL
 * the keeper ends the cells, and the next start removes the rest. */
#include "base/clock.h"
#include "runner/run/job/fuzzing.h"
#include "runner/run/job/job.h"
#include "runner/run/pressure.h"
#include "tests/bench/host.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BENCH_DIR "/run/fuzzcell-bench-sample"
/* CPU time for a second of wall time. */
#define AIM 0.005

enum { SAMPLES = 20, SAMPLES_MAX = 3600, CELLS = 64, CELLS_MAX = 512 };
enum { START_S = 60, END_S = 60, UID = 1700000 };
enum { MEMORY = 64 << 20, MEMORY_HIGH = 56 << 20, TMP = 1 << 20, FILES = 64, PIDS = 16 };

enum stage { STARTING, SLEEPING, SPINNING, ENDING, STAGE_COUNT };
static const char *const stages[] = {[SLEEPING] = "sleep", [SPINNING] = "spin"};

struct place {
	struct bench *bench;
	struct job job;
	struct target target;
	struct target_config cfg;
	char name[32];
	struct fuzzing fuzzing;
	struct fleet_target fleet;
	bool up;
};

struct cost {
	double sum_us, most_us;
	uint64_t samples;
	uint64_t began_us, ended_us, cells_us; /* wall time, and the cells' CPU time in it */
};

struct bench {
	struct bench_host host;
	struct run_dirs dirs; /* for the curves */
	struct job_env env;
	struct pressure *pressure;
	struct source *timer;
	struct place *v;
	uint64_t n, samples;
	enum stage stage;
	size_t started, alive;
	struct workers workers;
	struct cost cost[STAGE_COUNT];
	/* The reason for an early end. */
	int signo;
	bool failed;
	struct err err;
};

static double cpu_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void set_timer(struct bench *b, uint64_t in_us)
{
	if (loop_set_timer(b->timer, clock_mono_us() + in_us, &b->err) == 0)
		return;
	b->failed = true;
	loop_stop(b->host.loop); /* closing the tree ends the cells */
}

static void end(struct bench *b)
{
	struct err e;

	if (b->stage == ENDING)
		return;
	b->stage = ENDING;
	set_timer(b, END_S * USEC_PER_SEC);
	for (size_t i = 0; i < b->started; i++)
		if (b->v[i].fuzzing.cell && cell_kill(b->v[i].fuzzing.cell, &e) < 0) {
			b->failed = true;
			b->err = e;
		}
	if (b->alive == 0)
		loop_stop(b->host.loop);
}

static void fail(struct bench *b) /* b->err has the reason */
{
	b->failed = true;
	end(b);
}

/* Sampling ------------------------------------------------------------------ */

static uint64_t cells_us(const struct bench *b)
{
	uint64_t us = 0;

	for (size_t i = 0; i < b->n; i++)
		us += b->v[i].job.now.usage_us;
	return us;
}

static int look(struct bench *b, double *ret_us)
{
	double before = cpu_us();
	uint64_t now = clock_mono_us();
	struct workers_reading reading;
	int r = 0;

	for (size_t i = 0; i < b->n; i++)
		job_tick(&b->v[i].job, now);
	if (b->pressure)
		r = pressure_look(b->pressure, &reading, &b->err);
	if (b->pressure && r == 0) {
		reading.at_us = now;
		(void)workers_read(&b->workers, &reading);
	}
	*ret_us = cpu_us() - before;
	return r;
}

static void next_stage(struct bench *b)
{
	if (b->stage == SPINNING) {
		end(b);
		return;
	}
	b->stage = SPINNING;
	for (size_t i = 0; i < b->n; i++)
		if (cell_signal(b->v[i].fuzzing.cell, SIGUSR1, &b->err) < 0) {
			fail(b);
			return;
		}
}

/* The first sample of a stage does not count: later samples have one to compare with. */
static void sample(struct bench *b)
{
	struct cost *c = &b->cost[b->stage];
	double us;

	if (look(b, &us) < 0) {
		fail(b);
		return;
	}
	if (!c->began_us) {
		c->began_us = clock_mono_us();
		c->cells_us = cells_us(b);
		return;
	}
	c->sum_us += us;
	c->most_us = us > c->most_us ? us : c->most_us;
	if (++c->samples < b->samples)
		return;
	c->ended_us = clock_mono_us();
	c->cells_us = cells_us(b) - c->cells_us;
	next_stage(b);
}

static void on_timer(void *arg)
{
	struct bench *b = arg;

	if (b->stage == ENDING) {
		(void)err_set(&b->err, ETIMEDOUT, "cells do not end");
		b->failed = true;
		loop_stop(b->host.loop);
	} else if (b->stage == STARTING) {
		(void)err_set(&b->err, ETIMEDOUT, "cell %zu does not start", b->started);
		fail(b);
	} else {
		set_timer(b, USEC_PER_SEC);
		sample(b);
	}
}

static void on_pressure(void *arg)
{
	(void)arg; /* the next sample reads it */
}

/* The cells ------------------------------------------------------------------ */

static void start_next(struct bench *b);

static void on_output(void *arg, struct slice bytes)
{
	struct place *p = arg;
	struct bench *b = p->bench;

	if (b->stage != STARTING)
		return;
	if (p->up || bytes.n < 2 || bytes.p[0] != 'u') {
		(void)err_set(&b->err, EPROTO, "a cell says: %.*s", (int)bytes.n, bytes.p);
		fail(b);
		return;
	}
	p->up = true;
	fleet_launched(&p->fleet, clock_mono_us());
	(void)fleet_take_stats(&p->fleet, &(struct fleet_news){.fuzzes = true});
	start_next(b);
}

static void on_ended(void *arg, const struct cell_end *ended)
{
	struct place *p = arg;
	struct bench *b = p->bench;

	p->fuzzing.cell = NULL;
	p->job.phase = PHASE_QUEUED;
	b->alive--;
	if (b->stage != ENDING) {
		(void)err_set(&b->err, EPROTO, "a cell ended by itself: %s", ended->why);
		fail(b);
	} else if (b->alive == 0) {
		loop_stop(b->host.loop);
	}
}

/* The program is process 1 of its cell, where signals without a handler are ignored.  Its output
 * shows that it has a handler. */
static int start_cell(struct bench *b, size_t i, struct err *e)
{
	static const struct cell_ops ops = {.output = on_output, .ended = on_ended};
	static const char *const argv[] = {
	    "/bin/sh", "-c", "trap : USR1; echo up; sleep 100000 & wait; while :; do :; done",
	    NULL};
	static const char *const env[] = {"PATH=/bin", NULL};
	char id[32];
	const struct cell_spec spec = {
	    .id = id,
	    .argv = argv,
	    .env = env,
	    .cwd = "/tmp",
	    .tmp_bytes = TMP,
	    .files_max = FILES,
	    .uid = UID + (uid_t)i,
	    .gid = UID + (gid_t)i,
	    .limits = {.memory_max = MEMORY,
		       .memory_high = MEMORY_HIGH,
		       .cpu_milli = 1000,
		       .cpu_weight = 100,
		       .pids_max = PIDS},
	};

	(void)snprintf(id, sizeof(id), "cell-%zu", i);
	return cell_start(b->host.cells, &spec, &ops, &b->v[i], &b->v[i].fuzzing.cell, e);
}

static void start_next(struct bench *b)
{
	struct place *p = &b->v[b->started];

	if (b->started == b->n) {
		b->stage = SLEEPING;
		set_timer(b, USEC_PER_SEC);
		return;
	}
	p->bench = b;
	p->fleet = (struct fleet_target){0};
	fleet_join(&p->fleet, &(struct fleet_member){.rule = rule_preset(0.05, 1), .quota = 1});
	(void)snprintf(p->name, sizeof(p->name), "cell-%zu", b->started);
	p->target.name = p->name;
	p->job = (struct job){.phase = PHASE_FUZZING,
			      .env = &b->env,
			      .target = &p->target,
			      .cfg = &p->cfg,
			      .fuzzing = &p->fuzzing,
			      .fleet = &p->fleet};
	p->cfg.memory_high = MEMORY_HIGH;
	p->cfg.input_timeout_us = 86400 * USEC_PER_SEC; /* a sleeping target is not stuck */
	set_timer(b, START_S * USEC_PER_SEC);
	b->started++;
	b->alive++;
	if (start_cell(b, b->started - 1, &b->err) < 0) {
		b->alive--;
		fail(b);
	}
}

/* Setup and cleanup ----------------------------------------------------------- */

static void on_signal(void *arg, int signo)
{
	struct bench *b = arg;

	b->signo = signo;
	end(b);
}

static int set_up(struct bench *b, struct err *e)
{
	struct err none;
	int r = bench_host_make(&b->host, BENCH_DIR, "bench-sample", on_signal, b, e);

	if (r == 0)
		r = loop_add_timer(b->host.loop, UINT64_MAX, on_timer, b, &b->timer, e);
	/* As in a run, which continues without pressure. */
	if (r == 0 &&
	    pressure_open(b->host.loop, "/proc/pressure", on_pressure, b, &b->pressure, &none) < 0)
		printf("   no pressure (PSI) here\n");
	workers_begin(&b->workers, (unsigned)b->n);
	b->dirs = (struct run_dirs){.id = "bench", .logs = b->host.dir_fd};
	b->env = (struct job_env){.dirs = &b->dirs, .began_us = clock_mono_us()};
	return r;
}

static int tear_down(struct bench *b, struct err *e)
{
	source_remove(b->timer);
	pressure_close(b->pressure);
	return bench_host_clear(&b->host, e);
}

/* Whether the cost is within the aim. */
static bool print_cost(const struct bench *b, enum stage stage)
{
	const struct cost *c = &b->cost[stage];
	double mean_us = c->sum_us / (double)c->samples;
	bool good = mean_us < AIM * 1e6;

	printf("   %llu cells that %s, with %.2f CPUs: %llu looks, a second apart, each %.0f us of "
	       "CPU time (%.1f us a cell; at most %.0f us): %.3f %% of a core "
	       "(aim: under %.1f %%)%s\n",
	       (unsigned long long)b->n, stages[stage],
	       (double)c->cells_us / (double)(c->ended_us - c->began_us),
	       (unsigned long long)c->samples, mean_us, mean_us / (double)b->n, c->most_us,
	       mean_us / 1e4, AIM * 100, good ? "" : ": MISSED");
	return good;
}

static bool print_costs(const struct bench *b)
{
	bool sleeping = print_cost(b, SLEEPING), spinning = print_cost(b, SPINNING);

	return sleeping && spinning;
}

static int run(struct bench *b)
{
	struct err e;
	int r = set_up(b, &b->err);
	bool good = false;

	if (r == 0) {
		start_next(b);
		r = loop_run(b->host.loop, &b->err);
	}
	b->failed |= r < 0;
	if (b->failed)
		(void)fprintf(stderr, "sample: %s\n", b->err.msg);
	r = tear_down(b, &e);
	if (r < 0)
		(void)fprintf(stderr, "sample: %s\n", e.msg);
	if (!b->failed && !b->signo)
		good = print_costs(b);
	return b->signo ? 128 + b->signo : !good || r < 0;
}

static bool number(const char *text, uint64_t most, uint64_t *ret)
{
	struct slice s = slice_of(text);

	return scan_u64(&s, 10, most, ret) && s.n == 0 && *ret > 0;
}

int main(int argc, char **argv)
{
	struct bench b = {.n = CELLS, .samples = SAMPLES};
	int status;

	if (argc > 3 || (argc > 1 && !number(argv[1], SAMPLES_MAX, &b.samples)) ||
	    (argc > 2 && !number(argv[2], CELLS_MAX, &b.n))) {
		(void)fprintf(stderr, "usage: sample [SAMPLES [CELLS]]\n");
		return 2;
	}
	b.v = calloc(b.n, sizeof(*b.v));
	if (!b.v) {
		(void)fprintf(stderr, "sample: no memory for %llu cells\n",
			      (unsigned long long)b.n);
		return 1;
	}
	status = run(&b);
	free(b.v);
	return status;
}
