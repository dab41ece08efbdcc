/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ENGINE_GO_H
#define RUNNER_ENGINE_GO_H

#include "runner/engine/adapter.h"

/* Go's own fuzzing, 1.19 and newer: programs of `go test -c -fuzz=.`, one target for each of their
 * fuzz tests.
 *
 * The formats are those of Go 1.19: src/internal/fuzz/fuzz.go (lines, GODEBUG=fuzzdebug=1),
 * src/testing/fuzz.go (failures, testdata/fuzz), src/internal/fuzz/encoding.go (inputs). */
extern const struct engine_ops engine_go;

/* Where a test's inputs are, below its working directory. */
#define GO_INPUTS "testdata/fuzz"

/* engine_ops.line: output of fuzzing and of replays. */
void go_line(struct slice line, struct engine_state *io);

#endif
