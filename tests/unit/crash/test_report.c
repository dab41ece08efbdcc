/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/crash/reports.h"

#include <errno.h>

#define ASAN_LINE                                                                        \
	"==12==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000011 " \
	"at pc 0x55d0c0 bp 0x7ffc10 sp 0x7ffc08\n"                                       \
	"READ of size 4 at 0x602000000011 thread T0\n"

static const char whole[] =
    "INFO: Seed: 1\n#2\tINITED cov: 2 ft: 2 corp: 1/1b exec/s: 0 rss: 30Mb\n" ASAN_LINE
    "    #0 0x55d0bf in __interceptor_memcpy (/out/f+0x1)\n"
    "    #1 0x55d0bf in parse_header(char const*, unsigned long) /src/app/parse.cc:12:3\n"
    "    #2 0x55d0d0 in app::(anonymous namespace)::reader<int>::next() const /src/r.h:40:9\n"
    "    #3 0x55d0e0 in LLVMFuzzerTestOneInput /src/app/fuzz/parse_fuzzer.cc:7:2\n"
    "    #4 0x45bbe0 in fuzzer::Fuzzer::ExecuteCallback(unsigned char const*) (/out/f+0x4) "
    "(BuildId: a2754c)\n"
    "\n0x602000000011 is located 0 bytes after 1-byte region\n"
    "allocated by thread T0 here:\n"
    "    #0 0x4f in malloc (/out/f+0x4f)\n    #1 0x50 in make_it /src/m.c:1:1\n\n"
    "SUMMARY: AddressSanitizer: heap-buffer-overflow /src/app/parse.cc:12:3 in parse_header\n"
    "==12==ABORTING\nMS: 1 ChangeBit-; base unit: 0000\n";

static void check_whole(const struct crash_report *r)
{
	char buf[1024];

	assert_true(r->found);
	assert_int_equal(r->kind, CRASH_ASAN);
	assert_string_equal(r->type, "Heap-buffer-overflow\nREAD 4");
	assert_string_equal(state_of(r, buf),
			    "parse_header|app::reader<int>::next|parse_fuzzer.cc");
	assert_string_equal(r->address, "0x602000000011");
	assert_int_equal(r->access, CRASH_ACCESS_READ);
	assert_int_equal(r->access_size, 4);
	assert_string_equal(r->top_frame, "parse_header");
	assert_true(r->security);
	assert_int_equal(r->severity, CRASH_SEVERITY_MEDIUM);
	assert_int_equal(r->raw_frames, 5);
	assert_false(r->unsymbolized);
	assert_string_equal(r->raw_key, "");
	assert_int_equal(strlen(r->signature), 16);
	assert_memory_equal(r->headline, "==12==ERROR: Address", 20);
}

static void reads_all_of_a_report(void **state)
{
	struct crash_report r = parse(whole);
	const struct crash_frame *f = r.frames;
	char buf[1024];

	(void)state;
	check_whole(&r);
	assert_string_equal(frames_of(&r, buf),
			    "parse_header(char const*, unsigned long)|"
			    "app::(anonymous namespace)::reader<int>::next() const|"
			    "LLVMFuzzerTestOneInput");
	assert_string_equal(f[0].file, "/src/app/parse.cc");
	assert_int_equal(f[0].line, 12);
	assert_int_equal(f[0].column, 3);
	assert_int_equal(f[0].number, 1);
	assert_int_equal(f[0].pc, 0x55d0bf);
	assert_true(f[0].has_function);
	assert_string_equal(f[0].name, "parse_header");
	assert_string_equal(f[1].name, "app::reader::next");
	crash_report_done(&r);
	assert_null(r.frames);
	assert_int_equal(r.n_frames, 0);
}

