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

static int text_table(const struct run_view *v, unsigned columns, bool color, struct buf *out,
		      struct err *e)
{
	struct columns c = {.v = figures,
			    .n = sizeof(figures) / sizeof(figures[0]),
			    .state = "ended",
			    .color = color};
	int r = v->n_rows > 0 ? buf_add(out, SLICE("\n"), e) : 0;

	columns_choose(&c, v, columns);
	if (r == 0 && v->n_rows > 0)
		r = columns_head(&c, out, e);
	for (size_t i = 0; r == 0 && i < v->n_rows; i++)
		r = columns_row(&c, &v->rows[i], out, e);
	return r;
}

/* --- what needs attention ------------------------------------------------------------------ */

static int text_failures(const struct target_row *r, struct buf *out, struct err *e)
{
	size_t first = strcspn(r->artifacts, "\n");
	int rc = buf_addf(out, e, "  %s:", r->name);

	for (size_t i = 0; rc == 0 && i < r->n_failure_names; i++)
		if (r->failures[i])
			rc = buf_addf(out, e, " %llu %s", (unsigned long long)r->failures[i],
				      r->failure_names[i]);
	if (rc == 0)
		rc = buf_addf(out, e, ", %llu restarts%s%s\n", (unsigned long long)r->restarts,
			      *r->note ? "; last: " : "", r->note);
	if (rc == 0 && *r->artifacts)
		rc = buf_addf(out, e, "    saved in crashes/%s: %.*s%s\n", r->name, (int)first,
			      r->artifacts,
			      r->artifacts[first] && r->artifacts[first + 1] ? ", ..." : "");
	return rc;
}

static int text_crash(const struct target_row *r, const struct row_crash *c, struct buf *out,
		      struct err *e)
{
	char times[UNITS_OF_MAX];
	int rc =
	    buf_addf(out, e, "  %s  %-9s %s: %s%s; %s, ", c->signature, c->state, r->name, c->what,
		     c->security ? " (security)" : "", units_of(c->count, "time", "times", times));

	if (rc < 0)
		return rc;
	if (!c->tries)
		return buf_add(out, SLICE("never run again\n"), e);
	return buf_addf(out, e, "reproduces %llu of %llu\n", (unsigned long long)c->hits,
			(unsigned long long)c->tries);
}

static int text_crashes(const struct target_row *r, struct buf *out, struct err *e)
{
	char n[UNITS_OF_MAX];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->n_crashes; i++)
		rc = text_crash(r, &r->crashes[i], out, e);
	if (rc == 0 && r->crashes_fixed)
		rc = buf_addf(
		    out, e, "  %s: %s fixed\n", r->name,
		    units_of(r->crashes_fixed, "earlier crash is", "earlier crashes are", n));
	if (rc == 0 && r->crashes_unchecked)
		rc = buf_addf(
		    out, e,
		    "  %s: no time to check whether %s fixed: a longer run does, and 'fuzzcell "
		    "regress'\n",
		    r->name,
		    units_of(r->crashes_unchecked, "earlier crash is", "earlier crashes are", n));
	if (rc == 0 && r->untriaged)
		rc = buf_addf(
		    out, e,
		    "  %s: %s: the next run's triage looks at %s, or 'fuzzcell crash triage' now\n",
		    r->name, units_of(r->untriaged, "artifact waits", "artifacts wait", n),
		    r->untriaged == 1 ? "it" : "them");
	return rc;
}

static bool has_crashes(const struct target_row *r)
{
	return r->n_crashes > 0 || r->crashes_fixed > 0 || r->crashes_unchecked > 0 ||
	       r->untriaged > 0;
}

