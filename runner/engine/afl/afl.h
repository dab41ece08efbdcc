/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ENGINE_AFL_H
#define RUNNER_ENGINE_AFL_H

#include "runner/engine/adapter.h"

/* AFL++ 4.04 and newer: programs of afl-clang-fast, with its persistent loop, its fork server, or
 * its driver for LLVMFuzzerTestOneInput().  afl-fuzz is beside the program, or in the cell's PATH.
 *
 * The formats are those of AFL++ 4.04c: src/afl-fuzz-stats.c (fuzzer_stats), src/afl-fuzz.c
 * (messages), src/afl-fuzz-bitmap.c (names of files). */
extern const struct engine_ops engine_afl;

/* engine_ops.line: output of afl-fuzz, its fuzzer_stats, or a replay's output. */
void afl_line(struct slice line, struct engine_state *io);

#endif
