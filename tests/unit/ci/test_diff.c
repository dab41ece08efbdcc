/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

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
	assert_true(diff_find(&d, "x.bin")->opaque);
	assert_true(touches("old.c", 1));
	assert_true(touches("gone.c", 2));
	assert_non_null(diff_find(&d, "same.c"));
	assert_int_equal(diff_find(&d, "same.c")->n, 0);
	assert_int_equal(d.n, 4);
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

static void test_opaque(void **state)
{
	(void)state;
	parse("diff --git dep dep\nindex 1f0c..2a3b 160000\n--- dep\n+++ dep\n@@ -1 +1 @@\n"
	      "-Subproject commit 1\n+Subproject commit 2\n"
	      "diff --git a.c a.c\nindex 1..2 100644\nBinary files a.c and a.c differ\n"
	      "diff --git b.c b.c\nindex 1..2 100644\n--- b.c\n+++ b.c\n@@ -1 +1 @@\n-a\n+b\n");
	assert_int_equal(d.n, 3);
	assert_true(diff_find(&d, "dep")->opaque);
	assert_true(diff_find(&d, "a.c")->opaque);
	assert_false(diff_find(&d, "b.c")->opaque);
}

static uint64_t count(const struct lcov *l, enum affected_by by, bool *known)
{
	return affected_lines(
	    &d, &(struct affected_coverage){.lcov = l, .by = by, .root = "/elsewhere"}, known);
}

/* What a report cannot tell affects a target. */
static void test_affected(void **state)
{
	static const struct {
		const char *diff;
		uint64_t exact, moved;
		const char *unknown;
	} t[] = {
	    {"--- src/a.c\n+++ src/a.c\n@@ -3 +3 @@\n-a\n+c\n", 1, 1, NULL},
	    /* known not to be reached */
	    {"--- src/a.c\n+++ src/a.c\n@@ -4 +4 @@\n-b\n+c\n", 0, 1, NULL},
	    /* a macro */
	    {"--- src/a.c\n+++ src/a.c\n@@ -1 +1 @@\n-b\n+c\n", 1, 1, NULL},
	    /* something was added behind line 3, which is reached */
	    {"--- src/a.c\n+++ src/a.c\n@@ -3,0 +4 @@\n+c\n", 1, 1, NULL},
	    /* a file that is not reached */
	    {"--- src/b.c\n+++ src/b.c\n@@ -1 +1 @@\n-b\n+c\n", 0, 0, NULL},
	    /* a header: an inline function, and a type */
	    {"--- src/h.h\n+++ src/h.h\n@@ -5 +5 @@\n-b\n+c\n", 0, 0, NULL},
	    {"--- src/h.h\n+++ src/h.h\n@@ -1 +1 @@\n-b\n+c\n", 0, 0, "src/h.h"},
	    {"--- README\n+++ README\n@@ -1 +1 @@\n-b\n+c\n", 0, 0, NULL},
	    {"--- /dev/null\n+++ src/new.c\n@@ -0,0 +1 @@\n+c\n", 1, 1, "src/new.c"},
	    {"index 1..2 160000\n--- dep\n+++ dep\n@@ -1 +1 @@\n-b\n+c\n", 0, 1, "dep"},
	    /* renamed */
	    {"rename from src/a.c\nrename to src/z.c\n--- src/a.c\n+++ src/z.c\n"
	     "@@ -3 +3 @@\n-a\n+b\n",
	     1, 1, NULL},
	};
	_autolcov_ struct lcov coverage = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(
	    lcov_parse(slice_of("SF:/elsewhere/src/a.c\nDA:3,5\nDA:4,0\nDA:10,1\nLF:3\nLH:2\n"
				"end_of_record\nSF:/elsewhere/src/h.h\nDA:5,0\nend_of_record\n"
				"SF:/elsewhere/src/b.c\nDA:1,0\nLF:1\nLH:0\n"
				"end_of_record\n"),
		       &coverage, &e),
	    0);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		bool known[4] = {false};
		const char *unknown;

		parse(t[i].diff);
		if (count(&coverage, AFFECTED_REPORT, known) != t[i].exact ||
		    count(&coverage, AFFECTED_OLD_REPORT, NULL) != t[i].moved)
			fail_msg("%s", t[i].diff);
		unknown = affected_unknown(&d, known);
		if (t[i].unknown ? !unknown || strcmp(unknown, t[i].unknown) != 0 : !!unknown)
			fail_msg("%s: %s", t[i].diff, unknown ? unknown : "none");
	}
}

