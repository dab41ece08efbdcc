/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FS_H
#define BASE_FS_H

#include "base/err.h"
#include "base/scan.h"

#include <stdbool.h>
#include <sys/types.h>

/* Files and directories, relative to a held directory descriptor. */

/* Opens a regular file with flags (O_RDONLY, O_WRONLY | O_CREAT | O_TRUNC, ...); close() it.
 * Never waits: a FIFO, socket, device or directory in the file's place is refused with -EINVAL,
 * and the message says what it is and where.  Below a dirfd a last symlink is not followed
 * (-ELOOP); below AT_FDCWD it is, because a user may name a file through a symlink. */
MUST_CHECK int fs_open_file(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd,
			    struct err *e);

/* Replace dirfd/name (one component) with data so that a crash at any point leaves
 * either the old file or the new one, whole, and so that 0 means "on disk".  A
 * failure leaves no other file behind; a crash may leave ".NAME.new". */
MUST_CHECK int fs_replace(int dirfd, const char *name, struct slice data, struct err *e);

/* Append line and a newline in one write, creating the file; 0 means "on disk".
 * A file that a crash left without its last newline gets one first, so that the
 * cut line stays one line. */
MUST_CHECK int fs_append_line(int dirfd, const char *name, struct slice line, struct err *e);

/* Many files at the price of few waits for the disk.  Each is replaced or appended to as by the
 * functions above, but only fs_batch_end() puts all of them on disk: data first, then the new
 * names, then the directories.  A crash before its end may lose or cut appended lines, and leaves
 * each replaced file old or new.  fs_batch_end() frees, and goes on behind a file that fails: the
 * error is the first one.  Begin with {0}. */
struct fs_batch {
	struct fs_batch_file *v;
	size_t n, room;
	struct fs_batch_dir *dirs;
	size_t n_dirs;
};
MUST_CHECK int fs_batch_replace(struct fs_batch *b, int dirfd, const char *name, struct slice data,
				struct err *e);
MUST_CHECK int fs_batch_append(struct fs_batch *b, int dirfd, const char *name, struct slice line,
			       struct err *e);
MUST_CHECK int fs_batch_end(struct fs_batch *b, struct err *e);

/* The whole regular file in a new NUL-terminated buffer (free() it); -EFBIG above
 * max.  Also for files of the kernel, whose size says 0. */
MUST_CHECK int fs_read(int dirfd, const char *path, size_t max, char **ret, size_t *ret_n,
		       struct err *e);

/* Make path and its missing parents with mode; an existing directory is fine,
 * through symlinks too. */
MUST_CHECK int fs_mkdirs(int dirfd, const char *path, mode_t mode, struct err *e);

/* A directory, not through a last symlink; close() it. */
MUST_CHECK int fs_open_dir(int dirfd, const char *path, int *ret_fd, struct err *e);

/* Its owner may list and change the directory, whatever its mode was; no link is followed. */
MUST_CHECK int fs_unlock_dir(int dirfd, const char *path, struct err *e);
/* Its owner may read the regular file, whatever its mode was.  Other entries stay as they are. */
MUST_CHECK int fs_unlock_file(int dirfd, const char *path, struct err *e);

/* Remove path and all below it, however deep; symlinks are removed, never followed,
 * and a mount point is refused (-EXDEV).  A path that is not there is fine.
 * Nobody else may be at work in the tree any more. */
MUST_CHECK int fs_remove_tree(int dirfd, const char *path, struct err *e);

/* Copy the regular file from_dirfd/from (no symlink, opened without waiting, at
 * most max bytes: -EFBIG) to to_dirfd/to, on disk when it returns 0.
 * An existing file of that name is replaced whole. */
MUST_CHECK int fs_copy(int from_dirfd, const char *from, int to_dirfd, const char *to, size_t max,
		       struct err *e);

/* Disk space taken and entries found below dirfd, stopping early at stop_bytes
 * or stop_files (0: no such limit).  What disappears meanwhile does not count.
 * A tree deeper than 128 directories, which no honest target makes, is above every
 * limit: UINT64_MAX both. */
struct fs_usage {
	uint64_t bytes;
	uint64_t files;
	bool moved; /* a directory was moved or removed meanwhile: there may be more */
};
MUST_CHECK int fs_usage(int dirfd, uint64_t stop_bytes, uint64_t stop_files, struct fs_usage *ret,
			struct err *e);

/* What an ordinary user may still take of dirfd's file system.  A file system without a limit for
 * files has UINT64_MAX in both. */
struct fs_room {
	uint64_t bytes;
	uint64_t files, files_total;
};
MUST_CHECK int fs_room(int dirfd, struct fs_room *ret, struct err *e);

/* The nearest directory, dir (absolute) or one above it, that has an entry of this name, in a new
 * string (free() it; "" is the root).  *ret NULL: there is none. */
MUST_CHECK int fs_find_above(const char *dir, const char *name, char **ret, struct err *e);

/* Names that may become one path component: not empty, not "." or "..", at most
 * NAME_MAX bytes, no slash, no control character. */
bool fs_name_ok(struct slice name);

#endif
