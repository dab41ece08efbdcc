/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_STORE_H
#define RUNNER_CORPUS_STORE_H

#include "base/err.h"
#include "base/owner.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* Directories of files named by the SHA-1 of their content.  Adding is idempotent: a file that
 * exists with its size is not written again.  A file appears under its name complete, but is on
 * disk only after syncfs(2): call that before removing the source. */
enum { STORE_NAME = 41 }; /* 40 hex digits and a NUL */

struct store_sum {
	uint64_t files, bytes; /* new ones */
	uint64_t cloned;       /* of these */
	uint64_t known;	       /* were there before */
	uint64_t skipped;      /* not a regular file, too large, unreadable, too deep, too many */
};

/* Copies from_dirfd/from into to_dirfd as "<prefix>-<sha1>", or "<sha1>" if prefix is NULL.  A file
 * that cannot be an input is skipped and counted; the result is 0.  hex is set if the file was
 * stored or existed already. */
MUST_CHECK int store_file(int from_dirfd, const char *from, int to_dirfd, const char *prefix,
			  struct store_sum *io, char hex[STORE_NAME], struct err *e);

/* Moves the file instead of copying it, for a disk without room for a copy.  We become its owner.
 * Only for the same file system, and for files that no living process can write.  A file with
 * another name (hard link) is skipped.  -ENOSPC: the file cannot be moved. */
MUST_CHECK int store_take(int from_dirfd, const char *from, int to_dirfd, const char *prefix,
			  struct store_sum *io, char hex[STORE_NAME], struct err *e);
/* Whether the error means that blocks or inodes, or our quota of them, are exhausted. */
bool store_is_full(int error);

/* Stores bytes from memory, as "<sha1>". */
MUST_CHECK int store_bytes(struct slice data, int to_dirfd, struct store_sum *io,
			   char hex[STORE_NAME], struct err *e);

/* Shared by several calls of store_entry() for one hostile directory. */
struct store_seen {
	unsigned entries; /* seen so far */
	/* Bytes of files beyond the disk space that they take: holes, and further links to one
	 * file.  A copy takes disk space for both.  A file that exceeds the limit is skipped. */
	uint64_t unbacked_bytes, unbacked_max;
};

/* Stores one entry of such a directory.  Files that we own but may not read become readable first.
 * hex: the name of a stored file, else "". */
MUST_CHECK int store_entry(int from_dirfd, const char *name, int to_dirfd, struct store_seen *seen,
			   struct store_sum *io, char hex[STORE_NAME], struct err *e);

/* Stores all files below a user's directory from_dirfd/dir, a few levels deep.  Dot files and empty
 * files are left out: no engine reads an empty input.
 *
 * If the file system can, a new file shares its blocks with the user's file until one of them
 * changes (FICLONE).  It is never a link: an editor that writes in place would change an input
 * under its content's name.  Not for a directory that a cell can write: it might change a file
 * while it is hashed. */
MUST_CHECK int store_seeds(int from_dirfd, const char *dir, int to_dirfd, struct store_sum *io,
			   struct err *e);

/* Do both with the rights of another user, for a source that this user names.  Files that the user
 * cannot open are skipped (dir itself: -EACCES).  NULL: our rights. */
MUST_CHECK int store_file_as(const struct rights *as, int from_dirfd, const char *from,
			     int to_dirfd, struct store_sum *io, char hex[STORE_NAME],
			     struct err *e);
MUST_CHECK int store_seeds_as(const struct rights *as, int from_dirfd, const char *dir,
			      int to_dirfd, struct store_sum *io, struct err *e);
/* The same for a directory that another party names by its path (NULL: we do). */
MUST_CHECK int store_seeds_named(const struct rights *namer, const char *dir, int to_dirfd,
				 struct store_sum *io, struct err *e);

#endif
