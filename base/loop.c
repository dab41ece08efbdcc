/* SPDX-License-Identifier: Apache-2.0 */
#include "base/loop.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>

struct loop {
	sd_event *ev;
};

struct source {
	sd_event_source *s;
	union {
		io_fn *io;
		timer_fn *timer;
		signal_fn *signal;
		child_fn *child;
		entry_fn *entry;
	} fn;
	void *arg;
};

/* A lower priority: the exit is delivered after the output that the child left in its pipe. */
enum { PRIORITY_CHILD = SD_EVENT_PRIORITY_NORMAL + 10 };

int loop_new(struct loop **ret, struct err *e)
{
	_autofree_ struct loop *l = xcalloc(1, sizeof(*l));
	sigset_t chld;
	int r;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD); /* sd_event_add_child() requires it */
	if (sigprocmask(SIG_BLOCK, &chld, NULL) < 0)
		return err_sys(e, "block SIGCHLD");
	r = sd_event_new(&l->ev);
	if (r < 0)
		return err_set(e, -r, "make the event loop");
	*ret = take_ptr(&l);
	return 0;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	sd_event_unref(l->ev);
	free(l);
}

int loop_run(struct loop *l, struct err *e)
{
	int r = sd_event_loop(l->ev);

	return r < 0 ? err_set(e, -r, "run the event loop") : 0;
}

void loop_stop(struct loop *l)
{
	(void)sd_event_exit(l->ev, 0); /* fails only in a loop that already ended */
}

/* Always returns 0: an error would make sd-event disable the source. */
static int loop_on_io(sd_event_source *s, int fd, uint32_t events, void *arg)
{
	const struct source *src = arg;

	(void)s;
	(void)fd;
	src->fn.io(src->arg, events);
	return 0;
}

static int loop_on_timer(sd_event_source *s, uint64_t at, void *arg)
{
	const struct source *src = arg;

	(void)s;
	(void)at;
	src->fn.timer(src->arg);
	return 0;
}

static int loop_on_signal(sd_event_source *s, const struct signalfd_siginfo *si, void *arg)
{
	const struct source *src = arg;

	(void)s;
	src->fn.signal(src->arg, (int)si->ssi_signo);
	return 0;
}

static int wait_status(const siginfo_t *si)
{
	if (si->si_code == CLD_EXITED)
		return W_EXITCODE(si->si_status, 0);
	return W_EXITCODE(0, si->si_status) | (si->si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

static int loop_on_child(sd_event_source *s, const siginfo_t *si, void *arg)
{
	const struct source *src = arg;

	(void)s;
	src->fn.child(src->arg, si->si_pid, wait_status(si));
	return 0;
}

static int loop_on_entry(sd_event_source *s, const struct inotify_event *event, void *arg)
{
	const struct source *src = arg;

	(void)s;
	src->fn.entry(src->arg, event->len > 0 ? event->name : "");
	return 0;
}

static struct source *source_new(void *arg)
{
	struct source *s = xcalloc(1, sizeof(*s));

	s->arg = arg;
	return s;
}

/* The common end of all loop_add functions; r is sd-event's result. */
static int loop_added(struct source *s, int r, const char *what, struct source **ret, struct err *e)
{
	if (r < 0) {
		free(s);
		return err_set(e, -r, "watch %s", what);
	}
	*ret = s;
	return 0;
}

int loop_add_io(struct loop *l, int fd, uint32_t events, io_fn *fn, void *arg, struct source **ret,
		struct err *e)
{
	struct source *s = source_new(arg);

	s->fn.io = fn;
	return loop_added(s, sd_event_add_io(l->ev, &s->s, fd, events, loop_on_io, s),
			  "a descriptor", ret, e);
}

int loop_add_timer(struct loop *l, uint64_t at_us, timer_fn *fn, void *arg, struct source **ret,
		   struct err *e)
{
	struct source *s = source_new(arg);

	s->fn.timer = fn;
	return loop_added(
	    s, sd_event_add_time(l->ev, &s->s, CLOCK_MONOTONIC, at_us, 10000, loop_on_timer, s),
	    "a timer", ret, e);
}

int loop_set_timer(struct source *s, uint64_t at_us, struct err *e)
{
	int r = sd_event_source_set_time(s->s, at_us);

	if (r >= 0)
		r = sd_event_source_set_enabled(s->s, SD_EVENT_ONESHOT);
	return r < 0 ? err_set(e, -r, "arm a timer") : 0;
}

int loop_add_signal(struct loop *l, int signo, signal_fn *fn, void *arg, struct source **ret,
		    struct err *e)
{
	struct source *s;
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signo);
	if (sigprocmask(SIG_BLOCK, &one, NULL) < 0)
		return err_sys(e, "block signal %d", signo);
	s = source_new(arg);
	s->fn.signal = fn;
	return loop_added(s, sd_event_add_signal(l->ev, &s->s, signo, loop_on_signal, s),
			  "a signal", ret, e);
}

int loop_add_child(struct loop *l, pid_t pid, child_fn *fn, void *arg, struct source **ret,
		   struct err *e)
{
	struct source *s = source_new(arg);
	int r;

	s->fn.child = fn;
	r = sd_event_add_child(l->ev, &s->s, pid, WEXITED, loop_on_child, s);
	if (r >= 0)
		r = sd_event_source_set_priority(s->s, PRIORITY_CHILD);
	if (r < 0)
		s->s = sd_event_source_disable_unref(s->s);
	return loop_added(s, r, "a child", ret, e);
}

int loop_add_dir(struct loop *l, int dirfd, entry_fn *fn, void *arg, struct source **ret,
		 struct err *e)
{
	struct source *s = source_new(arg);

	s->fn.entry = fn;
	return loop_added(
	    s,
	    sd_event_add_inotify_fd(l->ev, &s->s, dirfd, IN_MOVED_TO | IN_CREATE, loop_on_entry, s),
	    "a directory", ret, e);
}

void source_remove(struct source *s)
{
	if (!s)
		return;
	sd_event_source_disable_unref(s->s);
	free(s);
}
