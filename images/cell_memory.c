/* SPDX-License-Identifier: Apache-2.0 */
/* Behind the memory mark: one thread writes the input, and must not lose the race for the rest
 * of the memory against the others that fill it. */
#include "base/clock.h"
#include "base/proc.h"
#include "images/cell_state.h"

#include <sys/epoll.h>

#define LOOK_US (2 * USEC_PER_MSEC) /* a report stops dozens of threads, one by one */

/* A thread that comes to the mark while another one leaves it makes no event (Linux 6.18, v1:
 * who holds the OOM lock tells, and it holds it until it runs again). */
#define AGAIN_US (50 * USEC_PER_MSEC)
enum { AGAIN_MAX = 40 };

static void look_at_mark(struct cell *c)
{
	struct cell_mark *m = &c->mark;
	bool halted = false;
	struct err e;

	/* The event is read even when it changes nothing.  Unread, it wakes the loop again and
	 * again, and the loop never comes to the exits of children. */
	if (cgroup_memory_event(c->group, &halted, &e) < 0 || m->halted || m->alone)
		return;
	if (halted)
		m->looks = 0;
	if (m->looks > 0 && loop_set_timer(m->again, clock_mono_us() + AGAIN_US, &e) == 0)
		m->looks--;
	/* Whoever waits for memory stands.  So does all the rest now: a handler that ran in
	 * another thread before cell_memory_open() would find none. */
	if (halted && c->state == RUNNING)
		m->halted = cgroup_freeze(c->group, true, &e) == 0;
	c->ops.memory(c->arg, halted);
}

static void on_event(void *arg, uint32_t events)
{
	struct cell *c = arg;

	(void)events;
	output_now(&c->out); /* what it said before comes first */
	c->mark.looks = AGAIN_MAX;
	look_at_mark(c);
}

static void on_again(void *arg)
{
	look_at_mark(arg);
}

int cell_memory_watch(struct cell *c, struct err *e)
{
	struct loop *l = c->host->loop;
	uint32_t events;
	int fd = cgroup_memory_fd(c->group, &events), r;

	if (fd < 0 || !c->ops.memory)
		return 0;
	r = loop_add_timer(l, UINT64_MAX, on_again, c, &c->mark.again, e);
	return r < 0 ? r : loop_add_io(l, fd, events, on_event, c, &c->mark.event, e);
}

void cell_memory_drop(struct cell *c)
{
	struct source **all[] = {&c->mark.event, &c->mark.again, &c->mark.alone};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		source_remove(*all[i]);
		*all[i] = NULL;
	}
}

static void thaw_all(struct cell *c)
{
	struct err e;
	int r = cgroup_freeze(c->group, false, &e);

	(void)r; /* the group is going, or its end is forced by who waits for it */
}

static void on_alone(void *arg)
{
	struct cell *c = arg;
	uint64_t now = clock_mono_us();
	struct err e;

	if (!c->group)
		return;
	if (now < c->mark.until && c->mark.tid != c->job &&
	    cgroup_let_stop(c->group, c->mark.tid, c->job, &e) == 0 &&
	    loop_set_timer(c->mark.alone, now + LOOK_US, &e) == 0)
		return;
	/* It did not come to its end alone: another one holds what it needs. */
	(void)!cgroup_prefer(c->group, c->mark.tid, 0, &e); /* then they race as equals */
	thaw_all(c);
}

/* Of the engine's own thread: what a sanitizer reports begins with a process that stops all
 * threads and reads their stacks. */
static int leave_alone(struct cell *c, enum cell_thread which, uint64_t us, struct err *e)
{
	uint64_t now = clock_mono_us();
	bool own = which == CELL_SECOND_THREAD;
	int r = 0;

	c->mark.tid = c->job;
	c->mark.until = now + us;
	if (own)
		r = proc_second_thread(c->job, &c->mark.tid, e);
	if (r == 0 && own) /* a thread may slip out of its stop before we look */
		r = cgroup_prefer(c->group, c->mark.tid, c->job, e);
	if (r == 0)
		r = loop_add_timer(c->host->loop, own ? now : c->mark.until, on_alone, c,
				   &c->mark.alone, e);
	return r < 0 ? r : cgroup_thaw_only(c->group, c->mark.tid, own ? c->job : 0, e);
}

int cell_memory_open(struct cell *c, enum cell_thread alone, uint64_t alone_us, struct err *e)
{
	int r = c->group ? cgroup_memory_open(c->group, e) : cell_gone(c, e);

	if (!c->mark.halted || !c->group)
		return r;
	c->mark.halted = false;
	if (r == 0 && alone != CELL_EVERY_THREAD && c->state == RUNNING)
		r = leave_alone(c, alone, alone_us, e);
	if (r < 0 || !c->mark.alone) /* better without memory than without an end */
		thaw_all(c);
	return r;
}
