/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_SCHEDULE_WORLD_H
#define TESTS_BENCH_SCHEDULE_WORLD_H

#include "runner/policy/chance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Targets with predetermined findings.  Each edge and each bug has a time on the target's own clock
 * of fuzzing, in CPU-seconds.  So a policy only decides which target gets the CPU.  Targets are
 * invented from a seed, or recorded in a file. */

struct times {
	double *v; /* rising */
	size_t n;
};

enum world_type {
	WORLD_QUICK,  /* 200 to 2000 edges, all within minutes */
	WORLD_LOG,    /* 1500 to 15,000, equally many in each of eight decades, or more later */
	WORLD_GATES,  /* three to eight gates, one after the other, 5 min to 6 h each */
	WORLD_BLOOMS, /* 50 to 400 edges, then nothing for 20 min to 10 h, then thousands */
	WORLD_RECORDED,
	WORLD_TYPE_COUNT,
};

/* A change of the code at a machine time: a cluster of new edges and, in every second commit, a
 * bug. Their times count from the target's clock at the commit. */
struct world_commit {
	double at_s;
	struct times edges, bugs;
};

/* How a target of the first four types finds its edges: each after mean_s CPU-seconds in the mean,
 * as soon as its gate is open; gates open one after the other, in steps.  The times of an invented
 * target are drawn from these; another fuzzer of the same target would draw others. */
struct world_species {
	float mean_s;
	unsigned gate; /* 0: open from the beginning */
};
struct world_gate {
	double mean_s;
	unsigned steps;
};
enum { WORLD_GATES_MAX = 8, WORLD_STEPS_MAX = 4 }; /* steps: of a gate */

struct world_target {
	enum world_type type;
	char name[64];
	char version[64];
	uint64_t base; /* edges that its seeds reach */
	uint64_t
	    corpus; /* edges that its first inputs reach beyond that: reading them takes time */
	uint64_t edges_total; /* of the binary */
	struct times edges, bugs;
	double opens_s;	   /* WORLD_BLOOMS: when its gate opens */
	double executions; /* a CPU-second */
	double recorded_s; /* length of the record; later findings are unknown */
	struct world_commit *commits;
	size_t n_commits;
	struct world_species *species; /* as many as edges */
	struct world_gate gates[WORLD_GATES_MAX];
	unsigned n_gates;
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

/* hours: time span of commits, which are daily in half of the targets; 0: no commits. */
void world_invent(struct world *w, uint64_t seed, const struct world_mix *mix, size_t n,
		  double hours);
/* Reads every DIR/NAME.tsv, sorted by name: at most 64 files with at most a million edges each.
 * False: a file cannot be read or has another format; the error is on standard error. */
bool world_read(struct world *w, const char *dir);
void world_done(struct world *w);

/* Allocates zeroed memory, or ends the program. */
void *room_for(size_t n, size_t size);

#endif
