/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of Go's fuzz tests: the texts are of Go 1.19. */
#include "tests/unit/unit.h"

#include "tests/unit/crash/reports.h"

/* A replay: the process ends by the panic. */
#define PANIC(function, line)                                                         \
	"--- FAIL: FuzzParse (0.00s)\n"                                               \
	"    --- FAIL: FuzzParse/fuzzcell (0.00s)\n"                                  \
	"panic: runtime error: index out of range [12] with length 0 [recovered]\n"   \
	"\tpanic: runtime error: index out of range [12] with length 0\n\n"           \
	"goroutine 19 [running]:\n"                                                   \
	"testing.tRunner.func1.2({0x5f2640, 0xc0000f8030})\n"                         \
	"\t/usr/lib/go-1.19/src/testing/testing.go:1396 +0x24e\n"                     \
	"testing.tRunner.func1()\n"                                                   \
	"\t/usr/lib/go-1.19/src/testing/testing.go:1399 +0x39f\n"                     \
	"panic({0x5f2640, 0xc0000f8030})\n"                                           \
	"\t/usr/lib/go-1.19/src/runtime/panic.go:884 +0x212\n" function               \
	"\n\t/src/tiny/tiny.go:" line "\n"                                            \
	"example.com/tiny.FuzzParse.func1(0x0?, {0xc0000a8c90, 0xc, 0x466459?})\n"    \
	"\t/src/tiny/tiny_test.go:13 +0x305\n"                                        \
	"reflect.Value.call({0x5d3180?, 0x60faa8?, 0x13?}, {0x600ffa, 0x4}, {0x1})\n" \
	"\t/usr/lib/go-1.19/src/reflect/value.go:584 +0x8c5\n"                        \
	"created by testing.(*F).Fuzz.func1\n"                                        \
	"\t/usr/lib/go-1.19/src/testing/fuzz.go:324 +0x5b9\n"

/* While fuzzing: the testing package prints it. */
static const char in_fuzzing[] =
    "fuzz: elapsed: 3s, execs: 71495 (23829/sec), new interesting: 4 (total: 4)\n"
    "--- FAIL: FuzzParse (3.15s)\n"
    "    --- FAIL: FuzzParse (0.00s)\n"
    "        testing.go:1356: panic: runtime error: index out of range [4] with length 0\n"
    "            goroutine 75645 [running]:\n"
    "            runtime/debug.Stack()\n"
    "            \t/usr/lib/go-1.19/src/runtime/debug/stack.go:24 +0xdb\n"
    "            testing.tRunner.func1()\n"
    "            \t/usr/lib/go-1.19/src/testing/testing.go:1356 +0x1f2\n"
    "            panic({0x5f2640, 0xc0000181f8})\n"
    "            \t/usr/lib/go-1.19/src/runtime/panic.go:884 +0x212\n"
    "            example.com/tiny.(*T).Parse(...)\n"
    "            \t/src/tiny/tiny.go:7\n"
    "            example.com/tiny.FuzzParse.func1(0x0?, {0xc0095ce680, 0x4, 0x466459?})\n"
    "            \t/src/tiny/tiny_test.go:13 +0x305\n"
    "            \n    \n"
    "    Failing input written to testdata/fuzz/FuzzParse/10a65938dce505e4\nFAIL\n";

static void check(const struct crash_report *r, const char *type, const char *top,
		  const char *frames)
{
	char text[1024];

	assert_true(r->found);
	assert_string_equal(r->type, type);
	assert_string_equal(r->top_frame, top);
	assert_string_equal(frames_of(r, text), frames);
}

/* The same panic has one signature, however it was run. */
static void a_panic_has_a_stack(void **state)
{
	struct crash_report a = parse(PANIC("example.com/tiny.(*T).Parse(...)", "7"));
	struct crash_report b = parse(in_fuzzing);
	struct crash_report c = parse(PANIC("example.com/tiny.Other(0x1)", "7"));

	(void)state;
	check(&a, "Index out of range", "example.com/tiny.T.Parse",
	      "example.com/tiny.T.Parse|example.com/tiny.FuzzParse.func1");
	check(&b, "Index out of range", "example.com/tiny.T.Parse",
	      "example.com/tiny.T.Parse|example.com/tiny.FuzzParse.func1");
	assert_string_equal(a.signature, b.signature);
	assert_string_equal(a.bug, b.bug);
	assert_string_not_equal(a.signature, c.signature);
	assert_string_equal(a.frames[0].file, "/src/tiny/tiny.go");
	assert_int_equal(a.frames[0].line, 7);
	assert_false(a.security);
	crash_report_done(&a);
	crash_report_done(&b);
	crash_report_done(&c);
}

