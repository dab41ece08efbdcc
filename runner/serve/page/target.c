/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a target. */
#include "runner/serve/internal.h"
#include "runner/serve/page/page.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>

static void page_target_heading(struct page *p, const json_t *m, const json_t *row)
{
	const char *state = field_text(row, "state"), *reason = field_text(row, "reason");
	bool live = field_true(row, "live");
	struct html *h = &p->h;

	html_open(h, "h1");
	html_text(h, field_text(m, "name"));
	html_text(h, " ");
	page_verdict(p, field_object(row, "health"));
	html_close(h);
	html_begin(h, "p", "lead");
	html_attr(h, "id", "state");
	html_flag(h, "data-part");
	if (live)
		html_textf(h, "Now: %s", state ? state : "in the living run");
	else if (reason)
		html_textf(h, "Its last fuzzing ended: %s", reason);
	else
		html_text(h, "Nothing is known about its fuzzing");
	html_text(h, ". Last fuzzed ");
	page_time(p, field_text(row, "last_fuzzed"));
	html_text(h, ", commit ");
	page_commit(p, field_text(row, "commit"));
	html_text(h, ".");
	html_close(h);
}

/* Writes "of 4000" to below. */
static const char *of(const json_t *row, const char *key, enum unit u, char below[64])
{
	char text[UNIT_TEXT];
	double v;

	if (!field_number(row, key, &v) || v <= 0)
		return NULL;
	snprintf(below, 64, "of %s", unit_text(u, v, text));
	return below;
}

static void page_target_tiles(struct page *p, const json_t *row)
{
	bool now = json_object_get(row, "memory_bytes") != NULL;
	char below[64], inputs[64];

	page_tiles(p, "now");
	page_tile_of(p, "Edges", row, "cov", UNIT_EXACT, of(row, "edges", UNIT_EXACT, below));
	page_tile_of(p, "Features", row, "ft", UNIT_EXACT, NULL);
	snprintf(inputs, sizeof(inputs), "%.0f new", field_or_0(row, "new_inputs"));
	page_tile_of(p, "Corpus", row, "corpus_units", UNIT_EXACT, inputs);
	page_tile_of(p, "Executions", row, "execs", UNIT_COUNT, NULL);
	page_tile_of(p, "Execs per CPU-s", row, "execs_per_cpu_second", UNIT_COUNT,
		     "in a second of CPU time");
	page_tile_of(p, "CPU time", row, "cpu_seconds", UNIT_SECONDS, NULL);
	page_tile_of(p, now ? "Memory" : "Memory peak", row,
		     now ? "memory_bytes" : "memory_peak_bytes", UNIT_BYTES,
		     of(row, "memory_limit_bytes", UNIT_BYTES, below));
	page_tile_of(p, "Failures", row, "failures_total", UNIT_EXACT, NULL);
	page_tiles_end(p);
}

static void page_target_findings(struct page *p, const json_t *health)
{
	const json_t *list = field_list(health, "findings");

	html_open(&p->h, "div");
	html_attr(&p->h, "id", "attention");
	html_flag(&p->h, "data-part");
	if (json_array_size(list) > 0) {
		page_section(p, "look", "Health");
		(void)page_findings(p, list, SIZE_MAX, false);
		page_section_end(p);
	}
	html_close(&p->h);
}

static void curves(struct page *p, const json_t *m)
{
	const json_t *series = field_object(m, "series");
	const struct plot plots[] = {
	    {.title = "Coverage",
	     .columns = "cov ft",
	     .labels = "edges|features",
	     .units = "count count"},
	    {.title = "Corpus",
	     .columns = "corpus_units corpus_bytes",
	     .labels = "inputs|bytes",
	     .units = "count bytes"},
	    {.title = "Speed",
	     .columns = "execs/cpu_seconds",
	     .labels = "executions in a CPU-second",
	     .units = "count"},
	    {.title = "Memory",
	     .columns = "rss_bytes",
	     .labels = "in use",
	     .units = "bytes",
	     .limit = field_or_0(m, "memory_limit_bytes")},
	    {.title = "Pressure",
	     .columns = "pressure_cpu pressure_memory pressure_io",
	     .labels = "CPU|memory|I/O",
	     .units = "share",
	     .max = 1},
	    {.title = "CPU", .columns = "cpu_seconds/t", .labels = "CPUs used", .units = "number"},
	};

	page_section(p, "curves",
		     field_true(field_object(m, "row"), "live") ? "This run" : "Its newest run");
	if (series) {
		html_begin(&p->h, "div", "plots");
		for (size_t i = 0; i < sizeof(plots) / sizeof(plots[0]); i++)
			page_plot(p, &plots[i], series, "points");
		html_close(&p->h);
		page_points(p, "points", "The curves as a table", series);
	} else {
		html_element(&p->h, "p", "soft", "Its run kept no curves.");
	}
	page_section_end(p);
}

