/* SPDX-License-Identifier: Apache-2.0 */
/* Timeouts that were reported while other processes had the CPU, and current inputs of targets that
 * did not stop when asked. */
#include "tests/unit/unit.h"

#include "tests/unit/run/triage.h"

#define SHA1	"0123456789012345678901234567890123456789"
#define TIMEOUT "timeout-" SHA1
#define OOM	"oom-" SHA1
#define SLOW	"slow-unit-" SHA1

static const char timeout_text[] = "==1== ERROR: libFuzzer: timeout after 30 seconds\n"
				   "    #0 0x55f05ce92  (/target/t+0x5ce92)\n"
				   "SUMMARY: libFuzzer: timeout\n";

/* An artifact of a cell that waited for this share of its time. */
static void found(const char *artifact, double starved)
{
	struct kept k = {.run = "20240401-000000",
			 .commit = "c0",
			 .time = 1711929600,
			 .starved = starved,
			 .text = slice_of(timeout_text)};
	_autoclose_ int queue = -1;

	put("triage/a", artifact, "S");
	OK(fs_open_dir(play.dir.fd, "triage/a", &queue, e));
	OK(kept_write(queue, artifact, &k, e));
}

static size_t known_crashes(void)
{
	struct ledger *l = ledger();
	size_t n = ledger_count(l);

	ledger_free(l);
	return n;
}

static void expect_dismissed(void)
{
	assert_true(play.replays >= 3);
	assert_int_equal(play.sum.dismissed, 1);
	assert_int_equal(play.sum.artifacts, 1);
	assert_int_equal(play.sum.found, 0);
	assert_int_equal(play.sum.left, 0);
	assert_string_equal(play.sum.note, "");
	assert_false(has("triage/a/" TIMEOUT) || has("triage/a/.report-" TIMEOUT));
}

static void found_by_a_starved_cell_it_is_dropped(void **state)
{
	(void)state;
	found(TIMEOUT, 0.2);
	triage("a", TRIAGE_QUEUE);
	expect_dismissed();
}

/* The finding cell was not starved, but a replay needed more time. */
static void tried_on_a_busy_machine_it_is_dropped(void **state)
{
	(void)state;
	found(TIMEOUT, 0);
	play.starved = true;
	triage("a", TRIAGE_QUEUE);
	expect_dismissed();
}

/* No load slowed the cell down: the timeout is rare, but no effect of the load. */
static void found_by_a_calm_cell_it_is_noted(void **state)
{
	(void)state;
	found(TIMEOUT, 0.19);
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.sum.dismissed, 0);
	assert_int_equal(play.sum.found, 1);
	assert_int_equal(known_crashes(), 1);
}

static void what_fails_when_tried_is_noted(void **state)
{
	(void)state;
	found(TIMEOUT, 0.9);
	play.fails = "a";
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.sum.dismissed, 0);
	assert_int_equal(play.sum.found, 1);
}

/* A lack of CPU time is no excuse for this failure. */
static void other_failures_are_not_the_machines(void **state)
{
	(void)state;
	found(OOM, 0.9);
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.sum.dismissed, 0);
	assert_int_equal(play.sum.found, 1);
}

/* A known timeout is replayed all the same: this time the load may be the cause. */
static void a_known_one_is_not_counted_unseen(void **state)
{
	(void)state;
	found(TIMEOUT, 0);
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.sum.found, 1);
	found(TIMEOUT, 0);
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.replays, 0);
	assert_int_equal(play.sum.artifacts, 1);
	found(TIMEOUT, 0.5);
	triage("a", TRIAGE_QUEUE);
	expect_dismissed();
	assert_int_equal(known_crashes(), 1);
}

/* The artifact stays in the queue, and the next one is triaged. */
static void an_artifact_without_result_waits(void **state)
{
	(void)state;
	found(OOM, 0);
	found(TIMEOUT, 0.9);
	play.busy = true;
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.replays, 2);
	assert_int_equal(play.sum.left, 2);
	assert_int_equal(play.sum.undecided, 2);
	assert_int_equal(play.sum.artifacts, 0);
	assert_string_equal(play.sum.note, "too busy");
	assert_true(has("triage/a/" TIMEOUT) && has("triage/a/.report-" TIMEOUT));
	play.busy = false;
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.sum.left, 0);
	assert_int_equal(play.sum.undecided, 0);
	assert_int_equal(play.sum.dismissed, 1);
}

