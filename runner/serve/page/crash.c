/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a crash. */
#include "runner/serve/internal.h"
#include "runner/serve/page/page.h"

#include <stdio.h>
#include <string.h>

enum { LIST_SHOWN = 64 };

static void page_crash_heading(struct page *p, const json_t *m, const json_t *row)
{
	const char *type = field_text(row, "crash_type"), *frame = field_text(row, "top_frame");
	const char *state = field_text(row, "state"), *issue = field_text(row, "issue_url");
	struct html *h = &p->h;

	html_open(h, "h1");
	html_text(h, type ? type : field_text(m, "signature"));
	if (frame) {
		html_text(h, " in ");
		html_text(h, frame);
	}
	html_close(h);
	html_begin(h, "p", "lead");
	page_badge(p, field_true(row, "open") ? "warning" : "ok", state ? state : "unknown");
	if (field_true(row, "security")) {
		html_text(h, " ");
		page_badge(p, "error", "security");
	}
	if (issue) {
		html_text(h, " ");
		page_issue(p, issue, true);
	}
	html_close(h);
}

/* The place of the failure, the most important fact. */
static void page_crash_place(struct page *p, const json_t *m)
{
	const json_t *at = field_object(m, "place");
	const char *file = field_text(at, "file"), *url = field_text(at, "url");
	struct html *h = &p->h;

	if (!file)
		return;
	html_begin(h, "p", "place");
	if (url) {
		html_open(h, "a");
		html_attr(h, "href", url);
		html_attr(h, "rel", "noreferrer");
	}
	html_begin(h, "code", NULL);
	html_textf(h, "%s:%.0f", file, field_or_0(at, "line"));
	if (field_or_0(at, "column") > 0)
		html_textf(h, ":%.0f", field_or_0(at, "column"));
	html_close(h);
	if (url)
		html_close(h);
	if (field_text(at, "commit")) {
		html_text(h, " at commit ");
		page_commit(p, field_text(at, "commit"));
	}
	html_close(h);
}

static void page_crash_targets(struct page *p, const json_t *list)
{
	if (json_array_size(list) == 0)
		return;
	page_fact(p, json_array_size(list) > 1 ? "Targets" : "Target");
	for (size_t i = 0; i < json_array_size(list) && i < LIST_SHOWN; i++) {
		const json_t *t = json_array_get(list, i);

		html_text(&p->h, i ? ", " : "");
		page_link(p, t, field_text(t, "name"));
		if (json_array_size(list) > 1)
			html_textf(&p->h, " (%s, %.0f of %.0f times)", field_text(t, "state"),
				   field_or_0(t, "hits"), field_or_0(t, "tries"));
	}
	html_close(&p->h);
}

static void page_crash_seen(struct page *p, const char *name, const char *time, const char *commit)
{
	if (!time && !commit)
		return;
	page_fact(p, name);
	page_time(p, time);
	if (commit) {
		html_text(&p->h, " on ");
		page_commit(p, commit);
	}
	html_close(&p->h);
}

static void page_crash_rate(struct page *p, const json_t *row)
{
	double tries = field_or_0(row, "tries");

	if (tries <= 0)
		return;
	page_fact(p, "Reproduces");
	html_textf(&p->h, "%.0f of %.0f time%s", field_or_0(row, "hits"), tries,
		   tries > 1 ? "s" : "");
	html_close(&p->h);
}

/* A link that downloads its file; href NULL: none. */
static void download(struct page *p, const char *href, const char *text)
{
	if (!href)
		return;
	html_open(&p->h, "a");
	html_href(&p->h, p->root, href);
	html_flag(&p->h, "download");
	html_text(&p->h, text);
	html_close(&p->h);
}