/* Two tests that reach one function have one bug. */
static void the_test_is_no_part_of_the_signature(void **state)
{
	static const char one[] = PANIC("example.com/tiny.Parse(...)", "7");
	char other[sizeof(one)];
	struct crash_report a = parse(one), b;
	char *at;

	(void)state;
	memcpy(other, one, sizeof(one));
	at = strstr(other, "tiny.FuzzParse.func1");
	memcpy(at, "tiny.FuzzOther.func2", 20);
	b = parse(other);
	assert_string_equal(a.signature, b.signature);
	crash_report_done(&a);
	crash_report_done(&b);
}

#define FAILED(message)                                                  \
	"--- FAIL: FuzzParse (0.05s)\n    --- FAIL: FuzzParse (0.00s)\n" \
	"        tiny_test.go:16: " message "\n    \nFAIL\n"

/* File and line identify it. */
static void a_failed_test_has_a_place(void **state)
{
	struct crash_report a = parse(FAILED("reached with \"A00\" 79"));
	struct crash_report b = parse(FAILED("reached with xyz"));
	struct crash_report c = parse(FAILED("logged\n        tiny_test.go:17: failed"));
	struct crash_report d = parse(FAILED("\"testdata/fuzz/FuzzParse/fuzzcell\": unmarshal: x"));
	struct crash_report e = parse(FAILED("logged\n        tiny_test.go:17: other text"));

	(void)state;
	check(&a, "Test failure", "", "");
	assert_string_equal(a.headline, "tiny_test.go:16: reached with \"A00\" 79");
	assert_string_equal(a.signature, b.signature);
	/* The last message is that of the failure. */
	assert_string_equal(c.headline, "tiny_test.go:17: failed");
	assert_string_not_equal(a.signature, c.signature);
	assert_string_equal(c.signature, e.signature);
	assert_false(a.security);
	assert_false(d.found);
	crash_report_done(&a);
	crash_report_done(&b);
	crash_report_done(&c);
	crash_report_done(&d);
	crash_report_done(&e);
}

#define STACK_OF_TEST                                                                        \
	"            goroutine 7 [running]:\n            example.com/tiny.f(0x1)\n"          \
	"            \t/src/tiny.go:7 +0x1\n            example.com/tiny.FuzzA.func1(0x0)\n" \
	"            \t/src/tiny_test.go:9 +0x1\n"

/* A panic of any kind has one signature while it fuzzes and in a replay, also behind a log. */
static void a_panic_by_hand_has_a_stack(void **state)
{
	struct crash_report a =
	    parse(FAILED("logged\n        testing.go:1356: panic: by hand\n" STACK_OF_TEST));
	struct crash_report b =
	    parse("--- FAIL: FuzzA (0.00s)\n    --- FAIL: FuzzA/fuzzcell (0.00s)\n"
		  "        tiny_test.go:3: logged\npanic: by hand [recovered]\n\tpanic: by hand\n\n"
		  "goroutine 7 [running]:\nexample.com/tiny.f(0x1)\n\t/src/tiny.go:7 +0x1\n"
		  "example.com/tiny.FuzzA.func1(0x0)\n\t/src/tiny_test.go:9 +0x1\n");

	(void)state;
	check(&a, "ASSERT", "example.com/tiny.f",
	      "example.com/tiny.f|example.com/tiny.FuzzA.func1");
	check(&b, "ASSERT", "example.com/tiny.f",
	      "example.com/tiny.f|example.com/tiny.FuzzA.func1");
	assert_string_equal(a.signature, b.signature);
	crash_report_done(&a);
	crash_report_done(&b);
}

#define RACE(one, two)                                                                           \
	"==================\nWARNING: DATA RACE\nWrite at 0x0000008769f0 by goroutine 9:\n"      \
	"  example.com/rc." one "()\n      /src/rc.go:4 +0x6d\n\n"                               \
	"Previous write at 0x0000008769f0 by goroutine 8:\n"                                     \
	"  example.com/rc." two "()\n      /src/rc.go:9 +0x1b2\n"                                \
	"  testing.tRunner()\n      /usr/lib/go-1.19/src/testing/testing.go:1446 +0x216\n\n"     \
	"Goroutine 9 (running) created at:\n  example.com/rc.start()\n      /src/rc.go:7 +0x1\n" \
	"==================\n--- FAIL: FuzzRace (0.00s)\n"                                       \
	"        testing.go:1319: race detected during execution of test\nFAIL\n"

/* A race has two sides, in either order. */
static void a_race_has_two_stacks(void **state)
{
	struct crash_report a = parse(RACE("put", "get")), b = parse(RACE("get", "put"));
	struct crash_report c = parse(RACE("put", "other"));

	(void)state;
	check(&a, "Data race", "example.com/rc.put", "example.com/rc.put");
	assert_int_equal(a.kind, CRASH_TSAN);
	assert_string_equal(a.signature, b.signature);
	assert_string_not_equal(a.signature, c.signature);
	crash_report_done(&a);
	crash_report_done(&b);
	crash_report_done(&c);
}

