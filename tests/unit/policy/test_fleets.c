/* SPDX-License-Identifier: Apache-2.0 */
/* Ten thousand fleets, machines and days that chance made up; and after each step of each of
 * them what must hold of any.  A fleet comes again by its number. */
#include "tests/unit/unit.h"

#include "runner/policy/fleet.h"

#include <math.h>

#define S   UINT64_C(1000000)
#define BIT 1e-6 /* of a second, of what rounding adds */

#ifdef __SANITIZE_ADDRESS__
enum { FLEETS = 1500 };
#else
enum { FLEETS = 10000 };
#endif

enum { MOST = 40, STEPS = 6, TROUBLE_S = 60, RUNS_PER_BYTE = 100 };

/* What a target is, and what the test knows of it without asking the fleet. */
struct truth {
	/* So many edges at so many seconds of fuzzing; and some with the logarithm. */
	double step_s[STEPS], grows, grows_until_s;
	uint64_t step_edges[STEPS], edges_total;
	uint64_t max_len;
	double executions, overhead_s, crashes; /* a second */
	unsigned bad_starts;			/* how often it crashes before it fuzzes */
	/* Of its present cell, */
	struct effective_reading cell;
	double overhead_left_s;
	bool bad;
	uint64_t cell_runs;
	/* of its present build, */
	double fuzzed_s;
	uint64_t runs;
	/* and all in all. */
	double calm_s;	/* in cells, since it was last starved or thrashing */
	double poor_s;	/* of the present cell, on end, with hardly half of a CPU */
	double chances; /* picks that it waited through */
	double first_s; /* how long it waited for its first turn */
	double cpu_s;	/* all that it got */
	bool disturbed; /* others had the CPU, or the memory */
	uint64_t spent_us, build_us;
	uint64_t cap_from_us; /* spent_us when its build came, or the day began */
};

struct day {
	unsigned number;
	struct fleet fleet;
	struct fleet_target v[MOST];
	struct share_item items[MOST];
	struct truth truth[MOST];
	struct chance chance;
	uint64_t now_us, began_us;
	double tick_s;
	unsigned workers, most_workers;
	double share; /* of a CPU that each cell gets now */
	bool thrashes, calm;
	bool churn; /* all of it changes */
};

static void holds(const struct day *d, size_t target, bool so, const char *what)
{
	if (!so)
		fail_msg("fleet %u, target %zu, after %.0f s: not %s", d->number, target,
			 (double)(d->now_us - d->began_us) / S, what);
}
#define HOLDS(d, target, what) holds((d), (target), (what), #what)

/* --- chance ---------------------------------------------------------------- */

static bool one_in(struct day *d, double n)
{
	return chance_uniform(&d->chance) * n < 1;
}

static double between(struct day *d, double low, double high)
{
	return low + (high - low) * chance_uniform(&d->chance);
}

static unsigned number(struct day *d, unsigned low, unsigned high)
{
	return low + (unsigned)(chance_uniform(&d->chance) * (high - low + 1));
}

static enum rule_kind any_kind(struct day *d)
{
	double u = chance_uniform(&d->chance);

	return u < 0.7	  ? RULE_PRICE
	       : u < 0.85 ? RULE_CPU_SILENCE
	       : u < 0.93 ? RULE_WALL
			  : RULE_NONE;
}

static void any_build(struct day *d, struct truth *t)
{
	for (int i = 0; i < STEPS; i++) {
		t->step_s[i] = one_in(d, 3) ? between(d, 0, 300) : 0;
		t->step_edges[i] = number(d, 0, 200);
	}
	t->grows = one_in(d, 2) ? between(d, 0, 60) : 0;
	t->grows_until_s = between(d, 0, 400);
	t->edges_total = one_in(d, 5) ? 0 : number(d, 0, 4000);
	t->max_len = one_in(d, 4) ? 0 : number(d, 1, 4096);
	t->executions = exp(between(d, log(1000), log(50000)));
	t->overhead_s = one_in(d, 3) ? between(d, 0, 1) : 0;
	t->bad_starts = one_in(d, 10) ? number(d, 1, 3) : 0;
	t->fuzzed_s = 0;
	t->runs = 0;
}

