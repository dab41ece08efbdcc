/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the tree of our groups, and finds what it can promise on this machine. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"
#include "cgroups/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

/* --- the features of a group on this machine ----------------------------------------- */

/* Adds a missing feature to p->missing; the text is cut when it is full. */
static void __attribute__((format(printf, 2, 3)))
promises_add_missing(struct cgroup_promises *p, const char *fmt, ...)
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
static bool promises_kept_above(const struct cg_place *p, const char *name)
{
	_autoclose_ int mount = sys_openat(AT_FDCWD, p->h.mount, O_RDONLY | O_DIRECTORY, 0);

	return mount >= 0 && cg_file_has_word(mount, "cgroup.controllers", name) &&
	       !cg_file_has_word(p->base_fd, "cgroup.controllers", name);
}

static void promises_add_controller(struct cgroup_promises *p, const struct cg_place *at,
				    const char *name, const char *promise)
{
	size_t n = strlen(p->undelegated);

	if (!promises_kept_above(at, name)) {
		promises_add_missing(p, "%s: the controller %s is not available in %s", promise,
				     name, at->h.mount);
		return;
	}
	promises_add_missing(p, "%s: the controller %s is not delegated to us", promise, name);
	(void)snprintf(p->undelegated + n, sizeof(p->undelegated) - n, "%s%s", n ? " " : "", name);
}

/* Whether our group in c's hierarchy has all files (the list ends with NULL). */
static bool promises_has_files(struct cgroup_tree *t, enum cg_controller c, const char *promise,
			       const char *const files[])
{
	const struct cg_place *p = cg_place_of(t, c);
	const char *name = cg_controller_name(c);

	if (p->h.v2 && !cg_file_has_word(p->fd, "cgroup.subtree_control", name)) {
		promises_add_controller(&t->promises, p, name, promise);
		return false;
	}
	for (; *files; files++)
		if (!cg_file_exists(p->fd, *files)) {
			promises_add_missing(&t->promises, "%s: no file %s", promise, *files);
			return false;
		}
	return true;
}

static void promises_find_memory(struct cgroup_tree *t, bool v1)
{
	static const char *const max[][2] = {{"memory.max", NULL}, {"memory.limit_in_bytes", NULL}};
	static const char *const swap[][2] = {{"memory.swap.max", NULL},
					      {"memory.memsw.limit_in_bytes", NULL}};
	static const char *const high[][3] = {{"memory.high", NULL, NULL},
					      {"memory.oom_control", "cgroup.event_control", NULL}};
	struct cgroup_promises *p = &t->promises;

	p->memory = promises_has_files(t, CG_MEMORY, "memory limit", max[v1]);
	if (!p->memory)
		return; /* one reason is enough */
	p->memory_high = promises_has_files(t, CG_MEMORY, "memory mark", high[v1]);
	p->swap_off = !t->has_swap || promises_has_files(t, CG_MEMORY, "swap off", swap[v1]);
}

static void promises_find_cpu(struct cgroup_tree *t, bool v1)
{
	static const char *const files[][4] = {
	    {"cpu.max", "cpu.weight", NULL, NULL},
	    {"cpu.cfs_period_us", "cpu.cfs_quota_us", "cpu.shares", NULL}};

	t->promises.cpu = promises_has_files(t, CG_CPU, "CPU limit", files[v1]);
}

static void promises_find(struct cgroup_tree *t)
{
	static const char *const pids[] = {"pids.max", NULL};
	struct cgroup_promises *p = &t->promises;
	int v2 = t->at[0].fd;
	char buf[CG_TEXT_MAX];
	struct slice text;
	struct err e;

	promises_find_memory(t, t->on_v1 & 1u << CG_MEMORY);
	promises_find_cpu(t, t->on_v1 & 1u << CG_CPU);
	p->pids = promises_has_files(t, CG_PIDS, "process limit", pids);
	/* The root group has no pids.max, but ours is never the root. */
	p->pressure = cg_file_read(v2, "memory.pressure", buf, &text, &e) == 0;
	if (!p->pressure)
		promises_add_missing(p, "pressure: none from this kernel (boot it with psi=1)");
	p->kill = cg_file_exists(v2, "cgroup.kill");
	if (!p->kill)
		promises_add_missing(p, "kill at once: no file cgroup.kill (Linux 5.14)");
}

