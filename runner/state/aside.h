/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_ASIDE_H
#define RUNNER_STATE_ASIDE_H

#include "base/err.h"

/* Moves a damaged entry of the state directory to "damaged/<path>", or "damaged/<path>~2" and so
 * on when that name is taken.  Nothing is deleted or overwritten; a user decides.
 *
 * name: in dir; path: the same entry, relative to the state directory.  *ret_to: where it is now,
 * relative to the state directory (free() it). */
MUST_CHECK int state_set_aside(int state_dirfd, int dir, const char *name, const char *path,
			       char **ret_to, struct err *e);

#endif
