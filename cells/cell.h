/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_CELL_H
#define CELLS_CELL_H

#include "base/err.h"
#include "base/loop.h"
#include "base/scan.h"
#include "images/spec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Container jobs: run this argv with these mounts and limits; tell me its
 * output, its counters and how it ended.  This is the door of the whole
 * container library (cells/ and, below it, images/ and cgroups/).  It knows nothing of
 * fuzzing.
 *
 * A cell is: a group (cgroups/cgroup.h), a bundle (OCI config in a runtime
 * directory), crun started detached inside the group, and after that only process 1
 * and the job's own processes.  Process 1 is a small program of ours (images/init/): it
 * starts the job's program and says how it ended.  We reap it as its subreaper. */

struct cell_host;
struct cell;

struct cell_host_opts {
	enum cell_profile profile;
	struct loop *loop;
	struct cgroup_tree *tree;
	/* For bundles and crun's state; made, emptied of what a killed predecessor
	 * left, and removed at the end.  Mode 0711, on a tmpfs such as /run. */
	const char *runtime_dir;
	const char *crun;	     /* NULL: "crun" in PATH */
	bool best_effort;	     /* cgroup_new() */
	uint64_t output_bytes_per_s; /* a cell's output is read no faster; 0: no limit */
	uint64_t start_us;	     /* crun may take so long to start a job; 0: 30 s */
};

/* Makes this process a subreaper, checks crun (version), compiles the seccomp
 * filter; as an ordinary user: also whether cells can be made without root here.
 * Errors say what is missing and how to get it. */
MUST_CHECK int cell_host_new(const struct cell_host_opts *o, struct cell_host **ret, struct err *e);
void cell_host_free(struct cell_host *h); /* after the last cell ended; NULL is fine */

/* A living cell holds fewer of our descriptors at any moment of its life.  Descriptors that the
 * cell's user opens (a log, a pipe to a working process) are not counted. */
enum { CELL_DESCRIPTORS = 28 };

enum cell_how {
	CELL_EXITED,	  /* code: its exit status */
	CELL_SIGNALED,	  /* code: the signal */
	CELL_NOT_STARTED, /* why: what crun or execve(2) said, or that it was killed before it ran
			   */
};

struct cell_end {
	enum cell_how how;
	int code;
	struct cgroup_counters last; /* read when the last process was gone */
	bool overdue;		     /* the keeper killed it: cell_deadline() */
	char why[400];		     /* else "", unless the group could not be removed */
};

/* Called from the loop; all but ended may be NULL.  ended is the last call, exactly once, when no
 * process lives, all output was delivered and the group is removed; the cell is freed after it
 * returns.  No other call may free or end the cell at once: end it with cell_kill() and wait for
 * ended. */
struct cell_ops {
	/* stdout and stderr, in order, as read: any bytes, any cut. */
	void (*output)(void *arg, struct slice bytes);
	/* A system call is being refused; its caller stands until this returns, and a signal
	 * sent from here meets it in the call.  name as in struct seccomp_call: "socket",
	 * "number 462".  At most 2000 times a second: a cell that asks more waits. */
	void (*refused)(void *arg, const char *name);
	/* The memory mark was passed; halted: by memory that cannot be reclaimed.  Then the tasks
	 * stand until cell_memory_open().  The first thread begins with the signals that were sent
	 * until then. */
	void (*memory)(void *arg, bool halted);
	/* Of a cell that stays: its program has ended, and all that it printed was delivered.  Of
	 * end how and code are set.  left: it left a process, changed /tmp or /dev/shm, changed
	 * what the next one would inherit, or came to the memory mark.  Then only cell_kill() is
	 * possible. */
	void (*exited)(void *arg, const struct cell_end *end, bool left);
	void (*ended)(void *arg, const struct cell_end *end);
};

/* Returns as soon as crun was started; all else is told through ops.  spec and
 * what it points to may go when it returns. */
MUST_CHECK int cell_start(struct cell_host *h, const struct cell_spec *spec,
			  const struct cell_ops *ops, void *arg, struct cell **ret, struct err *e);

/* From ops.exited on, once for each: starts the program again, in the same cell.  The counters of
 * the cell go on. */
MUST_CHECK int cell_again(struct cell *c, struct err *e);

/* To the job's program, as soon as we know it; what comes before is kept, each signal once; -ESRCH
 * after it ended. */
MUST_CHECK int cell_signal(struct cell *c, int signo, struct err *e);
/* Everything in the cell, now, in any state. */
MUST_CHECK int cell_kill(struct cell *c, struct err *e);
/* cgroup_deadline(): the cell is killed then, even if we do not run. */
MUST_CHECK int cell_deadline(struct cell *c, uint64_t until_us, struct err *e);
/* Stops and continues all its processes; while it starts: as soon as the job runs. */
MUST_CHECK int cell_freeze(struct cell *c, bool frozen, struct err *e);
MUST_CHECK int cell_read(struct cell *c, struct cgroup_counters *ret, struct err *e);
/* Ends the stop at the mark: the cell may use the rest of the memory, up to the limit.  For
 * alone_us one thread has the rest for itself.  Then the others run, too, when it leaves them a
 * CPU.  While one thread is alone, a further call gives its place to another one.  Until crun has
 * ended, and after the job's end, no thread is chosen. */
enum cell_thread {
	CELL_EVERY_THREAD,
	CELL_FIRST_THREAD, /* the oldest living thread of the job's program */
	/* The second oldest one: the engine's watchdog.  -ESRCH: there is none, and the cell stays
	 * as it is. */
	CELL_SECOND_THREAD,
	CELL_REPORTING_THREAD, /* the same; other processes run, too: they may trace for it */
};
MUST_CHECK int cell_memory_open(struct cell *c, enum cell_thread alone, uint64_t alone_us,
				struct err *e);
/* Of a cell at its mark, and of a program of two threads: whether the engine's watchdog does
 * something else than to wait for its next look at the memory.  It may have begun a report, and not
 * have written a word of it yet.  Then no handler in another thread writes the input. */
bool cell_watchdog_works(const struct cell *c);
/* The job's program; 0: not known yet, or it ended.  The number is not reused before we
 * return to the loop. */
pid_t cell_pid(const struct cell *c);

/* Files on a disk that have no name any more (unlinked, O_TMPFILE) and that a process of the cell
 * holds open or has mapped.  Files in memory (tmpfs, memfd) do not count. */
struct cell_nameless {
	uint64_t bytes, files;
	/* There may be more: descriptors are in flight between two sockets, or a mapped file's size
	 * cannot be read.  Or the cell holds more than is looked at. */
	bool unsure;
};
/* The result is exact while the cell is frozen.  Otherwise a cell that moves descriptors between
 * its processes can hide some files.  The call takes milliseconds, up to a second for a hostile
 * cell: call it in a forked child. */
MUST_CHECK int cell_nameless(const struct cell *c, struct cell_nameless *ret, struct err *e);

#endif
