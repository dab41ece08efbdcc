/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/store.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

/* Readable for the cells' users, which see it through read-only mounts. */
enum { MODE_FILE = 0644, TREE_DEPTH = 8, PREFIX_MAX = 16 };

/* A disk error must stop a job, since data would be lost; a strange file must not. */
static bool store_is_ours(int code)
{
	return code == ENOSPC || code == EDQUOT || code == EIO || code == EROFS || code == ENOMEM ||
	       code == EMFILE || code == ENFILE;
}

static bool store_have(int dirfd, const char *name, size_t size)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == size;
}

static int create_new(int dirfd, const char *tmp, int *ret_fd, struct err *e)
{
	_autoclose_ int fd = -1;
	int r = fs_open_file(dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC, MODE_FILE, &fd, e);

	/* The name is reserved for us: another file in its place must not keep an input from being
	 * saved. */
	if (r == -EINVAL && sys_unlinkat(dirfd, tmp, 0) == 0)
		r = fs_open_file(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL, MODE_FILE, &fd, e);
	if (r < 0)
		return r;
	if (fchmod(fd, MODE_FILE) < 0) /* independent of the umask */
		return err_sys(e, "set the mode of '%s'", tmp);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Renames tmp to name; on failure there is no tmp afterwards. */
static int store_name_it(int r, int dirfd, const char *tmp, const char *name, struct err *e)
{
	if (r == 0 && sys_renameat(dirfd, tmp, name) < 0)
		r = err_sys(e, "rename '%s' to '%s'", tmp, name);
	if (r < 0)
		(void)unlinkat(dirfd, tmp, 0); /* allow: a full disk needs the room */
	return r;
}

static int store_put(int dirfd, const char *name, const char *p, size_t n, struct err *e)
{
	_autoclose_ int fd = -1;
	char tmp[NAME_MAX + 1];
	int r;

	snprintf(tmp, sizeof(tmp), ".%s.new", name);
	r = create_new(dirfd, tmp, &fd, e);
	if (r == 0 && sys_write_all(fd, p, n) < 0)
		r = err_sys(e, "write '%s'", tmp);
	return store_name_it(r, dirfd, tmp, name, e);
}

enum { NAME_TEXT = PREFIX_MAX + STORE_NAME + 1 };

/* prefix NULL: none. */
static void store_name_of(const char *prefix, const char *hex, char out[NAME_TEXT])
{
	snprintf(out, NAME_TEXT, "%.*s%s%s", PREFIX_MAX, prefix ? prefix : "", prefix ? "-" : "",
		 hex);
}

static int store(struct slice data, int to_dirfd, const char *prefix, struct store_sum *io,
		 char hex[STORE_NAME], struct err *e)
{
	char name[NAME_TEXT];
	int r;

	digest_sha1_hex(data, hex);
	store_name_of(prefix, hex, name);
	if (store_have(to_dirfd, name, data.n)) {
		io->known++;
		return 0;
	}
	r = store_put(to_dirfd, name, data.p, data.n, e);
	if (r < 0)
		return r;
	io->files++;
	io->bytes += data.n;
	return 0;
}

int store_bytes(struct slice data, int to_dirfd, struct store_sum *io, char hex[STORE_NAME],
		struct err *e)
{
	return store(data, to_dirfd, NULL, io, hex, e);
}

bool store_is_full(int error)
{
	return error == -ENOSPC || error == -EDQUOT;
}

int store_take(int from_dirfd, const char *from, int to_dirfd, const char *prefix,
	       struct store_sum *io, char hex[STORE_NAME], struct err *e)
{
	_autoclose_ int fd =
	    sys_openat(from_dirfd, from, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	char name[NAME_TEXT];
	struct stat st;
	int r;

	hex[0] = '\0';
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size > WORKDIR_INPUT_MAX)
		return err_set(e, ENOSPC, "no room for a copy of '%s'", from);
	r = digest_sha1_file(fd, WORKDIR_INPUT_MAX, hex, e);
	if (r < 0)
		return r;
	store_name_of(prefix, hex, name);
	if (store_have(to_dirfd, name, (size_t)st.st_size)) {
		io->known++;
		return 0;
	}
	/* It could be written later under its other name.  Engines do not make such files, and an
	 * error would stop the recovery of all others. */
	if (st.st_nlink != 1) {
		io->skipped++;
		hex[0] = '\0';
		return 0;
	}
	if (fchown(fd, geteuid(), getegid()) < 0 || fchmod(fd, MODE_FILE) < 0)
		return err_sys(e, "take '%s' over", from);
	if (sys_rename_to(from_dirfd, from, to_dirfd, name) < 0)
		return err_sys(e, "move '%s' to '%s'", from, name);
	io->files++;
	io->bytes += (uint64_t)st.st_size;
	return 0;
}

static int read_as(const struct rights *as, int from_dirfd, const char *from, char **ret,
		   size_t *ret_n, struct err *e)
{
	_autorights_ struct rights_back back = {0};
	int r = rights_take(as, &back, e);

	return r == 0 ? fs_read(from_dirfd, from, WORKDIR_INPUT_MAX, ret, ret_n, e) : r;
}

static int store_take_file(const struct rights *as, int from_dirfd, const char *from, int to_dirfd,
			   const char *prefix, struct store_sum *io, char hex[STORE_NAME],
			   struct err *e)
{
	_autofree_ char *text = NULL;
	struct err why;
	size_t n;
	int r = read_as(as, from_dirfd, from, &text, &n, &why);

	hex[0] = '\0';
	if (r == 0)
		return store((struct slice){text, n}, to_dirfd, prefix, io, hex, e);
	if (store_is_ours(-r))
		return err_set(e, -r, "%s", why.msg);
	io->skipped++;
	return 0;
}

int store_file(int from_dirfd, const char *from, int to_dirfd, const char *prefix,
	       struct store_sum *io, char hex[STORE_NAME], struct err *e)
{
	return store_take_file(NULL, from_dirfd, from, to_dirfd, prefix, io, hex, e);
}

int store_file_as(const struct rights *as, int from_dirfd, const char *from, int to_dirfd,
		  struct store_sum *io, char hex[STORE_NAME], struct err *e)
{
	return store_take_file(as, from_dirfd, from, to_dirfd, NULL, io, hex, e);
}

struct walk {
	int to;
	const struct rights *as;
	bool clone; /* false: the file systems cannot clone */
	bool ours;  /* a cell wrote the files as our user: their modes are no reason to skip them */
	struct store_sum *io;
	struct store_seen seen;
	char hex[STORE_NAME]; /* name of the last file; "": it is not stored */
};

/* --- shared blocks -------------------------------------------------------------- */

static bool store_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* 1: w->to/name is a clone of fd.  Its content has that name as long as fd still has the size and
 * times of `st`.  0: cloning is impossible, or the file changed. */
static int clone_as(struct walk *w, int fd, const struct stat *st, const char *name, struct err *e)
{
	_autoclose_ int to = -1;
	char tmp[STORE_NAME + 8];
	struct stat now;
	int r;

	snprintf(tmp, sizeof(tmp), ".%s.new", name);
	r = create_new(w->to, tmp, &to, e);
	if (r < 0)
		return r;
	w->clone = ioctl(to, FICLONE, fd) == 0;
	if (!w->clone || fstat(fd, &now) < 0 || !store_same_file(st, &now)) {
		(void)unlinkat(w->to, tmp, 0); /* allow: a copy takes its place */
		return 0;
	}
	r = store_name_it(0, w->to, tmp, name, e);
	return r < 0 ? r : 1;
}

/* 1: at/name is stored, by a clone or because it existed.  0: try a copy, which also finds out what
 * is wrong with the file. */
static int try_clone(struct walk *w, int at, const char *name, struct err *e)
{
	_autoclose_ int fd =
	    rights_open(w->as, at, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	char hex[STORE_NAME];
	struct err why;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size > WORKDIR_INPUT_MAX ||
	    digest_sha1_file(fd, WORKDIR_INPUT_MAX, hex, &why) < 0)
		return 0;
	if (store_have(w->to, hex, (size_t)st.st_size)) {
		w->io->known++;
		return 1;
	}
	r = clone_as(w, fd, &st, hex, e);
	if (r > 0) {
		w->io->files++;
		w->io->cloned++;
		w->io->bytes += (uint64_t)st.st_size;
	}
	return r;
}

/* --- trees ---------------------------------------------------------------------- */

static int store_walk_dir(int at, const char *dir, unsigned depth, struct walk *w, struct err *e);

/* False: the files have too many bytes that take no disk space; a copy would take it. */
static bool is_backed(struct store_seen *seen, const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size, links = st->st_nlink ? st->st_nlink : 1;
	uint64_t backed = (uint64_t)st->st_blocks * 512 / links;
	uint64_t unbacked = size > backed ? size - backed : 0;

	if (!seen->unbacked_max || !S_ISREG(st->st_mode))
		return true;
	if (unbacked > seen->unbacked_max - seen->unbacked_bytes)
		return false;
	seen->unbacked_bytes += unbacked;
	return true;
}

/* Makes an entry readable.  If this fails, the entry is skipped and counted. */
static void store_unlock(int at, const char *name, mode_t mode)
{
	struct err ignored;

	if (S_ISDIR(mode) && (mode & S_IRWXU) != S_IRWXU)
		(void)!fs_unlock_dir(at, name, &ignored);
	else if (!S_ISDIR(mode))
		(void)!fs_unlock_file(at, name, &ignored);
}

static int store_walk_entry(int at, const char *name, unsigned depth, struct walk *w, struct err *e)
{
	struct stat st;
	int r = 0;

	w->hex[0] = '\0';
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* removed meanwhile */
	if (w->ours)
		store_unlock(at, name, st.st_mode);
	if (S_ISDIR(st.st_mode) && depth < TREE_DEPTH)
		return store_walk_dir(at, name, depth + 1, w, e);
	if (S_ISREG(st.st_mode) && st.st_size == 0)
		return 0;
	/* An engine names its inputs by content: no need to read it again. */
	if (strlen(name) == STORE_NAME - 1 && S_ISREG(st.st_mode) &&
	    store_have(w->to, name, (size_t)st.st_size)) {
		w->io->known++;
		memcpy(w->hex, name, sizeof(w->hex));
		return 0;
	}
	if (!is_backed(&w->seen, &st)) {
		w->io->skipped++;
		return 0;
	}
	if (w->clone)
		r = try_clone(w, at, name, e);
	return r ? (r < 0 ? r : 0)
		 : store_take_file(w->as, at, name, w->to, NULL, w->io, w->hex, e);
}

static int store_walk_dir(int at, const char *dir, unsigned depth, struct walk *w, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	const struct dirent *ent = NULL;
	int r = 0;
	int fd = rights_open(w->as, at, dir, O_RDONLY | O_DIRECTORY | (depth ? O_NOFOLLOW : 0));

	if (fd < 0) {
		if (depth == 0 || store_is_ours(errno))
			return err_sys(e, "open directory '%s'", dir);
		w->io->skipped++;
		return 0;
	}
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return err_set(e, ENOMEM, "open directory '%s'", dir);
	}
	while (r == 0 && (ent = sys_readdir(d))) {
		if (ent->d_name[0] == '.')
			continue;
		if (++w->seen.entries > WORKDIR_FILES_MAX) {
			w->io->skipped++;
			break;
		}
		r = store_walk_entry(fd, ent->d_name, depth, w, e);
	}
	return r == 0 && !ent && errno ? err_sys(e, "list directory '%s'", dir) : r;
}

