/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_ORIGIN_H
#define RUNNER_COMMAND_COMMON_ORIGIN_H

#include "runner/config/config.h"

/* Describes how a user builds the targets of a configured source, and in which repository, for
 * discover_source.shown_build and .top. Both are new strings. NULL: the source has no `build`, or
 * is in no repository. */
MUST_CHECK int origin_of(const struct config_source *s, char **ret_build, char **ret_top,
			 struct err *e);

#endif
