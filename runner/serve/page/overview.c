/* SPDX-License-Identifier: Apache-2.0 */
/* The overview: health, the living run, growth of coverage, cost of each target, crashes, and
 * findings with advice. */
#include "runner/serve/internal.h"
#include "runner/serve/page/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FINDINGS_SHOWN = 8, RUNS_SHOWN = 10, CRASHES_SHOWN = 10 };

static void verdict_title(struct page *p, const char *severity, double bad, double all)
{
	struct html *h = &p->h;

	html_open(h, "h1");
	if (!severity)
		html_text(h, "Nothing has been fuzzed yet");
	else if (strcmp(severity, "ok") == 0 || strcmp(severity, "note") == 0)
		html_text(h, "Fuzzing is healthy");
	else if (bad > 0)
		html_textf(h, "%.0f of %.0f targets need attention", bad, fmax(all, bad));
	else
		html_text(h, "fuzzcell needs attention");
	html_close(h);
}

static void page_overview_live_line(struct page *p, const json_t *live)
{
	struct html *h = &p->h;

	html_text(h, "Run ");
	page_link(p, live, field_text(live, "run"));
	html_textf(h, field_true(live, "paused") ? " is paused since it began "
						 : " has been going for ");
	page_number(p, UNIT_SECONDS, live, "elapsed_seconds");
	if (field_or_0(live, "total_seconds") > 0) {
		html_text(h, " of ");
		page_number(p, UNIT_SECONDS, live, "total_seconds");
	}
	html_textf(h, ", busy workers: %.0f of %.0f", field_or_0(live, "running"),
		   field_or_0(live, "workers"));
}

static void idle_line(struct page *p, const json_t *last)
{
	const char *status = field_text(last, "status");

	if (!last) {
		html_text(&p->h, "No run has ended here, fuzzcell run starts one");
		return;
	}
	html_text(&p->h, "No run is going. The last one, ");
	page_link(p, last, field_text(last, "run"));
	if (status && strcmp(status, "lost") == 0) {
		html_text(&p->h, ", did not come to its end");
		return;
	}
	html_text(&p->h, ", ended ");
	page_time(p, field_text(last, "ended"));
}

static void page_overview_verdict(struct page *p, const json_t *m)
{
	const json_t *health = field_object(m, "health"), *counts = field_object(health, "counts");
	const json_t *live = field_object(m, "live");
	const char *severity = field_text(health, "severity");
	double bad = field_or_0(counts, "warning") + field_or_0(counts, "error");
	double well = field_or_0(counts, "ok") + field_or_0(counts, "note");
	double unknown = field_or_0(counts, "unknown");
	static const char *const known[] = {"ok", "note", "warning", "error"};
	struct html *h = &p->h;

	/* Findings of the service are shown also before any target is known. */
	if (well == 0 && bad == 0 && (!severity || strcmp(severity, "ok") == 0))
		severity = NULL;
	html_open(h, "div");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (severity && strcmp(severity, known[i]) == 0)
			html_attrf(h, "class", "verdict %s", known[i]);
	if (!severity)
		html_attr(h, "class", "verdict");
	html_attr(h, "id", "verdict");
	html_flag(h, "data-part");
	verdict_title(p, severity, bad, field_or_0(m, "targets_total"));
	html_open(h, "p");
	html_textf(h, "Targets: %.0f with errors, %.0f with warnings, %.0f healthy",
		   field_or_0(counts, "error"), field_or_0(counts, "warning"), well);
	if (unknown > 0)
		html_textf(h, ", %.0f not fuzzed yet", unknown);
	html_text(h, ". ");
	if (live)
		page_overview_live_line(p, live);
	else
		idle_line(p, json_array_get(field_list(m, "runs"), 0));
	html_text(h, ".");
	html_close(h);
	html_close(h);
}

static void crash_tile(struct page *p, const json_t *counts)
{
	char text[UNIT_TEXT], below[96];
	double fresh = field_or_0(counts, "new"), back = field_or_0(counts, "regressed");

	snprintf(below, sizeof(below), "%.0f new, %.0f came back", fresh, back);
	page_tile(
	    p, "Open crashes",
	    unit_text(UNIT_EXACT,
		      fresh + back + field_or_0(counts, "known") + field_or_0(counts, "flaky"),
		      text),
	    below);
}

static void outbox_tile(struct page *p, const json_t *outbox)
{
	const char *oldest = field_text(outbox, "oldest");
	char text[UNIT_TEXT], below[64];

	if (oldest)
		snprintf(below, sizeof(below), "since %.10s", oldest);
	page_tile(p, "Pending notifications",
		  unit_text(UNIT_EXACT, field_or_0(outbox, "pending"), text),
		  oldest ? below : "nothing waits");
}

