/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ENGINE_HONGGFUZZ_H
#define RUNNER_ENGINE_HONGGFUZZ_H

#include "runner/engine/adapter.h"

/* honggfuzz 2.6: programs of hfuzz-clang in persistent mode.  honggfuzz is beside the program, or
 * in the cell's PATH.
 *
 * The formats are those of honggfuzz 2.6: fuzz.c and honggfuzz.c (messages), linux/trace.c (names
 * of files). */
extern const struct engine_ops engine_honggfuzz;

/* engine_ops.line: output of honggfuzz, or of a replay. */
void honggfuzz_line(struct slice line, struct engine_state *io);

#endif
