/* SPDX-License-Identifier: Apache-2.0 */
/* Formats an event for operators: as logfmt, and as fields of the journal. */
#include "base/journal.h"
#include "base/log_internal.h"
#include "base/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FIELDS_MAX = 24, SHOWN_SIZE = LOG_SHOWN_MAX + 4 };

/* The escaped value, cut. */
static const char *log_text_shown(const struct log_field *f, char out[SHOWN_SIZE])
{
	struct slice s = slice_of(f->str ? f->str : "");
	size_t at = 0;

	if (!f->str)
		snprintf(out, SHOWN_SIZE, "%lld", (long long)f->num);
	while (s.n > 0) {
		char c[UTF8_SHOWN_MAX];
		size_t n = utf8_shown(s, c), len = strlen(c);

		if (at + len > LOG_SHOWN_MAX) {
			memcpy(out + at, "...", 4);
			return out;
		}
		memcpy(out + at, c, len);
		at += len;
		s = (struct slice){s.p + n, s.n - n};
	}
	if (f->str)
		out[at] = '\0';
	return out;
}

/* --- logfmt --------------------------------------------------------------- */

/* Also for '\\': an unquoted value has no escapes. */
static bool log_text_needs_quotes(const char *v)
{
	return !*v || strpbrk(v, " =\"\\") != NULL;
}

static void put_value(struct log_line *l, const char *v)
{
	if (!log_text_needs_quotes(v)) {
		log_put(l, "%s", v);
		return;
	}
	log_put(l, "\"");
	for (; *v; v++)
		log_put(l, *v == '"' || *v == '\\' ? "\\%c" : "%c", *v);
	log_put(l, "\"");
}

static void put_pair(struct log_line *l, const char *before, const struct log_field *f)
{
	char value[SHOWN_SIZE];
	size_t mark = l->n;

	log_put(l, "%s%s=", before, f->key);
	put_value(l, log_text_shown(f, value));
	if (l->full)
		l->n = mark;
	l->full = false;
}

void log_logfmt(struct log_line *l, const char *event, const struct log_field *f, size_t n)
{
	put_pair(l, "", &(struct log_field){.key = "event", .str = event});
	for (size_t i = 0; i < n; i++)
		put_pair(l, " ", &f[i]);
}

/* --- the journal ---------------------------------------------------------- */

/* syslog(3)'s numbers: its header has names that are ours, too. */
static int priority(enum log_level lv)
{
	static const int of[] = {[LOG_ERROR] = 3, [LOG_WARN] = 4, [LOG_INFO] = 6, [LOG_DEBUG] = 7};

	return of[lv];
}

struct entry {
	struct iovec v[FIELDS_MAX];
	unsigned n;
	struct log_line text; /* the fields point into this */
};

/* A field that does not fit is omitted. */
static void log_text_add(struct entry *en, const char *prefix, const char *key, const char *value)
{
	size_t begin = en->text.n;

	if (en->n == FIELDS_MAX)
		return;
	log_put(&en->text, "%s", prefix);
	for (const char *k = key; *k; k++)
		log_put(&en->text, "%c", (char)toupper((unsigned char)*k));
	log_put(&en->text, "=%s", value);
	if (en->text.full)
		en->text.n = begin;
	else
		en->v[en->n++] = (struct iovec){en->text.b + begin, en->text.n - begin};
	en->text.full = false;
}

/* The length at which the line is cut, never in the middle of a character. */
static size_t log_text_cut(const struct log_line *l)
{
	size_t n = l->n < LOG_SHOWN_MAX ? l->n : LOG_SHOWN_MAX;

	while (n > 0 && n < l->n && ((unsigned char)l->b[n] & 0xc0) == 0x80)
		n--;
	return n;
}

/* The field "text", which has the event in words; without it, the whole event. */
static void add_message(struct entry *en, const char *event, const struct log_field *f, size_t n)
{
	char value[SHOWN_SIZE];
	struct log_line l = {.n = 0, .full = false};
	size_t i = 0;

	while (i < n && strcmp(f[i].key, "text") != 0)
		i++;
	if (i < n) {
		log_text_add(en, "", "MESSAGE", log_text_shown(&f[i], value));
		return;
	}
	log_logfmt(&l, event, f, n);
	l.b[log_text_cut(&l)] = '\0';
	log_text_add(en, "", "MESSAGE", l.b);
}

int log_journal(enum log_level lv, const char *event, const struct log_field *f, size_t n)
{
	struct entry en = {.n = 0, .text = {.n = 0, .full = false}};
	char value[SHOWN_SIZE];

	snprintf(value, sizeof(value), "%d", priority(lv));
	log_text_add(&en, "", "PRIORITY", value);
	log_text_add(&en, "", "SYSLOG_IDENTIFIER", "fuzzcell");
	add_message(&en, event, f, n);
	log_text_add(&en, "FUZZCELL_", "EVENT", event);
	for (size_t i = 0; i < n; i++)
		if (strcmp(f[i].key, "text") != 0)
			log_text_add(&en, "FUZZCELL_", f[i].key, log_text_shown(&f[i], value));
	return journal_send(en.v, en.n);
}
