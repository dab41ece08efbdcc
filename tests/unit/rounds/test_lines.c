/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of histories from several machines: in order of time, each once, and none lost. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/rounds/lines.h"
#include "tests/unit/scratch_dir.h"

static size_t most = SIZE_MAX;

/* Adds lines to the history `before`. */
static void check_lines(struct slice before, const char *added, struct slice want)
{
	_autojson_ json_t *lines = NULL;
	_autofree_ char *text = NULL;
	struct err e;
	size_t n;

	assert_int_equal(fs_replace(dir.fd, "h", before, &e), 0);
	assert_int_equal(json_parse(slice_of(added), &lines, &e), 0);
	assert_int_equal(lines_join(dir.fd, "h", lines, most, &text, &n, &e), 0);
	assert_int_equal(n, want.n);
	assert_memory_equal(text, want.p, n);
}

static void times_are_of_several_forms(void **state)
{
	(void)state;
	check_lines(
	    SLICE("{\"ended\": \"2026-01-01T10:00:00Z\"}\n"
		  "{\"run\": \"20260101-120000\"}\n"),
	    "[{\"time\": 1767261600}, {\"until\": 1767268800, \"run\": \"20260101-100000\"}]",
	    SLICE("{\"ended\": \"2026-01-01T10:00:00Z\"}\n"
		  "{\"time\": 1767261600}\n"
		  "{\"run\": \"20260101-120000\"}\n"
		  "{\"until\": 1767268800, \"run\": \"20260101-100000\"}\n"));
}

static void no_line_comes_twice(void **state)
{
	(void)state;
	check_lines(SLICE("{\"time\": 5}\n{\"time\": 7}\n"),
		    "[{\"time\": 7}, {\"time\": 6}, {\"time\": 6}]",
		    SLICE("{\"time\": 5}\n{\"time\": 6}\n{\"time\": 7}\n"));
	check_lines(SLICE(""), "[{\"a\": 1}, {\"a\": 1}]", SLICE("{\"a\": 1}\n"));
}

/* After a crash of the machine a file may have a block of NUL bytes, or be cut. */
static void damaged_lines_stay(void **state)
{
	(void)state;
	check_lines(SLICE("{\"time\": 5}\n\0\0\0\0\n{\"time\": 7}\n{\"time\": 8"),
		    "[{\"time\": 6}]",
		    SLICE("\0\0\0\0\n{\"time\": 8\n{\"time\": 5}\n{\"time\": 6}\n{\"time\": 7}\n"));
}

static void the_newest_lines_stay(void **state)
{
	(void)state;
	most = 2;
	check_lines(SLICE("{\"time\": 5}\n{\"time\": 7}\n"), "[{\"time\": 6}, {\"time\": 7}]",
		    SLICE("{\"time\": 6}\n{\"time\": 7}\n"));
	most = SIZE_MAX;
}

static void a_missing_file_is_empty(void **state)
{
	_autojson_ json_t *lines = json_array();
	_autofree_ char *text = NULL;
	struct err e;
	size_t n = 1;

	(void)state;
	assert_int_equal(lines_join(dir.fd, "none", lines, most, &text, &n, &e), 0);
	assert_int_equal(n, 0);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, begin, end)
static const struct CMUnitTest tests[] = {
    WITH(times_are_of_several_forms), WITH(no_line_comes_twice),     WITH(damaged_lines_stay),
    WITH(the_newest_lines_stay),      WITH(a_missing_file_is_empty),
};

UNIT_MAIN(tests)
