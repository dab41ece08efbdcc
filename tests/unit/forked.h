/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FORKED_H
#define TESTS_FORKED_H

/* What a test does to the file systems that it sees, in a process that only it is
 * seen by.  Include unit.h first. */
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>

enum { FORKED_SKIP = 77 }; /* this machine does not let us */

/* Mounts from here on are this process's own. */
static inline bool mounts_are_ours(void)
{
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Runs in a child: 0 as it should be, FORKED_SKIP (with FUZZCELL_MUST_RUN a failure),
 * else what went wrong. */
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
