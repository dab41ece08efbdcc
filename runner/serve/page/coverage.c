/* SPDX-License-Identifier: Apache-2.0 */
/* The section of source coverage in a page. */
#include "runner/serve/page/page.h"

#include <stdio.h>

/* "4120 of 9003" */
static void coverage_tile(struct page *p, const char *name, const json_t *totals, const char *key)
{
	const json_t *m = field_object(totals, key);
	double count = field_or_0(m, "count"), covered = field_or_0(m, "covered");
	char share[UNIT_TEXT], below[64];

	if (count <= 0)
		return;
	snprintf(below, sizeof(below), "%.0f of %.0f", covered, count);
	page_tile(p, name, unit_text(UNIT_SHARE, covered / count, share), below);
}

static void coverage_blocker(struct page *p, const json_t *b)
{
	struct html *h = &p->h;

	html_open(h, "tr");
	page_cell_number(p, UNIT_EXACT, b, "lines");
	page_cell_number(p, UNIT_EXACT, b, "functions");
	page_cell_text(p, field_text(b, "function"));
	html_open(h, "td");
	if (field_text(b, "source"))
		html_element(h, "code", NULL, field_text(b, "source"));
	else
		page_none(p);
	html_close(h);
	page_cell_text(p, field_true(b, "missing") ? "never true" : "never false");
	page_cell_number(p, UNIT_COUNT, b, "evaluated");
	html_open(h, "td");
	html_text(h, field_text(b, "path") ? field_text(b, "path") : "");
	html_textf(h, ":%.0f", field_or_0(b, "line"));
	html_close(h);
	html_close(h);
}

static void coverage_blockers(struct page *p, const json_t *list)
{
	static const struct column columns[] = {
	    {"Lines", true, "not reached, behind the condition"},
	    {"Functions", true, "not reached, behind the condition"},
	    {"In", false, NULL},
	    {"Condition", false, NULL},
	    {"Is", false, NULL},
	    {"Evaluations", true, NULL},
	    {"At", false, NULL},
	};

	if (json_array_size(list) == 0)
		return;
	page_table(p, "blockers", "What stands in the way of lines that were not reached", columns,
		   sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < json_array_size(list) && !page_is_full(p); i++)
		coverage_blocker(p, json_array_get(list, i));
	page_table_end(p);
}

static void coverage_functions(struct page *p, const json_t *m, const char *number,
			       const char *names, const char *what)
{
	const json_t *list = field_list(m, names);
	double n = field_or_0(m, number);

	if (n < 1)
		return;
	html_open(&p->h, "p");
	html_textf(&p->h, "%s (%.0f): ", what, n);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = field_text(json_array_get(list, i), "function");

		html_text(&p->h, i ? ", " : "");
		html_element(&p->h, "code", NULL, name ? name : "?");
	}
	html_text(&p->h, n > (double)json_array_size(list) ? ", ..." : "");
	html_close(&p->h);
}

void page_coverage(struct page *p, const json_t *coverage)
{
	static const char *const measures[][2] = {{"Lines", "lines"},
						  {"Functions", "functions"},
						  {"Regions", "regions"},
						  {"Branches", "branches"}};

	if (!coverage)
		return;
	page_section(p, "source", "Source coverage");
	html_open(&p->h, "p");
	html_text(&p->h, "Of ");
	page_time(p, field_text(coverage, "time"));
	html_text(&p->h, ", commit ");
	page_commit(p, field_text(coverage, "commit"));
	html_text(&p->h, ". ");
	if (field_text(coverage, "href"))
		page_link(p, coverage, "Line by line");
	html_text(&p->h, " ");
	page_spark(p, field_list(coverage, "trend"));
	html_close(&p->h);
	page_tiles(p, "source-now");
	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++)
		coverage_tile(p, measures[i][0], field_object(coverage, "totals"), measures[i][1]);
	page_tiles_end(p);
	coverage_functions(p, coverage, "no_longer_reached", "lost",
			   "Functions that are no longer reached");
	coverage_functions(p, coverage, "newly_reached", "newly", "Newly reached functions");
	coverage_blockers(p, field_list(coverage, "blockers"));
	page_section_end(p);
}
