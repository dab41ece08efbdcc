/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TASK_H
#define BASE_TASK_H

#include "base/err.h"
#include "base/loop.h"
#include "base/scan.h"

/* Work that may block (copying, unpacking, syncing), done in a forked child so
 * that the event loop never waits.  The child sees the memory as it was at the
 * fork; it must not touch the loop. */
struct task;

/* In the child: does the work, leaves a result (text) in out for the parent.
 * Returns 0 or a negative errno with *e, as everywhere. */
struct buf;
typedef int task_fn(void *arg, struct buf *out, struct err *e);

/* In the parent, once: result is what the child left; failed is NULL, the child's error text, or
 * TASK_DIED.  The task is freed after it returns. */
#define TASK_DIED "the working process died"
typedef void task_done_fn(void *arg, struct slice result, const char *failed);

enum { TASK_RESULT_MAX = 1 << 20 };

MUST_CHECK int task_start(struct loop *l, task_fn *fn, void *fn_arg, task_done_fn *done,
			  void *done_arg, struct task **ret, struct err *e);

/* Without the loop: waits for the child until clock_mono_us() is until_us, then kills it.
 * done is told before this returns. */
void task_finish(struct task *t, uint64_t until_us);

#endif
