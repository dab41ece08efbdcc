/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_CONTROL_H
#define RUNNER_RUN_CONTROL_H

#include "base/err.h"
#include "base/loop.h"

/* Commands from the process that started a run, as lines on a pipe or a socket:
 *
 *	workers N	cells at once from now on, 1 to CONTROL_WORKERS_MAX
 *
 * Other lines are ignored.  The end of the stream changes nothing. */
struct control;

enum { CONTROL_WORKERS_MAX = 1024 };
typedef void control_workers_fn(void *arg, unsigned n);

/* The caller owns fd and keeps it open until control_close().  It becomes non-blocking. */
MUST_CHECK int control_open(struct loop *l, int fd, control_workers_fn *fn, void *arg,
			    struct control **ret, struct err *e);
void control_close(struct control *c); /* NULL is fine */

#endif
