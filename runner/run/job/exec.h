/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_EXEC_H
#define RUNNER_RUN_JOB_EXEC_H

#include "base/loop.h"
#include "runner/run/job/reason.h"
#include "runner/run/job/seat.h"

/* Runs one command of a target in one cell to its end.  Merging, reproducing and minimising use it.
 * Fuzzing has its own driver (job.h). */

struct exec_env {
	struct loop *loop;
	struct cell_host *host;
	const char *rootfs; /* NULL: the host's */
	const char *run;    /* prefix of the cells' names */
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
	struct slice output; /* the beginning and the end, if there was more than EXEC_KEPT_MAX */
	uint64_t cpu_us, wall_us, memory_peak; /* memory_peak: of all commands in its cell */
	uint64_t input_cpu_us; /* CPU time since the engine's line that it runs its first input */
	uint64_t waited_us;    /* wall time spent waiting for a CPU; 0 where there is no PSI */
	const char *why;       /* not started: crun's message */
};

/* Called from the loop, once.  All that `end` points to is freed afterwards.  It may start the next
 * exec. */
typedef void exec_done_fn(void *arg, const struct exec_end *end);

struct exec;

/* Runs setup->cmd; the setup may be freed when exec_start() returns.  After deadline_us the current
 * input is forced out (the engine's dump signal).  A second later the cell is killed.
 * index: selects the cell's user (setup_uid()). */
struct exec_spec {
	const struct setup *setup;
	struct seat *seat; /* where its cell may stay; NULL: nowhere */
	size_t index;
	uint64_t extra_memory;
	bool fixed_addresses; /* cell_spec's: reports of two cells can be compared */
	uint64_t deadline_us; /* wall time from now */
	/* Wall time from the engine's line that it runs its first input.  A report that has begun
	 * by then has time until the deadline.  0: no limit. */
	uint64_t input_us;
	/* The current input is also forced out soon after a fork or thread was refused:
	 * FAILURE_PIDS.  A command that ends by itself before that is judged by its end. */
	bool forks_end_it;
	/* Gets all output as it comes; NULL is fine. */
	void (*output)(void *arg, struct slice bytes);
	exec_done_fn *done;
	void *arg; /* for both functions */
};
MUST_CHECK int exec_start(const struct exec_env *env, const struct exec_spec *spec,
			  struct exec **ret, struct err *e);
/* Ends the command at once; done is still called. */
void exec_stop(struct exec *x);

#endif
