/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/coverage/code.h"

#include <time.h>

/* --- conditions ------------------------------------------------------------------ */

static void test_never_true(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c", "FN:1,f\nFNDA:5,f\nBRDA:2,0,0,0\nBRDA:2,0,1,5\n",
		 "5|void f(int x) {\n5|\tif (x == 1) "
		 "{\n0|\t\tx++;\n-|\n0|\t\ty(x);\n0|\t}\n5|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 1);
	code_blocks(&c, 0, 2, true, 3, 0);
	assert_string_equal(c.v[0].file->path, "/a.c");
	assert_string_equal(c.v[0].function->name, "f");
	assert_int_equal(c.v[0].evaluated, 5);
	slice_is(c.v[0].text, "\tif (x == 1) {");
}

static void test_else(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c", "FN:1,f\nFNDA:5,f\nBRDA:2,0,0,5\nBRDA:2,0,1,0\n",
		 "5|void f(int x) {\n5|\tif (x)\n5|\t\tx++;\n0|\telse\n0|\t\tx--;\n5|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 1);
	code_blocks(&c, 0, 2, false, 2, 0);
}

static void test_early_return(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c",
		 "FN:1,f\nFNDA:7,f\nBRDA:2,0,0,3\nBRDA:2,0,1,4\nBRDA:4,0,0,4\nBRDA:4,"
		 "0,1,0\n",
		 "7|void f(int x) {\n7|\tif (x > 4)\n3|\t\treturn;\n4|\tif (x != "
		 "77)\n4|\t\treturn;\n"
		 "0|\tx++;\n0|\tx--;\n0|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 1);
	code_blocks(&c, 0, 4, false, 3, 0);
	assert_int_equal(c.v[0].evaluated, 4);
}

/* Both outcomes, or none: it is not in the way. */
static void test_no_blocker(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c",
		 "FN:1,f\nFNDA:5,f\nBRDA:2,0,0,2\nBRDA:2,0,1,3\nBRDA:4,0,0,-\nBRDA:4,"
		 "0,1,-\n"
		 "BRDA:5,0,0,0\nBRDA:5,0,1,3\n",
		 "5|void f(int x) {\n5|\tif (x)\n2|\t\treturn;\n3|\tx++;\n3|\tif (x) "
		 "return;\n3|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 0); /* and nothing is behind line 5 */
}

/* The labels of a switch are conditions: each blocks the lines to the next one.
 */
static void test_switch(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c",
		 "FN:1,f\nFNDA:9,f\nBRDA:3,0,0,0\nBRDA:3,0,1,9\nBRDA:5,0,0,0\nBRDA:5,"
		 "0,1,9\n"
		 "BRDA:9,0,0,0\nBRDA:9,0,1,9\nBRDA:11,0,0,9\nBRDA:11,0,1,0\n",
		 "9|void f(int x) {\n9|\tswitch (x) {\n0|\tcase "
		 "1:\n0|\t\treturn;\n0|\tcase 2:\n"
		 "0|\t\tx++;\n0|\t\tx++;\n0|\t\tbreak;\n0|\tcase "
		 "3:\n0|\t\tx--;\n9|\tdefault:\n"
		 "9|\t\tbreak;\n9|\t}\n9|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 3);
	code_blocks(&c, 0, 5, true, 4, 0);
	code_blocks(&c, 1, 3, true, 2, 0);
	code_blocks(&c, 2, 9, true, 2, 0);
}

/* As clang 14 counts: the lines of a condition have the count of its first
 * line, and an operand that was not evaluated has no outcome. */
static void test_condition_over_lines(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c",
		 "FN:1,f\nFNDA:9,f\nBRDA:2,0,0,9\nBRDA:2,0,1,0\nBRDA:4,0,0,0\nBRDA:4,0,1,"
		 "9\n"
		 "BRDA:5,0,0,-\nBRDA:5,0,1,-\nBRDA:6,0,0,-\nBRDA:6,0,1,-\nBRDA:6,1,2,-\n"
		 "BRDA:6,1,3,-\n",
		 "9|void f(int x) {\n9|\tif (x)\n9|\t\tx++;\n9|\tif (x == 1 &&\n9|\t    y "
		 "== 2 &&\n"
		 "9|\t    (z || a))\n0|\t\tg(x);\n9|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 1);
	code_blocks(&c, 0, 4, true, 1, 0);
}

