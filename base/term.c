/* SPDX-License-Identifier: Apache-2.0 */
#include "base/term.h"

#include "base/scan.h"
#include "base/sys.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHAR_MAX_BYTES = 4, CHUNK = 4096, PATIENCE_MS = 2000 };

/* A stream's descriptor, and the incomplete character at the end of its last write. */
struct guarded {
	int fd;
	int lost;   /* errno of the first failed write */
	bool stuck; /* the last wait for the reader timed out */
	size_t n;
	char begun[CHAR_MAX_BYTES];
};

static struct guarded out_stream = {.fd = STDOUT_FILENO}, err_stream = {.fd = STDERR_FILENO};

struct out {
	char b[CHUNK];
	size_t n;
};

/* Waits for a slow reader.  After one timeout it does not wait again until the reader has read, so
 * that a stalled reader does not block a run. */
static bool gets_room(struct guarded *g)
{
	struct pollfd p = {.fd = g->fd, .events = POLLOUT};

	if (g->stuck)
		return false;
	g->stuck = poll(&p, 1, PATIENCE_MS) <= 0; /* allow: as a write that blocks */
	return !g->stuck;
}

static int write_out(struct guarded *g, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t r = write(g->fd, p, n);

		if (r < 0 && (errno == EINTR || (errno == EAGAIN && gets_room(g))))
			continue;
		if (r < 0) {
			g->lost = g->lost ? g->lost : errno;
			return -1;
		}
		g->stuck = false;
		p += r;
		n -= (size_t)r;
	}
	return 0;
}

static int out_flush(struct out *o, struct guarded *g)
{
	size_t n = o->n;

	o->n = 0;
	return write_out(g, o->b, n);
}

static int out_add(struct out *o, struct guarded *g, const char *p, size_t n)
{
	if (o->n + n > sizeof(o->b) && out_flush(o, g) < 0)
		return -1;
	memcpy(o->b + o->n, p, n);
	o->n += n;
	return 0;
}

/* Whether more bytes can complete s to a character. */
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

/* Returns the number of bytes taken from s; 0: s is an incomplete character; -1: the write failed.
 */
static int term_take(struct out *o, struct guarded *g, struct slice s)
{
	char shown[UTF8_SHOWN_MAX];
	uint32_t c;
	size_t n;

	if (s.p[0] == '\n' || s.p[0] == '\t')
		return out_add(o, g, s.p, 1) < 0 ? -1 : 1;
	if (utf8_next(s, &c) == 0 && is_begun(s))
		return 0;
	n = utf8_shown(s, shown);
	return out_add(o, g, shown, strlen(shown)) < 0 ? -1 : (int)n;
}

/* Completes the incomplete character with the first bytes of s.  Returns how many bytes of s it
 * used. */
static ssize_t term_finish(struct guarded *g, struct out *o, struct slice s)
{
	size_t used = 0;

	while (g->n > 0) {
		int n = term_take(o, g, (struct slice){g->begun, g->n});

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
	ssize_t used = term_finish(g, &o, s);

	if (used < 0)
		return 0;
	for (s.p += used, s.n -= (size_t)used; s.n > 0;) {
		int n = term_take(&o, g, s);

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
	return out_flush(&o, g) < 0 ? 0 : (ssize_t)size;
}

static int term_guard_stream(struct guarded *g, FILE **stream, struct err *e)
{
	static const cookie_io_functions_t io = {.write = guarded_write};
	FILE *f = fopencookie(g, "w", io);

	if (!f)
		return err_sys(e, "guard an output stream");
	if (setvbuf(f, NULL, _IOLBF, 0) < 0) {
		/* the stream stays fully buffered, and is flushed at the end */
	}
	fflush(*stream);
	*stream = f;
	return 0;
}

/* Opens closed standard descriptors.  A new descriptor gets the lowest free number, and lower ones
 * are already open. */
static int open_closed(struct err *e)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (sys_openat(AT_FDCWD, "/dev/null", O_RDWR, 0) != fd)
			return err_sys(e, "open '/dev/null' for descriptor %d", fd);
		(void)fcntl(fd, F_SETFD, 0); /* children have it, too */
	}
	return 0;
}

int term_guard(struct err *e)
{
	if (open_closed(e) < 0 || term_guard_stream(&out_stream, &stdout, e) < 0)
		return err_code(e);
	return term_guard_stream(&err_stream, &stderr, e);
}

int term_lost(void)
{
	(void)fflush(stdout); /* a failure is stored in out_stream.lost */
	return out_stream.lost;
}
