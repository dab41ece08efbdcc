/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/crash/reports.h"

#define LF "==3== ERROR: libFuzzer: "
#define PRINT                                                        \
	"    #0 0x4 in __sanitizer_print_stack_trace (/out/f+0x4)\n" \
	"    #1 0x4 in fuzzer::PrintStackTrace() (/out/f+0x5)\n"
#define FRAMES "    #4 0x5 in f /src/a.c:3:4\n    #5 0x6 in g /src/a.c:3:4\n\n"

static void libfuzzer_s_own(void **state)
{
	static const struct reading t[] = {
	    {LF "deadly signal\n" PRINT "    #2 0x4  (/lib/libc.so.6+0x3c04f)\n" FRAMES
		"SUMMARY: libFuzzer: deadly signal\n",
	     "Fatal-signal", "f|g", CRASH_ENGINE, false},
	    {LF "fuzz target exited\n" PRINT "    #3 0x4 in exit stdlib/exit.c:1:2\n" FRAMES,
	     "Unexpected-exit", "f|g", CRASH_ENGINE, false},
	    {LF "fuzz target overwrites its const input\n" PRINT, "Overwrites-const-input", "NULL",
	     CRASH_ENGINE, false},
	    {"ALARM: working on the last Unit for 2 seconds\n" LF
	     "timeout after 2 seconds\n" PRINT FRAMES,
	     "Timeout", "f|g", CRASH_ENGINE, false},
	    {LF "out-of-memory (used: 300Mb; limit: 256Mb)\n", "Out-of-memory", "NULL",
	     CRASH_ENGINE, false},
	    {LF "out-of-memory (used: 300MB; limit: 256MB)\n", "Out-of-memory", "NULL",
	     CRASH_ENGINE, false},
	    {LF "out-of-memory (malloc(4278190080))\n   To change the out-of-memory limit use "
		"-rss_limit_mb=<N>\n\n" PRINT FRAMES,
	     "Out-of-memory", "f|g", CRASH_ENGINE, false},
	    {"===BUG DETECTED: Shell injection===\n" LF "deadly signal\n" PRINT FRAMES,
	     "Command injection", "f|g", CRASH_OTHER, true},
	    {"f: error while loading shared libraries: libx.so.1: cannot open shared object file: "
	     "No such file\n",
	     "Missing-library", "libx.so.1", CRASH_OTHER, false},
	};

	(void)state;
	CHECK_READINGS(t);
}

/* The stack of a timeout is shown, but the signature uses the target's name. */
static void targets_name_them(void **state)
{
	static const char *const t[] = {
	    LF "timeout after 2 seconds\n" PRINT FRAMES,
	    LF "out-of-memory (malloc(42))\n" PRINT FRAMES,
	    LF "fuzz target overwrites its const input\n" PRINT,
	};
	const struct crash_options o = {.target = "parse_fuzzer"};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct crash_report r = parse_with(t[i], &o);

		assert_int_equal(r.n_state, 1);
		assert_string_equal(r.state[0], "parse_fuzzer");
		crash_report_done(&r);
	}
}

static void ignored_when_asked(void **state)
{
	static const char *const t[] = {
	    LF "timeout after 2 seconds\n" PRINT FRAMES,
	    LF "out-of-memory (used: 300Mb; limit: 256Mb)\n",
	    "==1==ERROR: AddressSanitizer: out of memory: allocator is trying to allocate 0x1 "
	    "bytes\n",
	    "==1==ERROR: AddressSanitizer: calloc parameters overflow: x\n" FRAMES
	    "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x41414141 (pc 0x5)\n" FRAMES,
	};
	const struct crash_options o = {.ignore_ooms_and_hangs = true};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct crash_report r = parse_with(t[i], &o);

		if (r.found)
			fail_msg("found '%s' in:\n%s", r.type, t[i]);
		crash_report_done(&r);
	}
}

