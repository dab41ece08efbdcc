/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/ci/formats.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/units.h"
#include "runner/publish/render/render.h"

#include <string.h>

enum { SHOWN = 300, VERDICT_SHOWN = 1000 };

static void code(const char *text, struct buf *out)
{
	render_code(text, SHOWN, out);
}

/* In a table, a vertical bar ends a cell, also in code. */
static void cell(const char *text, struct buf *out)
{
	_autofree_ char *copy = xstrdup(text);

	for (char *c = copy; *c; c++)
		if (*c == '|')
			*c = '/';
	code(copy, out);
}

static bool has_status(const json_t *crash, const char *status)
{
	return strcmp(json_get_text(crash, "status"), status) == 0;
}

static void put_crash(const json_t *c, struct buf *out)
{
	const char *path = json_get_text(c, "path"), *base = json_get_text(c, "base");

	buf_puts(out, "- ");
	code(json_get_text(c, "type"), out);
	buf_puts(out, " in ");
	code(json_get_text(c, "target"), out);
	if (*path) {
		char line[32];

		snprintf(line, sizeof(line), ":%llu", (unsigned long long)json_get_u64(c, "line"));
		buf_puts(out, " at ");
		code(path, out);
		buf_puts(out, line);
	}
	buf_puts(out, ", crash ");
	code(json_get_text(c, "signature"), out);
	if (*base) {
		buf_puts(out, ": ");
		code(base, out);
	}
	buf_puts(out, "\n");
}

static void put_crashes(const json_t *crashes, const char *status, const char *title,
			struct buf *out)
{
	bool any = false;

	for (size_t i = 0; i < json_array_size(crashes); i++) {
		const json_t *c = json_array_get(crashes, i);

		if (!has_status(c, status))
			continue;
		if (!any)
			buf_printf(out, "\n### %s\n\n", title);
		any = true;
		put_crash(c, out);
	}
}

static void put_targets(const json_t *targets, struct buf *out)
{
	buf_puts(out, "\n| target | why | result |\n|---|---|---|\n");
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *t = json_array_get(targets, i);
		const char *unbuilt = json_get_text(t, "unbuilt");
		const char *problem = json_get_text(t, "problem");
		uint64_t left = json_get_u64(t, "checks_left");
		char n[UNITS_OF_MAX];

		buf_puts(out, "| ");
		cell(json_get_text(t, "name"), out);
		buf_puts(out, " | ");
		buf_puts(out, json_get_text(t, "why"));
		buf_puts(out, " | ");
		if (*unbuilt)
			cell(unbuilt, out);
		else if (*problem)
			cell(problem, out);
		else if (json_is_true(json_object_get(t, "fuzzed")))
			buf_printf(out, "%llu executions, %llu edges",
				   (unsigned long long)json_get_u64(t, "execs"),
				   (unsigned long long)json_get_u64(t, "edges"));
		else
			buf_puts(out, "inputs replayed");
		if (left > 0)
			buf_printf(out, "; %s for its check builds",
				   units_of(left, "input waits", "inputs wait", n));
		buf_puts(out, " |\n");
	}
}

void ci_markdown(const json_t *result, struct buf *out)
{
	const json_t *crashes = json_object_get(result, "crashes");
	const json_t *replayed = json_object_get(result, "replayed");
	const char *head = json_get_text(result, "head"), *base = json_get_text(result, "base");

	buf_printf(out, "## fuzzcell: %s\n\n", json_get_text(result, "status"));
	render_code(json_get_text(result, "verdict"), VERDICT_SHOWN, out);
	buf_puts(out, "\n\n");
	buf_printf(out, "`%.12s` against `%.12s`, seed %llu: %llu known inputs replayed\n", head,
		   base, (unsigned long long)json_get_u64(result, "seed"),
		   (unsigned long long)json_get_u64(replayed, "inputs"));
	put_crashes(crashes, "new", "New crashes", out);
	put_crashes(crashes, "fixed", "Fixed", out);
	put_crashes(crashes, "old", "Not by this change", out);
	put_crashes(crashes, "unconfirmed", "Seen, but not reproduced", out);
	put_targets(json_object_get(result, "targets"), out);
}
