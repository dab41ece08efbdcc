/* SPDX-License-Identifier: Apache-2.0 */
/* Days of a trigger in milliseconds: pushes, remotes that are away, runs that fail, triggers
 * that are killed, machines that boot, clocks that jump; and what has to hold. */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "runner/trigger/watch.h"
#include "tests/unit/scratch.h"

#define SECOND	 USEC_PER_SEC
#define MINUTE	 (60 * SECOND)
#define HOUR	 (60 * MINUTE)
#define INTERVAL (2 * HOUR)
#define TICK	 (30 * MINUTE)
/* A look, an update, a run that is asked to end: each takes its time. */
#define SLACK (3 * MINUTE)
#define STEP  (5 * SECOND)

enum { PUSHES = 64, STARTS = 400 };

static struct scratch dir;

struct world {
	struct watch w;
	uint64_t t; /* the true time */
	uint64_t boot_t, boots;
	int64_t wrong; /* what the wall clock adds */
	uint64_t random;

	unsigned head;				  /* number of the last push */
	uint64_t pushed[PUSHES], started[PUSHES]; /* when; 0 never */
	char done[COMMIT_MAX];
	uint64_t starts[STARTS];
	unsigned n_starts;

	bool up, away; /* the trigger; the remote */
	uint64_t set_at, up_at, away_until, disturbed_at;
	uint64_t look_ends, update_ends, run_ends, next_at;
	bool run_lives, run_good;
	unsigned run_of;
	struct trigger_record saved;
	struct moment saved_at;
	unsigned bad;  /* this one's runs fail */
	unsigned kind; /* of day: how often there is a push */
};

static uint64_t dice(struct world *o, uint64_t n)
{
	o->random ^= o->random << 13;
	o->random ^= o->random >> 7;
	o->random ^= o->random << 17;
	return o->random % n;
}

static void name(unsigned n, char ret[COMMIT_MAX])
{
	if (n)
		snprintf(ret, COMMIT_MAX, "%040x", n);
	else
		*ret = '\0';
}

static unsigned number(const char *commit)
{
	return *commit ? (unsigned)strtoul(commit + 32, NULL, 16) : 0;
}

static struct moment now(const struct world *o)
{
	struct moment m = {.real_us = (uint64_t)((int64_t)o->t + o->wrong),
			   .boot_us = o->t - o->boot_t};

	snprintf(m.boot, sizeof(m.boot), "boot-%u", (unsigned)o->boots);
	return m;
}

/* What record_save() does, without the disk. */
static void save(struct world *o)
{
	struct since *ages[] = {&o->w.rec.start, &o->w.rec.head_seen, &o->w.rec.fetch_failing,
				&o->w.rec.busy};

	o->saved_at = now(o);
	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++)
		since_renew(ages[i], &o->saved_at);
	o->saved = o->w.rec;
}

/* As it comes from the disk. */
static void begin(struct world *o)
{
	const struct watch_opts wo = {INTERVAL, TICK, 15 * SECOND};
	struct watch_holder h = {.alive = o->run_lives, .held = o->run_lives};
	struct moment m = now(o);
	struct trigger_record rec;
	char said[RECORD_WHY];
	struct err e = {0};

	assert_int_equal(record_save(dir.fd, &o->saved_at, &o->saved, &e), 0);
	assert_int_equal(record_load(dir.fd, false, &m, &rec, said, &e), 0);
	assert_true(!*said || strstr(said, "clock is behind"));
	watch_init(&o->w, &wo, &rec, o->done, &h, &m);
	o->up = true;
	o->look_ends = o->update_ends = o->next_at = 0;
}

static void world_begin(struct world *o, uint64_t seed)
{
	*o = (struct world){.t = 20000 * HOUR, .random = seed * 2654435761U + 88172645463325252U};
	o->boot_t = o->t - HOUR;
	save(o);
	begin(o);
}

static void push(struct world *o)
{
	o->head++;
	assert_true(o->head < PUSHES);
	o->pushed[o->head] = o->t;
}

