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

/* Container jobs: runs a program with given mounts and limits, and reports the program's output,
 * its counters and how it ended.  This is the public interface of the container library (cells/
 * and, below it, images/ and cgroups/).  The library knows nothing of fuzzing.
 *
 * A cell has a group (cgroups/cgroup.h) and a bundle (OCI config in a runtime directory).  crun is
 * started detached inside the group and exits.  Then the cell has only process 1 and the job's own
 * processes.  Process 1 is a small program of ours (images/init/): it starts the job's program and
 * reports how the program ended.  Our process is the subreaper of process 1, and reaps it. */

struct cell_host;
struct cell;

struct cell_host_opts {
	enum cell_profile profile; /* of all cells of this host */
	struct loop *loop;	   /* calls the cells' callbacks */
	struct cgroup_tree *tree;  /* contains the groups of the cells */
	/* Directory for bundles and crun's state, absolute; choose a tmpfs such as /run.
	 * cell_host_new() makes the directory with mode 0711, and removes the files that a killed
	 * predecessor left in it.  cell_host_free() removes the directory. */
	const char *runtime_dir;
	const char *crun; /* the program; NULL: "crun" in PATH */
	bool best_effort; /* cgroup_new() skips the limits that this machine lacks */
	/* Maximum rate at which the output of one cell is read; 0: no limit. */
	uint64_t output_bytes_per_s;
	uint64_t start_us; /* maximum time for crun to start a job; 0: 30 s */
};

/* Makes this process a subreaper, checks crun's version and compiles the seccomp filter.  If we are
 * not root, cell_host_new() also checks whether this machine allows cells without root.  Errors say
 * what is missing and how to get it. */
MUST_CHECK int cell_host_new(const struct cell_host_opts *o, struct cell_host **ret, struct err *e);
/* Call it after the last cell has ended.  NULL is fine. */
void cell_host_free(struct cell_host *h);

/* Upper bound for the descriptors that a living cell holds in our process.  Descriptors that the
 * caller opens for the cell (a log, a pipe to a task) are not counted. */
enum { CELL_DESCRIPTORS = 28 };

enum cell_how {
	CELL_EXITED,	  /* the program exited; cell_end.code: the exit status */
	CELL_SIGNALED,	  /* a signal killed the program; cell_end.code: the signal's number */
	CELL_NOT_STARTED, /* the program did not start; cell_end.why: the reason */
};

/* How a cell ended. */
struct cell_end {
	enum cell_how how;
	int code;
	/* The cell's counters, read after the last process of the cell was gone. */
	struct cgroup_counters last;
	/* The keeper killed the cell, because its cell_deadline() had passed. */
	bool overdue;
	/* With CELL_NOT_STARTED: the error of crun or execve(2), or the reason why the start was
	 * aborted.  If the cell's group cannot be removed: the reason for that.  Else "". */
	char why[400];
};

/* The loop calls these functions.  arg: as passed to cell_start().  All except `ended` may be
 * NULL. */
struct cell_ops {
	/* The program's stdout and stderr, in order, in the blocks in which they were read.  The
	 * blocks contain any bytes and are not split into lines. */
	void (*output)(void *arg, struct slice bytes);
	/* A system call of the cell is being refused.  The calling thread is blocked in the call
	 * until `refused` returns.  So a signal that `refused` sends interrupts the thread in that
	 * call.  name as in struct seccomp_call: "socket", "number 462".  At most 2000 calls a
	 * second are reported; further callers wait. */
	void (*refused)(void *arg, const char *name);
	/* The cell passed its memory mark.  May be called several times.
	 *
	 * halted true: the memory cannot be reclaimed, and all threads of the cell are stopped
	 * until cell_memory_open().  cell_signal() then signals the program's first thread.  That
	 * thread handles the signals before it continues.
	 *
	 * halted false: the threads continue. */
	void (*memory)(void *arg, bool halted);
	/* Only for a cell with cell_spec.stays: the program has ended, and all its output was
	 * delivered.  Only end->how and end->code are set.
	 *
	 * left false: cell_again() may start the program again.
	 *
	 * left true: the program left a process, changed /tmp, /dev/shm or inherited state of
	 * process 1, or reached the memory mark.  The cell cannot be reused: call cell_kill(). */
	void (*exited)(void *arg, const struct cell_end *end, bool left);
	/* The cell has ended.  No process of the cell lives, all output was delivered and the group
	 * is removed, unless end->why has an error.  `ended` is the last call, and comes exactly
	 * once.  When `ended` returns, the cell is freed.  Nothing else frees a cell: to end one,
	 * call cell_kill() and wait for `ended`. */
	void (*ended)(void *arg, const struct cell_end *end);
};

