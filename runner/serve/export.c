/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the dashboard as files. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/serve/model/site.h"
#include "runner/serve/page/html.h"
#include "runner/serve/serve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Marks the directory as an export, which may be replaced. */
#define MARK ".fuzzcell-export"

struct export
{
	struct serve_site *site;
	int dir;
	uint64_t files;
	serve_damaged_fn *damaged;
	void *arg;
};

static int serve_export_write_file(int dir, const char *path, struct slice bytes, struct err *e)
{
	_autoclose_ int fd = sys_openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);

	if (fd < 0 || sys_write_all(fd, bytes.p, bytes.n) < 0)
		return err_sys(e, "write '%s'", path);
	return 0;
}

/* Copies the content of an open file to a new file. */
static int copy_file(int dir, const char *path, int from, struct err *e)
{
	_autoclose_ int fd = sys_openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
	char block[65536];
	ssize_t n;

	if (fd < 0)
		return err_sys(e, "write '%s'", path);
	while ((n = sys_read(from, block, sizeof(block))) > 0)
		if (sys_write_all(fd, block, (size_t)n) < 0)
			return err_sys(e, "write '%s'", path);
	return n < 0 ? err_sys(e, "read the content of '%s'", path) : 0;
}

/* Decodes one of our paths, in which each component is a valid name. */
static void decoded(const char *path, char out[SERVE_PATH_MAX])
{
	struct slice in = slice_of(path);
	size_t n = 0;

	while (in.n > 0 && n + 1 < SERVE_PATH_MAX) {
		int c = html_url_next(&in);

		out[n++] = (char)(c < 0 ? '%' : c);
		if (c < 0)
			in = (struct slice){in.p + 1, in.n - 1};
	}
	out[n] = '\0';
}

static int make_parents(int dir, char *path, struct err *e)
{
	char *slash = strrchr(path, '/');
	int r;

	if (!slash)
		return 0;
	*slash = '\0';
	r = fs_mkdirs(dir, path, 0755, e);
	*slash = '/';
	return r;
}

