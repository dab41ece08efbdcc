/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/control/status.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/loop.h"
#include "base/sys.h"
#include "base/term.h"
#include "base/units.h"
#include "runner/command/command.h"
#include "runner/command/common/answer.h"
#include "runner/command/control/places.h"
#include "runner/status/color.h"
#include "runner/status/health/health.h"
#include "runner/status/health/strategies.h"
#include "runner/status/status.h"
#include "runner/status/table.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- a run's answer, fit for a terminal -------------------------------------------------- */

/* Escapes a target's strings: they may contain anything. */
static void clean(json_t *target)
{
	static const char *const keys[] = {"name", "state", "reason", "note", "pressure_state"};
	char shown[ESCAPE_MAX];

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *s = json_string_value(json_object_get(target, keys[i]));

		if (s && strcmp(s, escape(s, shown)) != 0)
			(void)json_object_set_new(target, keys[i], json_string(shown));
	}
}

static void clean_all(json_t *o)
{
	json_t *targets = json_object_get(o, "targets"), *run = json_object_get(o, "run");
	const char *id = json_string_value(json_object_get(run, "run"));
	char shown[ESCAPE_MAX];

	if (id)
		(void)json_object_set_new(run, "run", json_string(escape(id, shown)));
	for (size_t i = 0; i < json_array_size(targets); i++)
		clean(json_array_get(targets, i));
}

/* Writes a run's answer as the live table, with terminal control characters escaped. Changes o. */
static int status_draw(json_t *o, unsigned columns, unsigned lines, struct buf *out,
		       unsigned *ret_lines, struct err *e)
{
	_autofree_ struct target_row *rows = NULL;
	struct run_view v;
	int r;

	clean_all(o);
	r = status_view(o, &v, &rows, e);
	return r == 0
		   ? table_draw(&v, columns, lines, color_wanted(STDOUT_FILENO), out, ret_lines, e)
		   : r;
}

/* --- a page about a target ------------------------------------------------ */

enum { TEXT = 2 * ESCAPE_MAX };

struct page {
	const json_t *target;
	struct buf *out;
};

/* title "": continues the line above. */
static void __attribute__((format(printf, 3, 4)))
line(struct page *p, const char *title, const char *fmt, ...)
{
	char text[TEXT];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_printf(p->out, "%-11s %s\n", title, text);
}

static uint64_t page_number(const struct page *p, const char *key)
{
	return json_get_u64(p->target, key);
}

static const char *page_count(const json_t *o, const char *key, char out[UNITS_MAX])
{
	return units_count(json_get_u64(o, key), out);
}

static const char *size(const struct page *p, const char *key, char out[UNITS_MAX])
{
	return units_size(page_number(p, key), out);
}

static const char *page_time(const struct page *p, const char *key, char out[UNITS_MAX])
{
	return units_time(json_get_us(p->target, key), out);
}

/* 0 to 100 */
static double page_percent(const json_t *o, const char *key)
{
	double d = json_number_value(json_object_get(o, key));

	return d > 0 ? (d < 1 ? d * 100 : 100) : 0;
}

static void page_state(struct page *p)
{
	char name[ESCAPE_MAX], state[ESCAPE_MAX], note[ESCAPE_MAX];

	buf_printf(p->out, "%s: %s\n", escape(json_get_text(p->target, "name"), name),
		   escape(json_get_text(p->target, "state"), state));
	if (*json_get_text(p->target, "note"))
		line(p, "note", "%s", escape(json_get_text(p->target, "note"), note));
	if (*json_get_text(p->target, "forged"))
		line(p, "forged", "%s", escape(json_get_text(p->target, "forged"), note));
}

