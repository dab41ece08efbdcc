/* SPDX-License-Identifier: Apache-2.0 */
/* The lines do not depend on the cuts of the stream.  The input's first two bytes choose the cuts
 * and the number of repetitions of each byte. */
#include "base/lines.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A hash of the lines, their ends and their number. */
struct sum {
	uint64_t hash, lines, bytes;
};

static void mix(struct sum *s, uint64_t v)
{
	s->hash = (s->hash ^ v) * UINT64_C(0x100000001b3);
}

static void on_line(void *arg, struct slice line)
{
	struct sum *s = arg;

	if (line.n > LINES_MAX)
		abort();
	if (line.n > 0 && memchr(line.p, '\n', line.n))
		abort();
	for (size_t i = 0; i < line.n; i++)
		mix(s, (unsigned char)line.p[i]);
	mix(s, 256);
	s->lines++;
	s->bytes += line.n;
}

static struct sum in_steps(struct slice text, size_t step, uint64_t *ret_dropped)
{
	static struct lines l;
	struct sum s = {0};

	l.n = 0;
	l.skipping = false;
	l.dropped = 0;
	for (size_t at = 0; at < text.n; at += step) {
		size_t n = text.n - at < step ? text.n - at : step;

		lines_feed(&l, (struct slice){text.p + at, n}, on_line, &s);
	}
	lines_end(&l, on_line, &s);
	*ret_dropped = l.dropped;
	return s;
}

/* Repeats each byte except newlines, to get long lines from short inputs. */
static struct slice stretch(const uint8_t *data, size_t size, size_t times)
{
	char *to = malloc(size * times + 1);
	size_t n = 0;

	if (!to)
		abort();
	for (size_t i = 0; i < size; i++) {
		size_t count = data[i] == '\n' ? 1 : times;

		memset(to + n, data[i], count);
		n += count;
	}
	return (struct slice){to, n};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t dropped, whole_dropped;
	uint64_t newlines = 0;
	struct sum whole, cut;
	struct slice text;

	if (size < 2)
		return 0;
	text = stretch(data + 2, size - 2, data[1] % 64 + 1);
	for (size_t i = 0; i < text.n; i++)
		newlines += text.p[i] == '\n';
	whole = in_steps(text, text.n ? text.n : 1, &whole_dropped);
	cut = in_steps(text, data[0] + 1, &dropped);
	if (whole.hash != cut.hash || whole.lines != cut.lines || dropped != whole_dropped)
		abort();
	/* Every byte is part of a line, dropped, or a newline. */
	if (whole.bytes + whole_dropped + newlines != text.n)
		abort();
	free((char *)(uintptr_t)text.p);
	return 0;
}
