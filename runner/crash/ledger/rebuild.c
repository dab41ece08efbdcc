/* SPDX-License-Identifier: Apache-2.0 */
/* Rebuilds the ledger from the crashes' directories when its file is damaged or missing.  A copy of
 * each record is beside the crash's reproducer.  Crashes without a copy (of an older fuzzcell) are
 * restored from triage's files: meta.json, and the report.  All of these files are untrusted: their
 * size is limited here, and the ledger's own reader checks them. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/crash/ledger/internal.h"
#include "runner/crash/report/report.h"
#include "runner/crash/vault.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
	RECORD_MAX = 4 << 20,  /* bytes: a thousand aliases are 1 MiB */
	VALUES_MAX = 200000,   /* JSON values of a record, or commas in its texts */
	META_MAX = 1 << 20,    /* bytes */
	REPORT_MAX = 16 << 20, /* bytes */
};

DEFINE_CLEANUP(struct ledger *, ledger_free)

/* --- copies ------------------------------------------------------------------- */

void ledger_write_copies(struct ledger *l, int state_dirfd)
{
	for (size_t i = 0; i < l->n; i++) {
		_autobuf_ struct buf text = BUF_INIT(RECORD_MAX);
		struct record *n = l->v[i];
		struct err e;
		int r;

		if (!n->copy)
			continue;
		r = ledger_print_record(n, &text, &e);
		if (r == 0)
			r = vault_copy(state_dirfd, slice_of(n->c.signature), VAULT_RECORD,
				       buf_slice(&text), &e);
		/* A crash of an older layout has no directory; none is made. */
		n->copy = r < 0 && r != -ENOENT;
	}
}

bool ledger_copied(const struct ledger *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i]->copy)
			return false;
	return true;
}

void ledger_given(struct ledger *l)
{
	for (size_t i = 0; i < l->n; i++) {
		l->v[i]->given |= l->v[i]->copy;
		l->v[i]->copy = false;
	}
}

void ledger_taken(struct ledger *l, bool copied)
{
	for (size_t i = 0; i < l->n; i++) {
		l->v[i]->copy |= l->v[i]->given && !copied;
		l->v[i]->given = false;
	}
}

/* --- the files ------------------------------------------------------------------ */

struct rebuild {
	int crashes; /* the directory */
	int state_dirfd;
	json_t *records;	   /* of the crashes with a copy */
	struct ledger_list others; /* directories of the crashes without one */
	uint64_t bytes;		   /* read so far */
	size_t lost;
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

static bool has_few_values(struct slice text)
{
	size_t commas = 0;

	for (size_t i = 0; i < text.n; i++)
		commas += text.p[i] == ',';
	return commas <= VALUES_MAX;
}

/* Reads an object from a file of a crash; 0 and NULL: it is missing or damaged. */
static int read_object(struct rebuild *b, int dir, enum vault_file f, size_t max, json_t **ret,
		       struct err *e)
{
	_autofree_ char *text = NULL;
	_autojson_ json_t *j = NULL;
	struct err why;
	size_t n = 0;
	int r = fs_read(dir, vault_file_name(f), max, &text, &n, &why);

	*ret = NULL;
	b->bytes += n;
	if (r == 0 && (b->bytes > LEDGER_FILE_MAX || !has_few_values((struct slice){text, n})))
		return 0;
	if (r == 0)
		r = json_parse((struct slice){text, n}, &j, &why);
	if (ledger_rebuild_is_ours(r))
		return err_set(e, -r, "%s", why.msg);
	if (r == 0 && json_is_object(j))
		*ret = take_ptr(&j);
	return 0;
}

/* Takes the copy if it holds exactly one crash, and this is the crash's directory. */
static int take_copy(struct rebuild *b, int dir, const char *name, bool *ret_taken, struct err *e)
{
	_autojson_ json_t *j = NULL;
	const char *signature;
	json_t *record;
	int r = read_object(b, dir, VAULT_RECORD, RECORD_MAX, &j, e);

	*ret_taken = false;
	if (r < 0 || json_object_size(j) != 1)
		return r;
	json_object_foreach(j, signature, record)
	{
		if (!ledger_rebuild_is_of(signature, name) || !json_is_object(record) ||
		    json_object_size(record) == 0)
			return 0;
		if (json_object_set(b->records, signature, record) < 0)
			return err_set(e, ENOMEM, "read a crash");
	}
	*ret_taken = true;
	return 0;
}

static int ledger_rebuild_look_into(struct rebuild *b, const char *name, struct err *e)
{
	_autoclose_ int dir = -1;
	struct err why;
	bool taken;
	int r = fs_open_dir(b->crashes, name, &dir, &why);

	if (ledger_rebuild_is_ours(r))
		return err_set(e, -r, "%s", why.msg);
	if (r == -ENOTDIR || r == -ELOOP || r == -ENOENT)
		return 0; /* not a directory, so not a crash */
	if (r < 0 || !ledger_is_clean(slice_of(name), NAME_MAX, false)) {
		b->lost++;
		return 0;
	}
	r = take_copy(b, dir, name, &taken, e);
	return r < 0 || taken ? r : ledger_list_add(&b->others, name, false, e);
}

/* --- without a copy ----------------------------------------------------------- */

/* The meta.json that triage wrote.  Texts are borrowed. */
struct meta {
	json_t *j;
	const char *signature, *target, *artifact;
};

static const char *ledger_rebuild_text_of(const struct meta *m, const char *key)
{
	const char *s = json_string_value(json_object_get(m->j, key));

	return s ? s : "";
}

static uint64_t ledger_rebuild_number_of(const struct meta *m, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(m->j, key));

