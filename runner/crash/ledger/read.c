/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the file, in both layouts.  A user may have edited it: an invalid value is mended and
 * reported, and the rest is kept.  Fields that are read are removed from the parsed object.  The
 * remaining fields are unknown ones, and are kept. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/crash/ledger/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* The most JSON values in the file.  Each takes some 60 bytes: 64 MiB of "0," would be 2 GiB. */
enum { VALUES_MAX = 4000000 };

DEFINE_CLEANUP(struct ledger *, ledger_free)
DEFINE_CLEANUP(struct record *, ledger_record_free)

void ledger_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
			*text = '?';
}

/* The first is reported, all are counted. */
static void ledger_read_warn(struct ledger *l, const char *signature, const char *key,
			     const char *why)
{
	if (l->warnings++ == 0)
		snprintf(l->warning, sizeof(l->warning),
			 LEDGER_NAME ": crash '%.100s': %.60s %.90s", signature, key, why);
	ledger_printable(l->warning);
}

void ledger_mend(struct ledger *l, const char *signature, const char *key, const char *why)
{
	ledger_read_warn(l, signature, key, why);
	l->dirty = true;
	l->keep_file = true;
}

/* --- entries -------------------------------------------------------------- */

/* Reads one object of "found_by". */
static int ledger_read_take_found(const struct reading *rd, struct record *n, json_t *from)
{
	const char *target = json_string_value(json_object_get(from, "fuzzer"));
	struct found *t = NULL;
	int r = target ? ledger_entry_add(n, target, &t, rd->e) : 0;

	if (r < 0)
		return r;
	if (!t || ledger_entry_of(n, t->c.fuzzer) != t) {
		ledger_mend(rd->l, rd->signature, "found_by",
			    "holds an invalid target, or a target twice");
		if (t)
			ledger_entry_drop(rd->l, n, n->c.n_by - 1);
		return 0;
	}
	r = ledger_read_entry(rd, from, t);
	if (r == 0 && json_object_size(from) > 0)
		t->extra = json_incref(from);
	return r;
}

static int take_found_by(const struct reading *rd, struct record *n, json_t *crash)
{
	json_t *all = json_object_get(crash, "found_by");
	size_t most = json_array_size(all);
	int r = 0;

	if (!all)
		return 0;
	if (!json_is_array(all) || most > LEDGER_TARGETS || most == 0)
		ledger_mend(rd->l, rd->signature, "found_by", "is no list, empty, or too long");
	for (size_t i = 0; i < most && i < LEDGER_TARGETS && r == 0; i++)
		r = ledger_read_take_found(rd, n, json_array_get(all, i));
	json_object_del(crash, "found_by");
	if (n->c.n_by > 0)
		ledger_drop_summary(crash);
	return r;
}

/* Makes an entry for another target in a file of the older layout: it has the crash's state. */
static int take_older_target(const struct reading *rd, struct record *n, const char *target)
{
	const struct known_crash *first = n->c.by[0];
	struct found *t = NULL;
	int r = 0;

	if (*target && !ledger_entry_of(n, target))
		r = ledger_entry_add(n, target, &t, rd->e);
	if (!t)
		return r;
	t->c.state = first->state;
	t->c.security = first->security;
	t->c.unsymbolized = first->unsymbolized;
	r = ledger_set(&t->c.crash_type, first->crash_type, LEDGER_TEXT_MAX, true, rd->e);
	if (r == 0)
		r = ledger_set(&t->c.kind, first->kind, LEDGER_TEXT_MAX, false, rd->e);
	if (r == 0)
		r = ledger_set(&t->c.top_frame, first->top_frame, LEDGER_TEXT_MAX, false, rd->e);
	if (r == 0)
		r = ledger_set(&t->c.severity, first->severity, LEDGER_TEXT_MAX, false, rd->e);
	for (size_t i = 0; r == 0 && i < first->frames.n; i++)
		r = ledger_list_add(&t->c.frames, first->frames.v[i], false, rd->e);
	if (r == 0)
		r = ledger_set_seen(&t->c.first_seen, first->first_seen.time,
				    first->first_seen.commit, first->first_seen.run, rd->e);
	if (r == 0)
		r = ledger_set_seen(&t->c.last_seen, first->last_seen.time, first->last_seen.commit,
				    first->last_seen.run, rd->e);
	if (r == 0)
		r = ledger_set_seen(&t->c.fixed, first->fixed.time, first->fixed.commit,
				    first->fixed.run, rd->e);
	return r;
}

/* Whether a raw key or an artifact's path names this target. */
static bool ledger_read_is_of(const char *text, const char *before, const char *target,
			      const char *after)
{
	const char *at = *before ? strstr(text, before) : text;
	size_t n = strlen(target);

	if (!at)
		return false;
	at += strlen(before);
	return strncmp(at, target, n) == 0 && strncmp(at + n, after, strlen(after)) == 0;
}

static int ledger_read_give(struct ledger_list *from, struct ledger_list *to, const char *before,
			    const char *target, const char *after, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n;)
		if (ledger_read_is_of(from->v[i], before, target, after))
			r = ledger_list_take(to, ledger_list_steal(from, i), e);
		else
			i++;
	return r;
}