static int serve_export_one(void *arg, const char *path, struct err *e)
{
	struct export *x = arg;
	struct serve_answer a;
	char file[SERVE_PATH_MAX];
	int r;

	decoded(path + 1, file);
	/* The same run can occur twice in the history. */
	if (faccessat(x->dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	r = serve_get(x->site, slice_of(path), &a, e);
	if (r == -ENOENT)
		return 0;    /* the target has no curves, or it is gone meanwhile */
	if (r == -EBADMSG) { /* a damaged file does not stop the export */
		if (x->damaged)
			x->damaged(x->arg, path, e->msg);
		return 0;
	}
	if (r < 0)
		return err_wrap(e, "%s", path);
	if (*a.problem && x->damaged)
		x->damaged(x->arg, path, a.problem);
	r = make_parents(x->dir, file, e);
	if (r == 0)
		r = a.fd >= 0 ? copy_file(x->dir, file, a.fd, e)
			      : serve_export_write_file(x->dir, file, serve_answer_bytes(&a), e);
	serve_answer_done(&a);
	x->files++;
	return r;
}

static int serve_export_fill(struct export *x, int dir, struct err *e)
{
	int r = serve_export_write_file(
	    dir, MARK, SLICE("fuzzcell serve --export replaces this directory\n"), e);

	x->dir = dir;
	x->site->snapshot.on = true;
	if (r == 0)
		r = serve_each_path(x->site, serve_export_one, x, e);
	json_decref(x->site->snapshot.targets);
	json_decref(x->site->snapshot.fuzzed);
	memset(&x->site->snapshot, 0, sizeof(x->site->snapshot));
	if (r == 0 && sys_syncfs(dir) < 0)
		r = err_sys(e, "sync");
	return r;
}

/* Refuses a place inside the state directory, where the export would become part of its input.
 * Refuses the state directory itself, which it would replace. */
static int refuse_inside(const struct serve_site *site, int dirfd, struct err *e)
{
	_autoclose_ int at = sys_openat(dirfd, ".", O_PATH | O_DIRECTORY, 0);
	struct stat state, st, below = {0};

	if (at < 0 || fstat(site->state->dirfd, &state) < 0)
		return err_sys(e, "find the directory's parents");
	for (;;) {
		int up;

		if (fstat(at, &st) < 0)
			return err_sys(e, "find the directory's parents");
		if (st.st_dev == state.st_dev && st.st_ino == state.st_ino)
			return err_set(e, EINVAL, "the directory is in the state directory");
		if (st.st_dev == below.st_dev && st.st_ino == below.st_ino)
			return 0; /* the root */
		below = st;
		up = sys_openat(at, "..", O_PATH | O_DIRECTORY, 0);
		if (up < 0)
			return err_sys(e, "find the directory's parents");
		close(at);
		at = up;
	}
}

/* Returns 1 or 0. */
static int serve_export_is_empty(int parent, const char *name, struct err *e)
{
	DIR *d = sys_opendirat(parent, name);
	const struct dirent *ent;
	bool any = false;

	if (!d)
		return err_sys(e, "open '%s'", name);
	while (!any && (ent = sys_readdir(d)))
		any = strcmp(ent->d_name, ".") != 0 && strcmp(ent->d_name, "..") != 0;
	closedir(d);
	return !any;
}

/* Returns 1: an export exists that may be replaced; 0: nothing, or an empty directory. */
static int serve_export_may_replace(const struct serve_site *site, int parent, const char *name,
				    struct err *e)
{
	_autoclose_ int fd = -1;
	struct stat st;
	int r = refuse_inside(site, parent, e);

	if (r < 0)
		return r;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "stat '%s'", name);
	r = fs_open_dir(parent, name, &fd, e);
	if (r < 0)
		return r;
	r = refuse_inside(site, fd, e);
	if (r < 0)
		return r;
	if (faccessat(fd, MARK, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	r = serve_export_is_empty(parent, name, e);
	if (r == 0)
		r = err_set(e, EEXIST, "'%s' exists and is not an export", name);
	return r < 0 ? r : 0;
}

static int serve_export_put(const struct serve_site *site, int parent, const char *tmp,
			    const char *name, struct err *e)
{
	int r = serve_export_may_replace(site, parent, name, e);

	if (r < 0)
		return r;
	if (r == 0)
		return sys_renameat(parent, tmp, name) < 0 ? err_sys(e, "rename to '%s'", name) : 0;
	if (sys_exchange(parent, tmp, parent, name) < 0)
		return err_sys(e, "replace '%s'", name);
	return 0;
}

static int export_in(struct export *x, int parent, const char *name, struct err *e)
{
	_autofree_ char *tmp = xasprintf(".%s.new-%d", name, (int)getpid());
	_autoclose_ int dir = -1;
	struct err ignored;
	int r = serve_export_may_replace(x->site, parent, name,
					 e); /* checked before the export is written */

	if (r < 0)
		return r;
	r = fs_remove_tree(parent, tmp, e); /* left by an earlier process with our PID */
	if (r == 0)
		r = fs_make_dir(parent, tmp, 0755, &dir, e);
	if (r == 0)
		r = serve_export_fill(x, dir, e);
	if (r == 0)
		r = serve_export_put(x->site, parent, tmp, name, e);
	/* Now tmp is the replaced export, or an incomplete one. */
	(void)!fs_remove_tree(parent, tmp, &ignored);
	return r;
}

int serve_export(struct serve_site *site, const char *dir, serve_damaged_fn *damaged, void *arg,
		 uint64_t *ret_files, struct err *e)
{
	struct export x = {.site = site, .damaged = damaged, .arg = arg};
	_autofree_ char *path = xstrdup(dir);
	_autoclose_ int parent = -1;
	char *slash;
	size_t n;
	int r;

	for (n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
		path[n - 1] = '\0';
	slash = strrchr(path, '/');
	if (!fs_name_ok(slice_of(slash ? slash + 1 : path)))
		return err_set(e, EINVAL, "'%s' is not a directory's name", dir);
	if (slash)
		*slash = '\0';
	parent = sys_openat(AT_FDCWD, !slash ? "." : *path ? path : "/", O_RDONLY | O_DIRECTORY, 0);
	if (parent < 0)
		return err_sys(e, "open the directory of '%s'", dir);
	r = export_in(&x, parent, slash ? slash + 1 : path, e);
	*ret_files = x.files;
	return r < 0 ? err_wrap(e, "export to '%s'", dir) : 0;
}
