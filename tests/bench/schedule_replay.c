/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded targets as a fleet.  The policies get the whole record of each target, with all times
 * scaled so that the 10 minutes of silence are a quarter of the shortest record.  A target's record
 * is also its cap, because later findings are unknown. */
#include "tests/bench/schedule.h"

#include <stdio.h>
#include <stdlib.h>

#define NEARLY 0.99

enum { CORES = 2, SILENCES = 4, SILENCE_S = 600, SAMPLES = 100000, QUARTERS = 4, ORDERS = 20 };

static const struct sim_load quiet = {.times = 1};

struct track {
	double cpu_s[SAMPLES], edges[SAMPLES];
	size_t n;
};

/* Means over the orders. */
struct summary {
	double cpu_s, found, by[QUARTERS];
	double need_s;	/* CPU time for nearly all that the wall queue found */
	unsigned needs; /* number of orders that reached this */
};

static double shortest(const struct world *w)
{
	double s = w->v[0].recorded_s;

	for (size_t i = 1; i < w->n; i++)
		if (w->v[i].recorded_s < s)
			s = w->v[i].recorded_s;
	return s;
}

static struct sim_policy policy(const char *name, enum rule_kind rule, enum share_kind share,
				double price, double scale)
{
	struct sim_policy p = {.name = name, .scale = scale};

	p.rule = rule_preset(price, scale);
	p.rule.kind = rule;
	p.rules = fleet_preset(scale);
	p.rules.share.kind = share;
	return p;
}

static void run(struct track *t, const struct world *w, const struct sim_policy *p,
		struct sim_load load, uint64_t seed)
{
	struct sim s;

	t->n = 0;
	sim_begin(&s, w, p, CORES, load, seed);
	for (size_t i = 0; i < w->n; i++)
		s.fleet.v[i].rule.cap_us = (uint64_t)(w->v[i].recorded_s * 1e6);
	while (!s.over && t->n < SAMPLES) {
		t->cpu_s[t->n] = s.cpu_s;
		t->edges[t->n++] = (double)s.edges;
		sim_second(&s);
	}
	sim_done(&s);
}

static double cpu(const struct track *t)
{
	return t->cpu_s[t->n - 1];
}

static double edges(const struct track *t)
{
	return t->edges[t->n - 1];
}

static double edges_by(const struct track *t, double cpu_s)
{
	size_t i = 0;

	while (i + 1 < t->n && t->cpu_s[i + 1] <= cpu_s)
		i++;
	return t->edges[i];
}

static double cpu_for(const struct track *t, double wanted)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->edges[i] >= wanted)
			return t->cpu_s[i];
	return 0;
}

static double found_in_all(const struct world *w)
{
	double n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += (double)w->v[i].edges.n;
	return n;
}

static void add(struct summary *sum, const struct track *t, const struct track *wall)
{
	double need = cpu_for(t, NEARLY * edges(wall));

	sum->cpu_s += cpu(t) / ORDERS;
	sum->found += edges(t) / ORDERS;
	for (int i = 0; i < QUARTERS; i++)
		sum->by[i] += edges_by(t, cpu(wall) * (i + 1) / QUARTERS) / ORDERS;
	sum->need_s += need;
	sum->needs += need > 0;
}

static void print_summary(const char *name, const struct summary *t, double wall_s, double whole)
{
	printf("| %-28s | %7.0f | %7.3f |", name, t->cpu_s, t->found / whole);
	for (int i = 0; i < QUARTERS; i++)
		printf(" %5.3f |", t->by[i] / whole);
	if (t->needs == ORDERS)
		printf(" %6.0f | %5.2fx |\n", t->need_s / ORDERS, wall_s / t->need_s);
	else
		printf("      - |      - |\n");
	(void)fflush(stdout);
}

