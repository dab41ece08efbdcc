/* SPDX-License-Identifier: Apache-2.0 */
/* The records: crashes/<name>/record.json.  They are the truth about the crashes; the ledger's file
 * is made of them.  They are not trusted: their size is limited here, and the ledger's own reader
 * checks their values. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/crash/ledger/internal.h"
#include "runner/crash/vault.h"

#include <errno.h>
#include <stdio.h>

enum {
	REPORTS_MAX = 4 << 20,	     /* bytes of a record with its reports */
	REPORTS_VALUES_MAX = 200000, /* values of such a record */
	RECORD_MAX = (int)LEDGER_FILE_MAX,
	VALUES_MAX = 4000000, /* JSON values of a record, or commas in its texts */
};

/* --- writing -------------------------------------------------------------------- */

static size_t commas_in(struct slice text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == ',';
	return n;
}

bool ledger_has_few_values(struct slice text)
{
	return commas_in(text) <= VALUES_MAX;
}

/* Without the parser's results if they take too much: the reports are parsed again then. */
static int ledger_rebuild_print(struct record *n, int state_dirfd, struct buf *out, struct err *e)
{
	_autojson_ json_t *reports = NULL;
	int r = parsed_of_record(n, state_dirfd, &reports, e);

	if (r < 0)
		return r;
	r = ledger_print_record(n, reports, out, e);
	if (r < 0 && r != -EFBIG)
		return r;
	if (r == 0 && out->n <= REPORTS_MAX && commas_in(buf_slice(out)) <= REPORTS_VALUES_MAX)
		return 0;
	buf_clear(out);
	return ledger_print_record(n, NULL, out, e);
}

static void ledger_rebuild_forget(struct record *n)
{
	json_decref(n->reports);
	n->reports = NULL;
}

static int write_record(struct record *n, int state_dirfd, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(RECORD_MAX);
	struct vault_item item = {.signature = slice_of(n->c.signature)};
	int r = ledger_rebuild_print(n, state_dirfd, &text, e);

	if (r < 0)
		return r;
	item.file[VAULT_RECORD] = buf_slice(&text);
	r = vault_save(state_dirfd, &item, NULL, e);
	if (r < 0)
		return r;
	n->changed = false;
	ledger_rebuild_forget(n);
	return 0;
}

/* Merged records come first.  After a kill in between, a crash may lack the sightings of a record
 * that was just merged into it, but none is counted twice. */
int ledger_write_records(struct ledger *l, int state_dirfd, struct err *e)
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
			ledger_rebuild_forget(l->v[i]);
	}
}

/* --- reading -------------------------------------------------------------------- */

struct rebuild {
	int crashes; /* the directory */
	json_t *records;
	uint64_t bytes; /* of the records, without reports */
	struct ledger_lost *lost;
};

/* Errors of this process, which are no damage. */
static bool ledger_rebuild_is_ours(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

static bool ledger_rebuild_is_of(const char *signature, const char *name)
{
	char own[VAULT_NAME];
	struct err e;

	return vault_name(slice_of(signature), own, &e) == 0 && strcmp(own, name) == 0;
}

static void ledger_rebuild_lose(struct rebuild *b, const char *name, const char *why)
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
	int r = fs_read(dir, vault_file_name(VAULT_RECORD), RECORD_MAX, &text, &n, e);

	if (r < 0)
		return r;
	if (!ledger_has_few_values((struct slice){text, n}))
		return err_set(e, EBADMSG, "more than %d values", VALUES_MAX);
	r = json_parse((struct slice){text, n}, &j, e);
	if (r < 0)
		return r;
	json_object_foreach(j, signature, record)
	{
		if (json_object_size(j) != 1 || !ledger_rebuild_is_of(signature, name))
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
static int ledger_rebuild_look_into(struct rebuild *b, const char *name, struct err *e)
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
	if (ledger_rebuild_is_ours(r))
		return err_set(e, -r, "%s", why.msg);
	if (r < 0)
		ledger_rebuild_lose(b, name, why.msg);
	return 0;
}

static int ledger_rebuild_look_at_all(struct rebuild *b, struct err *e)
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
			ledger_rebuild_lose(b, ent->d_name, "too many crashes");
		else
			r = ledger_rebuild_look_into(b, ent->d_name, e);
	}
	return r == 0 && errno ? err_sys(e, "list directory 'crashes'") : r;
}

int ledger_rebuild(int state_dirfd, struct ledger **ret, struct ledger_lost *lost, struct err *e)
{
	_autojson_ json_t *records = json_object();
	_autoclose_ int crashes = -1;
	struct rebuild b = {.records = records, .lost = lost};
	struct err why;
	int r = fs_open_dir(state_dirfd, "crashes", &crashes, &why);

	*lost = (struct ledger_lost){0};
	if (ledger_rebuild_is_ours(r))
		return err_set(e, -r, "%s", why.msg);
	b.crashes = crashes;
	r = r < 0 ? 0 : ledger_rebuild_look_at_all(&b, e);
	return r < 0 ? r : ledger_from_json(records, ret, e);
}