/* Starts a cell.  Returns as soon as the process crun runs; ops reports everything later.  spec,
 * the data that spec points to, and ops are not needed after the return. */
MUST_CHECK int cell_start(struct cell_host *h, const struct cell_spec *spec,
			  const struct cell_ops *ops, void *arg, struct cell **ret, struct err *e);

/* Starts the program of the cell again, in the same cell.  May be called once after each call of
 * ops.exited with left false; otherwise -EBUSY.  The cell's counters are not reset. */
MUST_CHECK int cell_again(struct cell *c, struct err *e);

/* Sends a signal to the job's program.  If the program does not run yet, the signal is kept, and
 * sent when the program runs.  A signal that is sent several times before the start is delivered
 * once.  -ESRCH: the program has ended. */
MUST_CHECK int cell_signal(struct cell *c, int signo, struct err *e);

/* Kills all processes of the cell at once, in any state of the cell. */
MUST_CHECK int cell_kill(struct cell *c, struct err *e);

/* Sets the time (clock_mono_us()) at which the keeper kills the cell, even if our process does not
 * run: cgroup_deadline(). */
MUST_CHECK int cell_deadline(struct cell *c, uint64_t until_us, struct err *e);

/* Freezes or thaws all processes of the cell.  While crun starts the cell, the freeze is postponed
 * until crun is done. */
MUST_CHECK int cell_freeze(struct cell *c, bool frozen, struct err *e);

/* Reads the cell's counters: cgroup_read(). */
MUST_CHECK int cell_read(struct cell *c, struct cgroup_counters *ret, struct err *e);

/* The thread that cell_memory_open() lets run alone. */
enum cell_thread {
	/* No thread is chosen: all threads of the cell run. */
	CELL_EVERY_THREAD,
	/* The oldest living thread of the program.  After the program's end no thread is chosen. */
	CELL_FIRST_THREAD,
	/* The program's second oldest thread: the engine's watchdog.  If the program has no second
	 * thread, or has ended, cell_memory_open() returns -ESRCH and changes nothing. */
	CELL_SECOND_THREAD,
	/* The thread of CELL_SECOND_THREAD, while it writes a report.  Only the other threads of
	 * the program are stopped.  A sanitizer's tracer, which the report needs, also runs. */
	CELL_REPORTING_THREAD,
};

/* Ends the stop at the memory mark: the cell may use the rest of the memory, up to its limit.
 *
 * With a chosen thread (`alone`), kills the cell's other processes, except a sanitizer's tracer.
 * Then only the chosen thread runs, for alone_us; a watchdog's report gets 2.5 s more.  After this
 * time all threads run, on one CPU.  There the other threads run only when the chosen thread leaves
 * the CPU idle.
 *
 * A further call before the end of this time chooses another thread.  While crun still starts the
 * cell, no thread is chosen. */
MUST_CHECK int cell_memory_open(struct cell *c, enum cell_thread alone, uint64_t alone_us,
				struct err *e);

/* Whether the engine's watchdog is at work, in a cell that is halted at its memory mark.  The
 * watchdog sleeps between two checks.  If it does not sleep, it may have begun a report, even
 * without any output.  While the watchdog reports, a signal handler in another thread does not
 * write the input.  False if the program does not have exactly two threads. */
bool cell_watchdog_works(const struct cell *c);

/* The process number of the job's program; 0: not known yet, or the program has ended.  The kernel
 * does not reuse the number before our process returns to the loop. */
pid_t cell_pid(const struct cell *c);

/* Nameless files: files on a disk that have no name (unlinked, O_TMPFILE), and that a process of
 * the cell has open or mapped.  Files in memory (tmpfs, memfd) do not count. */
struct cell_nameless {
	uint64_t bytes; /* of disk space */
	uint64_t files; /* each file counts once */
	/* bytes and files may be too low.  Descriptors were in flight between two sockets, the size
	 * of a mapped file could not be read, or the cell has too many files to check all. */
	bool unsure;
};
/* Counts the nameless files of the cell.  Freeze the cell first: a running cell can hide files by
 * moving descriptors between its processes.  The call takes milliseconds, and up to a second for a
 * hostile cell: call cell_nameless() in a forked child. */
MUST_CHECK int cell_nameless(const struct cell *c, struct cell_nameless *ret, struct err *e);

#endif
