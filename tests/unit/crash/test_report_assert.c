/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/crash/reports.h"

#define ABRT                                                                         \
	"==1==ERROR: AddressSanitizer: ABRT on unknown address 0x03e9 (pc 0x5 T0)\n" \
	"    #0 0x5 in raise (/lib/libc.so.6+0x1)\n"
#define FRAMES "    #1 0x5 in f /src/a.c:3:4\n    #2 0x6 in g /src/a.c:3:4\n\n"

static void assertions(void **state)
{
	static const struct reading t[] = {
	    {"f: tree.c:860: int f(const node *): Assertion `record > 1' failed.\n" ABRT FRAMES,
	     "ASSERT", "record > 1|f|g", CRASH_ASSERT, false},
	    {"f: tree.c:860: int f(const node *): Assertion `record failed.\n" ABRT FRAMES,
	     "ASSERT", "record|f|g", CRASH_ASSERT, false},
	    {"a/b/vector:2343: assertion n < size() failed: index out of bounds\n" ABRT FRAMES,
	     "ASSERT", "index out of bounds|f|g", CRASH_ASSERT, false},
	    {"[2018-05-17][critical][assert] a/b.cc:87] assert failure: n == 0 || n >= 2\n" ABRT
		 FRAMES,
	     "ASSERT", "n == 0 || n >= 2|f|g", CRASH_ASSERT, false},
	    {"ASSERTION FAILED: x\n" ABRT FRAMES, "ASSERT", "x|f|g", CRASH_ASSERT, false},
	    {"panic: something\n" ABRT FRAMES, "ASSERT", "something|f|g", CRASH_ASSERT, false},
	    {"thread '<unnamed>' panicked at 'index out of bounds: the len is 3', "
	     "src/a.rs:1:2\n" ABRT FRAMES,
	     "ASSERT", "index out of bounds: the len is 3|f|g", CRASH_PANIC, false},
	    {"thread 'main' panicked at src/a.rs:1:2:\nindex out of bounds\n" ABRT FRAMES, "ASSERT",
	     "f|g", CRASH_PANIC, false},
	    {"SHOULD NEVER BE REACHED\n" ABRT FRAMES, "Abrt", "f|g", CRASH_ASAN, false},
	    /* An assertion may end by a signal; a wild access after it is another crash. */
	    {"x.c:1: a: Assertion `b' failed.\n==1==ERROR: AddressSanitizer: SEGV on unknown "
	     "address 0x41414141 (pc 0x5 T0)\nSCARINESS: 10 (signal)\n" FRAMES,
	     "ASSERT", "b|f|g", CRASH_ASSERT, false},
	    {"x.c:1: a: Assertion `b' failed.\n==1==ERROR: AddressSanitizer: SEGV on unknown "
	     "address 0x0000bbadbeef (pc 0x5 T0)\n" FRAMES,
	     "ASSERT", "b|f|g", CRASH_ASSERT, false},
	    {"x.c:1: a: Assertion `b' failed.\n==1==ERROR: AddressSanitizer: SEGV on unknown "
	     "address 0x41414141 (pc 0x5 T0)\nSCARINESS: 20 (wild-addr-read)\n" FRAMES,
	     "UNKNOWN", "f|g", CRASH_ASAN, true},
	};

	(void)state;
	CHECK_READINGS(t);
}

static void security_by_option(void **state)
{
	static const char assertion[] = "x.c:1: a: Assertion `b' failed.\n" ABRT FRAMES;
	static const char check[] = "F0813 00:29:27.775753 384 a.cc:130] Check failed: x\n" FRAMES;
	const struct crash_options o = {.asserts_are_security = true, .checks_are_security = true};
	struct crash_report r = parse_with(assertion, &o);

	(void)state;
	assert_true(r.security);
	assert_int_equal(r.severity, CRASH_SEVERITY_LOW);
	crash_report_done(&r);
	r = parse_with(check, &o);
	assert_true(r.security);
	crash_report_done(&r);
	r = parse(check);
	assert_false(r.security);
	assert_int_equal(r.severity, CRASH_SEVERITY_NONE);
	crash_report_done(&r);
}

