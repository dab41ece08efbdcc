/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ENGINE_FUZZTEST_H
#define RUNNER_ENGINE_FUZZTEST_H

#include "runner/engine/adapter.h"

/* FuzzTest with its own engine (a build with --config=fuzztest): each FUZZ_TEST of a program is a
 * target.  The formats are those of the fuzztest repository of August 2026: internal/runtime.cc
 * (reports, variables of the environment), internal/configuration.cc, init_fuzztest.cc (flags). */
extern const struct engine_ops engine_fuzztest;

/* FuzzTest with libFuzzer as its engine (--config=libfuzzer, compatibility mode). */
extern const struct engine_ops engine_fuzztest_libfuzzer;

/* engine_ops.line: output of fuzzing and of replays. */
void fuzztest_line(struct slice line, struct engine_state *io);
/* The part of fuzztest_line() that parses into io a property that does not hold. */
void fuzztest_failure(struct slice line, struct engine_state *io);

#endif
