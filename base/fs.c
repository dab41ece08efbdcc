/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fs.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFDIR:
		return "a directory";
	case S_IFLNK:
		return "a symlink";
	default:
		return "a device";
	}
}

/* The directory that a relative path starts from; "" when the path says it itself. */
static void name_directory(int dirfd, const char *path, char out[PATH_MAX])
{
	char link[64];
	ssize_t n = -1;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dirfd);
	if (dirfd != AT_FDCWD && path[0] != '/')
		n = readlink(link, out, PATH_MAX - 1);
	out[n > 0 ? n : 0] = '\0';
}

static int not_regular(int dirfd, const char *path, mode_t mode, struct err *e)
{
	char dir[PATH_MAX];

	name_directory(dirfd, path, dir);
	return err_set(e, EINVAL, "'%.200s' is not a regular file but %s: move it away%s%.200s%s",
		       path, kind_of(mode), *dir ? " from '" : "", dir, *dir ? "'" : "");
}

/* For writing, what is no regular file may already fail to open. */
static int open_failed(int dirfd, const char *path, int flags, struct err *e)
{
	int code = errno;
	struct stat st;

	if ((code == ENXIO || code == EISDIR || code == ENODEV) &&
	    fstatat(dirfd, path, &st, 0) == 0 && !S_ISREG(st.st_mode))
		return not_regular(dirfd, path, st.st_mode, e);
	errno = code;
	return err_sys(e, "%s '%s'", flags & O_CREAT ? "create" : "open", path);
}

