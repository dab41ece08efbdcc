/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/schedule_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MINUTE 60.0
#define HOUR   3600.0
#define DAY    86400.0

enum { EDGES_PER_BUG = 300 };

const struct world_mix world_mixes[3] = {
    {"A", {40, 25, 17, 18}},
    {"B", {50, 35, 15, 0}},
    {"C", {30, 20, 15, 35}},
};

void *room_for(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p) {
		(void)fputs("out of memory\n", stderr);
		exit(1);
	}
	return p;
}

static double between(struct chance *c, double low, double high)
{
	return low + (high - low) * chance_uniform(c);
}

/* Equally many in each decade. */
static double log_between(struct chance *c, double low, double high)
{
	return low * pow(high / low, chance_uniform(c));
}

static size_t count_between(struct chance *c, double low, double high)
{
	return (size_t)log_between(c, low, high);
}

static int by_time(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sort(struct times *t)
{
	qsort(t->v, t->n, sizeof(*t->v), by_time);
}

static struct times times_for(size_t n)
{
	return (struct times){.v = room_for(n, sizeof(double))};
}

static void room_for_edges(struct world_target *t, size_t n)
{
	t->edges = times_for(n);
	t->species = room_for(n, sizeof(*t->species));
}

static void add_edge(struct world_target *t, double at, double mean)
{
	t->species[t->edges.n] = (struct world_species){(float)mean, t->n_gates};
	t->edges.v[t->edges.n++] = at;
}

/* n species, each found at its own rate, from a given moment on: when the last gate opens. */
static void add_species(struct world_target *t, struct chance *c, size_t n, double from, double low,
			double high)
{
	for (size_t i = 0; i < n; i++) {
		double part = chance_exponential(c), mean = log_between(c, low, high);

		add_edge(t, from + part * mean, mean);
	}
}

/* The rates are a power of the rank, so most edges are found late. */
static void add_ranked(struct world_target *t, struct chance *c, size_t n, double low, double high)
{
	double power = log(high / low) / log((double)n);

	for (size_t i = 0; i < n; i++) {
		double mean = low * pow((double)(i + 1), power);

		add_edge(t, chance_exponential(c) * mean, mean);
	}
}

static void quick(struct world_target *t, struct chance *c)
{
	size_t n = count_between(c, 200, 2000);

	room_for_edges(t, n);
	add_species(t, c, n, 0, 0.01, 5 * MINUTE);
}

static void logarithmic(struct world_target *t, struct chance *c)
{
	size_t n = count_between(c, 1500, 15000);

	room_for_edges(t, n);
	if (chance_uniform(c) < 0.5)
		add_species(t, c, n, 0, 0.01, 1e6);
	else
		add_ranked(t, c, n, 0.01, 1e6);
}

/* Half of the gates are ladders of four steps.  Each step is equally likely at any time. */
static double opens(struct world_target *t, struct chance *c, double low, double high, bool ladder)
{
	double mean = log_between(c, low, high), sum = 0;
	unsigned steps = ladder ? WORLD_STEPS_MAX : 1;

	t->gates[t->n_gates++] = (struct world_gate){mean, steps};
	for (unsigned i = 0; i < steps; i++)
		sum += chance_exponential(c) * mean / steps;
	return sum;
}

static void gates(struct world_target *t, struct chance *c)
{
	size_t first = count_between(c, 200, 1500), n = 3 + (size_t)between(c, 0, 6);
	bool ladder = chance_uniform(c) < 0.5;
	double at = 0;

	room_for_edges(t, first + n * 600);
	add_species(t, c, first, 0, 0.01, 5 * MINUTE);
	for (size_t i = 0; i < n; i++) {
		at += opens(t, c, 5 * MINUTE, 6 * HOUR, ladder);
		add_species(t, c, count_between(c, 50, 600), at, 0.01, 10 * MINUTE);
	}
}

static void blooms(struct world_target *t, struct chance *c)
{
	size_t first = count_between(c, 50, 400), then = count_between(c, 1500, 8000);

	room_for_edges(t, first + then);
	add_species(t, c, first, 0, 0.01, MINUTE);
	t->opens_s = opens(t, c, 20 * MINUTE, 10 * HOUR, false);
	add_species(t, c, then, t->opens_s, 0.01, 1e5);
}

static void add_bug(struct times *bugs, struct chance *c, double edge)
{
	bugs->v[bugs->n++] = edge + chance_exponential(c) * log_between(c, 10, 4 * HOUR);
}

static void add_bugs(struct world_target *t, struct chance *c)
{
	t->bugs = times_for(t->edges.n);
	for (size_t i = 0; i < t->edges.n; i++)
		if (chance_uniform(c) * EDGES_PER_BUG < 1)
			add_bug(&t->bugs, c, t->edges.v[i]);
	sort(&t->bugs);
}

static void commit(struct world_commit *m, struct chance *c, double day)
{
	size_t n = count_between(c, 20, 600);

	m->at_s = day + between(c, 0, DAY);
	m->edges = times_for(n);
	for (size_t i = 0; i < n; i++) {
		double part = chance_exponential(c);

		m->edges.v[m->edges.n++] = part * log_between(c, 0.1, HOUR);
	}
	sort(&m->edges);
	m->bugs = times_for(1);
	if (chance_uniform(c) < 0.5)
		add_bug(&m->bugs, c, 0);
}

static void add_commits(struct world_target *t, struct chance *c, double hours)
{
	size_t days = (size_t)ceil(hours * HOUR / DAY);

	t->commits = room_for(days, sizeof(*t->commits));
	for (size_t d = 0; d < days; d++)
		if (chance_uniform(c) < 0.5)
			commit(&t->commits[t->n_commits++], c, (double)d * DAY);
}

static void invent(struct world_target *t, struct chance *c, enum world_type type, double hours)
{
	static void (*const kinds[])(struct world_target *, struct chance *) = {quick, logarithmic,
										gates, blooms};

	t->type = type;
	kinds[type](t, c);
	sort(&t->edges);
	add_bugs(t, c);
	t->edges_total = (uint64_t)((double)t->edges.n / between(c, 0.25, 0.75));
	t->executions = log_between(c, 200, 50000);
	add_commits(t, c, hours);
}

void world_invent(struct world *w, uint64_t seed, const struct world_mix *mix, size_t n,
		  double hours)
{
	struct chance order, c;

	chance_seed(&order, seed);
	*w = (struct world){.v = room_for(n, sizeof(*w->v)), .n = n};
	for (size_t i = 0; i < n; i++) {
		unsigned type = 0;
		double percent = 100 * chance_uniform(&order);

		while (type < 3 && percent >= mix->percent[type])
			percent -= mix->percent[type++];
		chance_seed(&c, seed * 1000003 + i);
		invent(&w->v[i], &c, (enum world_type)type, hours);
	}
}

void world_done(struct world *w)
{
	for (size_t i = 0; i < w->n; i++) {
		struct world_target *t = &w->v[i];

		for (size_t k = 0; k < t->n_commits; k++) {
			free(t->commits[k].edges.v);
			free(t->commits[k].bugs.v);
		}
		free(t->commits);
		free(t->species);
		free(t->edges.v);
		free(t->bugs.v);
	}
	free(w->v);
	*w = (struct world){0};
}
