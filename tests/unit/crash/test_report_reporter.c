/* SPDX-License-Identifier: Apache-2.0 */
/* The function that reports a failure is not the function that fails.  `make reports` tests the
 * reports of real libraries. */
#include "tests/unit/unit.h"

#include "tests/unit/crash/reports.h"

#define ABRT                                                                         \
	"==1==ERROR: AddressSanitizer: ABRT on unknown address 0x03e9 (pc 0x5 T0)\n" \
	"    #0 0x5 in raise (/lib/libc.so.6+0x1)\n"
#define F(n, name) "    #" #n " 0x5 in " name " /src/a.c:3:4\n"
#define LIB(n)	   "    #" #n " 0x5  (/lib/x86_64-linux-gnu/libx.so.5+0x1468)\n"
#define FRAMES	   F(1, "f") F(2, "g") "\n"

static void words_of_libraries(void **state)
{
	static const struct reading t[] = {
	    {"F20240813 00:29:27.775753 3844 a/file.cc:130] Check failed: n > 4 (1 vs. 4) "
	     "short\n" ABRT FRAMES,
	     "CHECK failure", "n > 4 in file.cc|f|g", CRASH_ASSERT, false},
	    {"F20240813 00:29:27.775753 3844 a/file.cc:130] bad header\n" ABRT FRAMES,
	     "Fatal error", "bad header in file.cc|f|g", CRASH_ASSERT, false},
	    {"F202408131 00:29:27.775753 3844 a/file.cc:130] bad header\n" ABRT FRAMES, "Abrt",
	     "f|g", CRASH_ASAN, false},
	    {"[file.cc : 17] RAW: Check n > 4 failed: too short\n" ABRT FRAMES, "CHECK failure",
	     "n > 4 in file.cc|f|g", CRASH_ASSERT, false},
	    {"[file.cc : 17] RAW: bad header\n" ABRT FRAMES, "Abrt", "f|g", CRASH_ASAN, false},
	    {"a.c:19: OpenSSL internal error: assertion failed: n > 4\n" ABRT FRAMES, "ASSERT",
	     "n > 4|f|g", CRASH_ASSERT, false},
	    {"a.c(19): OpenSSL internal error, assertion failed: n > 4\n" ABRT FRAMES, "ASSERT",
	     "n > 4|f|g", CRASH_ASSERT, false},
	    {"Assertion n >= 0 && n <= 4 failed at src/libavutil/a.c:123\n" ABRT FRAMES, "ASSERT",
	     "n >= 0 && n <= 4|f|g", CRASH_ASSERT, false},
	    {"[h264 @ 0x61b0000] Assertion n >= 0 failed at libavcodec/a.c:1\n" ABRT FRAMES,
	     "ASSERT", "n >= 0|f|g", CRASH_ASSERT, false},
	    {"ASSERT: \"i < \"x\"\" in file /src/a.cpp, line 3\n" ABRT FRAMES, "ASSERT",
	     "i < \"x\"|f|g", CRASH_ASSERT, false},
	    {"ASSERT failure in QList<T>::at: \"index out of range\", file /usr/q.h, line 5\n" ABRT
		 FRAMES,
	     "ASSERT", "index out of range|f|g", CRASH_ASSERT, false},
	    {"TRAP: failed Assert(\"strcmp(a, \"b\") == 0\"), File: \"a.c\", Line: 3, PID: "
	     "12\n" ABRT FRAMES,
	     "ASSERT", "strcmp(a, \"b\") == 0|f|g", CRASH_ASSERT, false},
	    {"TRAP: FailedAssertion(\"!(n > 4)\", File: \"a.c\", Line: 3)\n" ABRT FRAMES, "ASSERT",
	     "!(n > 4)|f|g", CRASH_ASSERT, false},
	    {"LLVM ERROR: Invalid bitcode signature\n" ABRT FRAMES, "Fatal error",
	     "Invalid bitcode signature|f|g", CRASH_ASSERT, false},
	    {"no such kind\nUNREACHABLE executed at /src/lib/a.cpp:21!\n" ABRT FRAMES,
	     "Unreachable code", "a.cpp|f|g", CRASH_ASSERT, false},
	};

	(void)state;
	CHECK_READINGS(t);
}

static void only_at_the_beginning(void **state)
{
	static const char *const t[] = {
	    "note: LLVM ERROR: Invalid bitcode signature\n",
	    "a log of UNREACHABLE executed at /src/lib/a.cpp:21!\n",
	    "see TRAP: FailedAssertion(\"!(n > 4)\", File: \"a.c\", Line: 3)\n",
	    "then Assertion n > 0 failed at a.c:1\n",
	    "TRAP: FailedAssertion without more\n",
	    "Assertion n > 0 failed at once\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct crash_report r = parse(t[i]);

		if (r.found)
			fail_msg("'%s' in:\n%s", r.type, t[i]);
	}
}

