/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_ROUNDS_SLURM_H
#define RUNNER_COMMAND_ROUNDS_SLURM_H

#include "base/buf.h"
#include "base/err.h"
#include "runner/rounds/plan.h"

#include <stddef.h>
#include <stdint.h>

/* Runs a program of Slurm; out receives its output. -ENOENT: there is none. -EIO: it failed; the
 * error has what it printed. */
MUST_CHECK int slurm_call(const char *const *argv, struct buf *out, struct err *e);

/* A round that was submitted. */
struct slurm_round {
	uint64_t round;
	char plan[ROUND_PLAN_ID];
	unsigned shards;
	uint64_t array, collect; /* numbers of the jobs */
	uint64_t submitted;	 /* Unix seconds */
};
/* The numbers of all rounds, sorted (free() them). */
MUST_CHECK int slurm_rounds(int state_dirfd, uint64_t **ret, size_t *ret_n, struct err *e);
MUST_CHECK int slurm_load(int state_dirfd, uint64_t round, struct slurm_round *ret, struct err *e);

#endif
