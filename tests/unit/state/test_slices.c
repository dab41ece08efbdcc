/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fs.h"
#include "runner/policy/chance.h"
#include "runner/state/slices.h"
#include "tests/unit/scratch_dir.h"

#define S     UINT64_C(1000000)
#define NOW   (UINT64_C(1700000000) * S)
#define BURST (300 * S)

/* Fuzzes for so many seconds; every `each`-th of them finds an edge. */
static void fuzz(struct progress *p, char build, unsigned seconds, unsigned each)
{
	snprintf(p->build.id, sizeof(p->build.id), "%039d%c", 0, build);
	p->edges_total = 9000;
	if (p->curve.build_us == 0)
		curve_begin(&p->curve, 100);
	for (unsigned i = 1; i <= seconds; i++) {
		if (i % each == 0)
			(void)curve_show(&p->curve, p->curve.cov + 1);
		curve_spend(&p->curve, S, BURST);
		curve_count(&p->curve, 50);
	}
	p->health.turns++;
	p->strategies.arms[STRATEGY_PLAIN].spent_us += seconds * S;
}

static void put(const char *text)
{
	struct err e;
	int stats;

	assert_int_equal(fs_mkdirs(dir.fd, "stats/progress", 0755, &e), 0);
	assert_int_equal(fs_open_dir(dir.fd, "stats/progress", &stats, &e), 0);
	assert_int_equal(fs_replace(stats, "a.json", slice_of(text), &e), 0);
	close(stats);
}

static void add(json_t *slices)
{
	char *text;
	struct err e;

	assert_true(slices_ok(slices));
	assert_int_equal(slices_add(dir.fd, "a", slices, &text, &e), 0);
	put(text);
	free(text);
}

static struct progress loaded(void)
{
	struct progress p;
	char warning[200];

	progress_load(dir.fd, "a", &p, warning);
	assert_string_equal(warning, "");
	return p;
}

static void clear(void)
{
	struct err e;

	assert_int_equal(fs_remove_tree(dir.fd, "stats", &e), 0);
}

/* A single shard's curve comes back as it was. */
static void one_shard_has_its_own_curve(void **state)
{
	struct progress none = {0}, p = {0}, q = {0}, got;
	json_t *first, *second;

	(void)state;
	clear();
	fuzz(&p, '1', 400, 3);
	first = slices_since(&none, &p, NOW);
	q = p;
	fuzz(&q, '1', 900, 40);
	second = slices_since(&p, &q, NOW + 900 * S);
	add(second);
	add(first);
	got = loaded();
	assert_string_equal(got.build.id, q.build.id);
	assert_int_equal(got.curve.build_us, q.curve.build_us);
	assert_int_equal(got.curve.cov, q.curve.cov);
	assert_int_equal(got.curve.runs, q.curve.runs);
	assert_int_equal(got.curve.n, q.curve.n);
	for (uint32_t i = 0; i < q.curve.n; i++)
		assert_true(got.curve.points[i] == q.curve.points[i]);
	assert_int_equal(got.health.turns, 2);
	assert_int_equal(got.strategies.arms[STRATEGY_PLAIN].spent_us, 1300 * S);
	json_decref(first);
	json_decref(second);
	first = slices_since(&q, &q, NOW);
	assert_int_equal(json_array_size(first), 0);
	json_decref(first);
}

enum { SHARDS = 6 };

/* In whatever order they come, and after a run of one's own. */
static void the_order_does_not_matter(void **state)
{
	json_t *of[SHARDS];
	struct progress own = {0};
	struct chance c;
	struct err e;
	char *expected = NULL;

	(void)state;
	chance_seed(&c, 5);
	fuzz(&own, '1', 100, 2);
	for (unsigned i = 0; i < SHARDS; i++) {
		struct progress p = own;

		fuzz(&p, i < 4 ? '1' : '2', 50 + 70 * i, 5 + i);
		of[i] = slices_since(&own, &p, NOW + i % 3 * S);
	}
	for (unsigned round = 0; round < 50; round++) {
		unsigned left[SHARDS] = {0, 1, 2, 3, 4, 5};
		char *text;
		size_t n;

		clear();
		assert_int_equal(progress_save(dir.fd, "a", &own, &e), 0);
		for (unsigned k = SHARDS; k > 0; k--) {
			unsigned at = (unsigned)(chance_uniform(&c) * k);

			add(of[left[at]]);
			left[at] = left[k - 1];
		}
		assert_int_equal(fs_read(dir.fd, "stats/progress/a.json", 1 << 20, &text, &n, &e),
				 0);
		if (expected)
			assert_string_equal(text, expected);
		else
			expected = strdup(text);
		free(text);
	}
	free(expected);
	for (unsigned i = 0; i < SHARDS; i++)
		json_decref(of[i]);
}