/* Only with several machines. */
static void round_tile(struct page *p, const json_t *round)
{
	char title[40], value[2 * UNIT_TEXT], below[80], text[3][UNIT_TEXT];

	if (!round)
		return;
	snprintf(title, sizeof(title), "Shards of round %s",
		 unit_text(UNIT_EXACT, field_or_0(round, "round"), text[0]));
	snprintf(value, sizeof(value), "%s/%s",
		 unit_text(UNIT_EXACT, field_or_0(round, "ended"), text[0]),
		 unit_text(UNIT_EXACT, field_or_0(round, "shards"), text[1]));
	snprintf(below, sizeof(below), "have ended, on %s machines",
		 unit_text(UNIT_EXACT, field_or_0(round, "nodes"), text[2]));
	page_tile(p, title, value, below);
}

static void page_overview_tiles(struct page *p, const json_t *m)
{
	const json_t *live = field_object(m, "live");
	const json_t *run = live ? live : json_array_get(field_list(m, "runs"), 0);
	const char *when = live ? "in this run" : "in the last run";
	char fuzzed[UNIT_TEXT], text[UNIT_TEXT];
	double n;

	page_tiles(p, "now");
	page_tile_of(p, "Targets", m, "targets_total", UNIT_EXACT,
		     field_number(run, "fuzzed", &n)
			 ? (snprintf(fuzzed, sizeof(fuzzed), "%s fuzzed %s",
				     unit_text(UNIT_EXACT, n, text), when),
			    fuzzed)
			 : NULL);
	page_tile_of(p, "New inputs", run, "new_inputs", UNIT_EXACT, when);
	page_tile_of(p, "Executions", run, "execs", UNIT_COUNT, when);
	page_tile_of(p, "CPU time", run, "cpu_seconds", UNIT_SECONDS, when);
	crash_tile(p, field_object(m, "crash_counts"));
	page_tile_of(p, "Runs", m, "runs_total", UNIT_EXACT, "in the history");
	outbox_tile(p, field_object(m, "outbox"));
	round_tile(p, field_object(m, "round"));
	page_tiles_end(p);
	if (field_object(m, "round")) {
		html_open(&p->h, "p");
		page_to(p, "rounds.html", "All rounds");
		html_close(&p->h);
	}
}

static void page_overview_findings(struct page *p, const json_t *health)
{
	const json_t *list = field_list(health, "findings");
	size_t n = json_array_size(list);

	html_open(&p->h, "div");
	html_attr(&p->h, "id", "attention");
	html_flag(&p->h, "data-part");
	if (n > 0) {
		page_section(p, "look", "What needs attention");
		(void)page_findings(p, list, FINDINGS_SHOWN, true);
		page_more(p, n < FINDINGS_SHOWN ? n : FINDINGS_SHOWN, field_or_0(health, "total"),
			  "health.html", "All findings");
		page_section_end(p);
	}
	html_close(&p->h);
}

static json_t *beginning(const json_t *list, size_t max)
{
	json_t *out = json_array();

	for (size_t i = 0; out && i < json_array_size(list) && i < max; i++)
		json_array_append(out, json_array_get(list, i));
	return out;
}

static void page_overview_lists(struct page *p, const json_t *m)
{
	_autojson_ json_t *crashes = beginning(field_list(m, "crashes"), CRASHES_SHOWN);
	_autojson_ json_t *runs = beginning(field_list(m, "runs"), RUNS_SHOWN);
	const json_t *targets = field_list(m, "targets");
	size_t n;

	page_section(p, "all", "Targets");
	p->full = PAGE_ROOM;
	n = page_targets_table(p, targets);
	p->full = PAGE_FULL;
	page_more(p, n, field_or_0(m, "targets_total"), "targets.html", "All targets");
	page_section_end(p);
	page_section(p, "found", "Crashes");
	n = 0;
	if (json_array_size(crashes) > 0)
		n = page_crashes_table(p, "crashes", crashes);
	else
		html_element(&p->h, "p", "soft", "None was found yet.");
	page_more(p, n, field_or_0(m, "crashes_total"), "crashes.html", "All crashes");
	page_section_end(p);
	page_coverage(p, field_object(m, "coverage"));
	page_section(p, "last", "Last runs");
	n = 0;
	if (json_array_size(runs) > 0)
		n = page_runs_table(p, "runs", runs);
	else
		html_element(&p->h, "p", "soft", "None has ended yet.");
	page_more(p, n, field_or_0(m, "runs_total"), "runs.html", "All runs");
	page_section_end(p);
}

int page_overview(const json_t *model, struct buf *out, struct err *e)
{
	struct page_about about = {.title = "Overview",
				   .here = "Overview",
				   .root = "",
				   .model = model,
				   .api = "api/v1/overview.json",
				   .live = field_object(model, "live") != NULL};
	struct page p = page_begin(&about, out, e);

	page_overview_verdict(&p, model);
	page_overview_tiles(&p, model);
	page_overview_findings(&p, field_object(model, "health"));
	page_overview_lists(&p, model);
	return page_end(&p);
}
