/* SPDX-License-Identifier: Apache-2.0 */
/* Starts runs and shares the machine's workers among them. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/proc.h"
#include "base/sys.h"
#include "runner/trigger/drive_internal.h"
#include "runner/trigger/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* AGAIN: delay of a start while no worker is free.  SETTLE: delay while there are not enough
 * samples of the machine's load. */
#define AGAIN  (60 * USEC_PER_SEC)
#define SETTLE (2 * USEC_PER_SEC)

/* --- a run -------------------------------------------------------------------------------- */

static void on_run_end(void *arg, pid_t pid, int status)
{
	struct watched *r = arg;
	char why[RECORD_WHY];
	enum watch_end end = r->d->o->ended(r->d->o->arg, r->i, status, why);

	(void)pid;
	source_remove(r->child);
	r->child = NULL;
	close_p(&r->workers_fd);
	r->workers_fd = -1;
	drive_now(r->d);
	watched_ended(r, end, why);
}

static int drive_start_spawn(struct watched *r, uint32_t workers, struct err *e)
{
	struct drive *d = r->d;
	_autoclose_ int rd = -1;
	_autoclose_ int wr = -1;
	uint64_t began = 0;
	pid_t pid;
	int p[2], rc;

	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe to a run");
	rd = p[0];
	wr = p[1];
	if (fcntl(wr, F_SETFL, O_NONBLOCK) < 0) /* never block on a run that does not read */
		return err_sys(e, "pipe to a run");
	rc = d->o->start(d->o->arg, r->i, r->w.rec.commit, workers, rd, &pid, e);
	if (rc < 0)
		return rc;
	if (proc_start_time(pid, &began, e) < 0) /* it died at once: on_run_end() reports it */
		began = 0;
	watch_started(&r->w, pid, began);
	(void)watched_save(r);
	r->workers = workers;
	r->workers_fd = take_fd(&wr);
	return loop_add_child(d->o->loop, pid, on_run_end, r, &r->child, e);
}

static void drive_start_start(struct watched *r, uint32_t workers)
{
	const struct trigger_record *rec = &r->w.rec;
	char text[120];
	struct err e;

	watch_starts(&r->w, &r->d->now);
	if (watched_save(r) < 0) {
		/* A restart of the trigger would forget a start without a record. */
		watched_ended(r, END_REFUSED, "no start without a record of it");
		return;
	}
	(void)snprintf(text, sizeof(text), "the run of %.12s starts%s", rec->commit,
		       rec->failures && strcmp(rec->failed, rec->commit) == 0 ? " again" : "");
	watched_say(r, false, text);
	if (drive_start_spawn(r, workers, &e) < 0)
		watched_ended(r, END_FAILED, e.msg);
}

static void tell_workers(struct watched *r, uint32_t workers)
{
	char line[40], text[80];
	int n = snprintf(line, sizeof(line), "workers %u\n", workers);

	if (r->workers_fd < 0 || r->workers == workers)
		return;
	r->workers = workers;
	(void)snprintf(text, sizeof(text), "the run of %.12s has %u worker%s now", r->w.rec.commit,
		       workers, workers == 1 ? "" : "s");
	if (sys_write_all(r->workers_fd, line, (size_t)n) == 0) /* fails if the run just ended */
		watched_say(r, false, text);
}

/* --- sharing workers ----------------------------------------------------------------------- */

static void put_off(struct watched *r, uint64_t us)
{
	r->ready = false;
	watch_put_off(&r->w, &r->d->now, us);
}

static void note_busy(struct watched *r, const struct quiet_answer *q)
{
	if (q->what != QUIET_ALL && !r->w.rec.busy.known)
		r->w.rec.busy = since_now(&r->d->now);
	if (*q->why)
		watched_say(r, false, q->why);
}

/* The maximum number of workers while other work needs the machine; 0: no limit.  May postpone the
 * start of a ready repository. */
static uint32_t drive_start_limit_of(struct watched *r)
{
	struct quiet_answer q;
	bool known = drive_ask_quiet(r->d, r, &q);

	if (!r->ready) /* an active run is not stopped, only reduced */
		return !known || q.what == QUIET_ALL ? 0 : q.what == QUIET_SOME ? q.workers : 1;
	if (!known) {
		r->settling = true;
		put_off(r, SETTLE);
		return 0;
	}
	note_busy(r, &q);
	if (q.what == QUIET_NOT_NOW) {
		put_off(r, AGAIN);
		(void)watched_save(r);
	}
	return q.what == QUIET_SOME ? q.workers : 0;
}

static void fill_share(const struct watched *r, struct share *s)
{
	s->wanted = r->given->workers;
	s->waited_us = since_age(&r->w.rec.head_seen, &r->d->now);
	s->is = r->w.at >= WATCH_RUNNING ? SHARE_RUNS : r->ready ? SHARE_WANTS : SHARE_IDLE;
}

static void drive_start_give(struct watched *r, const struct share *s, uint32_t limit)
{
	uint32_t workers = limit && limit < s->given ? limit : s->given;
	bool alone = r->d->n == 1 && !limit; /* uses its configured number */

	if (s->is == SHARE_RUNS && !(alone && r->workers == 0)) {
		tell_workers(r, workers);
	} else if (s->is == SHARE_WANTS && workers == 0) {
		watched_say(r, false, "waits for a worker: other repositories use all workers");
		put_off(r, AGAIN);
	} else if (s->is == SHARE_WANTS) {
		r->ready = false;
		drive_start_start(r, alone ? 0 : workers);
	}
}

void drive_share(struct drive *d)
{
	_autofree_ struct share *v = xcalloc(d->n, sizeof(*v));
	_autofree_ uint32_t *limit = xcalloc(d->n, sizeof(*limit));

	for (size_t i = 0; i < d->n; i++) {
		struct watched *r = &d->repos[i];

		r->settling = r->settling && !r->ready;
		if (r->ready || r->workers_fd >= 0)
			limit[i] = drive_start_limit_of(r);
	}
	for (size_t i = 0; i < d->n; i++)
		fill_share(&d->repos[i], &v[i]);
	share_workers(v, d->n, d->o->cpus);
	for (size_t i = 0; i < d->n; i++)
		drive_start_give(&d->repos[i], &v[i], limit[i]);
}
