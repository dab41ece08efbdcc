/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "runner/command/report/report.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/publish/render/render.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 400, NAME_MAX_SHOWN = 160, URL_MAX = 300, NAMED_MAX = 5 };

/* Escapes bars: in a table, a bar starts the next cell even within code. */
static void add_cell(const char *text, struct buf *out)
{
	_autobuf_ struct buf code = BUF_INIT(1 << 16);

	render_code(text, NAME_MAX_SHOWN, &code);
	for (size_t i = 0; i < code.n; i++)
		buf_printf(out, "%s%c", code.p[i] == '|' ? "\\" : "", code.p[i]);
	out->full |= code.full;
}

/* Makes a link only of an address like those that GitHub returns. */
static void add_url(const char *url, struct buf *out)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789-._~:/?#@!$&'*+,;=%";

	if (strncmp(url, "https://", 8) == 0 && strlen(url) <= URL_MAX &&
	    url[strspn(url, good)] == '\0')
		buf_printf(out, "<%s>", url);
	else
		render_code(url, URL_MAX, out);
}

/* We wrote the time, but it comes from a file: validates it. */
static const char *report_markdown_time_of(const json_t *run, const char *key)
{
	const char *s = json_get_text(run, key);

	return *s && s[strspn(s, "0123456789-:TZ")] == '\0' ? s : "?";
}

/* --- sections ---------------------------------------------------------------------- */

static void add_when(const json_t *run, struct buf *out)
{
	uint64_t workers = json_get_u64(run, "workers");
	char time[UNITS_MAX], cpu[UNITS_MAX];

	if (*json_get_text(run, "commit")) {
		buf_puts(out, "Of commit ");
		render_code(json_get_text(run, "commit"), NAME_MAX_SHOWN, out);
		buf_puts(out, ". ");
	}
	buf_printf(out,
		   "From %.20s to %.20s, %s, with %llu worker%s; fuzzcell itself used %s of "
		   "CPU time.\n",
		   report_markdown_time_of(run, "started"), report_markdown_time_of(run, "ended"),
		   units_time(json_get_us(run, "elapsed_seconds"), time),
		   (unsigned long long)workers, workers == 1 ? "" : "s",
		   units_time(json_get_us(run, "own_cpu_seconds"), cpu));
}

/* Without a summary, the figures of the run are unknown. */
static void add_no_summary(const json_t *run, struct buf *out)
{
	bool lost = strcmp(json_get_text(run, "status"), "lost") == 0;

	buf_printf(out, ". It has no summary: it %s. The figures below are from its curves.\n",
		   lost ? "was killed" : "has not ended, or was killed");
}

