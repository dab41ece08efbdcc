/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/memory.h"
#include "tests/unit/coverage/parsed.h"

#include <stdio.h>
#include <stdlib.h>

static void test_lines(void **state)
{
	_autolcov_ struct lcov l =
	    parsed_lcov("TN:\nSF:/src/a.c\nDA:9,0\nDA:3,18446744073709551615\n"
			"DA:4,7,checksum\nLF:3\nLH:2\n\nend_of_record\n");

	(void)state;
	assert_int_equal(l.n, 1);
	assert_string_equal(l.v[0].path, "/src/a.c");
	assert_int_equal(l.v[0].n_lines, 3);
	assert_int_equal(l.v[0].lines[0].line, 3);
	assert_true(l.v[0].lines[0].count == UINT64_MAX);
	assert_int_equal(l.v[0].lines[1].line, 4);
	assert_int_equal(l.v[0].lines[1].count, 7);
	assert_int_equal(l.v[0].lines[2].line, 9);
	assert_int_equal(l.v[0].lines[2].count, 0);
}

/* The larger count stands, in either order. */
static void test_line_twice(void **state)
{
	_autolcov_ struct lcov l = parsed_lcov("SF:a\nDA:2,0\nDA:1,5\nDA:2,3\nDA:1,0\nDA:2,1\n"
					       "end_of_record\n");

	(void)state;
	assert_int_equal(l.v[0].n_lines, 2);
	assert_int_equal(l.v[0].lines[0].count, 5);
	assert_int_equal(l.v[0].lines[1].count, 3);
}

static void test_functions(void **state)
{
	_autolcov_ struct lcov l = parsed_lcov(
	    "SF:a\nFN:20,z.c:last\nFN:3,int ns::f<int, 5>(int)\nFN:3,b\nFN:10,14,ended\n"
	    "FNDA:1,z.c:last\nFNDA:2,int ns::f<int, 5>(int)\nFNDA:4,ended\nend_of_record\n");
	const struct lcov_file *f = &l.v[0];

	(void)state;
	assert_int_equal(f->n_functions, 4);
	/* By line, then by name. */
	assert_string_equal(f->functions[0].name, "b");
	assert_int_equal(f->functions[0].count, 0);
	assert_string_equal(f->functions[1].name, "int ns::f<int, 5>(int)");
	assert_int_equal(f->functions[1].line, 3);
	assert_int_equal(f->functions[1].count, 2);
	assert_string_equal(f->functions[2].name, "ended");
	assert_int_equal(f->functions[2].line, 10);
	assert_int_equal(f->functions[2].count, 4);
	assert_string_equal(f->functions[3].name, "z.c:last");
	assert_int_equal(f->functions[3].count, 1);
}

