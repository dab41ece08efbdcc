/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/crash/ledgers.h"

#include "base/buf.h"

/* True if c has exactly these aliases, separated by blanks. */
static void check_aliases(const char *signature, const char *want)
{
	const struct ledger_list *l = &ledger_record(ledger, signature)->aliases;
	char text[200] = "";

	for (size_t i = 0; i < l->n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 l->v[i]);
	assert_string_equal(text, want);
}

static const char three[] =
    "{\"a\": {\"count\": 1, \"raw_keys\": [\"t:1\"], \"crash_file\": \"fa\"},"
    " \"b\": {\"count\": 10, \"raw_keys\": [\"t:2\"]},"
    " \"c\": {\"count\": 100}}";

static void test_merge(void **state)
{
	struct err e;

	(void)state;
	parse(three);
	OK(ledger_merge(ledger, "a", "b", &oops));
	assert_true(ledger_dirty(ledger));
	assert_int_equal(ledger_count(ledger), 3);
	assert_ptr_equal(ledger_find(ledger, "a"), ledger_record(ledger, "b"));
	assert_ptr_equal(ledger_find_raw(ledger, "t", "1"), ledger_record(ledger, "b"));
	assert_string_equal(ledger_record(ledger, "a")->merged_into, "b");
	check_aliases("b", "a");
	assert_int_equal(crash("b")->count, 11);
	/* Sightings of the merged crash count for the other crash; the key stays. */
	assert_false(NOTE(.signature = "a", .target = "t", .raw_key = "1").is_new);
	assert_int_equal(crash("b")->count, 12);
	assert_int_equal(ledger_record(ledger, "a")->count, 1);
	assert_int_equal(ledger_record(ledger, "a")->raw_keys.n, 1);
	assert_int_equal(ledger_merge(ledger, "a", "b", &e), -EINVAL);
	assert_string_equal(e.msg, "'a' and 'b' are one crash already");
	assert_int_equal(ledger_merge(ledger, "b", "a", &e), -EINVAL);
	assert_int_equal(ledger_merge(ledger, "c", "c", &e), -EINVAL);
	assert_int_equal(ledger_merge(ledger, "c", "x", &e), -ENOENT);
	assert_string_equal(e.msg, "no crash 'x'");
	assert_int_equal(ledger_merge(ledger, "x", "c", &e), -ENOENT);
	assert_string_equal(e.msg, "no crash 'x'");
	check_text();
}

static void test_split(void **state)
{
	struct err e;

	(void)state;
	parse(three);
	OK(ledger_merge(ledger, "a", "b", &oops));
	(void)NOTE(.signature = "a");
	OK(ledger_split(ledger, "a", &oops));
	assert_int_equal(crash("a")->count, 1);
	assert_int_equal(crash("b")->count, 11); /* later sightings stay */
	check_aliases("b", "");
	assert_string_equal(crash("a")->crash_file, "fa");
	assert_ptr_equal(ledger_find_raw(ledger, "t", "1"), crash("a"));
	assert_int_equal(ledger_split(ledger, "a", &e), -EINVAL);
	assert_string_equal(e.msg, "crash 'a' is merged into no other");
	check_text();
}

static void check_rate(const char *signature, uint64_t tries, uint64_t hits)
{
	const struct known_crash *c = ledger_record(ledger, signature);

	assert_int_equal(c->reproduction.tries, tries);
	assert_int_equal(c->reproduction.hits, hits);
}

/* The hit rate belongs to the reproducer, whatever its crash is merged into. */
static void test_rates(void **state)
{
	static const char text[] = "{\"a\": {\"fuzzer\": \"t\", \"crash_file\": \"fa\", "
				   "\"reproduction\": {\"tries\": 8, \"hits\": 3}},"
				   " \"b\": {\"fuzzer\": \"t\", \"crash_file\": \"fb\", "
				   "\"reproduction\": {\"tries\": 5, \"hits\": 5}}}";
	_autofree_ char *saved = NULL;
	size_t n;

	(void)state;
	parse(text);
	OK(ledger_merge(ledger, "a", "b", &oops));
	check_rate("a", 8, 3);
	check_rate("b", 5, 5);
	(void)NOTE(.signature = "a", .tries = 2, .hits = 1);   /* with b's reproducer */
	OK(ledger_passed(ledger, "a", "t", "c", 4, 0, &oops)); /* a's */
	OK(ledger_print(ledger, &saved, &n, &oops));
	parse(saved); /* another process */
	check_rate("a", 8, 3);
	OK(ledger_split(ledger, "a", &oops));
	check_rate("a", 8, 3);
	check_rate("b", 7, 6);
	assert_int_equal(crash("b")->reproduction.clean, 0);
	assert_int_equal(crash("a")->reproduction.clean, 4);
	assert_string_equal(crash("a")->crash_file, "fa");
}

/* Merged crashes move along, and each is the same after a split. */
static void test_chain(void **state)
{
	(void)state;
	parse(three);
	OK(ledger_merge(ledger, "a", "b", &oops));
	OK(ledger_merge(ledger, "a", "c", &oops)); /* a is merged into b */
	check_aliases("c", "a b");
	check_aliases("b", "");
	assert_string_equal(ledger_record(ledger, "a")->merged_into, "c");
	assert_string_equal(ledger_record(ledger, "b")->merged_into, "c");
	assert_int_equal(crash("a")->count, 111);
	assert_int_equal(ledger_record(ledger, "b")->count, 10);
	check_text();
	OK(ledger_split(ledger, "b", &oops));
	assert_int_equal(crash("b")->count, 10);
	assert_int_equal(crash("a")->count, 101);
	OK(ledger_split(ledger, "a", &oops));
	assert_int_equal(crash("c")->count, 100);
	assert_int_equal(crash("a")->count, 1);
	check_text();
}

