/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fault.h"
#include "runner/policy/fleet.h"
#include "runner/state/progress.h"
#include "tests/unit/scratch_dir.h"

#define S UINT64_C(1000000)

static struct progress grown(void)
{
	struct progress p = {.edges_total = 4000,
			     .partners_read_us = UINT64_C(1700000000000000),
			     .build.before_cov = 10,
			     .build.before_total = 20,
			     .build.binary = {.size = 5, .mtime_ns = -7, .ctime_ns = 9},
			     .health = {.turns = 9, .not_started = 1, .limited = 2, .crashed = 3}};

	snprintf(p.build.id, sizeof(p.build.id), "%040d", 7);
	p.strategies.arms[STRATEGY_PLAIN] =
	    (struct strategy_arm){.spent_us = 1999 * S, .found = 600, .stood = 701};
	p.strategies.arms[STRATEGY_FEW] =
	    (struct strategy_arm){.spent_us = S, .found = 66, .paid = true, .stood = 0};
	p.strategies.owed = STRATEGY_SUBSET;
	curve_begin(&p.curve, 100);
	for (unsigned i = 0; i < 2000; i++) {
		if (i % 3 == 0)
			(void)curve_show(&p.curve, 100 + i);
		curve_spend(&p.curve, S, 300 * S);
		p.curve.runs += 1000;
	}
	return p;
}

static void what_is_saved_is_loaded(void **state)
{
	struct progress p = grown(), q;
	char warning[200];
	struct err e;

	(void)state;
	progress_load(dir.fd, "a", &q, warning);
	assert_string_equal(warning, "");
	assert_string_equal(q.build.id, "");
	assert_int_equal(progress_save(dir.fd, "a", &p, &e), 0);
	progress_load(dir.fd, "a", &q, warning);
	assert_string_equal(warning, "");
	assert_string_equal(q.build.id, p.build.id);
	assert_int_equal(q.build.binary.size, 5);
	assert_int_equal(q.build.binary.mtime_ns, -7);
	assert_int_equal(q.build.binary.ctime_ns, 9);
	assert_int_equal(q.curve.n, p.curve.n);
	assert_memory_equal(q.curve.points, p.curve.points, p.curve.n * sizeof(p.curve.points[0]));
	assert_true(curve_f1(&q.curve) == curve_f1(&p.curve));
	assert_int_equal(q.curve.runs, p.curve.runs);
	assert_int_equal(q.curve.window_us, p.curve.window_us);
	assert_int_equal(q.health.crashed, 3);
	assert_memory_equal(q.strategies.arms, p.strategies.arms, sizeof(p.strategies.arms));
	assert_int_equal(q.strategies.owed, STRATEGY_SUBSET);
	assert_int_equal(q.edges_total, 4000);
	assert_int_equal(q.partners_read_us, p.partners_read_us);
	assert_int_equal(q.build.before_cov, 10);
	assert_string_equal(q.forged, "");
	snprintf(p.forged, sizeof(p.forged), "7 edges\n reached");
	assert_int_equal(progress_save(dir.fd, "a", &p, &e), 0);
	progress_load(dir.fd, "a", &q, warning);
	assert_string_equal(q.forged, "7 edges? reached");
}

static void forged_coverage_is_not_compared_with(void **state)
{
	struct file_id file = {.size = 6};
	struct progress p = grown();

	(void)state;
	p.build.before_cov = 0;
	snprintf(p.forged, sizeof(p.forged), "7 edges reached");
	assert_true(progress_take(&p, &file, "1111111111111111111111111111111111111111"));
	assert_int_equal(p.build.before_cov, 0);
	assert_string_equal(p.forged, "");
}

