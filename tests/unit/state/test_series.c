/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "runner/state/series.h"
#include "tests/unit/state/stats.h"

#define HEAD                                                                               \
	"{\"v\": 1, \"target\": \"a\", \"run\": \"r\", \"started\": \"x\", \"columns\": [" \
	"\"t\", \"cov\", \"rss_bytes\", \"pressure_cpu\"]}\n"

static void put(const char *text)
{
	assert_true(mkdirat(dir.fd, "logs", 0755) == 0 || errno == EEXIST);
	assert_true(mkdirat(dir.fd, "logs/r", 0755) == 0 || errno == EEXIST);
	scratch_write(dir.fd, "logs/r/a.series", text);
}

static json_t *get(size_t max_points)
{
	struct err e = {0};
	json_t *j;

	if (series_read(&state_of, "r", "a", max_points, &j, &e) < 0)
		fail_msg("%s", e.msg);
	return j;
}

static size_t points(const json_t *j)
{
	return json_array_size(json_object_get(j, "points"));
}

static double at(const json_t *j, size_t point, size_t column)
{
	return json_number_value(
	    json_array_get(json_array_get(json_object_get(j, "points"), point), column));
}

static void test_whole(void **state)
{
	json_t *j;

	(void)state;
	put(HEAD "[0.5, 10, 1000, 0]\n[1.5, 12, 900, 0.25]\n");
	j = get(0);
	assert_int_equal(points(j), 2);
	assert_true(at(j, 0, 0) == 0.5);
	assert_true(at(j, 1, 3) == 0.25);
	assert_string_equal(json_string_value(json_object_get(j, "target")), "a");
	assert_int_equal(json_array_size(json_object_get(j, "columns")), 4);
	json_decref(j);
}

static void test_damaged_lines(void **state)
{
	json_t *j;

	(void)state;
	put(HEAD "[1, 10, 1000, 0]\n\nrubbish\n[2, 11, 1000]\n[3, \"12\", 1, 0]\n{\"t\": 4}\n"
		 "[0.5, 13, 1, 0]\n[5, 14, 1000, 0]\n[1e999, 1, 1, 1]\n[6, 15, 10");
	j = get(0);
	assert_int_equal(points(j), 2);
	assert_true(at(j, 1, 1) == 14);
	json_decref(j);
}

static void test_damaged_heads(void **state)
{
	static const char *const heads[] = {
	    "",
	    "\n",
	    "{",
	    "[]\n",
	    "{\"v\": 2, \"columns\": [\"t\"]}\n",
	    "{\"v\": 1}\n",
	    "{\"v\": 1, \"columns\": []}\n",
	    "{\"v\": 1, \"columns\": [\"t\", 7]}\n",
	    "{\"v\": 1, \"columns\": {\"t\": 1}}\n",
	};
	struct err e;
	json_t *j;

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		put(heads[i]);
		assert_int_equal(series_read(&state_of, "r", "a", 0, &j, &e), -EBADMSG);
		assert_non_null(strstr(e.msg, "logs/r/a.series: line 1: "));
	}
}

static void test_names(void **state)
{
	static const char *const bad[] = {"", ".", "..", ".x", "a/b", "../r"};
	struct err e;
	json_t *j;

	(void)state;
	put(HEAD);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(series_read(&state_of, bad[i], "a", 0, &j, &e), -EINVAL);
		assert_int_equal(series_read(&state_of, "r", bad[i], 0, &j, &e), -EINVAL);
	}
	assert_int_equal(series_read(&state_of, "r", "b", 0, &j, &e), -ENOENT);
	assert_int_equal(series_read(&state_of, "q", "a", 0, &j, &e), -ENOENT);
}

/* Of neighbours the last one stays, with their peaks. */
static void test_thinning(void **state)
{
	struct buf b = BUF_INIT(1 << 20);
	struct err e;
	json_t *j;

	(void)state;
	assert_int_equal(buf_add(&b, SLICE(HEAD), &e), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(buf_addf(&b, &e, "[%d, %d, %d, %s]\n", i, i * 2,
					  i == 501 ? 99999 : 100, i == 702 ? "0.5" : "0"),
				 0);
	put(b.p);
	buf_done(&b);
	for (size_t max = 1; max < 1200; max = max * 3 / 2 + 1) {
		double rss = 0, pressure = 0;

		j = get(max);
		assert_true(points(j) <= max && points(j) * 2 + 1 >= (max < 1000 ? max : 1000));
		for (size_t i = 0; i < points(j); i++) {
			assert_true(at(j, i, 1) == 2 * at(j, i, 0));
			rss = at(j, i, 2) > rss ? at(j, i, 2) : rss;
			pressure = at(j, i, 3) > pressure ? at(j, i, 3) : pressure;
		}
		assert_true(at(j, points(j) - 1, 0) == 999);
		assert_true(rss == 99999);
		assert_true(pressure == 0.5);
		json_decref(j);
	}
}

static const struct CMUnitTest tests[] = {
    CASE(test_whole), CASE(test_damaged_lines), CASE(test_damaged_heads),
    CASE(test_names), CASE(test_thinning),
};

UNIT_MAIN(tests)
