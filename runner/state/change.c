/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/state/change.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHANGE	     "change"
#define CHANGE_NEW   "change/new"
#define CHANGE_GONE  "gone"
#define CHANGE_READY "ready"

enum { MODE_DIR = 0750, DEPTH_MAX = 16, GONE_MAX = 1 << 30 };

int change_begin(int state_dirfd, int *ret_fd, struct err *e)
{
	int r = change_recover(state_dirfd, e);

	return r < 0 ? r : fs_make_dir(state_dirfd, CHANGE_NEW, MODE_DIR, ret_fd, e);
}

static bool is_dir(int dirfd, const struct dirent *ent)
{
	struct stat st;

	if (ent->d_type != DT_UNKNOWN)
		return ent->d_type == DT_DIR;
	return fstatat(dirfd, ent->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* What is done with the entries of a directory of the change. */
enum step { STEP_CHECK, STEP_DIRS, STEP_FILES };
static int take_entries(int from, int to, enum step step, unsigned depth, struct err *e);

/* --- whether all places are free ------------------------------------------------- */

static int check_dir(int from, const char *name, int to, unsigned depth, struct err *e)
{
	_autoclose_ int in = -1, out = -1;
	int r = fs_open_dir(to, name, &out, e);

	if (r == -ENOENT)
		return 0;
	if (r == -ENOTDIR)
		return err_wrap(e, "its place is taken, move it away");
	if (r < 0)
		return r;
	r = fs_open_dir(from, name, &in, e);
	if (r == 0)
		r = take_entries(in, out, STEP_CHECK, depth + 1, e);
	return r < 0 ? err_wrap(e, "%s", name) : 0;
}

static int check_file(const char *name, int to, struct err *e)
{
	struct stat st;

	if (fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	return err_set(e, EISDIR, "its place is taken, move it away: '%s' is a directory", name);
}

/* Nothing may be in the way of a change that is ready: no command could complete it. */
static int check_places(int state_dirfd, struct err *e)
{
	_autoclose_ int from = -1;
	int r = fs_open_dir(state_dirfd, CHANGE_NEW, &from, e);

	if (r == 0)
		r = take_entries(from, state_dirfd, STEP_CHECK, 0, e);
	return r < 0 ? err_wrap(e, "change the state directory") : 0;
}

/* --- putting files in their places --------------------------------------------- */

/* A directory of the state may be a file system of its own. */
static int move_file(int from, const char *name, int to, struct err *e)
{
	int r;

	if (sys_rename_to(from, name, to, name) == 0)
		return 0;
	if (errno != EXDEV)
		return err_sys(e, "rename '%s' to its place", name);
	r = fs_copy(from, name, to, name, SIZE_MAX, e);
	if (r == 0 && sys_unlinkat(from, name, 0) < 0)
		r = err_sys(e, "remove '%s'", name);
	return r;
}

static int move_tree(int from, int to, unsigned depth, struct err *e);

static int move_dir(int from, const char *name, int to, unsigned depth, struct err *e)
{
	_autoclose_ int in = -1, out = -1;
	int r = fs_mkdirs(to, name, MODE_DIR, e);

	if (r == 0)
		r = fs_open_dir(from, name, &in, e);
	if (r == 0)
		r = fs_open_dir(to, name, &out, e);
	if (r == 0)
		r = move_tree(in, out, depth + 1, e);
	return r < 0 ? err_wrap(e, "%s", name) : 0;
}

/* The files of a directory come last: an index follows what it lists. */
static int move_tree(int from, int to, unsigned depth, struct err *e)
{
	int r = take_entries(from, to, STEP_DIRS, depth, e);

	return r < 0 ? r : take_entries(from, to, STEP_FILES, depth, e);
}

/* --- each entry ------------------------------------------------------------------ */

static int take_entry(int from, const struct dirent *ent, int to, enum step step, unsigned depth,
		      struct err *e)
{
	bool dir = is_dir(from, ent);

	if (step == STEP_CHECK)
		return dir ? check_dir(from, ent->d_name, to, depth, e)
			   : check_file(ent->d_name, to, e);
	if (dir != (step == STEP_DIRS))
		return 0;
	return dir ? move_dir(from, ent->d_name, to, depth, e)
		   : move_file(from, ent->d_name, to, e);
}

static int take_entries(int from, int to, enum step step, unsigned depth, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(from, ".");
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return err_sys(e, "list the files of a change");
	if (depth > DEPTH_MAX)
		return err_set(e, ELOOP, "directories of a change are too deep");
	while (r == 0 && (ent = sys_readdir(d)))
		r = take_entry(from, ent, to, step, depth, e);
	if (r == 0 && errno)
		r = err_sys(e, "list the files of a change");
	return r;
}

/* --- removing files ------------------------------------------------------------- */

int change_remove(int state_dirfd, const struct strv *paths, struct err *e)
{
	_autobuf_ struct buf list = BUF_INIT(GONE_MAX);
	_autoclose_ int change = -1;
	int r;

	for (size_t i = 0; i < paths->n; i++)
		buf_put(&list, (struct slice){paths->v[i], strlen(paths->v[i]) + 1});
	r = buf_check(&list, e);
	if (r == 0)
		r = fs_open_dir(state_dirfd, CHANGE, &change, e);
	return r < 0 ? r : fs_replace(change, CHANGE_GONE, buf_slice(&list), e);
}

/* What is no file stays. */
static int remove_one(int state_dirfd, char *path, struct err *e)
{
	char *slash = strrchr(path, '/');

	if (sys_unlinkat(state_dirfd, path, 0) < 0 && errno != ENOENT && errno != ENOTDIR &&
	    errno != EISDIR && errno != ELOOP)
		return err_sys(e, "remove '%s'", path);
	if (!slash)
		return 0;
	*slash = '\0';
	(void)unlinkat(state_dirfd, path, AT_REMOVEDIR); /* allow: others may be in it */
	return 0;
}

static int remove_gone(int state_dirfd, int change, struct err *e)
{
	_autofree_ char *list = NULL;
	size_t n = 0, next;
	int r = fs_read(change, CHANGE_GONE, GONE_MAX, &list, &n, e);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (size_t at = 0; r == 0 && at < n; at = next) {
		next = at + strlen(list + at) + 1;
		r = remove_one(state_dirfd, list + at, e);
	}
	return r;
}

/* --- both ends ------------------------------------------------------------------- */

static int complete(int state_dirfd, int change, struct err *e)
{
	_autoclose_ int from = -1;
	int r = fs_open_dir(state_dirfd, CHANGE_NEW, &from, e);

	if (r == 0)
		r = move_tree(from, state_dirfd, 0, e);
	if (r == 0)
		r = remove_gone(state_dirfd, change, e);
	if (r == 0 && sys_syncfs(state_dirfd) < 0)
		r = err_sys(e, "sync the state directory");
	if (r < 0)
		return err_wrap(e, "complete a change of the state directory");
	if (sys_unlinkat(change, CHANGE_READY, 0) < 0 || sys_fsync(change) < 0)
		return err_sys(e, "remove '" CHANGE "/" CHANGE_READY "'");
	return fs_remove_tree(state_dirfd, CHANGE, e);
}

int change_commit(int state_dirfd, struct err *e)
{
	_autoclose_ int change = -1;
	int r = fs_open_dir(state_dirfd, CHANGE, &change, e);

	if (r == 0)
		r = check_places(state_dirfd, e);
	if (r == 0 && sys_syncfs(change) < 0)
		r = err_sys(e, "sync a change of the state directory");
	if (r == 0)
		r = fs_replace(change, CHANGE_READY, SLICE(""), e);
	return r < 0 ? r : complete(state_dirfd, change, e);
}

int change_recover(int state_dirfd, struct err *e)
{
	_autoclose_ int change = -1;
	struct stat st;
	int r = fs_open_dir(state_dirfd, CHANGE, &change, e);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (fstatat(change, CHANGE_READY, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return complete(state_dirfd, change, e);
	return errno == ENOENT ? fs_remove_tree(state_dirfd, CHANGE, e)
			       : err_sys(e, "look for '" CHANGE "/" CHANGE_READY "'");
}
