/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CI_AFFECTED_H
#define RUNNER_CI_AFFECTED_H

#include "runner/ci/diff.h"
#include "runner/coverage/lcov.h"
#include "runner/publish/render/source_link.h"

/* How many changed places of the source text a target's corpus reaches, by its coverage report.
 * exact: the report is of the commit before the change, so its lines are those of the diff.
 * Otherwise lines may have moved: each changed file with a reached line counts once. */
uint64_t affected_lines(const struct diff *d, const struct lcov *coverage,
			const struct sources *sources, bool exact);

#endif
