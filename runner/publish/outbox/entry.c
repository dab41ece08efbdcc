/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and prints entries and names; no files. */
#include "base/digest.h"
#include "base/memory.h"
#include "runner/publish/outbox/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { NAME_CUT = OUTBOX_PART - DIGEST_SHA1_HEX - 2 }; /* leaves room for "::" and a SHA-1 */
#define NUMBER_MAX (UINT64_C(1) << 53)

static bool outbox_entry_is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.';
}

/* ':' is not plain, so no text looks like another's name. */
void outbox_name(struct slice text, char out[OUTBOX_PART])
{
	char sha1[DIGEST_SHA1_HEX];
	size_t n = 0, i = 0;

	for (; i < text.n && n + 3 < OUTBOX_PART; i++) {
		char c = text.p[i];

		if (outbox_entry_is_plain(c) && (n > 0 || c != '.'))
			out[n++] = c;
		else
			n += (size_t)snprintf(out + n, 4, ":%02X", (unsigned char)c);
	}
	if (i < text.n) {
		digest_sha1_hex(text, sha1);
		n = NAME_CUT;
		out[n++] = ':';
		out[n++] = ':';
		memcpy(out + n, sha1, DIGEST_SHA1_HEX);
		return;
	}
	out[n] = '\0';
}

bool outbox_name_ok(const char *name)
{
	size_t n = strlen(name);

	if (n >= OUTBOX_NAME ||
	    (strncmp(name, "github-", 7) != 0 && strncmp(name, "hook-", 5) != 0))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!outbox_entry_is_plain(name[i]) && name[i] != ':')
			return false;
	return true;
}

void outbox_line(char *to, size_t cap, const char *from)
{
	size_t n = 0;

	for (; from[n] && n + 1 < cap; n++)
		to[n] = (char)(from[n] >= ' ' && from[n] <= '~' ? from[n] : '?');
	to[n] = '\0';
}

void outbox_entry_free(struct outbox_entry *t)
{
	if (!t)
		return;
	free(t->subject);
	free(t);
}

void outbox_full_done(struct outbox_full *f)
{
	outbox_entry_free(f->entry);
	json_decref(f->event);
	json_decref(f->progress);
	*f = (struct outbox_full){0};
}

static int outbox_entry_take_text(const json_t *j, const char *key, char *to, size_t cap,
				  struct err *e)
{
	const char *s = json_string_value(json_object_get(j, key));

	if (!s || strlen(s) >= cap)
		return err_set(e, EBADMSG, "\"%s\" is missing or too long", key);
	outbox_line(to, cap, s);
	return strcmp(s, to) == 0 ? 0 : err_set(e, EBADMSG, "\"%s\" is not printable", key);
}

static int outbox_entry_take_number(const json_t *j, const char *key, uint64_t *ret, struct err *e)
{
	const json_t *v = json_object_get(j, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
	    (uint64_t)json_integer_value(v) > NUMBER_MAX)
		return err_set(e, EBADMSG, "\"%s\" is not a valid number", key);
	*ret = (uint64_t)json_integer_value(v);
	return 0;
}

static int take_numbers(const json_t *j, struct outbox_entry *t, struct err *e)
{
	const struct {
		const char *key;
		uint64_t *to;
	} v[] = {{"seq", &t->seq},
		 {"created", &t->created},
		 {"tries", &t->tries},
		 {"last_try", &t->last_try},
		 {"next_try", &t->next_try}};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(v) / sizeof(v[0]); i++)
		r = outbox_entry_take_number(j, v[i].key, v[i].to, e);
	return r;
}

static int take_subject(const json_t *j, struct outbox_entry *t, struct err *e)
{
	const char *s = json_string_value(json_object_get(j, "subject"));

	if (!s)
		return err_set(e, EBADMSG, "\"subject\" is missing");
	t->subject = xstrdup(s);
	return 0;
}

static int outbox_entry_check_names(const struct outbox_entry *t, const char *id, struct err *e)
{
	size_t n = strlen(t->place);

	if (strcmp(t->id, id) != 0)
		return err_set(e, EBADMSG, "the entry's id is '%s'", t->id);
	if (!outbox_name_ok(t->id) || !outbox_name_ok(t->chain))
		return err_set(e, EBADMSG, "bad \"id\" or \"chain\"");
	if (strncmp(t->chain, t->place, n) != 0 || t->chain[n] != '-' ||
	    strncmp(t->id, t->place, n) != 0 || t->id[n] != '-')
		return err_set(e, EBADMSG, "\"place\" is not that of \"id\" and \"chain\"");
	return 0;
}

static int outbox_entry_take_entry(const json_t *j, const char *id, struct outbox_entry *t,
				   struct err *e)
{
	const json_t *refused = json_object_get(j, "refused");
	int r = outbox_entry_take_text(j, "id", t->id, sizeof(t->id), e);

	if (r == 0)
		r = outbox_entry_take_text(j, "chain", t->chain, sizeof(t->chain), e);
	if (r == 0)
		r = outbox_entry_take_text(j, "place", t->place, sizeof(t->place), e);
	if (r == 0)
		r = outbox_entry_take_text(j, "why", t->why, sizeof(t->why), e);
	if (r == 0)
		r = take_numbers(j, t, e);
	if (r == 0)
		r = take_subject(j, t, e);
	if (r == 0)
		r = outbox_entry_take_text(json_object_get(j, "event"), "event", t->event,
					   sizeof(t->event), e);
	if (r == 0)
		r = outbox_entry_check_names(t, id, e);
	if (r == 0 && !json_is_boolean(refused))
		r = err_set(e, EBADMSG, "\"refused\" is neither true nor false");
	t->refused = json_is_true(refused);
	return r;
}

int outbox_entry_parse(struct slice text, const char *id, struct outbox_full *ret, struct err *e)
{
	_autojson_ json_t *j = NULL;
	struct outbox_full f = {0};
	int r;

	if (text.n > OUTBOX_ENTRY_BYTES_MAX)
		return err_set(e, EBADMSG, "more than %d bytes", (int)OUTBOX_ENTRY_BYTES_MAX);
	r = json_parse(text, &j, e);
	if (r < 0)
		return r;
	if (json_integer_value(json_object_get(j, "v")) != 1)
		return err_set(e, EBADMSG, "an entry of an unknown version");
	if (!json_is_object(json_object_get(j, "event")) ||
	    !json_is_object(json_object_get(j, "progress")))
		return err_set(e, EBADMSG, "\"event\" or \"progress\" is missing");
	f.entry = xcalloc(1, sizeof(*f.entry));
	r = outbox_entry_take_entry(j, id, f.entry, e);
	if (r < 0) {
		outbox_full_done(&f);
		return r;
	}
	f.event = json_incref(json_object_get(j, "event"));
	f.progress = json_incref(json_object_get(j, "progress"));
	*ret = f;
	return 0;
}

int outbox_entry_print(const struct outbox_entry *t, const json_t *event, const json_t *progress,
		       char **ret, struct err *e)
{
	_autojson_ json_t *j = json_pack(
	    "{s:i, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:s, s:O, s:O}", "v", 1, "id",
	    t->id, "chain", t->chain, "place", t->place, "subject", t->subject, "seq",
	    (json_int_t)t->seq, "created", (json_int_t)t->created, "tries", (json_int_t)t->tries,
	    "last_try", (json_int_t)t->last_try, "next_try", (json_int_t)t->next_try, "refused",
	    t->refused, "why", t->why, "progress", progress, "event", event);

	if (!j)
		return err_set(e, EINVAL, "build an entry");
	return json_print(j, 1, ret, e);
}
