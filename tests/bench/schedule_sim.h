/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SCHEDULE_SIM_H
#define TESTS_BENCH_SCHEDULE_SIM_H

#include "runner/policy/fleet.h"
#include "runner/policy/turns.h"
#include "tests/bench/schedule_world.h"

/* A machine in which the fleet's real code decides, second by second, who of a world's
 * targets runs.  The machine does what it is told, and answers as cells do: with CPU
 * time, stalls, coverage and inputs.
 *
 * A start costs the target 2 CPU-seconds and one for each 1000 edges: reading its corpus. */

/* Neighbours on the cells' CPUs. */
struct sim_load {
	double times; /* a cell gets one part in so many of its CPU; 1: all */
	double on_s;  /* how long they are there, and then are not; 0: always */
};

struct sim_policy {
	const char *name;
	struct rule rule;
	struct fleet_rules rules;
	double scale; /* of what a start costs; 1: as above */
	bool passes;  /* when all rest, all begin again: a queue that is started anew */
	/* A run with an end: the turns that turns_set() gives it, or others to compare with. */
	uint64_t run_s; /* 0: it has none */
	enum sim_turns {
		SIM_TURNS,	 /* turns_set() */
		SIM_FIRST_EQUAL, /* each target has an equal first turn, then quanta of 300 s */
		SIM_ONE_EACH,	 /* each target has one turn of an equal share: a plain script */
	} turns;
};

struct sim_cell {
	struct effective_reading reading;
	double overhead_s; /* still to be spent on its corpus */
	double fuzzed_s;   /* the target's clock */
	size_t edges, bugs;
	size_t commits; /* that have happened */
	struct sim_change {
		double from_s; /* fuzzed_s at the commit */
		size_t edges, bugs;
	} * changes;
	double runs; /* of this cell */
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
	uint64_t changes_bugs, changes_bugs_s; /* bugs of commits, and how long each took */
	uint64_t starts;
	bool over; /* nobody runs, nobody waits */
};

/* The world and the policy stay the caller's. */
void sim_begin(struct sim *s, const struct world *w, const struct sim_policy *p, unsigned workers,
	       struct sim_load load, uint64_t seed);
void sim_second(struct sim *s);
void sim_done(struct sim *s);
/* Another run of the same builds begins: what is known of them stays. */
void sim_next_run(struct sim *s);

/* 10-minute silence by wall, by CPU time; price and index: as delivered.  hours of CPU: the
 * cap, 0: none. */
struct sim_policy sim_policy(const char *name, enum rule_kind rule, enum share_kind share,
			     double price, double cap_hours);

#endif
