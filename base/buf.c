/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <errno.h>
#include <string.h>

static bool buf_reserve(struct buf *b, size_t more)
{
	size_t want, cap;

	if (b->full || more > b->max || b->n > b->max - more) {
		b->full = true;
		return false;
	}
	want = b->n + more + 1;
	if (want <= b->cap)
		return true;
	cap = b->cap ? b->cap : 256;
	while (cap < want)
		cap *= 2;
	b->p = xreallocarray(b->p, cap, 1);
	b->cap = cap;
	return true;
}

void buf_put(struct buf *b, struct slice s)
{
	if (!buf_reserve(b, s.n))
		return;
	if (s.n > 0)
		memcpy(b->p + b->n, s.p, s.n);
	b->n += s.n;
	b->p[b->n] = '\0';
}

void buf_puts(struct buf *b, const char *s)
{
	buf_put(b, (struct slice){s, strlen(s)});
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	_autofree_ char *s = NULL;
	va_list ap;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	buf_puts(b, s);
}

int buf_check(const struct buf *b, struct err *e)
{
	return b->full ? err_set(e, EFBIG, "more than %zu bytes", b->max) : 0;
}

void buf_clear(struct buf *b)
{
	b->n = 0;
	b->full = false;
	if (b->p)
		b->p[0] = '\0';
}

void buf_done(struct buf *b)
{
	free(b->p);
	*b = (struct buf){.max = b->max};
}
