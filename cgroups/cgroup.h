/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUPS_CGROUP_H
#define CGROUPS_CGROUP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Control groups: our subtree with one group for each cell, and the limits and counters of a group.
 * One interface for two layouts (docs/cells.md):
 *
 *   unified  every controller in the v2 tree
 *   hybrid   limits in v1 hierarchies; pressure, CPU time, population and
 *            cgroup.kill in the v2 tree that is mounted beside them
 *
 * Groups and limits go through libcgroup, which no other room uses.  Nothing here knows of
 * containers or fuzzing. */

enum cgroup_layout { CGROUP_UNIFIED, CGROUP_HYBRID };

/* The features of a group on this machine.  false: the machine lacks the feature, and `missing`
 * says why. */
struct cgroup_promises {
	bool memory;   /* a hard memory limit for all processes of a group together */
	bool swap_off; /* a group can be kept from swapping; also true on a machine without swap */
	/* A memory mark below the hard limit.  At the mark, threads are throttled (unified) or
	 * halted (hybrid). */
	bool memory_high;
	bool cpu;      /* a CPU quota and a CPU weight */
	bool pids;     /* a limit for the number of processes and threads */
	bool pressure; /* PSI of a group */
	bool kill;     /* cgroup.kill; false: the processes are killed one by one */
	/* The missing features: "memory mark: no file memory.high; ...".  "": none. */
	char missing[256];
	/* The controllers that we need and the machine has, but that are not delegated to us:
	 * "cpu pids".  "": none. */
	char undelegated[32];
};

struct cgroup_tree;

struct cgroup_tree_opts {
	/* Subtree to use, as a path below the controllers' root ("/fuzz").
	 *
	 * NULL, unified layout: the group that is delegated to us, which is our own group or the
	 * nearest group above it.  Without a delegated group: the root if we are root, else our
	 * own group if we may write to it.  A group that the user's own service manager divides is
	 * not used, because the manager would take the controllers away again.
	 *
	 * NULL, hybrid layout: the root; we must be root. */
	const char *path;
	/* Our group in the subtree is "fuzzcell/<instance>".  A lock ensures that only one process
	 * uses an instance at a time.  [a-z0-9-], at most 40 bytes. */
	const char *instance;
	/* Start a keeper.  This small process kills the groups at their cgroup_deadline().  When we
	 * die, the keeper kills all processes in our groups and removes the groups.  Without a
	 * keeper, the next cgroup_tree_open() of this instance does that.
	 *
	 * The keeper notices our death when its socket is closed.  A forked child that executes no
	 * program also has the socket open, so the keeper waits until the child has ended. */
	bool keeper;
	/* When another process uses the instance, cgroup_tree_open() fails with -EBUSY: at once
	 * (true), or after 10 s (false).  Waiting helps if the other process is the keeper of a
	 * dead process: the keeper ends soon. */
	bool no_wait;
};

/* Detects the layout, finds the subtree and enables the controllers.  Moves this process to a leaf
 * group where the kernel's no-internal-processes rule requires that.  Kills the processes and
 * removes the groups that a killed predecessor of the same instance left.  Errors say what is
 * missing and how to get it. */
MUST_CHECK int cgroup_tree_open(const struct cgroup_tree_opts *o, struct cgroup_tree **ret,
				struct err *e);
/* Ends the keeper, removes our groups and frees t.  All groups of cells must be removed before.
 * NULL is fine. */
void cgroup_tree_close(struct cgroup_tree *t);

/* For a parent of processes that call cgroup_tree_open().  When its group is delegated, moves the
 * process into a leaf of that group; its later children start there, too.  Then the delegated group
 * has no processes of its own, and can be divided.  Does nothing on the hybrid layout, or when the
 * group is not delegated.  Call it before any child is started. */
MUST_CHECK int cgroup_leave(struct err *e);

enum cgroup_layout cgroup_tree_layout(const struct cgroup_tree *t);
const char *cgroup_layout_name(enum cgroup_layout l); /* "unified", "hybrid" */
/* The result is valid as long as t. */
const struct cgroup_promises *cgroup_tree_promises(const struct cgroup_tree *t);
/* The path of our groups, for messages: "/sys/fs/cgroup/.../fuzzcell/x". */
const char *cgroup_tree_path(const struct cgroup_tree *t);
/* The number of processes of a predecessor that cgroup_tree_open() killed. */
unsigned cgroup_tree_swept(const struct cgroup_tree *t);
/* The memory that all cells together may use, in bytes: the smallest memory limit of the groups
 * above ours.  A limit that cannot be read counts as no limit.  UINT64_MAX: no limit. */
