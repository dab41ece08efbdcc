/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a running run: news of its jobs, the timer of each second, pressure, signals. */
#include "base/clock.h"
#include "runner/run/internal.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#define TICK_US USEC_PER_SEC

static void look_at_run(struct run *r, uint64_t now)
{
	struct rusage ru;

	r->view.elapsed_us = now - r->began_us;
	r->view.running = r->dispatch.busy;
	r->view.paused = r->dispatch.paused;
	r->view.interrupted = r->stops > 0 && !*r->view.shortage;
	if (getrusage(RUSAGE_SELF, &ru) == 0) {
		r->view.own_peak_rss = (uint64_t)ru.ru_maxrss * 1024;
		r->view.own_cpu_us =
		    (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * USEC_PER_SEC +
		    (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec);
	}
}

const struct run_view *run_look(struct run *r)
{
	uint64_t now = clock_mono_us();

	for (size_t i = 0; i < r->n; i++)
		job_row(&r->jobs[i], now, &r->rows[i]);
	look_at_run(r, now);
	return &r->view;
}

const struct run_view *run_look_at(struct run *r, size_t i)
{
	uint64_t now = clock_mono_us();

	job_row(&r->jobs[i], now, &r->rows[i]);
	look_at_run(r, now);
	return &r->view;
}

void run_each_job(struct run *r, void (*fn)(struct job *j, enum reason why), enum reason why)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->jobs[i].phase != PHASE_DONE)
			fn(&r->jobs[i], why);
}

void run_end_politely(struct job *j, enum reason why)
{
	job_stop(j, why, false);
}

static void run_watch_wake_up(struct run *r)
{
	r->dispatch.paused = false;
	r->o.event(r->o.arg, run_look(r), SIZE_MAX, "continued");
	dispatch_next(&r->dispatch);
}

/* All cells are gone: stops this process until SIGCONT. */
static void sleep_paused(struct run *r)
{
	uint64_t before = clock_mono_us();

	r->o.event(r->o.arg, run_look(r), SIZE_MAX, "paused");
	(void)raise(SIGSTOP);
	if (r->dispatch.deadline_us) {
		r->dispatch.deadline_us += clock_mono_us() - before;
		r->env.end_us += clock_mono_us() - before;
		r->env.fuzz_until_us = r->dispatch.deadline_us;
	}
	r->began_us += clock_mono_us() - before;
	r->env.began_us = r->began_us;
	run_watch_wake_up(r);
}

static const char *news_text(enum job_news n)
{
	switch (n) {
	case JOB_STARTED:
		return "started";
	case JOB_RESTARTED:
		return "restarted";
	case JOB_FAILED:
		return "failed";
	case JOB_DROPPED:
		return "COVERAGE DROPPED";
	case JOB_FORGES:
		return "FORGED STATISTICS";
	case JOB_REQUEUED:
		return "requeued";
	case JOB_ENDED:
		break;
	}
	return "ended";
}

static bool all_done(const struct run *r)
{
	size_t n = 0;

	while (n < r->n && r->jobs[n].phase == PHASE_DONE)
		n++;
	return n == r->n;
}

bool run_goes_on(const struct run *r)
{
	return r->o.continuous && !r->dispatch.closed;
}

/* Reports a shortage once, as long as it lasts. */
static void on_shortage(struct run *r, struct job *j)
{
	uint64_t now = clock_mono_us();
	char text[300];

	if (!dispatch_short(&r->dispatch, now) && !*r->view.shortage) {
		(void)snprintf(r->view.shortage, sizeof(r->view.shortage), "%s", j->note);
		run_end(r, false);
	}
	(void)snprintf(text, sizeof(text), "no more than %u cells for now: %s",
		       r->dispatch.shortage.cells, j->note);
	if (r->dispatch.shortage.times == 1)
		r->o.event(r->o.arg, run_look(r), SIZE_MAX, text);
}

