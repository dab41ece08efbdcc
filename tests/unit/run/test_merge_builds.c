/* SPDX-License-Identifier: Apache-2.0 */
/* Merges of one corpus on several good and bad builds. */
#include "tests/unit/unit.h"

#include "tests/unit/run/merge_each.h"

enum { MANY = 40 };

static void merge(void)
{
	struct merge_decided d;

	merge_ok(&d);
}

/* Fails on inputs that begin with 'f'. */
static bool fails(struct world *x, int fd, const char *content)
{
	(void)x;
	(void)fd;
	return *content == 'f';
}

static void build(const char *text, bool bad)
{
	scratch_write(w.dir.fd, "binary", text);
	w.spoil = bad ? fails : NULL;
}

/* Each input has a letter of its own: a feature that no other input reaches. */
static void put_many(const char *begin, unsigned n)
{
	char content[8];

	for (unsigned i = 0; i < n; i++) {
		snprintf(content, sizeof(content), "%s%c", begin, (char)('A' + i));
		put_input(&w, content);
	}
}

static unsigned count_of(const char *room)
{
	char path[32];

	snprintf(path, sizeof(path), "%s/t", room);
	return entries(w.state->dirfd, path);
}

static void tried_again_on_another_build(void **state)
{
	begin(state);
	PUT("a", "fa", "f", "!");
	build("bad", true);
	merge();
	assert_int_equal(w.m.result.verdict, MERGE_CLEANED);
	assert_int_equal(w.m.n_lost, 3);
	assert_int_equal(count_of("corpus"), 1);
	assert_int_equal(count_of("quarantine"), 3);
	merge(); /* on the same build they are not replayed again */
	assert_int_equal(w.m.result.verdict, MERGE_UNCHANGED);
	assert_int_equal(count_of("quarantine"), 3);
	build("good again", false);
	merge();
	assert_int_equal(w.m.result.verdict, MERGE_REPLACED);
	assert_true(in_corpus(&w, "a"));
	assert_true(in_corpus(&w, "f"));
	assert_false(in_corpus(&w, "fa"));   /* "a" and "f" reach the same */
	assert_true(in_quarantine(&w, "!")); /* it still fails */
	assert_int_equal(w.m.n_lost, 0);
	assert_int_equal(count_of("quarantine"), 1);
	assert_int_equal(count_of("retry"), 0);
}

/* Inputs that fail on every build, and are in no corpus. */
static void quarantine_many(unsigned n)
{
	_autoclose_ int quarantine = make_dir_at(w.state->dirfd, "quarantine/t");
	char content[16];

	for (unsigned i = 0; i < n; i++) {
		snprintf(content, sizeof(content), "!%u", i);
		scratch_write(quarantine, name_of(content), content);
	}
}

static void a_few_at_a_time(void **state)
{
	enum { ALL = MERGE_RETRY_MAX + 20 };

	begin(state);
	put_input(&w, "a");
	merge();
	quarantine_many(ALL);
	build("another", false);
	merge();
	assert_int_equal(w.m.result.verdict, MERGE_UNCHANGED); /* the corpus never had them */
	assert_int_equal(w.m.result.bad, MERGE_RETRY_MAX);
	assert_int_equal(count_of("quarantine"), MERGE_RETRY_MAX);
	assert_int_equal(count_of("retry"), 20);
	merge();
	assert_int_equal(w.m.result.bad, 20);
	assert_int_equal(count_of("quarantine"), ALL);
	merge();
	assert_int_equal(w.m.result.bad, 0);
}

/* Inputs that time out again do not use all of the time, and are reported once. */
static void slow_ones_are_fewer(void **state)
{
	enum { ALL = 100 };

	begin(state);
	put_input(&w, "a");
	merge();
	quarantine_many(ALL);
	w.kind = "timeout";
	for (unsigned i = 0; i < 3; i++) {
		build(i % 2 ? "b" : "c", false);
		merge();
		assert_int_equal(w.m.result.bad, i == 0 ? ALL : 10);
		assert_int_equal(count_of("quarantine") + count_of("retry"), ALL);
		assert_int_equal(count_of("triage"), 0);
	}
	w.kind = "crash";
	merge();
	assert_int_equal(w.m.result.bad, 10);
	merge();
	assert_int_equal(w.m.result.bad, ALL - 20);
}

