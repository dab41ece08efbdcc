/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FS_H
#define BASE_FS_H

#include "base/err.h"
#include "base/scan.h"

#include <stdbool.h>
#include <sys/types.h>

/* Files and directories, relative to an open directory descriptor. */

/* Opens a regular file with flags (O_RDONLY, O_WRONLY | O_CREAT | O_TRUNC, ...); close() it.
 * Never blocks.  Refuses a FIFO, socket, device or directory with -EINVAL; the message has its
 * kind and its path.  Below a dirfd, a symlink as the last component is refused (-ELOOP).  With
 * AT_FDCWD it is followed, because a user may name a file through a symlink. */
MUST_CHECK int fs_open_file(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd,
			    struct err *e);

/* Atomically replaces dirfd/name (one component) with data.  A crash at any point leaves the old
 * file or the complete new one.  0 means that the data is on disk.  A failure leaves no other file
 * behind; a crash may leave ".NAME.new". */
MUST_CHECK int fs_replace(int dirfd, const char *name, struct slice data, struct err *e);

/* Appends line and a newline in one write, and creates the file if needed.  0 means that the data
 * is on disk.  If a crash left the file without a final newline, adds that newline first.  So the
 * incomplete line stays a line of its own. */
MUST_CHECK int fs_append_line(int dirfd, const char *name, struct slice line, struct err *e);

/* Writes many files with few waits for the disk.  Files are replaced or appended to as by the
 * functions above, but only fs_batch_end() puts them on disk: data first, then the new names, then
 * the directories.  After a crash before that, appended lines may be lost or cut, and each replaced
 * file is the old one or the new one.  fs_batch_end() frees the batch.  When a file fails, it
 * continues with the next file and returns the first error.  Begin with {0}. */
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

/* Reads the whole regular file into a new NUL-terminated buffer (free() it).  -EFBIG: the file is
 * larger than max.  Also reads files of the kernel, which report size 0. */
MUST_CHECK int fs_read(int dirfd, const char *path, size_t max, char **ret, size_t *ret_n,
		       struct err *e);

/* Creates path and its missing parents with mode.  An existing directory, or a symlink to one, is
 * no error. */
MUST_CHECK int fs_mkdirs(int dirfd, const char *path, mode_t mode, struct err *e);

/* Opens a directory; close() it.  A symlink as the last component is not followed. */
MUST_CHECK int fs_open_dir(int dirfd, const char *path, int *ret_fd, struct err *e);
/* The same, after fs_mkdirs(). */
MUST_CHECK int fs_make_dir(int dirfd, const char *path, mode_t mode, int *ret_fd, struct err *e);

/* Gives the owner all permissions on the directory.  No symlink is followed. */
MUST_CHECK int fs_unlock_dir(int dirfd, const char *path, struct err *e);
/* Gives the owner permission to read the regular file.  Entries of other types stay unchanged. */
MUST_CHECK int fs_unlock_file(int dirfd, const char *path, struct err *e);

/* Removes path and everything below it, at any depth.  Symlinks are removed, never followed.  A
 * mount point is refused (-EXDEV).  A path that does not exist is no error.  No other process may
 * be using the tree. */
MUST_CHECK int fs_remove_tree(int dirfd, const char *path, struct err *e);

/* Copies the regular file from_dirfd/from to to_dirfd/to; 0 means that the copy is on disk.  The
 * source is not opened through a symlink, and opening it never blocks.  -EFBIG: it is larger than
 * max.  An existing file at the destination is replaced atomically. */
MUST_CHECK int fs_copy(int from_dirfd, const char *from, int to_dirfd, const char *to, size_t max,
		       struct err *e);

/* Counts the disk space and the entries below dirfd, and stops early at stop_bytes or stop_files
 * (0: no such limit).  Entries that disappear meanwhile do not count.  A tree deeper than 128
 * directories, which no honest target makes, counts as UINT64_MAX bytes and files. */
struct fs_usage {
	uint64_t bytes;
	uint64_t files;
	bool moved; /* a directory was moved or removed meanwhile: the counts may be too low */
};
MUST_CHECK int fs_usage(int dirfd, uint64_t stop_bytes, uint64_t stop_files, struct fs_usage *ret,
			struct err *e);

/* Free space that an ordinary user may use on dirfd's file system.  When the file system does not
 * limit the number of files, files and files_total are UINT64_MAX. */
struct fs_room {
	uint64_t bytes;
	uint64_t files, files_total;
};
MUST_CHECK int fs_room(int dirfd, struct fs_room *ret, struct err *e);

/* Finds the nearest directory, from dir (absolute) upwards, that has an entry of this name. Returns
 * a new string (free() it; "" is the root), or NULL when there is no such directory. */
MUST_CHECK char *fs_find_above(const char *dir, const char *name);

/* Whether name is a valid path component: not empty, not "." or "..", at most NAME_MAX bytes, no
 * slash, no control character. */
bool fs_name_ok(struct slice name);

#endif
