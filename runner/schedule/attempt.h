/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SCHEDULE_ATTEMPT_H
#define RUNNER_SCHEDULE_ATTEMPT_H

#include "base/lines.h"
#include "runner/schedule/job.h"
#include "runner/schedule/kept.h"

/* What lives as long as one cell does. */
struct attempt {
	struct cell *cell;
	struct lines lines;
	struct kept_output kept;
	struct kept_file binary; /* size 0: not known */
	bool asked;		 /* to stop, politely */
	bool forced;		 /* the stop ladder went beyond the polite stop */
	bool dumped_us;		 /* our dump signal was sent: a crash artifact is its doing */
	uint64_t launched_us;
	uint64_t execs;	    /* that its engine claims; known when the cell has ended */
	uint64_t until_us;  /* the keeper kills the cell then; 0: it was not told */
	uint64_t absent_us; /* at the end: for so long we had not looked at it */
	uint64_t waited_us; /* the target's clock's, when it was launched */
	uint64_t borrowed;  /* memory, for the names in suppressions */
	uint64_t max_len;   /* that the engine was told; 0: its choice */
	char refused[32];   /* the system call that an input was refused, and that ended it */
	/* How the cell failed, for when no artifact says it; own CRASH_OWN_: it did not. */
	struct {
		enum crash_own own;
		char detail[32];
		bool by_text;
	} lost;
	char head[600]; /* the first bytes of output, for a start that fails */
	size_t n_head;
	/* job_claims.c: lines that claim more edges than are known of, until the process can be
	 * looked at; how often it was, and when. */
	char held[4096];
	size_t n_held;
	unsigned looks;
	uint64_t looked_us;
};

/* The cell of a job: what it sees, under which limits, running what.  Builds and
 * starts it; -errno when it cannot. */
MUST_CHECK int attempt_launch(struct job *j, const struct cell_ops *ops, struct attempt **ret,
			      struct err *e);

/* Its cell is gone; NULL is fine. */
void attempt_free(const struct job *j, struct attempt *a);

/* What the engine is told that an input may take.  It measures wall time: of a target that
 * waits for CPUs (starved: struct effective's) it is more, up to four times as much.  What it
 * reports all the same is looked at in triage. */
uint64_t attempt_input_timeout(uint64_t may_take_us, double starved);

/* The host user of a job's cells. */
uid_t attempt_uid(const struct job *j);

#endif
