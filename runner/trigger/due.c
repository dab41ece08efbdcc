/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/trigger/due.h"

#include "base/clock.h"
#include "base/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DAY   (UINT64_C(86400) * USEC_PER_SEC)
#define LEAST (60 * USEC_PER_SEC) /* minimum backoff, even if the interval is shorter */

static void __attribute__((format(printf, 3, 4)))
due_print(struct due *d, enum due_what what, const char *fmt, ...)
{
	va_list ap;

	d->what = what;
	va_start(ap, fmt);
	(void)vsnprintf(d->why, sizeof(d->why), fmt, ap); /* for users: may be cut */
	va_end(ap);
}

uint64_t due_delay(uint64_t interval_us, unsigned failures)
{
	uint64_t most = interval_us > DAY ? interval_us : DAY;
	uint64_t d = interval_us > LEAST ? interval_us : LEAST;

	if (failures == 0)
		return interval_us;
	for (unsigned i = 1; i < failures && d < most; i++)
		d *= 2;
	return d < most ? d : most;
}

static bool due_is(const char *a, const char *b)
{
	return *a && strcmp(a, b) == 0;
}

static bool due_failed_before(const struct due_input *in)
{
	return in->failures > 0 && due_is(in->head, in->failed);
}

static void due_wait(const struct due_input *in, uint64_t left_us, struct due *d)
{
	char time[UNITS_MAX];

	d->wait_us = left_us;
	if (due_failed_before(in))
		due_print(d, DUE_WAIT, "%.12s failed %u time%s: tried again in %s", in->head,
			  in->failures, in->failures == 1 ? "" : "s", units_time(left_us, time));
	else
		due_print(d, DUE_WAIT,
			  "%.12s is new; waits %s for the interval since the last start", in->head,
			  units_time(left_us, time));
}

/* Decides while a run is active. */
static void due_decide_running(const struct due_input *in, uint64_t left_us, struct due *d)
{
	if (in->running == RUNNING_OURS && due_is(in->head, in->commit))
		due_print(d, DUE_NOTHING, "%.12s is being fuzzed", in->head);
	else if (in->forced)
		due_print(d, in->running == RUNNING_OURS ? DUE_STOP : DUE_WAIT,
			  "a start was asked for, but a run is active");
	else if (due_is(in->head, in->done))
		due_print(d, DUE_NOTHING, "%.12s was fuzzed", in->head);
	else if (left_us > 0)
		due_wait(in, left_us, d);
	else if (in->running == RUNNING_OURS)
		due_print(d, DUE_STOP, "%.12s is new, and waited long enough for the run of %.12s",
			  in->head, *in->commit ? in->commit : "another commit");
	else
		due_print(d, DUE_WAIT, "%.12s is new; a run that a user started holds the run lock",
			  in->head);
}

void due_decide(const struct due_input *in, struct due *ret)
{
	bool again = due_failed_before(in);
	uint64_t delay = due_delay(in->interval_us, again ? in->failures : 0);
	uint64_t left = in->started && in->start_age_us < delay ? delay - in->start_age_us : 0;

	*ret = (struct due){.what = DUE_NOTHING};
	if (!*in->head) {
		due_print(ret, DUE_NOTHING, "the head of the branch is not known");
	} else if (in->running != RUNNING_NONE) {
		due_decide_running(in, left, ret);
	} else if (in->forced) {
		due_print(ret, DUE_START, "%.12s, because it was asked for", in->head);
	} else if (due_is(in->head, in->done)) {
		due_print(ret, DUE_NOTHING, "%.12s was fuzzed", in->head);
	} else if (left > 0) {
		due_wait(in, left, ret);
	} else if (again) {
		due_print(ret, DUE_START, "%.12s, again after %u failure%s", in->head, in->failures,
			  in->failures == 1 ? "" : "s");
	} else {
		due_print(ret, DUE_START, "%.12s is new", in->head);
	}
}
