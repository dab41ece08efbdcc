/* SPDX-License-Identifier: Apache-2.0 */
/* Answers a path: a page, a model, a download or an asset. */
#include "runner/serve/serve.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "runner/coverage/shelf.h"
#include "runner/crash/vault.h"
#include "runner/serve/internal.h"
#include "runner/serve/model/model.h"
#include "runner/serve/page/html.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define HTML "text/html; charset=utf-8"
#define JSON "application/json"

/* A path is `before`, a name without '/' (if named), and `after`.  page NULL: serves the JSON. */
static const struct route {
	const char *before, *after;
	bool named;
	model_fn *model;
	page_fn *page;
} routes[] = {
    {"/", "", false, model_overview, page_overview},
    {"/index.html", "", false, model_overview, page_overview},
    {"/crashes.html", "", false, model_crashes, page_crashes},
    {"/runs.html", "", false, model_runs, page_runs},
    {"/rounds.html", "", false, model_rounds, page_rounds},
    {"/health.html", "", false, model_health, page_health},
    {"/targets.html", "", false, model_targets_page, page_targets},
    {"/targets-", ".html", true, model_targets_page, page_targets},
    {"/targets/", ".html", true, model_target, page_target},
    {"/crashes/", ".html", true, model_crash, page_crash},
    {"/runs/", ".html", true, model_run, page_run},
    {"/api/v1/overview.json", "", false, model_overview, NULL},
    {"/api/v1/targets.json", "", false, model_targets, NULL},
    {"/api/v1/crashes.json", "", false, model_crashes, NULL},
    {"/api/v1/runs.json", "", false, model_runs, NULL},
    {"/api/v1/rounds.json", "", false, model_rounds, NULL},
    {"/api/v1/health.json", "", false, model_health, NULL},
    {"/api/v1/targets/", ".json", true, model_target, NULL},
    {"/api/v1/series/", ".json", true, model_series, NULL},
    {"/api/v1/growth/", ".json", true, model_growth, NULL},
    {"/api/v1/coverage/", ".json", true, model_coverage, NULL},
    {"/api/v1/crashes/", ".json", true, model_crash, NULL},
    {"/api/v1/runs/", ".json", true, model_run, NULL},
};

enum { ROUTES = sizeof(routes) / sizeof(routes[0]) };

void serve_answer_done(struct serve_answer *a)
{
	buf_done(&a->body);
	close_p(&a->fd);
	*a = (struct serve_answer){.fd = -1};
}

struct slice serve_answer_bytes(const struct serve_answer *a)
{
	return a->fixed.p ? a->fixed : buf_slice(&a->body);
}

struct name {
	char text[NAME_MAX + 1];
};

/* Decodes a name.  fs_name_ok() then refuses slashes, NUL and "..". */
static bool decode(struct slice in, struct name *out)
{
	size_t n = 0;

	while (in.n > 0) {
		int c = html_url_next(&in);

		if (n >= NAME_MAX || c < 0)
			return false;
		out->text[n++] = (char)c;
	}
	out->text[n] = '\0';
	return fs_name_ok((struct slice){out->text, n});
}

/* True if the path matches the route; *ret: the name in it. */
static bool is_route(const struct route *rt, struct slice path, struct name *ret)
{
	struct slice middle = path, after = slice_of(rt->after);

	*ret = (struct name){0};
	if (!rt->named)
		return slice_eq(path, slice_of(rt->before));
	if (!scan_lit(&middle, slice_of(rt->before)) || middle.n <= after.n)
		return false;
	middle.n -= after.n;
	if (memcmp(middle.p + middle.n, after.p, after.n) != 0)
		return false;
	return !memchr(middle.p, '/', middle.n) && decode(middle, ret);
}

static int get_route(struct serve_site *site, const struct route *rt, const char *name,
		     struct serve_answer *a, struct err *e)
{
	_autojson_ json_t *model = NULL;
	_autofree_ char *text = NULL;
	int r = site_there(site, e);

	if (r == 0)
		r = rt->model(site, name, &model, e);
	if (r < 0)
		return r;
	a->type = rt->page ? HTML : JSON;
	snprintf(a->problem, sizeof(a->problem), "%s", get_text(model, "problem"));
	if (rt->page)
		return rt->page(model, &a->body, e);
	r = json_print(model, 1, &text, e);
	if (r < 0)
		return r;
	buf_printf(&a->body, "%s\n", text);
	return buf_check(&a->body, e);
}

/* True if the path is a crash's file; *ret: the result. */
static bool get_download(struct serve_site *site, struct slice path, struct serve_answer *a,
			 int *ret, struct err *e)
{
	struct name name;

	for (enum download i = 0; i < DOWNLOAD_COUNT; i++) {
		char after[32];
		const struct route rt = {"/downloads/", after, true, NULL, NULL};

		snprintf(after, sizeof(after), "/%s", download_name(i));
		if (!is_route(&rt, path, &name))
			continue;
		*ret = site_there(site, e);
		if (*ret == 0)
			*ret = download_get(site, name.text, i, a, e);
		return true;
	}
	return false;
}

