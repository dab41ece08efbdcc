/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a crash. */
#include "runner/serve/model/model.h"

#include "base/cleanup.h"
#include "runner/crash/ledger/parsed.h"
#include "runner/crash/vault.h"
#include "runner/publish/render/render.h"
#include "runner/publish/render/source_link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- the files beside a crash's input: its report, and its origin --------- */

/* The program's first frame with a line number; NULL: none. */
static const struct crash_frame *place_of(const struct crash_report *r)
{
	for (size_t i = 0; i < r->n_frames; i++)
		if (*r->frames[i].file && r->frames[i].line > 0)
			return &r->frames[i];
	return NULL;
}

static void set_link(const struct sources *from, const char *path, const char *commit,
		     uint64_t line, json_t *m)
{
	_autobuf_ struct buf url = BUF_INIT(8192);
	struct err none;

	if (from->link && source_link(from->link, commit, path, line, &url, &none) == 0)
		make_text(m, "url", buf_str(&url));
}

/* The file's path in the repository if known, else as in the report. */
static void set_place(const struct serve_site *s, const struct crash_frame *f, const char *commit,
		      json_t *m)
{
	_autojson_ json_t *place = json_object();
	char path[SOURCE_PATH_MAX];
	bool known = s->limits.sources && source_path(s->limits.sources, f->file, path);

	make_text(place, "function", f->function);
	make_text(place, "file", known ? path : f->file);
	make_number(place, "line", f->line);
	make_number(place, "column", f->column);
	make_text(place, "commit", commit);
	if (known)
		set_link(s->limits.sources, path, commit, f->line, place);
	make_set(m, "place", take_ptr(&place));
}

static void set_place_of(const struct serve_site *s, const struct known_crash *c, struct slice text,
			 const char *commit, json_t *m)
{
	struct crash_report report = {0};
	const struct crash_frame *f;

	parsed_read(s->state->dirfd, c->signature, c->fuzzer, text, &report);
	f = place_of(&report);
	if (f)
		set_place(s, f, commit, m);
	else
		make_set(m, "place", json_null());
	crash_report_done(&report);
}

/* meta.json; NULL: there is none, or it is damaged. */
static json_t *meta_of(const struct serve_site *s, const struct known_crash *c)
{
	_autofree_ char *text = NULL;
	struct slice in = {0};
	json_t *meta = NULL;
	struct err none;

	if (vault_read(s->state->dirfd, slice_of(c->signature), c->fuzzer, VAULT_META, &text, &in.n,
		       &none) < 0)
		return NULL;
	in.p = text;
	return json_parse(in, &meta, &none) < 0 ? NULL : meta;
}

/* The seed's path in the repository, if known. */
static void set_seed(const struct serve_site *s, const char *seed, json_t *m)
{
	char path[SOURCE_PATH_MAX];

	if (!*seed)
		make_set(m, "seed", json_null());
	else if (s->limits.sources && source_path(s->limits.sources, seed, path))
		make_text(m, "seed", path);
	else
		make_text(m, "seed", seed);
}

/* Sets "seed", "place", "report" and "report_cut".  A missing or unreadable report is left out. */
static int report_part(const struct serve_site *s, const struct known_crash *c, json_t *m,
		       struct err *e)
{
	_autobuf_ struct buf clean = BUF_INIT(8 * (size_t)SERVE_REPORT_MAX);
	_autojson_ json_t *meta = meta_of(s, c);
	_autofree_ char *text = NULL;
	struct slice in = {0};
	struct err none;
	int r;

	set_seed(s, get_text(meta, "seed"), m);
	if (vault_read(s->state->dirfd, slice_of(c->signature), c->fuzzer, VAULT_REPORT, &text,
		       &in.n, &none) < 0) {
		make_set(m, "place", json_null());
		make_set(m, "report", json_null());
		make_set(m, "report_cut", json_false());
		return 0;
	}
	in.p = text;
	set_place_of(s, c, in, get_text(meta, "commit"), m);
	make_set(m, "report_cut", json_boolean(in.n > SERVE_REPORT_MAX));
	if (in.n > SERVE_REPORT_MAX)
		in = render_cut(in, SERVE_REPORT_MAX);
	render_visible(in, RENDER_LINES, &clean);
	r = buf_check(&clean, e);
	if (r == 0)
		make_set(m, "report", json_stringn(buf_str(&clean), clean.n));
	return r;
}

/* --- the crash ------------------------------------------------------------ */

