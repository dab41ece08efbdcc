/* SPDX-License-Identifier: Apache-2.0 */
#include "images/root.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/way.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char passwd[] = "root:x:0:0:root:/tmp:/bin/sh\n";
static const char group[] = "root:x:0:\n";

/* In every cell these are a tmpfs, crun's own mounts, or empty. */
static const char *const fixed[] = {"dev", "proc", "run", "sys", "tmp"};

void root_plan_free(struct root_plan *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++) {
		free(p->part[i].path);
		free(p->part[i].source);
		free(p->part[i].link);
	}
	free(p);
}

static int root_read_link(const char *path, char **ret, struct err *e)
{
	char to[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof(to));

	if (n < 0)
		return err_sys(e, "read link '%s'", path);
	*ret = xstrndup(to, (size_t)n);
	return 0;
}

/* Adds rootfs/name if it is a link, a directory or a file.  A missing entry or one of another type
 * is skipped. */
static int root_add_part(struct root_plan *p, const char *rootfs, const char *name, struct err *e)
{
	struct root_part *part = &p->part[p->n];
	_autofree_ char *source = xasprintf("%s/%s", rootfs, name);
	struct stat st;

	if (lstat(source, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "stat '%s'", source);
	if (!S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	if (p->n == ROOT_PARTS_MAX)
		return err_set(e, E2BIG, "root '%s' has more than %d entries", rootfs,
			       ROOT_PARTS_MAX);
	p->n++; /* before the rest, so that a partly filled entry is freed, too */
	part->path = xasprintf("/%s", name);
	part->dir = S_ISDIR(st.st_mode);
	if (S_ISLNK(st.st_mode))
		return root_read_link(source, &part->link, e);
	part->source = take_ptr(&source);
	return 0;
}

static int plan_host(struct root_plan *p, struct err *e)
{
	static const char *const names[] = {"usr",
					    "bin",
					    "lib",
					    "lib32",
					    "lib64",
					    "libx32",
					    "sbin",
					    "etc/ld.so.cache",
					    "etc/ld.so.conf",
					    "etc/ld.so.conf.d",
					    "etc/alternatives"};
	int r = 0;

	p->etc = true;
	for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++)
		r = root_add_part(p, "", names[i], e);
	return r;
}

static bool is_fixed(const char *name)
{
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (strcmp(name, fixed[i]) == 0)
			return true;
	return false;
}

/* A user who can exchange the root directory could show a cell every file of this machine that its
 * own permissions do not protect. */
static int check_owner(const char *rootfs, struct err *e)
{
	struct way w;
	int r;

	if (geteuid() != 0)
		return 0;
	r = way_walk(rootfs, &w, e);
	if (r < 0)
		return r;
	if (w.n_owners > 0)
		r = err_set(
		    e, EPERM,
		    "root '%.180s': '%s' belongs to user %u, who could put another directory "
		    "in its place: let root own the whole path (chown)",
		    rootfs, w.owners[0].path, (unsigned)w.owners[0].uid);
	way_done(&w);
	return r;
}

static int plan_directory(struct root_plan *p, const char *rootfs, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	const struct dirent *ent;
	int bad = check_owner(rootfs, e);

	if (bad < 0)
		return bad;
	d = sys_opendirat(AT_FDCWD, rootfs);
	if (!d)
		return err_sys(e, "open root '%s'", rootfs);
	while ((ent = readdir(d))) {
		int r = 0;

		if (strcmp(ent->d_name, ".") != 0 && strcmp(ent->d_name, "..") != 0 &&
		    !is_fixed(ent->d_name))
			r = root_add_part(p, rootfs, ent->d_name, e);
		if (r < 0)
			return r;
	}
	return 0;
}

int root_plan_new(const char *rootfs, struct root_plan **ret, struct err *e)
{
	CLEANUP(root_plan_free_p) struct root_plan *p = xcalloc(1, sizeof(*p));
	int r = rootfs ? plan_directory(p, rootfs, e) : plan_host(p, e);

	if (r < 0)
		return r;
	*ret = take_ptr(&p);
	return 0;
}

static bool root_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Returns the part that contains an absolute path ("/usr" contains "/usr/lib"); NULL: no part
 * does. */
static const struct root_part *root_part_of(const struct root_plan *p, const char *path)
{
	for (size_t i = 0; i < p->n; i++)
		if (root_below(path, p->part[i].path))
			return &p->part[i];
	return NULL;
}

/* Whether path is like "/a/b": no empty components, no "." or "..", no final slash. */
static bool root_plain(const char *path)
{
	struct slice rest = slice_of(path), name;

	if (!scan_lit(&rest, SLICE("/")))
		return false;
	while (scan_until(&rest, '/', NAME_MAX, &name)) {
		if (!fs_name_ok(name))
			return false;
		(void)scan_lit(&rest, SLICE("/"));
	}
	return fs_name_ok(rest);
}

static int make_file(int root, const char *path, const char *text, struct err *e)
{
	_autoclose_ int fd = sys_openat(root, path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0644);

	if (fd < 0)
		return err_sys(e, "make '%s'", path);
	if (sys_write_all(fd, text, strlen(text)) < 0)
		return err_sys(e, "write '%s'", path);
	return 0;
}

/* path has no leading slash.  Missing parents are made. */
static int make_point(int root, const char *path, bool dir, struct err *e)
{
	_autofree_ char *parent = NULL;
	const char *name = strrchr(path, '/');
	int r = 0;

	if (dir)
		return fs_mkdirs(root, path, 0755, e);
	if (name) {
		parent = xstrndup(path, (size_t)(name - path));
		r = fs_mkdirs(root, parent, 0755, e);
	}
	return r < 0 ? r : make_file(root, path, "", e);
}

static int make_part(int root, const struct root_part *part, struct err *e)
{
	if (!part->link)
		return make_point(root, part->path + 1, part->dir, e);
	if (symlinkat(part->link, root, part->path + 1) < 0)
		return err_sys(e, "make link '%s'", part->path);
	return 0;
}

/* Inside a part no mount point can be made, so the mount point must exist. */
static int check_in_part(const struct root_part *part, const char *target, struct err *e)
{
	_autofree_ char *there = NULL;
	struct stat st;

	if (part->link)
		return err_set(e, EINVAL, "mount target '%s' goes through a link to '%s'", target,
			       part->link);
	there = xasprintf("%s%s", part->source, target + strlen(part->path));
	if (stat(there, &st) < 0)
		return err_sys(e, "mount target '%s' in the root: '%s'", target, there);
	return 0;
}

static bool in_earlier_mount(const struct cell_spec *spec, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (root_below(spec->mounts[i].target, spec->mounts[k].target))
			return true;
	return false;
}

static int make_target(int root, const struct root_plan *p, const struct cell_spec *spec, size_t i,
		       struct err *e)
{
	const struct cell_mount *m = &spec->mounts[i];
	const struct root_part *part = root_part_of(p, m->target);
	struct stat st;

	if (!root_plain(m->target) || root_below(m->target, "/proc") ||
	    root_below(m->target, "/sys"))
		return err_set(e, EINVAL, "'%s' cannot be a mount target", m->target);
	if (m->source[0] != '/')
		return err_set(e, EINVAL, "mount source '%s' is not an absolute path", m->source);
	if (stat(m->source, &st) < 0)
		return err_sys(e, "mount source '%s'", m->source);
	/* crun makes these mount points, or reports an error. */
	if (in_earlier_mount(spec, i) || root_below(m->target, "/tmp") ||
	    root_below(m->target, "/dev"))
		return 0;
	if (part)
		return check_in_part(part, m->target, e);
	return make_point(root, m->target + 1, S_ISDIR(st.st_mode), e);
}

static int root_fill(int root, const struct root_plan *p, const struct cell_spec *spec,
		     struct err *e)
{
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (make_point(root, fixed[i], true, e) < 0)
			return err_code(e);
	for (size_t i = 0; i < p->n; i++)
		if (make_part(root, &p->part[i], e) < 0)
			return err_code(e);
	if (p->etc &&
	    (make_point(root, "etc", true, e) < 0 || make_file(root, "etc/passwd", passwd, e) < 0 ||
	     make_file(root, "etc/group", group, e) < 0))
		return err_code(e);
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (make_target(root, p, spec, i, e) < 0)
			return err_code(e);
	return 0;
}

int root_build(int dirfd, const char *name, const struct root_plan *p, const struct cell_spec *spec,
	       struct err *e)
{
	_autoclose_ int root = -1;
	mode_t old;
	int r;

	old = umask(022); /* the cell's user must be able to read the root */
	if (sys_mkdirat(dirfd, name, 0755) < 0)
		r = err_sys(e, "make the root '%s'", name);
	else
		r = fs_open_dir(dirfd, name, &root, e);
	if (r == 0)
		r = root_fill(root, p, spec, e);
	umask(old);
	return r;
}
