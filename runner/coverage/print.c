/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/coverage/print.h"

#include "base/escape.h"
#include "base/units.h"

#include <string.h>
#include <time.h>

enum { NAMES_SHOWN = 10 };

const char *print_share(const json_t *totals, const char *measure, char out[PRINT_SHARE])
{
	const json_t *m = json_object_get(totals, measure);
	uint64_t count = json_get_u64(m, "count"), covered = json_get_u64(m, "covered");

	if (count == 0)
		snprintf(out, PRINT_SHARE, "none");
	else
		snprintf(out, PRINT_SHARE, "%llu of %llu (%.1f %%)", (unsigned long long)covered,
			 (unsigned long long)count, 100.0 * (double)covered / (double)count);
	return out;
}

static void print_totals(const json_t *totals, FILE *to)
{
	static const char *const measures[] = {"lines", "functions", "regions", "branches"};
	char share[PRINT_SHARE];

	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++)
		fprintf(to, "%s%s %s", i ? ", " : "", measures[i],
			print_share(totals, measures[i], share));
}

static void print_inputs(const json_t *inputs, FILE *to)
{
	uint64_t failed = json_get_u64(inputs, "failed"), left = json_get_u64(inputs, "left_out");
	char n[UNITS_OF_MAX], text[ESCAPE_MAX];

	fprintf(to, "  %s", units_of(json_get_u64(inputs, "ran"), "input", "inputs", n));
	if (failed)
		fprintf(to, "; %llu failed, and are not in the report", (unsigned long long)failed);
	if (left)
		fprintf(to, "; %llu left out: %s", (unsigned long long)left,
			escape(json_get_text(inputs, "why"), text));
	fputs("\n", to);
}

static void print_blocker(const json_t *b, FILE *to)
{
	const char *source = json_get_text(b, "source");
	uint64_t functions = json_get_u64(b, "functions");
	char text[ESCAPE_MAX], n[UNITS_OF_MAX];

	fprintf(to, "  %s", units_of(json_get_u64(b, "lines"), "line", "lines", n));
	if (functions)
		fprintf(to, ", %s", units_of(functions, "function", "functions", n));
	fprintf(to, ": %s:%llu", escape(json_get_text(b, "path"), text),
		(unsigned long long)json_get_u64(b, "line"));
	fprintf(to, " in %s: never %s in %s\n", escape(json_get_text(b, "function"), text),
		json_is_true(json_object_get(b, "missing")) ? "true" : "false",
		units_of(json_get_u64(b, "evaluated"), "evaluation", "evaluations", n));
	if (*source)
		fprintf(to, "      %s\n", escape(source, text));
}

static void print_names(const json_t *list, uint64_t n, const char *what, FILE *to)
{
	char text[ESCAPE_MAX];
	const json_t *f;
	size_t i;

	if (n == 0)
		return;
	fprintf(to, "%s (%llu):\n", what, (unsigned long long)n);
	json_array_foreach(list, i, f)
	{
		if (i == NAMES_SHOWN) {
			fprintf(to, "  and %llu more\n", (unsigned long long)(n - i));
			return;
		}
		fprintf(to, "  %s", escape(json_get_text(f, "function"), text));
		fprintf(to, " (%s)\n", escape(json_get_text(f, "path"), text));
	}
}

void print_coverage(const json_t *report, size_t most, FILE *to)
{
	const json_t *change = json_object_get(report, "change"), *b;
	const json_t *blockers = json_object_get(report, "blockers");
	const char *target = json_get_text(report, "target");
	const char *notes = json_get_text(report, "notes");
	size_t i;

	fprintf(to, "%s: ", strcmp(target, "@all") == 0 ? "all targets" : target);
	print_totals(json_object_get(report, "totals"), to);
	fputs("\n", to);
	print_inputs(json_object_get(report, "inputs"), to);
	if (*notes) {
		char text[ESCAPE_MAX];

		fprintf(to, "  %s\n", escape(notes, text));
	}
	if (!json_is_true(json_object_get(report, "sources")))
		fputs("  without source text: --sources, or source_dir in the configuration, names "
		      "its tree\n",
		      to);
	if (json_array_size(blockers) > 0 && most > 0)
		fputs("what stands in the way of lines that were not reached:\n", to);
	json_array_foreach(blockers, i, b) if (i < most) print_blocker(b, to);
	print_names(json_object_get(change, "newly"), json_get_u64(change, "newly_reached"),
		    "newly reached functions", to);
	print_names(json_object_get(change, "lost"), json_get_u64(change, "no_longer_reached"),
		    "functions that are no longer reached", to);
}

void print_coverage_changes(const char *target, const json_t *changes, FILE *to)
{
	time_t since = (time_t)json_get_u64(changes, "since");
	const char *commit = json_get_text(changes, "commit");
	const json_t *newly = json_object_get(changes, "newly");
	const json_t *lost = json_object_get(changes, "lost");
	char when[32] = "?", text[ESCAPE_MAX], share[PRINT_SHARE];
	struct tm tm;

	if (gmtime_r(&since, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
	fprintf(to, "%s: since %s%s%s: lines ",
		strcmp(target, "@all") == 0 ? "all targets" : target, when,
		*commit ? ", commit " : "", escape(commit, text));
	fprintf(to, "%s", print_share(json_object_get(changes, "before"), "lines", share));
	fprintf(to, ", then %s\n", print_share(json_object_get(changes, "after"), "lines", share));
	print_names(newly, json_array_size(newly), "newly reached functions", to);
	print_names(lost, json_array_size(lost), "functions that are no longer reached", to);
}
