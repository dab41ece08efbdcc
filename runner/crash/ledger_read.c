/* SPDX-License-Identifier: Apache-2.0 */
/* The file, both layouts.  A person may have edited it: a value that makes no sense is
 * mended and told of, it does not cost all the rest.  What is taken over is taken out of
 * the parsed object; what stays in it is not ours, and is kept. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/crash/ledger_internal.h"

#include <errno.h>
#include <stdio.h>

/* Of JSON values in the file.  Each takes some 60 bytes: 64 MiB of "0," would be 2 GiB. */
enum { VALUES_MAX = 4000000 };

DEFINE_CLEANUP(struct ledger *, ledger_free)
DEFINE_CLEANUP(struct record *, ledger_record_free)

void ledger_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
			*text = '?';
}

/* The first is told, all are counted. */
static void warn(struct ledger *l, const char *signature, const char *key, const char *why)
{
	if (l->warnings++ == 0)
		snprintf(l->warning, sizeof(l->warning),
			 LEDGER_NAME ": crash '%.100s': %.60s %.90s", signature, key, why);
	ledger_printable(l->warning);
}

static void mend(struct ledger *l, const char *signature, const char *key, const char *why)
{
	warn(l, signature, key, why);
	l->dirty = true;
	l->keep_file = true;
}

struct reading {
	struct ledger *l;
	struct record *n;
	struct err *e;
};

static void mend_field(const struct reading *rd, const struct field *f, const char *why)
{
	char key[64];

	snprintf(key, sizeof(key), "%s%s%s", f->group ? f->group : "", f->group ? "." : "", f->key);
	mend(rd->l, rd->n->c.signature, key, why);
}

static struct slice text_of(const json_t *j)
{
	return (struct slice){json_string_value(j), json_string_length(j)};
}

static int read_text(const struct reading *rd, const struct field *f, const json_t *j)
{
	bool lines = f->type == FIELD_LINES;

	if (!json_is_string(j)) {
		mend_field(rd, f, "is no text");
		return 0;
	}
	if (!ledger_is_clean(text_of(j), f->max, lines))
		mend_field(rd, f, "is too long or has control characters");
	return ledger_set(ledger_field_of(&rd->n->c, f), json_string_value(j), f->max, lines,
			  rd->e);
}

/* Of a list that is too long the last ones stay. */
static int read_list(const struct reading *rd, const struct field *f, const json_t *j)
{
	struct ledger_list *list = ledger_field_of(&rd->n->c, f);
	size_t n = json_array_size(j);
	bool lines = f->type == FIELD_SIGNATURES;
	int r = 0;

	if (!json_is_array(j))
		mend_field(rd, f, "is no list");
	if (n > f->max)
		mend_field(rd, f, "is too long");
	for (size_t i = n > f->max ? n - f->max : 0; i < n && r == 0; i++) {
		const json_t *v = json_array_get(j, i);

		if (!json_is_string(v) || !ledger_is_clean(text_of(v), LEDGER_TEXT_MAX, lines))
			mend_field(rd, f, "has what is no text, too long, or no plain text");
		if (json_is_string(v))
			r = ledger_list_add(list, json_string_value(v), lines, rd->e);
	}
	return r;
}

static bool is_number(const json_t *j)
{
	return json_is_integer(j) && json_integer_value(j) >= 0;
}

static int read_field(const struct reading *rd, const struct field *f, const json_t *j)
{
	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_LINES:
		return read_text(rd, f, j);
	case FIELD_LIST:
	case FIELD_SIGNATURES:
		return read_list(rd, f, j);
	case FIELD_NUMBER:
		if (is_number(j))
			*(uint64_t *)ledger_field_of(&rd->n->c, f) =
			    (uint64_t)json_integer_value(j);
		else
			mend_field(rd, f, "is no number from 0 up");
		return 0;
	case FIELD_FLAG:
		if (json_is_boolean(j))
			*(bool *)ledger_field_of(&rd->n->c, f) = json_is_true(j);
		else
			mend_field(rd, f, "is neither true nor false");
		return 0;
	}
	return 0;
}

