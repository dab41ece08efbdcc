/* SPDX-License-Identifier: Apache-2.0 */
/* Each target has an entry of its own for a crash. */
#include "tests/unit/crash/ledgers.h"

static const struct known_crash *in(const char *signature, const char *target)
{
	const struct known_crash *c = ledger_entry(crash(signature), target);

	if (!c)
		fail_msg("no entry of '%s' in '%s'", target, signature);
	return c;
}

/* All fields of an entry in the ledger. */
static char *words(const char *signature, const char *target)
{
	const struct known_crash *c = in(signature, target);
	char *text = NULL;

	assert_true(
	    asprintf(&text, "%s %s %s %s %s %s %d %lu %s %s %lu %lu %lu %lu %s %zu %zu %lu %s %zu",
		     c->fuzzer, c->crash_type, c->top_frame, c->severity, c->similar,
		     ledger_state_name(c->state), c->security, (unsigned long)c->count,
		     c->crash_file, c->minimized, (unsigned long)c->reproduction.tries,
		     (unsigned long)c->reproduction.hits, (unsigned long)c->reproduction.clean,
		     (unsigned long)c->last_seen.time, c->last_seen.run, c->frames.n, c->raw_keys.n,
		     (unsigned long)c->fixed.time, c->fixed.commit, c->artifacts.n) > 0);
	return text;
}

static void make_honest(void)
{
	static const char *const frames[] = {"f", "g"};

	(void)NOTE(.signature = "s", .target = "honest", .run = "r1", .time = 5, .raw_key = "k",
		   .artifact = "a", .crash_type = "UAF", .top_frame = "f", .severity = "low",
		   .frames = frames, .n_frames = 2, .crash_file = "s/by/honest/input",
		   .input_bytes = 9, .tries = 3, .hits = 3);
}

static void make_forged(const char *run, uint64_t time)
{
	static const char *const frames[] = {"x"};

	(void)NOTE(.signature = "s", .target = "forger", .run = run, .time = time, .raw_key = "k",
		   .artifact = "b", .crash_type = "SEGV", .top_frame = "x", .severity = "high",
		   .security = true, .similar = "t", .frames = frames, .n_frames = 1,
		   .crash_file = "s/input", .input_bytes = 1, .tries = 10, .hits = 10);
}

/* A forger after the honest target: its reports, passes and ignoring change only its own entry. */
static void test_forged_later(void **state)
{
	_autofree_ char *before = NULL, *after = NULL;

	(void)state;
	parse("{}");
	make_honest();
	before = words("s", "honest");
	make_forged("r1", 6);
	assert_null(ledger_find_raw(ledger, "other", "k"));
	OK(ledger_passed(ledger, "s", "forger", "c9", 300, 300, &oops));
	OK(ledger_fixed(ledger, "s", "forger", 7, "c9", "r1", &oops));
	check_state("s", LEDGER_NEW);
	make_forged("r1", 8);
	assert_int_equal(in("s", "forger")->state, LEDGER_REGRESSED);
	OK(ledger_ignore(ledger, "s", "forger", SIZE_MAX, "forged", &oops));
	for (unsigned i = 0; i < 200; i++) {
		char key[16];

		snprintf(key, sizeof(key), "k%u", i);
		(void)NOTE(.signature = "s", .target = "forger", .raw_key = key, .artifact = key,
			   .run = key);
	}
	after = words("s", "honest");
	assert_string_equal(before, after);
	check_state("s", LEDGER_NEW);
	assert_string_equal(crash("s")->crash_type, "UAF"); /* the forger's entry is not open */
	check_text();
}

/* A forger before the honest target: the crash is new in that target, whatever happened before. */
static void test_forged_before(void **state)
{
	struct ledger_noted n;

	(void)state;
	parse("{}");
	make_forged("r1", 1);
	OK(ledger_ignore(ledger, "s", NULL, SIZE_MAX, "forged", &oops));
	check_state("s", LEDGER_IGNORED);
	n = NOTE(.signature = "s", .target = "honest", .run = "r2", .time = 5, .crash_type = "UAF",
		 .crash_file = "s/by/honest/input", .tries = 3, .hits = 3);
	assert_true(n.is_new);
	assert_int_equal(n.entry->state, LEDGER_NEW);
	assert_string_equal(n.entry->severity, "");
	assert_false(n.entry->security || crash("s")->security);
	check_state("s", LEDGER_NEW);
	assert_string_equal(crash("s")->crash_type, "UAF");
	assert_string_equal(crash("s")->fuzzer, "honest");
	OK(ledger_fixed(ledger, "s", "honest", 9, "c", "r2", &oops));
	check_state("s", LEDGER_IGNORED);
	OK(ledger_unignore(ledger, "s", "forger", NULL, &oops));
	check_state("s", LEDGER_KNOWN);
	check_text();
}