static void test_counts_in_another_order(void **state)
{
	_autolcov_ struct lcov l = parsed_lcov(
	    "SF:a\nFN:1,a\nFN:2,b\nFN:3,c\nFNDA:3,c\nFNDA:9,unknown\nFNDA:1,a\nFNDA:2,b\n"
	    "end_of_record\n");

	(void)state;
	assert_int_equal(l.v[0].n_functions, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(l.v[0].functions[i].count, i + 1);
}

/* Functions of one name take their counts in their order. */
static void test_names_twice(void **state)
{
	_autolcov_ struct lcov l = parsed_lcov(
	    "SF:a\nFN:1,f\nFN:2,f\nFN:3,f\nFNDA:7,f\nFNDA:0,f\nFNDA:5,f\nend_of_record\n");

	(void)state;
	assert_int_equal(l.v[0].functions[0].count, 7);
	assert_int_equal(l.v[0].functions[1].count, 0);
	assert_int_equal(l.v[0].functions[2].count, 5);
}

/* A name is a prefix of another. */
static void test_names_with_one_begin(void **state)
{
	_autolcov_ struct lcov l = parsed_lcov("SF:a\nFN:1,read\nFN:2,read_all\nFNDA:5,read_all\n"
					       "FNDA:0,read\nFNDA:3,rea\nend_of_record\n");

	(void)state;
	assert_int_equal(l.v[0].functions[0].count, 0);
	assert_int_equal(l.v[0].functions[1].count, 5);
}

static void branch_is(const struct lcov_branch *b, uint32_t line, uint64_t yes, uint64_t no)
{
	assert_int_equal(b->line, line);
	assert_true(b->yes == yes);
	assert_true(b->no == no);
}

static void test_branches(void **state)
{
	_autolcov_ struct lcov l = parsed_lcov(
	    "SF:a\nBRDA:7,0,0,-\nBRDA:7,0,1,-\nBRDA:9,0,0,3\nBRDA:9,0,1,0\n"
	    "BRDA:9,1,2,18446744073709551615\nBRDA:9,1,3,4\nBRF:6\nBRH:3\nend_of_record\n");

	(void)state;
	assert_int_equal(l.v[0].n_branches, 3);
	branch_is(&l.v[0].branches[0], 7, 0, 0);
	branch_is(&l.v[0].branches[1], 9, 3, 0);
	branch_is(&l.v[0].branches[2], 9, UINT64_MAX, 4);
}

/* Two conditions of a line can have the same block, for example from two instances. */
static void test_branch_blocks_again(void **state)
{
	_autolcov_ struct lcov l = parsed_lcov("SF:a\nBRDA:7,0,0,1\nBRDA:7,0,1,2\nBRDA:7,0,0,3\n"
					       "BRDA:7,0,1,4\nend_of_record\n");

	(void)state;
	assert_int_equal(l.v[0].n_branches, 2);
	branch_is(&l.v[0].branches[0], 7, 1, 2);
	branch_is(&l.v[0].branches[1], 7, 3, 4);
}

/* One outcome alone does not show that the other never came. */
static void test_branch_without_its_pair(void **state)
{
	_autolcov_ struct lcov l = parsed_lcov(
	    "SF:a\nBRDA:1,0,0,5\nBRDA:2,0,0,1\nBRDA:2,0,1,2\nBRDA:3,0,0,7\nBRDA:3,1,1,8\n"
	    "end_of_record\nSF:b\nBRDA:3,1,1,9\nend_of_record\n");

	(void)state;
	assert_int_equal(l.v[0].n_branches, 1);
	branch_is(&l.v[0].branches[0], 2, 1, 2);
	assert_int_equal(l.v[1].n_branches, 0);
}

static void test_files(void **state)
{
	_autolcov_ struct lcov l = parsed_lcov("SF:a\nFN:1,f\nFNDA:1,f\nDA:1,1\nend_of_record\n"
					       "SF:a,b:c d\nFN:2,f\nFNDA:0,f\nend_of_record\n"
					       "SF:c\nend_of_record\n");

	(void)state;
	assert_int_equal(l.n, 3);
	assert_string_equal(l.v[0].path, "a");
	assert_int_equal(l.v[0].functions[0].count, 1);
	assert_string_equal(l.v[1].path, "a,b:c d");
	assert_int_equal(l.v[1].functions[0].count, 0);
	assert_int_equal(l.v[1].n_lines, 0);
	assert_string_equal(l.v[2].path, "c");
	assert_int_equal(l.v[2].n_functions, 0);
}

static void test_nothing(void **state)
{
	_autolcov_ struct lcov none = parsed_lcov(""), blank = parsed_lcov("\nTN:x\n\n");

	(void)state;
	assert_int_equal(none.n, 0);
	assert_int_equal(blank.n, 0);
}

static void test_unknown_records(void **state)
{
	_autolcov_ struct lcov l = parsed_lcov("SF:a\nVER:1\nMCDC:3,2,t,1,0,0\nFNL:0,3\nDA:1,1\n"
					       "end_of_record\n");

	(void)state;
	assert_int_equal(l.v[0].n_lines, 1);
}

static void refused(const char *text, const char *where)
{
	struct lcov l = {.n = 77};
	struct err e;

	if (lcov_parse(slice_of(text), &l, &e) != -EBADMSG)
		fail_msg("not refused: %s", text);
	assert_int_equal(l.n, 77); /* nothing was written */
	if (!strstr(e.msg, where))
		fail_msg("'%s' does not say '%s'", e.msg, where);
}

static void test_cut(void **state)
{
	static const char text[] = "SF:/src/a.c\nFN:1,f\nFNDA:1,f\nDA:1,1\nBRDA:1,0,0,1\n"
				   "BRDA:1,0,1,-\nend_of_record\n";
	static const size_t whole = sizeof(text) - 1;

	(void)state;
	for (size_t n = 0; n <= whole; n++) {
		_autofree_ char *part = xmalloc(n + 1); /* ASan sees a byte too many */
		_autolcov_ struct lcov l = {0};
		struct err e;
		int r;

		memcpy(part, text, n);
		r = lcov_parse((struct slice){part, n}, &l, &e);
		/* The last newline may be missing. */
		assert_int_equal(r, n == 0 || n >= whole - 1 ? 0 : -EBADMSG);
	}
	refused("SF:a\nDA:1,1\n", "cut at line 2");
	refused("SF:a\nend_of_record\nSF:b", "cut at line 3");
}

static void test_damaged(void **state)
{
	static const char *const records[] = {
	    "DA:",
	    "DA:1",
	    "DA:1,",
	    "DA:,1",
	    "DA:-1,1",
	    "DA:1,-1",
	    "DA:1,x",
	    "DA: 1,1",
	    "DA:1,1e",
	    "DA:1;1",
	    "FN:",
	    "FN:1",
	    "FN:1,",
	    "FN:1,2,",
	    "FN:x,f",
	    "FNDA:",
	    "FNDA:1",
	    "FNDA:,f",
	    "FNDA:x,f",
	    "FNDA:-,f",
	    "BRDA:",
	    "BRDA:1,0,0",
	    "BRDA:1,0,0,",
	    "BRDA:1,0,,1",
	    "BRDA:1,,0,1",
	    "BRDA:1,e0,0,1",
	    "BRDA:1,0,0,x",
	    "BRDA:-,0,0,1",
	    "SF:b",
	    "DA:4294967295,1",
	    "FN:99999999999,f",
	    "BRDA:4294967296,0,0,1",
	    "DA:1,18446744073709551616",
	    "FNDA:18446744073709551616,f",
	    "BRDA:1,18446744073709551616,0,1",
	    "BRDA:1,0,0,18446744073709551616",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		_autofree_ char *text =
		    xasprintf("SF:a\nDA:1,1\n\n%s\nDA:2,1\nend_of_record\n", records[i]);

		if (strcmp(records[i], "DA:1,1e") != 0) /* text behind a count is ignored */
			refused(text, "line 4");
	}
}

static void test_outside_of_a_file(void **state)
{
	(void)state;
	refused("DA:1,1\n", "line 1");
	refused("\nend_of_record\n", "line 2");
	refused("SF:a\nend_of_record\nFN:1,f\n", "line 3");
	refused("SF:\nend_of_record\n", "line 1");
	refused("<html>\n", "line 1");
	refused("SF:a\nend_of_record\nend_of_record\n", "line 3");
}

static void test_limits_of_numbers(void **state)
{
	_autolcov_ struct lcov l = parsed_lcov("SF:a\nDA:4294967294,1\nDA:0,1\nFN:4294967294,f\n"
					       "FN:1,4294967296,f\nBRDA:4294967294,0,0,1\n"
					       "BRDA:4294967294,0,1,1\nend_of_record\n");

	(void)state;
	assert_int_equal(l.v[0].lines[1].line, UINT32_MAX - 1);
	/* A number that is too large is not the end of the function: it belongs to the name. */
	assert_string_equal(l.v[0].functions[0].name, "4294967296,f");
	assert_int_equal(l.v[0].functions[1].line, UINT32_MAX - 1);
	assert_int_equal(l.v[0].n_branches, 1);
}

static void test_long_names(void **state)
{
	_autofree_ char *name = xmalloc(LCOV_NAME_MAX + 11);
	_autofree_ char *text = NULL;
	_autolcov_ struct lcov l = {0};

	(void)state;
	memset(name, 'n', LCOV_NAME_MAX + 10);
	name[LCOV_NAME_MAX + 10] = '\0';
	text = xasprintf("SF:%s\nFN:1,%s\nFNDA:3,%s\nend_of_record\n", name, name, name);
	l = parsed_lcov(text);
	assert_int_equal(strlen(l.v[0].path), LCOV_NAME_MAX);
	assert_int_equal(strlen(l.v[0].functions[0].name), LCOV_NAME_MAX);
	assert_int_equal(l.v[0].functions[0].count, 3);
}

/* A name ends at a NUL byte, and its count is found all the same. */
static void test_nul(void **state)
{
	static const char text[] = "SF:a\0b\nFN:1,f\0g\nFNDA:3,f\0g\nend_of_record\n";
	_autolcov_ struct lcov l = {0}, empty = {0};
	struct err e;

	(void)state;
	assert_int_equal(lcov_parse((struct slice){text, sizeof(text) - 1}, &l, &e), 0);
	assert_string_equal(l.v[0].path, "a");
	assert_string_equal(l.v[0].functions[0].name, "f");
	assert_int_equal(l.v[0].functions[0].count, 3);
	assert_int_equal(lcov_parse(SLICE("SF:\0a\nend_of_record\n"), &empty, &e), -EBADMSG);
}

static void test_many(void **state)
{
	enum { MANY = 5000 };
	struct buf b = BUF_INIT(1 << 24);
	_autolcov_ struct lcov l = {0};

	(void)state;
	buf_printf(&b, "SF:a\n");
	for (int i = 0; i < MANY; i++)
		buf_printf(&b, "FN:%d,f%d\n", 2 * i + 1, i);
	for (int i = 0; i < MANY; i++)
		buf_printf(&b, "FNDA:%d,f%d\n", i, i);
	for (int i = MANY; i > 0; i--)
		buf_printf(&b, "DA:%d,%d\nBRDA:%d,0,0,1\nBRDA:%d,0,1,0\n", i, i, i, i);
	buf_printf(&b, "end_of_record\n");
	l = parsed_lcov(buf_str(&b));
	buf_done(&b);
	assert_int_equal(l.v[0].n_functions, MANY);
	assert_int_equal(l.v[0].n_lines, MANY);
	assert_int_equal(l.v[0].n_branches, MANY);
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(l.v[0].functions[i].count, i);
		assert_int_equal(l.v[0].lines[i].line, i + 1);
		assert_int_equal(l.v[0].lines[i].count, i + 1);
	}
}