/* The newest build counts; the one before it is what it is compared with. */
static void another_build_begins_anew(void **state)
{
	struct progress own = {0}, p = {0}, none = {0}, got;
	json_t *j;
	struct err e;

	(void)state;
	clear();
	fuzz(&own, '1', 100, 2);
	assert_int_equal(progress_save(dir.fd, "a", &own, &e), 0);
	fuzz(&p, '2', 60, 2);
	j = slices_since(&none, &p, NOW);
	add(j);
	got = loaded();
	assert_string_equal(got.build.id, p.build.id);
	assert_int_equal(got.curve.build_us, 60 * S);
	assert_int_equal(got.build.before_cov, own.curve.cov);
	/* A run takes all of it over. */
	assert_int_equal(progress_save(dir.fd, "a", &got, &e), 0);
	assert_int_equal(loaded().curve.build_us, 60 * S);
	json_decref(j);
}

/* More slices than a file holds: the older ones are joined, and no time is lost. */
static void many_slices_are_joined(void **state)
{
	struct progress p = {0}, then = {0};

	(void)state;
	clear();
	for (unsigned i = 0; i < 5000; i++) {
		json_t *j;

		fuzz(&p, '1', 1, 1);
		p.strategies.arms[STRATEGY_PLAIN].spent_us = 0;
		j = slices_since(&then, &p, NOW + i * S);
		add(j);
		json_decref(j);
		then = p;
		if (i == 2100)
			assert_int_equal(loaded().curve.build_us, 2101 * S);
		i += i > 2200 ? 100 : 0;
	}
	assert_int_equal(loaded().curve.build_us, p.curve.build_us);
	assert_int_equal(loaded().curve.cov, p.curve.cov);
}

static void damaged_slices_are_refused(void **state)
{
	static const char *const bad[] = {
	    "{}",
	    "[1]",
	    "[{}]",
	    "[{\"build\": \"x\"}]",
	    "[{\"build\": \"0000000000000000000000000000000000000001\", \"us\": -1}]",
	    "[{\"build\": \"0000000000000000000000000000000000000001\", \"us\": 1e30}]",
	    "[{\"build\": \"0000000000000000000000000000000000000001\", \"from\": 2}]",
	    "[{\"build\": \"0000000000000000000000000000000000000001\", \"cov\": 99999999999}]",
	    "[{\"build\": \"0000000000000000000000000000000000000001\", \"arms\": []}]",
	    ("[{\"build\": \"0000000000000000000000000000000000000001\","
	     "\"arms\": {\"plain\": {\"cpu_us\": -1}}}]"),
	};
	struct progress p;
	char warning[200], text[400];
	json_t *j;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(json_parse(slice_of(bad[i]), &j, &e), 0);
		assert_false(slices_ok(j));
		json_decref(j);
		snprintf(text, sizeof(text), "{\"v\": 1, \"shards\": %s}", bad[i]);
		clear();
		put(text);
		progress_load(dir.fd, "a", &p, warning);
		assert_non_null(strstr(warning, "damaged"));
		assert_int_equal(p.curve.build_us, 0);
	}
	/* A damaged file does not keep new slices away. */
	fuzz(&p, '1', 10, 2);
	j = slices_since(&(struct progress){0}, &p, NOW);
	add(j);
	json_decref(j);
	assert_int_equal(loaded().curve.build_us, 10 * S);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, begin, end)
static const struct CMUnitTest tests[] = {
    WITH(one_shard_has_its_own_curve), WITH(the_order_does_not_matter),
    WITH(another_build_begins_anew),   WITH(many_slices_are_joined),
    WITH(damaged_slices_are_refused),
};

UNIT_MAIN(tests)