	return v > 0 ? (uint64_t)v : 0;
}

/* Whether the artifact waits for triage.  Then the crash is skipped: it would become known without
 * a notification. */
static bool ledger_rebuild_is_queued(const struct rebuild *b, const struct meta *m)
{
	char path[2 * NAME_MAX + 16];

	if (!fs_name_ok(slice_of(m->target)) || !fs_name_ok(slice_of(m->artifact)))
		return false;
	snprintf(path, sizeof(path), "triage/%s/%s", m->target, m->artifact);
	return faccessat(b->state_dirfd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool ledger_rebuild_size_of(int dir, enum vault_file f, uint64_t *ret)
{
	struct stat st;

	if (fstatat(dir, vault_file_name(f), &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return false;
	*ret = (uint64_t)st.st_size;
	return true;
}

/* Takes the report's description, if the report is of this crash. */
static int ledger_rebuild_describe(int dir, const struct meta *m, struct crash_sighting *s,
				   struct crash_report *report, struct err *e)
{
	static const struct crash_report none;
	struct crash_options o = {.target = m->target};
	_autofree_ char *text = NULL;
	struct err why;
	size_t n = 0;
	int r = fs_read(dir, vault_file_name(VAULT_REPORT), REPORT_MAX, &text, &n, &why);

	*report = none;
	if (r == 0)
		crash_parse((struct slice){text, n}, &o, report);
	if (ledger_rebuild_is_ours(r))
		return err_set(e, -r, "%s", why.msg);
	if (r < 0 || !report->found || strcmp(report->signature, m->signature) != 0)
		return 0;
	s->crash_type = report->type;
	s->kind = crash_kind_name(report->kind);
	s->access = crash_access_name(report->access);
	s->access_size = report->access_size;
	s->signal = report->signal;
	s->top_frame = report->top_frame;
	s->bug = report->bug;
	s->severity = crash_severity_name(report->severity);
	s->security = report->security;
	s->unsymbolized = report->unsymbolized;
	return 0;
}

static int ledger_rebuild_note(struct ledger *l, const struct crash_report *report,
			       struct crash_sighting s, struct err *e)
{
	const char *state[CRASH_STATE_MAX], *frames[LEDGER_FRAMES];
	struct ledger_noted noted;
	struct record *n;
	struct found *t;
	int r;

	for (size_t i = 0; i < report->n_state; i++)
		state[i] = report->state[i];
	for (size_t i = 0; i < report->n_frames && i < LEDGER_FRAMES; i++)
		frames[s.n_frames++] = report->frames[i].function;
	s.crash_state = state;
	s.n_crash_state = report->n_state;
	s.frames = frames;
	r = ledger_note(l, &s, &noted, e);
	if (r < 0 || !noted.is_new)
		return r;
	n = ledger_exact(l, s.signature);
	t = ledger_entry_of(n, noted.entry->fuzzer);
	if (t->c.state == LEDGER_NEW)
		t->c.state = LEDGER_KNOWN; /* it was notified when it was found */
	/* No record proves that the present files are the ones that were found. */
	t->adopt[LEDGER_INPUT] = t->adopt[LEDGER_MINIMIZED] = false;
	return ledger_summarize(n, e);
}

/* "crash-<sha1>" */
static const char *digest_in(const char *artifact)
{
	const char *dash = strrchr(artifact, '-');

	return dash && ledger_is_sha1(dash + 1) ? dash + 1 : NULL;
}

/* place: the crash's directory, relative to the state directory. */
static int note_meta(struct ledger *l, int dir, const char *place, const struct meta *m,
		     struct err *e)
{
	char input[VAULT_PATH], minimized[VAULT_PATH];
	struct crash_report report;
	struct crash_sighting s = {
	    .signature = m->signature,
	    .target = m->target,
	    .run = ledger_rebuild_text_of(m, "run"),
	    .commit = ledger_rebuild_text_of(m, "commit"),
	    .time = ledger_rebuild_number_of(m, "time"),
	    .crash_type = ledger_rebuild_text_of(m, "crash_type"),
	    .tries = ledger_rebuild_number_of(m, "tries"),
	    .hits = ledger_rebuild_number_of(m, "hits"),
	    .input_sha1 = digest_in(m->artifact),
	};
	int r = ledger_rebuild_describe(dir, m, &s, &report, e);

	vault_path(place, VAULT_INPUT, input);
	vault_path(place, VAULT_MINIMIZED, minimized);
	if (r == 0 && ledger_rebuild_size_of(dir, VAULT_INPUT, &s.input_bytes))
		s.crash_file = input;
	if (r == 0 && ledger_rebuild_size_of(dir, VAULT_MINIMIZED, &s.minimized_bytes))
		s.minimized = minimized;
	if (r == 0)
		r = ledger_rebuild_note(l, &report, s, e);
	crash_report_done(&report);
	return r;
}

/* by NULL: the target that owns the crash's directory.  -ENOENT: the file describes no crash. */
static int take_meta_in(struct rebuild *b, struct ledger *l, int dir, const char *name,
			const char *by, struct err *e)
{
	_autojson_ json_t *j = NULL;
	char place[VAULT_PLACE];
	struct meta m;
	int r = read_object(b, dir, VAULT_META, META_MAX, &j, e);

	if (r < 0)
		return r;
	m = (struct meta){.j = j};
	m.signature = ledger_rebuild_text_of(&m, "signature");
	m.target = ledger_rebuild_text_of(&m, "target");
	m.artifact = ledger_rebuild_text_of(&m, "artifact");
	if (!*m.signature && ledger_rebuild_is_of(name, name))
		m.signature = name; /* most crashes are named by their signature */
	if (ledger_rebuild_is_queued(b, &m))
		return 0;
	if (!ledger_rebuild_is_of(m.signature, name) || (by && strcmp(by, m.target) != 0) ||
	    (!by && ledger_head(l, m.signature)) || ledger_check_signature(m.signature, e) < 0 ||
	    vault_place(slice_of(m.signature), by ? by : "", place, e) < 0) {
		b->lost++;
		return 0;
	}
	return note_meta(l, dir, place, &m, e);
}

/* Reads the directories of further targets. */
static int take_by(struct rebuild *b, struct ledger *l, int dir, const char *name, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(dir, VAULT_BY);
	const struct dirent *ent = NULL;
	size_t n = 0;
	int r = 0;

	if (!d)
		return ledger_rebuild_is_ours(-errno) ? err_sys(e, "open '%s'", VAULT_BY) : 0;
	while (r == 0 && n++ < LEDGER_TARGETS && (ent = sys_readdir(d))) {
		_autoclose_ int of = -1;
		struct err why;

		if (ent->d_name[0] == '.')
			continue;
		r = fs_open_dir(dirfd(d), ent->d_name, &of, &why);
		if (ledger_rebuild_is_ours(r))
			return err_set(e, -r, "%s", why.msg);
		r = r < 0 ? 0 : take_meta_in(b, l, of, name, ent->d_name, e);
	}
	return r == 0 && !ent && errno ? err_sys(e, "list directory '%s'", VAULT_BY) : r;
}

static int take_meta(struct rebuild *b, struct ledger *l, const char *name, struct err *e)
{
	_autoclose_ int dir = -1;
	struct err why;
	int r = fs_open_dir(b->crashes, name, &dir, &why);

	if (ledger_rebuild_is_ours(r))
		return err_set(e, -r, "%s", why.msg);
	if (r < 0) {
		b->lost++;
		return 0;
	}
	r = take_meta_in(b, l, dir, name, NULL, e);
	return r < 0 ? r : take_by(b, l, dir, name, e);
}

/* --- all of it ---------------------------------------------------------------- */

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
		if (json_object_size(b->records) + b->others.n >= LEDGER_CRASHES_MAX)
			b->lost++;
		else
			r = ledger_rebuild_look_into(b, ent->d_name, e);
	}
	return r == 0 && errno ? err_sys(e, "list directory 'crashes'") : r;
}

static int rebuild(struct rebuild *b, struct ledger **ret, struct err *e)
{
	CLEANUP(ledger_free_p) struct ledger *l = NULL;
	int r = b->crashes < 0 ? 0 : ledger_rebuild_look_at_all(b, e);

	if (r == 0)
		r = ledger_from_json(b->records, &l, e);
	/* The order must be the same each time. */
	ledger_list_sort(&b->others);
	for (size_t i = 0; i < b->others.n && r == 0; i++)
		r = take_meta(b, l, b->others.v[i], e);
	if (r < 0)
		return r;
	assert(l);
	for (size_t i = 0; i < l->n; i++)
		l->v[i]->copy = true;
	*ret = take_ptr(&l);
	return 0;
}

int ledger_rebuild(int state_dirfd, struct ledger **ret, size_t *ret_lost, struct err *e)
{
	struct rebuild b = {.crashes = -1, .state_dirfd = state_dirfd, .records = json_object()};
	struct err why;
	int r = fs_open_dir(state_dirfd, "crashes", &b.crashes, &why);

	if (ledger_rebuild_is_ours(r))
		r = err_set(e, -r, "%s", why.msg);
	else if (!b.records)
		r = err_set(e, ENOMEM, "allocate the ledger");
	else
		r = rebuild(&b, ret, e);
	*ret_lost = b.lost;
	ledger_list_done(&b.others);
	json_decref(b.records);
	close_p(&b.crashes);
	return r;
}
