/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/state/history.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/session.h"
#include "runner/status/health/strategies.h"

#include <stdio.h>
#include <string.h>

enum { LINES_DEFAULT = 20, LINES_MAX = 100000 };

struct history_args {
	struct session session;
	const char *lines;
	bool json;
};

static const struct option_spec specs[] = {
    STATE_OPTIONS(struct history_args, session.common),
    {"n,lines", "N", "show the newest N lines (default: 20)",
     OPTION_AT(struct history_args, lines)},
    {"json", NULL, "print the lines as JSON", OPTION_AT(struct history_args, json)},
};

/* --- a line of a table -------------------------------------------------------- */

static const char *history_shown(const json_t *o, const char *key, char out[ESCAPE_MAX])
{
	const char *s = json_string_value(json_object_get(o, key));

	return escape(s ? s : "-", out);
}

static void print_run(const json_t *l)
{
	char run[ESCAPE_MAX], status[ESCAPE_MAX], commit[ESCAPE_MAX], c[9][UNITS_MAX];

	printf("%-18s %-8s %-12.12s %8s %8s %8s %7s %6s %6s %6s %7s %7s\n",
	       history_shown(l, "run", run), history_shown(l, "status", status),
	       history_shown(l, "commit", commit), known_time(l, "elapsed_seconds", c[0]),
	       known_time(l, "cpu_seconds", c[1]), known_count(l, "execs", c[2]),
	       known_exact(l, "targets", c[3]), known_exact(l, "given_up", c[4]),
	       known_exact(l, "not_fuzzed", c[5]), known_exact(l, "new_inputs", c[6]),
	       known_exact(l, "failures", c[7]), known_exact(l, "new_crashes", c[8]));
}

static void print_target_run(const json_t *l)
{
	char run[ESCAPE_MAX], reason[ESCAPE_MAX], commit[ESCAPE_MAX], c[9][UNITS_MAX];
	char strategies[STRATEGIES_TEXT];

	strategies_text(l, false, strategies);
	printf("%-18s %-15s %-12.12s %8s %8s %9s %7s %7s %7s %6s %7s %7s%s%s\n",
	       history_shown(l, "run", run), history_shown(l, "reason", reason),
	       history_shown(l, "commit", commit), known_time(l, "cpu_seconds", c[0]),
	       known_count(l, "execs", c[1]), known_count(l, "execs_per_cpu_second", c[2]),
	       known_exact(l, "cov", c[3]), known_exact(l, "edges", c[4]),
	       known_exact(l, "ft", c[5]), known_exact(l, "new_inputs", c[6]),
	       known_exact(l, "failures_total", c[7]), known_exact(l, "crashes_new", c[8]),
	       *strategies ? "  " : "", strategies);
}

static void history_print_table(const json_t *lines, bool target)
{
	if (target)
		printf("%-18s %-15s %-12s %8s %8s %9s %7s %7s %7s %6s %7s %7s  %s\n", "run",
		       "ended", "commit", "cpu", "execs", "per cpu-s", "cov", "edges", "ft",
		       "inputs", "failed", "crashes", "edges of this build by strategy");
	else
		printf("%-18s %-8s %-12s %8s %8s %8s %7s %6s %6s %6s %7s %7s\n", "run", "status",
		       "commit", "time", "cpu", "execs", "targets", "gaveup", "unfuzz", "inputs",
		       "failed", "crashes");
	for (size_t i = 0; i < json_array_size(lines); i++)
		(target ? print_target_run : print_run)(json_array_get(lines, i));
}

static int history_print_json(const json_t *lines)
{
	int r = EXIT_DONE;

	for (size_t i = 0; r == EXIT_DONE && i < json_array_size(lines); i++)
		r = answer_print_line(json_array_get(lines, i));
	return r;
}

/* --- the command ------------------------------------------------------------------ */

static int history_parse_lines(const struct history_args *a, size_t *ret)
{
	struct slice in = a->lines ? slice_of(a->lines) : SLICE("");
	uint64_t n = LINES_DEFAULT;

	if (a->lines && (!scan_u64(&in, 10, LINES_MAX, &n) || in.n > 0))
		return fail(EXIT_USAGE, "--lines: '%s' is not a number up to %d", a->lines,
			    LINES_MAX);
	*ret = n;
	return EXIT_DONE;
}

static int history_show(const struct history_args *a, const char *target, size_t n)
{
	const char *file = "run_history.jsonl";
	_autofree_ char *of_target = NULL;
	_autojson_ json_t *lines = NULL;
	char text[ESCAPE_MAX];
	uint64_t damaged;
	struct err e;

	if (target && history_target_name(target, &of_target, &e) < 0)
		return fail(EXIT_USAGE, "history: '%s': %s", escape(target, text), e.msg);
	if (target)
		file = of_target;
	if (history_last(a->session.state, file, n, &lines, &damaged, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (damaged)
		(void)fail(EXIT_DONE, "stats/%s: %llu damaged lines were left out",
			   escape(file, text), (unsigned long long)damaged);
	if (target && !damaged && json_array_size(lines) == 0 && n > 0)
		return fail(EXIT_USAGE, "history: target '%s' has no history",
			    escape(target, text));
	if (a->json)
		return history_print_json(lines);
	if (json_array_size(lines) == 0 && n > 0)
		puts("no run yet");
	else
		history_print_table(lines, target != NULL);
	return EXIT_DONE;
}

int command_history(int argc, char **argv)
{
	struct history_args a = {0};
	int at = options_parse(argc, argv, "history [TARGET] [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	size_t n = 0;
	int r;

	if (at < 0)
		return -1 - at;
	if (at + 1 < argc)
		return fail(EXIT_USAGE, "history: unexpected '%s'", argv[at + 1]);
	r = history_parse_lines(&a, &n);
	if (r == EXIT_DONE)
		r = session_load(&a.session);
	if (r == EXIT_DONE)
		r = session_read(&a.session);
	if (r == EXIT_DONE)
		r = history_show(&a, argv[at], n);
	session_close(&a.session);
	return r;
}
