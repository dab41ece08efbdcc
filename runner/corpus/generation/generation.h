/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_GENERATION_GENERATION_H
#define RUNNER_CORPUS_GENERATION_GENERATION_H

#include "base/err.h"
#include "runner/corpus/measure/shard.h"

#include <stdbool.h>
#include <stdint.h>

/* Replaces a corpus in one step, and keeps the corpora before it:
 *   corpus/<target>/                the corpus
 *   generations/<target>/next/      before the exchange: the new corpus (hard links);
 *                                   after the exchange, for a moment: the old corpus
 *   generations/<target>/pending    the inode number of the new corpus, written before
 *                                   the exchange, when `next` has all chosen files
 *   generations/<target>/<number>/  earlier corpora, the greatest number is the newest
 *
 * The exchange is one rename that swaps corpus/<target> and `next`.  After a kill, `pending` shows
 * whether the exchange happened: then corpus/<target> has the inode number in `pending`.
 *
 * No file of the old corpus is removed before the new corpus is on disk as corpus/<target>.  Files
 * of the old corpus that were not among the candidates are carried over to the new corpus.
 *
 * If corpus/ is a file system of its own, the generations are in corpus/.generations/, because an
 * exchange cannot cross file systems.
 *
 * All functions block: call them in a child process.  Only one process may write: hold the lock of
 * the state directory. */

struct generation {
	int corpora; /* descriptor of corpus/, the directory of all corpora */
	int dir;     /* descriptor of generations/<target> */
	char target[256];
};

/* Opens the generations of a target, and makes missing directories.  state: descriptor of the state
 * directory.
 *
 * A descriptor of corpus/<target> refers to the old corpus after an exchange: open corpus/<target>
 * again. */
MUST_CHECK int generation_open(int state, const char *target, struct generation *ret,
			       struct err *e);
void generation_close(struct generation *g);

/* What generation_recover() found. */
enum generation_found {
	GENERATION_CLEAN,    /* no replacement was interrupted */
	GENERATION_UNDONE,   /* the exchange had not happened: corpus/<target> is the old corpus */
	GENERATION_FINISHED, /* the exchange had happened: corpus/<target> is the new corpus */
};
/* Recovers from a kill of generation_replace() at any point.  If the exchange happened, completes
 * the replacement, else undoes it.  keep: as in struct generation_replacement.
 *
 * Recover before you remove any file that may be a hard link to a file of a corpus: each start of
 * fuzzcell first recovers all targets.  The reason: the removal of one link changes the time
 * (ctime) of the file.  A recovery carries over each file of the old corpus with a time after
 * `pending`, because that file came late.  With a changed time, an old file would be carried over,
 * too.
 *
 * generation_replace() also recovers first. */
MUST_CHECK int generation_recover(struct generation *g, unsigned keep, enum generation_found *ret,
				  struct err *e);

struct generation_sum {
	uint64_t undone;   /* targets with GENERATION_UNDONE */
	uint64_t finished; /* targets with GENERATION_FINISHED */
};
/* Calls generation_recover() for each target that has generations.  state: descriptor of the state
 * directory. */
MUST_CHECK int generation_recover_all(int state, unsigned keep, struct generation_sum *ret,
				      struct err *e);

struct generation_replacement {
	int stage; /* directory with the candidates' files; a file's name is its content's SHA-1 */
	const struct candidates *chosen; /* the files of the new corpus; an empty list is refused */
	/* All candidates.  Files of the old corpus that are not in this list are carried over. */
	const struct candidates *known;
	unsigned keep; /* number of old corpora to keep; 0: none */
};
struct generation_result {
	bool replaced;	  /* the exchange happened: corpus/<target> is the new corpus */
	uint64_t files;	  /* number of chosen files in the new corpus */
	uint64_t bytes;	  /* of the chosen files */
	uint64_t carried; /* entries of the old corpus that were carried over */
	uint64_t kept;	  /* the number under which the old corpus is kept; 0: not kept */
};
/* Replaces the corpus of the target by the chosen files.
 *
 * On a failure before the exchange, ret->replaced is false, and the old corpus is unchanged.
 *
 * On a failure after the exchange, ret->replaced is true, and the new corpus is in place.  The next
 * start completes the rest. */
MUST_CHECK int generation_replace(struct generation *g, const struct generation_replacement *with,
				  struct generation_result *ret, struct err *e);

#endif
