/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_DUE_H
#define RUNNER_TRIGGER_DUE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a run is to start: policy alone, values in, a decision out.
 *
 * - Between two starts there is at least the interval.
 * - A head that was not fuzzed waits for nothing else: when the interval is over, a run
 *   of an older commit that is still going is asked to end.
 * - A head whose run failed is tried again, after the interval, then twice, four times
 *   ... it, up to a day (or the interval, when that is longer).  A new head is not made
 *   to wait for another one's failures. */
enum due_what {
	DUE_NOTHING, /* until the head changes */
	DUE_WAIT,    /* for wait_us */
	DUE_START,
	DUE_STOP, /* the run that is in the way; then ask again */
};

enum due_running { RUNNING_NONE, RUNNING_OURS, RUNNING_OTHERS };

struct due_input {
	uint64_t interval_us;
	const char *head;      /* of the branch; "" while nobody could say */
	const char *done;      /* what was fuzzed last, "" none */
	bool started;	       /* ever */
	uint64_t start_age_us; /* since the last start */
	enum due_running running;
	const char *commit; /* that the last start was of; "" not known */
	const char *failed; /* the commit whose runs failed, "" none */
	unsigned failures;  /* of it, in a row */
	bool forced;	    /* now, and whatever was done */
};

enum { DUE_WHY = 200 };
struct due {
	enum due_what what;
	uint64_t wait_us;
	char why[DUE_WHY]; /* for a person */
};
void due_decide(const struct due_input *in, struct due *ret);

/* What has to be between the last start and the next one of a head that failed so often. */
uint64_t due_delay(uint64_t interval_us, unsigned failures);

#endif
