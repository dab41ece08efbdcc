/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_POLICY_DAY_H
#define TESTS_POLICY_DAY_H

/* Random fleets, machines and days.  A number reproduces one of them. */
#include "runner/policy/fleet.h"

#include <math.h>
#include <string.h>

#define S UINT64_C(1000000)

enum { MOST = 40, STEPS = 6, TROUBLE_S = 60, RUNS_PER_BYTE = 100 };

/* The properties of a target, and the test's own records of it, independent of the fleet. */
struct truth {
	/* Edges at these numbers of seconds of fuzzing, and further edges by the logarithm of the
	 * time. */
	double step_s[STEPS], grows, grows_until_s;
	uint64_t step_edges[STEPS], edges_total;
	uint64_t max_len;
	uint64_t seeds;
	double executions, overhead_s, crashes; /* per second */
	unsigned bad_starts;			/* number of crashes before it fuzzes */
	/* Of its present cell, */
	struct effective_reading cell;
	double overhead_left_s;
	bool bad, fuzzes;
	uint64_t cell_runs, said_lim;
	/* of its present build, */
	double fuzzed_s;
	uint64_t runs;
	/* and in total. */
	double calm_s;	/* time in cells since it was last starved or thrashing */
	double poor_s;	/* continuous time of the present cell, except for freezes, with hardly half
			   of a CPU */
	double chances; /* picks during its wait */
	double first_s; /* wait for its first turn */
	double cpu_s;	/* total CPU time */
	bool disturbed; /* other processes had the CPU, or the memory */
	uint64_t spent_us, build_us;
	uint64_t cap_from_us; /* spent_us when its build arrived, or the day began */
};

struct day {
	unsigned number;
	struct fleet fleet;
	struct fleet_target v[MOST];
	struct share_item items[MOST];
	enum fleet_does does[MOST];
	struct truth truth[MOST];
	struct chance chance;
	uint64_t now_us, began_us;
	double tick_s;
	unsigned workers, most_workers;
	double share; /* share of a CPU for each cell now */
	bool thrashes, frozen, calm;
	bool churn; /* everything changes */
};

/* --- chance ---------------------------------------------------------------- */

static inline bool one_in(struct day *d, double n)
{
	return chance_uniform(&d->chance) * n < 1;
}

static inline double between(struct day *d, double low, double high)
{
	return low + (high - low) * chance_uniform(&d->chance);
}

static inline unsigned number(struct day *d, unsigned low, unsigned high)
{
	return low + (unsigned)(chance_uniform(&d->chance) * (high - low + 1));
}

static inline enum rule_kind any_kind(struct day *d)
{
	double u = chance_uniform(&d->chance);

	return u < 0.7	  ? RULE_PRICE
	       : u < 0.85 ? RULE_CPU_SILENCE
	       : u < 0.93 ? RULE_WALL
			  : RULE_NONE;
}

static inline void any_build(struct day *d, struct truth *t)
{
	for (int i = 0; i < STEPS; i++) {
		t->step_s[i] = one_in(d, 3) ? between(d, 0, 300) : 0;
		t->step_edges[i] = number(d, 0, 200);
	}
	t->grows = one_in(d, 2) ? between(d, 0, 60) : 0;
	t->grows_until_s = between(d, 0, 400);
	t->edges_total = one_in(d, 5) ? 0 : number(d, 0, 4000);
	t->seeds = number(d, 0, 5000);
	t->executions = exp(between(d, log(10), log(50000)));
	t->max_len = one_in(d, 4) ? 0 : number(d, 1, (unsigned)fmin(4096, 4 * t->executions));
	t->overhead_s = one_in(d, 3) ? between(d, 0, 1) : 0;
	t->bad_starts = one_in(d, 10) ? number(d, 1, 3) : 0;
	t->fuzzed_s = 0;
	t->runs = 0;
}

