/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_MEASURE_SHARD_H
#define RUNNER_CORPUS_MEASURE_SHARD_H

#include "base/err.h"
#include "runner/corpus/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The inputs of a merge (candidates).  They are collected in the stage, one flat directory that
 * cells see read-only.  Then they are divided into shards that are measured in parallel.
 * Everything here blocks: run it in a child process.  Memory: 56 bytes a candidate, 56 MiB at
 * most. */

/* A large corpus has some hundred thousand inputs. */
enum { CANDIDATES_MAX = 1 << 20 };

struct candidate {
	uint64_t size;
	char name[STORE_NAME]; /* SHA-1 of its content; its name in the stage */
};

/* In the order of a merge: by size, then by name.  Initialise it with {0}.  candidates_done() frees
 * it and leaves it empty. */
struct candidates {
	struct candidate *v;
	size_t n, cap;
};

/* Whether the name is a SHA-1.  Only such names are candidates. */
bool candidates_name_ok(const char *name);
/* NULL: no candidate of that name and size.  c is sorted. */
const struct candidate *candidates_find(const struct candidates *c, const char *name,
					uint64_t size);

#define _autocandidates_ CLEANUP(candidates_done) /* include base/cleanup.h */

MUST_CHECK int candidates_add(struct candidates *c, const char *name, uint64_t size, struct err *e);
void candidates_sort(struct candidates *c);
void candidates_done(struct candidates *c);

/* A file with a line "<name> <size>" for each candidate, so that one child's output is the next
 * child's input.  It is replaced atomically.  It must not be in a place that a cell can write.
 * -EBADMSG, with the line: the list is damaged. */
MUST_CHECK int candidates_save(int dirfd, const char *file, const struct candidates *c,
			       struct err *e);
MUST_CHECK int candidates_load(int dirfd, const char *file, struct candidates *ret, struct err *e);

/* Links all files below from_dirfd/dir (8 levels deep, without dot files) into the stage.  Each
 * link is named by the SHA-1 of the content, whatever the file's name is.  A file is copied if a
 * link is impossible (another file system), or useless (not all users may read the file).
 *
 * A file that cannot be an input is skipped and counted.  A directory or a disk that cannot be read
 * is an error: files that are not candidates would be missing afterwards. */
struct stage_sum {
	uint64_t files, bytes; /* new ones in the stage */
	uint64_t copied;       /* of these */
	uint64_t skipped;      /* not a regular file, too large, unreadable, too deep */
};
MUST_CHECK int shard_stage(int from_dirfd, const char *dir, int stage, struct stage_sum *io,
			   struct err *e);
/* The same for one file.  hex: its name in the stage; "": it was skipped. */
MUST_CHECK int shard_stage_file(int from_dirfd, const char *name, int stage, struct stage_sum *io,
				char hex[STORE_NAME], struct err *e);

/* Adds the files of a directory that are candidates under their names and that cells can read.
 * *ret_plain false: it has other files, too, and the list is not complete.  Sorts the list. */
MUST_CHECK int shard_list_plain(int dir, struct candidates *to, bool *ret_plain, struct err *e);
/* Whether a cell's user may read the corpus.  It needs the mode bits for others.  They are set here
 * if the directory of all corpora keeps others out.  A mode that a user chose stays. */
bool shard_open_to_cells(int corpus);

/* Lists the stage; -E2BIG above CANDIDATES_MAX. */
MUST_CHECK int shard_list(int stage, struct candidates *ret, struct err *e);

/* The number of shards for n inputs, when `workers` cells may run at a time: at least 1.  It is
 * above workers only if a control file would become too large; then run the shards one after the
 * other.  only_new: each input lists only the features that no input before it reached. */
enum { SHARDS_MAX = 1024 };
unsigned shard_count(size_t n, unsigned workers, bool only_new);

/* Divides all into shards of equal work (one input costs its run and its bytes), each in a merge's
 * order.  ret: an array of that many, each {0}; on failure it is unchanged. */
MUST_CHECK int shard_split(const struct candidates *all, unsigned shards, struct candidates *ret,
			   struct err *e);

/* Moves a bad unit into quarantine/<target>/<name>.  Then removes it from the stage, and from the
 * corpus if it has this name there.  It is idempotent. */
MUST_CHECK int shard_quarantine(int stage, int corpus, int quarantine, const char *target,
				const char *name, struct err *e);

#endif