enum { ALIKE_MAX = 20 };

void crash_href(json_t *m, const char *key, const char *signature)
{
	char name[VAULT_NAME];
	struct err ignored;

	if (*signature && vault_name(slice_of(signature), name, &ignored) == 0)
		make_href(m, key, "crashes/", name, ".html");
}

const struct known_crash *crash_named(const struct ledger *l, const char *name)
{
	const struct known_crash *c = ledger_record(l, name);
	char of[VAULT_NAME];
	struct err ignored;

	if (c && vault_name(slice_of(name), of, &ignored) == 0 && strcmp(of, name) == 0)
		return c;
	for (size_t i = 0; i < ledger_count(l); i++) {
		c = ledger_at(l, i);
		if (vault_name(slice_of(c->signature), of, &ignored) == 0 && strcmp(of, name) == 0)
			return c;
	}
	return NULL;
}

static json_t *model_crash_texts(const struct ledger_list *l)
{
	json_t *all = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(all, json_text(l->v[i]));
	return all;
}

static json_t *runs_of(struct serve_site *s, const struct known_crash *c)
{
	json_t *all = json_array();

	for (size_t i = c->n_runs; i-- > 0;) {
		_autojson_ json_t *m = json_object();

		make_text(m, "run", c->runs[i].run);
		if (site_run_kept(s, c->runs[i].run))
			make_href(m, "href", "runs/", c->runs[i].run, ".html");
		make_number(m, "count", c->runs[i].count);
		json_array_append_new(all, take_ptr(&m));
	}
	return all;
}

/* The crashes that are merged into it. */
static json_t *variants_of(const struct known_crash *c)
{
	json_t *all = json_array();

	for (size_t i = 0; i < c->aliases.n; i++) {
		_autojson_ json_t *m = json_object();

		make_text(m, "signature", c->aliases.v[i]);
		crash_href(m, "href", c->aliases.v[i]);
		json_array_append_new(all, take_ptr(&m));
	}
	return all;
}

/* Crashes that are probably the same: those that it names, and those that name it. */
static json_t *model_crash_alike(const struct ledger *l, const struct known_crash *c)
{
	json_t *all = json_array();

	for (size_t i = 0; i < ledger_count(l) && json_array_size(all) < ALIKE_MAX; i++) {
		const struct known_crash *other = ledger_at(l, i);
		_autojson_ json_t *m = json_object();

		if (*other->merged_into || (strcmp(other->similar, c->signature) != 0 &&
					    strcmp(other->signature, c->similar) != 0))
			continue;
		make_text(m, "signature", other->signature);
		crash_href(m, "href", other->signature);
		make_text(m, "crash_type", other->crash_type);
		make_text(m, "top_frame", other->top_frame);
		make_text(m, "state", ledger_state_name(other->state));
		json_array_append_new(all, take_ptr(&m));
	}
	return all;
}

/* The commit with which it began or ended; null: it was not searched. */
static json_t *edge_part(const struct ledger_edge *e)
{
	_autojson_ json_t *m = json_object();

	if (!*e->kind)
		return json_null();
	make_text(m, "kind", e->kind);
	make_text(m, "commit", e->commit);
	make_text(m, "before", e->before);
	make_number(m, "commits", e->commits);
	make_text(m, "author", e->author);
	make_text(m, "subject", e->subject);
	make_time(m, "time", e->time);
	make_text(m, "text", e->text);
	return take_ptr(&m);
}

static json_t *details(struct serve_site *s, const struct ledger *l, const struct known_crash *c)
{
	_autojson_ json_t *m = json_object();

	make_text(m, "crash_type", c->crash_type);
	make_text(m, "kind", c->kind);
	make_text(m, "access", c->access);
	make_number(m, "access_size", c->access_size);
	make_text(m, "signal", c->signal);
	make_set(m, "frames", model_crash_texts(&c->frames));
	make_set(m, "crash_state", model_crash_texts(&c->crash_state));
	make_text(m, "note", c->note);
	make_text(m, "similar", c->similar);
	make_set(m, "alike", model_crash_alike(l, c));
	crash_href(m, "similar_href", c->similar);
	make_text(m, "merged_into", c->merged_into);
	crash_href(m, "merged_href", c->merged_into);
	make_set(m, "variants", variants_of(c));
	make_number(m, "input_bytes", c->input_bytes);
	make_number(m, "minimized_bytes", c->minimized_bytes);
	make_text(m, "crash_file", c->crash_file);
	make_text(m, "minimized", c->minimized);
	make_text(m, "first_commit", c->first_seen.commit);
	make_text(m, "last_commit", c->last_seen.commit);
	make_text(m, "fixed_commit", c->fixed.commit);
	make_time(m, "fixed_at", c->fixed.time);
	make_set(m, "culprit", edge_part(&c->culprit));
	make_set(m, "fix", edge_part(&c->fix));
	make_set(m, "runs", runs_of(s, c));
	return take_ptr(&m);
}

