/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/digest.h"
#include "runner/engine/libfuzzer/libfuzzer.h"

#include <stdio.h>
#include <stdlib.h>

#define SHA "510e70573bca51a824e345d5cff7448f740203fb"

static void one_line(void **state)
{
	static const struct {
		const char *line;
		enum engine_fault fault;
		const char *text;
	} t[] = {
	    {"==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602 at pc 0x5",
	     ENGINE_FAULT_CRASH, "AddressSanitizer: heap-buffer-overflow"},
	    {"==1==ERROR: AddressSanitizer: SEGV on unknown address (pc 0x5 bp 0x7 sp 0x7 T0)",
	     ENGINE_FAULT_CRASH, "AddressSanitizer: SEGV"},
	    {"==1==ERROR: AddressSanitizer: attempting double-free on 0x602 in thread T0:",
	     ENGINE_FAULT_CRASH, "AddressSanitizer: attempting double-free"},
	    {"==1==ERROR: AddressSanitizer: attempting free on address which was not malloc()-ed: "
	     "0x7 in thread T0",
	     ENGINE_FAULT_CRASH,
	     "AddressSanitizer: attempting free on address which was not malloc()-ed"},
	    {"==1==ERROR: LeakSanitizer: detected memory leaks", ENGINE_FAULT_LEAK,
	     "LeakSanitizer: detected memory leaks"},
	    {"SUMMARY: AddressSanitizer: 40 byte(s) leaked in 1 allocation(s).", ENGINE_FAULT_LEAK,
	     "AddressSanitizer: 40 byte(s) leaked in 1 allocation(s)."},
	    {"==1==WARNING: MemorySanitizer: use-of-uninitialized-value", ENGINE_FAULT_CRASH,
	     "MemorySanitizer: use-of-uninitialized-value"},
	    {"WARNING: ThreadSanitizer: data race (pid=77)", ENGINE_FAULT_CRASH,
	     "ThreadSanitizer: data race"},
	    {"==1==ERROR: UndefinedBehaviorSanitizer: SEGV on unknown address 0x0",
	     ENGINE_FAULT_CRASH, "UndefinedBehaviorSanitizer: SEGV"},
	    {"/s/a.c:3:4: runtime error: signed integer overflow: 1 + 2 cannot", ENGINE_FAULT_CRASH,
	     "UndefinedBehaviorSanitizer: signed integer overflow: 1 + 2 cannot"},
	    {"half a line==1==ERROR: AddressSanitizer: BUS on unknown address 0x1 (pc 0x5",
	     ENGINE_FAULT_CRASH, "AddressSanitizer: BUS"},
	    {"==1== ERROR: libFuzzer: deadly signal", ENGINE_FAULT_CRASH,
	     "libFuzzer: deadly signal"},
	    {"half a line==1== ERROR: libFuzzer: fuzz target exited", ENGINE_FAULT_CRASH,
	     "libFuzzer: fuzz target exited"},
	    {"==1== ERROR: libFuzzer: fuzz target overwrites its const input", ENGINE_FAULT_CRASH,
	     "libFuzzer: fuzz target overwrites its const input"},
	    {"==1== ERROR: libFuzzer: timeout after 3 seconds", ENGINE_FAULT_TIMEOUT,
	     "libFuzzer: timeout after 3 seconds"},
	    {"==1== ERROR: libFuzzer: out-of-memory (used: 567Mb; limit: 256Mb)", ENGINE_FAULT_OOM,
	     "libFuzzer: out-of-memory (used: 567Mb; limit: 256Mb)"},
	    {"==1== ERROR: libFuzzer: out-of-memory (malloc(3221225472))", ENGINE_FAULT_OOM,
	     "libFuzzer: out-of-memory (malloc(3221225472))"},
	    {"==1== ERROR: libFuzzer: file size exceeded", ENGINE_FAULT_ENGINE,
	     "libFuzzer: file size exceeded"},
	    {"SUMMARY: libFuzzer: timeout", ENGINE_FAULT_TIMEOUT, "libFuzzer: timeout"},
	    {"ParseDictionaryFile: error in line 1", ENGINE_FAULT_ENGINE,
	     "ParseDictionaryFile: error in line 1"},
	    {"No such file or directory: /a; exiting", ENGINE_FAULT_ENGINE,
	     "No such file or directory: /a; exiting"},
	    {"==1==LeakSanitizer has encountered a fatal error.", ENGINE_FAULT_ENGINE,
	     "LeakSanitizer: fatal error"},
	    {"==1==ERROR: AddressSanitizer: \033[1mbold\001\377", ENGINE_FAULT_CRASH,
	     "AddressSanitizer: ?[1mbold??"},
	    /* These lines are no failures. */
	    {"==1==WARNING: AddressSanitizer failed to allocate 0x7f bytes", 0, ""},
	    {"==1==WARNING: AddressSanitizer: odd", 0, ""},
	    {"AddressSanitizer can not provide additional info.", 0, ""},
	    {"AddressSanitizer: alone", 0, ""},
	    {"INFO: libFuzzer disabled leak detection after every mutation.", 0, ""},
	    {"ERROR: my library says no", 0, ""},
	    {"WARNING: something", 0, ""},
	    {"Sanitizer: ", 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct engine_state s = {0};

		libfuzzer_line(slice_of(t[i].line), &s);
		if (s.fault != t[i].fault || strcmp(s.fault_text, t[i].text) != 0)
			fail_msg("%s: %d '%s'", t[i].line, (int)s.fault, s.fault_text);
	}
}

/* A thread of the engine writes the watchdog's report.  The failing thread writes all other
 * reports. */
static void the_reporting_thread_is_known(void **state)
{
	static const struct {
		const char *line;
		bool own;
	} t[] = {
	    {"==1== ERROR: libFuzzer: out-of-memory (used: 567Mb; limit: 256Mb)", true},
	    {"==1== ERROR: libFuzzer: out-of-memory (malloc(3221225472))", false},
	    {"==1== ERROR: libFuzzer: deadly signal", false},
	    {"==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct engine_state s = {0};

		libfuzzer_line(slice_of(t[i].line), &s);
		assert_int_equal(s.own_thread, t[i].own);
		libfuzzer_line(slice_of(t[0].line), &s); /* the first report counts */
		assert_int_equal(s.own_thread, t[i].own);
	}
}

static void which_report_counts(void **state)
{
	static const char asan[] = "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0";
	static const char leak[] = "==1==ERROR: LeakSanitizer: detected memory leaks";
	static const char slow[] = "==1== ERROR: libFuzzer: timeout after 3 seconds";
	static const char dict[] = "ParseDictionaryFile: error in line 1";
	static const struct {
		const char *first, *second;
		enum engine_fault want;
	} t[] = {
	    {asan, leak, ENGINE_FAULT_CRASH},	{leak, asan, ENGINE_FAULT_LEAK},
	    {asan, slow, ENGINE_FAULT_TIMEOUT}, {slow, asan, ENGINE_FAULT_TIMEOUT},
	    {dict, asan, ENGINE_FAULT_CRASH},	{asan, dict, ENGINE_FAULT_CRASH},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct engine_state s = {0};

		libfuzzer_line(slice_of(t[i].first), &s);
		libfuzzer_line(slice_of(t[i].second), &s);
		assert_int_equal(s.fault, t[i].want);
	}
}

/* When undefined behaviour does not end a program, the actual end comes later. */
static void undefined_behaviour_gives_way(void **state)
{
	static const char ub[] = "a.c:1:2: runtime error: signed integer overflow: 1 + 2";
	struct engine_state s = {0};

	(void)state;
	libfuzzer_line(slice_of(ub), &s);
	assert_int_equal(s.fault, ENGINE_FAULT_CRASH);
	assert_non_null(strstr(s.fault_text, "signed integer overflow"));
	libfuzzer_line(SLICE("SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior a.c:1:2 in"),
		       &s);
	assert_non_null(strstr(s.fault_text, "signed integer overflow"));
	libfuzzer_line(SLICE("==7==ERROR: LeakSanitizer: detected memory leaks"), &s);
	assert_int_equal(s.fault, ENGINE_FAULT_LEAK);
	libfuzzer_line(slice_of(ub), &s); /* this does not change it back */
	assert_int_equal(s.fault, ENGINE_FAULT_LEAK);

	s = (struct engine_state){0};
	libfuzzer_line(slice_of(ub), &s);
	libfuzzer_line(SLICE("==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1"),
		       &s);
	assert_int_equal(s.fault, ENGINE_FAULT_CRASH);
	assert_non_null(strstr(s.fault_text, "heap-use-after-free"));
}

static void long_texts_are_cut(void **state)
{
	char line[600] = "==1==ERROR: AddressSanitizer: ";
	struct engine_state s = {0};

	(void)state;
	memset(line + strlen(line), 'x', 500);
	libfuzzer_line(slice_of(line), &s);
	assert_int_equal(strlen(s.fault_text), sizeof(s.fault_text) - 1);
}

static void artifact_lines(void **state)
{
	static const struct {
		const char *line, *want;
	} t[] = {
	    {"artifact_prefix='/a/'; Test unit written to /a/crash-" SHA, "crash-" SHA},
	    {"x y artifact_prefix='./'; Test unit written to ./oom-" SHA "\r", "oom-" SHA},
	    {"Test unit written to slow-unit-" SHA, "slow-unit-" SHA},
	    {"Test unit written to /a/../../etc/passwd", ""},
	    {"Test unit written to /a/crash-" SHA "/x", ""},
	    {"Test unit written to /a/crash-" SHA "x", ""},
	    {"Test unit written to /", ""},
	    {"Test unit written to ", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct engine_state s = {0};

		libfuzzer_line(slice_of(t[i].line), &s);
		assert_string_equal(s.artifact, t[i].want);
	}
}

/* --- real output of LLVM 14, 16 and 19: tests/data/libfuzzer/capture.sh ---- */

struct captured {
	struct engine_state s;
	int code;
};

static struct captured capture(const char *version, const char *way)
{
	struct captured c = {.code = -1};
	char path[128], line[4096];
	FILE *f;

	snprintf(path, sizeof(path), "tests/data/libfuzzer/%s/%s", version, way);
	f = fopen(path, "re");
	if (!f)
		fail_msg("no %s", path);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "exit ", 5) == 0)
			c.code = (int)strtol(line + 5, NULL, 10);
		else
			libfuzzer_line(slice_of(line), &c.s);
	}
	fclose(f);
	return c;
}

