/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/targets/bazel/error.h"

#include <stdio.h>

static void expect(const char *text, bool error, const char *want)
{
	/* The text is parsed at once, and byte by byte. */
	for (size_t step = 1; step <= strlen(text) + 1; step += strlen(text) + 1) {
		static struct bazel_error s;
		char out[BAZEL_ERROR_MAX];

		s = (struct bazel_error){.n = 0};
		for (size_t at = 0; at < strlen(text); at += step)
			bazel_error_feed(&s, (struct slice){text + at, strlen(text) - at < step
									   ? strlen(text) - at
									   : step});
		assert_int_equal(bazel_error_end(&s, out), error);
		assert_string_equal(out, want);
	}
}

static void test_one_line(void **state)
{
	(void)state;
	expect("", false, "");
	expect("Loading\nERROR: no such package 'q'\nINFO: Elapsed time: 1s\n", true,
	       "no such package 'q'");
	expect("WARNING: x\nFATAL: no memory", true, "no memory");
	expect("2026/11/26 could not resolve the version '9.9'\n\n", false,
	       "2026/11/26 could not resolve the version '9.9'");
	/* The script of the distribution, for terminals. */
	expect(
	    "\x1b[31mERROR: The project requires Bazel 7.1.0\x1b[0m\n\nYou can install it:\n apt\n",
	    true, "The project requires Bazel 7.1.0");
	expect("ERROR: a\tb\\c\xff\n", true, "a b\\x5cc\\xff");
}

/* The last line has the error; later lines are about other packages. */
static void test_traceback(void **state)
{
	(void)state;
	expect("ERROR: Traceback (most recent call last):\n"
	       "\tFile \"/ws/fuzz.bzl\", line 70, column 5, in <toplevel>\n"
	       "\t\tfail(\"wrong\")\n"
	       "Error in fail: wrong\n"
	       "ERROR: error loading package 'other'\n",
	       true,
	       "File \"/ws/fuzz.bzl\", line 70, column 5, in <toplevel>; fail(\"wrong\"); "
	       "Error in fail: wrong");
	/* A message of two lines, and an empty one. */
	expect("ERROR: /ws/a/BUILD:4:2: Traceback (most recent call last):\n"
	       "Error in fail: one\n\n two\n"
	       "WARNING: Target pattern parsing failed.\nmore\nERROR: b\n",
	       true, "/ws/a/BUILD:4:2:; Error in fail: one; two");
}

/* Of a long message the end is kept, in bounded memory. */
static void test_long(void **state)
{
	static char text[1 << 20];
	static struct bazel_error s;
	char out[BAZEL_ERROR_MAX];
	size_t n =
	    (size_t)snprintf(text, sizeof(text), "ERROR: Traceback (most recent call last):\n");

	(void)state;
	for (int i = 0; n < sizeof(text) - 200; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "\tFile \"/ws/f%d.bzl\"\n", i);
	snprintf(text + n, sizeof(text) - n, "Error in fail: here\nERROR: other\n");
	bazel_error_feed(&s, slice_of(text));
	assert_true(bazel_error_end(&s, out));
	assert_non_null(strstr(out, "File \"/ws/f0.bzl\"; File \"/ws/f1.bzl\""));
	assert_true(strlen(out) < BAZEL_ERROR_MAX);
	assert_string_equal(out + strlen(out) - 24, " ... Error in fail: here");
	/* A line without an end. */
	s = (struct bazel_error){.n = 0};
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "ERROR: ", 7);
	bazel_error_feed(&s, slice_of(text));
	assert_true(bazel_error_end(&s, out));
	assert_int_equal(out[0], 'x');
	/* Of one long line the end is kept, too. */
	s = (struct bazel_error){.n = 0};
	snprintf(text, sizeof(text), "ERROR: first%0500d last\n", 0);
	bazel_error_feed(&s, slice_of(text));
	assert_true(bazel_error_end(&s, out));
	assert_memory_equal(out, "first000", 8);
	assert_string_equal(out + strlen(out) - 7, "00 last");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_one_line),
    cmocka_unit_test(test_traceback),
    cmocka_unit_test(test_long),
};

UNIT_MAIN(tests)
