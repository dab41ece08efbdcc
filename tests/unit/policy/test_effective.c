/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/policy/effective.h"

#define S UINT64_C(1000000)

/* A simulated cell: its figures are shares of a second, added each second. */
struct cell {
	struct effective_reading r;
	double cpu, system, wait, memory, io, quota;
};

static void begin(struct effective *e, struct cell *c)
{
	c->r = (struct effective_reading){.at_us = c->r.at_us};
	effective_begin(e, c->r.at_us, c->quota);
}

static uint64_t run(struct effective *e, struct cell *c, unsigned seconds)
{
	uint64_t passed = 0;

	for (unsigned i = 0; i < seconds; i++) {
		c->r.at_us += S;
		c->r.usage_us += (uint64_t)(c->cpu * S);
		c->r.system_us += (uint64_t)(c->system * S);
		c->r.cpu_stall_us += (uint64_t)(c->wait * S);
		c->r.memory_stall_us += (uint64_t)(c->memory * S);
		c->r.io_stall_us += (uint64_t)(c->io * S);
		passed += effective_read(e, &c->r);
	}
	return passed;
}

static void it_is_cpu_time(void **state)
{
	struct cell c = {.r.at_us = 77 * S, .cpu = 1};
	struct effective e = {0};

	(void)state;
	begin(&e, &c);
	assert_int_equal(run(&e, &c, 300), 300 * S);
	c.cpu = 0.25;
	c.wait = 0.75;
	assert_int_equal(run(&e, &c, 300), 75 * S);
	assert_int_equal(e.clock_us, 375 * S);
	assert_int_equal(e.usage_us, 375 * S);
	assert_int_equal(e.waited_us, 225 * S);
	assert_int_equal(e.wall_us, 600 * S);
}

/* Starved means less than three quarters of the CPU over a minute: a short wait does not count. */
static void starved_is_over_a_minute(void **state)
{
	struct cell c = {.cpu = 1};
	struct effective e = {0};

	(void)state;
	begin(&e, &c);
	run(&e, &c, 60);
	c.cpu = 0.1;
	c.wait = 0.9;
	run(&e, &c, 10);
	assert_int_equal(e.state, EFFECTIVE_OK);
	run(&e, &c, 30);
	assert_int_equal(e.state, EFFECTIVE_STARVED);
	c.cpu = 1;
	c.wait = 0;
	run(&e, &c, 10);
	assert_int_equal(e.state, EFFECTIVE_STARVED);
	run(&e, &c, 120);
	assert_int_equal(e.state, EFFECTIVE_OK);
	c.cpu = 0.8;
	c.wait = 0.2;
	run(&e, &c, 1000);
	assert_int_equal(e.state, EFFECTIVE_OK);
	assert_in_range((uint64_t)(e.starved * 1000), 190, 210);
}

/* Starvation of a new cell is known in less than a minute, but not after a second. */
static void a_new_one_is_starved_sooner(void **state)
{
	struct cell c = {.cpu = 0.125, .wait = 0.875};
	struct effective e = {0};

	(void)state;
	begin(&e, &c);
	run(&e, &c, 1);
	assert_int_equal(e.state, EFFECTIVE_OK);
	run(&e, &c, 4);
	assert_int_equal(e.state, EFFECTIVE_STARVED);
}

/* A calm minute counts from the end of the trouble; the start counts as calm. */
static void calm_is_counted(void **state)
{
	struct cell c = {.cpu = 1};
	struct effective e = {0};

	(void)state;
	begin(&e, &c);
	run(&e, &c, 1);
	assert_true(e.calm_us >= EFFECTIVE_WINDOW_US);
	c.memory = 0.5;
	run(&e, &c, 1);
	assert_int_equal(e.calm_us, 0);
	c.memory = 0;
	run(&e, &c, 59);
	assert_int_equal(e.calm_us, 59 * S);
	begin(&e, &c); /* another cell of the same target */
	run(&e, &c, 1);
	assert_int_equal(e.calm_us, 60 * S);
}

/* Time lost to its own limit is not lost to other processes. */
static void a_quota_is_no_starvation(void **state)
{
	struct cell c = {.cpu = 0.25, .wait = 0.75, .quota = 0.25};
	struct effective e = {0};

	(void)state;
	begin(&e, &c);
	run(&e, &c, 1000);
	assert_int_equal(e.state, EFFECTIVE_OK);
	assert_true(e.starved < 0.01);
	assert_in_range((uint64_t)(e.throttled * 1000), 740, 760);
	assert_in_range(e.waited_us, 0, S / 10);
	c.cpu = 0.125; /* other processes take half of it */
	c.wait = 0.875;
	run(&e, &c, 1000);
	assert_int_equal(e.state, EFFECTIVE_STARVED);
	assert_in_range((uint64_t)(e.starved * 1000), 490, 510);
	assert_in_range((uint64_t)(e.throttled * 1000), 740, 760);
	c.quota = 0; /* without a quota other processes take all of it */
	begin(&e, &c);
	run(&e, &c, 1000);
	assert_in_range((uint64_t)(e.starved * 1000), 870, 880);
	assert_true(e.throttled < 0.001);
}

