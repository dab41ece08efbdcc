/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ENGINE_CENTIPEDE_H
#define RUNNER_ENGINE_CENTIPEDE_H

#include "runner/engine/adapter.h"

/* Centipede: programs that are linked with its runner.  `centipede` is beside the program, or in
 * the cell's PATH.  The formats are those of the fuzztest repository of August 2026: centipede.cc
 * (lines), environment.h (flags), workdir.h (names of files). */
extern const struct engine_ops engine_centipede;

/* engine_ops.line: output of centipede or of a replay. */
void centipede_line(struct slice line, struct engine_state *io);

#endif