static int text_corpus(const struct target_row *r, struct buf *out, struct err *e)
{
	char before[UNITS_MAX], after[UNITS_MAX];

	if (r->corpus.edges == 0 && r->corpus.features == 0) /* nothing was measured */
		return buf_addf(out, e, "  %-28s %-9s unchanged%s%s\n", r->name, r->corpus.verdict,
				*r->corpus.why ? ": " : "", r->corpus.why);
	return buf_addf(
	    out, e, "  %-28s %-9s %llu inputs, %s -> %llu, %s; %llu edges, %llu features%s%s\n",
	    r->name, r->corpus.verdict, (unsigned long long)r->corpus.files_before,
	    units_size(r->corpus.bytes_before, before), (unsigned long long)r->corpus.files,
	    units_size(r->corpus.bytes, after), (unsigned long long)r->corpus.edges,
	    (unsigned long long)r->corpus.features, *r->corpus.why ? ": " : "", r->corpus.why);
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

static int text_waits(const struct target_row *r, struct buf *out, struct err *e)
{
	int rc = 0;

	if (r->starved > 0.5)
		rc = buf_addf(out, e, "  %s waited for a CPU %.0f%% of its time\n", r->name,
			      r->starved * 100);
	if (rc == 0 && r->dismissed)
		rc = buf_addf(out, e,
			      "  %s: %llu timeouts did not reproduce: it had waited for a CPU\n",
			      r->name, (unsigned long long)r->dismissed);
	if (rc == 0 && r->undecided)
		rc = buf_addf(out, e,
			      "  %s: %llu timeouts wait for a replay under less CPU pressure\n",
			      r->name, (unsigned long long)r->undecided);
	return rc;
}

static int text_less(const struct target_row *r, struct buf *out, struct err *e)
{
	char size[UNITS_MAX];
	int rc = 0;

	if (*r->forged)
		rc =
		    buf_addf(out, e,
			     "  %s: FORGED STATISTICS: it printed numbers that cannot be true; its "
			     "coverage counts for nothing: %s\n",
			     r->name, r->forged);
	if (rc == 0 && r->cov_before)
		rc = buf_addf(
		    out, e,
		    "  %s: COVERAGE DROPPED: %llu of %llu edges, the build before reached "
		    "%llu of %llu\n",
		    r->name, (unsigned long long)r->cov, (unsigned long long)r->edges_total,
		    (unsigned long long)r->cov_before, (unsigned long long)r->edges_before);
	if (rc == 0 && r->log_dropped)
		rc = buf_addf(out, e, "  %s: %s of output are not in the log\n", r->name,
			      units_size(r->log_dropped, size));
	if (rc == 0 && r->line_dropped)
		rc = buf_addf(
		    out, e, "  %s: %s of output, in lines too long, were not parsed for figures\n",
		    r->name, units_size(r->line_dropped, size));
	return rc;
}

/* Facts that the user should check and that are not failures of the target. */
static int text_doubts(const struct target_row *r, struct buf *out, struct err *e)
{
	int rc = 0;

	if (r->unfuzzed)
		rc = buf_addf(out, e, "  %s was NOT FUZZED (%s)%s%s\n", r->name, r->reason,
			      *r->note ? ": " : "", r->note);
	if (rc == 0 && r->given_up)
		rc = buf_addf(out, e, "  %s was GIVEN UP (%s)%s%s\n", r->name, r->reason,
			      *r->note ? ": " : "", r->note);
	if (rc == 0 && has_note(r))
		rc = buf_addf(out, e, "  %s: %s\n", r->name, r->note);
	if (rc == 0 && *r->refused)
		rc = buf_addf(out, e, "  %s: refused system calls: %s\n", r->name, r->refused);
	if (rc == 0 && r->pids_refused)
		rc = buf_addf(out, e, "  %s: %llu forks or threads refused\n", r->name,
			      (unsigned long long)r->pids_refused);
	if (rc == 0)
		rc = text_waits(r, out, e);
	return rc == 0 ? text_less(r, out, e) : rc;
}

static int section(const struct run_view *v, const char *title, struct buf *out,
		   int (*fn)(const struct target_row *r, struct buf *out, struct err *e),
		   bool (*has)(const struct target_row *r), struct err *e)
{
	bool first = true;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < v->n_rows; i++) {
		if (!has(&v->rows[i]))
			continue;
		if (first)
			rc = buf_addf(out, e, "\n%s\n", title);
		first = false;
		if (rc == 0)
			rc = fn(&v->rows[i], out, e);
	}
	return rc;
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
static int text_crash_sums(const struct run_view *v, struct buf *out, struct err *e)
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
	int r =
	    buf_addf(out, e, "%llu failures, %llu new crash%s", (unsigned long long)all.failures,
		     (unsigned long long)all.crashes_new, all.crashes_new == 1 ? "" : "es");

	for (size_t i = 0; r == 0 && i < sizeof(sums) / sizeof(sums[0]); i++)
		if (sums[i].n > 0)
			r = buf_addf(out, e, ", %llu %s", (unsigned long long)sums[i].n,
				     sums[i].n == 1 ? sums[i].one : sums[i].more);
	return r;
}

