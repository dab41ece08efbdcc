/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_LOCK_H
#define RUNNER_STATE_LOCK_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* The locks of a state directory: one run at a time ("lock"), and one trigger ("trigger.lock").  A
 * lock is a kernel lock of this process: it is released when the process dies in any way.
 * Children that outlive us do not inherit it.  The file may stay; it has the holder's number. */

/* -EBUSY: another process has the lock; the text has its number.  close() the descriptor. */
MUST_CHECK int lock_run(int state_fd, const char *state_path, int *ret_fd, struct err *e);
/* The same, but waits for the process that has it. */
MUST_CHECK int lock_run_wait(int state_fd, const char *state_path, int *ret_fd, struct err *e);
MUST_CHECK int lock_trigger(int state_fd, const char *state_path, int *ret_fd, struct err *e);

/* The process that holds the run's lock; 0: none, or it is not visible from here. */
MUST_CHECK int lock_run_holder(int state_fd, bool *ret_held, pid_t *ret_pid, struct err *e);

#endif
