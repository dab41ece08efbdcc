/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONFIG_RELOCATE_H
#define RUNNER_CONFIG_RELOCATE_H

#include "runner/config/config.h"

/* A source as it would be in another directory: the work tree of another commit.  Pure. */

/* Each path at or below `from` leads to the same place below `to`, also in the words of the build
 * command.  from: a directory of the source's own path, without "/" at its end.
 *
 * -EINVAL: the source has no build, or its build fills a directory outside of `from`, where it
 * would replace what another commit made.  config_source_relocated_done() frees *ret; s must live
 * as long. */
MUST_CHECK int config_source_relocate(const struct config_source *s, const char *from,
				      const char *to, struct config_source *ret, struct err *e);
void config_source_relocated_done(struct config_source *s);

/* Sixteen hexadecimal digits that stand for how the source builds: sources of one configuration in
 * several places have the same ones. */
enum { CONFIG_SOURCE_HOW = 17 };
void config_source_how(const struct config_source *s, const char *from,
		       char ret[CONFIG_SOURCE_HOW]);

#endif
