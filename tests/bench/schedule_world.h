/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SCHEDULE_WORLD_H
#define TESTS_BENCH_SCHEDULE_WORLD_H

#include "runner/policy/chance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Targets of which it is settled when they find what: each edge and each bug has a time
 * on the target's own clock of fuzzing, in CPU-seconds, so that a policy only decides who
 * gets the CPU.  Invented ones, from a seed; or recorded ones, from a file. */

struct times {
	double *v; /* rising */
	size_t n;
};

enum world_type {
	WORLD_QUICK,  /* 200 to 2000 edges, all within minutes */
	WORLD_LOG,    /* 1500 to 15,000, as many in each decade of eight, or more in the later */
	WORLD_GATES,  /* three to eight gates one behind the other, 5 min to 6 h each */
	WORLD_BLOOMS, /* 50 to 400 edges, then nothing for 20 min to 10 h, then thousands */
	WORLD_RECORDED,
	WORLD_TYPE_COUNT,
};

/* A change of the code, at a time of the machine's: a cluster of new edges and, every
 * other time, a bug; their times count from what the target had then. */
struct world_commit {
	double at_s;
	struct times edges, bugs;
};

struct world_target {
	enum world_type type;
	char name[64];
	char version[64];
	uint64_t base;	      /* edges that its seeds reach */
	uint64_t edges_total; /* of the binary */
	struct times edges, bugs;
	double opens_s;	   /* WORLD_BLOOMS: when its gate opens */
	double executions; /* a CPU-second */
	double recorded_s; /* how long it was watched; beyond that nothing is known */
	struct world_commit *commits;
	size_t n_commits;
};

struct world {
	struct world_target *v;
	size_t n;
};

/* Shares of the first four types, in percent. */
struct world_mix {
	const char *name;
	unsigned percent[4];
};
extern const struct world_mix world_mixes[3];

/* hours: of commits, daily in half of the targets; 0: none. */
void world_invent(struct world *w, uint64_t seed, const struct world_mix *mix, size_t n,
		  double hours);
/* Every DIR/NAME.tsv, by name.  False: not readable or not of that form; says so on
 * standard error.  What may be there: at most 64 files of at most a million edges. */
bool world_read(struct world *w, const char *dir);
void world_done(struct world *w);

/* Out of memory ends the program. */
void *room_for(size_t n, size_t size);

#endif
