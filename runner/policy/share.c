/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/policy/share.h"

#include <math.h>

/* The weight that is left if all turns of a target ended that way.  The values are from
 * ClusterFuzz's weights of fuzzers (cron/fuzzer_and_job_weights.py). */
#define LEFT_NOT_STARTED 0.10
#define LEFT_LIMITS	 0.25
#define LEFT_CRASHED	 0.50
#define PRIORITY_DOUBLES 10
#define PRIORITY_MOST	 100
/* The certainty about the edges behind a gate: the draw's relative deviation is 1/sqrt of it. */
#define GATE_SHAPE 3

static bool earlier(const struct share_item *a, const struct share_item *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->fresh != b->fresh)
		return a->fresh;
	return a->turn_began_us < b->turn_began_us;
}

static bool longer_waiting(const struct share_item *a, const struct share_item *b)
{
	return a->turn_began_us < b->turn_began_us;
}

static bool had_less(const struct share_item *a, const struct share_item *b)
{
	return a->spent_us < b->spent_us;
}

static bool is_any(const struct share_item *t)
{
	return t->waits;
}

static bool share_is_first(const struct share_item *t)
{
	return t->waits && !t->resting && !t->after_others && (t->fresh || t->due);
}

static bool is_paying(const struct share_item *t)
{
	return t->waits && !t->resting;
}

typedef bool which_fn(const struct share_item *t);
typedef bool before_fn(const struct share_item *a, const struct share_item *b);

/* The first in order `before` of the items that match `which`.  n: none matches. */
static size_t share_first(const struct share_item *v, size_t n, which_fn *which, before_fn *before)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++)
		if (which(&v[i]) && (best == n || before(&v[i], &v[best])))
			best = i;
	return best;
}

static double mean(const struct share_item *t)
{
	return t->weight * (t->found / t->age_s + t->gate / t->build_age_s);
}

bool share_pays(const struct share_item *t)
{
	return is_paying(t) && mean(t) >= t->price;
}

static double share_draw(const struct share_item *t, struct chance *c)
{
	return t->weight * (chance_gamma(c, t->found + 0.5) / t->age_s +
			    chance_gamma(c, GATE_SHAPE) / GATE_SHAPE * t->gate / t->build_age_s);
}

static bool share_is_better(const struct share_item *a, double draw_a, const struct share_item *b,
			    double draw_b)
{
	return a->after_others == b->after_others ? draw_a > draw_b : b->after_others;
}

static size_t best_draw(const struct share_rules *r, const struct share_item *v, size_t n,
			struct chance *c)
{
	bool pays = !r->idle;
	double best = 0;
	size_t at = n;

	for (size_t i = 0; i < n; i++) {
		double d;

		if (!is_paying(&v[i]))
			continue;
		d = share_draw(&v[i], c);
		if (at == n || share_is_better(&v[i], d, &v[at], best)) {
			best = d;
			at = i;
		}
		pays = pays || share_pays(&v[i]);
	}
	return pays ? at : n;
}

static size_t by_index(const struct share_rules *r, const struct share_item *v, size_t n,
		       struct chance *c, enum share_why *ret_why)
{
	size_t at = share_first(v, n, share_is_first, earlier);

	*ret_why = SHARE_FRESH;
	if (at < n)
		return at;
	if (chance_uniform(c) < r->floor) {
		at = share_first(v, n, is_any, longer_waiting);
		*ret_why = SHARE_FLOOR;
		if (at < n)
			return at;
	}
	at = best_draw(r, v, n, c);
	*ret_why = SHARE_PAYS;
	return at;
}

/* In a queue, a target that began goes on before others begin. */
static bool began_before(const struct share_item *a, const struct share_item *b)
{
	return a->turn_began_us > 0 && b->turn_began_us == 0;
}

size_t share_pick(const struct share_rules *r, const struct share_item *v, size_t n,
		  struct chance *c, enum share_why *ret_why)
{
	size_t at = n;

	*ret_why = SHARE_TURN;
	switch (r->kind) {
	case SHARE_INDEX:
		at = by_index(r, v, n, c, ret_why);
		break;
	case SHARE_EQUAL:
		at = share_first(v, n, is_paying, had_less);
		break;
	case SHARE_QUEUE:
		at = share_first(v, n, is_paying, began_before);
		break;
	}
	if (at == n)
		*ret_why =
		    share_first(v, n, is_any, longer_waiting) < n ? SHARE_TOO_POOR : SHARE_NOBODY;
	return at;
}

static double left(double least, uint64_t bad, uint64_t all)
{
	return 1 - (1 - least) * (all ? (double)bad / (double)all : 0);
}

double share_weight(const struct share_health *h, int32_t priority)
{
	double worst = left(LEFT_NOT_STARTED, h->not_started, h->turns);

	if (priority > PRIORITY_MOST)
		priority = PRIORITY_MOST;
	if (priority < -PRIORITY_MOST)
		priority = -PRIORITY_MOST;
	worst = fmin(worst, left(LEFT_LIMITS, h->limited, h->turns));
	worst = fmin(worst, left(LEFT_CRASHED, h->crashed, h->turns));
	return worst * exp2((double)priority / PRIORITY_DOUBLES);
}