static void run_over(struct world *o)
{
	o->run_lives = false;
	if (o->run_good)
		name(o->run_of, o->done);
}

static void start(struct world *o)
{
	struct moment m = now(o);
	unsigned n;

	watch_starts(&o->w, &m);
	save(o);
	n = number(o->w.rec.commit);
	assert_true(o->n_starts < STARTS && n > 0);
	if (o->n_starts && o->t - o->starts[o->n_starts - 1] < INTERVAL)
		fail_msg("two starts within the interval: %u minutes",
			 (unsigned)((o->t - o->starts[o->n_starts - 1]) / MINUTE));
	o->starts[o->n_starts++] = o->t;
	for (unsigned i = 1; i <= n; i++)
		if (!o->started[i])
			o->started[i] = o->t;
	o->run_lives = true;
	o->run_of = n;
	o->run_good = n != o->bad;
	o->run_ends = o->t + 5 * MINUTE + dice(o, o->run_good ? 5 * HOUR : 10 * MINUTE);
	watch_started(&o->w, 4711, 1);
	save(o);
}

static void look_over(struct world *o)
{
	struct checkout c = {.kind = o->away ? CHECKOUT_NETWORK : CHECKOUT_OK};
	struct moment m = now(o);

	o->look_ends = 0;
	if (o->away)
		snprintf(c.why, sizeof(c.why), "no network");
	else
		name(o->head, c.head);
	watch_looked(&o->w, &m, &c);
	save(o);
}

static void update_over(struct world *o)
{
	const struct checkout c = {.kind = CHECKOUT_OK};
	struct moment m = now(o);

	o->update_ends = 0;
	if (watch_updated(&o->w, &m, &c))
		start(o);
}

static void run_seen_over(struct world *o)
{
	struct moment m = now(o);
	bool ours = o->w.at == WATCH_RUNNING;

	watch_ended(&o->w, &m, ours && (o->run_good || o->w.stopping) ? END_WELL : END_FAILED,
		    "over", o->done);
	save(o);
}

static void act(struct world *o)
{
	const struct watch_holder h = {.alive = o->run_lives, .held = o->run_lives};
	struct moment m = now(o);
	struct watch_act a;

	if (record_clock_set(&o->w.rec, &m))
		save(o);
	watch_next(&o->w, &m, &h, &a);
	o->next_at = 0;
	if (a.what == WATCH_LOOK)
		o->look_ends = o->t + SECOND + dice(o, 20 * SECOND);
	else if (a.what == WATCH_UPDATE)
		o->update_ends = o->t + dice(o, 5 * SECOND);
	else if (a.what == WATCH_STOP) {
		o->run_good = false;
		o->run_ends = o->t + dice(o, MINUTE);
	} else /* as drive.c: never longer than a minute */
		o->next_at = o->t + (a.wait_us && a.wait_us < MINUTE ? a.wait_us : MINUTE);
}

static void step(struct world *o)
{
	bool over;

	o->t += STEP;
	if (o->away && o->t >= o->away_until) {
		o->away = false;
		o->disturbed_at = o->t;
	}
	over = o->run_lives && o->t >= o->run_ends;
	if (over)
		run_over(o);
	if (!o->up)
		return;
	if ((o->w.at == WATCH_RUNNING || o->w.at == WATCH_ORPHAN) && !o->run_lives)
		run_seen_over(o);
	else if (o->look_ends && o->t >= o->look_ends)
		look_over(o);
	else if (o->update_ends && o->t >= o->update_ends)
		update_over(o);
	else if (o->t < o->next_at)
		return;
	if (!o->look_ends && !o->update_ends)
		act(o);
}

/* No push waits too long: from when it came, or the last disturbance. */
static void check_waits(const struct world *o)
{
	for (unsigned i = 1; i <= o->head; i++) {
		uint64_t from = o->pushed[i] > o->disturbed_at ? o->pushed[i] : o->disturbed_at;

		if (o->started[i] || !o->up || o->away || o->t <= from + INTERVAL + TICK + SLACK)
			continue;
		fail_msg("push %u waits for %u minutes", i, (unsigned)((o->t - from) / MINUTE));
	}
}

