/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/pace.h"

#include "base/clock.h"
#include "base/units.h"

#include <stdio.h>

#define FIRST_US (5 * USEC_PER_SEC)
#define MOST_US	 (60 * USEC_PER_SEC)

static uint64_t longer(uint64_t us)
{
	return 2 * us < MOST_US ? 2 * us : MOST_US;
}

bool pace_due(struct pace *p, uint64_t now_us)
{
	if (!p->began_us) {
		p->began_us = p->printed_us = now_us;
		p->wait_us = FIRST_US;
	}
	if (now_us - p->printed_us < p->wait_us)
		return false;
	p->printed_us = now_us;
	p->wait_us = longer(p->wait_us);
	return true;
}

void pace_step(struct pace *p)
{
	uint64_t now = clock_mono_us();
	char line[256];

	if (!pace_due(p, now))
		return;
	pace_line(p, p->done, p->of, now - p->began_us, line);
	fprintf(stderr, "%s\n", line);
}

void pace_line(const struct pace *p, uint64_t done, uint64_t of, uint64_t us, char out[256])
{
	char rate[UNITS_MAX] = "", left[UNITS_MAX] = "", end[UNITS_MAX] = "";
	double per_second = us > 0 ? (double)done * 1e6 / (double)us : 0;

	if (per_second > 0 && (done < of || !of))
		(void)snprintf(rate, sizeof(rate), per_second < 10 ? ", %.1f/s" : ", %.0f/s",
			       per_second);
	if (*rate && of)
		(void)units_time((uint64_t)((double)(of - done) / per_second) * USEC_PER_SEC, left);
	if (of)
		(void)snprintf(end, sizeof(end), " of %llu", (unsigned long long)of);
	(void)snprintf(out, 256, "%.100s: %llu%s %.40s%s%s%s%s", p->what, (unsigned long long)done,
		       end, p->unit, rate, *left ? ", about " : "", left, *left ? " to go" : "");
}

static void pace_on_timer(void *arg)
{
	struct pace *p = arg;
	uint64_t now = clock_mono_us(), done = 0, of = 0;
	char line[256];
	struct err e;

	p->look(p->arg, &done, &of);
	pace_line(p, done, of, now - p->began_us, line);
	fprintf(stderr, "%s\n", line);
	p->wait_us = longer(p->wait_us);
	(void)!loop_set_timer(p->timer, now + p->wait_us, &e); /* on failure, no more lines */
}

int pace_begin(struct pace *p, struct loop *l, struct err *e)
{
	pace_end(p);
	p->began_us = clock_mono_us();
	p->wait_us = FIRST_US;
	return loop_add_timer(l, p->began_us + FIRST_US, pace_on_timer, p, &p->timer, e);
}

void pace_end(struct pace *p)
{
	source_remove(p->timer);
	p->timer = NULL;
}
