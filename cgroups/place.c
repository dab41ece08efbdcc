/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the place of our groups in each hierarchy. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "cgroups/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

/* The command with which an ordinary user gets a delegated group. */
#define CG_OWN_SCOPE "systemd-run --user --scope -p Delegate=yes fuzzcell ..."

const struct cg_place *cg_place_of(const struct cgroup_tree *t, enum cg_controller c)
{
	for (unsigned i = 1; i < t->n; i++)
		if (t->at[i].h.controllers & 1u << c)
			return &t->at[i];
	return &t->at[0];
}

const char *cg_place_name(const struct cg_place *p, const char *name, const char *file,
			  char ret[CG_SHOWN_MAX])
{
	(void)snprintf(ret, CG_SHOWN_MAX, "%s%s%s%s%s%s", p->h.mount, p->path, *name ? "/" : "",
		       name, *file ? "/" : "", file); /* only for messages: may be cut */
	return ret;
}

/* Opens directory path of h; path starts with "/" or is "". */
static int place_open_below(const struct cg_hierarchy *h, const char *path, int *ret, struct err *e)
{
	_autoclose_ int fd = -1;
	_autoclose_ int mount = sys_openat(AT_FDCWD, h->mount, O_RDONLY | O_DIRECTORY, 0);
	struct statfs fs;

	if (mount < 0)
		return err_sys(e, "open '%s'", h->mount);
	/* Another file system may be mounted over this one. */
	if (fstatfs(mount, &fs) < 0)
		return err_sys(e, "read the file system type of '%s'", h->mount);
	if (fs.f_type != (h->v2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC))
		return err_set(e, ENOTSUP, "'%s' is hidden by another mount", h->mount);
	fd = *path ? sys_openat(mount, path + 1, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
		   : take_fd(&mount);
	if (fd < 0)
		return err_sys(e, "open group '%s%s'", h->mount, path);
	*ret = take_fd(&fd);
	return 0;
}

/* systemd marks delegated groups (systemd.resource-control(5), Delegate=). */
static bool place_is_delegated(int fd)
{
	static const char *const marks[] = {"trusted.delegate", "user.delegate"};
	char v[4];

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (fgetxattr(fd, marks[i], v, sizeof(v)) == 1 && v[0] == '1')
			return true;
	return false;
}

/* A service manager in this group has its own process in init.scope (systemd(1)).  It divides the
 * group, and enables only the controllers that its own units need. */
static bool place_is_managed(int fd)
{
	return geteuid() != 0 && faccessat(fd, "init.scope", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Shortens path to the nearest delegated group: the group itself or one above it.  Without such a
 * group, path becomes "". */
static int place_nearest_delegated(const struct cg_hierarchy *h, char path[CG_PATH_MAX],
				   struct err *e)
{
	while (*path) {
		_autoclose_ int fd = -1;
		int r = place_open_below(h, path, &fd, e);

		if (r < 0 && r != -ENOENT && r != -EACCES)
			return r;
		if (r == 0 && place_is_delegated(fd) && !place_is_managed(fd) &&
		    faccessat(fd, "cgroup.procs", W_OK, AT_EACCESS) == 0)
			return 0;
		*strrchr(path, '/') = '\0';
	}
	return 0;
}

static bool place_is_writable(const struct cg_hierarchy *h, const char *path)
{
	_autoclose_ int fd = -1;
	struct err e;

	return place_open_below(h, path, &fd, &e) == 0 &&
	       faccessat(fd, ".", W_OK, AT_EACCESS) == 0 &&
	       faccessat(fd, "cgroup.procs", W_OK, AT_EACCESS) == 0;
}

/* Chooses the group base in h in which the instance's group is made. */
static int place_choose(enum cgroup_layout kind, const struct cg_hierarchy *h,
			struct slice own_text, char base[CG_PATH_MAX], struct err *e)
{
	char own[CG_PATH_MAX] = "";
	bool known = cg_layout_own(own_text, h, own);
	int r = 0;

	if (kind == CGROUP_HYBRID && geteuid() != 0)
		return err_set(e, ENOTSUP,
			       "this machine keeps limits in cgroup v1 hierarchies, of which an "
			       "ordinary user gets no part: run as root, or boot it with "
			       "systemd.unified_cgroup_hierarchy=1");
	memcpy(base, own, sizeof(own));
	if (kind == CGROUP_UNIFIED)
		r = place_nearest_delegated(h, base, e);
	else
		base[0] = '\0';
	if (r < 0 || *base || geteuid() == 0)
		return r;
	if (known && place_is_writable(h, own)) {
		memcpy(base, own, sizeof(own));
		return 0;
	}
	return err_set(
	    e, EACCES,
	    "no control group below '%s' is ours to use (we are in '%.200s'); run as root, or in a "
	    "group of its own: " CG_OWN_SCOPE,
	    h->mount, known ? own : "?");
}

static int place_check_path(const char *path, struct err *e)
{
	size_t n = strlen(path);

	if (path[0] != '/' || n >= CG_PATH_MAX / 2 || strstr(path, "/../") || strstr(path, "//") ||
	    (n > 3 && strcmp(path + n - 3, "/..") == 0))
		return err_set(e, EINVAL, "'%s' is not a path below the controllers' root", path);
	return 0;
}

/* path NULL: find one. */
static int place_find_base(const struct cgroup_tree *t, struct cg_place *p, const char *path,
			   struct slice own_text, struct err *e)
{
	size_t n;
	int r;

	if (!path)
		return place_choose(t->kind, &p->h, own_text, p->path, e);
	r = place_check_path(path, e);
	if (r < 0)
		return r;
	n = strlen(path);
	if (path[n - 1] == '/')
		n--;
	memcpy(p->path, path, n);
	p->path[n] = '\0';
	return 0;
}

/* Moves our process from the group that we divide into a leaf of that group. */
static int place_enter_leaf(struct cgroup_tree *t, struct slice own_text, struct err *e)
{
	struct cg_place *p = &t->at[0];
	char own[CG_PATH_MAX];

	/* Only the root of the whole tree (it has no cgroup.type) may have processes and
	 * controllers. */
	if (p->h.controllers == 0 || !cg_file_exists(p->base_fd, "cgroup.type") ||
	    !cg_layout_own(own_text, &p->h, own) || strlen(own) != p->base_n ||
	    memcmp(own, p->path, p->base_n) != 0)
		return 0;
	if (sys_mkdirat(p->base_fd, CG_LEAF, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make group '%s%s/%s'", p->h.mount, p->path, CG_LEAF);
	return cg_file_write(p->base_fd, CG_LEAF "/cgroup.procs", "0", e);
}

static int place_open_base(struct cg_place *p, const char *configured, struct err *e)
{
	_autoclose_ int mount = -1;
	int r = place_open_below(&p->h, p->path, &p->base_fd, e);

	if (r != -ENOENT || !configured)
		return r;
	if (place_open_below(&p->h, "", &mount, e) < 0 ||
	    fs_mkdirs(mount, p->path + 1, 0755, e) < 0)
		return err_code(e);
	return place_open_below(&p->h, p->path, &p->base_fd, e);
}

int cg_place_find(struct cgroup_tree *t, const struct cg_layout *l, const char *path, struct err *e)
{
	_autofree_ char *buf = NULL;
	struct slice own;
	int r = cg_file_proc("/proc/self/cgroup", &buf, &own, e);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < l->n; i++) {
		struct cg_place *p = &t->at[t->n];
		size_t room;

		*p = (struct cg_place){.h = l->h[i], .base_fd = -1, .fd = -1};
		t->n++;
		if (!p->h.v2)
			t->on_v1 |= p->h.controllers;
		if (place_find_base(t, p, path, own, e) < 0 || place_open_base(p, path, e) < 0)
			return err_code(e);
		p->base_n = strlen(p->path);
		room = sizeof(p->path) - p->base_n;
		if ((size_t)snprintf(p->path + p->base_n, room, "/%s/%s", CG_SHARED, t->instance) >=
		    room)
			return err_set(e, ENAMETOOLONG, "the group '%.200s' is too deep", p->path);
	}
	(void)cg_place_name(&t->at[0], "", "", t->shown);
	return place_enter_leaf(t, own, e);
}

/* libcgroup reports "not allowed" also when the parent does not exist. */
static bool place_is_allowed(const struct cg_place *p)
{
	return faccessat(p->base_fd, CG_SHARED, W_OK, AT_EACCESS) == 0 ||
	       (errno == ENOENT && faccessat(p->base_fd, ".", W_OK, AT_EACCESS) == 0);
}

/* Makes and opens the group.  -ENOENT: another instance has just removed the parent. */
static int place_make_one(struct cg_place *p, struct err *e)
{
	const char *below = p->path + p->base_n + 1;
	char name[CG_SHOWN_MAX];

	(void)cg_place_name(p, "", "", name);
	if (!p->h.v2) {
		int r = cg_group_make(p->h.controllers, p->path + 1, e);

		if (r < 0)
			return r == -EACCES && place_is_allowed(p) ? -ENOENT : r;
	} else if ((sys_mkdirat(p->base_fd, CG_SHARED, 0755) < 0 && errno != EEXIST) ||
		   (sys_mkdirat(p->base_fd, below, 0755) < 0 && errno != EEXIST)) {
		return err_sys(e, "make group '%s'", name);
	}
	p->fd = sys_openat(p->base_fd, below, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	return p->fd < 0 ? err_sys(e, "open group '%s'", name) : 0;
}

/* Whether the path still leads to the open directory. */
static bool place_still_there(const struct cg_place *p)
{
	struct stat a, b;

	return fstat(p->fd, &a) == 0 &&
	       fstatat(p->base_fd, p->path + p->base_n + 1, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_ino == b.st_ino;
}

/* Locks the open directory.  The keeper of a dead predecessor has inherited the lock, and holds it
 * until it has removed the groups.  So we wait for the lock. */
static int place_lock(struct cg_place *p, uint64_t until_us, struct err *e)
{
	while (flock(p->fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return err_sys(e, "lock '%s%s'", p->h.mount, p->path);
		if (clock_mono_us() > until_us)
			return err_set(e, EBUSY, "another fuzzcell uses '%s%s'", p->h.mount,
				       p->path);
		(void)poll(NULL, 0, 10); /* allow: at start, a lock has no event */
	}
	return 0;
}

/* Makes the groups in the other hierarchies while the lock in the first one is held. */
static int place_make_rest(struct cgroup_tree *t, uint64_t until_us, struct err *e)
{
	for (unsigned i = 1; i < t->n; i++) {
		int r;

		do
			r = place_make_one(&t->at[i], e);
		while (r == -ENOENT && clock_mono_us() < until_us);
		if (r < 0)
			return r;
	}
	return 0;
}

int cg_place_make(struct cgroup_tree *t, bool no_wait, struct err *e)
{
	uint64_t until_us = clock_mono_us() + (uint64_t)CG_EMPTY_MS * USEC_PER_MSEC;
	struct cg_place *v2 = &t->at[0];
	int r;

	do {
		close_p(&v2->fd);
		r = place_make_one(v2, e);
		if (r == -ENOENT && clock_mono_us() < until_us)
			continue;
		if (r == 0)
			r = place_lock(v2, no_wait ? 0 : until_us, e);
		if (r < 0)
			return r;
	} while (!place_still_there(v2));
	t->locked = true;
	return place_make_rest(t, until_us, e);
}

/* Reports a foreign process in a group that may only have groups. */
static int place_report_busy(const struct cgroup_tree *t, struct err *e)
{
	const struct cg_place *p = &t->at[0];
	char buf[CG_TEXT_MAX];
	struct slice text;
	struct err ignored;
	uint64_t pid = 0;

	if (cg_file_read(p->base_fd, "cgroup.procs", buf, &text, &ignored) == 0)
		(void)scan_u64(&text, 10, 1u << 30, &pid); /* 0 in the message: unknown */
	return err_set(e, EBUSY,
		       "process %u is in the control group '%s%.*s' beside us, so it cannot be "
		       "divided: start fuzzcell as the only process of its %s",
		       (unsigned)pid, p->h.mount, (int)p->base_n, p->path,
		       geteuid() == 0 ? "service" : "scope: " CG_OWN_SCOPE);
}

static int place_enable_in(struct cgroup_tree *t, int base_fd, const char *dir, struct err *e)
{
	_autoclose_ int fd = sys_openat(base_fd, dir, O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return err_sys(e, "open group '%s'", dir);
	for (unsigned c = 0; c < CG_CONTROLLER_COUNT; c++) {
		const char *name = cg_controller_name((enum cg_controller)c);
		char plus[16];
		int r;

		if (!(t->at[0].h.controllers & 1u << c) ||
		    cg_file_has_word(fd, "cgroup.subtree_control", name) ||
		    !cg_file_has_word(fd, "cgroup.controllers", name))
			continue;
		(void)snprintf(plus, sizeof(plus), "+%s", name);
		r = cg_file_write(fd, "cgroup.subtree_control", plus, e);
		if (r == -EBUSY)
			return place_report_busy(t, e);
		/* cgroup_promises.missing names any other failure. */
	}
	return 0;
}

int cg_place_enable(struct cgroup_tree *t, struct err *e)
{
	const struct cg_place *p = &t->at[0];
	_autoclose_ int mount = -1;
	char up[CG_PATH_MAX];
	int r = place_open_below(&p->h, "", &mount, e);

	if (r < 0)
		return r;
	/* From the root down, only as root.  It fails above a delegated group, where it is not
	 * needed.  Groups above that an ordinary user may write belong to the user's service
	 * manager. */
	for (size_t i = 0; geteuid() == 0 && i < p->base_n; i++)
		if (p->path[i] == '/') {
			struct err ignored;

			memcpy(up, p->path, i);
			up[i] = '\0';
			(void)place_enable_in(t, mount, i ? up + 1 : ".", &ignored);
		}
	if (place_enable_in(t, p->base_fd, ".", e) < 0 ||
	    place_enable_in(t, p->base_fd, CG_SHARED, e) < 0)
		return err_code(e);
	return place_enable_in(t, p->fd, ".", e);
}

/* --- leaving a delegated group ------------------------------------------------- */

/* The absolute path of our own group; "" when the layout is hybrid or our group is outside of the
 * mount. */
static int place_own_group(char **ret, struct err *e)
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
	int r = place_own_group(&path, e);

	if (r < 0 || !*path)
		return r;
	fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0)
		return err_sys(e, "open our control group '%s'", path);
	if (!place_is_delegated(fd))
		return 0;
	if (sys_mkdirat(fd, CG_LEAF, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make group '%s/%s'", path, CG_LEAF);
	return cg_file_write(fd, CG_LEAF "/cgroup.procs", "0", e);
}