static void input(struct page *p, const char *name, const json_t *m, const char *path_key,
		  const char *bytes_key, const char *file_key)
{
	const json_t *crash = field_object(m, "crash");
	const char *path = field_text(crash, path_key);
	const char *href = field_text(field_object(m, "downloads"), file_key);

	if (!path)
		return;
	page_fact(p, name);
	html_element(&p->h, "code", NULL, path);
	html_text(&p->h, ", ");
	page_number(p, UNIT_BYTES, crash, bytes_key);
	html_text(&p->h, href ? ", " : "");
	download(p, href, "download");
	html_close(&p->h);
}

static void withheld(struct page *p, const json_t *m, const json_t *row)
{
	if (field_true(m, "withheld"))
		page_fact_text(p, "Downloads",
			       field_true(row, "security")
				   ? "not of a security-relevant crash (serve.downloads)"
				   : "none are offered (serve.downloads)");
}

static void in_runs(struct page *p, const json_t *list)
{
	size_t n = json_array_size(list), i = n > LIST_SHOWN ? n - LIST_SHOWN : 0;

	if (n == 0)
		return;
	page_fact(p, "Runs");
	for (bool first = true; i < n; i++, first = false) {
		const json_t *r = json_array_get(list, i);

		html_text(&p->h, first ? "" : ", ");
		page_link(p, r, field_text(r, "run"));
		html_textf(&p->h, " (%.0f)", field_or_0(r, "count"));
	}
	html_close(&p->h);
}

static void variants(struct page *p, const json_t *list)
{
	size_t n = json_array_size(list);

	if (n == 0)
		return;
	page_fact(p, "Variants");
	for (size_t i = 0; i < n && i < LIST_SHOWN; i++) {
		const json_t *v = json_array_get(list, i);

		html_text(&p->h, i ? ", " : "");
		page_link(p, v, field_text(v, "signature"));
	}
	if (n > LIST_SHOWN)
		html_textf(&p->h, " and %zu more", n - LIST_SHOWN);
	html_close(&p->h);
}

static void page_crash_alike(struct page *p, const json_t *list)
{
	size_t n = json_array_size(list);

	if (n == 0)
		return;
	page_fact(p, "Likely the same");
	for (size_t i = 0; i < n && i < LIST_SHOWN; i++) {
		const json_t *c = json_array_get(list, i);
		const char *type = field_text(c, "crash_type"), *frame = field_text(c, "top_frame");

		html_text(&p->h, i ? ", " : "");
		page_link(p, c, type ? type : field_text(c, "signature"));
		if (frame)
			html_textf(&p->h, " in %s", frame);
		if (field_text(c, "state"))
			html_textf(&p->h, " (%s)", field_text(c, "state"));
	}
	html_close(&p->h);
}

static void merged(struct page *p, const json_t *c)
{
	const char *into = field_text(c, "merged_into");

	if (!into)
		return;
	page_fact(p, "Merged into");
	if (field_text(c, "merged_href"))
		page_to(p, field_text(c, "merged_href"), into);
	else
		html_text(&p->h, into);
	html_close(&p->h);
}

/* The commit with which it began or ended, and what is certain. */
static void edge(struct page *p, const char *name, const json_t *e)
{
	const char *commit = field_text(e, "commit"), *text = field_text(e, "text");

	if (!text)
		return;
	page_fact(p, name);
	if (commit) {
		html_element(&p->h, "code", NULL, commit);
		html_text(&p->h, " ");
		html_text(&p->h, field_text(e, "subject"));
		html_text(&p->h, " (");
		html_text(&p->h, field_text(e, "author"));
		html_text(&p->h, "): ");
	}
	html_text(&p->h, text);
	html_close(&p->h);
}

