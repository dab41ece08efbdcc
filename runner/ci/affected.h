/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CI_AFFECTED_H
#define RUNNER_CI_AFFECTED_H

#include "runner/ci/diff.h"
#include "runner/coverage/lcov.h"

/* Which targets a change affects, by what their corpora reach.  Pure.  What is not known affects a
 * target: only a line that is known not to be reached does not. */

enum affected_by {
	/* A coverage report of the base; the diff leads from the base to the head.  A changed line
	 * without a record (a macro, a global variable) counts if the file is reached. */
	AFFECTED_REPORT,
	/* A report of another commit: lines may have moved.  Each changed file with a reached line
	 * counts once, and each that the report does not name. */
	AFFECTED_OLD_REPORT,
	/* A measurement of the head (runner/coverage/linetable.h); the diff leads back, from the
	 * head to the base.  An optimiser removes code: lines beside a reached one count, too, and
	 * those without a record if the file is reached, removed ones if it is in the program.
	 * Each changed header counts: its inline functions, types and macros leave no trace. */
	AFFECTED_HEAD,
};

struct affected_coverage {
	const struct lcov *lcov;
	enum affected_by by;
	/* Of the repository: paths below it are those of the diff.  Another absolute path names a
	 * file if it ends with the file's path in the repository; a relative one, if the file's
	 * path ends with it.  NULL: not known. */
	const char *root;
};

/* How many changed places the target's corpus may reach.  io_known[i] is set if the coverage names
 * the diff's file i; of a header, it must know each changed line, because types and macros are used
 * in other files.  io_known may be NULL. */
uint64_t affected_lines(const struct diff *d, const struct affected_coverage *coverage,
			bool *io_known);

/* Whether a changed file has code, by its name, or is a submodule or a link. */
bool affected_has_code(const struct diff *d);

/* The file of the diff that a path of a coverage names; NULL: none. */
const struct diff_file *affected_file(const struct diff *d, const char *root, const char *path);

/* The first changed file with code, submodule or link that no coverage knows: it may be in every
 * target.  known: of each file of the diff.  NULL: there is none. */
const char *affected_unknown(const struct diff *d, const bool *known);

#endif