void run_news(void *arg, struct job *j, enum job_news n)
{
	enum strategy next = j->fleet->strategies.next;
	struct run *r = arg;
	char text[64];

	if (n == JOB_STARTED && next != STRATEGY_PLAIN)
		(void)snprintf(text, sizeof(text), "tries %s", strategy_name(next));
	else
		(void)snprintf(text, sizeof(text), "%s", news_text(n));
	r->o.event(r->o.arg, run_look_at(r, j->index), j->index, text);
	if (n != JOB_ENDED && n != JOB_REQUEUED)
		return;
	dispatch_left(&r->dispatch, j);
	dispatch_ended(&r->dispatch, j);
	if (job_take_shortage(j))
		on_shortage(r, j);
	if (all_done(r) && !run_goes_on(r))
		loop_stop(r->o.loop);
	else if (r->dispatch.paused && r->dispatch.busy == 0)
		sleep_paused(r);
	else
		dispatch_next(&r->dispatch);
}

static const char *workers_text(enum workers_news n)
{
	switch (n) {
	case WORKERS_MORE:
		return "one worker more: pressure is low";
	case WORKERS_LESS:
		return "one worker fewer: CPU pressure is high";
	case WORKERS_MEMORY:
		return "one worker fewer: memory is short";
	case WORKERS_SAME:
		break;
	}
	return NULL;
}

/* The share of the last second in which at least one cell was throttled by its own CPU limit.  It
 * assumes that the cells are throttled at independent times. */
static double throttled_share(const struct run *r)
{
	double none = 1;

	for (size_t i = 0; i < r->n; i++)
		if (r->jobs[i].phase == PHASE_FUZZING)
			none *= 1 - r->jobs[i].fleet->clock.throttled;
	return 1 - none;
}

static void look_at_pressure(struct run *r, uint64_t now)
{
	struct workers_reading reading;
	enum workers_news news;
	struct err ignored;

	if (!r->pressure || pressure_look(r->pressure, &reading, &ignored) < 0)
		return; /* without a reading the number of workers stays */
	reading.at_us = now;
	reading.throttled = throttled_share(r);
	news = workers_read(&r->dispatch.workers, &reading);
	if (!r->o.cfg->adapt)
		r->dispatch.workers.now = r->dispatch.workers.most;
	r->view.workers = dispatch_workers(&r->dispatch);
	run_count_workers(r);
	if (news != WORKERS_SAME && r->o.cfg->adapt)
		r->o.event(r->o.arg, run_look(r), SIZE_MAX, workers_text(news));
}

/* The kernel reports that memory is short. */
static void on_pressure(void *arg)
{
	struct run *r = arg;

	look_at_pressure(r, clock_mono_us());
	dispatch_next(&r->dispatch);
}

static void end_in_time(struct run *r, uint64_t now)
{
	const struct dispatch *d = &r->dispatch;

	if (d->deadline_us == 0 || now < d->deadline_us || d->paused)
		return;
	r->dispatch.closed = true;
	run_each_job(r, run_end_politely, REASON_RUN_DEADLINE);
	if (all_done(r))
		loop_stop(r->o.loop);
}

static void run_watch_on_tick(void *arg)
{
	struct run *r = arg;
	uint64_t now = clock_mono_us();

	for (size_t i = 0; i < r->n; i++)
		job_tick(&r->jobs[i], now);
	look_at_pressure(r, now);
	end_in_time(r, now);
	dispatch_second(&r->dispatch, now);
	dispatch_next(&r->dispatch);
	if (r->o.second)
		r->o.second(r->o.arg, run_look(r));
	r->failed = loop_set_timer(r->tick, now + TICK_US, &r->err);
	r->dispatch.closed = r->dispatch.closed || r->failed < 0;
	if (r->failed < 0)
		run_each_job(r, job_kill, REASON_LOST);
}