/* Saves as "a", and reads the file. */
static int saved(char *text, size_t size)
{
	struct progress p = grown();
	struct err e;
	int fd;

	assert_int_equal(progress_save(dir.fd, "a", &p, &e), 0);
	fd = openat(dir.fd, "stats/progress", O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	(void)scratch_text(fd, "a.json", text, size);
	return fd;
}

/* Invalid progress of "b" is reported, and the target counts as new. */
static void is_refused(void)
{
	struct progress q;
	char warning[200];

	progress_load(dir.fd, "b", &q, warning);
	assert_non_null(strstr(warning, "stats/progress/b.json"));
	assert_string_equal(q.build.id, "");
}

static void a_damaged_one_is_reported(void **state)
{
	static const char *const bad[] = {
	    "",
	    "{",
	    "[]",
	    "{}",
	    "{\"v\": 1, \"build\": 7}",
	    "{\"v\": 1, \"build\": \"0000000000000000000000000000000000000007\"}"};
	struct progress q;
	char warning[200], text[20000];
	int fd = saved(text, sizeof(text));

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		scratch_write(fd, "b.json", bad[i]);
		is_refused();
	}
	for (char *at = text; (at = strpbrk(at, "0123456789")); at++) { /* each digit */
		char was = *at;

		*at = '-';
		scratch_write(fd, "b.json", text);
		progress_load(dir.fd, "b", &q, warning);
		assert_true(*q.build.id == '\0' || curve_sane(&q.curve));
		*at = was;
	}
	close(fd);
}

/* A number in the file is replaced. */
static void write_with(int fd, const char *text, const char *name, const char *value)
{
	const char *at = strstr(text, name), *end;
	char changed[20000];

	assert_non_null(at);
	at += strlen(name) + 3;
	end = at + strcspn(at, ",}");
	snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, value, end);
	scratch_write(fd, "b.json", changed);
}

/* The numbers may have another meaning. */
static void another_version_is_refused(void **state)
{
	static const char *const versions[] = {"0", "2", "-1", "\"1\"", "1.0", "null"};
	struct progress q;
	char warning[200], text[20000];
	int fd = saved(text, sizeof(text));

	(void)state;
	write_with(fd, text, "v", "1");
	progress_load(dir.fd, "b", &q, warning);
	assert_string_equal(warning, "");
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		write_with(fd, text, "v", versions[i]);
		is_refused();
	}
	close(fd);
}

/* The file is cut at any place, as by a disk that lost its end. */
static void a_cut_one_is_refused(void **state)
{
	char text[20000];
	int fd = saved(text, sizeof(text));

	(void)state;
	for (size_t n = strlen(text); n-- > 0;) {
		if (text[n] == '}')
			continue;
		text[n + 1] = '\0';
		scratch_write(fd, "b.json", text);
		is_refused();
	}
	close(fd);
}

/* The engine printed impossible numbers: the resulting progress does not count as damaged. */
static void claims_of_a_hostile_engine_are_kept(void **state)
{
	struct fleet_news n = {.fuzzes = true, .cov = UINT64_C(1) << 53, .runs = UINT64_C(1) << 53};
	struct fleet_target t = {.rule = rule_preset(0.05, 1)};
	struct progress p = grown(), q;
	char warning[200];
	struct err e;

	(void)state;
	for (unsigned cell = 0; cell < 3; cell++) {
		fleet_launched(&t, cell * S + S);
		(void)fleet_take_stats(&t, &n);
		curve_spend(&t.curve, 1000 * S, t.rule.burst_us);
	}
	p.curve = t.curve;
	assert_int_equal(progress_save(dir.fd, "a", &p, &e), 0);
	progress_load(dir.fd, "a", &q, warning);
	assert_string_equal(warning, "");
	assert_int_equal(q.curve.cov, CURVE_EDGES_MAX);
}

static void numbers_out_of_bounds_are_refused(void **state)
{
	static const char *const names[] = {"build_us",	 "age_us", "cov",	  "base",
					    "runs",	 "turns",  "edges_total", "before_cov",
					    "window_f1", "cpu_us", "edges",	  "stood"};
	static const char *const values[] = {"-1",
					     "9007199254740993",
					     "9223372036854775807",
					     "9223372036854775808",
					     "1e400",
					     "NaN",
					     "null",
					     "\"7\""};
	char text[20000];
	int fd = saved(text, sizeof(text));

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
			write_with(fd, text, names[i], values[k]);
			is_refused();
		}
	close(fd);
}

static void a_full_disk_is_an_error(void **state)
{
	struct progress p = grown(), q;
	char warning[200];
	struct err e;
	int r = -1;

	(void)state;
	for (unsigned nth = 1; r < 0; nth++) {
		assert_true(nth < 200);
		fault_arm(nth, FAULT_FAIL);
		r = progress_save(dir.fd, "a", &p, &e);
		fault_arm(0, FAULT_FAIL);
		progress_load(dir.fd, "a", &q, warning);
		assert_string_equal(warning, ""); /* no file, or a complete file */
	}
	assert_string_equal(q.build.id, p.build.id);
}

