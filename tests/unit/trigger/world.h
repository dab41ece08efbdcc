/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_TRIGGER_WORLD_H
#define TESTS_UNIT_TRIGGER_WORLD_H

/* A simulated world of a trigger, in which a day takes milliseconds: pushes, unreachable remotes,
 * failing runs, killed triggers, reboots, clock jumps.  Include unit.h first. */
#include "base/clock.h"
#include "runner/trigger/watch.h"
#include "tests/unit/scratch.h"

#define SECOND	 USEC_PER_SEC
#define MINUTE	 (60 * SECOND)
#define HOUR	 (60 * MINUTE)
#define INTERVAL (2 * HOUR)
#define TICK	 (30 * MINUTE)
/* The durations of a check, an update, and a stopping run. */
#define SLACK (3 * MINUTE)
#define STEP  (5 * SECOND)

enum { PUSHES = 64, STARTS = 400 };

static struct scratch dir;

struct world {
	struct watch w;
	uint64_t t; /* the true time */
	uint64_t boot_t, boots;
	int64_t wrong; /* error of the wall clock */
	uint64_t random;

	unsigned head;				  /* number of the last push */
	uint64_t pushed[PUSHES], started[PUSHES]; /* times; 0: never */
	char done[COMMIT_MAX];
	uint64_t starts[STARTS];
	unsigned n_starts;

	bool up, away; /* the trigger is up; the remote is unreachable */
	uint64_t set_at, up_at, away_until, disturbed_at;
	uint64_t poll_ends, update_ends, run_ends, next_at;
	bool run_lives, run_good;
	unsigned run_of;
	struct trigger_record saved;
	struct moment saved_at;
	unsigned bad;  /* the runs of this push fail */
	unsigned kind; /* kind of day: how often there is a push */
};

static inline uint64_t dice(struct world *o, uint64_t n)
{
	o->random ^= o->random << 13;
	o->random ^= o->random >> 7;
	o->random ^= o->random << 17;
	return o->random % n;
}

static inline void name(unsigned n, char ret[COMMIT_MAX])
{
	if (n)
		snprintf(ret, COMMIT_MAX, "%040x", n);
	else
		*ret = '\0';
}

static inline unsigned number(const char *commit)
{
	return *commit ? (unsigned)strtoul(commit + 32, NULL, 16) : 0;
}

static inline struct moment now(const struct world *o)
{
	struct moment m = {.real_us = (uint64_t)((int64_t)o->t + o->wrong),
			   .boot_us = o->t - o->boot_t};

	snprintf(m.boot, sizeof(m.boot), "boot-%u", (unsigned)o->boots);
	return m;
}

/* Like record_save(), without the disk. */
static inline void save(struct world *o)
{
	struct since *ages[] = {&o->w.rec.start, &o->w.rec.head_seen, &o->w.rec.fetch_failing,
				&o->w.rec.busy};

	o->saved_at = now(o);
	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++)
		since_renew(ages[i], &o->saved_at);
	o->saved = o->w.rec;
}

/* Like a record from the disk. */
static inline void begin(struct world *o)
{
	const struct watch_opts wo = {INTERVAL, TICK, 15 * SECOND};
	struct watch_holder h = {.alive = o->run_lives, .locked = o->run_lives};
	struct moment m = now(o);
	struct trigger_record rec;
	char warning[RECORD_WHY];
	struct err e = {0};

	assert_int_equal(record_save(dir.fd, &o->saved_at, &o->saved, &e), 0);
	assert_int_equal(record_load(dir.fd, false, &m, &rec, warning, &e), 0);
	assert_true(!*warning || strstr(warning, "clock is behind"));
	watch_init(&o->w, &wo, &rec, o->done, &h, &m);
	o->up = true;
	o->poll_ends = o->update_ends = o->next_at = 0;
}

static inline void world_begin(struct world *o, uint64_t seed)
{
	*o = (struct world){.t = 20000 * HOUR, .random = seed * 2654435761U + 88172645463325252U};
	o->boot_t = o->t - HOUR;
	save(o);
	begin(o);
}

static inline void push(struct world *o)
{
	o->head++;
	assert_true(o->head < PUSHES);
	o->pushed[o->head] = o->t;
}

static inline void run_over(struct world *o)
{
	o->run_lives = false;
	if (o->run_good)
		name(o->run_of, o->done);
}

static inline void start(struct world *o)
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

static inline void poll_over(struct world *o)
{
	struct checkout c = {.kind = o->away ? CHECKOUT_NETWORK : CHECKOUT_OK};
	struct moment m = now(o);

	o->poll_ends = 0;
	if (o->away)
		snprintf(c.why, sizeof(c.why), "no network");
	else
		name(o->head, c.head);
	watch_polled(&o->w, &m, &c);
	save(o);
}

static inline void update_over(struct world *o)
{
	const struct checkout c = {.kind = CHECKOUT_OK};
	struct moment m = now(o);

	o->update_ends = 0;
	if (watch_updated(&o->w, &m, &c))
		start(o);
}

static inline void run_seen_over(struct world *o)
{
	struct moment m = now(o);
	enum watch_end end = o->w.at != WATCH_RUNNING	    ? END_UNSEEN
			     : o->run_good || o->w.stopping ? END_WELL
							    : END_FAILED;

	watch_ended(&o->w, &m, end, "over", o->done);
	save(o);
}

static inline void act(struct world *o)
{
	const struct watch_holder h = {.alive = o->run_lives, .locked = o->run_lives};
	struct moment m = now(o);
	struct watch_act a;

	if (record_clock_set(&o->w.rec, &m))
		save(o);
	watch_next(&o->w, &m, &h, &a);
	o->next_at = 0;
	if (a.what == WATCH_POLL)
		o->poll_ends = o->t + SECOND + dice(o, 20 * SECOND);
	else if (a.what == WATCH_UPDATE)
		o->update_ends = o->t + dice(o, 5 * SECOND);
	else if (a.what == WATCH_STOP) {
		o->run_good = false;
		o->run_ends = o->t + dice(o, MINUTE);
	} else /* as in drive.c: never longer than a minute */
		o->next_at = o->t + (a.wait_us && a.wait_us < MINUTE ? a.wait_us : MINUTE);
}

static inline void step(struct world *o)
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
	else if (o->poll_ends && o->t >= o->poll_ends)
		poll_over(o);
	else if (o->update_ends && o->t >= o->update_ends)
		update_over(o);
	else if (o->t < o->next_at)
		return;
	if (!o->poll_ends && !o->update_ends)
		act(o);
}

/* No push waits too long, from its time or from the last disturbance. */
static inline void check_waits(const struct world *o)
{
	for (unsigned i = 1; i <= o->head; i++) {
		uint64_t from = o->pushed[i] > o->disturbed_at ? o->pushed[i] : o->disturbed_at;

		if (o->started[i] || !o->up || o->away || o->t <= from + INTERVAL + TICK + SLACK)
			continue;
		fail_msg("push %u waits for %u minutes", i, (unsigned)((o->t - from) / MINUTE));
	}
}

static inline void days(struct world *o, unsigned hours, void (*events)(struct world *))
{
	uint64_t end = o->t + hours * HOUR;

	while (o->t < end) {
		if (events)
			events(o);
		step(o);
		check_waits(o);
	}
}

static inline int setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	scratch_remove(&dir);
	return 0;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
