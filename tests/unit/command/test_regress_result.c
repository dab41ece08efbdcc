/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/command/regress/result.h"

#include <stdlib.h>

static struct ledger *ledger_of(const char *text)
{
	struct ledger *l;
	struct err e;

	assert_int_equal(ledger_parse(slice_of(text), &l, &e), 0);
	return l;
}

static const char crashes[] =
    "{\"0000000000000001\": {\"fuzzer\": \"t\", \"state\": \"new\"},"
    " \"0000000000000002\": {\"fuzzer\": \"t\", \"state\": \"known\"},"
    " \"0000000000000003\": {\"fuzzer\": \"t\", \"state\": \"flaky\"},"
    " \"0000000000000004\": {\"fuzzer\": \"t\", \"state\": \"fixed\"},"
    " \"0000000000000005\": {\"fuzzer\": \"t\", \"state\": \"regressed\"},"
    " \"0000000000000006\": {\"fuzzer\": \"t\", \"state\": \"ignored\", "
    "\"raw_keys\": [\"t:aaaaaaaaaaaaaaaa\"]}}";

static struct crash_report report_of(const char *signature, const char *raw_key)
{
	struct crash_report r = {.found = true, .n_state = 1};

	memcpy(r.signature, signature, CRASH_KEY_HEX);
	memcpy(r.raw_key, raw_key, strlen(raw_key) + 1);
	snprintf(r.type, sizeof(r.type), "Heap-buffer-overflow\nREAD 4");
	snprintf(r.state[0], sizeof(r.state[0]), "parse");
	return r;
}

static void test_judge(void **state)
{
	static const struct {
		const char *signature, *raw_key;
		enum regress_status want;
	} t[] = {
	    {"0000000000000001", "", REGRESS_KNOWN},
	    {"0000000000000002", "", REGRESS_KNOWN},
	    {"0000000000000003", "", REGRESS_KNOWN},
	    {"0000000000000004", "", REGRESS_REGRESSED},
	    {"0000000000000005", "", REGRESS_REGRESSED}, /* until it is fixed */
	    {"0000000000000006", "", REGRESS_IGNORED},
	    {"0000000000000007", "", REGRESS_NEW},
	    {"0000000000000007", "aaaaaaaaaaaaaaaa", REGRESS_IGNORED},
	    {"0000000000000007", "bbbbbbbbbbbbbbbb", REGRESS_NEW},
	};
	struct ledger *l = ledger_of(crashes);
	const struct known_crash *c;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct crash_report r = report_of(t[i].signature, t[i].raw_key);

		assert_int_equal(regress_judge(l, "t", &r, &c), t[i].want);
		assert_int_equal(c == NULL, t[i].want == REGRESS_NEW);
	}
	ledger_free(l);
}

/* The reproducer of a regressed crash counts as regressed, also when it fails as a known crash. */
static void test_regressed_behind_another(void **state)
{
	static const char sha1[] = "a0f1490a20d0211c997b44bc357e1972deab8ae3";
	struct ledger *l =
	    ledger_of("{\"0000000000000001\": {\"fuzzer\": \"t\", \"state\": \"known\"},"
		      " \"0000000000000002\": {\"fuzzer\": \"t\", \"state\": \"ignored\"},"
		      " \"0000000000000005\": {\"fuzzer\": \"t\", \"state\": \"regressed\", "
		      "\"minimized_sha1\": "
		      "\"a0f1490a20d0211c997b44bc357e1972deab8ae3\"}}");
	static const char *const signatures[] = {"0000000000000001", "0000000000000002"};
	struct regress_input in = {.from = REGRESS_TREE, .source = (char[]){"/tree/a"}};
	const struct known_crash *c;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct regress_target t = {.name = "t"}, other = {.name = "u"};
		struct crash_report r = report_of(signatures[i], "");
		struct batch_failure f = {.report = &r};

		memcpy(in.name, sha1, sizeof(sha1));
		c = regress_note(&t, &in, &f, l);
		assert_string_equal(c->signature, signatures[i]);
		assert_int_equal(t.count[REGRESS_REGRESSED], 1);
		assert_null(regress_note(&other, &in, &f, l));
		assert_int_equal(other.count[REGRESS_NEW], 1);
		*in.name = 'b';
		(void)regress_note(&t, &in, &f, l);
		assert_int_equal(t.count[REGRESS_REGRESSED], 1);
		regress_target_done(&t);
		regress_target_done(&other);
	}
	ledger_free(l);
}