static inline void any_target(struct day *d, size_t i, double price, double scale)
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
	f->known = true; /* from an earlier run */
	curve_begin(&f->curve, number(d, 0, 500));
	curve_spend(&f->curve, number(d, 1, 2000) * S, f->rule.burst_us);
	f->curve.runs = t->runs = number(d, 0, 1000000);
	t->build_us = f->curve.build_us;
}

static inline enum fleet_does day_does(const void *arg, size_t i)
{
	const struct day *d = arg;

	return d->does[i];
}

static inline void any_fleet(struct day *d, unsigned fleet)
{
	double price = 0.05, scale;

	memset(d, 0, sizeof(*d));
	d->number = fleet;
	chance_seed(&d->chance, fleet);
	scale = exp(between(d, log(0.03), log(0.3)));
	d->fleet = (struct fleet){
	    .rules = fleet_preset(scale), .v = d->v, .items = d->items, .does = day_does, .arg = d};
	d->fleet.n = number(d, 1, one_in(d, 3) ? MOST : 10);
	d->fleet.rules.continuous = one_in(d, 2);
	d->fleet.rules.share.floor = between(d, 0.02, 0.5);
	d->fleet.rules.share.idle = d->fleet.rules.continuous && !one_in(d, 4);
	if (one_in(d, 5))
		d->fleet.rules.share.kind = one_in(d, 2) ? SHARE_EQUAL : SHARE_QUEUE;
	if (d->fleet.rules.continuous && one_in(d, 2)) { /* many picks: to find a starved target */
		d->fleet.rules.turn_us = d->fleet.rules.rule_after_us = number(d, 4, 8) * S;
		d->fleet.rules.turn_wall_us = 3 * d->fleet.rules.turn_us;
		d->fleet.rules.fresh_us = d->fleet.rules.turn_us / 4;
	}
	chance_seed(&d->fleet.chance, fleet + 1);
	for (size_t i = 0; i < d->fleet.n; i++)
		any_target(d, i, price, scale);
	d->now_us = d->began_us = number(d, 1, 1000000) * S;
	d->tick_s = 1 << number(d, 0, 3);
	while (d->tick_s > 1 && d->tick_s * 4 > (double)d->fleet.rules.turn_us / S)
		d->tick_s /= 2;
	d->workers = d->most_workers = number(d, 1, 8);
	d->share = 1;
	d->calm = true;
}

/* --- the machine ----------------------------------------------------------- */

static inline uint64_t edges_of(const struct truth *t)
{
	double grown = t->fuzzed_s < t->grows_until_s ? t->fuzzed_s : t->grows_until_s;
	uint64_t n = 10 + (uint64_t)(t->grows * log1p(grown));

	for (int i = 0; i < STEPS; i++)
		if (t->fuzzed_s >= t->step_s[i])
			n += t->step_edges[i];
	return n;
}

/* It grows slowly; */
static inline uint64_t lim_of(const struct truth *t)
{
	uint64_t lim = 4 + (t->cell_runs - t->seeds) / RUNS_PER_BYTE;

	return t->max_len && lim > t->max_len ? t->max_len : lim;
}

/* and is only printed with a find, or at a power of two of inputs. */
static inline bool says_lim(uint64_t runs_before, uint64_t runs, uint64_t edges_before,
			    uint64_t edges)
{
	return edges > edges_before || (runs_before ^ runs) > runs_before;
}

static inline struct fleet_news news_of(const struct truth *t)
{
	return (struct fleet_news){
	    .fuzzes = t->fuzzes,
	    .cov = edges_of(t),
	    .edges_total = t->edges_total,
	    .lim = t->said_lim,
	    .max_len = t->max_len,
	    .runs = t->cell_runs,
	};
}

static inline void launch(struct day *d, size_t i)
{
	struct truth *t = &d->truth[i];

	t->cell = (struct effective_reading){.at_us = d->now_us};
	t->overhead_left_s = t->overhead_s;
	t->bad = t->bad_starts > 0;
	t->bad_starts -= t->bad;
	t->fuzzes = false;
	t->cell_runs = t->seeds;
	t->said_lim = 0;
	t->poor_s = 0;
	fleet_launched(&d->v[i], d->now_us);
}

