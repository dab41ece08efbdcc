/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_HISTORY_H
#define RUNNER_STATE_HISTORY_H

#include "runner/state/state.h"

/* Reading what state_append_history() wrote: the newest HISTORY_READ_MAX bytes of it,
 * line by line, oldest first.  Nobody's lock is needed: a line that is being
 * written is one that is cut. */
#define HISTORY_READ_MAX (UINT64_C(64) << 20)

/* line: a JSON object.  Non-zero ends it: that is what history_each() returns. */
typedef int history_fn(void *arg, const json_t *line, struct err *e);

/* ret_damaged: lines that are no JSON object; they are passed over.  A history that
 * is not there has no lines. */
MUST_CHECK int history_each(const struct state *s, const char *name, history_fn *fn, void *arg,
			    uint64_t *ret_damaged, struct err *e);

#endif
