/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ENGINE_LIBFUZZER_H
#define RUNNER_ENGINE_LIBFUZZER_H

#include "runner/engine/engine.h"

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
/* The environment of a cell.  The user's *_OPTIONS are merged into it. */
struct libfuzzer_env {
	const char *const *env; /* the user's */
	uint64_t rss_limit_mib;
	const char *symbolizer;			   /* or NULL */
	const char *known_leaks, *known_undefined; /* files of suppressions, or NULL */
	bool ub_goes_on; /* undefined behaviour is reported, and does not end a program that
			    was built with recovery */
};
MUST_CHECK int libfuzzer_env(const struct libfuzzer_env *o, struct strv *io, struct err *e);

static inline void slice_skip(struct slice *io, size_t n)
{
	io->p += n;
	io->n -= n;
}

/* Moves *io past the first occurrence; false and unmoved when there is none. */
static inline bool slice_find(struct slice *io, struct slice needle)
{
	const char *hit = io->n ? memmem(io->p, io->n, needle.p, needle.n) : NULL;

	if (!hit)
		return false;
	slice_skip(io, (size_t)(hit - io->p) + needle.n);
	return true;
}

/* Exit codes: FuzzerOptions.h and FuzzerFlags.def; the last one is ours. */
enum {
	LIBFUZZER_EXIT_USAGE = 1, /* bad flag, dictionary, directory */
	LIBFUZZER_EXIT_TIMEOUT = 70,
	LIBFUZZER_EXIT_OOM = 71,
	LIBFUZZER_EXIT_INTERRUPTED = 72,
	/* Every sanitizer's reports; their defaults are 1, 23, 66 and 77, which libFuzzer
	 * or LSan's fatal errors use as well. */
	LIBFUZZER_EXIT_SANITIZER = 76,
	LIBFUZZER_EXIT_ERROR = 77, /* deadly signal, exit() in the target, leak */
};

#endif
