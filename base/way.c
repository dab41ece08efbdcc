/* SPDX-License-Identifier: Apache-2.0 */
#include "base/way.h"

#include "base/cleanup.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* the limit of the kernel (path_resolution(7)) */
enum { PROC_ROOT = 1 };	 /* the inode of /proc (include/linux/proc_fs.h, PROC_ROOT_INO) */

struct walk {
	struct way *to;
	char rest[PATH_MAX]; /* the part of the path that is left to walk from to->fd */
	unsigned links;
	bool magic; /* the path goes through a link to an open file of a process */
};

/* Writes dir/name; of a long path, only the end. */
static void write_path(int dir, const char *name, char ret[WAY_TEXT])
{
	char link[40], path[PATH_MAX + NAME_MAX + 2];
	ssize_t n;
	size_t at, all;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	n = readlink(link, path, PATH_MAX);
	at = n > 1 ? (size_t)n : 0; /* the path of "/" ends in a slash already */
	(void)snprintf(path + at, sizeof(path) - at, "%s%.*s", *name ? "/" : "", NAME_MAX, name);
	all = strlen(path);
	if (all < WAY_TEXT)
		memcpy(ret, path, all + 1);
	else
		(void)snprintf(ret, WAY_TEXT, "...%s", path + all - (WAY_TEXT - 4));
}

/* Whether fd has an access control list.  Then the mode's group bits are the maximum rights of all
 * users and groups in the list. */
static bool has_list(int fd)
{
	char link[40];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return getxattr(link, "system.posix_acl_access", NULL, 0) > 0;
}

static bool others_write(int fd, const struct stat *st)
{
	return S_ISDIR(st->st_mode) &&
	       ((st->st_mode & S_IWOTH) ||
		((st->st_mode & S_IWGRP) && (st->st_gid != 0 || has_list(fd))));
}

static void way_meet(struct walk *w, const char *name, int fd, const struct stat *st)
{
	struct way *to = w->to;

	if (st->st_uid == 0) {
		if (!*to->writable && !(st->st_mode & S_ISVTX) && others_write(fd, st))
			write_path(to->fd, name, to->writable);
		return;
	}
	if (to->n_owners == 2 || (to->n_owners == 1 && to->owners[0].uid == st->st_uid))
		return;
	to->owners[to->n_owners].uid = st->st_uid;
	write_path(to->fd, name, to->owners[to->n_owners].path);
	to->n_owners++;
}

/* Ends the walk: the path leads to nothing. */
static bool way_stop(struct walk *w, int code)
{
	close_p(&w->to->fd);
	w->to->code = code;
	return false;
}

/* Whether the link is one of a process in /proc ("cwd", "root", "fd/3").  The kernel follows such a
 * link to the open file and bypasses the directories in the link's text.  Links in /proc itself
 * ("self") are ordinary links. */
static bool is_magic(int dir, int link)
{
	struct statfs fs;
	struct stat st;

	return fstatfs(link, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC && fstat(dir, &st) == 0 &&
	       st.st_ino != PROC_ROOT;
}

static bool way_follow(struct walk *w, int link)
{
	char to[PATH_MAX], all[2 * PATH_MAX];
	ssize_t n = readlinkat(link, "", to, sizeof(to) - 1);
	int root;

	w->magic = is_magic(w->to->fd, link);
	if (w->magic || n < 0)
		return way_stop(w, w->magic ? EPERM : errno);
	if (w->links++ == LINKS_MAX)
		return way_stop(w, ELOOP);
	to[n] = '\0';
	/* A slash after a file's name would require a directory. */
	(void)snprintf(all, sizeof(all), "%s%s%s", to, *w->rest ? "/" : "", w->rest);
	if (strlen(all) >= sizeof(w->rest))
		return way_stop(w, ENAMETOOLONG);
	memcpy(w->rest, all, strlen(all) + 1);
	if (to[0] != '/')
		return true;
	root = sys_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
	if (root < 0)
		return way_stop(w, errno);
	close_p(&w->to->fd);
	w->to->fd = root;
	return true;
}

/* A directory is opened as a directory, so that an automount point is mounted. */
static int way_open_one(int at, const char *name)
{
	int fd = sys_openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);

	return fd < 0 && (errno == ENOTDIR || errno == ELOOP)
		   ? sys_openat(at, name, O_PATH | O_NOFOLLOW, 0)
		   : fd;
}

static bool way_step(struct walk *w, const char *name)
{
	_autoclose_ int fd = way_open_one(w->to->fd, name);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return way_stop(w, errno);
	way_meet(w, name, fd, &st);
	if (S_ISLNK(st.st_mode))
		return way_follow(w, fd);
	/* Before another component, a file that is no directory ends the walk. */
	if (!S_ISDIR(st.st_mode) && *w->rest)
		return way_stop(w, ENOTDIR);
	close_p(&w->to->fd);
	w->to->fd = take_fd(&fd);
	return true;
}

static void way_go(struct walk *w)
{
	bool on = true;

	while (on) {
		size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");
		char name[PATH_MAX];

		if (n == 0)
			return;
		memcpy(name, w->rest + skip, n);
		name[n] = '\0';
		memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
		on = strcmp(name, ".") == 0 || way_step(w, name);
	}
}

/* Whether the error is unrelated to the path, such as a lack of memory. */
static bool way_is_ours(int code)
{
	return code != 0 && code != ENOENT && code != ENOTDIR && code != ELOOP && code != EACCES &&
	       code != ESTALE;
}

int way_walk(const char *path, struct way *ret, struct err *e)
{
	struct way way = {.fd = -1};
	struct walk w = {.to = &way};
	char cwd[PATH_MAX] = "";
	int n;

	if (path[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		return err_sys(e, "the working directory");
	n = snprintf(w.rest, sizeof(w.rest), "%s/%s", cwd, path);
	if (n < 0 || (size_t)n >= sizeof(w.rest))
		return err_set(e, ENAMETOOLONG, "a path of %d bytes", n);
	way.fd = sys_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
	if (way.fd < 0)
		return err_sys(e, "open '/'");
	way_go(&w);
	if (way.fd >= 0 && fstat(way.fd, &way.st) < 0)
		(void)way_stop(&w, errno);
	if (w.magic)
		return err_set(e, EPERM,
			       "'%.300s' goes through a link in /proc to what a process has open: "
			       "name the path itself",
			       path);
	if (way_is_ours(way.code))
		return err_set(e, way.code, "find the owners of '%.300s': %s", path,
			       strerror(way.code));
	if (way.fd >= 0 && way.st.st_uid == 0 && !*way.writable && others_write(way.fd, &way.st))
		write_path(way.fd, "", way.writable);
	*ret = way;
	return 0;
}

void way_done(struct way *w)
{
	close_p(&w->fd);
}
