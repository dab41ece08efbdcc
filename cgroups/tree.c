/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/memory.h"
#include "cgroups/internal.h"

#include <errno.h>

static void free_tree(struct cgroup_tree *t)
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
	free_tree(t);
}

static bool instance_ok(const char *s)
{
	size_t n = strlen(s);

	return n > 0 && n <= CG_INSTANCE_MAX &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* /proc/swaps has a header line, then one line for each swap area. */
static int find_swap(struct cgroup_tree *t, struct err *e)
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

	if (!instance_ok(o->instance))
		return err_set(e, EINVAL, "'%s' is no name for an instance", o->instance);
	t = xcalloc(1, sizeof(*t));
	t->keeper_fd = -1;
	memcpy(t->instance, o->instance, strlen(o->instance) + 1);
	/* The sweep removes everything that a predecessor left. */
	if (find_swap(t, e) < 0 || tree_find(t, o->path, e) < 0 ||
	    cg_group_init(t->at, t->n, e) < 0 || cg_place_make(t, o->no_wait, e) < 0 ||
	    cg_sweep_all(t, &t->swept, e) < 0 || cg_place_enable(t, e) < 0)
		return err_code(e);
	cg_promises_find(t);
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
	return r == -ENOENT
		   ? err_set(e, ENOTSUP, "a limit cannot be kept here: %s", t->promises.missing)
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
