/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUPS_CGROUP_H
#define CGROUPS_CGROUP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Control groups: a subtree of ours, one group a cell below it, its limits and
 * its counters.  Two layouts behind one interface (docs/architecture.md):
 *
 *   unified  every controller in the v2 tree
 *   hybrid   limits in v1 hierarchies; pressure, CPU time, population and
 *            cgroup.kill in the v2 tree that is mounted beside them
 *
 * Groups and limits go through libcgroup; this room is the only one that knows
 * it.  Nothing here knows of containers or fuzzing. */

enum cgroup_layout { CGROUP_UNIFIED, CGROUP_HYBRID };

/* What this machine can do for a group.  A promise that is not kept is false
 * and named in missing ("memory.high: no such file", ...; "" when all hold). */
struct cgroup_promises {
	bool memory;	  /* hard limit, children included */
	bool swap_off;	  /* no swap beside it (also true when the machine has none) */
	bool memory_high; /* a stop before the limit: throttled (unified) or halted (hybrid) */
	bool cpu;	  /* quota and weight */
	bool pids;
	bool pressure; /* PSI of a group */
	bool kill;     /* cgroup.kill; without it a loop over the processes */
	char missing[256];
	/* The controllers among them that the machine has and that nobody delegated to
	 * us: "cpu pids".  "" when there is none. */
	char undelegated[32];
};

struct cgroup_tree;

struct cgroup_tree_opts {
	/* Subtree to use, as a path below the controllers' root ("/fuzz").  NULL: our
	 * own group when it is delegated to us, else the root when we are root.  An
	 * ordinary user needs the unified layout, and uses no group that a service
	 * manager of the user's own divides: it would take the controllers away again. */
	const char *path;
	/* Our place in it: "fuzzcell/<instance>".  One living user at a time (the
	 * caller holds a lock); [a-z0-9-], at most 40 bytes. */
	const char *instance;
	/* When we die, the keeper (a small process) kills the groups' processes and removes the
	 * groups.  While we live, it keeps cgroup_deadline().  Without a keeper, the next
	 * cgroup_tree_open() of this instance removes the groups. (A child that is forked and
	 * executes nothing holds the keeper's socket.  The keeper waits as long as this child
	 * lives.) */
	bool keeper;
	/* -EBUSY at once when another process uses the instance.  Without no_wait the open waits
	 * some seconds: the other process may be the keeper of a dead one. */
	bool no_wait;
};

/* Detects the layout, finds the subtree, moves this process to a leaf where the
 * no-internal-processes rule asks for it, enables controllers, and kills and
 * removes whatever a killed predecessor of the same instance left.
 * Errors say what is missing and how to get it. */
MUST_CHECK int cgroup_tree_open(const struct cgroup_tree_opts *o, struct cgroup_tree **ret,
				struct err *e);
/* Removes our groups (all cells must be gone).  NULL is fine. */
void cgroup_tree_close(struct cgroup_tree *t);

enum cgroup_layout cgroup_tree_layout(const struct cgroup_tree *t);
const char *cgroup_layout_name(enum cgroup_layout l); /* "unified", "hybrid" */
const struct cgroup_promises *cgroup_tree_promises(const struct cgroup_tree *t);
/* Where our groups are, for a person: "/sys/fs/cgroup/.../fuzzcell/x". */
const char *cgroup_tree_path(const struct cgroup_tree *t);
/* Processes that the predecessor had left and that were killed at open. */
unsigned cgroup_tree_swept(const struct cgroup_tree *t);
/* The least memory limit of the groups that ours is in, as far as we see them, in
 * bytes: what all cells together may have.  UINT64_MAX: there is none. */
uint64_t cgroup_tree_memory(const struct cgroup_tree *t);
/* The CPU share of all groups of the instance together, against other instances: 1..10000, usually
 * 100.  -ENOTSUP: the machine has no such limit. */
MUST_CHECK int cgroup_tree_weight(struct cgroup_tree *t, uint32_t weight, struct err *e);

/* Every limit is written for every group and read back.  0: no limit. */
struct cgroup_limits {
	uint64_t memory_max;  /* bytes */
	uint64_t memory_high; /* bytes, below memory_max; 0: none */
	uint32_t cpu_milli;   /* 1000: one CPU */
	uint32_t cpu_weight;  /* 1..10000, 100 is the usual one; on v1 scaled to cpu.shares */
	uint32_t pids_max;
};

struct cgroup;

/* A new group below the tree with its limits in force.  A limit that cannot be
 * kept is an error, unless best_effort (then it is skipped and was named in
 * the promises).  name: [a-z0-9-], at most 63 bytes, unique among ours. */
MUST_CHECK int cgroup_new(struct cgroup_tree *t, const char *name, const struct cgroup_limits *lim,
			  bool best_effort, struct cgroup **ret, struct err *e);

/* Moves the calling process (a forked child) into the group.  Async-signal-safe;
 * returns 0, or -1 with errno.  Fits proc_spec.prepare through a cast-free wrapper. */
int cgroup_enter(const struct cgroup *cg);

/* Kills everything in the group, at once, whatever it does to signals. */
MUST_CHECK int cgroup_kill(struct cgroup *cg, struct err *e);
/* cgroup_kill(), and returns when the group is empty.  It blocks for some seconds at most
 * (-ETIMEDOUT): not for a loop that has other work. */
