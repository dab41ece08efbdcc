/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SCHEDULE_SIM_H
#define TESTS_BENCH_SCHEDULE_SIM_H

#include "runner/policy/fleet.h"
#include "runner/policy/turns.h"
#include "tests/bench/schedule_world.h"

/* A simulated machine.  Each second the fleet's real code decides which targets of a world run. The
 * machine carries out the orders, and reports like cells: CPU time, stalls, coverage and inputs.
 *
 * A start costs the target 2 CPU-seconds and one for each 1000 edges, to read its corpus. */

/* Neighbours on the cells' CPUs. */
struct sim_load {
	double times; /* a cell gets 1/times of its CPU; 1: all of it */
	double on_s;  /* they alternate: busy for on_s, idle for on_s; 0: always busy */
};

struct sim_policy {
	const char *name;
	struct rule rule;
	struct fleet_rules rules;
	double scale; /* factor for the cost of a start; 1: as above */
	bool passes;  /* when all targets rest, all start again, as in a restarted queue */
	/* A run with an end: the turns from turns_set(), or others for comparison. */
	uint64_t run_s; /* length of the run; 0: no end */
	enum sim_turns {
		SIM_TURNS,	 /* turns_set() */
		SIM_FIRST_EQUAL, /* each target has an equal first turn, then turns of 300 s */
		SIM_ONE_EACH,	 /* each target has one turn of an equal share: a plain script */
	} turns;
};

struct sim_cell {
	struct effective_reading reading;
	double overhead_s; /* CPU time still needed to read its corpus */
	double fuzzed_s;   /* the target's clock */
	size_t edges, bugs;
	size_t commits; /* number of commits so far */
	struct sim_change {
		double from_s; /* fuzzed_s at the commit */
		size_t edges, bugs;
	} * changes;
	double runs; /* of this cell */
	enum fleet_does does;
	enum fleet_what left;
};

struct sim {
	const struct world *world;
	const struct sim_policy *policy;
	struct fleet fleet;
	struct sim_cell *cells;
	struct sim_load load;
	struct chance chance; /* the load's */
	unsigned workers;
	uint64_t now_s, began_s; /* began_s: the run */
	double cpu_s;		 /* of all cells, starts included */
	uint64_t edges, bugs;
	uint64_t changes_bugs,
	    changes_bugs_s; /* found bugs of commits, and the sum of their times */
	uint64_t starts;
	bool over; /* no target runs or waits */
};

/* The world and the policy are borrowed until sim_done(). */
void sim_begin(struct sim *s, const struct world *w, const struct sim_policy *p, unsigned workers,
	       struct sim_load load, uint64_t seed);
void sim_second(struct sim *s);
void sim_done(struct sim *s);
/* Starts another run of the same builds; the knowledge about them stays. */
void sim_next_run(struct sim *s);

/* 10-minute silence by wall, by CPU time; price and index: as delivered.  hours of CPU: the
 * cap, 0: none. */
struct sim_policy sim_policy(const char *name, enum rule_kind rule, enum share_kind share,
			     double price, double cap_hours);

#endif
