/* SPDX-License-Identifier: Apache-2.0 */
/* honggfuzz: statistics and failures from its lines, and those of replays. */
#include "runner/engine/honggfuzz/honggfuzz.h"

/* A line may be forged: the target shares the stream.  Nothing here allocates. */

/* --- a kept input --------------------------------------------------------- */

/* "0/0/0/21/0/2125": instructions, branches, blocks, edges, PCs and comparisons. */
static bool honggfuzz_edges(struct slice in, uint64_t *ret)
{
	enum { BEFORE = 3 };

	for (unsigned i = 0; i < BEFORE; i++)
		if (!engine_number(&in, ret) || !scan_lit(&in, SLICE("/")))
			return false;
	return engine_number(&in, ret);
}

/* "Sz:9 Tm:41us (i/b/h/e/p/c) New:0/0/0/1/0/0, Cur:0/0/0/21/0/2062" */
static bool honggfuzz_kept(struct slice in, struct engine_state *io)
{
	uint64_t edges;

	if (!scan_lit(&in, SLICE("Sz:")) || !slice_find(&in, SLICE(" Cur:")) ||
	    !honggfuzz_edges(in, &edges))
		return false;
	if (engine_too_many_edges(edges, "reached", io))
		return true;
	io->status_lines++;
	io->kept++;
	if (edges > io->cov)
		io->cov = edges;
	return true;
}

/* --- the end -------------------------------------------------------------- */

static bool honggfuzz_value(struct slice in, struct slice key, uint64_t *ret)
{
	return slice_find(&in, key) && engine_number(&in, ret);
}

/* "Summary iterations:437164 time:21 speed:20817 crashes_count:0 timeout_count:0
 * new_units_added:92 slowest_unit_ms:8 guard_nb:1027 branch_coverage_percent:2 peak_rss_mb:0" */
static bool honggfuzz_summary(struct slice in, struct engine_state *io)
{
	uint64_t execs, guards, speed, crashes = 0;

	if (!scan_lit(&in, SLICE("Summary ")) ||
	    !honggfuzz_value(in, SLICE("iterations:"), &execs) ||
	    !honggfuzz_value(in, SLICE(" guard_nb:"), &guards))
		return false;
	io->done = true;
	if (!engine_too_many_execs(execs, io)) {
		io->execs = execs;
		io->status_lines++;
	}
	if (guards > 0 && !engine_too_many_edges(guards - 1, "instrumented", io))
		io->edges_total = guards - 1; /* it counts from 1 (libhfuzz/instrument.c) */
	if (honggfuzz_value(in, SLICE(" speed:"), &speed))
		io->exec_per_s = speed;
	(void)honggfuzz_value(in, SLICE(" crashes_count:"), &crashes);
	/* A program that crashes at its start has told of no guards either. */
	io->not_instrumented = guards == 0 && io->cov == 0 && crashes == 0;
	return true;
}

/* "[2026-11-23T14:20:47+0000][F][1] main():357 Input directory ..." */
static void honggfuzz_fatal(struct slice in, struct engine_state *io)
{
	if (scan_lit(&in, SLICE("[")) && slice_find(&in, SLICE("][F][")) &&
	    slice_find(&in, SLICE("():")) && slice_find(&in, SLICE(" ")))
		engine_set_fault(io, ENGINE_FAULT_ENGINE, SLICE("honggfuzz: "), in);
}

void honggfuzz_line(struct slice line, struct engine_state *io)
{
	struct slice rest = line;

	if (separate_line(line, io) || honggfuzz_kept(line, io) || honggfuzz_summary(line, io))
		return;
	if (scan_lit(&rest, SLICE("Persistent mode: Launched new persistent pid=")))
		io->running = true;
	sanitizer_line(line, io);
	honggfuzz_fatal(line, io);
}
