/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_CONTROL_H
#define RUNNER_RUN_CONTROL_H

#include "base/err.h"
#include "base/loop.h"

/* What the process that started a run says to it, in lines on a pipe or a socket:
 *
 *	workers N	cells at once from now on, 1 to CONTROL_WORKERS_MAX
 *
 * Other lines are passed over; after the end of the stream all stays as it is. */
struct control;

enum { CONTROL_WORKERS_MAX = 1024 };
typedef void control_workers_fn(void *arg, unsigned n);

/* fd stays the caller's, open until control_close(); it is made non-blocking. */
MUST_CHECK int control_open(struct loop *l, int fd, control_workers_fn *fn, void *arg,
			    struct control **ret, struct err *e);
void control_close(struct control *c); /* NULL is fine */

#endif