static void page_progress(struct page *p)
{
	char a[UNITS_MAX], b[UNITS_MAX], c[UNITS_MAX];
	uint64_t cov = page_number(p, "cov"), edges = page_number(p, "edges");

	line(p, "time",
	     "%s, %s of it in cells; %s of CPU time; waited for a CPU %.0f%% of the time",
	     page_time(p, "wall_seconds", a), page_time(p, "cell_seconds", b),
	     page_time(p, "cpu_seconds", c), page_percent(p->target, "starved_share"));
	line(p, "inputs", "%s executed, %s a second of CPU time; at most %s each",
	     page_count(p->target, "execs", a), page_count(p->target, "execs_per_cpu_second", b),
	     page_time(p, "input_timeout_seconds", c));
	line(p, "coverage", "%llu of %llu edges (%.0f%%), %llu features", (unsigned long long)cov,
	     (unsigned long long)edges, edges ? (double)cov / (double)edges * 100 : 0,
	     (unsigned long long)page_number(p, "ft"));
	if (json_is_number(json_object_get(p->target, "seconds_since_find")))
		line(p, "last find", "%s ago", page_time(p, "seconds_since_find", a));
	else
		line(p, "last find", "none in this run");
}

static void page_corpus(struct page *p)
{
	const json_t *kept = json_object_get(p->target, "inputs_kept");
	char a[UNITS_MAX], b[UNITS_MAX], c[UNITS_MAX];

	line(p, "corpus", "%s inputs, %s; %s of them new", page_count(p->target, "corpus_units", a),
	     size(p, "corpus_bytes", b), page_count(p->target, "new_inputs", c));
	line(p, "", "it began with %s; %s came from the dictionary, %s from comparisons",
	     page_count(p->target, "seeds", a), page_count(kept, "by_dictionary", b),
	     page_count(kept, "by_comparison", c));
	line(p, "dictionary", "%s entries, %s words of the program",
	     page_count(p->target, "dictionary_entries", a),
	     page_count(p->target, "dictionary_words", b));
}

static void page_checks(struct page *p)
{
	uint64_t since = page_number(p, "checks_behind_since");
	uint64_t now = clock_real_us() / USEC_PER_SEC;
	char left[UNITS_OF_MAX], waits[UNITS_MAX];

	if (page_number(p, "checks_left") == 0)
		return;
	units_of(page_number(p, "checks_left"), "input waits", "inputs wait", left);
	if (since > 0 && since <= now)
		line(p, "checks", "%s for other builds; inputs have waited for %s", left,
		     units_time((now - since) * USEC_PER_SEC, waits));
	else
		line(p, "checks", "%s for other builds", left);
}

static void page_outlook(struct page *p)
{
	const json_t *o = json_object_get(p->target, "outlook");
	char a[UNITS_MAX];

	if (!json_is_object(o))
		return;
	line(p, "outlook",
	     "%.1f new edges in another CPU-hour, after %s of CPU time with this build",
	     json_number_value(json_object_get(o, "edges_in_next_cpu_hour")),
	     units_time(json_get_us(o, "cpu_seconds_of_build"), a));
}

static void page_strategies(struct page *p)
{
	char text[STRATEGIES_TEXT];

	strategies_text(p->target, true, text);
	if (*text)
		line(p, "strategies", "%s", text);
}

static void page_machine(struct page *p)
{
	char a[UNITS_MAX], b[UNITS_MAX], c[UNITS_MAX], state[ESCAPE_MAX];

	line(p, "memory", "%s of %s, at most %s so far", size(p, "memory_bytes", a),
	     size(p, "memory_limit_bytes", b), size(p, "memory_peak_bytes", c));
	line(p, "waits for", "CPU %.0f%%, memory %.0f%%, disk %.0f%% of the last second: %s",
	     page_percent(p->target, "pressure_cpu"), page_percent(p->target, "pressure_memory"),
	     page_percent(p->target, "pressure_io"),
	     escape(json_get_text(p->target, "pressure_state"), state));
	if (*json_get_text(p->target, "syscalls_refused"))
		line(p, "refused", "system calls: %s",
		     escape(json_get_text(p->target, "syscalls_refused"), state));
}

