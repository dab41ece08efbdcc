/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fault.h"
#include "base/pack.h"
#include "tests/unit/each.h"

#include <archive.h>
#include <archive_entry.h>

static int create(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

enum { LARGE = 200000 }; /* more than one read or write */

static char large[LARGE];

/* Three entries: a script, an empty file, a large file that does not compress. */
static int write_all(int dirfd, const char *name, struct err *e)
{
	size_t len = strlen(name);
	int out = create(dirfd, name), in = openat(dirfd, "large", O_RDONLY | O_CLOEXEC);
	struct pack *p = NULL;
	int r;

	assert_true(in >= 0);
	if (len > 4 && strcmp(name + len - 4, ".zip") == 0)
		r = pack_open_zip(out, &p, e);
	else
		r = pack_open(out, &p, e);
	if (r == 0)
		r = pack_add(p, "d/run.sh", 0755, SLICE("#!/bin/sh\n"), e);
	if (r == 0)
		r = pack_add(p, "d/nothing", 0644, SLICE(""), e);
	if (r == 0)
		r = pack_add_file(p, "d/large", 0644, in, e);
	if (r == 0)
		r = pack_close(p, e);
	pack_free(p);
	close(in);
	close(out);
	return r;
}

static void make_large(int dirfd)
{
	unsigned x = 1;
	int fd = create(dirfd, "large");

	for (size_t i = 0; i < sizeof(large); i++) {
		x = x * 1103515245 + 12345;
		large[i] = (char)(x >> 16);
	}
	assert_int_equal(write(fd, large, sizeof(large)), (ssize_t)sizeof(large));
	close(fd);
}

static void expect(struct archive *a, const char *name, mode_t mode, struct slice want)
{
	static char got[LARGE + 1];
	struct archive_entry *entry;

	assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_OK);
	assert_string_equal(archive_entry_pathname(entry), name);
	assert_int_equal(archive_entry_filetype(entry), AE_IFREG);
	assert_int_equal(archive_entry_perm(entry), mode);
	assert_int_equal(archive_entry_uid(entry), 0);
	assert_int_equal(archive_entry_mtime(entry), 0);
	assert_int_equal(archive_read_data(a, got, sizeof(got)), (la_ssize_t)want.n);
	assert_memory_equal(got, want.p, want.n);
}

static void round_trip(const struct scratch *s, const char *name)
{
	struct archive *a = archive_read_new();
	struct archive_entry *entry;
	struct err e;
	int fd;

	make_large(s->fd);
	assert_int_equal(write_all(s->fd, name, &e), 0);
	fd = openat(s->fd, name, O_RDONLY | O_CLOEXEC);
	assert_int_equal(archive_read_support_filter_gzip(a), ARCHIVE_OK);
	assert_int_equal(archive_read_support_format_tar(a), ARCHIVE_OK);
	assert_int_equal(archive_read_support_format_zip(a), ARCHIVE_OK);
	assert_int_equal(archive_read_open_fd(a, fd, 10240), ARCHIVE_OK);
	expect(a, "d/run.sh", 0755, SLICE("#!/bin/sh\n"));
	expect(a, "d/nothing", 0644, SLICE(""));
	expect(a, "d/large", 0644, (struct slice){large, sizeof(large)});
	assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_EOF);
	archive_read_free(a);
	close(fd);
}

static void test_round(void **state)
{
	round_trip(*state, "a.tar.gz");
	round_trip(*state, "a.zip");
}

static ssize_t read_back(int dirfd, const char *name, char *to, size_t n)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	ssize_t got = read(fd, to, n);

	close(fd);
	return got;
}

/* Archives have no time, owner or host name: the same content is the same archive, in every time
 * zone (a .zip has local times). */
static void test_equal(void **state)
{
	static const char *const names[2][2] = {{"one.zip", "two.zip"}, {"one", "two"}};
	static char one[2 * LARGE], two[2 * LARGE];
	struct scratch *s = *state;
	struct err e;
	ssize_t n;

	make_large(s->fd);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(setenv("TZ", "Pacific/Kiritimati", 1), 0);
		assert_int_equal(write_all(s->fd, names[i][0], &e), 0);
		assert_int_equal(setenv("TZ", "HST+10", 1), 0);
		assert_int_equal(write_all(s->fd, names[i][1], &e), 0);
		assert_int_equal(unsetenv("TZ"), 0);
		n = read_back(s->fd, names[i][0], one, sizeof(one));
		assert_true(n > LARGE);
		assert_int_equal(read_back(s->fd, names[i][1], two, sizeof(two)), n);
		assert_memory_equal(one, two, (size_t)n);
	}
	assert_memory_equal(one + 4, "\0\0\0", 4); /* gzip's time: RFC 1952, 2.3.1 */
}

static void test_refused(void **state)
{
	static char name[PACK_NAME_MAX + 2];
	const char *const bad[] = {"", "/etc/passwd", name};
	struct scratch *s = *state;
	struct err e;

	memset(name, 'n', sizeof(name) - 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = create(s->fd, "out");
		struct pack *p;

		assert_int_equal(pack_open(fd, &p, &e), 0);
		assert_int_equal(pack_add(p, bad[i], 0644, SLICE("x"), &e), -EINVAL);
		pack_free(p);
		assert_int_equal(pack_open(fd, &p, &e), 0);
		assert_int_equal(pack_add_file(p, "dir", 0644, s->fd, &e), -EINVAL);
		pack_free(p);
		close(fd);
	}
}

/* A full disk at any write, a file that cannot be read: an error, never a short archive. */
static void fails(const struct scratch *s, const char *name)
{
	unsigned failed = 0;
	struct err e;

	make_large(s->fd);
	for (unsigned nth = 1;; nth++) {
		int r;

		fault_arm(nth, FAULT_FAIL);
		r = write_all(s->fd, name, &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0)
			break;
		assert_true(r < 0);
		assert_true(*e.msg);
		failed++;
	}
	/* Four reads, and at least one write per 20 KiB. */
	assert_true(failed >= 10);
}

static void test_faults(void **state)
{
	fails(*state, "out");
	fails(*state, "out.zip");
}

static const struct CMUnitTest tests[] = {
    CASE(test_round),
    CASE(test_equal),
    CASE(test_refused),
    CASE(test_faults),
};

UNIT_MAIN(tests)
