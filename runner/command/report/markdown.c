/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "runner/command/report/report.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "runner/command/common/known.h"
#include "runner/publish/render/render.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 400, NAME_MAX_SHOWN = 160, URL_MAX = 300, NAMED_MAX = 5 };

/* Escapes bars: in a table, a bar starts the next cell even within code. */
static int add_cell(const char *text, struct buf *out, struct err *e)
{
	_autobuf_ struct buf code = BUF_INIT(1 << 16);
	int r = render_code(text, NAME_MAX_SHOWN, &code, e);

	for (size_t i = 0; r == 0 && i < code.n; i++)
		r = buf_addf(out, e, "%s%c", code.p[i] == '|' ? "\\" : "", code.p[i]);
	return r;
}

/* Makes a link only of an address like those that GitHub returns. */
static int add_url(const char *url, struct buf *out, struct err *e)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789-._~:/?#@!$&'*+,;=%";

	if (strncmp(url, "https://", 8) == 0 && strlen(url) <= URL_MAX &&
	    url[strspn(url, good)] == '\0')
		return buf_addf(out, e, "<%s>", url);
	return render_code(url, URL_MAX, out, e);
}

/* We wrote the time, but it comes from a file: validates it. */
static const char *report_markdown_time_of(const json_t *run, const char *key)
{
	const char *s = json_get_text(run, key);

	return *s && s[strspn(s, "0123456789-:TZ")] == '\0' ? s : "?";
}

/* --- sections ---------------------------------------------------------------------- */

static int add_when(const json_t *run, struct buf *out, struct err *e)
{
	uint64_t workers = json_get_u64(run, "workers");
	char time[UNITS_MAX], cpu[UNITS_MAX];
	int r = 0;

	if (*json_get_text(run, "commit")) {
		r = buf_add(out, SLICE("Of commit "), e);
		if (r == 0)
			r = render_code(json_get_text(run, "commit"), NAME_MAX_SHOWN, out, e);
		if (r == 0)
			r = buf_add(out, SLICE(". "), e);
	}
	if (r < 0)
		return r;
	return buf_addf(
	    out, e,
	    "From %.20s to %.20s, %s, with %llu worker%s; fuzzcell itself used %s of "
	    "CPU time.\n",
	    report_markdown_time_of(run, "started"), report_markdown_time_of(run, "ended"),
	    units_time(json_get_us(run, "elapsed_seconds"), time), (unsigned long long)workers,
	    workers == 1 ? "" : "s", units_time(json_get_us(run, "own_cpu_seconds"), cpu));
}

/* Without a summary, the figures of the run are unknown. */
static int add_no_summary(const json_t *run, struct buf *out, struct err *e)
{
	bool lost = strcmp(json_get_text(run, "status"), "lost") == 0;

	return buf_addf(out, e,
			". It has no summary: it %s. What follows is what its curves say.\n",
			lost ? "was killed" : "has not ended, or was killed");
}

static int add_figures(const json_t *run, struct buf *out, struct err *e)
{
	char failures[UNITS_OF_MAX], crashes[UNITS_OF_MAX];

	return buf_addf(
	    out, e,
	    ", %llu given up, %llu not fuzzed%s; at its end %s, %s, %llu that came back, %llu "
	    "fixed. ",
	    (unsigned long long)json_get_u64(run, "given_up"),
	    (unsigned long long)json_get_u64(run, "not_fuzzed"),
	    json_is_true(json_object_get(run, "build_failed")) ? ", **a build failed**" : "",
	    units_of(json_get_u64(run, "failures"), "failure", "failures", failures),
	    units_of(json_get_u64(run, "new_crashes"), "new crash", "new crashes", crashes),
	    (unsigned long long)json_get_u64(run, "regressed_crashes"),
	    (unsigned long long)json_get_u64(run, "fixed_crashes"));
}

