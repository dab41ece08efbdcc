/* SPDX-License-Identifier: Apache-2.0 */
/* Ten thousand random fleets, machines and days, with a check of the invariants after each step.  A
 * number reproduces a fleet. */
#include "tests/unit/unit.h"

#include "tests/unit/policy/day.h"

#define BIT 1e-6 /* seconds of rounding error */

#ifdef __SANITIZE_ADDRESS__
enum { FLEETS = 1500 };
#else
enum { FLEETS = 10000 };
#endif

static void holds(const struct day *d, size_t target, bool so, const char *what)
{
	if (!so)
		fail_msg("fleet %u, target %zu, after %.0f s: not %s", d->number, target,
			 (double)(d->now_us - d->began_us) / S, what);
}
#define HOLDS(d, target, what) holds((d), (target), (what), #what)

/* --- invariants ------------------------------------------------------------ */

/* The target's rule has ended it. */
static void check_end(const struct day *d, size_t i)
{
	const struct fleet_target *f = &d->v[i];
	const struct truth *t = &d->truth[i];

	HOLDS(d, i, lim_of(t) >= t->max_len || t->runs / RUNS_PER_BYTE >= t->max_len);
	HOLDS(d, i, f->rule.kind != RULE_NONE);
	if (f->rule.kind == RULE_WALL)
		return;
	HOLDS(d, i, t->calm_s >= TROUBLE_S - BIT);
	HOLDS(d, i, t->poor_s < 2 * TROUBLE_S);
	HOLDS(d, i,
	      f->rule.kind != RULE_PRICE ||
		  rule_rate(&f->rule, &f->curve, t->edges_total) < f->rule.price);
}

static enum fleet_does does_before(enum fleet_what what)
{
	bool waits = what == FLEET_START || what == FLEET_STARVED || what == FLEET_REST_ON;

	return waits ? FLEET_WAITS : FLEET_RUNS;
}

static void obey(struct day *d, const struct fleet_order *o)
{
	struct fleet_target *f = &d->v[o->target];
	struct truth *t = &d->truth[o->target];

	HOLDS(d, o->target, d->does[o->target] == does_before(o->what));
	HOLDS(d, o->target,
	      (o->what != FLEET_REST && o->what != FLEET_REST_ON) || d->fleet.rules.continuous);
	HOLDS(d, o->target,
	      o->what < FLEET_PLATEAU || o->what == FLEET_CAP || !d->fleet.rules.continuous);
	HOLDS(d, o->target, o->what != FLEET_CAP || f->spent_us - t->cap_from_us >= f->rule.cap_us);
	HOLDS(d, o->target, o->what != FLEET_STARVED || t->disturbed);
	if (o->what == FLEET_REST || o->what == FLEET_PLATEAU)
		check_end(d, o->target);
	if (o->what == FLEET_START) {
		HOLDS(d, o->target, !f->blocked);
		t->chances = t->first_s = 0;
		d->does[o->target] = FLEET_RUNS;
		launch(d, o->target);
	} else if (o->what == FLEET_PAUSE || o->what == FLEET_REST) {
		f->health.turns++;
		f->health.not_started += t->bad;
		d->does[o->target] = FLEET_WAITS;
		fleet_back(&d->fleet, f);
	} else if (o->what != FLEET_REST_ON) {
		d->does[o->target] = FLEET_OUT;
	}
}

static bool could_run(const struct day *d, size_t i)
{
	return d->does[i] == FLEET_WAITS && !d->v[i].blocked && !d->v[i].held_us;
}

static unsigned idle_workers(const struct day *d)
{
	unsigned runs = 0;

	for (size_t i = 0; i < d->fleet.n; i++)
		runs += d->does[i] == FLEET_RUNS;
	return d->workers > runs ? d->workers - runs : 0;
}

/* In a run no worker is idle that a target could use. */
static void carry_out(struct day *d)
{
	struct fleet_order o;
	struct fleet_room room;
	unsigned orders = 0, runs = 0;

	do {
		room = (struct fleet_room){d->workers, idle_workers(d), d->calm};
		o = fleet_next(&d->fleet, d->now_us, &room);
		if (o.what != FLEET_NOTHING)
			obey(d, &o);
		HOLDS(d, o.target, orders++ < 6 * MOST);
	} while (o.what != FLEET_NOTHING);
	for (size_t i = 0; i < d->fleet.n; i++)
		runs += d->does[i] == FLEET_RUNS;
	HOLDS(d, MOST, runs <= d->workers);
	for (size_t i = 0; i < d->fleet.n && !d->fleet.rules.continuous; i++)
		HOLDS(d, i, runs == d->workers || !could_run(d, i));
}