void run_end(struct run *r, bool now)
{
	r->dispatch.paused = false;
	r->dispatch.closed = true;
	r->stops++;
	r->o.event(r->o.arg, run_look(r), SIZE_MAX, now ? "killing" : "stopping");
	run_each_job(r, now ? job_kill : run_end_politely,
		     *r->view.shortage ? REASON_LOST : REASON_STOPPED);
	if (all_done(r))
		loop_stop(r->o.loop);
}

static void on_end_signal(void *arg, int signo)
{
	struct run *r = arg;

	(void)signo;
	run_end(r, r->stops > 0);
}

static void on_pause_signal(void *arg, int signo)
{
	struct run *r = arg;

	if (signo == SIGCONT && r->dispatch.paused)
		run_watch_wake_up(r); /* SIGCONT came while cells were still stopping */
	if (signo == SIGCONT || r->stops || r->dispatch.paused)
		return;
	r->dispatch.paused = true;
	for (size_t i = 0; i < r->n; i++)
		job_pause(&r->jobs[i], true);
	if (r->dispatch.busy == 0)
		sleep_paused(r);
}

void run_count_workers(struct run *r)
{
	if (r->view.workers > r->view.workers_most)
		r->view.workers_most = r->view.workers;
}

void run_set_workers(struct run *r, unsigned n)
{
	n = n < r->o.places ? n : r->o.places;
	if (n == r->o.workers)
		return;
	r->o.workers = n;
	workers_limit(&r->dispatch.workers, n);
	r->view.workers = r->dispatch.workers.now;
	run_count_workers(r);
	r->o.event(r->o.arg, run_look(r), SIZE_MAX, "workers changed");
	dispatch_next(&r->dispatch);
}

static void on_workers(void *arg, unsigned n)
{
	run_set_workers(arg, n);
}

/* Opens the control socket.  A run without it still fuzzes. */
static void listen_to_people(struct run *r)
{
	char text[600];
	struct err e;

	if (!r->o.listen)
		return;
	if (control_server_open(r->o.loop, r->o.state->dirfd, run_ask, r, &r->server, &e) == 0)
		return;
	(void)snprintf(text, sizeof(text), "no control socket (fuzzcell status): %s", e.msg);
	r->o.event(r->o.arg, run_look(r), SIZE_MAX, text);
}

int run_watch(struct run *r, struct err *e)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP}, pauses[] = {SIGTSTP, SIGCONT};
	struct err none;
	size_t n = 0;
	int rc =
	    loop_add_timer(r->o.loop, r->began_us + TICK_US, run_watch_on_tick, r, &r->tick, e);

	for (; rc == 0 && n < sizeof(ends) / sizeof(ends[0]); n++)
		rc = loop_add_signal(r->o.loop, ends[n], on_end_signal, r, &r->signals[n], e);
	for (size_t i = 0; rc == 0 && i < 2; i++)
		rc = loop_add_signal(r->o.loop, pauses[i], on_pause_signal, r, &r->signals[n++], e);
	if (rc == 0)
		rc = run_disk_begin(r, e);
	/* Without PSI the CPU pressure counts as low. */
	if (rc == 0 &&
	    pressure_open(r->o.loop, r->o.pressure, on_pressure, r, &r->pressure, &none) < 0)
		r->o.event(r->o.arg, run_look(r), SIZE_MAX,
			   "no pressure information (PSI): the number of workers is fixed");
	if (rc == 0 && r->o.control >= 0)
		rc = control_open(r->o.loop, r->o.control, on_workers, r, &r->control, e);
	if (rc == 0)
		listen_to_people(r);
	return rc;
}

void run_unwatch(struct run *r)
{
	source_remove(r->tick);
	run_disk_end(r);
	control_server_close(r->server);
	control_close(r->control);
	pressure_close(r->pressure);
	for (size_t i = 0; i < sizeof(r->signals) / sizeof(r->signals[0]); i++)
		source_remove(r->signals[i]);
}