static void days(struct world *o, unsigned hours, void (*events)(struct world *))
{
	uint64_t end = o->t + hours * HOUR;

	while (o->t < end) {
		if (events)
			events(o);
		step(o);
		check_waits(o);
	}
}

/* --- two days, by hand --------------------------------------------------------------- */

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
	assert_int_equal(number(o.done), o.head); /* the last one was fuzzed to its end */
	for (unsigned i = 1; i <= o.head; i++)
		assert_true(o.started[i] - o.pushed[i] <= INTERVAL + TICK + SLACK);
	assert_true(o.n_starts >= 12 && o.n_starts <= 25);
}

/* A push after a long time without one starts with the next look. */
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
	days(&o, 40, NULL); /* and never again */
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
	days(&o, 1, NULL); /* not the interval: the last start was long ago */
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
	/* A fix does not wait for the failures of what it fixes. */
	n = o.n_starts;
	push(&o);
	days(&o, 3, NULL);
	assert_int_equal(o.n_starts, n + 1);
	days(&o, 6, NULL);
	assert_int_equal(number(o.done), 2);
	assert_int_equal(o.w.rec.failures, 0);
}

/* --- what may happen, by chance ----------------------------------------------------------- */

static void disturb(struct world *o)
{
	o->disturbed_at = o->t;
}

static void maybe_push(struct world *o)
{
	static const unsigned each[] = {20, 90, 400, 1200}; /* minutes between two */

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
	if (dice(o, 2)) /* a clock without a battery; one that runs ahead cannot be known */
		o->wrong -= (int64_t)dice(o, 100 * HOUR);
}

/* While it is up, a clock may be set to whatever. */
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
		boot(o); /* a clock that is set in the last minute before cannot be known */
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
		/* What is left is fuzzed once all is calm, unless it is bad. */
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

/* Kill -9 at every moment around a start: never two within the interval. */
static void test_killed_around_start(void **state)
{
	static struct world o;

	(void)state;
	for (unsigned at = 0; at < 60; at++) {
		world_begin(&o, 7);
		push(&o);
		for (unsigned i = 0; i < at; i++)
			step(&o);
		o.run_lives = o.run_lives && at % 2; /* it dies too, or it does not */
		begin(&o);
		disturb(&o);
		days(&o, 30, NULL);
		assert_int_equal(number(o.done), 1);
	}
}

/* --- single rules ---------------------------------------------------------------------- */

static const struct watch_holder nobody;

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
	assert_int_equal(next(&o, &nobody).what, WATCH_LOOK);
	assert_false(watch_rests(&o.w));
	name(1, c.head);
	m = now(&o);
	watch_looked(&o.w, &m, &c);
	assert_int_equal(next(&o, &nobody).what, WATCH_WAIT);
	assert_true(watch_rests(&o.w));
	o.t += TICK; /* it is looked at again, and then it is clean */
	assert_int_equal(next(&o, &nobody).what, WATCH_LOOK);
	*c.blocked = '\0';
	m = now(&o);
	watch_looked(&o.w, &m, &c);
	assert_int_equal(next(&o, &nobody).what, WATCH_UPDATE);
	/* What the update meets counts too. */
	snprintf(c.blocked, sizeof(c.blocked), "in the way");
	assert_false(watch_updated(&o.w, &m, &c));
	assert_int_equal(next(&o, &nobody).what, WATCH_WAIT);
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
		struct watch_act a = next(&o, &nobody);

		assert_int_equal(a.what, WATCH_LOOK);
		m = now(&o);
		watch_looked(&o.w, &m, &c);
		a = next(&o, &nobody);
		assert_int_equal(a.what, WATCH_WAIT);
		assert_int_equal(watch_rests(&o.w), i >= 3);
		waits[i] = a.wait_us;
		o.t += a.wait_us;
	}
	assert_true(waits[0] == 15 * SECOND && waits[1] == 30 * SECOND && waits[11] == TICK);
	assert_int_equal(o.w.rec.fetch_failures, 12);
	assert_string_equal(o.w.rec.fetch_error, "no ?[31m route");
	assert_true(o.w.rec.fetch_failing.known);
	/* A person has to do something: tried again with the next tick only. */
	assert_int_equal(next(&o, &nobody).what, WATCH_LOOK);
	c.kind = CHECKOUT_BROKEN;
	m = now(&o);
	watch_looked(&o.w, &m, &c);
	assert_true(next(&o, &nobody).wait_us == TICK);
	assert_true(watch_rests(&o.w));
}

