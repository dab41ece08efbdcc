/* SPDX-License-Identifier: Apache-2.0 */
#include "base/term.h"

#include "base/scan.h"
#include "base/sys.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHAR_MAX_BYTES = 4, CHUNK = 4096 };

/* A stream's descriptor, and the character that its last write ended in the middle of. */
struct guarded {
	int fd;
	size_t n;
	char begun[CHAR_MAX_BYTES];
};

struct out {
	char b[CHUNK];
	size_t n;
};

static int out_flush(struct out *o, int fd)
{
	size_t n = o->n;

	o->n = 0;
	return n > 0 ? sys_write_all(fd, o->b, n) : 0;
}

static int out_add(struct out *o, int fd, const char *p, size_t n)
{
	if (o->n + n > sizeof(o->b) && out_flush(o, fd) < 0)
		return -1;
	memcpy(o->b + o->n, p, n);
	o->n += n;
	return 0;
}

/* May more bytes make a character of s? */
static bool is_begun(struct slice s)
{
	char c[2 * CHAR_MAX_BYTES];
	uint32_t ignored;

	if (s.n >= CHAR_MAX_BYTES)
		return false;
	memcpy(c, s.p, s.n);
	memset(c + s.n, 0x80, 3);
	if (utf8_next((struct slice){c, s.n + 3}, &ignored) > s.n)
		return true;
	memset(c + s.n, 0xbf, 3);
	return utf8_next((struct slice){c, s.n + 3}, &ignored) > s.n;
}

/* Bytes of s that were taken; 0: it is the beginning of a character; -1: not written. */
static int take(struct out *o, int fd, struct slice s)
{
	char shown[UTF8_SHOWN_MAX];
	uint32_t c;
	size_t n;

	if (s.p[0] == '\n' || s.p[0] == '\t')
		return out_add(o, fd, s.p, 1) < 0 ? -1 : 1;
	if (utf8_next(s, &c) == 0 && is_begun(s))
		return 0;
	n = utf8_shown(s, shown);
	return out_add(o, fd, shown, strlen(shown)) < 0 ? -1 : (int)n;
}

/* What was begun before, with the first bytes of s: how many of these are part of it. */
static ssize_t finish(struct guarded *g, struct out *o, struct slice s)
{
	size_t used = 0;

	while (g->n > 0) {
		int n = take(o, g->fd, (struct slice){g->begun, g->n});

		if (n < 0)
			return -1;
		if (n == 0 && used == s.n)
			break;
		if (n == 0)
			g->begun[g->n++] = s.p[used++];
		else
			memmove(g->begun, g->begun + n, g->n -= (size_t)n);
	}
	return (ssize_t)used;
}

static ssize_t guarded_write(void *cookie, const char *p, size_t size)
{
	struct guarded *g = cookie;
	struct slice s = {p, size};
	struct out o = {.n = 0};
	ssize_t used = finish(g, &o, s);

	if (used < 0)
		return 0;
	for (s.p += used, s.n -= (size_t)used; s.n > 0;) {
		int n = take(&o, g->fd, s);

		if (n < 0)
			return 0;
		if (n == 0) {
			memcpy(g->begun, s.p, s.n);
			g->n = s.n;
			break;
		}
		s.p += n;
		s.n -= (size_t)n;
	}
	return out_flush(&o, g->fd) < 0 ? 0 : (ssize_t)size;
}

static int guard(struct guarded *g, FILE **stream, struct err *e)
{
	static const cookie_io_functions_t io = {.write = guarded_write};
	FILE *f = fopencookie(g, "w", io);

	if (!f)
		return err_sys(e, "guard what is printed");
	if (setvbuf(f, NULL, _IOLBF, 0) < 0) {
		/* it is fully buffered: flushed at the end */
	}
	fflush(*stream);
	*stream = f;
	return 0;
}

int term_guard(struct err *e)
{
	static struct guarded out = {.fd = STDOUT_FILENO}, err = {.fd = STDERR_FILENO};
	int r = guard(&out, &stdout, e);

	return r < 0 ? r : guard(&err, &stderr, e);
}
