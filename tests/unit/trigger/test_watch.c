/* SPDX-License-Identifier: Apache-2.0 */
/* A trigger's behaviour over hand-made days, and its single rules. */
#include "tests/unit/unit.h"

#include "tests/unit/trigger/world.h"

/* --- two hand-made days -------------------------------------------------------------- */

static const unsigned minutes[] = {0,	 1,    29,   31,   119,	 121,  240,  241,  300,	 360,
				   500,	 501,  502,  720,  900,	 1439, 1440, 1441, 1600, 1700,
				   1701, 1900, 2100, 2101, 2160, 2300, 2500, 2600, 2700, 2800};

static void at_minutes(struct world *o)
{
	uint64_t passed = o->t - 20000 * HOUR;

	for (size_t i = o->head; i < sizeof(minutes) / sizeof(minutes[0]); i++)
		if (passed >= minutes[i] * MINUTE && o->head == i)
			push(o);
}

static void test_two_days(void **state)
{
	static struct world o;

	(void)state;
	world_begin(&o, 1);
	days(&o, 48, at_minutes);
	days(&o, 12, NULL);
	assert_int_equal(number(o.done), o.head); /* the last push was fuzzed completely */
	for (unsigned i = 1; i <= o.head; i++)
		assert_true(o.started[i] - o.pushed[i] <= INTERVAL + TICK + SLACK);
	assert_true(o.n_starts >= 12 && o.n_starts <= 25);
}

/* A push after a long pause starts a run at the next check. */
static void test_at_once(void **state)
{
	static struct world o;

	(void)state;
	world_begin(&o, 2);
	days(&o, 10, NULL);
	assert_int_equal(o.n_starts, 0);
	push(&o);
	days(&o, 1, NULL);
	assert_int_equal(o.n_starts, 1);
	assert_true(o.started[1] - o.pushed[1] <= TICK + SLACK);
	days(&o, 40, NULL); /* and no further run */
	assert_int_equal(o.n_starts, 1);
	assert_int_equal(number(o.done), 1);
}

static void catch_up(bool boots)
{
	static struct world o;

	world_begin(&o, 3);
	push(&o);
	days(&o, 1, NULL);
	o.up = false;
	days(&o, 5, NULL);
	push(&o);
	days(&o, 20, NULL);
	push(&o);
	if (boots) {
		o.boots++;
		o.boot_t = o.t;
	}
	o.disturbed_at = o.t;
	begin(&o);
	days(&o, 1, NULL); /* no wait for the interval: the last start was long ago */
	assert_int_equal(o.n_starts, 2);
	assert_true(o.started[3] - o.disturbed_at <= SLACK);
}

static void test_catch_up(void **state)
{
	(void)state;
	catch_up(false);
	catch_up(true);
}

/* --- failures -------------------------------------------------------------------------- */

static void test_failing(void **state)
{
	static struct world o;
	unsigned n;

	(void)state;
	world_begin(&o, 4);
	push(&o);
	o.bad = 1;
	days(&o, 48, NULL);
	assert_true(o.n_starts >= 4 && o.n_starts <= 6); /* 0, 2, 6, 14, 30 hours */
	for (unsigned i = 1; i < o.n_starts; i++)
		assert_true(o.starts[i] - o.starts[i - 1] >= INTERVAL << (i - 1));
	assert_string_equal(o.done, "");
	assert_int_equal(o.w.rec.failures, o.n_starts);
	/* A fix does not wait for the backoff of the commit that it fixes. */
	n = o.n_starts;
	push(&o);
	days(&o, 3, NULL);
	assert_int_equal(o.n_starts, n + 1);
	days(&o, 6, NULL);
	assert_int_equal(number(o.done), 2);
	assert_int_equal(o.w.rec.failures, 0);
}

/* --- single rules ---------------------------------------------------------------------- */

static const struct watch_holder no_holder;

static struct watch_act next(struct world *o, const struct watch_holder *h)
{
	struct moment m = now(o);
	struct watch_act a;

	watch_next(&o->w, &m, h, &a);
	return a;
}

