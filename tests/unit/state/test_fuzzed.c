/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fs.h"
#include "runner/state/fuzzed.h"
#include "tests/unit/state/stats.h"

#include <stdio.h>
#include <unistd.h>

#define DAY UINT64_C(86400)
#define T0  UINT64_C(1700000000)

static void note(const char *name, bool fuzzed, uint64_t now)
{
	struct fuzzed_target t = {.name = name, .fuzzed = fuzzed};
	struct err e;

	if (fuzzed_note(&state_of, &t, 1, now, &e) < 0)
		fail_msg("%s", e.msg);
}

static int put(void *arg, const char *target, uint64_t since, struct err *e)
{
	char *text = arg;
	size_t n = strlen(text);

	(void)e;
	snprintf(text + n, 256 - n, "%s %llu;", target, (unsigned long long)(since - T0) / DAY);
	return 0;
}

/* "name day;..." of targets that were silent for a week at T0 + days. */
static const char *silent(unsigned days)
{
	static char text[256];
	struct err e;

	text[0] = '\0';
	if (fuzzed_silent(&state_of, T0 + days * DAY, 7 * DAY, put, text, &e) < 0)
		fail_msg("%s", e.msg);
	return text;
}

static void a_silent_target(void **state)
{
	(void)state;
	assert_string_equal(silent(0), ""); /* no run yet */
	note("good", true, T0);
	note("never", false, T0);
	note("broke", true, T0);
	assert_string_equal(silent(6), "");
	note("good", true, T0 + 5 * DAY);
	note("never", false, T0 + 5 * DAY);
	note("broke", false, T0 + 5 * DAY);
	assert_string_equal(silent(6), "");
	assert_string_equal(silent(8), "never 0;broke 0;");
	note("broke", true, T0 + 8 * DAY);
	assert_string_equal(silent(9), "never 0;");
	assert_string_equal(silent(13), "good 5;never 0;"); /* the target is gone */
}

static void the_gone_are_forgotten(void **state)
{
	(void)state;
	note("gone", true, T0);
	note("here", true, T0 + 200 * DAY);
	assert_string_equal(silent(200), "");
}

static void a_clock_that_went_back(void **state)
{
	(void)state;
	note("t", true, T0 + 300 * DAY);
	assert_string_equal(silent(0), "");
	note("u", true, T0);
	note("t", true, T0 + DAY); /* kept, and valid again */
	assert_string_equal(silent(9), "t 1;u 0;");
}

static int turns(void *arg, const struct fuzzed_times *t, struct err *e)
{
	char *text = arg;
	size_t n = strlen(text);

	(void)e;
	snprintf(text + n, 256 - n, "%s %llu %llu;", t->target,
		 (unsigned long long)(t->seen - T0) / DAY,
		 t->turn ? (unsigned long long)(t->turn - T0) / DAY : 0);
	return 0;
}

/* "name seen turn;...", days after T0. */
static const char *turns_of_all(void)
{
	static char text[256];
	struct err e;

	text[0] = '\0';
	if (fuzzed_each(&state_of, turns, text, &e) < 0)
		fail_msg("%s", e.msg);
	return text;
}

static int growth(void *arg, const struct fuzzed_times *t, struct err *e)
{
	(void)e;
	*(uint64_t *)arg = t->grown ? (t->grown - T0) / DAY : 99;
	return 0;
}

/* Notes a run of one target; returns in days after T0 when it last grew; 99: never. */
static uint64_t grown(bool fuzzed, uint64_t cov, uint64_t edges, unsigned days)
{
	struct fuzzed_target t = {.name = "t", .fuzzed = fuzzed, .cov = cov, .edges = edges};
	uint64_t day = 99;
	struct err e;

	if (fuzzed_note(&state_of, &t, 1, T0 + days * DAY, &e) < 0 ||
	    fuzzed_each(&state_of, growth, &day, &e) < 0)
		fail_msg("%s", e.msg);
	return day;
}

static void when_it_grew(void **state)
{
	(void)state;
	assert_int_equal(grown(false, 0, 0, 1), 99);
	assert_int_equal(grown(true, 10, 100, 2), 2);
	assert_int_equal(grown(true, 10, 100, 3), 2);
	assert_int_equal(grown(true, 11, 100, 4), 4);
	assert_int_equal(grown(true, 10, 100, 5), 4); /* less than before, and the same again */
	assert_int_equal(grown(true, 11, 100, 6), 4);
	assert_int_equal(grown(false, 0, 0, 7), 4); /* it could not start */
	assert_int_equal(grown(true, 11, 100, 8), 4);
	assert_int_equal(grown(true, 5, 101, 9), 9); /* another build */
	assert_int_equal(grown(true, 5, 101, 10), 9);
	/* A record without coverage. */
	scratch_write(dir.fd, "stats/last_fuzzed.json", "{\"t\": {\"fuzzed\": 1}}");
	assert_int_equal(grown(true, 5, 101, 11), 11);
}

static void waits(const char *name, uint64_t now)
{
	struct fuzzed_target t = {.name = name, .waited = true};
	struct err e;

	if (fuzzed_note(&state_of, &t, 1, now, &e) < 0)
		fail_msg("%s", e.msg);
}

static void put_file(const char *text)
{
	struct err e;
	int fd;

	assert_int_equal(fs_open_dir(dir.fd, "stats", &fd, &e), 0);
	assert_int_equal(fs_replace(fd, "last_fuzzed.json", slice_of(text), &e), 0);
	close(fd);
}

static void a_damaged_file_is_begun_anew(void **state)
{
	(void)state;
	put_file("{\"t\": {\"fuz");
	note("t", true, T0);
	assert_string_equal(silent(8), "t 0;");
	put_file("{\"t\": 5, \"u\": {\"fuzzed\": \"x\"}}");
	assert_string_equal(silent(8), "");
	note("u", true, T0);
	assert_string_equal(silent(8), "u 0;");
}

static void a_run_in_which_it_waited_is_no_turn(void **state)
{
	(void)state;
	note("t", false, T0 + DAY);
	waits("t", T0 + 3 * DAY);
	waits("u", T0 + 4 * DAY);
	assert_string_equal(turns_of_all(), "t 3 1;u 4 0;");
	note("u", true, T0 + 5 * DAY);
	assert_string_equal(turns_of_all(), "t 3 1;u 5 5;");
}

/* Whichever call fails, the old or the new file exists. */
static void a_failure_at_any_step(void **state)
{
	struct fuzzed_target t = {.name = "t", .fuzzed = true};
	struct err e;
	int r = -1;

	(void)state;
	note("t", true, T0);
	for (unsigned n = 1; r < 0 && n < 100; n++) {
		fault_arm(n, FAULT_FAIL);
		r = fuzzed_note(&state_of, &t, 1, T0 + 5 * DAY, &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0 || strcmp(silent(13), "t 0;") != 0)
			assert_string_equal(silent(13), "t 5;");
	}
	assert_int_equal(r, 0);
}

static const struct CMUnitTest tests[] = {
    CASE(a_silent_target),
    CASE(the_gone_are_forgotten),
    CASE(a_clock_that_went_back),
    CASE(a_damaged_file_is_begun_anew),
    CASE(a_run_in_which_it_waited_is_no_turn),
    CASE(when_it_grew),
    CASE(a_failure_at_any_step),
};

UNIT_MAIN(tests)
