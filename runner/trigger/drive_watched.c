/* SPDX-License-Identifier: Apache-2.0 */
/* The actions for one repository: check and update the work tree, watch and stop the run. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc.h"
#include "runner/state/lock.h"
#include "runner/trigger/drive_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

/* The longest sleep.  It limits the delay after a suspend of the machine, and after the end of a
 * run that is not ours. */
#define NAP (60 * USEC_PER_SEC)

/* --- reporting ------------------------------------------------------------------------- */

void watched_say(struct watched *r, bool bad, const char *text)
{
	char *last = bad ? r->complained : r->said;

	if (strcmp(last, text) == 0)
		return;
	(void)snprintf(last, SAID_MAX, "%s", text);
	if (!*text)
		return;
	r->d->o->say(r->d->o->arg, r->i, bad, text);
}

int watched_save(struct watched *r)
{
	struct err e;
	int rc;

	if (r->d->o->dry)
		return 0;
	rc = record_save(r->given->state_fd, &r->d->now, &r->w.rec, &e);
	r->unsaved = rc < 0;
	if (rc < 0)
		watched_say(r, true, e.msg);
	return rc;
}

/* Reports a new decision.  Compares keys, because the text contains times that change. */
static void say_decision(struct watched *r, const struct watch_act *a)
{
	static const char *const what[] = {"nothing to do", "waits", "starts", "ends what runs"};
	char key[DUE_WHY], text[DUE_WHY + 40];

	if (r->w.looking || r->w.at == WATCH_UPDATING)
		return;
	(void)snprintf(key, sizeof(key), "%d %s %d %s", (int)a->due.what, r->w.rec.head,
		       (int)r->w.at, r->w.rec.commit);
	if (strcmp(key, r->key) == 0)
		return;
	memcpy(r->key, key, sizeof(key));
	(void)snprintf(text, sizeof(text), "%s: %s", what[a->due.what], a->due.why);
	watched_say(r, false, text);
}

static void say_blocked(struct watched *r, const struct watch_act *a)
{
	char text[CHECKOUT_WHY + 120];

	if (a->what != WATCH_WAIT || a->due.what != DUE_START || !*r->w.blocked)
		return;
	(void)snprintf(text, sizeof(text), "%.12s cannot be fuzzed: %s", r->w.rec.head,
		       r->w.blocked);
	watched_say(r, true, text);
	r->d->result.blocked = true;
}

/* --- its run ------------------------------------------------------------------------------ */

static void forget_orphan(struct watched *r)
{
	source_remove(r->orphan);
	r->orphan = NULL;
	close_p(&r->pidfd);
	r->pidfd = -1;
}

static void say_ended(struct watched *r)
{
	const struct trigger_record *rec = &r->w.rec;
	char text[RECORD_WHY + 100];

	(void)snprintf(text, sizeof(text), "the run of %.12s is over, %s: %s", rec->commit,
		       outcome_name(rec->outcome), rec->why);
	watched_say(r, rec->outcome == OUTCOME_FAILED, text);
}

void watched_ended(struct watched *r, enum watch_end end, const char *why)
{
	char done[COMMIT_MAX];

	record_done(r->given->state_fd, done);
	watch_ended(&r->w, &r->d->now, end, why, done);
	forget_orphan(r);
	say_ended(r);
	(void)watched_save(r);
	drive_soon(r->d);
}

static void on_orphan_end(void *arg, uint32_t events)
{
	struct watched *r = arg;

	(void)events;
	source_remove(r->orphan); /* a pidfd stays readable after the end */
	r->orphan = NULL;
	drive_soon(r->d);
}

/* An earlier trigger's run is not our child.  A pidfd still reports its end. */
static void drive_watched_adopt(struct watched *r)
{
	const struct trigger_record *rec = &r->w.rec;
	char text[120];
	struct err e;

	if (proc_open_started(rec->pid, rec->pid_start, &r->pidfd, &e) < 0)
		return; /* it just ended; the next watched_holder() notices */
	(void)snprintf(text, sizeof(text), "an earlier trigger's run of %.12s goes on (process %d)",
		       rec->commit, (int)rec->pid);
	watched_say(r, false, text);
	if (loop_add_io(r->d->o->loop, r->pidfd, EPOLLIN, on_orphan_end, r, &r->orphan, &e) < 0)
		r->orphan = NULL; /* noticed after the next sleep */
}

void watched_stop(struct watched *r)
{
	_autoclose_ int fd = -1;
	struct err e;
	int rc;

	/* A child keeps its process number until we reap it. */
	rc = r->child ? proc_open(r->w.rec.pid, &fd, &e)
		      : proc_open_started(r->w.rec.pid, r->w.rec.pid_start, &fd, &e);
	if (rc == 0)
		rc = proc_kill(fd, SIGTERM, &e);
	if (rc < 0 && rc != -ESRCH) /* -ESRCH: it already ended */
		watched_say(r, true, e.msg);
}

