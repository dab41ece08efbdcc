/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_SHARE_H
#define RUNNER_POLICY_SHARE_H

#include "runner/policy/chance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Chooses the target that gets a free worker for a turn, when fleet.c has no target that goes
 * first.
 *
 *   index  A build that hardly ran comes first, and a target that is due: by priority, then a
 *          build that hardly ran, then the longest waiting.  Otherwise, with the probability
 * `floor`, the target that has waited longest.  Otherwise the best draw of
 *
 *              weight (Gamma(found + 1/2) / age + gate Gamma(3) / 3 / build age)
 *
 *          so that a target is chosen as often as it is likely to be the best target (Thompson
 *          sampling).  When every mean is below its price and a core may be left idle, none is
 *          chosen, except by the floor.  A target with after_others never goes before the
 *          others, except by the floor.
 *   equal  the target that got the least time
 *   queue  in their order, each to its end
 *
 * Pure: the state of the random numbers is an argument. */

enum share_kind { SHARE_INDEX, SHARE_EQUAL, SHARE_QUEUE };

struct share_rules {
	enum share_kind kind;
	bool idle;    /* a core is left idle when no target pays */
	double floor; /* share of the choices for the target that has waited longest, 0..1 */
};

struct share_item {
	bool waits;	   /* it can start now */
	bool resting;	   /* its rule decided that it does not pay */
	bool fresh;	   /* its build hardly ran yet */
	bool due;	   /* it must get its turn now */
	bool after_others; /* chosen when no other target waits, or by the floor */
	/* rule_terms() */
	double found, age_s, gate, build_age_s;
	double price;  /* struct rule's; 0: another rule judges the target */
	double weight; /* share_weight() */
	int32_t priority;
	uint64_t spent_us;	/* in this run */
	uint64_t turn_began_us; /* when its last turn began; 0: never in this run */
};

/* Why a target was chosen, or why none was. */
enum share_why {
	SHARE_FRESH,
	SHARE_FLOOR,
	SHARE_PAYS,
	SHARE_TURN,    /* equal, queue */
	SHARE_NOBODY,  /* no target waits */
	SHARE_TOO_POOR /* no waiting target pays */
};

/* The index of the target to start, or n. */
size_t share_pick(const struct share_rules *r, const struct share_item *v, size_t n,
		  struct chance *c, enum share_why *ret_why);

/* Whether the target waits, is not resting, and its mean reaches its price. */
bool share_pays(const struct share_item *t);

/* How a target's recent turns ended.  Each failure makes its weight smaller. */
struct share_health {
	uint64_t turns;	      /* that it had */
	uint64_t not_started; /* in which fuzzing never began */
	uint64_t limited;     /* ended by memory, a timeout or a slow input */
	uint64_t crashed;     /* ended by a crash */
};
/* The weight from health and priority.  Ten more priority doubles it. */
double share_weight(const struct share_health *h, int32_t priority);

#endif
