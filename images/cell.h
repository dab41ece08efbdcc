/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_CELL_H
#define IMAGES_CELL_H

#include "base/err.h"
#include "base/loop.h"
#include "base/scan.h"
#include "cgroups/cgroup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Container jobs: run this argv with these mounts and limits; tell me its
 * output, its counters and how it ended.  This is the door of the whole
 * container library (images/ and, below it, cgroups/); it knows nothing of
 * fuzzing.
 *
 * A cell is: a group (cgroups/cgroup.h), a bundle (OCI config in a runtime
 * directory), crun started detached inside the group, and after that only the
 * job's own processes, the first of which we reap as their subreaper. */

struct cell_host;
struct cell;

/* What all jobs of a host are.  A build may run servers of its own, has a /tmp from which
 * programs can be started, and may not trace; with its network it is in the machine's network
 * namespace. */
enum cell_profile { CELL_ENGINE, CELL_BUILD, CELL_BUILD_NETWORK };

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

/* A living cell holds fewer descriptors of ours at any moment of its life; what its user opens for
 * it (a log, a pipe to a working process) is on top. */
enum { CELL_DESCRIPTORS = 28 };

struct cell_mount {
	const char *source; /* host path, absolute */
	const char *target; /* absolute; parents are made */
	bool writable;
	bool exec; /* else noexec */
};

enum { CELL_MOUNTS_MAX = 64 };

struct cell_spec {
	const char *id; /* unique among living cells: [a-z0-9-], at most 63 bytes */
	const char *const *argv;
	const char *const *env; /* all of it: nothing is inherited (crun adds HOME) */
	const char *cwd;
	const char *rootfs; /* NULL: the host's /usr, read-only, and a minimal /etc and /dev */
	const struct cell_mount *mounts;
	size_t n_mounts;
	uint64_t tmp_bytes;  /* size of /tmp, memory counted in the cell */
	uint64_t file_bytes; /* largest file (RLIMIT_FSIZE); 0: no limit */
	/* CPU time that each process may use before the kernel kills it (RLIMIT_CPU), in seconds:
	 * a belt beside cell_deadline().  0: no limit. */
	uint64_t cpu_s;
	uint32_t files_max; /* open files (RLIMIT_NOFILE), no more than we may; 0: ours */
	/* The job is root inside and this unprivileged user outside.  One of its own
	 * for each living cell, so that cells cannot touch each other.  Of a host that is
	 * an ordinary user these can only be its own: then namespaces alone part them. */
	uid_t uid;
	gid_t gid;
	/* No address space randomisation: two cells of one program and the same argv
	 * see the same addresses. */
	bool fixed_addresses;
	struct cgroup_limits limits;
};

enum cell_how {
	/* code: its exit status.  Also 1, with crun's message as the output, when the
	 * very execve(2) failed: a wrong format, a missing interpreter. */
	CELL_EXITED,
	CELL_SIGNALED,	  /* code: the signal */
	CELL_NOT_STARTED, /* why: what crun said, or that it was killed before it ran */
};

struct cell_end {
	enum cell_how how;
	int code;
	struct cgroup_counters last; /* read when the last process was gone */
	bool overdue;		     /* killed by the keeper: cell_deadline() */
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
	/* The memory mark was passed; halted: by memory that cannot be reclaimed.  Then its tasks
	 * stand until cell_memory_open(), and the first thread begins with the signals that were
	 * sent until then. */
	void (*memory)(void *arg, bool halted);
	void (*ended)(void *arg, const struct cell_end *end);
};

/* Returns as soon as crun was started; all else is told through ops.  spec and
 * what it points to may go when it returns. */
MUST_CHECK int cell_start(struct cell_host *h, const struct cell_spec *spec,
			  const struct cell_ops *ops, void *arg, struct cell **ret, struct err *e);

/* To the job's first process, as soon as we know it; what comes before is kept, each
 * signal once; -ESRCH after it ended.  That process is PID 1 of its namespace: a
 * signal that it has no handler for does nothing, but SIGKILL and SIGSTOP. */
MUST_CHECK int cell_signal(struct cell *c, int signo, struct err *e);
/* Everything in the cell, now, in any state. */
MUST_CHECK int cell_kill(struct cell *c, struct err *e);
/* cgroup_deadline(): killed then, whether we run or not. */
MUST_CHECK int cell_deadline(struct cell *c, uint64_t until_us, struct err *e);
/* Stops and continues all its processes; while it starts: as soon as the job runs. */
MUST_CHECK int cell_freeze(struct cell *c, bool frozen, struct err *e);
MUST_CHECK int cell_read(struct cell *c, struct cgroup_counters *ret, struct err *e);
/* Ends the stop at the mark: the rest of the memory, up to the limit, can be used.  For alone_us
 * one thread has it for itself: the job's first, or the next oldest one of its first process (a
 * watchdog of the engine's).  Then the others run, too, as far as it leaves them a CPU. */
enum cell_thread { CELL_EVERY_THREAD, CELL_FIRST_THREAD, CELL_SECOND_THREAD };
MUST_CHECK int cell_memory_open(struct cell *c, enum cell_thread alone, uint64_t alone_us,
				struct err *e);
/* The job's first process; 0: not known yet, or it ended.  Nobody else gets its number while we
 * have not returned to the loop. */
pid_t cell_pid(const struct cell *c);

/* Files on a disk that no name leads to any more (unlinked, O_TMPFILE) and that a process of
 * the cell keeps: open, or mapped.  What lies in memory (tmpfs, memfd) is not among them. */
struct cell_nameless {
	uint64_t bytes, files;
	/* There may be more: descriptors are in flight between two sockets, a mapped file's
	 * size cannot be read, or there is too much to look at. */
	bool unsure;
};
/* Exact while the cell is frozen; else a cell that moves descriptors between its processes can
 * hide some.  It takes milliseconds, up to a second for a hostile cell: call it in a forked child.
 */
MUST_CHECK int cell_nameless(const struct cell *c, struct cell_nameless *ret, struct err *e);

#endif
