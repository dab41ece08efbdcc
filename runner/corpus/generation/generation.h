/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_GENERATION_GENERATION_H
#define RUNNER_CORPUS_GENERATION_GENERATION_H

#include "base/err.h"
#include "runner/corpus/measure/shard.h"

#include <stdbool.h>
#include <stdint.h>

/* Replacing a corpus in one step, and the corpora before it:
 *   corpus/<target>/                the corpus
 *   generations/<target>/next/      what will replace it (hard links); after the
 *                                   exchange, for a moment, what it replaced
 *   generations/<target>/pending    which directory `next` was when it was whole
 *   generations/<target>/<number>/  corpora before, the greatest is the youngest
 * Nothing of the old corpus goes before the new one is on disk in its place, and
 * a file that is in neither the new corpus nor among those that were candidates
 * is carried over.  Where corpus/ is a file system of its own, the generations are
 * in corpus/.generations/, because an exchange cannot cross file systems.
 * Everything blocks: run it in a child process.  One writer: hold the state's lock. */

struct generation {
	int corpora; /* the directory of all corpora */
	int dir;     /* generations/<target> */
	int corpus;  /* corpus/<target>, of the moment that it was opened */
	char target[256];
};

/* Makes what is missing; state: the state directory.  A descriptor of the corpus
 * itself is that of an old generation after an exchange: open it again. */
MUST_CHECK int generation_open(int state, const char *target, struct generation *ret,
			       struct err *e);
void generation_close(struct generation *g);

/* After a kill at any point: ends an exchange that happened, undoes one that did not.
 * Every start does it for every target, before it removes anything that may be
 * linked to corpora (the times of their files would change: whether one came late
 * would be unknown, and it would be kept); generation_replace() does it first. */
enum generation_found {
	GENERATION_CLEAN,    /* nothing was left */
	GENERATION_UNDONE,   /* the old corpus is in its place */
	GENERATION_FINISHED, /* the new corpus is in its place */
};
MUST_CHECK int generation_recover(struct generation *g, unsigned keep, enum generation_found *ret,
				  struct err *e);
/* All targets that have generations. */
struct generation_sum {
	uint64_t undone, finished;
};
MUST_CHECK int generation_recover_all(int state, unsigned keep, struct generation_sum *ret,
				      struct err *e);

struct generation_replacement {
	int stage;			 /* the candidates' files, by content name */
	const struct candidates *chosen; /* the new corpus; empty is refused */
	const struct candidates *known;	 /* all candidates: what may go */
	unsigned keep;			 /* old corpora to keep; 0: none */
};
struct generation_result {
	bool replaced;	       /* the new corpus is in place */
	uint64_t files, bytes; /* of the new corpus */
	uint64_t carried;      /* entries of the old one that were no candidates */
	uint64_t kept;	       /* number of the old one's generation; 0: not kept */
};
/* The chosen files become the corpus.  On any failure before the exchange the old
 * corpus stays as it is; after it the new one stays, and the next start ends what
 * was not done; ret->replaced tells which, on failure too. */
MUST_CHECK int generation_replace(struct generation *g, const struct generation_replacement *with,
				  struct generation_result *ret, struct err *e);

#endif