/* The last line. */
static int text_run(const struct run_view *v, struct buf *out, struct err *e)
{
	char elapsed[UNITS_MAX], rss[UNITS_MAX];
	int r = buf_addf(out, e, "\nrun %s: %zu target%s in %s, ", v->id, v->n_rows,
			 v->n_rows == 1 ? "" : "s", units_time(v->elapsed_us, elapsed));

	if (r == 0)
		r = text_crash_sums(v, out, e);
	return r < 0
		   ? r
		   : buf_addf(out, e,
			      ", %zu given up, %zu not fuzzed%s%s; "
			      "fuzzcell itself: %.1f%% of a CPU, %s\n",
			      summary_given_up(v), summary_unfuzzed(v),
			      v->build_failed ? "; a build failed" : "",
			      *v->shortage     ? "; ended: no cell could be had"
			      : v->interrupted ? "; ended by a user"
					       : "",
			      v->elapsed_us ? 100.0 * (double)v->own_cpu_us / (double)v->elapsed_us
					    : 0.0,
			      units_size(v->own_peak_rss, rss));
}

static int text_all(const struct run_view *v, struct buf *out, struct err *e)
{
	int r = section(v, "Found", out, text_failures, has_failures, e);

	if (r == 0)
		r = section(v, "Crashes (fuzzcell crash show SIGNATURE)", out, text_crashes,
			    has_crashes, e);
	if (r == 0)
		r = section(v, "Corpora", out, text_corpus, has_corpus, e);
	if (r == 0)
		r = section(v, "Look at", out, text_doubts, has_doubts, e);
	return r == 0 ? text_run(v, out, e) : r;
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
static int wrap(struct slice text, unsigned columns, struct buf *out, struct err *e)
{
	enum { INDENT = 6 };
	struct slice line;
	int r = 0;

	while (r == 0 && scan_line(&text, &line)) {
		size_t indent = 0;

		do {
			size_t n = fitting(line, columns - indent);

			r = buf_addf(out, e, "%*s%.*s\n", (int)indent, "", (int)n, line.p);
			while (n < line.n && line.p[n] == ' ')
				n++;
			line = (struct slice){line.p + n, line.n - n};
			indent = columns > 2 * INDENT ? INDENT : 0;
		} while (r == 0 && line.n > 0);
	}
	return r;
}

/* Escapes the text for terminals, because names and notes are not trusted. */
static int summary_shown(struct slice text, struct buf *out, struct err *e)
{
	struct slice line;
	int r = 0;

	while (r == 0 && scan_line(&text, &line))
		r = columns_line(line, 0, out, e);
	return r;
}

int summary_text(const struct run_view *v, unsigned columns, bool color, struct buf *out,
		 struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(SUMMARY_MAX), safe = BUF_INIT(SUMMARY_MAX);
	int r = text_table(v, columns, color, out, e);

	if (r == 0)
		r = text_all(v, &text, e);
	if (r == 0)
		r = summary_shown(buf_slice(&text), columns ? &safe : out, e);
	return r == 0 ? wrap(buf_slice(&safe), columns, out, e) : r;
}