enum { STATS = 1, RUNNING = 2 };

static const struct real {
	const char *way;
	int code;
	enum engine_end end;
	enum engine_fault fault;
	const char *text; /* the beginning of the text */
	enum engine_artifact artifact;
	unsigned seen;
} reals[] = {
    {"crash", 76, ENGINE_FAULTED, ENGINE_FAULT_CRASH, "AddressSanitizer: heap-buffer-overflow",
     ENGINE_ARTIFACT_CRASH, STATS},
    {"segv", 76, ENGINE_FAULTED, ENGINE_FAULT_CRASH, "AddressSanitizer: SEGV",
     ENGINE_ARTIFACT_CRASH, STATS},
    {"ub", 76, ENGINE_FAULTED, ENGINE_FAULT_CRASH,
     "UndefinedBehaviorSanitizer: signed integer overflow", ENGINE_ARTIFACT_CRASH, STATS},
    {"uninit", 76, ENGINE_FAULTED, ENGINE_FAULT_CRASH,
     "MemorySanitizer: use-of-uninitialized-value", ENGINE_ARTIFACT_CRASH, STATS},
    {"abort", 77, ENGINE_FAULTED, ENGINE_FAULT_CRASH, "libFuzzer: deadly signal",
     ENGINE_ARTIFACT_CRASH, STATS},
    {"exit", 77, ENGINE_FAULTED, ENGINE_FAULT_CRASH, "libFuzzer: fuzz target exited",
     ENGINE_ARTIFACT_CRASH, STATS},
    {"leak", 77, ENGINE_FAULTED, ENGINE_FAULT_LEAK, "LeakSanitizer: detected memory leaks",
     ENGINE_ARTIFACT_LEAK, STATS},
    {"malloc", 71, ENGINE_FAULTED, ENGINE_FAULT_OOM, "libFuzzer: out-of-memory (malloc(",
     ENGINE_ARTIFACT_OOM, STATS},
    {"oom", 71, ENGINE_FAULTED, ENGINE_FAULT_OOM,
     "libFuzzer: out-of-memory (used: ", ENGINE_ARTIFACT_OOM, STATS},
    {"timeout", 70, ENGINE_FAULTED, ENGINE_FAULT_TIMEOUT, "libFuzzer: timeout after ",
     ENGINE_ARTIFACT_TIMEOUT, STATS},
    {"startcrash", 76, ENGINE_FAULTED, ENGINE_FAULT_CRASH, "AddressSanitizer: SEGV", 0, 0},
    {"startexit", 3, ENGINE_STARTUP_FAILED, 0, "", 0, 0},
    {"quietexit", 5, ENGINE_STARTUP_FAILED, 0, "", 0, 0}, /* on a seed */
    {"baddict", 1, ENGINE_STARTUP_FAILED, ENGINE_FAULT_ENGINE,
     "ParseDictionaryFile: error in line 1", 0, 0},
    {"nodir", 1, ENGINE_STARTUP_FAILED, ENGINE_FAULT_ENGINE, "No such file or directory: /w/absent",
     0, 0},
    {"runs", 0, ENGINE_FINISHED, 0, "", 0, STATS | RUNNING},
    {"seeded", 0, ENGINE_FINISHED, 0, "", 0, STATS | RUNNING},
    {"usr1", 0, ENGINE_FINISHED, 0, "", 0, STATS | RUNNING},
    {"term", 72, ENGINE_INTERRUPTED, 0, "", 0, STATS | RUNNING},
    {"dump", 77, ENGINE_FAULTED, ENGINE_FAULT_CRASH, "libFuzzer: deadly signal",
     ENGINE_ARTIFACT_CRASH, STATS | RUNNING},
};

