/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

/* One event loop, on sd-event (this is the only module that knows it).
 *
 * Callbacks run one at a time, on the thread inside loop_run().  Any callback
 * may remove any source, its own included: removal takes effect at once.
 * Nothing in a callback may block (fsync of small state is the one exception).
 * A source belongs to whoever added it and must be removed before the loop is
 * freed. */
struct loop;
struct source;

typedef void io_fn(void *arg, uint32_t epoll_events);
typedef void timer_fn(void *arg);
typedef void signal_fn(void *arg, int signo);
/* status as waitpid(2) gives it.  What the child wrote into pipes that the loop
 * watches was delivered before.  The child is reaped when the callback returns; its
 * source stays the owner's to remove. */
typedef void child_fn(void *arg, pid_t pid, int status);
/* name: of an entry that was made in the directory, or moved into it.  "": the kernel lost events
 * (IN_Q_OVERFLOW), so any entry may be new. */
typedef void entry_fn(void *arg, const char *name);

MUST_CHECK int loop_new(struct loop **ret, struct err *e);
void loop_free(struct loop *l); /* NULL is fine */
/* Dispatches until loop_stop(), once in a loop's life; no callback comes after the
 * one that stopped it. */
MUST_CHECK int loop_run(struct loop *l, struct err *e);
void loop_stop(struct loop *l);

/* epoll events (EPOLLIN, EPOLLPRI, ...); the descriptor stays the caller's. */
MUST_CHECK int loop_add_io(struct loop *l, int fd, uint32_t events, io_fn *fn, void *arg,
			   struct source **ret, struct err *e);
/* One shot, at a clock_mono_us() time; loop_set_timer() arms it (again).  Up to
 * 10 ms late, and timers that are due together come in any order. */
MUST_CHECK int loop_add_timer(struct loop *l, uint64_t at_us, timer_fn *fn, void *arg,
			      struct source **ret, struct err *e);
MUST_CHECK int loop_set_timer(struct source *s, uint64_t at_us, struct err *e);
/* signo is blocked for this process from now on and arrives here. */
MUST_CHECK int loop_add_signal(struct loop *l, int signo, signal_fn *fn, void *arg,
			       struct source **ret, struct err *e);
/* A child of ours (or one that we adopted as subreaper), not yet reaped. */
MUST_CHECK int loop_add_child(struct loop *l, pid_t pid, child_fn *fn, void *arg,
			      struct source **ret, struct err *e);
/* Entries that are made in this directory, or moved into it (inotify(7)).  A file that is written
 * in place makes no event. */
MUST_CHECK int loop_add_dir(struct loop *l, int dirfd, entry_fn *fn, void *arg, struct source **ret,
			    struct err *e);
void source_remove(struct source *s); /* NULL is fine */

#endif
