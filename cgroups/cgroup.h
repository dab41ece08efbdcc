/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUPS_CGROUP_H
#define CGROUPS_CGROUP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Control groups: our subtree, one group for each cell in it, its limits and its counters.  One
 * interface for two layouts (docs/cells.md):
 *
 *   unified  every controller in the v2 tree
 *   hybrid   limits in v1 hierarchies; pressure, CPU time, population and
 *            cgroup.kill in the v2 tree that is mounted beside them
 *
 * Groups and limits go through libcgroup, which no other room uses.  Nothing here knows of
 * containers or fuzzing. */

enum cgroup_layout { CGROUP_UNIFIED, CGROUP_HYBRID };

/* The features that this machine has for a group.  A missing feature is false and named in missing
 * ("memory.high: no such file", ...; "" when all exist). */
struct cgroup_promises {
	bool memory;	  /* hard limit, children included */
	bool swap_off;	  /* no swap for the group (also true when the machine has none) */
	bool memory_high; /* a stop before the limit: throttled (unified) or halted (hybrid) */
	bool cpu;	  /* quota and weight */
	bool pids;
	bool pressure; /* PSI of a group */
	bool kill;     /* cgroup.kill; without it, the processes are killed one by one */
	char missing[256];
	/* The needed controllers that the machine has but that are not delegated to us:
	 * "cpu pids".  "" when there are none. */
	char undelegated[32];
};

struct cgroup_tree;

struct cgroup_tree_opts {
	/* Subtree to use, as a path below the controllers' root ("/fuzz").  NULL: our own group
	 * when it is delegated to us, else the root when we are root.  An ordinary user needs the
	 * unified layout.  A group that the user's own service manager divides is not used, because
	 * the manager would take the controllers away again. */
	const char *path;
	/* Our group in the subtree is "fuzzcell/<instance>".  Only one process uses an instance at
	 * a time (it holds a lock).  [a-z0-9-], at most 40 bytes. */
	const char *instance;
	/* When we die, the keeper (a small process) kills the groups' processes and removes the
	 * groups.  While we live, it keeps cgroup_deadline().  Without a keeper, the next
	 * cgroup_tree_open() of this instance removes the groups.  (A forked child that executes no
	 * program holds the keeper's socket.  The keeper waits while this child lives.) */
	bool keeper;
	/* Fail with -EBUSY at once when another process uses the instance.  Without no_wait the
	 * open waits for some seconds: the other process may be a dead process's keeper. */
	bool no_wait;
};

/* Detects the layout, finds the subtree and enables the controllers.  Moves this process to a leaf
 * group where the kernel's no-internal-processes rule requires that.  Kills the processes and
 * removes the groups that a killed predecessor of the same instance left.  Errors say what is
 * missing and how to get it. */
MUST_CHECK int cgroup_tree_open(const struct cgroup_tree_opts *o, struct cgroup_tree **ret,
				struct err *e);
/* Removes our groups (all cells must be gone).  NULL is fine. */
void cgroup_tree_close(struct cgroup_tree *t);

enum cgroup_layout cgroup_tree_layout(const struct cgroup_tree *t);
const char *cgroup_layout_name(enum cgroup_layout l); /* "unified", "hybrid" */
const struct cgroup_promises *cgroup_tree_promises(const struct cgroup_tree *t);
/* The path of our groups, for messages: "/sys/fs/cgroup/.../fuzzcell/x". */
const char *cgroup_tree_path(const struct cgroup_tree *t);
/* The number of processes of a predecessor that cgroup_tree_open() killed. */
unsigned cgroup_tree_swept(const struct cgroup_tree *t);
/* The memory that all cells together may use, in bytes: the smallest limit of the groups above
 * ours, as far as we see them.  UINT64_MAX: no limit. */
uint64_t cgroup_tree_memory(const struct cgroup_tree *t);
/* Sets the CPU weight of the whole instance against other instances: 1..10000, usually 100.
 * -ENOTSUP: the machine has no such limit. */
MUST_CHECK int cgroup_tree_weight(struct cgroup_tree *t, uint32_t weight, struct err *e);

/* Every limit is written for every group and read back.  0: no limit. */
struct cgroup_limits {
	uint64_t memory_max;  /* bytes */
	uint64_t memory_high; /* bytes, below memory_max; 0: none */
	uint32_t cpu_milli;   /* 1000: one CPU */
	uint32_t cpu_weight;  /* 1..10000, usually 100; on v1 scaled to cpu.shares */
	uint32_t pids_max;
};

struct cgroup;

/* Makes a group below the tree and sets its limits.  A limit that the machine lacks is an error.
 * With best_effort it is skipped instead; cgroup_tree_promises() names it.  name: [a-z0-9-], at
 * most 63 bytes, unique among our groups. */
MUST_CHECK int cgroup_new(struct cgroup_tree *t, const char *name, const struct cgroup_limits *lim,
			  bool best_effort, struct cgroup **ret, struct err *e);

/* Moves the calling process (a forked child) into the group.  Async-signal-safe: it can be called
 * from proc_spec.prepare.  Returns 0, or -1 with errno. */
int cgroup_enter(const struct cgroup *cg);

/* Kills everything in the group at once, even processes that ignore signals. */
MUST_CHECK int cgroup_kill(struct cgroup *cg, struct err *e);
/* cgroup_kill(), and waits until the group is empty.  It blocks for up to CG_EMPTY_MS (10 s; then
 * -ETIMEDOUT), so do not call it from a running event loop. */
