/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_BYHAND_H
#define RUNNER_COMMAND_COMMON_BYHAND_H

#include "base/buf.h"
#include "runner/run/plan.h"

/* The command that runs one input of a target as a cell would, for a person's shell
 * (runner/command/common/shell.h): the same flags and environment, host paths, names from a
 * symbolizer of the machine where it runs. */
enum { BYHAND_MAX = 1 << 20 };

struct byhand {
	const struct plan_entry *target;
	/* Where it is run; each may begin with SHELL_HERE. */
	const char *dir, *binary, *input;
	bool ub_goes_on; /* engine_replay's */
};

/* The words; engine_cmd_done() frees. */
MUST_CHECK int byhand_command(const struct byhand *b, struct engine_cmd *ret, struct err *e);
MUST_CHECK int byhand_print(const struct byhand *b, struct buf *out, struct err *e);

#endif
