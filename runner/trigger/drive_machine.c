/* SPDX-License-Identifier: Apache-2.0 */
/* Samples the machine's load, for repositories with trigger.quiet. */
#include "base/clock.h"
#include "runner/trigger/drive_internal.h"

/* SHORTEST: minimum distance of two samples that are compared.  OLD: interval between samples. */
#define SHORTEST (2 * USEC_PER_SEC)
#define OLD	 (20 * USEC_PER_SEC)

static bool sample_now(struct drive *d, struct quiet_sample *ret)
{
	struct err e;

	if (quiet_read("/proc", ret, &e) < 0) {
		watched_say(&d->repos[0], true, e.msg);
		return false;
	}
	ret->at_us = d->now.boot_us;
	ret->own_us = d->o->own_cpu_us(d->o->arg);
	return true;
}

static bool wants_quiet(const struct drive *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->repos[i].given->config->quiet.mode != QUIET_OFF)
			return true;
	return false;
}

void drive_sample(struct drive *d)
{
	struct quiet_sample s;

	if (!wants_quiet(d) || (d->last.at_us && d->now.boot_us - d->last.at_us < OLD))
		return;
	if (!sample_now(d, &s))
		return;
	d->before = d->last;
	d->last = s;
}

static bool any_runs(const struct drive *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->repos[i].w.at >= WATCH_RUNNING)
			return true;
	return false;
}

static bool read_machine(struct drive *d, struct quiet_reading *ret)
{
	const struct quiet_sample *from = &d->last;
	struct quiet_sample now;

	*ret = (struct quiet_reading){0};
	if (!sample_now(d, &now))
		return true; /* reported; fuzz even if the load is unknown */
	if (!from->at_us || now.at_us - from->at_us < SHORTEST)
		from = &d->before;
	*ret = quiet_between(from->at_us ? from : &now, &now);
	return from->at_us != 0;
}

bool drive_ask_quiet(struct drive *d, const struct watched *r, struct quiet_answer *ret)
{
	struct quiet_reading reading;
	bool known;

	*ret = (struct quiet_answer){.what = QUIET_ALL};
	if (r->given->config->quiet.mode == QUIET_OFF)
		return true;
	known = read_machine(d, &reading);
	quiet_decide(r->given->config, &reading, any_runs(d), since_age(&r->w.rec.busy, &d->now),
		     ret);
	return known;
}
