/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/moment.h"
#include "runner/trigger/drive.h"
#include "runner/trigger/due.h"

#include <stdio.h>

#define MINUTE	 (60 * USEC_PER_SEC)
#define HOUR	 (60 * MINUTE)
#define INTERVAL (2 * HOUR)

static struct due_input in;

static struct due decide(void)
{
	struct due d;

	due_decide(&in, &d);
	assert_true(strlen(d.why) > 0);
	return d;
}

static void expect(enum due_what what, uint64_t wait_us, const char *words)
{
	struct due d = decide();

	if (d.what != what || d.wait_us != wait_us || !strstr(d.why, words))
		fail_msg("%d, %llu s, '%s'", (int)d.what,
			 (unsigned long long)(d.wait_us / USEC_PER_SEC), d.why);
}

static int setup(void **state)
{
	(void)state;
	in = (struct due_input){
	    .interval_us = INTERVAL, .head = "aaaa", .done = "", .commit = "", .failed = ""};
	return 0;
}

static void test_idle(void **state)
{
	(void)state;
	expect(DUE_START, 0, "aaaa is new");
	in.started = true;
	in.start_age_us = INTERVAL - MINUTE;
	expect(DUE_WAIT, MINUTE, "1m");
	in.start_age_us = INTERVAL;
	expect(DUE_START, 0, "new");
	in.start_age_us = UINT64_MAX;
	expect(DUE_START, 0, "new");
	in.done = "aaaa";
	expect(DUE_NOTHING, 0, "was fuzzed");
	in.forced = true;
	in.start_age_us = 0;
	expect(DUE_START, 0, "asked for");
	in.head = "";
	expect(DUE_NOTHING, 0, "not known");
}

static void test_failures(void **state)
{
	(void)state;
	in.started = true;
	in.failed = "aaaa";
	in.failures = 1;
	in.start_age_us = INTERVAL - 1;
	expect(DUE_WAIT, 1, "failed 1 time:");
	in.start_age_us = INTERVAL;
	expect(DUE_START, 0, "again after 1 failure");
	in.failures = 3;
	expect(DUE_WAIT, 3 * INTERVAL, "failed 3 times");
	in.failures = UINT32_MAX;
	expect(DUE_WAIT, 22 * HOUR, "failed");
	in.failed = "bbbb"; /* another commit */
	expect(DUE_START, 0, "new");
	assert_true(due_delay(0, 0) == 0);
	assert_true(due_delay(0, 1) == MINUTE); /* never a busy loop */
	assert_true(due_delay(HOUR, 5) == 16 * HOUR);
	assert_true(due_delay(HOUR, 6) == 24 * HOUR);
	assert_true(due_delay(72 * HOUR, 6) == 72 * HOUR);
	assert_true(due_delay(UINT64_MAX, 2) == UINT64_MAX);
}

static void test_running(void **state)
{
	(void)state;
	in.started = true;
	in.running = RUNNING_OURS;
	in.commit = "aaaa";
	in.start_age_us = 50 * HOUR;
	expect(DUE_NOTHING, 0, "is being fuzzed");
	in.forced = true;
	expect(DUE_NOTHING, 0, "is being fuzzed");
	in.forced = false;
	in.commit = "bbbb";
	expect(DUE_STOP, 0, "bbbb");
	in.start_age_us = HOUR;
	expect(DUE_WAIT, HOUR, "1h");
	in.done = "aaaa";
	expect(DUE_NOTHING, 0, "was fuzzed");
	in.done = "";
	in.running = RUNNING_OTHERS;
	in.start_age_us = 50 * HOUR;
	expect(DUE_WAIT, 0, "a user");
	in.forced = true;
	expect(DUE_WAIT, 0, "asked for");
}

/* --- ages ------------------------------------------------------------------------- */

static struct moment at(const char *boot, uint64_t real_h, uint64_t boot_h)
{
	struct moment m = {real_h * HOUR, boot_h * HOUR, ""};