/* --- the tree ------------------------------------------------------------------ */

static void tree_free(struct cgroup_tree *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		close_p(&t->at[i].fd);
		close_p(&t->at[i].base_fd);
	}
	free(t);
}

DEFINE_CLEANUP(struct cgroup_tree *, cgroup_tree_close)

void cgroup_tree_close(struct cgroup_tree *t)
{
	if (!t)
		return;
	cg_keeper_stop(t);
	if (t->locked) /* without the lock, another process uses the groups */
		cg_sweep_ours(t);
	tree_free(t);
}

static bool tree_instance_ok(const char *s)
{
	size_t n = strlen(s);

	return n > 0 && n <= CG_INSTANCE_MAX &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* /proc/swaps has a header line, then one line for each swap area. */
static int tree_find_swap(struct cgroup_tree *t, struct err *e)
{
	_autofree_ char *buf = NULL;
	struct slice text, line;
	int r = cg_file_proc("/proc/swaps", &buf, &text, e);

	if (r == -ENOENT)
		return 0; /* a kernel without swap */
	if (r < 0)
		return r;
	t->has_swap = scan_line(&text, &line) && text.n > 0;
	return 0;
}

static int tree_find(struct cgroup_tree *t, const char *path, struct err *e)
{
	_autofree_ char *buf = NULL;
	_autofree_ struct cg_layout *l = xmalloc(sizeof(*l));
	struct slice text;

	if (cg_file_proc("/proc/self/mountinfo", &buf, &text, e) < 0 ||
	    cg_layout_parse(text, l, e) < 0)
		return err_code(e);
	t->kind = l->kind;
	return cg_place_find(t, l, path, e);
}

int cgroup_tree_open(const struct cgroup_tree_opts *o, struct cgroup_tree **ret, struct err *e)
{
	CLEANUP(cgroup_tree_close_p) struct cgroup_tree *t = NULL;

	if (!tree_instance_ok(o->instance))
		return err_set(e, EINVAL, "'%s' is not a valid instance name", o->instance);
	t = xcalloc(1, sizeof(*t));
	t->keeper_fd = -1;
	memcpy(t->instance, o->instance, strlen(o->instance) + 1);
	/* The sweep removes everything that a predecessor left. */
	if (tree_find_swap(t, e) < 0 || tree_find(t, o->path, e) < 0 ||
	    cg_group_init(t->at, t->n, e) < 0 || cg_place_make(t, o->no_wait, e) < 0 ||
	    cg_sweep_all(t, &t->swept, e) < 0 || cg_place_enable(t, e) < 0)
		return err_code(e);
	promises_find(t);
	if (o->keeper && cg_keeper_start(t, e) < 0)
		return err_code(e);
	*ret = take_ptr(&t);
	return 0;
}

int cgroup_tree_weight(struct cgroup_tree *t, uint32_t weight, struct err *e)
{
	const struct cgroup_limits lim = {.cpu_weight = weight};
	const struct cg_place *p = cg_place_of(t, CG_CPU);
	struct cg_setting s[CG_SETTINGS_MAX];
	unsigned n = cg_limits_settings(&lim, t->on_v1, t->has_swap, s);
	int r = cg_limits_check(&lim, e);

	for (unsigned i = 0; r == 0 && i < n; i++)
		if (strcmp(s[i].file, "cpu.weight") == 0 || strcmp(s[i].file, "cpu.shares") == 0)
			r = cg_file_write(p->fd, s[i].file, s[i].value, e);
	return r == -ENOENT ? err_set(e, ENOTSUP, "this machine cannot enforce a limit: %s",
				      t->promises.missing)
			    : r;
}

enum cgroup_layout cgroup_tree_layout(const struct cgroup_tree *t)
{
	return t->kind;
}

const struct cgroup_promises *cgroup_tree_promises(const struct cgroup_tree *t)
{
	return &t->promises;
}

const char *cgroup_tree_path(const struct cgroup_tree *t)
{
	return t->shown;
}

unsigned cgroup_tree_swept(const struct cgroup_tree *t)
{
	return t->swept;
}
