/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program, and prints on standard error the CPU-seconds of it and of all processes that it
 * began.  The shell's `time` has only those that their parents waited for: when afl-fuzz ends, it
 * kills its target and does not wait.
 *
 * usage: whole PROGRAM [ARGUMENT...] */
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long a process may outlive the program. */
enum { LEFT_MAX_S = 10 };

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct rusage all;
	pid_t program, pid;
	int status;

	if (argc < 2 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return 2;
	program = fork();
	if (program < 0)
		return 1;
	if (program == 0) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	while ((pid = wait(&status)) > 0)
		if (pid == program)
			(void)alarm(LEFT_MAX_S); /* allow: it has no event loop; it kills us */
	if (getrusage(RUSAGE_CHILDREN, &all) < 0)
		return 1;
	(void)fprintf(stderr, "%.3f\n", seconds(all.ru_utime) + seconds(all.ru_stime));
	return 0;
}
