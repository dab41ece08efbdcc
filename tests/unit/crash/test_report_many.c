/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/crash/report/json.h"
#include "tests/unit/crash/reports.h"

#define START	"INFO: Running with entropic power schedule (0xFF, 100).\nINFO: Seed: 1\n"
#define F(name) "    #0 0x5 in " name " /src/a.c:3:4\n\n"
#define OVER	"==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602 at pc 0x5\n"
#define FREED	"==2==ERROR: AddressSanitizer: heap-use-after-free on address 0x602 at pc 0x5\n"
#define UB	"a.c:3:4: runtime error: division by zero\n"
#define SHIFT	"a.c:3:4: runtime error: shift exponent 40 is too large\n"
#define RACE(pid, name)                                       \
	"WARNING: ThreadSanitizer: data race (pid=" pid ")\n" \
	"  Write of size 4 at 0x7f15 by thread T3:\n    #0 " name " a.c:3 (t+0x12)\n\n"
#define OOM "==1== ERROR: libFuzzer: out-of-memory (used: 300Mb; limit: 256Mb)\n"

/* Of several processes in sequence the last crash counts; of one process that continued, the
 * first. */
static void which_report_counts(void **state)
{
	static const struct {
		const char *text, *type, *top;
	} t[] = {
	    {START OVER F("a") START FREED F("b"), "Heap-use-after-free", "b"},
	    {OVER F("a") FREED F("b"), "Heap-use-after-free", "b"},
	    {START OVER F("a") START UB F("b"), "Divide-by-zero", "b"},
	    {START OVER F("a") START "#2\tINITED cov: 2\nDone 9 runs in 1 second(s)\n",
	     "Heap-buffer-overflow", "a"},
	    {START UB F("a") SHIFT F("b"), "Divide-by-zero", "a"},
	    {START UB F("a") START SHIFT F("b"), "Undefined-shift", "b"},
	    {START UB F(
		 "a") "==1==ERROR: LeakSanitizer: detected memory leaks\n\nDirect leak of 16 "
		      "byte(s) in 1 object(s) allocated from:\n" F("b"),
	     "Divide-by-zero", "a"},
	    {START UB F("a") OVER F("b"), "Heap-buffer-overflow", "b"},
	    {RACE("7", "a") RACE("7", "b"), "Data race\nWRITE 4", "a"},
	    {RACE("7", "a") RACE("7", "b") RACE("8", "c"), "Data race\nWRITE 4", "c"},
	    {RACE("7", "a") RACE("8", "b"), "Data race\nWRITE 4", "b"},
	    {START RACE("7", "a") START RACE("7", "b"), "Data race\nWRITE 4", "b"},
	    {START OVER F("a") "==1== ERROR: libFuzzer: deadly signal\n" F("b"),
	     "Heap-buffer-overflow", "a"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct crash_report r = parse(t[i].text);

		if (strcmp(r.type, t[i].type) != 0 || strcmp(r.top_frame, t[i].top) != 0)
			fail_msg("'%s' in '%s' in:\n%s", r.type, r.top_frame, t[i].text);
		crash_report_done(&r);
	}
}

static void a_timeout_gives_way_to_a_new_process(void **state)
{
	struct crash_report r = parse(
	    START "==1== ERROR: libFuzzer: timeout after 2 seconds\n" F("a") START OVER F("b"));

	(void)state;
	assert_string_equal(r.type, "Heap-buffer-overflow");
	assert_string_equal(r.top_frame, "b");
	crash_report_done(&r);
}

/* An earlier process's report of its own crash is dropped. */
static void nothing_stays_of_an_earlier_process(void **state)
{
	const struct crash_options o = {.ignore_ooms_and_hangs = true};
	struct crash_report r = parse(START "==1==ERROR: AddressSanitizer: SEGV on unknown address "
					    "0x0 (pc 0x000000000000 T0)\n" F("a") START UB F("b"));
	struct crash_report alone = parse(UB F("b"));

	(void)state;
	assert_false(r.security);
	assert_string_equal(r.signature, alone.signature);
	assert_string_equal(r.signal, "");
	assert_string_equal(r.address, "");
	crash_report_done(&r);
	crash_report_done(&alone);
	r = parse_with(START OOM START OVER F("b"), &o);
	assert_string_equal(r.type, "Heap-buffer-overflow");
	crash_report_done(&r);
	r = parse(START "*** stack smashing detected ***: terminated\n" START
			"==1== ERROR: libFuzzer: deadly signal\n" F("b"));
	assert_int_equal(r.kind, CRASH_ENGINE);
	crash_report_done(&r);
}

static void numbers_and_addresses_of_a_state(void **state)
{
	static const struct {
		const char *name, *state;
	} t[] = {
	    {"f0x12345", "fADDRESS"},
	    {"f::0x12345UL", "f::ADDRESSL"},
	    {"f::0x123", "f::0x123"},
	    {"f_1234", "f_NUMBER"},
	    {"f123", "f123"},
	    {"f1234x", "f1234x"},
	    {"f:1234", "f:1234"},
	    {"f@1", "f@NUMBER"},
	    {"f1.2.3", "fNUMBER"},
	    {"f+0x12", "f"},
	    {"f!g", "g"},
	    {"a::f[3]", "a::f"},
	    {"non-virtual thunk to f", "f"},
	    {"void f<int>", "void"},
	    {"void f<int>(int)", "void f<int>"},
	    {"a23456789b123456789c123456789d123456789e123456789f123456789g123456789h123456789ij",
	     "a23456789b123456789c123456789d123456789e123456789f123456789g123456789h123456789i"},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct crash_report r;

		snprintf(text, sizeof(text), OVER F("%s"), t[i].name);
		r = parse(text);
		assert_string_equal(r.state[0], t[i].state);
		crash_report_done(&r);
	}
}

static void stacks_of_other_things(void **state)
{
	struct crash_report r = parse(FREED F(
	    "a") "0x602 is located 0 bytes inside of 8-byte region\n"
		 "freed by thread T0 here:\n" F("b") F(
		     "__interceptor_free") "previously allocated by thread T0 here:\n" F("c"));
	char buf[1024];

	(void)state;
	/* On other platforms the crash state includes the stack of the free; ours does not. */
	assert_string_equal(state_of(&r, buf), "a|b");
	assert_int_equal(r.n_frames, 1);
	crash_report_done(&r);
}

static void severity(void **state)
{
	static const struct {
		const char *text;
		enum crash_severity want;
	} t[] = {
	    {FREED F("f"), CRASH_SEVERITY_HIGH},
	    {OVER "READ of size 1 at 0x6\n" F("f"), CRASH_SEVERITY_MEDIUM},
	    {OVER "WRITE of size 1 at 0x6\n" F("f"), CRASH_SEVERITY_HIGH},
	    {"==1==ERROR: AddressSanitizer: global-buffer-overflow on address 0x6 at pc 0x5\n"
	     "READ of size 1 at 0x6\n",
	     CRASH_SEVERITY_MEDIUM},
	    {"==1==ERROR: AddressSanitizer: stack-use-after-return on address 0x6 at pc 0x5\n",
	     CRASH_SEVERITY_HIGH},
	    {"==1==ERROR: AddressSanitizer: alloc-dealloc-mismatch (malloc vs operator delete) on "
	     "0x602\n",
	     CRASH_SEVERITY_LOW},
	    {UB, CRASH_SEVERITY_NONE},
	    {OOM, CRASH_SEVERITY_NONE},
	    {"MiraclePtr Status: PROTECTED\n" FREED F("f") "MiraclePtr Status: PROTECTED\n",
	     CRASH_SEVERITY_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct crash_report r = parse(t[i].text);

		if (r.severity != t[i].want)
			fail_msg("severity '%s' of:\n%s", crash_severity_name(r.severity),
				 t[i].text);
		crash_report_done(&r);
	}
}

static void as_json(void **state)
{
	struct crash_report r = parse(
	    OVER "READ of size 1 at 0x602\n" F("f") "    #1 0x6  (/x/l.so+0x12) (BuildId: ab)\n");
	_autojson_ json_t *j = NULL;
	json_t *frame;

	(void)state;
	j = crash_report_json(&r);
	assert_true(json_is_true(json_object_get(j, "found")));
	assert_string_equal(json_string_value(json_object_get(j, "kind")), "asan");
	assert_string_equal(json_string_value(json_object_get(j, "crash_type")),
			    "Heap-buffer-overflow\nREAD 1");
	assert_int_equal(json_array_size(json_object_get(j, "crash_state")), 2);
	assert_string_equal(json_string_value(json_object_get(j, "crash_address")), "0x602");
	assert_true(json_is_true(json_object_get(j, "security")));
	assert_string_equal(json_string_value(json_object_get(j, "severity")), "medium");
	assert_string_equal(json_string_value(json_object_get(j, "access")), "read");
	assert_string_equal(json_string_value(json_object_get(j, "signature")), r.signature);
	frame = json_array_get(json_object_get(j, "frames"), 0);
	assert_string_equal(json_string_value(json_object_get(frame, "function")), "f");
	assert_string_equal(json_string_value(json_object_get(frame, "file")), "/src/a.c");
	assert_int_equal(json_integer_value(json_object_get(frame, "line")), 3);
	assert_int_equal(json_integer_value(json_object_get(frame, "column")), 4);
	assert_true(json_is_null(json_object_get(frame, "module")));
	assert_true(json_is_null(json_object_get(frame, "offset")));
	crash_report_done(&r);
	json_decref(j);
	j = NULL;
	r = parse("");
	j = crash_report_json(&r);
	assert_true(json_is_false(json_object_get(j, "found")));
	assert_string_equal(json_string_value(json_object_get(j, "crash_type")), "");
	assert_int_equal(json_array_size(json_object_get(j, "frames")), 0);
	crash_report_done(&r);
}

static void our_own(void **state)
{
	struct crash_report r, other;

	(void)state;
	for (enum crash_own k = 0; k < CRASH_OWN_COUNT; k++) {
		crash_report_own(k, "socket", "t_fuzzer", &r);
		assert_true(r.found);
		assert_true(r.type[0] != '\0' && r.headline[0] != '\0');
		assert_int_equal(r.n_state, 2);
		assert_string_equal(r.state[0], "socket");
		assert_string_equal(r.state[1], "t_fuzzer");
		assert_int_equal(strlen(r.signature), 16);
		assert_string_equal(r.signature, r.raw_key);
		assert_false(r.security);
		crash_report_own((k + 1) % CRASH_OWN_COUNT, "socket", "t_fuzzer", &other);
		assert_string_not_equal(r.signature, other.signature);
		crash_report_own(k, "bind", "t_fuzzer", &other);
		assert_string_not_equal(r.signature, other.signature);
		crash_report_own(k, "socket", "u_fuzzer", &other);
		assert_string_not_equal(r.signature, other.signature);
		crash_report_own(k, NULL, NULL, &other);
		assert_int_equal(other.n_state, 0);
		assert_int_equal(strlen(other.signature), 16);
		crash_report_done(&other);
		crash_report_done(&r);
	}
	crash_report_own(CRASH_OWN_SIGNAL, "SIGKILL", "t_fuzzer", &r);
	assert_string_equal(r.signal, "SIGKILL");
	assert_int_equal(r.kind, CRASH_SIGNAL);
}

static void names(void **state)
{
	(void)state;
	for (enum crash_kind k = 0; k < CRASH_KIND_COUNT; k++)
		assert_true(crash_kind_name(k)[0] != '\0');
	assert_string_equal(crash_kind_name(CRASH_CELL), "cell");
	assert_string_equal(crash_access_name(CRASH_ACCESS_WRITE), "write");
	assert_string_equal(crash_severity_name(CRASH_SEVERITY_LOW), "low");
	crash_parser_free(NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(which_report_counts),
    cmocka_unit_test(a_timeout_gives_way_to_a_new_process),
    cmocka_unit_test(nothing_stays_of_an_earlier_process),
    cmocka_unit_test(numbers_and_addresses_of_a_state),
    cmocka_unit_test(stacks_of_other_things),
    cmocka_unit_test(severity),
    cmocka_unit_test(as_json),
    cmocka_unit_test(our_own),
    cmocka_unit_test(names),
};

UNIT_MAIN(tests)
