/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the index, or else the records.  A user may have edited it: an invalid value is mended and
 * reported, and the rest is kept.  Fields that are read are removed from the parsed object.  The
 * remaining fields are unknown ones, and are kept. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/crash/ledger/internal.h"
#include "runner/crash/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

DEFINE_CLEANUP(struct ledger *, ledger_free)
DEFINE_CLEANUP(struct record *, ledger_record_free)

/* Makes it one line of printable characters, whatever it holds. */
static void ledger_printable(char *text)
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

/* Notes that a value in the file was wrong and was changed.  The first one is reported; all are
 * counted. */
static void ledger_mend(struct ledger *l, const char *signature, const char *key, const char *why)
{
	ledger_read_warn(l, signature, key, why);
	l->dirty = true;
	l->keep_file = true;
}

/* --- fields ---------------------------------------------------------------- */

/* Reads the fields of a crash, or of an entry, by their table.  Fields that are read are removed
 * from the parsed object. */

struct reading {
	struct ledger *l;
	const char *signature;
	struct known_crash *c; /* the record's, or an entry's */
	struct err *e;
};

static void mend_field(const struct reading *rd, const struct field *f, const char *why)
{
	char key[64];

	snprintf(key, sizeof(key), "%s%s%s", f->group ? f->group : "", f->group ? "." : "", f->key);
	ledger_mend(rd->l, rd->signature, key, why);
}

static struct slice ledger_read_text_of(const json_t *j)
{
	return (struct slice){json_string_value(j), json_string_length(j)};
}

static void read_text(const struct reading *rd, const struct field *f, const json_t *j)
{
	bool lines = f->type == FIELD_LINES;

	if (!json_is_string(j)) {
		mend_field(rd, f, "is no text");
		return;
	}
	if (!ledger_is_clean(ledger_read_text_of(j), f->max, lines))
		mend_field(rd, f, "is too long or has control characters");
	ledger_set(ledger_field_of(rd->c, f), json_string_value(j), f->max, lines);
}

/* A list that is too long keeps its last entries. */
static void read_list(const struct reading *rd, const struct field *f, const json_t *j)
{
	struct ledger_list *list = ledger_field_of(rd->c, f);
	size_t n = json_array_size(j);

	if (!json_is_array(j))
		mend_field(rd, f, "is no list");
	if (n > f->max)
		mend_field(rd, f, "is too long");
	for (size_t i = n > f->max ? n - f->max : 0; i < n; i++) {
		const json_t *v = json_array_get(j, i);

		if (!json_is_string(v) ||
		    !ledger_is_clean(ledger_read_text_of(v), LEDGER_TEXT_MAX, false))
			mend_field(rd, f, "holds an entry that is no text, too long, or not plain");
		if (json_is_string(v))
			ledger_list_add(list, json_string_value(v));
	}
}

static bool ledger_read_is_number(const json_t *j)
{
	return json_is_integer(j) && json_integer_value(j) >= 0;
}

static void ledger_read_field(const struct reading *rd, const struct field *f, const json_t *j)
{
	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_LINES:
		read_text(rd, f, j);
		return;
	case FIELD_LIST:
		read_list(rd, f, j);
		return;
	case FIELD_NUMBER:
		if (ledger_read_is_number(j))
			*(uint64_t *)ledger_field_of(rd->c, f) = (uint64_t)json_integer_value(j);
		else
			mend_field(rd, f, "is no number from 0 up");
		return;
	case FIELD_FLAG:
		if (json_is_boolean(j))
			*(bool *)ledger_field_of(rd->c, f) = json_is_true(j);
		else
			mend_field(rd, f, "is neither true nor false");
		return;
	}
}

