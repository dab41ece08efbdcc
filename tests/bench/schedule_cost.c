/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the cost of deciding on this machine: the CPU time of all policy functions that a run
 * calls in a second.  This is the only table that is not reproducible. */
#include "tests/bench/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define US     1e6
#define AIM_US 50.0

struct cost {
	double quiet_us, busy_us; /* CPU time of seconds without and with an order */
	unsigned quiet, busy;
};

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * US + (double)t.tv_nsec / 1e3;
}

static enum fleet_does cost_does(const void *arg, size_t i)
{
	const bool *runs = arg;

	return runs[i] ? FLEET_RUNS : FLEET_WAITS;
}

static unsigned orders(struct fleet *f, bool *runs, uint64_t now, unsigned workers)
{
	struct fleet_room room = {.run = workers, .idle = workers, .calm = true};
	struct fleet_order o;
	unsigned n = 0;

	for (size_t i = 0; i < f->n; i++)
		room.idle -= runs[i];
	while ((o = fleet_next(f, now, &room)).what != FLEET_NOTHING) {
		n++;
		room.idle = o.what == FLEET_START ? room.idle - 1 : room.idle + 1;
		runs[o.target] = o.what == FLEET_START;
		if (o.what == FLEET_START)
			fleet_launched(&f->v[o.target], now);
		else
			fleet_back(f, &f->v[o.target]);
	}
	return n;
}

static void readings(struct fleet *f, const bool *runs, uint64_t now)
{
	for (size_t i = 0; i < f->n; i++) {
		struct fleet_target *t = &f->v[i];
		struct effective_reading r = t->clock.last;
		struct fleet_news n = {.fuzzes = true, .edges_total = 5000, .runs = t->runs + 1000};

		if (!runs[i])
			continue;
		r.usage_us += now - r.at_us;
		r.at_us = now;
		fleet_read(t, &r);
		n.cov = t->curve.build_us / 50000000 * (i + 1);
		(void)fleet_take_stats(t, &n);
	}
}

static struct cost cost_of(struct fleet *f, bool *runs, unsigned workers, unsigned seconds)
{
	struct cost c = {0};

	for (uint64_t s = 1; s <= seconds; s++) {
		uint64_t now = s * (uint64_t)US;
		double begin = now_us(), took;
		unsigned n = orders(f, runs, now, workers);

		readings(f, runs, now + (uint64_t)US);
		took = now_us() - begin;
		*(n ? &c.busy_us : &c.quiet_us) += took;
		*(n ? &c.busy : &c.quiet) += 1;
	}
	return c;
}

static void print_cost(size_t n, unsigned workers, unsigned seconds)
{
	bool *runs = room_for(n, sizeof(*runs));
	struct fleet f = {.rules = fleet_preset(1), .n = n, .does = cost_does, .arg = runs};
	struct cost c;
	double all;

	f.v = room_for(n, sizeof(*f.v));
	f.items = room_for(n, sizeof(*f.items));
	f.rules.continuous = true;
	chance_seed(&f.chance, 1);
	for (size_t i = 0; i < n; i++)
		fleet_join(&f.v[i], &(struct fleet_member){.rule = rule_preset(0.0001, 1)});
	c = cost_of(&f, runs, workers, seconds);
	all = (c.quiet_us + c.busy_us) / seconds;
	printf("| %7zu | %7u | %14.3f | %14.3f | %8.4f %% |%s\n", n, workers, all / (double)n,
	       c.busy ? c.busy_us / c.busy / (double)n : 0, 100 * all / US,
	       all / (double)n < AIM_US ? "" : " too much");
	free(runs);
	free(f.v);
	free(f.items);
}

void schedule_cost(const struct schedule_options *o)
{
	static const unsigned fleets[] = {8, 64, 256};
	unsigned seconds = o->quick ? 5000 : 20000;

	printf("\n### Cost of deciding, measured on this machine (aim: under %.0f us a target)\n\n"
	       "| targets | workers | us a target,   | where a target | of a core |\n"
	       "|         |         | any second     | starts or ends |           |\n"
	       "|--------:|--------:|---------------:|---------------:|----------:|\n",
	       AIM_US);
	for (size_t i = 0; i < sizeof(fleets) / sizeof(*fleets); i++) {
		print_cost(fleets[i], 4, seconds);
		print_cost(fleets[i], fleets[i], seconds);
	}
	printf("\nState: %zu bytes a target, of which %zu are kept between runs (the curve and its "
	       "health).\n",
	       sizeof(struct fleet_target) + sizeof(struct share_item),
	       sizeof(struct curve) + sizeof(struct share_health));
}
