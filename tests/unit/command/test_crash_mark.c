/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/command/crash/crash.h"

static const char report[] =
    "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x603000000040 at pc "
    "0x55f1c2c1a1a0 bp 0x7ffd1 sp 0x7ffd0\n"
    "READ of size 4 at 0x603000000040 thread T0\n"
    "    #0 0x55f1c2be1111 in __interceptor_memcpy /llvm/asan.cpp:22:3\n"
    "    #1 0x55f1c2c1a19f in session_is_open /src/uaf.c:26:12\n"
    "    #2 0x55f1c2c1a19f in inlined /src/uaf.c:33:6\n"
    "    #3 0x55f1c2c1a22f in LLVMFuzzerTestOneInput /src/uaf.c:46:6\n"
    "    #4 0x55f1c2b41111 in fuzzer::Fuzzer::ExecuteCallback(unsigned char const*, unsigned "
    "long) (/out/uaf+0x41111)\n"
    "\n"
    "freed by thread T0 here:\n"
    "    #0 0x55f1c2be2222 in __interceptor_free /llvm/asan.cpp:52:3\n"
    "    #1 0x55f1c2c1a15f in session_end /src/uaf.c:20:2\n"
    "    #3 0x55f1c2c1a22f in LLVMFuzzerTestOneInput /src/uaf.c:46:6\n"
    "SUMMARY: AddressSanitizer: heap-use-after-free /src/uaf.c:26:12 in session_is_open\n";

/* Marks exactly the application's frames of the failure's own stack. */
static void test_report(void **state)
{
	struct slice text = SLICE(report), line;
	struct crash_report r;
	struct crash_mark m = {&r, 0};
	const char *const want[] = {"#1 0x55f1c2c1a19f", "#2 0x55f1c2c1a19f", "#3 0x55f1c2c1a22f"};
	size_t n = 0;

	(void)state;
	crash_parse(text, &(struct crash_options){.target = "uaf"}, &r);
	assert_true(r.found);
	while (scan_line(&text, &line))
		if (crash_mark_line(&m, line)) {
			assert_true(n < sizeof(want) / sizeof(want[0]));
			assert_non_null(memmem(line.p, line.n, want[n], strlen(want[n])));
			n++;
		}
	assert_int_equal(n, sizeof(want) / sizeof(want[0]));
	crash_report_done(&r);
}

static void test_lines(void **state)
{
	struct crash_frame f[] = {
	    {.number = 1, .pc = 0x10, .function = "one", .has_function = true},
	    {.number = 2, .function = "two", .has_function = true}, /* without an address */
	    {.number = 3, .pc = 0x30},
	};
	struct crash_report r = {.found = true, .frames = f, .n_frames = 3};
	struct crash_mark m = {&r, 0};

	(void)state;
	assert_false(crash_mark_line(&m, SLICE("")));
	assert_false(crash_mark_line(&m, SLICE("#")));
	assert_false(crash_mark_line(&m, SLICE("#x")));
	assert_false(crash_mark_line(&m, SLICE("#1")));
	assert_false(crash_mark_line(&m, SLICE("#1 0x")));
	assert_false(crash_mark_line(&m, SLICE("#1 0x99 in one")));
	assert_false(crash_mark_line(&m, SLICE("#99999999999999999999 0x10")));
	assert_true(crash_mark_line(&m, SLICE("  #1 0x10 in anything")));
	assert_false(crash_mark_line(&m, SLICE("  #1 0x10 in anything"))); /* once */
	assert_false(crash_mark_line(&m, SLICE("#2 other(int)")));
	assert_true(crash_mark_line(&m, SLICE("#2 two(int) file.c:3")));
	assert_false(crash_mark_line(&m, SLICE("#3 two")));
	assert_true(crash_mark_line(&m, SLICE("\t#3 0x30")));
}

static void test_go(void **state)
{
	struct crash_frame f[] = {
	    {.function = "example.com/t.T.Parse", .has_function = true},
	    {.function = "example.com/t.FuzzA.func1", .has_function = true},
	};
	struct crash_report r = {.found = true, .frames = f, .n_frames = 2};
	struct crash_mark m = {&r, 0};

	(void)state;
	assert_false(crash_mark_line(&m, SLICE("example.com/t.T.Parse")));
	assert_false(crash_mark_line(&m, SLICE("example.com/t.T.Parser(0x1)")));
	assert_false(crash_mark_line(&m, SLICE("testing.tRunner(0x1)")));
	assert_false(crash_mark_line(&m, SLICE("(*)(*)")));
	assert_true(crash_mark_line(&m, SLICE("example.com/t.(*T).Parse(0x1, ...)")));
	assert_false(crash_mark_line(&m, SLICE("\t/src/t.go:7 +0x1")));
	assert_true(crash_mark_line(&m, SLICE("    example.com/t.FuzzA.func1(...)")));
	assert_false(crash_mark_line(&m, SLICE("example.com/t.FuzzA.func1(...)")));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_report),
    cmocka_unit_test(test_lines),
    cmocka_unit_test(test_go),
};

UNIT_MAIN(tests)