MUST_CHECK int cgroup_empty(struct cgroup *cg, struct err *e);
/* Stop and continue all its processes (time frozen is no CPU time).  It takes a
 * moment; what waits at the memory mark stands already. */
MUST_CHECK int cgroup_freeze(struct cgroup *cg, bool frozen, struct err *e);
/* In a frozen group: lets one thread run until cgroup_freeze(cg, false).  With pid, only the other
 * threads of process pid stay frozen.  With pid 0, all other threads do.  On an error every thread
 * is as it was. */
MUST_CHECK int cgroup_thaw_only(struct cgroup *cg, pid_t tid, pid_t pid, struct err *e);
/* Whether nothing of a group that was frozen runs.  A task in a system call goes on until that
 * returns, and what waits at the memory mark stands there without being frozen. */
MUST_CHECK int cgroup_stands(struct cgroup *cg, bool *ret, struct err *e);
/* Kills all processes of a frozen group except pid, init and a sanitizer's tracer. */
MUST_CHECK int cgroup_kill_beside(struct cgroup *cg, pid_t pid, pid_t init, struct err *e);
/* After cgroup_thaw_only(): lets threads of pid that a tracer stops reach their stop, and freezes
 * them again there.  A frozen thread would keep the tracer waiting.  Called by a timer. */
MUST_CHECK int cgroup_let_stop(struct cgroup *cg, pid_t tid, pid_t pid, struct err *e);
/* Puts all tasks of the group on one CPU, where thread tid goes first.  The other threads of
 * process pid run only when the CPU is idle.  With pid 0, all other tasks run only then. */
MUST_CHECK int cgroup_prefer(struct cgroup *cg, pid_t tid, pid_t pid, struct err *e);

/* Calls fn for each process in the group.  The list is a moment old: a process may have ended.
 * Also for a forked child. */
MUST_CHECK int cgroup_each_process(const struct cgroup *cg, void (*fn)(uint64_t pid, void *arg),
				   void *arg, struct err *e);

/* Removes the group and frees cg; -EBUSY while something lives in it (then cg
 * stays valid: kill, wait for cgroup_events_fd, try again).  NULL is fine. */
MUST_CHECK int cgroup_remove(struct cgroup *cg, struct err *e);

/* The keeper kills the group when clock_mono_us() passes until_us, even if this process is stopped
 * or not scheduled.  A new deadline replaces the one before; 0: none.  In a tree without a keeper
 * this does nothing.  An error means that no deadline is kept. */
MUST_CHECK int cgroup_deadline(struct cgroup *cg, uint64_t until_us, struct err *e);
/* Whether the keeper killed the group. */
bool cgroup_overdue(const struct cgroup *cg);

struct cgroup_stall { /* PSI totals, microseconds since the group began */
	uint64_t some_us, full_us;
};

/* Totals since the group was made, from descriptors held open. */
struct cgroup_counters {
	uint64_t usage_us, user_us, system_us; /* CPU time */
	/* Kept from running by the quota, as the kernel counts it.  Linux 6.18 with cpu
	 * on v1 sometimes counts next to nothing (0 of 1 s was seen); cpu.full_us then
	 * has this time, with the waits for CPUs that others use. */
	uint64_t throttled_us;
	uint64_t mem_now, mem_peak; /* bytes */
	uint64_t mem_high_events;   /* times the high mark was passed */
	uint64_t oom_kills; /* by the kernel, for memory; unified: one kill may count twice */
	uint64_t pids_now, pids_refused;     /* forks refused by pids_max */
	struct cgroup_stall cpu, memory, io; /* 0 where the machine has no PSI */
	bool populated;
};
/* Under 30 microseconds a call: meant for once a second and cell. */
MUST_CHECK int cgroup_read(struct cgroup *cg, struct cgroup_counters *ret, struct err *e);

/* Descriptors for the event loop; the group owns both. cgroup_read() does not consume their events.
 *
 * cgroup_events_fd: EPOLLPRI (with EPOLLERR) when populated or frozen changes; cgroup_populated()
 * acknowledges.
 *
 * cgroup_memory_fd: *ret_events (EPOLLPRI or EPOLLIN) when the high mark was passed;
 * cgroup_memory_event() acknowledges.  -1: there is no mark.
 *
 * *ret_halted: memory that cannot be reclaimed is at the mark.  On the hybrid layout the tasks then
 * wait until cgroup_memory_open().  On the unified layout they go on slowly, and cgroup_freeze()
 * stops them. */
int cgroup_events_fd(const struct cgroup *cg);
MUST_CHECK int cgroup_populated(struct cgroup *cg, bool *ret, struct err *e);
int cgroup_memory_fd(const struct cgroup *cg, uint32_t *ret_events);
MUST_CHECK int cgroup_memory_event(struct cgroup *cg, bool *ret_halted, struct err *e);
/* Raises the limit from memory_high to memory_max.  On the hybrid layout the kernel's OOM killer
 * works again.  On the unified layout the throttling ends. */
MUST_CHECK int cgroup_memory_open(struct cgroup *cg, struct err *e);

#endif
