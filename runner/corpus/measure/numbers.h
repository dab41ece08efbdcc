/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_MEASURE_NUMBERS_H
#define RUNNER_CORPUS_MEASURE_NUMBERS_H

#include "base/scan.h"

#include <stdint.h>

/* Reads a file of words and decimal numbers in blocks: lines of any length in bounded memory and
 * linear time.  The struct is large: put at most one on a stack. */
enum { NUMBERS_BLOCK = 1 << 16, NUMBERS_END = -1 };

struct numbers {
	int fd;
	uint64_t at; /* of the next byte in the file */
	size_t pos, n, ahead;
	int error; /* errno of a failed read; the file seems to end there */
	char block[NUMBERS_BLOCK];
};

enum number_end {
	NUMBER_OK,
	NUMBER_CUT, /* the file ends within it */
	NUMBER_BAD, /* there is other text */
};

/* Starts at offset `at`.  ahead: how much to read at a time, 0: whole blocks. */
void numbers_start(struct numbers *in, int fd, uint64_t at, size_t ahead);

/* Returns the next byte without consuming it, or NUMBERS_END. */
int numbers_peek(struct numbers *in);

/* Consumes exactly this text. */
enum number_end numbers_text(struct numbers *in, struct slice text);

/* Consumes a number up to max, and the blank or newline behind it. */
enum number_end numbers_next(struct numbers *in, uint32_t max, uint32_t *ret, char *ret_after);

#endif
