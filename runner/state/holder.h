/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_HOLDER_H
#define RUNNER_STATE_HOLDER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Finds out which processes work in a state directory: the locks of its runs and of its triggers.
 * Processes are identified by their number and their start time. */

/* trigger.lock: one trigger at a time.  It is a kernel lock of this process, like the run's lock:
 * it is released when the process dies in any way.  -EBUSY: another process has it; the text has
 * its number.  close() the descriptor. */
MUST_CHECK int trigger_lock(int state_fd, const char *state_path, int *ret_fd, struct err *e);

/* The process that has the run's lock; 0: none, or it is not visible from here. */
MUST_CHECK int holder_of_run(int state_fd, bool *ret_held, pid_t *ret_pid, struct err *e);

/* The start time of a process, in ticks since boot (proc_pid_stat(5), starttime).  -ESRCH: the
 * process does not exist, or is dead and not yet reaped. */
MUST_CHECK int process_start(pid_t pid, uint64_t *ret, struct err *e);
/* Opens a handle on the process with this start time; -ESRCH: it has ended.  close() it. */
MUST_CHECK int process_open(pid_t pid, uint64_t start, int *ret_pidfd, struct err *e);

#endif
