/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of targets, crashes and runs, and the pages that list them. */
#include "runner/serve/page/page.h"

#include "runner/serve/internal.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS(c) (c), sizeof(c) / sizeof((c)[0])

static void cell_link(struct page *p, const json_t *o, const char *text)
{
	html_begin(&p->h, "th", "text");
	html_attr(&p->h, "scope", "row");
	page_link(p, o, text);
	html_close(&p->h);
}

/* --- tables of targets ---------------------------------------------------- */

static void edges_cell(struct page *p, const json_t *t)
{
	struct html *h = &p->h;
	double cov = 0, edges;

	html_begin(h, "td", "n");
	if (field_number(t, "cov", &cov))
		html_attrf(h, "data-value", "%.15g", cov);
	page_number(p, UNIT_EXACT, t, "cov");
	if (field_number(t, "edges", &edges) && edges > 0) {
		html_begin(h, "span", "soft small");
		html_textf(h, " / %.0f", edges);
		html_close(h);
	}
	html_close(h);
}

static void trend_cell(struct page *p, const json_t *t)
{
	html_open(&p->h, "td");
	page_spark(p, field_list(t, "trend"));
	html_close(&p->h);
}

static void memory_cell(struct page *p, const json_t *t)
{
	const char *key = json_object_get(t, "memory_bytes") ? "memory_bytes" : "memory_peak_bytes";
	struct html *h = &p->h;
	double now, limit;

	html_begin(h, "td", "n");
	if (field_number(t, key, &now))
		html_attrf(h, "data-value", "%.15g", now);
	page_number(p, UNIT_BYTES, t, key);
	if (field_number(t, "memory_limit_bytes", &limit) && limit > 0) {
		html_begin(h, "span", "soft small");
		html_text(h, " / ");
		page_number(p, UNIT_BYTES, t, "memory_limit_bytes");
		html_close(h);
		page_meter(p, field_or_0(t, key) / limit);
	}
	html_close(h);
}

static void new_inputs(struct page *p, const json_t *t)
{
	double n = field_or_0(t, "new_inputs");

	html_begin(&p->h, "td", "n");
	html_attrf(&p->h, "data-value", "%.15g", n);
	if (n > 0)
		html_textf(&p->h, "+%.0f", n);
	else
		page_none(p);
	html_close(&p->h);
}

/* The present state: "fuzzing", or why it ended. */
static void state_cell(struct page *p, const json_t *t)
{
	const char *state = field_text(t, "state"), *reason = field_text(t, "reason");

	html_begin(&p->h, "td", "state");
	if (field_true(t, "live"))
		page_badge(p, state && strcmp(state, "fuzzing") == 0 ? "ok" : NULL,
			   state ? state : "live");
	else if (reason)
		html_text(&p->h, reason);
	else
		page_none(p);
	html_close(&p->h);
}

static void open_crashes(struct page *p, const json_t *t)
{
	double n = field_or_0(t, "crashes_open");

	html_begin(&p->h, "td", "n");
	html_attrf(&p->h, "data-value", "%.15g", n);
	if (n > 0)
		html_textf(&p->h, "%.0f", n);
	else
		page_none(p);
	html_close(&p->h);
}

static void lists_target_row(struct page *p, const json_t *t)
{
	html_open(&p->h, "tr");
	cell_link(p, t, field_text(t, "name"));
	html_open(&p->h, "td");
	page_verdict(p, field_object(t, "health"));
	html_close(&p->h);
	open_crashes(p, t);
	state_cell(p, t);
	edges_cell(p, t);
	new_inputs(p, t);
	page_cell_number(p, UNIT_COUNT, t, "execs_per_cpu_second");
	page_cell_time(p, field_text(t, "last_fuzzed"));
	trend_cell(p, t);
	page_cell_number(p, UNIT_EXACT, t, "corpus_units");
	memory_cell(p, t);
	page_cell_number(p, UNIT_SECONDS, t, "cpu_seconds");
	page_cell_number(p, UNIT_EXACT, t, "failures_total");
	html_close(&p->h);
}

