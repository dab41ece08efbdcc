/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

/* The event loop, on sd-event (no other module uses sd-event).
 *
 * Callbacks run one at a time, on the thread that called loop_run().  Any callback may remove any
 * source, including its own source; the removal takes effect at once.  A callback must not block
 * (the only exception is fsync(2) of a small state file).  The caller that adds a source owns it,
 * and must remove it before the loop is freed. */
struct loop;
struct source;

/* The types of callbacks.  arg: as passed to the function that added the source. */
typedef void io_fn(void *arg, uint32_t epoll_events);
typedef void timer_fn(void *arg);
typedef void signal_fn(void *arg, int signo);
/* status: as waitpid(2) returns it.  The loop has already delivered the output that the child wrote
 * into watched pipes.  The loop reaps the child after the callback returns.  The owner of the
 * source must still remove the source. */
typedef void child_fn(void *arg, pid_t pid, int status);
/* name: the entry that was created in the directory or moved into the directory.  "": the kernel
 * lost events (IN_Q_OVERFLOW), so any entry may be new. */
typedef void entry_fn(void *arg, const char *name);

/* Also blocks SIGCHLD, which loop_add_child() needs. */
MUST_CHECK int loop_new(struct loop **ret, struct err *e);
void loop_free(struct loop *l); /* NULL is fine */
/* Dispatches events until loop_stop().  Call loop_run() only once for each loop. */
MUST_CHECK int loop_run(struct loop *l, struct err *e);
/* Ends loop_run().  After the callback that calls loop_stop(), no other callback runs. */
void loop_stop(struct loop *l);

/* Calls fn when the descriptor fd has one of the epoll events (EPOLLIN, EPOLLPRI, ...).  The caller
 * keeps owning fd. */
MUST_CHECK int loop_add_io(struct loop *l, int fd, uint32_t events, io_fn *fn, void *arg,
			   struct source **ret, struct err *e);
/* Calls fn once when clock_mono_us() reaches at_us, up to 10 ms late.  UINT64_MAX: never.  Timers
 * with the same time fire in any order. */
MUST_CHECK int loop_add_timer(struct loop *l, uint64_t at_us, timer_fn *fn, void *arg,
			      struct source **ret, struct err *e);
/* Arms a timer of loop_add_timer() for a new time, whether it has fired or not. */
MUST_CHECK int loop_set_timer(struct source *s, uint64_t at_us, struct err *e);
/* Blocks the signal signo for this process, and calls fn when the signal arrives. */
MUST_CHECK int loop_add_signal(struct loop *l, int signo, signal_fn *fn, void *arg,
			       struct source **ret, struct err *e);
/* Calls fn when the process pid has ended.  The process must be a child of ours, or one of our
 * descendants that we adopted as subreaper, and must not be reaped yet. */
MUST_CHECK int loop_add_child(struct loop *l, pid_t pid, child_fn *fn, void *arg,
			      struct source **ret, struct err *e);
/* Calls fn for each entry that is created in the directory dirfd or moved into the directory
 * (inotify(7)).  A write to an existing file makes no event. */
MUST_CHECK int loop_add_dir(struct loop *l, int dirfd, entry_fn *fn, void *arg, struct source **ret,
			    struct err *e);
void source_remove(struct source *s); /* NULL is fine */

#endif
