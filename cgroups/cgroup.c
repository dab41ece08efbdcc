/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"
#include "cgroups/internal.h"
#include "cgroups/stat.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

static void free_handle(struct cgroup *cg)
{
	for (unsigned i = 0; i < CG_HIERARCHIES_MAX; i++)
		close_p(&cg->dir[i]);
	for (unsigned i = 0; i < CG_STAT_COUNT; i++)
		close_p(&cg->stat[i]);
	close_p(&cg->events_fd);
	close_p(&cg->memory_fd);
	close_p(&cg->oom_fd);
	free(cg);
}

/* v2 first: its removal proves that no process was in the group in any hierarchy. */
static int remove_dirs(const struct cgroup *cg, struct err *e)
{
	const struct cgroup_tree *t = cg->tree;

	if (cg->dir[0] >= 0 && sys_unlinkat(cg->dir[0], CG_OTHERS, AT_REMOVEDIR) < 0 &&
	    errno != ENOENT)
		return err_sys(e, "remove group '%s/" CG_OTHERS "'", cg->name);
	for (unsigned i = 0; i < t->n; i++)
		if (sys_unlinkat(t->at[i].fd, cg->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			return err_sys(e, "remove group '%s%s/%s'", t->at[i].h.mount, t->at[i].path,
				       cg->name);
	return 0;
}

/* Undoes a partly done cgroup_new(). */
static void cgroup_undo(struct cgroup *cg)
{
	struct err ignored;

	(void)remove_dirs(cg, &ignored); /* the next open removes the rest */
	free_handle(cg);
}

DEFINE_CLEANUP(struct cgroup *, cgroup_undo)

int cg_apply(struct cgroup *cg, const struct cg_setting *s, struct err *e)
{
	const struct cg_place *p = cg_place_of(cg->tree, s->controller);
	int dir = cg->dir[p - cg->tree->at];
	char path[CG_PATH_MAX + CG_NAME_MAX + 2], name[CG_SHOWN_MAX];
	char buf[CG_TEXT_MAX];
	struct slice got = {0};
	int r;

	(void)snprintf(path, sizeof(path), "%s/%s", p->path + 1, cg->name);
	(void)cg_place_name(p, cg->name, s->file, name);
	r = cg_group_set(s->controller, path, s->file, s->value, e);
	if (r == -ENOENT && s->may_lack)
		return 0;
	/* Reading through our open directory checks the value and the place. */
	if (r == 0)
		r = cg_file_read(dir, s->file, buf, &got, e);
	if (r < 0)
		return r;
	if (!cg_limits_same(s, got, (uint64_t)sysconf(_SC_PAGESIZE))) {
		struct slice line = {0};

		(void)scan_line(&got, &line);
		return err_set(e, EIO, "'%s': wrote '%s', reads '%.*s'", name, s->value,
			       (int)(line.n < 80 ? line.n : 80), line.p ? line.p : "");
	}
	return 0;
}

/* Checks that this machine has the features for lim.  With best_effort, drops the memory mark that
 * it lacks; apply_all() skips the other limits. */
static int cgroup_settle(const struct cgroup_promises *p, bool best_effort,
			 struct cgroup_limits *lim, struct err *e)
{
	bool memory = !lim->memory_max || (p->memory && p->swap_off);
	bool high = !lim->memory_high || p->memory_high;
	bool cpu = (!lim->cpu_milli && !lim->cpu_weight) || p->cpu;
	bool pids = !lim->pids_max || p->pids;

	if (!best_effort && !(memory && high && cpu && pids))
		return err_set(e, ENOTSUP, "this machine cannot enforce a limit: %s", p->missing);
	if (!p->memory_high)
		lim->memory_high = 0;
	return 0;
}

static int apply_all(struct cgroup *cg, struct err *e)
{
	const struct cgroup_tree *t = cg->tree;
	const bool kept[CG_CONTROLLER_COUNT] = {
	    [CG_MEMORY] = t->promises.memory,
	    [CG_CPU] = t->promises.cpu,
	    [CG_PIDS] = t->promises.pids,
	};
	struct cg_setting s[CG_SETTINGS_MAX];
	unsigned n = cg_limits_settings(&cg->lim, t->on_v1, t->has_swap, s);

	for (unsigned i = 0; i < n; i++) {
		int r;

		if (!kept[s[i].controller])
			continue; /* best_effort, or lim does not need it */
		if (!t->promises.swap_off && strstr(s[i].file, "sw"))
			s[i].may_lack = true;
		r = cg_apply(cg, &s[i], e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int cgroup_make_dirs(struct cgroup *cg, struct err *e)
{
	const struct cgroup_tree *t = cg->tree;

	for (unsigned i = 0; i < t->n; i++) {
		const struct cg_place *p = &t->at[i];
		char path[CG_PATH_MAX + CG_NAME_MAX + 2];
		int r = 0;

		(void)snprintf(path, sizeof(path), "%s/%s", p->path + 1, cg->name);
		if (!p->h.v2)
			r = cg_group_make(p->h.controllers, path, e);
		/* Not libcgroup: it first writes to every group above, which may not be ours. */
		else if (sys_mkdirat(p->fd, cg->name, 0755) < 0)
			r = err_sys(e, "make group '%s/%s'", p->h.mount, path);
		if (r < 0)
			return r;
		cg->dir[i] = sys_openat(p->fd, cg->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
		if (cg->dir[i] < 0)
			return err_sys(e, "open group '%s/%s'", p->h.mount, path);
	}
	return 0;
}

static bool cgroup_name_ok(const char *s, size_t max)
{
	size_t n = strlen(s);

	return n > 0 && n <= max && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

int cgroup_new(struct cgroup_tree *t, const char *name, const struct cgroup_limits *lim,
	       bool best_effort, struct cgroup **ret, struct err *e)
{
	struct cgroup_limits in_force = *lim;
	struct cgroup *raw;
	bool populated;

	if (!cgroup_name_ok(name, CG_NAME_MAX))
		return err_set(e, EINVAL, "'%s' is not a valid group name", name);
	if (faccessat(t->at[0].fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(e, EEXIST, "the group '%s/%s' exists", t->shown, name);
	if (cg_limits_check(lim, e) < 0 ||
	    cgroup_settle(&t->promises, best_effort, &in_force, e) < 0)
		return err_wrap(e, "group '%s'", name);
	raw = xmalloc(sizeof(*raw));
	*raw = (struct cgroup){
	    .tree = t, .lim = in_force, .slot = -1, .events_fd = -1, .memory_fd = -1};
	raw->oom_fd = -1;
	memset(raw->dir, -1, sizeof(raw->dir));
	memset(raw->stat, -1, sizeof(raw->stat));
	memcpy(raw->name, name, strlen(name) + 1);

	CLEANUP(cgroup_undo_p) struct cgroup *cg = raw;

	if (cgroup_make_dirs(cg, e) < 0 || apply_all(cg, e) < 0 || cg_counters_start(cg, e) < 0 ||
	    cg_memory_watch(cg, e) < 0)
		return err_code(e);
	cg->events_fd = sys_openat(cg->dir[0], "cgroup.events", O_RDONLY | O_NOFOLLOW, 0);
	if (cg->events_fd < 0)
		return err_sys(e, "open 'cgroup.events' of '%s'", name);
	/* An open file that was not read yet has an event; the read clears it. */
	if (cgroup_populated(cg, &populated, e) < 0)
		return err_code(e);
	*ret = take_ptr(&cg);
	return 0;
}

int cgroup_enter(const struct cgroup *cg)
{
	/* v2 first: processes are found and killed through the v2 group. */
	for (unsigned i = 0; i < cg->tree->n; i++) {
		/* allow: between fork and exec; saves one open descriptor for each group */
		int fd = openat(cg->dir[i], "cgroup.procs", O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
		bool in = fd >= 0 && write(fd, "0", 1) == 1;
		int code = errno;

		if (fd >= 0)
			close(fd);
		errno = code;
		if (!in)
			return -1;
	}
	return 0;
}

int cgroup_kill(struct cgroup *cg, struct err *e)
{
	int r = cg_sweep_kill_all(cg->dir[0], e);

	return r < 0 ? err_wrap(e, "kill group '%s'", cg->name) : 0;
}

int cgroup_each_process(const struct cgroup *cg, void (*fn)(uint64_t pid, void *arg), void *arg,
			struct err *e)
{
	int r = cg_sweep_each(cg->dir[0], fn, arg, e);

	return r < 0 ? err_wrap(e, "group '%s'", cg->name) : 0;
}

int cgroup_empty(struct cgroup *cg, struct err *e)
{
	int r = cgroup_kill(cg, e);

	return r < 0 ? r : cg_sweep_wait_empty(cg->dir[0], CG_EMPTY_MS, e);
}

int cgroup_remove(struct cgroup *cg, struct err *e)
{
	if (!cg)
		return 0;
	if (remove_dirs(cg, e) < 0)
		return err_code(e);
	cg_keeper_forget(cg);
	free_handle(cg);
	return 0;
}

int cgroup_events_fd(const struct cgroup *cg)
{
	return cg->events_fd;
}

int cgroup_populated(struct cgroup *cg, bool *ret, struct err *e)
{
	char buf[CG_TEXT_MAX];
	struct slice text;
	uint64_t v;

	if (cg_file_again(cg->events_fd, buf, sizeof(buf), &text, e) < 0)
		return err_wrap(e, "'cgroup.events' of '%s'", cg->name);
	if (!cg_stat_keyed(text, SLICE("populated"), &v))
		return err_set(e, EBADMSG, "'cgroup.events' of '%s' has no 'populated'", cg->name);
	*ret = v != 0;
	return 0;
}
