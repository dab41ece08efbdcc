/* SPDX-License-Identifier: Apache-2.0 */
/* The reproducers that are minimised, the time for it, and the records for later runs. */
#include "tests/unit/unit.h"

#include "base/fs.h"
#include "runner/crash/ledger/input.h"

#include <fcntl.h>

#include "tests/unit/run/triage.h"

#define SECOND USEC_PER_SEC

/* The name of the simulated report. */
static const char *signature(void)
{
	static char name[CRASH_KEY_HEX];
	struct crash_options o = {.target = "t"};
	struct crash_report r;

	crash_parse(slice_of(report), &o, &r);
	memcpy(name, r.signature, sizeof(name));
	crash_report_done(&r);
	return name;
}

/* A crash of this name, with an input, seen by the last run. */
static void put_crash(const char *sig, const char *run, const char *input)
{
	char dir[64], path[80];
	struct crash_sighting s = {.signature = sig,
				   .target = "t",
				   .run = run,
				   .commit = "c1",
				   .time = 5,
				   .crash_type = "T",
				   .crash_file = path,
				   .input_bytes = strlen(input),
				   .tries = 3,
				   .hits = 3};
	struct ledger *l = ledger();
	struct ledger_noted n;

	snprintf(dir, sizeof(dir), "crashes/%s", sig);
	snprintf(path, sizeof(path), "%s/input", dir);
	put(dir, "input", input);
	OK(ledger_note(l, &s, &n, e));
	OK(ledger_save(l, play.dir.fd, e));
	ledger_free(l);
}

static void minimise(void)
{
	play.needs = "BUG";
	if (!play.minimize_us)
		play.minimize_us = 4 * SECOND; /* too little for the engine */
	triage("t", TRIAGE_MINIMISE);
}

/* small: its minimised input; NULL: none. */
static void expect(const char *sig, bool ended, const char *small)
{
	struct ledger *l = ledger();
	const struct known_crash *c = ledger_find(l, sig);

	assert_non_null(c);
	assert_int_equal(c->minimize_ended, ended);
	assert_int_equal(*c->minimized != '\0', small != NULL);
	if (small) {
		_autofree_ char *text = NULL;
		size_t n;

		OK(fs_read(play.dir.fd, c->minimized, 100, &text, &n, e));
		assert_int_equal(n, strlen(small));
		assert_memory_equal(text, small, n);
		OK(ledger_input_check_all(play.dir.fd, c, e));
	}
	ledger_free(l);
}

static void an_earlier_run_had_no_time(void **state)
{
	(void)state;
	put_crash(signature(), "r1", "much before BUG and after it");
	minimise(); /* a triage by the user is for the last run */
	assert_int_equal(play.replays, 0);
	play.minimise_old = true;
	minimise();
	assert_string_equal(play.first, "much before BUG and after it");
	assert_int_equal(play.sum.minimised, 1);
	expect(signature(), true, "BUG");
	minimise();
	assert_int_equal(play.replays, 0);
}

/* In a build without the failure it is unknown whether the input is minimal. */
static void an_input_that_passes_here_waits(void **state)
{
	struct ledger *l;

	(void)state;
	put_crash(signature(), "r1", "this build has no such crash");
	play.minimise_old = true;
	minimise();
	assert_int_equal(play.replays, 1);
	expect(signature(), false, NULL);
	l = ledger();
	assert_int_equal(ledger_find(l, signature())->minimize_ms, 0);
	ledger_free(l);
}

static void what_the_end_cuts_off_goes_on_later(void **state)
{
	struct ledger *l;

	(void)state;
	put_crash(signature(), play.run, "a long one: 0123456789 0123456789 BUG 0123456789");
	play.takes_us = 20 * USEC_PER_MSEC;
	play.budget_us = 150 * USEC_PER_MSEC;
	minimise();
	l = ledger();
	assert_false(ledger_find(l, signature())->minimize_ended);
	assert_in_range(ledger_find(l, signature())->minimize_ms, 1, 60000);
	ledger_free(l);
	play.run = "20240501-113000";
	play.minimise_old = true;
	play.takes_us = play.budget_us = 0;
	minimise();
	expect(signature(), true, "BUG");
}

/* minimize_time is for all runs together. */
static void its_time_is_used_up(void **state)
{
	(void)state;
	put_crash(signature(), play.run, "a long one: 0123456789 0123456789 BUG 0123456789");
	play.takes_us = 50 * USEC_PER_MSEC;
	play.minimize_us = 300 * USEC_PER_MSEC;
	minimise();
	assert_in_range(play.replays, 1, 7);
	play.takes_us = 0;
	minimise();
	assert_int_equal(play.replays, 0);
}

static void an_input_that_cannot_be_read_ends_it(void **state)
{
	char path[80];

	(void)state;
	put_crash(signature(), "r1", "BUG");
	snprintf(path, sizeof(path), "crashes/%s/input", signature());
	assert_int_equal(unlinkat(play.dir.fd, path, 0), 0);
	play.minimise_old = true;
	minimise();
	assert_int_equal(play.replays, 0);
	expect(signature(), true, NULL);
}

static void this_run_comes_first(void **state)
{
	(void)state;
	put_crash("0000000000000001", "r1", "old BUG");
	put_crash(signature(), play.run, "new BUG");
	play.minimise_old = true;
	minimise();
	assert_string_equal(play.first, ""); /* of an old crash the first is its own input */
	expect(signature(), true, "BUG");
}

static const struct CMUnitTest tests[] = {
    CASE(an_earlier_run_had_no_time),		CASE(an_input_that_passes_here_waits),
    CASE(what_the_end_cuts_off_goes_on_later),	CASE(its_time_is_used_up),
    CASE(an_input_that_cannot_be_read_ends_it), CASE(this_run_comes_first),
};

UNIT_MAIN(tests)
