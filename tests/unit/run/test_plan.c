/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "runner/run/plan.h"

#include <errno.h>

static struct target targets[] = {
    {.name = (char[]){"delta"}, .size = 10},  {.name = (char[]){"alpha"}, .size = 900},
    {.name = (char[]){"bravo"}, .size = 900}, {.name = (char[]){"css_a"}, .size = 7},
    {.name = (char[]){"css_b"}, .size = 6},   {.name = (char[]){"off"}, .size = 1},
    {.name = (char[]){"first"}, .size = 999},
};
static const struct target_list list = {.v = targets, .n = sizeof(targets) / sizeof(targets[0])};

static const char text[] =
    "{\"targets\": {\"off\": {\"enabled\": false}, \"first\": {\"priority\": 5},"
    " \"css_*\": {\"priority\": -1, \"memory\": \"1GiB\"}}}";

static struct config *config(const char *json)
{
	struct config *c = NULL;
	struct err e = {0};

	if (config_parse(slice_of(json), "config.json", &c, &e) < 0)
		fail_msg("%s", e.msg);
	return c;
}

static void check(const struct plan *p, const char *const *names)
{
	size_t n = 0;

	for (; names[n]; n++) {
		assert_true(n < p->n);
		assert_string_equal(p->v[n].target->name, names[n]);
	}
	assert_int_equal(p->n, n);
}

/* By priority, then simplicity, then name: the same order in each run. */
static void test_order(void **state)
{
	static const char *const want[] = {"first", "delta", "alpha", "bravo",
					   "css_b", "css_a", NULL};
	struct config *c = config(text);
	struct plan p;
	struct err e;

	(void)state;
	assert_int_equal(plan_make(c, &list, NULL, &p, &e), 0);
	check(&p, want);
	assert_int_equal(p.disabled, 1);
	assert_int_equal(p.v[4].cfg.memory, UINT64_C(1) << 30);
	assert_int_equal(p.v[0].cfg.priority, 5);
	plan_done(&p);
	assert_int_equal(p.n, 0);
	plan_done(&p);
	config_free(c);
}

static void test_filter(void **state)
{
	static const struct {
		const char *filter;
		const char *want[4];
		size_t disabled;
	} t[] = {
	    {"css_*", {"css_b", "css_a"}, 0},
	    {"alpha", {"alpha"}, 0},
	    {"[ab]*", {"alpha", "bravo"}, 0},
	    {"off", {NULL}, 1},
	    {"nothing", {NULL}, 0},
	    {"", {NULL}, 0},
	    {"bravo,alpha", {"bravo", "alpha"}, 0},
	    {"alpha,[ab]*", {"alpha", "bravo"}, 0},
	    {",alpha,", {"alpha"}, 0},
	};
	struct config *c = config(text);
	struct plan p;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(plan_make(c, &list, t[i].filter, &p, &e), 0);
		check(&p, t[i].want);
		assert_int_equal(p.disabled, t[i].disabled);
		plan_done(&p);
	}
	config_free(c);
}

/* A contradiction shows only with a target's own values; the message names the target. */
static void test_errors(void **state)
{
	struct config *c = config("{\"targets\": {\"css_b\": {\"rss_limit\": \"1GiB\"}}}");
	struct plan p = {.n = 99};
	struct err e = {0};

	(void)state;
	assert_int_equal(config_override(c, "defaults.memory", "512MiB", &e), 0);
	assert_true(plan_make(c, &list, NULL, &p, &e) < 0);
	assert_non_null(strstr(e.msg, "css_b"));
	assert_int_equal(p.n, 99);
	config_free(c);

	c = config(text);
	assert_int_equal(plan_make(c, &(struct target_list){0}, NULL, &p, &e), 0);
	assert_int_equal(p.n, 0);
	plan_done(&p);
	config_free(c);
}

static void test_admits(void **state)
{
	(void)state;
	assert_true(plan_admits(0, 8, 8));
	assert_false(plan_admits(0, 9, 8));
	assert_true(plan_admits(5, 3, 8));
	assert_false(plan_admits(6, 3, 8));
	assert_true(plan_admits(8, 0, 8));
	assert_false(plan_admits(9, 0, 8));
	assert_false(plan_admits(UINT64_MAX, 2, 8)); /* sums do not overflow */
	assert_false(plan_admits(2, UINT64_MAX, 8));
	assert_false(plan_admits(UINT64_MAX, UINT64_MAX, UINT64_MAX));
}

static void test_reserve(void **state)
{
	(void)state;
	assert_int_equal(plan_reserve(0), 0);
	assert_int_equal(plan_reserve(100 * USEC_PER_SEC), 10 * USEC_PER_SEC);
	assert_int_equal(plan_reserve(4 * 3600 * USEC_PER_SEC), 600 * USEC_PER_SEC);
	assert_int_equal(plan_reserve(UINT64_MAX), 600 * USEC_PER_SEC);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_order),  cmocka_unit_test(test_filter),  cmocka_unit_test(test_errors),
    cmocka_unit_test(test_admits), cmocka_unit_test(test_reserve),
};

UNIT_MAIN(tests)
