/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/crash/report/frame.h"

#define S(lit)                         \
	{                              \
		(lit), sizeof(lit) - 1 \
	}

static void check_text(const char *line, const char *what, struct slice got, struct slice want)
{
	if (!slice_eq(got, want))
		fail_msg("%s of '%s' is '%.*s', not '%.*s'", what, line, (int)got.n, got.p,
			 (int)want.n, want.p);
}

static void reads_every_form(void **state)
{
	static const struct {
		const char *line;
		struct frame want;
	} t[] = {
	    {"    #3 0x56368ac73f59 in dispatch /src/bugs.c:38:32",
	     {.number = 3,
	      .pc = 0x56368ac73f59,
	      .function = S("dispatch"),
	      .file = S("/src/bugs.c"),
	      .line = 38,
	      .column = 32}},
	    {"#0 0x1 in f /src/a.c:38",
	     {.pc = 1, .function = S("f"), .file = S("/src/a.c"), .line = 38}},
	    {"#1 0x1 in dispatch src/bugs.c",
	     {.number = 1, .pc = 1, .function = S("dispatch"), .file = S("src/bugs.c")}},
	    {"    #8 0x5 in main (/path/bin+0x5ce92) (BuildId: a2754cf1)",
	     {.number = 8,
	      .pc = 5,
	      .function = S("main"),
	      .module = S("/path/bin"),
	      .offset = 0x5ce92,
	      .has_offset = true,
	      .build_id = S("a2754cf1")}},
	    {"    #8 0x5 in f+0x1c (/path/bin+0x5ce92)",
	     {.number = 8,
	      .pc = 5,
	      .function = S("f"),
	      .module = S("/path/bin"),
	      .offset = 0x5ce92,
	      .has_offset = true}},
	    {"    #8 0x7f  (/lib/x86_64-linux-gnu/libc.so.6+0x3c04f) (BuildId: ab)",
	     {.number = 8,
	      .pc = 0x7f,
	      .module = S("/lib/x86_64-linux-gnu/libc.so.6"),
	      .offset = 0x3c04f,
	      .has_offset = true,
	      .build_id = S("ab")}},
	    {"    #0 0x000000000000  (<unknown module>)", {.module = S("<unknown module>")}},
	    {"    #0 0x0  (<unknown module>)", {.module = S("<unknown module>")}},
	    {"#2 0x5 in raise signal/../sysdeps/posix/raise.c:26:13",
	     {.number = 2,
	      .pc = 5,
	      .function = S("raise"),
	      .file = S("signal/../sysdeps/posix/raise.c"),
	      .line = 26,
	      .column = 13}},
	    {"#2 0x5 in void a::f<int, b>(int (*)(char), b const&) const /x y/a.h:1:2",
	     {.number = 2,
	      .pc = 5,
	      .function = S("void a::f<int, b>(int (*)(char), b const&) const"),
	      .file = S("/x y/a.h"),
	      .line = 1,
	      .column = 2}},
	    {"#2 0x5 in g<(lambda at /a/b.h:3:4)>(int) /a/b.h:3:4",
	     {.number = 2,
	      .pc = 5,
	      .function = S("g<(lambda at /a/b.h:3:4)>(int)"),
	      .file = S("/a/b.h"),
	      .line = 3,
	      .column = 4}},
	    {"#2 0x5 in operator new(unsigned long)",
	     {.number = 2, .pc = 5, .function = S("operator new(unsigned long)")}},
	    {"#2 0x5 in printf_common(void*, char const*) asan_interceptors.cpp.o",
	     {.number = 2,
	      .pc = 5,
	      .function = S("printf_common(void*, char const*)"),
	      .file = S("asan_interceptors.cpp.o")}},
	    {"#2 0x5 in f ??:0:0", {.number = 2, .pc = 5, .function = S("f")}},
	    {"#36 0x4e9428 in _start", {.number = 36, .pc = 0x4e9428, .function = S("_start")}},
	    /* TSan's own */
	    {"    #0 racer(int) /src/bugs.c:30:96 (t_19+0x120fc1) (BuildId: ab)",
	     {.function = S("racer(int)"),
	      .file = S("/src/bugs.c"),
	      .line = 30,
	      .column = 96,
	      .module = S("t_19"),
	      .offset = 0x120fc1,
	      .has_offset = true,
	      .build_id = S("ab")}},
	    {"    #0 pthread_create <null> (t_19+0x9dce1)",
	     {.function = S("pthread_create"),
	      .module = S("t_19"),
	      .offset = 0x9dce1,
	      .has_offset = true}},
	    {"    #0 <null> <null> (t_14+0x10bd07)",
	     {.module = S("t_14"), .offset = 0x10bd07, .has_offset = true}},
	    /* Chrome's, and gdb's */
	    {"#1 0x0000015ac58a base::debug::StackTrace::StackTrace()",
	     {.number = 1,
	      .pc = 0x15ac58a,
	      .function = S("base::debug::StackTrace::StackTrace()")}},
	    {"#0 0x00000029f221 <unknown>", {.pc = 0x29f221}},
	    {"#3 133713371337ff in hack() /blah/hack.cc:55",
	     {.number = 3,
	      .pc = 0x133713371337ff,
	      .function = S("hack()"),
	      .file = S("/blah/hack.cc"),
	      .line = 55}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const struct frame *w = &t[i].want;
		struct frame f;

		if (!frame_parse(slice_of(t[i].line), &f))
			fail_msg("no frame: '%s'", t[i].line);
		assert_int_equal(f.number, w->number);
		assert_int_equal(f.pc, w->pc);
		check_text(t[i].line, "function", f.function, w->function);
		check_text(t[i].line, "file", f.file, w->file);
		check_text(t[i].line, "module", f.module, w->module);
		check_text(t[i].line, "build id", f.build_id, w->build_id);
		assert_int_equal(f.line, w->line);
		assert_int_equal(f.column, w->column);
		assert_int_equal(f.offset, w->offset);
		assert_int_equal(f.has_offset, w->has_offset);
	}
}

/* The source position of the previous frame precedes the function. */
static void reads_shifted_places(void **state)
{
	static const struct {
		const char *line;
		struct slice file, function;
		uint64_t line_number, column;
	} t[] = {
	    {"#5 0x5 in /v1/my vector:0:0 std::f(int) const", S("/v1/my vector"),
	     S("std::f(int) const"), 0, 0},
	    {"#5 0x5 in /src/x.cc:35:59 (/bin/t+0x9)", S("/src/x.cc"), S(""), 35, 59},
	    {"#5 0x5 in src/x.cc:35 f", S("src/x.cc"), S("f"), 35, 0},
	    {"#5 0x5 in a::b:3 f", S(""), S("a::b:3 f"), 0, 0},
	    {"#5 0x5 in f(x.c:3:4 g)", S(""), S("f(x.c:3:4 g)"), 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct frame f;

		assert_true(frame_parse(slice_of(t[i].line), &f));
		check_text(t[i].line, "function", f.function, t[i].function);
		check_text(t[i].line, "earlier file", f.earlier.file, t[i].file);
		assert_int_equal(f.earlier.here, t[i].file.n > 0);
		assert_int_equal(f.earlier.line, t[i].line_number);
		assert_int_equal(f.earlier.column, t[i].column);
		assert_int_equal(f.file.n, 0);
	}
}

static void refuses_what_is_no_frame(void **state)
{
	static const char *const t[] = {
	    "",
	    "#",
	    "#3",
	    "#3 ",
	    "#3\tINITED cov: 2 ft: 2 corp: 1/1b exec/s: 0 rss: 30Mb",
	    "#2\tNEW    cov: 12 ft: 12",
	    "# Fatal error in ../../src/vector.h, line 24",
	    "#3 things to do",
	    "#0 0xsfsdf908908 in raise (/usr/lib/libc.so.6+0x90890sdf)",
	    "#0 0x11112222333344445 in f a.c:1:1",
	    "#0 0x5 not/a/frame",
	    "#99999999999 0x5 in f a.c:1:1",
	    "x #0 0x5 in f a.c:1:1",
	    "0x602000000011 is located 0 bytes after 1-byte region",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct frame f = {.number = 77};

		if (frame_parse(slice_of(t[i]), &f))
			fail_msg("a frame: '%s'", t[i]);
		assert_int_equal(f.number, 77);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(reads_every_form),
    cmocka_unit_test(reads_shifted_places),
    cmocka_unit_test(refuses_what_is_no_frame),
};

UNIT_MAIN(tests)