static void add_figures(const json_t *run, struct buf *out)
{
	char failures[UNITS_OF_MAX], crashes[UNITS_OF_MAX];

	buf_printf(
	    out,
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

static void report_markdown_add_head(const json_t *model, struct buf *out)
{
	const json_t *run = json_object_get(model, "run");
	size_t n = json_array_size(json_object_get(model, "targets"));
	char targets[UNITS_OF_MAX];

	buf_puts(out, "# Run ");
	render_code(json_get_text(run, "run"), NAME_MAX_SHOWN, out);
	buf_puts(out, ": ");
	render_code(json_get_text(run, "status"), NAME_MAX_SHOWN, out);
	buf_printf(out, "\n\n%s", units_of(n, "target", "targets", targets));
	if (!json_is_string(json_object_get(run, "ended"))) {
		add_no_summary(run, out);
		return;
	}
	add_figures(run, out);
	add_when(run, out);
}

/* "206 of 210 (+12)", "-" */
static void add_coverage(const json_t *t, struct buf *out)
{
	const json_t *before = json_object_get(t, "cov_before");
	long long cov = (long long)json_get_u64(t, "cov"),
		  was = (long long)json_get_u64(t, "cov_before");
	char shown[UNITS_MAX];

	if (cov == 0) { /* it was not fuzzed */
		buf_puts(out, "- | ");
		return;
	}
	buf_puts(out, known_exact(t, "cov", shown));
	if (json_get_u64(t, "edges"))
		buf_printf(out, " of %llu", (unsigned long long)json_get_u64(t, "edges"));
	if (json_is_integer(before) && json_is_integer(json_object_get(t, "cov")))
		buf_printf(out, " (%+lld)", cov - was);
	buf_puts(out, " | ");
}

static void report_markdown_add_target(const json_t *t, struct buf *out)
{
	char c[3][UNITS_MAX];

	buf_puts(out, "| ");
	add_cell(json_get_text(t, "name"), out);
	buf_puts(out, " | ");
	add_cell(json_get_text(t, "reason"), out);
	buf_printf(out, " | %s | %s | %s | ", known_time(t, "cpu_seconds", c[0]),
		   known_count(t, "execs", c[1]), known_count(t, "execs_per_cpu_second", c[2]));
	add_coverage(t, out);
	buf_printf(out, "%s | %s | %s |\n", known_exact(t, "ft", c[0]),
		   known_exact(t, "new_inputs", c[1]), known_exact(t, "failures_total", c[2]));
}

static void report_markdown_add_targets(const json_t *all, struct buf *out)
{
	buf_puts(out,
		 "\n## Targets\n\n"
		 "| target | ended | CPU | execs | per CPU-second | edges (since the run before) | "
		 "features | new inputs | failures |\n"
		 "|---|---|--:|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < json_array_size(all); i++)
		report_markdown_add_target(json_array_get(all, i), out);
}

static void add_found_by(const json_t *c, struct buf *out)
{
	const json_t *all = json_object_get(c, "targets");
	size_t n = json_array_size(all);
	uint64_t times = json_get_u64(c, "count");

	if (times == 0)
		buf_puts(out, ", in");
	else
		buf_printf(out, ", %llu time%s in", (unsigned long long)times,
			   times == 1 ? "" : "s");
	for (size_t i = 0; i < n && i < NAMED_MAX; i++) {
		buf_puts(out, i ? ", " : " ");
		render_code(json_string_value(json_array_get(all, i)), NAME_MAX_SHOWN, out);
	}
	if (n > NAMED_MAX)
		buf_puts(out, ", ...");
}

static void report_markdown_add_name(const json_t *c, struct buf *out)
{
	bool security = json_is_true(json_object_get(c, "security"));

	buf_puts(out, security ? "- **security-relevant** " : "- ");
	render_code(json_get_text(c, "state"), NAME_MAX_SHOWN, out);
	buf_puts(out, " ");
	render_code(json_get_text(c, "what"), TEXT_MAX, out);
}

/* Adds the present state and the issue. */
static void add_now(const json_t *c, struct buf *out)
{
	const char *now = json_get_text(c, "state_now"), *url = json_get_text(c, "issue_url");

	if (*now && strcmp(json_get_text(c, "state"), now) != 0)
		buf_printf(out, "; now %s", now);
	if (*url) {
		buf_puts(out, "; ");
		add_url(url, out);
	}
}

static void report_markdown_add_crash(const json_t *c, struct buf *out)
{
	_autofree_ char *command =
	    xasprintf("fuzzcell crash show %s", json_get_text(c, "signature"));

	report_markdown_add_name(c, out);
	add_found_by(c, out);
	add_now(c, out);
	buf_puts(out, "\n  ");
	render_code(command, NAME_MAX_SHOWN, out);
	buf_puts(out, "\n");
}

static void report_markdown_add_finding(const json_t *f, struct buf *out)
{
	buf_puts(out, "- ");
	render_code(json_get_text(f, "target"), NAME_MAX_SHOWN, out);
	buf_printf(out, " %s, %s: ", json_get_text(f, "severity"), json_get_text(f, "code"));
	render_code(json_get_text(f, "reason"), TEXT_MAX, out);
	buf_puts(out, "\n  ");
	render_code(json_get_text(f, "advice"), TEXT_MAX, out);
	buf_puts(out, "\n");
}

static void add_list(const json_t *all, const char *title, const char *none,
		     void (*add)(const json_t *one, struct buf *out), struct buf *out)
{
	buf_printf(out, "\n## %s\n\n%s", title, json_array_size(all) ? "" : none);
	for (size_t i = 0; i < json_array_size(all); i++)
		add(json_array_get(all, i), out);
}

int report_markdown(const json_t *model, struct buf *out, struct err *e)
{
	report_markdown_add_head(model, out);
	report_markdown_add_targets(json_object_get(model, "targets"), out);
	add_list(json_object_get(model, "crashes"), "Crashes", "None.\n", report_markdown_add_crash,
		 out);
	add_list(json_object_get(model, "findings"), "Needs attention", "Nothing.\n",
		 report_markdown_add_finding, out);
	return buf_check(out, e);
}