void watched_holder(struct watched *r, struct watch_holder *ret)
{
	const struct trigger_record *rec = &r->w.rec;
	uint64_t began;
	struct err e;
	pid_t pid;

	*ret = (struct watch_holder){0};
	if (lock_run_holder(r->given->state_fd, &ret->held, &pid, &e) < 0) {
		watched_say(r, true, e.msg);
		ret->held = true; /* to be safe */
	}
	ret->alive =
	    rec->pid > 0 && proc_start_time(rec->pid, &began, &e) == 0 && began == rec->pid_start;
}

/* --- its work tree ------------------------------------------------------------------------ */

static void drive_watched_on_looked(void *arg, const struct checkout *c)
{
	struct watched *r = arg;
	char text[CHECKOUT_WHY + 80] = "";

	drive_now(r->d);
	watch_looked(&r->w, &r->d->now, c);
	if (c->kind == CHECKOUT_NETWORK)
		(void)snprintf(text, sizeof(text), "the remote cannot be asked (try %u): %s",
			       r->w.rec.fetch_failures, c->why);
	else
		(void)snprintf(text, sizeof(text), "%s", c->why);
	watched_say(r, true, text);
	r->d->result.blocked |= c->kind == CHECKOUT_BROKEN;
	(void)watched_save(r);
	drive_soon(r->d);
}

static void on_updated(void *arg, const struct checkout *c)
{
	struct watched *r = arg;

	drive_now(r->d);
	r->ready = watch_updated(&r->w, &r->d->now, c);
	drive_soon(r->d);
}

void watched_look(struct watched *r, enum checkout_what what)
{
	const struct trigger_config *c = r->given->config;
	const struct checkout_opts o = {c->repository, c->remote, c->branch, c->fetch_us,
					r->given->limits};
	checkout_done_fn *done = what == CHECKOUT_UPDATE ? on_updated : drive_watched_on_looked;
	struct checkout failed = {.kind = CHECKOUT_NETWORK};
	struct err e;

	if (checkout_start(r->d->o->loop, &o, what, r->w.rec.head, done, r, &e) == 0)
		return;
	(void)snprintf(failed.why, sizeof(failed.why), "%.*s", CHECKOUT_WHY - 1, e.msg);
	done(r, &failed);
}

/* --- steps ---------------------------------------------------------------------------------- */

uint64_t watched_step(struct watched *r)
{
	struct watch_holder h;
	struct watch_act a;

	watched_holder(r, &h);
	record_done(r->given->state_fd, r->w.done); /* a user may have fuzzed the head */
	if (record_clock_set(&r->w.rec, &r->d->now))
		(void)watched_save(r);
	if (r->w.at == WATCH_ORPHAN && !h.alive)
		watched_ended(r, END_UNSEEN, "its end was not observed");
	watch_next(&r->w, &r->d->now, &h, &a);
	r->settling = r->settling && a.due.what == DUE_START && !*r->w.blocked;
	say_decision(r, &a);
	say_blocked(r, &a);
	if (a.what == WATCH_LOOK)
		watched_look(r, CHECKOUT_LOOK);
	else if (a.what == WATCH_UPDATE)
		watched_look(r, CHECKOUT_UPDATE);
	else if (a.what == WATCH_STOP)
		watched_stop(r);
	r->d->result.held |= r->w.forced && h.held && r->w.at == WATCH_IDLE;
	return a.what == WATCH_WAIT && a.wait_us < NAP && a.wait_us > 0 ? a.wait_us : NAP;
}

int watched_init(struct drive *d, size_t i, const struct drive_repo *given, struct err *e)
{
	const struct watch_opts wo = {given->config->interval_us, d->o->tick_us, d->o->retry_us};
	struct watched *r = &d->repos[i];
	struct trigger_record rec;
	struct watch_holder h;
	char said[RECORD_WHY], done[COMMIT_MAX];
	int rc;

	*r = (struct watched){.d = d, .i = i, .given = given, .pidfd = -1, .workers_fd = -1};
	rc = record_load(given->state_fd, d->o->dry, &d->now, &rec, said, e);
	if (rc < 0)
		return rc;
	watched_say(r, true, said);
	record_done(given->state_fd, done);
	r->w.rec = rec;
	watched_holder(r, &h);
	watch_init(&r->w, &wo, &rec, done, &h, &d->now);
	if (rec.outcome == OUTCOME_RUNNING && r->w.at == WATCH_IDLE)
		say_ended(r);
	r->w.forced = d->o->force;
	if (r->w.at == WATCH_ORPHAN && !d->o->dry)
		drive_watched_adopt(r);
	return 0;
}

void watched_done(struct watched *r)
{
	source_remove(r->child);
	r->child = NULL;
	close_p(&r->workers_fd);
	r->workers_fd = -1;
	forget_orphan(r);
}