/* The failing operand is the last evaluated one. */
static void test_last_operand(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c",
		 "FN:1,f\nFNDA:9,f\nBRDA:2,0,0,5\nBRDA:2,0,1,4\nBRDA:3,0,0,0\nBRDA:3,"
		 "0,1,5\n"
		 "BRDA:4,0,0,-\nBRDA:4,0,1,-\n",
		 "9|void f(int x) {\n9|\tif (x == 1 &&\n9|\t    y == 2 &&\n9|\t    "
		 "z)\n0|\t\tg(x);\n"
		 "9|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 1);
	code_blocks(&c, 0, 3, true, 1, 0);
}

static void test_nested(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c",
		 "FN:1,f\nFNDA:9,f\nBRDA:2,0,0,0\nBRDA:2,0,1,9\nBRDA:3,0,0,-\nBRDA:3,"
		 "0,1,-\n"
		 "BRDA:7,0,0,4\nBRDA:7,0,1,5\nBRDA:8,0,0,0\nBRDA:8,0,1,4\n",
		 "9|void f(int x) {\n9|\tif (x == 1) {\n0|\t\tif "
		 "(y)\n0|\t\t\tz();\n0|\t\tz();\n9|\t}\n"
		 "9|\tif (x == 2) {\n4|\t\tif (y)\n0|\t\t\tz();\n4|\t}\n9|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 2);
	code_blocks(&c, 0, 2, true, 3, 0);
	code_blocks(&c, 1, 8, true, 1, 0);
}

/* A condition of another function is not in the way. */
static void test_functions_apart(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c",
		 "FN:1,f\nFN:4,g\nFN:7,h\nFNDA:5,f\nFNDA:3,g\nFNDA:0,h\nBRDA:2,0,0,"
		 "5\nBRDA:2,0,1,0\n"
		 "BRDA:8,0,0,-\nBRDA:8,0,1,-\n",
		 "5|void f(int x) {\n5|\tif (x) x++;\n5|}\n3|void g(int x) "
		 "{\n3|\texit(0);\n0|}\n"
		 "0|void h(int x) {\n0|\tif (x)\n0|\t\tx++;\n0|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 0);
}

/* --- calls
 * ---------------------------------------------------------------------------------
 */

/* As clang 14 and llvm-cov 14 wrote it, but for the directory. */
static const char real_trace[] =
    "SF:/src/"
    "a.c\nFN:43,LLVMFuzzerTestOneInput\nFN:18,a.c:parse\nFN:13,a.c:second\nFN:"
    "6,a.c:deep\n"
    "FNDA:3001,LLVMFuzzerTestOneInput\nFNDA:3001,a.c:parse\nFNDA:0,a.c:"
    "second\nFNDA:0,a.c:deep\n"
    "FNF:4\nFNH:2\nDA:6,0\nDA:7,0\nDA:8,0\nDA:9,0\nDA:10,0\nDA:13,0\nDA:14,"
    "0\nDA:15,0\nDA:18,3001\n"
    "DA:19,3001\nDA:20,0\nDA:21,3001\nDA:22,3001\nDA:23,3001\nDA:24,0\nDA:25,"
    "3001\nDA:26,0\n"
    "DA:27,0\nDA:28,0\nDA:29,0\nDA:30,0\nDA:31,3001\nDA:32,3001\nDA:33,"
    "3001\nDA:34,3001\n"
    "DA:35,3001\nDA:36,0\nDA:37,0\nDA:38,3001\nDA:39,3001\nDA:43,3001\nDA:44,"
    "3001\nDA:45,3001\n"
    "DA:46,3001\nBRDA:7,0,0,-\nBRDA:7,0,1,-\nBRDA:19,0,0,0\nBRDA:19,0,1,"
    "3001\nBRDA:21,0,0,0\n"
    "BRDA:21,0,1,3001\nBRDA:22,0,0,-\nBRDA:22,0,1,-\nBRDA:23,0,0,-\nBRDA:23,0,"
    "1,-\n"
    "BRDA:23,1,2,-\nBRDA:23,1,3,-\nBRDA:26,0,0,0\nBRDA:26,0,1,3001\nBRDA:28,0,"
    "0,0\n"
    "BRDA:28,0,1,3001\nBRDA:31,0,0,3001\nBRDA:31,0,1,0\nBRDA:34,0,0,3001\nBRDA:"
    "34,0,1,0\nBRF:20\n"
    "BRH:7\nLF:34\nLH:17\nend_of_record\n";
