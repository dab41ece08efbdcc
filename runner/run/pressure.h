/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_PRESSURE_H
#define RUNNER_RUN_PRESSURE_H

#include "base/loop.h"
#include "runner/policy/workers.h"

/* The machine's own pressure (PSI, Documentation/accounting/psi.rst): how long somebody
 * waited for a CPU, and everybody for memory. */
struct pressure;

/* Told when memory becomes short, in between two looks; where the kernel lets us have such
 * a trigger. */
typedef void pressure_fn(void *arg);

/* dir: "/proc/pressure".  -errno, and an error that says so, where there is none. */
MUST_CHECK int pressure_open(struct loop *l, const char *dir, pressure_fn *fn, void *arg,
			     struct pressure **ret, struct err *e);
void pressure_close(struct pressure *p); /* NULL is fine */

/* The totals now; at_us is the caller's. */
MUST_CHECK int pressure_look(const struct pressure *p, struct workers_reading *ret, struct err *e);

#endif