static void page_failures(struct page *p)
{
	char kinds[TEXT] = "", name[ESCAPE_MAX];
	const char *kind;
	json_t *n;
	size_t used = 0;

	json_object_foreach((json_t *)json_object_get(p->target, "failures"), kind, n)
	{
		if (used < sizeof(kinds))
			used += (size_t)snprintf(
			    kinds + used, sizeof(kinds) - used, "%s%llu %.40s", used ? ", " : ": ",
			    (unsigned long long)json_integer_value(n), escape(kind, name));
	}
	line(p, "failures", "%llu%s; %llu restarts",
	     (unsigned long long)page_number(p, "failures_total"), kinds,
	     (unsigned long long)page_number(p, "restarts"));
}

static void page_crash(struct page *p, const char *title, const json_t *c)
{
	char sig[ESCAPE_MAX], state[ESCAPE_MAX], what[ESCAPE_MAX];

	line(p, title, "%.64s  %.16s  %.300s%s; %llu times, reproduces %llu of %llu",
	     escape(json_get_text(c, "signature"), sig), escape(json_get_text(c, "state"), state),
	     escape(json_get_text(c, "what"), what),
	     json_is_true(json_object_get(c, "security")) ? " (security)" : "",
	     (unsigned long long)json_get_u64(c, "count"),
	     (unsigned long long)json_get_u64(c, "hits"),
	     (unsigned long long)json_get_u64(c, "tries"));
}

static void page_crashes(struct page *p)
{
	enum { SHOWN = 10 };
	const json_t *all = json_object_get(p->target, "crashes");
	size_t n = json_array_size(all), artifacts;
	char name[ESCAPE_MAX];

	for (size_t i = 0; i < n && i < SHOWN; i++)
		page_crash(p, i ? "" : "crashes", json_array_get(all, i));
	if (n > SHOWN)
		line(p, "", "and %zu more (fuzzcell crash list)", n - SHOWN);
	artifacts = json_array_size(json_object_get(p->target, "artifacts"));
	if (artifacts > 0)
		line(p, "artifacts", "%zu in logs/<run>/crashes/%s", artifacts,
		     escape(json_get_text(p->target, "name"), name));
}

void status_page(const json_t *target, struct buf *out)
{
	struct page p = {.target = target, .out = out};

	page_state(&p);
	page_progress(&p);
	page_corpus(&p);
	page_checks(&p);
	page_outlook(&p);
	page_strategies(&p);
	page_machine(&p);
	page_failures(&p);
	page_crashes(&p);
	buf_puts(out, "\n");
	status_health(target, true, out);
}

/* --- findings about a target ---------------------------------------------- */

static void add_finding(const char *name, const struct health_finding *f, bool advise,
			struct buf *out)
{
	char shown_name[ESCAPE_MAX], why[ESCAPE_MAX];

	buf_printf(out, "%s: %s %s: %s\n", escape(name, shown_name),
		   health_severity_name(f->severity), health_code_name(f->code),
		   escape(f->reason, why));
	if (advise)
		buf_printf(out, "  -> %s\n", f->advice);
}

void status_health(const json_t *target, bool all, struct buf *out)
{
	const struct health_target facts = {.stats = target};
	const char *name = json_get_text(target, "name");
	enum health_severity from = all ? HEALTH_OK : HEALTH_WARNING;
	char shown_name[ESCAPE_MAX];
	struct health h;

	health_judge(&facts, &h);
	for (size_t i = 0; i < h.n; i++)
		if (h.v[i].severity >= from)
			add_finding(name, &h.v[i], all, out);
	if (all && h.n == 0)
		buf_printf(out, "%s: %s\n", escape(name, shown_name),
			   h.known ? "healthy" : "nothing is known: it was not fuzzed yet");
}

/* --- one status of each place --------------------------------------------- */

enum { LINES_ALL = 1 << 20, TEXT_MAX = 16 << 20 };

struct status_args {
	struct places places;
	struct control_request request;
	bool watch, json;
};

static int print_silent(const struct status_args *a, const struct place *p)
{
	_autojson_ json_t *o = NULL;

	if (!a->json) {
		place_print_silent(p);
		return EXIT_DONE;
	}
	o = place_silent_json(p);
	return answer_print_line(o);
}

static void add_health(const json_t *o, struct buf *text)
{
	const json_t *targets = json_object_get(o, "targets");

	for (size_t i = 0; i < json_array_size(targets); i++)
		status_health(json_array_get(targets, i), false, text);
}

