/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Starts other programs.  Each child leads its own process group, so that a terminal's ^C does not
 * reach it.  Signals are unblocked in the child.  The child inherits only the descriptors named
 * here. */
struct proc_spec {
	const char *const *argv; /* argv[0]: looked up in PATH when it has no slash */
	int program_fd;		 /* executed instead of argv[0] when possible; -1: none */
	const char *const *env;	 /* NULL: ours */
	int stdin_fd;		 /* -1: /dev/null */
	int stdout_fd;		 /* -1: /dev/null */
	int stderr_fd;		 /* -1: ours */
	/* Runs in the child before the program is executed, in our memory (vfork(2)).  It may make
	 * only async-signal-safe calls and change only its own variables.  It clears FD_CLOEXEC on
	 * descriptors that the program gets beside 0 to 2.  Returns 0, or -1 with errno; then
	 * nothing is executed.  NULL: nothing to do. */
	int (*prepare)(void *arg);
	void *prepare_arg;
	/* The child gets SIGKILL when we die.  This is only a convenience; the guarantee is the
	 * child's cgroup. */
	_Bool die_with_us;
};

#define PROC_SPEC_INIT \
	((struct proc_spec){.program_fd = -1, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1})

/* Starts argv[0].  0 means that the program itself runs, not just a fork.  The caller reaps it
 * (loop_add_child). */
MUST_CHECK int proc_spawn(const struct proc_spec *spec, pid_t *ret_pid, struct err *e);

/* Signals a process that is not reaped yet; -ESRCH: the process is gone. */
MUST_CHECK int proc_kill(int pidfd, int signo, struct err *e);
/* The oldest living thread of a child.  Its first thread may have ended before the others. */
MUST_CHECK int proc_first_thread(pid_t pid, pid_t *ret_tid, struct err *e);
/* Sends a signal to the oldest living thread of a child (proc_first_thread), and to no other. */
MUST_CHECK int proc_kill_first(pid_t pid, int signo, struct err *e);
/* The oldest thread of a child after its first one; -ESRCH: there is none. */
MUST_CHECK int proc_second_thread(pid_t pid, pid_t *ret_tid, struct err *e);
/* The only thread of a child beside its first one; -ESRCH: there is none, or there are several. */
MUST_CHECK int proc_only_second_thread(pid_t pid, pid_t *ret_tid, struct err *e);
/* Whether a thread that does not run is in a sleep of limited time.  Unknown: true. */
bool proc_thread_naps(pid_t pid, pid_t tid);
/* Opens a pidfd, which stays valid when the process number is reused; close() it. */
MUST_CHECK int proc_open(pid_t pid, int *ret_pidfd, struct err *e);

/* A process number with a start time identifies a process: numbers are reused. */

/* The start time of a process, in ticks since boot (proc_pid_stat(5), starttime).  -ESRCH: the
 * process does not exist, or is dead and not yet reaped. */
MUST_CHECK int proc_start_time(pid_t pid, uint64_t *ret, struct err *e);
/* Opens a pidfd of the process with this start time; -ESRCH: it has ended.  close() it. */
MUST_CHECK int proc_open_started(pid_t pid, uint64_t start, int *ret_pidfd, struct err *e);

#endif
