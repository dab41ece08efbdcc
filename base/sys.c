/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sys.h"

#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int sys_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	if (fault_hit("openat", EMFILE))
		return -1;
	return openat(dirfd, path, flags | O_CLOEXEC, mode);
}

int sys_mkdirat(int dirfd, const char *path, mode_t mode)
{
	return fault_hit("mkdirat", ENOSPC) ? -1 : mkdirat(dirfd, path, mode);
}

int sys_write_all(int fd, const void *buf, size_t n)
{
	const char *p = buf;

	while (n > 0) {
		ssize_t r;

		if (fault_hit("write", ENOSPC))
			return -1;
		r = write(fd, p, n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		p += r;
		n -= (size_t)r;
	}
	return 0;
}

ssize_t sys_read(int fd, void *buf, size_t n)
{
	ssize_t r;

	if (fault_hit("read", EIO))
		return -1;
	do
		r = read(fd, buf, n);
	while (r < 0 && errno == EINTR);
	return r;
}

ssize_t sys_pread(int fd, void *buf, size_t n, off_t at)
{
	ssize_t r;

	if (fault_hit("pread", EIO))
		return -1;
	do
		r = pread(fd, buf, n, at);
	while (r < 0 && errno == EINTR);
	return r;
}

ssize_t sys_pread_all(int fd, void *buf, size_t n, off_t at)
{
	size_t got = 0;

	while (got < n) {
		ssize_t r = sys_pread(fd, (char *)buf + got, n - got, at + (off_t)got);

		if (r < 0)
			return -1;
		if (r == 0)
			break;
		got += (size_t)r;
	}
	return (ssize_t)got;
}

int sys_fsync(int fd)
{
	return fault_hit("fsync", EIO) ? -1 : fsync(fd);
}

int sys_renameat(int dirfd, const char *from, const char *to)
{
	return sys_rename_to(dirfd, from, dirfd, to);
}

int sys_rename_to(int from_dirfd, const char *from, int to_dirfd, const char *to)
{
	return fault_hit("renameat", EIO) ? -1 : renameat(from_dirfd, from, to_dirfd, to);
}

int sys_exchange(int a_dirfd, const char *a, int b_dirfd, const char *b)
{
	return fault_hit("renameat2", EIO) ? -1
					   : renameat2(a_dirfd, a, b_dirfd, b, RENAME_EXCHANGE);
}

int sys_linkat(int from_dirfd, const char *from, int to_dirfd, const char *to)
{
	return fault_hit("linkat", ENOSPC) ? -1 : linkat(from_dirfd, from, to_dirfd, to, 0);
}

int sys_unlinkat(int dirfd, const char *path, int flags)
{
	return fault_hit("unlinkat", EIO) ? -1 : unlinkat(dirfd, path, flags);
}

int sys_ftruncate(int fd, off_t size)
{
	return fault_hit("ftruncate", EIO) ? -1 : ftruncate(fd, size);
}

int sys_syncfs(int fd)
{
	return fault_hit("syncfs", EIO) ? -1 : syncfs(fd);
}

int sys_pipe(int ret_fds[2])
{
	return fault_hit("pipe2", EMFILE) ? -1 : pipe2(ret_fds, O_CLOEXEC);
}

DIR *sys_opendirat(int dirfd, const char *path)
{
	int fd = sys_openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	DIR *d;

	if (fd < 0)
		return NULL;
	d = fdopendir(fd);
	if (!d) {
		int saved = errno;

		close(fd);
		errno = saved;
	}
	return d;
}

const struct dirent *sys_readdir(DIR *d)
{
	const struct dirent *ent;

	do {
		if (fault_hit("readdir", EIO))
			return NULL;
		errno = 0;
		ent = readdir(d);
	} while (ent && (strcmp(ent->d_name, ".") == 0 || strcmp(ent->d_name, "..") == 0));
	return ent;
}
