/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that several pages share. */
#include "runner/serve/page/page.h"

#include <string.h>

#define COLUMNS(c) (c), sizeof(c) / sizeof((c)[0])

static void cell_link(struct page *p, const json_t *o, const char *text)
{
	html_begin(&p->h, "th", "text");
	html_attr(&p->h, "scope", "row");
	page_link(p, o, text);
	html_close(&p->h);
}

/* --- targets --------------------------------------------------------------------- */

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

static void page_tables_target_row(struct page *p, const json_t *t)
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
		page_tables_target_row(p, json_array_get(targets, i));
	page_table_end(p);
	return i;
}

/* --- crashes --------------------------------------------------------------------------- */

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
	    {"Crash", false, NULL},	      {"State", false, NULL},
	    {"Target", false, NULL},	      {"Seen", true, "how often"},
	    {"Reproduces", true, "of tries"}, {"First seen", false, NULL},
	    {"Last seen", false, NULL},	      {"Issue", false, NULL},
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

/* --- runs ---------------------------------------------------------------------------------- */

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

static void page_tables_run_row(struct page *p, const json_t *r)
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
		page_tables_run_row(p, json_array_get(runs, i));
	page_table_end(p);
	return i;
}