static void test_blocked(void **state)
{
	static struct world o;
	struct checkout c = {.kind = CHECKOUT_OK, .blocked = "dirty"};
	struct moment m;

	(void)state;
	world_begin(&o, 8);
	assert_int_equal(next(&o, &no_holder).what, WATCH_POLL);
	assert_false(watch_rests(&o.w));
	name(1, c.head);
	m = now(&o);
	watch_polled(&o.w, &m, &c);
	assert_int_equal(next(&o, &no_holder).what, WATCH_WAIT);
	assert_true(watch_rests(&o.w));
	o.t += TICK; /* the next check finds the tree clean */
	assert_int_equal(next(&o, &no_holder).what, WATCH_POLL);
	*c.blocked = '\0';
	m = now(&o);
	watch_polled(&o.w, &m, &c);
	assert_int_equal(next(&o, &no_holder).what, WATCH_UPDATE);
	/* The result of the update counts, too. */
	snprintf(c.blocked, sizeof(c.blocked), "in the way");
	assert_false(watch_updated(&o.w, &m, &c));
	assert_int_equal(next(&o, &no_holder).what, WATCH_WAIT);
	assert_string_equal(o.w.blocked, "in the way");
}

static void test_retries(void **state)
{
	static struct world o;
	struct checkout c = {.kind = CHECKOUT_NETWORK, .why = "no \x1b[31m route"};
	uint64_t waits[12];
	struct moment m;

	(void)state;
	world_begin(&o, 9);
	for (unsigned i = 0; i < 12; i++) {
		struct watch_act a = next(&o, &no_holder);

		assert_int_equal(a.what, WATCH_POLL);
		m = now(&o);
		watch_polled(&o.w, &m, &c);
		a = next(&o, &no_holder);
		assert_int_equal(a.what, WATCH_WAIT);
		assert_int_equal(watch_rests(&o.w), i >= 3);
		waits[i] = a.wait_us;
		o.t += a.wait_us;
	}
	assert_true(waits[0] == 15 * SECOND && waits[1] == 30 * SECOND && waits[11] == TICK);
	assert_int_equal(o.w.rec.fetch_failures, 12);
	assert_string_equal(o.w.rec.fetch_error, "no ?[31m route");
	assert_true(o.w.rec.fetch_failing.known);
	/* The user has to act: tried again only at the next tick. */
	assert_int_equal(next(&o, &no_holder).what, WATCH_POLL);
	c.kind = CHECKOUT_BROKEN;
	m = now(&o);
	watch_polled(&o.w, &m, &c);
	assert_true(next(&o, &no_holder).wait_us == TICK);
	assert_true(watch_rests(&o.w));
}

/* A commit that was seen before is fuzzed even while the remote is unreachable. */
static void test_known_head(void **state)
{
	static struct world o;

	(void)state;
	world_begin(&o, 10);
	push(&o);
	days(&o, 1, NULL);
	push(&o);
	days(&o, 1, NULL); /* seen; the interval has not ended */
	assert_int_equal(o.n_starts, 1);
	o.away = true;
	o.away_until = UINT64_MAX;
	days(&o, 1, NULL);
	assert_int_equal(o.n_starts, 2);
	assert_int_equal(number(o.w.rec.commit), 2);
}

static void test_others_run(void **state)
{
	static const struct watch_holder others = {.locked = true};
	static struct world o;
	struct checkout c = {.kind = CHECKOUT_OK};
	struct moment m;

	(void)state;
	world_begin(&o, 11);
	o.w.forced = true;
	assert_int_equal(next(&o, &others).what, WATCH_POLL);
	name(1, c.head);
	m = now(&o);
	watch_polled(&o.w, &m, &c);
	assert_int_equal(next(&o, &others).what, WATCH_WAIT); /* a user's run is not stopped */
	assert_int_equal(next(&o, &no_holder).what, WATCH_UPDATE);
	assert_true(watch_updated(&o.w, &m, &c));
	watch_starts(&o.w, &m);
	assert_false(o.w.forced);
	/* Another process took the lock first: this is neither a start nor a failure. */
	watch_ended(&o.w, &m, END_REFUSED, "locked", "");
	assert_false(o.w.rec.start.known);
	assert_int_equal(o.w.rec.failures, 0);
	assert_int_equal(next(&o, &no_holder).what, WATCH_WAIT); /* for a minute */
	o.t += MINUTE;
	assert_int_equal(next(&o, &no_holder).what, WATCH_POLL);
}

