/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "runner/state/series.h"
#include "tests/unit/forked.h"
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

/* Of neighbouring points the last one is kept, with the peaks of all. */
static void test_thinning(void **state)
{
	struct buf b = BUF_INIT(1 << 20);
	json_t *j;

	(void)state;
	buf_puts(&b, HEAD);
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "[%d, %d, %d, %s]\n", i, i * 2, i == 501 ? 99999 : 100,
			   i == 702 ? "0.5" : "0");
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

/* --- writing ------------------------------------------------------------------- */

static const struct series_of of_a = {
    .target = "a", .run = "r", .started_real_us = UINT64_C(1614834367000000)};

/* Adds a second in which a cell of a target without news lives. */
static void second(struct series *s, int logs, double t, bool end)
{
	const uint64_t stalled[3] = {500000, 0, 2000000};
	const struct series_point p = {
	    .t_us = (uint64_t)(t * 1e6), .execs = (uint64_t)t * 1000, .cov = 7, .rss = 1 << 20};

	series_stalled(s, 1000000, stalled);
	series_take(s, logs, &of_a, &p, end);
}

static int logs_dir(void)
{
	int fd;

	put("");
	assert_int_equal(unlinkat(dir.fd, "logs/r/a.series", 0), 0);
	fd = openat(dir.fd, "logs/r", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int truncate_at(int logs, off_t size)
{
	int fd = openat(logs, "a.series", O_WRONLY | O_CLOEXEC);
	int r = ftruncate(fd, size);

	close(fd);
	return r;
}

static off_t size_of(int logs)
{
	struct stat st;

	assert_int_equal(fstatat(logs, "a.series", &st, 0), 0);
	return st.st_size;
}

static void test_day(void **state)
{
	struct series s = {.written = 0};
	int logs = logs_dir();
	json_t *j;

	(void)state;
	for (int t = 1; t <= 86400; t++)
		second(&s, logs, t + (t % 7) * 0.01, t == 86400);
	assert_true(size_of(logs) < 160000);
	j = get(0);
	assert_true(points(j) > 1500 && points(j) < 1800);
	assert_string_equal(json_string_value(json_object_get(j, "started")),
			    "2021-03-04T05:06:07Z");
	assert_true(at(j, 0, 0) == 1);
	assert_true(at(j, 200, 0) < 202);
	assert_true(at(j, points(j) - 1, 0) - at(j, points(j) - 2, 0) <= 300.2);
	assert_true(at(j, 5, 1) == 6000);
	assert_true(at(j, 5, 2) == 7);
	assert_true(at(j, 5, 8) == 0.5);
	assert_true(at(j, 5, 9) == 0);
	assert_true(at(j, 5, 10) == 1); /* not more than the whole time */
	json_decref(j);
	close(logs);
}

/* Many short cells late in a run make few points, and the last of them is kept. */
static void test_ends(void **state)
{
	struct series s = {.written = 0};
	int logs = logs_dir();
	json_t *j;

	(void)state;
	for (int t = 80000; t < 81000; t++)
		second(&s, logs, t, true);
	series_flush(&s, logs, &of_a);
	series_flush(&s, logs, &of_a);
	j = get(0);
	assert_int_equal(points(j), 1 + 999 / 75 + 1);
	assert_true(at(j, points(j) - 1, 0) == 80999);
	json_decref(j);
	close(logs);
}

/* The disk is full for some time: only points are missing. */
static void test_full_disk(void **state)
{
	int logs = logs_dir();

	(void)state;
	for (unsigned bad = 1; bad < 39; bad++) { /* two calls a point */
		struct series s = {.written = 0};
		json_t *j;

		fault_arm(bad, FAULT_FAIL);
		for (int t = 1; t <= 20; t++)
			second(&s, logs, t, false);
		fault_arm(0, FAULT_FAIL);
		j = get(0);
		assert_true(points(j) >= 19);
		assert_true(at(j, points(j) - 1, 0) == 20);
		json_decref(j);
	}
	close(logs);
}

/* The full disk cut a line. */
static void test_cut_line(void **state)
{
	struct series s = {.written = 0};
	int logs = logs_dir();
	json_t *j;

	(void)state;
	second(&s, logs, 1, false);
	assert_int_equal(truncate_at(logs, size_of(logs) - 5), 0);
	s.cut = true;
	second(&s, logs, 2, false);
	j = get(0);
	assert_int_equal(points(j), 1);
	assert_true(at(j, 0, 0) == 2);
	json_decref(j);
	close(logs);
}

/* A file system without space, which later gets space. */
static int on_a_full_one(void)
{
	struct series s = {.written = 0};
	char path[64], block[4096] = {0};
	int fill, logs;

	if (!mounts_are_ours())
		return FORKED_SKIP;
	snprintf(path, sizeof(path), "%s/logs/r", dir.path);
	if (mount("tmpfs", path, "tmpfs", 0, "size=16k") < 0)
		return FORKED_SKIP;
	close(dir.fd); /* this descriptor is of the directory below the mount */
	dir.fd = state_of.dirfd = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	logs = openat(dir.fd, "logs/r", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	second(&s, logs, 1, false);
	fill = openat(logs, "fill", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	for (int i = 0; i < 4 && write(fill, block, sizeof(block)) > 0; i++)
		;
	for (int t = 2; t < 200; t++) /* the rest of its block, and then no more space */
		second(&s, logs, t, false);
	if (!s.cut || ftruncate(fill, 0) < 0)
		return 1;
	for (int t = 200; t < 210; t++)
		second(&s, logs, t, false);
	close(fill);
	close(logs);
	return s.cut ? 2 : 0;
}

static int full_and_read(void)
{
	int r = on_a_full_one();
	struct err e;
	json_t *j;

	if (r != 0)
		return r;
	if (series_read(&state_of, "r", "a", 0, &j, &e) < 0)
		return 3;
	r = at(j, points(j) - 1, 0) == 209 && at(j, points(j) - 10, 0) == 200 ? 0 : 4;
	json_decref(j);
	return r;
}

static void test_no_space(void **state)
{
	(void)state;
	close(logs_dir());
	forked(full_and_read);
}

static void test_nowhere(void **state)
{
	struct series s = {.written = 0};

	(void)state;
	for (int t = 1; t <= 20; t++)
		second(&s, -1, t, true);
	series_flush(&s, -1, &of_a);
	assert_int_equal(s.written, 0);
}

/* The remains of a killed run, beside any other files. */
static void test_left(void **state)
{
	json_t *j = NULL, *t;
	struct err e = {0};

	(void)state;
	put(HEAD "[1, 3, 0, 0]\n[2, 4, 0, 0]\n[3,");
	scratch_write(dir.fd, "logs/r/c.series", "no series");
	scratch_write(dir.fd, "logs/r/b.log", "");
	scratch_write(dir.fd, "logs/r/.d.series", HEAD "[1, 1, 0, 0]\n");
	scratch_write(dir.fd, "logs/r/\xff.series", HEAD "[1, 1, 0, 0]\n");
	scratch_write(
	    dir.fd, "logs/r/b.series",
	    "{\"v\": 1, \"columns\": [\"name\", \"execs\", \"cpu_seconds\"]}\n[7, 10, 0.5]\n");
	if (series_left(&state_of, "r", 9, &j, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(json_array_size(j), 3);
	t = json_array_get(j, 0);
	assert_string_equal(json_get_text(t, "name"), "a");
	assert_int_equal(json_get_u64(t, "cov"), 4);
	assert_null(json_object_get(t, "execs_per_cpu_second"));
	t = json_array_get(j, 1);
	assert_string_equal(json_get_text(t, "name"), "b"); /* whatever a column's name is */
	assert_string_equal(json_get_text(t, "reason"), "unfinished");
	assert_int_equal(json_get_u64(t, "execs_per_cpu_second"), 20);
	assert_int_equal(json_object_size(json_array_get(j, 2)), 2);
	json_decref(j);
	assert_int_equal(series_left(&state_of, "r", 2, &j, &e), 0);
	assert_int_equal(json_array_size(j), 2); /* the first two */
	assert_string_equal(json_get_text(json_array_get(j, 1), "name"), "b");
	json_decref(j);
	assert_int_equal(series_left(&state_of, "nowhere", 2, &j, &e), -ENOENT);
	assert_int_equal(series_left(&state_of, "../logs/r", 2, &j, &e), -EINVAL);
}

/* Of a long file both ends are read. */
static void test_left_long(void **state)
{
	struct buf b = BUF_INIT(1 << 20);
	json_t *j = NULL;
	struct err e = {0};

	(void)state;
	buf_puts(&b, HEAD);
	for (int t = 1; t <= 5000; t++)
		buf_printf(&b, "[%d, %d, 0, 0]\n", t, t);
	buf_puts(&b, "[5001, 50");
	put(buf_str(&b));
	buf_done(&b);
	for (int i = 0; i < 20000; i++)
		buf_puts(&b, "x");
	scratch_write(dir.fd, "logs/r/b.series", buf_str(&b));
	buf_done(&b);
	assert_int_equal(series_left(&state_of, "r", 9, &j, &e), 0);
	assert_int_equal(json_get_u64(json_array_get(j, 0), "cov"), 5000);
	assert_int_equal(json_object_size(json_array_get(j, 1)), 2);
	json_decref(j);
}

static const struct CMUnitTest tests[] = {
    CASE(test_day),	      CASE(test_ends),	   CASE(test_full_disk), CASE(test_cut_line),
    CASE(test_nowhere),	      CASE(test_no_space), CASE(test_whole),	 CASE(test_damaged_lines),
    CASE(test_damaged_heads), CASE(test_names),	   CASE(test_thinning),	 CASE(test_left),
    CASE(test_left_long),
};

UNIT_MAIN(tests)
