/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/policy/turns.h"

#include "base/clock.h"

#define RULE_AFTER_US (60 * USEC_PER_SEC)
#define SLICE_LEAST   (10 * USEC_PER_SEC)
#define SLICE_PARTS   4 /* of an equal share */
#define LOOK_PARTS    2 /* of a slice */
#define SHORTEST_US   USEC_PER_SEC
#define WALL_PER_CPU  3 /* a starved target has had its turn as well */

uint64_t turns_fair(uint64_t most_us, uint64_t left_us, unsigned workers, size_t waiting)
{
	/* The number of rounds until each target had its turn, with turns of equal length.  The
	 * last target still gets a whole turn, and no worker is idle before the end. */
	uint64_t rounds = workers && waiting > workers ? (waiting + workers - 1) / workers : 1;
	uint64_t fair = left_us / rounds;

	return fair < most_us ? fair : most_us;
}

static uint64_t turns_at_least(uint64_t us, uint64_t least)
{
	return us > least ? us : least;
}

static uint64_t slice_of(const struct turns *t, unsigned workers, size_t targets)
{
	uint64_t all = t->deadline_us > t->began_us ? t->deadline_us - t->began_us : 0;
	uint64_t share = turns_fair(UINT64_MAX, all, workers, targets);
	uint64_t slice =
	    turns_at_least(share / SLICE_PARTS, share < SLICE_LEAST ? share : SLICE_LEAST);

	return slice < t->turn_us ? turns_at_least(slice, SHORTEST_US) : t->turn_us;
}

struct crowd {
	size_t all, run;
	size_t without; /* a turn in this run */
};

static struct crowd turns_count(const struct fleet *f)
{
	struct crowd c = {0};

	for (size_t i = 0; i < f->n; i++) {

		enum fleet_does does = f->does(f->arg, i);

		c.all += does != FLEET_OUT;
		c.run += does == FLEET_RUNS;
		c.without += does == FLEET_WAITS && f->v[i].turn_began_us == 0;
	}
	return c;
}

void turns_set(struct fleet *f, const struct turns *t, uint64_t now_us, unsigned workers)
{
	struct fleet_rules *r = &f->rules;
	struct crowd c = turns_count(f);
	uint64_t left = t->deadline_us > now_us ? t->deadline_us - now_us : 0;
	uint64_t slice = t->deadline_us ? slice_of(t, workers, c.all) : t->turn_us;
	uint64_t look = turns_at_least(slice / LOOK_PARTS, SHORTEST_US);
	uint64_t fair = turns_fair(slice, left, workers, c.without + c.run);
	bool scarce = t->deadline_us && c.without > 0 && fair < slice;
	bool late = scarce && fair <= look;

	r->turn_us = scarce ? turns_at_least(fair, SHORTEST_US) : slice;
	r->turn_wall_us = scarce ? r->turn_us : WALL_PER_CPU * slice;
	r->rule_after_us = r->fresh_us = slice / 5 < RULE_AFTER_US ? slice / 5 : RULE_AFTER_US;
	if (r->fresh_us > r->turn_us)
		r->rule_after_us = r->fresh_us = r->turn_us;
	for (size_t i = 0; i < f->n; i++) {
		bool due = late && f->v[i].turn_began_us == 0;

		/* Avoids needless writes: a page that is not written stays shared with the children
		 * that fuzzcell forks. */
		if (f->v[i].due != due)
			f->v[i].due = due;
	}
}
