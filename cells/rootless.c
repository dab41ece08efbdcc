/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/rootless.h"

#include "base/cleanup.h"
#include "base/scan.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Every kernel has the first one (namespaces(7)); only Debian's kernels have the second one. */
static const struct rootless_switch switches[] = {
    {"user/max_user_namespaces", "user.max_user_namespaces", 64},
    {"kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone", 1},
};

int rootless_switch_check(int dirfd, const struct rootless_switch *s, struct err *e)
{
	_autoclose_ int fd = sys_openat(dirfd, s->file, O_RDONLY, 0);
	char text[32];
	struct slice rest;
	uint64_t value;
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_sys(e, "open '/proc/sys/%s'", s->file);
	n = sys_read(fd, text, sizeof(text));
	if (n < 0)
		return err_sys(e, "read '/proc/sys/%s'", s->file);
	rest = (struct slice){text, (size_t)n};
	if (!scan_u64(&rest, 10, UINT64_MAX, &value))
		return err_set(e, EBADMSG, "'/proc/sys/%s' does not contain a number", s->file);
	if (value >= s->least)
		return 0;
	return err_set(
	    e, EPERM,
	    "this machine does not let ordinary users make cells: sysctl %s is %llu; run "
	    "as root, or have it set: sysctl -w %s=%llu",
	    s->name, (unsigned long long)value, s->name, (unsigned long long)s->least);
}

int rootless_check(enum cgroup_layout layout, struct err *e)
{
	_autoclose_ int dir = -1;
	int r = 0;

	if (geteuid() == 0)
		return 0;
	/* Only root can hide the v2 tree from crun (cells/crun.c). */
	if (layout == CGROUP_HYBRID)
		return err_set(e, ENOTSUP,
			       "cells of an ordinary user need the unified cgroup layout: run as "
			       "root, or boot with systemd.unified_cgroup_hierarchy=1");
	dir = sys_openat(AT_FDCWD, "/proc/sys", O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		return err_sys(e, "open '/proc/sys'");
	for (size_t i = 0; r == 0 && i < sizeof(switches) / sizeof(switches[0]); i++)
		r = rootless_switch_check(dir, &switches[i], e);
	return r;
}