/* All goroutines are printed.  The stack of the fuzz function counts. */
static void a_timeout_shows_where_it_hung(void **state)
{
	struct crash_report r =
	    parse("panic: test timed out after 2s\n\n"
		  "goroutine 20 [running]:\n"
		  "testing.(*M).startAlarm.func1()\n"
		  "\t/usr/lib/go-1.19/src/testing/testing.go:2036 +0x8e\n"
		  "created by time.goFunc\n\t/usr/lib/go-1.19/src/time/sleep.go:176 +0x32\n\n"
		  "goroutine 1 [chan receive]:\n"
		  "testing.(*M).Run(0xc0000ae0a0)\n"
		  "\t/usr/lib/go-1.19/src/testing/testing.go:1727 +0x61f\n"
		  "main.main()\n\t_testmain.go:57 +0x1aa\n\n"
		  "goroutine 18 [chan receive]:\n"
		  "testing.(*F).Fuzz(0xc0000e8000, {0x5d3180?, 0x60fac8})\n"
		  "\t/usr/lib/go-1.19/src/testing/fuzz.go:401 +0xb15\n"
		  "example.com/tiny.FuzzHang(0x0?)\n\t/src/tiny/tiny_test.go:19 +0x65\n\n"
		  "goroutine 19 [sleep]:\n"
		  "example.com/tiny.wait(0x34630b8a000)\n\t/src/tiny/tiny.go:19 +0x135\n"
		  "example.com/tiny.FuzzHang.func1(0x0?, {0xc0000a8408, 0x3, 0x466459?})\n"
		  "\t/src/tiny/tiny_test.go:19 +0x11a\n");

	(void)state;
	check(&r, "Timeout", "example.com/tiny.wait",
	      "example.com/tiny.wait|example.com/tiny.FuzzHang.func1");
	crash_report_done(&r);
}

#define STACK                                                                                \
	"\n\ngoroutine 19 [running]:\nruntime.makeslice(0x5d16a0?, 0x100000?)\n"             \
	"\t/usr/lib/go-1.19/src/runtime/slice.go:103 +0x52 fp=0xc0000d5708 sp=0xc0 pc=0x4\n" \
	"example.com/tiny.grow(0x1)\n\t/src/tiny/tiny.go:9 +0x196 fp=0x1 sp=0x2 pc=0x3\n"

static void fatal_errors(void **state)
{
	static const struct {
		const char *text, *type;
	} t[] = {
	    {"fatal error: runtime: out of memory\n\nruntime stack:\nruntime.throw({0x605c3c?})\n"
	     "\t/usr/lib/go-1.19/src/runtime/panic.go:1047 +0x5d" STACK,
	     "Out-of-memory"},
	    {"fatal error: runtime: cannot allocate memory" STACK, "Out-of-memory"},
	    {"runtime: goroutine stack exceeds 1000000000-byte limit\nfatal error: stack "
	     "overflow" STACK,
	     "Stack overflow"},
	    {"fatal error: all goroutines are asleep - deadlock!" STACK, "Deadlock"},
	    {"fatal error: concurrent map writes" STACK, "Concurrent map access"},
	    {"fatal error: concurrent map read and map write" STACK, "Concurrent map access"},
	    {"panic: test timed out after 3s\nrunning tests:\n\tFuzzParse (3s)" STACK, "Timeout"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct crash_report r = parse(t[i].text);

		check(&r, t[i].type, "example.com/tiny.grow", "example.com/tiny.grow");
		crash_report_done(&r);
	}
}

static void odd_lines_are_no_frames(void **state)
{
	struct crash_report r =
	    parse("panic: runtime error: index out of range [1] with length 0\n\n"
		  "goroutine 1 [running]:\nmain.a(0x1)\nno place\nmain.b(0x1)\n\t:1\nmain.c(0x1)\n"
		  "\t/a.go:x\nmain.d(0x1, oops)\n\t/d.go:1\nmain.e(0x1)\n\t/e.go:2 +0x1\n");

	(void)state;
	check(&r, "Index out of range", "main.e", "main.e");
	crash_report_done(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_panic_has_a_stack),
    cmocka_unit_test(the_test_is_no_part_of_the_signature),
    cmocka_unit_test(a_failed_test_has_a_place),
    cmocka_unit_test(a_panic_by_hand_has_a_stack),
    cmocka_unit_test(a_race_has_two_stacks),
    cmocka_unit_test(a_timeout_shows_where_it_hung),
    cmocka_unit_test(fatal_errors),
    cmocka_unit_test(odd_lines_are_no_frames),
};

UNIT_MAIN(tests)
