/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/sys.h"
#include "cgroups/internal.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

/* Adds a missing feature to p->missing; the text is cut when it is full. */
static void __attribute__((format(printf, 2, 3)))
miss(struct cgroup_promises *p, const char *fmt, ...)
{
	size_t n = strlen(p->missing);
	va_list ap;

	if (n > 0 && n + 2 < sizeof(p->missing)) {
		memcpy(p->missing + n, "; ", 3);
		n += 2;
	}
	va_start(ap, fmt);
	(void)vsnprintf(p->missing + n, sizeof(p->missing) - n, fmt, ap); /* cut when full */
	va_end(ap);
}

/* Whether the root has the controller, but a group above ours does not pass it on to us. */
static bool kept_above(const struct cg_place *p, const char *name)
{
	_autoclose_ int mount = sys_openat(AT_FDCWD, p->h.mount, O_RDONLY | O_DIRECTORY, 0);

	return mount >= 0 && cg_file_has_word(mount, "cgroup.controllers", name) &&
	       !cg_file_has_word(p->base_fd, "cgroup.controllers", name);
}

static void miss_controller(struct cgroup_promises *p, const struct cg_place *at, const char *name,
			    const char *promise)
{
	size_t n = strlen(p->undelegated);

	if (!kept_above(at, name)) {
		miss(p, "%s: the controller %s is not available in %s", promise, name, at->h.mount);
		return;
	}
	miss(p, "%s: the controller %s is not delegated to us", promise, name);
	(void)snprintf(p->undelegated + n, sizeof(p->undelegated) - n, "%s%s", n ? " " : "", name);
}

/* Whether our group in c's hierarchy has all files (the list ends with NULL). */
static bool has_files(struct cgroup_tree *t, enum cg_controller c, const char *promise,
		      const char *const files[])
{
	const struct cg_place *p = cg_place_of(t, c);
	const char *name = cg_controller_name(c);

	if (p->h.v2 && !cg_file_has_word(p->fd, "cgroup.subtree_control", name)) {
		miss_controller(&t->promises, p, name, promise);
		return false;
	}
	for (; *files; files++)
		if (!cg_file_exists(p->fd, *files)) {
			miss(&t->promises, "%s: no file %s", promise, *files);
			return false;
		}
	return true;
}

static void find_memory(struct cgroup_tree *t, bool v1)
{
	static const char *const max[][2] = {{"memory.max", NULL}, {"memory.limit_in_bytes", NULL}};
	static const char *const swap[][2] = {{"memory.swap.max", NULL},
					      {"memory.memsw.limit_in_bytes", NULL}};
	static const char *const high[][3] = {{"memory.high", NULL, NULL},
					      {"memory.oom_control", "cgroup.event_control", NULL}};
	struct cgroup_promises *p = &t->promises;

	p->memory = has_files(t, CG_MEMORY, "memory limit", max[v1]);
	if (!p->memory)
		return; /* one reason is enough */
	p->memory_high = has_files(t, CG_MEMORY, "memory mark", high[v1]);
	p->swap_off = !t->has_swap || has_files(t, CG_MEMORY, "swap off", swap[v1]);
}

static void find_cpu(struct cgroup_tree *t, bool v1)
{
	static const char *const files[][4] = {
	    {"cpu.max", "cpu.weight", NULL, NULL},
	    {"cpu.cfs_period_us", "cpu.cfs_quota_us", "cpu.shares", NULL}};

	t->promises.cpu = has_files(t, CG_CPU, "CPU limit", files[v1]);
}

void cg_promises_find(struct cgroup_tree *t)
{
	static const char *const pids[] = {"pids.max", NULL};
	struct cgroup_promises *p = &t->promises;
	int v2 = t->at[0].fd;
	char buf[CG_TEXT_MAX];
	struct slice text;
	struct err e;

	find_memory(t, t->on_v1 & 1u << CG_MEMORY);
	find_cpu(t, t->on_v1 & 1u << CG_CPU);
	p->pids = has_files(t, CG_PIDS, "process limit", pids);
	/* The root group has no pids.max, but ours is never the root. */
	p->pressure = cg_file_read(v2, "memory.pressure", buf, &text, &e) == 0;
	if (!p->pressure)
		miss(p, "pressure: none from this kernel (boot it with psi=1)");
	p->kill = cg_file_exists(v2, "cgroup.kill");
	if (!p->kill)
		miss(p, "kill at once: no file cgroup.kill (Linux 5.14)");
}
