/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "base/cleanup.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

static int buf_reserve(struct buf *b, size_t more, struct err *e)
{
	size_t want, cap;
	char *p;

	if (more > b->max || b->n > b->max - more)
		return err_set(e, EFBIG, "more than %zu bytes", b->max);
	want = b->n + more + 1;
	if (want <= b->cap)
		return 0;
	cap = b->cap ? b->cap : 256;
	while (cap < want)
		cap *= 2;
	p = sys_realloc(b->p, cap);
	if (!p)
		return err_sys(e, "grow a buffer to %zu bytes", cap);
	b->p = p;
	b->cap = cap;
	return 0;
}

int buf_add(struct buf *b, struct slice s, struct err *e)
{
	int r = buf_reserve(b, s.n, e);

	if (r < 0)
		return r;
	if (s.n > 0)
		memcpy(b->p + b->n, s.p, s.n);
	b->n += s.n;
	b->p[b->n] = '\0';
	return 0;
}

int buf_addf(struct buf *b, struct err *e, const char *fmt, ...)
{
	_autofree_ char *s = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0) {
		s = NULL;
		return err_set(e, ENOMEM, "format text");
	}
	return buf_add(b, (struct slice){s, (size_t)n}, e);
}

void buf_clear(struct buf *b)
{
	b->n = 0;
	if (b->p)
		b->p[0] = '\0';
}

void buf_done(struct buf *b)
{
	free(b->p);
	*b = (struct buf){.max = b->max};
}
