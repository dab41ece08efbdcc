/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/trigger/drive.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/proc.h"
#include "base/sys.h"
#include "runner/state/lock.h"
#include "runner/trigger/quiet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

/* The longest sleep.  It limits the delay after a suspend of the machine, and after the end of a
 * run that is not ours. */
#define NAP (60 * USEC_PER_SEC)
/* SHORTEST: minimum distance of two samples that are compared.  OLD: interval between samples. */
#define SHORTEST (2 * USEC_PER_SEC)
#define OLD	 (20 * USEC_PER_SEC)
/* AGAIN: delay of a start while no worker is free.  SETTLE: delay while there are not enough
 * samples of the machine's load. */
#define AGAIN  (60 * USEC_PER_SEC)
#define SETTLE (2 * USEC_PER_SEC)
/* At the end: how long to wait for polls (git may wait for a network), and how often to check. */
#define POLL_WAIT (5 * USEC_PER_SEC)
#define POLL_TICK (100 * USEC_PER_MSEC)

enum { REPORT_MAX = 800 };

struct drive;
struct watched {
	struct drive *d;
	size_t i;
	const struct drive_repo *given;
	struct watch w;
	struct source *child;  /* of the run */
	int workers_fd;	       /* the run reads its number of workers from it; -1: none */
	uint32_t workers;      /* last number sent; 0: the number in its configuration */
	int pidfd;	       /* of an orphaned run; -1: none */
	struct source *orphan; /* watches pidfd for the run's end */
	bool ready;	       /* the work tree is updated; a run may start */
	bool settling;	       /* the start is postponed by SETTLE */
	bool reported;	       /* the dry run's decision was reported */
	bool unsaved;	       /* the last attempt to save its record failed */
	char key[DUE_WHY];     /* identifies the last reported decision */
	char last_report[REPORT_MAX], last_problem[REPORT_MAX];
};

struct drive {
	const struct drive_opts *o;
	struct watched *repos;
	size_t n;
	struct source *timer, *on_term, *on_int, *on_hup;
	struct moment now;
	struct quiet_sample before, last; /* at_us 0: none */
	bool ending, reload, failed;
	uint64_t poll_until_us; /* clock_mono_us(); at the end, waits for polls until then */
	bool again;		/* drive_soon() was called */
	struct err error;
	struct drive_result result;
};

static void drive_give_up(struct drive *d, const struct err *e)
{
	d->failed = true;
	d->error = *e;
	loop_stop(d->o->loop);
}

/* After an event: steps all repositories again. */
static void drive_soon(struct drive *d)
{
	struct err e;

	d->again = true;
	if (loop_set_timer(d->timer, clock_mono_us(), &e) < 0)
		drive_give_up(d, &e);
}

/* Reads the clocks. */
static void drive_now(struct drive *d)
{
	struct moment now;
	struct err e;

	if (moment_read(&now, &e) < 0)
		drive_give_up(d, &e);
	else
		d->now = now;
}

/* --- reports -------------------------------------------------------------------- */

/* Reports text, unless it is equal to the last text. */
static void watched_report(struct watched *r, bool bad, const char *text)
{
	char *last = bad ? r->last_problem : r->last_report;

	if (strcmp(last, text) == 0)
		return;
	(void)snprintf(last, REPORT_MAX, "%s", text);
	if (!*text)
		return;
	r->d->o->report(r->d->o->arg, r->i, bad, text);
}

/* Reports a failure. */
static int watched_save(struct watched *r)
{
	struct err e;
	int rc;

	if (r->d->o->dry)
		return 0;
	rc = record_save(r->given->state_fd, &r->d->now, &r->w.rec, &e);
	r->unsaved = rc < 0;
	if (rc < 0)
		watched_report(r, true, e.msg);
	return rc;
}

/* Reports a new decision.  Compares keys, because the text contains times that change. */
static void watched_report_decision(struct watched *r, const struct watch_act *a)
{
	static const char *const what[] = {"nothing to do", "waits", "starts", "ends what runs"};
	char key[DUE_WHY], text[DUE_WHY + 40];

	if (r->w.polling || r->w.at == WATCH_UPDATING)
		return;
	(void)snprintf(key, sizeof(key), "%d %s %d %s", (int)a->due.what, r->w.rec.head,
		       (int)r->w.at, r->w.rec.commit);
	if (strcmp(key, r->key) == 0)
		return;
	memcpy(r->key, key, sizeof(key));
	(void)snprintf(text, sizeof(text), "%s: %s", what[a->due.what], a->due.why);
	watched_report(r, false, text);
}

