/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/targets/archives.h"

#include "base/fault.h"

/* The same entries in each format: names that would leave the directory, links, a device, two files
 * with one content, an empty file. */
static void test_formats(void **state)
{
	static const char *const names[] = {"s.zip",	 "s.tar", "s.tar.gz", "s.tgz",
					    "s.tar.bz2", "s.tbz", "s.tar.xz", "s.tar.lzma"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct seeds_result r;
		struct bench b;
		struct archive *a;
		struct err e;

		bench_make(&b);
		/* .tbz and similar names do not matter: libarchive detects the format from the
		 * content. */
		a = start(&b,
			  strcmp(names[i], "s.tbz") == 0	? "s.tar.bz2"
			  : strcmp(names[i], "s.tar.lzma") == 0 ? "s.tar.xz"
								: names[i],
			  NULL);
		add_special(a, "dir/", AE_IFDIR, NULL);
		add(a, "dir/one", SLICE("one"));
		add(a, "../../two", SLICE("two"));
		add(a, "/tmp/fuzzcell-three", SLICE("three\0with more"));
		add(a, "again", SLICE("one"));
		add(a, "empty", SLICE(""));
		add_special(a, "link", AE_IFLNK, "/etc/passwd");
		if (i > 0) {
			add_special(a, "hard", AE_IFREG, "dir/one");
			add_special(a, "fifo", AE_IFIFO, NULL);
			add_special(a, "dev", AE_IFCHR, NULL);
		}
		finish(a);
		if (strcmp(names[i], "s.tbz") == 0)
			assert_int_equal(renameat(b.d.fd, "s.tar.bz2", b.d.fd, names[i]), 0);
		if (strcmp(names[i], "s.tar.lzma") == 0)
			assert_int_equal(renameat(b.d.fd, "s.tar.xz", b.d.fd, names[i]), 0);
		/* The second call finds all files. */
		for (unsigned k = 0; k < 2; k++) {
			if (unpack(&b, names[i], &r, &e) < 0)
				fail_msg("%s: %s", names[i], e.msg);
			assert_int_equal(r.files, 4);
			assert_int_equal(r.bytes, 3 + 3 + 15 + 3);
			assert_int_equal(r.skipped, 0);
			assert_string_equal(r.why, "");
			assert_int_equal(count_files(&b), 3);
		}
		expect_seed(&b, SLICE("one"));
		expect_seed(&b, SLICE("two"));
		expect_seed(&b, SLICE("three\0with more"));
		assert_int_equal(access("/tmp/fuzzcell-three", F_OK), -1);
		bench_done(&b);
	}
}

static void test_too_large(void **state)
{
	_autofree_ char *big = calloc(1, SEEDS_MAX_FILE + 2);
	struct seeds_result r;
	struct bench b;
	struct archive *a;
	struct err e;

	(void)state;
	assert_non_null(big);
	bench_make(&b);
	a = start(&b, "s.zip", NULL);
	add(a, "a\nlarger", (struct slice){big, SEEDS_MAX_FILE + 1});
	add(a, "exact", (struct slice){big, SEEDS_MAX_FILE});
	add(a, "after", SLICE("after"));
	finish(a);
	assert_int_equal(unpack(&b, "s.zip", &r, &e), 0);
	assert_int_equal(r.files, 2);
	assert_int_equal(r.skipped, 1);
	assert_string_equal(r.why, "entry 'a\\x0alarger' has more than 5242880 bytes");
	assert_int_equal(count_files(&b), 2);
	expect_seed(&b, (struct slice){big, SEEDS_MAX_FILE});
	expect_seed(&b, SLICE("after"));
	bench_done(&b);
}

/* One 512-byte header of GNU tar's old sparse format: a file of 5 GiB with only its last block
 * stored. */
static void sparse_header(char h[512])
{
	unsigned sum = 0;

	memset(h, 0, 512);
	memcpy(h, "bomb", 4);
	memcpy(h + 100, "0000644", 7);
	memcpy(h + 124, "00000001000", 11); /* bytes stored */
	memcpy(h + 136, "00000000000", 11);
	h[156] = 'S';
	memcpy(h + 257, "ustar  ", 7);
	memcpy(h + 386, "47777777000", 11); /* the block's offset */
	memcpy(h + 398, "00000001000", 11);
	memcpy(h + 483, "50000000000", 11); /* the file's size */
	memset(h + 148, ' ', 8);
	for (size_t i = 0; i < 512; i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum);
}

