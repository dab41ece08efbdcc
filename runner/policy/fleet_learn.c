/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of a fleet by the news from its targets' cells and engines. */
#include "runner/policy/fleet.h"

#include <string.h>

/* At so many ends of cells the health counters are halved, so that recent ends count more. */
enum { LATELY = 16 };

struct rule_view fleet_view(const struct fleet_target *t)
{
	return (struct rule_view){
	    .curve = &t->curve,
	    .clock = &t->clock,
	    .spent_us = t->spent_us - t->cap_from_us,
	    .silent_wall_us = t->clock.wall_us - t->gain_wall_us,
	    .edges_total = t->edges_total,
	    .lim = t->lim,
	    .max_len = t->max_len,
	};
}

void fleet_recall(struct fleet_target *t, const struct curve *curve,
		  const struct share_health *health, const struct strategies *strategies,
		  uint64_t edges_total)
{
	t->known = true;
	memcpy(t->strategies.arms, strategies->arms, sizeof(t->strategies.arms));
	t->strategies.owed = strategies->owed;
	t->curve = *curve;
	t->health = *health;
	t->edges_total = edges_total;
}

void fleet_ended(struct fleet_target *t, enum fleet_end end)
{
	struct share_health *h = &t->health;

	if (h->turns >= LATELY)
		*h = (struct share_health){h->turns / 2, h->not_started / 2, h->limited / 2,
					   h->crashed / 2};
	h->turns++;
	h->not_started += end == FLEET_NOT_STARTED;
	h->limited += end == FLEET_LIMITED;
	h->crashed += end == FLEET_CRASHED;
}

void fleet_thawed(struct fleet_target *t)
{
	t->clock.idle_us = 0;
}

void fleet_launched(struct fleet_target *t, uint64_t now_us)
{
	effective_begin(&t->clock, now_us, t->quota);
	if (t->starts)
		t->turn_began_us =
		    now_us; /* open crashes were replayed until now: no time of the turn */
	t->fuzzes = t->starts = false;
	t->runs = 0;
	strategies_launched(&t->strategies);
}

void fleet_read(struct fleet_target *t, const struct effective_reading *r)
{
	uint64_t us = effective_read(&t->clock, r);

	t->spent_us += us;
	if (t->known && t->fuzzes) {
		curve_spend(&t->curve, us, t->rule.burst_us);
		strategies_spend(&t->strategies, us);
	} else {
		t->from_us += us;
		t->start_from_us += us;
	}
}

/* Takes the coverage of a cell.  True: it is a new maximum. */
static bool fleet_gains(struct fleet_target *t, uint64_t cov)
{
	if (!curve_show(&t->curve, cov))
		return false;
	t->gain_wall_us = t->clock.wall_us;
	t->unpaying = false;
	t->held_us = 0;
	return true;
}

/* Counts edges for the partners with inputs that the cell has read, by their numbers.  False: there
 * are none. */
static bool fleet_credit(struct fleet_target *t, uint64_t more)
{
	uint64_t inputs = 0, so_far = 0, counted = 0;

	for (const struct fleet_target *p = t->partners; p; p = p->next_partner)
		inputs += p->reads;
	for (struct fleet_target *p = t->partners; p; p = p->next_partner) {
		double part;

		so_far += p->reads;
		part = inputs ? (double)so_far / (double)inputs * (double)more : 0;
		fleet_gains(p, p->curve.cov + (uint64_t)part - counted);
		counted = (uint64_t)part;
		p->given -= p->reads;
		p->reads = 0;
	}
	return inputs > 0;
}

/* The partners' inputs are read.  The turn was for that, so the target competes for another one. */
static void fleet_has_measured(struct fleet_target *t)
{
	t->cut |= t->measures && !t->put_off;
	t->measures = false;
	for (const struct fleet_target *p = t->partners; p; p = p->next_partner)
		t->measures |= p->given > 0 && !t->put_off && !t->forges;
}

void fleet_put_off(struct fleet_target *t)
{
	for (struct fleet_target *p = t->partners; p; p = p->next_partner)
		p->reads = 0;
	t->put_off = t->partners != NULL;
}

bool fleet_seeded(struct fleet_target *t, uint64_t cov)
{
	uint64_t most = cov < CURVE_EDGES_MAX ? cov : CURVE_EDGES_MAX; /* as in the curve */
	uint64_t more = t->known && most > t->curve.cov ? most - t->curve.cov : 0;
	bool credited = false;

	if (t->main)
		return false;
	if (strategy_reads_less(t->strategies.now))
		fleet_put_off(t);
	if (t->forges)
		(void)fleet_credit(t, 0);
	else if (!t->known ||
		 !strategies_seeded(&t->strategies, t->rule.kind == RULE_PRICE ? t->rule.price : 0,
				    more)) {
		credited = fleet_credit(t, more) && more > 0;
		if (t->known)
			curve_raise(&t->curve, cov);
	} else {
		fleet_gains(t, cov);
		(void)fleet_credit(t, 0);
	}
	fleet_has_measured(t);
	return credited;
}

void fleet_gave(struct fleet *f, struct fleet_target *t, uint64_t inputs)
{
	if (!t->main || inputs == 0)
		return;
	t->given += inputs;
	t->main->measures = !t->main->forges;
	f->idle_until_us = 0;
}

bool fleet_take_stats(struct fleet_target *t, const struct fleet_news *n)
{
	uint64_t before;

	if (!n->fuzzes)
		return false;
	if (!t->known && !t->forges && t->main) /* with what an earlier run of it found */
		curve_begin(&t->curve, t->curve.cov);
	else if (!t->known)
		curve_begin(&t->curve, t->forges ? 0 : n->cov); /* the coverage of its seeds */
	t->known = t->fuzzes = true;
	if (t->forges)
		return false;
	if (!t->main) {
		t->edges_total = n->edges_total;
		t->lim = n->lim;
		t->max_len = n->max_len;
	}
	if (n->runs > t->runs) {
		curve_count(&t->curve, n->runs - t->runs);
		t->runs = n->runs;
	}
	before = t->curve.cov;
	if (t->main || !fleet_gains(t, n->cov))
		return false;
	strategies_find(&t->strategies, t->curve.cov - before);
	return true;
}

void fleet_forget(struct fleet_target *t)
{
	curve_begin(&t->curve, 0);
	strategies_forget(&t->strategies);
	t->known = false;
	t->edges_total = 0;
}

void fleet_strategy_failed(struct fleet_target *t, bool at_once)
{
	strategies_failed(&t->strategies, at_once, t->curve.cov);
}

void fleet_forged(struct fleet_target *t)
{
	curve_void(&t->curve);
	t->edges_total = t->lim = t->max_len = 0;
	t->gain_wall_us = t->build_wall_us;
	strategies_forget(&t->strategies);
	t->cut = !t->forges;
	t->forges = true;
}
