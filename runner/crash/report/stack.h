/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_REPORT_STACK_H
#define RUNNER_CRASH_REPORT_STACK_H

#include "runner/crash/report/frame.h"

/* The lines of one stack, kept while a report goes by: the first one after its
 * header, up to a blank line or to a frame whose number does not go on. */
enum {
	STACK_FRAMES_MAX = 256, /* sanitizers print at most that many */
	STACK_TEXT_MAX = 160 * 1024,
	STACK_LINE_MAX = 4096, /* of a longer frame, its beginning and its end */
	STACK_LINE_HEAD = 3072,
};

struct stack {
	enum stack_at {
		STACK_OFF,  /* no stack is wanted */
		STACK_WAIT, /* the next frame begins it */
		STACK_IN,
		STACK_GAP, /* after a line that is no frame: half a line, a note */
		STACK_DONE,
	} at;
	uint64_t last; /* number of the last frame */
	size_t n;      /* frames kept */
	size_t total;  /* frames seen */
	size_t used;   /* of text */
	uint32_t ends[STACK_FRAMES_MAX];
	char text[STACK_TEXT_MAX];
};

/* Forgets what it holds; it waits for a frame, or (want false) for nothing. */
void stack_restart(struct stack *s, bool want);
/* A line of the report; is_frame with its number. */
void stack_line(struct stack *s, struct slice line, bool is_frame, uint64_t number);
/* The frame of index i < n, parsed again. */
void stack_frame(const struct stack *s, size_t i, struct frame *ret);
/* The frames that are the application's, as far as a stack without names can tell:
 * those before the engine's that end at main(), and (by_engine) behind those of the
 * engine that printed it.  All of them in a stack with names. */
void stack_application(const struct stack *s, bool by_engine, size_t *ret_begin, size_t *ret_end);

#endif
