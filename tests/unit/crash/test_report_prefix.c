/* SPDX-License-Identifier: Apache-2.0 */
/* Reports with a log's prefix before each line. */
#include "tests/unit/unit.h"

#include "runner/crash/report/json.h"
#include "tests/reports/prefixes.h"
#include "tests/unit/crash/reports.h"

#define START "INFO: Running with entropic power schedule (0xFF, 100).\nINFO: Seed: 3\n"
#define BELOW                                                 \
	"    #1 0x5 in parse(int) /src/a.c:4:5 (t+0x5)\n"     \
	"    #2 0x6 in LLVMFuzzerTestOneInput /src/h.c:7:8\n" \
	"    #3 0x7 in fuzzer::Fuzzer::ExecuteCallback() (/t+0x7)\n"

static const char *const reports[] = {
    "=================================================================\n"
    "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000011 at pc 0x5\n"
    "READ of size 4 at 0x602000000011 thread T0\n"
    "    #0 0x4 in get /src/a.c:1:2\n" BELOW "\n"
    "0x602000000011 is located 0 bytes to the right of 1-byte region\n"
    "allocated by thread T0 here:\n"
    "    #0 0x9 in malloc (/t+0x9)\n    #1 0xa in grow /src/a.c:9:1\n\n"
    "SUMMARY: AddressSanitizer: heap-buffer-overflow /src/a.c:1:2 in get\n",
    START "Running: in\n"
	  "AddressSanitizer:DEADLYSIGNAL\n"
	  "==7==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000000 (pc 0x5 T0)\n"
	  "==7==The signal is caused by a WRITE memory access.\n"
	  "==7==Hint: address points to the zero page.\n"
	  "    #0 0x55d2  (/t+0x55d2) (BuildId: a27f)\n    #1 0x55e3  (/t+0x55e3)\n\n",
    START "a/b.c:3:4: runtime error: shift exponent 32 is too large for type 'int'\n"
	  "    #0 0x4 in get /src/a.c:1:2\n" BELOW "\n",
    START "a/b.c:3:4: runtime error: division by zero\n", /* recognised by its source position */
    "==7==WARNING: MemorySanitizer: use-of-uninitialized-value\n"
    "    #0 0x4 in get /src/a.c:1:2\n" BELOW "\n"
    "  Uninitialized value was created by a heap allocation\n"
    "    #0 0x9 in malloc (/t+0x9)\n",
    "==================\n"
    "WARNING: ThreadSanitizer: data race (pid=7)\n"
    "  Write of size 4 at 0x55d1 by thread T1:\n"
    "    #0 set /src/a.c:1:2 (t+0x1) (BuildId: a27f)\n\n"
    "  Previous read of size 4 at 0x55d1 by main thread:\n"
    "    #0 get /src/a.c:5:6 (t+0x2) (BuildId: a27f)\n\n",
    "==7==ERROR: LeakSanitizer: detected memory leaks\n\n"
    "Direct leak of 5 byte(s) in 1 object(s) allocated from:\n"
    "    #0 0x9 in malloc (/t+0x9)\n" BELOW "\n",
    "ALARM: working on the last Unit for 2 seconds\n"
    "==7== ERROR: libFuzzer: timeout after 2 seconds\n"
    "    #0 0x4 in get /src/a.c:1:2\n" BELOW "\n",
    "==7== ERROR: libFuzzer: out-of-memory (malloc(4278190080))\n"
    "    #0 0x4 in get /src/a.c:1:2\n" BELOW "\n",
    START "t: a.c:3: int f(void): Assertion `x > 0' failed.\n"
	  "==7== ERROR: libFuzzer: deadly signal\n"
	  "    #0 0x4 in get /src/a.c:1:2\n" BELOW "\n",
    /* printed before a line that reveals the prefix */
    "*** stack smashing detected ***: terminated\n"
    "==7== ERROR: libFuzzer: deadly signal\n"
    "    #0 0x4 in get /src/a.c:1:2\n" BELOW "\n",
    "pure virtual method called\nterminate called without an active exception\n"
    "==7== ERROR: libFuzzer: deadly signal\n"
    "    #0 0x4 in get /src/a.c:1:2\n" BELOW "\n",
    "F0813 00:29:27.775753 384244 a.cc:130] Check failed: n > 0\n"
    "==7== ERROR: libFuzzer: deadly signal\n"
    "    #0 0x4 in get /src/a.c:1:2\n" BELOW "\n",
    START "== Java Exception: java.lang.IllegalStateException: no\n"
	  "\tat com.a.B.c(B.java:3)\n\tat com.a.B.d(B.java:4)\n"
	  "== libFuzzer crashing input ==\n",
    START "panic: runtime error: index out of range [3] with length 3\n\n"
	  "goroutine 17 [running, locked to thread]:\nmain.parse(0xc000, 0x3)\n",
};

static char *json_of(struct slice text)
{
	struct crash_report r;
	json_t *j;
	char *is;

	crash_parse(text, NULL, &r);
	j = crash_report_json(&r);
	is = json_dumps(j, JSON_INDENT(1));
	json_decref(j);
	crash_report_done(&r);
	return is;
}

