/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/policy/turns.h"
#include "tests/unit/policy/fleet.h"

/* --- equal shares of the remaining time ----------------------------------------- */

/* Runs n targets on the workers until `left` is over; each takes its full turn.  Returns the
 * shortest turn, and the idle time of the workers. */
static uint64_t play(unsigned workers, size_t n, uint64_t left, uint64_t max, uint64_t *ret_idle)
{
	uint64_t free_at[16] = {0}, least = UINT64_MAX, busy = 0;

	for (size_t waiting = n; waiting > 0; waiting--) {
		unsigned w = 0;
		uint64_t b;

		for (unsigned i = 1; i < workers; i++)
			if (free_at[i] < free_at[w])
				w = i;
		b = turns_fair(max, left - free_at[w], workers, waiting);
		assert_true(b <= max);
		assert_true(free_at[w] + b <= left);
		least = b < least ? b : least;
		free_at[w] += b;
		busy += b;
	}
	*ret_idle = left * workers - busy;
	return least;
}

/* Each target gets a turn, at least half of an equal share, and no worker is idle while a target
 * could use it. */
static void equal_parts_leave_no_worker_idle(void **state)
{
	const uint64_t left = UINT64_C(7200000000);

	(void)state;
	for (unsigned workers = 1; workers <= 16; workers++)
		for (size_t n = 1; n <= 100; n++) {
			uint64_t idle, share = left / (n > workers ? n : workers) * workers;
			uint64_t least = play(workers, n, left, UINT64_MAX, &idle);

			if (least < share / 2 || (n >= workers && idle > left / 1000))
				fail_msg("%u workers, %zu targets: %llu of %llu, idle %llu",
					 workers, n, (unsigned long long)least,
					 (unsigned long long)share, (unsigned long long)idle);
		}
}

static void equal_parts(void **state)
{
	static const struct {
		uint64_t max, left;
		unsigned workers;
		size_t waiting;
		uint64_t want;
	} t[] = {
	    {1000, 500, 1, 1, 500}, /* alone: all the remaining time */
	    {300, 500, 1, 1, 300},  /* never more than its own limit */
	    {1000, 900, 1, 3, 300}, /* equal shares */
	    {1000, 900, 2, 2, 900}, /* as many workers as targets */
	    {1000, 900, 4, 2, 900}, /* more workers than targets */
	    {1000, 900, 2, 4, 450}, /* two rounds */
	    {100, 900, 2, 4, 100},  /* short turns need no share */
	    {1000, 0, 1, 3, 0},	    /* the end */
	    {0, 900, 1, 1, 0},	    /* used up */
	    {1000, 500, 1, 0, 500}, {UINT64_MAX, UINT64_MAX, 3, 5, UINT64_MAX / 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_int_equal(turns_fair(t[i].max, t[i].left, t[i].workers, t[i].waiting),
				 t[i].want);
}

/* --- a run with an end ----------------------------------------------------------- */

static void set(struct sim *m, uint64_t turn_us, uint64_t run_us, uint64_t gone_us)
{
	struct turns t = {.turn_us = turn_us,
			  .began_us = m->now - gone_us,
			  .deadline_us = run_us ? m->now - gone_us + run_us : 0};

	turns_set(&m->f, &t, m->now, m->workers);
}

/* A well-known build, with no expected gain. */
static void make_known(struct fleet_target *t)
{
	t->known = true;
	t->edges_total = 5000;
	curve_begin(&t->curve, 4990);
	curve_spend(&t->curve, 100000 * S, t->rule.burst_us);
}

static void lengths(void **state)
{
	static const struct {
		uint64_t turn_us, run_us;
		unsigned workers;
		uint64_t slice_us;
	} v[] = {
	    {300 * S, 0, 2, 300 * S},	      /* no deadline */
	    {300 * S, 14400 * S, 2, 300 * S}, /* at most the configured turn */
	    {300 * S, 3600 * S, 2, 225 * S},  /* a quarter of an equal share */
	    {300 * S, 600 * S, 2, 37500000},
	    {300 * S, 80 * S, 2, 10 * S}, /* at least ten seconds */
	    {300 * S, 20 * S, 2, 5 * S},  /* but no more than a share */
	    {300 * S, 2 * S, 1, S},	  /* and at least one second */
	    {4 * S, 600 * S, 2, 4 * S},
	};
	struct sim m;

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		begin(&m, v[i].workers, MOST, grows);
		for (size_t k = 0; k < MOST; k++)
			m.v[k].turn_began_us = 1;
		set(&m, v[i].turn_us, v[i].run_us, 0);
		assert_int_equal(m.f.rules.turn_us, v[i].slice_us);
		assert_int_equal(m.f.rules.turn_wall_us, 3 * v[i].slice_us);
		assert_int_equal(m.f.rules.rule_after_us, v[i].slice_us / 5);
		assert_int_equal(m.f.rules.fresh_us, v[i].slice_us / 5);
	}
}

/* Runs for run_s; the turns are set each second. */
static void whole_run(struct sim *m, unsigned run_s)
{
	for (unsigned s = 0; s < run_s; s++) {
		set(m, 300 * S, run_s * S, s * S);
		(void)run(m, 1);
	}
}

/* Facts from earlier runs decide from the first second. */
static void known_builds_compete_from_the_start(void **state)
{
	struct sim m;

	(void)state;
	begin(&m, 1, 4, nothing);
	for (size_t i = 0; i < 4; i++)
		make_known(&m.v[i]);
	m.edges[3] = grows;
	curve_begin(&m.v[3].curve, 100);
	curve_spend(&m.v[3].curve, 600 * S, m.v[3].rule.burst_us);
	for (unsigned s = 0; s < 300; s++) {
		set(&m, 300 * S, 600 * S, s * S);
		(void)run(&m, 1);
	}
	assert_true(m.v[3].spent_us >= 250 * S); /* the floor may have chosen other targets */
}

static void check_turns(unsigned workers, unsigned run_s, size_t known)
{
	uint64_t share_us = run_s * S * workers / MOST;
	struct sim m;

	begin(&m, workers, MOST, grows);
	for (size_t i = 0; i < known; i++) {
		make_known(&m.v[i]);
		m.v[i].rule.kind = RULE_NONE;
		m.edges[i] = nothing;
	}
	whole_run(&m, run_s);
	for (size_t i = 0; i < MOST; i++)
		if (m.v[i].clock.wall_us + 2 * S < share_us / 16)
			fail_msg("%u workers, %u s, %zu known: %zu had %llu us", workers, run_s,
				 known, i, (unsigned long long)m.v[i].clock.wall_us);
}

/* Whatever gain is expected, a run proves for each target that it still fuzzes. */
static void each_target_has_a_turn_before_the_end(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++)
		for (unsigned run_s = 16; run_s <= 4000; run_s = run_s * 3 / 2)
			for (size_t known = 0; known <= MOST; known += 2)
				check_turns(workers, run_s, known);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(equal_parts),
    cmocka_unit_test(equal_parts_leave_no_worker_idle),
    cmocka_unit_test(lengths),
    cmocka_unit_test(known_builds_compete_from_the_start),
    cmocka_unit_test(each_target_has_a_turn_before_the_end),
};

UNIT_MAIN(tests)
