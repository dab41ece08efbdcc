/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/leaf.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"
#include "cgroups/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* The absolute path of our own group; "" when the layout is hybrid or our group is outside of the
 * mount. */
static int leaf_own_group(char **ret, struct err *e)
{
	_autofree_ char *mounts = NULL, *groups = NULL;
	char own[CG_PATH_MAX];
	struct slice mountinfo = {0}, proc_cgroup = {0};
	struct cg_layout l;
	struct err ignored;
	bool known;

	if (cg_file_proc("/proc/self/mountinfo", &mounts, &mountinfo, e) < 0 ||
	    cg_file_proc("/proc/self/cgroup", &groups, &proc_cgroup, e) < 0)
		return err_code(e);
	/* cgroup_tree_open() reports errors later. */
	known = cg_layout_parse(mountinfo, &l, &ignored) == 0 && l.kind == CGROUP_UNIFIED &&
		cg_layout_own(proc_cgroup, &l.h[0], own);
	*ret = known ? xasprintf("%s%s", l.h[0].mount, own) : xstrdup("");
	return 0;
}

int cgroup_leave(struct err *e)
{
	_autofree_ char *path = NULL;
	_autoclose_ int fd = -1;
	int r = leaf_own_group(&path, e);

	if (r < 0 || !*path)
		return r;
	fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0)
		return err_sys(e, "open our control group '%s'", path);
	if (!cg_place_delegated(fd))
		return 0;
	if (sys_mkdirat(fd, CG_LEAF, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make group '%s/%s'", path, CG_LEAF);
	return cg_file_write(fd, CG_LEAF "/cgroup.procs", "0", e);
}
