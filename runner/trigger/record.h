/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_RECORD_H
#define RUNNER_TRIGGER_RECORD_H

#include "base/err.h"
#include "base/moment.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What a trigger has to know after a restart: trigger.json in the state directory.
 * Written whole before each start and after each end, so that whatever dies when, no
 * start is forgotten. */
enum outcome {
	OUTCOME_NONE,	 /* nothing was started yet */
	OUTCOME_RUNNING, /* or the trigger died before it was told */
	OUTCOME_DONE,
	OUTCOME_STOPPED, /* by a person, a shutdown, or for a newer push: not done, no failure */
	OUTCOME_FAILED,	 /* could not build, died, ... */
	OUTCOME_COUNT
};
const char *outcome_name(enum outcome o); /* "running", ... */

enum { COMMIT_MAX = 65, RECORD_WHY = 300 };

struct trigger_record {
	struct since start;
	char commit[COMMIT_MAX]; /* that was started, "" none */
	enum outcome outcome;
	char why[RECORD_WHY]; /* how it ended: "status 6: nothing could be built" */
	/* The run's process, while it is running, told from a later one of its number by
	 * when it began (proc_pid_stat(5), starttime). */
	pid_t pid;
	uint64_t pid_start;

	char failed[COMMIT_MAX]; /* the commit whose runs failed */
	unsigned failures;	 /* in a row */

	char head[COMMIT_MAX]; /* the newest one that was seen */
	struct since head_seen;

	unsigned fetch_failures; /* in a row */
	struct since fetch_failing;
	char fetch_error[RECORD_WHY];

	struct since busy; /* a start waits for other work to end since then */
};

/* Whether text is a commit's name: 40 or 64 hexadecimal digits. */
bool commit_ok(const char *text);

/* From the state directory.  No file: last_run_timestamp of the layout before it says
 * when the last start was.  A damaged one is set aside as trigger.json.damaged, said in
 * `said` ("" when all is well), and counts as a start just now, unless
 * last_run_timestamp knows better: a push waits for the interval, no more.  look_only: it
 * is left where it is.  A clock that is behind the one before the boot is said, too. */
MUST_CHECK int record_load(int dirfd, bool look_only, const struct moment *now,
			   struct trigger_record *ret, char said[RECORD_WHY], struct err *e);
/* Whether a clock was set since the ages were renewed: saved now, the jump does not count
 * as time that passed, should the machine boot. */
bool record_clock_set(const struct trigger_record *r, const struct moment *now);
/* Renews the ages; 0 means "on disk". */
MUST_CHECK int record_save(int dirfd, const struct moment *now, struct trigger_record *r,
			   struct err *e);
/* The commit of the last run that came to its own end (state_run_done()); "" none. */
void record_done(int dirfd, char ret[COMMIT_MAX]);

#endif
