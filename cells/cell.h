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

/* Container jobs: runs an argv with given mounts and limits, and reports its output, its counters
 * and how it ended.  This is the public interface of the container library (cells/ and, below it,
 * images/ and cgroups/).  The library knows nothing of fuzzing.
 *
 * A cell has a group (cgroups/cgroup.h) and a bundle (OCI config in a runtime directory).  crun is
 * started detached inside the group and exits.  Then the cell has only process 1 and the job's own
 * processes.  Process 1 is a small program of ours (images/init/): it starts the job's program and
 * reports how the program ended.  We reap process 1 as its subreaper. */

struct cell_host;
struct cell;

struct cell_host_opts {
	enum cell_profile profile;
	struct loop *loop;
	struct cgroup_tree *tree;
	/* For bundles and crun's state.  It is created, cleared of the files of a killed
	 * predecessor, and removed at the end.  Mode 0711, on a tmpfs such as /run. */
	const char *runtime_dir;
	const char *crun; /* NULL: "crun" in PATH */
	bool best_effort; /* cgroup_new() */
	uint64_t
	    output_bytes_per_s; /* maximum rate at which a cell's output is read; 0: no limit */
	uint64_t start_us;	/* maximum time for crun to start a job; 0: 30 s */
};

/* Makes this process a subreaper, checks crun's version and compiles the seccomp filter.  For an
 * ordinary user it also checks whether this machine allows cells without root.  Errors say what is
 * missing and how to get it. */
MUST_CHECK int cell_host_new(const struct cell_host_opts *o, struct cell_host **ret, struct err *e);
void cell_host_free(struct cell_host *h); /* after the last cell ended; NULL is fine */

/* Upper bound for the descriptors that a living cell holds in our process.  Descriptors that the
 * caller opens for it (a log, a pipe to a task) are not counted. */
enum { CELL_DESCRIPTORS = 28 };

enum cell_how {
	CELL_EXITED,	  /* code: its exit status */
	CELL_SIGNALED,	  /* code: the signal */
	CELL_NOT_STARTED, /* why: the error of crun or execve(2), or that the start was aborted */
};

struct cell_end {
	enum cell_how how;
	int code;
	struct cgroup_counters last; /* read when the last process was gone */
	bool overdue;		     /* the keeper killed it: cell_deadline() */
	char why[400];		     /* also set when the group cannot be removed; else "" */
};

/* Callbacks from the loop; all but ended may be NULL.  ended is called once, as the last one.  Then
 * no process lives, all output was delivered and the group is removed.  The cell is freed after
 * ended returns.  Nothing else frees the cell: to end it, call cell_kill() and wait for ended. */
struct cell_ops {
	/* stdout and stderr, in order, in blocks as read: any bytes, not split into lines. */
	void (*output)(void *arg, struct slice bytes);
	/* A system call is being refused.  The calling thread is blocked in the call until this
	 * returns, so a signal sent from here interrupts it there.  name as in struct seccomp_call:
	 * "socket", "number 462".  At most 2000 calls a second are reported; further ones wait. */
	void (*refused)(void *arg, const char *name);
	/* The memory mark was passed.  halted: the memory cannot be reclaimed; then all threads are
	 * stopped until cell_memory_open().  The first thread takes the signals that were sent
	 * until then before it continues. */
	void (*memory)(void *arg, bool halted);
	/* Only for a cell with `stays`: the program has ended, and all its output was delivered.
	 * Only end->how and end->code are set.  left: the cell cannot be reused, only killed with
	 * cell_kill().  The program left a process, changed /tmp, /dev/shm or inherited state of
	 * process 1, or reached the memory mark. */
	void (*exited)(void *arg, const struct cell_end *end, bool left);
	void (*ended)(void *arg, const struct cell_end *end);
};

/* Returns as soon as crun was started; everything later is reported through ops.  spec and the data
 * that it points to are not needed after the return. */
MUST_CHECK int cell_start(struct cell_host *h, const struct cell_spec *spec,
			  const struct cell_ops *ops, void *arg, struct cell **ret, struct err *e);

/* Starts the program again in the same cell.  May be called once after each ops.exited.  The
 * cell's counters are not reset. */
MUST_CHECK int cell_again(struct cell *c, struct err *e);

/* Sends a signal to the job's program.  Signals before its start are kept, each signal once, and
 * sent when it runs.  -ESRCH: the program has ended. */
MUST_CHECK int cell_signal(struct cell *c, int signo, struct err *e);
/* Kills everything in the cell at once, in any state. */
MUST_CHECK int cell_kill(struct cell *c, struct err *e);
/* cgroup_deadline(): the cell is killed at that time, even if our process does not run. */
MUST_CHECK int cell_deadline(struct cell *c, uint64_t until_us, struct err *e);
/* Freezes or thaws all its processes.  While the cell starts, the freeze is postponed until the job
 * runs. */
MUST_CHECK int cell_freeze(struct cell *c, bool frozen, struct err *e);
MUST_CHECK int cell_read(struct cell *c, struct cgroup_counters *ret, struct err *e);
/* Ends the stop at the memory mark: the cell may use the rest of the memory, up to the limit.  For
 * alone_us only the chosen thread runs.  After that the others run, too, when it leaves them a
 * CPU.  During alone_us a further call chooses another thread.  No thread is chosen before crun has
 * exited or after the job has ended. */
enum cell_thread {
	CELL_EVERY_THREAD,
	CELL_FIRST_THREAD, /* the oldest living thread of the job's program */
	/* The second oldest thread: the engine's watchdog.  -ESRCH: there is no such thread, and
	 * nothing changes. */
	CELL_SECOND_THREAD,
	CELL_REPORTING_THREAD, /* the same, but other processes also run: they may trace for it */
};
MUST_CHECK int cell_memory_open(struct cell *c, enum cell_thread alone, uint64_t alone_us,
				struct err *e);
/* For a cell at its memory mark with a program of two threads: whether the engine's watchdog is not
 * asleep.  The watchdog may have started a report without output so far.  Then no handler in
 * another thread writes the input. */
bool cell_watchdog_works(const struct cell *c);
/* The process number of the job's program; 0: not known yet, or the program has ended.  The number
 * is not reused before we return to the loop. */
pid_t cell_pid(const struct cell *c);

/* Files on a disk without a name (unlinked, O_TMPFILE) that a process of the cell has open or
 * mapped.  Files in memory (tmpfs, memfd) do not count. */
struct cell_nameless {
	uint64_t bytes, files;
	/* The counts may be too low: descriptors are in flight between two sockets, a mapped file's
	 * size cannot be read, or the cell has too many files to read all. */
	bool unsure;
};
/* The result is exact while the cell is frozen.  Otherwise a cell can hide files by moving
 * descriptors between its processes.  The call takes milliseconds, up to a second for a hostile
 * cell: call it in a forked child. */
MUST_CHECK int cell_nameless(const struct cell *c, struct cell_nameless *ret, struct err *e);

#endif
