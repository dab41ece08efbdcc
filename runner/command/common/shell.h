/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_SHELL_H
#define RUNNER_COMMAND_COMMON_SHELL_H

#include "base/buf.h"
#include "runner/engine/engine.h"

/* An engine's command as text for sh(1). The text is quoted: it can be pasted or stand in a script,
 * on a machine without fuzzcell. It runs in a subshell, in dir, with exactly the environment of the
 * command. Its exit status is that of the target. */
struct shell_command {
	const char *dir;
	const struct engine_cmd *cmd;
	uint64_t stack_kib; /* the soft stack limit of this process; 0: leave it unchanged */
};

/* Marks that may stand anywhere in dir, argv and env. This one is the path of a symbolizer of the
 * machine where the command runs, empty if there is none. */
#define SHELL_SYMBOLIZER "\001s"
/* $here, which the script sets. */
#define SHELL_HERE "\001h"
/* $input, which the script sets. */
#define SHELL_INPUT "\001i"
/* A new directory, which is removed at the end. */
#define SHELL_SCRATCH "\001w"
/* The mark byte itself, in names of arbitrary bytes. */
#define SHELL_BYTE "\001\001"

void shell_print(const struct shell_command *c, struct buf *out);

/* Appends text as one quoted word. */
void shell_quote(const char *text, struct buf *out);

#endif
