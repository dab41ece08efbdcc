/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program once for each of the given inputs, and ends as it ended at the first failure.  For
 * the programs of engines that run one input a process: they read it from their last argument, from
 * standard input, or from a fixed path. */
#include "images/init/each.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t running; /* the program's process; 0: none */

/* fuzzcell ends an input: the program reports where it is, if it can. */
static void each_on_signal(int signo)
{
	(void)signo;
	if (running)
		(void)kill((pid_t)running, SIGABRT); /* allow: our child */
}

static void each_say(const char *before, const char *what, const char *after)
{
	(void)dprintf(STDERR_FILENO, "%s%s%s\n", before, what, after);
}

struct each {
	const char *at; /* "-": the input is the last argument */
	char **argv;	/* the program, its arguments, "--", the inputs */
	size_t argc;
};

/* Makes `at` a link to the input, instead of to the last one. */
static bool each_link(const char *input, const char *at)
{
	return (unlink(at) == 0 || errno == ENOENT) && /* allow: it has no library of ours */
	       symlink(input, at) == 0;
}

static void __attribute__((noreturn)) each_execute(const struct each *e, char *input)
{
	bool links = strcmp(e->at, "-") != 0;
	int fd = open(input, O_RDONLY | O_CLOEXEC); /* allow: it has no library of ours */

	e->argv[e->argc] = links ? NULL : input;
	e->argv[e->argc + 1] = NULL;
	if (fd >= 0 && dup2(fd, STDIN_FILENO) >= 0 && (!links || each_link(input, e->at)))
		execv(e->argv[0], e->argv);
	each_say("fuzzcell: cannot run the input: ", strerror(errno), "");
	_exit(EACH_FAILED);
}

void each_end_as(int status)
{
	if (WIFSIGNALED(status)) {
		const struct rlimit none = {0};
		sigset_t all;

		(void)setrlimit(RLIMIT_CORE, &none);
		(void)signal(WTERMSIG(status), SIG_DFL); /* allow: it has no event loop */
		(void)sigemptyset(&all);
		(void)sigprocmask(SIG_SETMASK, &all, NULL);
		(void)kill(getpid(), WTERMSIG(status)); /* allow: this process */
	}
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : EACH_FAILED);
}

static int each_run(const struct each *e, char *input)
{
	struct timespec from, to;
	char ms[48];
	int status = 0;
	pid_t pid;

	each_say("Running: ", input, "");
	(void)clock_gettime(CLOCK_MONOTONIC, &from);
	pid = fork();
	if (pid == 0)
		each_execute(e, input);
	if (pid < 0)
		_exit(EACH_FAILED);
	running = pid;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	running = 0;
	(void)clock_gettime(CLOCK_MONOTONIC, &to);
	(void)snprintf(ms, sizeof(ms), " in %lld ms",
		       (long long)(to.tv_sec - from.tv_sec) * 1000 +
			   (to.tv_nsec - from.tv_nsec) / 1000000);
	if (status == 0)
		each_say("Executed ", input, ms);
	return status;
}

/* The place of "--"; 0: there is none. */
static size_t each_end_of(char **argv)
{
	for (size_t i = 0; argv[i]; i++)
		if (strcmp(argv[i], "--") == 0)
			return i;
	return 0;
}

void each_main(char **argv)
{
	struct sigaction act = {.sa_handler = each_on_signal};
	size_t end = each_end_of(argv);
	struct each e;

	if (end < 3 || sigaction(EACH_DUMP, &act, NULL) < 0) /* allow: as above */
		_exit(EACH_FAILED);
	e = (struct each){.at = argv[1], .argv = argv + 2, .argc = end - 2};
	for (size_t i = end + 1; argv[i]; i++) {
		int status = each_run(&e, argv[i]);

		if (status != 0)
			each_end_as(status);
	}
	_exit(0);
}
