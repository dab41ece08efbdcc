/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "runner/coverage/functions.h"

#include <errno.h>
#include <string.h>

/* Edges 0 to 2 are of f, edge 3 of g with an inlined call of h, edge 4 of g. */
static const char answers[] = "0x10\nf\n/src/a.c:10:0\n\n"
			      "0x14\nf\n/src/a.c:14:3\n\n"
			      "0x18\nf\n/src/a.c:12:3\n\n"
			      "0x20\nh\n/src/b.h:5:1\ng\n/src/a.c:23:9\n\n"
			      "0x28\ng\n/src/a.c:20\n\n";

static struct lcov reached(const char *text, size_t edges, const uint32_t *v, size_t n)
{
	_autobits_ struct bits b = {0};
	struct lcov l;
	struct err e;

	for (size_t i = 0; i < n; i++)
		(void)bits_add(&b, v[i]);
	if (functions_lcov(slice_of(text), edges, &b, &l, &e) < 0)
		fail_msg("%s", e.msg);
	return l;
}

/* The lines of a file as text: "10-14:0 20:1 ". */
static void lines_are(const struct lcov *l, const char *path, const char *want)
{
	_autobuf_ struct buf got = BUF_INIT(4096);

	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->v[i].n_lines && strcmp(l->v[i].path, path) == 0; k++)
			buf_printf(&got, "%u:%u ", l->v[i].lines[k].line,
				   (unsigned)l->v[i].lines[k].count);
	assert_string_equal(buf_str(&got), want);
}

static void test_nothing(void **state)
{
	_autolcov_ struct lcov l = reached(answers, 5, NULL, 0);

	(void)state;
	assert_int_equal(l.n, 2);
	lines_are(&l, "/src/a.c", "10:0 11:0 12:0 13:0 14:0 20:0 21:0 22:0 23:0 ");
	lines_are(&l, "/src/b.h", "5:0 ");
}

/* One edge reaches the whole function. */
static void test_function(void **state)
{
	const uint32_t one = 2;
	_autolcov_ struct lcov l = reached(answers, 5, &one, 1);

	(void)state;
	lines_are(&l, "/src/a.c", "10:1 11:1 12:1 13:1 14:1 20:0 21:0 22:0 23:0 ");
	lines_are(&l, "/src/b.h", "5:0 ");
}

static void test_inlined(void **state)
{
	const uint32_t called = 3, not = 4;
	_autolcov_ struct lcov l = reached(answers, 5, &called, 1);
	_autolcov_ struct lcov other = reached(answers, 5, &not, 1);

	(void)state;
	lines_are(&l, "/src/a.c", "10:0 11:0 12:0 13:0 14:0 20:1 21:1 22:1 23:1 ");
	lines_are(&l, "/src/b.h", "5:1 ");
	lines_are(&other, "/src/a.c", "10:0 11:0 12:0 13:0 14:0 20:1 21:1 22:1 23:1 ");
	lines_are(&other, "/src/b.h", "5:0 ");
}

/* Instances of a template, and what a macro makes, have the same lines. */
static void test_same_lines(void **state)
{
	const uint32_t one = 1;
	const char text[] = "0x1\nf<int>\na.h:3:1\n\n0x2\nf<char>\na.h:4:1\n\n"
			    "0x3\nf<int>\na.h:5:1\n\n0x4\nf<char>\na.h:3:1\n\n0x5\nlast\na.h:4:9\n";
	_autolcov_ struct lcov l = reached(text, 5, &one, 1);

	(void)state;
	lines_are(&l, "a.h", "3:1 4:1 5:0 ");
}

/* addr2line has no empty lines, and notes behind a line; what has no name or line is no place. */
static void test_addr2line(void **state)
{
	const char text[] = "0x0000000000000010\nf\n/s/a b.c:10\n"
			    "0x0000000000000014\nf\n/s/a b.c:12 (discriminator 3)\n"
			    "0x0000000000000018\n??\n??:0\n"
			    "0x000000000000001c\nf\n??:?\n"
			    "0x0000000000000020\nf\n/s/a b.c:0\n";
	_autolcov_ struct lcov l = reached(text, 5, NULL, 0);

	(void)state;
	assert_int_equal(l.n, 1);
	lines_are(&l, "/s/a b.c", "10:0 11:0 12:0 ");
}

/* A function of 20,000 lines or more is not known, wherever its lines are. */
static void test_span(void **state)
{
	const char text[] = "0x1\nf\na.c:1\n0x2\nf\na.c:2147483647\n0x3\ng\na.c:2147483647\n"
			    "0x4\nh\na.c:2147483648\n0x5\nf\na.c:99999999999999999999\n";
	const uint32_t one = 0;
	_autolcov_ struct lcov l = reached(text, 5, NULL, 0), other = reached(text, 5, &one, 1);

	(void)state;
	assert_int_equal(l.n, 1);
	lines_are(&l, "a.c", "2147483647:0 ");
	lines_are(&other, "a.c", "1:1 2147483647:0 ");
}

/* What runs before the first input is not measured. */
static void test_initial(void **state)
{
	const char text[] = "0x1\nLLVMFuzzerInitialize\na.c:1\n0x2\nTable::Table()\na.c:5\n"
			    "__cxx_global_var_init.3\na.c:9\n0x3\nTable::Table()\na.c:6\n"
			    "_GLOBAL__sub_I_a.cc\na.c:0\n0x4\nf\na.c:20\n";
	_autolcov_ struct lcov l = reached(text, 4, NULL, 0);

	(void)state;
	lines_are(&l, "a.c", "1:1 5:1 6:1 9:1 20:0 ");
}

static void test_damaged(void **state)
{
	static const char *const texts[] = {
	    "", "\n\n", "0x1\n", "f\na.c:1\n\n0x2\n", "0x1\nf\n", "0x1\nf\na.c:1\n\nf\na.c:1\n"};
	const struct bits none = {0};
	struct lcov l = {0};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(functions_lcov(slice_of(texts[i]), 2, &none, &l, &e), -EBADMSG);
	assert_int_equal(functions_lcov(SLICE(""), FUNCTIONS_EDGES_MAX + 1, &none, &l, &e), -E2BIG);
	assert_int_equal(functions_lcov(SLICE(""), 0, &none, &l, &e), 0);
	assert_int_equal(l.n, 0);
	lcov_done(&l);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_nothing),   cmocka_unit_test(test_function),
    cmocka_unit_test(test_inlined),   cmocka_unit_test(test_same_lines),
    cmocka_unit_test(test_addr2line), cmocka_unit_test(test_span),
    cmocka_unit_test(test_initial),   cmocka_unit_test(test_damaged),
};

UNIT_MAIN(tests)