size_t page_targets_table(struct page *p, const json_t *targets)
{
	static const struct column columns[] = {
	    /* A phone shows the first ones. */
	    {"Target", false, NULL},
	    {"Health", false, NULL},
	    {"Crashes", true, "open, of all runs"},
	    {"State", false, "now, or why its last fuzzing ended"},
	    {"Edges", true, "reached, of all in the binary"},
	    {"New inputs", true, "that the run added to the corpus"},
	    {"Execs per CPU-s", true, "executions in a second of CPU time"},
	    {"Last fuzzed", false, NULL},
	    {"Over runs", false, "edges reached, from run to run"},
	    {"Inputs", true, "in the corpus"},
	    {"Memory", true, "now, or the peak; its limit"},
	    {"CPU time", true, "in the run"},
	    {"Failures", true, "crashes, timeouts and so on in the run"},
	};
	size_t i = 0;

	page_table(p, "targets", "Targets", COLUMNS(columns));
	for (; i < json_array_size(targets) && !page_is_full(p); i++)
		lists_target_row(p, json_array_get(targets, i));
	page_table_end(p);
	return i;
}

/* --- tables of crashes ---------------------------------------------------- */

static const char *state_severity(const char *state)
{
	static const char *const names[][2] = {{"new", "error"},
					       {"regressed", "error"},
					       {"known", "warning"},
					       {"flaky", "note"},
					       {"fixed", "ok"}};

	for (size_t i = 0; state && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(state, names[i][0]) == 0)
			return names[i][1];
	return NULL;
}

static void crash_name(struct page *p, const json_t *c)
{
	const char *type = field_text(c, "crash_type"), *frame = field_text(c, "top_frame");
	struct html *h = &p->h;

	html_begin(h, "th", "text");
	html_attr(h, "scope", "row");
	html_open(h, "a");
	html_href(h, p->root, field_text(c, "href"));
	html_text(h, type ? type : field_text(c, "signature"));
	if (frame) {
		html_text(h, " in ");
		html_element(h, "code", NULL, frame);
	}
	html_close(h);
	if (field_or_0(c, "variants") > 1)
		html_textf(h, " (%.0f variants)", field_or_0(c, "variants"));
	html_close(h);
}

static void crash_marks(struct page *p, const json_t *c)
{
	const char *state = field_text(c, "state");

	html_begin(&p->h, "td", "nowrap");
	page_badge(p, state_severity(state), state ? state : "unknown");
	if (field_true(c, "security")) {
		html_text(&p->h, " ");
		page_badge(p, "error", "security");
	}
	html_close(&p->h);
}

static void crash_target(struct page *p, const json_t *c)
{
	double more = field_or_0(c, "targets") - 1;
	struct html *h = &p->h;

	html_begin(h, "td", "text");
	html_open(h, "a");
	html_href(h, p->root, field_text(c, "target_href"));
	html_text(h, field_text(c, "target"));
	if (more > 0)
		html_textf(h, " and %.0f more", more);
	html_close(h);
	html_close(h);
}

static void crash_rate(struct page *p, const json_t *c)
{
	double tries = field_or_0(c, "tries"), hits = field_or_0(c, "hits");

	html_begin(&p->h, "td", "n");
	if (tries > 0) {
		html_attrf(&p->h, "data-value", "%.4f", hits / tries);
		html_textf(&p->h, "%.0f of %.0f", hits, tries);
	} else {
		page_none(p);
	}
	html_close(&p->h);
}

static void crash_issue(struct page *p, const json_t *c)
{
	html_begin(&p->h, "td", "nowrap");
	page_issue(p, field_text(c, "issue_url"), false);
	html_close(&p->h);
}

