/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_BYHAND_H
#define RUNNER_COMMAND_COMMON_BYHAND_H

#include "base/buf.h"
#include "runner/run/plan.h"

/* The command that runs one input of a target like a cell does, for a user's shell
 * (runner/command/common/shell.h). It has the same flags and environment, but host paths. The
 * symbolizer is one of the machine where the command runs. */
enum { BYHAND_MAX = 1 << 20 };

struct byhand {
	const struct plan_entry *target;
	/* The directory and files of the command. Each path may begin with SHELL_HERE. */
	const char *dir, *binary, *input;
	bool ub_goes_on; /* see struct engine_replay */
};

/* Fills the arguments and environment. engine_cmd_done() frees *ret. */
MUST_CHECK int byhand_command(const struct byhand *b, struct engine_cmd *ret, struct err *e);
MUST_CHECK int byhand_print(const struct byhand *b, struct buf *out, struct err *e);

#endif