static void function_at(const struct lcov_file *f, uint32_t line, const char *name)
{
	const struct lcov_function *fn = lcov_function_at(f, line);

	if (!name)
		assert_null(fn);
	else
		assert_string_equal(fn->name, name);
}

static void test_function_at(void **state)
{
	_autolcov_ struct lcov l = parsed_lcov("SF:a\nFN:30,c\nFN:10,a\nFN:11,b1\nFN:11,b2\n"
					       "end_of_record\nSF:none\nend_of_record\n");
	const struct lcov_file *f = &l.v[0];

	(void)state;
	function_at(f, 0, NULL);
	function_at(f, 9, NULL);
	function_at(f, 10, "a");
	function_at(f, 11, "b2");
	function_at(f, 29, "b2");
	function_at(f, 30, "c");
	function_at(f, UINT32_MAX, "c");
	function_at(&l.v[1], 5, NULL);
}

static void test_function_end(void **state)
{
	_autolcov_ struct lcov l =
	    parsed_lcov("SF:a\nFN:10,a\nFN:11,b1\nFN:11,b2\nFN:30,c\nend_of_record\n");
	const struct lcov_file *f = &l.v[0];

	(void)state;
	assert_int_equal(lcov_function_end(f, &f->functions[0]), 10);
	assert_int_equal(lcov_function_end(f, &f->functions[1]), 29);
	assert_int_equal(lcov_function_end(f, &f->functions[2]), 29);
	assert_true(lcov_function_end(f, &f->functions[3]) == UINT32_MAX);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_lines),
    cmocka_unit_test(test_line_twice),
    cmocka_unit_test(test_functions),
    cmocka_unit_test(test_counts_in_another_order),
    cmocka_unit_test(test_names_twice),
    cmocka_unit_test(test_names_with_one_begin),
    cmocka_unit_test(test_branches),
    cmocka_unit_test(test_branch_blocks_again),
    cmocka_unit_test(test_branch_without_its_pair),
    cmocka_unit_test(test_files),
    cmocka_unit_test(test_nothing),
    cmocka_unit_test(test_unknown_records),
    cmocka_unit_test(test_cut),
    cmocka_unit_test(test_damaged),
    cmocka_unit_test(test_outside_of_a_file),
    cmocka_unit_test(test_limits_of_numbers),
    cmocka_unit_test(test_long_names),
    cmocka_unit_test(test_nul),
    cmocka_unit_test(test_many),
    cmocka_unit_test(test_function_at),
    cmocka_unit_test(test_function_end),
};

UNIT_MAIN(tests)