/* Some writers use null for "none". */
static void take_field(const struct reading *rd, const struct field *f, json_t *crash)
{
	json_t *in = f->group ? json_object_get(crash, f->group) : crash;
	json_t *j = json_object_get(in, f->key);

	if (f->group && in && !json_is_object(in)) {
		ledger_mend(rd->l, rd->signature, f->group, "is no object");
		json_object_del(crash, f->group);
		return;
	}
	if (!j)
		return;
	if (!json_is_null(j))
		ledger_read_field(rd, f, j);
	json_object_del(in, f->key);
	if (f->group && json_object_size(in) == 0)
		json_object_del(crash, f->group);
}

static void take_state(const struct reading *rd, json_t *crash)
{
	const json_t *j = json_object_get(crash, "state");

	/* Without another state the crash is known. */
	rd->c->state = LEDGER_KNOWN;
	if (!j)
		return;
	if (!json_is_string(j) || !ledger_state_of(ledger_read_text_of(j), &rd->c->state))
		ledger_mend(rd->l, rd->signature, "state", "is none; taken as \"known\"");
	json_object_del(crash, "state");
}

static void take_run(const struct reading *rd, const json_t *j)
{
	const json_t *run = json_object_get(j, "run"), *count = json_object_get(j, "count");
	struct known_crash *c = rd->c;
	struct ledger_run *to = &c->runs[c->n_runs];

	if (!json_is_string(run) || !ledger_read_is_number(count)) {
		ledger_mend(rd->l, rd->signature, "runs", "holds an invalid run");
		return;
	}
	if (!ledger_is_clean(ledger_read_text_of(run), LEDGER_TEXT_MAX, false) ||
	    json_object_size(j) > 2)
		ledger_mend(rd->l, rd->signature, "runs", "has more than names and counts");
	*to = (struct ledger_run){ledger_empty, (uint64_t)json_integer_value(count)};
	c->n_runs++;
	ledger_set(&to->run, json_string_value(run), LEDGER_TEXT_MAX, false);
}

static void take_runs(const struct reading *rd, json_t *crash)
{
	const json_t *j = json_object_get(crash, "runs");
	size_t n = json_array_size(j);

	if (!j)
		return;
	if (!json_is_array(j) || n > LEDGER_RUNS)
		ledger_mend(rd->l, rd->signature, "runs", "is no list, or too long");
	if (n > 0)
		rd->c->runs = xcalloc(LEDGER_RUNS, sizeof(*rd->c->runs));
	for (size_t i = n > LEDGER_RUNS ? n - LEDGER_RUNS : 0; i < n; i++)
		take_run(rd, json_array_get(j, i));
	json_object_del(crash, "runs");
}

static void check_sha1(const struct reading *rd, const char *key, char **p)
{
	if (!**p || ledger_is_sha1(*p))
		return;
	ledger_mend(rd->l, rd->signature, key, "is no SHA-1");
	ledger_unset(p);
}

static void check_sense(const struct reading *rd)
{
	struct known_crash *c = rd->c;

	if (c->reproduction.hits > c->reproduction.tries) {
		ledger_mend(rd->l, rd->signature, "reproduction", "has more hits than tries");
		c->reproduction.hits = c->reproduction.tries;
	}
	check_sha1(rd, "input_sha1", &c->input_sha1);
	check_sha1(rd, "minimized_sha1", &c->minimized_sha1);
}

/* Reads all other fields, and checks them against each other. */
static void ledger_read_entry(const struct reading *rd, json_t *from, struct found *t)
{
	struct reading of = *rd;
	size_t n_fields;
	const struct field *f = ledger_fields(&n_fields);

	of.c = &t->c;
	for (size_t i = 0; i < n_fields; i++)
		if (!f[i].of_crash)
			take_field(&of, &f[i], from);
	take_runs(&of, from);
	take_state(&of, from);
	check_sense(&of);
}

/* Drops the fields that summarise the entries. */
static void ledger_drop_summary(json_t *crash)
{
	size_t n_fields;
	const struct field *f = ledger_fields(&n_fields);

	for (size_t i = 0; i < n_fields; i++) {
		json_t *in = f[i].group ? json_object_get(crash, f[i].group) : crash;

		if (f[i].of_crash)
			continue;
		json_object_del(in, f[i].key);
		if (f[i].group && json_is_object(in) && json_object_size(in) == 0)
			json_object_del(crash, f[i].group);
	}
	json_object_del(crash, "runs");
	json_object_del(crash, "state");
}

