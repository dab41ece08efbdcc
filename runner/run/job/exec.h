/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_EXEC_H
#define RUNNER_RUN_JOB_EXEC_H

#include "base/loop.h"
#include "runner/run/job/reason.h"
#include "runner/run/job/seat.h"

/* One command of a target in one cell, to its end: what merging, reproducing and
 * minimising are made of.  Fuzzing has its own driver (job.h). */

struct exec_env {
	struct loop *loop;
	struct cell_host *host;
	const char *rootfs; /* NULL: the host's */
	const char *run;    /* begins the cells' names */
};

enum { EXEC_KEPT_MAX = 1 << 16 }; /* bytes of output in exec_end, half from each end */

struct exec_end {
	enum failure failure; /* FAILURE_STUCK also when the deadline passed without a report */
	bool started;
	bool late;	 /* the deadline passed */
	bool stopped;	 /* exec_stop() */
	int code, signo; /* exit status, or the signal */
	enum engine_end end;
	const struct engine_state *engine;
	const char *refused; /* the first refused system call since the input ran, or "" */
	struct slice output; /* beginning and end, when there was more than is kept */
	uint64_t cpu_us, wall_us, memory_peak; /* memory_peak: of all that ran in its cell */
	uint64_t input_cpu_us; /* of the CPU time: since it said that it runs its first input */
	uint64_t waited_us;    /* of the wall time: for a CPU; 0 where the machine has no PSI */
	const char *why;       /* not started: what crun said */
};

/* Called from the loop, once; what end points to goes when it returns.  It may start
 * the next exec. */
typedef void exec_done_fn(void *arg, const struct exec_end *end);

struct exec;

/* s->cmd is run; s may go when it returns.  After deadline_us the current input is
 * forced out (the engine's dump signal), a second later the cell is killed.
 * index: whose user the cell gets (setup_uid()). */
struct exec_spec {
	const struct setup *setup;
	struct seat *seat; /* where its cell may stay; NULL: nowhere */
	size_t index;
	uint64_t extra_memory;
	bool fixed_addresses; /* cell_spec's: what two cells report can be compared */
	uint64_t deadline_us; /* wall time from now */
	/* Wall time from the engine's line that it runs its first input.  A report that has begun
	 * by then has time until the deadline.  0: no limit. */
	uint64_t input_us;
	/* Soon after a fork or thread was refused the current input is forced out, too:
	 * FAILURE_PIDS. What ends by itself before is judged by its end. */
	bool forks_end_it;
	/* Sees all output as it comes; NULL is fine. */
	void (*output)(void *arg, struct slice bytes);
	exec_done_fn *done;
	void *arg; /* of both */
};
MUST_CHECK int exec_start(const struct exec_env *env, const struct exec_spec *spec,
			  struct exec **ret, struct err *e);
/* Ends it at once; done comes all the same. */
void exec_stop(struct exec *x);

#endif
