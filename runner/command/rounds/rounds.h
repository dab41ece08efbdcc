/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_ROUNDS_ROUNDS_H
#define RUNNER_COMMAND_ROUNDS_ROUNDS_H

#include "runner/command/common/session.h"
#include "runner/rounds/plan.h"

/* What the commands about several machines share. Functions return exit statuses, with errors
 * printed. */
struct plan_wish {
	const char *command;	      /* for messages */
	const char *shards, *workers; /* --shards, --workers */
	uint64_t time_us;	      /* --time; 0: not given */
	uint64_t round;		      /* 0: the next one of the state */
};
/* Finds the targets, with the state open for reading if it is there. */
int plan_targets(struct session *s);
int plan_divide(const struct session *s, const struct plan_wish *wish, struct round_plan *ret);
/* Prints the plan for users. */
void plan_print(const struct round_plan *p, size_t targets);

/* The subcommands of `fuzzcell slurm`. argv[0] is the subcommand's name. */
int slurm_submit(int argc, char **argv);
int slurm_status(int argc, char **argv);
int slurm_cancel(int argc, char **argv);

#endif
