/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/corpus/transfer.h"

#include "runner/corpus/workdir.h"

#include <archive.h>
#include <archive_entry.h>

/* --- archives of any names ----------------------------------------------------- */

static struct archive *pack_begin(const char *name)
{
	struct archive *a = archive_write_new();

	assert_int_equal(archive_write_set_format_filter_by_ext(a, name), ARCHIVE_OK);
	assert_int_equal(archive_write_open_filename(a, path_of(name)), ARCHIVE_OK);
	return a;
}

static void pack_put(struct archive *a, const char *name, const char *content)
{
	struct archive_entry *x = archive_entry_new();

	archive_entry_set_pathname(x, name);
	archive_entry_set_filetype(x, AE_IFREG);
	archive_entry_set_perm(x, 0);
	archive_entry_set_size(x, (la_int64_t)strlen(content));
	assert_true(archive_write_header(a, x) >= ARCHIVE_WARN); /* a warning for odd names */
	if (*content)
		assert_int_equal(archive_write_data(a, content, strlen(content)),
				 (la_ssize_t)strlen(content));
	archive_entry_free(x);
}

static void pack_end(struct archive *a)
{
	assert_int_equal(archive_write_close(a), ARCHIVE_OK);
	archive_write_free(a);
}

/* "<before><sha1 of content>" */
static const char *laid_out(const char *before, const char *content)
{
	static char name[400];

	snprintf(name, sizeof(name), "%s%s", before, name_of(content));
	return name;
}

/* --- import ---------------------------------------------------------------------- */

static void test_files(void **state)
{
	struct import_sum sum;

	(void)state;
	scratch_write(dir.fd, "any name\n", "content");
	scratch_write(dir.fd, "empty", "");
	sum = import("any name\n", "png");
	assert_int_equal(sum.files, 1);
	assert_int_equal(sum.bytes, 7);
	assert_true(holds(s->dirfd, in_corpus("png", "content"), "content"));
	sum = import("any name\n", "png");
	assert_int_equal(sum.files + sum.bytes, 0);
	assert_int_equal(sum.known, 1);
	sum = import("empty", "png");
	assert_int_equal(sum.skipped, 1);
	assert_string_equal(sum.why, "an empty file is no input");
	assert_int_equal(entries(s->dirfd, "corpus/png"), 1);
}

static void test_directory(void **state)
{
	struct import_sum sum;
	char secret[64];
	int in;

	(void)state;
	scratch_write(dir.fd, "secret", "secret");
	snprintf(secret, sizeof(secret), "%s/secret", dir.path);
	in = make_dir_at(dir.fd, "in/sub");
	scratch_write(in, "archive.zip", "an input like any other");
	scratch_write(in, "empty", "");
	odd_entries(in, "", secret, (off_t)WORKDIR_INPUT_MAX + 1);
	scratch_write(dir.fd, "in/one", "one");
	sum = import("in", "png");
	assert_int_equal(sum.files, 2);
	assert_int_equal(sum.skipped, ODD_ENTRIES);
	assert_non_null(strstr(sum.why, "not a regular file"));
	assert_true(holds(s->dirfd, in_corpus("png", "an input like any other"),
			  "an input like any other"));
	assert_false(scratch_has(s->dirfd, in_corpus("png", "secret")));
	close(in);
}

/* An entry named after a target belongs to the target. */
static void test_seed_corpus(void **state)
{
	struct archive *a;

	(void)state;
	a = pack_begin("png_fuzzer_seed_corpus.zip");
	pack_put(a, "x/a", "a");
	pack_put(a, "../b", "b");
	pack_end(a);
	close(make_dir_at(dir.fd, "css@Suite.Case_seed_corpus"));
	scratch_write(dir.fd, "css@Suite.Case_seed_corpus/c", "c");
	assert_int_equal(import("png_fuzzer_seed_corpus.zip", NULL).files, 2);
	assert_int_equal(import("css@Suite.Case_seed_corpus/", NULL).files, 1);
	assert_int_equal(entries(s->dirfd, "corpus"), 2);
	assert_true(holds(s->dirfd, in_corpus("png_fuzzer", "b"), "b"));
	assert_true(holds(s->dirfd, in_corpus("css@Suite.Case", "c"), "c"));
	/* With --target the entries go to that target. */
	assert_int_equal(import("png_fuzzer_seed_corpus.zip", "other").files, 2);
	assert_int_equal(entries(s->dirfd, "corpus/other"), 2);
}

