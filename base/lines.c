/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lines.h"

size_t lines_keep_end(char *b, size_t n, size_t cap, struct slice part)
{
	if (part.n > cap - n) {
		size_t left = part.n < LINES_END ? LINES_END - part.n : 0;

		left = left < n ? left : n;
		memmove(b, b + n - left, left);
		n = left;
	}
	if (part.n > cap - n) {
		part.p += part.n - (cap - n);
		part.n = cap - n;
	}
	if (part.n > 0)
		memcpy(b + n, part.p, part.n);
	return n + part.n;
}

struct slice lines_without_colours(struct slice line, char *out, size_t cap)
{
	size_t to = 0;

	for (size_t i = 0; i < line.n && to < cap;) {
		if (line.p[i] != '\033') {
			out[to++] = line.p[i++];
			continue;
		}
		i++;
		if (i < line.n && line.p[i] == '[') {
			i++;
			while (i < line.n &&
			       ((line.p[i] >= '0' && line.p[i] <= '9') || line.p[i] == ';'))
				i++;
			i += i < line.n;
		}
	}
	return (struct slice){out, to};
}

static void lines_deliver(struct lines *l, line_fn *fn, void *arg)
{
	struct slice line = {l->b, l->n};

	if (l->skipping && line.n > LINES_END) {
		line.p += line.n - LINES_END;
		line.n = LINES_END;
	}
	l->n = 0;
	fn(arg, line);
}

/* Stores a part of a line until the line is complete. */
static void lines_keep(struct lines *l, struct slice part, line_fn *fn, void *arg)
{
	size_t room = LINES_MAX - l->n;
	size_t take = part.n < room ? part.n : room;

	if (!l->skipping) {
		if (take > 0)
			memcpy(l->b + l->n, part.p, take);
		l->n += take;
		part.p += take;
		part.n -= take;
		if (part.n == 0)
			return;
		fn(arg, (struct slice){l->b, l->n});
		l->skipping = true;
	}
	l->dropped += part.n;
	l->n = l->ends ? lines_keep_end(l->b, l->n, LINES_MAX, part) : 0;
}

void lines_feed(struct lines *l, struct slice bytes, line_fn *fn, void *arg)
{
	while (bytes.n > 0) {
		const char *nl = memchr(bytes.p, '\n', bytes.n);
		struct slice part = {bytes.p, nl ? (size_t)(nl - bytes.p) : bytes.n};

		bytes.p += part.n + (nl ? 1 : 0);
		bytes.n -= part.n + (nl ? 1 : 0);
		/* Most lines arrive whole and need no copy. */
		if (nl && l->n == 0 && !l->skipping && part.n <= LINES_MAX) {
			fn(arg, part);
			continue;
		}
		lines_keep(l, part, fn, arg);
		if (!nl)
			return;
		if (!l->skipping || l->ends)
			lines_deliver(l, fn, arg);
		l->skipping = false;
	}
}

void lines_end(struct lines *l, line_fn *fn, void *arg)
{
	if (l->n > 0)
		lines_deliver(l, fn, arg);
	l->skipping = false;
}
