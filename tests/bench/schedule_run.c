/* SPDX-License-Identifier: Apache-2.0 */
/* Run mode: one target after the other, each until its rule ends it.  Measures the cost, the result
 * compared with 24 CPU-hours, and the effect of neighbours on the rule. */
#include "tests/bench/schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CAP_H	24.0
#define CAP_S	(CAP_H * 3600)
#define EARLIER 0.95 /* of the CPU time that the quiet run got */

static const struct sim_load quiet = {.times = 1};

/* The results of a rule for all targets. */
struct outcome {
	double cpu_h, edges, bugs; /* sums */
	double *fuzzed_s;	   /* of each */
	enum fleet_what *left;
	unsigned missed, blooms;
};

static size_t until(const struct times *t, double s)
{
	size_t n = 0;

	while (n < t->n && t->v[n] <= s)
		n++;
	return n;
}

static void one_target(struct outcome *o, const struct world *w, size_t i,
		       const struct sim_policy *p, struct sim_load load)
{
	struct world one = {.v = &w->v[i], .n = 1};
	struct sim s;

	sim_begin(&s, &one, p, 1, load, i);
	while (!s.over)
		sim_second(&s);
	o->cpu_h += s.cpu_s / 3600;
	o->edges += (double)s.edges;
	o->bugs += (double)s.bugs;
	o->fuzzed_s[i] = s.cells[0].fuzzed_s;
	o->left[i] = s.cells[0].left;
	if (w->v[i].type == WORLD_BLOOMS && w->v[i].opens_s < CAP_S) {
		o->blooms++;
		o->missed += s.cells[0].fuzzed_s < w->v[i].opens_s;
	}
	sim_done(&s);
}

static struct outcome all_targets(const struct world *w, const struct sim_policy *p,
				  struct sim_load load)
{
	struct outcome o = {.fuzzed_s = room_for(w->n, sizeof(*o.fuzzed_s)),
			    .left = room_for(w->n, sizeof(*o.left))};

	for (size_t i = 0; i < w->n; i++)
		one_target(&o, w, i, p, load);
	return o;
}

static void outcome_done(struct outcome *o)
{
	free(o->fuzzed_s);
	free(o->left);
}

/* Counts targets that ended as finished, although the same rule continued on a quiet machine. */
static unsigned premature(const struct outcome *o, const struct outcome *calm, size_t n)
{
	unsigned many = 0;

	for (size_t i = 0; i < n; i++)
		many += o->left[i] == FLEET_PLATEAU && calm->left[i] == FLEET_PLATEAU &&
			o->fuzzed_s[i] < EARLIER * calm->fuzzed_s[i];
	return many;
}

static unsigned how_many(const struct outcome *o, enum fleet_what what, size_t n)
{
	unsigned many = 0;

	for (size_t i = 0; i < n; i++)
		many += o->left[i] == what;
	return many;
}

static void whole(const struct world *w, double *ret_edges, double *ret_bugs)
{
	*ret_edges = *ret_bugs = 0;
	for (size_t i = 0; i < w->n; i++) {
		*ret_edges += (double)until(&w->v[i].edges, CAP_S);
		*ret_bugs += (double)until(&w->v[i].bugs, CAP_S);
	}
}

static struct sim_policy policy(const char *name, enum rule_kind rule, double price, double cap_h)
{
	struct sim_policy p = sim_policy(name, rule, SHARE_INDEX, price, cap_h);

	p.rules.share.idle = false; /* a run */
	return p;
}

static struct outcome print_rule(const struct world *w, const struct sim_policy *p)
{
	struct outcome o = all_targets(w, p, quiet);
	double edges, bugs;

	whole(w, &edges, &bugs);
	printf("| %-34s | %8.2f | %5.3f | %5.3f | %4.0f %% |\n", p->name, o.cpu_h / (double)w->n,
	       o.edges / edges, o.bugs / bugs, o.blooms ? 100.0 * o.missed / o.blooms : 0);
	(void)fflush(stdout);
	return o;
}

/* CPU for so many edges (or bugs), between the two sweeps that are next to it on a
 * logarithmic scale; 0: none of them reaches it. */
static double cpu_for(double (*sweep)[2], size_t n, double wanted)
{
	for (size_t i = 0; i < n; i++) {
		const double *a = sweep[i ? i - 1 : 0], *b = sweep[i];

		if (b[1] < wanted)
			continue;
		if (i == 0 || b[1] <= a[1])
			return b[0];
		return a[0] * pow(b[0] / a[0], (wanted - a[1]) / (b[1] - a[1]));
	}
	return 0;
}

enum { SWEEPS = 9 };

static void print_saving(const struct world *w, const struct outcome *wall, const char *name,
			 struct sim_policy p, const double values[], bool price)
{
	double edges[SWEEPS][2], bugs[SWEEPS][2], e, b;

	for (int i = 0; i < SWEEPS; i++) {
		struct outcome o;

		if (price)
			p.rule.price = values[i];
		else
			p.rule.cap_us = (uint64_t)(values[i] * 3600e6);
		o = all_targets(w, &p, quiet);
		edges[i][0] = bugs[i][0] = o.cpu_h;
		edges[i][1] = o.edges;
		bugs[i][1] = o.bugs;
		outcome_done(&o);
	}
	e = cpu_for(edges, SWEEPS, wall->edges);
	b = cpu_for(bugs, SWEEPS, wall->bugs);
	printf("| %-34s | %8.2fx | %8.2fx |\n", name, e > 0 ? wall->cpu_h / e : 0,
	       b > 0 ? wall->cpu_h / b : 0);
	(void)fflush(stdout);
}

