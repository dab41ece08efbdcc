/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_HISTORY_INTERNAL_H
#define RUNNER_STATE_HISTORY_INTERNAL_H

#include "base/err.h"
#include "runner/state/state.h"

#include <stddef.h>
#include <stdint.h>

/* Between history.c (from the beginning) and history_last.c (from the end). */

/* -1 and 0 when it is not there. */
MUST_CHECK int history_open(const struct state *s, const char *name, int *ret_fd, struct err *e);
/* n bytes at a place; fewer only where the file ends. */
MUST_CHECK int history_pread(int fd, char *to, size_t n, uint64_t at, size_t *ret_n, struct err *e);

#endif
