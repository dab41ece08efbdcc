/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/build/builder.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "cells/strays.h"
#include "runner/command/build/cell.h"
#include "runner/command/command.h"
#include "runner/command/common/machine.h"
#include "runner/targets/build/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>

/* Limits how many commands may use the builders of one state directory at the same time. */
enum { SLOTS = 16, PATH_LEN = 4096, REAP_TRIES = 200, REMOVE_TRIES = 500 };

#define GROUP_NAME "source"

struct builder {
	const struct config *config;
	struct cgroup_tree *tree; /* NULL: best effort, no limits */
	char instance[48];
	bool quiet;
	struct cgroup *group;		    /* the group of source, or of git; NULL: none now */
	const struct config_source *source; /* NULL: git */
	struct cgroup_limits limits;
	struct cgroup_counters before; /* the counters when the last tool failed */
	struct limits file_limits;
	struct tool_group tool;
};

/* --- the tree ------------------------------------------------------------------------ */

static void slot_name(const char *instance, unsigned i, char ret[48])
{
	snprintf(ret, 48, "%.24s-b%u", instance, i);
}

static int open_slot(const struct config *c, const char *instance, unsigned i, bool keeper,
		     struct cgroup_tree **ret, struct err *e)
{
	char name[48];
	struct cgroup_tree_opts o = {
	    .path = config_cgroup(c), .instance = name, .keeper = keeper, .no_wait = true};

	slot_name(instance, i, name);
	return cgroup_tree_open(&o, ret, e);
}

static void print_swept(const struct cgroup_tree *t)
{
	char n[UNITS_OF_MAX];

	if (cgroup_tree_swept(t))
		(void)fail(EXIT_DONE, "killed %s that an earlier build had left",
			   units_of(cgroup_tree_swept(t), "process", "processes", n));
}

void builder_sweep(const struct config *c, const char *instance, const struct cgroup_tree *tree)
{
	const char *path = cgroup_tree_path(tree), *last = strrchr(path, '/');

	for (unsigned i = 0; last && i < SLOTS; i++) {
		char name[48], there[PATH_LEN];
		struct cgroup_tree *left;
		struct err e;

		slot_name(instance, i, name);
		snprintf(there, sizeof(there), "%.*s/%s", (int)(last - path), path, name);
		if (strcmp(there, path) == 0 || access(there, F_OK) < 0 ||
		    open_slot(c, instance, i, false, &left, &e) < 0)
			continue; /* nothing was left, or another process uses it */
		print_swept(left);
		cgroup_tree_close(left);
	}
}

/* Takes the first slot that no other process uses. */
static int find_slot(struct builder *b, const char *instance, struct err *e)
{
	int r = -EBUSY;

	/* -ETIMEDOUT: a process of an earlier build cannot be killed.  It keeps that slot. */
	for (unsigned i = 0; (r == -EBUSY || r == -ETIMEDOUT) && i < SLOTS; i++) {
		r = open_slot(b->config, instance, i, true, &b->tree, e);
		slot_name(instance, i, b->instance);
	}
	if (r < 0)
		return r;
	print_swept(b->tree);
	builder_sweep(b->config, instance, b->tree);
	return 0;
}

static int go_on_without(const struct builder *b, struct err *e)
{
	if (!config_best_effort(b->config))
		return err_wrap(e, "this machine cannot limit builds and git; accept this with "
				   "\"enforcement\": \"best-effort\"");
	/* On stderr: the command that asks Bazel may print JSON. */
	if (!b->quiet)
		(void)fail(EXIT_DONE,
			   "best effort: builds, Bazel and git have no limit but time: %s", e->msg);
	return 0;
}

int builder_start(const struct config *c, const char *instance, bool quiet, struct builder **ret,
		  struct err *e)
{
	struct builder *b = xcalloc(1, sizeof(*b));
	int r;

	b->config = c;
	b->quiet = quiet;
	b->file_limits.meminfo = -1;
	r = find_slot(b, instance, e);
	if (r < 0)
		r = go_on_without(b, e);
	else if (*cgroup_tree_promises(b->tree)->missing && config_best_effort(c) && !quiet)
		(void)fail(EXIT_DONE, "best effort: this machine cannot enforce for builds: %s",
			   cgroup_tree_promises(b->tree)->missing);
	if (r < 0)
		builder_close(b);
	else
		*ret = b;
	return r;
}

