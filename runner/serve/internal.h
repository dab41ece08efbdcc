/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_INTERNAL_H
#define RUNNER_SERVE_INTERNAL_H

#include "base/buf.h"
#include "base/json.h"
#include "runner/serve/serve.h"

/* The parts of runner/serve/:
 *
 *	model/	 state directory -> JSON, the objects of docs/api.md
 *	page/	 that JSON -> HTML; pages have no other input
 *	model/metrics.c	 that JSON -> Prometheus text
 *	route.c	 path -> one of these
 *	page/assets.c	 the files that pages need */

/* Renders a page from its model.  Pure: no clock, no files.  The model is the content of
 * /api/v1/<same path>.json.  It is not trusted: a string may be any UTF-8 text, and a page
 * leaves out keys that are missing or of another type.  "href" and "api" are percent-encoded
 * paths from the site's root without the first '/'.  A page prefixes them with its own path to
 * the root ("" or "../"). */
typedef int page_fn(const json_t *model, struct buf *out, struct err *e);

/* At the root: index.html, crashes.html, runs.html, rounds.html, health.html, targets.html,
 * targets-2.html. */
page_fn page_overview, page_crashes, page_runs, page_rounds, page_health, page_targets;
/* One level below: targets/<target>.html, crashes/<name>.html, runs/<id>.html. */
page_fn page_target, page_crash, page_run;

/* A file that is compiled in.  path: from the root, "assets/style.css". */
struct serve_asset {
	const char *path;
	const char *type; /* "text/css; charset=utf-8" */
	struct slice bytes;
};
/* NULL after the last file. */
const struct serve_asset *serve_asset_at(size_t i);

/* --- models: *ret is a new object --------------------------------------------- */

/* name: the name of a target, a crash (runner/crash/vault.h) or a run, or the number of a page
 * of targets ("" is the first).  -ENOENT: the object does not exist. */
typedef int model_fn(struct serve_site *site, const char *name, json_t **ret, struct err *e);
model_fn model_overview, model_targets, model_targets_page, model_target, model_series,
    model_growth, model_coverage, model_crashes, model_crash, model_runs, model_run, model_rounds,
    model_health;

/* The same as Prometheus text. */
MUST_CHECK int serve_metrics(struct serve_site *site, struct buf *out, struct err *e);

#endif