MUST_CHECK int cgroup_empty(struct cgroup *cg, struct err *e);
/* Freezes or thaws all its processes (frozen time is no CPU time).  The freeze is asynchronous.  A
 * thread that waits at the memory mark is blocked already. */
MUST_CHECK int cgroup_freeze(struct cgroup *cg, bool frozen, struct err *e);
/* In a frozen group: lets one thread run until cgroup_freeze(cg, false).  With pid, only the other
 * threads of process pid stay frozen.  With pid 0, all other threads do.  On an error every thread
 * stays as it was. */
MUST_CHECK int cgroup_thaw_only(struct cgroup *cg, pid_t tid, pid_t pid, struct err *e);
/* Whether no thread of a frozen group runs.  A thread in a system call runs until the call returns.
 * A thread that waits at the memory mark counts as stopped, although it is not frozen. */
MUST_CHECK int cgroup_stands(struct cgroup *cg, bool *ret, struct err *e);
/* Kills all processes of a frozen group except pid, init and a sanitizer's tracer. */
MUST_CHECK int cgroup_kill_beside(struct cgroup *cg, pid_t pid, pid_t init, struct err *e);
/* After cgroup_thaw_only(), called by a timer: thaws threads of pid that a tracer wants to stop,
 * and freezes them again when they have stopped.  The tracer would wait for a frozen thread
 * forever. */
MUST_CHECK int cgroup_let_stop(struct cgroup *cg, pid_t tid, pid_t pid, struct err *e);
/* Puts all threads of the group on one CPU, with priority for thread tid.  The other threads of
 * process pid run only when the CPU is idle.  With pid 0, this holds for all other threads. */
MUST_CHECK int cgroup_prefer(struct cgroup *cg, pid_t tid, pid_t pid, struct err *e);

/* Calls fn for each process in the group.  The list may be stale: a process may have ended.  Also
 * works in a forked child. */
MUST_CHECK int cgroup_each_process(const struct cgroup *cg, void (*fn)(uint64_t pid, void *arg),
				   void *arg, struct err *e);

/* Removes the group and frees cg.  -EBUSY: processes still live in the group, and cg stays valid:
 * kill, wait for cgroup_events_fd, try again.  NULL is fine. */
MUST_CHECK int cgroup_remove(struct cgroup *cg, struct err *e);

/* The keeper kills the group when clock_mono_us() passes until_us, even if this process is stopped
 * or not scheduled.  A new deadline replaces the old one; 0: none.  In a tree without a keeper
 * this does nothing.  On an error no deadline is in force. */
MUST_CHECK int cgroup_deadline(struct cgroup *cg, uint64_t until_us, struct err *e);
/* Whether the keeper killed the group. */
bool cgroup_overdue(const struct cgroup *cg);

struct cgroup_stall { /* PSI totals, microseconds since the group began */
	uint64_t some_us, full_us;
};

/* Totals since the group was made, from descriptors held open. */
struct cgroup_counters {
	uint64_t usage_us, user_us, system_us; /* CPU time */
	/* Time throttled by the quota, as counted by the kernel.  Linux 6.18 with cpu on v1
	 * sometimes counts almost nothing (0 of 1 s was seen).  Then cpu.full_us has this time,
	 * together with the waits for busy CPUs. */
	uint64_t throttled_us;
	uint64_t mem_now, mem_peak; /* bytes */
	uint64_t mem_high_events;   /* times the high mark was passed */
	uint64_t oom_kills; /* by the kernel's OOM killer; unified: one kill may count twice */
	uint64_t pids_now, pids_refused;     /* forks refused by pids_max */
	struct cgroup_stall cpu, memory, io; /* 0 where the machine has no PSI */
	bool populated;
};
/* Takes less than 30 microseconds; meant for one call per second and cell. */
MUST_CHECK int cgroup_read(struct cgroup *cg, struct cgroup_counters *ret, struct err *e);

/* Descriptors for the event loop; the group owns both.  cgroup_read() does not consume their
 * events.
 *
 * cgroup_events_fd: EPOLLPRI (with EPOLLERR) when populated or frozen changes; cgroup_populated()
 * acknowledges.
 *
 * cgroup_memory_fd: *ret_events (EPOLLPRI or EPOLLIN) when the high mark was passed;
 * cgroup_memory_event() acknowledges.  -1: there is no mark.
 *
 * *ret_halted: memory that cannot be reclaimed has reached the mark.  On the hybrid layout threads
 * that need memory then wait until cgroup_memory_open().  On the unified layout they are throttled,
 * and cgroup_freeze() stops them. */
int cgroup_events_fd(const struct cgroup *cg);
MUST_CHECK int cgroup_populated(struct cgroup *cg, bool *ret, struct err *e);
int cgroup_memory_fd(const struct cgroup *cg, uint32_t *ret_events);
MUST_CHECK int cgroup_memory_event(struct cgroup *cg, bool *ret_halted, struct err *e);
/* Raises the limit from memory_high to memory_max.  On the hybrid layout the kernel's OOM killer
 * works again.  On the unified layout the throttling ends. */
MUST_CHECK int cgroup_memory_open(struct cgroup *cg, struct err *e);

#endif
