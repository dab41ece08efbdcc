/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CI_AFFECTED_H
#define RUNNER_CI_AFFECTED_H

#include "runner/ci/diff.h"
#include "runner/coverage/lcov.h"

/* Which targets a change affects, by their coverage reports.  Pure.  What a report cannot tell
 * affects a target: only a line that is known not to be reached does not. */

/* How many changed places the target's corpus may reach.  exact: the report is of the commit before
 * the change, so its lines are those of the diff; a changed line without a record (a macro, a
 * global variable) counts if the file is reached.  Otherwise lines may have moved: each changed
 * file with a reached line counts once.  io_known[i] is set if the report names the diff's file i;
 * of a header, it must know each changed line, because types and macros are used in other files.
 * io_known may be NULL.
 *
 * A report's path is that of the machine that built the target: it names a file if it ends with the
 * file's path in the repository. */
uint64_t affected_lines(const struct diff *d, const struct lcov *coverage, bool exact,
			bool *io_known);

/* The first changed file with code, or a submodule, that no report knows: it may be in every
 * target. known: of each file of the diff.  NULL: there is none. */
const char *affected_unknown(const struct diff *d, const bool *known);

#endif