static const char real_listing[] =
    "    1|       |#include <stdint.h>\n    2|       |#include <stddef.h>\n"
    "    3|       |#include <stdlib.h>\n    4|       |\n    5|       |static "
    "int deep(int x)\n"
    "    6|      0|{\n    7|      0|\tif (x > 3)\n    8|      0|\t\treturn "
    "deep(x - 1);\n"
    "    9|      0|\treturn x;\n   10|      0|}\n   11|       |\n"
    "   12|       |static int second(const uint8_t *d)\n   13|      0|{\n"
    "   14|      0|\treturn deep(d[0]) + 1;\n   15|      0|}\n   16|       |\n"
    "   17|       |static int parse(const uint8_t *d, size_t n)\n   18|  "
    "3.00k|{\n"
    "   19|  3.00k|\tif (n < 2)\n   20|      0|\t\treturn -1;\n   21|  "
    "3.00k|\tif (d[0] == 'I' &&\n"
    "   22|  3.00k|\t    d[1] == 'C' &&\n   23|  3.00k|\t    (d[1] || d[0]))\n"
    "   24|      0|\t\treturn second(d);\n   25|  3.00k|\tswitch (d[0]) {\n"
    "   26|      0|\tcase 'a':\n   27|      0|\t\treturn 1;\n   28|      "
    "0|\tcase 'b':\n"
    "   29|      0|\t\tsecond(d);\n   30|      0|\t\treturn 2;\n   31|  "
    "3.00k|\tdefault:\n"
    "   32|  3.00k|\t\tbreak;\n   33|  3.00k|\t}\n   34|  3.00k|\tif (n > 1)\n"
    "   35|  3.00k|\t\tn++;\n   36|      0|\telse\n   37|      0|\t\tn = "
    "second(d);\n"
    "   38|  3.00k|\treturn (int)n;\n   39|  3.00k|}\n   40|       |\n"
    "   41|       |int LLVMFuzzerTestOneInput(const uint8_t *data, size_t "
    "size);\n"
    "   42|       |int LLVMFuzzerTestOneInput(const uint8_t *data, size_t "
    "size)\n"
    "   43|  3.00k|{\n   44|  3.00k|\tparse(data, size);\n   45|  "
    "3.00k|\treturn 0;\n"
    "   46|  3.00k|}\n";

static void test_real(void **state)
{
	_autocode_ struct code c = {.l = parsed_lcov(real_trace)};

	(void)state;
	listing_parse(slice_of(real_listing), "/src/a.c", &c.text);
	blockers_find(&c.l, &c.text, &c.v, &c.n);
	assert_int_equal(c.n, 5);
	code_blocks(&c, 0, 28, true, 3 + 8, 2);
	code_blocks(&c, 1, 34, false, 2 + 8, 2);
	code_blocks(&c, 2, 21, true, 1 + 8, 2);
	code_blocks(&c, 3, 26, true, 2, 0);
	code_blocks(&c, 4, 19, true, 1, 0);
	assert_string_equal(c.v[0].function->name, "a.c:parse");
	slice_is(c.v[0].text, "\tcase 'b':");
}

/* A function that two calls lead to counts once; so does a function that calls
 * itself. */
static void test_chain(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c",
		 "FN:1,f\nFN:5,a\nFN:8,b\nFN:10,d\nFN:13,lonely\nFNDA:5,f\nBRDA:2,0,0,0\n"
		 "BRDA:2,0,1,5\n",
		 "5|void f(int x) {\n5|\tif (x == 1)\n0|\t\ta(b(x));\n5|}\n"
		 "0|void a(void) {\n0|\tb(0), d(1);\n0|}\n"
		 "0|int b(int x) {\n0|\treturn d(x) + b (x); }\n"
		 "0|int d(int x) {\n0|\treturn x ? a() : d\t(0);\n0|}\n"
		 "0|void lonely(void) {\n0|\ta();\n0|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 1);
	code_blocks(&c, 0, 2, true, 1 + 3 + 2 + 3, 3);
}

/* What a reached function calls in an unreached line, and a call in the
 * condition's own line. */
