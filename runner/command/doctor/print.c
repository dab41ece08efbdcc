/* SPDX-License-Identifier: Apache-2.0 */
#include "base/escape.h"
#include "base/json.h"
#include "runner/command/doctor/doctor.h"
#include "runner/status/color.h"

#include <stdio.h>
#include <string.h>

static void doctor_print_say(const char *before, const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	char shown[ESCAPE_MAX];

	printf("%s%s", before, escape(text ? text : "", shown));
}

static void say_severity(const char *before, const json_t *o)
{
	const char *text = json_get_text(o, "severity");
	char shown[ESCAPE_MAX];

	fputs(before, stdout);
	color_print(color_of_severity(text), escape(text, shown));
}

/* Advice is our own text and may have several lines. */
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

/* From this number of targets on, waiting for a CPU is reported once: an oversubscribed machine is
 * one cause. */
enum { WAIT_TOGETHER = 4 };

static bool is_wait(const json_t *finding)
{
	return strcmp(json_get_text(finding, "code"), "starved") == 0 &&
	       strcmp(json_get_text(finding, "severity"), "note") == 0;
}

/* Returns the number of targets with such a note. *ret_one: one of the notes. */
static size_t count_waits(const json_t *targets, const json_t **ret_one)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *all = json_object_get(json_array_get(targets, i), "findings");

		for (size_t k = 0; k < json_array_size(all); k++)
			if (is_wait(json_array_get(all, k))) {
				*ret_one = json_array_get(all, k);
				n++;
			}
	}
	return n;
}

static void say_findings(const json_t *findings, bool without_waits)
{
	for (size_t i = 0; i < json_array_size(findings); i++) {
		const json_t *f = json_array_get(findings, i);

		if (without_waits && is_wait(f))
			continue;
		say_severity("  ", f);
		doctor_print_say(" ", f, "code");
		doctor_print_say(": ", f, "reason");
		putchar('\n');
		if (strcmp(json_string_value(json_object_get(f, "severity")), "ok") != 0)
			say_advice(f);
	}
}

static void say_part(const json_t *all, const char *name)
{
	const json_t *part = json_object_get(all, name);

	printf("%s: ", name);
	say_severity("", part);
	if (json_object_get(part, "is"))
		doctor_print_say("\n  ", part, "is");
	putchar('\n');
	say_findings(json_object_get(part, "findings"), false);
}

/* While a run is active, a target's results are unknown until its turn ends. */
static const char *doctor_print_unknown(bool live)
{
	return live ? "nothing is known yet: a run is active (fuzzcell status)"
		    : "nothing is known: it was not fuzzed yet";
}

static const char *doctor_print_verdict(const json_t *target, bool live)
{
	const char *severity = json_string_value(json_object_get(target, "severity"));

	if (!json_is_true(json_object_get(target, "known")))
		return doctor_print_unknown(live);
	return !severity || strcmp(severity, "ok") == 0 ? "healthy" : severity;
}

void doctor_print(const json_t *all)
{
	const json_t *targets = json_object_get(all, "targets");
	bool live = json_is_true(json_object_get(all, "live"));
	const json_t *one = NULL;
	size_t waits = count_waits(targets, &one);

	say_part(all, "machine");
	say_part(all, "service");
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *t = json_array_get(targets, i);

		doctor_print_say("", t, "name");
		printf(": ");
		color_print(color_of_severity(doctor_print_verdict(t, live)),
			    doctor_print_verdict(t, live));
		putchar('\n');
		say_findings(json_object_get(t, "findings"), waits >= WAIT_TOGETHER);
	}
	if (waits >= WAIT_TOGETHER) {
		printf("%zu targets: note\n  note starved: each waited for a CPU for much of its "
		       "time\n",
		       waits);
		say_advice(one);
	}
	if (json_array_size(targets) == 0)
		puts(live ? "no targets are known yet: the first run is active (fuzzcell status)"
			  : "no targets are known: nothing was fuzzed yet");
}
