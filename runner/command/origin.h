/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_ORIGIN_H
#define RUNNER_COMMAND_ORIGIN_H

#include "runner/config/config.h"
#include "runner/discover/discover.h"

/* How a person builds the targets of a configured source, typed at the top of its repository:
 * target.build, and target.made, where that leaves the program.  Of the targets l->v[from] and
 * those behind it that do not know it themselves; nothing when the source has no `build`. */
MUST_CHECK int origin_say_build(const struct config_source *s, struct target_list *l, size_t from,
				struct err *e);

#endif
