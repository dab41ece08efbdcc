/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_DUE_H
#define RUNNER_TRIGGER_DUE_H

#include <stdbool.h>
#include <stdint.h>

/* Decides whether a run must start.  Pure.
 *
 * - The time between two starts is at least the interval.
 * - A head that was not fuzzed waits for nothing else here.  (watch.c and drive.c may put the start
 *   off: a blocked work tree, other work on the machine, no free worker, a full disk.)  When the
 *   interval is over, an active run of an older commit is stopped.
 * - A head with a failed run is retried with backoff: after the interval, then twice, four times
 *   the interval, up to a day (or the interval, if that is longer).  Failures of another commit
 *   do not delay a new head. */
enum due_what {
	DUE_NOTHING, /* until the head changes */
	DUE_WAIT,    /* for wait_us */
	DUE_START,
	DUE_STOP, /* stop the active run, then decide again */
};

enum due_running { RUNNING_NONE, RUNNING_OURS, RUNNING_OTHERS };

struct due_input {
	uint64_t interval_us;
	const char *head;      /* of the branch; "": not known yet */
	const char *done;      /* the last fuzzed commit; "": none */
	bool started;	       /* there was a start before */
	uint64_t start_age_us; /* since the last start */
	enum due_running running;
	const char *commit; /* of the last start; "": not known */
	const char *failed; /* the commit with failed runs; "": none */
	unsigned failures;  /* consecutive failures of that commit */
	bool forced;	    /* start now, whatever was fuzzed before */
};

enum { DUE_WHY = 200 };
struct due {
	enum due_what what;
	uint64_t wait_us;
	char why[DUE_WHY]; /* for users */
};
void due_decide(const struct due_input *in, struct due *ret);

/* The minimum time between two starts of a head after this many failures. */
uint64_t due_delay(uint64_t interval_us, unsigned failures);

#endif