static void nothing_is_no_crash(void **state)
{
	static const char *const t[] = {
	    "",
	    "\n",
	    "#2\tINITED cov: 2 ft: 2 corp: 1/1b exec/s: 0 rss: 30Mb\nDone 1 runs in 0 second(s)\n",
	    "==1==WARNING: AddressSanitizer failed to allocate 0xfffffffff bytes\n",
	    "==1== libFuzzer: run interrupted; exiting\n",
	    "Slowest unit: 11 s:\nartifact_prefix='./'; Test unit written to ./slow-unit-da39\n",
	    "SUMMARY: AddressSanitizer: heap-use-after-free a.c:1 in f\n",
	    "    #0 0x5 in f /src/a.c:1:2\n",
	    "INFO: libFuzzer disabled leak detection after every mutation.\n",
	    "note: malloc(): corrupted files are skipped\nmalloc(): out of memory\n",
	    "ThreadSanitizer: reported 2 warnings\n",
	    "the assertion is that READ of size 4 at 5 was a leak of memory, shift or not\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct crash_report r = parse(t[i]);

		if (r.found)
			fail_msg("a crash '%s' in:\n%s", r.type, t[i]);
		assert_int_equal(r.kind, CRASH_NONE);
		assert_string_equal(r.signature, "");
		assert_int_equal(r.n_state, 0);
		crash_report_done(&r);
	}
}

/* --- invalid text --------------------------------------------------------- */

static void pieces_make_no_difference(void **state)
{
	struct crash_report want = parse(whole);

	(void)state;
	for (size_t piece = 1; piece < 70; piece += 3) {
		struct crash_parser *p = crash_parser_new(NULL);
		struct crash_report r;

		for (size_t at = 0; at < sizeof(whole) - 1; at += piece) {
			size_t left = sizeof(whole) - 1 - at;

			crash_parser_feed(p,
					  (struct slice){whole + at, left < piece ? left : piece});
		}
		crash_parser_finish(p, &r);
		check_whole(&r);
		assert_string_equal(r.signature, want.signature);
		crash_report_done(&r);
		crash_parser_free(p);
	}
	crash_report_done(&want);
}

/* Passes each byte of the report through `change`, which writes its replacement. */
static void check_changed(size_t (*change)(char c, char *to))
{
	static char text[16 * sizeof(whole)];
	struct crash_report r, want = parse(whole);
	size_t n = 0;

	for (size_t i = 0; i < sizeof(whole) - 1; i++)
		n += change(whole[i], text + n);
	text[n] = '\0';
	r = parse(text);
	check_whole(&r);
	assert_string_equal(r.signature, want.signature);
	crash_report_done(&r);
	crash_report_done(&want);
}

static size_t crlf(char c, char *to)
{
	if (c == '\n')
		*to++ = '\r';
	*to = c;
	return c == '\n' ? 2 : 1;
}

static size_t coloured(char c, char *to)
{
	if (c != '\n') {
		*to = c;
		return 1;
	}
	memcpy(to, "\033[1m\033[0m\n\033[31m", 14);
	return 14;
}

static void line_ends_and_colours(void **state)
{
	(void)state;
	check_changed(crlf);
	check_changed(coloured);
}

static void half_a_line_before_the_report(void **state)
{
	struct crash_report r =
	    parse("target said somethingAddressSanitizer:DEADLYSIGNAL\n"
		  "and more==9==ERROR: AddressSanitizer: SEGV on unknown address 0x41414141 (pc "
		  "0x4f1 bp 0x7 sp 0x7 T0)\n==9==The signal is caused by a WRITE memory access.\n"
		  "    #0 0x4f1 in f /src/a.c:4:1\n");

	(void)state;
	assert_string_equal(r.type, "UNKNOWN WRITE");
	assert_string_equal(r.state[0], "f");
	assert_string_equal(r.signal, "SIGSEGV");
	crash_report_done(&r);
}

/* A frame that is split over two lines loses its file; no other frame is affected. */
static void half_frames(void **state)
{
	struct crash_report r = parse(ASAN_LINE "    #0 0x5 in f<int, cha\nr>::g() /src/a.c:3:4\n"
						"    #1 0x5 in h /src/a.c:3:4\n"
						"    #2 0x5 in\n    #3 0x5 in i /src/a.c:3:4\n"
						"\n    #4 0x5 in no /src/a.c:3:4\n");

	(void)state;
	assert_int_equal(r.n_frames, 3);
	assert_string_equal(r.frames[1].function, "h");
	assert_string_equal(r.frames[2].function, "i");
	crash_report_done(&r);
}

