/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_REPORT_STACK_H
#define RUNNER_CRASH_REPORT_STACK_H

#include "runner/crash/report/frame.h"

/* Keeps the lines of one stack of a report.  It begins with the first frame after the stack's
 * header.  It ends at a blank line, or at a frame number that does not continue the sequence. */
enum {
	STACK_FRAMES_MAX = 256, /* sanitizers print at most that many */
	STACK_TEXT_MAX = 160 * 1024,
	STACK_LINE_MAX = 4096, /* a longer frame keeps its beginning and its end */
	STACK_LINE_HEAD = 3072,
};

struct stack {
	enum stack_at {
		STACK_OFF,  /* no stack is wanted */
		STACK_WAIT, /* the next frame begins the stack */
		STACK_IN,
		STACK_GAP, /* after a line that is not a frame: half a line, a note */
		STACK_DONE,
	} at;
	uint64_t last; /* number of the last frame */
	size_t n;      /* frames kept */
	size_t total;  /* frames seen */
	size_t used;   /* bytes used of text */
	uint32_t ends[STACK_FRAMES_MAX];
	char text[STACK_TEXT_MAX];
};

/* Empties the stack.  It then waits for a frame, or (want false) for nothing. */
void stack_restart(struct stack *s, bool want);
/* Adds a line of the report; number is valid with is_frame. */
void stack_line(struct stack *s, struct slice line, bool is_frame, uint64_t number);
/* Parses the frame of index i < n again. */
void stack_frame(const struct stack *s, size_t i, struct frame *ret);
/* Finds the application's frames, as far as a stack without names shows them.  They end before
 * those of the engine, which end at main().  With by_engine, they begin behind the frames of the
 * engine that printed the stack.  In a stack with names, all frames count. */
void stack_application(const struct stack *s, bool by_engine, size_t *ret_begin, size_t *ret_end);

#endif
