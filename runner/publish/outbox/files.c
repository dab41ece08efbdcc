/* SPDX-License-Identifier: Apache-2.0 */
/* The outbox's files, each read and written as a whole: entries, the chains' records, the numbers
 * of the destinations. */
#include "base/digest.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/publish/outbox/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* --- names and entries; no files ------------------------------------------------ */

enum { NAME_CUT = OUTBOX_PART - DIGEST_SHA1_HEX - 2 }; /* leaves room for "::" and a SHA-1 */
#define NUMBER_MAX (UINT64_C(1) << 53)

static bool outbox_is_plain(char c)
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

		if (outbox_is_plain(c) && (n > 0 || c != '.'))
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
		if (!outbox_is_plain(name[i]) && name[i] != ':')
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

static int entry_take_text(const json_t *j, const char *key, char *to, size_t cap, struct err *e)
{
	const char *s = json_string_value(json_object_get(j, key));

	if (!s || strlen(s) >= cap)
		return err_set(e, EBADMSG, "\"%s\" is missing or too long", key);
	outbox_line(to, cap, s);
	return strcmp(s, to) == 0 ? 0 : err_set(e, EBADMSG, "\"%s\" is not printable", key);
}

static int entry_take_number(const json_t *j, const char *key, uint64_t *ret, struct err *e)
{
	const json_t *v = json_object_get(j, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
	    (uint64_t)json_integer_value(v) > NUMBER_MAX)
		return err_set(e, EBADMSG, "\"%s\" is not a valid number", key);
	*ret = (uint64_t)json_integer_value(v);
	return 0;
}

static int entry_take_numbers(const json_t *j, struct outbox_entry *t, struct err *e)
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
		r = entry_take_number(j, v[i].key, v[i].to, e);
	return r;
}

static int entry_take_subject(const json_t *j, struct outbox_entry *t, struct err *e)
{
	const char *s = json_string_value(json_object_get(j, "subject"));

	if (!s)
		return err_set(e, EBADMSG, "\"subject\" is missing");
	t->subject = xstrdup(s);
	return 0;
}

static int entry_check_names(const struct outbox_entry *t, const char *id, struct err *e)
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