static int print_table(const struct place *p, json_t *o)
{
	_autobuf_ struct buf text = BUF_INIT(TEXT_MAX);
	char shown[ESCAPE_MAX];
	unsigned columns = 0, lines;
	struct err e;

	if (isatty(STDOUT_FILENO))
		table_screen(STDOUT_FILENO, &columns, &lines);
	if (status_draw(o, columns, LINES_ALL, &text, &lines, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	add_health(o, &text);
	if (buf_check(&text, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	printf("%s\n", escape(p->state->path, shown));
	fflush(stdout);
	/* Written without stdio's escaping, because the text contains colours. */
	if (sys_write_all(STDOUT_FILENO, buf_str(&text), text.n) < 0 && errno != EPIPE)
		return fail(EXIT_INTERNAL, "standard output: %s", strerror(errno));
	return EXIT_DONE;
}

static int print_target(json_t *target)
{
	_autobuf_ struct buf text = BUF_INIT(TEXT_MAX);
	struct err e;

	status_page(target, &text);
	if (buf_check(&text, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	printf("%s", buf_str(&text));
	return EXIT_DONE;
}

static int print_one(const struct status_args *a, const struct place *p)
{
	_autojson_ json_t *o = NULL;
	char shown[ESCAPE_MAX], why[ESCAPE_MAX];
	struct err e;
	int r = place_ask(p, &a->request, &o, &e);

	if (r == -ENOENT)
		return print_silent(a, p);
	if (r < 0)
		return fail(place_failed(r), "%s: %s", escape(p->state->path, shown),
			    escape(e.msg, why));
	if (a->json) {
		(void)json_object_set_new(o, "state_dir", answer_text(p->state->path));
		return answer_print_line(o);
	}
	if (a->request.cmd != CONTROL_TARGET)
		return print_table(p, o);
	return print_target(json_object_get(o, "target"));
}

/* Prints the places that could be opened. */
static int print_all(const struct status_args *a, int r)
{
	for (size_t i = 0; i < a->places.n; i++) {
		int one = a->places.v[i].state ? print_one(a, &a->places.v[i]) : EXIT_DONE;

		if (r == EXIT_DONE)
			r = one;
	}
	return r;
}

/* --- --watch -------------------------------------------------------------- */

enum { SCREEN_MAX = 1 << 20 };

struct watcher {
	struct status_args *a;
	struct loop *loop;
	struct source *tick, *signals[3];
	bool terminal;
	unsigned drawn; /* number of lines on the screen that the next drawing replaces */
	int status;
};

/* Draws the part of one place. False: no run is active there. */
static bool draw_place(struct watcher *w, const struct place *p, unsigned columns, unsigned lines,
		       struct buf *out)
{
	_autojson_ json_t *o = NULL;
	_autobuf_ struct buf table = BUF_INIT(SCREEN_MAX);
	char shown[ESCAPE_MAX], path[ESCAPE_MAX];
	struct err e;
	unsigned n = 0;
	int r = place_ask(p, &w->a->request, &o, &e);

	if (r == 0 && w->a->json) {
		(void)json_object_set_new(o, "state_dir", answer_text(p->state->path));
		w->status = answer_print_line(o);
		return true;
	}
	if (r == 0)
		r = status_draw(o, columns, lines, &table, &n, &e);
	if (r == 0) {
		buf_put(out, buf_slice(&table));
		w->drawn += n;
		return true;
	}
	if (w->a->json)
		return r != -ENOENT;
	/* The run may answer at the next tick. */
	buf_printf(out, "%.*s: %.*s\n", (int)columns / 2, escape(p->state->path, path),
		   (int)columns / 3, escape(e.msg, shown));
	w->drawn++;
	return r != -ENOENT;
}

static bool watch_draw(struct watcher *w)
{
	size_t n = w->a->places.n, live = 0;
	_autobuf_ struct buf b = BUF_INIT((n + 1) * SCREEN_MAX); /* enough for all tables */
	unsigned columns, lines;
	struct err e;

	table_screen(STDOUT_FILENO, &columns, &lines);
	if (!w->terminal)
		lines = SCREEN_MAX;
	if (w->terminal && w->drawn)
		buf_printf(&b, "\x1b[%uF\x1b[J", w->drawn);
	w->drawn = 0;
	for (size_t i = 0; i < n; i++)
		live += draw_place(w, &w->a->places.v[i], columns, lines / (unsigned)n, &b);
	if (buf_check(&b, &e) < 0) {
		w->status = fail(EXIT_INTERNAL, "%s", e.msg);
		return false;
	}
	if (sys_write_all(STDOUT_FILENO, buf_str(&b), b.n) < 0 || term_lost() != 0)
		return false; /* the reader is gone */
	return live > 0;
}

static void watch_on_tick(void *arg)
{
	struct watcher *w = arg;
	struct err e;

	if (!watch_draw(w))
		loop_stop(w->loop);
	else if (loop_set_timer(w->tick, clock_mono_us() + USEC_PER_SEC, &e) < 0) {
		w->status = fail(EXIT_INTERNAL, "%s", e.msg);
		loop_stop(w->loop);
	}
}

static void watch_on_signal(void *arg, int signo)
{
	struct watcher *w = arg;

	(void)signo;
	loop_stop(w->loop);
}

static int watch_run(struct watcher *w, struct err *e)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	int r = loop_new(&w->loop, e);

	for (size_t i = 0; r == 0 && i < sizeof(ends) / sizeof(ends[0]); i++)
		r = loop_add_signal(w->loop, ends[i], watch_on_signal, w, &w->signals[i], e);
	if (r == 0)
		r = loop_add_timer(w->loop, clock_mono_us(), watch_on_tick, w, &w->tick, e);
	return r == 0 ? loop_run(w->loop, e) : r;
}

/* Reports whether the terminal can replace lines. */
static bool is_screen(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

/* Prints the status every second, until no run is active or a signal arrives. Returns an exit
 * status. */
static int status_watch(struct status_args *a)
{
	struct watcher w = {.a = a, .terminal = !a->json && is_screen()};
	struct err e;

	if (watch_run(&w, &e) < 0)
		w.status = fail(EXIT_INTERNAL, "%s", e.msg);
	for (size_t i = 0; i < sizeof(w.signals) / sizeof(w.signals[0]); i++)
		source_remove(w.signals[i]);
	source_remove(w.tick);
	loop_free(w.loop);
	return w.status;
}

/* --- the command ---------------------------------------------------------- */

static const struct option_spec specs[] = {
    STATE_OPTIONS_TAKE,
    {"watch", NULL, "repeat every second until the run ends", OPTION_AT(struct status_args, watch)},
    {"json", NULL, "print JSON", OPTION_AT(struct status_args, json)},
    COLOR_OPTION,
};

static bool status_take(void *arg, const char *name, const char *value)
{
	struct status_args *a = arg;

	return places_take(&a->places, name, value);
}

int command_status(int argc, char **argv)
{
	struct status_args a = {.request = {.cmd = CONTROL_STATUS}};
	int at = options_parse(argc, argv, "status [OPTION]... [TARGET]", specs,
			       sizeof(specs) / sizeof(specs[0]), status_take, &a);
	int r;

	if (at < 0)
		return -1 - at;
	if (argc > at + 1)
		return fail(EXIT_USAGE, "status: unexpected '%s'", argv[at + 1]);
	if (at < argc && (!*argv[at] || strlen(argv[at]) > CONTROL_TARGET_MAX))
		return fail(EXIT_USAGE, "status: invalid target name");
	if (at < argc && a.watch)
		return fail(EXIT_USAGE, "status: --watch shows all targets");
	if (at < argc) {
		a.request.cmd = CONTROL_TARGET;
		(void)snprintf(a.request.target, sizeof(a.request.target), "%s", argv[at]);
	}
	r = places_open(&a.places);
	if (!a.watch)
		r = print_all(&a, r);
	else if (r == EXIT_DONE)
		r = status_watch(&a);
	places_close(&a.places);
	return r;
}