static void test_layout(void **state)
{
	struct import_sum sum;
	struct archive *a;
	char name[160];

	(void)state;
	a = pack_begin("all.tar.gz");
	pack_put(a, laid_out("png/", "a"), "a");
	pack_put(a, laid_out("./backup/corpus/css/", "b"), "b");
	pack_put(a, laid_out("png/", "c"), "c");
	pack_put(a, laid_out("png/", "named otherwise"), "d");
	pack_put(a, "png/readme.txt", "no input of a corpus");
	pack_end(a);
	sum = import("all.tar.gz", NULL);
	assert_int_equal(sum.files, 4);
	assert_int_equal(sum.skipped, 1);
	assert_string_equal(
	    sum.why, "entry 'png/readme.txt': not <target>/<sha1>; give the target with --target");
	assert_int_equal(entries(s->dirfd, "corpus"), 2);
	assert_int_equal(entries(s->dirfd, "corpus/png"), 3);
	assert_true(holds(s->dirfd, in_corpus("png", "d"), "d")); /* by its content, always */
	assert_true(holds(s->dirfd, in_corpus("css", "b"), "b"));

	close(make_dir_at(dir.fd, "all/xml"));
	snprintf(name, sizeof(name), "all/xml/%s", name_of("e"));
	scratch_write(dir.fd, name, "e");
	scratch_write(dir.fd, "all/xml/readme", "readme");
	scratch_write(dir.fd, "all/file", "file");
	assert_int_equal(symlinkat("xml", dir.fd, "all/link"), 0);
	sum = import("all", NULL);
	assert_int_equal(sum.files, 1);
	assert_int_equal(sum.skipped, 3);
	assert_int_equal(entries(s->dirfd, "corpus/xml"), 1);
	assert_int_equal(entries(s->dirfd, "corpus"), 3);
}

/* Every name in an archive leads only into the corpus of a target. */
static void test_hostile(void **state)
{
	static const char *const before[] = {
	    "../",
	    "../../../../tmp/../",
	    "/",
	    "./",
	    "a/../",
	    ".hidden/",
	    "-rf/",
	    "with\nnewline/",
	    "with\x1b[31mcolour/",
	    "\xff\xfe/",
	    "nul/ /",
	    "//",
	    "",
	    "a b/",
	    "$(reboot)/",
	    "t\\/",
	};
	struct import_sum sum;
	struct archive *a = pack_begin("h.tar");
	char longest[300];

	(void)state;
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		pack_put(a, laid_out(before[i], "x"), "x");
	memset(longest, 'n', 129);
	memcpy(longest + 129, "/", 2);
	pack_put(a, laid_out(longest, "x"), "x");
	pack_put(a, laid_out("/etc/good/", "y"), "y"); /* corpus/good */
	pack_put(a, laid_out("../../good/", "z"), "z");
	pack_end(a);
	sum = import("h.tar", NULL);
	assert_int_equal(sum.files, 2);
	assert_int_equal(sum.skipped, sizeof(before) / sizeof(before[0]) + 1);
	assert_int_equal(entries(s->dirfd, "corpus"), 1);
	assert_int_equal(entries(s->dirfd, "corpus/good"), 2);
	assert_int_equal(entries(dir.fd, "."), 2);
}

