/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and lists of the ledger.  A target's output may hold any bytes, but JSON is UTF-8. */
#include "base/memory.h"
#include "runner/crash/ledger/internal.h"

#include <stdlib.h>

char ledger_empty[1] = "";

/* Well-formed UTF-8 by its first two bytes (RFC 3629, section 4: shortest form, no
 * surrogates, up to U+10FFFF); further bytes are 0x80 to 0xbf. */
static const struct {
	unsigned char first, last; /* of the first byte */
	unsigned char low, high;   /* of the second */
	unsigned char n;
} utf8[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

static bool ledger_text_is_in(char c, unsigned char low, unsigned char high)
{
	return (unsigned char)c >= low && (unsigned char)c <= high;
}

/* Bytes of the character that s begins with; 0: it begins with none. */
static size_t utf8_length(struct slice s)
{
	size_t i = 0, n;

	if (ledger_text_is_in(s.p[0], 0, 0x7f))
		return 1;
	while (i < sizeof(utf8) / sizeof(utf8[0]) &&
	       !ledger_text_is_in(s.p[0], utf8[i].first, utf8[i].last))
		i++;
	if (i == sizeof(utf8) / sizeof(utf8[0]) || s.n < utf8[i].n ||
	    !ledger_text_is_in(s.p[1], utf8[i].low, utf8[i].high))
		return 0;
	n = utf8[i].n;
	while (n > 2 && ledger_text_is_in(s.p[n - 1], 0x80, 0xbf))
		n--;
	return n == 2 ? utf8[i].n : 0;
}

static bool is_control(char c, bool lines)
{
	if (lines && (c == '\n' || c == '\t'))
		return false;
	return (unsigned char)c < 0x20 || c == 0x7f;
}

/* The next character of s in the form that the ledger keeps, and its length in s. */
static size_t clean_next(struct slice s, bool lines, struct slice *ret)
{
	size_t n = utf8_length(s);

	*ret = (struct slice){s.p, n};
	if (n == 0)
		*ret = SLICE("?");
	else if (n == 1 && is_control(s.p[0], lines))
		*ret = SLICE(" ");
	return n ? n : 1;
}

bool ledger_is_clean(struct slice text, size_t max, bool lines)
{
	if (text.n > max)
		return false;
	while (text.n > 0) {
		struct slice c;
		size_t n = clean_next(text, lines, &c);

		if (c.p != text.p)
			return false;
		text.p += n;
		text.n -= n;
	}
	return true;
}

int ledger_set(char **p, const char *text, size_t max, bool lines, struct err *e)
{
	struct slice in = {text, text ? strnlen(text, max + 4) : 0};
	char *out;
	size_t n = 0;

	if (in.n == 0) {
		ledger_unset(p);
		return 0;
	}
	out = xmalloc(max < in.n ? max + 1 : in.n + 1);
	if (!out)
		return err_sys(e, "copy a text");
	while (in.n > 0) {
		struct slice c;
		size_t took = clean_next(in, lines, &c);

		if (n + c.n > max)
			break;
		memcpy(out + n, c.p, c.n);
		n += c.n;
		in.p += took;
		in.n -= took;
	}
	out[n] = '\0';
	ledger_unset(p);
	*p = out;
	return 0;
}

void ledger_unset(char **p)
{
	if (*p != ledger_empty)
		free(*p);
	*p = ledger_empty;
}

int ledger_list_take(struct ledger_list *l, char *text, struct err *e)
{
	char **v = l->v;

	/* The array doubles at each power of two. */
	if ((l->n & (l->n - 1)) == 0)
		v = xreallocarray(l->v, l->n ? l->n * 2 : 1, sizeof(char *));
	if (!v) {
		ledger_unset(&text);
		return err_sys(e, "grow a list");
	}
	l->v = v;
	l->v[l->n++] = text;
	return 0;
}

int ledger_list_add(struct ledger_list *l, const char *text, bool lines, struct err *e)
{
	char *copy = ledger_empty;
	int r = ledger_set(&copy, text, LEDGER_TEXT_MAX, lines, e);

	return r < 0 ? r : ledger_list_take(l, copy, e);
}

size_t ledger_list_at(const struct ledger_list *l, const char *text)
{
	size_t i = 0;

	while (i < l->n && strcmp(l->v[i], text) != 0)
		i++;
	return i;
}

char *ledger_list_steal(struct ledger_list *l, size_t at)
{
	char *text = l->v[at];

	l->n--;
	memmove(l->v + at, l->v + at + 1, (l->n - at) * sizeof(char *));
	return text;
}

void ledger_list_drop(struct ledger_list *l, size_t at)
{
	char *text = ledger_list_steal(l, at);

	ledger_unset(&text);
}

static int ledger_text_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void ledger_list_sort(struct ledger_list *l)
{
	if (l->n > 1)
		qsort(l->v, l->n, sizeof(char *), ledger_text_compare);
}

void ledger_list_done(struct ledger_list *l)
{
	while (l->n > 0)
		ledger_list_drop(l, l->n - 1);
	free(l->v);
	l->v = NULL;
}