/* Reads the crash's own fields. */
static void ledger_read_own(const struct reading *rd, json_t *crash)
{
	size_t n_fields;
	const struct field *f = ledger_fields(&n_fields);

	for (size_t i = 0; i < n_fields; i++)
		if (f[i].of_crash)
			take_field(rd, &f[i], crash);
}

/* --- records and entries --------------------------------------------------- */

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
	ledger_read_entry(rd, from, t);
	if (json_object_size(from) > 0)
		t->extra = json_incref(from);
	return 0;
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

static int take_only(const struct reading *rd, struct record *n, json_t *crash)
{
	struct found *first;
	int r = ledger_entry_add(n, "", &first, rd->e);

	if (r == 0)
		ledger_read_entry(rd, crash, first);
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
	CLEANUP(ledger_record_free_p) struct record *n = ledger_record_new(signature);
	struct reading rd = {.l = l, .signature = signature, .c = &n->c, .e = e};
	int r = ledger_reserve(l, signature, e);

	if (r == 0)
		r = take_version(&rd, crash);
	if (r < 0)
		return r;
	ledger_read_own(&rd, crash);
	r = take_found_by(&rd, n, crash);
	if (r == 0 && n->c.n_by == 0)
		r = take_only(&rd, n, crash);
	if (r < 0)
		return r;
	ledger_summarize(n);
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
	return json_object_get(j, "state");
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
		else
			(void)json_object_set(l->foreign, key, j);
		if (r == -ENOSPC)
			return err_set(e, EBADMSG, "%s", e->msg);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- connecting the records ------------------------------------------------ */

/* Connects the records after reading: merged records, aliases and raw keys.  The file is not
 * trusted: it may hold cycles, chains, and names of no crash or of two. */

enum { CHAIN_MAX = 16 };

/* The record at the end of the chain of merges; NULL: there is none. */
static struct record *end_of_chain(const struct ledger *l, struct record *n)
{
	for (unsigned i = 0; n && i < CHAIN_MAX; i++) {
		if (!*n->c.merged_into)
			return n;
		n = ledger_exact(l, n->c.merged_into);
	}
	return NULL;
}

static void straighten(struct ledger *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct record *n = l->v[i], *head = end_of_chain(l, n);

		if (!head) {
			ledger_mend(l, n->c.signature, "merged_into", "leads to no crash");
			ledger_unset(&n->c.merged_into);
		} else if (head != n) {
			ledger_set(&n->c.merged_into, head->c.signature, LEDGER_SIGNATURE_MAX,
				   false);
		}
	}
}

/* Keeps only those aliases of the file that have no record: the others follow from the records. */
static void ledger_connect_names(struct ledger *l, struct record *n)
{
	struct ledger_list all = n->c.aliases;
	struct err none;

	n->c.aliases = (struct ledger_list){0};
	while (all.n > 0) {
		char *name = ledger_list_steal(&all, 0);

		if (ledger_exact(l, name) || ledger_index_get(&l->aliases, name) ||
		    ledger_check_signature(name, &none) < 0) {
			ledger_unset(&name);
			continue;
		}
		ledger_list_take(&n->c.aliases, name);
		(void)ledger_index_put(&l->aliases, name, n);
	}
	ledger_list_done(&all);
}

static void take_raw_keys(struct ledger *l, struct record *n, struct found *t)
{
	struct ledger_list *keys = &t->c.raw_keys;

	for (size_t i = 0; i < keys->n;)
		if (ledger_index_put(&l->raw_keys, keys->v[i], n))
			ledger_list_drop(keys, i); /* the first record keeps the key */
		else
			i++;
}

static void take_all_raw_keys(struct ledger *l, struct record *n)
{
	for (size_t i = 0; i < n->c.n_by; i++)
		take_raw_keys(l, n, ledger_entry_at(n, i));
	ledger_summarize(n);
}

