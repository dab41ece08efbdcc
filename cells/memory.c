/* SPDX-License-Identifier: Apache-2.0 */
/* The stop at the memory mark.  After it, one thread writes the input that used the memory.  The
 * other threads must not use up the remaining memory before that. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc.h"
#include "cells/internal.h"

#include <errno.h>
#include <sys/epoll.h>

#define TRACER_CHECK_US (2 * USEC_PER_MSEC)    /* a report stops dozens of threads, one by one */
#define REPORT_ON_US	(2500 * USEC_PER_MSEC) /* extra time for a report's tracer */

/* A thread that reaches the mark while another thread leaves it causes no event.  So the mark is
 * checked again after an event.  (Linux 6.18, v1: the holder of the OOM lock sends the event, and
 * it holds the lock until it runs again.) */
#define AGAIN_US (50 * USEC_PER_MSEC)
enum { AGAIN_MAX = 40 };

/* A task is frozen only when its system call ends.  On the hybrid layout a call that allocates
 * memory ends soon, because there is no memory.  If memory became available first, the call would
 * use it all before the freeze. */
#define SETTLE_CHECK_US (3 * USEC_PER_MSEC)
#define SETTLE_US	(2 * USEC_PER_SEC)

static void on_settle(void *arg)
{
	struct cell *c = arg;
	uint64_t now = clock_mono_us();
	bool stands = false;
	struct err e;

	if (!c->mark.halted || c->state != RUNNING)
		return; /* the stop was ended meanwhile, or the cell has ended */
	if (now < c->mark.settled_by && cgroup_stands(c->group, &stands, &e) == 0 && !stands &&
	    loop_set_timer(c->mark.settle, now + SETTLE_CHECK_US, &e) == 0)
		return;
	output_now(&c->out); /* earlier output comes first */
	c->ops.memory(c->arg, true);
}

static void cell_memory_check(struct cell *c)
{
	struct cell_mark *m = &c->mark;
	bool halted = false;
	struct err e;

	/* The event is always read.  An unread event wakes the loop again and again, and the loop
	 * never handles the exits of children. */
	if (cgroup_memory_event(c->group, &halted, &e) < 0 || m->halted || m->alone)
		return;
	if (halted)
		m->checks = 0;
	if (m->checks > 0 && loop_set_timer(m->again, clock_mono_us() + AGAIN_US, &e) == 0)
		m->checks--;
	/* The thread that waits for memory is blocked.  All other threads are frozen, too: a signal
	 * handler in one of them would get no memory before cell_memory_open(). */
	if (halted && c->state == RUNNING)
		m->halted = cgroup_freeze(c->group, true, &e) == 0;
	m->settled_by = clock_mono_us() + SETTLE_US;
	if (m->halted)
		on_settle(c);
	else
		c->ops.memory(c->arg, halted);
}

static void cell_memory_on_event(void *arg, uint32_t events)
{
	struct cell *c = arg;

	(void)events;
	output_now(&c->out);
	c->mark.met = true;
	c->mark.checks = AGAIN_MAX;
	cell_memory_check(c);
}

static void on_again(void *arg)
{
	cell_memory_check(arg);
}

int cell_memory_watch(struct cell *c, struct err *e)
{
	struct loop *l = c->host->loop;
	uint32_t events;
	int fd = cgroup_memory_fd(c->group, &events);

	if (fd < 0 || !c->ops.memory)
		return 0;
	if (loop_add_timer(l, UINT64_MAX, on_again, c, &c->mark.again, e) < 0 ||
	    loop_add_timer(l, UINT64_MAX, on_settle, c, &c->mark.settle, e) < 0)
		return err_code(e);
	return loop_add_io(l, fd, events, cell_memory_on_event, c, &c->mark.event, e);
}

void cell_memory_drop(struct cell *c)
{
	struct source **all[] = {&c->mark.event, &c->mark.again, &c->mark.settle, &c->mark.alone};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		source_remove(take_ptr(all[i]));
}

static void thaw_all(struct cell *c)
{
	struct err e;

	/* On failure the group is being removed, or the caller kills it. */
	(void)!cgroup_freeze(c->group, false, &e);
}