static void test_call_in_the_line(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c", "FN:1,f\nFN:4,g\nFNDA:5,f\nFNDA:0,g\nBRDA:2,0,0,0\nBRDA:2,0,1,5\n",
		 "5|void f(int x) {\n5|\tif (x == 1) g(x);\n5|}\n0|void g(int x) "
		 "{\n0|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 1);
	code_blocks(&c, 0, 2, true, 2, 1);
}

/* A reached function has no unreached lines of its own behind a call. */
static void test_call_of_a_reached_function(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c", "FN:1,f\nFN:5,g\nFNDA:5,f\nFNDA:1,g\nBRDA:2,0,0,0\nBRDA:2,0,1,5\n",
		 "5|void f(int x) {\n5|\tif (x == 1)\n0|\t\tg(x);\n5|}\n1|void g(int x) "
		 "{\n0|\texit(0);\n"
		 "0|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 1);
	code_blocks(&c, 0, 2, true, 1, 0);
}

static void test_words_that_are_no_calls(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c", "FN:1,f\nFN:5,g\nFNDA:5,f\nFNDA:0,g\nBRDA:2,0,0,0\nBRDA:2,0,1,5\n",
		 "5|void f(int x) {\n5|\tif (x == 1)\n0|\t\tgg(x), g2(), x = g, "
		 "_g(1), g[(1)], g;\n5|}\n"
		 "0|void g(int x) {\n0|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 1);
	code_blocks(&c, 0, 2, true, 1, 0);
}

/* "name" and "(" in different lines: not seen, and no access beyond the line.
 */
static void test_end_of_line(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c", "FN:1,f\nFN:6,g\nFNDA:5,f\nFNDA:0,g\nBRDA:2,0,0,0\nBRDA:2,0,1,5\n",
		 "5|void f(int x) {\n5|\tif (x == "
		 "1)\n0|\t\tg\n0|\t\t(x);\n5|}\n0|void g(int x) {\n");
	code_find(&c, true);
	code_blocks(&c, 0, 2, true, 2, 0);
}

static const char g_of_5[] = "0|void g(int x) {\n0|\tx++;\n0|\tx++;\n0|\tx++;\n0|}\n";
static const char g_of_2[] = "0|void g(int x) {\n0|}\n";

static void add_caller(struct code *c, const char *path, const char *more, const char *lines)
{
	_autofree_ char *records =
	    xasprintf("FN:1,%s:f\n%sFNDA:5,%s:f\nBRDA:2,0,0,0\nBRDA:2,0,1,5\n", path, more, path);
	_autofree_ char *text =
	    xasprintf("5|void f(int x) {\n5|\tif (x)\n0|\t\tg(x);\n5|}\n%s", lines);

	code_add(c, path, records, text);
}

static void test_namesakes(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	add_caller(&c, "/a.c", "FN:5,a.c:g\n", g_of_2);
	add_caller(&c, "/b.c", "FN:5,b.c:g\n", g_of_5);
	add_caller(&c, "/c.c", "", "");
	code_find(&c, true);
	assert_int_equal(c.n, 3);
	/* Without a function of its own file, it can be either. */
	code_blocks(&c, 0, 2, true, 1 + 2 + 5, 2);
	assert_string_equal(c.v[0].file->path, "/c.c");
	code_blocks(&c, 1, 2, true, 1 + 5, 1);
	assert_string_equal(c.v[1].file->path, "/b.c");
	code_blocks(&c, 2, 2, true, 1 + 2, 1);
	assert_string_equal(c.v[2].file->path, "/a.c");
}

/* Instances of a template begin at one line: they count as one function, which
 * was reached if one of them was. */
static void test_instances(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.cc",
		 "FN:1,f\nFN:5,void g<int>(int)\nFN:5,void g<char>(char)\nFN:8,void "
		 "h<int>(int)\n"
		 "FN:8,void h<char>(char)\nFNDA:5,f\nFNDA:0,void g<int>(int)\n"
		 "FNDA:0,void g<char>(char)\nFNDA:0,void h<int>(int)\nFNDA:1,void "
		 "h<char>(char)\n"
		 "BRDA:2,0,0,0\nBRDA:2,0,1,5\nBRDA:9,0,0,0\nBRDA:9,0,1,1\nBRDA:9,0,0,-\n"
		 "BRDA:9,0,1,-\n",
		 "5|void f(int x) {\n5|\tif (x == 1)\n0|\t\tg(x), h(x);\n5|}\n"
		 "0|void g(T x) {\n0|\tx++;\n0|}\n"
		 "1|void h(T x) {\n1|\tif (x)\n0|\t\tx++;\n1|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 2);
	code_blocks(&c, 0, 2, true, 1 + 3, 1);
	code_blocks(&c, 1, 9, true, 1, 0);
}

