/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TOOL_INTERNAL_H
#define BASE_TOOL_INTERNAL_H

#include "base/tool.h"

/* What the files of a tool share; nobody else includes this. */

enum { TOOL_ENV_MAX = 40 };

struct tool_env {
	char *v[TOOL_ENV_MAX]; /* "NAME=value", NULL at the end */
	size_t n;
};

/* tool_env_done() is right also after a failure. */
MUST_CHECK int tool_env_fill(struct tool_env *env, const struct owner *o, struct err *e);
void tool_env_done(struct tool_env *env);

#endif
