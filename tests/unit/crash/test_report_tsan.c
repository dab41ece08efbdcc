/* SPDX-License-Identifier: Apache-2.0 */
/* Peculiarities of TSan: its interceptors, and its reports about libFuzzer's signal handler. */
#include "tests/unit/unit.h"

#include "tests/unit/crash/reports.h"

#define DEADLY "==7== ERROR: libFuzzer: deadly signal\n"
#define ECHO(in, under)                                                                   \
	"==================\n"                                                            \
	"WARNING: ThreadSanitizer: signal-unsafe call inside of a signal (pid=7)\n"       \
	"    #0 malloc <null> (t+0x9c130) (BuildId: 65e4)\n"                              \
	"    #1 " in " (libc.so.6+0x761fa) (BuildId: 93ac)\n"                             \
	"    #2 <null> <null> (libstdc++.so.6+0x9d918) (BuildId: 289e)\n" under           \
	"    #4 LLVMFuzzerTestOneInput /src/a.cc:19:31 (t+0x122ac2) (BuildId: 65e4)\n"    \
	"    #5 fuzzer::Fuzzer::ExecuteCallback(unsigned char const*, unsigned long) "    \
	"<null> (t+0x51336) (BuildId: 65e4)\n\n"                                          \
	"SUMMARY: ThreadSanitizer: signal-unsafe call inside of a signal (t+0x9c130) in " \
	"malloc\n==================\n"
#define FOPEN	 "__fopen_internal libio/iofopen.c:65:37"
#define GETDELIM "getdelim libio/iogetdelim.c:62:27"
#define IN(f)	 "    #3 " f " /src/a.cc:14:37 (t+0x12258f) (BuildId: 65e4)\n"
#define THROWN(what)                                                           \
	"terminate called after throwing an instance of 'std::out_of_range'\n" \
	"  what():  " what "\n"
#define AT(n)  THROWN("vector::_M_range_check: __n (which is " n ") >= this->size()")
#define SUBSTR THROWN("basic_string::substr: __pos (which is 6) > this->size()")

static void the_signal_s_echo_is_no_crash(void **state)
{
	static const struct reading t[] = {
	    {DEADLY ECHO(FOPEN, IN("ab()")), "Fatal-signal", "ab|a.cc", CRASH_ENGINE, false},
	    {AT("6") DEADLY ECHO(FOPEN, IN("ab()")), "Fatal-signal", "ab|a.cc", CRASH_PANIC, false},
	    {AT("6") ECHO(FOPEN, ""), "Fatal-signal", "a.cc", CRASH_PANIC, false},
	    {"t: a.c:3: int f(void): Assertion `x > 0' failed.\n" DEADLY ECHO(FOPEN, IN("ab()")),
	     "ASSERT", "x > 0|ab|a.cc", CRASH_ASSERT, false},
	    /* it continues to the engine's own stack */
	    {DEADLY ECHO(FOPEN, "") ECHO(
		 GETDELIM,
		 "") "    #0 __sanitizer_print_stack_trace <null> (t+0x11a03e) (BuildId: 65e4)\n"
		     "    #1 fuzzer::PrintStackTrace() <null> (t+0x5) (BuildId: 65e4)\n"
		     "    #2 sighandler(int, __sanitizer::__sanitizer_siginfo*, void*) <null> "
		     "(t+0x6) (BuildId: 65e4)\n"
		     "    #3 abort stdlib/abort.c:79:7 (libc.so.6+0x2) (BuildId: 93ac)\n" IN(
			 "ab()") "\n",
	     "Fatal-signal", "ab", CRASH_ENGINE, false},
	    /* the target's own handler */
	    {ECHO(FOPEN, IN("on_alarm(int)")), "Signal-unsafe call inside of a signal",
	     "on_alarm|a.cc", CRASH_TSAN, false},
	};

	(void)state;
	CHECK_READINGS(t);
}