/* The order of the targets matters most to a queue. */
static void shuffle(struct world *w, uint64_t seed)
{
	struct chance c;

	chance_seed(&c, seed);
	for (size_t i = w->n; i > 1; i--) {
		size_t k = (size_t)(chance_uniform(&c) * (double)i);
		struct world_target t = w->v[k];

		w->v[k] = w->v[i - 1];
		w->v[i - 1] = t;
	}
}

static void print_records(const struct world *w)
{
	printf("| target                   | version              | CPU-s | edges of seeds "
	       "| found | of binary |\n"
	       "|--------------------------|----------------------|------:|---------------:|------:"
	       "|----------:|\n");
	for (size_t i = 0; i < w->n; i++) {
		const struct world_target *t = &w->v[i];

		printf("| %-24s | %-20s | %5.0f | %14llu | %5zu | %9llu |\n", t->name, t->version,
		       t->recorded_s, (unsigned long long)t->base, t->edges.n,
		       (unsigned long long)t->edges_total);
	}
}

enum { POLICIES = 9 };

static void print_policies(struct world *w, double scale, uint64_t seed)
{
	static const struct sim_load busy = {.times = 4};
	static struct track wall, t;
	struct summary sums[POLICIES] = {0};
	double whole = found_in_all(w);
	struct sim_policy policies[POLICIES] = {
	    policy("queue, wall", RULE_WALL, SHARE_QUEUE, 0.05, scale),
	    policy("queue, cpu-silence", RULE_CPU_SILENCE, SHARE_QUEUE, 0.05, scale),
	    policy("equal share", RULE_NONE, SHARE_EQUAL, 0.05, scale),
	    policy("index, no price", RULE_NONE, SHARE_INDEX, 0.05, scale),
	    policy("index, price 0.1", RULE_PRICE, SHARE_INDEX, 0.1, scale),
	    policy("index, price 0.05 (default)", RULE_PRICE, SHARE_INDEX, 0.05, scale),
	    policy("index, price 0.02", RULE_PRICE, SHARE_INDEX, 0.02, scale),
	    policy("queue, wall, neighbours 4x", RULE_WALL, SHARE_QUEUE, 0.05, scale),
	    policy("index, price, neighbours 4x", RULE_PRICE, SHARE_INDEX, 0.05, scale),
	};

	printf("\nFound, of what was found in the records: in the end, and when a quarter, half, "
	       "three quarters and all of the wall queue's CPU-seconds were used.  CPU-seconds for "
	       "%.0f %% of what the wall queue found; those of the wall queue over that.  Means of "
	       "%d orders of the targets.\n\n"
	       "| policy                       | CPU-s   | found   | 1/4   | 2/4   | 3/4   | 4/4   "
	       "| needs  | saves  |\n"
	       "|------------------------------|--------:|--------:|------:|------:|------:|------:"
	       "|-------:|-------:|\n",
	       NEARLY * 100, ORDERS);
	for (uint64_t r = 0; r < ORDERS; r++) {
		shuffle(w, seed * ORDERS + r);
		run(&wall, w, &policies[0], quiet, seed + r);
		for (int i = 0; i < POLICIES; i++) {
			run(&t, w, &policies[i], i < POLICIES - 2 ? quiet : busy, seed + r);
			add(&sums[i], &t, &wall);
		}
	}
	for (int i = 0; i < POLICIES; i++)
		print_summary(policies[i].name, &sums[i], sums[0].need_s, whole);
}

bool schedule_replay(const struct schedule_options *o)
{
	struct world w;
	bool good = world_read(&w, o->curves);

	printf("\n### Recorded curves, %zu targets, %d cores\n\n", w.n, CORES);
	if (good && w.n == 0)
		printf("There are none in %s.\n", o->curves);
	if (good && w.n > 0) {
		double scale = shortest(&w) / SILENCE_S / SILENCES;

		print_records(&w);
		printf("\nAll times of the policies: %.3f of what they are by default.\n", scale);
		print_policies(&w, scale, o->seed);
	}
	world_done(&w);
	return good;
}