static void any_bytes(void **state)
{
	static char text[200000];
	unsigned seed = 7;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct crash_report r;
		size_t n = 0;

		for (; n < sizeof(text) - 300; n++) {
			seed = seed * 1664525U + 1013904223U;
			text[n] = (char)(seed >> 24);
			if ((seed >> 8) % 512 == 0) {
				memcpy(text + n, whole + (seed >> 10) % (sizeof(whole) - 200), 200);
				n += 200;
			}
		}
		crash_parse((struct slice){text, n}, NULL, &r);
		crash_report_done(&r);
	}
}

/* --- bounds ---------------------------------------------------------------- */

static void endless_lines_and_stacks(void **state)
{
	static char block[65536];
	struct crash_parser *p = crash_parser_new(NULL);
	struct crash_report r;
	char frame[128];

	(void)state;
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 64; i++)
		crash_parser_feed(p, (struct slice){block, sizeof(block)});
	crash_parser_feed(p, SLICE("\n" ASAN_LINE));
	for (int i = 0; i < 100000; i++) {
		int n = snprintf(frame, sizeof(frame), "    #%d 0x5 in f%d /src/a.c:3:4\n", i, i);

		crash_parser_feed(p, (struct slice){frame, (size_t)n});
	}
	crash_parser_finish(p, &r);
	assert_int_equal(r.n_frames, CRASH_FRAMES_MAX);
	assert_int_equal(r.raw_frames, 100000);
	assert_string_equal(r.frames[63].function, "f63");
	assert_string_equal(r.state[2], "f2");
	crash_report_done(&r);
	crash_parser_free(p);
}

/* libFuzzer writes no newline before its report. */
static void reports_behind_endless_lines(void **state)
{
	static char block[65536];
	struct crash_report r;

	(void)state;
	memset(block, 0, sizeof(block));
	for (unsigned n = 0; n < 4; n++) {
		struct crash_parser *p = crash_parser_new(NULL);

		for (unsigned i = 0; i < n; i++)
			crash_parser_feed(p,
					  (struct slice){block, sizeof(block) - (i == 0 ? 3 : 0)});
		crash_parser_feed(p, SLICE("==1== ERROR: libFuzzer: deadly signal\n"
					   "    #0 0x5 in parse /src/a.c:3:4\n"));
		crash_parser_finish(p, &r);
		assert_string_equal(r.type, "Fatal-signal");
		assert_string_equal(r.top_frame, "parse");
		crash_report_done(&r);
		crash_parser_free(p);
	}
}

static void a_long_name_keeps_both_ends(void **state)
{
	static char text[40000];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s    #0 0x5 in a::f<", ASAN_LINE);
	struct crash_report r;

	(void)state;
	memset(text + n, 'x', 30000);
	n += 30000;
	snprintf(text + n, sizeof(text) - n, ">(int) /src/deep.c:77:4\n");
	r = parse(text);
	assert_int_equal(r.n_frames, 1);
	assert_string_equal(r.frames[0].function, "a::f<...>(int)");
	assert_string_equal(r.frames[0].file, "/src/deep.c");
	assert_int_equal(r.frames[0].line, 77);
	assert_string_equal(r.top_frame, "a::f");
	assert_int_equal(strlen(r.state[0]), 80);
	crash_report_done(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(reads_all_of_a_report),
    cmocka_unit_test(nothing_is_no_crash),
    cmocka_unit_test(pieces_make_no_difference),
    cmocka_unit_test(line_ends_and_colours),
    cmocka_unit_test(half_a_line_before_the_report),
    cmocka_unit_test(half_frames),
    cmocka_unit_test(any_bytes),
    cmocka_unit_test(endless_lines_and_stacks),
    cmocka_unit_test(reports_behind_endless_lines),
    cmocka_unit_test(a_long_name_keeps_both_ends),
};

UNIT_MAIN(tests)