static void the_engine_s_stack_is_taken(void **state)
{
	char buf[1024];
	struct crash_report r = parse(DEADLY ECHO(
	    FOPEN, "") "    #0 __sanitizer_print_stack_trace <null> (t+0x11a03e) (BuildId: 65e4)\n"
		       "    #1 fuzzer::PrintStackTrace() <null> (t+0x5) (BuildId: 65e4)\n"
		       "    #2 abort stdlib/abort.c:79:7 (libc.so.6+0x2) (BuildId: 93ac)\n" IN(
			   "ab()") "    #4 LLVMFuzzerTestOneInput /src/a.cc:19:31 (t+0x12) "
				   "(BuildId: 65e4)\n\n");

	(void)state;
	assert_string_equal(frames_of(&r, buf), "ab()|LLVMFuzzerTestOneInput");
	assert_string_equal(r.signal, "SIGABRT");
	crash_report_done(&r);
}

/* Without a frame of the target, the thrown type distinguishes bugs. */
static void exceptions_are_told_apart(void **state)
{
	(void)state;
	same_signature(AT("6") DEADLY ECHO(FOPEN, ""), SUBSTR DEADLY ECHO(FOPEN, ""), false);
	same_signature(AT("6") DEADLY ECHO(FOPEN, ""), AT("71") DEADLY ECHO(GETDELIM, ""), true);
	same_signature("libc++abi: terminating due to uncaught exception of type "
		       "std::out_of_range: vector\n" DEADLY,
		       "libc++abi: terminating due to uncaught exception of type "
		       "std::out_of_range: basic_string\n" DEADLY,
		       false);
	/* a message of the program may depend on the input */
	same_signature("terminate called after throwing an instance of 'std::runtime_error'\n"
		       "  what():  one\n" DEADLY,
		       "terminate called after throwing an instance of 'std::runtime_error'\n"
		       "  what():  two\n" DEADLY,
		       true);
	/* with a frame, the frame counts */
	same_signature(AT("6") DEADLY ECHO(FOPEN, IN("ab()")),
		       SUBSTR DEADLY ECHO(FOPEN, IN("ab()")), true);
}

#define LOCK "    #0 pthread_mutex_lock <null> (t+0xaa8ea) (BuildId: 439b)\n"

static void interceptors_are_in_no_state(void **state)
{
	const char *text =
	    "WARNING: ThreadSanitizer: lock-order-inversion (potential deadlock) (pid=7)\n"
	    "  Mutex M1 acquired here while holding mutex M0 in thread T2:\n" LOCK
	    "    #1 t1 /src/a.cc:9:67 (t+0x10dd5b) (BuildId: 439b)\n\n"
	    "  Mutex M0 acquired here while holding mutex M1 in thread T3:\n" LOCK
	    "    #1 t2 /src/a.cc:10:67 (t+0x10ddfb) (BuildId: 439b)\n\n"
	    "  Thread T2 (tid=11844, finished) created by main thread at:\n"
	    "    #0 pthread_create <null> (t+0x8cd5d) (BuildId: 439b)\n"
	    "    #1 LLVMFuzzerTestOneInput /src/a.cc:20:24 (t+0x10e414) (BuildId: 439b)\n\n";
	struct crash_report r = parse(text);
	char buf[1024];

	(void)state;
	assert_string_equal(state_of(&r, buf), "t1|t2");
	assert_string_equal(frames_of(&r, buf), "t1");
	crash_report_done(&r);
	/* A function of the target in an unknown file. */
	r = parse("WARNING: ThreadSanitizer: data race (pid=7)\n"
		  "  Write of size 4 at 0x55d1 by thread T1:\n"
		  "    #0 set(int) <null> (t+0x1) (BuildId: a27f)\n\n");
	assert_string_equal(state_of(&r, buf), "set");
	assert_string_equal(frames_of(&r, buf), "set(int)");
	crash_report_done(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_signal_s_echo_is_no_crash),
    cmocka_unit_test(the_engine_s_stack_is_taken),
    cmocka_unit_test(exceptions_are_told_apart),
    cmocka_unit_test(interceptors_are_in_no_state),
};

UNIT_MAIN(tests)