static void print_savings(const struct world *w, const struct outcome *wall)
{
	static const double prices[SWEEPS] = {1.6, 0.8, 0.4, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01};
	static const double hours[SWEEPS] = {0.1, 0.2, 0.4, 0.8, 1.5, 3, 6, 12, 24};
	struct sim_policy constant = policy("", RULE_PRICE, 0.05, CAP_H);

	constant.rule.gate_share = 0;
	printf("\nCPU that the wall rule (quiet) used, over what these need for as much:\n\n"
	       "| rule                               | its edges | its bugs |\n"
	       "|------------------------------------|----------:|---------:|\n");
	print_saving(w, wall, "price", policy("", RULE_PRICE, 0.05, CAP_H), prices, true);
	print_saving(w, wall, "price, every gate taken for 50 edges", constant, prices, true);
	print_saving(w, wall, "a fixed budget", policy("", RULE_NONE, 0.05, CAP_H), hours, false);
}

static struct outcome print_rules(const struct world *w)
{
	struct sim_policy wall = policy("wall, 10 min", RULE_WALL, 0.05, CAP_H);
	struct sim_policy others[] = {
	    policy("cpu-silence, 10 min", RULE_CPU_SILENCE, 0.05, CAP_H),
	    policy("cpu-silence, cap 2 h", RULE_CPU_SILENCE, 0.05, 2),
	    policy("fixed, 1 h", RULE_NONE, 0.05, 1),
	    policy("fixed, 2 h", RULE_NONE, 0.05, 2),
	    policy("fixed, 4.5 h", RULE_NONE, 0.05, 4.5),
	    policy("price 0.1", RULE_PRICE, 0.1, CAP_H),
	    policy("price 0.05 (default)", RULE_PRICE, 0.05, CAP_H),
	    policy("price 0.03", RULE_PRICE, 0.03, CAP_H),
	    policy("price 0.02", RULE_PRICE, 0.02, CAP_H),
	};
	struct outcome first;

	printf("\n| rule                               | CPU-h    | edges | bugs  | late missed |\n"
	       "|------------------------------------|---------:|------:|------:|------:|\n");
	first = print_rule(w, &wall);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct outcome o = print_rule(w, &others[i]);

		outcome_done(&o);
	}
	return first;
}

static void print_load(const struct world *w, const struct sim_policy *p, struct sim_load load)
{
	struct outcome calm = all_targets(w, p, quiet), o = all_targets(w, p, load);
	double part = 100.0 / fmax(1, how_many(&calm, FLEET_PLATEAU, w->n));

	printf("| %-19s | %4.0fx%-13s | %7.1f %% | %5.1f %% | %5.2f | %5.3f |\n", p->name,
	       load.times, load.on_s > 0 ? ", on and off" : "", part * premature(&o, &calm, w->n),
	       part * how_many(&o, FLEET_STARVED, w->n), o.cpu_h / calm.cpu_h,
	       o.edges / calm.edges);
	(void)fflush(stdout);
	outcome_done(&o);
	outcome_done(&calm);
}

static void print_loads(const struct world *w)
{
	static const struct sim_load loads[] = {{2, 0}, {4, 0}, {8, 0}, {8, 900}};
	struct sim_policy rules[] = {
	    policy("wall, 10 min", RULE_WALL, 0.05, 12),
	    policy("cpu-silence, 10 min", RULE_CPU_SILENCE, 0.05, 12),
	    policy("price 0.05", RULE_PRICE, 0.05, 12),
	};

	printf(
	    "\nNeighbours on its CPU, %zu targets, cap 12 h.  Of those that the rule ended on the "
	    "quiet machine: said to be finished before they had %.0f %% of the CPU that they had "
	    "there; ended as starved.  Of all: CPU and edges, over the quiet run's.\n\n"
	    "| rule                | contention         | premature | starved | CPU   | edges |\n"
	    "|---------------------|--------------------|----------:|--------:|------:|------:|\n",
	    w->n, EARLIER * 100);
	for (size_t k = 0; k < sizeof(rules) / sizeof(*rules); k++)
		for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++)
			print_load(w, &rules[k], loads[i]);
}

void schedule_run_mode(const struct schedule_options *o)
{
	size_t mixes = o->quick ? 1 : 3;

	for (size_t m = 0; m < mixes; m++) {
		struct outcome wall;
		struct world w;

		world_invent(&w, o->seed + 1000 * (m + 1), &world_mixes[m], o->targets, 0);
		printf("\n### Run mode, mix %s, %u targets one by one, cap %.0f CPU-h\n",
		       world_mixes[m].name, o->targets, CAP_H);
		wall = print_rules(&w);
		print_savings(&w, &wall);
		outcome_done(&wall);
		if (m == 0) {
			w.n = w.n / 4;
			print_loads(&w);
			w.n = o->targets;
		}
		world_done(&w);
	}
}
