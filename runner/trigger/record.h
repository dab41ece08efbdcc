/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_RECORD_H
#define RUNNER_TRIGGER_RECORD_H

#include "base/err.h"
#include "base/git.h"
#include "base/moment.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The trigger's persistent state: trigger.json in the state directory.  It is replaced atomically
 * before each start and after each end, so that no crash loses a start. */
enum outcome {
	OUTCOME_NONE,	 /* nothing was started yet */
	OUTCOME_RUNNING, /* or the trigger died before it saw the end */
	OUTCOME_DONE,
	OUTCOME_STOPPED, /* by a user, a shutdown, or for a newer push; not a failure */
	OUTCOME_FAILED,	 /* the build failed, the run died, ... */
	OUTCOME_COUNT
};
const char *outcome_name(enum outcome o); /* "running", ... */

enum { RECORD_WHY = 300 };

struct trigger_record {
	struct since start;
	char commit[COMMIT_MAX]; /* of the last start; "": none */
	enum outcome outcome;
	char why[RECORD_WHY]; /* how it ended: "status 6: nothing could be built" */
	/* The process of an active run.  Its start time (proc_pid_stat(5), starttime) distinguishes
	 * it from a later process with the same number. */
	pid_t pid;
	uint64_t pid_start;

	char failed[COMMIT_MAX]; /* the commit with failed runs */
	unsigned failures;	 /* consecutive */

	char head[COMMIT_MAX]; /* the newest known head */
	struct since head_seen;

	unsigned fetch_failures; /* consecutive */
	struct since fetch_failing;
	char fetch_error[RECORD_WHY];

	struct since busy; /* since when a start waits for other work to end */
};

/* Reads the record.
 * - No file: last_run_timestamp, the start of the last run, counts as the last start.
 * - A damaged file is renamed to trigger.json.damaged, except with read_only.  It counts as a start
 *   just now, unless last_run_timestamp exists.  A push then waits for at most the interval.
 * warning gets a text about a damaged file, or about a clock that is behind its value before the
 * boot; else "". */
MUST_CHECK int record_load(int dirfd, bool read_only, const struct moment *now,
			   struct trigger_record *ret, char warning[RECORD_WHY], struct err *e);
/* Whether a clock was set since the last save.  Save the record then, so that the jump does not
 * count as elapsed time after a reboot. */
bool record_clock_set(const struct trigger_record *r, const struct moment *now);
/* Updates the ages and saves the record.  0: it is on disk. */
MUST_CHECK int record_save(int dirfd, const struct moment *now, struct trigger_record *r,
			   struct err *e);
/* The commit of the last completed run (state_run_done()); "": none. */
void record_done(int dirfd, char ret[COMMIT_MAX]);

#endif
