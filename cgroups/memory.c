/* SPDX-License-Identifier: Apache-2.0 */
/* A group's memory mark, its events, and the memory limits above it. */
#include "base/cleanup.h"
#include "base/sys.h"
#include "cgroups/internal.h"
#include "cgroups/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

enum { NEAR_MARK = 32 }; /* 1/NEAR_MARK of the mark */

static bool on_v1(const struct cgroup *cg)
{
	return cg->tree->on_v1 & 1u << CG_MEMORY;
}

static int memory_dir_of(const struct cgroup *cg)
{
	return cg->dir[cg_place_of(cg->tree, CG_MEMORY) - cg->tree->at];
}

int cgroup_memory_fd(const struct cgroup *cg, uint32_t *ret_events)
{
	*ret_events = on_v1(cg) ? EPOLLIN : EPOLLPRI;
	return cg->memory_fd;
}

static int event_v1(struct cgroup *cg, bool *ret_halted, struct err *e)
{
	char buf[CG_TEXT_MAX];
	struct slice text;
	uint64_t n, under;

	if (sys_read(cg->memory_fd, &n, sizeof(n)) == (ssize_t)sizeof(n))
		cg->high_events += n;
	else if (errno != EAGAIN) /* EAGAIN: no event is waiting */
		return err_sys(e, "read the memory event of '%s'", cg->name);
	if (cg_file_again(cg->oom_fd, buf, sizeof(buf), &text, e) < 0)
		return err_wrap(e, "'memory.oom_control' of '%s'", cg->name);
	if (!cg_stat_keyed(text, SLICE("under_oom"), &under))
		return err_set(e, EBADMSG, "'memory.oom_control' has no 'under_oom'");
	*ret_halted = under != 0;
	return 0;
}

/* Halted: the memory without reclaimable memory (file pages, kernel caches) is at the mark.  The
 * bound is slightly below the mark, because reclaim has just run. */
static int event_v2(struct cgroup *cg, bool *ret_halted, struct err *e)
{
	static const char *const reclaimable[] = {"active_file", "inactive_file",
						  "slab_reclaimable"};
	const uint64_t mark = cg->lim.memory_high - cg->lim.memory_high / NEAR_MARK;
	char buf[CG_TEXT_MAX];
	struct slice text;
	uint64_t now;

	if (cg_file_again(cg->memory_fd, buf, sizeof(buf), &text, e) < 0)
		return err_wrap(e, "'memory.events' of '%s'", cg->name);
	if (cg_file_read(memory_dir_of(cg), "memory.current", buf, &text, e) < 0)
		return err_code(e);
	if (!cg_stat_number(text, &now))
		return err_set(e, EBADMSG, "'memory.current' of '%s' is not a number", cg->name);
	if (now >= mark && cg_file_read(memory_dir_of(cg), "memory.stat", buf, &text, e) < 0)
		return err_code(e);
	for (size_t i = 0; now >= mark && i < sizeof(reclaimable) / sizeof(reclaimable[0]); i++) {
		uint64_t part = 0;

		(void)cg_stat_keyed(text, slice_of(reclaimable[i]), &part);
		now -= part < now ? part : now;
	}
	*ret_halted = now >= mark;
	return 0;
}

int cgroup_memory_event(struct cgroup *cg, bool *ret_halted, struct err *e)
{
	if (cg->memory_fd < 0)
		return err_set(e, ENOENT, "the group '%s' has no memory mark", cg->name);
	return (on_v1(cg) ? event_v1 : event_v2)(cg, ret_halted, e);
}

int cg_memory_watch(struct cgroup *cg, struct err *e)
{
	char line[32];
	bool halted;

	if (!cg->lim.memory_high)
		return 0;
	if (!on_v1(cg)) {
		/* Not the counters' descriptor: reading the counters would clear the event. */
		cg->memory_fd =
		    sys_openat(memory_dir_of(cg), "memory.events", O_RDONLY | O_NOFOLLOW, 0);
		if (cg->memory_fd < 0)
			return err_sys(e, "open 'memory.events'");
		/* An open file that was not read yet has an event; the read clears it. */
		return cgroup_memory_event(cg, &halted, e);
	}
	cg->memory_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (cg->memory_fd < 0)
		return err_sys(e, "make an event descriptor");
	cg->oom_fd = sys_openat(memory_dir_of(cg), "memory.oom_control", O_RDONLY | O_NOFOLLOW, 0);
	if (cg->oom_fd < 0)
		return err_sys(e, "open 'memory.oom_control'");
	(void)snprintf(line, sizeof(line), "%d %d", cg->memory_fd, cg->oom_fd);
	return cg_file_write(memory_dir_of(cg), "cgroup.event_control", line, e);
}

int cgroup_memory_open(struct cgroup *cg, struct err *e)
{
	struct cg_setting s[CG_SETTINGS_MAX];
	unsigned n;

	if (!cg->lim.memory_high)
		return 0;
	n = cg_limits_open(&cg->lim, cg->tree->on_v1, s);
	for (unsigned i = 0; i < n; i++) {
		int r = cg_apply(cg, &s[i], e);

		if (r < 0)
			return r;
	}
	return 0;
}

/* The memory limit of the group at path below mount; UINT64_MAX when it has none or cannot be
 * read. */
static uint64_t memory_limit_of(int mount, const char *path, bool v2)
{
	char file[CG_PATH_MAX + 32], buf[CG_TEXT_MAX];
	uint64_t limit = UINT64_MAX;
	struct slice text;
	struct err e;

	(void)snprintf(file, sizeof(file), "%s%s%s", path, *path ? "/" : "",
		       v2 ? "memory.max" : "memory.limit_in_bytes");
	if (cg_file_read(mount, file, buf, &text, &e) < 0 || !cg_stat_number(text, &limit))
		return UINT64_MAX;
	return limit;
}

uint64_t cgroup_tree_memory(const struct cgroup_tree *t)
{
	const struct cg_place *p = cg_place_of(t, CG_MEMORY);
	_autoclose_ int mount = sys_openat(AT_FDCWD, p->h.mount, O_RDONLY | O_DIRECTORY, 0);
	uint64_t least = UINT64_MAX;
	char up[CG_PATH_MAX];

	for (size_t i = 0; mount >= 0 && i <= p->base_n; i++) {
		uint64_t limit;

		if (i < p->base_n && p->path[i] != '/')
			continue;
		memcpy(up, p->path, i);
		up[i] = '\0';
		limit = memory_limit_of(mount, i ? up + 1 : "", p->h.v2);
		least = limit < least ? limit : least;
	}
	return least;
}