static inline void fuzz(struct truth *t, double seconds)
{
	uint64_t runs = t->cell_runs, edges = edges_of(t), more;

	if (t->bad || seconds <= 0)
		return;
	more = (uint64_t)(seconds * t->executions);
	t->fuzzed_s += seconds;
	t->cell_runs += more;
	t->runs += more + (t->fuzzes ? 0 : t->seeds);
	t->fuzzes = true;
	if (says_lim(runs, t->cell_runs, edges, edges_of(t)))
		t->said_lim = lim_of(t);
}

/* share: of a CPU. */
static inline void pass(struct day *d, struct truth *t, double share)
{
	double cpu = share * d->tick_s, reads = fmin(cpu, t->overhead_left_s);

	t->overhead_left_s -= reads;
	fuzz(t, cpu - reads);
	t->cpu_s += cpu;
	t->cell.usage_us += (uint64_t)(cpu * S);
	t->cell.cpu_stall_us += (uint64_t)((1 - share) * d->tick_s * S);
	t->cell.memory_stall_us += (uint64_t)((d->thrashes ? 0.3 : 0) * d->tick_s * S);
}

static inline void run_cell(struct day *d, size_t i)
{
	struct fleet_target *f = &d->v[i];
	struct truth *t = &d->truth[i];
	double share = f->quota > 0 ? fmin(f->quota, d->share) : d->share;
	struct fleet_news n;

	if (!d->frozen)
		pass(d, t, share);
	t->disturbed |= d->share < 0.75 || d->thrashes;
	t->cell.at_us = d->now_us;
	fleet_read(f, &t->cell);
	n = news_of(t);
	(void)fleet_take_stats(f, &n);
	if (!d->frozen)
		t->poor_s = share < 0.6 && f->quota <= 0 ? t->poor_s + d->tick_s : 0;
	t->calm_s += d->tick_s;
	if ((d->thrashes && !d->frozen) || f->clock.state == EFFECTIVE_STARVED)
		t->calm_s = 0;
	if (t->bad || one_in(d, 1 / (t->crashes * d->tick_s + 1e-9))) {
		f->health.crashed++;
		launch(d, i); /* it crashed */
	}
}

/* Or an identical rebuild: the used part of the cap stays used. */
static inline void another_binary(struct day *d, size_t i)
{
	struct truth *t = &d->truth[i];

	if (!one_in(d, 4)) {
		any_build(d, t);
		t->build_us = 0;
		t->cap_from_us = d->v[i].spent_us;
		fleet_rebuilt(&d->v[i]);
	}
	fleet_wake(&d->fleet, &d->v[i]);
	if (d->does[i] == FLEET_RUNS)
		launch(d, i);
	else
		d->does[i] = FLEET_WAITS;
}

static inline void another_day(struct day *d)
{
	fleet_new_day(&d->fleet);
	for (size_t i = 0; i < d->fleet.n; i++)
		d->truth[i].cap_from_us = d->v[i].spent_us;
}

/* The load, the workers, the build, the day or the free memory changes. */
static inline void change(struct day *d)
{
	size_t i = number(d, 0, (unsigned)d->fleet.n - 1);

	if (one_in(d, 60 / d->tick_s)) {
		d->share = one_in(d, 2) ? 1 : between(d, 0.2, 1);
		d->thrashes = one_in(d, 8);
		d->frozen = one_in(d, 8);
		d->calm = d->share > 0.95 && !d->thrashes;
	}
	if (one_in(d, 100 / d->tick_s))
		d->workers = number(d, 1, d->most_workers);
	if (one_in(d, 100 / d->tick_s)) {
		d->v[i].blocked = !d->v[i].blocked;
		d->v[i].fits_after_one = one_in(d, 2);
	}
	if (one_in(d, 400 / d->tick_s))
		another_binary(d, i);
	if (d->fleet.rules.continuous && one_in(d, 1500 / d->tick_s))
		another_day(d);
}

#endif