static void a_build_that_fails_on_much(void **state)
{
	begin(state);
	put_many("f", MANY / 2);
	put_many("x", MANY / 2);
	build("bad", true);
	merge();
	assert_int_equal(w.m.result.verdict, MERGE_KEPT);
	assert_non_null(strstr(w.m.result.why, "build"));
	assert_true(w.m.n_lost > MERGE_LOST_LEAST);
	assert_int_equal(count_of("corpus"), MANY);
	assert_int_equal(count_of("quarantine"), 0);
	assert_true(in_triage(&w, "crash", "fA"));
	w.force = true;
	merge();
	assert_int_equal(w.m.result.verdict, MERGE_CLEANED);
	assert_int_equal(count_of("corpus"), MANY / 2);
	assert_int_equal(count_of("quarantine"), MANY / 2);
	w.force = false;
	build("good", false);
	merge();
	assert_int_equal(count_of("corpus"),
			 MANY / 2 + 1); /* an 'f' input has all missing features */
	assert_int_equal(count_of("retry") + count_of("quarantine"), 0);
}

/* A quarter of the corpus may fail, because of old bugs. */
static void a_build_that_fails_on_some(void **state)
{
	begin(state);
	put_many("f", MANY / 4);
	put_many("x", MANY - MANY / 4);
	build("not so bad", true);
	merge();
	assert_int_equal(w.m.result.verdict, MERGE_CLEANED);
	assert_int_equal(w.m.n_lost, MANY / 4);
	assert_int_equal(count_of("corpus"), MANY - MANY / 4);
}

static void a_build_that_reaches_nothing(void **state)
{
	begin(state);
	put_many("x", MANY);
	build("good", false);
	merge();
	assert_int_equal(count_of("corpus"), MANY);
	build("stubbed", false);
	w.reaches = 1;
	merge();
	assert_int_equal(w.m.result.verdict, MERGE_KEPT);
	assert_non_null(strstr(w.m.result.why, "reaches 1 edges, the last one reached 41"));
	assert_int_equal(count_of("corpus"), MANY);
	w.reaches = MANY / 2 + 1; /* half of the coverage is enough */
	merge();
	assert_int_equal(w.m.result.verdict, MERGE_REPLACED);
}

/* A build that is probably broken takes nothing from the corpus, also no input that fails. */
static void a_build_that_reaches_nothing_and_fails(void **state)
{
	begin(state);
	put_many("x", MANY);
	PUT("f", "fa");
	build("good", false);
	merge();
	assert_int_equal(count_of("quarantine"), 0);
	build("stubbed", true);
	w.reaches = 1;
	merge();
	assert_int_equal(w.m.result.verdict, MERGE_KEPT);
	assert_true(w.m.n_lost > 0);
	assert_int_equal(count_of("quarantine"), 0);
	assert_true(in_corpus(&w, "f"));
	assert_true(in_triage(&w, "crash", "f"));
}

static void forced_on_a_build_that_reaches_nothing(void **state)
{
	begin(state);
	put_many("x", MANY);
	merge();
	w.reaches = 1;
	w.force = true;
	merge();
	assert_int_equal(w.m.result.verdict, MERGE_REPLACED);
	assert_int_equal(count_of("corpus"), 1);
	w.force = false; /* the new state is permanent */
	merge();
	assert_int_equal(w.m.result.verdict, MERGE_UNCHANGED);
}

static void a_damaged_memory(void **state)
{
	static const char *const texts[] = {"", "{", "[]", "{\"build\": 7, \"edges\": -3}",
					    "{\"build\": \"x\", \"edges\": \"many\"}"};
	_autoclose_ int dir = -1;

	begin(state);
	put_input(&w, "a");
	merge();
	dir = open_dir_at(w.state->dirfd, "stats/merged");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		scratch_write(dir, "t.json", texts[i]);
		merge();
		assert_int_equal(w.m.result.verdict, MERGE_UNCHANGED);
	}
}

static const struct CMUnitTest tests[] = {
    CASE(tried_again_on_another_build),
    CASE(a_few_at_a_time),
    CASE(slow_ones_are_fewer),
    CASE(a_build_that_fails_on_much),
    CASE(a_build_that_fails_on_some),
    CASE(a_build_that_reaches_nothing),
    CASE(a_build_that_reaches_nothing_and_fails),
    CASE(forced_on_a_build_that_reaches_nothing),
    CASE(a_damaged_memory),
};

UNIT_MAIN(tests)