static void page_crash_facts(struct page *p, const json_t *m, const json_t *row)
{
	const json_t *c = field_object(m, "crash");

	html_begin(&p->h, "dl", "facts");
	page_fact(p, "Signature");
	html_element(&p->h, "code", NULL, field_text(m, "signature"));
	html_close(&p->h);
	page_crash_targets(p, field_list(m, "targets"));
	page_fact_text(p, "Severity", field_text(row, "severity"));
	page_fact_text(p, "Signal", field_text(c, "signal"));
	page_fact(p, "Seen");
	page_number(p, UNIT_EXACT, row, "count");
	html_text(&p->h, field_or_0(row, "count") == 1 ? " time" : " times");
	html_close(&p->h);
	page_crash_rate(p, row);
	page_crash_seen(p, "First seen", field_text(row, "first_seen"),
			field_text(c, "first_commit"));
	page_crash_seen(p, "Last seen", field_text(row, "last_seen"), field_text(c, "last_commit"));
	page_crash_seen(p, "Fixed", field_text(c, "fixed_at"), field_text(c, "fixed_commit"));
	edge(p, "Began with", field_object(c, "culprit"));
	edge(p, "Ended with", field_object(c, "fix"));
	input(p, "Input", m, "crash_file", "input_bytes", "input");
	input(p, "Minimised", m, "minimized", "minimized_bytes", "minimized");
	if (field_text(m, "seed")) {
		page_fact(p, "In-tree seed");
		html_text(&p->h, "the input is ");
		html_element(&p->h, "code", NULL, field_text(m, "seed"));
		html_close(&p->h);
	}
	withheld(p, m, row);
	page_crash_alike(p, field_list(c, "alike"));
	variants(p, field_list(c, "variants"));
	merged(p, c);
	page_fact_text(p, "Note", field_text(c, "note"));
	in_runs(p, field_list(c, "runs"));
	html_close(&p->h);
}

static void frames(struct page *p, const json_t *list)
{
	if (json_array_size(list) == 0)
		return;
	page_section(p, "frames", "Where");
	html_open(&p->h, "ol");
	for (size_t i = 0; i < json_array_size(list) && i < LIST_SHOWN; i++) {
		html_open(&p->h, "li");
		html_element(&p->h, "code", NULL, json_string_value(json_array_get(list, i)));
		html_close(&p->h);
	}
	html_close(&p->h);
	page_section_end(p);
}

static void report(struct page *p, const json_t *m)
{
	const char *text = field_text(m, "report");
	const char *file = field_text(field_object(m, "downloads"), "report");
	struct html *h = &p->h;

	page_section(p, "report", "Report");
	if (text) {
		html_begin(h, "div", "block");
		html_attr(h, "role", "region");
		html_attr(h, "aria-label", "Report");
		html_attr(h, "tabindex", "0");
		html_open(h, "pre");
		html_text(h, text);
		html_close(h);
		html_close(h);
	} else {
		html_element(h, "p", "soft", "None was kept.");
	}
	if (field_true(m, "report_cut"))
		html_element(h, "p", "soft",
			     "It is longer; report.txt beside the input has all of it.");
	if (file) {
		html_open(h, "p");
		download(p, file, "Download the report");
		html_close(h);
	}
	page_section_end(p);
}

/* Commands to run on this machine: the server only reads the state. */
static void commands(struct page *p, const json_t *m)
{
	const char *reproduce = field_text(m, "reproduce"), *export = field_text(m, "export");

	if (reproduce) {
		page_section(p, "reproduce", "Reproduce");
		page_command(p, "Command that reproduces it", reproduce);
		page_section_end(p);
	}
	if (export) {
		page_section(p, "bundle", "For another machine");
		html_element(&p->h, "p", "soft",
			     "One archive with the binary, the inputs, the report, and a script "
			     "that runs it:");
		page_command(p, "Command that makes the archive", export);
		page_section_end(p);
	}
}

int page_crash(const json_t *model, struct buf *out, struct err *e)
{
	const json_t *row = field_object(model, "row");
	const char *type = field_text(row, "crash_type");
	struct page_about about = {.title = type ? type : "Crash",
				   .root = "../",
				   .model = model,
				   .api = field_text(row, "api")};
	struct page p = page_begin(&about, out, e);

	page_crash_heading(&p, model, row);
	page_crash_place(&p, model);
	page_crash_facts(&p, model, row);
	commands(&p, model);
	frames(&p, field_list(field_object(model, "crash"), "frames"));
	report(&p, model);
	return page_end(&p);
}
