/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "runner/coverage/linetable.h"

#include <errno.h>
#include <string.h>

/* A program of five functions with two edges each; the last one has none. */
enum { FUNCTIONS = 5, EDGES = 2 * (FUNCTIONS - 1) };

static struct symbols_function functions[FUNCTIONS];
static struct pcs_entry edges[EDGES];
#define NOT_LOST UINT64_MAX
static uint64_t lost = NOT_LOST; /* address of the last edge */

static bool is_ours(void *arg, const char *path)
{
	(void)arg;
	return strncmp(path, "/src/", 5) == 0 || *path != '/';
}

static struct linetable *table(const char *text)
{
	static const char *const names[FUNCTIONS] = {"f", "g", "h", "_GLOBAL__sub_I_a.cc", "plain"};
	struct linetable *t;
	struct slice in = slice_of(text), line;

	for (size_t i = 0; i < FUNCTIONS; i++) {
		functions[i].begin = 0x1000 + 0x100 * i;
		functions[i].end = functions[i].begin + 0x80;
		if (!functions[i].name)
			functions[i].name = names[i];
	}
	for (size_t i = 0; i < EDGES; i++)
		edges[i].address = 0x1000 + 0x100 * (i / 2) + 0x10 * (i % 2);
	if (lost != NOT_LOST)
		edges[EDGES - 1].address = lost;
	t = linetable_new(&(struct pcs){edges, EDGES},
			  &(struct symbols){functions, FUNCTIONS, NULL}, is_ours, NULL);
	while (scan_line(&in, &line))
		linetable_take(t, line);
	return t;
}

/* The lines as text: "/src/a.c 10:0 20:1 | ". */
static void lines_are(const char *text, const uint32_t *v, size_t n, const char *want)
{
	_autobuf_ struct buf got = BUF_INIT(4096);
	_autobits_ struct bits reached = {0};
	_autolcov_ struct lcov l = {0};
	struct linetable *t = table(text);
	struct err e;

	for (size_t i = 0; i < n; i++)
		(void)bits_add(&reached, v[i]);
	if (linetable_lcov(t, &reached, &l, &e) < 0)
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < l.n; i++) {
		buf_printf(&got, "%s ", l.v[i].path);
		for (size_t k = 0; k < l.v[i].n_lines; k++)
			buf_printf(&got, "%u:%u ", l.v[i].lines[k].line,
				   (unsigned)l.v[i].lines[k].count);
		buf_puts(&got, "| ");
	}
	assert_string_equal(buf_str(&got), want);
	linetable_free(t);
}

#define FILES                                                                  \
	"debug_line[0x00000000]\n"                                             \
	"include_directories[  0] = \"/src\"\n"                                \
	"include_directories[  1] = \"sub\"\n"                                 \
	"include_directories[  2] = \"/usr/include\"\n"                        \
	"file_names[  0]:\n           name: \"a.c\"\n      dir_index: 0\n"     \
	"   md5_checksum: 09b7b03b517197569dfce900e734f7f8\n"                  \
	"file_names[  1]:\n           name: \"../b.h\"\n      dir_index: 1\n"  \
	"file_names[  2]:\n           name: \"stdio.h\"\n      dir_index: 2\n" \
	"Address            Line   Column File   ISA Discriminator Flags\n"    \
	"------------------ ------ ------ ------ --- ------------- -------------\n"
/* f is lines 10 to 12, g lines 20 and 21 with line 5 of b.h inlined, and so has h. */
#define ROWS                                                                                \
	"0x0000000000001000     10      0      0   0             0  is_stmt\n"              \
	"0x0000000000001010     12      3      0   0             0  is_stmt prologue_end\n" \
	"0x0000000000001020      0      3      0   0             0 \n"                      \
	"0x0000000000001080     99      3      0   0             0  end_sequence\n"         \
	"0x0000000000001100     20      0      0   0             0  is_stmt\n"              \
	"0x0000000000001108      5      0      1   0             0  is_stmt\n"              \
	"0x0000000000001110     21      0      0   0             0  is_stmt\n"              \
	"0x0000000000001200     30      0      0   0             0  is_stmt\n"              \
	"0x0000000000001204      5      0      1   0             0  is_stmt\n"              \
	"0x0000000000001208      7      0      2   0             0  is_stmt\n"              \
	"0x0000000000001300     40      0      0   0             0  is_stmt\n"              \
	"0x0000000000001400     50      0      0   0             0  is_stmt\n"

/* What has no edge of its own, and constructors, count as reached. */
static void test_nothing(void **state)
{
	(void)state;
	lines_are(FILES ROWS, NULL, 0,
		  "/src/a.c 10:0 11:0 12:0 20:0 21:0 30:0 40:1 50:1 | /src/b.h 5:0 | ");
}

/* One edge reaches the whole function, and what was inlined into it. */
static void test_function(void **state)
{
	const uint32_t one = 1, inlining = 4;

	(void)state;
	lines_are(FILES ROWS, &one, 1,
		  "/src/a.c 10:1 11:1 12:1 20:0 21:0 30:0 40:1 50:1 | /src/b.h 5:0 | ");
	lines_are(FILES ROWS, &inlining, 1,
		  "/src/a.c 10:0 11:0 12:0 20:0 21:0 30:1 40:1 50:1 | /src/b.h 5:1 | ");
}