static void test_no_source(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	add_caller(&c, "/a.c", "FN:5,a.c:g\n", g_of_5);
	code_find(&c, false);
	assert_int_equal(c.n, 1);
	code_blocks(&c, 0, 2, true, 1, 0);
	slice_is(c.v[0].text, "");
}

static void test_nothing(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_find(&c, true);
	assert_int_equal(c.n, 0);
}

/* --- lambdas
 * -----------------------------------------------------------------------------------
 */

/* A function that begins inside of another one and was not reached: the lines
 * behind it are those of the outer function. */
static void test_lambda(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.cc",
		 "FN:1,f(int)\nFN:2,f(int)::$_0::operator()(int) "
		 "const\nFN:9,g(int)\nFNDA:5,f(int)\n"
		 "FNDA:0,f(int)::$_0::operator()(int) const\nFNDA:0,g(int)\nBRDA:5,0,0,0\n"
		 "BRDA:5,0,1,5\n",
		 "5|void f(int x) {\n5|\tauto l = [](int x) "
		 "{\n0|\t\tg(x);\n5|\t};\n5|\tif (x == 1)\n"
		 "0|\t\tx++;\n5|}\n-|\n0|void g(int x) {\n0|}\n");
	code_find(&c, true);
	assert_int_equal(c.n, 1);
	code_blocks(&c, 0, 5, true, 1, 0);
	assert_string_equal(c.v[0].function->name, "f(int)");
}

/* --- ranking
 * -------------------------------------------------------------------------------------
 */

static void test_ranking(void **state)
{
	enum { MANY = BLOCKERS_MAX + 20 };
	_autocode_ struct code c = CODE_INIT;
	struct buf records = BUF_INIT(1 << 20), lines = BUF_INIT(1 << 20);
	uint32_t at = 1;

	(void)state;
	buf_puts(&records, "FN:1,f\nFNDA:5,f\n");
	buf_puts(&lines, "5|void f(int x) {\n");
	for (int i = 0; i < MANY; i++) {
		buf_printf(&records, "BRDA:%u,0,0,0\nBRDA:%u,0,1,5\n", at + 1, at + 1);
		buf_puts(&lines, "5|\tif (x)\n");
		for (int k = 0; k <= i; k++)
			buf_puts(&lines, "0|\t\tx++;\n");
		at += 2 + (uint32_t)i;
	}
	code_add(&c, "/a.c", buf_str(&records), buf_str(&lines));
	buf_done(&records);
	buf_done(&lines);
	code_find(&c, true);
	assert_int_equal(c.n, BLOCKERS_MAX);
	for (size_t i = 0; i < c.n; i++)
		assert_int_equal(c.v[i].lines, MANY - i);
}

/* Equal ones: by file, then by line. */
static void test_ranking_of_equals(void **state)
{
	static const char records[] = "FN:1,f\nFNDA:5,f\nBRDA:4,0,0,0\nBRDA:4,0,1,5\nBRDA:2,0,0,0\n"
				      "BRDA:2,0,1,5\n";
	static const char lines[] =
	    "5|void f(int x) {\n5|\tif (x)\n0|\t\tx++;\n5|\tif (x)\n0|\t\tx++;\n";
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/b.c", records, lines);
	code_add(&c, "/a.c", records, lines);
	code_find(&c, true);
	assert_int_equal(c.n, 4);
	for (size_t i = 0; i < 4; i++) {
		code_blocks(&c, i, i % 2 ? 4 : 2, true, 1, 0);
		assert_string_equal(c.v[i].file->path, i < 2 ? "/b.c" : "/a.c");
	}
}

static void test_huge_counts(void **state)
{
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	code_add(&c, "/a.c",
		 "FN:1,f\nFNDA:18446744073709551615,f\nBRDA:2,0,0,0\n"
		 "BRDA:2,0,1,18446744073709551615\n",
		 "18446744073709551615|void f(int x) {\n18446744073709551615|\tif "
		 "(x)\n0|\t\tx++;\n");
	code_find(&c, true);
	assert_int_equal(c.n, 1);
	assert_true(c.v[0].evaluated == UINT64_MAX);
}

