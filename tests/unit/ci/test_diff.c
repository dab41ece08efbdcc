/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/scratch_dir.h"

#include "base/cleanup.h"
#include "runner/ci/affected.h"

static struct diff d;

static int diff_end(void **state)
{
	(void)state;
	diff_done(&d);
	return 0;
}

static void parse(const char *text)
{
	struct err e = {0};

	diff_done(&d);
	if (diff_parse(slice_of(text), &d, &e) < 0)
		fail_msg("%s", e.msg);
}

static bool touches(const char *path, uint32_t line)
{
	const struct diff_file *f = diff_find(&d, path);

	if (!f)
		fail_msg("no '%s'", path);
	return diff_touches(f, line);
}

static void test_hunks(void **state)
{
	(void)state;
	parse("diff --git src/a.c src/a.c\nindex 1..2 100644\n--- src/a.c\n+++ src/a.c\n"
	      "@@ -3 +3 @@ int f()\n-old\n+new\n"
	      "@@ -10,2 +10,0 @@\n--- a line that begins so\n-more\n"
	      "@@ -20,0 +19,2 @@\n+++ added\n+twice\n"
	      "diff --git b.c b.c\nnew file mode 100644\n--- /dev/null\n+++ b.c\n@@ -0,0 +1 "
	      "@@\n+x\n");
	assert_int_equal(d.n, 2);
	assert_true(touches("src/a.c", 3));
	assert_false(touches("src/a.c", 4));
	assert_true(touches("src/a.c", 10));
	assert_true(touches("src/a.c", 11));
	assert_false(touches("src/a.c", 12));
	assert_true(touches("src/a.c", 20)); /* something was added behind it */
	assert_true(touches("src/a.c", 21));
	assert_false(touches("src/a.c", 19));
	assert_true(diff_find(&d, "b.c")->added);
	assert_false(diff_find(&d, "src/a.c")->added);
	assert_null(diff_find(&d, "c.c"));
}

/* A file that is renamed, removed, only gets another mode, or is no text. */
static void test_files(void **state)
{
	(void)state;
	parse("diff --git old.c new.c\nsimilarity index 90%\nrename from old.c\nrename to new.c\n"
	      "--- old.c\n+++ new.c\n@@ -1 +1 @@\n-a\n+b\n"
	      "diff --git same.c moved.c\nsimilarity index 100%\nrename from same.c\n"
	      "rename to moved.c\n"
	      "diff --git gone.c gone.c\ndeleted file mode 100644\n--- gone.c\n+++ /dev/null\n"
	      "@@ -1,2 +0,0 @@\n-a\n-b\n\\ No newline at end of file\n"
	      "diff --git mode.sh mode.sh\nold mode 100644\nnew mode 100755\n"
	      "diff --git x.bin x.bin\nindex 1..2\nBinary files x.bin and x.bin differ\n");
	assert_true(touches("old.c", 1));
	assert_true(touches("gone.c", 2));
	assert_non_null(diff_find(&d, "same.c"));
	assert_int_equal(diff_find(&d, "same.c")->n, 0);
	assert_int_equal(d.n, 3);
}

static void test_names(void **state)
{
	(void)state;
	parse(
	    "diff --git a b\n--- with blanks.c\t\n+++ with blanks.c\t\n@@ -1 +1 @@\n-a\n+b\n"
	    "diff --git a b\n--- \"\\303\\244 \\\"q\\\"\\t.c\"\n+++ \"x\"\n@@ -7 +7 @@\n-a\n+b\n");
	assert_true(touches("with blanks.c", 1));
	assert_true(touches("\xc3\xa4 \"q\"\t.c", 7));
}

static void test_hostile(void **state)
{
	static const char *const bad[] = {
	    "@@ -1 +1 @@\n",
	    "--- a\n+++ a\n@@ -x +1 @@\n",
	    "--- a\n+++ a\n@@ -4294967295,2 +1 @@\n",
	    "--- a\n+++ a\n@@ -1 1 @@\n",
	    "+++ /dev/null\n",
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(diff_parse(slice_of(bad[i]), &d, &e) < 0);
	parse("");
	assert_int_equal(d.n, 0);
	parse("noise\n\n--- \n--- \"\\9\"\n--- \"unended\n+++ a\n");
	assert_int_equal(d.n, 1);
}

static void test_affected(void **state)
{
	_autolcov_ struct lcov coverage = {0};
	struct sources s = {.dirfd = -1};
	struct err e = {0};

	(void)state;
	assert_int_equal(begin(NULL), 0);
	assert_int_equal(mkdirat(dir.fd, "src", 0755), 0);
	scratch_write(dir.fd, "src/a.c", "x");
	scratch_write(dir.fd, "src/b.c", "x");
	s.dir = dir.path;
	s.dirfd = dir.fd;
	assert_int_equal(
	    lcov_parse(slice_of("SF:/elsewhere/src/a.c\nDA:3,5\nDA:4,0\nDA:10,1\nLF:3\nLH:2\n"
				"end_of_record\nSF:/elsewhere/src/b.c\nDA:1,0\nLF:1\nLH:0\n"
				"end_of_record\n"),
		       &coverage, &e),
	    0);
	parse("--- src/a.c\n+++ src/a.c\n@@ -3,2 +3 @@\n-a\n-b\n+c\n");
	assert_int_equal(affected_lines(&d, &coverage, &s, true), 1);
	assert_int_equal(affected_lines(&d, &coverage, &s, false), 1);
	parse("--- src/a.c\n+++ src/a.c\n@@ -4 +4 @@\n-b\n+c\n"); /* it is not reached */
	assert_int_equal(affected_lines(&d, &coverage, &s, true), 0);
	assert_int_equal(affected_lines(&d, &coverage, &s, false), 1);
	parse("--- src/b.c\n+++ src/b.c\n@@ -1 +1 @@\n-b\n+c\n");
	assert_int_equal(affected_lines(&d, &coverage, &s, true), 0);
	assert_int_equal(affected_lines(&d, &coverage, &s, false), 0);
	parse("--- README\n+++ README\n@@ -1 +1 @@\n-b\n+c\n");
	assert_int_equal(affected_lines(&d, &coverage, &s, true), 0);
	assert_int_equal(end(NULL), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, diff_end)
static const struct CMUnitTest tests[] = {
    TEST(test_hunks), TEST(test_files), TEST(test_names), TEST(test_hostile), TEST(test_affected),
};

UNIT_MAIN(tests)
