/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TASK_H
#define BASE_TASK_H

#include "base/err.h"
#include "base/loop.h"
#include "base/scan.h"

/* Work that may block (copying, unpacking, syncing), in a forked child, so that the event loop
 * never blocks.  The child sees the memory as it was at the fork.  It must not use the loop. */
struct task;

/* Runs in the child: does the work and writes a result (text) to out for the parent.  Returns 0 or
 * a negative errno with *e.  A result that does not fit in out is an error, too. */
struct buf;
typedef int task_fn(void *arg, struct buf *out, struct err *e);

/* Called once, in the parent.  result is the text that the child wrote; failed is NULL, the child's
 * error text, or TASK_DIED.  The task is freed after this returns. */
#define TASK_DIED "the working process died"
typedef void task_done_fn(void *arg, struct slice result, const char *failed);

enum { TASK_RESULT_MAX = 1 << 20 };

MUST_CHECK int task_start(struct loop *l, task_fn *fn, void *fn_arg, task_done_fn *done,
			  void *done_arg, struct task **ret, struct err *e);

/* For use after the loop: waits for the child until clock_mono_us() reaches until_us, then kills
 * the child.  Calls done before it returns. */
void task_finish(struct task *t, uint64_t until_us);

#endif