/* Names without a record: written by a user, or left when the ledger lost the record. */
static void test_names(void **state)
{
	struct err e;

	(void)state;
	parse("{\"a\": {\"fuzzer\": \"f\", \"crash_type\": \"x\", \"aliases\": [\"n\", \"m\"]},"
	      " \"b\": {\"count\": 1}}");
	assert_ptr_equal(crash("n"), crash("a"));
	assert_null(ledger_record(ledger, "n"));
	(void)NOTE(.signature = "m");
	assert_int_equal(crash("a")->count, 1);
	OK(ledger_merge(ledger, "m", "b", &oops));
	check_aliases("b", "a m n");
	assert_ptr_equal(crash("n"), crash("b"));
	check_text();
	OK(ledger_split(ledger, "n", &oops));
	check_state("n", LEDGER_KNOWN);
	assert_int_equal(crash("n")->count, 0);
	check_aliases("b", "a m");
	OK(ledger_split(ledger, "a", &oops));
	assert_ptr_equal(crash("m"), crash("b")); /* it moved along, and stays */
	assert_int_equal(ledger_split(ledger, "b", &e), -EINVAL);
	assert_int_equal(ledger_count(ledger), 3);
	check_text();
}

static void test_states(void **state)
{
	static const struct {
		enum ledger_state from, into, want;
	} t[] = {
	    {LEDGER_NEW, LEDGER_KNOWN, LEDGER_KNOWN},
	    {LEDGER_KNOWN, LEDGER_FIXED, LEDGER_KNOWN},
	    {LEDGER_FLAKY, LEDGER_FIXED, LEDGER_KNOWN},
	    {LEDGER_IGNORED, LEDGER_FIXED, LEDGER_FIXED},
	    {LEDGER_FIXED, LEDGER_REGRESSED, LEDGER_REGRESSED},
	    {LEDGER_NEW, LEDGER_IGNORED, LEDGER_IGNORED},
	};
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		snprintf(text, sizeof(text),
			 "{\"from\": {\"state\": \"%s\"}, \"into\": {\"state\": \"%s\"}}",
			 ledger_state_name(t[i].from), ledger_state_name(t[i].into));
		parse(text);
		OK(ledger_merge(ledger, "from", "into", &oops));
		check_state("from", t[i].want);
		OK(ledger_split(ledger, "from", &oops));
		check_state("from", t[i].from);
	}
}

/* With any file content, each chain of names ends at a crash that is not merged. */
static void test_odd_files(void **state)
{
	static const struct {
		const char *text;
		const char *head_of_a;
		const char *warning;
	} t[] = {
	    {"{\"a\": {\"merged_into\": \"b\"}, \"b\": {\"merged_into\": \"a\"}}", "a",
	     "known_crashes.json: crash 'a': merged_into leads to no crash"},
	    {"{\"a\": {\"merged_into\": \"a\"}}", "a",
	     "known_crashes.json: crash 'a': merged_into leads to no crash"},
	    {"{\"a\": {\"merged_into\": \"x\"}}", "a",
	     "known_crashes.json: crash 'a': merged_into leads to no crash"},
	    {"{\"a\": {\"merged_into\": \"b\"}, \"b\": {\"merged_into\": \"c\"}, \"c\": "
	     "{\"count\": 1}}",
	     "c", ""},
	    {"{\"a\": {\"state\": \"new\"}, \"b\": {\"aliases\": [\"a\", \"b\", \"x\", \"x\", "
	     "\"\"]}, \"c\": {\"aliases\": [\"x\"]}}",
	     "a", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		parse(t[i].text);
		assert_string_equal(ledger_warning(ledger), t[i].warning);
		assert_ptr_equal(crash("a"), ledger_record(ledger, t[i].head_of_a));
		check_text();
	}
	check_aliases("b", "x");
	check_aliases("c", "");
	assert_ptr_equal(crash("x"), crash("b"));
}

/* The cost of long chains and wide trees is linear in their size. */
static void test_large_files(void **state)
{
	enum { MANY = 30000 };
	_autobuf_ struct buf text = BUF_INIT(64 << 20);
	struct err e;

	(void)state;
	for (int wide = 0; wide < 2; wide++) {
		buf_clear(&text);
		for (unsigned i = 0; i < MANY; i++)
			buf_printf(&text, "%s\"%06u\": {\"merged_into\": \"%06u\"}",
				   i ? ",\n" : "{", i, wide ? MANY : i + 1);
		buf_printf(&text, ", \"%06d\": {\"count\": 1}}", MANY);
		parse(buf_str(&text));
		assert_int_equal(ledger_count(ledger), MANY + 1);
		assert_true(crash("030000")->aliases.n <= LEDGER_ALIASES);
		assert_true(strstr(ledger_warning(ledger), "more"));
		check_text();
	}
	assert_int_equal(crash("030000")->aliases.n, LEDGER_ALIASES);
	assert_int_equal(ledger_merge(ledger, "029999", "030000", &e), -ENOSPC);
	assert_string_equal(e.msg, "crash '030000' has more than 1000 aliases");
}

#define CASE(f) cmocka_unit_test_teardown(f, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_merge),  CASE(test_split),     CASE(test_chain),	     CASE(test_names),
    CASE(test_states), CASE(test_odd_files), CASE(test_large_files), CASE(test_rates),
};

UNIT_MAIN(tests)
