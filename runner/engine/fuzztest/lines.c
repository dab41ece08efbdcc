/* SPDX-License-Identifier: Apache-2.0 */
/* FuzzTest: statistics and failures from the lines of a program. */
#include "runner/engine/fuzztest/fuzztest.h"

/* A line may be forged: the target can write to all of these.  Nothing here allocates. */

/* --- statistics --------------------------------------------------------------------------- */

/* "1.42e+06", with three digits. */
static bool fuzztest_float(struct slice in, uint64_t *ret)
{
	uint64_t whole, part, power, hundredths;

	if (!engine_number(&in, &whole) || whole > 9 || !scan_lit(&in, SLICE(".")) || in.n < 2 ||
	    in.p[0] < '0' || in.p[0] > '9' || in.p[1] < '0' || in.p[1] > '9')
		return false;
	part = (uint64_t)(in.p[0] - '0') * 10 + (uint64_t)(in.p[1] - '0');
	slice_skip(&in, 2);
	if (!scan_lit(&in, SLICE("e+")) || !scan_u64(&in, 10, 15, &power))
		return false;
	hundredths = whole * 100 + part;
	for (; power > 0; power--)
		hundredths *= 10;
	*ret = hundredths / 100;
	return true;
}

static void fuzztest_on_execs(uint64_t n, struct engine_state *io)
{
	if (!engine_too_many_execs(n, io) && n > io->execs)
		io->execs = n;
}

static void fuzztest_on_edges(uint64_t n, struct engine_state *io)
{
	if (engine_too_many_edges(n, "reached", io) || n <= io->cov)
		return;
	io->cov = n;
	io->last_new_execs = io->execs;
}

/* Finds "name" and behind blanks a number. */
static bool fuzztest_number(struct slice in, struct slice name, uint64_t *ret)
{
	if (!slice_find(&in, name))
		return false;
	scan_blanks(&in);
	return engine_number(&in, ret);
}

/* "[*] Corpus size:    21 | Edges covered:     18 | Fuzzing time:       82.3ms | Total runs:
 * 3.72e+03 | Runs/secs: 45167 | Max stack usage:       80" */
static void fuzztest_progress(struct slice line, struct engine_state *io)
{
	struct slice runs = line;
	uint64_t n;

	if (slice_find(&runs, SLICE("| Total runs:"))) {
		scan_blanks(&runs);
		if (fuzztest_float(runs, &n))
			fuzztest_on_execs(n, io);
	}
	if (fuzztest_number(line, SLICE("Corpus size:"), &n)) {
		io->kept += io->running && n > io->corpus_units;
		io->corpus_units = n;
	}
	if (fuzztest_number(line, SLICE("| Edges covered:"), &n))
		fuzztest_on_edges(n, io);
	if (fuzztest_number(line, SLICE("| Runs/secs:"), &n))
		io->exec_per_s = n;
	io->running = true;
	io->status_lines++;
}

/* The closing statistics. */
static bool fuzztest_closing(struct slice line, struct engine_state *io)
{
	uint64_t n;

	if (scan_lit(&line, SLICE("Total runs: "))) {
		if (engine_number(&line, &n))
			fuzztest_on_execs(n, io);
	} else if (scan_lit(&line, SLICE("Edges covered: "))) {
		if (engine_number(&line, &n))
			fuzztest_on_edges(n, io);
	} else if (scan_lit(&line, SLICE("Total edges: "))) {
		if (engine_number(&line, &n) && !engine_too_many_edges(n, "instrumented", io))
			io->edges_total = n;
	} else {
		return false;
	}
	return true;
}

/* --- messages ------------------------------------------------------------------------------ */

/* "[*] In total, loaded 1 inputs and ignored 0 invalid inputs.": printed behind a replay, too. */
static void fuzztest_loaded(struct slice line, struct engine_state *io)
{
	uint64_t loaded;

	if (!io->replaying || !engine_number(&line, &loaded))
		return;
	io->done = loaded > 0;
	if (loaded > 0)
		return;
	io->replaying = false; /* an input of another test: it was not run */
	engine_set_fault(io, ENGINE_FAULT_ENGINE, SLICE(""),
			 SLICE("the input is none of this test"));
}

static bool fuzztest_message(struct slice line, struct engine_state *io)
{
	static const struct {
		struct slice begins;
		enum engine_fault fault;
	} faults[] = {
	    {{"[!] Per-input timeout exceeded", 30}, ENGINE_FAULT_TIMEOUT},
	    {{"[!] RSS limit exceeded", 22}, ENGINE_FAULT_OOM},
	    {{"No FUZZ_TEST matches the name", 29}, ENGINE_FAULT_ENGINE},
	    {{"ERROR: ", 7}, ENGINE_FAULT_ENGINE},
	};
	struct slice rest = line;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		rest = line;
		if (scan_lit(&rest, faults[i].begins)) {
			engine_set_fault(io, faults[i].fault, SLICE("FuzzTest: "), line);
			return true;
		}
	}
	rest = line;
	if (scan_lit(&rest, SLICE("[*] Corpus size:")))
		fuzztest_progress(line, io);
	else if (scan_lit(&rest, SLICE("[*] In total, loaded ")))
		fuzztest_loaded(rest, io);
	else if (scan_lit(&rest, SLICE("[.] Fuzzing was terminated.")))
		io->done = true;
	else if (scan_lit(&rest, SLICE("[!] To fuzz, please build with")))
		io->not_instrumented = true;
	else
		return fuzztest_closing(line, io);
	return true;
}

static const char bug[] = "FuzzTest: === BUG FOUND!";

static bool fuzztest_bug(struct slice line, struct engine_state *io)
{
	struct slice rest = line;

	if (!scan_lit(&rest, SLICE("=== BUG FOUND!")))
		return false;
	engine_set_fault(io, ENGINE_FAULT_CRASH, SLICE("FuzzTest: "), line);
	return true;
}

/* "a_test.cc:47: Counterexample found for Suite.Property.": says more than the line before. */
static bool fuzztest_counterexample(struct slice line, struct engine_state *io)
{
	struct slice rest = line;

	if (!slice_find(&rest, SLICE(": Counterexample found for ")))
		return false;
	if (strcmp(io->fault_text, bug) == 0)
		(void)slice_print(line, sizeof(io->fault_text), io->fault_text);
	return true;
}

/* The path of a reproducer stands in a line of its own. */
static bool fuzztest_reproducer(struct slice line, struct engine_state *io)
{
	if (*io->artifact || !scan_lit(&line, SLICE("/")))
		return false;
	while (slice_find(&line, SLICE("/")))
		;
	if (engine_fuzztest.artifact(line) == ENGINE_ARTIFACT_NONE)
		return false;
	(void)slice_print(line, sizeof(io->artifact), io->artifact);
	return true;
}

void fuzztest_line(struct slice line, struct engine_state *io)
{
	if (separate_line_unproven(line, io) || fuzztest_message(line, io) ||
	    fuzztest_bug(line, io) || fuzztest_counterexample(line, io) ||
	    fuzztest_reproducer(line, io))
		return;
	sanitizer_line(line, io);
}

void fuzztest_failure(struct slice line, struct engine_state *io)
{
	if (!fuzztest_bug(line, io) && !fuzztest_counterexample(line, io))
		(void)fuzztest_reproducer(line, io);
}