static int entry_take(const json_t *j, const char *id, struct outbox_entry *t, struct err *e)
{
	const json_t *refused = json_object_get(j, "refused");
	int r = entry_take_text(j, "id", t->id, sizeof(t->id), e);

	if (r == 0)
		r = entry_take_text(j, "chain", t->chain, sizeof(t->chain), e);
	if (r == 0)
		r = entry_take_text(j, "place", t->place, sizeof(t->place), e);
	if (r == 0)
		r = entry_take_text(j, "why", t->why, sizeof(t->why), e);
	if (r == 0)
		r = entry_take_numbers(j, t, e);
	if (r == 0)
		r = entry_take_subject(j, t, e);
	if (r == 0)
		r = entry_take_text(json_object_get(j, "event"), "event", t->event,
				    sizeof(t->event), e);
	if (r == 0)
		r = entry_check_names(t, id, e);
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
	r = entry_take(j, id, f.entry, e);
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

/* --- entries on disk ------------------------------------------------------------ */

enum { MODE_DIR = 0750, ASIDE_MAX = 1000 };
#define PLACES_NAME "places.json"

/* Held for a few writes only, never during a request to a server. */
int outbox_hold(struct outbox *o, struct err *e)
{
	int r;

	if (o->write_fd < 0)
		return err_set(e, EBADF, "the outbox was opened for reading");
	do
		r = flock(o->write_fd, LOCK_EX);
	while (r < 0 && errno == EINTR);
	return r < 0 ? err_sys(e, "lock 'outbox/lock'") : 0;
}

void outbox_release(struct outbox *o)
{
	(void)flock(o->write_fd, LOCK_UN); /* the end of the process releases it, too */
}

static const char *entry_file(const char *id, char out[NAME_MAX + 1])
{
	snprintf(out, NAME_MAX + 1, "%s.json", id);
	return out;
}

bool outbox_exists(const struct outbox *o, const char *id)
{
	char name[NAME_MAX + 1];

	return o->dir >= 0 &&
	       faccessat(o->dir, entry_file(id, name), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int outbox_load(struct outbox *o, const char *id, struct outbox_full *ret, struct err *e)
{
	_autofree_ char *text = NULL;
	char name[NAME_MAX + 1];
	size_t n;
	int r = fs_read(o->dir, entry_file(id, name), OUTBOX_ENTRY_BYTES_MAX, &text, &n, e);

	if (r == 0)
		r = outbox_entry_parse((struct slice){text, n}, id, ret, e);
	return r < 0 ? err_wrap(e, "outbox entry '%s'", id) : 0;
}

int outbox_write(struct outbox *o, const struct outbox_entry *t, const json_t *event,
		 const json_t *progress, struct err *e)
{
	_autofree_ char *text = NULL;
	char name[NAME_MAX + 1];
	int r = outbox_entry_print(t, event, progress, &text, e);

	if (r == 0 && strlen(text) > OUTBOX_ENTRY_BYTES_MAX)
		r = err_set(e, EFBIG, "more than %d bytes", (int)OUTBOX_ENTRY_BYTES_MAX);
	if (r == 0)
		r = fs_replace(o->dir, entry_file(t->id, name), slice_of(text), e);
	return r < 0 ? err_wrap(e, "outbox entry '%s'", t->id) : 0;
}

/* No fsync: if the file reappears, its chain's record says that it was sent. */
int outbox_unlink(struct outbox *o, const char *id, struct err *e)
{
	char name[NAME_MAX + 1];

	if (sys_unlinkat(o->dir, entry_file(id, name), 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove 'outbox/%s'", name);
	return 0;
}

bool outbox_damage(int r)
{
	return r == -EBADMSG || r == -EFBIG || r == -EINVAL || r == -ELOOP || r == -EISDIR;
}

static void outbox_warn(struct outbox *o, const char *name, const char *where, const char *why)
{
	char text[sizeof(o->warning)];

	if (*o->warning)
		return; /* one line is enough: all files are kept */
	snprintf(text, sizeof(text), "outbox: '%.120s' is damaged (%.100s)%s", name, why, where);
	outbox_line(o->warning, sizeof(o->warning), text);
}

void outbox_set_aside(struct outbox *o, int dir, const char *name, const char *why)
{
	char to[NAME_MAX + 1];
	struct err e;

	if (o->write_fd < 0) {
		outbox_warn(o, name, "", why);
		return;
	}
	if (fs_mkdirs(o->dir, "damaged", MODE_DIR, &e) == 0)
		for (unsigned i = 1; i < ASIDE_MAX; i++) {
			snprintf(to, sizeof(to), "damaged/%.220s.%u", name, i);
			if (faccessat(o->dir, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
				continue;
			if (sys_rename_to(dir, name, o->dir, to) < 0)
				break;
			outbox_warn(o, name, ": set aside in outbox/damaged", why);
			return;
		}
	outbox_warn(o, name, ", and cannot be set aside", why);
}

/* --- destinations --------------------------------------------------------------- */

int outbox_places_load(struct outbox *o, struct err *e)
{
	_autojson_ json_t *j = NULL;
	struct err why;
	int r =
	    o->dir < 0 ? -ENOENT : json_load(o->dir, PLACES_NAME, OUTBOX_ENTRY_BYTES_MAX, &j, &why);

	if (r < 0 && r != -ENOENT && !outbox_damage(r))
		return err_set(e, why.code, "outbox: %s", why.msg);
	if (outbox_damage(r) || (r == 0 && !json_is_object(j))) {
		outbox_set_aside(o, o->dir, PLACES_NAME, "no JSON object");
		r = -ENOENT;
	}
	json_decref(o->places);
	o->places = r == 0 ? take_ptr(&j) : json_object();
	return 0;
}

uint64_t outbox_place_get(const struct outbox *o, const char *place, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(json_object_get(o->places, place), key));

	return v > 0 ? (uint64_t)v : 0;
}

/* A place's name is UTF-8, because it comes from the configuration. */
static void place_change(struct outbox *o, const char *place, const struct outbox_number *v,
			 size_t n)
{
	json_t *one = json_object_get(o->places, place);

	if (!json_is_object(one)) {
		one = json_object();
		json_object_set_new(o->places, place, one);
	}
	for (size_t i = 0; i < n; i++)
		if (v[i].value)
			json_object_set_new(one, v[i].key, json_integer((json_int_t)v[i].value));
		else
			(void)json_object_del(one, v[i].key);
}

/* Reads the file again first, to keep other processes' changes. */
int outbox_place_set(struct outbox *o, const char *place, const struct outbox_number *v, size_t n,
		     struct err *e)
{
	_autofree_ char *text = NULL;
	int r = outbox_hold(o, e);

	if (r < 0)
		return r;
	r = outbox_places_load(o, e);
	if (r == 0)
		place_change(o, place, v, n);
	if (r == 0)
		r = json_print(o->places, 1, &text, e);
	if (r == 0)
		r = fs_replace(o->dir, PLACES_NAME, slice_of(text), e);
	outbox_release(o);
	return r < 0 ? err_wrap(e, "outbox") : 0;
}

/* --- records: the sent notifications of each chain ------------------------------ */

enum { RECORD_BYTES_MAX = 64 << 10 };

static json_t *record_empty(const char *chain)
{
	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:b, s:[]}", "v", 1, "chain", chain, "subject",
			 "", "url", "", "repository", "", "ignored", 0, "told");
}

static bool record_is_valid(const json_t *j, const char *chain)
{
	const char *name = json_string_value(json_object_get(j, "chain"));
	const json_t *list = json_object_get(j, "told");

	if (!name || strcmp(name, chain) != 0 || !json_is_array(list))
		return false;
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!*json_get_text(json_array_get(list, i), "id") ||
		    !*json_get_text(json_array_get(list, i), "how"))
			return false;
	return true;
}

int outbox_chain(struct outbox *o, const char *chain, json_t **ret, struct err *e)
{
	_autojson_ json_t *j = NULL;
	char name[NAME_MAX + 1];
	struct err why;
	int r;

	snprintf(name, sizeof(name), "%s.json", chain);
	r = o->done < 0 ? -ENOENT : json_load(o->done, name, RECORD_BYTES_MAX, &j, &why);
	if (r < 0 && r != -ENOENT && !outbox_damage(r))
		return err_set(e, why.code, "outbox: %s", why.msg);
	if (r == 0 && record_is_valid(j, chain)) {
		*ret = take_ptr(&j);
		return 0;
	}
	if (r != -ENOENT)
		outbox_set_aside(o, o->done, name, r == 0 ? "not a chain's record" : why.msg);
	*ret = record_empty(chain);
	return 0;
}

bool outbox_chain_empty(const json_t *record)
{
	return json_array_size(json_object_get(record, "told")) == 0;
}

const char *outbox_chain_how(const json_t *record, const char *id)
{
	const json_t *list = json_object_get(record, "told");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);

		if (strcmp(json_get_text(one, "id"), id) == 0)
			return json_get_text(one, "how");
	}
	return "";
}

const char *outbox_chain_url(const json_t *record)
{
	return json_get_text(record, "url");
}

bool outbox_chain_has(const json_t *record, const char *id)
{
	return *outbox_chain_how(record, id) != '\0';
}

static int record_write(struct outbox *o, const json_t *record, struct err *e)
{
	_autofree_ char *text = NULL;
	char name[NAME_MAX + 1];
	int r = json_print(record, 1, &text, e);

	snprintf(name, sizeof(name), "%.*s.json", OUTBOX_NAME, json_get_text(record, "chain"));
	if (r == 0)
		r = fs_replace(o->done, name, slice_of(text), e);
	return r < 0 ? err_wrap(e, "outbox record '%s'", name) : 0;
}

/* The record to drop: the oldest "again", because the last one is enough.  Without any, the
 * oldest: only recent events can be queued again. */
static size_t record_least_useful(const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(json_get_text(json_array_get(list, i), "event"), "again") == 0)
			return i;
	return 0;
}

