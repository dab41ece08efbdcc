/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SCHEDULE_H
#define TESTS_BENCH_SCHEDULE_H

#include "tests/bench/schedule_sim.h"

/* The parts of `make bench-schedule`; each prints its tables. */

struct schedule_options {
	uint64_t seed;
	unsigned replicates; /* fleets of each mix in continuous mode */
	unsigned hours;	     /* simulated hours of each fleet */
	unsigned targets;    /* in run mode */
	bool quick, sensitivity, only_short, only_shards;
	const char *curves; /* directory of recorded curves */
};

void schedule_run_mode(const struct schedule_options *o);
void schedule_continuous(const struct schedule_options *o);
void schedule_sensitivity(const struct schedule_options *o);
bool schedule_short(const struct schedule_options *o);
void schedule_shards(const struct schedule_options *o);
bool schedule_replay(const struct schedule_options *o);
void schedule_cost(const struct schedule_options *o);

#endif
