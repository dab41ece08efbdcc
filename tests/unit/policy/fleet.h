/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_POLICY_FLEET_H
#define TESTS_POLICY_FLEET_H

/* A fleet on a simulated machine, second by second.  Include unit.h first. */
#include "runner/policy/fleet.h"

#include <math.h>

#define S UINT64_C(1000000)

enum { MOST = 8 };

/* A simulated machine: the edges of each target are a function of its fuzzing time. */
struct sim {
	struct fleet f;
	struct fleet_target v[MOST];
	struct share_item items[MOST];
	enum fleet_does does[MOST];
	uint64_t (*edges[MOST])(double seconds);
	struct effective_reading cell[MOST];
	uint64_t load_us[MOST]; /* CPU time for its seeds */
	double memory[MOST];	/* share of the time that it is stalled on memory */
	uint64_t now;
	unsigned workers;
	double share; /* share of a CPU for each cell */
	bool calm;
	bool one_room;			    /* memory for one cell at a time */
	unsigned orders[FLEET_STARVED + 1]; /* number of orders of each kind */
	enum fleet_what left[MOST];
	uint64_t left_at[MOST];
	/* Called when a cell starts, and when it has ended; NULL is fine. */
	void (*begins)(struct sim *m, size_t i);
	void (*ends)(struct sim *m, size_t i);
};

static inline uint64_t nothing(double seconds)
{
	(void)seconds;
	return 10;
}

static inline uint64_t grows(double seconds)
{
	return 10 + (uint64_t)(1000 * log1p(seconds));
}

static inline uint64_t gate_at_900(double seconds)
{
	return seconds < 900 ? 10 : 10 + (uint64_t)(500 * log1p(seconds - 900));
}

static inline enum fleet_does sim_does(const void *arg, size_t i)
{
	const struct sim *m = arg;

	return m->does[i];
}

static inline void begin(struct sim *m, unsigned workers, size_t n, uint64_t (*edges)(double))
{
	memset(m, 0, sizeof(*m));
	m->f = (struct fleet){.rules = fleet_preset(1),
			      .v = m->v,
			      .n = n,
			      .items = m->items,
			      .does = sim_does,
			      .arg = m};
	chance_seed(&m->f.chance, 1);
	m->now = 1000 * S;
	m->workers = workers;
	m->share = 1;
	m->calm = true;
	for (size_t i = 0; i < n; i++) {
		m->v[i].rule = rule_preset(0.05, 1);
		m->edges[i] = edges;
	}
}

static inline struct fleet_order ask(struct sim *m)
{
	struct fleet_room room = {.run = m->workers, .calm = m->calm};
	unsigned runs = 0;
	bool full;

	for (size_t i = 0; i < m->f.n; i++)
		runs += m->does[i] == FLEET_RUNS;
	full = runs > 0;
	room.idle = m->workers > runs ? m->workers - runs : 0;
	for (size_t i = 0; m->one_room && i < m->f.n; i++) {
		m->v[i].blocked = full;
		m->v[i].fits_after_one = true;
	}
	return fleet_next(&m->f, m->now, &room);
}

static inline void carry_out(struct sim *m)
{
	struct fleet_order o;

	while ((o = ask(m)).what != FLEET_NOTHING) {
		struct fleet_target *t = &m->v[o.target];

		m->orders[o.what]++;
		if (o.what == FLEET_REST_ON)
			continue;
		m->does[o.target] = o.what == FLEET_START     ? FLEET_RUNS
				    : o.what >= FLEET_PLATEAU ? FLEET_OUT
							      : FLEET_WAITS;
		if (o.what == FLEET_START) {
			m->cell[o.target] = (struct effective_reading){.at_us = m->now};
			fleet_launched(t, m->now);
			if (m->begins)
				m->begins(m, o.target);
			continue;
		}
		if (m->ends)
			m->ends(m, o.target);
		if (o.what >= FLEET_PLATEAU) {
			m->left[o.target] = o.what;
			m->left_at[o.target] = t->spent_us;
		} else {
			fleet_back(&m->f, t);
		}
	}
}

static inline unsigned run(struct sim *m, unsigned seconds)
{
	unsigned most = 0;

	for (unsigned s = 0; s < seconds; s++) {
		unsigned running = 0;

		carry_out(m);
		m->now += S;
		for (size_t i = 0; i < m->f.n; i++) {
			struct fleet_target *t = &m->v[i];
			struct fleet_news n = {.fuzzes = true, .edges_total = 5000};

			if (m->does[i] != FLEET_RUNS)
				continue;
			running++;
			m->cell[i].at_us = m->now;
			m->cell[i].usage_us += (uint64_t)(m->share * S);
			m->cell[i].cpu_stall_us += (uint64_t)((1 - m->share) * S);
			m->cell[i].memory_stall_us += (uint64_t)(m->memory[i] * S);
			fleet_read(t, &m->cell[i]);
			n.cov = m->edges[i]((double)t->curve.build_us / 1e6);
			n.runs = m->cell[i].usage_us / 100;
			n.fuzzes = m->cell[i].usage_us > m->load_us[i];
			(void)fleet_take_stats(t, &n);
		}
		most = running > most ? running : most;
	}
	return most;
}

#endif