static void check_real(const char *version, const struct real *r)
{
	struct captured c = capture(version, r->way);
	enum engine_end end = engine_libfuzzer.classify(&c.s, c.code, 0);

	if (c.code != r->code || end != r->end || c.s.fault != r->fault)
		fail_msg("%s/%s: exit %d, end %d, fault %d", version, r->way, c.code, (int)end,
			 (int)c.s.fault);
	if (strncmp(c.s.fault_text, r->text, strlen(r->text)) != 0 ||
	    (r->text[0] == '\0' && c.s.fault_text[0]))
		fail_msg("%s/%s: '%s'", version, r->way, c.s.fault_text);
	if (libfuzzer_artifact(slice_of(c.s.artifact)) != r->artifact)
		fail_msg("%s/%s: artifact '%s'", version, r->way, c.s.artifact);
	if (c.s.final.seen != !!(r->seen & STATS) || c.s.running != !!(r->seen & RUNNING))
		fail_msg("%s/%s: statistics %d, running %d", version, r->way, c.s.final.seen,
			 c.s.running);
	if (c.s.final.seen)
		assert_true(c.s.final.execs > 0 && c.s.final.peak_rss_mib > 10);
	if (r->seen & RUNNING)
		assert_true(c.s.edges_total >= c.s.cov && c.s.cov > 0);
}