/* True if the path is a page of llvm-cov, "/coverage/<target>/<page>"; *ret: the result. */
static bool get_coverage(struct serve_site *site, struct slice path, struct serve_answer *a,
			 int *ret, struct err *e)
{
	char page[SERVE_PATH_MAX];
	struct slice part;
	struct name name;
	size_t n = 0;

	if (!scan_lit(&path, SLICE("/coverage/")) || !scan_until(&path, '/', NAME_MAX, &part) ||
	    !decode(part, &name) || !scan_lit(&path, SLICE("/")))
		return false;
	while (path.n > 0 && n + 1 < sizeof(page)) {
		int c = html_url_next(&path);

		if (c <= 0)
			return false;
		page[n++] = (char)c;
	}
	*ret = coverage_page(site, name.text, (struct slice){page, n}, a, e);
	return true;
}

static bool get_asset(struct slice path, struct serve_answer *a)
{
	const struct serve_asset *asset;

	if (!scan_lit(&path, SLICE("/")))
		return false;
	for (size_t i = 0; (asset = serve_asset_at(i)); i++)
		if (slice_eq(path, slice_of(asset->path))) {
			a->type = asset->type;
			a->fixed = asset->bytes;
			return true;
		}
	return false;
}

/* Checks that the ledger can be read; the models report other problems. */
static int get_health(struct serve_site *site, struct serve_answer *a, struct err *e)
{
	const struct ledger *l;
	int r = site_ledger(site, &l, e);

	a->type = "text/plain; charset=utf-8";
	buf_puts(&a->body, "ok\n");
	return r;
}

static int serve_route_get(struct serve_site *site, struct slice path, struct serve_answer *a,
			   struct err *e)
{
	struct name name;
	int r = 0;

	for (size_t i = 0; i < ROUTES; i++)
		if (is_route(&routes[i], path, &name))
			return get_route(site, &routes[i], name.text, a, e);
	if (get_asset(path, a))
		return 0;
	if (get_download(site, path, a, &r, e) || get_coverage(site, path, a, &r, e))
		return r;
	if (slice_eq(path, SLICE("/healthz")))
		return get_health(site, a, e);
	if (slice_eq(path, SLICE("/metrics"))) {
		a->type = "text/plain; version=0.0.4; charset=utf-8";
		return serve_metrics(site, &a->body, e);
	}
	return err_set(e, ENOENT, "no such page");
}

int serve_get(struct serve_site *site, struct slice path, struct serve_answer *ret, struct err *e)
{
	struct serve_answer a = {.body = BUF_INIT(SERVE_BODY_MAX), .fd = -1};
	int r;

	if (path.n > SERVE_PATH_MAX)
		return err_set(e, ENOENT, "no such page");
	site_begin(site);
	r = serve_route_get(site, path, &a, e);
	if (r < 0)
		serve_answer_done(&a);
	else
		*ret = a;
	return r;
}

/* --- all paths ------------------------------------------------------------ */

enum { PATH_MAX_BYTES = 4096 };

struct paths {
	serve_path_fn *fn;
	void *arg;
};

static int one(const struct paths *p, const char *before, const char *name, const char *after,
	       struct err *e)
{
	_autobuf_ struct buf b = BUF_INIT(PATH_MAX_BYTES);
	int r;

	buf_puts(&b, before);
	html_url_part(&b, slice_of(name));
	buf_puts(&b, after);
	r = buf_check(&b, e);
	return r < 0 ? r : p->fn(p->arg, buf_str(&b), e);
}

static int fixed_paths(const struct paths *p, struct err *e)
{
	static const char *const others[] = {"/metrics", "/healthz"};
	const struct serve_asset *asset;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROUTES; i++)
		if (!routes[i].named && strcmp(routes[i].before, "/") != 0)
			r = p->fn(p->arg, routes[i].before, e);
	for (size_t i = 0; r == 0 && i < sizeof(others) / sizeof(others[0]); i++)
		r = p->fn(p->arg, others[i], e);
	for (size_t i = 0; r == 0 && (asset = serve_asset_at(i)); i++) {
		char path[300];

		snprintf(path, sizeof(path), "/%s", asset->path);
		r = p->fn(p->arg, path, e);
	}
	return r;
}

struct coverage_paths {
	const struct paths *p;
	const char *name; /* in the path */
};

static int coverage_one(void *arg, const char *page, struct err *e)
{
	const struct coverage_paths *c = arg;
	_autobuf_ struct buf b = BUF_INIT(PATH_MAX_BYTES);
	struct slice rest = slice_of(page), part;
	int r;

	buf_puts(&b, "/coverage/");
	html_url_part(&b, slice_of(c->name));
	while (rest.n > 0) {
		buf_puts(&b, "/");
		if (!scan_until(&rest, '/', rest.n, &part)) {
			part = rest;
			rest.n = 0;
		}
		html_url_part(&b, part);
		(void)scan_lit(&rest, SLICE("/"));
	}
	r = buf_check(&b, e);
	return r < 0 || b.n > SERVE_PATH_MAX ? r : c->p->fn(c->p->arg, buf_str(&b), e);
}