static void builds_are_distinguished(void **state)
{
	struct progress p = grown(), fresh = {0};
	struct file_id file, was;
	char path[64], build[DIGEST_SHA1_HEX], again[DIGEST_SHA1_HEX];
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct err e;

	(void)state;
	scratch_write(dir.fd, "t", "one");
	snprintf(path, sizeof(path), "%s/t", dir.path);
	assert_int_equal(progress_identify(&fresh.build, path, &file, build, &e), 0);
	assert_true(progress_take(&p, &file, build));
	assert_int_equal(p.curve.build_us, 0);
	assert_true(p.build.before_cov >= 2000);
	assert_int_equal(p.build.before_total, 4000);
	p.curve.cov = 77;
	assert_int_equal(utimensat(dir.fd, "t", old, 0), 0); /* an identical rebuild */
	assert_int_equal(progress_identify(&p.build, path, &file, again, &e), 0);
	assert_string_equal(again, build);
	assert_false(progress_take(&p, &file, again));
	assert_int_equal(p.curve.cov, 77);
	was = file;
	do { /* a build with fixed timestamps; the file system's clock is coarse */
		scratch_write(dir.fd, "t", "two");
		assert_int_equal(utimensat(dir.fd, "t", old, 0), 0);
		assert_true(file_id_look(path, &file));
	} while (file.ctime_ns == was.ctime_ns);
	assert_int_equal(file.mtime_ns, was.mtime_ns);
	assert_int_equal(progress_identify(&p.build, path, &file, again, &e), 0);
	assert_string_not_equal(again, build);
	snprintf(path, sizeof(path), "%s/gone", dir.path);
	assert_int_equal(progress_identify(&p.build, path, &file, again, &e), -ENOENT);
}

static void a_broken_build_between_hides_nothing(void **state)
{
	struct file_id file = {.size = 5};
	struct progress p = grown();
	uint64_t cov = p.curve.cov;

	(void)state;
	assert_true(progress_take(&p, &file, "0000000000000000000000000000000000000008"));
	assert_true(progress_take(&p, &file, "0000000000000000000000000000000000000009"));
	assert_int_equal(p.build.before_cov, cov);
	assert_int_equal(p.build.before_total, 4000);
	curve_begin(&p.curve, 30);
	p.edges_total = 5000;
	curve_spend(&p.curve, PROGRESS_JUDGED_US / 2, 300 * USEC_PER_SEC);
	assert_true(progress_dropped(&p.build, p.curve.cov, p.edges_total));
	assert_true(progress_take(&p, &file, "000000000000000000000000000000000000000a"));
	assert_int_equal(p.build.before_cov, cov); /* that build hardly fuzzed */
	curve_begin(&p.curve, 30);
	curve_spend(&p.curve, 2 * PROGRESS_JUDGED_US, 300 * USEC_PER_SEC);
	assert_true(progress_take(&p, &file, "000000000000000000000000000000000000000b"));
	assert_int_equal(p.build.before_cov, 30);
}

static void much_less_coverage_is_an_alarm(void **state)
{
	struct progress p = {.build.before_cov = 1000, .build.before_total = 5000};

	(void)state;
	assert_false(progress_dropped(&p.build, 800, 5000));
	assert_true(progress_dropped(&p.build, 799, 5000));
	assert_true(progress_dropped(&p.build, 0, 6000));
	assert_false(progress_dropped(&p.build, 700, 4000)); /* a part of the code is gone */
	p.build.before_cov = 0;
	assert_false(progress_dropped(&p.build, 0, 5000));
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, begin, end)
static const struct CMUnitTest tests[] = {
    WITH(what_is_saved_is_loaded),
    WITH(forged_coverage_is_not_compared_with),
    WITH(a_damaged_one_is_reported),
    WITH(another_version_is_refused),
    WITH(a_cut_one_is_refused),
    WITH(claims_of_a_hostile_engine_are_kept),
    WITH(numbers_out_of_bounds_are_refused),
    WITH(a_full_disk_is_an_error),
    WITH(builds_are_distinguished),
    WITH(a_broken_build_between_hides_nothing),
    WITH(much_less_coverage_is_an_alarm),
};

UNIT_MAIN(tests)