/* Each of these functions above f() gives f()'s own signature. */
static void reporters_are_left_out(void **state)
{
	static const char *const t[] = {
	    F(1, "google::LogMessage::Fail()") F(2, "google::LogMessageFatal::~LogMessageFatal()"),
	    F(1, "google::ErrnoLogMessage::~ErrnoLogMessage()"),
	    F(1, "google::CheckNotNull<int*>(char const*, int, char const*, int*)"),
	    F(1, "absl::log_internal::LogMessage::Die()"),
	    F(1, "absl::lts_20230802::log_internal::LogMessageFatal::~LogMessageFatal()"),
	    F(1, "absl::debian3::raw_logging_internal::RawLog(absl::debian3::LogSeverity)"),
	    LIB(1) F(2, "absl::debian7::raw_log_internal::RawLog(int)"),
	    F(1, "absl::lts_20240116::base_internal::ThrowStdOutOfRange(char const*)"),
	    F(1, "OPENSSL_die"),
	    F(1, "ExceptionalCondition"),
	    LIB(1) LIB(2) F(3, "QMessageLogger::fatal(char const*, ...) const") F(4, "qt_assert"),
	    F(1, "qt_assert_x(char const*, char const*, char const*, int)"),
	    F(1, "llvm::report_fatal_error(llvm::Twine const&, bool)"),
	    F(1, "llvm::llvm_unreachable_internal(char const*, char const*, unsigned int)"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char text[2048];

		snprintf(text, sizeof(text), "%s%s%s", ABRT, t[i], F(7, "f") F(8, "g") "\n");
		same_signature(text, ABRT FRAMES, true);
	}
}

/* Similar names, and a failure inside of a logging library. */
static void others_stay(void **state)
{
	(void)state;
	same_signature(ABRT F(1, "absl::lts_20230802::StrCat()") FRAMES, ABRT FRAMES, false);
	same_signature(ABRT F(1, "my::qt_assert_all()") FRAMES, ABRT FRAMES, false);
	same_signature(ABRT LIB(1) FRAMES, ABRT FRAMES, false);
	same_signature(ABRT F(1, "sink::send()") F(2, "google::LogMessage::Flush()") F(3, "f")
			   F(4, "g"),
		       ABRT FRAMES, false);
	same_signature(ABRT F(1, "sink::send()") LIB(2) F(3, "OPENSSL_die") F(4, "f"),
		       ABRT F(1, "sink::send()") LIB(2) F(3, "f"), true);
}

/* Without debug information Rust's frames end in the object's name. */
static void objects_of_rust_are_no_names(void **state)
{
#define RS(n, name, hash) "    #" #n " 0x5 in " name " fuzz_one." hash "-cgu.0\n"
	struct crash_report r =
	    parse(ABRT RS(1, "app::parse::h0123456789abcdef", "4865fcaa648adaaa")
		      RS(2, "app::run::h0123456789abcdef", "4865fcaa648adaaa"));

	(void)state;
	assert_int_equal(r.n_frames, 2);
	assert_string_equal(r.frames[0].name, "app::parse");
	assert_string_equal(r.frames[0].file, "fuzz_one.4865fcaa648adaaa-cgu.0");
	crash_report_done(&r);
	same_signature(ABRT RS(1, "app::parse::h0123456789abcdef", "4865fcaa648adaaa"),
		       ABRT RS(1, "app::parse::hfedcba9876543210", "3xbo2jq1b8ycqxdx"), true);
	same_signature(ABRT RS(1, "app::parse", "4865fcaa648adaaa"),
		       ABRT RS(1, "app::other", "4865fcaa648adaaa"), false);
}

#define GO                                                               \
	"panic: runtime error: index out of range [5] with length 3\n\n" \
	"goroutine 17 [running]:\nmain.parse(0xc000012)\n\t/src/m.go:12 +0x1d\n"

static void go_behind_a_header(void **state)
{
	static const struct reading t[] = {
	    {"2026/11/25 07:00:00 " GO, "Index out of range", "main.parse", CRASH_PANIC, false},
	    {"2026/11/25 07:00:00 main.go:12: " GO, "Index out of range", "main.parse", CRASH_PANIC,
	     false},
	    {"E1125 07:00:00.000000 1234 main.go:12] Observed a " GO, "Index out of range",
	     "main.parse", CRASH_PANIC, false},
	    {"time=07:00 level=error " GO, "Index out of range", "main.parse", CRASH_PANIC, false},
	    /* A server that continues, and text that mentions a report. */
	    {"2026/11/25 07:00:00 http: panic serving 127.0.0.1:1: runtime error: index out of "
	     "range [5]\n",
	     "", "", CRASH_NONE, false},
	    {"msg=\"panic: runtime error: index out of range [5]\"\n", "", "", CRASH_NONE, false},
	    /* A UBSan report in a file with such a name. */
	    {"/src/panic:3:4: runtime error: division by zero\n" F(0, "f"), "Divide-by-zero", "f",
	     CRASH_UBSAN, false},
	};

	(void)state;
	CHECK_READINGS(t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(words_of_libraries),	    cmocka_unit_test(only_at_the_beginning),
    cmocka_unit_test(reporters_are_left_out),	    cmocka_unit_test(others_stay),
    cmocka_unit_test(objects_of_rust_are_no_names), cmocka_unit_test(go_behind_a_header),
};

UNIT_MAIN(tests)