static int report_markdown_add_head(const json_t *model, struct buf *out, struct err *e)
{
	const json_t *run = json_object_get(model, "run");
	size_t n = json_array_size(json_object_get(model, "targets"));
	char targets[UNITS_OF_MAX];
	int r = buf_add(out, SLICE("# Run "), e);

	if (r == 0)
		r = render_code(json_get_text(run, "run"), NAME_MAX_SHOWN, out, e);
	if (r == 0)
		r = buf_add(out, SLICE(": "), e);
	if (r == 0)
		r = render_code(json_get_text(run, "status"), NAME_MAX_SHOWN, out, e);
	if (r == 0)
		r = buf_addf(out, e, "\n\n%s", units_of(n, "target", "targets", targets));
	if (r == 0 && !json_is_string(json_object_get(run, "ended")))
		return add_no_summary(run, out, e);
	if (r == 0)
		r = add_figures(run, out, e);
	return r == 0 ? add_when(run, out, e) : r;
}

/* "206 of 210 (+12)", "-" */
static int add_coverage(const json_t *t, struct buf *out, struct err *e)
{
	const json_t *before = json_object_get(t, "cov_before");
	long long cov = (long long)json_get_u64(t, "cov"),
		  was = (long long)json_get_u64(t, "cov_before");
	char shown[UNITS_MAX];
	int r;

	if (cov == 0) /* it was not fuzzed */
		return buf_add(out, SLICE("- | "), e);
	r = buf_addf(out, e, "%s", known_exact(t, "cov", shown));
	if (r == 0 && json_get_u64(t, "edges"))
		r = buf_addf(out, e, " of %llu", (unsigned long long)json_get_u64(t, "edges"));
	if (r == 0 && json_is_integer(before) && json_is_integer(json_object_get(t, "cov")))
		r = buf_addf(out, e, " (%+lld)", cov - was);
	return r == 0 ? buf_add(out, SLICE(" | "), e) : r;
}

static int report_markdown_add_target(const json_t *t, struct buf *out, struct err *e)
{
	char c[3][UNITS_MAX];
	int r = buf_add(out, SLICE("| "), e);

	if (r == 0)
		r = add_cell(json_get_text(t, "name"), out, e);
	if (r == 0)
		r = buf_add(out, SLICE(" | "), e);
	if (r == 0)
		r = add_cell(json_get_text(t, "reason"), out, e);
	if (r == 0)
		r = buf_addf(out, e, " | %s | %s | %s | ", known_time(t, "cpu_seconds", c[0]),
			     known_count(t, "execs", c[1]),
			     known_count(t, "execs_per_cpu_second", c[2]));
	if (r == 0)
		r = add_coverage(t, out, e);
	return r < 0 ? r
		     : buf_addf(out, e, "%s | %s | %s |\n", known_exact(t, "ft", c[0]),
				known_exact(t, "new_inputs", c[1]),
				known_exact(t, "failures_total", c[2]));
}

static int report_markdown_add_targets(const json_t *all, struct buf *out, struct err *e)
{
	int r = buf_add(
	    out,
	    SLICE(
		"\n## Targets\n\n"
		"| target | ended | CPU | execs | per CPU-second | edges (since the run before) | "
		"features | new inputs | failures |\n"
		"|---|---|--:|--:|--:|--:|--:|--:|--:|\n"),
	    e);

	for (size_t i = 0; r == 0 && i < json_array_size(all); i++)
		r = report_markdown_add_target(json_array_get(all, i), out, e);
	return r;
}

static int add_found_by(const json_t *c, struct buf *out, struct err *e)
{
	const json_t *all = json_object_get(c, "targets");
	size_t n = json_array_size(all);
	uint64_t times = json_get_u64(c, "count");
	int r = times == 0 ? buf_add(out, SLICE(", in"), e)
			   : buf_addf(out, e, ", %llu time%s in", (unsigned long long)times,
				      times == 1 ? "" : "s");

	for (size_t i = 0; r == 0 && i < n && i < NAMED_MAX; i++) {
		r = buf_add(out, i ? SLICE(", ") : SLICE(" "), e);
		if (r == 0)
			r = render_code(json_string_value(json_array_get(all, i)), NAME_MAX_SHOWN,
					out, e);
	}
	return r == 0 && n > NAMED_MAX ? buf_add(out, SLICE(", ..."), e) : r;
}

