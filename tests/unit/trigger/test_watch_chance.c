/* SPDX-License-Identifier: Apache-2.0 */
/* A trigger's days with random events, and their invariants. */
#include "tests/unit/unit.h"

#include "tests/unit/trigger/world.h"

/* --- random events ------------------------------------------------------------------------ */

static void disturb(struct world *o)
{
	o->disturbed_at = o->t;
}

static void maybe_push(struct world *o)
{
	static const unsigned each[] = {20, 90, 400, 1200}; /* minutes between two events */

	if (o->head + 1 < PUSHES && dice(o, each[o->kind] * MINUTE / STEP) == 0)
		push(o);
	if (dice(o, 12 * HOUR / STEP) == 0)
		o->bad = o->head + (unsigned)dice(o, 2);
}

static void kill_it(struct world *o)
{
	o->up = false;
	o->up_at = o->t + (dice(o, 3) ? 0 : dice(o, 3 * HOUR));
}

static void boot(struct world *o)
{
	kill_it(o);
	o->run_lives = false;
	o->boots++;
	o->boot_t = o->t;
	if (dice(o, 2)) /* a clock without a battery; a clock ahead of time cannot be detected */
		o->wrong -= (int64_t)dice(o, 100 * HOUR);
}

/* While the machine is up, its clock may be set to any time. */
static void set_clock(struct world *o)
{
	o->set_at = o->t;
	o->wrong = (int64_t)dice(o, 400 * HOUR) - (int64_t)(200 * HOUR);
}

static void everything(struct world *o)
{
	maybe_push(o);
	if (!o->up) {
		disturb(o);
		if (o->t >= o->up_at)
			begin(o);
		return;
	}
	if (dice(o, 7 * HOUR / STEP) == 0)
		kill_it(o);
	else if (dice(o, 15 * HOUR / STEP) == 0 && o->t > o->set_at + 2 * MINUTE)
		boot(o); /* a clock set just before cannot be detected */
	else if (dice(o, 6 * HOUR / STEP) == 0)
		set_clock(o);
	if (!o->away && dice(o, 10 * HOUR / STEP) == 0) {
		o->away = true;
		o->away_until = o->t + dice(o, 4 * HOUR);
	}
}

static void test_by_chance(void **state)
{
	static struct world o;
	unsigned starts = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 120; seed++) {
		world_begin(&o, seed);
		o.kind = seed % 4;
		days(&o, 48, everything);
		/* The last push is fuzzed once there are no more events, unless its runs fail. */
		if (!o.up)
			begin(&o);
		o.away = false;
		o.bad = 0;
		disturb(&o);
		days(&o, 40, NULL);
		if (number(o.done) != o.head)
			fail_msg("seed %u: %u is done of %u", (unsigned)seed, number(o.done),
				 o.head);
		starts += o.n_starts;
	}
	assert_true(starts > 500);
}

/* kill -9 at every moment around a start: never two starts within the interval. */
static void test_killed_around_start(void **state)
{
	static struct world o;

	(void)state;
	for (unsigned at = 0; at < 60; at++) {
		world_begin(&o, 7);
		push(&o);
		for (unsigned i = 0; i < at; i++)
			step(&o);
		o.run_lives = o.run_lives && at % 2; /* the run may die, too */
		begin(&o);
		disturb(&o);
		days(&o, 30, NULL);
		assert_int_equal(number(o.done), 1);
	}
}

static const struct CMUnitTest tests[] = {
    CASE(test_by_chance),
    CASE(test_killed_around_start),
};

UNIT_MAIN(tests)