int fs_open_file(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd, struct err *e)
{
	int nofollow = dirfd == AT_FDCWD ? 0 : O_NOFOLLOW;
	_autoclose_ int fd =
	    sys_openat(dirfd, path, flags | O_NONBLOCK | O_NOCTTY | nofollow, mode);
	struct stat st;

	if (fd < 0)
		return open_failed(dirfd, path, flags, e);
	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat '%s'", path);
	if (!S_ISREG(st.st_mode))
		return not_regular(dirfd, path, st.st_mode, e);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* ".NAME.new" beside the file that it will become. */
static int temp_name(const char *name, char out[NAME_MAX + 1], struct err *e)
{
	int n = snprintf(out, NAME_MAX + 1, ".%s.new", name);

	if (strchr(name, '/'))
		return err_set(e, EINVAL, "'%s' is not one name", name);
	if (n < 0 || n > NAME_MAX)
		return err_set(e, ENAMETOOLONG, "name '%s'", name);
	return 0;
}

/* Make the written temporary file the real one, for good. */
static int commit(int dirfd, int fd, const char *tmp, const char *name, struct err *e)
{
	if (sys_fsync(fd) < 0)
		return err_sys(e, "fsync '%s'", tmp);
	if (sys_renameat(dirfd, tmp, name) < 0)
		return err_sys(e, "rename '%s' to '%s'", tmp, name);
	if (sys_fsync(dirfd) < 0)
		return err_sys(e, "fsync directory of '%s'", name);
	return 0;
}

static void drop_temp(int dirfd, const char *tmp)
{
	/* allow: best effort, and the error before it is the one to tell */
	(void)unlinkat(dirfd, tmp, 0);
}

int fs_replace(int dirfd, const char *name, struct slice data, struct err *e)
{
	_autoclose_ int fd = -1;
	char tmp[NAME_MAX + 1];
	int r = temp_name(name, tmp, e);

	if (r < 0)
		return r;
	r = fs_open_file(dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC, 0640, &fd, e);
	if (r < 0)
		return r;
	if (sys_write_all(fd, data.p, data.n) < 0)
		r = err_sys(e, "write '%s'", tmp);
	else
		r = commit(dirfd, fd, tmp, name, e);
	if (r < 0)
		drop_temp(dirfd, tmp);
	return r;
}

/* 1 when the file's last byte is there and is no newline. */
static int ends_cut(int fd, off_t size, const char *name, struct err *e)
{
	char last = '\n';

	if (size > 0 && sys_pread(fd, &last, 1, size - 1) < 0)
		return err_sys(e, "read the end of '%s'", name);
	return last != '\n';
}

int fs_append_line(int dirfd, const char *name, struct slice line, struct err *e)
{
	_autoclose_ int fd = -1;
	_autofree_ char *text = NULL;
	size_t n = 0;
	off_t size;
	int cut;

	cut = fs_open_file(dirfd, name, O_RDWR | O_CREAT | O_APPEND, 0640, &fd, e);
	if (cut < 0)
		return cut;
	size = lseek(fd, 0, SEEK_END);
	if (size < 0)
		return err_sys(e, "find the end of '%s'", name);
	cut = ends_cut(fd, size, name, e);
	if (cut < 0)
		return cut;
	text = sys_malloc(line.n + 2);
	if (!text)
		return err_sys(e, "allocate a line for '%s'", name);
	if (cut)
		text[n++] = '\n';
	if (line.n > 0)
		memcpy(text + n, line.p, line.n);
	n += line.n;
	text[n++] = '\n';
	if (sys_write_all(fd, text, n) < 0)
		return err_sys(e, "append to '%s'", name);
	if (sys_fsync(fd) < 0)
		return err_sys(e, "fsync '%s'", name);
	/* It may be new, and then its name is not on disk yet. */
	if (size == 0 && sys_fsync(dirfd) < 0)
		return err_sys(e, "fsync directory of '%s'", name);
	return 0;
}

/* Regular, and not too large. */
static int open_small(int dirfd, const char *path, size_t max, int *ret_fd, struct err *e)
{
	_autoclose_ int fd = -1;
	struct stat st;
	int r = fs_open_file(dirfd, path, O_RDONLY, 0, &fd, e);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat '%s'", path);
	if ((uint64_t)st.st_size > max)
		return err_set(e, EFBIG, "'%s' has more than %zu bytes", path, max);
	*ret_fd = take_fd(&fd);
	return 0;
}

int fs_read(int dirfd, const char *path, size_t max, char **ret, size_t *ret_n, struct err *e)
{
	_autoclose_ int fd = -1;
	_autobuf_ struct buf text = BUF_INIT(max);
	char block[16384];
	ssize_t n;
	int r = open_small(dirfd, path, max, &fd, e);

	if (r < 0)
		return r;
	do { /* to the end, whatever the size said: it may grow, the kernel's files say 0 */
		n = sys_read(fd, block, sizeof(block));
		if (n < 0)
			return err_sys(e, "read '%s'", path);
		r = buf_add(&text, (struct slice){block, (size_t)n}, e);
		if (r < 0)
			return err_wrap(e, "read '%s'", path);
	} while (n > 0);
	*ret_n = text.n;
	*ret = take_ptr(&text.p);
	return 0;
}

static int make_dir(int dirfd, const char *path, mode_t mode, struct err *e)
{
	struct stat st;

	if (sys_mkdirat(dirfd, path, mode) == 0)
		return 0;
	if (errno != EEXIST)
		return err_sys(e, "make directory '%s'", path);
	if (fstatat(dirfd, path, &st, 0) < 0 || !S_ISDIR(st.st_mode))
		return err_set(e, ENOTDIR, "'%s' is there and is not a directory", path);
	return 0;
}

int fs_mkdirs(int dirfd, const char *path, mode_t mode, struct err *e)
{
	_autofree_ char *p = sys_strdup(path);
	char *at;
	int r;

	if (!p)
		return err_sys(e, "copy path '%s'", path);
	if (!*p)
		return err_set(e, ENOENT, "make a directory without a name");
	for (at = p + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		r = make_dir(dirfd, p, mode, e);
		if (r < 0)
			return r;
		*at = '/';
	}
	return make_dir(dirfd, p, mode, e);
}

int fs_open_dir(int dirfd, const char *path, int *ret_fd, struct err *e)
{
	int fd = sys_openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	if (fd < 0)
		return err_sys(e, "open directory '%s'", path);
	*ret_fd = fd;
	return 0;
}

static int copy_bytes(int from, int to, size_t max, const char *name, struct err *e)
{
	char block[65536];
	size_t total = 0;

	for (;;) {
		ssize_t n = sys_read(from, block, sizeof(block));

		if (n < 0)
			return err_sys(e, "read '%s'", name);
		if (n == 0)
			return 0;
		total += (size_t)n; /* it may grow while we read */
		if (total > max)
			return err_set(e, EFBIG, "'%s' has more than %zu bytes", name, max);
		if (sys_write_all(to, block, (size_t)n) < 0)
			return err_sys(e, "write the copy of '%s'", name);
	}
}

int fs_copy(int from_dirfd, const char *from, int to_dirfd, const char *to, size_t max,
	    struct err *e)
{
	_autoclose_ int in = -1;
	_autoclose_ int out = -1;
	char tmp[NAME_MAX + 1];
	int r = temp_name(to, tmp, e);

	if (r < 0)
		return r;
	r = open_small(from_dirfd, from, max, &in, e);
	if (r < 0)
		return r;
	r = fs_open_file(to_dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC, 0640, &out, e);
	if (r < 0)
		return r;
	r = copy_bytes(in, out, max, from, e);
	if (r == 0)
		r = commit(to_dirfd, out, tmp, to, e);
	if (r < 0)
		drop_temp(to_dirfd, tmp);
	return r;
}

bool fs_name_ok(struct slice name)
{
	if (name.n == 0 || name.n > NAME_MAX)
		return false;
	if (name.p[0] == '.' && (name.n == 1 || (name.n == 2 && name.p[1] == '.')))
		return false;
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] < 0x20 || name.p[i] == 0x7f || name.p[i] == '/')
			return false;
	return true;
}
