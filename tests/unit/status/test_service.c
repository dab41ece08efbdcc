/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/status/health/health.h"

#define NOW UINT64_C(1800000000)
#define GIB (UINT64_C(1) << 30)

static struct health judged;

static const struct health_finding *only(const struct health_service *s, enum health_code c)
{
	health_judge_service(s, &judged);
	assert_int_equal(judged.n, 1);
	assert_string_equal(health_code_name(judged.v[0].code), health_code_name(c));
	return &judged.v[0];
}

static void nothing(const struct health_service *s)
{
	health_judge_service(s, &judged);
	assert_int_equal(judged.n, 0);
}

static void no_facts_give_no_finding(void **state)
{
	struct health_service s = {0};

	(void)state;
	nothing(&s);
	s.now = NOW;
	nothing(&s);
}

static void an_outbox_is_stuck(void **state)
{
	struct health_service s = {.now = NOW};

	(void)state;
	s.outbox.waiting = 2;
	s.outbox.oldest = NOW - 86400;
	nothing(&s);
	s.outbox.oldest--;
	s.outbox.place = "github";
	s.outbox.why = "status 500\x1b[m";
	assert_string_equal(only(&s, HEALTH_OUTBOX_STUCK)->reason,
			    "2 reports wait, 0 of them refused; the oldest for 1d00h: "
			    "github: status 500?[m");
	s.outbox.late_s = 2 * 86400;
	nothing(&s);
	s.outbox.refused = 1;
	(void)only(&s, HEALTH_OUTBOX_STUCK);
}

static void a_disk_is_low(void **state)
{
	struct health_service s = {.now = NOW};

	(void)state;
	s.disk.known = true;
	s.disk.reserve = GIB;
	s.disk.free = 2 * GIB;
	nothing(&s);
	s.disk.free--;
	assert_int_equal(only(&s, HEALTH_DISK_LOW)->severity, HEALTH_WARNING);
	s.disk.free = GIB - 1;
	assert_int_equal(only(&s, HEALTH_DISK_LOW)->severity, HEALTH_ERROR);
	s.disk.known = false;
	nothing(&s);
}

static void shards_that_never_came_back(void **state)
{
	struct health_service s = {.now = NOW,
				   .fleet = {.round = 7, .due = NOW - 3601, .shards = 8}};

	(void)state;
	nothing(&s);
	s.fleet.lost = 2;
	assert_string_equal(only(&s, HEALTH_SHARD_LOST)->reason,
			    "2 of 8 shards of round 7 never came back; the round was due to end "
			    "1h00m ago");
	s.fleet.over = true;
	assert_string_equal(only(&s, HEALTH_SHARD_LOST)->reason,
			    "2 of 8 shards of round 7 never came back; the round has ended");
}

static void runs_and_triggers(void **state)
{
	struct health_service s = {.now = NOW, .lost_run = "20261122-190000"};

	(void)state;
	assert_string_equal(only(&s, HEALTH_RUN_LOST)->reason,
			    "the last run (20261122-190000) did not come to its end");
	s.lost_left = true;
	assert_string_equal(only(&s, HEALTH_RUN_LOST)->reason,
			    "the last run (20261122-190000) did not come to its end; what it left "
			    "is not saved yet");
	s.lost_run = NULL;
	s.trigger.fetch_failures = 3;
	s.trigger.fetch_since = NOW - 3600;
	nothing(&s);
	s.trigger.fetch_since--;
	s.trigger.why = "no route";
	assert_string_equal(only(&s, HEALTH_TRIGGER_FAILING)->reason,
			    "fetching failed 3 times, for 1h00m: no route");
	s.trigger.fetch_failures = 2;
	nothing(&s);
	s.trigger.run_failures = 1;
	(void)only(&s, HEALTH_TRIGGER_FAILING);
}

static void files_and_names(void **state)
{
	struct health_service s = {.now = NOW, .damaged = "trigger.json.damaged", .damaged_n = 1};

	(void)state;
	assert_string_equal(only(&s, HEALTH_DAMAGED)->reason,
			    "1 damaged file of the state was set aside: trigger.json.damaged");
	s.unreadable.is = HEALTH_ERROR;
	s.unreadable.why = "known_crashes.json: gone\x1b";
	assert_string_equal(only(&s, HEALTH_DAMAGED)->reason, "known_crashes.json: gone?");
	assert_int_equal(judged.v[0].severity, HEALTH_ERROR);
	s.unreadable.is = HEALTH_OK;
	s.damaged_n = 0;
	s.unknown = "png_*";
	s.unknown_n = 2;
	assert_string_equal(only(&s, HEALTH_NAME_UNKNOWN)->reason,
			    "2 names in the configuration match no target: targets.\"png_*\", ...");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_facts_give_no_finding),
    cmocka_unit_test(an_outbox_is_stuck),
    cmocka_unit_test(a_disk_is_low),
    cmocka_unit_test(shards_that_never_came_back),
    cmocka_unit_test(runs_and_triggers),
    cmocka_unit_test(files_and_names),
};

UNIT_MAIN(tests)
