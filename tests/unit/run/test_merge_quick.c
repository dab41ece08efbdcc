/* SPDX-License-Identifier: Apache-2.0 */
/* The quick first pass: each input reports only features that no earlier input in its cell had. */
#include "tests/unit/unit.h"

#include "tests/unit/run/merge_each.h"

static bool first_is_quick(void)
{
	struct merge_staged s = {0};
	struct err e;

	must(stage(&w, &s, &e), &e);
	return !s.full;
}

/* The quick pass is used until it brings nothing; then not before another build. */
static void unsteady_is_remembered(void **state)
{
	struct merge_decided d;

	begin(state);
	PUT("ab", "b");
	assert_true(first_is_quick());
	merge_ok(&d);
	assert_false(w.m.full);
	assert_true(first_is_quick());
	w.flaky = true;
	put_input(&w, "cb");
	merge_ok(&d);
	assert_true(w.m.full);
	assert_false(first_is_quick());
	w.flaky = false;
	merge_ok(&d);
	assert_true(w.m.full);
	scratch_write(w.dir.fd, "binary", "another engine");
	assert_true(first_is_quick());
}

/* Features of "a" were not listed for "xa"; then "a" turned out to leak. */
static void a_hole_in_the_quick_pass(void **state)
{
	struct merge_decided d;
	struct merge_staged s;
	struct merge_bad bad;
	struct err e;

	begin(state);
	PUT("a", "x", "xa");
	must(stage(&w, &s, &e), &e);
	must(run_shards(&w, s.next, s.end, &e), &e);
	w.slot.blamed = name_of("a");
	must(task(merge_task_leak, &w.slot, &bad, sizeof(bad), &e), &e);
	assert_string_equal(bad.lost, name_of("a"));
	must(decide(&w, &d, &e), &e);
	assert_true(w.m.full);
	assert_int_equal(d.all.edges, 2);
	assert_int_equal(d.chosen.edges, 2);
}

/* Two shards choose "ab" and "ba"; one of these inputs is enough. */
static void shards_that_chose_the_same(void **state)
{
	struct merge_decided d;
	struct merge_staged s;
	struct err e;

	begin(state);
	PUT("ab");
	must(stage(&w, &s, &e), &e);
	must(run_shards(&w, s.next, s.end, &e), &e);
	PUT("ba");
	must(stage(&w, &s, &e), &e); /* the second shard */
	assert_int_equal(s.reused, 1);
	must(run_shards(&w, s.next, s.end, &e), &e);
	must(decide(&w, &d, &e), &e);
	assert_false(w.m.full);
	assert_int_equal(d.chosen.files, 1);
}

static const struct CMUnitTest tests[] = {
    CASE(unsteady_is_remembered),
    CASE(a_hole_in_the_quick_pass),
    CASE(shards_that_chose_the_same),
};

UNIT_MAIN(tests)
