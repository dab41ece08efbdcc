/* SPDX-License-Identifier: Apache-2.0 */
/* Lists all paths, for an export. */
#include "base/cleanup.h"
#include "runner/crash/vault.h"
#include "runner/serve/model/model.h"
#include "runner/serve/page/html.h"

#include <stdio.h>

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
	static const char *const paths[] = {"/index.html",
					    "/crashes.html",
					    "/runs.html",
					    "/health.html",
					    "/targets.html",
					    "/api/v1/overview.json",
					    "/api/v1/targets.json",
					    "/api/v1/crashes.json",
					    "/api/v1/runs.json",
					    "/api/v1/health.json",
					    "/metrics",
					    "/healthz"};
	const struct serve_asset *asset;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(paths) / sizeof(paths[0]); i++)
		r = p->fn(p->arg, paths[i], e);
	for (size_t i = 0; r == 0 && (asset = serve_asset_at(i)); i++) {
		char path[300];

		snprintf(path, sizeof(path), "/%s", asset->path);
		r = p->fn(p->arg, path, e);
	}
	return r;
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
		r = crash_paths(site, &p, e);
	return r == 0 ? run_paths(site, &p, e) : r;
}