	snprintf(m.boot, sizeof(m.boot), "%s", boot);
	return m;
}

static uint64_t age_h(const struct since *s, const struct moment *m)
{
	return since_age(s, m) / HOUR;
}

static void test_ages(void **state)
{
	struct moment m = at("one", 1000, 10);
	struct since s = {0};

	(void)state;
	assert_true(since_age(&s, &m) == 0);
	since_renew(&s, &m);
	assert_false(s.known);
	s = since_now(&m);
	m = at("one", 7, 13); /* the wall clock was set */
	assert_int_equal(age_h(&s, &m), 3);
	m = at("one", 900000, 13);
	assert_int_equal(age_h(&s, &m), 3);
	since_renew(&s, &m);
	m = at("two", 900005, 1); /* the machine was off: only the wall clock shows it */
	assert_int_equal(age_h(&s, &m), 8);
	assert_false(since_went_back(&s, &m));
	m = at("two", 20, 1); /* and the wall clock does not show it */
	assert_int_equal(age_h(&s, &m), 4);
	assert_true(since_went_back(&s, &m));
	m = at("two", 20, 30); /* the age still grows */
	assert_int_equal(age_h(&s, &m), 33);
	s.age_us = UINT64_MAX - HOUR;
	assert_true(since_age(&s, &m) == UINT64_MAX);
	/* The same boot, but the monotonic clock went backwards. */
	s = since_now(&m);
	m = at("two", 25, 3);
	assert_int_equal(age_h(&s, &m), 5);
}

static void test_now(void **state)
{
	struct moment a, b;
	struct err e;

	(void)state;
	assert_int_equal(moment_read(&a, &e), 0);
	assert_int_equal(moment_read(&b, &e), 0);
	assert_string_equal(a.boot, b.boot);
	assert_int_equal(strlen(a.boot), 36);
	assert_true(b.boot_us >= a.boot_us && b.boot_us < a.boot_us + HOUR);
	assert_true(a.real_us > a.boot_us);
}

/* --- workers ------------------------------------------------------------------------ */

static void shared(struct share *v, size_t n, uint32_t cpus, const char *want)
{
	char text[64] = "";

	share_workers(v, n, cpus);
	for (size_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u ", v[i].given);
	assert_string_equal(text, want);
}

static void test_shares(void **state)
{
	struct share v[4] = {{.is = SHARE_WANTS}};

	(void)state;
	shared(v, 1, 8, "8 ");
	v[0].wanted = 3;
	shared(v, 1, 8, "3 ");
	v[1] = (struct share){.is = SHARE_IDLE, .wanted = 5};
	shared(v, 2, 8, "3 0 ");
	v[1].is = SHARE_RUNS;
	shared(v, 2, 4, "3 4 "); /* eight are configured, independent of the machine */
	v[0].wanted = v[1].wanted = 0;
	shared(v, 2, 5, "3 2 ");
	v[2] = (struct share){.is = SHARE_WANTS, .waited_us = 9};
	v[3] = (struct share){.is = SHARE_WANTS, .waited_us = 7};
	v[0].waited_us = 1;
	shared(v, 4, 3, "0 1 1 1 "); /* the longest waits win */
	v[2].waited_us = 0;
	shared(v, 4, 3, "1 1 0 1 ");
	shared(v, 4, 1, "0 1 0 0 ");
	v[1].is = SHARE_IDLE;
	shared(v, 4, 1, "0 0 0 1 ");
	shared(v, 4, 0, "0 0 0 1 ");
}

#define CASE(f) cmocka_unit_test_setup(f, setup)

static const struct CMUnitTest tests[] = {
    CASE(test_idle), CASE(test_failures), CASE(test_running),
    CASE(test_ages), CASE(test_now),	  CASE(test_shares),
};

UNIT_MAIN(tests)