/* --- a group ------------------------------------------------------------------------- */

/* Discovery asks Bazel with the file rights of the workspace's owner (base/owner.h).  The owner
 * may not write to our groups. */
struct files_as {
	uid_t uid;
	gid_t gid;
};

static struct files_as as_ourselves(void)
{
	const struct files_as before = {(uid_t)setfsuid(geteuid()), (gid_t)setfsgid(getegid())};

	return before;
}

static void as_before(const struct files_as *before)
{
	(void)setfsgid(before->gid);
	(void)setfsuid(before->uid);
}

#define _asbefore_ __attribute__((cleanup(as_before)))

static int write_file(const char *text, const char *to)
{
	int fd = open(to, O_WRONLY | O_CLOEXEC); /* allow: in the child */
	size_t n = strlen(text);
	bool ok = fd >= 0 && write(fd, text, n) == (ssize_t)n;

	if (fd >= 0)
		close(fd);
	return ok ? 0 : -1;
}

/* Shared memory outlives its processes.  A namespace of the build's own ends with them. */
static int leave_shared_memory(void)
{
	if (geteuid() != 0)
		return 0;
	if (unshare(CLONE_NEWNS | CLONE_NEWIPC) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return -1;
	return mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") < 0 &&
		       errno != ENOENT
		   ? -1
		   : 0;
}

static int on_enter(void *arg)
{
	const struct builder *b = arg;

	(void)as_ourselves(); /* the next step switches to the owner entirely */
	/* When the machine runs out of memory, the kernel kills a build before any process outside
	 * of cells. The build cannot lower a score that a process with CAP_SYS_RESOURCE wrote. */
	if (write_file("1000", "/proc/self/oom_score_adj") < 0 || cgroup_enter(b->group) < 0)
		return -1;
	return leave_shared_memory();
}

static int on_check(void *arg, struct err *e)
{
	const struct builder *b = arg;
	struct cgroup_counters now;

	if (cgroup_read(b->group, &now, e) < 0 ||
	    builder_limits(b->file_limits.names, &b->limits, &b->before, &now, e) < 0)
		return err_code(e);
	return limits_check(&b->file_limits, now.mem_now, e);
}

static int on_kill(void *arg, struct err *e)
{
	_asbefore_ const struct files_as before = as_ourselves();
	const struct builder *b = arg;

	(void)before;
	return cgroup_kill(b->group, e);
}

/* Reaps the processes that became our children when their parents died.  A process leaves its
 * group a moment before it can be reaped. */
static void builder_reap(const struct builder *b)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/" GROUP_NAME, b->instance);
	for (int i = 0; i < REAP_TRIES && strays_reap(path, 0) > 0; i++)
		(void)poll(NULL, 0, 1); /* allow: no loop is running */
}

static int on_end(void *arg, struct err *e)
{
	_asbefore_ const struct files_as before = as_ourselves();
	struct builder *b = arg;
	int r = cgroup_empty(b->group, e);

	(void)before;
	builder_reap(b);
	if (r == 0)
		r = cgroup_read(b->group, &b->before, e);
	return r;
}

/* Ends all processes in the group, and removes it. */
static int builder_end(struct builder *b, struct err *e)
{
	int r = b->group ? on_end(b, e) : 0;

	b->source = NULL;
	limits_close(&b->file_limits);
	if (!b->group)
		return 0;
	for (int i = 0; r == 0 && (r = cgroup_remove(b->group, e)) == -EBUSY && i < REMOVE_TRIES;
	     i++) {
		(void)poll(NULL, 0, 10); /* allow: no loop is running */
		r = 0;
	}
	if (r == 0)
		b->group = NULL;
	return r;
}

void builder_close(struct builder *b)
{
	struct err e;

	if (!b)
		return;
	if (builder_end(b, &e) < 0)
		(void)fail(EXIT_MACHINE, "%s", e.msg); /* the next start removes it */
	cgroup_tree_close(b->tree);
	free(b);
}

/* machine_usable_memory() is 15/16 of the machine's memory. Without a configured limit, the limit
 * is `parts` sixteenths of the machine's memory. */