/* A user's decision is about the targets that the user knew. */
static void test_ignored(void **state)
{
	(void)state;
	parse("{}");
	(void)NOTE(.signature = "s", .target = "a");
	(void)NOTE(.signature = "s", .target = "b");
	(void)NOTE(.signature = "s", .target = "c");
	OK(ledger_ignore(ledger, "s", NULL, 2, NULL, &oops));
	assert_int_equal(in("s", "b")->state, LEDGER_IGNORED);
	assert_int_equal(in("s", "c")->state, LEDGER_NEW);
	assert_int_equal(ledger_ignore(ledger, "s", "d", SIZE_MAX, NULL, &oops), -ENOENT);
	OK(ledger_ignore(ledger, "s", "c", SIZE_MAX, NULL, &oops));
	check_state("s", LEDGER_IGNORED);
	(void)NOTE(.signature = "s", .target = "d");
	check_state("s", LEDGER_NEW);
	check_text();
}

/* The summary has the sums, and the worst state. */
static void test_summary(void **state)
{
	const struct known_crash *c;

	(void)state;
	parse("{}");
	make_honest();
	make_forged("r0", 9);
	c = crash("s");
	assert_int_equal(c->n_by, 2);
	assert_int_equal(c->count, 2);
	assert_int_equal(c->n_runs, 2);
	assert_string_equal(c->runs[0].run, "r0");
	assert_string_equal(c->fuzzer, "honest");
	assert_string_equal(c->targets.v[0], "forger");
	assert_string_equal(c->severity, "high");
	assert_true(c->security);
	assert_int_equal(c->first_seen.time, 5);
	assert_int_equal(c->last_seen.time, 9);
	OK(ledger_fixed(ledger, "s", "honest", 7, "c", "r1", &oops));
	check_state("s", LEDGER_NEW);
	assert_string_equal(c->fuzzer, "forger"); /* the first open entry */
	OK(ledger_fixed(ledger, "s", "forger", 10, "c", "r1", &oops));
	check_state("s", LEDGER_FIXED);
	assert_int_equal(c->fixed.time, 10);
	check_text();
}

static void test_newer(void **state)
{
	struct ledger *l;
	struct err e;

	(void)state;
	assert_int_equal(ledger_parse(SLICE("{\"s\": {\"fuzzer\": \"a\", \"v\": 3}}"), &l, &e),
			 -ENOTSUP);
	assert_string_equal(e.msg, "crash 's' was written by a newer fuzzcell (layout 3, this one "
				   "reads 2): use that one");
}

/* Doubles, and objects that are no entries, are left out.  The rest is read. */
static void test_odd(void **state)
{
	(void)state;
	parse("{\"s\": {\"v\": 2, \"fuzzer\": \"x\", \"count\": 99, \"found_by\": [1, {}, "
	      "{\"fuzzer\": \"a\", \"count\": 2, \"own\": true}, {\"fuzzer\": \"a\"}, "
	      "{\"fuzzer\": \"b\", \"state\": \"fixed\"}]}}");
	assert_string_equal(ledger_warning(ledger),
			    "known_crashes.json: crash 's': found_by holds an "
			    "invalid target, or a target twice; and 2 more");
	assert_int_equal(crash("s")->n_by, 2);
	assert_int_equal(crash("s")->count, 2);
	check_state("s", LEDGER_KNOWN);
	check_text();
	parse("{\"s\": {\"v\": 2, \"fuzzer\": \"x\", \"count\": 9, \"found_by\": 7}}");
	assert_string_equal(crash("s")->fuzzer, "x");
	assert_int_equal(crash("s")->count, 9);
	check_text();
}

/* A user merges two crashes: each target has its part of both. */
static void test_merged(void **state)
{
	struct ledger_noted n;

	(void)state;
	parse("{}");
	(void)NOTE(.signature = "s", .target = "a", .run = "r", .time = 1);
	(void)NOTE(.signature = "t", .target = "a", .run = "r", .time = 1, .count = 2);
	(void)NOTE(.signature = "t", .target = "b", .run = "r", .time = 1, .count = 4);
	OK(ledger_fixed(ledger, "s", "a", 2, "c", "r", &oops));
	OK(ledger_merge(ledger, "t", "s", &oops));
	assert_int_equal(crash("s")->count, 7);
	assert_int_equal(in("s", "a")->state, LEDGER_KNOWN);
	assert_int_equal(in("s", "b")->state, LEDGER_NEW);
	n = NOTE(.signature = "t", .target = "b", .run = "r", .time = 3);
	assert_false(n.is_new);
	assert_true(NOTE(.signature = "t", .target = "c", .run = "r", .time = 3).is_new);
	check_text();
	OK(ledger_split(ledger, "t", &oops));
	assert_int_equal(crash("t")->count, 6);
	assert_int_equal(in("s", "a")->count, 1);
	assert_int_equal(in("s", "b")->count, 1); /* sightings since then */
	check_text();
	OK(ledger_merge(ledger, "s", "t", &oops));
	OK(ledger_split(ledger, "s", &oops));
	assert_null(ledger_entry(crash("t"), "c"));
	check_text();
}

#define CASE(f) cmocka_unit_test_teardown(f, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_forged_later), CASE(test_forged_before), CASE(test_ignored), CASE(test_summary),
    CASE(test_newer),	     CASE(test_odd),	       CASE(test_merged),
};

UNIT_MAIN(tests)
