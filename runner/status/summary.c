/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/status/summary.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "runner/status/columns.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SUMMARY_MAX = 16 << 20, SUMMARY_STRATEGY = 160 };

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
	char n[UNITS_OF_MAX];

	if (r->starved > 0.5)
		buf_printf(out, "  %s waited for a CPU %.0f%% of its time\n", r->name,
			   r->starved * 100);
	if (r->dismissed)
		buf_printf(out, "  %s: %s did not reproduce: it had waited for a CPU\n", r->name,
			   units_of(r->dismissed, "timeout", "timeouts", n));
	if (r->undecided)
		buf_printf(out, "  %s: %s for a replay under less CPU pressure\n", r->name,
			   units_of(r->undecided, "timeout waits", "timeouts wait", n));
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
	char n[UNITS_OF_MAX];

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
		buf_printf(out, "  %s: %s refused\n", r->name,
			   units_of(r->pids_refused, "fork or thread", "forks or threads", n));
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
	char n[UNITS_OF_MAX];
	const struct {
		uint64_t n;
		const char *one, *more;
	} sums[] = {
	    {all.regressed, "crash came back", "crashes came back"},
	    {all.untriaged, "artifact waits for triage", "artifacts wait for triage"},
	    {all.fixed, "crash is fixed", "crashes are fixed"},
	};

	buf_puts(out, units_of(all.failures, "failure", "failures", n));
	buf_puts(out, ", ");
	buf_puts(out, units_of(all.crashes_new, "new crash", "new crashes", n));
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		if (sums[i].n > 0) {
			buf_puts(out, ", ");
			buf_puts(out, units_of(sums[i].n, sums[i].one, sums[i].more, n));
		}
}

