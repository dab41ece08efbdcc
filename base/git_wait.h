/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_GIT_WAIT_H
#define BASE_GIT_WAIT_H

#include "base/err.h"
#include "base/tool.h"

#include <stdint.h>
#include <sys/types.h>

/* Waits for git and checks the limits of its group (NULL: none) ten times a second.  When git
 * exceeds a limit, everything in the group is killed, and the error (-EDQUOT) names the limit. */

/* Returns when fd is readable; -ETIMEDOUT when clock_mono_us() passes until_us.  *io_checked is the
 * time of the last check of the limits; 0 before the first check. */
MUST_CHECK int git_wait_input(const struct tool_group *group, int fd, uint64_t until_us,
			      uint64_t *io_checked, struct err *e);
/* Returns when the process has ended, also with an error; *ret_ws as waitpid(2) has it. */
MUST_CHECK int git_wait_end(const struct tool_group *group, pid_t pid, int *ret_ws, struct err *e);

#endif