static void watched_report_blocked(struct watched *r, const struct watch_act *a)
{
	char text[CHECKOUT_WHY + 120];

	if (a->what != WATCH_WAIT || a->due.what != DUE_START || !*r->w.blocked)
		return;
	(void)snprintf(text, sizeof(text), "%.12s cannot be fuzzed: %s", r->w.rec.head,
		       r->w.blocked);
	watched_report(r, true, text);
	r->d->result.blocked = true;
}

/* --- the run of a repository ---------------------------------------------------- */

static void watched_forget_orphan(struct watched *r)
{
	source_remove(r->orphan);
	r->orphan = NULL;
	close_p(&r->pidfd);
	r->pidfd = -1;
}

static void watched_report_ended(struct watched *r)
{
	const struct trigger_record *rec = &r->w.rec;
	char text[RECORD_WHY + 100];

	(void)snprintf(text, sizeof(text), "the run of %.12s is over, %s: %s", rec->commit,
		       outcome_name(rec->outcome), rec->why);
	watched_report(r, rec->outcome == OUTCOME_FAILED, text);
}

static void watched_ended(struct watched *r, enum watch_end end, const char *why)
{
	char done[COMMIT_MAX];

	record_done(r->given->state_fd, done);
	watch_ended(&r->w, &r->d->now, end, why, done);
	watched_forget_orphan(r);
	watched_report_ended(r);
	(void)watched_save(r);
	drive_soon(r->d);
}

static void watched_on_orphan_end(void *arg, uint32_t events)
{
	struct watched *r = arg;

	(void)events;
	source_remove(r->orphan); /* a pidfd stays readable after the end */
	r->orphan = NULL;
	drive_soon(r->d);
}

/* An earlier trigger's run is not our child.  A pidfd still reports its end. */
static void watched_adopt(struct watched *r)
{
	const struct trigger_record *rec = &r->w.rec;
	char text[120];
	struct err e;

	if (proc_open_started(rec->pid, rec->pid_start, &r->pidfd, &e) < 0)
		return; /* it just ended; the next watched_holder() notices */
	(void)snprintf(text, sizeof(text), "an earlier trigger's run of %.12s goes on (process %d)",
		       rec->commit, (int)rec->pid);
	watched_report(r, false, text);
	if (loop_add_io(r->d->o->loop, r->pidfd, EPOLLIN, watched_on_orphan_end, r, &r->orphan,
			&e) < 0)
		r->orphan = NULL; /* noticed after the next sleep */
}

static void watched_stop(struct watched *r)
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
		watched_report(r, true, e.msg);
}

static void watched_holder(struct watched *r, struct watch_holder *ret)
{
	const struct trigger_record *rec = &r->w.rec;
	uint64_t began;
	struct err e;
	pid_t pid;

	*ret = (struct watch_holder){0};
	if (lock_run_holder(r->given->state_fd, &ret->locked, &pid, &e) < 0) {
		watched_report(r, true, e.msg);
		ret->locked = true; /* to be safe */
	}
	ret->alive =
	    rec->pid > 0 && proc_start_time(rec->pid, &began, &e) == 0 && began == rec->pid_start;
}

/* --- the work tree of a repository ---------------------------------------------- */

static void watched_on_polled(void *arg, const struct checkout *c)
{
	struct watched *r = arg;
	char text[CHECKOUT_WHY + 80] = "";

	drive_now(r->d);
	watch_polled(&r->w, &r->d->now, c);
	if (c->kind == CHECKOUT_NETWORK)
		(void)snprintf(text, sizeof(text), "the remote cannot be asked (try %u): %s",
			       r->w.rec.fetch_failures, c->why);
	else
		(void)snprintf(text, sizeof(text), "%s", c->why);
	watched_report(r, true, text);
	r->d->result.blocked |= c->kind == CHECKOUT_BROKEN;
	(void)watched_save(r);
	drive_soon(r->d);
}

static void watched_on_updated(void *arg, const struct checkout *c)
{
	struct watched *r = arg;

	drive_now(r->d);
	r->ready = watch_updated(&r->w, &r->d->now, c);
	drive_soon(r->d);
}

static void watched_checkout(struct watched *r, enum checkout_what what)
{
	const struct trigger_config *c = r->given->config;
	const struct checkout_opts o = {c->repository, c->remote, c->branch, c->fetch_us,
					r->given->limits};
	checkout_done_fn *done = what == CHECKOUT_UPDATE ? watched_on_updated : watched_on_polled;
	struct checkout failed = {.kind = CHECKOUT_NETWORK};
	struct err e;

	if (checkout_start(r->d->o->loop, &o, what, r->w.rec.head, done, r, &e) == 0)
		return;
	(void)snprintf(failed.why, sizeof(failed.why), "%.*s", CHECKOUT_WHY - 1, e.msg);
	done(r, &failed);
}

