/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_GENERATION_RETRY_H
#define RUNNER_CORPUS_GENERATION_RETRY_H

#include "base/err.h"
#include "runner/corpus/measure/shard.h"

/* A build that is repaired gets back what a broken one failed on:
 *
 *	quarantine/<target>/<sha1>	failed on the build that was merged last
 *	retry/<target>/<sha1>		failed on an older one: merges try them again, a
 *					few each
 *
 * An input is in one of them until it ran well in a merge; a kill can leave it in both.
 * state: the state directory.  Everything blocks.  One writer: hold the state's lock. */

/* The target has another build: all that it quarantined may be tried again. */
MUST_CHECK int retry_turn(int state, const char *target, struct err *e);

/* Links at most max of what may be tried again into the stage. */
MUST_CHECK int retry_stage(int state, const char *target, unsigned max, int stage, struct err *e);

/* Whether there is any. */
MUST_CHECK int retry_waits(int state, const char *target, bool *ret, struct err *e);

/* Whether the input is one that may be tried again. */
bool retry_has(int state, const char *target, const char *name);

/* An input failed again, and is quarantined. */
MUST_CHECK int retry_failed(int state, const char *target, const char *name, struct err *e);

/* These ran well; the corpus on disk has what they reach. */
MUST_CHECK int retry_passed(int state, const char *target, const struct candidates *ran,
			    struct err *e);

/* From quarantine back into the corpus.  One that is not there (any more) is passed over. */
MUST_CHECK int retry_restore(int state, const char *target, char (*names)[STORE_NAME], size_t n,
			     struct err *e);

#endif