/* A fuzzed commit stays done, whatever a user runs later; a commit that a user ran is done, too. */
static void test_by_hand(void **state)
{
	static struct world o;
	struct moment m;
	struct due d;

	(void)state;
	world_begin(&o, 13);
	push(&o);
	days(&o, 8, NULL);
	assert_int_equal(o.w.rec.outcome, OUTCOME_DONE);
	name(40, o.w.done);
	m = now(&o);
	watch_decide(&o.w, &m, &no_holder, &d);
	assert_int_equal(d.what, DUE_NOTHING);
	name(2, o.w.rec.head);
	watch_decide(&o.w, &m, &no_holder, &d);
	assert_int_equal(d.what, DUE_START);
	name(2, o.w.done);
	watch_decide(&o.w, &m, &no_holder, &d);
	assert_int_equal(d.what, DUE_NOTHING);
}

static enum outcome end_again(struct world *o, bool stopped, enum watch_end how)
{
	struct moment m = now(o);

	o->w.forced = true;
	watch_starts(&o->w, &m);
	o->w.stopping = stopped;
	watch_ended(&o->w, &m, how, "over", o->done);
	return o->w.rec.outcome;
}

/* The outcome of a forced run does not depend on whether its commit was done before. */
static void test_again(void **state)
{
	static struct world o;
	struct moment m;
	struct due d;

	(void)state;
	world_begin(&o, 14);
	push(&o);
	days(&o, 8, NULL);
	assert_int_equal(o.w.rec.outcome, OUTCOME_DONE);
	assert_int_equal(end_again(&o, false, END_FAILED), OUTCOME_FAILED);
	assert_int_equal(o.w.rec.failures, 1);
	assert_int_equal(end_again(&o, true, END_FAILED), OUTCOME_STOPPED);
	assert_int_equal(end_again(&o, true, END_WELL), OUTCOME_STOPPED);
	assert_int_equal(end_again(&o, false, END_REFUSED), OUTCOME_STOPPED);
	/* The commit was fuzzed: it is not asked for again. */
	m = now(&o);
	watch_decide(&o.w, &m, &no_holder, &d);
	assert_int_equal(d.what, DUE_NOTHING);
	assert_int_equal(end_again(&o, false, END_WELL), OUTCOME_DONE);
	assert_int_equal(o.w.rec.failures, 0);
}

static void test_asleep(void **state)
{
	static struct world o;
	struct moment m;

	(void)state;
	world_begin(&o, 12);
	push(&o);
	while (o.n_starts == 0)
		step(&o);
	o.w.asleep = true;
	assert_int_equal(next(&o, &no_holder).what, WATCH_STOP);
	assert_int_equal(next(&o, &no_holder).what, WATCH_WAIT); /* asked once */
	m = now(&o);
	watch_ended(&o.w, &m, END_FAILED, "signal 9 ended it", "");
	assert_int_equal(o.w.rec.outcome, OUTCOME_STOPPED); /* not the commit's fault */
	assert_int_equal(o.w.rec.failures, 0);
	o.t += 10 * HOUR;
	assert_int_equal(next(&o, &no_holder).what, WATCH_WAIT);
}

static const struct CMUnitTest tests[] = {
    CASE(test_two_days), CASE(test_at_once), CASE(test_catch_up),   CASE(test_failing),
    CASE(test_blocked),	 CASE(test_retries), CASE(test_known_head), CASE(test_others_run),
    CASE(test_asleep),	 CASE(test_by_hand), CASE(test_again),
};

UNIT_MAIN(tests)
