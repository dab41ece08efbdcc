/* SPDX-License-Identifier: Apache-2.0 */
/* AFL++: statistics and failures from the lines of afl-fuzz, of its fuzzer_stats and of replays. */
#include "runner/engine/afl/afl.h"

/* A line may be forged: the target can write to all of these.  Nothing here allocates. */

enum { LINE_MAX_BYTES = 512 };
/* Copies a line without its colours, ESC [ ... letter, which Debian's afl-fuzz always prints. */
static struct slice without_colours(struct slice in, char room[LINE_MAX_BYTES])
{
	size_t n = 0;

	for (size_t i = 0; i < in.n && n < LINE_MAX_BYTES; i++) {
		if (in.p[i] != '\033') {
			room[n++] = in.p[i];
			continue;
		}
		while (i + 1 < in.n && strchr("[;?0123456789", in.p[i + 1]) && in.p[i + 1])
			i++;
		i++; /* the letter */
	}
	return (struct slice){room, n};
}

/* --- fuzzer_stats --------------------------------------------------------- */

static void on_execs(uint64_t n, struct engine_state *io)
{
	if (engine_too_many_execs(n, io))
		return;
	io->execs = n;
	io->status_lines++;
}

/* A program without instrumentation reaches the edge of AFL++'s driver alone, with every input. */
enum { BLIND_EDGES = 1, BLIND_EXECS = 1000 };

/* afl-fuzz writes the file when it has run the given inputs, so fuzzing begins. */
static void on_edges(uint64_t n, struct engine_state *io)
{
	if (engine_too_many_edges(n, "reached", io))
		return;
	io->not_instrumented = n <= BLIND_EDGES && io->execs >= BLIND_EXECS;
	if (n > io->cov) {
		io->cov = n;
		io->last_new_execs = io->execs;
	}
	io->running = true;
}

static void on_total(uint64_t n, struct engine_state *io)
{
	if (!engine_too_many_edges(n, "instrumented", io))
		io->edges_total = n;
}

static void on_corpus(uint64_t n, struct engine_state *io)
{
	io->corpus_units = n;
}

static void on_found(uint64_t n, struct engine_state *io)
{
	io->kept = n;
}

static void on_speed(uint64_t n, struct engine_state *io)
{
	io->exec_per_s = n;
}

/* "execs_done        : 87074"; other keys, and those of later versions, are ignored. */
static bool afl_statistic(struct slice in, struct engine_state *io)
{
	static const struct {
		struct slice key;
		void (*take)(uint64_t n, struct engine_state *io);
	} keys[] = {
	    {{"execs_done ", 11}, on_execs},   {{"edges_found ", 12}, on_edges},
	    {{"total_edges ", 12}, on_total},  {{"corpus_count ", 13}, on_corpus},
	    {{"corpus_found ", 13}, on_found}, {{"execs_per_sec ", 14}, on_speed},
	};
	uint64_t n;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!scan_lit(&in, keys[i].key))
			continue;
		scan_blanks(&in);
		if (scan_lit(&in, SLICE(": ")) && engine_number(&in, &n))
			keys[i].take(n, io);
		return true;
	}
	return false;
}

/* --- output of afl-fuzz --------------------------------------------------- */

static void on_abort(struct slice text, struct engine_state *io)
{
	scan_blanks(&text);
	if (slice_find(&text, SLICE("No instrumentation detected"))) {
		io->not_instrumented = true;
		text = SLICE("No instrumentation detected");
	}
	engine_set_fault(io, ENGINE_FAULT_ENGINE, SLICE("afl-fuzz: "), text);
}

static void afl_message(struct slice line, struct engine_state *io)
{
	struct slice rest = line;
	uint64_t n;

	if (slice_find(&rest, SLICE("PROGRAM ABORT : "))) {
		on_abort(rest, io);
	} else if (slice_find(&rest, SLICE("Fuzzing test case #"))) {
		if (slice_find(&rest, SLICE(" (")) && engine_number(&rest, &n) &&
		    scan_lit(&rest, SLICE(" total")))
			io->corpus_units = n;
	} else if (slice_find(&rest, SLICE("We're done here. Have a nice day!"))) {
		io->done = true;
	}
}

void afl_line(struct slice line, struct engine_state *io)
{
	char room[LINE_MAX_BYTES];

	line = without_colours(line, room);
	if (separate_line(line, io) || afl_statistic(line, io))
		return;
	sanitizer_line(line, io);
	afl_message(line, io);
}
