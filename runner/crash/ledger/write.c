/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the records, crashes/<name>/record.json, and the index that is made of them. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/crash/ledger/internal.h"
#include "runner/crash/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
	DAMAGED_MAX = 1000,
	KEPT = 3,
	REPORTS_MAX = 4 << 20,	     /* bytes of a record with its reports */
	REPORTS_VALUES_MAX = 200000, /* values of such a record */
};

/* --- as JSON ------------------------------------------------------------------ */

static json_t *list_json(const struct ledger_list *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		(void)!json_array_append_new(a, json_string(l->v[i])); /* clean: it is UTF-8 */
	return a;
}

/* NULL with *ret_skip: nothing to write. */
static json_t *field_json(struct known_crash *c, const struct field *f, bool *ret_skip)
{
	const void *p = ledger_field_of(c, f);

	*ret_skip = !f->always;
	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_LINES:
		*ret_skip &= !**(char *const *)p;
		return *ret_skip ? NULL : json_string(*(char *const *)p);
	case FIELD_LIST:
		*ret_skip &= ((const struct ledger_list *)p)->n == 0;
		return *ret_skip ? NULL : list_json(p);
	case FIELD_NUMBER:
		*ret_skip &= *(const uint64_t *)p == 0;
		return *ret_skip ? NULL : json_integer((json_int_t) * (const uint64_t *)p);
	case FIELD_FLAG:
		*ret_skip &= !*(const bool *)p;
		return *ret_skip ? NULL : json_boolean(*(const bool *)p);
	}
	return NULL;
}

static void ledger_write_put_field(json_t *o, struct known_crash *c, const struct field *f)
{
	bool skip;
	json_t *j = field_json(c, f, &skip);
	json_t *in = o;

	if (skip)
		return;
	if (f->group) {
		if (!json_object_get(o, f->group))
			(void)json_object_set_new(o, f->group, json_object());
		in = json_object_get(o, f->group);
	}
	(void)json_object_set_new(in, f->key, j);
}

static void put_runs(json_t *o, const struct known_crash *c)
{
	json_t *a = json_array();

	for (size_t i = 0; i < c->n_runs; i++)
		(void)json_array_append_new(a, json_pack("{s:s, s:I}", "run", c->runs[i].run,
							 "count", (json_int_t)c->runs[i].count));
	(void)json_object_set_new(o, "runs", a);
}

/* Adds the unknown fields at the end, and in their groups. */
static void put_extra(json_t *o, json_t *extra)
{
	const char *key;
	json_t *j;

	json_object_foreach(extra, key, j)
	{
		json_t *have = json_object_get(o, key);

		if (json_is_object(have) && json_is_object(j))
			(void)json_object_update(have, j);
		else
			(void)json_object_set(o, key, j);
	}
}

static json_t *object_json(struct known_crash *c, bool is_entry)
{
	json_t *o = json_object();
	size_t n_fields;
	const struct field *f = ledger_fields(&n_fields);

	(void)json_object_set_new(o, "state", json_string(ledger_state_name(c->state)));
	for (size_t i = 0; i < n_fields; i++)
		if (!is_entry || !f[i].of_crash)
			ledger_write_put_field(o, c, &f[i]);
	if (c->n_runs > 0)
		put_runs(o, c);
	return o;
}

static void put_entries(json_t *o, const struct record *n)
{
	json_t *all = json_array();

	for (size_t i = 0; i < n->c.n_by; i++) {
		struct found *t = ledger_entry_at(n, i);
		json_t *j = object_json(&t->c, true);

		if (t->extra)
			put_extra(j, t->extra);
		(void)json_array_append_new(all, j);
	}
	json_object_del(o, "raw_keys"); /* each target's entry has its own */
	json_object_del(o, "artifacts");
	(void)json_object_set_new(o, "v", json_integer(LEDGER_VERSION));
	(void)json_object_set_new(o, "found_by", all);
}

/* The fields of a crash with one target are those of its only entry. */
static json_t *ledger_write_crash_json(struct record *n)
{
	json_t *o = object_json(&n->c, false);

	if (n->c.n_by > 1)
		put_entries(o, n);
	if (n->extra)
		put_extra(o, n->extra);
	return o;
}

/* --- as text ------------------------------------------------------------------ */

static int print_digits(const json_t *j, char **ret, struct err *e)
{
	char *text = json_dumps(j, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));

	if (!text)
		return err_set(e, EINVAL, "print JSON");
	*ret = text;
	return 0;
}

/* Prints a text that is read back as the same value.  Our numbers have no fractions.  15 digits are
 * enough for most others ("0.1"); an exact double takes 17. */
static int print_exactly(const json_t *j, bool is_ours, char **ret, struct err *e)
{
	_autofree_ char *text = NULL;
	_autojson_ json_t *again = NULL;
	int r = json_print(j, 0, &text, e);

	if (r < 0)
		return r;
	if (!is_ours) {
		r = json_parse(slice_of(text), &again, e);
		if (r < 0)
			return r;
		if (!json_equal(j, again))
			return print_digits(j, ret, e);
	}
	*ret = take_ptr(&text);
	return 0;
}

