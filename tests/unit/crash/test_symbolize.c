/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolization of a report without names. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/crash/report/report.h"
#include "runner/crash/symbolize.h"

#include <errno.h>
#include <stdio.h>

static const char head[] =
    "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000011 at pc 0x1 bp 0x2 "
    "sp 0x3\nWRITE of size 1 at 0x602000000011 thread T0\n";

static const char bare[] = "    #0 0x55a1  (/target/t+0xa1) (BuildId: d687)\n"
			   "    #1 0x55b2  (/target/t+0xb2) (BuildId: d687)\n"
			   "    #2 0x7fc3  (/lib/libc.so.6+0xa1)\n"
			   "    #3 0x55d4  (/target/t+0xd4) (BuildId: d687)\n"
			   "\n"
			   "allocated by thread T0 here:\n"
			   "    #0 0x55b2  (/target/t+0xb2) (BuildId: d687)\n"
			   "    #1 0x55e5  (/target/t+0xe5) (BuildId: d687)\n"
			   "\n"
			   "SUMMARY: AddressSanitizer: heap-buffer-overflow (/target/t+0xa1)\n";

static const char llvm[] = "0xa1\ninner(char const*)\n/src/a.c:1:2\nouter\n/src/a.c:9:8\n\n"
			   "0xb2\nLLVMFuzzerTestOneInput\n/src/with space/f.c:3:4\n\n"
			   "0xd4\nfuzzer::Fuzzer::ExecuteCallback(unsigned char const*)\n??:0:0\n\n"
			   "0xe5\n??\n??:0:0\n\n";

static const char gnu[] =
    "0x00000000000000a1\ninner(char const*)\n/src/a.c:1 (discriminator 3)\n"
    "outer\n/src/a.c:9\n"
    "0x00000000000000b2\nLLVMFuzzerTestOneInput\n/src/f.c:3\n"
    "0x00000000000000d4\nfuzzer::Fuzzer::ExecuteCallback(unsigned char const*)\n:?\n"
    "0x00000000000000e5\n??\n??:0\n";

static struct buf out;

static int each_setup(void **state)
{
	(void)state;
	out = BUF_INIT(SYMBOLIZE_TEXT_MAX);
	return 0;
}

static int each_teardown(void **state)
{
	(void)state;
	buf_done(&out);
	return 0;
}

static const char *apply(struct slice report, const char *module, struct slice answers)
{
	struct symbolize s;
	struct err e = {0};

	symbolize_offsets(report, module, &s);
	buf_clear(&out);
	if (symbolize_apply(&s, report, answers, &out, &e) < 0)
		fail_msg("%s", e.msg);
	return buf_str(&out);
}

static void test_offsets(void **state)
{
	struct symbolize s;

	(void)state;
	symbolize_offsets(slice_of(bare), "/target/t", &s);
	assert_int_equal(s.n, 4);
	assert_int_equal(s.offset[0], 0xa1);
	assert_int_equal(s.offset[1], 0xb2);
	assert_int_equal(s.offset[2], 0xd4);
	assert_int_equal(s.offset[3], 0xe5);
	symbolize_offsets(slice_of(bare), "/target/u", &s);
	assert_int_equal(s.n, 0);
	symbolize_offsets(SLICE("    #0 0x55 in f (/target/t+0x1)\n#0 0x5 (/target/t)\nx\n"),
			  "/target/t", &s);
	assert_int_equal(s.n, 0);
}

static void test_llvm(void **state)
{
	(void)state;
	assert_string_equal(
	    apply(slice_of(bare), "/target/t", slice_of(llvm)),
	    "    #0 0x55a1 in inner(char const*) /src/a.c:1:2\n"
	    "    #1 0x55a1 in outer /src/a.c:9:8\n"
	    "    #2 0x55b2 in LLVMFuzzerTestOneInput /src/with space/f.c:3:4\n"
	    "    #3 0x7fc3  (/lib/libc.so.6+0xa1)\n"
	    "    #4 0x55d4 in fuzzer::Fuzzer::ExecuteCallback(unsigned char const*) "
	    "(/target/t+0xd4)\n"
	    "\n"
	    "allocated by thread T0 here:\n"
	    "    #0 0x55b2 in LLVMFuzzerTestOneInput /src/with space/f.c:3:4\n"
	    "    #1 0x55e5  (/target/t+0xe5) (BuildId: d687)\n"
	    "\n"
	    "SUMMARY: AddressSanitizer: heap-buffer-overflow (/target/t+0xa1)\n");
}

/* A trap's message that ends in a newline makes a blank line, and shifts the source positions. */
static void test_trap(void **state)
{
	(void)state;
	assert_string_equal(
	    apply(SLICE("    #0 0x55a1  (/target/t+0xa1) (BuildId: d687)\n"
			"    #1 0x55b2  (/target/t+0xb2) (BuildId: d687)\n"),
		  "/target/t",
		  SLICE("0xa1\n__clang_trap_msg$libc++$/v1/vector:3: assertion n failed: out of "
			"bounds\n\n/v1/vector:0:0\nstd::at(int)\n/v1/vector:3:3\ninner\n"
			"/src/a.c:1:2\n\n0xb2\nouter\n/src/a.c:9:8\n\n")),
	    "    #0 0x55a1 in __clang_trap_msg$libc++$/v1/vector:3: assertion n failed: out of "
	    "bounds /v1/vector:0:0\n"
	    "    #1 0x55a1 in std::at(int) /v1/vector:3:3\n"
	    "    #2 0x55a1 in inner /src/a.c:1:2\n"
	    "    #3 0x55b2 in outer /src/a.c:9:8\n");
}