static int take_only(const struct reading *rd, struct record *n, json_t *crash)
{
	struct found *first;
	int r = ledger_entry_add(n, "", &first, rd->e);

	if (r == 0)
		r = ledger_read_entry(rd, crash, first);
	for (size_t i = 0; r == 0 && i < n->c.targets.n; i++)
		r = take_older_target(rd, n, n->c.targets.v[i]);
	for (size_t i = 1; r == 0 && i < n->c.n_by; i++) {
		struct known_crash *c = &ledger_entry_at(n, i)->c;

		r = ledger_read_give(&first->c.raw_keys, &c->raw_keys, "", c->fuzzer, ":", rd->e);
		if (r == 0)
			r = ledger_read_give(&first->c.artifacts, &c->artifacts, "/crashes/",
					     c->fuzzer, "/", rd->e);
	}
	return r;
}

/* Reads "v": the layout of the entries. */
static int take_version(const struct reading *rd, json_t *crash)
{
	const json_t *v = json_object_get(crash, "v");

	if (json_is_integer(v) && json_integer_value(v) > LEDGER_VERSION)
		return err_set(rd->e, ENOTSUP,
			       "crash '%.100s' was written by a newer fuzzcell (layout %lld, this "
			       "one reads %d): use that one",
			       rd->signature, (long long)json_integer_value(v), LEDGER_VERSION);
	if (json_is_integer(v))
		json_object_del(crash, "v");
	return 0;
}

static int read_crash(struct ledger *l, const char *signature, json_t *crash, struct err *e)
{
	CLEANUP(ledger_record_free_p) struct record *n = NULL;
	struct reading rd = {.l = l, .signature = signature, .e = e};
	int r = ledger_reserve(l, signature, e);

	if (r < 0)
		return r;
	r = ledger_record_new(signature, &n, e);
	if (r < 0)
		return r;
	rd.c = &n->c;
	r = take_version(&rd, crash);
	if (r == 0)
		r = ledger_read_own(&rd, crash);
	if (r == 0)
		r = take_found_by(&rd, n, crash);
	if (r == 0 && n->c.n_by == 0)
		r = take_only(&rd, n, crash);
	if (r == 0)
		r = ledger_summarize(n, e);
	if (r < 0)
		return r;
	if (json_object_size(crash) > 0)
		n->extra = json_incref(crash);
	l->v[l->n++] = take_ptr(&n); /* sorted after the last one */
	return 0;
}

/* Another tool's object has none of our keys. */
static bool is_crash(const json_t *j)
{
	size_t n;
	const struct field *f = ledger_fields(&n);

	for (size_t i = 0; i < n; i++)
		if (!f[i].group && json_object_get(j, f[i].key))
			return true;
	return json_object_get(j, "state") || json_object_get(j, "date");
}

static int ledger_read_all(struct ledger *l, json_t *root, struct err *e)
{
	const char *key;
	json_t *j;
	int r = 0;

	json_object_foreach(root, key, j)
	{
		bool is_ours = json_is_object(j) && is_crash(j);

		if (is_ours && ledger_check_signature(key, e) < 0) {
			ledger_read_warn(l, key, "is left alone:", e->msg);
			is_ours = false;
		}
		if (is_ours)
			r = read_crash(l, key, j, e);
		else if (json_object_set(l->foreign, key, j) < 0)
			r = err_set(e, ENOMEM, "read the ledger");
		if (r == -ENOSPC)
			return err_set(e, EBADMSG, "%s", e->msg);
		if (r < 0)
			return r;
	}
	return 0;
}

static int by_signature(const void *a, const void *b)
{
	const struct record *const *x = a, *const *y = b;

	return strcmp((*x)->c.signature, (*y)->c.signature);
}

/* Linear, and before the values are allocated.  Commas in texts count as well. */
static int count_values(struct slice text, struct err *e)
{
	size_t commas = 0, line = 1;

	for (size_t i = 0; i < text.n; i++) {
		line += text.p[i] == '\n';
		commas += text.p[i] == ',';
		if (commas > VALUES_MAX)
			return err_set(e, EBADMSG, "line %zu: more than %d values", line,
				       VALUES_MAX);
	}
	return 0;
}

int ledger_from_json(json_t *root, struct ledger **ret, struct err *e)
{
	CLEANUP(ledger_free_p) struct ledger *l = NULL;
	int r = ledger_new(&l, e);

	if (r == 0)
		r = ledger_read_all(l, root, e);
	if (r < 0)
		return r;
	if (l->n > 0)
		qsort(l->v, l->n, sizeof(struct record *), by_signature);
	r = ledger_connect(l, e);
	if (r < 0)
		return r;
	/* The next save writes all records of a mended ledger: some values are mended without a
	 * warning. */
	for (size_t i = 0; i < l->n; i++)
		l->v[i]->changed = l->dirty;
	if (l->warnings > 1)
		snprintf(l->warning + strlen(l->warning), sizeof(l->warning) - strlen(l->warning),
			 "; and %u more", l->warnings - 1);
	*ret = take_ptr(&l);
	return 0;
}