/* Frozen, asleep or deadlocked: no usage, no pressure, no progress, no starvation. */
static void a_target_that_holds_still_is_stuck(void **state)
{
	struct cell c = {.cpu = 1};
	struct effective e = {0};

	(void)state;
	begin(&e, &c);
	run(&e, &c, 10);
	c.cpu = 0;
	run(&e, &c, 59);
	assert_int_equal(e.state, EFFECTIVE_OK);
	run(&e, &c, 1);
	assert_int_equal(e.state, EFFECTIVE_STUCK);
	assert_int_equal(e.idle_us, 60 * S);
	assert_int_equal(e.clock_us, 10 * S);
	c.wait = 0.9; /* it is runnable */
	run(&e, &c, 1);
	assert_int_equal(e.idle_us, 0);
	begin(&e, &c);
	assert_int_equal(e.state, EFFECTIVE_OK);
}

/* Without PSI the wait is unknown: the cell is neither starved nor stuck, and its clock goes on. */
static void without_psi_it_is_cpu_time_alone(void **state)
{
	struct cell c = {.cpu = 0.125};
	struct effective e = {0};

	(void)state;
	begin(&e, &c);
	assert_int_equal(run(&e, &c, 600), 75 * S);
	assert_int_equal(e.state, EFFECTIVE_OK);
	assert_true(e.calm_us >= EFFECTIVE_WINDOW_US);
	assert_int_equal(e.idle_us + e.waited_us, 0);
}

/* The cell reads a large corpus from a slow disk. */
static void a_target_that_waits_for_a_disk_is_not_stuck(void **state)
{
	struct cell c = {.cpu = 0.005, .io = 0.9};
	struct effective e = {0};

	(void)state;
	begin(&e, &c);
	run(&e, &c, 300);
	assert_int_equal(e.idle_us, 0);
	assert_int_equal(e.state, EFFECTIVE_OK);
	c.io = 0.1; /* hardly any I/O */
	run(&e, &c, 60);
	assert_int_equal(e.state, EFFECTIVE_STUCK);
}

/* A frozen cell keeps its state, however long it is frozen. */
static void a_freeze_does_not_make_it_calm(void **state)
{
	struct cell c = {.cpu = 0.5, .wait = 0.5};
	struct effective e = {0};

	(void)state;
	begin(&e, &c);
	run(&e, &c, 300);
	c.cpu = c.wait = 0;
	run(&e, &c, 300);
	assert_int_equal(e.state, EFFECTIVE_STUCK);
	assert_int_equal(e.calm_us, 0);
	c.cpu = 1;
	run(&e, &c, 1);
	assert_int_equal(e.state, EFFECTIVE_STARVED);
	run(&e, &c, 120);
	assert_int_equal(e.state, EFFECTIVE_OK);
}

/* The supervisor was suspended for an hour: the cell was not stuck, and whether the machine was
 * oversubscribed is unknown. */
static void without_readings_not_much_is_known(void **state)
{
	struct cell c = {.cpu = 0.5, .wait = 0.5};
	struct effective e = {0};

	(void)state;
	begin(&e, &c);
	run(&e, &c, 300);
	c.r.at_us += 3600 * S;
	c.r.usage_us += S / 100;
	assert_int_equal(effective_read(&e, &c.r), S / 100);
	assert_in_range(e.idle_us, 1, 2 * S);
	assert_int_equal(e.state, EFFECTIVE_STARVED);
	c.cpu = 1;
	c.wait = 0;
	run(&e, &c, 120);
	assert_in_range(e.calm_us, 30 * S, 110 * S);
	c.r.at_us += 3600 * S;
	assert_int_equal(effective_read(&e, &c.r), 0);
	assert_in_range(e.calm_us, 40 * S, 120 * S);
}