static int take_merged(struct ledger *l, struct record *n, struct err *e)
{
	struct record *head = ledger_exact(l, n->c.merged_into);

	if (head->c.aliases.n < LEDGER_ALIASES) {
		ledger_list_add(&head->c.aliases, n->c.signature);
		return ledger_join(head, n, true, e);
	}
	ledger_mend(l, n->c.signature, "merged_into", "names a crash with too many aliases");
	ledger_unset(&n->c.merged_into);
	return 0;
}

/* Builds the indexes of a ledger that has its records, read and sorted. */
static int ledger_connect(struct ledger *l, struct err *e)
{
	int r = 0;

	straighten(l);
	for (size_t i = 0; i < l->n; i++) {
		ledger_connect_names(l, l->v[i]);
		take_all_raw_keys(l, l->v[i]);
	}
	for (size_t i = 0; i < l->n && r == 0; i++)
		if (*l->v[i]->c.merged_into)
			r = take_merged(l, l->v[i], e);
	for (size_t i = 0; i < l->n; i++)
		ledger_list_sort(&l->v[i]->c.aliases);
	return r;
}

/* --- a text ---------------------------------------------------------------- */

static int by_signature(const void *a, const void *b)
{
	const struct record *const *x = a, *const *y = b;

	return strcmp((*x)->c.signature, (*y)->c.signature);
}

size_t ledger_count_values(struct slice text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == ',';
	return n;
}

/* Linear, and before the values are allocated. */
static int ledger_read_check_values(struct slice text, struct err *e)
{
	size_t commas = 0, line = 1;

	for (size_t i = 0; i < text.n; i++) {
		line += text.p[i] == '\n';
		commas += text.p[i] == ',';
		if (commas > LEDGER_VALUES_MAX)
			return err_set(e, EBADMSG, "line %zu: more than %d values", line,
				       LEDGER_VALUES_MAX);
	}
	return 0;
}

/* Makes a ledger from root, which is emptied. */
static int ledger_from_json(json_t *root, struct ledger **ret, struct err *e)
{
	CLEANUP(ledger_free_p) struct ledger *l = ledger_new();
	int r = ledger_read_all(l, root, e);

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
	int r = ledger_read_check_values(text, e);

	if (r == 0)
		r = json_parse(text, &root, e);
	if (r < 0)
		return r;
	if (!json_is_object(root))
		return err_set(e, EBADMSG, "line 1, column 1: not an object of crashes");
	return ledger_from_json(root, ret, e);
}

/* --- the records in crashes/ ----------------------------------------------- */

/* The records: crashes/<name>/record.json.  They are the truth about the crashes; the ledger's file
 * is made of them.  They are not trusted: their size is limited here, and the ledger's own reader
 * checks their values. */

/* The records that could not be read. */
struct ledger_lost {
	size_t n;
	char first[160]; /* the name of the first one's file, and why; printable */
};

struct rebuild {
	int crashes; /* the directory */
	json_t *records;
	uint64_t bytes; /* of the records, without reports */
	struct ledger_lost *lost;
};