/* The last line. */
static void text_run(const struct run_view *v, struct buf *out)
{
	char elapsed[UNITS_MAX], rss[UNITS_MAX], n[UNITS_OF_MAX];

	buf_printf(out, "\nrun %s: %s in %s, ", v->id, units_of(v->n_rows, "target", "targets", n),
		   units_time(v->elapsed_us, elapsed));
	text_crash_sums(v, out);
	buf_printf(out,
		   ", %zu given up, %zu not fuzzed%s%s; "
		   "fuzzcell itself: %.1f%% of a CPU, %s\n",
		   summary_given_up(v), summary_unfuzzed(v),
		   v->build_failed ? "; a build failed" : "",
		   *v->shortage	    ? "; ended: no cell could be started"
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

/* --- as JSON -------------------------------------------------------------- */

enum { SUMMARY_VERSION = 1, LINE_VERSION = 2 };

static json_t *summary_integer(uint64_t v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

static json_t *summary_seconds(uint64_t us)
{
	return json_real((double)us / (double)USEC_PER_SEC);
}

/* JSON has neither infinity nor NaN. */
static json_t *summary_real(double d)
{
	json_t *j = json_real(d);

	return j ? j : json_null();
}

/* Target text may be any bytes; JSON must be UTF-8. */
static json_t *summary_string(const char *s)
{
	json_t *j = json_string(s);

	return j ? j : json_string("(not UTF-8)");
}

static json_t *summary_when(uint64_t real_us)
{
	time_t t = (time_t)(real_us / USEC_PER_SEC);
	char out[32];
	struct tm tm;

	if (!real_us || !gmtime_r(&t, &tm))
		return json_null();
	strftime(out, sizeof(out), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(out);
}

static json_t *failures_json(const struct target_row *r)
{
	json_t *j = json_object();

	for (size_t i = 0; i < r->n_failure_names; i++)
		if (r->failures[i])
			json_object_set_new(j, r->failure_names[i],
					    summary_integer(r->failures[i]));
	return j;
}

static json_t *artifacts_json(const struct target_row *r)
{
	struct slice in = slice_of(r->artifacts), line;
	json_t *j = json_array();

	while (scan_line(&in, &line))
		json_array_append_new(j, json_stringn(line.p, line.n));
	return j;
}

static json_t *corpus_json(const struct target_row *r)
{
	if (!r->corpus.verdict)
		return json_null();
	return json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "verdict",
			 r->corpus.verdict, "why", summary_string(r->corpus.why), "files_before",
			 (json_int_t)r->corpus.files_before, "files", (json_int_t)r->corpus.files,
			 "bytes_before", (json_int_t)r->corpus.bytes_before, "bytes",
			 (json_int_t)r->corpus.bytes, "edges", (json_int_t)r->corpus.edges,
			 "features", (json_int_t)r->corpus.features, "bad",
			 (json_int_t)r->corpus.bad);
}

static json_t *crashes_json(const struct target_row *r)
{
	json_t *all = json_array();

	for (size_t i = 0; i < r->n_crashes; i++) {
		const struct row_crash *c = &r->crashes[i];

		json_array_append_new(
		    all, json_pack("{s:s, s:o, s:s, s:I, s:I, s:I, s:b}", "signature", c->signature,
				   "what", summary_string(c->what), "state", c->state, "count",
				   (json_int_t)c->count, "hits", (json_int_t)c->hits, "tries",
				   (json_int_t)c->tries, "security", c->security));
	}
	return all;
}

struct field {
	const char *key;
	json_t *value; /* taken */
};

/* Adds the fields to o, and returns it. */
static json_t *summary_add(json_t *o, struct field *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_object_set_new(o, f[i].key, f[i].value);
	return o;
}

#define ADD(o, f) summary_add((o), (f), sizeof(f) / sizeof((f)[0]))

static json_t *outlook_json(const struct target_row *r)
{
	struct field f[] = {
	    {"cpu_seconds_of_build", summary_seconds(r->outlook.cpu_us)},
	    {"edges_per_cpu_second", summary_real(r->outlook.rate)},
	    {"price", summary_real(r->outlook.price)},
	    {"edges_in_next_cpu_hour", summary_real(r->outlook.hour)},
	    {"discovery_probability", summary_real(r->outlook.discovery)},
	    {"cpu_seconds_of_burst", summary_seconds(r->outlook.burst_us)},
	    {"edges_at_tenth_of_burst", summary_integer(r->outlook.early)},
	};

	return ADD(json_object(), f);
}

static json_t *strategies_json(const struct target_row *r)
{
	json_t *all = json_object();

	for (size_t i = 0; i < r->n_strategies; i++) {
		const struct row_strategy *s = &r->strategies[i];
		char name[SUMMARY_STRATEGY];

		snprintf(name, sizeof(name), "%s%s", s->is_build ? "build:" : "", s->name);
		json_object_set_new(all, name,
				    json_pack("{s:o, s:o}", "cpu_seconds",
					      summary_seconds(s->cpu_us), "edges",
					      summary_integer(s->edges)));
	}
	return all;
}

/* How the engine made the kept inputs. */
static json_t *kept_json(const struct target_row *r)
{
	return json_pack("{s:o, s:o, s:o}", "total", summary_integer(r->kept), "by_dictionary",
			 summary_integer(r->kept_by_dict), "by_comparison",
			 summary_integer(r->kept_by_cmp));
}

json_t *summary_target_json(const struct target_row *r)
{
	struct field f[] = {
	    {"name", summary_string(r->name)},
	    {"reason", json_string(r->reason)},
	    {"fuzzed", json_boolean(r->fuzzed)},
	    {"given_up", json_boolean(r->given_up)},
	    {"rebuilt", json_boolean(r->rebuilt)},
	    {"note", summary_string(r->note)},
	    {"wall_seconds", summary_seconds(r->wall_us)},
	    {"cell_seconds", summary_seconds(r->cells_us)},
	    {"start_seconds", summary_seconds(r->start_us)},
	    {"cpu_seconds", summary_seconds(r->cpu_us)},
	    {"effective_seconds", summary_seconds(r->effective_us)},
	    {"starved_share", summary_real(r->starved)},
	    {"outlook", r->outlook.known ? outlook_json(r) : json_null()},
	    {"strategy", summary_string(r->strategy)},
	    {"strategies", strategies_json(r)},
	    {"forged", summary_string(r->forged)},
	    {"cov_of_build_before", summary_integer(r->cov_before)},
	    {"execs", summary_integer(r->execs)},
	    {"execs_per_cpu_second", summary_integer(r->exec_per_s)},
	    {"cov", summary_integer(r->cov)},
	    {"edges", summary_integer(r->edges_total)},
	    {"library_instrumented", json_boolean(r->has_library)},
	    {"ft", summary_integer(r->ft)},
	    {"corpus_units", summary_integer(r->corpus_units)},
	    {"seeds", summary_integer(r->seeds)},
	    {"dictionary_entries", summary_integer(r->dict_entries)},
	    {"dictionary_words", summary_integer(r->dict_own)},
	    {"inputs_kept", kept_json(r)},
	    {"input_timeout_seconds", summary_seconds(r->input_timeout_us)},
	    {"new_inputs", summary_integer(r->new_inputs)},
	    {"new_input_bytes", summary_integer(r->new_bytes)},
	    {"files_skipped", summary_integer(r->collect_skipped)},
	    {"memory_peak_bytes", summary_integer(r->memory_peak)},
	    {"memory_limit_bytes", summary_integer(r->memory_limit)},
	    {"rss_peak_bytes", summary_integer(r->rss_peak)},
	    {"kernel_oom_kills", summary_integer(r->oom_kills)},
	    {"forks_refused", summary_integer(r->pids_refused)},
	    {"syscalls_refused", summary_string(r->refused)},
	    {"failures", failures_json(r)},
	    {"failures_total", summary_integer(r->failures_total)},
	    {"restarts", summary_integer(r->restarts)},
	    {"corpus", corpus_json(r)},
	    {"crashes", crashes_json(r)},
	    {"crashes_new", summary_integer(r->crashes_new)},
	    {"crashes_regressed", summary_integer(r->crashes_regressed)},
	    {"crashes_fixed", summary_integer(r->crashes_fixed)},
	    {"crashes_unchecked", summary_integer(r->crashes_unchecked)},
	    {"timeouts_dismissed", summary_integer(r->dismissed)},
	    {"timeouts_undecided", summary_integer(r->undecided)},
	    {"untriaged", summary_integer(r->untriaged)},
	    {"checks_left", summary_integer(r->checks_left)},
	    {"checks_behind_since", summary_integer(r->checks_since)},
	    {"checks_cpu_seconds", summary_seconds(r->checks_cpu_us)},
	    {"artifacts", artifacts_json(r)},
	    {"log_bytes_dropped", summary_integer(r->log_dropped)},
	};

	return ADD(json_object(), f);
}

/* --- a target's line ----------------------------------------------------------- */

json_t *summary_target_line(const struct run_view *v, const struct target_row *r, uint64_t real_us)
{
	_autojson_ json_t *all = summary_target_json(r);
	struct field f[] = {
	    {"v", json_integer(LINE_VERSION)},
	    {"run", summary_string(v->id)},
	    {"ended", summary_when(real_us)},
	    {"commit", v->commit && !r->rebuilt ? summary_string(v->commit) : json_null()},
	};
	json_t *j = ADD(json_object(), f);

	json_object_set_new(all, "crashes", summary_integer(r->n_crashes));
	json_object_del(all, "artifacts");
	json_object_update(j, all);
	return j;
}

/* --- a run ----------------------------------------------------------------------- */

json_t *summary_run_json(const struct run_view *v)
{
	struct summary_sums s = summary_sums(v);
	struct field f[] = {
	    {"v", json_integer(SUMMARY_VERSION)},
	    {"run", summary_string(v->id)},
	    {"status", json_string(*v->shortage	    ? "failed"
				   : v->interrupted ? "stopped"
						    : "done")},
	    {"version", summary_string(v->version)},
	    {"commit", v->commit ? summary_string(v->commit) : json_null()},
	    {"cgroup_layout", summary_string(v->layout)},
	    {"started", summary_when(v->started_real_us)},
	    {"ended", summary_when(v->ended_real_us)},
	    {"elapsed_seconds", summary_seconds(v->elapsed_us)},
	    {"workers", json_integer(v->workers_most)},
	    {"failures", summary_integer(s.failures)},
	    {"new_crashes", summary_integer(s.crashes_new)},
	    {"regressed_crashes", summary_integer(s.regressed)},
	    {"fixed_crashes", summary_integer(s.fixed)},
	    {"untriaged", summary_integer(s.untriaged)},
	    {"given_up", summary_integer(summary_given_up(v))},
	    {"not_fuzzed", summary_integer(summary_unfuzzed(v))},
	    {"build_failed", json_boolean(v->build_failed)},
	    {"own_cpu_seconds", summary_seconds(v->own_cpu_us)},
	    {"own_peak_rss_bytes", summary_integer(v->own_peak_rss)},
	};

	return ADD(json_object(), f);
}

static int summary_print_target(const struct target_row *r, struct buf *out, struct err *e)
{
	_autojson_ json_t *j = summary_target_json(r);
	_autofree_ char *line = NULL;
	int rc = json_print(j, 0, &line, e);

	if (rc == 0)
		buf_printf(out, "    %s", line);
	return rc;
}

/* Printed target by target: a tree of 2,000 targets would take megabytes. */
int summary_print(const struct run_view *v, struct buf *out, struct err *e)
{
	_autojson_ json_t *j = summary_run_json(v);
	_autofree_ char *run = NULL;
	int r = json_print(j, 2, &run, e);

	if (r < 0)
		return r;
	/* without its last brace */
	buf_printf(out, "%.*s,\n  \"targets\": [", (int)strlen(run) - 2, run);
	for (size_t i = 0; r == 0 && i < v->n_rows; i++) {
		buf_puts(out, i ? ",\n" : "\n");
		r = summary_print_target(&v->rows[i], out, e);
	}
	buf_puts(out, "\n  ]\n}");
	return r < 0 ? r : buf_check(out, e);
}

/* Saturates, because targets control these numbers. */
static uint64_t summary_plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

json_t *summary_run_line(const struct run_view *v)
{
	uint64_t fuzzed = 0, cpu_us = 0, execs = 0, inputs = 0;

	for (size_t i = 0; i < v->n_rows; i++) {
		fuzzed += v->rows[i].fuzzed;
		cpu_us += v->rows[i].cpu_us;
		execs = summary_plus(execs, v->rows[i].execs);
		inputs += v->rows[i].new_inputs;
	}
	struct field f[] = {
	    {"v", json_integer(LINE_VERSION)},	      {"continuous", json_boolean(v->continuous)},
	    {"targets", summary_integer(v->n_rows)},  {"fuzzed", summary_integer(fuzzed)},
	    {"cpu_seconds", summary_seconds(cpu_us)}, {"execs", summary_integer(execs)},
	    {"new_inputs", summary_integer(inputs)},
	};
	return ADD(summary_run_json(v), f);
}
