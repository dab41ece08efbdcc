/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/pace.h"

#include "base/clock.h"
#include "base/units.h"

#include <stdio.h>

#define FIRST_US (5 * USEC_PER_SEC)
#define MOST_US	 (60 * USEC_PER_SEC)

void pace_line(const struct pace *p, uint64_t done, uint64_t of, uint64_t us, char out[256])
{
	char rate[UNITS_MAX] = "", left[UNITS_MAX] = "";
	double per_second = us > 0 ? (double)done * 1e6 / (double)us : 0;

	if (per_second > 0 && done < of) {
		(void)units_time((uint64_t)((double)(of - done) / per_second) * USEC_PER_SEC, left);
		(void)snprintf(rate, sizeof(rate), per_second < 10 ? "%.1f" : "%.0f", per_second);
	}
	(void)snprintf(out, 256, "%.100s: %llu of %llu %.40s%s%s%s%s%s", p->what,
		       (unsigned long long)done, (unsigned long long)of, p->unit, *rate ? ", " : "",
		       rate, *rate ? "/s, about " : "", left, *rate ? " to go" : "");
}

static void on_timer(void *arg)
{
	struct pace *p = arg;
	uint64_t now = clock_mono_us(), done = 0, of = 0;
	char line[256];
	struct err e;

	p->look(p->arg, &done, &of);
	pace_line(p, done, of, now - p->began_us, line);
	fprintf(stderr, "%s\n", line);
	p->wait_us = 2 * p->wait_us < MOST_US ? 2 * p->wait_us : MOST_US;
	(void)!loop_set_timer(p->timer, now + p->wait_us, &e); /* then nothing more is said */
}

int pace_begin(struct pace *p, struct loop *l, struct err *e)
{
	pace_end(p);
	p->began_us = clock_mono_us();
	p->wait_us = FIRST_US;
	return loop_add_timer(l, p->began_us + FIRST_US, on_timer, p, &p->timer, e);
}

void pace_end(struct pace *p)
{
	source_remove(p->timer);
	p->timer = NULL;
}
