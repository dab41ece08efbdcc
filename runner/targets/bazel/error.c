/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/bazel/error.h"

#include "base/escape.h"

#include <stdio.h>

/* Whether a line begins a message of Bazel; removes the prefix. */
static bool begins_message(struct slice *io, bool *ret_error)
{
	static const struct slice errors[] = {{"ERROR: ", 7}, {"FATAL: ", 7}};
	static const struct slice others[] = {
	    {"WARNING: ", 9}, {"INFO: ", 6}, {"DEBUG: ", 7}, {"Loading: ", 9}, {"Analyzing: ", 11},
	};

	*ret_error = true;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (scan_lit(io, errors[i]))
			return true;
	*ret_error = false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (scan_lit(io, others[i]))
			return true;
	return false;
}

static struct slice bazel_error_trimmed(struct slice s)
{
	scan_blanks(&s);
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t' || s.p[s.n - 1] == '\r'))
		s.n--;
	return s;
}

/* Keeps the end of a long error line; `block` has its beginning. */
static void keep_last(struct bazel_error *s, struct slice line)
{
	size_t from;

	s->whole_last = line.n;
	s->n_last = line.n < sizeof(s->last) ? line.n : sizeof(s->last);
	from = s->at == BAZEL_BEFORE_ERROR ? 0 : line.n - s->n_last;
	memcpy(s->last, line.p + from, s->n_last);
}

static void bazel_error_add(struct bazel_error *s, struct slice line)
{
	const struct slice parts[] = {s->n ? SLICE("; ") : SLICE(""), line};

	for (size_t i = 0; i < 2; i++) {
		size_t room = sizeof(s->block) - s->n;
		size_t n = parts[i].n < room ? parts[i].n : room;

		memcpy(s->block + s->n, parts[i].p, n);
		s->n += n;
	}
	keep_last(s, line);
}

static void bazel_error_begin(struct bazel_error *s, struct slice line)
{
	static const struct slice head = {"Traceback (most recent call last):", 34};
	size_t n = line.n >= head.n ? line.n - head.n : 0;
	bool traceback = line.n >= head.n && memcmp(line.p + n, head.p, head.n) == 0;

	s->at = traceback ? BAZEL_IN_TRACEBACK : BAZEL_IN_ERROR;
	line = bazel_error_trimmed((struct slice){line.p, traceback ? n : line.n});
	if (line.n > 0)
		bazel_error_add(s, line);
}

static void bazel_error_on_line(void *arg, struct slice raw)
{
	struct bazel_error *s = arg;
	char plain[LINES_MAX];
	struct slice line = bazel_error_trimmed(lines_without_colours(raw, plain, sizeof(plain)));
	bool error, message;

	if (s->at == BAZEL_AFTER_ERROR)
		return;
	message = begins_message(&line, &error);
	if (s->at == BAZEL_BEFORE_ERROR) {
		if (error && message)
			bazel_error_begin(s, line);
		else if (line.n > 0)
			keep_last(s, line);
	} else if (message || (line.n == 0 && s->at == BAZEL_IN_ERROR)) {
		s->at = BAZEL_AFTER_ERROR;
	} else if (line.n > 0) {
		bazel_error_add(s, line);
	}
}

void bazel_error_feed(struct bazel_error *s, struct slice output)
{
	lines_feed(&s->lines, output, bazel_error_on_line, s);
}

static void bazel_error_blanks(char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\t')
			text[i] = ' ';
}

bool bazel_error_end(struct bazel_error *s, char out[BAZEL_ERROR_MAX])
{
	static const char gap[] = " ... ";
	char text[BAZEL_ERROR_MAX + sizeof(gap)], shown[ESCAPE_ASCII_MAX];
	size_t last, head;
	bool error;

	lines_end(&s->lines, bazel_error_on_line, s);
	error = s->at != BAZEL_BEFORE_ERROR;
	last = s->n_last < BAZEL_ERROR_MAX / 2 ? s->n_last : BAZEL_ERROR_MAX / 2;
	if (!error || (s->n == s->n_last && s->whole_last == s->n_last)) {
		snprintf(text, sizeof(text), "%.*s", (int)s->n_last, s->last);
	} else if (s->n < BAZEL_ERROR_MAX) {
		snprintf(text, sizeof(text), "%.*s", (int)s->n, s->block);
	} else {
		head = BAZEL_ERROR_MAX - sizeof(gap) - last;
		snprintf(text, sizeof(text), "%.*s%s%.*s", (int)head, s->block, gap, (int)last,
			 s->last + s->n_last - last);
	}
	bazel_error_blanks(text, strlen(text));
	snprintf(out, BAZEL_ERROR_MAX, "%.*s", BAZEL_ERROR_MAX - 1,
		 escape_ascii(slice_of(text), shown));
	return error;
}