static int set_limits(struct builder *b, const struct limit_names *names, uint64_t memory,
		      unsigned parts, uint32_t pids, struct err *e)
{
	uint64_t all = machine_usable_memory(b->tree);
	char limit[UNITS_MAX], have[UNITS_MAX];

	b->limits = (struct cgroup_limits){.memory_max = memory ? memory : all / 15 * parts,
					   .pids_max = pids};
	if (memory > all && !config_best_effort(b->config))
		return err_set(e, ENOMEM, "%s of %s is more than this machine has for %s (%s)",
			       names->memory, units_size(memory, limit),
			       names == &limits_of_git ? "git" : "builds", units_size(all, have));
	return 0;
}

static int on_run(void *arg, const struct tool *t, struct tool_end *ret, struct err *e)
{
	struct builder *b = arg;
	const struct builder_cell cell = {.config = b->config,
					  .tree = b->tree,
					  .instance = b->instance,
					  .source = b->source,
					  .limits = &b->limits,
					  .file_limits = &b->file_limits};

	return builder_cell_run(&cell, t, ret, e);
}

static int set_weight(struct builder *b, uint32_t weight, struct err *e)
{
	int r = cgroup_tree_weight(b->tree, weight, e);

	/* The missing limit was reported when the tree was opened. */
	return r == -ENOTSUP && config_best_effort(b->config) ? 0 : r;
}

static int new_group(struct builder *b, struct err *e)
{
	int r = cgroup_new(b->tree, GROUP_NAME, &b->limits, config_best_effort(b->config),
			   &b->group, e);

	if (r < 0)
		return r;
	b->tool = (struct tool_group){
	    .arg = b, .enter = on_enter, .check = on_check, .kill = on_kill, .end = on_end};
	snprintf(b->tool.id, sizeof(b->tool.id), "%d-%llx", (int)getpid(),
		 (unsigned long long)clock_real_us());
	return cgroup_read(b->group, &b->before, e);
}

static int make_group(struct builder *b, const struct config_source *s, struct err *e)
{
	int r = set_limits(b, &limits_of_builds, s->build_memory, 12, s->build_pids, e);

	if (r == 0)
		r = set_weight(b, s->build_cpu_weight, e);
	if (r == 0)
		r = limits_open(&b->file_limits, s, config_run(b->config)->disk_reserve, e);
	b->source = s;
	if (r == 0 && s->build_isolation == ISOLATION_CELL) {
		b->tool = (struct tool_group){.arg = b, .run = on_run};
		return 0;
	}
	return r == 0 ? new_group(b, e) : r;
}

static int make_git_group(struct builder *b, struct err *e)
{
	const struct git_config *g = config_git(b->config);
	int r = set_limits(b, &limits_of_git, g->memory, 4, g->pids, e);

	if (r == 0)
		r = set_weight(b, g->cpu_weight, e);
	if (r == 0)
		r = limits_open_git(&b->file_limits, g->disk, e);
	return r == 0 ? new_group(b, e) : r;
}

int builder_git(struct builder *b, const char *top, const char *objects,
		const struct tool_group **ret, struct err *e)
{
	const char *const places[] = {top, objects};
	int r = 0;

	*ret = NULL;
	if (!b->tree)
		return 0;
	if (b->source || !b->group) {
		r = builder_end(b, e);
		if (r == 0)
			r = make_git_group(b, e);
	}
	if (r < 0)
		return err_wrap(e, "git in %s", top);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		limits_add(&b->file_limits, places[i], config_run(b->config)->disk_reserve);
	*ret = &b->tool;
	return 0;
}

int builder_group(struct builder *b, const struct config_source *s, const struct tool_group **ret,
		  struct err *e)
{
	int r = 0;

	*ret = NULL;
	if (!b->tree && s->build_isolation == ISOLATION_CELL)
		return err_set(e, ENOTSUP,
			       "build of %s: a cell needs control groups (\"build_isolation\")",
			       s->path);
	if (!b->tree)
		return 0;
	if (b->source != s) {
		r = builder_end(b, e);
		if (r == 0)
			r = make_group(b, s, e);
	}
	if (r == 0)
		*ret = &b->tool;
	return r < 0 ? err_wrap(e, "build of %s", s->path) : 0;
}
