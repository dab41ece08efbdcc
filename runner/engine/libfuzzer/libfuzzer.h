/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ENGINE_LIBFUZZER_H
#define RUNNER_ENGINE_LIBFUZZER_H

#include "runner/engine/adapter.h"

/* libFuzzer of LLVM 14 to 19, and the units of LLVM's trunk.  Other code finds it by
 * engine_find() or in a target. */
extern const struct engine_ops engine_libfuzzer;

/* engine_ops.line */
void libfuzzer_line(struct slice line, struct engine_state *io);
/* The part of libfuzzer_line() that parses failures into io: fault, artifact, interrupted, done. */
void libfuzzer_failure(struct slice line, struct engine_state *io);
/* engine_ops.words */
void libfuzzer_words(struct slice line, engine_word_fn *fn, void *arg);
/* engine_ops.artifact: "<kind>-<40 hex digits>" and nothing else */
enum engine_artifact libfuzzer_artifact(struct slice name);
/* engine_ops.flags */
extern const char *const libfuzzer_flags[];
/* engine_ops.flag_ok */
bool libfuzzer_flag_ok(struct slice flag, char why[160]);
/* Whether a flag that a user may set applies to a replay, which does not mutate inputs. */
bool libfuzzer_flag_replays(const char *flag);

/* Exit codes: FuzzerOptions.h and FuzzerFlags.def. */
enum {
	LIBFUZZER_EXIT_USAGE = 1, /* bad flag, dictionary, directory */
	LIBFUZZER_EXIT_TIMEOUT = 70,
	LIBFUZZER_EXIT_OOM = 71,
	LIBFUZZER_EXIT_INTERRUPTED = 72,
	LIBFUZZER_EXIT_ERROR = 77, /* deadly signal, exit() in the target, leak */
};

#endif