/* --- a step of a repository ----------------------------------------------------- */

/* Returns the maximum time until the next step. */
static uint64_t watched_step(struct watched *r)
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
	watched_report_decision(r, &a);
	watched_report_blocked(r, &a);
	if (a.what == WATCH_POLL)
		watched_checkout(r, CHECKOUT_POLL);
	else if (a.what == WATCH_UPDATE)
		watched_checkout(r, CHECKOUT_UPDATE);
	else if (a.what == WATCH_STOP)
		watched_stop(r);
	r->d->result.locked |= r->w.forced && h.locked && r->w.at == WATCH_IDLE;
	return a.what == WATCH_WAIT && a.wait_us < NAP && a.wait_us > 0 ? a.wait_us : NAP;
}

static int watched_init(struct drive *d, size_t i, const struct drive_repo *given, struct err *e)
{
	const struct watch_opts wo = {given->config->interval_us, d->o->tick_us, d->o->retry_us};
	struct watched *r = &d->repos[i];
	struct trigger_record rec;
	struct watch_holder h;
	char warning[RECORD_WHY], done[COMMIT_MAX];
	int rc;

	*r = (struct watched){.d = d, .i = i, .given = given, .pidfd = -1, .workers_fd = -1};
	rc = record_load(given->state_fd, d->o->dry, &d->now, &rec, warning, e);
	if (rc < 0)
		return rc;
	watched_report(r, true, warning);
	record_done(given->state_fd, done);
	r->w.rec = rec;
	watched_holder(r, &h);
	watch_init(&r->w, &wo, &rec, done, &h, &d->now);
	if (rec.outcome == OUTCOME_RUNNING && r->w.at == WATCH_IDLE)
		watched_report_ended(r);
	r->w.forced = d->o->force;
	if (r->w.at == WATCH_ORPHAN && !d->o->dry)
		watched_adopt(r);
	return 0;
}

static void watched_done(struct watched *r)
{
	source_remove(r->child);
	r->child = NULL;
	close_p(&r->workers_fd);
	r->workers_fd = -1;
	watched_forget_orphan(r);
}

/* --- the machine's load, for repositories with trigger.quiet -------------------- */

static bool drive_sample_now(struct drive *d, struct quiet_sample *ret)
{
	struct err e;

	if (quiet_read("/proc", ret, &e) < 0) {
		watched_report(&d->repos[0], true, e.msg);
		return false;
	}
	ret->at_us = d->now.boot_us;
	ret->own_us = d->o->own_cpu_us(d->o->arg);
	return true;
}

static bool drive_wants_quiet(const struct drive *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->repos[i].given->config->quiet.mode != QUIET_OFF)
			return true;
	return false;
}

static void drive_sample(struct drive *d)
{
	struct quiet_sample s;

	if (!drive_wants_quiet(d) || (d->last.at_us && d->now.boot_us - d->last.at_us < OLD))
		return;
	if (!drive_sample_now(d, &s))
		return;
	d->before = d->last;
	d->last = s;
}

static bool drive_any_runs(const struct drive *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->repos[i].w.at >= WATCH_RUNNING)
			return true;
	return false;
}

static bool drive_read_machine(struct drive *d, struct quiet_reading *ret)
{
	const struct quiet_sample *from = &d->last;
	struct quiet_sample now;

	*ret = (struct quiet_reading){0};
	if (!drive_sample_now(d, &now))
		return true; /* reported; fuzz even if the load is unknown */
	if (!from->at_us || now.at_us - from->at_us < SHORTEST)
		from = &d->before;
	*ret = quiet_between(from->at_us ? from : &now, &now);
	return from->at_us != 0;
}

/* False: not enough samples yet. */
static bool drive_ask_quiet(struct drive *d, const struct watched *r, struct quiet_answer *ret)
{
	struct quiet_reading reading;
	bool known;

	*ret = (struct quiet_answer){.what = QUIET_ALL};
	if (r->given->config->quiet.mode == QUIET_OFF)
		return true;
	known = drive_read_machine(d, &reading);
	quiet_decide(r->given->config, &reading, drive_any_runs(d),
		     since_age(&r->w.rec.busy, &d->now), ret);
	return known;
}

/* --- starting a run ------------------------------------------------------------- */

static void start_on_end(void *arg, pid_t pid, int status)
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