int store_entry(int from_dirfd, const char *name, int to_dirfd, struct store_seen *seen,
		struct store_sum *io, char hex[STORE_NAME], struct err *e)
{
	struct walk w = {.to = to_dirfd, .io = io, .ours = true, .seen = *seen};
	int r = 0;

	hex[0] = '\0';
	if (++w.seen.entries > WORKDIR_FILES_MAX)
		io->skipped++;
	else if (name[0] != '.')
		r = store_walk_entry(from_dirfd, name, 0, &w, e);
	*seen = w.seen;
	memcpy(hex, w.hex, STORE_NAME);
	return r;
}

int store_seeds(int from_dirfd, const char *dir, int to_dirfd, struct store_sum *io, struct err *e)
{
	return store_seeds_as(NULL, from_dirfd, dir, to_dirfd, io, e);
}

int store_seeds_as(const struct rights *as, int from_dirfd, const char *dir, int to_dirfd,
		   struct store_sum *io, struct err *e)
{
	struct walk w = {.to = to_dirfd, .as = as, .clone = true, .io = io};

	return store_walk_dir(from_dirfd, dir, 0, &w, e);
}

int store_seeds_named(const struct rights *namer, const char *dir, int to_dirfd,
		      struct store_sum *io, struct err *e)
{
	struct rights as;
	int r = rights_of_named(namer, dir, &as, e);

	return r == 0 ? store_seeds_as(&as, AT_FDCWD, dir, to_dirfd, io, e) : r;
}