static void test_note_and_print(void **state)
{
	struct ledger *l = ledger_of(crashes);
	struct regress_target t = {.name = "t", .inputs = 5, .ran = true};
	struct regress_input in = {.from = REGRESS_TREE, .source = (char[]){"/tree/a\x1b[2J"}};
	struct crash_report known = report_of("0000000000000002", "");
	struct crash_report unknown = report_of("0000000000000009", "");
	struct batch_failure f = {.report = &known};
	char text[4096];
	FILE *to = fmemopen(text, sizeof(text), "w");

	(void)state;
	assert_non_null(regress_note(&t, &in, &f, l));
	f.report = &unknown;
	f.only_together = true;
	assert_null(regress_note(&t, &in, &f, l));
	t.sum = (struct batch_sum){.passed = 2, .failed = 2, .cells = 3, .wall_us = 2000000};
	snprintf(t.why, sizeof(t.why), "stopped");
	regress_sort(&t);
	regress_print_target(&t, to);
	fclose(to);
	assert_string_equal(
	    text, "t: 5 inputs: 2 passed, 2 failed; 3 cells, 2s\n"
		  "  new        /tree/a\\x1b[2J\n"
		  "             Heap-buffer-overflow READ 4 in parse, crash 0000000000000009; "
		  "not when it is run alone\n"
		  "  known      /tree/a\\x1b[2J\n"
		  "             Heap-buffer-overflow READ 4 in parse, crash 0000000000000002\n"
		  "  NOT RUN: 1 input: stopped\n");
	assert_int_equal(t.count[REGRESS_KNOWN], 1);
	assert_int_equal(t.count[REGRESS_NEW], 1);
	regress_target_done(&t);
	ledger_free(l);
}

/* Inputs with the same failure are printed as one failure, without a list of all inputs. */
static void test_alike(void **state)
{
	char sources[][2] = {"e", "d", "c", "b", "a", "z"};
	struct ledger *l = ledger_of(crashes);
	struct regress_target t = {.name = "t", .inputs = 6, .ran = true};
	struct crash_report same = report_of("0000000000000002", "");
	struct crash_report other = report_of("0000000000000003", "");
	char text[4096];
	FILE *to = fmemopen(text, sizeof(text), "w");

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		struct regress_input in = {.from = REGRESS_TREE, .source = sources[i]};
		struct batch_failure f = {.report = i < 5 ? &same : &other};

		(void)regress_note(&t, &in, &f, l);
	}
	t.sum = (struct batch_sum){.failed = 6, .cells = 1};
	regress_sort(&t);
	regress_print_target(&t, to);
	fclose(to);
	assert_non_null(strstr(text, "  known      a\n"
				     "             b\n"
				     "             c\n"
				     "             and 2 more (all: --json)\n"
				     "             Heap-buffer-overflow READ 4 in parse, crash "
				     "0000000000000002\n"));
	assert_non_null(strstr(text, " z\n"));
	regress_target_done(&t);
	ledger_free(l);
}

