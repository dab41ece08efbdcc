/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_SHELL_H
#define RUNNER_COMMAND_COMMON_SHELL_H

#include "base/buf.h"
#include "runner/engine/engine.h"

/* An engine's command as text for sh(1): quoted so that it can be pasted, or stand in a
 * script, on a machine without fuzzcell.  It runs in a subshell, in dir, with exactly
 * the environment of the command; its status is the target's. */
struct shell_command {
	const char *dir;
	const struct engine_cmd *cmd;
	uint64_t stack_kib; /* the soft limit that it had here; 0: leave it */
};

/* May stand anywhere in dir, argv and env:
 * the path of a symbolizer of the machine where it runs, empty when there is none; */
#define SHELL_SYMBOLIZER "\001s"
/* $here, which the script has set; */
#define SHELL_HERE "\001h"
/* $input, likewise; */
#define SHELL_INPUT "\001i"
/* the byte itself, of names that may be any bytes. */
#define SHELL_BYTE "\001\001"

MUST_CHECK int shell_print(const struct shell_command *c, struct buf *out, struct err *e);

/* One word. */
MUST_CHECK int shell_quote(const char *text, struct buf *out, struct err *e);

#endif