static void check_numbers(struct day *d, size_t i)
{
	struct fleet_target *f = &d->v[i];
	struct truth *t = &d->truth[i];
	double rate = rule_rate(&f->rule, &f->curve, f->edges_total);

	HOLDS(d, i, isfinite(rate) && rate >= 0);
	HOLDS(d, i, f->clock.starved >= 0 && f->clock.starved <= 1);
	HOLDS(d, i, curve_f1(&f->curve) >= 0 && isfinite(curve_forecast(&f->curve, 3600)));
	HOLDS(d, i, curve_discovery(&f->curve) >= 0 && curve_discovery(&f->curve) <= 1);
	HOLDS(d, i, curve_sane(&f->curve));
	HOLDS(d, i, f->spent_us >= t->spent_us && f->curve.build_us >= t->build_us);
	HOLDS(d, i,
	      f->rule.cap_us == 0 ||
		  f->spent_us - t->cap_from_us <= f->rule.cap_us + (uint64_t)(d->tick_s * S));
	HOLDS(d, i, (double)f->spent_us / S <= t->cpu_s * (1 + BIT));
	t->spent_us = f->spent_us;
	t->build_us = f->curve.build_us;
}

/* The target's build hardly ran. */
static bool is_new(const struct day *d, const struct fleet_target *f)
{
	return f->curve.build_us < d->fleet.rules.fresh_us;
}

static bool goes_first(const struct day *d, size_t i)
{
	const struct fleet_target *f = &d->v[i];

	return d->does[i] != FLEET_OUT && !f->blocked && !f->unpaying && is_new(d, f);
}

/* A target that only chance selects may have to wait while these targets exist. */
static bool others_first(const struct day *d)
{
	for (size_t i = 0; i < d->fleet.n; i++)
		if (goes_first(d, i) || (d->does[i] == FLEET_WAITS && d->v[i].held_us && d->calm))
			return true;
	return false;
}

/* The number of picks within which each target is picked.  Of the picks, a share of `floor` goes to
 * the target that waits longest, and n - 1 others may wait longer.  Fewer than n such picks have a
 * probability below exp(-(m - n)^2 / (2 m)) with the mean m (Chernoff), here 1e-12. */
static double most_picks(const struct day *d)
{
	double n = (double)d->fleet.n, c = -log(1e-12);

	return (n + c + sqrt(c * c + 2 * c * n)) / d->fleet.rules.share.floor;
}

/* Each worker makes at least one pick per turn's wall time, which is three times the turn. */
static void check_waiting(struct day *d)
{
	double wall_s = (double)d->fleet.rules.turn_wall_us / S + d->tick_s;
	bool first = others_first(d), index = d->fleet.rules.share.kind == SHARE_INDEX;

	for (size_t i = 0; i < d->fleet.n; i++) {
		struct fleet_target *f = &d->v[i];
		struct truth *t = &d->truth[i];

		if (d->does[i] == FLEET_RUNS)
			HOLDS(d, i, (double)(d->now_us - f->turn_began_us) / S <= wall_s + BIT);
		if (d->does[i] != FLEET_WAITS || f->held_us || f->blocked || f->at_cap)
			continue;
		if (f->turn_began_us == 0 && is_new(d, f))
			t->first_s += d->tick_s;
		else if (!first)
			t->chances += d->workers * d->tick_s / wall_s;
		if (index && d->fleet.rules.continuous)
			HOLDS(d, i, t->chances <= most_picks(d));
		if (index)
			HOLDS(d, i, t->first_s <= 4 * (double)d->fleet.n * wall_s);
	}
}

static void step(struct day *d)
{
	if (d->churn)
		change(d);
	carry_out(d);
	d->now_us += (uint64_t)(d->tick_s * S);
	for (size_t i = 0; i < d->fleet.n; i++)
		if (d->does[i] == FLEET_RUNS) {
			run_cell(d, i);
			check_numbers(d, i);
		}
	check_waiting(d);
}

static size_t left(const struct day *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->fleet.n; i++)
		n += d->does[i] != FLEET_OUT;
	return n;
}

static void steps(struct day *d, unsigned n)
{
	for (unsigned s = 0; s < n; s++)
		step(d);
}

static void settle(struct day *d)
{
	d->churn = d->thrashes = d->frozen = false;
	d->calm = one_in(d, 2);
	d->share = d->calm ? 1 : 0.5;
	for (size_t i = 0; i < d->fleet.n; i++)
		d->v[i].blocked = false;
}

/* A run is over when all targets have found all their edges. */
static void end(struct day *d)
{
	uint64_t until = d->now_us + d->fleet.n * 12000 * S;

	while (left(d) > 0 && d->now_us < until)
		step(d);
	HOLDS(d, left(d), left(d) == 0);
}

static void any_fleet_is_fair_and_ends(void **state)
{
	static struct day d;

	(void)state;
	for (unsigned fleet = 1; fleet <= FLEETS; fleet++) {
		any_fleet(&d, fleet);
		d.churn = true;
		steps(&d, d.fleet.rules.continuous ? 600 : 300);
		settle(&d);
		if (d.fleet.rules.continuous)
			steps(&d, 600);
		else
			end(&d);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(any_fleet_is_fair_and_ends),
};

UNIT_MAIN(tests)