#define LIVE(used, bytes, percent)                                                                \
	LF "out-of-memory (used: " used "Mb; limit: 256Mb)\n   To change the limit\n\n"           \
	   "Live Heap Allocations: 1 bytes in 3 chunks; quarantined: 0 bytes in 0 chunks\n" bytes \
	   " byte(s) (" percent "%) in 3 allocation(s)\n"                                         \
	   "    #0 0x4 in malloc (/out/f+0x4)\n    #1 0x5 in grow /src/a.c:3:4\n\n"               \
	   "99999 byte(s) (9%) in 3 allocation(s)\n"                                              \
	   "    #0 0x4 in malloc (/out/f+0x4)\n    #1 0x5 in other /src/a.c:3:4\n\n"

/* The largest live allocation, if it is large enough to be the reason. */
static void the_site_of_a_shortage(void **state)
{
	static const struct {
		const char *text, *frame;
	} t[] = {
	    {LIVE("300", "314572000", "99"), "grow"}, {LIVE("300", "157286000", "50"), "grow"},
	    {LIVE("300", "157286000", "49"), ""},     {LIVE("3000", "157286000", "99"), ""},
	    {LIVE("300", "2359368", "99"), ""},	      {LIVE("300", "x", "99"), ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct crash_report r = parse(t[i].text);

		assert_string_equal(r.type, "Out-of-memory");
		assert_string_equal(r.top_frame, t[i].frame);
		crash_report_done(&r);
	}
	same_signature(t[0].text, t[1].text, true);
	same_signature(t[0].text, t[2].text, false);
	same_signature(t[2].text, t[3].text, true);
}

static void what_libc_said(void **state)
{
	static const struct {
		const char *said;
		enum crash_kind kind;
	} t[] = {
	    {"*** stack smashing detected ***: terminated\n", CRASH_ASSERT},
	    {"double free or corruption (out)\n", CRASH_ASSERT},
	    {"free(): invalid pointer\n", CRASH_ASSERT},
	    {"malloc(): corrupted top size\n", CRASH_ASSERT},
	    {"*** buffer overflow detected ***: terminated\n", CRASH_ASSERT},
	    {"terminate called after throwing an instance of 'std::bad_alloc'\n", CRASH_PANIC},
	    {"libc++abi: terminating with uncaught exception of type int\n", CRASH_PANIC},
	    {"*** Error in `./f': double free or corruption (out): 0x5 ***\n", CRASH_ASSERT},
	    {"libc++abi: Pure virtual function called!\n", CRASH_PANIC},
	    {"pure virtual method called\nterminate called without an active exception\n",
	     CRASH_PANIC},
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct crash_report r = parse(t[i].said);

		assert_string_equal(r.type, "Fatal-signal");
		assert_string_equal(r.signal, "SIGABRT");
		assert_int_equal(r.kind, t[i].kind);
		crash_report_done(&r);
		snprintf(text, sizeof(text), "%s" LF "deadly signal\n" PRINT FRAMES, t[i].said);
		r = parse(text);
		assert_string_equal(r.type, "Fatal-signal");
		assert_int_equal(r.kind, t[i].kind);
		assert_string_equal(r.top_frame, "f");
		assert_memory_equal(r.headline, t[i].said, 20);
		same_signature(text, LF "deadly signal\n" PRINT FRAMES, false);
		crash_report_done(&r);
	}
}

static void the_raising_process_tells_the_signal(void **state)
{
	struct crash_report r = parse(LF "deadly signal\n" PRINT
					 "    #4 0x5 in raise signal/../sysdeps/posix/raise.c:26\n"
					 "    #5 0x5 in abort stdlib/./stdlib/abort.c:79\n" FRAMES);

	(void)state;
	assert_string_equal(r.signal, "SIGABRT");
	assert_string_equal(r.top_frame, "f");
	crash_report_done(&r);
	r = parse(LF "deadly signal\n" PRINT FRAMES);
	assert_string_equal(r.signal, "");
	crash_report_done(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(libfuzzer_s_own),	  cmocka_unit_test(targets_name_them),
    cmocka_unit_test(ignored_when_asked), cmocka_unit_test(the_site_of_a_shortage),
    cmocka_unit_test(what_libc_said),	  cmocka_unit_test(the_raising_process_tells_the_signal),
};

UNIT_MAIN(tests)
