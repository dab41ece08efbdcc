/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PACK_H
#define BASE_PACK_H

#include "base/err.h"
#include "base/scan.h"

#include <sys/types.h>

/* Writes a .tar.gz or .zip through libarchive (no other module writes archives).  Entries have no
 * owner and no time, so that archives are reproducible. */
struct pack;

/* Writes from fd's current offset.  The caller keeps owning fd, and syncs it. */
MUST_CHECK int pack_open(int fd, struct pack **ret, struct err *e);
/* The same, but a .zip. */
MUST_CHECK int pack_open_zip(int fd, struct pack **ret, struct err *e);

/* Adds a regular file.  name: relative, at most PACK_NAME_MAX bytes; mode: 0644, 0755.  After an
 * error only pack_free() may be called. */
enum { PACK_NAME_MAX = 1024 };
MUST_CHECK int pack_add(struct pack *p, const char *name, mode_t mode, struct slice data,
			struct err *e);
/* The same for an open regular file, from its start, with its current size. */
MUST_CHECK int pack_add_file(struct pack *p, const char *name, mode_t mode, int fd, struct err *e);

/* Writes the end of the archive.  0: the whole archive was written. */
MUST_CHECK int pack_close(struct pack *p, struct err *e);
void pack_free(struct pack *p); /* NULL is fine */

#endif
