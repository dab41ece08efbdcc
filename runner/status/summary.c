/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/status/summary.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "runner/status/columns.h"

#include <stdio.h>
#include <string.h>

enum { SUMMARY_MAX = 16 << 20 };

bool summary_waited(const struct target_row *r)
{
	return r->wall_us == 0 && !r->fuzzed && r->failures_total == 0 && r->n_crashes == 0 &&
	       *r->note == '\0';
}

size_t summary_unfuzzed(const struct run_view *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_rows; i++)
		n += v->rows[i].unfuzzed;
	return n;
}

size_t summary_given_up(const struct run_view *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_rows; i++)
		n += v->rows[i].given_up;
	return n;
}

struct summary_sums summary_sums(const struct run_view *v)
{
	struct summary_sums s = {0};

	for (size_t i = 0; i < v->n_rows; i++) {
		const struct target_row *r = &v->rows[i];

		s.failures += r->failures_total;
		s.crashes_new += r->crashes_new;
		s.regressed += r->crashes_regressed;
		s.fixed += r->crashes_fixed;
		s.untriaged += r->untriaged;
	}
	return s;
}

/* --- the table ----------------------------------------------------------------------------- */

static void execs_of(const struct target_row *r, char out[COLUMN_TEXT])
{
	(void)units_count(r->execs, out);
}

static void summary_edges_of(const struct target_row *r, char out[COLUMN_TEXT])
{
	if (r->edges_total)
		(void)snprintf(out, COLUMN_TEXT, "%llu/%llu", (unsigned long long)r->cov,
			       (unsigned long long)r->edges_total);
	else
		(void)snprintf(out, COLUMN_TEXT, "%llu", (unsigned long long)r->cov);
}

static void summary_memory_of(const struct target_row *r, char out[COLUMN_TEXT])
{
	char peak[UNITS_MAX], limit[UNITS_MAX];

	(void)snprintf(out, COLUMN_TEXT, "%s/%s", units_size(r->memory_peak, peak),
		       units_size(r->memory_limit, limit));
}

static const struct column figures[] = {
    {"time", 7, 2, column_time},
    {"cpu", 7, 3, column_cpu},
    {"execs", 8, 6, execs_of},
    {"per cpu-s", 9, 5, column_rate},
    {"cov/edges", 13, 1, summary_edges_of},
    {"ft", 7, 7, column_ft},
    {"new", 7, 4, column_new},
    {"peak/limit", 17, 8, summary_memory_of},
    {"failures", 8, 0, column_failures},
};

static void text_table(const struct run_view *v, unsigned columns, bool color, struct buf *out)
{
	struct columns c = {.v = figures,
			    .n = sizeof(figures) / sizeof(figures[0]),
			    .state = "ended",
			    .color = color};

	if (v->n_rows == 0)
		return;
	columns_choose(&c, v, columns);
	buf_puts(out, "\n");
	columns_head(&c, out);
	for (size_t i = 0; i < v->n_rows; i++)
		columns_row(&c, &v->rows[i], out);
}

/* --- what needs attention ------------------------------------------------------------------ */

static void text_failures(const struct target_row *r, struct buf *out)
{
	size_t first = strcspn(r->artifacts, "\n");

	buf_printf(out, "  %s:", r->name);
	for (size_t i = 0; i < r->n_failure_names; i++)
		if (r->failures[i])
			buf_printf(out, " %llu %s", (unsigned long long)r->failures[i],
				   r->failure_names[i]);
	buf_printf(out, ", %llu restarts%s%s\n", (unsigned long long)r->restarts,
		   *r->note ? "; last: " : "", r->note);
	if (*r->artifacts)
		buf_printf(out, "    saved in crashes/%s: %.*s%s\n", r->name, (int)first,
			   r->artifacts,
			   r->artifacts[first] && r->artifacts[first + 1] ? ", ..." : "");
}

static void text_crash(const struct target_row *r, const struct row_crash *c, struct buf *out)
{
	char times[UNITS_OF_MAX];

	buf_printf(out, "  %s  %-9s %s: %s%s; %s, ", c->signature, c->state, r->name, c->what,
		   c->security ? " (security)" : "", units_of(c->count, "time", "times", times));
	if (c->tries)
		buf_printf(out, "reproduces %llu of %llu\n", (unsigned long long)c->hits,
			   (unsigned long long)c->tries);
	else
		buf_puts(out, "never run again\n");
}