static void a_prefix_changes_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		char *want = json_of(slice_of(reports[i]));

		assert_non_null(strstr(want, "\"found\": true"));
		for (unsigned way = 0; way < PREFIXES; way++) {
			size_t n;
			char *text = prefix_all(slice_of(reports[i]), way, &n);
			char *is = json_of((struct slice){text, n});

			if (strcmp(is, want) != 0)
				fail_msg("%s\nnot\n%s\nof:\n%.*s", is, want, (int)n, text);
			free(is);
			free(text);
		}
		free(want);
	}
}

static void check(const char *text, const char *type, const char *frames)
{
	struct crash_report r = parse(text);
	char buf[1024];

	assert_string_equal(r.type, type);
	assert_string_equal(frames_of(&r, buf), frames);
	crash_report_done(&r);
}

#define UAF  "ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000011 at pc 0x5\n"
#define READ "READ of size 4 at 0x602000000011 thread T0\n"

static void context_of_grep(void **state)
{
	(void)state;
	check("a-1.txt:12:==7==" UAF "a-1.txt-13-" READ "a-1.txt-14-    #0 0x4 in one a.c:1:2\n"
	      "b-1.txt-15-    #1 0x4 in other a.c:1:2\n"
	      "a-1.txt-16-    #1 0x5 in two a.c:3:4\n",
	      "Heap-use-after-free\nREAD 4", "one|two");
	check("a.txt:12:/src/x.c:3:4: runtime error: division by zero\n"
	      "a.txt-13-    #0 0x4 in one a.c:1:2\n",
	      "Divide-by-zero", "one");
}

/* Some editors write a byte order mark, and such files may be joined. */
static void byte_order_marks(void **state)
{
	(void)state;
	check("\xef\xbb\xbf==7==" UAF READ "    #0 0x4 in one a.c:1:2\n",
	      "Heap-use-after-free\nREAD 4", "one");
	check("a log\n\xef\xbb\xbft: a.c:3: int f(void): Assertion `x > 0' failed.\n"
	      "\xef\xbb\xbf    #0 0x4 in one a.c:1:2\n",
	      "ASSERT", "one");
	check("\xef\xbb\xbfx.c:3:4: runtime error: division by zero\n", "Divide-by-zero", "");
	same_signature("\xef\xbb\xbfx.c:3:4: runtime error: division by zero\n",
		       "x.c:3:4: runtime error: division by zero\n", true);
	check("\xef\xbb", "", "");
}

static void others_lines_are_not_taken(void **state)
{
	(void)state;
	/* of another process in the same log */
	check("fuzz-1: ==7==" UAF "fuzz-1: " READ "fuzz-1:     #0 0x4 in one a.c:1:2\n"
	      "fuzz-2:     #1 0x4 in other a.c:1:2\n"
	      "fuzz-1:     #1 0x5 in two a.c:3:4\n",
	      "Heap-use-after-free\nREAD 4", "one|two");
	/* the log's own line */
	check("[x] ==7==" UAF "connected\n[x] " READ "    #0 0x4 in one a.c:1:2\n"
	      "[x]     #1 0x5 in two a.c:3:4\n",
	      "Heap-use-after-free\nREAD 4", "one|two");
	/* the end of a stack */
	check("[x] ==7==" UAF "[x]     #0 0x4 in one a.c:1:2\n[x]\n"
	      "[x]     #1 0x5 in two a.c:3:4\n",
	      "Heap-use-after-free", "one");
}

static void what_a_target_wrote_before_a_headline_is_no_prefix(void **state)
{
	(void)state;
	check("fuzz-1: INFO: Seed: 3\nfuzz-1: half: ==7==" UAF "fuzz-1: " READ
	      "fuzz-1:     #0 0x4 in one a.c:1:2\n",
	      "Heap-use-after-free\nREAD 4", "one");
	check("half: ==7==" UAF READ "    #0 0x4 in one a.c:1:2\n", "Heap-use-after-free\nREAD 4",
	      "one");
	/* only the frames reveal its length */
	check("[x] half: ==7==" UAF
	      "[x]     #0 0x4 in one a.c:1:2\n[x]     #1 0x5 in two a.c:3:4\n",
	      "Heap-use-after-free", "one|two");
}

static void each_process_has_its_own(void **state)
{
	(void)state;
	check("[x] INFO: Seed: 3\n[x] ==7==" UAF "[x]     #0 0x4 in one a.c:1:2\n"
	      "INFO: Seed: 3\n==8==" UAF "    #0 0x4 in two a.c:1:2\n",
	      "Heap-use-after-free", "two");
	check("[x] INFO: Seed: 3\n[x] ==7==" UAF "[x]     #0 0x4 in one a.c:1:2\n"
	      "job 4: INFO: Seed: 3\njob 4: ==8==" UAF "job 4:     #0 0x4 in two a.c:1:2\n",
	      "Heap-use-after-free", "two");
}

static void a_long_prefix_is_none(void **state)
{
	char text[2048];
	int n = 0;

	(void)state;
	for (int i = 0; i < 2; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "[%0300d] %s", 7,
			      i ? "    #0 0x4 in one a.c:1:2\n" : "==7==" UAF);
	check(text, "Heap-use-after-free", "");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_prefix_changes_nothing),
    cmocka_unit_test(context_of_grep),
    cmocka_unit_test(byte_order_marks),
    cmocka_unit_test(others_lines_are_not_taken),
    cmocka_unit_test(what_a_target_wrote_before_a_headline_is_no_prefix),
    cmocka_unit_test(each_process_has_its_own),
    cmocka_unit_test(a_long_prefix_is_none),
};
UNIT_MAIN(tests)
