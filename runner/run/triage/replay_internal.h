/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_REPLAY_INTERNAL_H
#define RUNNER_RUN_TRIAGE_REPLAY_INTERNAL_H

#include "base/lines.h"
#include "runner/run/triage/kept.h"
#include "runner/run/triage/replay.h"

/* Shared by replay.c (the whole replay) and replay_cell.c (one cell and its output). */

/* A worker: one cell at a time. */
struct slot {
	struct replay *r;
	size_t index;		 /* selects the user of its cells */
	size_t at, end;		 /* the slot's inputs; `at` is next */
	size_t batch;		 /* number of inputs for the next cell; 0: all of them */
	size_t single_end;	 /* inputs up to here are run alone */
	struct exec *exec;	 /* the cell with many inputs */
	struct trial *trial;	 /* the run of one input */
	struct trial_seat *seat; /* for `trial`; NULL: not needed, or not possible */
	bool active;		 /* `exec` or `trial` is at work */

	/* The cell with many inputs. */
	size_t n;	/* its inputs */
	size_t started; /* inputs that were seen to begin */
	struct crash_parser *parser;
	struct crash_report report;
	char build[KEPT_FILE_TEXT]; /* for the parser */
	struct lines lines;
	struct engine_state seen;
	struct source *watch; /* limits the time of an input */
	bool stuck;
	bool slow;    /* the cell ended because an input took too long */
	bool starved; /* slow, and the cell waited for CPUs */
	bool odd;     /* a line named an input that was not next: a line was hidden or forged */

	/* A cell failed, but not clearly by one input.  It failed after all inputs (a leak seen at
	 * the exit, a refused system call).  Or earlier inputs left processes (a refused fork).
	 * Smaller cells search for the input.  If none of them fails, all inputs together do. */
	struct {
		bool any;
		size_t end;	 /* end of the suspected inputs */
		uint64_t failed; /* slot.failed before the search */
		struct crash_report report;
	} doubt;
	uint64_t failed; /* inputs that were reported as failed */
	bool passed;	 /* whether the last finished input passed */
};

struct replay {
	const struct trial_env *env;
	struct replay_spec spec;
	struct replay_sum sum;
	struct slot *slots;
	struct source *idle; /* the next step, from the loop */
	size_t next;	     /* the first input that no slot has yet */
	uint64_t began_us;
	unsigned closing; /* number of seats that are being closed */
	bool over;	  /* no further input is begun */
};

/* --- replay.c --- */
/* Runs no further input of this target.  why: the error, or NULL. */
void replay_give_up(struct replay *r, const char *why);
/* Notes why an input could not be run; other inputs go on. */
void replay_leave_out(struct replay *r, const char *why);
/* Takes the next step, from the loop. */
void replay_step(struct replay *r);

/* --- replay_cell.c --- */
/* Starts a cell with the slot's next inputs.  On an error it gives the replay up. */
void replay_cell(struct slot *s);
/* Runs the slot's next input alone, before any cell with many inputs decided on it. */
void replay_single(struct slot *s);
/* The timer of slot.watch. */
void replay_stuck(void *arg);

#endif