static void any_target(struct day *d, size_t i, double price, double scale)
{
	struct fleet_target *f = &d->v[i];
	struct truth *t = &d->truth[i];

	any_build(d, t);
	t->crashes = one_in(d, 6) ? between(d, 0, 0.05) : 0;
	t->calm_s = TROUBLE_S;
	f->rule = rule_preset(price, scale);
	f->rule.kind = any_kind(d);
	if (one_in(d, 5) || f->rule.kind == RULE_NONE)
		f->rule.cap_us = (uint64_t)(between(d, 1, 300) * S);
	f->priority = one_in(d, 4) ? (int32_t)number(d, 0, 40) - 20 : 0;
	f->quota = one_in(d, 5) ? between(d, 0.3, 1) : 0;
	if (!one_in(d, 5))
		return;
	f->known = true; /* from a run before this one */
	curve_begin(&f->curve, number(d, 0, 500));
	curve_spend(&f->curve, number(d, 1, 2000) * S, f->rule.burst_us);
	f->curve.runs = t->runs = number(d, 0, 1000000);
	t->build_us = f->curve.build_us;
}

static void any_fleet(struct day *d, unsigned fleet)
{
	double price = 0.05, scale;

	memset(d, 0, sizeof(*d));
	d->number = fleet;
	chance_seed(&d->chance, fleet);
	scale = exp(between(d, log(0.03), log(0.3)));
	d->fleet = (struct fleet){.rules = fleet_preset(scale), .v = d->v, .items = d->items};
	d->fleet.n = number(d, 1, one_in(d, 3) ? MOST : 10);
	d->fleet.rules.continuous = one_in(d, 2);
	d->fleet.rules.share.floor = between(d, 0.02, 0.5);
	d->fleet.rules.share.idle = d->fleet.rules.continuous && !one_in(d, 4);
	if (one_in(d, 5))
		d->fleet.rules.share.kind = one_in(d, 2) ? SHARE_EQUAL : SHARE_QUEUE;
	if (d->fleet.rules.continuous && one_in(d, 2)) { /* many picks: to see who never is */
		d->fleet.rules.quantum_us = d->fleet.rules.turn_us = number(d, 4, 8) * S;
		d->fleet.rules.quantum_wall_us = 3 * d->fleet.rules.quantum_us;
		d->fleet.rules.fresh_us = d->fleet.rules.quantum_us / 4;
	}
	chance_seed(&d->fleet.chance, fleet + 1);
	for (size_t i = 0; i < d->fleet.n; i++)
		any_target(d, i, price, scale);
	d->now_us = d->began_us = number(d, 1, 1000000) * S;
	d->tick_s = 1 << number(d, 0, 3);
	while (d->tick_s > 1 && d->tick_s * 4 > (double)d->fleet.rules.quantum_us / S)
		d->tick_s /= 2;
	d->workers = d->most_workers = number(d, 1, 8);
	d->share = 1;
	d->calm = true;
}

/* --- the machine ----------------------------------------------------------- */

static uint64_t edges_of(const struct truth *t)
{
	double grown = t->fuzzed_s < t->grows_until_s ? t->fuzzed_s : t->grows_until_s;
	uint64_t n = 10 + (uint64_t)(t->grows * log1p(grown));

	for (int i = 0; i < STEPS; i++)
		if (t->fuzzed_s >= t->step_s[i])
			n += t->step_edges[i];
	return n;
}

static struct fleet_news news_of(const struct truth *t)
{
	uint64_t lim = 4 + t->cell_runs / RUNS_PER_BYTE;

	return (struct fleet_news){
	    .fuzzes = !t->bad && t->overhead_left_s <= 0,
	    .cov = edges_of(t),
	    .edges_total = t->edges_total,
	    .lim = t->max_len && lim > t->max_len ? t->max_len : lim,
	    .max_len = t->max_len,
	    .runs = t->cell_runs,
	};
}

static void launch(struct day *d, size_t i)
{
	struct truth *t = &d->truth[i];

	t->cell = (struct effective_reading){.at_us = d->now_us};
	t->overhead_left_s = t->overhead_s;
	t->bad = t->bad_starts > 0;
	t->bad_starts -= t->bad;
	t->cell_runs = 0;
	t->poor_s = 0;
	fleet_launched(&d->v[i], d->now_us);
}