void cell_memory_end(struct cell *c)
{
	source_remove(take_ptr(&c->mark.alone));
	c->mark.halted = false;
	if (c->group)
		thaw_all(c);
}

static void cell_memory_on_alone(void *arg)
{
	struct cell *c = arg;
	uint64_t now = clock_mono_us();
	struct err e;

	if (!c->group)
		return;
	if (now < c->mark.until && c->mark.reports &&
	    cgroup_let_stop(c->group, c->mark.tid, c->job.pid, &e) == 0 &&
	    loop_set_timer(c->mark.alone, now + TRACER_CHECK_US, &e) == 0)
		return;
	/* The thread did not finish alone, so another thread may hold a lock that it needs. */
	(void)!cgroup_prefer(c->group, c->mark.tid, 0, &e); /* then all threads compete */
	thaw_all(c);
}

/* Lets only the chosen thread run.  A sanitizer's report starts with a process that stops all
 * threads and reads their stacks, so such a report gets more time. */
static int leave_alone(struct cell *c, enum cell_thread which, uint64_t us, struct err *e)
{
	uint64_t now = clock_mono_us();
	bool own = which != CELL_FIRST_THREAD;

	c->mark.until = now + us + (own ? REPORT_ON_US : 0);
	c->mark.reports = own;
	/* A thread may leave its ptrace stop between two checks. */
	if (own && cgroup_prefer(c->group, c->mark.tid, c->job.pid, e) < 0)
		return err_code(e);
	if (loop_add_timer(c->host->loop, own ? now : c->mark.until, cell_memory_on_alone, c,
			   &c->mark.alone, e) < 0)
		return err_code(e);
	return cgroup_thaw_only(c->group, c->mark.tid,
				which == CELL_REPORTING_THREAD ? c->job.pid : 0, e);
}

static int cell_memory_choose(struct cell *c, enum cell_thread which, struct err *e)
{
	if (!c->job.pid)
		return err_set(e, ESRCH, "cell '%s' runs no job any more", c->id);
	return which == CELL_FIRST_THREAD ? proc_first_thread(c->job.pid, &c->mark.tid, e)
					  : proc_second_thread(c->job.pid, &c->mark.tid, e);
}

bool cell_watchdog_works(const struct cell *c)
{
	pid_t tid;
	struct err e;

	/* With more than two threads it is unknown which one is the watchdog. */
	return c->mark.halted && c->job.pid && proc_only_second_thread(c->job.pid, &tid, &e) == 0 &&
	       !proc_thread_naps(c->job.pid, tid);
}

/* Freezes the group unless it is halted: a target that is only throttled at the mark still runs.
 * Then kills other processes, because they use memory.  Also, the parent of a vfork(2) neither
 * handles a signal nor stops for a tracer before its child ends. */
static int stop_others(struct cell *c, struct err *e)
{
	int r = c->mark.halted ? 0 : cgroup_freeze(c->group, true, e);

	return r < 0 ? r : cgroup_kill_beside(c->group, c->job.pid, c->init, e);
}

static int open_mark(struct cell *c, bool choice, struct err *e)
{
	int r = choice ? stop_others(c, e) : 0;

	if (r < 0)
		return r;
	return c->group ? cgroup_memory_open(c->group, e) : cell_set_gone(c, e);
}

int cell_memory_open(struct cell *c, enum cell_thread alone, uint64_t alone_us, struct err *e)
{
	bool choice = c->group && alone != CELL_EVERY_THREAD && c->state == RUNNING;
	bool stood = c->mark.halted || c->mark.alone;
	int r = choice ? cell_memory_choose(c, alone, e) : 0;

	if (r < 0 && alone != CELL_FIRST_THREAD)
		return r;
	choice = choice && r == 0; /* else the program is dead, and its other processes go on */
	r = open_mark(c, choice, e);
	if (!c->group || !(stood || choice))
		return r;
	source_remove(take_ptr(&c->mark.alone));
	c->mark.halted = false;
	if (r == 0 && choice)
		r = leave_alone(c, alone, alone_us, e);
	if (r < 0 || !c->mark.alone) /* frozen processes would never end */
		thaw_all(c);
	return r;
}
