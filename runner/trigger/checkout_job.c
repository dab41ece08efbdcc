/* SPDX-License-Identifier: Apache-2.0 */
/* checkout_do() in a child, so that the loop never waits for a network. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/task.h"
#include "base/units.h"
#include "runner/trigger/checkout.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

struct checkout_job {
	struct checkout_opts o;
	char *dir, *remote, *branch;
	enum checkout_what what;
	char head[COMMIT_MAX];
	uint64_t began_us;
	checkout_done_fn *done;
	void *arg;
};

static void job_free(struct checkout_job *j)
{
	free(j->dir);
	free(j->remote);
	free(j->branch);
	free(j);
}

DEFINE_CLEANUP(struct checkout_job *, job_free)

/* Time for local work of git, in addition to the limits for the remote; a disk may hang. */
#define LOCAL (120 * USEC_PER_SEC)

/* Deadline of the job: a fetch, packing, and local work. */
static uint64_t total_us(const struct checkout_job *j)
{
	return 2 * j->o.fetch_us + LOCAL;
}

/* In the child.  If the job exceeds the sum of its own limits, SIGALRM ends it.  Its git dies with
 * it, because git dies with its parent. */
static int limit_time(uint64_t us, struct err *e)
{
	struct itimerval t = {
	    .it_value = {(time_t)(us / USEC_PER_SEC), (suseconds_t)(us % USEC_PER_SEC)}};
	sigset_t alarm_only;

	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	if (sigprocmask(SIG_UNBLOCK, &alarm_only, NULL) < 0 || setitimer(ITIMER_REAL, &t, NULL) < 0)
		return err_sys(e, "limit the time of git");
	return 0;
}

static int checkout_job_work(void *arg, struct buf *out, struct err *e)
{
	const struct checkout_job *j = arg;
	struct checkout c;
	int r = limit_time(total_us(j), e);

	if (r == 0)
		r = checkout_do(&j->o, j->what, j->head, &c, e);
	if (r < 0)
		return r;
	buf_put(out, (struct slice){(const char *)&c, sizeof(c)});
	return buf_check(out, e);
}

static void checkout_job_on_done(void *arg, struct slice result, const char *failed)
{
	struct checkout_job *j = arg;
	struct checkout c = {.kind = CHECKOUT_NETWORK};
	char time[UNITS_MAX];

	if (!failed && result.n == sizeof(c))
		memcpy(&c, result.p, sizeof(c));
	else if (clock_mono_us() - j->began_us >= total_us(j))
		(void)snprintf(c.why, sizeof(c.why), "git was not done after %s",
			       units_time(total_us(j), time));
	else
		(void)snprintf(c.why, sizeof(c.why), "%s", failed ? failed : "no answer");
	if (*c.why && j->what == CHECKOUT_UPDATE && !*c.blocked)
		memcpy(c.blocked, c.why, sizeof(c.blocked));
	j->done(j->arg, &c);
	job_free(j);
}

int checkout_start(struct loop *l, const struct checkout_opts *o, enum checkout_what what,
		   const char *head, checkout_done_fn *done, void *arg, struct err *e)
{
	__attribute__((cleanup(job_free_p))) struct checkout_job *j = xcalloc(1, sizeof(*j));
	struct task *task;
	int r;

	j->dir = xstrdup(o->dir);
	j->remote = xstrdup(o->remote);
	j->branch = xstrdup(o->branch);
	j->o = (struct checkout_opts){j->dir, j->remote, j->branch, o->fetch_us, o->limits};
	j->what = what;
	(void)snprintf(j->head, sizeof(j->head), "%s", head ? head : "");
	j->began_us = clock_mono_us();
	j->done = done;
	j->arg = arg;
	r = task_start(l, checkout_job_work, j, checkout_job_on_done, j, &task, e);
	if (r == 0)
		(void)take_ptr(&j); /* on_done frees it */
	return r;
}