/* --- much of everything
 * -----------------------------------------------------------------------------
 */

/* A text of about a MiB takes less than a second, here with room for a
 * sanitizer and a slow machine.  In quadratic time it takes many minutes. */
static void find_quickly(struct code *c)
{
	clock_t began = clock();

	code_find(c, true);
	assert_true((clock() - began) / CLOCKS_PER_SEC < 60);
}

static void repeat(struct buf *b, const char *text, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		buf_puts(b, text);
}

static void test_many_namesakes(void **state)
{
	enum { MANY = 45000 };
	_autocode_ struct code c = CODE_INIT;
	struct buf records = BUF_INIT(1 << 21), lines = BUF_INIT(1 << 21);

	(void)state;
	buf_puts(&records, "FN:1,f\nFNDA:1,f\nBRDA:1,0,0,0\nBRDA:1,0,1,1\n");
	buf_puts(&lines, "1|if (x)\n0|");
	repeat(&lines, "g(", 4 * MANY);
	buf_puts(&lines, "\n");
	for (unsigned i = 0; i < MANY; i++)
		buf_printf(&records, "FN:%u,g\n", i + 3);
	code_add(&c, "/a.c", buf_str(&records), buf_str(&lines));
	buf_done(&records);
	buf_done(&lines);
	find_quickly(&c);
	assert_int_equal(c.n, 1);
	code_blocks(&c, 0, 1, true, 1, 8); /* at most so many namesakes */
}

static void test_many_conditions_in_a_long_line(void **state)
{
	enum { MANY = 15000 };
	_autocode_ struct code c = CODE_INIT;
	struct buf records = BUF_INIT(1 << 21), lines = BUF_INIT(1 << 21);

	(void)state;
	buf_puts(&records, "FN:1,f\nFNDA:1,f\nFN:2,g\n");
	repeat(&records, "BRDA:1,0,0,0\nBRDA:1,0,1,1\n", MANY);
	buf_puts(&lines, "1|");
	repeat(&lines, "g(", 20 * MANY);
	buf_puts(&lines, "\n0|void g(void) {}\n");
	code_add(&c, "/a.c", buf_str(&records), buf_str(&lines));
	buf_done(&records);
	buf_done(&lines);
	find_quickly(&c);
	assert_int_equal(c.n, 1); /* they lack the same outcome */
	code_blocks(&c, 0, 1, true, 1, 1);
}

static void test_many_sections_of_a_file(void **state)
{
	enum { MANY = 14000 };
	_autocode_ struct code c = CODE_INIT;

	(void)state;
	repeat(&c.trace, "SF:/a\nFN:1,f\nDA:1,0\nend_of_record\n", MANY);
	buf_puts(&c.listing, "/a:\n1|0|");
	repeat(&c.listing, "f(", 20 * MANY);
	buf_puts(&c.listing, "\n");
	find_quickly(&c);
	assert_int_equal(c.n, 0);
}

/* Of a long chain, not all functions are counted for each of many conditions.
 */
static void test_many_walks(void **state)
{
	enum { MANY = 30000 };
	_autocode_ struct code c = CODE_INIT;
	struct buf records = BUF_INIT(1 << 22), lines = BUF_INIT(1 << 22);

	(void)state;
	buf_puts(&records, "FN:1,f\nFNDA:1,f\n");
	repeat(&records, "BRDA:2,0,0,0\nBRDA:2,0,1,1\n", MANY);
	buf_puts(&lines, "1|void f(int y) {\n1|if (y) g0();\n");
	for (unsigned i = 0; i < MANY; i++) {
		buf_printf(&records, "FN:%u,g%u\n", i + 3, i);
		buf_printf(&lines, "0|void g%u(void) { g%u(); }\n", i, i + 1);
	}
	code_add(&c, "/a.c", buf_str(&records), buf_str(&lines));
	buf_done(&records);
	buf_done(&lines);
	find_quickly(&c);
	assert_int_equal(c.n, 1);
	assert_true(c.v[0].functions > 1000 && c.v[0].functions < MANY);
	assert_int_equal(c.v[0].functions, c.v[0].lines);
}

/* --- names
 * -----------------------------------------------------------------------------------------
 */

