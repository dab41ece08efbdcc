/* SPDX-License-Identifier: Apache-2.0 */
/* Continuous mode: a fleet, few cores, days, and code that changes. */
#include "tests/bench/schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLE_S = 120, MOST_HOURS = 240, SAMPLES = MOST_HOURS * 3600 / SAMPLE_S + 1 };

static const struct sim_load quiet = {.times = 1};

/* Means over the replicates. */
struct track {
	double edges[SAMPLES], bugs[SAMPLES];
	double cpu_h, latency_h;
	double starts;
};

struct setting {
	const struct world_mix *mix;
	size_t targets;
	unsigned cores;
};

static void one_fleet(struct track *t, const struct world *w, const struct sim_policy *p,
		      unsigned cores, const struct schedule_options *o, uint64_t seed)
{
	double part = 1.0 / o->replicates;
	size_t n = 0;
	struct sim s;

	sim_begin(&s, w, p, cores, quiet, seed);
	for (unsigned at = 0; at <= o->hours * 3600; at++) {
		if (at % SAMPLE_S == 0) {
			t->edges[n] += part * (double)s.edges;
			t->bugs[n++] += part * (double)s.bugs;
		}
		sim_second(&s);
	}
	t->cpu_h += part * s.cpu_s / 3600;
	t->starts += part * (double)s.starts;
	if (s.changes_bugs)
		t->latency_h += part * (double)s.changes_bugs_s / (double)s.changes_bugs / 3600;
	sim_done(&s);
}

static void fleets(struct track *t, const struct setting *g, const struct sim_policy *p,
		   const struct schedule_options *o)
{
	*t = (struct track){0};
	for (unsigned r = 0; r < o->replicates; r++) {
		uint64_t seed = o->seed * 1000 + r;
		struct world w;

		world_invent(&w, seed, g->mix, g->targets, o->hours);
		one_fleet(t, &w, p, g->cores, o, seed);
		world_done(&w);
	}
}

static size_t sample_of(double hours)
{
	return (size_t)(hours * 3600 / SAMPLE_S);
}

/* Hours until so many; 0: never. */
static double reaches(const double *v, size_t n, double wanted)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] >= wanted)
			return (double)i * SAMPLE_S / 3600;
	return 0;
}

static double area(const struct track *t, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += t->edges[i];
	return sum;
}

static void print_time(double hours)
{
	if (hours > 0)
		printf(" %5.1f |", hours);
	else
		printf("     - |");
}

static void print_track(const char *name, const struct track *t, const struct track *equal,
			const struct schedule_options *o)
{
	size_t n = sample_of(o->hours) + 1, at6 = sample_of(o->hours / 12.0),
	       at24 = sample_of(o->hours / 3.0);

	printf("| %-31s | %6.0f | %6.0f | %6.0f | %4.0f |", name, t->edges[at6], t->edges[at24],
	       t->edges[n - 1], t->bugs[n - 1]);
	print_time(reaches(t->edges, n, equal->edges[at6]));
	print_time(reaches(t->edges, n, equal->edges[at24]));
	print_time(reaches(t->bugs, n, equal->bugs[at24]));
	printf(" %5.3f | %5.1f | %6.0f | %6.0f |\n", area(t, n) / area(equal, n), t->latency_h,
	       t->cpu_h, t->starts);
	(void)fflush(stdout);
}

static void head(const struct schedule_options *o)
{
	printf(
	    "| %-31s | %4.3gh   | %4.3gh   | %4.3gh   | bugs | T%-4.3g | T%-4.3g | Tb%-3.3g | AUC  "
	    " "
	    "| fix h | CPU-h  | starts |\n"
	    "|---------------------------------|-------:|-------:|-------:|-----:|------:|------:"
	    "|------:|------:|------:|-------:|-------:|\n",
	    "policy", o->hours / 12.0, o->hours / 3.0, (double)o->hours, o->hours / 12.0,
	    o->hours / 3.0, o->hours / 3.0);
}

static struct sim_policy policy(const char *name, enum rule_kind rule, enum share_kind share,
				double price)
{
	struct sim_policy p = sim_policy(name, rule, share, price, 0);

	p.rules.continuous = true;
	p.passes = share == SHARE_QUEUE;
	return p;
}

/* Nobody rests, no core is left idle. */
static struct sim_policy never_idle(const char *name)
{
	struct sim_policy p = policy(name, RULE_NONE, SHARE_INDEX, 0.05);

	p.rules.share.price = 0;
	return p;
}

static void print_setting(const struct setting *g, const struct schedule_options *o)
{
	static struct track equal, t;
	struct sim_policy even = policy("equal share", RULE_NONE, SHARE_EQUAL, 0.05);
	struct sim_policy others[] = {
	    policy("queue, wall 10 min", RULE_WALL, SHARE_QUEUE, 0.05),
	    policy("queue, cpu-silence 10 min", RULE_CPU_SILENCE, SHARE_QUEUE, 0.05),
	    policy("queue, price 0.05", RULE_PRICE, SHARE_QUEUE, 0.05),
	    never_idle("index, no price"),
	    policy("index, price 0.02", RULE_PRICE, SHARE_INDEX, 0.02),
	    policy("index, price 0.05 (default)", RULE_PRICE, SHARE_INDEX, 0.05),
	};

	printf("\n### Continuous mode, mix %s, %zu targets, %u cores, %u h\n\n", g->mix->name,
	       g->targets, g->cores, o->hours);
	head(o);
	fleets(&equal, g, &even, o);
	print_track(even.name, &equal, &equal, o);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		fleets(&t, g, &others[i], o);
		print_track(others[i].name, &t, &equal, o);
	}
}

void schedule_continuous(const struct schedule_options *o)
{
	static const struct setting settings[] = {
	    {&world_mixes[0], 32, 4},
	    {&world_mixes[1], 32, 4},
	    {&world_mixes[2], 32, 4},
	    {&world_mixes[0], 64, 2},
	};

	for (size_t i = 0; i < (o->quick ? 1 : sizeof(settings) / sizeof(*settings)); i++)
		print_setting(&settings[i], o);
}
