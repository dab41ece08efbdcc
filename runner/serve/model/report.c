/* SPDX-License-Identifier: Apache-2.0 */
/* The files beside a crash's input: its report, the place of the failure, and its origin. */
#include "base/cleanup.h"
#include "runner/crash/ledger/parsed.h"
#include "runner/crash/vault.h"
#include "runner/publish/render/render.h"
#include "runner/publish/render/source_link.h"
#include "runner/serve/model/model.h"

/* The program's first frame with a line number; NULL: none. */
static const struct crash_frame *model_report_place_of(const struct crash_report *r)
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
	f = model_report_place_of(&report);
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

/* A missing or unreadable report is left out. */
int report_part(const struct serve_site *s, const struct known_crash *c, json_t *m, struct err *e)
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
