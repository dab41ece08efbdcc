/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_MEASURE_SHARD_H
#define RUNNER_CORPUS_MEASURE_SHARD_H

#include "base/err.h"
#include "runner/corpus/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The inputs of a merge (candidates), collected in one flat directory that cells
 * see read-only (the stage), and dealt into shards that are measured in parallel.
 * Everything here blocks: run it in a child process.
 * Memory: 56 bytes a candidate, 56 MiB at most. */

/* Some hundred thousand are a large corpus. */
enum { CANDIDATES_MAX = 1 << 20 };

struct candidate {
	uint64_t size;
	char name[STORE_NAME]; /* SHA-1 of its content; its name in the stage */
};

/* In the order of a merge: smallest first, those of a size by name.  Starts as
 * {0}; candidates_done() frees, and a done one is empty again. */
struct candidates {
	struct candidate *v;
	size_t n, cap;
};

/* Is this a content's name?  Only such names are candidates. */
bool candidates_name_ok(const char *name);
/* NULL: no candidate of that name and size.  c is sorted. */
const struct candidate *candidates_find(const struct candidates *c, const char *name,
					uint64_t size);

#define _autocandidates_ CLEANUP(candidates_done) /* include base/cleanup.h */

MUST_CHECK int candidates_add(struct candidates *c, const char *name, uint64_t size, struct err *e);
void candidates_sort(struct candidates *c);
void candidates_done(struct candidates *c);

/* "<name> <size>\n" each, in a file of ours (never one that a cell can write),
 * replaced atomically; so that one child's work is the next child's input.  A list
 * that was damaged is refused: -EBADMSG with the line. */
MUST_CHECK int candidates_save(int dirfd, const char *file, const struct candidates *c,
			       struct err *e);
MUST_CHECK int candidates_load(int dirfd, const char *file, struct candidates *ret, struct err *e);

/* All files below from_dirfd/dir (8 levels deep, dot files left out) get a link in
 * the stage, under the SHA-1 of their content whatever their name says; a copy
 * where a link is impossible (another file system) or would be of no use (a file
 * that not everybody may read).  What cannot be an input is skipped and counted;
 * a directory or a disk that cannot be read is an error, because what is not a
 * candidate would be missing afterwards. */
struct stage_sum {
	uint64_t files, bytes; /* new in the stage */
	uint64_t copied;       /* of these */
	uint64_t skipped;      /* no regular file, too large, unreadable, too deep */
};
MUST_CHECK int shard_stage(int from_dirfd, const char *dir, int stage, struct stage_sum *io,
			   struct err *e);
/* The same for one file.  hex: its name in the stage; "": it was skipped. */
MUST_CHECK int shard_stage_file(int from_dirfd, const char *name, int stage, struct stage_sum *io,
				char hex[STORE_NAME], struct err *e);

/* What the stage holds; -E2BIG above CANDIDATES_MAX. */
MUST_CHECK int shard_list(int stage, struct candidates *ret, struct err *e);

/* How many shards n inputs are worth when so many cells may run at a time: at
 * least 1.  More than workers only when one shard's control file would grow out of
 * hand; run them one after the other then.  only_new: it says of each input only
 * what no other one before it reached. */
enum { SHARDS_MAX = 1024 };
unsigned shard_count(size_t n, unsigned workers, bool only_new);

/* Deals all into shards of equal work (one input costs its run and its bytes), each
 * in a merge's order.  ret: an array of that many, {0} each; on failure it is
 * as it was. */
MUST_CHECK int shard_split(const struct candidates *all, unsigned shards, struct candidates *ret,
			   struct err *e);

/* A bad unit: into quarantine/<target>/<name> first, then out of the stage and, if
 * it is there under its name, out of the corpus.  Repeating it is fine. */
MUST_CHECK int shard_quarantine(int stage, int corpus, int quarantine, const char *target,
				const char *name, struct err *e);

#endif
