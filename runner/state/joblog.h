/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_JOBLOG_H
#define RUNNER_STATE_JOBLOG_H

#include "base/err.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* A target's log, capped: its beginning as it came, and after half of the cap
 * only the last piece of each cell, which is where a report stands.  What was
 * left out is counted in the log itself.  A log that cannot be written (disk
 * full) is given up and counted; it never stops the job. */
enum { JOBLOG_TAIL = 65536, JOBLOG_MIN = 4 * JOBLOG_TAIL };

struct joblog {
	int fd; /* -1: closed, or resting */
	int dirfd;
	char *name; /* owned; NULL: closed */
	uint64_t cap, written;
	uint64_t dropped; /* bytes that the log does not have */
	char *tail;	  /* ring, made when the head is full */
	uint64_t tail_n;  /* bytes ever put in the ring since it was last flushed */
	bool broken;
};

/* name in the directory; cap at least JOBLOG_MIN (a smaller one is raised). */
MUST_CHECK int joblog_open(struct joblog *l, int dirfd, const char *name, uint64_t cap,
			   struct err *e);
void joblog_write(struct joblog *l, struct slice bytes);
/* A cell ended: what the ring holds goes to the file. */
void joblog_flush(struct joblog *l);
/* A line of our own, marked as such; never dropped while the cap has room. */
void joblog_note(struct joblog *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Closes the file until the next write; its directory stays open until then. */
void joblog_rest(struct joblog *l);
void joblog_close(struct joblog *l);

#endif
