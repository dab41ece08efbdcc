/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lines.h"

static void deliver(struct lines *l, line_fn *fn, void *arg)
{
	struct slice line = {l->b, l->n};

	l->n = 0;
	fn(arg, line);
}

/* Part of a line: kept until its end is known. */
static void keep(struct lines *l, struct slice part, line_fn *fn, void *arg)
{
	size_t room = LINES_MAX - l->n;
	size_t take = part.n < room ? part.n : room;

	if (l->skipping) {
		l->dropped += part.n;
		return;
	}
	if (take > 0)
		memcpy(l->b + l->n, part.p, take);
	l->n += take;
	if (part.n > take) {
		l->skipping = true;
		l->dropped += part.n - take;
		deliver(l, fn, arg);
	}
}

void lines_feed(struct lines *l, struct slice bytes, line_fn *fn, void *arg)
{
	while (bytes.n > 0) {
		const char *nl = memchr(bytes.p, '\n', bytes.n);
		struct slice part = {bytes.p, nl ? (size_t)(nl - bytes.p) : bytes.n};

		bytes.p += part.n + (nl ? 1 : 0);
		bytes.n -= part.n + (nl ? 1 : 0);
		/* Most lines come whole: no copy. */
		if (nl && l->n == 0 && !l->skipping && part.n <= LINES_MAX) {
			fn(arg, part);
			continue;
		}
		keep(l, part, fn, arg);
		if (!nl)
			return;
		if (!l->skipping)
			deliver(l, fn, arg);
		l->skipping = false;
	}
}

void lines_end(struct lines *l, line_fn *fn, void *arg)
{
	if (l->n > 0)
		deliver(l, fn, arg);
	l->skipping = false;
}