/* An input without enough time to fail has not passed. */
static void nothing_is_fixed_by_a_busy_machine(void **state)
{
	struct ledger *l;
	char signature[LEDGER_SIGNATURE_MAX + 1];

	(void)state;
	found(TIMEOUT, 0);
	play.fails = "a";
	play.commit = "c1";
	triage("a", TRIAGE_QUEUE);
	l = ledger();
	assert_int_equal(ledger_count(l), 1);
	snprintf(signature, sizeof(signature), "%s", ledger_at(l, 0)->signature);
	ledger_free(l);
	play.fails = NULL;
	play.commit = "c2";
	play.busy = true;
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.replays, 1);
	assert_int_equal(play.sum.fixed, 0);
	assert_string_equal(play.sum.note, "too busy");
	expect_state(signature, LEDGER_NEW);
	play.busy = false;
	triage("a", TRIAGE_CHECK);
	assert_int_equal(play.sum.fixed, 1);
	expect_state(signature, LEDGER_FIXED);
}

static void current_input_that_passes_is_no_crash(void **state)
{
	(void)state;
	put("triage/a", SLOW, "S");
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.replays, 1);
	assert_int_equal(play.sum.artifacts, 1);
	assert_int_equal(play.sum.found + play.sum.dismissed + play.sum.overran, 0);
	assert_int_equal(known_crashes(), 0);
	assert_false(has("triage/a/" SLOW));
}

static void current_input_is_not_judged_on_a_busy_machine(void **state)
{
	(void)state;
	put("triage/a", SLOW, "S");
	play.busy = true;
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(known_crashes(), 0);
	assert_true(has("triage/a/" SLOW));
	play.busy = false;
	play.fails = "a";
	play.hangs = true;
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.sum.found, 1);
	assert_int_equal(play.sum.overran, 1);
	assert_int_equal(play.sum.flaky, 0);
	assert_int_equal(play.replays, 3);
	assert_int_equal(known_crashes(), 1);
	assert_false(has("triage/a/" SLOW));
}

static void current_input_that_fails_once_is_flaky(void **state)
{
	(void)state;
	put("triage/a", SLOW, "S");
	play.fails_once = true;
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.sum.found, 1);
	assert_int_equal(play.sum.flaky, 1);
	assert_int_equal(known_crashes(), 1);
}

/* Each replay of an input that hangs takes long. */
static void triage_ends_with_the_first_replay_after_its_time(void **state)
{
	struct ledger *l;

	(void)state;
	put("triage/a", OOM, "S");
	put("triage/a", TIMEOUT, "S");
	play.fails = "a";
	play.hangs = true;
	play.takes_us = USEC_PER_SEC / 10;
	play.budget_us = USEC_PER_SEC / 20;
	triage("a", TRIAGE_QUEUE);
	assert_int_equal(play.replays, 1);
	assert_int_equal(play.sum.found, 1);
	assert_int_equal(play.sum.left, 1);
	l = ledger();
	assert_int_equal(ledger_at(l, 0)->reproduction.hits, 1);
	assert_int_equal(ledger_at(l, 0)->reproduction.tries, 1);
	ledger_free(l);
}

static const struct CMUnitTest tests[] = {
    CASE(current_input_that_passes_is_no_crash),
    CASE(current_input_is_not_judged_on_a_busy_machine),
    CASE(current_input_that_fails_once_is_flaky),
    CASE(triage_ends_with_the_first_replay_after_its_time),
    CASE(found_by_a_starved_cell_it_is_dropped),
    CASE(tried_on_a_busy_machine_it_is_dropped),
    CASE(found_by_a_calm_cell_it_is_noted),
    CASE(what_fails_when_tried_is_noted),
    CASE(other_failures_are_not_the_machines),
    CASE(a_known_one_is_not_counted_unseen),
    CASE(an_artifact_without_result_waits),
    CASE(nothing_is_fixed_by_a_busy_machine),
};

UNIT_MAIN(tests)
