/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TARGETS_ARCHIVES_H
#define TESTS_TARGETS_ARCHIVES_H

/* Archives with hostile content. */
#include "tests/unit/targets/tree.h"

#include "base/digest.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>

/* A directory with archives, and the directory "out" to unpack into. */
struct bench {
	struct tree d;
	int out;
};

static inline void bench_make(struct bench *b)
{
	tree_make(&b->d);
	assert_int_equal(mkdirat(b->d.fd, "out", 0755), 0);
	b->out = openat(b->d.fd, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(b->out >= 0);
}

static inline void bench_done(struct bench *b)
{
	close(b->out);
	tree_done(&b->d);
}

static inline int unpack(struct bench *b, const char *name, struct seeds_result *r, struct err *e)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", b->d.path, name);
	return discover_unpack_seeds(path, b->out, r, e);
}

static inline size_t count_files(const struct bench *b)
{
	DIR *dir = fdopendir(openat(b->out, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	const struct dirent *ent;
	size_t n = 0;

	assert_non_null(dir);
	while ((ent = readdir(dir)))
		n += strcmp(ent->d_name, ".") != 0 && strcmp(ent->d_name, "..") != 0;
	closedir(dir);
	return n;
}

/* True if the file named by the content exists completely, and is world-readable. */
static inline void expect_seed(const struct bench *b, struct slice data)
{
	char hex[DIGEST_SHA1_HEX], got[DIGEST_SHA1_HEX];
	struct stat st;
	struct err e;
	int fd;

	digest_sha1_hex(data, hex);
	fd = openat(b->out, hex, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail_msg("no seed %s", hex);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(digest_sha1_file(fd, 1 << 24, got, &e), 0);
	assert_string_equal(hex, got);
	close(fd);
}

static inline struct archive *start(struct bench *b, const char *name, const char *options)
{
	struct archive *a = archive_write_new();
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", b->d.path, name);
	assert_int_equal(archive_write_set_format_filter_by_ext(a, name), ARCHIVE_OK);
	if (options)
		assert_int_equal(archive_write_set_options(a, options), ARCHIVE_OK);
	if (options && strstr(options, "encryption"))
		assert_int_equal(archive_write_set_passphrase(a, "secret"), ARCHIVE_OK);
	assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
	return a;
}

static inline void add(struct archive *a, const char *name, struct slice data)
{
	struct archive_entry *x = archive_entry_new();

	archive_entry_set_pathname(x, name);
	archive_entry_set_filetype(x, AE_IFREG);
	archive_entry_set_perm(x, 0);
	archive_entry_set_size(x, (la_int64_t)data.n);
	assert_int_equal(archive_write_header(a, x), ARCHIVE_OK);
	if (data.n > 0)
		assert_int_equal(archive_write_data(a, data.p, data.n), (la_ssize_t)data.n);
	archive_entry_free(x);
}

static inline void add_special(struct archive *a, const char *name, unsigned type, const char *link)
{
	struct archive_entry *x = archive_entry_new();

	archive_entry_set_pathname(x, name);
	archive_entry_set_filetype(x, type);
	archive_entry_set_perm(x, 0777);
	archive_entry_set_size(x, 0);
	if (type == AE_IFLNK)
		archive_entry_set_symlink(x, link);
	else if (link)
		archive_entry_set_hardlink(x, link);
	assert_int_equal(archive_write_header(a, x), ARCHIVE_OK);
	archive_entry_free(x);
}

static inline void finish(struct archive *a)
{
	assert_int_equal(archive_write_close(a), ARCHIVE_OK);
	archive_write_free(a);
}

#endif