uint64_t cgroup_tree_memory(const struct cgroup_tree *t);
/* Sets the CPU weight of the whole instance against other instances: 1..10000, usually 100.
 * -ENOTSUP: the machine has no CPU weight. */
MUST_CHECK int cgroup_tree_weight(struct cgroup_tree *t, uint32_t weight, struct err *e);

/* The limits of a group.  cgroup_new() writes each limit and reads it back. */
struct cgroup_limits {
	uint64_t memory_max;  /* hard limit of the memory, in bytes; 0: no limit */
	uint64_t memory_high; /* the memory mark, in bytes, below memory_max; 0: no mark */
	uint32_t cpu_milli;   /* CPU quota: 1000 is one CPU; 0: no limit */
	uint32_t cpu_weight;  /* CPU weight: 1..10000; 0: 100; on v1 scaled to cpu.shares */
	uint32_t pids_max;    /* number of processes and threads; 0: no limit */
	/* At the memory limit the kernel kills one process, not the whole group (v2).  On v1 it
	 * always kills one. */
	bool kills_one;
};

struct cgroup;

/* Makes a group below the tree and sets its limits.  -ENOTSUP: this machine cannot keep a limit of
 * lim.  With best_effort, cgroup_new() skips the limits that this machine cannot keep, and
 * cgroup_promises.missing names them.  name: [a-z0-9-], at most 63 bytes, unique among our
 * groups. */
MUST_CHECK int cgroup_new(struct cgroup_tree *t, const char *name, const struct cgroup_limits *lim,
			  bool best_effort, struct cgroup **ret, struct err *e);

/* Moves the calling process (a forked child) into the group.  Async-signal-safe: proc_spec.prepare
 * may call it.  Returns 0, or -1 with errno. */
int cgroup_enter(const struct cgroup *cg);

/* Kills all processes in the group at once, even processes that ignore signals. */
MUST_CHECK int cgroup_kill(struct cgroup *cg, struct err *e);

/* Kills all processes in the group like cgroup_kill(), and waits until the group is empty.
 * -ETIMEDOUT: a process was left after CG_EMPTY_MS (10 s).  Do not call cgroup_empty() in a
 * callback of an event loop, because it blocks. */
MUST_CHECK int cgroup_empty(struct cgroup *cg, struct err *e);

/* Freezes (frozen true) or thaws all processes of the group.  A frozen process uses no CPU time.
 * cgroup_freeze() does not wait until the processes stand still: cgroup_stands().  A thread that
 * waits for memory at the memory mark is blocked, but the kernel does not count it as frozen. */
MUST_CHECK int cgroup_freeze(struct cgroup *cg, bool frozen, struct err *e);

/* Thaws thread tid of a frozen group.  cgroup_freeze(cg, false) later thaws the other threads.
 *
 * pid 0: all other threads of the group stay frozen.
 *
 * pid not 0: only the other threads of process pid stay frozen.  All other processes of the group
 * are thawed, too.
 *
 * On an error, all threads stay frozen. */
MUST_CHECK int cgroup_thaw_only(struct cgroup *cg, pid_t tid, pid_t pid, struct err *e);

/* *ret: true if no thread of a frozen group runs any more.  After cgroup_freeze(), a thread that is
 * in a system call runs until the call returns.  A thread that waits for memory at the memory mark
 * counts as stopped. */
MUST_CHECK int cgroup_stands(struct cgroup *cg, bool *ret, struct err *e);

/* Kills all processes of a frozen group, except process pid, process init and a sanitizer's
 * tracer. */
MUST_CHECK int cgroup_kill_beside(struct cgroup *cg, pid_t pid, pid_t init, struct err *e);

/* Call it repeatedly, from a timer, after cgroup_thaw_only() for thread tid.  Thaws each frozen
 * thread of process pid that a tracer wants to stop, and freezes the thread again when the tracer
 * has stopped it.  Otherwise the tracer waits forever for a frozen thread. */
MUST_CHECK int cgroup_let_stop(struct cgroup *cg, pid_t tid, pid_t pid, struct err *e);

/* Puts all threads of the group on one CPU, where thread tid has priority.
 *
 * pid 0: all other threads of the group run only when thread tid leaves the CPU idle.
 *
 * pid not 0: only the other threads of process pid have this low priority. */
MUST_CHECK int cgroup_prefer(struct cgroup *cg, pid_t tid, pid_t pid, struct err *e);

/* Calls fn for each process in the group.  The list may be stale: a process may have ended.  A
 * forked child may call this function, too. */
MUST_CHECK int cgroup_each_process(const struct cgroup *cg, void (*fn)(uint64_t pid, void *arg),
				   void *arg, struct err *e);

/* Removes the group and frees cg.  -EBUSY: processes still live in the group, and cg stays valid.
 * Then kill the processes, wait for an event of cgroup_events_fd(), and call cgroup_remove() again.
 * NULL is fine. */
