/* SPDX-License-Identifier: Apache-2.0 */
/* Go: statistics and failures from the lines of a test program. */
#include "runner/engine/go/go.h"

#include <stdio.h>

/* A line may be forged: the target can write to all of these.  Nothing here allocates. */

/* --- fuzzing ------------------------------------------------------------------------------ */

/* Coverage is a bit for each power of two of each counter. */
enum { BITS_OF_COUNTER = 8 };

static void on_bits(uint64_t bits, struct engine_state *io)
{
	if (engine_too_many_edges(bits / BITS_OF_COUNTER, "reached", io) || bits <= io->cov)
		return;
	io->cov = io->ft = bits;
	io->last_new_execs = io->execs;
}

/* Finds "name N". */
static bool go_number_after(struct slice in, struct slice name, uint64_t *ret)
{
	return slice_find(&in, name) && engine_number(&in, ret);
}

/* "execs: 96920 (32297/sec), new interesting: 4 (total: 5)" */
static void on_progress(struct slice in, struct engine_state *io)
{
	uint64_t n;

	/* It never decreases: such a line is the target's own. */
	if (!go_number_after(in, SLICE("execs: "), &n) || n < io->execs ||
	    engine_too_many_execs(n, io))
		return;
	io->execs = n;
	io->running = true;
	io->status_lines++;
	if (slice_find(&in, SLICE(" (")) && engine_number(&in, &n))
		io->exec_per_s = n;
	if (go_number_after(in, SLICE("new interesting: "), &n))
		io->kept = n;
	if (go_number_after(in, SLICE("(total: "), &n))
		io->corpus_units = n;
}

/* "fuzz: elapsed: 3s, ..." */
static bool go_fuzz_line(struct slice line, struct engine_state *io)
{
	if (!scan_lit(&line, SLICE("fuzz: ")))
		return false;
	if (slice_find(&line, SLICE("now fuzzing with ")))
		io->running = true;
	else
		on_progress(line, io);
	return true;
}

/* "DEBUG new interesting input, elapsed: 0s, ..., new bits: 2, total bits: 5, size: 39, ..." */
static bool go_debug_line(struct slice line, struct engine_state *io)
{
	uint64_t bits, inputs;

	if (!scan_lit(&line, SLICE("DEBUG ")))
		return false;
	if (go_number_after(line, SLICE(", total bits: "), &bits) ||
	    go_number_after(line, SLICE(", initial coverage bits: "), &bits))
		on_bits(bits, io);
	if (go_number_after(line, SLICE(", entries: "), &inputs))
		io->corpus_units = inputs;
	return true;
}

/* --- failures ------------------------------------------------------------------------------ */

/* A failure without a message yet. */
static const char failed[] = "a test failed";

static void go_input_refused(struct slice text, struct engine_state *io)
{
	io->fault = ENGINE_FAULT_ENGINE;
	io->replaying = false;
	(void)slice_find(&text, SLICE("\": "));
	(void)slice_print(text, sizeof(io->fault_text), io->fault_text);
}

/* Behind "--- FAIL: ": "    a_test.go:16: reached 3", "    testing.go:1356: panic: ...", or
 * "    fuzzing process hung or ...".  A test may log before: the last message is that of the
 * failure, but of a panic, which has a stack behind it. */
static bool go_message(struct slice line, struct engine_state *io)
{
	struct slice file, whole;
	uint64_t n;

	if (io->fault != ENGINE_FAULT_CRASH || *io->artifact ||
	    strncmp(io->fault_text, "panic: ", 7) == 0 || !scan_lit(&line, SLICE("    ")))
		return false;
	scan_blanks(&line);
	whole = line;
	if (scan_lit(&line, SLICE("fuzzing process "))) {
		(void)slice_print(whole, sizeof(io->fault_text), io->fault_text);
		return true;
	}
	if (!scan_until(&line, ':', line.n, &file) || !slice_cut_end(&file, SLICE(".go")) ||
	    !scan_lit(&line, SLICE(":")) || !engine_number(&line, &n) ||
	    !scan_lit(&line, SLICE(": ")))
		return false;
	/* An input in another format, or of another test: it was not run. */
	if (scan_lit(&line, SLICE("\"" GO_INPUTS)))
		go_input_refused(line, io);
	else
		(void)slice_print(line, sizeof(io->fault_text), io->fault_text);
	return true;
}

/* "Failing input written to testdata/fuzz/FuzzParse/4489409e..." */
static void go_written(struct slice path, struct engine_state *io)
{
	while (slice_find(&path, SLICE("/")))
		;
	(void)slice_print(path, sizeof(io->artifact), io->artifact);
}

static bool go_report(struct slice line, struct engine_state *io)
{
	static const struct {
		struct slice begins;
		enum engine_fault fault;
	} reports[] = {
	    {{"panic: test timed out", 21}, ENGINE_FAULT_TIMEOUT},
	    {{"panic: ", 7}, ENGINE_FAULT_CRASH},
	    {{"fatal error: runtime: out of memory", 35}, ENGINE_FAULT_OOM},
	    {{"fatal error: runtime: cannot allocate memory", 44}, ENGINE_FAULT_OOM},
	    {{"fatal error: ", 13}, ENGINE_FAULT_CRASH},
	    {{"flag provided but not defined", 29}, ENGINE_FAULT_ENGINE},
	    {{"testing: ", 9}, ENGINE_FAULT_ENGINE}, /* "warning: no tests to run" */
	};

	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		struct slice rest = line;

		if (!scan_lit(&rest, reports[i].begins))
			continue;
		if (strcmp(io->fault_text, failed) == 0)
			io->fault = ENGINE_FAULT_NONE; /* this says how */
		engine_set_fault(io, reports[i].fault, SLICE(""), line);
		return true;
	}
	return false;
}

static void go_failure(struct slice line, struct engine_state *io)
{
	struct slice rest = line, plain = line;

	scan_blanks(&plain);
	if (go_message(line, io) || go_report(line, io))
		return;
	if (scan_lit(&plain, SLICE("--- FAIL: Fuzz")))
		engine_set_fault(io, ENGINE_FAULT_CRASH, SLICE(""), slice_of(failed));
	else if (scan_lit(&rest, SLICE("failure while testing seed corpus entry: ")))
		engine_set_fault(io, ENGINE_FAULT_CRASH, SLICE(""), line);
	else if (scan_lit(&plain, SLICE("Failing input written to ")))
		go_written(plain, io);
	else if (slice_find(&rest, SLICE("the test binary was not built with coverage "
					 "instrumentation")))
		io->not_instrumented = true;
	else if (slice_eq(line, SLICE("PASS")))
		io->done = true;
	else
		sanitizer_line(line, io);
}

void go_line(struct slice line, struct engine_state *io)
{
	if (!separate_line_unproven(line, io) && !go_fuzz_line(line, io) &&
	    !go_debug_line(line, io))
		go_failure(line, io);
}