static void checks(void **state)
{
	static const struct reading t[] = {
	    {"F0813 00:29:27.775753  384244 file.cc:130] Check failed: sorted(a.begin())\n" ABRT
		 FRAMES,
	     "CHECK failure", "sorted(a.begin()) in file.cc|f|g", CRASH_ASSERT, false},
	    {"F0813 00:29:27.775753  384244 x/file.cc:130] something fatal\n" ABRT FRAMES,
	     "Fatal error", "something fatal in file.cc|f|g", CRASH_ASSERT, false},
	    {"[1:1:0308/122440.968711:FATAL:it.cpp(243)] Check failed: n <= size() (1056 vs. "
	     "1027)\n" ABRT FRAMES,
	     "CHECK failure", "n <= size() in it.cpp|f|g", CRASH_ASSERT, false},
	    {"[0424/050845.358008:FATAL:base/list.cc:467] DCHECK failed: !Has(name); It is "
	     "there.\n" ABRT FRAMES,
	     "CHECK failure", "!Has(name) in list.cc|f|g", CRASH_ASSERT, false},
	    {"[0424/050845:FATAL:a.cc(7)] Security DCHECK failed: !IsDead(). \n" ABRT FRAMES,
	     "Security DCHECK failure", "!IsDead() in a.cc|f|g", CRASH_ASSERT, true},
	    {"#\n# Fatal error in ../../src/vector.h, line 24\n# Check failed: length == "
	     "0.\n#\n" ABRT FRAMES,
	     "CHECK failure", "length == 0 in vector.h|f|g", CRASH_ASSERT, false},
	    {"# Fatal error in ../../src/vector.h, line 24\n# Debug check failed: a < b (1 vs. "
	     "2).\n" ABRT FRAMES,
	     "DCHECK failure", "a < b in vector.h|f|g", CRASH_ASSERT, true},
	    {"# Fatal error in ../../src/vector.h, line 24\n# unreachable code\n" ABRT FRAMES,
	     "Unreachable code", "vector.h|f|g", CRASH_ASSERT, false},
	    {"# Fatal error in ../../src/vector.h, line 24\n# Something else.\n" ABRT FRAMES,
	     "Fatal error", "Something else in vector.h|f|g", CRASH_ASSERT, false},
	    {"# Fatal error in v8::ToLocalChecked\n# Empty MaybeLocal.\n" ABRT FRAMES,
	     "Fatal error", "Empty MaybeLocal|f|g", CRASH_ASSERT, false},
	    {"# V8 correctness failure\n# V8 correctness configs: x64,a:x64,b\n"
	     "# V8 correctness sources: 0x12345 12345\n# V8 correctness suppression: \n",
	     "V8 correctness failure",
	     "configs: x64,a:x64,b|sources: 0x12345 12345|suppression:", CRASH_OTHER, false},
	    {"abort: CSA_ASSERT failed: IsX(y) [../../src/a.cc:12]\n" ABRT FRAMES, "ASSERT",
	     "CSA_ASSERT failed: IsX(y)|a.cc", CRASH_ASSERT, false},
	    {"[1:2] V8 error: Invalid array length (a).\n" ABRT FRAMES, "V8 API error",
	     "Invalid array length (a)|f|g", CRASH_ASSERT, false},
	};

	(void)state;
	CHECK_READINGS(t);
}

static void other_languages(void **state)
{
	static const struct reading t[] = {
	    {"panic: runtime error: index out of range [5] with length 3\n\ngoroutine 17 "
	     "[running]:\nmain.(*T).parse(0xc000012, 0x3, ...)\n\t/src/main.go:12 +0x1d\n"
	     "example.org/x/y.Fuzz(...)\n\t/src/y.go:12 +0x1d\nruntime.goexit()\n",
	     "Index out of range", "main.(*T).parse|y.Fuzz", CRASH_PANIC, false},
	    {"panic: made by hand\n\ngoroutine 17 [running]:\nmain.parse(0xc000012)\n", "ASSERT",
	     "made by hand|main.parse", CRASH_PANIC, false},
	    {"== Java Exception: java.lang.RuntimeException: x\n\tat com.a.B.c(B.java:3)\n"
	     "\tat com.a.B.main(B.java:9)\n",
	     "Uncaught exception", "com.a.B.c|com.a.B.main", CRASH_PANIC, false},
	    {"== Java Exception: com.x.FuzzerSecurityIssueHigh: x\n\tat com.a.B.c(B.java:3)\n",
	     "Security exception", "com.a.B.c", CRASH_PANIC, true},
	    {" === Uncaught Python exception: ===\nIndexError: x\nTraceback (most recent call "
	     "last):\n  File \"/a.py\", line 1, in outer\n  File \"/a.py\", line 2, in inner\n"
	     "==1== ERROR: libFuzzer: fuzz target exited\n    #0 0x5 in c_frame a.c:1:2\n",
	     "Uncaught exception", "inner|outer", CRASH_PANIC, false},
	};

	(void)state;
	CHECK_READINGS(t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(assertions),
    cmocka_unit_test(security_by_option),
    cmocka_unit_test(checks),
    cmocka_unit_test(other_languages),
};

UNIT_MAIN(tests)