/* The target's entry of the crash. */
static json_t *target_part(const struct known_crash *c)
{
	_autojson_ json_t *m = json_object();

	make_text(m, "name", c->fuzzer);
	if (site_target_ok(c->fuzzer))
		make_href(m, "href", "targets/", c->fuzzer, ".html");
	make_text(m, "state", ledger_state_name(c->state));
	make_set(m, "open", json_boolean(ledger_state_open(c->state)));
	make_text(m, "severity", c->severity);
	make_set(m, "security", json_boolean(c->security));
	make_number(m, "count", c->count);
	make_number(m, "hits", c->reproduction.hits);
	make_number(m, "tries", c->reproduction.tries);
	make_time(m, "first_seen", c->first_seen.time);
	make_time(m, "last_seen", c->last_seen.time);
	make_time(m, "fixed_at", c->fixed.time);
	make_text(m, "fixed_commit", c->fixed.commit);
	make_text(m, "crash_file", c->crash_file);
	make_text(m, "minimized", c->minimized);
	return take_ptr(&m);
}

static json_t *targets_of(const struct known_crash *c)
{
	json_t *all = json_array();

	for (size_t i = 0; i < c->n_by; i++)
		json_array_append_new(all, target_part(c->by[i]));
	return all;
}

/* The links to its files; {} if downloads are not allowed. */
static int files_part(const struct serve_site *s, const struct known_crash *c, json_t *m,
		      struct err *e)
{
	static const char *const keys[] = {[DOWNLOAD_INPUT] = "input",
					   [DOWNLOAD_MINIMIZED] = "minimized",
					   [DOWNLOAD_REPORT] = "report"};
	_autojson_ json_t *files = json_object();
	bool allowed = download_allowed(s, c);
	char name[VAULT_NAME], after[32];
	int r = vault_name(slice_of(c->signature), name, e);

	if (r < 0)
		return r;
	for (enum download i = 0; allowed && i < DOWNLOAD_COUNT; i++) {
		snprintf(after, sizeof(after), "/%s", download_name(i));
		if (download_has(s, c, i))
			make_href(files, keys[i], "downloads/", name, after);
	}
	make_set(m, "downloads", take_ptr(&files));
	make_set(m, "withheld", json_boolean(!allowed));
	return 0;
}

/* A command that works unchanged in any directory of this machine. */
static int command_part(const struct serve_site *s, const struct known_crash *c, const char *verb,
			json_t *m, struct err *e)
{
	_autobuf_ struct buf b = BUF_INIT(16384);
	int r;

	buf_printf(&b, "fuzzcell crash %s", verb);
	render_options(s->limits.config_path, s->limits.state_path, &b);
	buf_puts(&b, c->signature[0] == '-' ? " -- " : " ");
	render_word(c->signature, &b);
	r = buf_check(&b, e);
	if (r == 0)
		make_set(m, verb, json_stringn(buf_str(&b), b.n)); /* left out if incomplete */
	return r;
}

int model_crash(struct serve_site *s, const char *name, json_t **ret, struct err *e)
{
	_autojson_ json_t *m = json_object();
	const struct known_crash *c;
	const struct ledger *l;
	json_t *row = NULL;
	int r = site_ledger(s, &l, e);

	if (r < 0)
		return r;
	c = crash_named(l, name);
	if (!c)
		return err_set(e, ENOENT, "no such crash");
	r = model_begin(s, m, e);
	if (r == 0)
		r = row_crash(c, &row, e);
	if (r < 0)
		return r;
	make_text(m, "signature", c->signature);
	make_set(m, "row", row);
	make_set(m, "crash", details(s, l, c));
	make_set(m, "targets", targets_of(c));
	r = command_part(s, c, "reproduce", m, e);
	if (r == 0)
		r = command_part(s, c, "export", m, e);
	if (r == 0)
		r = report_part(s, c, m, e);
	if (r == 0)
		r = files_part(s, c, m, e);
	if (r == 0)
		*ret = take_ptr(&m);
	return r;
}