static void text_crashes(const struct target_row *r, struct buf *out)
{
	char n[UNITS_OF_MAX];

	for (size_t i = 0; i < r->n_crashes; i++)
		text_crash(r, &r->crashes[i], out);
	if (r->crashes_fixed)
		buf_printf(
		    out, "  %s: %s fixed\n", r->name,
		    units_of(r->crashes_fixed, "earlier crash is", "earlier crashes are", n));
	if (r->crashes_unchecked)
		buf_printf(
		    out,
		    "  %s: no time to check whether %s fixed: a longer run does, and 'fuzzcell "
		    "regress'\n",
		    r->name,
		    units_of(r->crashes_unchecked, "earlier crash is", "earlier crashes are", n));
	if (r->untriaged)
		buf_printf(
		    out,
		    "  %s: %s: the next run's triage looks at %s, or 'fuzzcell crash triage' now\n",
		    r->name, units_of(r->untriaged, "artifact waits", "artifacts wait", n),
		    r->untriaged == 1 ? "it" : "them");
}

static bool has_crashes(const struct target_row *r)
{
	return r->n_crashes > 0 || r->crashes_fixed > 0 || r->crashes_unchecked > 0 ||
	       r->untriaged > 0;
}

static void text_corpus(const struct target_row *r, struct buf *out)
{
	char before[UNITS_MAX], after[UNITS_MAX];

	if (r->corpus.edges == 0 && r->corpus.features == 0) /* nothing was measured */
		buf_printf(out, "  %-28s %-9s unchanged%s%s\n", r->name, r->corpus.verdict,
			   *r->corpus.why ? ": " : "", r->corpus.why);
	else
		buf_printf(out,
			   "  %-28s %-9s %llu inputs, %s -> %llu, %s; %llu edges, %llu "
			   "features%s%s\n",
			   r->name, r->corpus.verdict, (unsigned long long)r->corpus.files_before,
			   units_size(r->corpus.bytes_before, before),
			   (unsigned long long)r->corpus.files, units_size(r->corpus.bytes, after),
			   (unsigned long long)r->corpus.edges,
			   (unsigned long long)r->corpus.features, *r->corpus.why ? ": " : "",
			   r->corpus.why);
}

static bool has_corpus(const struct target_row *r)
{
	return r->corpus.verdict != NULL;
}

/* A note that no other line of the summary shows. */
static bool has_note(const struct target_row *r)
{
	return *r->note && !r->unfuzzed && !r->given_up && !r->failures_total;
}

static void text_waits(const struct target_row *r, struct buf *out)
{
	if (r->starved > 0.5)
		buf_printf(out, "  %s waited for a CPU %.0f%% of its time\n", r->name,
			   r->starved * 100);
	if (r->dismissed)
		buf_printf(out, "  %s: %llu timeouts did not reproduce: it had waited for a CPU\n",
			   r->name, (unsigned long long)r->dismissed);
	if (r->undecided)
		buf_printf(out, "  %s: %llu timeouts wait for a replay under less CPU pressure\n",
			   r->name, (unsigned long long)r->undecided);
}

static void text_less(const struct target_row *r, struct buf *out)
{
	char size[UNITS_MAX];

	if (*r->forged)
		buf_printf(out,
			   "  %s: FORGED STATISTICS: it printed numbers that cannot be true; its "
			   "coverage counts for nothing: %s\n",
			   r->name, r->forged);
	if (r->cov_before)
		buf_printf(out,
			   "  %s: COVERAGE DROPPED: %llu of %llu edges, the build before reached "
			   "%llu of %llu\n",
			   r->name, (unsigned long long)r->cov, (unsigned long long)r->edges_total,
			   (unsigned long long)r->cov_before, (unsigned long long)r->edges_before);
	if (r->log_dropped)
		buf_printf(out, "  %s: %s of output are not in the log\n", r->name,
			   units_size(r->log_dropped, size));
	if (r->line_dropped)
		buf_printf(out,
			   "  %s: %s of output, in lines too long, were not parsed for figures\n",
			   r->name, units_size(r->line_dropped, size));
}

/* Facts that the user should check and that are not failures of the target. */
static void text_doubts(const struct target_row *r, struct buf *out)
{
	if (r->unfuzzed)
		buf_printf(out, "  %s was NOT FUZZED (%s)%s%s\n", r->name, r->reason,
			   *r->note ? ": " : "", r->note);
	if (r->given_up)
		buf_printf(out, "  %s was GIVEN UP (%s)%s%s\n", r->name, r->reason,
			   *r->note ? ": " : "", r->note);
	if (has_note(r))
		buf_printf(out, "  %s: %s\n", r->name, r->note);
	if (*r->refused)
		buf_printf(out, "  %s: refused system calls: %s\n", r->name, r->refused);
	if (r->pids_refused)
		buf_printf(out, "  %s: %llu forks or threads refused\n", r->name,
			   (unsigned long long)r->pids_refused);
	text_waits(r, out);
	text_less(r, out);
}

static void section(const struct run_view *v, const char *title, struct buf *out,
		    void (*fn)(const struct target_row *r, struct buf *out),
		    bool (*has)(const struct target_row *r))
{
	bool first = true;

	for (size_t i = 0; i < v->n_rows; i++) {
		if (!has(&v->rows[i]))
			continue;
		if (first)
			buf_printf(out, "\n%s\n", title);
		first = false;
		fn(&v->rows[i], out);
	}
}

