/* SPDX-License-Identifier: Apache-2.0 */
/* What FuzzTest and Centipede's runner print: their limits, and properties that do not hold. */
#include "runner/crash/report/internal.h"

/* "a_test.cc:47: Counterexample found for Suite.Property.": a failed expectation has no stack.  Its
 * file and its test identify it. */
static void fuzztest_property(struct crash_parser *p, struct slice line)
{
	struct slice test = line, file = line;

	if (verdict_known(p) || !text_after(&test, SLICE(": Counterexample found for ")) ||
	    !text_cut(&file, SLICE(":")))
		return;
	verdict_new(p, "Test failure", CRASH_ASSERT, line);
	text_drop(&test, SLICE("."));
	verdict_cause(p, test);
	text_copy(p->v.place, sizeof(p->v.place), text_basename(file));
}

bool kind_fuzztest(struct crash_parser *p, const struct line *l)
{
	struct slice text = l->text;

	if (!words_has(l->words, WORDS_FUZZTEST))
		return false;
	if (!scan_lit(&text, SLICE("[!] ")) && !scan_lit(&text, SLICE("========= "))) {
		fuzztest_property(p, l->text);
		return false;
	}
	if (scan_lit(&text, SLICE("Per-input timeout exceeded: ")))
		verdict_new(p, "Timeout", CRASH_ENGINE, l->text);
	else if (scan_lit(&text, SLICE("RSS limit exceeded: ")))
		verdict_new(p, "Out-of-memory", CRASH_ENGINE, l->text);
	return false;
}
