/* SPDX-License-Identifier: Apache-2.0 */
/* Continuous mode: a fleet on few cores for days, with changing code. */
#include "tests/bench/schedule.h"

#include <stdio.h>

#define US UINT64_C(1000000)

enum { SAMPLE_S = 120, MOST_HOURS = 240, SAMPLES = MOST_HOURS * 3600 / SAMPLE_S + 1 };

static const struct sim_load quiet = {.times = 1};

/* Means over the replicates. */
struct track {
	double edges[SAMPLES], bugs[SAMPLES], cpu_h[SAMPLES];
	double latency_h; /* time from a commit until its bug is found */
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
			t->cpu_h[n] += part * s.cpu_s / 3600;
			t->bugs[n++] += part * (double)s.bugs;
		}
		sim_second(&s);
	}
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

/* The index of the first sample with so many, or n. */
static size_t reaches(const double *v, size_t n, double wanted)
{
	size_t i = 0;

	while (i < n && v[i] < wanted)
		i++;
	return i;
}

static double area(const struct track *t, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += t->edges[i];
	return sum;
}

static void print_number(bool known, double v)
{
	if (known)
		printf(" %5.1f |", v);
	else
		printf("     - |");
}

static void print_hours(const double *v, size_t n, double wanted)
{
	size_t i = reaches(v, n, wanted);

	print_number(i < n, (double)i * SAMPLE_S / 3600);
}

static void print_track(const char *name, const struct track *t, const struct track *equal,
			const struct schedule_options *o)
{
	size_t n = sample_of(o->hours) + 1, early = sample_of(o->hours / 12.0),
	       late = sample_of(o->hours / 3.0), there = reaches(t->edges, n, equal->edges[late]);

	printf("| %-27s | %6.0f | %6.0f | %6.0f | %4.0f |", name, t->edges[early], t->edges[late],
	       t->edges[n - 1], t->bugs[n - 1]);
	print_hours(t->edges, n, equal->edges[early]);
	print_hours(t->edges, n, equal->edges[late]);
	print_hours(t->bugs, n, equal->bugs[late]);
	printf(" %5.3f |", area(t, n) / area(equal, n));
	print_number(there < n, t->cpu_h[there < n ? there : 0]);
	printf(" %6.0f | %5.1f | %6.0f |\n", t->cpu_h[n - 1], t->latency_h, t->starts);
	(void)fflush(stdout);
}

static void head(const struct schedule_options *o)
{
	double early = o->hours / 12.0, late = o->hours / 3.0;

	printf(
	    "| policy                      | %4.3g h | %4.3g h | %4u h | bugs | T%-4.3g | T%-4.3g "
	    "| Tb%-3.3g | AUC   | C%-4.3g | CPU-h  | fix h | starts |\n"
	    "|-----------------------------|-------:|-------:|-------:|-----:|------:|------:"
	    "|------:|------:|------:|-------:|------:|-------:|\n",
	    early, late, o->hours, early, late, late, late);
}

static struct sim_policy policy(const char *name, enum rule_kind rule, enum share_kind share,
				double price)
{
	struct sim_policy p = sim_policy(name, rule, share, price, 0);

	p.rules.continuous = true;
	p.passes = share == SHARE_QUEUE;
	return p;
}

/* No target rests, and no core is idle. */
static struct sim_policy never_idle(const char *name)
{
	struct sim_policy p = policy(name, RULE_NONE, SHARE_INDEX, 0.05);

	p.rules.share.idle = false;
	return p;
}

static void print_setting(const struct setting *g, const struct schedule_options *o)
{
	static struct track equal, t;
	struct sim_policy even = policy("equal share", RULE_NONE, SHARE_EQUAL, 0.05);
	struct sim_policy others[] = {
	    policy("queue, wall 10 min", RULE_WALL, SHARE_QUEUE, 0.05),
	    policy("queue, cpu-silence 10 min", RULE_CPU_SILENCE, SHARE_QUEUE, 0.05),
	    policy("queue, 1 h each", RULE_NONE, SHARE_QUEUE, 0.05),
	    never_idle("index, no price"),
	    policy("index, price 0.02", RULE_PRICE, SHARE_INDEX, 0.02),
	    policy("index, price 0.05 (default)", RULE_PRICE, SHARE_INDEX, 0.05),
	};

	others[2].rule.cap_us = 3600 * US;
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

/* --- other parameters ------------------------------------------------------ */

enum { VARIANTS_MOST = 40 };

static struct sim_policy *variant(struct sim_policy *v, size_t *io_n, const char *name)
{
	v[*io_n] = policy(name, RULE_PRICE, SHARE_INDEX, 0.02);
	return &v[(*io_n)++];
}

static size_t variants(struct sim_policy *v)
{
	size_t n = 0;

	(void)variant(v, &n, "as delivered, price 0.02");
	variant(v, &n, "floor 0")->rules.share.floor = 0;
	variant(v, &n, "floor 0.02")->rules.share.floor = 0.02;
	variant(v, &n, "floor 0.15")->rules.share.floor = 0.15;
	variant(v, &n, "floor 0.3")->rules.share.floor = 0.3;
	variant(v, &n, "turn 60 s")->rules.turn_us = 60 * US;
	variant(v, &n, "turn 150 s")->rules.turn_us = 150 * US;
	variant(v, &n, "turn 900 s")->rules.turn_us = 900 * US;
	variant(v, &n, "first 0 s")->rules.fresh_us = 1;
	variant(v, &n, "first 300 s")->rules.fresh_us = 300 * US;
	variant(v, &n, "settle 10 s")->rule.settle_us = 10 * US;
	variant(v, &n, "settle 120 s")->rule.settle_us = 120 * US;
	variant(v, &n, "gate at least 10")->rule.gate_least = 10;
	variant(v, &n, "gate at least 150")->rule.gate_least = 150;
	variant(v, &n, "gate share 0")->rule.gate_share = 0;
	variant(v, &n, "gate share 0.02")->rule.gate_share = 0.02;
	variant(v, &n, "gate share 0.1")->rule.gate_share = 0.1;
	variant(v, &n, "gate share 0.2")->rule.gate_share = 0.2;
	variant(v, &n, "burst 60 s")->rule.burst_us = 60 * US;
	variant(v, &n, "burst 900 s")->rule.burst_us = 900 * US;
	variant(v, &n, "no bursts")->rule.burst_us = UINT64_MAX;
	return n;
}

void schedule_sensitivity(const struct schedule_options *o)
{
	static const struct setting g = {&world_mixes[0], 32, 4};
	static struct track equal, t;
	struct sim_policy even = policy("equal share", RULE_NONE, SHARE_EQUAL, 0.05);
	static struct sim_policy v[VARIANTS_MOST];
	size_t n = variants(v);

	printf("\n### Other parameters: continuous mode, mix %s, %zu targets, %u cores, %u h\n\n",
	       g.mix->name, g.targets, g.cores, o->hours);
	head(o);
	fleets(&equal, &g, &even, o);
	for (size_t i = 0; i < n; i++) {
		fleets(&t, &g, &v[i], o);
		print_track(v[i].name, &t, &equal, o);
	}
}
