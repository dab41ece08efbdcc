/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PACK_H
#define BASE_PACK_H

#include "base/err.h"
#include "base/scan.h"

#include <sys/types.h>

/* A .tar.gz or .zip while it is written, through libarchive (this is the only module that
 * writes archives).  Entries have no owner and no time of their own: the same
 * content gives the same bytes. */
struct pack;

/* fd stays the caller's, who syncs it; it is written from where it stands. */
MUST_CHECK int pack_open(int fd, struct pack **ret, struct err *e);
/* The same, but a .zip. */
MUST_CHECK int pack_open_zip(int fd, struct pack **ret, struct err *e);

/* A regular file.  name: relative, at most PACK_NAME_MAX bytes; mode: 0644, 0755.
 * After an error only pack_free() is right. */
enum { PACK_NAME_MAX = 1024 };
MUST_CHECK int pack_add(struct pack *p, const char *name, mode_t mode, struct slice data,
			struct err *e);
/* The same from an open regular file, from its beginning, its size as it is now. */
MUST_CHECK int pack_add_file(struct pack *p, const char *name, mode_t mode, int fd, struct err *e);

/* The end of the archive; 0: all of it was written. */
MUST_CHECK int pack_close(struct pack *p, struct err *e);
void pack_free(struct pack *p); /* NULL is fine */

#endif
