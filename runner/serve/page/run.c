/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a run. */
#include "runner/serve/internal.h"
#include "runner/serve/page/page.h"

#include <stdio.h>
#include <string.h>

enum { CRASHES_FULL = 90 << 10 };

static void page_run_heading(struct page *p, const json_t *m, const json_t *row)
{
	const char *status = field_text(row, "status"), *version = field_text(m, "version");
	struct html *h = &p->h;

	html_open(h, "h1");
	html_textf(h, "Run %s ", field_text(row, "run") ? field_text(row, "run") : "");
	page_badge(p, field_true(row, "live") ? "ok" : NULL, status ? status : "unknown");
	html_close(h);
	html_begin(h, "p", "lead");
	page_time(p, field_text(row, "started"));
	html_text(h, " to ");
	page_time(p, field_text(row, "ended"));
	html_text(h, ", commit ");
	page_commit(p, field_text(row, "commit"));
	if (version)
		html_textf(h, ", fuzzcell %s", version);
	if (field_text(m, "cgroup_layout"))
		html_textf(h, " on the %s cgroup layout", field_text(m, "cgroup_layout"));
	html_close(h);
}

static bool page_run_is(const char *status, const char *which)
{
	return status && strcmp(status, which) == 0;
}

/* Why the page shows less than for other runs; NULL: it does not. */
static const char *why_less(const json_t *m, const json_t *row)
{
	const char *status = field_text(row, "status");

	if (field_text(m, "problem"))
		return "Its summary is damaged: ";
	if (page_run_is(status, "lost") || page_run_is(status, "unfinished"))
		return "It did not come to its end.";
	if (page_run_is(status, "running") && !field_true(row, "live"))
		return "It lives, but does not answer now.";
	return NULL;
}

static void page_run_rest(struct page *p, const json_t *m, const json_t *row)
{
	const char *why = why_less(m, row);

	if (!why)
		return;
	html_begin(&p->h, "div", "verdict warning");
	html_open(&p->h, "p");
	html_text(&p->h, why);
	if (field_text(m, "problem"))
		html_text(&p->h, field_text(m, "problem"));
	html_text(&p->h, " The page shows its line in the history and its curves.");
	html_close(&p->h);
	html_close(&p->h);
}

static void page_run_tiles(struct page *p, const json_t *m, const json_t *row)
{
	char below[64], own[64], text[UNIT_TEXT];
	double n;

	*below = '\0';
	if (field_number(row, "not_fuzzed", &n))
		snprintf(below, sizeof(below), "%.0f not fuzzed", n);
	if (*below && field_number(row, "given_up", &n) && n > 0)
		snprintf(below + strlen(below), sizeof(below) - strlen(below), ", %.0f given up",
			 n);
	if (field_number(m, "own_cpu_seconds", &n))
		snprintf(own, sizeof(own), "fuzzcell itself %s", unit_text(UNIT_SECONDS, n, text));
	else
		*own = '\0';
	page_tiles(p, "now");
	page_tile_of(p, "Wall time", row, "elapsed_seconds", UNIT_SECONDS, NULL);
	page_tile_of(p, "Targets", row, "targets", UNIT_EXACT, *below ? below : NULL);
	page_tile_of(p, "Workers", row, "workers", UNIT_EXACT, NULL);
	page_tile_of(p, "Executions", row, "execs", UNIT_COUNT, NULL);
	page_tile_of(p, "CPU time", row, "cpu_seconds", UNIT_SECONDS, *own ? own : NULL);
	page_tile_of(p, "New inputs", row, "new_inputs", UNIT_EXACT, NULL);
	page_tile_of(p, "Failures", row, "failures", UNIT_EXACT, NULL);
	page_tile_of(p, "New crashes", row, "new_crashes", UNIT_EXACT, NULL);
	page_tiles_end(p);
}

static void crash_row(struct page *p, const json_t *c)
{
	const char *state = field_text(c, "state"), *what = field_text(c, "what");
	struct html *h = &p->h;

	html_open(h, "tr");
	html_begin(h, "th", "text");
	html_attr(h, "scope", "row");
	page_link(p, c, what ? what : field_text(c, "signature"));
	html_close(h);
	html_begin(h, "td", "nowrap");
	page_badge(p, NULL, state ? state : "unknown");
	if (field_true(c, "security")) {
		html_text(h, " ");
		page_badge(p, "error", "security");
	}
	html_close(h);
	page_cell_text(p, field_text(c, "target"));
	page_cell_number(p, UNIT_EXACT, c, "count");
	html_close(h);
}

