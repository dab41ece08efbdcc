/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/rounds/lines.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FILE_MAX = 512 << 20, TIME = 15 };

struct line {
	char *text; /* without its newline; a damaged one may have NUL bytes */
	size_t n;
	char time[TIME]; /* YYYYMMDDhhmmss; "": not known, it comes first */
};

struct all {
	struct line *v;
	size_t n, room;
};

/* The digits of a time, or of a run's id. */
static void take_digits(const char *text, char time[TIME])
{
	size_t n = 0;

	for (; *text && n < TIME - 1; text++)
		if (*text >= '0' && *text <= '9')
			time[n++] = *text;
	time[n] = '\0';
}

static void take_seconds(uint64_t seconds, char time[TIME])
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || strftime(time, TIME, "%Y%m%d%H%M%S", &tm) == 0)
		*time = '\0';
}

static void find_time(const json_t *line, char time[TIME])
{
	static const char *const keys[] = {"ended", "time", "until", "recovered_at", "run"};

	*time = '\0';
	for (size_t i = 0; !*time && i < sizeof(keys) / sizeof(keys[0]); i++) {
		const json_t *v = json_object_get(line, keys[i]);

		if (json_is_string(v))
			take_digits(json_string_value(v), time);
		else if (json_is_integer(v) && json_integer_value(v) > 0)
			take_seconds((uint64_t)json_integer_value(v), time);
	}
}

static void push(struct all *a, char *text, size_t n, const json_t *j)
{
	if (a->n == a->room) {
		a->room = a->room ? 2 * a->room : 256;
		a->v = xreallocarray(a->v, a->room, sizeof(*a->v));
	}
	a->v[a->n] = (struct line){.text = text, .n = n};
	find_time(j, a->v[a->n].time);
	a->n++;
}

static int load(int state, const char *path, struct all *a, struct err *e)
{
	_autofree_ char *text = NULL;
	size_t n;
	int r = fs_read(state, path, FILE_MAX, &text, &n, e);

	if (r == -EFBIG)
		return err_wrap(e, "move '%s' away, it is too long", path);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (size_t at = 0; at < n;) {
		const char *line = text + at, *end = memchr(line, '\n', n - at);
		size_t len = end ? (size_t)(end - line) : n - at;
		_autojson_ json_t *j = NULL;
		struct err damaged;
		char *copy = xcalloc(len + 1, 1);

		if (json_parse((struct slice){line, len}, &j, &damaged) < 0)
			j = NULL; /* it stays as it is */
		memcpy(copy, line, len);
		push(a, copy, len, j);
		at += len + 1;
	}
	return 0;
}

static int by_text(const struct line *a, const struct line *b)
{
	int d = memcmp(a->text, b->text, a->n < b->n ? a->n : b->n);

	return d ? d : (a->n > b->n) - (a->n < b->n);
}

static int by_time(const void *x, const void *y)
{
	const struct line *a = x, *b = y;
	int d = strcmp(a->time, b->time);

	return d ? d : by_text(a, b);
}

/* Each line once.  The array keeps those that stay. */
static void drop(struct all *a, size_t most)
{
	size_t n = 0;

	if (!a->v)
		return;
	for (size_t i = 0; i < a->n; i++) {
		if (n > 0 && by_text(&a->v[i], &a->v[n - 1]) == 0)
			free(a->v[i].text);
		else
			a->v[n++] = a->v[i];
	}
	a->n = n;
	if (n <= most)
		return;
	for (size_t i = 0; i < n - most; i++)
		free(a->v[i].text);
	memmove(a->v, a->v + (n - most), most * sizeof(*a->v));
	a->n = most;
}

static char *join(const struct all *a, size_t *ret_n)
{
	size_t n = 0, at = 0;
	char *ret;

	for (size_t i = 0; i < a->n; i++)
		n += a->v[i].n + 1;
	ret = xcalloc(n + 1, 1);
	for (size_t i = 0; i < a->n; i++) {
		memcpy(ret + at, a->v[i].text, a->v[i].n);
		at += a->v[i].n;
		ret[at++] = '\n';
	}
	*ret_n = at;
	return ret;
}

int lines_join(int state_dirfd, const char *path, const json_t *lines, size_t most, char **ret,
	       size_t *ret_n, struct err *e)
{
	struct all a = {0};
	int r = load(state_dirfd, path, &a, e);

	for (size_t i = 0; r == 0 && i < json_array_size(lines); i++) {
		const json_t *j = json_array_get(lines, i);
		char *text;

		r = json_print(j, 0, &text, e);
		if (r == 0)
			push(&a, text, strlen(text), j);
	}
	if (r == 0 && a.n > 1)
		qsort(a.v, a.n, sizeof(*a.v), by_time);
	if (r == 0) {
		drop(&a, most);
		*ret = join(&a, ret_n);
	}
	for (size_t i = 0; i < a.n; i++)
		free(a.v[i].text);
	free(a.v);
	return r;
}