static int start_spawn(struct watched *r, uint32_t workers, struct err *e)
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
	if (proc_start_time(pid, &began, e) < 0) /* it died at once: start_on_end() reports it */
		began = 0;
	watch_started(&r->w, pid, began);
	(void)watched_save(r);
	r->workers = workers;
	r->workers_fd = take_fd(&wr);
	return loop_add_child(d->o->loop, pid, start_on_end, r, &r->child, e);
}

static void start_run(struct watched *r, uint32_t workers)
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
	watched_report(r, false, text);
	if (start_spawn(r, workers, &e) < 0)
		watched_ended(r, END_FAILED, e.msg);
}

static void share_send_workers(struct watched *r, uint32_t workers)
{
	char line[40], text[80];
	int n = snprintf(line, sizeof(line), "workers %u\n", workers);

	if (r->workers_fd < 0 || r->workers == workers)
		return;
	r->workers = workers;
	(void)snprintf(text, sizeof(text), "the run of %.12s has %u worker%s now", r->w.rec.commit,
		       workers, workers == 1 ? "" : "s");
	if (sys_write_all(r->workers_fd, line, (size_t)n) == 0) /* fails if the run just ended */
		watched_report(r, false, text);
}

/* --- the workers of each; pure -------------------------------------------------- */

static uint64_t share_total(const struct share *v, size_t n, uint32_t cpus)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].wanted == 0)
			return cpus;
		sum += v[i].wanted;
	}
	return sum;
}

static struct share *share_longest(struct share *v, size_t n)
{
	struct share *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (v[i].is == SHARE_WANTS && v[i].given == 0 &&
		    (!best || v[i].waited_us > best->waited_us))
			best = &v[i];
	return best;
}

static uint32_t share_cap(const struct share *s, uint64_t total, uint64_t part)
{
	uint64_t most = s->wanted ? s->wanted : total;

	return (uint32_t)(part < 1 ? 1 : part < most ? part : most);
}

void share_workers(struct share *v, size_t n, uint32_t cpus)
{
	uint64_t total = share_total(v, n, cpus ? cpus : 1), active = 0, left;
	struct share *s;

	for (size_t i = 0; i < n; i++) {
		v[i].given = v[i].is == SHARE_RUNS;
		active += v[i].given;
	}
	while (active < total && (s = share_longest(v, n))) {
		s->given = 1;
		active++;
	}
	left = active ? total % active : 0; /* one more worker for each of the first */
	for (size_t i = 0; i < n; i++)
		if (v[i].given) {
			v[i].given = share_cap(&v[i], total, total / active + (left > 0));
			left -= left > 0;
		}
}

/* --- sharing workers ------------------------------------------------------------ */

static void share_put_off(struct watched *r, uint64_t us)
{
	r->ready = false;
	watch_put_off(&r->w, &r->d->now, us);
}

static void share_note_busy(struct watched *r, const struct quiet_answer *q)
{
	if (q->what != QUIET_ALL && !r->w.rec.busy.known)
		r->w.rec.busy = since_now(&r->d->now);
	if (*q->why)
		watched_report(r, false, q->why);
}

/* The maximum number of workers while other work needs the machine; 0: no limit.  May postpone the
 * start of a ready repository. */
static uint32_t share_limit(struct watched *r)
{
	struct quiet_answer q;
	bool known = drive_ask_quiet(r->d, r, &q);

	if (!r->ready) { /* an active run is not stopped, only reduced: to one worker at the least
			  */
		if (!known || q.what == QUIET_ALL)
			return 0;
		return q.what == QUIET_SOME ? q.workers : 1;
	}
	if (!known) {
		r->settling = true;
		share_put_off(r, SETTLE);
		return 0;
	}
	share_note_busy(r, &q);
	if (q.what == QUIET_NOT_NOW) {
		share_put_off(r, AGAIN);
		(void)watched_save(r);
	}
	return q.what == QUIET_SOME ? q.workers : 0;
}

static void share_fill(const struct watched *r, struct share *s)
{
	s->wanted = r->given->workers;
	s->waited_us = since_age(&r->w.rec.head_seen, &r->d->now);
	s->is = r->w.at >= WATCH_RUNNING ? SHARE_RUNS : r->ready ? SHARE_WANTS : SHARE_IDLE;
}

static void share_give(struct watched *r, const struct share *s, uint32_t limit)
{
	uint32_t workers = limit && limit < s->given ? limit : s->given;
	bool alone = r->d->n == 1 && !limit; /* uses its configured number */

	if (s->is == SHARE_RUNS && !(alone && r->workers == 0)) {
		share_send_workers(r, workers);
	} else if (s->is == SHARE_WANTS && workers == 0) {
		watched_report(r, false, "waits for a worker: other repositories use all workers");
		share_put_off(r, AGAIN);
	} else if (s->is == SHARE_WANTS) {
		r->ready = false;
		start_run(r, alone ? 0 : workers);
	}
}