static void real_output(void **state)
{
	static const char *const versions[] = {"14", "16", "19"};

	(void)state;
	for (size_t v = 0; v < 3; v++)
		for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
			check_real(versions[v], &reals[i]);
}

/* LLVM 14 gives up, newer versions warn and continue. */
static void real_blindness(void **state)
{
	struct captured c = capture("14", "noinstr");

	(void)state;
	assert_true(c.s.not_instrumented);
	assert_int_equal(c.code, 1);
	assert_int_equal(engine_libfuzzer.classify(&c.s, c.code, 0), ENGINE_NOT_INSTRUMENTED);
	for (size_t v = 0; v < 2; v++) {
		c = capture(v ? "19" : "16", "noinstr");
		assert_true(c.s.not_instrumented);
		assert_int_equal(c.code, 0);
		assert_int_equal(engine_libfuzzer.classify(&c.s, c.code, 0),
				 ENGINE_NOT_INSTRUMENTED);
	}
}

static void real_numbers(void **state)
{
	struct captured c = capture("14", "seeded");

	(void)state;
	assert_int_equal(c.s.execs, 20000);
	assert_int_equal(c.s.seed_files, 2);
	assert_int_equal(c.s.max_len, 4096);
	assert_int_equal(c.s.final.execs, 20000);
	assert_true(c.s.done);
	assert_true(c.s.corpus_units > 0 && c.s.corpus_bytes > 0 && c.s.lim > 0 &&
		    c.s.rss_mib > 10 && c.s.ft >= c.s.cov && c.s.last_new_execs > 0);
}

