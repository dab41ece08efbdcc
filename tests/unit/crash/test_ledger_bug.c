/* SPDX-License-Identifier: Apache-2.0 */
/* A bug with several callers has several signatures: variants of one crash. */
#include "tests/unit/crash/ledgers.h"

static size_t crashes(void)
{
	size_t n = 0;

	for (size_t i = 0; i < ledger_count(ledger); i++)
		n += !*ledger_at(ledger, i)->merged_into;
	return n;
}

static struct ledger_noted see(const char *signature, const char *target, const char *bug,
			       uint64_t time)
{
	return NOTE(.signature = signature, .target = target, .bug = bug, .time = time, .run = "r",
		    .crash_type = "UAF", .top_frame = "f", .crash_file = signature,
		    .input_bytes = 5, .input_sha1 = "", .tries = 3, .hits = 3);
}

static void check_into(const char *signature, const char *head)
{
	assert_string_equal(ledger_record(ledger, signature)->merged_into, head);
}

static void variants_are_one_crash(void **state)
{
	(void)state;
	parse("{}");
	assert_true(see("m", "t", "b1", 10).is_new);
	assert_false(see("a", "t", "b1", 11).is_new);
	assert_false(see("z", "t", "b1", 12).is_new);
	assert_true(see("n", "t", "b2", 13).is_new);
	assert_true(see("o", "t", "", 14).is_new); /* without a place there is no bug key */
	assert_true(see("p", "t", "", 15).is_new);
	assert_int_equal(crashes(), 4);
	check_into("a", "m");
	check_into("z", "m");
	assert_int_equal(crash("m")->count, 3);
	assert_int_equal(crash("m")->aliases.n, 2);
	/* Each variant keeps its own input and description. */
	assert_string_equal(ledger_record(ledger, "a")->crash_file, "a");
	assert_string_equal(ledger_record(ledger, "a")->crash_type, "UAF");
	assert_int_equal(ledger_record(ledger, "a")->reproduction.hits, 3);
	assert_string_equal(crash("m")->crash_file, "m");
	/* A variant that is seen again is known by its own signature. */
	assert_false(see("a", "t", "b1", 20).is_new);
	assert_int_equal(crash("m")->count, 4);
	check_text();
}

/* Whatever another target found, the crash is new in this target. */
static void a_variant_is_new_in_another_target(void **state)
{
	struct ledger_noted n;

	(void)state;
	parse("{}");
	(void)see("m", "t", "b1", 10);
	ledger_next_run(ledger, "r2");
	n = see("a", "u", "b1", 20);
	assert_true(n.is_new);
	assert_int_equal(n.entry->state, LEDGER_NEW);
	assert_string_equal(n.crash->signature, "m");
	assert_int_equal(crash("m")->n_by, 2);
	assert_int_equal(crashes(), 1);
	check_text();
}

static void a_variant_of_a_fixed_bug_is_a_regression(void **state)
{
	struct ledger_noted n;

	(void)state;
	parse("{}");
	(void)see("m", "t", "b1", 10);
	OK(ledger_fixed(ledger, "m", "t", 20, "c", "r", &oops));
	n = see("a", "t", "b1", 30);
	assert_false(n.is_new);
	assert_int_equal(n.before, LEDGER_FIXED);
	assert_int_equal(crash("m")->state, LEDGER_REGRESSED);
}

static void what_a_user_split_stays_split(void **state)
{
	(void)state;
	parse("{}");
	(void)see("m", "t", "b1", 10);
	(void)see("a", "t", "b1", 11);
	OK(ledger_split(ledger, "a", &oops));
	assert_int_equal(crashes(), 2);
	(void)see("a", "t", "b1", 12);
	assert_int_equal(crashes(), 2);
	(void)see("c", "t", "b1", 13);
	check_into("c", "m"); /* the oldest */
	/* Two crashes that a user merged: a bug of either is a bug of the crash. */
	(void)see("n", "t", "b2", 14);
	OK(ledger_merge(ledger, "n", "a", &oops));
	(void)see("d", "t", "b2", 15);
	check_into("d", "a");
	check_text();
}

static void variants_are_read_back(void **state)
{
	_autofree_ char *saved = NULL;
	size_t n;

	(void)state;
	parse("{}");
	(void)see("m", "t", "b1", 10);
	(void)see("a", "u", "b1", 11);
	OK(ledger_print(ledger, &saved, &n, &oops));
	parse(saved);
	check_into("a", "m");
	assert_string_equal(crash("m")->bug, "b1");
	assert_false(see("e", "t", "b1", 12).is_new);
	check_into("e", "m");
}

/* --- builds of one target ---------------------------------------------------- */

static struct ledger_noted see_at(const char *signature, const char *build, const char *place,
				  const char *caller, uint64_t time)
{
	return NOTE(.signature = signature, .target = build,
		    .build_of = strchr(build, '@') ? "t" : NULL, .place = place, .caller = caller,
		    .time = time, .run = "r1", .counted_by = "r1", .crash_type = "X",
		    .top_frame = "f", .crash_file = signature, .input_bytes = 5, .input_sha1 = "",
		    .tries = 3, .hits = 3);
}

