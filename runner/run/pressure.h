/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_PRESSURE_H
#define RUNNER_RUN_PRESSURE_H

#include "base/loop.h"
#include "runner/policy/workers.h"

/* The machine's pressure (PSI, Documentation/accounting/psi.rst): how long at least one task waited
 * for a CPU ("some"), and how long all tasks waited for memory ("full"). */
struct pressure;

/* Called when memory becomes short between two readings, if the kernel allows a PSI trigger. */
typedef void pressure_fn(void *arg);

/* dir: "/proc/pressure".  Fails if the machine has no PSI. */
MUST_CHECK int pressure_open(struct loop *l, const char *dir, pressure_fn *fn, void *arg,
			     struct pressure **ret, struct err *e);
void pressure_close(struct pressure *p); /* NULL is fine */

/* Reads the present totals.  The caller sets at_us. */
MUST_CHECK int pressure_look(const struct pressure *p, struct workers_reading *ret, struct err *e);

#endif
