/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUPS_INTERNAL_H
#define CGROUPS_INTERNAL_H

#include "base/scan.h"
#include "cgroups/cgroup.h"
#include "cgroups/layout.h"
#include "cgroups/limits.h"

/* Shared by the files of this room; no other room includes it. */

/* The parent of all instances' groups, and the leaf to which we move in a delegated group.  The
 * leaf stays: a process cannot remove its own group. */
#define CG_SHARED "fuzzcell"
#define CG_LEAF	  "fuzzcell-supervisor"
/* Below a cell's group in the v2 tree: the threads that stay frozen (cgroup_thaw_only). */
#define CG_OTHERS "others"

enum {
	CG_INSTANCE_MAX = 40,
	CG_SHOWN_MAX = 3 * CG_PATH_MAX, /* mount, path, name and file */
	CG_NAME_MAX = 63,
	CG_TEXT_MAX = 4096,  /* a control file of ours is shorter */
	CG_DEPTH_MAX = 8,    /* of groups below ours; we make one level */
	CG_EMPTY_MS = 10000, /* limit from a kill until the group is empty */
	CG_SLOTS = 4096,     /* groups with a deadline at the keeper */
};

/* Our group in one hierarchy. */
struct cg_place {
	struct cg_hierarchy h;
	char path[CG_PATH_MAX]; /* below the mount: "<base>/fuzzcell/<instance>" */
	size_t base_n;		/* bytes of <base> in it */
	int base_fd;
	int fd;
};

/* The memory that a group's deadline shares with the keeper. */
struct cg_slot {
	/* The number of the deadline in force.  A message to the keeper has the number of its own
	 * deadline.  So a deadline ends even if the message about the next one is lost. */
	_Atomic uint32_t deadline;
	_Atomic bool overdue; /* the keeper killed the group after its deadline */
};

struct cgroup_tree {
	enum cgroup_layout kind;
	struct cgroup_promises promises;
	struct cg_place at[CG_HIERARCHIES_MAX]; /* [0]: v2 */
	unsigned n;
	unsigned on_v1; /* 1u << enum cg_controller */
	bool has_swap;
	char instance[CG_INSTANCE_MAX + 1];
	char shown[CG_SHOWN_MAX];
	unsigned swept;
	bool locked;  /* we may remove the groups */
	pid_t keeper; /* 0: none */
	int keeper_fd;
	struct cg_slot *shared;		   /* with the keeper; by slot */
	unsigned char slots[CG_SLOTS / 8]; /* a bit for each slot in use */
};

enum cg_stat_file {
	CG_STAT_CPU,
	CG_STAT_THROTTLED,
	CG_STAT_MEMORY,
	CG_STAT_MEMORY_PEAK,
	CG_STAT_MEMORY_EVENTS,
	CG_STAT_PIDS,
	CG_STAT_PIDS_EVENTS,
	CG_STAT_CPU_PRESSURE,
	CG_STAT_MEMORY_PRESSURE,
	CG_STAT_IO_PRESSURE,
	CG_STAT_EVENTS,
	CG_STAT_COUNT
};

struct cgroup {
	struct cgroup_tree *tree;
	char name[CG_NAME_MAX + 1];
	struct cgroup_limits lim; /* in force */
	int dir[CG_HIERARCHIES_MAX];
	int stat[CG_STAT_COUNT]; /* -1: this machine has none */
	int slot;		 /* the group's slot at the keeper; -1: none */
	int events_fd;
	int memory_fd;
	int oom_fd; /* v1: memory.oom_control, the source of memory_fd's events */
	uint64_t memory_peak, high_events;
};

/* --- files.c: one control file --- */

/* Reads the text of dirfd/file into buf (CG_TEXT_MAX bytes). */
MUST_CHECK int cg_file_read(int dirfd, const char *file, char *buf, struct slice *ret,
			    struct err *e);