/* Errors of this process, which are no damage. */
static bool ledger_read_is_ours(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

static bool ledger_read_is_record_of(const char *signature, const char *name)
{
	char own[VAULT_NAME];
	struct err e;

	return vault_name(slice_of(signature), own, &e) == 0 && strcmp(own, name) == 0;
}

static void ledger_read_lose(struct rebuild *b, const char *name, const char *why)
{
	if (b->lost->n++ > 0)
		return;
	snprintf(b->lost->first, sizeof(b->lost->first), "crashes/%.60s/%s: %.60s", name,
		 vault_file_name(VAULT_RECORD), why);
	ledger_printable(b->lost->first);
}

/* -EBADMSG: the file is damaged; -ENOENT: it is missing. */
static int read_record(int dir, const char *name, json_t **ret_file, json_t **ret_record,
		       struct err *e)
{
	_autofree_ char *text = NULL;
	_autojson_ json_t *j = NULL;
	const char *signature;
	json_t *record;
	size_t n = 0;
	int r = fs_read(dir, vault_file_name(VAULT_RECORD), LEDGER_FILE_MAX, &text, &n, e);

	if (r < 0)
		return r;
	if (ledger_count_values((struct slice){text, n}) > LEDGER_VALUES_MAX)
		return err_set(e, EBADMSG, "more than %d values", LEDGER_VALUES_MAX);
	r = json_parse((struct slice){text, n}, &j, e);
	if (r < 0)
		return r;
	json_object_foreach(j, signature, record)
	{
		if (json_object_size(j) != 1 || !ledger_read_is_record_of(signature, name))
			break;
		parsed_drop(record);
		if (json_object_size(record) == 0)
			break;
		*ret_record = record;
		*ret_file = take_ptr(&j);
		return 0;
	}
	return err_set(e, EBADMSG, "not the record of this crash");
}

/* The ledger's file, which has all records, has the same limit. */
static int take_record(struct rebuild *b, json_t *file, const json_t *record, struct err *e)
{
	_autofree_ char *text = NULL;
	int r = json_print(record, 0, &text, e);

	if (r < 0)
		return r;
	b->bytes += strlen(text);
	if (b->bytes > LEDGER_FILE_MAX)
		return err_set(e, EFBIG, "the records have more than %llu bytes",
			       (unsigned long long)LEDGER_FILE_MAX);
	return json_object_update(b->records, file) < 0 ? err_set(e, EBADMSG, "no text") : 0;
}

/* A directory without a record is no crash yet: its artifact waits for triage. */
static int ledger_read_record_dir(struct rebuild *b, const char *name, struct err *e)
{
	_autojson_ json_t *file = NULL;
	_autoclose_ int dir = -1;
	json_t *record = NULL;
	struct err why;
	int r = fs_open_dir(b->crashes, name, &dir, &why);

	if (r == -ENOTDIR || r == -ELOOP || r == -ENOENT)
		return 0; /* not a directory, so not a crash */
	if (r == 0) {
		r = read_record(dir, name, &file, &record, &why);
		if (r == -ENOENT)
			return 0;
	}
	if (r == 0)
		r = take_record(b, file, record, &why);
	if (ledger_read_is_ours(r))
		return err_set(e, -r, "%s", why.msg);
	if (r < 0)
		ledger_read_lose(b, name, why.msg);
	return 0;
}

static int ledger_read_record_dirs(struct rebuild *b, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(b->crashes, ".");
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return err_sys(e, "open directory 'crashes'");
	while (r == 0 && (ent = sys_readdir(d))) {
		if (ent->d_name[0] == '.')
			continue; /* left by a killed writer */
		if (json_object_size(b->records) >= LEDGER_CRASHES_MAX)
			ledger_read_lose(b, ent->d_name, "too many crashes");
		else
			r = ledger_read_record_dir(b, ent->d_name, e);
	}
	return r == 0 && errno ? err_sys(e, "list directory 'crashes'") : r;
}

/* Makes a ledger from all record.json. */
static int ledger_rebuild(int state_dirfd, struct ledger **ret, struct ledger_lost *lost,
			  struct err *e)
{
	_autojson_ json_t *records = json_object();
	_autoclose_ int crashes = -1;
	struct rebuild b = {.records = records, .lost = lost};
	struct err why;
	int r = fs_open_dir(state_dirfd, "crashes", &crashes, &why);

	*lost = (struct ledger_lost){0};
	if (ledger_read_is_ours(r))
		return err_set(e, -r, "%s", why.msg);
	b.crashes = crashes;
	r = r < 0 ? 0 : ledger_read_record_dirs(&b, e);
	return r < 0 ? r : ledger_from_json(records, ret, e);
}

/* --- loading --------------------------------------------------------------- */

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

	if (r < 0 || !l)
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
	if (r < 0 || !again || again->n + lost.n == 0)
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
	if (r < 0 || !l)
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