MUST_CHECK int cgroup_remove(struct cgroup *cg, struct err *e);

/* Sets the group's deadline.  The keeper kills the group when clock_mono_us() passes until_us, even
 * if this process is stopped or not scheduled.  A new deadline replaces the old deadline;
 * 0: none.  In a tree without a keeper, cgroup_deadline() does nothing.  On an error, the group has
 * no deadline: neither the old one nor the new one is in force. */
MUST_CHECK int cgroup_deadline(struct cgroup *cg, uint64_t until_us, struct err *e);
/* Whether the keeper killed the group, because its deadline had passed. */
bool cgroup_overdue(const struct cgroup *cg);

/* Stall times of a group (PSI), totals since the group was made. */
struct cgroup_stall {
	uint64_t some_us; /* at least one task was stalled */
	uint64_t full_us; /* all tasks that had work were stalled at the same time */
};

/* The counters of a group.  Totals count from the time at which the group was made. */
struct cgroup_counters {
	uint64_t usage_us;  /* total CPU time */
	uint64_t user_us;   /* total CPU time in user mode */
	uint64_t system_us; /* total CPU time in the kernel */
	/* Total time for which the CPU quota throttled the group, as counted by the kernel.  Linux
	 * 6.18 with cpu on v1 sometimes counts almost nothing (0 of 1 s was seen).  Then
	 * cpu.full_us contains the throttled time, together with the waits for busy CPUs. */
	uint64_t throttled_us;
	uint64_t mem_now; /* the memory that the group uses now, in bytes */
	/* The most memory that the group used at any time, in bytes.  Without the kernel's counter
	 * (unified layout before Linux 5.19): the greatest mem_now that cgroup_read() saw. */
	uint64_t mem_peak;
	/* How often the memory mark was passed.  With memory on v1: how many of these events
	 * cgroup_memory_event() read. */
	uint64_t mem_high_events;
	/* Processes that the kernel's OOM killer killed.  On the unified layout the kernel may
	 * count one kill twice. */
	uint64_t oom_kills;
	uint64_t pids_now;	    /* processes and threads now */
	uint64_t pids_refused;	    /* forks that pids_max refused */
	struct cgroup_stall cpu;    /* stalls for a CPU; 0 on a machine without PSI */
	struct cgroup_stall memory; /* stalls for memory; 0 on a machine without PSI */
	struct cgroup_stall io;	    /* stalls for I/O; 0 on a machine without PSI */
	bool populated;		    /* the group has a process */
};
/* Reads all counters from files that the group keeps open.  A call takes less than 30 microseconds,
 * and is meant for each cell once a second.  Acknowledges no event of the descriptors below. */
MUST_CHECK int cgroup_read(struct cgroup *cg, struct cgroup_counters *ret, struct err *e);

/* Returns a descriptor for the event loop; the group keeps owning it.  The descriptor has the event
 * EPOLLPRI (with EPOLLERR) when the group becomes populated, empty, frozen or thawed.
 * cgroup_populated() acknowledges the event. */
int cgroup_events_fd(const struct cgroup *cg);

/* Sets *ret to whether a process lives in the group, and acknowledges the event of
 * cgroup_events_fd(). */
MUST_CHECK int cgroup_populated(struct cgroup *cg, bool *ret, struct err *e);

/* Returns a descriptor for the event loop; the group keeps owning it.  The descriptor has the event
 * *ret_events (EPOLLPRI or EPOLLIN) when the group passed its memory mark.  cgroup_memory_event()
 * acknowledges the event.  -1: the group has no memory mark. */
int cgroup_memory_fd(const struct cgroup *cg, uint32_t *ret_events);

/* Acknowledges the event of cgroup_memory_fd().  *ret_halted: true if memory that cannot be
 * reclaimed has reached the mark.
 *
 * On the hybrid layout, threads of a halted group that need memory wait until cgroup_memory_open().
 *
 * On the unified layout, threads of a halted group are only throttled.  Stop them with
 * cgroup_freeze().
 *
 * -ENOENT: the group has no memory mark. */
MUST_CHECK int cgroup_memory_event(struct cgroup *cg, bool *ret_halted, struct err *e);

/* Removes the memory mark: the group may use memory up to memory_max.  Does nothing in a group
 * without a mark.
 *
 * On the hybrid layout, the mark is a limit with the kernel's OOM killer switched off: threads wait
 * at the limit.  cgroup_memory_open() raises the limit and switches the OOM killer on again.
 *
 * On the unified layout, the throttling ends. */
MUST_CHECK int cgroup_memory_open(struct cgroup *cg, struct err *e);

#endif
