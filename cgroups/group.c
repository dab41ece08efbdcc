/* SPDX-License-Identifier: Apache-2.0 */
/* The only user of libcgroup 2.0.  libcgroup and our headers both define struct cgroup, so ours is
 * renamed while they are included. */
#define cgroup our_cgroup
#include "base/cleanup.h"
#include "cgroups/internal.h"
#undef cgroup

#include <errno.h>
#include <libcgroup.h>
#include <stdio.h>

static void free_group(struct cgroup *g)
{
	cgroup_free(&g);
}

DEFINE_CLEANUP(struct cgroup *, free_group)

/* Discards libcgroup's messages: our errors report its failures with more context. */
static void group_no_log(void *data, int level, const char *fmt, va_list ap)
{
	(void)data;
	(void)level;
	(void)fmt;
	(void)ap;
}

/* ECGOTHER stands for an errno, which libcgroup stores separately. */
static int code_of(int r)
{
	int code = r == ECGOTHER ? cgroup_get_last_errno() : 0;

	switch (r) {
	case ECGROUPVALUENOTEXIST:
		return ENOENT;
	case ECGROUPNOTALLOWED:
	case ECGROUPNOTOWNER:
		return EACCES;
	case ECGROUPSUBSYSNOTMOUNTED:
	case ECGROUPNOTMOUNTED:
		return ENOTSUP;
	default:
		return code > 0 ? code : EIO;
	}
}

static int group_fail(struct err *e, int r, const char *what, const char *path)
{
	int code = code_of(r);

	return err_set(e, code, "%s '%s': %s", what, path,
		       r == ECGOTHER ? strerrordesc_np(code) : cgroup_strerror(r));
}

static int check_mount(const struct cg_place *p, enum cg_controller c, struct err *e)
{
	_autofree_ char *mount = NULL;
	const char *name = cg_controller_name(c);

	/* cgroup_promises.missing names a controller that is not mounted. */
	if (cgroup_get_subsys_mount_point(name, &mount) != 0)
		return 0;
	if (strcmp(mount, p->h.mount) == 0)
		return 0;
	return err_set(e, ENOTSUP, "libcgroup takes '%s' from '%s', not from '%s'", name, mount,
		       p->h.mount);
}

int cg_group_init(const struct cg_place *at, unsigned n, struct err *e)
{
	int r;

	cgroup_set_logger(group_no_log, CGROUP_LOG_ERROR, NULL);
	r = cgroup_init();
	if (r != 0)
		return group_fail(e, r, "start libcgroup on", "/proc/mounts");
	for (unsigned i = 0; i < n; i++)
		for (unsigned c = 0; c < CG_CONTROLLER_COUNT; c++)
			if (at[i].h.controllers & 1u << c) {
				r = check_mount(&at[i], (enum cg_controller)c, e);
				if (r < 0)
					return r;
			}
	return 0;
}

int cg_group_make(unsigned controllers, const char *path, struct err *e)
{
	CLEANUP(free_group_p) struct cgroup *g = cgroup_new_cgroup(path);
	int r;

	if (!g)
		return err_set(e, ENOMEM, "make group '%s'", path);
	for (unsigned c = 0; c < CG_CONTROLLER_COUNT; c++)
		if (controllers & 1u << c &&
		    !cgroup_add_controller(g, cg_controller_name((enum cg_controller)c)))
			return err_set(e, ENOMEM, "make group '%s'", path);
	r = cgroup_create_cgroup(g, 1); /* 1: owned by us, no chown */
	return r == 0 ? 0 : group_fail(e, r, "make group", path);
}

int cg_group_set(enum cg_controller c, const char *path, const char *file, const char *value,
		 struct err *e)
{
	CLEANUP(free_group_p) struct cgroup *g = cgroup_new_cgroup(path);
	struct cgroup_controller *ctl = g ? cgroup_add_controller(g, cg_controller_name(c)) : NULL;
	int r;

	/* One value for each call: libcgroup does not report which of several values failed. */
	if (!ctl || cgroup_set_value_string(ctl, file, value) != 0)
		return err_set(e, ENOMEM, "write '%s' to '%s' of '%s'", value, file, path);
	r = cgroup_modify_cgroup(g);
	if (r == 0)
		return 0;
	(void)group_fail(e, r, "group", path);
	return err_wrap(e, "write '%s' to '%s'", value, file);
}
