/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "runner/trigger/record.h"
#include "tests/unit/scratch.h"

#define HOUR (3600 * USEC_PER_SEC)
#define A    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct scratch dir;
static struct moment now;
static char warning[RECORD_WHY];

static int setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	now = (struct moment){.real_us = 500000 * HOUR, .boot_us = 50 * HOUR, .boot = "this"};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove(&dir);
	return 0;
}

static struct trigger_record loaded(void)
{
	struct trigger_record r;
	struct err e = {0};

	if (record_load(dir.fd, false, &now, &r, warning, &e) < 0)
		fail_msg("%s", e.msg);
	return r;
}

static struct trigger_record full(void)
{
	struct trigger_record r = {.start = since_now(&now),
				   .commit = A,
				   .outcome = OUTCOME_FAILED,
				   .why = "status 6, \"nothing\" could be built\\",
				   .pid = 4711,
				   .pid_start = INT64_MAX,
				   .failed = A,
				   .failures = UINT32_MAX,
				   .head = B,
				   .head_seen = since_now(&now),
				   .fetch_failures = 3,
				   .fetch_failing = since_now(&now),
				   .fetch_error = "no route",
				   .busy = since_now(&now)};

	r.start.age_us = 7;
	return r;
}

static void assert_same(const struct since *a, const struct since *b)
{
	assert_int_equal(a->known, b->known);
	assert_int_equal(a->age_us, b->age_us);
	assert_int_equal(a->at.real_us, b->at.real_us);
	assert_int_equal(a->at.boot_us, b->at.boot_us);
	assert_string_equal(a->at.boot, b->at.boot);
}

static void test_round(void **state)
{
	struct trigger_record r = full(), back;
	struct err e;

	(void)state;
	assert_int_equal(record_save(dir.fd, &now, &r, &e), 0);
	back = loaded();
	assert_string_equal(warning, "");
	assert_same(&back.start, &r.start);
	assert_same(&back.busy, &r.busy);
	assert_same(&back.head_seen, &r.head_seen);
	assert_same(&back.fetch_failing, &r.fetch_failing);
	assert_string_equal(back.commit, A);
	assert_string_equal(back.failed, A);
	assert_string_equal(back.head, B);
	assert_string_equal(back.why, r.why);
	assert_string_equal(back.fetch_error, "no route");
	assert_int_equal(back.outcome, OUTCOME_FAILED);
	assert_int_equal(back.pid, 4711);
	assert_true(back.pid_start == INT64_MAX && back.failures == UINT32_MAX &&
		    back.fetch_failures == 3);
	r = (struct trigger_record){0};
	assert_int_equal(record_save(dir.fd, &now, &r, &e), 0);
	back = loaded();
	assert_false(back.start.known || back.busy.known);
	/* A record that is read later is older. */
	r = full();
	assert_int_equal(record_save(dir.fd, &now, &r, &e), 0);
	now.boot_us += HOUR;
	back = loaded();
	assert_true(back.start.age_us == HOUR + 7 && back.start.at.boot_us == now.boot_us);
	/* The same after a boot with a clock that was set back. */
	now = (struct moment){.real_us = HOUR, .boot_us = 2 * HOUR, .boot = "other"};
	back = loaded();
	assert_true(back.start.age_us == 2 * HOUR + 7);
	assert_non_null(strstr(warning, "clock is behind"));
}

static void test_clock_set(void **state)
{
	struct trigger_record r = {0};

	(void)state;
	assert_false(record_clock_set(&r, &now));
	r = full();
	now.boot_us += HOUR;
	now.real_us += HOUR;
	assert_false(record_clock_set(&r, &now));
	now.real_us += 2 * USEC_PER_SEC;
	assert_true(record_clock_set(&r, &now));
	now.real_us = 0;
	assert_true(record_clock_set(&r, &now));
}

/* The files of versions without this record. */
static void test_without_a_record(void **state)
{
	struct trigger_record r = loaded();
	char done[COMMIT_MAX];

	(void)state;
	assert_false(r.start.known);
	record_done(dir.fd, done);
	assert_string_equal(done, "");
	scratch_write(dir.fd, "last_run_timestamp", "1799990000\n"); /* 10000 s ago */
	scratch_write(dir.fd, "last_run_commit", A);
	r = loaded();
	assert_true(r.start.known && since_age(&r.start, &now) == 10000 * USEC_PER_SEC);
	assert_string_equal(warning, "");
	record_done(dir.fd, done);
	assert_string_equal(done, A);
	scratch_write(dir.fd, "last_run_commit", B "\n");
	record_done(dir.fd, done);
	assert_string_equal(done, B);
	scratch_write(dir.fd, "last_run_commit", "v1.2-dirty");
	record_done(dir.fd, done);
	assert_string_equal(done, "");
	scratch_write(dir.fd, "last_run_timestamp", "1900000000\n"); /* in the future */
	r = loaded();
	assert_true(r.start.known && since_age(&r.start, &now) == 0);
	scratch_write(dir.fd, "last_run_timestamp", "soon");
	assert_false(loaded().start.known);
}