/* The coverage reports: their JSON, and the pages of llvm-cov.  report: its name. */
static int coverage_paths(struct serve_site *s, const struct paths *p, const char *report,
			  struct err *e)
{
	struct coverage_paths c = {p, strcmp(report, SHELF_ALL) == 0 ? "all" : report};
	_autoclose_ int dir = -1;
	int r = shelf_open(s->state, report, &dir, e);

	if (r < 0 || dir < 0)
		return r;
	r = one(p, "/api/v1/coverage/", c.name, ".json", e);
	return r == 0 ? shelf_each_page(s->state, report, coverage_one, &c, e) : r;
}

static int all_coverage_paths(struct serve_site *s, const struct paths *p, struct err *e)
{
	CLEANUP(strv_done) struct strv names = {0};
	int r = shelf_names(s->state, &names, e);

	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = coverage_paths(s, p, names.v[i], e);
	return r == 0 ? coverage_paths(s, p, SHELF_ALL, e) : r;
}

static int target_paths(struct serve_site *s, const struct paths *p, struct err *e)
{
	static const char *const ways[][2] = {{"/targets/", ".html"},
					      {"/api/v1/targets/", ".json"},
					      {"/api/v1/series/", ".json"},
					      {"/api/v1/growth/", ".json"}};
	_autojson_ json_t *listed = NULL, *names = NULL;
	int r = site_targets(s, &listed, e);

	if (r == 0)
		r = site_target_pages(s, &names, e);
	for (size_t i = 2; r == 0 && i <= target_pages(json_array_size(listed)); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/targets-%zu.html", i);
		r = p->fn(p->arg, path, e);
	}
	for (size_t i = 0; r == 0 && i < json_array_size(names); i++)
		for (size_t k = 0; r == 0 && k < sizeof(ways) / sizeof(ways[0]); k++)
			r = one(p, ways[k][0], json_string_value(json_array_get(names, i)),
				ways[k][1], e);
	return r;
}

static int crash_names(struct serve_site *s, json_t *names, struct err *e)
{
	const struct ledger *l;
	int r = site_ledger(s, &l, e);

	for (size_t i = 0; r == 0 && i < ledger_count(l); i++) {
		char name[VAULT_NAME];

		r = vault_name(slice_of(ledger_at(l, i)->signature), name, e);
		if (r == 0)
			json_array_append_new(names, json_string(name));
	}
	return r;
}

static int file_paths(struct serve_site *s, const struct paths *p, const char *name, struct err *e)
{
	const struct known_crash *c;
	const struct ledger *l;
	int r = site_ledger(s, &l, e);

	c = r == 0 ? crash_named(l, name) : NULL;
	if (!c || !download_allowed(s, c))
		return r;
	for (enum download i = 0; r == 0 && i < DOWNLOAD_COUNT; i++) {
		char after[32];

		snprintf(after, sizeof(after), "/%s", download_name(i));
		if (download_has(s, c, i))
			r = one(p, "/downloads/", name, after, e);
	}
	return r;
}

/* Collects the names first, because the ledger is reloaded if a run writes it meanwhile. */
static int crash_paths(struct serve_site *s, const struct paths *p, struct err *e)
{
	_autojson_ json_t *names = json_array();
	int r = crash_names(s, names, e);

	for (size_t i = 0; r == 0 && i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));

		r = one(p, "/crashes/", name, ".html", e);
		if (r == 0)
			r = one(p, "/api/v1/crashes/", name, ".json", e);
		if (r == 0)
			r = file_paths(s, p, name, e);
	}
	return r;
}

static int run_paths(struct serve_site *s, const struct paths *p, struct err *e)
{
	_autojson_ json_t *rows = NULL;
	uint64_t damaged;
	int r = rows_runs(s, MODEL_RUNS, &rows, &damaged, e);

	for (size_t i = 0; r == 0 && i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (!*get_text(row, "href"))
			continue;
		r = one(p, "/runs/", get_text(row, "run"), ".html", e);
		if (r == 0)
			r = one(p, "/api/v1/runs/", get_text(row, "run"), ".json", e);
	}
	return r;
}

int serve_each_path(struct serve_site *site, serve_path_fn *fn, void *arg, struct err *e)
{
	const struct paths p = {fn, arg};
	int r;

	site_begin(site);
	r = fixed_paths(&p, e);
	if (r == 0)
		r = target_paths(site, &p, e);
	if (r == 0)
		r = all_coverage_paths(site, &p, e);
	if (r == 0)
		r = crash_paths(site, &p, e);
	return r == 0 ? run_paths(site, &p, e) : r;
}