/* 5 GiB of zeros in a kilobyte: unpacking ends, and earlier entries stay. */
static void test_bomb(void **state)
{
	_autofree_ char *p = NULL;
	struct seeds_result r;
	struct bench b;
	struct archive *a;
	struct err e;
	size_t n;

	(void)state;
	bench_make(&b);
	a = start(&b, "s.tar", NULL);
	add(a, "first", SLICE("first"));
	finish(a);
	assert_int_equal(fs_read(b.d.fd, "s.tar", 1 << 20, &p, &n, &e), 0);
	assert_true(n >= 1024 + 1024);
	sparse_header(p + 1024);
	memset(p + 1536, 'x', 512);
	tree_bytes(&b.d, "s.tar", (struct slice){p, n}, 0644);
	if (unpack(&b, "s.tar", &r, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(r.files, 1);
	assert_int_equal(r.skipped, 1);
	assert_string_equal(r.why, "more than 4 GiB uncompressed: the rest is left out");
	expect_seed(&b, SLICE("first"));
	assert_int_equal(count_files(&b), 1);
	bench_done(&b);
}

static void test_encrypted(void **state)
{
	struct seeds_result r;
	struct bench b;
	struct archive *a;
	struct err e;

	(void)state;
	bench_make(&b);
	a = start(&b, "s.zip", "zip:encryption=traditional");
	add(a, "hidden", SLICE("some text to hide"));
	add(a, "hidden2", SLICE("some more"));
	finish(a);
	assert_int_equal(unpack(&b, "s.zip", &r, &e), 0);
	assert_int_equal(r.files, 0);
	assert_int_equal(r.skipped, 2);
	assert_memory_equal(r.why, "entry 'hidden': ", 16);
	assert_int_equal(count_files(&b), 0);
	bench_done(&b);
}

/* Three stored (uncompressed) entries; the caller then damages bytes of the file. */
static size_t make_plain(struct bench *b, const char *name, char **ret)
{
	struct archive *a = start(b, name, strstr(name, ".zip") ? "zip:compression=store" : NULL);
	struct err e;
	size_t n;

	add(a, "first", SLICE("the first content"));
	add(a, "second", SLICE("the second content"));
	add(a, "third", SLICE("the third content"));
	finish(a);
	assert_int_equal(fs_read(b->d.fd, name, 1 << 20, ret, &n, &e), 0);
	return n;
}

static void test_bad_checksum(void **state)
{
	_autofree_ char *p = NULL;
	struct seeds_result r;
	struct bench b;
	struct err e;
	char *at;
	size_t n;

	(void)state;
	bench_make(&b);
	n = make_plain(&b, "s.zip", &p);
	at = memmem(p, n, "the second content", 18);
	assert_non_null(at);
	*at = 'T';
	tree_bytes(&b.d, "s.zip", (struct slice){p, n}, 0644);
	assert_int_equal(unpack(&b, "s.zip", &r, &e), 0);
	assert_int_equal(r.files, 2);
	assert_int_equal(r.skipped, 1);
	assert_memory_equal(r.why, "entry 'second': ", 16);
	assert_int_equal(count_files(&b), 2);
	expect_seed(&b, SLICE("the third content"));
	bench_done(&b);
}

/* An archive that is cut anywhere: an error with the archive's name, or the complete entries; never
 * a cut file. */
static void test_cut(void **state)
{
	static const char *const names[] = {"s.zip", "s.tar", "s.tar.gz"};
	unsigned errors = 0;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		_autofree_ char *p = NULL;
		struct bench b;
		size_t n;

		bench_make(&b);
		n = make_plain(&b, names[i], &p);
		for (size_t cut = 0; cut < n; cut += 1 + n / 100) {
			struct seeds_result r;
			struct err e;

			tree_bytes(&b.d, names[i], (struct slice){p, cut}, 0644);
			if (unpack(&b, names[i], &r, &e) < 0) {
				errors++;
				assert_int_equal(e.code, EBADMSG);
				assert_non_null(strstr(e.msg, names[i]));
			}
			assert_true(r.files <= 3);
			assert_true(count_files(&b) <= 3);
		}
		bench_done(&b);
	}
	assert_true(errors > 50);
}

static void test_partial(void **state)
{
	_autofree_ char *p = NULL;
	struct seeds_result r;
	struct bench b;
	struct err e;
	size_t n;

	(void)state;
	bench_make(&b);
	n = make_plain(&b, "s.tar", &p);
	assert_true(n > 1024 + 512 + 10);
	tree_bytes(&b.d, "s.tar", (struct slice){p, 1024 + 512 + 10}, 0644); /* in "second" */
	assert_int_equal(unpack(&b, "s.tar", &r, &e), -EBADMSG);
	assert_non_null(strstr(e.msg, "/s.tar: entry 'second': "));
	assert_int_equal(r.files, 1);
	assert_int_equal(count_files(&b), 1);
	expect_seed(&b, SLICE("the first content"));
	bench_done(&b);
}

static void test_resume(void **state)
{
	_autofree_ char *p = NULL;
	char hex[DIGEST_SHA1_HEX];
	struct seeds_result r;
	struct bench b;
	struct err e;
	int fd;

	(void)state;
	bench_make(&b);
	(void)make_plain(&b, "s.zip", &p);
	/* The remains of a machine crash, and of a killed call. */
	digest_sha1_hex(SLICE("the second content"), hex);
	fd = openat(b.out, hex, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	fd = openat(b.out, ".seed.new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "xx", 2), 2);
	close(fd);
	assert_int_equal(unpack(&b, "s.zip", &r, &e), 0);
	assert_int_equal(r.files, 3);
	assert_int_equal(count_files(&b), 3);
	expect_seed(&b, SLICE("the second content"));
	bench_done(&b);
}

static void test_no_archive(void **state)
{
	struct seeds_result r = {.files = 77};
	struct bench b;
	struct err e;

	(void)state;
	bench_make(&b);
	tree_file(&b.d, "text.zip", "this is no archive\n");
	assert_int_equal(mkfifoat(b.d.fd, "fifo.zip", 0644), 0);
	assert_int_equal(unpack(&b, "text.zip", &r, &e), -EBADMSG);
	assert_non_null(strstr(e.msg, "/text.zip: "));
	assert_int_equal(r.files, 0);
	assert_int_equal(unpack(&b, "fifo.zip", &r, &e), -EINVAL);
	assert_int_equal(unpack(&b, "none.zip", &r, &e), -ENOENT);
	assert_int_equal(unpack(&b, "out", &r, &e), -EINVAL);
	assert_int_equal(count_files(&b), 0);
	bench_done(&b);
}

static void test_faults(void **state)
{
	_autofree_ char *p = NULL;
	struct bench b;
	unsigned nth = 1;

	(void)state;
	bench_make(&b);
	(void)make_plain(&b, "s.zip", &p);
	for (;; nth++) {
		struct seeds_result r;
		struct err e = {0};
		int res;

		fault_arm(nth, FAULT_FAIL);
		res = unpack(&b, "s.zip", &r, &e);
		fault_arm(0, FAULT_FAIL);
		assert_int_equal(faccessat(b.out, ".seed.new", F_OK, 0), -1);
		if (res == 0)
			break;
		assert_true(e.msg[0]);
		assert_true(nth < 100);
	}
	assert_true(nth > 5);
	assert_int_equal(count_files(&b), 3);
	bench_done(&b);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_formats),	 cmocka_unit_test(test_too_large),
    cmocka_unit_test(test_bomb),	 cmocka_unit_test(test_encrypted),
    cmocka_unit_test(test_bad_checksum), cmocka_unit_test(test_cut),
    cmocka_unit_test(test_partial),	 cmocka_unit_test(test_resume),
    cmocka_unit_test(test_no_archive),	 cmocka_unit_test(test_faults),
};

UNIT_MAIN(tests)
