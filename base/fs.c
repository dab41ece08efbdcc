/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fs.h"

#include "base/cleanup.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ".NAME.new" beside the file that it will become. */
static int temp_name(const char *name, char out[NAME_MAX + 1], struct err *e)
{
	int n = snprintf(out, NAME_MAX + 1, ".%s.new", name);

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

int fs_replace(int dirfd, const char *name, struct slice data, struct err *e)
{
	_autoclose_ int fd = -1;
	char tmp[NAME_MAX + 1];
	int r = temp_name(name, tmp, e);

	if (r < 0)
		return r;
	fd = sys_openat(dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return err_sys(e, "create '%s'", tmp);
	if (sys_write_all(fd, data.p, data.n) < 0)
		return err_sys(e, "write '%s'", tmp);
	return commit(dirfd, fd, tmp, name, e);
}

/* True when fd's last byte is there and is no newline. */
static bool ends_cut(int fd)
{
	off_t end = lseek(fd, 0, SEEK_END);
	char last;

	return end > 0 && sys_pread(fd, &last, 1, end - 1) == 1 && last != '\n';
}

int fs_append_line(int dirfd, const char *name, struct slice line, struct err *e)
{
	_autoclose_ int fd = -1;
	_autofree_ char *text = NULL;
	size_t n = 0;

	fd = sys_openat(dirfd, name, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0640);
	if (fd < 0)
		return err_sys(e, "open '%s'", name);
	text = sys_malloc(line.n + 2);
	if (!text)
		return err_sys(e, "allocate a line for '%s'", name);
	if (ends_cut(fd))
		text[n++] = '\n';
	memcpy(text + n, line.p, line.n);
	n += line.n;
	text[n++] = '\n';
	if (sys_write_all(fd, text, n) < 0)
		return err_sys(e, "append to '%s'", name);
	if (sys_fsync(fd) < 0)
		return err_sys(e, "fsync '%s'", name);
	return 0;
}

/* O_NONBLOCK: a FIFO that a target left in a file's place must not hold us. */
static int open_regular(int dirfd, const char *path, size_t max, int *ret_fd, struct stat *st,
			struct err *e)
{
	_autoclose_ int fd = -1;
	int nofollow = dirfd == AT_FDCWD ? 0 : O_NOFOLLOW;

	fd = sys_openat(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | nofollow, 0);
	if (fd < 0)
		return err_sys(e, "open '%s'", path);
	if (fstat(fd, st) < 0)
		return err_sys(e, "stat '%s'", path);
	if (!S_ISREG(st->st_mode))
		return err_set(e, EINVAL, "'%s' is not a regular file", path);
	if ((uint64_t)st->st_size > max)
		return err_set(e, EFBIG, "'%s' has more than %zu bytes", path, max);
	*ret_fd = take_fd(&fd);
	return 0;
}

int fs_read(int dirfd, const char *path, size_t max, char **ret, size_t *ret_n, struct err *e)
{
	_autoclose_ int fd = -1;
	_autofree_ char *text = NULL;
	struct stat st;
	size_t n = 0;
	int r = open_regular(dirfd, path, max, &fd, &st, e);

	if (r < 0)
		return r;
	text = sys_malloc((size_t)st.st_size + 1);
	if (!text)
		return err_sys(e, "allocate %lld bytes for '%s'", (long long)st.st_size, path);
	while (n < (size_t)st.st_size) {
		ssize_t got = sys_read(fd, text + n, (size_t)st.st_size - n);

		if (got < 0)
			return err_sys(e, "read '%s'", path);
		if (got == 0)
			break; /* it was cut meanwhile: what there is */
		n += (size_t)got;
	}
	text[n] = '\0';
	*ret = take_ptr(&text);
	*ret_n = n;
	return 0;
}

int fs_mkdirs(int dirfd, const char *path, mode_t mode, struct err *e)
{
	_autofree_ char *p = sys_strdup(path);
	char *at;

	if (!p)
		return err_sys(e, "copy path '%s'", path);
	for (at = p + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (sys_mkdirat(dirfd, p, mode) < 0 && errno != EEXIST)
			return err_sys(e, "make directory '%s'", p);
		*at = '/';
	}
	if (sys_mkdirat(dirfd, p, mode) < 0 && errno != EEXIST)
		return err_sys(e, "make directory '%s'", path);
	return 0;
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
	struct stat st;
	int r = temp_name(to, tmp, e);

	if (r < 0)
		return r;
	r = open_regular(from_dirfd, from, max, &in, &st, e);
	if (r < 0)
		return r;
	out = sys_openat(to_dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0640);
	if (out < 0)
		return err_sys(e, "create '%s'", tmp);
	r = copy_bytes(in, out, max, from, e);
	if (r == 0)
		r = commit(to_dirfd, out, tmp, to, e);
	if (r < 0)
		(void)unlinkat(to_dirfd, tmp, 0); /* allow: best effort, the error is told */
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