static bool has_failures(const struct target_row *r)
{
	return r->failures_total > 0;
}

static bool has_doubts(const struct target_row *r)
{
	return r->unfuzzed || r->given_up || has_note(r) || *r->refused || *r->forged ||
	       r->pids_refused || r->starved > 0.5 || r->dismissed || r->undecided ||
	       r->cov_before || r->log_dropped || r->line_dropped;
}

/* For example "3 failures, 1 new crash, 2 crashes came back, 4 artifacts wait for triage, 1
 * crash is fixed". */
static void text_crash_sums(const struct run_view *v, struct buf *out)
{
	struct summary_sums all = summary_sums(v);
	const struct {
		uint64_t n;
		const char *one, *more;
	} sums[] = {
	    {all.regressed, "crash came back", "crashes came back"},
	    {all.untriaged, "artifact waits for triage", "artifacts wait for triage"},
	    {all.fixed, "crash is fixed", "crashes are fixed"},
	};

	buf_printf(out, "%llu failures, %llu new crash%s", (unsigned long long)all.failures,
		   (unsigned long long)all.crashes_new, all.crashes_new == 1 ? "" : "es");
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		if (sums[i].n > 0)
			buf_printf(out, ", %llu %s", (unsigned long long)sums[i].n,
				   sums[i].n == 1 ? sums[i].one : sums[i].more);
}

/* The last line. */
static void text_run(const struct run_view *v, struct buf *out)
{
	char elapsed[UNITS_MAX], rss[UNITS_MAX];

	buf_printf(out, "\nrun %s: %zu target%s in %s, ", v->id, v->n_rows,
		   v->n_rows == 1 ? "" : "s", units_time(v->elapsed_us, elapsed));
	text_crash_sums(v, out);
	buf_printf(out,
		   ", %zu given up, %zu not fuzzed%s%s; "
		   "fuzzcell itself: %.1f%% of a CPU, %s\n",
		   summary_given_up(v), summary_unfuzzed(v),
		   v->build_failed ? "; a build failed" : "",
		   *v->shortage	    ? "; ended: no cell could be had"
		   : v->interrupted ? "; ended by a user"
				    : "",
		   v->elapsed_us ? 100.0 * (double)v->own_cpu_us / (double)v->elapsed_us : 0.0,
		   units_size(v->own_peak_rss, rss));
}

static void text_all(const struct run_view *v, struct buf *out)
{
	section(v, "Found", out, text_failures, has_failures);
	section(v, "Crashes (fuzzcell crash show SIGNATURE)", out, text_crashes, has_crashes);
	section(v, "Corpora", out, text_corpus, has_corpus);
	section(v, "Look at", out, text_doubts, has_doubts);
	text_run(v, out);
}

/* The part of s that fits a line of `columns` bytes: up to the last blank, else part of a word. */
static size_t fitting(struct slice s, size_t columns)
{
	size_t at = columns, lead = 0;

	if (s.n <= columns)
		return s.n;
	while (lead < columns && s.p[lead] == ' ')
		lead++;
	while (at > lead && s.p[at] != ' ')
		at--;
	if (at > lead)
		return at;
	for (at = columns; at > 1 && ((unsigned char)s.p[at] & 0xc0) == 0x80;)
		at--; /* not within a character */
	return at;
}

/* Wraps long lines, with indented continuation lines: nothing is cut. */
static void wrap(struct slice text, unsigned columns, struct buf *out)
{
	enum { INDENT = 6 };
	struct slice line;

	while (scan_line(&text, &line)) {
		size_t indent = 0;

		do {
			size_t n = fitting(line, columns - indent);

			buf_printf(out, "%*s%.*s\n", (int)indent, "", (int)n, line.p);
			while (n < line.n && line.p[n] == ' ')
				n++;
			line = (struct slice){line.p + n, line.n - n};
			indent = columns > 2 * INDENT ? INDENT : 0;
		} while (line.n > 0);
	}
}

/* Escapes the text for terminals, because names and notes are not trusted. */
static void summary_shown(struct slice text, struct buf *out)
{
	struct slice line;

	while (scan_line(&text, &line))
		columns_line(line, 0, out);
}

int summary_text(const struct run_view *v, unsigned columns, bool color, struct buf *out,
		 struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(SUMMARY_MAX), safe = BUF_INIT(SUMMARY_MAX);
	int r;

	text_table(v, columns, color, out);
	text_all(v, &text);
	summary_shown(buf_slice(&text), columns ? &safe : out);
	wrap(buf_slice(&safe), columns, out);
	r = buf_check(&text, e);
	if (r == 0)
		r = buf_check(&safe, e);
	return r == 0 ? buf_check(out, e) : r;
}