static void growth(struct page *p, const json_t *m)
{
	const json_t *series = field_object(m, "growth");
	static const struct plot plots[] = {
	    {.title = "Coverage",
	     .columns = "cov ft",
	     .labels = "edges|features",
	     .units = "count count",
	     .time = true},
	    {.title = "Corpus",
	     .columns = "corpus_units new_inputs",
	     .labels = "inputs|new in the run",
	     .units = "count count",
	     .time = true},
	    {.title = "Speed",
	     .columns = "execs_per_cpu_second",
	     .labels = "executions in a CPU-second",
	     .units = "count",
	     .time = true},
	};

	if (!series || field_or_0(series, "points") < 2)
		return;
	html_begin(&p->h, "div", "plots");
	for (size_t i = 0; i < sizeof(plots) / sizeof(plots[0]); i++)
		page_plot(p, &plots[i], series, "growth");
	html_close(&p->h);
	page_points(p, "growth", "These curves as a table", series);
}

static void page_target_run_row(struct page *p, const json_t *r)
{
	struct html *h = &p->h;

	html_open(h, "tr");
	html_begin(h, "th", "nowrap");
	html_attr(h, "scope", "row");
	page_link(p, r, field_text(r, "run"));
	html_close(h);
	page_cell_text(p, field_text(r, "reason"));
	page_cell_number(p, UNIT_EXACT, r, "failures_total");
	page_cell_number(p, UNIT_EXACT, r, "cov");
	page_cell_number(p, UNIT_EXACT, r, "new_inputs");
	html_open(h, "td");
	page_commit(p, field_text(r, "commit"));
	html_close(h);
	page_cell_time(p, field_text(r, "ended"));
	page_cell_number(p, UNIT_EXACT, r, "ft");
	page_cell_number(p, UNIT_EXACT, r, "corpus_units");
	page_cell_number(p, UNIT_COUNT, r, "execs_per_cpu_second");
	page_cell_number(p, UNIT_COUNT, r, "execs");
	page_cell_number(p, UNIT_SECONDS, r, "cpu_seconds");
	html_close(h);
}

static void page_target_runs(struct page *p, const json_t *m)
{
	static const struct column columns[] = {
	    {"Run", false, NULL},
	    {"Because", false, "why it ended"},
	    {"Failures", true, NULL},
	    {"Edges", true, NULL},
	    {"New inputs", true, NULL},
	    {"Commit", false, NULL},
	    {"Ended", false, NULL},
	    {"Features", true, NULL},
	    {"Inputs", true, "in the corpus"},
	    {"Execs per CPU-s", true, "executions in a second of CPU time"},
	    {"Executions", true, NULL},
	    {"CPU time", true, NULL},
	};
	const json_t *list = field_list(m, "runs");

	page_section(p, "history", "From run to run");
	growth(p, m);
	if (json_array_size(list) > 0) {
		page_table(p, "runs", "Runs of this target", columns,
			   sizeof(columns) / sizeof(columns[0]));
		for (size_t i = 0; i < json_array_size(list); i++)
			page_target_run_row(p, json_array_get(list, i));
		page_table_end(p);
	} else {
		html_element(&p->h, "p", "soft", "None has ended yet.");
	}
	page_section_end(p);
}

/* Shows any value of the model. */
static void page_target_value(struct page *p, const json_t *j)
{
	_autofree_ char *text = NULL;

	if (json_is_string(j)) {
		html_text(&p->h, json_string_value(j));
	} else if (json_is_null(j)) {
		page_none(p);
	} else if (p->h.r == 0) {
		p->h.r =
		    json_print(j, json_is_object(j) || json_is_array(j) ? 1 : 0, &text, p->h.e);
		if (p->h.r == 0)
			html_element(&p->h, "code", NULL, text);
	}
}

static void statistics(struct page *p, json_t *stats)
{
	const char *key;
	json_t *j;

	if (json_object_size(stats) == 0)
		return;
	html_open(&p->h, "details");
	html_element(&p->h, "summary", NULL, "All figures of its newest run");
	html_begin(&p->h, "dl", "facts");
	json_object_foreach(stats, key, j)
	{
		/* These have their own tables. */
		if (strcmp(key, "crashes") == 0 || strcmp(key, "artifacts") == 0)
			continue;
		page_fact(p, key);
		page_target_value(p, j);
		html_close(&p->h);
	}
	html_close(&p->h);
	html_close(&p->h);
}

int page_target(const json_t *model, struct buf *out, struct err *e)
{
	const json_t *row = field_object(model, "row"), *crashes = field_list(model, "crashes");
	const char *name = field_text(model, "name");
	struct page_about about = {.title = name ? name : "Target",
				   .root = "../",
				   .model = model,
				   .api = field_text(row, "api"),
				   .plots = true,
				   .live = field_true(row, "live")};
	struct page p = page_begin(&about, out, e);

	page_target_heading(&p, model, row);
	page_target_tiles(&p, row);
	page_target_findings(&p, field_object(model, "health"));
	curves(&p, model);
	page_section(&p, "found", "Crashes");
	p.full = PAGE_ROOM;
	if (json_array_size(crashes) > 0)
		(void)page_crashes_table(&p, "crashes", crashes);
	else
		html_element(&p.h, "p", "soft", "None was found yet.");
	page_more(&p, json_array_size(crashes), field_or_0(model, "crashes_total"), "crashes.html",
		  "All crashes");
	page_section_end(&p);
	page_coverage(&p, field_object(model, "coverage"));
	p.full = PAGE_FULL;
	page_target_runs(&p, model);
	statistics(&p, json_object_get(model, "stats"));
	return page_end(&p);
}
