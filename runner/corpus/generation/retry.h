/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_GENERATION_RETRY_H
#define RUNNER_CORPUS_GENERATION_RETRY_H

#include "base/err.h"
#include "runner/corpus/measure/shard.h"

/* A repaired build gets back the inputs on which a broken build failed:
 *
 *	quarantine/<target>/<sha1>	failed on the last build that was merged
 *	retry/<target>/<sha1>		failed on an older build: each merge replays a
 *					few of them
 *
 * An input is in one of these directories until it runs well in a merge.  A kill can leave it in
 * both.  state: the state directory.  Everything blocks.  One writer: hold the state's lock. */

/* Moves the target's quarantined inputs to retry/.  Call it when the target has another build. */
MUST_CHECK int retry_turn(int state, const char *target, struct err *e);

/* Links at most max inputs of retry/ into the stage. */
MUST_CHECK int retry_stage(int state, const char *target, unsigned max, int stage, struct err *e);

/* Whether retry/ has an input. */
MUST_CHECK int retry_waits(int state, const char *target, bool *ret, struct err *e);

/* Whether retry/ has this input. */
bool retry_has(int state, const char *target, const char *name);

/* Removes an input from retry/: it failed again, and is quarantined. */
MUST_CHECK int retry_failed(int state, const char *target, const char *name, struct err *e);

/* Removes from retry/ the inputs that ran well.  The corpus on disk must reach the same. */
MUST_CHECK int retry_passed(int state, const char *target, const struct candidates *ran,
			    struct err *e);

/* Moves inputs from quarantine back into the corpus.  Missing ones are skipped. */
MUST_CHECK int retry_restore(int state, const char *target, char (*names)[STORE_NAME], size_t n,
			     struct err *e);

#endif
