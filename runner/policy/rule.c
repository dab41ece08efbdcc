/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/policy/rule.h"

#include "base/clock.h"

#include <stdio.h>

#define RUNS_PER_BYTE 100 /* libFuzzer's default: -len_control=100 */

struct rule rule_preset(double price, double scale)
{
	return (struct rule){
	    .kind = RULE_PRICE,
	    .price = price / scale,
	    .window_us = (uint64_t)((double)(600 * USEC_PER_SEC) * scale),
	    .settle_us = (uint64_t)((double)(30 * USEC_PER_SEC) * scale),
	    .least_us = (uint64_t)((double)(120 * USEC_PER_SEC) * scale),
	    .burst_us = (uint64_t)((double)(300 * USEC_PER_SEC) * scale),
	    .trial_us = (uint64_t)((double)(10 * USEC_PER_SEC) * scale),
	    .gate_least = 50,
	    .gate_share = 0.05,
	};
}

static double rule_at_least(uint64_t us, uint64_t least)
{
	return (double)(us > least ? us : least) / (double)USEC_PER_SEC;
}

struct rule_terms rule_terms(const struct rule *r, const struct curve *c, uint64_t edges_total)
{
	double unreached = edges_total > c->cov ? (double)(edges_total - c->cov) : 0;
	double gate = r->gate_share * unreached;

	if (gate < r->gate_least)
		gate = r->gate_least;
	/* A gate cannot hide more edges than were not reached. */
	if (edges_total > 0 && gate > unreached)
		gate = unreached;
	return (struct rule_terms){
	    .found = curve_f1(c),
	    .age_s = rule_at_least(c->age_us, r->settle_us),
	    .gate = gate,
	    .build_age_s = rule_at_least(c->build_us, r->settle_us),
	};
}

double rule_rate(const struct rule *r, const struct curve *c, uint64_t edges_total)
{
	struct rule_terms t = rule_terms(r, c, edges_total);

	return t.found / t.age_s + t.gate / t.build_age_s;
}

/* Whether the engine has yet to try its longest inputs: it begins with short inputs.  A slow engine
 * reports `lim` rarely, so the number of its inputs counts, too. */
static bool lengths_grow(const struct rule_view *v)
{
	return v->lim < v->max_len && v->curve->runs / RUNS_PER_BYTE < v->max_len;
}

static bool wants_stop(const struct rule *r, const struct rule_view *v)
{
	const struct curve *c = v->curve;

	switch (r->kind) {
	case RULE_PRICE:
		return c->build_us >= r->least_us && rule_rate(r, c, v->edges_total) < r->price;
	case RULE_CPU_SILENCE:
		return c->build_us - c->gain_us >= r->window_us;
	case RULE_WALL:
		return v->silent_wall_us >= r->window_us;
	case RULE_NONE:
		break;
	}
	return false;
}

enum rule_answer rule_ask(const struct rule *r, const struct rule_view *v)
{
	if (r->cap_us > 0 && v->spent_us >= r->cap_us)
		return RULE_CAP;
	if (!wants_stop(r, v) || lengths_grow(v))
		return RULE_GO_ON;
	if (r->kind == RULE_WALL)
		return RULE_STOP;
	return v->clock->calm_us < EFFECTIVE_WINDOW_US ? RULE_HOLD : RULE_STOP;
}

void rule_text(const struct rule *r, const struct rule_view *v, enum rule_answer a,
	       char out[RULE_TEXT_MAX])
{
	if (a == RULE_CAP)
		(void)snprintf(out, RULE_TEXT_MAX, "it had its %.0f s of CPU time",
			       (double)r->cap_us / (double)USEC_PER_SEC);
	else if (r->kind == RULE_PRICE)
		(void)snprintf(out, RULE_TEXT_MAX,
			       "%.3g new edges expected a CPU-second, the price is %.3g",
			       rule_rate(r, v->curve, v->edges_total), r->price);
	else
		(void)snprintf(out, RULE_TEXT_MAX, "no new edge for %.0f s of %s time",
			       (double)r->window_us / (double)USEC_PER_SEC,
			       r->kind == RULE_WALL ? "wall" : "CPU");
}
