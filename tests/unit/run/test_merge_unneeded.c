/* SPDX-License-Identifier: Apache-2.0 */
/* A merge's lists of inputs that it measured and did not need (stats/merged/<t>.unneeded), and of
 * inputs that only fuzzing needs (<t>.spare). */
#include "tests/unit/unit.h"

#include "runner/corpus/spare.h"
#include "tests/unit/run/merge_each.h"

#define FILE_NAME "stats/merged/t.unneeded"

static void merge(void)
{
	struct merge_decided d;

	merge_ok(&d);
}

static struct candidates list(void)
{
	struct candidates c = {0};
	struct err e = {0};

	must(candidates_load(w.state->dirfd, FILE_NAME, &c, &e), &e);
	return c;
}

/* Exactly these inputs, at most 8. */
static void check_list(const char *const *contents)
{
	_autocandidates_ struct candidates c = list();
	size_t n = 0;

	for (; contents[n]; n++)
		if (!candidates_find(&c, name_of(contents[n]), strlen(contents[n])))
			fail_msg("'%s' is missing", contents[n]);
	assert_int_equal(c.n, n);
}

#define CHECK(...) check_list((const char *const[]){__VA_ARGS__, NULL})

static void seed(const char *name, const char *content)
{
	char path[64];

	world_has_seeds(&w);
	snprintf(path, sizeof(path), "seeds/%s", name);
	scratch_write(w.dir.fd, path, content);
}

static void what_adds_nothing(void **state)
{
	begin(state);
	PUT("a", "b", "aab");
	seed("1", "ba");
	seed("2", "!");
	seed("3", "d");
	merge();
	assert_int_equal(w.m.result.verdict, MERGE_REPLACED);
	assert_true(in_corpus(&w, "d"));
	assert_false(in_corpus(&w, "aab"));
	CHECK("aab", "ba"); /* nor failing inputs */
	for (unsigned twice = 0; twice < 2; twice++) {
		merge();
		assert_int_equal(w.m.result.verdict, MERGE_UNCHANGED);
		CHECK("ba");
	}
}

/* The list is about the last merge, with that merge's seeds. */
static void other_seeds(void **state)
{
	begin(state);
	PUT("a", "b");
	seed("1", "ab");
	merge();
	CHECK("ab");
	assert_int_equal(unlinkat(w.dir.fd, "seeds/1", 0), 0);
	seed("2", "ba");
	merge();
	CHECK("ba");
}

/* A merge that a guard stops writes no list. */
static void kept_corpus(void **state)
{
	char content[2] = "A";

	begin(state);
	for (; *content <= 'Z'; (*content)++)
		put_input(&w, content);
	seed("1", "AB");
	merge();
	CHECK("AB");
	scratch_write(w.dir.fd, "binary", "stubbed");
	w.reaches = 1;
	merge();
	assert_int_equal(w.m.result.verdict, MERGE_KEPT);
	CHECK("AB");
}

static size_t count_spare(struct candidates *corpus)
{
	_autocandidates_ struct candidates spare = {0};
	_autoclose_ int fd = -1;
	struct err e = {0};

	candidates_done(corpus);
	must(state_open_corpus(w.state, "t", &fd, &e), &e);
	must(shard_list(fd, corpus, &e), &e);
	must(spare_leave_out(w.state->dirfd, "t", corpus, &spare, &e), &e);
	return spare.n;
}