static void test_many_targets(void **state)
{
	struct import_sum sum = {0};
	struct archive *a = pack_begin("m.tar");
	struct err e;
	char before[32];

	(void)state;
	for (unsigned i = 0; i < TRANSFER_MAX_TARGETS + 10; i++) {
		snprintf(before, sizeof(before), "t%u/", i);
		pack_put(a, laid_out(before, "x"), "x");
	}
	pack_end(a);
	assert_int_equal(import_path(s, path_of("m.tar"), NULL, &sum, &e), -E2BIG);
	assert_int_equal(sum.files, TRANSFER_MAX_TARGETS);
	assert_int_equal(entries(s->dirfd, "corpus"), TRANSFER_MAX_TARGETS);
}

static void test_refused(void **state)
{
	struct import_sum sum = {0};
	struct err e;

	(void)state;
	scratch_write(dir.fd, "file", "file");
	scratch_write(dir.fd, "cut.zip", "PK\003\004 this is no archive");
	assert_int_equal(mkfifoat(dir.fd, "fifo", 0600), 0);
	assert_int_equal(import_path(s, path_of("file"), NULL, &sum, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "--target"));
	assert_int_equal(import_path(s, path_of("file"), "../x", &sum, &e), -EINVAL);
	assert_int_equal(import_path(s, path_of("file"), "", &sum, &e), -EINVAL);
	assert_int_equal(import_path(s, path_of("none"), "png", &sum, &e), -ENOENT);
	assert_int_equal(import_path(s, path_of("cut.zip"), "png", &sum, &e), -EBADMSG);
	assert_non_null(strstr(e.msg, "cut.zip"));
	assert_int_equal(sum.files + sum.known + sum.skipped, 0);
	assert_int_equal(import_path(s, path_of("fifo"), "png", &sum, &e), 0);
	assert_int_equal(sum.skipped, 1);
}

static bool armed(unsigned nth)
{
	while (nth-- > 0)
		if (fault_hit("nothing", 0))
			return true;
	return false;
}

/* A full disk at any call is reported.  Existing files are complete, and a second call adds the
 * rest. */
static void import_faults(const char *name, const char *target)
{
	unsigned reported = 0, nth;

	for (nth = 1;; nth++) {
		struct import_sum sum = {0};
		struct err e = {0};
		bool met;
		int r;

		fault_arm(nth, FAULT_FAIL);
		r = import_path(s, path_of(name), target, &sum, &e);
		met = !armed(nth);
		fault_arm(0, FAULT_FAIL);
		if (r < 0) {
			assert_true(*e.msg);
			assert_int_equal(entries(s->dirfd, "corpus/png"), sum.files);
			reported++;
			(void)import(name, target);
		}
		assert_true(holds(s->dirfd, in_corpus("png", "a"), "a"));
		assert_true(holds(s->dirfd, in_corpus("png", "b"), "b"));
		assert_int_equal(entries(s->dirfd, "corpus/png"), 2);
		assert_int_equal(fs_remove_tree(s->dirfd, "corpus/png", &e), 0);
		if (!met)
			break;
	}
	assert_true(reported > 8);
}

static void test_import_faults(void **state)
{
	struct archive *a = pack_begin("f.tar.gz");
	char name[160];

	(void)state;
	pack_put(a, laid_out("png/", "a"), "a");
	pack_put(a, laid_out("png/", "b"), "b");
	pack_end(a);
	import_faults("f.tar.gz", NULL);
	import_faults("f.tar.gz", "png");
	close(make_dir_at(dir.fd, "f/png"));
	snprintf(name, sizeof(name), "f/png/%s", name_of("a"));
	scratch_write(dir.fd, name, "a");
	snprintf(name, sizeof(name), "f/png/%s", name_of("b"));
	scratch_write(dir.fd, name, "b");
	import_faults("f", NULL);
	import_faults("f", "png");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_files),	CASE(test_directory),	 CASE(test_seed_corpus), CASE(test_layout),
    CASE(test_hostile), CASE(test_many_targets), CASE(test_refused),	 CASE(test_import_faults),
};

UNIT_MAIN(tests)