/* 0 only when all expected inputs ran, and no failure counts. */
static void test_exit(void **state)
{
	static const struct {
		struct regress_total t;
		int want, want_allowed;
	} t[] = {
	    {{.inputs = 3, .passed = 3}, EXIT_DONE, EXIT_DONE},
	    {{.inputs = 3, .passed = 2, .failed = 1, .count = {[REGRESS_NEW] = 1}},
	     EXIT_CRASHES,
	     EXIT_CRASHES},
	    {{.inputs = 3, .passed = 2, .failed = 1, .count = {[REGRESS_REGRESSED] = 1}},
	     EXIT_CRASHES,
	     EXIT_CRASHES},
	    {{.inputs = 3, .passed = 2, .failed = 1, .count = {[REGRESS_KNOWN] = 1}},
	     EXIT_CRASHES,
	     EXIT_DONE},
	    {{.inputs = 3, .passed = 2, .failed = 1, .count = {[REGRESS_IGNORED] = 1}},
	     EXIT_DONE,
	     EXIT_DONE},
	    {{.inputs = 0}, EXIT_NOT_FUZZED, EXIT_NOT_FUZZED},
	    {{.inputs = 3, .passed = 2, .left_out = 1}, EXIT_NOT_FUZZED, EXIT_NOT_FUZZED},
	    {{.inputs = 3, .passed = 3, .not_run = 1}, EXIT_NOT_FUZZED, EXIT_NOT_FUZZED},
	    {{.inputs = 3, .passed = 3, .elsewhere = 1}, EXIT_NOT_FUZZED, EXIT_NOT_FUZZED},
	    {{.inputs = 3, .passed = 3, .without_inputs = 1}, EXIT_DONE, EXIT_DONE},
	    {{.inputs = 9, .failed = 2, .left_out = 7, .count = {[REGRESS_KNOWN] = 2}},
	     EXIT_CRASHES,
	     EXIT_NOT_FUZZED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(regress_exit(&t[i].t, false), t[i].want);
		assert_int_equal(regress_exit(&t[i].t, true), t[i].want_allowed);
	}
}

static void test_sum(void **state)
{
	const struct regress_target t[] = {
	    {.name = "a",
	     .inputs = 10,
	     .ran = true,
	     .sum = {.passed = 7, .failed = 1, .stopped = true},
	     .count = {[REGRESS_KNOWN] = 1}},
	    {.name = "b", .ran = true},
	    {.name = "c", .inputs = 4, .why = "no"},
	    {.name = "d", .inputs = 4, .ran = true, .why = "no", .sum = {.passed = 4}},
	    {.name = "e",
	     .inputs = 1,
	     .ran = true,
	     .left = {.n = 3, .why = "x"},
	     .sum = {.passed = 1}},
	    /* It ran, except for an input without time. */
	    {.name = "f", .inputs = 3, .ran = true, .why = "too busy", .sum = {.passed = 2}},
	    /* It had no other input. */
	    {.name = "g", .inputs = 1, .ran = true, .why = "too busy"},
	};
	struct regress_total s = regress_sum(t, sizeof(t) / sizeof(t[0]));
	json_int_t n = 0;
	json_t *j, *targets;

	(void)state;
	assert_int_equal(s.inputs, 23);
	assert_int_equal(s.passed, 14);
	assert_int_equal(s.failed, 1);
	assert_int_equal(s.left_out, 2 + 4 + 3 + 1 + 1);
	assert_int_equal(s.count[REGRESS_KNOWN], 1);
	assert_int_equal(s.without_inputs, 1);
	assert_int_equal(s.not_run, 3);
	assert_true(s.stopped);
	j = regress_json(t, sizeof(t) / sizeof(t[0]), &s);
	assert_int_equal(json_integer_value(json_object_get(j, "inputs")), 23);
	assert_int_equal(json_integer_value(json_object_get(j, "not_run")), 11);
	targets = json_object_get(j, "targets");
	for (size_t i = 0; i < json_array_size(targets); i++)
		n += json_integer_value(json_object_get(json_array_get(targets, i), "not_run"));
	assert_int_equal(n, 11); /* the parts add up to the sum */
	assert_string_equal(json_string_value(json_object_get(json_array_get(targets, 4), "note")),
			    "3 left out: x");
	assert_int_equal(json_integer_value(json_object_get(j, "known")), 1);
	assert_int_equal(json_array_size(targets), 7);
	assert_true(json_is_true(json_object_get(json_array_get(targets, 5), "ran")));
	assert_string_equal(json_string_value(json_object_get(json_array_get(targets, 5), "why")),
			    "too busy");
	assert_true(json_is_false(json_object_get(json_array_get(targets, 6), "ran")));
	/* It decides the status of the command. */
	s = regress_sum(t + 5, 1);
	assert_int_equal(s.not_run, 0);
	assert_int_equal(regress_exit(&s, true), EXIT_NOT_FUZZED);
	json_decref(j);
}

static void test_batch(void **state)
{
	(void)state;
	assert_int_equal(batch_size(100, 1), 100);
	assert_int_equal(batch_size(100, 2), 50);
	assert_int_equal(batch_size(101, 2), 51);
	assert_int_equal(batch_size(5000, 2), BATCH_INPUTS_MAX);
	assert_int_equal(batch_size(10, 8), BATCH_INPUTS_MIN);
	assert_int_equal(batch_size(3, 8), 3);
	assert_int_equal(batch_size(1, 1), 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_judge),	   cmocka_unit_test(test_regressed_behind_another),
    cmocka_unit_test(test_note_and_print), cmocka_unit_test(test_alike),
    cmocka_unit_test(test_exit),	   cmocka_unit_test(test_sum),
    cmocka_unit_test(test_batch),
};

UNIT_MAIN(tests)
