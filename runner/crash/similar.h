/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_SIMILAR_H
#define RUNNER_CRASH_SIMILAR_H

#include <stdbool.h>
#include <stddef.h>

/* Whether two crashes with different signatures are likely one bug.  The first lines of their
 * states are equal, and either a second line is equal, or neither state has another comparable
 * line.  Lines of the harness, of entry functions, and of modules without symbols are not compared,
 * since all crashes of a target share them.  Triage asks this of a new crash and each unmerged
 * crash of the ledger, of whatever target (runner/run/triage/note.c). */
bool similar_states(const char *const *a, size_t n_a, const char *const *b, size_t n_b);

#endif