int ledger_parse(struct slice text, struct ledger **ret, struct err *e)
{
	_autojson_ json_t *root = NULL;
	int r = count_values(text, e);

	if (r == 0)
		r = json_parse(text, &root, e);
	if (r < 0)
		return r;
	if (!json_is_object(root))
		return err_set(e, EBADMSG, "line 1, column 1: not an object of crashes");
	return ledger_from_json(root, ret, e);
}

enum anew { ANEW_MISSING, ANEW_DAMAGED, ANEW_STALE };

/* why: what is wrong with a damaged file. */
static void describe_anew(struct ledger *l, enum anew how, const char *why,
			  const struct ledger_lost *lost)
{
	char others[220] = "";

	if (lost->n)
		snprintf(others, sizeof(others), ", %zu are unreadable (%s)", lost->n, lost->first);
	l->warning[0] = '\0';
	if (how == ANEW_DAMAGED)
		snprintf(l->warning, sizeof(l->warning),
			 LEDGER_NAME ": %.110s: %zu crashes are read from crashes/ instead%s; "
				     "the next change rewrites the file and keeps the damaged "
				     "one as " LEDGER_NAME ".damaged-<n>",
			 why, l->n, others);
	else if (how == ANEW_MISSING && l->n + lost->n > 0)
		snprintf(l->warning, sizeof(l->warning),
			 LEDGER_NAME " is missing: %zu crashes are read from crashes/ instead%s; "
				     "the next change writes the file again",
			 l->n, others);
	else if (lost->n)
		snprintf(l->warning, sizeof(l->warning), "%zu crashes are read from crashes/%s",
			 l->n, others);
	ledger_printable(l->warning);
}

/* Makes a ledger from the records, in the place of a file that is missing, damaged or stale.  The
 * file stays until a save. */
static int start_anew(int state_dirfd, enum anew how, const char *why, struct ledger **ret,
		      struct ledger_lost *lost, struct err *e)
{
	CLEANUP(ledger_free_p) struct ledger *l = NULL;
	int r = ledger_rebuild(state_dirfd, &l, lost, e);

	if (r < 0)
		return r;
	describe_anew(l, how, why, lost);
	l->dirty = how != ANEW_MISSING || l->n > 0;
	l->keep_file = how == ANEW_DAMAGED;
	*ret = take_ptr(&l);
	return 0;
}

/* A file with wrong values, or without a crash, is damaged if crashes/ has crashes: another tool,
 * or a user, changed it.  Its other values are kept. */
static int check_sound(int state_dirfd, struct ledger **io, struct err *e)
{
	CLEANUP(ledger_free_p) struct ledger *again = NULL;
	struct ledger_lost lost;
	json_t *foreign;
	int r;

	if ((*io)->n > 0 && !(*io)->keep_file)
		return 0;
	r = start_anew(state_dirfd, ANEW_DAMAGED,
		       (*io)->n > 0 ? (*io)->warning + strlen(LEDGER_NAME ": ")
				    : "it has no crash (to forget all, remove crashes/ as well)",
		       &again, &lost, e);
	if (r < 0 || again->n + lost.n == 0)
		return r;
	if (again->n == 0) /* a save would write the same */
		again->dirty = again->keep_file = false;
	for (size_t i = 0; i < again->n; i++) /* no key may be in the file twice */
		json_object_del((*io)->foreign, again->v[i]->c.signature);
	foreign = again->foreign;
	again->foreign = (*io)->foreign;
	(*io)->foreign = foreign;
	ledger_free(*io);
	*io = take_ptr(&again);
	return 0;
}

/* Whether a save was killed, or is at work, between the records and the file. */
static bool is_stale(int state_dirfd)
{
	return faccessat(state_dirfd, LEDGER_STALE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int ledger_read_load(int state_dirfd, struct ledger **ret, struct err *e)
{
	CLEANUP(ledger_free_p) struct ledger *l = NULL;
	_autofree_ char *text = NULL;
	struct ledger_lost lost;
	struct err why;
	size_t n;
	int r;

	if (is_stale(state_dirfd))
		return start_anew(state_dirfd, ANEW_STALE, NULL, ret, &lost, e);
	r = fs_read(state_dirfd, LEDGER_NAME, LEDGER_FILE_MAX, &text, &n, &why);
	if (r == 0)
		r = ledger_parse((struct slice){text, n}, &l, &why);
	if (r == -ENOENT)
		return start_anew(state_dirfd, ANEW_MISSING, NULL, ret, &lost, e);
	if (r == -EFBIG || r == -EBADMSG)
		return start_anew(state_dirfd, ANEW_DAMAGED, why.msg, ret, &lost, e);
	if (r < 0)
		return err_set(e, why.code, "%s", why.msg);
	r = check_sound(state_dirfd, &l, e);
	if (r < 0)
		return r;
	*ret = take_ptr(&l);
	return 0;
}

int ledger_load(int state_dirfd, struct ledger **ret, struct err *e)
{
	int r = ledger_read_load(state_dirfd, ret, e);

	return r < 0 ? err_wrap(e, "read the ledger") : 0;
}
