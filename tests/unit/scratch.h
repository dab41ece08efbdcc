/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

/* A test's own directory, and small files in it.  Include unit.h first. */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SCRATCH_INIT                                          \
	{                                                     \
		.path = "/tmp/fuzzcell-unit.XXXXXX", .fd = -1 \
	}

struct scratch {
	char path[32];
	int fd;
};

static inline void scratch_make(struct scratch *s)
{
	assert_non_null(mkdtemp(s->path));
	s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(s->fd >= 0);
}

static inline void scratch_remove(struct scratch *s)
{
	struct err e = {0};

	close(s->fd);
	if (fs_remove_tree(AT_FDCWD, s->path, &e) < 0)
		fail_msg("%s", e.msg);
}

static inline void scratch_write(int dirfd, const char *name, const char *text)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* Reads the file's text into buf; "" for a missing file. */
static inline const char *scratch_text(int dirfd, const char *name, char *buf, size_t n)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	ssize_t r = fd < 0 ? 0 : read(fd, buf, n - 1);

	buf[r > 0 ? r : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return buf;
}

static inline bool scratch_has(int dirfd, const char *name)
{
	return faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

#endif