static int record_add(json_t *record, const struct outbox_entry *t, const char *how, uint64_t now)
{
	json_t *list = json_object_get(record, "told");

	while (json_array_size(list) >= OUTBOX_SENT_MAX)
		(void)json_array_remove(list, record_least_useful(list));
	return json_array_append_new(list,
				     json_pack("{s:s, s:s, s:I, s:s}", "id", t->id, "event",
					       t->event, "time", (json_int_t)now, "how", how));
}

/* "entries": how many targets the issue names.  "labelled": how many it named when the label was
 * seen first.  The user who set the label knew only of these.  "minimized": whether the issue has
 * the smallest input, which is that of "target".  "edges": which commits the issue has. */
static void record_note_entries(json_t *record, const json_t *event, const struct outbox_outcome *c)
{
	json_t *now = json_object_get(event, "entries"), *was = json_object_get(record, "entries");

	if (!c->ignored)
		(void)json_object_del(record, "labelled");
	else if (!json_object_get(record, "labelled") && (was || now))
		json_object_set(record, "labelled", was ? was : now);
	if (json_is_integer(now))
		json_object_set(record, "entries", now);
	if (json_is_string(json_object_get(event, "edges")))
		json_object_set(record, "edges", json_object_get(event, "edges"));
	now = json_object_get(event, "minimized");
	if (!json_is_boolean(now) || !json_object_get(event, "target"))
		return;
	json_object_set(record, "minimized", now);
	json_object_set(record, "target", json_object_get(event, "target"));
}

