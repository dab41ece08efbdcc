/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_STORE_H
#define RUNNER_CORPUS_STORE_H

#include "base/err.h"
#include "base/owner.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* Directories whose files are named by the SHA-1 of their content.  Adding is
 * idempotent: a file that is there with its size is not written again.  A file
 * appears under its name whole, but is on disk only after syncfs(2): call it
 * before removing the source. */
enum { STORE_NAME = 41 }; /* 40 hex digits and a NUL */

struct store_sum {
	uint64_t files, bytes; /* new ones */
	uint64_t cloned;       /* of these */
	uint64_t known;	       /* were there before */
	uint64_t skipped;      /* no regular file, too large, unreadable, too deep, too many */
};

/* from_dirfd/from into to_dirfd as "<prefix>-<sha1>", or "<sha1>" when prefix is
 * NULL.  A file that cannot be an input is skipped and counted: 0, not an error;
 * hex is set when it was stored or was already there. */
MUST_CHECK int store_file(int from_dirfd, const char *from, int to_dirfd, const char *prefix,
			  struct store_sum *io, char hex[STORE_NAME], struct err *e);

/* Moves the file itself instead of a copy, for a disk without room for one.  It becomes ours.
 * Only for the same file system, and for files that no living process can write.  A file with
 * another name is skipped.  -ENOSPC: it is no file that can be moved. */
MUST_CHECK int store_take(int from_dirfd, const char *from, int to_dirfd, const char *prefix,
			  struct store_sum *io, char hex[STORE_NAME], struct err *e);
/* Whether the error is a lack of blocks or inodes, also of our quota. */
bool store_is_full(int error);

/* Bytes that are in memory already, as "<sha1>". */
MUST_CHECK int store_bytes(struct slice data, int to_dirfd, struct store_sum *io,
			   char hex[STORE_NAME], struct err *e);

/* All files below from_dirfd/dir (a few levels deep; dot files and empty ones are left
 * out: no engine reads an empty input). */
MUST_CHECK int store_tree(int from_dirfd, const char *dir, int to_dirfd, struct store_sum *io,
			  struct err *e);

/* Shared by several calls of store_entry() for one hostile directory. */
struct store_seen {
	unsigned entries; /* looked at so far */
	/* Bytes of files beyond the disk space that they take: holes, and further links to one
	 * file.  A copy has neither.  A file that passes the limit is skipped. */
	uint64_t unbacked_bytes, unbacked_max;
};

/* Stores one entry of such a directory.  Files that their owner, who we are, may not read get a
 * mode that lets us. hex: the name of a stored file, else "". */
MUST_CHECK int store_entry(int from_dirfd, const char *name, int to_dirfd, struct store_seen *seen,
			   struct store_sum *io, char hex[STORE_NAME], struct err *e);

/* The same for a person's directory: where the file system can, a new file shares its
 * blocks with the person's until one of them changes (FICLONE).  Never a link: an
 * editor that writes in place would change an input under its content's name.
 * Not for a directory that a cell can write: it might change a file while it is
 * named. */
MUST_CHECK int store_seeds(int from_dirfd, const char *dir, int to_dirfd, struct store_sum *io,
			   struct err *e);

/* Both with the rights of somebody else, when what is read is named by them: what they
 * could not open is skipped (dir itself: -EACCES).  NULL: ours. */
MUST_CHECK int store_file_as(const struct rights *as, int from_dirfd, const char *from,
			     int to_dirfd, struct store_sum *io, char hex[STORE_NAME],
			     struct err *e);
MUST_CHECK int store_seeds_as(const struct rights *as, int from_dirfd, const char *dir,
			      int to_dirfd, struct store_sum *io, struct err *e);
/* The same for a directory that another party names by its path (NULL: we do). */
MUST_CHECK int store_seeds_named(const struct rights *namer, const char *dir, int to_dirfd,
				 struct store_sum *io, struct err *e);

#endif
