/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/memory.h"
#include "tests/unit/coverage/parsed.h"

#include <stdio.h>
#include <stdlib.h>

static struct listing parsed(const char *text, const char *only)
{
	struct listing l;

	listing_parse(slice_of(text), only, &l);
	return l;
}

static void line_is(const struct listing *l, const char *path, uint32_t line, const char *text)
{
	slice_is(listing_line(listing_find(l, path), line), text);
}

static void test_one_file(void **state)
{
	_autolisting_ struct listing l = parsed("    1|       |#include <stdint.h>\n"
						"    2|      1|{\n"
						"    3|      0|\treturn 1;\n"
						"    4|  3.00k|\n",
						"/src/a.c");
	const struct listing_file *f = listing_find(&l, "/src/a.c");

	(void)state;
	assert_non_null(f);
	assert_int_equal(f->n, 4);
	slice_is(listing_line(f, 1), "#include <stdint.h>");
	slice_is(listing_line(f, 2), "{");
	slice_is(listing_line(f, 3), "\treturn 1;");
	slice_is(listing_line(f, 4), "");
	slice_is(listing_line(f, 0), "");
	slice_is(listing_line(f, 5), "");
	slice_is(listing_line(f, UINT32_MAX), "");
	slice_is(listing_line(NULL, 1), "");
	assert_null(listing_find(&l, "/src/b.c"));
}

static void test_files(void **state)
{
	_autolisting_ struct listing l = parsed("/src/b.c:\n    1|      1|b1\n    2|      1|b2\n\n"
						"/src/a b:c.h:\n    1|       |a1\n\n"
						"/src/a.c:\n\n"
						"/src/z.c:\n    1|      0|z1\n    2|      0|z2\n",
						NULL);

	(void)state;
	line_is(&l, "/src/b.c", 1, "b1");
	line_is(&l, "/src/b.c", 2, "b2");
	line_is(&l, "/src/a b:c.h", 1, "a1");
	line_is(&l, "/src/z.c", 2, "z2");
	assert_null(listing_find(&l, "/src/a.c")); /* without a line */
	assert_null(listing_find(&l, "/src/"));
	assert_null(listing_find(&l, ""));
	assert_int_equal(l.n, 3);
}

/* llvm-cov may print a header although there is only one file. */
static void test_one_file_with_header(void **state)
{
	_autolisting_ struct listing l = parsed("/src/a.c:\n    1|      1|a1\n", "/src/a.c");

	(void)state;
	line_is(&l, "/src/a.c", 1, "a1");
	assert_int_equal(l.n, 1);
}

static void test_no_text(void **state)
{
	_autolisting_ struct listing none = parsed("", "/src/a.c");
	_autolisting_ struct listing lost = parsed("    1|      1|a1\n", NULL);

	(void)state;
	assert_null(listing_find(&none, "/src/a.c"));
	assert_int_equal(none.n, 0);
	assert_int_equal(lost.n, 0); /* a line of no file */
}

static void test_first_of_a_path(void **state)
{
	_autolisting_ struct listing l =
	    parsed("/a:\n\n/a:\n1|1|first\n/b:\n1|1|b\n/a:\n1|1|second\n", NULL);

	(void)state;
	line_is(&l, "/a", 1, "first");
	line_is(&l, "/b", 1, "b");
}

static void test_bars_in_the_source(void **state)
{
	_autolisting_ struct listing l = parsed("    1|      1|if (a || b)\n"
						"    2|       ||| c)\n"
						"    3|      2||\n"
						"    4|      0|  4|  1|text\n",
						"/a");

	(void)state;
	line_is(&l, "/a", 1, "if (a || b)");
	line_is(&l, "/a", 2, "|| c)");
	line_is(&l, "/a", 3, "|");
	line_is(&l, "/a", 4, "  4|  1|text");
}

static void test_counts(void **state)
{
	_autolisting_ struct listing l = parsed("    1|18.4E18|a\n    2|  1.2k|b\n    3|       |c\n"
						"    4|1|d\n5| |e\n\t6|  10.0M|f\n",
						"/a");
	const struct listing_file *f = listing_find(&l, "/a");

	(void)state;
	assert_non_null(f);
	assert_int_equal(f->n, 6);
	line_is(&l, "/a", 1, "a");
	line_is(&l, "/a", 2, "b");
	line_is(&l, "/a", 3, "c");
	line_is(&l, "/a", 6, "f");
}

