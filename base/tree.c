/* SPDX-License-Identifier: Apache-2.0 */
/* The two walks of base/fs.h over a hostile directory tree.  The number of open descriptors is
 * bounded, links are not followed, and mounts are not entered. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Each level of a walk costs a descriptor and a stack frame. */
enum { TREE_MAX_DEPTH = 128 };

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

struct removal {
	int root;	/* descriptor of the tree's top directory */
	uint64_t tag;	/* unpredictable part of new names in root */
	uint64_t moved; /* number of subtrees that were too deep and moved to root */
};

static int remove_below(struct removal *rm, int at, const char *path, unsigned depth,
			struct err *e);

/* The depth of directories is unlimited, but our descriptors are not.  So a subtree that is too
 * deep moves up to the tree's root, and a later round removes it.  As it stays in the tree, it is
 * also found if we die before that. */
static int move_up(struct removal *rm, int at, const char *name, struct err *e)
{
	char up[64];

	snprintf(up, sizeof(up), "deep.%llu.%llu", (unsigned long long)rm->tag,
		 (unsigned long long)rm->moved);
	if (sys_rename_to(at, name, rm->root, up) < 0)
		return err_sys(e, "move '%s' up", name);
	rm->moved++;
	return 0;
}

static int tree_remove_dir(struct removal *rm, int at, const char *name, unsigned depth,
			   struct err *e)
{
	int r;

