/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/trigger/drive.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "runner/trigger/drive_internal.h"

#include <signal.h>

/* Retry interval for repositories with `settling`. */
#define SETTLE (2 * USEC_PER_SEC)
/* At the end: how long to wait for looks (git may wait for a network), and how often to check. */
#define LOOK_WAIT (5 * USEC_PER_SEC)
#define LOOK_TICK (100 * USEC_PER_MSEC)

static void drive_give_up(struct drive *d, const struct err *e)
{
	d->failed = true;
	d->error = *e;
	loop_stop(d->o->loop);
}

void drive_soon(struct drive *d)
{
	struct err e;

	d->again = true;
	if (loop_set_timer(d->timer, clock_mono_us(), &e) < 0)
		drive_give_up(d, &e);
}

void drive_now(struct drive *d)
{
	struct moment now;
	struct err e;

	if (moment_read(&now, &e) < 0)
		drive_give_up(d, &e);
	else
		d->now = now;
}

/* Whether the process must stay.  At the end it waits for looks, because an aborted look leaves its
 * process group behind. */
static bool drive_busy(const struct watched *r)
{
	if (r->child || r->w.at != WATCH_IDLE)
		return true;
	if (r->d->ending)
		return r->w.looking && clock_mono_us() < r->d->look_until_us;
	return r->ready || r->settling || !watch_rests(&r->w);
}

static bool drive_any_busy(const struct drive *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (drive_busy(&d->repos[i]))
			return true;
	return false;
}

static uint64_t step_all(struct drive *d)
{
	uint64_t nap = UINT64_MAX;

	for (size_t i = 0; i < d->n; i++) {
		uint64_t t = watched_step(&d->repos[i]);

		nap = t < nap ? t : nap;
	}
	drive_share(d);
	for (size_t i = 0; i < d->n; i++)
		if (d->repos[i].settling && nap > SETTLE)
			nap = SETTLE;
	return nap;
}

static void drive_reload(struct drive *d)
{
	d->reload = false;
	d->o->reload(d->o->arg);
	for (size_t i = 0; i < d->n; i++) {
		d->repos[i].w.o.interval_us = d->repos[i].given->config->interval_us;
		d->repos[i].w.looked = (struct since){0}; /* forces a look now */
	}
}

static void drive_on_timer(void *arg)
{
	struct drive *d = arg;
	uint64_t nap;
	struct err e;

	drive_now(d);
	if (d->failed)
		return;
	if (d->reload)
		drive_reload(d);
	drive_sample(d);
	if (d->o->dry) {
		if (drive_dry(d))
			loop_stop(d->o->loop);
		return;
	}
	d->again = false; /* a step may request another step */
	nap = step_all(d);
	if (d->ending && nap > LOOK_TICK)
		nap = LOOK_TICK;
	if ((d->ending || !d->o->forever) && !d->again && !drive_any_busy(d))
		loop_stop(d->o->loop);
	else if (loop_set_timer(d->timer, clock_mono_us() + (d->again ? 0 : nap), &e) < 0)
		drive_give_up(d, &e);
}

/* The first signal stops each run once.  A second signal repeats the stop request to each run. */
static void drive_on_end(void *arg, int signo)
{
	struct drive *d = arg;

	(void)signo;
	for (size_t i = 0; i < d->n; i++) {
		struct watched *r = &d->repos[i];

		if (d->ending && r->w.at >= WATCH_RUNNING)
			watched_stop(r);
		r->w.asleep = true;
		if (r->ready)
			watch_put_off(&r->w, &d->now, 0);
		r->ready = false;
	}
	d->look_until_us = d->ending ? 0 : clock_mono_us() + LOOK_WAIT;
	d->ending = true;
	drive_soon(d);
}

static void on_hup(void *arg, int signo)
{
	struct drive *d = arg;

	(void)signo;
	d->reload = true;
	drive_soon(d);
}

static int add_sources(struct drive *d, struct err *e)
{
	struct loop *l = d->o->loop;
	int r = loop_add_timer(l, clock_mono_us(), drive_on_timer, d, &d->timer, e);

	if (r == 0)
		r = loop_add_signal(l, SIGTERM, drive_on_end, d, &d->on_term, e);
	if (r == 0)
		r = loop_add_signal(l, SIGINT, drive_on_end, d, &d->on_int, e);
	if (r == 0)
		r = loop_add_signal(l, SIGHUP, on_hup, d, &d->on_hup, e);
	return r;
}

static void remove_sources(struct drive *d)
{
	source_remove(d->timer);
	source_remove(d->on_term);
	source_remove(d->on_int);
	source_remove(d->on_hup);
	for (size_t i = 0; i < d->n; i++)
		watched_done(&d->repos[i]);
}

int drive_run(const struct drive_opts *o, struct drive_repo *repos, size_t n,
	      struct drive_result *ret, struct err *e)
{
	_autofree_ struct watched *all = xcalloc(n, sizeof(*all));
	struct drive d = {.o = o, .repos = all};
	int r = moment_read(&d.now, e);

	for (size_t i = 0; r == 0 && i < n; i++) {
		r = watched_init(&d, i, &repos[i], e);
		d.n += r == 0;
	}
	if (r == 0)
		r = add_sources(&d, e);
	if (r == 0)
		r = loop_run(o->loop, e);
	remove_sources(&d);
	if (r == 0 && d.failed) {
		*e = d.error;
		r = -d.error.code;
	}
	for (size_t i = 0; i < d.n; i++) {
		d.result.unreached |= all[i].w.tries > 0 && !*all[i].w.blocked;
		d.result.unsaved |= all[i].unsaved;
	}
	*ret = d.result;
	return r;
}
