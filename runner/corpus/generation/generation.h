/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_GENERATION_GENERATION_H
#define RUNNER_CORPUS_GENERATION_GENERATION_H

#include "base/err.h"
#include "runner/corpus/measure/shard.h"

#include <stdbool.h>
#include <stdint.h>

/* Replaces a corpus in one step, and keeps the corpora before it:
 *   corpus/<target>/                the corpus
 *   generations/<target>/next/      what will replace it (hard links); after the
 *                                   exchange, for a moment, what it replaced
 *   generations/<target>/pending    the inode of `next` when it was complete
 *   generations/<target>/<number>/  earlier corpora, the greatest number is the newest
 * Nothing of the old corpus is removed before the new corpus is on disk in its place.  Files of the
 * old corpus that were not among the candidates are carried over to the new one.  If corpus/ is a
 * file system of its own, the generations are in corpus/.generations/, because an exchange cannot
 * cross file systems.  Everything blocks: run it in a child process.  One writer: hold the state's
 * lock. */

struct generation {
	int corpora; /* the directory of all corpora */
	int dir;     /* generations/<target> */
	int corpus;  /* corpus/<target> at the time of opening */
	char target[256];
};

/* Makes missing directories; state: the state directory.  After an exchange, a descriptor of the
 * corpus itself refers to the old generation: open it again. */
MUST_CHECK int generation_open(int state, const char *target, struct generation *ret,
			       struct err *e);
void generation_close(struct generation *g);

/* Recovers from a kill at any point: completes an exchange that happened, else undoes it.
 * Each start does this for every target, before it removes anything that may be linked to corpora.
 * Such a removal changes the times of linked files; then a file's time no longer shows whether it
 * came late, and the file would be kept.  generation_replace() recovers first, too. */
enum generation_found {
	GENERATION_CLEAN,    /* nothing was left */
	GENERATION_UNDONE,   /* the old corpus is in its place */
	GENERATION_FINISHED, /* the new corpus is in its place */
};
MUST_CHECK int generation_recover(struct generation *g, unsigned keep, enum generation_found *ret,
				  struct err *e);
/* Does this for all targets that have generations. */
struct generation_sum {
	uint64_t undone, finished;
};
MUST_CHECK int generation_recover_all(int state, unsigned keep, struct generation_sum *ret,
				      struct err *e);

struct generation_replacement {
	int stage;			 /* the candidates' files, by content name */
	const struct candidates *chosen; /* the new corpus; empty is refused */
	const struct candidates *known;	 /* all candidates: only these may be removed */
	unsigned keep;			 /* number of old corpora to keep */
};
struct generation_result {
	bool replaced;	       /* the new corpus is in place */
	uint64_t files, bytes; /* of the new corpus */
	uint64_t carried;      /* entries of the old corpus that were not candidates */
	uint64_t kept;	       /* number of the old corpus's generation; 0: not kept */
};
/* Makes the chosen files the corpus.  On a failure before the exchange the old corpus stays
 * unchanged.  After it the new corpus stays, and the next start completes the rest.  ret->replaced
 * says which, also on failure. */
MUST_CHECK int generation_replace(struct generation *g, const struct generation_replacement *with,
				  struct generation_result *ret, struct err *e);

#endif
