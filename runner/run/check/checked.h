/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_CHECK_CHECKED_H
#define RUNNER_RUN_CHECK_CHECKED_H

#include "base/digest.h"
#include "base/file_id.h"
#include "runner/corpus/measure/shard.h"

/* The inputs that a check variant's present build has run, in the state directory:
 *
 *	stats/checked/<target>@<variant>.json	the build; how many inputs of the corpus wait
 *	stats/checked/<target>@<variant>.ran	the inputs: "<sha1> <size>" a line
 *
 * Both may be lost: the inputs run again.  A kill between the two loses or repeats no more than
 * that.  All functions block: call them in a child process, with the state's lock held. */
struct checked {
	char build[DIGEST_SHA1_HEX]; /* SHA-1 of the program; "": none yet */
	struct file_id file;	     /* the program's file when `build` was computed */
	struct candidates ran;	     /* sorted */
	uint64_t left;		     /* inputs of the corpus that this build has yet to run */
	uint64_t behind_since;	     /* since when there are such inputs, Unix seconds; 0: none */
};
#define _autochecked_ CLEANUP(checked_done) /* include base/cleanup.h */
void checked_done(struct checked *c);

/* build: the name "<target>@<variant>"; program: its file.  The inputs that another build ran do
 * not count.  Damaged files count as missing. */
MUST_CHECK int checked_load(int state, const char *build, const char *program, struct checked *ret,
			    struct err *e);
MUST_CHECK int checked_save(int state, const char *build, const struct checked *c, struct err *e);

#endif
