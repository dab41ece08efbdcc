/* SPDX-License-Identifier: Apache-2.0 */
/* A page about a target of an active run, for its user. */
#include "base/escape.h"
#include "base/units.h"
#include "runner/command/control/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

static uint64_t control_status_page_number(const struct page *p, const char *key)
{
	return json_get_u64(p->target, key);
}

static const char *control_status_page_count(const json_t *o, const char *key, char out[UNITS_MAX])
{
	return units_count(json_get_u64(o, key), out);
}

static const char *size(const struct page *p, const char *key, char out[UNITS_MAX])
{
	return units_size(control_status_page_number(p, key), out);
}

static const char *control_status_page_time_of(const struct page *p, const char *key,
					       char out[UNITS_MAX])
{
	return units_time(json_get_us(p->target, key), out);
}

/* 0 to 100 */
static double control_status_page_percent(const json_t *o, const char *key)
{
	double d = json_number_value(json_object_get(o, key));

	return d > 0 ? (d < 1 ? d * 100 : 100) : 0;
}

static void say_state(struct page *p)
{
	char name[ESCAPE_MAX], state[ESCAPE_MAX], note[ESCAPE_MAX];

	buf_printf(p->out, "%s: %s\n", escape(json_get_text(p->target, "name"), name),
		   escape(json_get_text(p->target, "state"), state));
	if (*json_get_text(p->target, "note"))
		line(p, "note", "%s", escape(json_get_text(p->target, "note"), note));
	if (*json_get_text(p->target, "forged"))
		line(p, "forged", "%s", escape(json_get_text(p->target, "forged"), note));
}

static void say_progress(struct page *p)
{
	char a[UNITS_MAX], b[UNITS_MAX], c[UNITS_MAX];
	uint64_t cov = control_status_page_number(p, "cov"),
		 edges = control_status_page_number(p, "edges");

	line(p, "time",
	     "%s, %s of it in cells; %s of CPU time; waited for a CPU %.0f%% of the time",
	     control_status_page_time_of(p, "wall_seconds", a),
	     control_status_page_time_of(p, "cell_seconds", b),
	     control_status_page_time_of(p, "cpu_seconds", c),
	     control_status_page_percent(p->target, "starved_share"));
	line(p, "inputs", "%s executed, %s a second of CPU time; at most %s each",
	     control_status_page_count(p->target, "execs", a),
	     control_status_page_count(p->target, "execs_per_cpu_second", b),
	     control_status_page_time_of(p, "input_timeout_seconds", c));
	line(p, "coverage", "%llu of %llu edges (%.0f%%), %llu features", (unsigned long long)cov,
	     (unsigned long long)edges, edges ? (double)cov / (double)edges * 100 : 0,
	     (unsigned long long)control_status_page_number(p, "ft"));
	if (json_is_number(json_object_get(p->target, "seconds_since_find")))
		line(p, "last find", "%s ago",
		     control_status_page_time_of(p, "seconds_since_find", a));
	else
		line(p, "last find", "none in this run");
}

static void control_status_page_say_corpus(struct page *p)
{
	const json_t *kept = json_object_get(p->target, "inputs_kept");
	char a[UNITS_MAX], b[UNITS_MAX], c[UNITS_MAX];

	line(p, "corpus", "%s inputs, %s; %s of them new",
	     control_status_page_count(p->target, "corpus_units", a), size(p, "corpus_bytes", b),
	     control_status_page_count(p->target, "new_inputs", c));
	line(p, "", "it began with %s; %s came from the dictionary, %s from comparisons",
	     control_status_page_count(p->target, "seeds", a),
	     control_status_page_count(kept, "by_dictionary", b),
	     control_status_page_count(kept, "by_comparison", c));
	line(p, "dictionary", "%s entries, %s words of the program",
	     control_status_page_count(p->target, "dictionary_entries", a),
	     control_status_page_count(p->target, "dictionary_words", b));
}

static void say_outlook(struct page *p)
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

static void say_machine(struct page *p)
{
	char a[UNITS_MAX], b[UNITS_MAX], c[UNITS_MAX], state[ESCAPE_MAX];

	line(p, "memory", "%s of %s, at most %s so far", size(p, "memory_bytes", a),
	     size(p, "memory_limit_bytes", b), size(p, "memory_peak_bytes", c));
	line(p, "waits for", "CPU %.0f%%, memory %.0f%%, disk %.0f%% of the last second: %s",
	     control_status_page_percent(p->target, "pressure_cpu"),
	     control_status_page_percent(p->target, "pressure_memory"),
	     control_status_page_percent(p->target, "pressure_io"),
	     escape(json_get_text(p->target, "pressure_state"), state));
	if (*json_get_text(p->target, "syscalls_refused"))
		line(p, "refused", "system calls: %s",
		     escape(json_get_text(p->target, "syscalls_refused"), state));
}

static void say_failures(struct page *p)
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
	     (unsigned long long)control_status_page_number(p, "failures_total"), kinds,
	     (unsigned long long)control_status_page_number(p, "restarts"));
}

static void say_crash(struct page *p, const char *title, const json_t *c)
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

static void say_crashes(struct page *p)
{
	enum { SHOWN = 10 };
	const json_t *all = json_object_get(p->target, "crashes");
	size_t n = json_array_size(all), artifacts;
	char name[ESCAPE_MAX];

	for (size_t i = 0; i < n && i < SHOWN; i++)
		say_crash(p, i ? "" : "crashes", json_array_get(all, i));
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

	say_state(&p);
	say_progress(&p);
	control_status_page_say_corpus(&p);
	say_outlook(&p);
	say_machine(&p);
	say_failures(&p);
	say_crashes(&p);
	buf_puts(out, "\n");
	status_health(target, true, out);
}