static void damaged(const char *text)
{
	struct trigger_record r;
	char kept[200];

	scratch_write(dir.fd, "trigger.json", text);
	r = loaded();
	if (!strstr(warning, "set aside"))
		fail_msg("%s: '%s'", text, warning);
	assert_true(r.start.known);
	assert_true(since_age(&r.start, &now) == 0); /* to be safe */
	assert_string_equal(r.commit, "");
	assert_int_equal(r.outcome, OUTCOME_NONE);
	assert_false(scratch_has(dir.fd, "trigger.json"));
	if (strlen(text) < sizeof(kept))
		assert_string_equal(
		    scratch_text(dir.fd, "trigger.json.damaged", kept, sizeof(kept)), text);
}

static void test_damaged(void **state)
{
	static const char *const bad[] = {
	    "",
	    "{",
	    "[]",
	    "null",
	    "\xff\xfe",
	    "{\"version\": 2}",
	    "{\"version\": 1}",
	    "{\"version\": 1, \"pid\": -1}",
	};
	struct trigger_record r = full();
	char text[4096], large[70000];
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		damaged(bad[i]);
	memset(large, ' ', sizeof(large));
	large[sizeof(large) - 1] = '\0';
	damaged(large);
	/* Every key is required, with its own type. */
	assert_int_equal(record_save(dir.fd, &now, &r, &e), 0);
	scratch_text(dir.fd, "trigger.json", text, sizeof(text));
	for (const char *at = strstr(text, "\n  \""); at; at = strstr(at + 1, "\n  \"")) {
		char one[4096];

		memcpy(one, text, sizeof(one));
		one[at - text + 5] = '~'; /* another key */
		damaged(one);
	}
	/* The start of the last run is still known. */
	scratch_write(dir.fd, "last_run_timestamp", "1799990000\n");
	scratch_write(dir.fd, "trigger.json", "{");
	r = loaded();
	assert_true(since_age(&r.start, &now) == 10000 * USEC_PER_SEC);
	/* Reading changes nothing. */
	scratch_write(dir.fd, "trigger.json", "{");
	assert_int_equal(record_load(dir.fd, true, &now, &r, warning, &e), 0);
	assert_true(scratch_has(dir.fd, "trigger.json"));
}

static void test_hostile_values(void **state)
{
	struct trigger_record r = full();
	char text[4096], *at;
	struct err e;

	(void)state;
	assert_int_equal(record_save(dir.fd, &now, &r, &e), 0);
	scratch_text(dir.fd, "trigger.json", text, sizeof(text));
	at = strstr(text, A);
	memcpy(at, "--upload-pack=x", 15);
	damaged(text);
	r = full();
	assert_int_equal(record_save(dir.fd, &now, &r, &e), 0);
	scratch_text(dir.fd, "trigger.json", text, sizeof(text));
	at = strstr(text, "no route");
	memcpy(at, "\\u001b[m", 8);
	scratch_write(dir.fd, "trigger.json", text);
	r = loaded();
	assert_string_equal(r.fetch_error, "?[m");
}

/* A full disk leaves the old record complete, and is reported. */
static void test_faults(void **state)
{
	struct trigger_record r = full(), back;
	unsigned at = 1;
	struct err e;

	(void)state;
	r.failures = 1;
	assert_int_equal(record_save(dir.fd, &now, &r, &e), 0);
	r.failures = 2;
	for (;; at++) {
		int rc;

		fault_arm(at, FAULT_FAIL);
		rc = record_save(dir.fd, &now, &r, &e);
		fault_arm(0, FAULT_FAIL);
		if (rc == 0)
			break;
		assert_int_equal(rc, -e.code);
		back = loaded();
		assert_string_equal(warning, "");
		assert_true(back.failures == 1 || back.failures == 2);
	}
	assert_true(at > 3);
	/* A record that cannot be read now may be valid: it is not set aside. */
	for (at = 1;; at++) {
		int rc;

		fault_arm(at, FAULT_FAIL);
		rc = record_load(dir.fd, false, &now, &back, warning, &e);
		fault_arm(0, FAULT_FAIL);
		assert_true(scratch_has(dir.fd, "trigger.json"));
		if (rc == 0)
			break;
	}
	assert_true(at > 1);
	assert_int_equal(back.failures, 2);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_round),	CASE(test_clock_set),	   CASE(test_without_a_record),
    CASE(test_damaged), CASE(test_hostile_values), CASE(test_faults),
};

UNIT_MAIN(tests)