/* What was seen of the branch before is fuzzed also while the remote is away. */
static void test_known_head(void **state)
{
	static struct world o;

	(void)state;
	world_begin(&o, 10);
	push(&o);
	days(&o, 1, NULL);
	push(&o);
	days(&o, 1, NULL); /* seen; the interval is not over */
	assert_int_equal(o.n_starts, 1);
	o.away = true;
	o.away_until = UINT64_MAX;
	days(&o, 1, NULL);
	assert_int_equal(o.n_starts, 2);
	assert_int_equal(number(o.w.rec.commit), 2);
}

static void test_others_run(void **state)
{
	static const struct watch_holder held = {.held = true};
	static struct world o;
	struct checkout c = {.kind = CHECKOUT_OK};
	struct moment m;

	(void)state;
	world_begin(&o, 11);
	o.w.forced = true;
	assert_int_equal(next(&o, &held).what, WATCH_LOOK);
	name(1, c.head);
	m = now(&o);
	watch_looked(&o.w, &m, &c);
	assert_int_equal(next(&o, &held).what, WATCH_WAIT); /* a person's run is not stopped */
	assert_int_equal(next(&o, &nobody).what, WATCH_UPDATE);
	assert_true(watch_updated(&o.w, &m, &c));
	watch_starts(&o.w, &m);
	assert_false(o.w.forced);
	/* Somebody was faster: that was no start, and no failure. */
	watch_ended(&o.w, &m, END_REFUSED, "locked", "");
	assert_false(o.w.rec.start.known);
	assert_int_equal(o.w.rec.failures, 0);
	assert_int_equal(next(&o, &nobody).what, WATCH_WAIT); /* for a minute */
	o.t += MINUTE;
	assert_int_equal(next(&o, &nobody).what, WATCH_LOOK);
}

/* What is done stays so, whatever a person runs after it; what he ran is done, too. */
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
	watch_decide(&o.w, &m, &nobody, &d);
	assert_int_equal(d.what, DUE_NOTHING);
	name(2, o.w.rec.head);
	watch_decide(&o.w, &m, &nobody, &d);
	assert_int_equal(d.what, DUE_START);
	name(2, o.w.done);
	watch_decide(&o.w, &m, &nobody, &d);
	assert_int_equal(d.what, DUE_NOTHING);
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
	assert_int_equal(next(&o, &nobody).what, WATCH_STOP);
	assert_int_equal(next(&o, &nobody).what, WATCH_WAIT); /* asked once */
	m = now(&o);
	watch_ended(&o.w, &m, END_FAILED, "signal 9 ended it", "");
	assert_int_equal(o.w.rec.outcome, OUTCOME_STOPPED); /* not the commit's fault */
	assert_int_equal(o.w.rec.failures, 0);
	o.t += 10 * HOUR;
	assert_int_equal(next(&o, &nobody).what, WATCH_WAIT);
}

static int setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove(&dir);
	return 0;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_two_days),   CASE(test_at_once),	 CASE(test_catch_up),
    CASE(test_failing),	   CASE(test_by_chance), CASE(test_killed_around_start),
    CASE(test_blocked),	   CASE(test_retries),	 CASE(test_known_head),
    CASE(test_others_run), CASE(test_asleep),	 CASE(test_by_hand),
};

UNIT_MAIN(tests)
