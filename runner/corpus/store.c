/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/store.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Readable for the cells' users, who see it through read-only mounts. */
enum { MODE_FILE = 0644, TREE_DEPTH = 8, PREFIX_MAX = 16 };

/* Disk trouble must stop a job that would lose something; a strange file must not. */
static bool is_ours(int code)
{
	return code == ENOSPC || code == EDQUOT || code == EIO || code == EROFS || code == ENOMEM ||
	       code == EMFILE || code == ENFILE;
}

static bool have(int dirfd, const char *name, size_t size)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == size;
}

static int write_new(int dirfd, const char *tmp, const char *p, size_t n, struct err *e)
{
	_autoclose_ int fd =
	    sys_openat(dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, MODE_FILE);
	if (fd < 0)
		return err_sys(e, "create '%s'", tmp);
	if (fchmod(fd, MODE_FILE) < 0) /* whatever the umask said */
		return err_sys(e, "set the mode of '%s'", tmp);
	if (sys_write_all(fd, p, n) < 0)
		return err_sys(e, "write '%s'", tmp);
	return 0;
}

static int put(int dirfd, const char *name, const char *p, size_t n, struct err *e)
{
	char tmp[NAME_MAX + 1];
	int r;

	snprintf(tmp, sizeof(tmp), ".%s.new", name);
	r = write_new(dirfd, tmp, p, n, e);
	if (r == 0 && sys_renameat(dirfd, tmp, name) < 0)
		r = err_sys(e, "rename '%s' to '%s'", tmp, name);
	if (r < 0)
		(void)unlinkat(dirfd, tmp, 0); /* allow: a full disk needs the room */
	return r;
}

int store_file(int from_dirfd, const char *from, int to_dirfd, const char *prefix,
	       struct store_sum *io, char hex[STORE_NAME], struct err *e)
{
	_autofree_ char *text = NULL;
	char name[PREFIX_MAX + STORE_NAME + 1];
	struct err why;
	size_t n;
	int r = fs_read(from_dirfd, from, WORKDIR_INPUT_MAX, &text, &n, &why);

	hex[0] = '\0';
	if (r < 0) {
		if (is_ours(-r))
			return err_set(e, -r, "%s", why.msg);
		io->skipped++;
		return 0;
	}
	digest_sha1_hex((struct slice){text, n}, hex);
	snprintf(name, sizeof(name), "%.*s%s%s", PREFIX_MAX, prefix ? prefix : "",
		 prefix ? "-" : "", hex);
	if (have(to_dirfd, name, n))
		return 0;
	r = put(to_dirfd, name, text, n, e);
	if (r < 0)
		return r;
	io->files++;
	io->bytes += n;
	return 0;
}

struct walk {
	int to;
	struct store_sum *io;
	unsigned seen;
};

static int walk_dir(int at, const char *dir, unsigned depth, struct walk *w, struct err *e);

static int walk_entry(int at, const char *name, unsigned depth, struct walk *w, struct err *e)
{
	char hex[STORE_NAME];
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* gone meanwhile */
	if (S_ISDIR(st.st_mode) && depth < TREE_DEPTH)
		return walk_dir(at, name, depth + 1, w, e);
	/* An engine names what it writes by content: no need to read it again. */
	if (strlen(name) == STORE_NAME - 1 && S_ISREG(st.st_mode) &&
	    have(w->to, name, (size_t)st.st_size))
		return 0;
	return store_file(at, name, w->to, NULL, w->io, hex, e);
}

static int walk_dir(int at, const char *dir, unsigned depth, struct walk *w, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	const struct dirent *ent;
	int r = 0;
	int fd = sys_openat(at, dir, O_RDONLY | O_DIRECTORY | (depth ? O_NOFOLLOW : 0), 0);

	if (fd < 0) {
		if (depth == 0 || is_ours(errno))
			return err_sys(e, "open directory '%s'", dir);
		w->io->skipped++;
		return 0;
	}
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return err_set(e, ENOMEM, "open directory '%s'", dir);
	}
	while (r == 0 && (ent = readdir(d))) {
		if (ent->d_name[0] == '.')
			continue;
		if (++w->seen > WORKDIR_FILES_MAX) {
			w->io->skipped++;
			break;
		}
		r = walk_entry(fd, ent->d_name, depth, w, e);
	}
	return r;
}

int store_tree(int from_dirfd, const char *dir, int to_dirfd, struct store_sum *io, struct err *e)
{
	struct walk w = {.to = to_dirfd, .io = io};

	return walk_dir(from_dirfd, dir, 0, &w, e);
}
