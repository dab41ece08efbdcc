/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_HISTORY_INTERNAL_H
#define RUNNER_STATE_HISTORY_INTERNAL_H

#include "base/err.h"
#include "runner/state/state.h"

#include <stddef.h>
#include <stdint.h>

/* Shared by history.c (reads forwards) and history_last.c (reads backwards). */

/* *ret_fd is -1, and the result 0, if the file does not exist. */
MUST_CHECK int history_open(const struct state *s, const char *name, int *ret_fd, struct err *e);
/* Reads n bytes at an offset; fewer only at the file's end. */
MUST_CHECK int history_pread(int fd, char *to, size_t n, uint64_t at, size_t *ret_n, struct err *e);

#endif