/* Blank lines, declarations and comments belong to the function around them; what was inlined, and
 * what stands between functions, does not. */
static void test_spans(void **state)
{
	const uint32_t one = 0;

	(void)state;
	lines_are(FILES "0x0000000000001000     10      0      0   0             0\n"
			"0x0000000000001010     14      3      0   0             0\n"
			"0x0000000000001020     31      3      0   0             0\n"
			"0x0000000000001100     30      0      0   0             0\n"
			"0x0000000000001104     12      0      0   0             0\n"
			"0x0000000000001108     33      0      0   0             0\n"
			"0x0000000000001200     40      0      0   0             0\n"
			"0x0000000000001210     60000   0      0   0             0\n"
			"0x0000000000001300     40      0      2   0             0\n",
		  &one, 1, "/src/a.c 10:1 11:1 12:1 13:1 14:1 30:0 31:1 32:0 33:0 40:0 60000:0 | ");
}

static void test_names(void **state)
{
	(void)state;
	lines_are("debug_line[0x00000000]\n"
		  "include_directories[  0] = \"/src/\\303\\274\"\n"
		  "file_names[  0]:\n name: \"a\\\"b\\\\c.c\"\n dir_index: 0\n"
		  "0x1000 1 0 0\n0x1100 1 0 0\n0x1200 1 0 0\n0x1300 1 0 0\n",
		  NULL, 0, "/src/\303\274/a\"b\\c.c 1:1 | ");
}

/* A function that several files have is one file's lines. */
static void test_several_units(void **state)
{
	const uint32_t one = 2;

	(void)state;
	lines_are(FILES ROWS FILES "0x0000000000001100     12      0      0   0             0 \n",
		  &one, 1, "/src/a.c 10:0 12:1 20:1 21:1 30:0 40:1 50:1 | /src/b.h 5:1 | ");
}

/* Before DWARF 5, indexes begin at 1, and the compiler's directory is not there. */
static void test_dwarf_4(void **state)
{
	(void)state;
	lines_are("debug_line[0x00000000]\n"
		  "include_directories[  1] = \"/src/sub\"\n"
		  "file_names[  1]:\n           name: \"./x/../a.c\"\n      dir_index: 0\n"
		  "file_names[  2]:\n           name: \"../../src/b.h\"\n      dir_index: 1\n"
		  "0x0000000000001000     10      0      1   0             0\n"
		  "0x0000000000001100     20      0      2   0             0\n"
		  "0x0000000000001200     30      0      9   0             0\n"
		  "0x0000000000001300     40      0      0   0             0\n",
		  NULL, 0, "/src/b.h 20:0 | a.c 10:0 | ");
}

/* The program's LLVMFuzzerInitialize() may call anything. */
static void test_initialize(void **state)
{
	(void)state;
	functions[1].name = "LLVMFuzzerInitialize";
	lines_are(FILES ROWS, NULL, 0,
		  "/src/a.c 10:1 11:1 12:1 20:1 21:1 30:1 40:1 50:1 | /src/b.h 5:1 | ");
	functions[1].name = NULL;
}

static void is_refused(const char *text, int want)
{
	struct linetable *t = table(text);
	const struct bits none = {0};
	struct lcov l = {0};
	struct err e;

	assert_int_equal(linetable_lcov(t, &none, &l, &e), want);
	assert_int_equal(l.n, 0);
	linetable_free(t);
}

/* Edges without lines: what they would tell is missing. */
static void test_not_known(void **state)
{
	(void)state;
	is_refused("", -ENODATA);
	is_refused(FILES "0x0000000000001000     10      0      0   0             0\n", -ENODATA);
	lost = 0;
	is_refused(FILES ROWS, -ENODATA);
	lost = 1; /* a block that was optimised away */
	lines_are(FILES ROWS, NULL, 0,
		  "/src/a.c 10:0 11:0 12:0 20:0 21:0 30:0 40:1 50:1 | /src/b.h 5:0 | ");
	lost = NOT_LOST;
}

static void test_hostile(void **state)
{
	(void)state;
	lines_are("include_directories[\ninclude_directories[ 99999999999999999999] = \"\n"
		  "file_names[\nfile_names[  7]:\n name: \n name: \"\n dir_index: 9\n"
		  "name: \"x\"\ndir_index: 18446744073709551615\n"
		  "0x\n0xg\n0x1000 1\n0x1000 2147483648 0 0\n0x1000 1 0 18446744073709551615\n"
		  "0x1000 7 0 1 0 0\n0x1100 1 0 0\n0x1200 1 0 0\n0x1300 1 0 0\n",
		  NULL, 0, "? 1:1 | x 7:0 | ");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_nothing),	  cmocka_unit_test(test_function),
    cmocka_unit_test(test_spans),	  cmocka_unit_test(test_names),
    cmocka_unit_test(test_several_units), cmocka_unit_test(test_dwarf_4),
    cmocka_unit_test(test_initialize),	  cmocka_unit_test(test_not_known),
    cmocka_unit_test(test_hostile),
};

UNIT_MAIN(tests)