static void page_run_crashes(struct page *p, const json_t *list, bool lost)
{
	static const struct column columns[] = {
	    {"Crash", false, NULL},
	    {"State", false, "at the end of the run"},
	    {"Target", false, NULL},
	    {"Seen", true, "in this run"},
	};
	size_t i = 0;

	page_section(p, "found", "Crashes");
	if (json_array_size(list) > 0) {
		page_table(p, "crashes", "Crashes of this run", columns,
			   sizeof(columns) / sizeof(columns[0]));
		for (; i < json_array_size(list) && !page_is_full(p); i++)
			crash_row(p, json_array_get(list, i));
		page_table_end(p);
		page_more(p, i, (double)json_array_size(list), NULL, NULL);
	} else {
		html_element(&p->h, "p", "soft", lost ? "Not known." : "None.");
	}
	page_section_end(p);
}

static void page_run_target_row(struct page *p, const json_t *t)
{
	/* In a living run: it may still get its turn. */
	bool waits = json_is_false(json_object_get(t, "done"));
	struct html *h = &p->h;

	html_open(h, "tr");
	html_begin(h, "th", "text");
	html_attr(h, "scope", "row");
	page_link(p, t, field_text(t, "name"));
	html_close(h);
	html_begin(h, "td", "text");
	if (json_is_false(json_object_get(t, "fuzzed")) && !waits) {
		page_badge(p, "warning", "not fuzzed");
		html_text(h, " ");
	}
	if (field_true(t, "given_up")) {
		page_badge(p, "warning", "given up");
		html_text(h, " ");
	}
	html_text(h, waits ? field_text(t, "state") : field_text(t, "reason"));
	if (field_text(t, "note")) {
		html_begin(h, "span", "soft small");
		html_textf(h, " %s", field_text(t, "note"));
		html_close(h);
	}
	html_close(h);
	page_cell_number(p, UNIT_EXACT, t, "failures_total");
	page_cell_number(p, UNIT_EXACT, t, "new_inputs");
	page_cell_number(p, UNIT_EXACT, t, "cov");
	page_cell_number(p, UNIT_EXACT, t, "ft");
	page_cell_number(p, UNIT_COUNT, t, "execs_per_cpu_second");
	page_cell_number(p, UNIT_COUNT, t, "execs");
	page_cell_number(p, UNIT_SECONDS, t, "cpu_seconds");
	page_cell_number(p, UNIT_SECONDS, t, "wall_seconds");
	page_cell_number(p, UNIT_EXACT, t, "corpus_units");
	page_cell_number(p, UNIT_BYTES, t, "memory_peak_bytes");
	html_close(h);
}

static void page_run_targets(struct page *p, const json_t *m)
{
	static const struct column columns[] = {
	    {"Target", false, NULL},
	    {"Ended", false, "why, and notes for the user"},
	    {"Failures", true, NULL},
	    {"New inputs", true, NULL},
	    {"Edges", true, NULL},
	    {"Features", true, NULL},
	    {"Execs per CPU-s", true, "executions in a second of CPU time"},
	    {"Executions", true, NULL},
	    {"CPU time", true, NULL},
	    {"Wall time", true, NULL},
	    {"Inputs", true, "in the corpus"},
	    {"Memory peak", true, NULL},
	};
	const json_t *list = field_list(m, "targets");
	size_t i = 0;

	page_section(p, "all", "Targets");
	page_table(p, "targets", "Targets of this run", columns,
		   sizeof(columns) / sizeof(columns[0]));
	for (; i < json_array_size(list) && !page_is_full(p); i++)
		page_run_target_row(p, json_array_get(list, i));
	page_table_end(p);
	page_more(p, i, field_or_0(m, "total"), NULL, NULL);
	page_section_end(p);
}

int page_run(const json_t *model, struct buf *out, struct err *e)
{
	const json_t *row = field_object(model, "row");
	const char *run = field_text(row, "run");
	struct page_about about = {.title = run ? run : "Run",
				   .root = "../",
				   .model = model,
				   .api = field_text(row, "api"),
				   .live = field_true(row, "live")};
	struct page p = page_begin(&about, out, e);

	page_run_heading(&p, model, row);
	page_run_rest(&p, model, row);
	page_run_tiles(&p, model, row);
	p.full = CRASHES_FULL;
	page_run_crashes(&p, field_list(model, "crashes"), why_less(model, row) != NULL);
	p.full = PAGE_FULL;
	page_run_targets(&p, model);
	return page_end(&p);
}