static int add_member(struct buf *out, const char *key, const json_t *j, bool is_ours,
		      struct err *e)
{
	_autojson_ json_t *name = json_string(key);
	_autofree_ char *key_text = NULL, *text = NULL;
	int r = json_print(name, 0, &key_text, e);

	if (r == 0)
		r = print_exactly(j, is_ours, &text, e);
	if (r < 0)
		return r;
	buf_puts(out, out->n > 1 ? ",\n  " : "\n  ");
	buf_puts(out, key_text);
	buf_puts(out, ": ");
	buf_puts(out, text);
	return buf_check(out, e);
}

static bool has_no_extra(const struct record *n)
{
	for (size_t i = 0; i < n->c.n_by; i++)
		if (ledger_entry_at(n, i)->extra)
			return false;
	return !n->extra;
}

static int ledger_write_print(const struct ledger *l, struct buf *out, struct err *e)
{
	const char *key;
	json_t *j;
	int r = 0;

	buf_puts(out, "{");
	for (size_t i = 0; i < l->n && r == 0; i++) {
		_autojson_ json_t *crash = ledger_write_crash_json(l->v[i]);

		r = add_member(out, l->v[i]->c.signature, crash, has_no_extra(l->v[i]), e);
	}
	json_object_foreach(l->foreign, key, j)
	{
		if (r == 0)
			r = add_member(out, key, j, false, e);
	}
	if (r < 0)
		return r;
	buf_puts(out, "\n}\n");
	return buf_check(out, e);
}

/* Prints a ledger that holds only this crash, with these results of the parser. */
static int ledger_print_record(struct record *n, json_t *reports, struct buf *out, struct err *e)
{
	_autojson_ json_t *crash = ledger_write_crash_json(n);
	int r;

	parsed_put(crash, reports);
	buf_puts(out, "{");
	r = add_member(out, n->c.signature, crash, has_no_extra(n), e);
	if (r < 0)
		return r;
	buf_puts(out, "\n}\n");
	return buf_check(out, e);
}

int ledger_print(const struct ledger *l, char **ret, size_t *ret_n, struct err *e)
{
	_autobuf_ struct buf out = BUF_INIT(LEDGER_FILE_MAX);
	int r = ledger_write_print(l, &out, e);

	if (r < 0)
		return r;
	*ret_n = out.n;
	*ret = take_ptr(&out.p);
	return 0;
}

/* --- a text below the limit --------------------------------------------------- */

static int by_last_seen(const void *a, const void *b)
{
	const struct record *const *x = a, *const *y = b;
	uint64_t s = (*x)->c.last_seen.time, t = (*y)->c.last_seen.time;

	return s == t ? strcmp((*x)->c.signature, (*y)->c.signature) : s < t ? -1 : 1;
}

static void shorten_list(struct ledger_list *list)
{
	for (; list->n > KEPT; ledger_list_drop(list, 0))
		;
}

static void shorten_entry(struct ledger *l, struct record *n, struct known_crash *c)
{
	n->changed |= c->raw_keys.n > KEPT || c->artifacts.n > KEPT || c->n_runs > KEPT;
	while (c->raw_keys.n > KEPT) {
		ledger_index_drop(&l->raw_keys, c->raw_keys.v[0]);
		ledger_list_drop(&c->raw_keys, 0);
	}
	shorten_list(&c->artifacts);
	while (c->n_runs > KEPT) {
		ledger_unset(&c->runs[0].run);
		c->n_runs--;
		memmove(c->runs, c->runs + 1, c->n_runs * sizeof(*c->runs));
	}
}

static void ledger_write_shorten(struct ledger *l, struct record *n)
{
	for (size_t i = 0; i < n->c.n_by; i++)
		shorten_entry(l, n, &ledger_entry_at(n, i)->c);
	ledger_summarize(n);
}

/* Shortens the lists of a share (of 4) of the crashes: those not seen for the longest time. */
static void shorten_oldest(struct ledger *l, size_t share)
{
	_autofree_ struct record **v = xcalloc(l->n + 1, sizeof(struct record *));

	if (l->n > 0) {
		memcpy(v, l->v, l->n * sizeof(struct record *));
		qsort(v, l->n, sizeof(struct record *), by_last_seen);
	}
	for (size_t i = 0; i < l->n * share / 4; i++)
		ledger_write_shorten(l, v[i]);
}

static int print_bounded(struct ledger *l, struct buf *out, struct err *e)
{
	int r = ledger_write_print(l, out, e);

	for (size_t share = 1; r == -EFBIG && share <= 4; share++) {
		buf_clear(out);
		shorten_oldest(l, share);
		r = ledger_write_print(l, out, e);
	}
	return r;
}

/* --- the records in crashes/ -------------------------------------------------- */

/* Without the parser's results if they take too much: the reports are parsed again then. */
static int ledger_write_print_with_reports(struct record *n, int state_dirfd, struct buf *out,
					   struct err *e)
{
	_autojson_ json_t *reports = NULL;
	int r = parsed_of_record(n, state_dirfd, &reports, e);

