/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_HOLDER_H
#define RUNNER_STATE_HOLDER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Who is at work in a state directory: the locks of its runs and of its triggers, and
 * processes that are known by more than their number. */

/* trigger.lock: one trigger at a time.  The kernel's own lock of this process, as the
 * run's is: it goes when we die, however.  -EBUSY: another one has it; its number is in
 * the text.  close() the descriptor. */
MUST_CHECK int trigger_lock(int state_fd, const char *state_path, int *ret_fd, struct err *e);

/* The process that has the run's lock, 0 none (or it cannot be seen from here). */
MUST_CHECK int holder_of_run(int state_fd, bool *ret_held, pid_t *ret_pid, struct err *e);

/* When it began, in ticks since the boot (proc_pid_stat(5), starttime); -ESRCH: there is
 * none of that number, or it is dead and not yet reaped. */
MUST_CHECK int process_start(pid_t pid, uint64_t *ret, struct err *e);
/* A handle on the process that began then; -ESRCH: it is gone.  close() it. */
MUST_CHECK int process_open(pid_t pid, uint64_t start, int *ret_pidfd, struct err *e);

#endif
