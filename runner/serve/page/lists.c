/* SPDX-License-Identifier: Apache-2.0 */
/* All crashes, all runs, all health, all targets. */
#include "runner/serve/internal.h"
#include "runner/serve/page/page.h"

#include <stdio.h>
#include <string.h>

enum { HEALTH_SHOWN = 400, FINDINGS_ALL = 320, PAGES_MAX = 1000 };

static void title(struct page *p, const char *text, const char *lead)
{
	html_element(&p->h, "h1", NULL, text);
	if (lead)
		html_element(&p->h, "p", "lead", lead);
}

int page_crashes(const json_t *model, struct buf *out, struct err *e)
{
	static const char *const states[] = {"new",   "regressed", "known",
					     "flaky", "fixed",	   "ignored"};
	struct page_about about = {.title = "Crashes",
				   .here = "Crashes",
				   .root = "",
				   .model = model,
				   .api = "api/v1/crashes.json"};
	struct page p = page_begin(&about, out, e);
	const json_t *list = field_list(model, "crashes"), *counts = field_object(model, "counts");
	char text[UNIT_TEXT];
	size_t n = 0;

	title(&p, "Crashes", "What failed, once for each cause. Open ones come first.");
	page_tiles(&p, "counts");
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		page_tile(&p, states[i], unit_text(UNIT_EXACT, field_or_0(counts, states[i]), text),
			  NULL);
	page_tiles_end(&p);
	html_element(&p.h, "h2", NULL, "All of them");
	if (json_array_size(list) > 0)
		n = page_crashes_table(&p, "crashes", list);
	else
		html_element(&p.h, "p", "soft", "None was found yet.");
	page_more(&p, n, field_or_0(model, "total"), NULL, NULL);
	return page_end(&p);
}

int page_runs(const json_t *model, struct buf *out, struct err *e)
{
	struct page_about about = {
	    .title = "Runs", .here = "Runs", .root = "", .model = model, .api = "api/v1/runs.json"};
	struct page p = page_begin(&about, out, e);
	const json_t *list = field_list(model, "runs");
	size_t n = 0;

	title(&p, "Runs", "The newest first.");
	if (json_array_size(list) > 0)
		n = page_runs_table(&p, "runs", list);
	else
		html_element(&p.h, "p", "soft", "None has ended yet.");
	page_more(&p, n, field_or_0(model, "total"), NULL, NULL);
	if (field_or_0(model, "damaged") > 0) {
		html_begin(&p.h, "p", "soft");
		page_number(&p, UNIT_EXACT, model, "damaged");
		html_text(&p.h, " lines of the history could not be read.");
		html_close(&p.h);
	}
	return page_end(&p);
}

/* No findings, because nothing is known. */
static bool is_unknown(const json_t *target)
{
	return json_is_false(json_object_get(target, "known"));
}

static bool is_ok(const json_t *target)
{
	const char *severity = field_text(target, "severity");

	return json_array_size(field_list(target, "findings")) == 0 || !severity ||
	       strcmp(severity, "ok") == 0;
}

static void unwell(struct page *p, const json_t *targets)
{
	size_t left = FINDINGS_ALL;

	for (size_t i = 0; i < json_array_size(targets) && i < HEALTH_SHOWN && !page_is_full(p);
	     i++) {
		const json_t *t = json_array_get(targets, i), *list = field_list(t, "findings");
		size_t n = json_array_size(list) < left ? json_array_size(list) : left;

		if (is_ok(t))
			continue;
		html_open(&p->h, "h3");
		page_link(p, t, field_text(t, "name"));
		html_close(&p->h);
		if (n > 0)
			(void)page_findings(p, list, n, false);
		left -= n;
	}
}

/* Lists the names of targets without findings: unknown ones, or the others. */
static void well(struct page *p, const json_t *targets, bool unknown)
{
	bool any = false;

	for (size_t i = 0; i < json_array_size(targets) && i < HEALTH_SHOWN && !page_is_full(p);
	     i++) {
		const json_t *t = json_array_get(targets, i);

		if (!is_ok(t) || is_unknown(t) != unknown)
			continue;
		if (!any)
			html_open(&p->h, "p");
		else
			html_text(&p->h, ", ");
		any = true;
		page_link(p, t, field_text(t, "name"));
	}
	if (any)
		html_close(&p->h);
	else
		html_element(&p->h, "p", "soft", "None.");
}

