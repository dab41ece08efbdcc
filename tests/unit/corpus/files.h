/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CORPUS_FILES_H
#define TESTS_UNIT_CORPUS_FILES_H

/* Files named by content, and every other kind of file that a target can leave in a directory.
 * Include unit.h first. */
#include "base/digest.h"
#include "tests/unit/scratch.h"

#include <dirent.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The name of this content in a store. */
static inline const char *name_of(const char *content)
{
	static char hex[DIGEST_SHA1_HEX];

	digest_sha1_hex(slice_of(content), hex);
	return hex;
}

/* "<kind>-<name>" */
static inline const char *artifact_of(const char *kind, const char *content)
{
	static char name[64];

	snprintf(name, sizeof(name), "%s-%s", kind, name_of(content));
	return name;
}

static inline bool holds(int dirfd, const char *name, const char *content)
{
	char got[256];

	return scratch_has(dirfd, name) &&
	       strcmp(scratch_text(dirfd, name, got, sizeof(got)), content) == 0;
}

static inline int open_dir_at(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static inline int make_dir_at(int dirfd, const char *path)
{
	struct err e;

	assert_int_equal(fs_mkdirs(dirfd, path, 0755, &e), 0);
	return open_dir_at(dirfd, path);
}

/* The number of entries, including names with a leading dot; 0 for a missing directory. */
static inline unsigned entries(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *ent;
	unsigned n = 0;
	DIR *d;

	if (fd < 0)
		return 0;
	d = fdopendir(fd);
	assert_non_null(d);
	while ((ent = readdir(d)))
		n += strcmp(ent->d_name, ".") != 0 && strcmp(ent->d_name, "..") != 0;
	closedir(d);
	return n;
}

static inline void sparse_file(int dirfd, const char *name, off_t size)
{
	scratch_write(dirfd, name, "");
	int fd = openat(dirfd, name, O_WRONLY | O_CLOEXEC);

	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
}

/* Makes files that no collection may follow, wait for or copy.  They are named as artifacts of this
 * kind unless it is "".  secret: a path outside, the target of a link. */
enum { ODD_ENTRIES = 7 };
static inline const char *odd_name(const char *kind, const char *what)
{
	return *kind ? artifact_of(kind, what) : what;
}

static inline void odd_entries(int dirfd, const char *kind, const char *secret, off_t too_large)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(mkfifoat(dirfd, odd_name(kind, "fifo"), 0600), 0);
	assert_int_equal(symlinkat(secret, dirfd, odd_name(kind, "link")), 0);
	assert_int_equal(symlinkat("nowhere", dirfd, odd_name(kind, "dangling")), 0);
	assert_int_equal(symlinkat(odd_name(kind, "self"), dirfd, odd_name(kind, "self")), 0);
	sparse_file(dirfd, odd_name(kind, "large"), too_large);
	sparse_file(dirfd, odd_name(kind, "huge"), (off_t)1 << 40);
	snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%s", dirfd,
		 odd_name(kind, "socket"));
	assert_true(s >= 0);
	assert_int_equal(bind(s, (const struct sockaddr *)&at, sizeof(at)), 0);
	close(s);
}

#endif
