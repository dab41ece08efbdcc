/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_JOBLOG_H
#define RUNNER_STATE_JOBLOG_H

#include "base/err.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* A target's log, with a size limit.  The first half of the limit holds the beginning of the
 * output.  After that the log holds the last piece of each cell's output, which has the report, as
 * long as the limit has room.
 * The log itself states how many bytes were left out.  If the log cannot be written (disk full), it
 * is abandoned, and the lost bytes are counted.  The job continues. */
enum { JOBLOG_TAIL = 65536, JOBLOG_MIN = 4 * JOBLOG_TAIL };

struct joblog {
	int fd; /* -1: closed, or at rest */
	int dirfd;
	char *name; /* owned; NULL: closed */
	uint64_t cap, written;
	uint64_t dropped; /* bytes missing from the log */
	char *tail;	  /* ring buffer, made when the first half is full */
	uint64_t tail_n;  /* bytes put in the ring since the last flush */
	bool broken;
};

/* name: in the directory; cap: raised to at least JOBLOG_MIN. */
MUST_CHECK int joblog_open(struct joblog *l, int dirfd, const char *name, uint64_t cap,
			   struct err *e);
void joblog_write(struct joblog *l, struct slice bytes);
/* Writes the ring's bytes to the file.  Call it when a cell has ended. */
void joblog_flush(struct joblog *l);
/* Writes a line of fuzzcell, marked as such; it is never dropped while the limit has room. */
void joblog_note(struct joblog *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Closes the file until the next write; its directory stays open until then. */
void joblog_rest(struct joblog *l);
void joblog_close(struct joblog *l);

#endif
