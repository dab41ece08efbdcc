/* SPDX-License-Identifier: Apache-2.0 */
/* The sent notifications: one record for each chain. */
#include "base/fs.h"
#include "base/sys.h"
#include "runner/publish/outbox/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { RECORD_BYTES_MAX = 64 << 10 };

const char *outbox_chain_text(const json_t *record, const char *key)
{
	const char *s = json_string_value(json_object_get(record, key));

	return s ? s : "";
}

static json_t *empty_record(const char *chain)
{
	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:b, s:[]}", "v", 1, "chain", chain, "subject",
			 "", "url", "", "repository", "", "ignored", 0, "told");
}

static bool is_record(const json_t *j, const char *chain)
{
	const char *name = json_string_value(json_object_get(j, "chain"));
	const json_t *told = json_object_get(j, "told");

	if (!name || strcmp(name, chain) != 0 || !json_is_array(told))
		return false;
	for (size_t i = 0; i < json_array_size(told); i++)
		if (!*outbox_chain_text(json_array_get(told, i), "id") ||
		    !*outbox_chain_text(json_array_get(told, i), "how"))
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
	if (r == 0 && is_record(j, chain)) {
		*ret = take_ptr(&j);
		return 0;
	}
	if (r != -ENOENT)
		outbox_set_aside(o, o->done, name, r == 0 ? "not a chain's record" : why.msg);
	*ret = empty_record(chain);
	return 0;
}

bool outbox_chain_empty(const json_t *record)
{
	return json_array_size(json_object_get(record, "told")) == 0;
}

const char *outbox_chain_how(const json_t *record, const char *id)
{
	const json_t *told = json_object_get(record, "told");

	for (size_t i = 0; i < json_array_size(told); i++) {
		const json_t *one = json_array_get(told, i);

		if (strcmp(outbox_chain_text(one, "id"), id) == 0)
			return outbox_chain_text(one, "how");
	}
	return "";
}

const char *outbox_chain_url(const json_t *record)
{
	return outbox_chain_text(record, "url");
}

bool outbox_chain_told(const json_t *record, const char *id)
{
	return *outbox_chain_how(record, id) != '\0';
}

static int write_record(struct outbox *o, const json_t *record, struct err *e)
{
	_autofree_ char *text = NULL;
	char name[NAME_MAX + 1];
	int r = json_print(record, 1, &text, e);

	snprintf(name, sizeof(name), "%.*s.json", OUTBOX_NAME, outbox_chain_text(record, "chain"));
	if (r == 0)
		r = fs_replace(o->done, name, slice_of(text), e);
	return r < 0 ? err_wrap(e, "outbox record '%s'", name) : 0;
}

/* The record to drop: the oldest "again", because the last one is enough.  Without any, the
 * oldest: only recent events can be queued again. */
static size_t oldest(const json_t *told)
{
	for (size_t i = 0; i < json_array_size(told); i++)
		if (strcmp(outbox_chain_text(json_array_get(told, i), "event"), "again") == 0)
			return i;
	return 0;
}

static int add_told(json_t *record, const struct outbox_entry *t, const char *how, uint64_t now)
{
	json_t *told = json_object_get(record, "told");

	while (json_array_size(told) >= OUTBOX_TOLD_MAX)
		(void)json_array_remove(told, oldest(told));
	return json_array_append_new(told,
				     json_pack("{s:s, s:s, s:I, s:s}", "id", t->id, "event",
					       t->event, "time", (json_int_t)now, "how", how));
}

/* "entries": how many targets the issue names.  "labelled": how many it named when the label was
 * seen first.  The user who set the label knew only of these.  "minimized": whether the issue has
 * the smallest input, which is that of "target". */
static void note_entries(json_t *record, const json_t *event, const struct outbox_outcome *c)
{
	json_t *now = json_object_get(event, "entries"), *was = json_object_get(record, "entries");

	if (!c->ignored)
		(void)json_object_del(record, "labelled");
	else if (!json_object_get(record, "labelled") && (was || now))
		json_object_set(record, "labelled", was ? was : now);
	if (json_is_integer(now))
		json_object_set(record, "entries", now);
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
	const char *repository = outbox_chain_text(event, "repository");
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
		note_entries(record, event, c);
	if (!outbox_chain_told(record, t->id))
		bad |= add_told(record, t, how, c->now);
	return bad ? err_set(e, EINVAL, "build JSON") : write_record(o, record, e);
}

int outbox_chain_noted(struct outbox *o, const char *chain, struct err *e)
{
	_autojson_ json_t *record = NULL;
	int r = outbox_hold(o, e);

	if (r < 0)
		return r;
	r = outbox_chain(o, chain, &record, e);
	if (r == 0 && json_is_true(json_object_get(record, "ignored"))) {
		json_object_set_new(record, "ignored", json_false());
		r = write_record(o, record, e);
	}
	outbox_release(o);
	return r;
}

static int outbox_done_each(struct outbox *o, const char *file, const char *place,
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
		r = outbox_done_each(o, ent->d_name, place, fn, arg, e);
	if (r == 0 && errno)
		r = err_sys(e, "read directory 'outbox/done'");
	return r;
}
