/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_PROGRESS_H
#define RUNNER_STATE_PROGRESS_H

#include "base/clock.h"
#include "base/digest.h"
#include "base/file_id.h"
#include "runner/policy/curve.h"
#include "runner/policy/share.h"
#include "runner/policy/strategy.h"

/* A build that fuzzed for less than this is not compared with another build. */
#define PROGRESS_JUDGED_US (30 * USEC_PER_SEC)

/* A target's build. */
struct progress_build {
	char id[DIGEST_SHA1_HEX]; /* the binary's content; "": nothing is known */
	struct file_id binary;	  /* as it was when id was computed */
	/* Coverage and edges of the build before this one; 0: there was none. */
	uint64_t before_cov, before_total;
};

/* The progress of a target's fuzzing over runs: stats/progress/<target>.json.
 * Without the file, or with a damaged file, the target counts as new.
 *
 * The file may also have what shards found since (slices.h): loading adds it, and the next save of
 * a run replaces all of it by the sum. */
struct progress {
	struct progress_build build;
	struct curve curve;
	struct share_health health;
	struct strategies strategies; /* only arms and owed */
	uint64_t edges_total;
	uint64_t partners_read_us; /* job.partners_read_us */
	/* The first impossible number of its engine, because of which all its numbers are ignored;
	 * "": the build is believed. */
	char forged[160];
};

/* state: the state directory.  warning: the problem with the file; "": there was none. */
void progress_load(int state, const char *target, struct progress *ret, char warning[200]);
/* After 0 the file is on disk. */
MUST_CHECK int progress_save(int state, const char *target, const struct progress *p,
			     struct err *e);

/* The build's id, from the binary's content.  If the file has not changed since b was made, it is
 * b's id.  Otherwise this reads the whole file, so call it in a child process. */
MUST_CHECK int progress_identify(const struct progress_build *b, const char *binary,
				 struct file_id *ret_file, char id[DIGEST_SHA1_HEX], struct err *e);

/* Takes the target's present build.  Another build begins anew, and keeps only what the build
 * before it had reached.  True: it is another build. */
bool progress_take(struct progress *p, const struct file_id *file, const char *id);

/* Whether this build reaches much less than the build before, though it has about as many edges or
 * more. */
bool progress_dropped(const struct progress_build *b, uint64_t cov, uint64_t edges_total);

#endif
