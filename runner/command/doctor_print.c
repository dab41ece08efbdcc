/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/doctor.h"
#include "runner/command/escape.h"

#include <stdio.h>
#include <string.h>

static void say(const char *before, const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	char shown[ESCAPE_MAX];

	printf("%s%s", before, escape(text ? text : "", shown));
}

/* Advice may have several lines, of ours. */
static void say_advice(const json_t *f)
{
	struct slice in = slice_of(""), line;
	const char *text = json_string_value(json_object_get(f, "advice"));
	bool first = true;

	if (text)
		in = slice_of(text);
	while (scan_line(&in, &line)) {
		char cut[ESCAPE_MAX], shown[ESCAPE_MAX];

		snprintf(cut, sizeof(cut), "%.*s", (int)line.n, line.p);
		printf("      %s %s\n", first ? "->" : "  ", escape(cut, shown));
		first = false;
	}
}

static void say_findings(const json_t *findings)
{
	for (size_t i = 0; i < json_array_size(findings); i++) {
		const json_t *f = json_array_get(findings, i);

		say("  ", f, "severity");
		say(" ", f, "code");
		say(": ", f, "reason");
		putchar('\n');
		if (strcmp(json_string_value(json_object_get(f, "severity")), "ok") != 0)
			say_advice(f);
	}
}

static void say_part(const json_t *all, const char *name)
{
	const json_t *part = json_object_get(all, name);

	printf("%s: ", name);
	say("", part, "severity");
	if (json_object_get(part, "is"))
		say("\n  ", part, "is");
	putchar('\n');
	say_findings(json_object_get(part, "findings"));
}

static const char *verdict(const json_t *target)
{
	const char *severity = json_string_value(json_object_get(target, "severity"));

	if (!json_is_true(json_object_get(target, "known")))
		return "nothing is known: it was not fuzzed yet";
	return !severity || strcmp(severity, "ok") == 0 ? "healthy" : severity;
}

void doctor_print(const json_t *all)
{
	const json_t *targets = json_object_get(all, "targets");

	say_part(all, "machine");
	say_part(all, "service");
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *t = json_array_get(targets, i);

		say("", t, "name");
		printf(": %s\n", verdict(t));
		say_findings(json_object_get(t, "findings"));
	}
	if (json_array_size(targets) == 0)
		puts("no targets are known: nothing was fuzzed yet");
}
