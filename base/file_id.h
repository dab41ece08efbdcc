/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FILE_ID_H
#define BASE_FILE_ID_H

#include <stdbool.h>
#include <stdint.h>

/* The identity of a file: another size or time means another file. */
struct file_id {
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns; /* needed because a reproducible build fixes mtime_ns */
};
struct stat;
struct file_id file_id_of(const struct stat *st);
/* False: the file is missing, empty, or stat() fails. */
bool file_id_look(const char *path, struct file_id *ret);
/* Whether the file has not changed.  Files that are not known (size 0) are never the same. */
bool file_id_same(const struct file_id *a, const struct file_id *b);
/* The file as text, for crash_options.build; "" when size is 0. */
enum { FILE_ID_TEXT = 64 };
const char *file_id_text(const struct file_id *f, char out[FILE_ID_TEXT]);
/* The same for the file as it is now; "" when stat() fails. */
const char *file_id_now(const char *path, char out[FILE_ID_TEXT]);

#endif
