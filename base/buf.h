/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/err.h"
#include "base/scan.h"

#include <stdarg.h>
#include <stdbool.h>

/* A growing text buffer with a mandatory maximum size.  After the first put it is always
 * NUL-terminated.  Text that does not fit is not added, nor is any text after it, until
 * buf_clear(): who builds a text puts all of it and asks buf_check() once, at the end.
 * buf_done() frees the memory and leaves an empty buffer. */
struct buf {
	char *p;
	size_t n;
	size_t cap;
	size_t max;
	bool full; /* text did not fit */
};

#define BUF_INIT(ceiling) ((struct buf){.max = (ceiling)})
#define _autobuf_	  CLEANUP(buf_done) /* include base/cleanup.h */

void buf_put(struct buf *b, struct slice s);
void buf_puts(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* -EFBIG "more than N bytes" when a text did not fit. */
MUST_CHECK int buf_check(const struct buf *b, struct err *e);

void buf_clear(struct buf *b);
void buf_done(struct buf *b);

static inline struct slice buf_slice(const struct buf *b)
{
	return (struct slice){b->p ? b->p : "", b->n};
}

/* "" when nothing was added. */
static inline const char *buf_str(const struct buf *b)
{
	return b->p ? b->p : "";
}

#endif