/* null is how some writers say "none". */
static int take_field(const struct reading *rd, const struct field *f, json_t *crash)
{
	json_t *in = f->group ? json_object_get(crash, f->group) : crash;
	json_t *j = json_object_get(in, f->key);
	int r = 0;

	if (f->group && in && !json_is_object(in)) {
		mend(rd->l, rd->n->c.signature, f->group, "is no object");
		json_object_del(crash, f->group);
		return 0;
	}
	if (!j)
		return 0;
	if (!json_is_null(j))
		r = read_field(rd, f, j);
	json_object_del(in, f->key);
	if (f->group && json_object_size(in) == 0)
		json_object_del(crash, f->group);
	return r;
}

static void take_state(const struct reading *rd, json_t *crash)
{
	const json_t *j = json_object_get(crash, "state");

	/* What is not known to be fixed or ignored is there. */
	rd->n->c.state = LEDGER_KNOWN;
	if (!j)
		return;
	if (!json_is_string(j) || !ledger_state_of(text_of(j), &rd->n->c.state))
		mend(rd->l, rd->n->c.signature, "state", "is none; taken as \"known\"");
	json_object_del(crash, "state");
}

static int take_run(const struct reading *rd, const json_t *j)
{
	const json_t *run = json_object_get(j, "run"), *count = json_object_get(j, "count");
	struct known_crash *c = &rd->n->c;
	struct ledger_run *to = &c->runs[c->n_runs];

	if (!json_is_string(run) || !is_number(count)) {
		mend(rd->l, c->signature, "runs", "has what is no run");
		return 0;
	}
	if (!ledger_is_clean(text_of(run), LEDGER_TEXT_MAX, false) || json_object_size(j) > 2)
		mend(rd->l, c->signature, "runs", "has more than names and counts");
	*to = (struct ledger_run){ledger_empty, (uint64_t)json_integer_value(count)};
	c->n_runs++;
	return ledger_set(&to->run, json_string_value(run), LEDGER_TEXT_MAX, false, rd->e);
}

static int take_runs(const struct reading *rd, json_t *crash)
{
	const json_t *j = json_object_get(crash, "runs");
	size_t n = json_array_size(j);
	int r = 0;

	if (!j)
		return 0;
	if (!json_is_array(j) || n > LEDGER_RUNS)
		mend(rd->l, rd->n->c.signature, "runs", "is no list, or too long");
	if (n > 0) {
		rd->n->c.runs = sys_calloc(LEDGER_RUNS, sizeof(*rd->n->c.runs));
		if (!rd->n->c.runs)
			return err_sys(rd->e, "read a crash");
	}
	for (size_t i = n > LEDGER_RUNS ? n - LEDGER_RUNS : 0; i < n && r == 0; i++)
		r = take_run(rd, json_array_get(j, i));
	json_object_del(crash, "runs");
	return r;
}

/* The older layout says when and where a crash was first seen with these two; they
 * stay in the file, for whoever reads that layout. */
static int look_at_older(const struct reading *rd, const json_t *crash)
{
	const json_t *date = json_object_get(crash, "date");
	const json_t *commit = json_object_get(crash, "commit");
	struct ledger_seen *first = &rd->n->c.first_seen;
	int r = 0;

	if (first->time == 0 && is_number(date))
		first->time = (uint64_t)json_integer_value(date);
	else if (first->time == 0 && json_is_string(date))
		(void)ledger_date(text_of(date), &first->time);
	if (!*first->commit && json_is_string(commit))
		r = ledger_set(&first->commit, json_string_value(commit), LEDGER_TEXT_MAX, false,
			       rd->e);
	return r;
}

static void check_sha1(const struct reading *rd, const char *key, char **p)
{
	if (!**p || ledger_is_sha1(*p))
		return;
	mend(rd->l, rd->n->c.signature, key, "is no SHA-1");
	ledger_unset(p);
}

static void check_sense(const struct reading *rd)
{
	struct known_crash *c = &rd->n->c;

	if (c->reproduction.hits > c->reproduction.tries) {
		mend(rd->l, c->signature, "reproduction", "has more hits than tries");
		c->reproduction.hits = c->reproduction.tries;
	}
	check_sha1(rd, "input_sha1", &c->input_sha1);
	check_sha1(rd, "minimized_sha1", &c->minimized_sha1);
}