/* The same for an open file, from its start. */
MUST_CHECK int cg_file_again(int fd, char *buf, size_t n, struct slice *ret, struct err *e);
MUST_CHECK int cg_file_write(int dirfd, const char *file, const char *value, struct err *e);
bool cg_file_exists(int dirfd, const char *file);
/* Whether word is one of the blank-separated words of dirfd/file. */
bool cg_file_has_word(int dirfd, const char *file, const char *word);
/* Reads a whole file of /proc into a new buffer (free() it). */
MUST_CHECK int cg_file_proc(const char *path, char **ret, struct slice *ret_text, struct err *e);

/* --- group.c: libcgroup --- */

MUST_CHECK int cg_group_init(const struct cg_place *at, unsigned n, struct err *e);
/* Makes a v1 group with its parents.  An existing group is no error. */
MUST_CHECK int cg_group_make(unsigned controllers, const char *path, struct err *e);
/* -ENOENT: the machine has no such file. */
MUST_CHECK int cg_group_set(enum cg_controller c, const char *path, const char *file,
			    const char *value, struct err *e);

/* --- place.c: where our groups go --- */

MUST_CHECK int cg_place_find(struct cgroup_tree *t, const struct cg_layout *l, const char *path,
			     struct err *e);
/* Makes <base>/fuzzcell/<instance> in every hierarchy, and locks it against other processes. */
MUST_CHECK int cg_place_make(struct cgroup_tree *t, bool no_wait, struct err *e);
MUST_CHECK int cg_place_enable(struct cgroup_tree *t, struct err *e);
const struct cg_place *cg_place_of(const struct cgroup_tree *t, enum cg_controller c);
/* Writes "<mount><path>/<name>/<file>" for an error message; name or file may be "". */
const char *cg_place_name(const struct cg_place *p, const char *name, const char *file,
			  char ret[CG_SHOWN_MAX]);

/* --- sweep.c: ending and removing what is below our groups --- */

/* Calls fn for each number in dirfd/file: "cgroup.procs" or "cgroup.threads". */
MUST_CHECK int cg_each_id(int dirfd, const char *file, void (*fn)(uint64_t id, void *arg),
			  void *arg, struct err *e);

/* Kills them without cgroup.kill.  The group is frozen meanwhile, so that no process forks. */
MUST_CHECK int cg_sweep_kill_each(int dirfd, struct err *e);
/* Writes cgroup.kill, and kills the processes that it skips: on Linux 6.18 a process with a dead
 * first thread lives on in the others. */
MUST_CHECK int cg_sweep_kill_all(int dirfd, struct err *e);
/* Calls fn for each process in the group and in the groups below it. */
MUST_CHECK int cg_sweep_each(int dirfd, void (*fn)(uint64_t pid, void *arg), void *arg,
			     struct err *e);
/* Waits until dirfd and the groups below it are empty.  -ETIMEDOUT: not within ms. */
MUST_CHECK int cg_sweep_wait_empty(int dirfd, int ms, struct err *e);
/* Kills all processes below our group, waits for their end, and removes all groups below ours in
 * every hierarchy. */
MUST_CHECK int cg_sweep_all(struct cgroup_tree *t, unsigned *ret_killed, struct err *e);
/* Removes our own groups, and the shared parent unless another instance uses it. */
void cg_sweep_ours(struct cgroup_tree *t);

/* --- keeper.c --- */

MUST_CHECK int cg_keeper_start(struct cgroup_tree *t, struct err *e);
void cg_keeper_stop(struct cgroup_tree *t);
/* Tells the keeper that the group is removed. */
void cg_keeper_forget(struct cgroup *cg);

/* --- memory.c, counters.c: parts of cgroup_new() --- */

MUST_CHECK int cg_memory_watch(struct cgroup *cg, struct err *e);
MUST_CHECK int cg_counters_start(struct cgroup *cg, struct err *e);
/* Writes s and reads it back. */
MUST_CHECK int cg_apply(struct cgroup *cg, const struct cg_setting *s, struct err *e);

#endif