static void thrashing_stops_the_clock(void **state)
{
	static const struct {
		double cpu, system, memory;
		bool thrashes;
	} t[] = {
	    {0.5, 0.1, 0.11, true}, /* a tenth of the time stalled on memory */
	    {0.5, 0.1, 0.09, false},
	    {0.5, 0.3, 0.03, true}, /* less, but the kernel has most of the CPU time */
	    {0.5, 0.2, 0.03, false},
	    {0.5, 0.4, 0.01, false}, /* a system-heavy target */
	    {0, 0, 0.05, false},
	    {0, 0, 1, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct cell c = {.cpu = t[i].cpu, .system = t[i].system, .memory = t[i].memory};
		struct effective e = {0};

		begin(&e, &c);
		run(&e, &c, 50);
		assert_int_equal(e.state, t[i].thrashes ? EFFECTIVE_THRASHING : EFFECTIVE_OK);
		assert_int_equal(e.clock_us, t[i].thrashes ? 0 : (uint64_t)(50 * t[i].cpu * S));
		assert_int_equal(e.usage_us, (uint64_t)(50 * t[i].cpu * S));
		c = (struct cell){.r = c.r, .cpu = 1}; /* the pressure is over */
		assert_int_equal(run(&e, &c, 1), S);
		assert_int_equal(e.state, EFFECTIVE_OK);
	}
}

/* No reading counts before the first cell began, or twice at one time. */
static void odd_times_are_nothing(void **state)
{
	struct effective_reading r = {.at_us = 5 * S, .usage_us = 4 * S};
	struct effective e = {0};

	(void)state;
	assert_int_equal(effective_read(&e, &r), 0);
	effective_begin(&e, 5 * S, 0);
	assert_int_equal(effective_read(&e, &r), 0);
	r.at_us = 4 * S;
	assert_int_equal(effective_read(&e, &r), 0);
	assert_int_equal(e.clock_us + e.wall_us, 0);
	r.at_us = 9 * S;
	assert_int_equal(effective_read(&e, &r), 4 * S);
	assert_int_equal(e.wall_us, 4 * S);
}

/* A failed reading (zeros) is no progress, and time after it is not counted twice. */
static void cut_readings_are_no_progress(void **state)
{
	struct effective_reading cut;
	struct cell c = {.cpu = 0.5, .wait = 0.5};
	struct effective e = {0};

	(void)state;
	begin(&e, &c);
	run(&e, &c, 100);
	cut = (struct effective_reading){.at_us = c.r.at_us + S / 2};
	assert_int_equal(effective_read(&e, &cut), 0);
	assert_int_equal(run(&e, &c, 1), S / 2);
	assert_int_equal(e.waited_us, 50 * S + S / 2);
	assert_int_equal(e.wall_us, 101 * S);
	assert_int_equal(e.state, EFFECTIVE_STARVED);
}

static uint64_t rnd(uint64_t *s) /* xorshift64: the same numbers in each run */
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* With any readings the clock never exceeds the CPU time and never runs backwards. */
static void any_reading_is_borne(void **state)
{
	uint64_t seed = 20240229, used = 0, high = 0, before = 0, passed;
	struct effective e = {0};
	struct effective_reading r = {.at_us = 1};

	(void)state;
	effective_begin(&e, r.at_us, 0);
	for (unsigned i = 0; i < 10000; i++) {
		uint64_t odd = rnd(&seed) % 50;

		if (odd == 0) { /* a new cell */
			used += high;
			high = 0;
			r = (struct effective_reading){.at_us = r.at_us + rnd(&seed) % S};
			effective_begin(&e, r.at_us, (double)(rnd(&seed) % 3) / 2);
		}
		r.at_us += rnd(&seed) % (3 * S);
		r.usage_us += rnd(&seed) % (3 * S);
		r.system_us += rnd(&seed) % S;
		r.cpu_stall_us += rnd(&seed) % S;
		r.memory_stall_us += rnd(&seed) % (S / 4);
		if (odd == 1)
			r.usage_us /= 2;
		if (odd == 2)
			r.at_us -= r.at_us / 16;
		if (odd == 3)
			r.memory_stall_us = 0;
		high = r.usage_us > high ? r.usage_us : high;
		passed = effective_read(&e, &r);
		assert_int_equal(before + passed, e.clock_us);
		assert_true(e.clock_us <= used + high);
		assert_true(e.clock_us <= e.usage_us);
		assert_true(e.starved >= 0 && e.starved <= 1);
		before = e.clock_us;
	}
	assert_true(e.clock_us > used / 8); /* the clock advances */
}

static void states_have_names(void **state)
{
	(void)state;
	assert_string_equal(effective_state_name(EFFECTIVE_OK), "ok");
	assert_string_equal(effective_state_name(EFFECTIVE_STARVED), "starved");
	assert_string_equal(effective_state_name(EFFECTIVE_THRASHING), "thrashing");
	assert_string_equal(effective_state_name(EFFECTIVE_STUCK), "stuck");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_is_cpu_time),
    cmocka_unit_test(starved_is_over_a_minute),
    cmocka_unit_test(calm_is_counted),
    cmocka_unit_test(a_quota_is_no_starvation),
    cmocka_unit_test(a_target_that_holds_still_is_stuck),
    cmocka_unit_test(without_psi_it_is_cpu_time_alone),
    cmocka_unit_test(a_target_that_waits_for_a_disk_is_not_stuck),
    cmocka_unit_test(a_freeze_does_not_make_it_calm),
    cmocka_unit_test(without_readings_not_much_is_known),
    cmocka_unit_test(thrashing_stops_the_clock),
    cmocka_unit_test(odd_times_are_nothing),
    cmocka_unit_test(cut_readings_are_no_progress),
    cmocka_unit_test(any_reading_is_borne),
    cmocka_unit_test(states_have_names),
    cmocka_unit_test(a_new_one_is_starved_sooner),
};

UNIT_MAIN(tests)
