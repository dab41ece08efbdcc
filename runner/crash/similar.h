/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_SIMILAR_H
#define RUNNER_CRASH_SIMILAR_H

#include <stdbool.h>
#include <stddef.h>

/* Whether two crashes with different signatures are likely one bug, by their states: the first
 * lines are equal, and so is a second one, or the first is all that is left in both.  Lines of
 * the harness, of entry functions, and of modules without symbols are not compared, since all
 * crashes of a target share them. */
bool similar_states(const char *const *a, size_t n_a, const char *const *b, size_t n_b);

#endif