/* The engine's output for an artifact of this input, if it printed one. */
static struct engine_state printed(const char *input, size_t n, const char *base64)
{
	struct engine_state s = {0};
	char line[800], hex[DIGEST_SHA1_HEX];

	digest_sha1_hex((struct slice){input, n}, hex);
	snprintf(line, sizeof(line), "artifact_prefix='/a/'; Test unit written to /a/crash-%s",
		 hex);
	libfuzzer_line(slice_of(line), &s);
	snprintf(line, sizeof(line), "Base64: %s", base64);
	libfuzzer_line(slice_of(line), &s);
	return s;
}

static void printed_inputs(void **state)
{
	static const struct {
		const char *input;
		size_t n;
		const char *base64;
	} t[] = {
	    {"", 0, ""},
	    {"F", 1, "Rg=="},
	    {"Fo", 2, "Rm8="},
	    {"Foo", 3, "Rm9v"},
	    {"Foo\n", 4, "Rm9vCg=="},
	    {"\0\377\376", 3, "AP/+"},
	    {"\373\360", 2, "+/A="},
	};
	char most[256] = {0}, text[345];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct engine_state s = printed(t[i].input, t[i].n, t[i].base64);

		assert_true(s.input_printed.known);
		assert_int_equal(s.input_printed.n, t[i].n);
		assert_memory_equal(s.input_printed.bytes, t[i].input, t[i].n);
	}
	memset(text, 'A', 342);
	memcpy(text + 342, "==", 3);
	assert_int_equal(printed(most, sizeof(most), text).input_printed.n, sizeof(most));
}

/* A real target, LLVM 14. */
static void real_printed_input(void **state)
{
	struct engine_state s = {0};

	(void)state;
	libfuzzer_line(SLICE("artifact_prefix='/a/'; Test unit written to "
			     "/a/crash-8726fb4bb297f28b749b481765a9aaa8b56b8fb5"),
		       &s);
	libfuzzer_line(SLICE("Base64: RmIrtw=="), &s);
	assert_true(s.input_printed.known);
	assert_int_equal(s.input_printed.n, 4);
	assert_memory_equal(s.input_printed.bytes, "Fb+\267", 4);
}

static void inputs_that_were_not_printed(void **state)
{
	static const char *const t[] = {"Rm9w", "Rm 9v", "Rm9",	    "Rm9v=",	"Rm9v====",
					"Rm-v", "=m9v",	 "Rm9\x80", "Rm9vRm9v", " Rm9v"};
	char longer[261] = {0}, text[353];
	struct engine_state s = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_false(printed("Foo", 3, t[i]).input_printed.known);
	memset(text, 'A', 348);
	text[348] = '\0';
	assert_false(printed(longer, 261, text).input_printed.known);
	libfuzzer_line(SLICE("Base64: "), &s);
	assert_false(s.input_printed.known);
	/* The next artifact is another one. */
	s = printed("Foo", 3, "Rm9v");
	libfuzzer_line(SLICE("Test unit written to /a/leak-" SHA), &s);
	assert_false(s.input_printed.known);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(one_line),
    cmocka_unit_test(the_reporting_thread_is_known),
    cmocka_unit_test(which_report_counts),
    cmocka_unit_test(undefined_behaviour_gives_way),
    cmocka_unit_test(long_texts_are_cut),
    cmocka_unit_test(artifact_lines),
    cmocka_unit_test(printed_inputs),
    cmocka_unit_test(real_printed_input),
    cmocka_unit_test(inputs_that_were_not_printed),
    cmocka_unit_test(real_output),
    cmocka_unit_test(real_blindness),
    cmocka_unit_test(real_numbers),
};

UNIT_MAIN(tests)
