/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/crash/report/frame.h"

enum { NEITHER = 0, S = FRAME_VIEW_STATE, O = FRAME_VIEW_OWN, W = FRAME_VIEW_WIDE };

static void leaves_out_what_says_nothing(void **state)
{
	static const struct {
		const char *line;
		unsigned left_out; /* by these views */
	} t[] = {
	    /* The target's functions, with any beginning of their names. */
	    {"#0 0x5 in free_it /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in free_list_add(list*) /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in main_loop /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in new_node /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in NewNode(int) /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in delete_node /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in malloc_node /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in assert_valid /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in abort_if_done /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in operator_of(int) /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in logger_write /src/logger/a.c:1:2", NEITHER},
	    {"#0 0x5 in strlength /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in fuzzer_config::read() /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in panic_button /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in raise_error /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in standard::f() /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in f(std::string const&) /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in f(fuzzer::Config*) /src/a.c:1:2", NEITHER},
	    {"#0 0x5 in f /src/libcurl/a.c:1:2", NEITHER},
	    {"#0 0x5 in f /src/libc.cc:1:2", NEITHER},
	    {"#0 0x5  (/out/app+0x12)", NEITHER},
	    {"#0 0x5  (/out/libfoo.so+0x12)", NEITHER},
	    /* A libc name with a source line is the target's own function. */
	    {"#0 0x5 in send /src/net.c:1:2", NEITHER},
	    {"#0 0x5 in send (/out/app+0x12)", O | W},
	    /* sanitizers, engines */
	    {"#0 0x5 in __asan_memcpy (/out/app+0x12)", S | O | W},
	    {"#0 0x5 in __interceptor_free", S | O | W},
	    {"#0 0x5 in ___interceptor_strlen.part.3", S | O | W},
	    {"#0 0x5 in __sanitizer::BufferedStackTrace::Unwind(unsigned long)", S | O | W},
	    {"#0 0x5 in sighandler(int, __sanitizer::__sanitizer_siginfo*)", O | W},
	    {"#0 0x5 in printf_common(void*) asan_interceptors.cpp.o", O | W},
	    {"#0 0x5 in MemcmpInterceptorCommon(void*, int (*)(void const*, unsigned long)) "
	     "(/out/app+0x12)",
	     O | W},
	    {"#0 0x5 in fuzzer::Fuzzer::ExecuteCallback(unsigned char const*) /x.cpp:1:2",
	     S | O | W},
	    {"#0 0x5 in LLVMFuzzerTestOneInput /src/f.c:1:2", S},
	    {"#0 0x5 in TestOneProtoInput(p const&) /src/f.c:1:2", S},
	    {"#0 0x5 in main /x.cpp:1:2", S | O | W},
	    {"#0 0x5 in main(int, char**) /x.cpp:1:2", S | O | W},
	    {"#0 0x5 in _start", S | O | W},
	    {"#0 0x0  (<unknown module>)", S | O | W},
	    {"#0 0x5 in [vdso]", S | O | W},
	    {"#0 0x5 <unknown>", S | O | W},
	    /* libc, under every kind of path */
	    {"#0 0x5 in abort stdlib/./stdlib/abort.c:79:7", S | O | W},
	    {"#0 0x5 in raise signal/../sysdeps/posix/raise.c:26:13", S | O | W},
	    {"#0 0x5 in __pthread_kill_implementation nptl/pthread_kill.c:43:17", S | O | W},
	    {"#0 0x5 in gsignal /build/glibc-Cl5G7W/glibc-2.23/raise.c:54", S | O | W},
	    {"#0 0x5 in wait4 posix/../sysdeps/unix/sysv/linux/wait4.c:30:10", O | W},
	    {"#0 0x5 in __assert_fail_base (/lib/x86_64-linux-gnu/libc.so.6+0x1)", S | O | W},
	    {"#0 0x5  (/lib/x86_64-linux-gnu/libc.so.6+0x1)", S | O | W},
	    {"#0 0x5  (/lib/x86_64-linux-gnu/libc-2.31.so+0x1)", S | O | W},
	    {"#0 0x5 in memcpy string/../sysdeps/x86_64/multiarch/memmove.S:440", S | O | W},
	    /* C++ */
	    {"#0 0x5 in operator new(unsigned long) (/out/app+0x12)", S | O | W},
	    {"#0 0x5 in operator-> /usr/x/c++/v1/memory:3:4", S | O},
	    {"#0 0x5 in operator() /src/a.cc:3:4", S},
	    {"#0 0x5 in operator== /src/a.cc:3:4", S},
	    {"#0 0x5 in New base/singleton.h:53", S},
	    {"#0 0x5 in std::vector<int>::at(unsigned long) (/out/app+0x12)", O},
	    {"#0 0x5 in std::__terminate(void (*)()) (/out/app+0x12)", S | O | W},
	    {"#0 0x5 in __cxa_throw (/lib/libstdc++.so.6+0x12)", S | O | W},
	    /* functions that log and abort */
	    {"#0 0x5 in logging::LogMessage::~LogMessage() base/logging.cc:1:2", S | O | W},
	    {"#0 0x5 in logging::(anonymous namespace)::DLogMessage::~DLogMessage() b/c.cc:1:2",
	     S | O | W},
	    {"#0 0x5 in V8_Fatal src/logging.cc:66:3", S | O | W},
	    /* other languages */
	    {"#0 0x5 in rust_panic_with_hook /rustc/ab/library/std/src/panicking.rs:1:2",
	     S | O | W},
	    {"#0 0x5 in core::panicking::panic_fmt::h0123456789abcdef /r/p.rs:1:2", O | W},
	};
	static const enum frame_view views[] = {FRAME_VIEW_STATE, FRAME_VIEW_OWN, FRAME_VIEW_WIDE};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct frame f;

		if (!frame_parse(slice_of(t[i].line), &f))
			fail_msg("no frame: '%s'", t[i].line);
		for (size_t k = 0; k < 3; k++)
			if (frame_ignored(&f, views[k]) !=
			    ((t[i].left_out & (unsigned)views[k]) != 0))
				fail_msg("view %d of: '%s'", (int)views[k], t[i].line);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(leaves_out_what_says_nothing),
};

UNIT_MAIN(tests)