/* TSan's frames have only the last part of the module's path, and no address. */
static void test_tsan(void **state)
{
	(void)state;
	assert_string_equal(
	    apply(SLICE("    #0 <null> <null> (t+0xa1) (BuildId: d687)\n"
			"    #1 <null> <null> (t+0xd4)\n"),
		  "/target/t", slice_of(llvm)),
	    "    #0 inner(char const*) /src/a.c:1:2 (t+0xa1)\n"
	    "    #1 outer /src/a.c:9:8 (t+0xa1)\n"
	    "    #2 fuzzer::Fuzzer::ExecuteCallback(unsigned char const*) (t+0xd4)\n");
}

/* The result is the same crash as from a report with names. */
static void expect_same_crash(const char *answers)
{
	static const char named[] = "    #0 0x9 in inner(char const*) /src/a.c:5:2\n"
				    "    #1 0x8 in outer /src/a.c:9:8\n"
				    "    #2 0x7 in LLVMFuzzerTestOneInput /src/f.c:3:4\n";
	struct crash_report want, got;
	struct crash_options o = {.target = "t"};
	char text[4000];

	snprintf(text, sizeof(text), "%s%s", head, named);
	crash_parse(slice_of(text), &o, &want);
	snprintf(text, sizeof(text), "%s%s", head, bare);
	crash_parse(slice_of(apply(slice_of(text), "/target/t", slice_of(answers))), &o, &got);
	assert_false(got.unsymbolized);
	assert_string_equal(got.signature, want.signature);
	assert_string_equal(got.type, want.type);
	assert_string_equal(got.top_frame, "inner");
	assert_int_equal(got.n_frames, 3);
	crash_report_done(&want);
	crash_report_done(&got);
}

static void test_same_crash(void **state)
{
	(void)state;
	expect_same_crash(llvm);
	expect_same_crash(gnu);
}

/* Answers that are cut, missing or unrelated: the valid part is used. */
static void test_bad_answers(void **state)
{
	static const char *const bad[] = {
	    "",
	    "\n\n\n",
	    "0xa1\n",
	    "0xa1\nf\n",
	    "0xa1\n\nf\nx:1\n",
	    "0xa2\nf\nx:1\n",
	    "f\nx:1\n0xa1\n",
	    "0xb2\ng\nx:1\n\n0xa1",
	    "0xa1zz\nf\nx:1\n",
	    "a1\nf\nx:1\n",
	    "0xa1\n??\n??:0\n",
	    "error: no such file\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_string_equal(apply(slice_of(bare), "/target/t", slice_of(bad[i])), bare);
	for (size_t n = 0; n < sizeof(llvm); n++)
		(void)apply(slice_of(bare), "/target/t", (struct slice){llvm, n});
}

/* Any number of frames: only some are queried, and the time is linear. */
static void test_many(void **state)
{
	static char report[1 << 16], answers[1 << 16];
	struct symbolize s;
	struct err e = {0};
	size_t n = 0, at = 0;

	(void)state;
	for (unsigned i = 0; n < sizeof(report) - 64; i++)
		n += (size_t)sprintf(report + n, "    #%u 0x5  (/target/t+0x%x)\n", i, i);
	symbolize_offsets((struct slice){report, n}, "/target/t", &s);
	assert_int_equal(s.n, SYMBOLIZE_OFFSETS);
	for (unsigned i = 0; i < SYMBOLIZE_OFFSETS; i++)
		at += (size_t)sprintf(answers + at, "0x%x\nf%u\n??:0\n\n", i, i);
	(void)apply((struct slice){report, n}, "/target/t", (struct slice){answers, at});
	assert_non_null(strstr(buf_str(&out), "#127 0x5 in f127 (/target/t+0x7f)\n"));
	assert_non_null(strstr(buf_str(&out), "#128 0x5  (/target/t+0x80)\n"));

	/* One answer with many inlined calls, for a frame that repeats. */
	at = (size_t)sprintf(answers, "0x1\n");
	while (at < sizeof(answers) - 16)
		at += (size_t)sprintf(answers + at, "f\n/a.c:1\n");
	for (n = 0; n < sizeof(report) - 64;)
		n += (size_t)sprintf(report + n, "    #1 0x5  (/target/t+0x1)\n");
	symbolize_offsets((struct slice){report, n}, "/target/t", &s);
	buf_clear(&out);
	assert_int_equal(
	    symbolize_apply(&s, (struct slice){report, n}, (struct slice){answers, at}, &out, &e),
	    -EFBIG);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_offsets),	   CASE(test_llvm),	   CASE(test_trap), CASE(test_tsan),
    CASE(test_same_crash), CASE(test_bad_answers), CASE(test_many),
};

UNIT_MAIN(tests)