static void run_cell(struct day *d, size_t i)
{
	struct fleet_target *f = &d->v[i];
	struct truth *t = &d->truth[i];
	double share = f->quota > 0 ? fmin(f->quota, d->share) : d->share;
	double cpu = share * d->tick_s, fuzzed = cpu - t->overhead_left_s;
	struct fleet_news n;

	t->overhead_left_s = fuzzed < 0 ? -fuzzed : 0;
	if (fuzzed > 0 && !t->bad) {
		t->fuzzed_s += fuzzed;
		t->cell_runs += (uint64_t)(fuzzed * t->executions);
		t->runs += (uint64_t)(fuzzed * t->executions);
	}
	t->cpu_s += cpu;
	t->disturbed |= d->share < 0.75 || d->thrashes;
	t->cell.at_us = d->now_us;
	t->cell.usage_us += (uint64_t)(cpu * S);
	t->cell.cpu_stall_us += (uint64_t)((1 - share) * d->tick_s * S);
	t->cell.memory_stall_us += (uint64_t)((d->thrashes ? 0.3 : 0) * d->tick_s * S);
	fleet_read(f, &t->cell);
	n = news_of(t);
	(void)fleet_tell(f, &n);
	t->poor_s = share < 0.6 && f->quota <= 0 ? t->poor_s + d->tick_s : 0;
	t->calm_s += d->tick_s;
	if (d->thrashes || f->clock.state == EFFECTIVE_STARVED)
		t->calm_s = 0;
	if (t->bad || one_in(d, 1 / (t->crashes * d->tick_s + 1e-9))) {
		f->health.crashed++;
		launch(d, i); /* it crashed */
	}
}

/* Or the same one, made again: what it had of its cap, it had. */
static void another_binary(struct day *d, size_t i)
{
	struct truth *t = &d->truth[i];

	if (!one_in(d, 4)) {
		any_build(d, t);
		t->build_us = 0;
		t->cap_from_us = d->v[i].spent_us;
		fleet_rebuilt(&d->v[i]);
	}
	fleet_wake(&d->fleet, &d->v[i]);
	if (d->v[i].phase == FLEET_RUNS)
		launch(d, i);
}

static void another_day(struct day *d)
{
	fleet_new_day(&d->fleet);
	for (size_t i = 0; i < d->fleet.n; i++)
		d->truth[i].cap_from_us = d->v[i].spent_us;
}

/* Another load, other workers, another build or day, no room. */
static void change(struct day *d)
{
	size_t i = number(d, 0, (unsigned)d->fleet.n - 1);

	if (one_in(d, 60 / d->tick_s)) {
		d->share = one_in(d, 2) ? 1 : between(d, 0.2, 1);
		d->thrashes = one_in(d, 8);
		d->calm = d->share > 0.95 && !d->thrashes;
	}
	if (one_in(d, 100 / d->tick_s))
		d->workers = number(d, 1, d->most_workers);
	if (one_in(d, 100 / d->tick_s)) {
		d->v[i].blocked = !d->v[i].blocked;
		d->v[i].instead = one_in(d, 2);
	}
	if (one_in(d, 400 / d->tick_s))
		another_binary(d, i);
	if (d->fleet.rules.continuous && one_in(d, 1500 / d->tick_s))
		another_day(d);
}

/* --- what must hold -------------------------------------------------------- */

/* Its rule has ended it. */
static void check_end(const struct day *d, size_t i)
{
	const struct fleet_target *f = &d->v[i];
	const struct truth *t = &d->truth[i];

	HOLDS(d, i, !(f->lim > 0 && f->lim < t->max_len && t->runs / RUNS_PER_BYTE < t->max_len));
	HOLDS(d, i, f->rule.kind != RULE_NONE);
	if (f->rule.kind == RULE_WALL)
		return;
	HOLDS(d, i, t->calm_s >= TROUBLE_S - BIT);
	HOLDS(d, i, t->poor_s < 2 * TROUBLE_S);
	HOLDS(d, i,
	      f->rule.kind != RULE_PRICE ||
		  rule_rate(&f->rule, &f->curve, t->edges_total) < f->rule.price);
}

