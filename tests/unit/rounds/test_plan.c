/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/rounds/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define S UINT64_C(1000000)

static const struct shards_target targets[] = {
    {"a", 400, 60, 50, 600, 600, 1},
    {"b", 1, 6000, 5, 60000, 60000, 1},
    {"c", 20, 600, 50, 600, 600, 1},
};
static const uint64_t memory[] = {1 << 20, 3 << 20, 2 << 20};

static struct round_plan made(void)
{
	struct shards_spec spec = {targets, 3, 2, 1, 600, 30};
	struct round_plan p;
	struct shards s;

	shards_divide(&spec, &s);
	round_plan_make(&s, &spec, memory, 7, 700 * S, &p);
	shards_done(&s);
	return p;
}

static void what_is_printed_is_read(void **state)
{
	struct round_plan p = made(), q;
	_autojson_ json_t *j = round_plan_json(&p), *again = NULL;
	char *text, *second;
	struct err e;

	(void)state;
	assert_int_equal(json_print(j, 2, &text, &e), 0);
	assert_int_equal(json_parse(slice_of(text), &again, &e), 0);
	assert_int_equal(round_plan_read(again, &q, &e), 0);
	assert_string_equal(q.id, p.id);
	assert_int_equal(strlen(q.id), 16);
	assert_int_equal(q.round, 7);
	assert_int_equal(q.shards, 2);
	assert_int_equal(q.time_us, 700 * S);
	for (unsigned i = 0; i < q.shards; i++) {
		assert_int_equal(q.v[i].n, p.v[i].n);
		assert_int_equal(q.v[i].memory, p.v[i].memory);
		for (size_t k = 0; k < q.v[i].n; k++) {
			assert_string_equal(q.v[i].v[k].target, p.v[i].v[k].target);
			assert_int_equal(q.v[i].v[k].part, p.v[i].v[k].part);
			assert_int_equal(q.v[i].v[k].parts, p.v[i].v[k].parts);
			assert_in_range(q.v[i].v[k].us + 1, p.v[i].v[k].us, p.v[i].v[k].us + 1);
		}
	}
	free(text);
	round_plan_done(&q);
	q = made();
	json_decref(again);
	again = round_plan_json(&q);
	assert_int_equal(json_print(j, 0, &text, &e), 0);
	assert_int_equal(json_print(again, 0, &second, &e), 0);
	assert_string_equal(text, second);
	free(text);
	free(second);
	round_plan_done(&p);
	round_plan_done(&q);
}

/* Sets one value of a good plan. */
static void refuses(const char *share_key, const char *key, const char *value, const char *why)
{
	struct round_plan p = made(), q;
	_autojson_ json_t *j = round_plan_json(&p);
	json_t *at = j, *v;
	struct err e;

	if (share_key)
		at = json_array_get(json_object_get(j, "shares"), 0);
	if (share_key && *share_key)
		at = json_array_get(json_object_get(at, share_key), 0);
	assert_int_equal(json_parse(slice_of(value), &v, &e), 0);
	assert_int_equal(json_object_set_new(at, key, v), 0);
	assert_int_equal(round_plan_read(j, &q, &e), -EBADMSG);
	if (!strstr(e.msg, why))
		fail_msg("%s = %s: %s", key, value, e.msg);
	round_plan_done(&p);
}

static void a_changed_one_is_refused(void **state)
{
	_autojson_ json_t *j = json_array();
	struct round_plan q;
	struct err e;

	(void)state;
	assert_int_equal(round_plan_read(j, &q, &e), -EBADMSG);
	refuses(NULL, "v", "2", "no plan of version 1");
	refuses(NULL, "round", "0", "lacks a valid round");
	refuses(NULL, "shards", "3", "lacks a valid round, shards");
	refuses(NULL, "workers", "1e9", "lacks a valid");
	refuses(NULL, "seconds", "-1", "lacks a valid");
	refuses(NULL, "seconds", "600.5", "it was changed");
	refuses("", "targets", "1", "no valid list");
	refuses("targets", "name", "\"../x\"", "shard 1: '../x' is not a valid target name");
	refuses("targets", "part", "3", "no valid part");
	refuses("targets", "cpu_seconds", "1", "it was changed");
}

static void a_shard_has_a_number(void **state)
{
	static const char *const bad[] = {"",	"1",	"0/2",	  "3/2", "1/",
					  "/2", "1/2 ", "1/9999", "-1/2"};
	unsigned i, n;

	(void)state;
	assert_true(round_shard_parse("3/8", &i, &n));
	assert_int_equal(i, 3);
	assert_int_equal(n, 8);
	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
		assert_false(round_shard_parse(bad[k], &i, &n));
}

static void engines_name_a_shard(void **state)
{
	static const char *const names[] = {"FUZZCELL_SHARD", "SLURM_ARRAY_TASK_ID",
					    "JOB_COMPLETION_INDEX"};
	static const struct {
		unsigned variable;
		const char *value;
		int r;
		unsigned shard;
	} cases[] = {
	    {0, "8/8", 0, 8}, {0, "8/9", -EINVAL, 0}, {0, "x", -EINVAL, 0}, {0, "", -ENOENT, 0},
	    {1, "1", 0, 1},   {1, "8", 0, 8},	      {1, "0", -EINVAL, 0}, {1, "9", -EINVAL, 0},
	    {2, "0", 0, 1},   {2, "7", 0, 8},	      {2, "8", -EINVAL, 0}, {2, "-1", -EINVAL, 0},
	};
	struct err e;
	unsigned i = 0;

	(void)state;
	for (size_t k = 0; k < 3; k++)
		unsetenv(names[k]);
	assert_int_equal(round_shard_of_engine(8, &i, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "--shard i/8"));
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		setenv(names[cases[k].variable], cases[k].value, 1);
		assert_int_equal(round_shard_of_engine(8, &i, &e), cases[k].r);
		if (cases[k].r == 0)
			assert_int_equal(i, cases[k].shard);
		unsetenv(names[cases[k].variable]);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_printed_is_read),
    cmocka_unit_test(a_changed_one_is_refused),
    cmocka_unit_test(a_shard_has_a_number),
    cmocka_unit_test(engines_name_a_shard),
};

UNIT_MAIN(tests)
