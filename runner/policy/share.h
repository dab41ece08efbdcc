/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_SHARE_H
#define RUNNER_POLICY_SHARE_H

#include "runner/policy/chance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who gets the worker that is free, for a quantum of time.
 *
 *   index  a build that hardly ran in its life comes first, and a target that is due, by
 *          priority, in their order.  Else, now and then (floor), whoever
 *          waits for the longest time; else the best draw of
 *
 *              weight (Gamma(found + 1/2) / age + gate Gamma(3) / 3 / build age)
 *
 *          so that a target is chosen as often as it is likely to be the best one
 *          (Thompson).  When every mean is under its price nobody is, except by the floor.
 *          A target marked as last has no turn before others and no draw against them.
 *   equal  whoever got the least time
 *   queue  in their order, each to its end
 *
 * Pure: the random numbers' state is an argument. */

enum share_kind { SHARE_INDEX, SHARE_EQUAL, SHARE_QUEUE };

struct share_rules {
	enum share_kind kind;
	bool idle;    /* a core is left idle when nobody pays */
	double floor; /* share of the choices that goes to who waits longest, 0..1 */
};

struct share_item {
	bool waits;   /* could start now */
	bool resting; /* its rule has said that it does not pay */
	bool fresh;   /* its build hardly ran yet */
	bool due;     /* it has to have its first turn in this run now */
	bool last;    /* chosen when no other target waits, or by the floor */
	/* rule_terms() */
	double found, age_s, gate, build_age_s;
	double price;  /* rule.h's; 0: another rule judges it */
	double weight; /* share_weight() */
	int32_t priority;
	uint64_t spent_us; /* in this run */
	uint64_t last_us;  /* when its last quantum began; 0: never in this run */
};

/* Why it was chosen, or nobody. */
enum share_why {
	SHARE_FRESH,
	SHARE_FLOOR,
	SHARE_PAYS,
	SHARE_TURN,    /* equal, queue */
	SHARE_NOBODY,  /* nobody waits */
	SHARE_TOO_POOR /* nobody who waits pays */
};

/* The index of the one to start, or n. */
size_t share_pick(const struct share_rules *r, const struct share_item *v, size_t n,
		  struct chance *c, enum share_why *ret_why);

/* Whether it waits, and its mean is worth the price. */
bool share_pays(const struct share_item *t);

/* What is wrong with a target, from what it did lately: each makes its index smaller. */
struct share_health {
	uint64_t quanta;      /* that it had */
	uint64_t not_started; /* of them: fuzzing never began */
	uint64_t limited;     /* ended by memory, a timeout or a slow input */
	uint64_t crashed;     /* ended by a crash */
};
/* The factor for that and its priority: ten more count twice. */
double share_weight(const struct share_health *h, int32_t priority);

#endif
