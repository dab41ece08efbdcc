/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FORKED_H
#define TESTS_FORKED_H

/* Runs a test that changes file systems in a process with its own mount namespace.  Include unit.h
 * first. */
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>

enum { FORKED_SKIP = 77 }; /* not permitted on this machine */

/* From here on, mounts are private to this process. */
static inline bool mounts_are_ours(void)
{
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Runs in a child.  0: success; FORKED_SKIP: skipped (with FUZZCELL_MUST_RUN a failure); other
 * values: the number of the failed check. */
static inline void forked(int (*fn)(void))
{
	pid_t pid = fork();
	int ws;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn());
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	assert_true(WIFEXITED(ws));
	if (WEXITSTATUS(ws) == FORKED_SKIP && !getenv("FUZZCELL_MUST_RUN"))
		skip();
	assert_int_equal(WEXITSTATUS(ws), 0);
}

#endif