static void two_sanitizers_report_one_crash(void **state)
{
	struct ledger_noted n;

	(void)state;
	parse("{}");
	n = see_at("a", "t", "p1", "c1", 10);
	assert_true(n.is_new && !n.is_further);
	n = see_at("u", "t@undefined", "p1", "c1", 11);
	assert_true(n.is_new && n.is_further);
	assert_string_equal(n.crash->signature, "a");
	assert_int_equal(crashes(), 1);
	check_into("u", "a");
	/* It is no new crash, and no exit status waits for it. */
	assert_int_equal(n.entry->state, LEDGER_KNOWN);
	assert_string_equal(n.entry->uncounted, "");
	assert_string_equal(ledger_entry(crash("a"), "t")->uncounted, "r1");
	assert_int_equal(crash("a")->n_by, 2);
	assert_true(ledger_is_further(crash("a"), 1));
	assert_false(ledger_is_further(crash("a"), 0));
	/* Each build keeps its input. */
	assert_string_equal(ledger_record(ledger, "u")->crash_file, "u");
	assert_string_equal(crash("a")->crash_file, "a");
	/* A third build has a stack that ends at the place. */
	assert_true(see_at("m", "t@memory", "p1", "", 12).is_further);
	assert_int_equal(crashes(), 1);
	check_text();
}

static void other_places_are_other_crashes(void **state)
{
	(void)state;
	parse("{}");
	(void)see_at("a", "t", "p1", "c1", 10);
	assert_false(see_at("b", "t@undefined", "p2", "c1", 11).is_further);
	assert_false(see_at("c", "t@undefined", "p1", "c2", 12).is_further);
	assert_false(see_at("d", "t@undefined", "", "", 13).is_further);
	assert_int_equal(crashes(), 4);
	/* The same build tells the two apart, and so do different targets. */
	assert_false(see_at("e", "t", "p1", "c1", 14).is_further);
	assert_false(see_at("f", "other", "p1", "c1", 15).is_further);
	/* A target's own name may have an "@": the main build of another target. */
	assert_false(NOTE(.signature = "g", .target = "t@Other.Test", .place = "p1", .caller = "c1",
			  .time = 16, .crash_type = "X")
			 .is_further);
	assert_int_equal(crashes(), 7);
	check_text();
}

static void an_older_crash_is_not_new_in_another_build(void **state)
{
	struct ledger_noted n;

	(void)state;
	parse("{}");
	(void)see_at("u", "t@undefined", "p1", "c1", 10);
	ledger_counted(ledger, "t@undefined");
	ledger_next_run(ledger, "r2");
	check_state("u", LEDGER_KNOWN);
	n = see_at("a", "t", "p1", "c1", 20);
	assert_true(n.is_further);
	check_state("u", LEDGER_KNOWN);
	/* What a user ignored stays ignored. */
	OK(ledger_ignore(ledger, "u", NULL, SIZE_MAX, NULL, &oops));
	n = see_at("m", "t@memory", "p1", "c1", 30);
	assert_true(n.is_further);
	check_state("u", LEDGER_IGNORED);
}

static void a_fixed_crash_is_new_in_another_build(void **state)
{
	struct ledger_noted n;

	(void)state;
	parse("{}");
	(void)see_at("a", "t", "p1", "c1", 10);
	OK(ledger_fixed(ledger, "a", "t", 20, "c", "r", &oops));
	n = see_at("u", "t@undefined", "p1", "c1", 30);
	assert_true(n.is_new && !n.is_further);
	assert_int_equal(n.entry->state, LEDGER_NEW);
	assert_string_equal(n.entry->uncounted, "r1");
	assert_false(ledger_is_further(crash("a"), 1));
	/* When it comes back in the first build, too, it is counted already. */
	n = see_at("a", "t", "p1", "c1", 40);
	assert_int_equal(n.before, LEDGER_FIXED);
	assert_int_equal(n.entry->state, LEDGER_REGRESSED);
	assert_true(n.is_further);
}

static void builds_are_read_back(void **state)
{
	_autofree_ char *saved = NULL;
	size_t n;

	(void)state;
	parse("{}");
	(void)see_at("a", "t", "p1", "c1", 10);
	(void)see_at("u", "t@undefined", "p1", "c1", 11);
	OK(ledger_print(ledger, &saved, &n, &oops));
	parse(saved);
	assert_true(ledger_is_further(crash("a"), 1));
	assert_true(see_at("m", "t@memory", "p1", "c1", 12).is_further);
	check_into("m", "a");
}

/* After a failed call the ledger can be used, and printed. */
static void no_memory(void **state)
{
	(void)state;
	for (unsigned at = 1;; at++) {
		struct ledger_noted n;
		struct err e;
		int r;

		parse("{}");
		(void)see("m", "t", "b1", 10);
		fault_arm(at, FAULT_FAIL);
		r = ledger_note(ledger,
				&(struct crash_sighting){.signature = "a",
							 .target = "u",
							 .bug = "b1",
							 .run = "r",
							 .crash_type = "UAF",
							 .crash_file = "a",
							 .input_sha1 = ""},
				&n, &e);
		fault_arm(0, FAULT_FAIL);
		check_text();
		if (r == 0)
			break;
		assert_int_equal(r, -ENOMEM);
		(void)see("a", "u", "b1", 11);
		assert_int_equal(crashes(), 1);
	}
}

#define CASE(f) cmocka_unit_test_teardown(f, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(variants_are_one_crash),
    CASE(a_variant_is_new_in_another_target),
    CASE(a_variant_of_a_fixed_bug_is_a_regression),
    CASE(what_a_user_split_stays_split),
    CASE(variants_are_read_back),
    CASE(two_sanitizers_report_one_crash),
    CASE(other_places_are_other_crashes),
    CASE(an_older_crash_is_not_new_in_another_build),
    CASE(a_fixed_crash_is_new_in_another_build),
    CASE(builds_are_read_back),
    CASE(no_memory),
};

UNIT_MAIN(tests)
