/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the scheduling policies on invented and on recorded fleets: the real code of
 * runner/policy on a simulated machine.  docs/scheduling.md explains the tables.
 *
 * usage: schedule [--seed=N] [--replicates=N] [--hours=N] [--targets=N] [--curves=DIR]
 *                 [--quick] [--sensitivity] [--short] [--shards]
 *
 * The tables are reproducible for a seed.  Only the last table, the cost of deciding, is measured
 * on this machine. */
#include "tests/bench/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool number(const char *arg, const char *name, uint64_t most, uint64_t *ret)
{
	size_t n = strlen(name);
	char *end;

	if (strncmp(arg, name, n) != 0 || arg[n] < '0' || arg[n] > '9')
		return false;
	*ret = strtoull(arg + n, &end, 10);
	return *end == '\0' && *ret <= most;
}

static bool option(struct schedule_options *o, const char *arg)
{
	uint64_t v;

	if (strcmp(arg, "--quick") == 0) {
		o->quick = true;
		o->replicates = 1;
		o->targets = 40;
	} else if (strcmp(arg, "--sensitivity") == 0) {
		o->sensitivity = true;
	} else if (strcmp(arg, "--short") == 0) {
		o->only_short = true;
	} else if (strcmp(arg, "--shards") == 0) {
		o->only_shards = true;
	} else if (strncmp(arg, "--curves=", 9) == 0) {
		o->curves = arg + 9;
	} else if (number(arg, "--seed=", UINT32_MAX, &v)) {
		o->seed = v;
	} else if (number(arg, "--replicates=", 1000, &v) && v > 0) {
		o->replicates = (unsigned)v;
	} else if (number(arg, "--hours=", 240, &v) && v > 0) {
		o->hours = (unsigned)v;
	} else if (number(arg, "--targets=", 10000, &v) && v >= 4) {
		o->targets = (unsigned)v;
	} else {
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct schedule_options o = {.seed = 1,
				     .replicates = 6,
				     .hours = 72,
				     .targets = 200,
				     .curves = "tests/fleet/curves"};

	for (int i = 1; i < argc; i++)
		if (!option(&o, argv[i])) {
			(void)fprintf(stderr, "schedule: '%s': see the top of schedule.c\n",
				      argv[i]);
			return 2;
		}
	printf("seed %llu, %u replicates of %u h, %u targets in run mode\n",
	       (unsigned long long)o.seed, o.replicates, o.hours, o.targets);
	if (o.only_short)
		return schedule_short(&o) ? 0 : 1;
	if (o.only_shards) {
		schedule_shards(&o);
		return 0;
	}
	schedule_run_mode(&o);
	schedule_continuous(&o);
	if (o.sensitivity)
		schedule_sensitivity(&o);
	if (!schedule_short(&o) || !schedule_replay(&o))
		return 1;
	schedule_shards(&o);
	schedule_cost(&o);
	return 0;
}