int page_health(const json_t *model, struct buf *out, struct err *e)
{
	struct page_about about = {.title = "Health",
				   .here = "Health",
				   .root = "",
				   .model = model,
				   .api = "api/v1/health.json"};
	struct page p = page_begin(&about, out, e);
	const json_t *counts = field_object(model, "counts"),
		     *targets = field_list(model, "targets");
	size_t n = json_array_size(targets), shown = n < HEALTH_SHOWN ? n : HEALTH_SHOWN;
	char text[UNIT_TEXT];

	title(&p, "Health",
	      "Problems, their causes, and what to do. fuzzcell doctor also "
	      "checks this machine.");
	page_tiles(&p, "counts");
	page_tile(&p, "Errors", unit_text(UNIT_EXACT, field_or_0(counts, "error"), text),
		  "targets");
	page_tile(&p, "Warnings", unit_text(UNIT_EXACT, field_or_0(counts, "warning"), text),
		  "targets");
	page_tile(&p, "Notes", unit_text(UNIT_EXACT, field_or_0(counts, "note"), text), "targets");
	page_tile(&p, "Healthy", unit_text(UNIT_EXACT, field_or_0(counts, "ok"), text), "targets");
	page_tiles_end(&p);
	page_section(&p, "service", "Service");
	if (page_findings(&p, field_list(model, "service"), SIZE_MAX, false) == 0)
		html_element(&p.h, "p", "soft", "Nothing needs attention.");
	page_section_end(&p);
	page_section(&p, "unwell", "Targets that need attention");
	p.full = PAGE_ROOM;
	unwell(&p, targets);
	p.full = PAGE_FULL;
	page_section_end(&p);
	page_section(&p, "well", "Healthy targets");
	well(&p, targets, false);
	page_section_end(&p);
	if (field_or_0(counts, "unknown") > 0) {
		page_section(&p, "unknown", "Not fuzzed yet");
		well(&p, targets, true);
		page_section_end(&p);
	}
	page_more(&p, shown, field_or_0(model, "total"), "targets.html", "All targets");
	return page_end(&p);
}

/* --- all targets, in pages -------------------------------------------------------------- */

static void other_page(struct page *p, unsigned at, bool here)
{
	struct html *h = &p->h;
	char path[64], text[32];

	snprintf(path, sizeof(path), at > 1 ? "targets-%u.html" : "targets.html", at);
	snprintf(text, sizeof(text), "%u", at);
	html_text(h, " ");
	if (here)
		html_element(h, "b", NULL, text);
	else
		page_to(p, path, text);
}

static void other_pages(struct page *p, const json_t *model)
{
	double pages = field_or_0(model, "pages"), here = field_or_0(model, "page");
	struct html *h = &p->h;

	if (pages < 2)
		return;
	html_open(h, "nav");
	html_attr(h, "aria-label", "Pages of targets");
	html_open(h, "p");
	html_textf(h, "%zu of %.0f targets, by name. Pages:",
		   json_array_size(field_list(model, "targets")), field_or_0(model, "total"));
	for (unsigned at = 1; at <= PAGES_MAX && at <= pages; at++)
		other_page(p, at, at == here);
	html_close(h);
	html_close(h);
}

int page_targets(const json_t *model, struct buf *out, struct err *e)
{
	struct page_about about = {
	    .title = "Targets", .root = "", .model = model, .api = "api/v1/targets.json"};
	struct page p = page_begin(&about, out, e);
	const json_t *list = field_list(model, "targets");

	title(&p, "Targets", NULL);
	other_pages(&p, model);
	if (json_array_size(list) > 0)
		(void)page_targets_table(&p, list);
	else
		html_element(&p.h, "p", "soft", "None is known yet.");
	return page_end(&p);
}
