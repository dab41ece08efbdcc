/* SPDX-License-Identifier: Apache-2.0 */
/* Centipede: statistics and failures from the lines of centipede and of replays. */
#include "runner/engine/centipede/centipede.h"

/* A line may be forged: the target can write to all of these.  Nothing here allocates. */

/* Finds "name: N". */
static bool centipede_number(struct slice in, struct slice name, uint64_t *ret)
{
	return slice_find(&in, name) && engine_number(&in, ret);
}

static void centipede_on_numbers(struct slice in, struct engine_state *io)
{
	uint64_t n;

	if (centipede_number(in, SLICE(" cov: "), &n) && !engine_too_many_edges(n, "reached", io) &&
	    n > io->cov) {
		io->cov = n;
		io->last_new_execs = io->execs;
	}
	if (centipede_number(in, SLICE(" ft: "), &n))
		io->ft = n;
	if (centipede_number(in, SLICE(" corp: "), &n))
		io->corpus_units = n;
	if (centipede_number(in, SLICE(" exec/s: "), &n))
		io->exec_per_s = n;
	if (centipede_number(in, SLICE(" exec-mb: "), &n))
		io->rss_mib = n;
}

/* "I1123 ... centipede.cc:367] [S0.5000] pulse: ft: 24 cov: 6 cmp: 18 corp: 18/18 ..."; S0 is the
 * shard, behind it is the number of executions. */
static bool centipede_statistics(struct slice line, struct engine_state *io)
{
	uint64_t shard, execs;

	if (!slice_find(&line, SLICE("] [S")) || !engine_number(&line, &shard) ||
	    !scan_lit(&line, SLICE(".")) || !engine_number(&line, &execs) ||
	    !scan_lit(&line, SLICE("] ")))
		return false;
	if (engine_too_many_execs(execs, io))
		return true;
	/* While it fuzzes it never decreases: such a line is the target's own. */
	if (execs >= io->execs) {
		io->execs = execs;
		io->status_lines++;
		centipede_on_numbers(line, io);
	}
	if (scan_lit(&line, SLICE("end-fuzz:")))
		io->done = true;
	else if (!scan_lit(&line, SLICE("begin-fuzz:")))
		io->running = true; /* init-done, new-feature, pulse */
	return true;
}

/* "F1123 14:25:11.937104       1 util.cc:153] Check failed: ...", "ERROR: Unknown command line
 * flag ..." */
static bool centipede_failed(struct slice line, struct engine_state *io)
{
	struct slice text = line;

	if (scan_lit(&text, SLICE("ERROR: ")) ||
	    (scan_lit(&text, SLICE("F")) && slice_find(&text, SLICE("] Check failed: ")))) {
		engine_set_fault(io, ENGINE_FAULT_ENGINE, SLICE("centipede: "), text);
		return true;
	}
	text = line;
	if (!slice_find(&text, SLICE("] Could not get PC table; requesting to stop")))
		return false;
	io->not_instrumented = true;
	return true;
}

/* While it fuzzes, it prints the reports of failures, and goes on. */
void centipede_line(struct slice line, struct engine_state *io)
{
	if (separate_line(line, io))
		return;
	if (io->replaying)
		sanitizer_line(line, io);
	else if (!centipede_statistics(line, io))
		(void)centipede_failed(line, io);
}
