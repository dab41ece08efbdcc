/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "runner/corpus/spare.h"
#include "tests/unit/corpus/files.h"
#include "tests/unit/each.h"

static struct candidates list_of(const char *const *contents)
{
	struct candidates c = {0};
	struct err e;

	for (; *contents; contents++)
		assert_int_equal(candidates_add(&c, name_of(*contents), strlen(*contents), &e), 0);
	candidates_sort(&c);
	return c;
}

#define LIST(...) list_of((const char *const[]){__VA_ARGS__, NULL})

static int try_save(struct candidates cover, struct candidates spare)
{
	struct err e;
	int r = spare_save(dir.fd, "t", &cover, &spare, &e);

	candidates_done(&cover);
	candidates_done(&spare);
	return r;
}

/* Returns the number of left out inputs; *corpus keeps the rest. */
static size_t left_out(struct candidates *corpus)
{
	_autocandidates_ struct candidates out = {0};
	struct err e = {0};
	size_t n = corpus->n;

	if (spare_leave_out(dir.fd, "t", corpus, &out, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(corpus->n + out.n, n);
	return out.n;
}

static size_t left_out_of(struct candidates corpus)
{
	size_t n = left_out(&corpus);

	candidates_done(&corpus);
	return n;
}

static void test_left_out(void **state)
{
	_autocandidates_ struct candidates corpus = LIST("a", "b", "abc", "came later");

	(void)state;
	assert_int_equal(left_out(&corpus), 0); /* no merge yet */
	assert_int_equal(try_save(LIST("abc"), LIST("a", "b", "gone since")), 0);
	assert_int_equal(left_out(&corpus), 2);
	assert_int_equal(corpus.n, 2);
	assert_non_null(candidates_find(&corpus, name_of("abc"), 3));
	assert_non_null(candidates_find(&corpus, name_of("came later"), 10));
}

/* An input of the cover is missing, and its coverage with it: no input is spare then. */
static void test_cover_gone(void **state)
{
	(void)state;
	assert_int_equal(try_save(LIST("abc", "xyz"), LIST("a", "b")), 0);
	assert_int_equal(left_out_of(LIST("a", "b", "abc", "xyz")), 2);
	assert_int_equal(left_out_of(LIST("a", "b", "abc")), 0);
	assert_int_equal(left_out_of(LIST("a", "b")), 0);
	assert_int_equal(try_save((struct candidates){0}, LIST("a", "b")), 0);
	assert_int_equal(left_out_of(LIST("a", "b")), 0); /* without a cover */
}

static void test_forget(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(spare_forget(dir.fd, "t", &e), 0); /* nothing there */
	assert_int_equal(try_save(LIST("abc"), LIST("a")), 0);
	assert_int_equal(left_out_of(LIST("a", "abc")), 1);
	assert_int_equal(spare_forget(dir.fd, "t", &e), 0);
	assert_int_equal(left_out_of(LIST("a", "abc")), 0);
}

static void test_damaged(void **state)
{
	static const char *const lists[] = {"stats/merged/t.cover", "stats/merged/t.spare"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(try_save(LIST("abc"), LIST("a")), 0);
		assert_int_equal(left_out_of(LIST("a", "abc")), 1);
		assert_int_equal(unlinkat(dir.fd, lists[i], 0), 0);
		assert_int_equal(left_out_of(LIST("a", "abc")), 0);
		scratch_write(dir.fd, lists[i], "no list\n");
		assert_int_equal(left_out_of(LIST("a", "abc")), 0);
	}
}

/* After an error at any call no input is spare because of another merge. */
static void test_faults(void **state)
{
	unsigned failed = 0;
	int r;

	(void)state;
	for (unsigned nth = 1;; nth++) {
		assert_int_equal(try_save(LIST("ab"), LIST("a", "b")), 0);
		{
			struct candidates cover = LIST("b"), spare = LIST("ab");

			fault_arm(nth, FAULT_FAIL);
			r = try_save(cover, spare);
			fault_arm(0, FAULT_FAIL);
		}
		{
			_autocandidates_ struct candidates corpus = LIST("a", "ab", "b");
			size_t n = left_out(&corpus);
			bool is_old = n == 2 && candidates_find(&corpus, name_of("ab"), 2);
			bool is_new = n == 1 && candidates_find(&corpus, name_of("b"), 1);

			assert_true(n == 0 || is_old || is_new);
		}
		if (r == 0)
			break;
		failed++;
	}
	assert_true(failed > 5);
}

static const struct CMUnitTest tests[] = {
    CASE(test_left_out), CASE(test_cover_gone), CASE(test_forget),
    CASE(test_damaged),	 CASE(test_faults),
};

UNIT_MAIN(tests)