/* A line that is missing ends the text of its file: no line gets the text of another. */
static void test_order(void **state)
{
	_autolisting_ struct listing l = parsed("/a:\n    2|      1|two\n    1|      1|one\n"
						"    1|      1|again\n    3|      1|three\n"
						"    2|      1|two\n/b:\n    2|      1|b\n",
						NULL);

	(void)state;
	line_is(&l, "/a", 1, "one");
	line_is(&l, "/a", 2, "two");
	line_is(&l, "/a", 3, "");
	assert_null(listing_find(&l, "/b"));
}

/* As llvm-cov show -show-branches=count and -show-instantiations print. */
static void test_sub_views(void **state)
{
	_autolisting_ struct listing l =
	    parsed("/src/a.cc:\n"
		   "    1|      2|template <typename T> T f(T a) {\n"
		   "    2|      2|  if (a > 3)\n"
		   "  ------------------\n"
		   "  |  Branch (2:7): [True: 0, False: 1]\n"
		   "  |  Branch (2:7): [True: 0, False: 1]\n"
		   "  ------------------\n"
		   "    3|      0|    return 1;\n"
		   "  ------------------\n"
		   "  | int f<int>(int):\n"
		   "  |    1|      1|template <typename T> T f(T a) {\n"
		   "  |    2|      1|  if (a > 3)\n"
		   "  |    4|      1|  wrong;\n"
		   "  ------------------\n"
		   "  | double f<double>(double):\n"
		   "  |    4|      1|  wrong;\n"
		   "  ------------------\n"
		   "    4|      2|  return a;\n"
		   "                      ^1\n"
		   "    5|      2|}\n",
		   NULL);
	const struct listing_file *f = listing_find(&l, "/src/a.cc");

	(void)state;
	assert_non_null(f);
	assert_int_equal(f->n, 5);
	slice_is(listing_line(f, 3), "    return 1;");
	slice_is(listing_line(f, 4), "  return a;");
	slice_is(listing_line(f, 5), "}");
}

static void test_hostile(void **state)
{
	static const char text[] =
	    ":\n/:\n/a:\n|\n1\n1|\n1||\n1|1\n99999999999999999999|1|x\n"
	    "1|123456789012345678901234567890123|long count\n-1|1|x\n1|\0|nul\n"
	    "2|1|\0\xff\n0|1|zero\n3|1|cut";
	_autofree_ char *copy = xmalloc(sizeof(text) - 1);
	struct listing l;

	(void)state;
	memcpy(copy, text, sizeof(text) - 1);
	listing_parse((struct slice){copy, sizeof(text) - 1}, NULL, &l);
	assert_int_equal(l.n, 1);
	slice_is(listing_line(listing_find(&l, "/a"), 1), "nul");
	assert_int_equal(listing_line(listing_find(&l, "/a"), 2).n, 2);
	slice_is(listing_line(listing_find(&l, "/a"), 3), "cut");
	listing_done(&l);
	assert_int_equal(l.n, 0);
}

/* Every file is found at once: with a search from the first file, this takes minutes. */
static void test_many_files(void **state)
{
	enum { MANY = 60000 };
	struct buf b = BUF_INIT(1 << 24);
	struct listing l;

	(void)state;
	for (int i = 0; i < MANY; i++)
		buf_printf(&b, "/src/%06d.c:\n1|1|%d\n", (i * 7919) % MANY, i);
	listing_parse(buf_slice(&b), NULL, &l);
	assert_int_equal(l.n, MANY);
	for (int round = 0; round < 10; round++)
		for (int i = 0; i < MANY; i++) {
			char path[32], line[16];

			snprintf(path, sizeof(path), "/src/%06d.c", (i * 7919) % MANY);
			snprintf(line, sizeof(line), "%d", i);
			line_is(&l, path, 1, line);
		}
	listing_done(&l);
	buf_done(&b);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_one_file),
    cmocka_unit_test(test_files),
    cmocka_unit_test(test_one_file_with_header),
    cmocka_unit_test(test_no_text),
    cmocka_unit_test(test_first_of_a_path),
    cmocka_unit_test(test_bars_in_the_source),
    cmocka_unit_test(test_counts),
    cmocka_unit_test(test_order),
    cmocka_unit_test(test_sub_views),
    cmocka_unit_test(test_hostile),
    cmocka_unit_test(test_many_files),
};

UNIT_MAIN(tests)
