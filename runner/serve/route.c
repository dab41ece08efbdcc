/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/fs.h"
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
    {"/api/v1/health.json", "", false, model_health, NULL},
    {"/api/v1/targets/", ".json", true, model_target, NULL},
    {"/api/v1/series/", ".json", true, model_series, NULL},
    {"/api/v1/growth/", ".json", true, model_growth, NULL},
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
	if (get_download(site, path, a, &r, e))
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
