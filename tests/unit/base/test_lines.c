/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/lines.h"

#include <stdlib.h>

/* The delivered lines, each after its length: so no byte of a line is ambiguous. */
struct got {
	char b[4 * LINES_MAX];
	size_t n, lines;
};

static void collect(void *arg, struct slice line)
{
	struct got *g = arg;

	assert_true(g->n + sizeof(line.n) + line.n <= sizeof(g->b));
	memcpy(g->b + g->n, &line.n, sizeof(line.n));
	g->n += sizeof(line.n);
	if (line.n > 0)
		memcpy(g->b + g->n, line.p, line.n);
	g->n += line.n;
	g->lines++;
}

static struct slice nth(const struct got *g, size_t at)
{
	size_t off = 0, n = 0;

	for (size_t i = 0; off < g->n; i++) {
		memcpy(&n, g->b + off, sizeof(n));
		off += sizeof(n);
		if (i == at)
			return (struct slice){g->b + off, n};
		off += n;
	}
	fail_msg("no line %zu", at);
	return (struct slice){"", 0};
}

static void cuts_at_newlines(void **state)
{
	static struct got g;
	struct lines l = {.n = 0};

	(void)state;
	g = (struct got){.n = 0};
	lines_feed(&l, SLICE("a\n\nb\0c\r\nhal"), collect, &g);
	assert_int_equal(g.lines, 3);
	lines_feed(&l, SLICE("f"), collect, &g);
	assert_int_equal(g.lines, 3);
	lines_end(&l, collect, &g);
	assert_int_equal(g.lines, 4);
	assert_true(slice_eq(nth(&g, 0), SLICE("a")));
	assert_true(slice_eq(nth(&g, 1), SLICE("")));
	assert_true(slice_eq(nth(&g, 2), SLICE("b\0c\r")));
	assert_true(slice_eq(nth(&g, 3), SLICE("half")));
	lines_end(&l, collect, &g);
	assert_int_equal(g.lines, 4);
	assert_int_equal(l.dropped, 0);
}

/* LINES_MAX bytes are a whole line; one more is cut and counted. */
static void long_lines(void **state)
{
	static const size_t extra[] = {0, 1, LINES_MAX, 3 * LINES_MAX};
	static struct got g;
	static struct lines l;

	(void)state;
	for (size_t i = 0; i < sizeof(extra) / sizeof(extra[0]); i++) {
		size_t n = LINES_MAX + extra[i];
		char *text = malloc(n + 6);

		assert_non_null(text);
		memset(text, 'x', n);
		memcpy(text + n, "\nnext\n", 6);
		l = (struct lines){.n = 0};
		g = (struct got){.n = 0};
		lines_feed(&l, (struct slice){text, n + 6}, collect, &g);
		free(text);
		assert_int_equal(g.lines, 2);
		assert_int_equal(nth(&g, 0).n, LINES_MAX);
		assert_true(slice_eq(nth(&g, 1), SLICE("next")));
		assert_int_equal(l.dropped, extra[i]);
	}
}

/* A long line is reported as soon as it is too long, and once. */
static void endless_line(void **state)
{
	static char chunk[1000];
	static struct got g;
	static struct lines l;

	(void)state;
	memset(chunk, 'x', sizeof(chunk));
	for (int i = 0; i < 1000; i++)
		lines_feed(&l, (struct slice){chunk, sizeof(chunk)}, collect, &g);
	assert_int_equal(g.lines, 1);
	assert_int_equal(l.dropped, 1000 * 1000 - LINES_MAX);
	lines_end(&l, collect, &g);
	assert_int_equal(g.lines, 1);
}

/* The end of a long line is delivered. */
static void ends_of_long_lines(void **state)
{
	static const size_t lengths[] = {LINES_MAX - 3, LINES_MAX, LINES_MAX + 300,
					 2 * LINES_MAX - 3, 5 * LINES_MAX};
	static const size_t steps[] = {1, 7, LINES_END, LINES_MAX, SIZE_MAX};
	static char text[5 * LINES_MAX + 16];
	static struct got g;
	static struct lines l;
	struct slice end;

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t n = lengths[i] + 11;

		memset(text, 'x', n);
		memcpy(text + lengths[i], "==1==ERROR\n", 11);
		for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
			l = (struct lines){.ends = true};
			g = (struct got){.n = 0};
			for (size_t at = 0; at < n; at += n - at < steps[k] ? n - at : steps[k])
				lines_feed(&l,
					   (struct slice){text + at,
							  n - at < steps[k] ? n - at : steps[k]},
					   collect, &g);
			lines_feed(&l, SLICE("next\n"), collect, &g);
			assert_int_equal(g.lines, 3);
			assert_int_equal(nth(&g, 0).n, LINES_MAX);
			end = nth(&g, 1);
			assert_int_equal(end.n, LINES_END);
			assert_memory_equal(end.p + end.n - 10, "==1==ERROR", 10);
			assert_true(slice_eq(nth(&g, 2), SLICE("next")));
			assert_int_equal(l.dropped, n - 1 - LINES_MAX);
		}
	}
}

static size_t sample(char *to, size_t cap)
{
	static const char *const parts[] = {"one\n", "\n", "\n", "#1\tNEW cov: 1\n", "tail"};
	size_t n = 0;

	memset(to, 'y', LINES_MAX + 3);
	n = LINES_MAX + 3;
	to[n++] = '\n';
	memset(to + n, 'z', LINES_MAX);
	n += LINES_MAX;
	to[n++] = '\n';
	to[n++] = '\0';
	to[n++] = '\n';
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		assert_true(n + strlen(parts[i]) < cap);
		memcpy(to + n, parts[i], strlen(parts[i]));
		n += strlen(parts[i]);
	}
	return n;
}

/* The lines and the count do not depend on the pieces of the stream. */
static void any_split(void **state)
{
	static char text[3 * LINES_MAX];
	static struct got whole, g;
	static struct lines l;
	size_t n = sample(text, sizeof(text));

	(void)state;
	lines_feed(&l, (struct slice){text, n}, collect, &whole);
	lines_end(&l, collect, &whole);
	assert_int_equal(whole.lines, 8);
	assert_int_equal(l.dropped, 3);
	for (size_t at = 0; at <= n; at++) {
		l = (struct lines){.n = 0};
		g.n = g.lines = 0;
		lines_feed(&l, (struct slice){text, at}, collect, &g);
		lines_feed(&l, (struct slice){text + at, n - at}, collect, &g);
		lines_end(&l, collect, &g);
		assert_int_equal(l.dropped, 3);
		assert_int_equal(g.n, whole.n);
		assert_memory_equal(g.b, whole.b, g.n);
	}
	for (size_t step = 1; step < 100; step++) {
		l = (struct lines){.n = 0};
		g.n = g.lines = 0;
		for (size_t at = 0; at < n; at += step)
			lines_feed(&l, (struct slice){text + at, n - at < step ? n - at : step},
				   collect, &g);
		lines_end(&l, collect, &g);
		assert_int_equal(l.dropped, 3);
		assert_int_equal(g.n, whole.n);
		assert_memory_equal(g.b, whole.b, g.n);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(cuts_at_newlines), cmocka_unit_test(long_lines),
    cmocka_unit_test(endless_line),	cmocka_unit_test(ends_of_long_lines),
    cmocka_unit_test(any_split),
};

UNIT_MAIN(tests)