size_t page_crashes_table(struct page *p, const char *id, const json_t *crashes)
{
	static const struct column columns[] = {
	    {"Crash", false, NULL},
	    {"State", false, NULL},
	    {"Target", false, NULL},
	    {"Seen", true, "how often"},
	    {"Reproduces", true, "of replays"},
	    {"First seen", false, NULL},
	    {"Last seen", false, NULL},
	    {"Issue", false, NULL},
	};
	size_t i = 0;

	page_table(p, id, "Crashes", COLUMNS(columns));
	for (; i < json_array_size(crashes) && !page_is_full(p); i++) {
		const json_t *c = json_array_get(crashes, i);

		html_open(&p->h, "tr");
		crash_name(p, c);
		crash_marks(p, c);
		crash_target(p, c);
		page_cell_number(p, UNIT_EXACT, c, "count");
		crash_rate(p, c);
		page_cell_time(p, field_text(c, "first_seen"));
		page_cell_time(p, field_text(c, "last_seen"));
		crash_issue(p, c);
		html_close(&p->h);
	}
	page_table_end(p);
	return i;
}

/* --- tables of runs ------------------------------------------------------- */

static void run_status(struct page *p, const json_t *r)
{
	const char *status = field_text(r, "status");
	bool lost = status && strcmp(status, "lost") == 0;

	html_open(&p->h, "td");
	if (field_true(r, "live") || lost)
		page_badge(p, lost ? "warning" : "ok", status ? status : "running");
	else
		html_text(&p->h, status);
	html_close(&p->h);
}

static void lists_run_row(struct page *p, const json_t *r)
{
	struct html *h = &p->h;

	html_open(h, "tr");
	html_begin(h, "th", "nowrap");
	html_attr(h, "scope", "row");
	page_link(p, r, field_text(r, "run"));
	html_close(h);
	run_status(p, r);
	page_cell_number(p, UNIT_EXACT, r, "new_crashes");
	html_open(h, "td");
	page_commit(p, field_text(r, "commit"));
	html_close(h);
	page_cell_time(p, field_text(r, "started"));
	page_cell_number(p, UNIT_SECONDS, r, "elapsed_seconds");
	page_cell_number(p, UNIT_EXACT, r, "targets");
	page_cell_number(p, UNIT_EXACT, r, "given_up");
	page_cell_number(p, UNIT_EXACT, r, "not_fuzzed");
	page_cell_number(p, UNIT_EXACT, r, "new_inputs");
	page_cell_number(p, UNIT_EXACT, r, "failures");
	page_cell_number(p, UNIT_COUNT, r, "execs");
	page_cell_number(p, UNIT_SECONDS, r, "cpu_seconds");
	html_close(h);
}

size_t page_runs_table(struct page *p, const char *id, const json_t *runs)
{
	static const struct column columns[] = {
	    {"Run", false, NULL},
	    {"Status", false, NULL},
	    {"New crashes", true, NULL},
	    {"Commit", false, NULL},
	    {"Started", false, NULL},
	    {"Wall time", true, "from start to end"},
	    {"Targets", true, NULL},
	    {"Given up", true, "targets that were fuzzed, then given up for their failures"},
	    {"Not fuzzed", true, "targets that do not count as fuzzed"},
	    {"New inputs", true, NULL},
	    {"Failures", true, NULL},
	    {"Executions", true, NULL},
	    {"CPU time", true, "of all targets"},
	};
	size_t i = 0;

	page_table(p, id, "Runs", COLUMNS(columns));
	for (; i < json_array_size(runs) && !page_is_full(p); i++)
		lists_run_row(p, json_array_get(runs, i));
	page_table_end(p);
	return i;
}

/* --- the pages of crashes, runs and health -------------------------------- */

enum { HEALTH_SHOWN = 400, FINDINGS_ALL = 320, PAGES_MAX = 1000 };

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

	page_title(&p, "Crashes", "What failed, once for each cause. Open ones come first.");
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

	page_title(&p, "Runs", "The newest first.");
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

	page_title(&p, "Health",
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

	page_title(&p, "Targets", NULL);
	other_pages(&p, model);
	if (json_array_size(list) > 0)
		(void)page_targets_table(&p, list);
	else
		html_element(&p.h, "p", "soft", "None is known yet.");
	return page_end(&p);
}
