/* SPDX-License-Identifier: Apache-2.0 */
/* The two walks of base/fs.h over a directory that may be changing, and may be
 * built to hurt the walker: depth is bounded, links are not followed, other
 * file systems are not entered. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Deeper than PATH_MAX allows a path to be is no work of an honest target. */
enum { TREE_MAX_DEPTH = 128 };

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int remove_below(int at, const char *path, dev_t dev, unsigned depth, struct err *e);

static int remove_entry(int at, const char *name, dev_t dev, unsigned depth, struct err *e)
{
	struct stat st;
	int r;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "stat '%s'", name);
	if (!S_ISDIR(st.st_mode)) {
		if (sys_unlinkat(at, name, 0) < 0 && errno != ENOENT)
			return err_sys(e, "remove '%s'", name);
		return 0;
	}
	if (st.st_dev != dev)
		return err_set(e, EXDEV, "'%s' is a mount point", name);
	r = remove_below(at, name, dev, depth, e);
	if (r < 0)
		return r;
	if (sys_unlinkat(at, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_sys(e, "remove directory '%s'", name);
	return 0;
}

static int remove_below(int at, const char *path, dev_t dev, unsigned depth, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(at, path);
	const struct dirent *ent;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open directory '%s'", path);
	if (depth >= TREE_MAX_DEPTH)
		return err_set(e, ELOOP, "'%s' is more than %d directories deep", path,
			       TREE_MAX_DEPTH);
	while ((ent = readdir(d))) {
		int r = is_dots(ent->d_name)
			    ? 0
			    : remove_entry(dirfd(d), ent->d_name, dev, depth + 1, e);

		if (r < 0)
			return r;
	}
	return 0;
}

int fs_remove_tree(int dirfd, const char *path, struct err *e)
{
	struct stat st;
	int r;

	if (fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "stat '%s'", path);
	r = remove_entry(dirfd, path, st.st_dev, 0, e);
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

static int usage_below(int at, const char *path, unsigned depth, struct walk *w, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(at, path);
	const struct dirent *ent;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open directory '%s'", path);
	while (!enough(w) && (ent = readdir(d))) {
		struct stat st;

		if (is_dots(ent->d_name) ||
		    fstatat(dirfd(d), ent->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		w->sum.files++;
		w->sum.bytes += (uint64_t)st.st_blocks * 512;
		if (S_ISDIR(st.st_mode) && depth < TREE_MAX_DEPTH) {
			int r = usage_below(dirfd(d), ent->d_name, depth + 1, w, e);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

int fs_usage(int dirfd, uint64_t stop_bytes, uint64_t stop_files, struct fs_usage *ret,
	     struct err *e)
{
	struct walk w = {.stop_bytes = stop_bytes, .stop_files = stop_files};
	int r = usage_below(dirfd, ".", 0, &w, e);

	if (r < 0)
		return r;
	*ret = w.sum;
	return 0;
}
