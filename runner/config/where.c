/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/config/where.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

enum { QUOTE_BYTES = 60 };

const char *quote(struct slice text, char out[QUOTE_MAX])
{
	bool cut = text.n > QUOTE_BYTES;
	size_t n = cut ? QUOTE_BYTES : text.n;

	while (cut && n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--; /* not in the middle of a UTF-8 character */
	out[0] = '"';
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		out[i + 1] = text.p[i];
		if (c < ' ' || c == 0x7f)
			out[i + 1] = '?';
	}
	snprintf(out + 1 + n, QUOTE_MAX - 1 - n, "%s\"", cut ? "..." : "");
	return out;
}

static bool where_is_plain(const char *key)
{
	size_t n = strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

	return n > 0 && n <= QUOTE_BYTES && key[n] == '\0';
}

static size_t where_put(char *out, size_t n, const char *text)
{
	int k = snprintf(out + n, WHERE_PATH_MAX - n, "%s", text);

	return n + (size_t)k < WHERE_PATH_MAX ? n + (size_t)k : WHERE_PATH_MAX - 1;
}

/* Outermost first; the chain is as deep as the schema. */
const char *where_path(const struct where *at, char out[WHERE_PATH_MAX])
{
	const struct where *chain[16];
	size_t depth = 0, n = 0;
	char text[QUOTE_MAX];

	for (; at && depth < 16; at = at->up)
		if (at->up)
			chain[depth++] = at;
	out[0] = '\0';
	while (depth-- > 0) {
		const struct where *w = chain[depth];

		if (!w->key) {
			snprintf(text, sizeof(text), "[%zu]", w->index);
			n = where_put(out, n, text);
			continue;
		}
		n = n ? where_put(out, n, ".") : n;
		n = where_put(out, n,
			      w->quoted || !where_is_plain(w->key) ? quote(slice_of(w->key), text)
								   : w->key);
	}
	return out;
}

const char *where_place(const struct where *at, char out[WHERE_PLACE_MAX])
{
	const char *name = at->input->name;
	size_t n = strlen(name);

	/* Keep the end of a long path: it identifies the file. */
	if (n > WHERE_PLACE_MAX - 20)
		name += n - (WHERE_PLACE_MAX - 20);
	if (at->line)
		snprintf(out, WHERE_PLACE_MAX, "%s:%u", name, at->line);
	else
		snprintf(out, WHERE_PLACE_MAX, "%s", name);
	return out;
}

int where_fail(const struct where *at, struct err *e, const char *fmt, ...)
{
	char place[WHERE_PLACE_MAX], path[WHERE_PATH_MAX], why[sizeof(e->msg)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	where_path(at, path);
	return err_set(e, EINVAL, "%s: %s%s%s", where_place(at, place), path, *path ? ": " : "",
		       why);
}
