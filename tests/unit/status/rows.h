/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STATUS_ROWS_H
#define TESTS_STATUS_ROWS_H

#include "base/clock.h"
#include "runner/status/row.h"

/* A run with one target of each kind that a view treats differently. */
static const char *const failure_kinds[] = {"none", "crash", "timeout"};

enum { ROWS = 5, ROW_QUEUED = 0, ROW_DONE, ROW_FUZZING, ROW_NOT_FUZZED, ROW_CRASHED };

static inline struct target_row row_of(const char *name, const char *state, bool done)
{
	return (struct target_row){.name = name,
				   .state = state,
				   .reason = done ? state : "running",
				   .done = done,
				   .fuzzed = true,
				   .note = "",
				   .pressure_state = "ok",
				   .failure_names = failure_kinds,
				   .n_failure_names = 3,
				   .refused = "",
				   .forged = "",
				   .artifacts = "",
				   .wall_us = 61 * USEC_PER_SEC,
				   .memory_now = UINT64_C(100) << 20,
				   .memory_peak = UINT64_C(200) << 20,
				   .memory_limit = UINT64_C(2) << 30};
}

static const struct row_crash row_crash = {.signature = "0123456789abcdef",
					   .what = "Heap-buffer-overflow in f",
					   .state = "new",
					   .count = 2,
					   .hits = 3,
					   .tries = 3,
					   .security = true};

static inline void rows_fill(struct target_row rows[ROWS])
{
	rows[ROW_QUEUED] = row_of("waits", "queued", false);
	rows[ROW_QUEUED].fuzzed = false;
	rows[ROW_QUEUED].wall_us = 0;
	rows[ROW_DONE] = row_of("ended", "plateau", true);
	rows[ROW_FUZZING] = row_of("fuzzes", "fuzzing", false);
	rows[ROW_NOT_FUZZED] = row_of("broken", "startup-failed", true);
	rows[ROW_NOT_FUZZED].fuzzed = false;
	rows[ROW_NOT_FUZZED].unfuzzed = true;
	rows[ROW_NOT_FUZZED].note = "no such file";
	rows[ROW_CRASHED] = row_of("crashes", "crashed", true);
	rows[ROW_CRASHED].failures[1] = 2;
	rows[ROW_CRASHED].failures[2] = 1;
	rows[ROW_CRASHED].failures_total = 3;
	rows[ROW_CRASHED].restarts = 3;
	rows[ROW_CRASHED].note = "heap-buffer-overflow";
	rows[ROW_CRASHED].crashes = &row_crash;
	rows[ROW_CRASHED].n_crashes = 1;
	rows[ROW_CRASHED].crashes_new = 1;
	rows[ROW_CRASHED].crashes_regressed = 1;
	rows[ROW_DONE].corpus.verdict = "kept";
	rows[ROW_DONE].corpus.why = "3 edges were missing";
	rows[ROW_DONE].corpus.files_before = 9;
	rows[ROW_DONE].corpus.files = 7;
	rows[ROW_DONE].corpus.bytes_before = 2048;
	rows[ROW_DONE].corpus.bytes = 1024;
	rows[ROW_DONE].corpus.edges = 5;
	rows[ROW_DONE].corpus.features = 6;
	rows[ROW_CRASHED].artifacts = "crash-1\ncrash-2\ntimeout-3\n";
}

static inline struct run_view view_of(const struct target_row rows[ROWS])
{
	return (struct run_view){.id = "20210304-050607",
				 .version = "0.1.0",
				 .layout = "hybrid",
				 .commit = "abc",
				 .started_real_us = UINT64_C(1614834367) * USEC_PER_SEC,
				 .ended_real_us = UINT64_C(1614834487) * USEC_PER_SEC,
				 .elapsed_us = 120 * USEC_PER_SEC,
				 .total_us = 3600 * USEC_PER_SEC,
				 .workers = 2,
				 .running = 1,
				 .own_cpu_us = 6 * USEC_PER_SEC / 10,
				 .own_peak_rss = UINT64_C(9) << 20,
				 .rows = rows,
				 .n_rows = ROWS};
}

#endif