	if (depth >= TREE_MAX_DEPTH)
		return move_up(rm, at, name, e);
	r = remove_below(rm, at, name, depth, e);
	if (r < 0)
		return r;
	if (sys_unlinkat(at, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_sys(e, "remove directory '%s'", name);
	return 0;
}

/* Adds bits to the mode of the file behind fd (O_PATH). */
static int tree_unlock(int fd, mode_t was, mode_t bits, const char *path, struct err *e)
{
	char same[64];

	if ((was & bits) == bits)
		return 0;
	/* fchmod(2) does not accept an O_PATH descriptor. */
	snprintf(same, sizeof(same), "/proc/self/fd/%d", fd);
	if (chmod(same, (was & 07777) | bits) < 0)
		return err_sys(e, "set the mode of '%s'", path);
	return 0;
}

int fs_unlock_dir(int dirfd, const char *path, struct err *e)
{
	_autoclose_ int fd = sys_openat(dirfd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open directory '%s'", path);
	return tree_unlock(fd, st.st_mode, S_IRWXU, path, e);
}

int fs_unlock_file(int dirfd, const char *path, struct err *e)
{
	_autoclose_ int fd = -1;
	struct stat st;

	if (fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "stat '%s'", path);
	if (!S_ISREG(st.st_mode) || (st.st_mode & S_IRUSR))
		return 0; /* most files: nothing is opened */
	fd = sys_openat(dirfd, path, O_PATH | O_NOFOLLOW, 0);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open '%s'", path);
	return S_ISREG(st.st_mode) ? tree_unlock(fd, st.st_mode, S_IRUSR, path, e) : 0;
}

/* 1: a directory that is no mount point; 0: another file type, or no such entry.  st_dev would not
 * show a bind mount of the same file system. */
static int tree_is_dir(int at, const char *name, struct err *e)
{
	struct err ignored;
	struct statx sx;

	if (statx(at, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_MODE, &sx) <
	    0)
		return errno == ENOENT ? 0 : err_sys(e, "stat '%s'", name);
	if (!S_ISDIR(sx.stx_mode))
		return 0;
	if (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return err_set(e, EXDEV, "'%s' is a mount point", name);
	/* Without root, the directory's mode may prevent its removal.  If the mode cannot be
	 * changed, the removal reports the error. */
	if ((sx.stx_mode & S_IRWXU) != S_IRWXU)
		(void)!fs_unlock_dir(at, name, &ignored);
	return 1;
}

/* Most entries are files.  The listing has the type, which saves a statx(2). */
static bool is_listed_as_other(const struct dirent *ent)
{
	return ent->d_type != DT_DIR && ent->d_type != DT_UNKNOWN;
}

static int remove_entry(struct removal *rm, int at, const struct dirent *ent, unsigned depth,
			struct err *e)
{
	const char *name = ent->d_name;
	int r = is_listed_as_other(ent) ? 0 : tree_is_dir(at, name, e);

	if (r < 0)
		return r;
	if (r > 0)
		return tree_remove_dir(rm, at, name, depth, e);
	if (sys_unlinkat(at, name, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove '%s'", name);
	return 0;
}

static int remove_below(struct removal *rm, int at, const char *path, unsigned depth, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(at, path);
	const struct dirent *ent;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open directory '%s'", path);
	while ((ent = readdir(d))) {
		int r = is_dots(ent->d_name) ? 0 : remove_entry(rm, dirfd(d), ent, depth + 1, e);

		if (r < 0)
			return r;
	}
	return 0;
}

static int remove_all(int dirfd, const char *path, struct err *e)
{
	_autoclose_ int root = sys_openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	struct removal rm = {.root = root, .tag = clock_real_us()};
	uint64_t before;

	if (root < 0)
		return err_sys(e, "open directory '%s'", path);
	do {
		int r;

		before = rm.moved;
		r = remove_below(&rm, root, ".", 0, e);
		if (r < 0)
			return r;
	} while (rm.moved > before);
	if (sys_unlinkat(dirfd, path, AT_REMOVEDIR) < 0)
		return err_sys(e, "remove directory '%s'", path);
	return 0;
}

int fs_remove_tree(int dirfd, const char *path, struct err *e)
{
	int r = tree_is_dir(dirfd, path, e);

	if (r > 0)
		r = remove_all(dirfd, path, e);
	else if (r == 0 && sys_unlinkat(dirfd, path, 0) < 0 && errno != ENOENT)
		r = err_sys(e, "unlink");
	return r < 0 ? err_wrap(e, "remove '%s'", path) : 0;
}

struct walk {
	struct fs_usage sum;
	uint64_t stop_bytes, stop_files;
};

static bool enough(const struct walk *w)
{
	return (w->stop_bytes && w->sum.bytes >= w->stop_bytes) ||
	       (w->stop_files && w->sum.files >= w->stop_files);
}

/* The owner may change the tree meanwhile: between two of our calls a directory may disappear, or
 * become a file or a link. */
static bool tree_is_gone(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP;
}

static int usage_below(int at, const char *path, unsigned depth, struct walk *w, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(at, path);
	const struct dirent *ent;

	if (!d && tree_is_gone(errno)) {
		w->sum.moved = true;
		return 0;
	}
	if (!d)
		return err_sys(e, "open directory '%s'", path);
	while (!enough(w) && (ent = readdir(d))) {
		struct stat st;
		int r = 0;

		if (is_dots(ent->d_name))
			continue;
		if (fstatat(dirfd(d), ent->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			w->sum.moved |= ent->d_type == DT_DIR; /* engines remove files */
			continue;
		}
		w->sum.files++;
		w->sum.bytes += (uint64_t)st.st_blocks * 512;
		if (S_ISDIR(st.st_mode) && depth < TREE_MAX_DEPTH)
			r = usage_below(dirfd(d), ent->d_name, depth + 1, w, e);
		else if (S_ISDIR(st.st_mode))
			r = -ELOOP;
		if (r < 0)
			return r;
	}
	return 0;
}

int fs_room(int dirfd, struct fs_room *ret, struct err *e)
{
	struct statvfs v;

	if (fstatvfs(dirfd, &v) < 0)
		return err_sys(e, "read the free space");
	*ret = (struct fs_room){.bytes = (uint64_t)v.f_bavail * v.f_frsize,
				.files = v.f_files ? v.f_favail : UINT64_MAX,
				.files_total = v.f_files ? v.f_files : UINT64_MAX};
	return 0;
}

int fs_usage(int dirfd, uint64_t stop_bytes, uint64_t stop_files, struct fs_usage *ret,
	     struct err *e)
{
	struct walk w = {.stop_bytes = stop_bytes, .stop_files = stop_files};
	struct stat st;
	int r = usage_below(dirfd, ".", 0, &w, e);

	/* The directory itself counts: it grows with its names and never shrinks. */
	if (r == 0 && fstat(dirfd, &st) == 0)
		w.sum.bytes += (uint64_t)st.st_blocks * 512;
	if (r == -ELOOP) /* only from the depth limit; ELOOP of an open means "gone" */
		w.sum = (struct fs_usage){UINT64_MAX, UINT64_MAX, true};
	else if (r < 0)
		return r;
	*ret = w.sum;
	return 0;
}