static void test_names(void **state)
{
	static const struct {
		const char *function, *name;
	} cases[] = {
	    {"main", "main"},
	    {"a.c:f", "f"},
	    {"src/a.c;f_1", "f_1"},
	    {"f()", "f"},
	    {"ns::un(int)", "un"},
	    {"ns::Reader<int>::parse(char*) const", "parse"},
	    {"int ns::tp<int>(int)", "tp"},
	    {"double ns::tp<std::vector<int, std::allocator<int> > >(double)", "tp"},
	    {"void f<void (*)(int)>(void (*)(int))", "f"},
	    {"std::vector<int, std::allocator<int> > ns::make(std::pair<int, int> "
	     "const&)",
	     "make"},
	    {"(anonymous namespace)::f(int)", "f"},
	    {"b.cc:(anonymous namespace)::f()", "f"},
	    {"int (anonymous namespace)::tp<int>(int)", "tp"},
	    {"ns::(anonymous namespace)::R<(anonymous namespace)::E>::get() const", "get"},
	    {"b.cc:(anonymous namespace)::R<int>::R(int)", "R"},
	    {"b.cc:(anonymous namespace)::R<int>::~R()", "R"},
	    {"f(int)::Local::bar(char)", "bar"},
	    {"C::f(int) const::Local::bar(char)", "bar"},
	    {"f(void (*)(int))", "f"},
	    /* Source text does not call these by a name. */
	    {"main::$_0::operator()(int) const", ""},
	    {"f(int)::$_0::operator()(int) const", ""},
	    {"R<int>::operator<(R<int> const&) const", ""},
	    {"std::ostream& operator<< <char>(std::ostream&, char)", ""},
	    {"R::operator->() const", ""},
	    {"R::operator bool() const", ""},
	    {"operator new(unsigned long)", ""},
	    /* Words of C that only look like it. */
	    {"operator", "operator"},
	    {"my_operator", "my_operator"},
	    {"operators(int)", "operators"},
	    {"a.c:operator_of", "operator_of"},
	    /* Damaged. */
	    {"", ""},
	    {"(", ""},
	    {"()", ""},
	    {")", ""},
	    {"<>", ""},
	    {">", ""},
	    {"f(int", "f"},
	    {"(anonymous namespace)", ""},
	    {"(anonymous namespace)::", ""},
	    {"f<", ""},
	    {"a.c:", ""},
	    {"\xff\xfe", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct slice name = blockers_call_name(cases[i].function);

		if (!slice_eq(name, slice_of(cases[i].name)))
			fail_msg("%s: '%.*s' is not '%s'", cases[i].function, (int)name.n, name.p,
				 cases[i].name);
	}
}

static void test_long_name(void **state)
{
	char name[BLOCKERS_NAME_MAX + 1];

	(void)state;
	memset(name, 'n', BLOCKERS_NAME_MAX);
	name[BLOCKERS_NAME_MAX] = '\0';
	assert_int_equal(blockers_call_name(name).n, 0);
	name[BLOCKERS_NAME_MAX - 1] = '\0';
	assert_int_equal(blockers_call_name(name).n, BLOCKERS_NAME_MAX - 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_never_true),
    cmocka_unit_test(test_else),
    cmocka_unit_test(test_early_return),
    cmocka_unit_test(test_no_blocker),
    cmocka_unit_test(test_switch),
    cmocka_unit_test(test_condition_over_lines),
    cmocka_unit_test(test_last_operand),
    cmocka_unit_test(test_nested),
    cmocka_unit_test(test_functions_apart),
    cmocka_unit_test(test_real),
    cmocka_unit_test(test_chain),
    cmocka_unit_test(test_call_in_the_line),
    cmocka_unit_test(test_call_of_a_reached_function),
    cmocka_unit_test(test_words_that_are_no_calls),
    cmocka_unit_test(test_end_of_line),
    cmocka_unit_test(test_namesakes),
    cmocka_unit_test(test_instances),
    cmocka_unit_test(test_no_source),
    cmocka_unit_test(test_nothing),
    cmocka_unit_test(test_lambda),
    cmocka_unit_test(test_ranking),
    cmocka_unit_test(test_ranking_of_equals),
    cmocka_unit_test(test_huge_counts),
    cmocka_unit_test(test_many_namesakes),
    cmocka_unit_test(test_many_conditions_in_a_long_line),
    cmocka_unit_test(test_many_sections_of_a_file),
    cmocka_unit_test(test_many_walks),
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_long_name),
};

UNIT_MAIN(tests)