static void obey(struct day *d, const struct fleet_order *o, enum fleet_phase before)
{
	struct fleet_target *f = &d->v[o->target];
	struct truth *t = &d->truth[o->target];

	HOLDS(d, o->target,
	      before ==
		  (o->what == FLEET_START || o->what == FLEET_STARVED ? FLEET_WAITS : FLEET_RUNS));
	HOLDS(d, o->target, o->what != FLEET_REST || d->fleet.rules.continuous);
	HOLDS(d, o->target,
	      o->what < FLEET_PLATEAU || o->what == FLEET_CAP || !d->fleet.rules.continuous);
	HOLDS(d, o->target, o->what != FLEET_CAP || f->spent_us - t->cap_from_us >= f->rule.cap_us);
	HOLDS(d, o->target, o->what != FLEET_STARVED || t->disturbed);
	if (o->what == FLEET_REST || o->what == FLEET_PLATEAU)
		check_end(d, o->target);
	if (o->what == FLEET_START) {
		HOLDS(d, o->target, !f->blocked);
		t->chances = t->first_s = 0;
		launch(d, o->target);
	} else if (o->what == FLEET_PAUSE || o->what == FLEET_REST) {
		f->health.quanta++;
		f->health.not_started += t->bad;
		fleet_back(f);
	}
}

static bool could_run(const struct fleet_target *f)
{
	return f->phase == FLEET_WAITS && !f->blocked && !f->held_us;
}

/* And in a run no worker is idle that somebody could use. */
static void carry_out(struct day *d)
{
	struct fleet_order o;
	unsigned orders = 0, runs = 0;

	do {
		enum fleet_phase before[MOST];

		for (size_t i = 0; i < d->fleet.n; i++)
			before[i] = d->v[i].phase;
		o = fleet_next(&d->fleet, d->now_us, d->workers, d->calm);
		if (o.what != FLEET_NOTHING)
			obey(d, &o, before[o.target]);
		HOLDS(d, o.target, orders++ < 6 * MOST);
	} while (o.what != FLEET_NOTHING);
	for (size_t i = 0; i < d->fleet.n; i++)
		runs += d->v[i].phase == FLEET_RUNS;
	HOLDS(d, MOST, runs <= d->workers);
	for (size_t i = 0; i < d->fleet.n && !d->fleet.rules.continuous; i++)
		HOLDS(d, i, runs == d->workers || !could_run(&d->v[i]));
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

static bool goes_first(const struct day *d, size_t i)
{
	const struct fleet_target *f = &d->v[i];

	return f->phase != FLEET_OUT && !f->blocked && !f->resting &&
	       (f->last_us == 0 || f->curve.build_us < d->fleet.rules.fresh_us);
}

/* Somebody whom nothing but chance decides on may have to wait while these are there. */
static bool others_first(const struct day *d)
{
	for (size_t i = 0; i < d->fleet.n; i++)
		if (goes_first(d, i) ||
		    (d->v[i].phase == FLEET_WAITS && d->v[i].held_us && d->calm))
			return true;
	return false;
}

/* So many picks that the floor (one in 1/floor of them goes to who has waited longest, and
 * n - 1 others may have waited longer) came fewer than n times in them: with a probability
 * of less than exp(-(m - n)^2 / (2 m)), m the mean (Chernoff), is never; here 1e-12. */
static double most_picks(const struct day *d)
{
	double n = (double)d->fleet.n, c = -log(1e-12);

	return (n + c + sqrt(c * c + 2 * c * n)) / d->fleet.rules.share.floor;
}

/* Each worker makes one pick in a quantum's wall time, three times its length, at least. */
static void check_waiting(struct day *d)
{
	double wall_s = (double)d->fleet.rules.quantum_wall_us / S + d->tick_s;
	bool first = others_first(d), index = d->fleet.rules.share.kind == SHARE_INDEX;

	for (size_t i = 0; i < d->fleet.n; i++) {
		struct fleet_target *f = &d->v[i];
		struct truth *t = &d->truth[i];

		if (f->phase == FLEET_RUNS)
			HOLDS(d, i, (double)(d->now_us - f->last_us) / S <= wall_s + BIT);
		if (f->phase != FLEET_WAITS || f->held_us || f->blocked || f->capped)
			continue;
		if (f->last_us == 0)
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
		if (d->v[i].phase == FLEET_RUNS) {
			run_cell(d, i);
			check_numbers(d, i);
		}
	check_waiting(d);
}

static size_t left(const struct day *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->fleet.n; i++)
		n += d->v[i].phase != FLEET_OUT;
	return n;
}

static void steps(struct day *d, unsigned n)
{
	for (unsigned s = 0; s < n; s++)
		step(d);
}

static void settle(struct day *d)
{
	d->churn = d->thrashes = false;
	d->calm = one_in(d, 2);
	d->share = d->calm ? 1 : 0.5;
	for (size_t i = 0; i < d->fleet.n; i++)
		d->v[i].blocked = false;
}

/* A run is over when all have found what there is. */
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