int outbox_record(struct outbox *o, const struct outbox_entry *t, const json_t *event,
		  const char *how, const struct outbox_outcome *c, struct err *e)
{
	_autojson_ json_t *record = NULL;
	const char *repository = json_get_text(event, "repository");
	int r = outbox_chain(o, t->chain, &record, e), bad;

	if (r < 0)
		return r;
	bad = json_object_set_new(record, "subject", json_string(t->subject));
	if (c->url && *c->url)
		bad |= json_object_set_new(record, "url", json_string(c->url));
	if (*repository)
		bad |= json_object_set_new(record, "repository", json_string(repository));
	if (c->ignored)
		json_object_set_new(record, "ignored", json_true());
	if (event)
		record_note_entries(record, event, c);
	if (!outbox_chain_has(record, t->id))
		bad |= record_add(record, t, how, c->now);
	return bad ? err_set(e, EINVAL, "build JSON") : record_write(o, record, e);
}

int outbox_chain_forget_ignored(struct outbox *o, const char *chain, struct err *e)
{
	_autojson_ json_t *record = NULL;
	int r = outbox_hold(o, e);

	if (r < 0)
		return r;
	r = outbox_chain(o, chain, &record, e);
	if (r == 0 && json_is_true(json_object_get(record, "ignored"))) {
		json_object_set_new(record, "ignored", json_false());
		r = record_write(o, record, e);
	}
	outbox_release(o);
	return r;
}

static int record_pass(struct outbox *o, const char *file, const char *place,
		       int (*fn)(void *arg, const json_t *record, struct err *e), void *arg,
		       struct err *e)
{
	_autojson_ json_t *record = NULL;
	char chain[OUTBOX_NAME];
	size_t n = strlen(file);
	int r;

	if (n <= 5 || n - 5 >= OUTBOX_NAME || strcmp(file + n - 5, ".json") != 0 ||
	    strncmp(file, place, strlen(place)) != 0)
		return 0;
	snprintf(chain, sizeof(chain), "%.*s", (int)(n - 5), file);
	r = outbox_chain(o, chain, &record, e);
	return r == 0 && !outbox_chain_empty(record) ? fn(arg, record, e) : r;
}

int outbox_each_chain(struct outbox *o, const char *place,
		      int (*fn)(void *arg, const json_t *record, struct err *e), void *arg,
		      struct err *e)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	const struct dirent *ent;
	int r = 0;

	if (o->done < 0)
		return 0;
	d = sys_opendirat(o->done, ".");
	if (!d)
		return err_sys(e, "open directory 'outbox/done'");
	while (r == 0 && (ent = sys_readdir(d)))
		r = record_pass(o, ent->d_name, place, fn, arg, e);
	if (r == 0 && errno)
		r = err_sys(e, "read directory 'outbox/done'");
	return r;
}
