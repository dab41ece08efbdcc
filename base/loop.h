/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

/* The event loop, on sd-event (no other module uses sd-event).
 *
 * Callbacks run one at a time, on the thread inside loop_run().  Any callback may remove any
 * source, including its own; removal takes effect at once.  A callback must not block (the only
 * exception is fsync of small state).  A source belongs to the caller that added it, and must be
 * removed before the loop is freed. */
struct loop;
struct source;

typedef void io_fn(void *arg, uint32_t epoll_events);
typedef void timer_fn(void *arg);
typedef void signal_fn(void *arg, int signo);
/* status as waitpid(2) gives it.  Output that the child wrote into watched pipes was delivered
 * before.  The child is reaped when the callback returns.  The owner still has to remove the
 * source. */
typedef void child_fn(void *arg, pid_t pid, int status);
/* name: the entry that was created in the directory or moved into it.  "": the kernel lost events
 * (IN_Q_OVERFLOW), so any entry may be new. */
typedef void entry_fn(void *arg, const char *name);

MUST_CHECK int loop_new(struct loop **ret, struct err *e);
void loop_free(struct loop *l); /* NULL is fine */
/* Dispatches events until loop_stop().  A loop runs only once.  After the callback that calls
 * loop_stop(), no other callback runs. */
MUST_CHECK int loop_run(struct loop *l, struct err *e);
void loop_stop(struct loop *l);

/* events: epoll events (EPOLLIN, EPOLLPRI, ...).  The caller keeps owning the descriptor. */
MUST_CHECK int loop_add_io(struct loop *l, int fd, uint32_t events, io_fn *fn, void *arg,
			   struct source **ret, struct err *e);
/* A one-shot timer at a clock_mono_us() time; loop_set_timer() arms it again.  It fires up to 10 ms
 * late.  Timers with the same time fire in any order. */
MUST_CHECK int loop_add_timer(struct loop *l, uint64_t at_us, timer_fn *fn, void *arg,
			      struct source **ret, struct err *e);
MUST_CHECK int loop_set_timer(struct source *s, uint64_t at_us, struct err *e);
/* From now on signo is blocked for this process and delivered to fn. */
MUST_CHECK int loop_add_signal(struct loop *l, int signo, signal_fn *fn, void *arg,
			       struct source **ret, struct err *e);
/* pid is a child of ours, possibly adopted as subreaper, that is not reaped yet. */
MUST_CHECK int loop_add_child(struct loop *l, pid_t pid, child_fn *fn, void *arg,
			      struct source **ret, struct err *e);
/* Reports entries that are created in this directory or moved into it (inotify(7)).  Writing to an
 * existing file makes no event. */
MUST_CHECK int loop_add_dir(struct loop *l, int dirfd, entry_fn *fn, void *arg, struct source **ret,
			    struct err *e);
void source_remove(struct source *s); /* NULL is fine */

#endif