/* A measurement has the lines of functions. */
static void test_head(void **state)
{
	static const struct {
		const char *file, *hunk;
		uint64_t lines;
	} t[] = {
	    {"a.c", "@@ -3 +3 @@\n-a\n+c\n", 1},
	    {"a.c", "@@ -24 +24 @@\n-a\n+c\n", 0},
	    {"a.c", "@@ -30 +30 @@\n-a\n+c\n", 0},
	    /* beside a reached one */
	    {"a.c", "@@ -20 +20 @@\n-a\n+c\n", 1},
	    /* between functions, before the first, behind the last */
	    {"a.c", "@@ -22 +22 @@\n-a\n+c\n", 1},
	    {"a.c", "@@ -1 +1 @@\n-a\n+c\n", 1},
	    {"a.c", "@@ -99 +99 @@\n-a\n+c\n", 1},
	    /* the head has nothing there */
	    {"a.c", "@@ -24,0 +25,3 @@\n+a\n+b\n+c\n", 2},
	    {"b.c", "@@ -24,0 +25,3 @@\n+a\n+b\n+c\n", 1},
	    /* nothing of the file is reached */
	    {"b.c", "@@ -1 +1 @@\n-a\n+c\n", 0},
	    {"b.c", "@@ -7 +7 @@\n-a\n+c\n", 0},
	    /* another file; a header */
	    {"c.c", "@@ -7 +7 @@\n-a\n+c\n", 0},
	    {"c.h", "@@ -7 +7 @@\n-a\n+c\n", 1},
	};
	_autolcov_ struct lcov coverage = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(
	    lcov_parse(slice_of("SF:/elsewhere/src/a.c\nDA:3,1\nDA:5,1\nDA:20,0\nDA:24,0\n"
				"DA:30,0\nend_of_record\nSF:/elsewhere/src/b.c\nDA:1,0\n"
				"end_of_record\n"),
		       &coverage, &e),
	    0);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char text[256];

		snprintf(text, sizeof(text), "--- src/%s\n+++ src/%s\n%s", t[i].file, t[i].file,
			 t[i].hunk);
		parse(text);
		if (count(&coverage, AFFECTED_HEAD, NULL) != t[i].lines)
			fail_msg("%s", text);
	}
}

static void test_file_of_path(void **state)
{
	(void)state;
	parse("--- lib.h\n+++ lib.h\n@@ -1 +1 @@\n-a\n+b\n");
	assert_non_null(affected_file(&d, "/top", "/top/lib.h"));
	assert_null(affected_file(&d, "/top", "/top/src/lib.h"));
	assert_non_null(affected_file(&d, "/top", "/topmost/src/lib.h"));
	assert_non_null(affected_file(&d, NULL, "/top/src/lib.h"));
	assert_non_null(affected_file(&d, "/top", "lib.h"));
	assert_null(affected_file(&d, "/top", "src/lib.h"));
	assert_null(affected_file(&d, "/top", "/other/mylib.h"));
	assert_true(affected_has_code(&d));
	parse("--- README\n+++ README\n@@ -1 +1 @@\n-a\n+b\n");
	assert_false(affected_has_code(&d));
	parse("--- src/sub/a.c\n+++ src/sub/a.c\n@@ -1 +1 @@\n-a\n+b\n");
	assert_non_null(affected_file(&d, "/top", "sub/a.c"));
	assert_null(affected_file(&d, "/top", "b/a.c"));
	parse("index 1..2 160000\n--- dep-1.2\n+++ dep-1.2\n@@ -1 +1 @@\n-a\n+b\n");
	assert_true(affected_has_code(&d));
	parse("index 1..2 120000\n--- cur\n+++ cur\n@@ -1 +1 @@\n-a\n+b\n");
	assert_true(affected_has_code(&d));
}

#define TEST(name) cmocka_unit_test_teardown(name, diff_end)
static const struct CMUnitTest tests[] = {
    TEST(test_hunks),  TEST(test_files),    TEST(test_names), TEST(test_hostile),
    TEST(test_opaque), TEST(test_affected), TEST(test_head),  TEST(test_file_of_path),
};

UNIT_MAIN(tests)