	if (r < 0)
		return r;
	r = ledger_print_record(n, reports, out, e);
	if (r < 0 && r != -EFBIG)
		return r;
	if (r == 0 && out->n <= REPORTS_MAX &&
	    ledger_count_values(buf_slice(out)) <= REPORTS_VALUES_MAX)
		return 0;
	buf_clear(out);
	return ledger_print_record(n, NULL, out, e);
}

static void ledger_write_forget(struct record *n)
{
	json_decref(n->reports);
	n->reports = NULL;
}

static int write_record(struct record *n, int state_dirfd, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(LEDGER_FILE_MAX);
	struct vault_item item = {.signature = slice_of(n->c.signature)};
	int r = ledger_write_print_with_reports(n, state_dirfd, &text, e);

	if (r < 0)
		return r;
	item.file[VAULT_RECORD] = buf_slice(&text);
	r = vault_save(state_dirfd, &item, NULL, e);
	if (r < 0)
		return r;
	n->changed = false;
	ledger_write_forget(n);
	return 0;
}

/* Merged records come first.  After a kill in between, a crash may lack the sightings of a record
 * that was just merged into it, but none is counted twice. */
static int ledger_write_records(struct ledger *l, int state_dirfd, struct err *e)
{
	for (unsigned merged = 2; merged-- > 0;)
		for (size_t i = 0; i < l->n; i++) {
			struct record *n = l->v[i];
			int r = 0;

			if (n->changed && (*n->c.merged_into != '\0') == merged)
				r = write_record(n, state_dirfd, e);
			if (r < 0)
				return r;
		}
	return 0;
}

void ledger_given(struct ledger *l)
{
	for (size_t i = 0; i < l->n; i++) {
		l->v[i]->given |= l->v[i]->changed;
		l->v[i]->changed = false;
	}
}

void ledger_taken(struct ledger *l, bool saved)
{
	for (size_t i = 0; i < l->n; i++) {
		l->v[i]->changed |= l->v[i]->given && !saved;
		l->v[i]->given = false;
		if (!l->v[i]->changed)
			ledger_write_forget(l->v[i]);
	}
}

/* --- the index ---------------------------------------------------------------- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* 1: the file also has this name now; 0: the name is taken. */
static int keep_as(int dirfd, const char *name, struct err *e)
{
	struct stat file, other;

	if (fstatat(dirfd, LEDGER_NAME, &file, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 1 : err_sys(e, "stat '" LEDGER_NAME "'");
	/* A kill between keeping and writing leaves this link. */
	if (fstatat(dirfd, name, &other, AT_SYMLINK_NOFOLLOW) == 0)
		return is_same_file(&file, &other);
	if (linkat(dirfd, LEDGER_NAME, dirfd, name, 0) < 0) {
		int r;

		if (errno == EEXIST)
			return 0;
		/* The file system has no hard links. */
		r = fs_copy(dirfd, LEDGER_NAME, dirfd, name, SIZE_MAX, e);
		if (r < 0)
			return r;
	}
	return sys_fsync(dirfd) < 0 ? err_sys(e, "fsync directory of '%s'", name) : 1;
}

static int keep_damaged(int dirfd, struct err *e)
{
	char name[64];

	for (unsigned i = 1; i <= DAMAGED_MAX; i++) {
		int r;

		snprintf(name, sizeof(name), LEDGER_NAME ".damaged-%u", i);
		r = keep_as(dirfd, name, e);
		if (r != 0)
			return r;
	}
	return err_set(e, EEXIST, "more than %d files " LEDGER_NAME ".damaged-<n>", DAMAGED_MAX);
}

/* From now on the file is stale: the records are written one after the other. */
static int mark_stale(int state_dirfd, struct err *e)
{
	return fs_replace(state_dirfd, LEDGER_STALE, SLICE(""), e);
}

static int unmark_stale(int state_dirfd, struct err *e)
{
	if (sys_unlinkat(state_dirfd, LEDGER_STALE, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove '" LEDGER_STALE "'");
	return 0;
}

static int ledger_write_save(struct ledger *l, int state_dirfd, struct err *e)
{
	_autobuf_ struct buf out = BUF_INIT(LEDGER_FILE_MAX);
	int r;

	ledger_adopt_inputs(l, state_dirfd);
	r = print_bounded(l, &out, e);
	if (r == 0 && l->keep_file)
		r = keep_damaged(state_dirfd, e);
	if (r >= 0)
		r = mark_stale(state_dirfd, e);
	if (r == 0)
		r = ledger_write_records(l, state_dirfd, e);
	if (r == 0)
		r = fs_replace(state_dirfd, LEDGER_NAME, buf_slice(&out), e);
	if (r == 0)
		r = unmark_stale(state_dirfd, e);
	if (r < 0)
		return err_wrap(e, "save the ledger");
	l->keep_file = false;
	l->dirty = false;
	return 0;
}

int ledger_save(struct ledger *l, int state_dirfd, struct err *e)
{
	return l->dirty ? ledger_write_save(l, state_dirfd, e) : 0;
}
