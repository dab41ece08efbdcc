/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_INTERNAL_H
#define RUNNER_SERVE_INTERNAL_H

#include "base/buf.h"
#include "base/json.h"
#include "runner/serve/serve.h"

/* Between the parts of this room:
 *
 *	serve_model_*.c	 state directory -> JSON, the shapes of docs/api.md
 *	serve_page_*.c	 that JSON -> HTML; they know nothing else
 *	serve/model/metrics.c	 that JSON -> Prometheus text
 *	route.c	 path -> which of these
 *	serve/page/assets.c	 the files that pages need */

/* A page from its model.  Pure: no clock, no files.  The model is what
 * /api/v1/<same path>.json prints.  Nothing in it may be trusted: a string may be any UTF-8 text, a
 * key may be missing or of another type (then the page leaves it out).  "href" and "api" values are
 * percent-encoded paths from the site's root without a first '/': a page puts
 * its own way to the root ("" or "../") before them. */
typedef int page_fn(const json_t *model, struct buf *out, struct err *e);

/* index.html, crashes.html, runs.html, health.html, targets.html, targets-2.html: at the root. */
page_fn page_overview, page_crashes, page_runs, page_health, page_targets;
/* targets/<target>.html, crashes/<name>.html, runs/<id>.html: one below it. */
page_fn page_target, page_crash, page_run;

/* A file that is compiled in.  path: from the root, "assets/style.css". */
struct serve_asset {
	const char *path;
	const char *type; /* "text/css; charset=utf-8" */
	struct slice bytes;
};
/* NULL after the last one. */
const struct serve_asset *serve_asset_at(size_t i);

/* --- models: *ret is a new object --------------------------------------------- */

/* name: of a target, a crash (runner/crash/vault.h's), a run; the number of a page of targets
 * ("" is the first).  -ENOENT: there is none. */
typedef int model_fn(struct serve_site *site, const char *name, json_t **ret, struct err *e);
model_fn model_overview, model_targets, model_targets_page, model_target, model_series,
    model_growth, model_crashes, model_crash, model_runs, model_run, model_health;

/* The same as Prometheus text. */
MUST_CHECK int serve_metrics(struct serve_site *site, struct buf *out, struct err *e);

#endif