static int read_crash(struct ledger *l, const char *signature, json_t *crash, struct err *e)
{
	CLEANUP(ledger_record_free_p) struct record *n = NULL;
	struct reading rd = {.l = l, .e = e};
	size_t n_fields;
	const struct field *f = ledger_fields(&n_fields);
	int r = ledger_reserve(l, signature, e);

	if (r < 0)
		return r;
	r = ledger_record_new(signature, &n, e);
	if (r < 0)
		return r;
	rd.n = n;
	for (size_t i = 0; i < n_fields && r == 0; i++)
		r = take_field(&rd, &f[i], crash);
	if (r == 0)
		r = take_runs(&rd, crash);
	if (r == 0)
		r = look_at_older(&rd, crash);
	if (r < 0)
		return r;
	take_state(&rd, crash);
	check_sense(&rd);
	if (json_object_size(crash) > 0)
		n->extra = json_incref(crash);
	l->v[l->n++] = take_ptr(&n); /* sorted when all are there */
	return 0;
}

/* Some other tool's object has none of our words. */
static bool is_crash(const json_t *j)
{
	size_t n;
	const struct field *f = ledger_fields(&n);

	for (size_t i = 0; i < n; i++)
		if (!f[i].group && json_object_get(j, f[i].key))
			return true;
	return json_object_get(j, "state") || json_object_get(j, "date");
}

static int read_all(struct ledger *l, json_t *root, struct err *e)
{
	const char *key;
	json_t *j;
	int r = 0;

	json_object_foreach(root, key, j)
	{
		bool is_ours = json_is_object(j) && is_crash(j);

		if (is_ours && ledger_check_signature(key, e) < 0) {
			warn(l, key, "is left alone:", e->msg);
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

/* Linear, and before anything is allocated for them: commas in texts count as well. */
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
		r = read_all(l, root, e);
	if (r < 0)
		return r;
	if (l->n > 0)
		qsort(l->v, l->n, sizeof(struct record *), by_signature);
	r = ledger_connect(l, mend, e);
	if (r < 0)
		return r;
	/* What was mended here, and what silently, is mended there by the next save. */
	for (size_t i = 0; i < l->n; i++)
		l->v[i]->copy = l->warnings > 0;
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

/* What crashes/ tells, in the place of a file that is none or that is gone; the file stays
 * until a save. */
static int start_anew(int state_dirfd, const char *why, struct ledger **ret, struct err *e)
{
	CLEANUP(ledger_free_p) struct ledger *l = NULL;
	size_t lost = 0;
	int r = ledger_rebuild(state_dirfd, &l, &lost, e);
	char others[64] = "";

	if (r < 0)
		return r;
	if (lost)
		snprintf(others, sizeof(others), ", %zu could not be", lost);
	if (why)
		snprintf(l->warning, sizeof(l->warning),
			 LEDGER_NAME ": %.110s: %zu crashes are read from crashes/ instead%s; "
				     "whatever changes one writes it anew, the damaged file is "
				     "then kept as " LEDGER_NAME ".damaged-<n>",
			 why, l->n, others);
	else if (l->n + lost > 0)
		snprintf(l->warning, sizeof(l->warning),
			 LEDGER_NAME " is missing: %zu crashes are read from crashes/ instead%s; "
				     "whatever changes one writes it anew",
			 l->n, others);
	else
		l->warning[0] = '\0';
	ledger_printable(l->warning);
	l->dirty = why || l->n > 0;
	l->keep_file = why;
	*ret = take_ptr(&l);
	return 0;
}

int ledger_load(int state_dirfd, struct ledger **ret, struct err *e)
{
	_autofree_ char *text = NULL;
	struct err why;
	size_t n;
	int r = fs_read(state_dirfd, LEDGER_NAME, LEDGER_FILE_MAX, &text, &n, &why);

	if (r == 0)
		r = ledger_parse((struct slice){text, n}, ret, &why);
	if (r == -ENOENT || r == -EFBIG || r == -EBADMSG) {
		r = start_anew(state_dirfd, r == -ENOENT ? NULL : why.msg, ret, e);
		return r < 0 ? err_wrap(e, "read the ledger") : 0;
	}
	return r < 0 ? err_set(e, why.code, "read the ledger: %s", why.msg) : 0;
}
