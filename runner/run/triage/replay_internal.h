/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_REPLAY_INTERNAL_H
#define RUNNER_RUN_TRIAGE_REPLAY_INTERNAL_H

#include "base/lines.h"
#include "runner/run/triage/kept.h"
#include "runner/run/triage/replay.h"

/* Between replay.c (all of it) and replay_cell.c (one cell, and what it says). */

/* A worker: one cell at a time. */
struct slot {
	struct replay *r;
	size_t index;		 /* whose user its cells get */
	size_t at, end;		 /* inputs of its own: at is next */
	size_t batch;		 /* how many the next cell gets; 0: all of them */
	size_t single_end;	 /* inputs up to here are run alone */
	struct exec *exec;	 /* many inputs */
	struct trial *trial;	 /* one */
	struct trial_seat *seat; /* its; NULL: none was needed, or can be */
	bool active;		 /* either */

	/* The cell with many. */
	size_t n;	/* inputs it was given */
	size_t started; /* seen to begin */
	struct crash_parser *parser;
	struct crash_report report;
	char build[KEPT_FILE_TEXT]; /* the parser's */
	struct lines lines;
	struct engine_state seen;
	struct source *watch; /* no input may take longer */
	bool stuck;
	bool slow;    /* it ended because an input took too long */
	bool starved; /* ... which may have been the machine's doing */
	bool odd; /* an input was said to begin that was not next: a line was hidden, or forged */

	/* A cell failed that had come to the end of all its inputs (a leak seen at the
	 * exit, a refused system call), or for what earlier ones may have left behind (a
	 * refused fork): smaller ones look for the input.  When none of them fails, all
	 * together did. */
	struct {
		bool any;
		size_t end;	 /* of the inputs that it may be */
		uint64_t failed; /* of the slot, before */
		struct crash_report report;
	} doubt;
	uint64_t failed; /* inputs told of */
	bool passed;	 /* the last input that is done */
};

struct replay {
	const struct trial_env *env;
	struct replay_spec spec;
	struct replay_sum sum;
	struct slot *slots;
	struct source *idle; /* the next step, from the loop */
	size_t next;	     /* no slot has it yet */
	uint64_t began_us;
	unsigned closing; /* seats */
	bool over;	  /* nothing more is begun */
};

/* --- replay.c --- */
/* No input of this target will be run any more; why: it cannot be, or NULL. */
void replay_give_up(struct replay *r, const char *why);
/* An input could not be run, and why; the others will be. */
void replay_leave_out(struct replay *r, const char *why);
/* Goes on, from the loop. */
void replay_step(struct replay *r);

/* --- replay_cell.c --- */
/* Starts a cell with the slot's next inputs; it may give up. */
void replay_cell(struct slot *s);
/* One with its next input alone, of which nothing is known yet. */
void replay_single(struct slot *s);
/* The timer of slot.watch. */
void replay_stuck(void *arg);

#endif