static void what_only_fuzzing_needs(void **state)
{
	_autocandidates_ struct candidates corpus = {0};
	struct merge_decided d;

	begin(state);
	PUT("a", "b", "ab", "abc");
	merge_ok(&d);
	assert_int_equal(w.m.result.verdict, MERGE_REPLACED);
	assert_int_equal(d.chosen.files, 3);
	assert_int_equal(d.cover.files, 1);
	assert_int_equal(d.cover.bytes, 3);
	for (unsigned twice = 0; twice < 2; twice++) {
		assert_int_equal(count_spare(&corpus), 2);
		assert_int_equal(corpus.n, 1);
		assert_non_null(candidates_find(&corpus, name_of("abc"), 3));
		merge();
		assert_int_equal(w.m.result.verdict, MERGE_UNCHANGED);
	}
	/* An input found after the merge is not spare, whatever it reaches. */
	put_input(&w, "ba");
	assert_int_equal(count_spare(&corpus), 2);
	assert_int_equal(corpus.n, 2);
}

/* From the exchange to the end of the merge no input is spare: the merge may be killed. */
static void an_exchange_forgets(void **state)
{
	_autocandidates_ struct candidates corpus = {0};
	struct merge_replaced replaced;
	struct merge_decided d;
	struct merge_staged s;
	struct err e = {0};

	begin(state);
	PUT("a", "b", "abc");
	merge();
	assert_int_equal(count_spare(&corpus), 2);
	PUT("dd", "d");
	must(stage(&w, &s, &e), &e);
	must(run_shards(&w, s.next, s.end, &e), &e);
	must(decide(&w, &d, &e), &e);
	assert_int_equal(d.to, MERGE_TO_REPLACE);
	must(task(merge_task_replace, &w.m, &replaced, sizeof(replaced), &e), &e);
	assert_int_equal(count_spare(&corpus), 0);
	assert_true(in_corpus(&w, "d"));
}

/* An input with a flaky feature stays, although no verifying pass sees the feature. */
static void a_target_that_does_not_always_do_the_same(void **state)
{
	_autocandidates_ struct candidates corpus = {0};

	begin(state);
	PUT("a", "b", "ab", "abc");
	w.flaky = true;
	merge();
	assert_int_equal(w.m.result.verdict,
			 MERGE_UNCHANGED); /* each input has a feature of its own */
	assert_int_equal(count_spare(&corpus), 0);
	assert_int_equal(corpus.n, 4);
}

/* A full disk: an error, and the complete old list. */
static void faults(void **state)
{
	unsigned failed = 0;

	begin(state);
	PUT("a", "b");
	seed("1", "ab");
	seed("2", "ba");
	for (unsigned nth = 1;; nth++) {
		struct merge_size now;
		struct merge_decided d;
		struct err e = {0};
		int r;

		merge_ok(&d); /* up to its end; then the end again, from the remaining files */
		CHECK("ab", "ba");
		assert_int_equal(unlinkat(w.state->dirfd, FILE_NAME, 0), 0);
		scratch_write(w.state->dirfd, FILE_NAME, "");
		{
			_autocandidates_ struct candidates known = {0};
			_autoclose_ int dir = make_dir_at(w.state->dirfd, "merge/t");

			must(candidates_add(&known, name_of("ab"), 2, &e), &e);
			must(candidates_add(&known, name_of("ba"), 2, &e), &e);
			candidates_sort(&known);
			must(candidates_save(dir, "known", &known, &e), &e);
			must(candidates_save(dir, MERGE_FILE_COVER, &known, &e), &e);
			must(candidates_save(dir, MERGE_FILE_SPARE, &known, &e), &e);
		}
		fault_arm(nth, FAULT_FAIL);
		r = task(merge_task_end, &w.m, &now, sizeof(now), &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0)
			break;
		failed++;
		{
			_autocandidates_ struct candidates c = list();

			assert_true(c.n == 0 || c.n == 2);
		}
	}
	CHECK("ab", "ba");
	assert_true(failed > 10);
}

static const struct CMUnitTest tests[] = {
    CASE(what_adds_nothing),
    CASE(other_seeds),
    CASE(kept_corpus),
    CASE(what_only_fuzzing_needs),
    CASE(an_exchange_forgets),
    CASE(a_target_that_does_not_always_do_the_same),
    CASE(faults),
};

UNIT_MAIN(tests)