static int report_markdown_add_name(const json_t *c, struct buf *out, struct err *e)
{
	bool security = json_is_true(json_object_get(c, "security"));
	int r = buf_add(out, security ? SLICE("- **security-relevant** ") : SLICE("- "), e);

	if (r == 0)
		r = render_code(json_get_text(c, "state"), NAME_MAX_SHOWN, out, e);
	if (r == 0)
		r = buf_add(out, SLICE(" "), e);
	return r == 0 ? render_code(json_get_text(c, "what"), TEXT_MAX, out, e) : r;
}

/* Adds the present state and the issue. */
static int add_now(const json_t *c, struct buf *out, struct err *e)
{
	bool changed = *json_get_text(c, "state_now") &&
		       strcmp(json_get_text(c, "state"), json_get_text(c, "state_now")) != 0;
	int r = changed ? buf_addf(out, e, "; now %s", json_get_text(c, "state_now")) : 0;

	if (r < 0 || !*json_get_text(c, "issue_url"))
		return r;
	r = buf_add(out, SLICE("; "), e);
	return r == 0 ? add_url(json_get_text(c, "issue_url"), out, e) : r;
}

static int report_markdown_add_crash(const json_t *c, struct buf *out, struct err *e)
{
	_autofree_ char *command =
	    xasprintf("fuzzcell crash show %s", json_get_text(c, "signature"));
	int r = report_markdown_add_name(c, out, e);

	if (r == 0)
		r = add_found_by(c, out, e);
	if (r == 0)
		r = add_now(c, out, e);
	if (r == 0)
		r = buf_add(out, SLICE("\n  "), e);
	if (r == 0)
		r = command ? render_code(command, NAME_MAX_SHOWN, out, e)
			    : err_sys(e, "allocate a command");
	return r == 0 ? buf_add(out, SLICE("\n"), e) : r;
}

static int report_markdown_add_finding(const json_t *f, struct buf *out, struct err *e)
{
	int r = buf_add(out, SLICE("- "), e);

	if (r == 0)
		r = render_code(json_get_text(f, "target"), NAME_MAX_SHOWN, out, e);
	if (r == 0)
		r = buf_addf(out, e, " %s, %s: ", json_get_text(f, "severity"),
			     json_get_text(f, "code"));
	if (r == 0)
		r = render_code(json_get_text(f, "reason"), TEXT_MAX, out, e);
	if (r == 0)
		r = buf_add(out, SLICE("\n  "), e);
	if (r == 0)
		r = render_code(json_get_text(f, "advice"), TEXT_MAX, out, e);
	return r == 0 ? buf_add(out, SLICE("\n"), e) : r;
}

static int add_list(const json_t *all, const char *title, const char *none,
		    int (*add)(const json_t *one, struct buf *out, struct err *e), struct buf *out,
		    struct err *e)
{
	int r = buf_addf(out, e, "\n## %s\n\n%s", title, json_array_size(all) ? "" : none);

	for (size_t i = 0; r == 0 && i < json_array_size(all); i++)
		r = add(json_array_get(all, i), out, e);
	return r;
}

int report_markdown(const json_t *model, struct buf *out, struct err *e)
{
	int r = report_markdown_add_head(model, out, e);

	if (r == 0)
		r = report_markdown_add_targets(json_object_get(model, "targets"), out, e);
	if (r == 0)
		r = add_list(json_object_get(model, "crashes"), "Crashes", "None.\n",
			     report_markdown_add_crash, out, e);
	return r < 0 ? r
		     : add_list(json_object_get(model, "findings"), "Needs attention", "Nothing.\n",
				report_markdown_add_finding, out, e);
}