static void drive_share(struct drive *d)
{
	_autofree_ struct share *v = xcalloc(d->n, sizeof(*v));
	_autofree_ uint32_t *limit = xcalloc(d->n, sizeof(*limit));

	for (size_t i = 0; i < d->n; i++) {
		struct watched *r = &d->repos[i];

		r->settling = r->settling && !r->ready;
		if (r->ready || r->workers_fd >= 0)
			limit[i] = share_limit(r);
	}
	for (size_t i = 0; i < d->n; i++)
		share_fill(&d->repos[i], &v[i]);
	share_workers(v, d->n, d->o->cpus);
	for (size_t i = 0; i < d->n; i++)
		share_give(&d->repos[i], &v[i], limit[i]);
}

/* --- a dry run: the decisions and their reasons --------------------------------- */

static void drive_dry_report(struct watched *r)
{
	static const char *const words[] = {"nothing to do", "would wait", "would start",
					    "would end what runs"};
	char why[DUE_WHY + CHECKOUT_WHY + 200], text[sizeof(why) + 32];
	struct watch_holder h;
	struct quiet_answer q;
	struct due due;

	watched_holder(r, &h);
	watch_decide(&r->w, &r->d->now, &h, &due);
	(void)drive_ask_quiet(r->d, r, &q);
	(void)snprintf(why, sizeof(why), "%s%s%s%s%s", due.why, *r->w.blocked ? "; but " : "",
		       r->w.blocked, *q.why ? "; " : "", q.why);
	(void)snprintf(text, sizeof(text), "%s: %s", words[due.what], why);
	if (r->d->o->decided)
		r->d->o->decided(r->d->o->arg, r->i, due.what, r->w.rec.head, why);
	r->d->result.blocked |= *r->w.blocked && due.what == DUE_START;
	watched_report(r, false, text);
	r->reported = true;
}

/* True: all decisions are reported. */
static bool drive_dry(struct drive *d)
{
	bool all = true;

	for (size_t i = 0; i < d->n; i++) {
		struct watched *r = &d->repos[i];

		if (!r->w.polled.known && !r->w.polling) {
			r->w.polling = true;
			watched_checkout(r, CHECKOUT_ASK);
		} else if (r->w.polled.known && !r->reported) {
			drive_dry_report(r);
		}
		all = all && r->reported;
	}
	return all;
}

/* --- all repositories ----------------------------------------------------------- */

/* Whether the process must stay.  At the end it waits for polls, because an aborted poll leaves its
 * process group behind. */
static bool drive_busy(const struct watched *r)
{
	if (r->child || r->w.at != WATCH_IDLE)
		return true;
	if (r->d->ending)
		return r->w.polling && clock_mono_us() < r->d->poll_until_us;
	return r->ready || r->settling || !watch_rests(&r->w);
}

static bool drive_any_busy(const struct drive *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (drive_busy(&d->repos[i]))
			return true;
	return false;
}

static uint64_t drive_step_all(struct drive *d)
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
		d->repos[i].w.polled = (struct since){0}; /* forces a poll now */
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
	nap = drive_step_all(d);
	if (d->ending && nap > POLL_TICK)
		nap = POLL_TICK;
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
	d->poll_until_us = d->ending ? 0 : clock_mono_us() + POLL_WAIT;
	d->ending = true;
	drive_soon(d);
}

static void drive_on_hup(void *arg, int signo)
{
	struct drive *d = arg;

	(void)signo;
	d->reload = true;
	drive_soon(d);
}

static int drive_add_sources(struct drive *d, struct err *e)
{
	struct loop *l = d->o->loop;
	int r = loop_add_timer(l, clock_mono_us(), drive_on_timer, d, &d->timer, e);

	if (r == 0)
		r = loop_add_signal(l, SIGTERM, drive_on_end, d, &d->on_term, e);
	if (r == 0)
		r = loop_add_signal(l, SIGINT, drive_on_end, d, &d->on_int, e);
	if (r == 0)
		r = loop_add_signal(l, SIGHUP, drive_on_hup, d, &d->on_hup, e);
	return r;
}

static void drive_remove_sources(struct drive *d)
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
		r = drive_add_sources(&d, e);
	if (r == 0)
		r = loop_run(o->loop, e);
	drive_remove_sources(&d);
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
