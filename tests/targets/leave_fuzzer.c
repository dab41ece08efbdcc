/* SPDX-License-Identifier: Apache-2.0 */
/* Ends without an artifact on an input that begins with 'L'.  The name of its file chooses the way:
 * leave_term_fuzzer, leave_done_fuzzer, ...; leave_fuzzer uses SIGTERM.
 * Promise: truth.  Each of these ends looks like a stop, a normal end, or nothing at all.  Only
 * a stop by fuzzcell is `stopped`; all of these are failures. */
#include "planted.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

static char **args;

static void say(const char *text)
{
	(void)!write(STDERR_FILENO, text, strlen(text));
}

static void leave_term(void)
{
	raise(SIGTERM);
}

static void leave_int(void)
{
	kill(getpid(), SIGINT);
}

/* The engine finishes the input, then ends with its closing statistics. */
static void leave_usr1(void)
{
	raise(SIGUSR1);
}

static void leave_forged(void)
{
	say("==1== libFuzzer: run interrupted; exiting\n");
	_exit(72);
}

static void leave_done(void)
{
	say("#9000\tDONE   cov: 9 ft: 9 corp: 9/9b lim: 4 exec/s: 9000 rss: 30Mb\n"
	    "Done 9000 runs in 1 second(s)\n");
	_exit(0);
}

static void leave_silent(void)
{
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	_exit(0);
}

/* The kernel drops these three for process 1 of a namespace. */
static void leave_sigkill(void)
{
	kill(getpid(), SIGKILL);
}

static void leave_sighup(void)
{
	raise(SIGHUP);
}

/* The kernel reports the end of a traced process to its tracer. */
static void leave_seized(void)
{
	pid_t me = getpid();
	int traces[2];
	char byte;

	if (pipe(traces) < 0)
		return;
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (fork() == 0) {
		setsid();
		(void)ptrace(PTRACE_SEIZE, me, NULL, NULL);
		(void)!write(traces[1], "x", 1);
		for (;;)
			pause();
	}
	(void)!read(traces[0], &byte, 1);
	_exit(0);
}

/* Ends like many crash handlers. */
static void leave_reset(void)
{
	struct sigaction usual = {.sa_handler = SIG_DFL};

	(void)sigaction(SIGSEGV, &usual, NULL); /* allow: the target's purpose */
	raise(SIGSEGV);
}

/* Executes another program, which ends with status 0. */
static void leave_exec(void)
{
	execl("/bin/true", "true", (char *)NULL);
	_exit(0);
}

/* The engine starts again in the same process. */
static void leave_again(void)
{
	execv("/proc/self/exe", args);
	_exit(0);
}

/* A grandchild in its own session continues. */
static void leave_daemon(void)
{
	pid_t child = fork();

	if (child > 0)
		_exit(0);
	setsid();
	if (child < 0 || fork() != 0)
		_exit(0);
	for (;;)
		pause();
}

/* Signals its relatives, and every other process that it may signal. */
static void leave_kill(void)
{
	kill(getppid(), SIGKILL);
	kill(-1, SIGKILL);
	if (fork() == 0) {
		kill(1, SIGKILL);
		kill(1, SIGTERM);
		_exit(0);
	}
	kill(0, SIGKILL);
}

/* Ignores the dump signal, and takes memory. */
static void leave_memory(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	(void)sigaction(SIGABRT, &ignore, NULL); /* allow: the target's purpose */
	for (uint64_t mib = 0; mib < 8192; mib++) {
		volatile char *p = malloc(PLANTED_MIB);

		for (size_t at = 0; p && at < PLANTED_MIB; at += 4096)
			p[at] = 1;
	}
	planted_cap("memory");
}

/* Exceeds the cell's disk limit with files that are each small enough; fuzzing continues. */
static void leave_disk(void)
{
	static char block[1 << 20];
	char path[64];

	for (int i = 0; i < 8; i++) {
		int fd;

		snprintf(path, sizeof(path), "/work/artifacts/file%d", i);
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		for (int k = 0; fd >= 0 && k < 16; k++)
			(void)!write(fd, block, sizeof(block));
		if (fd >= 0)
			close(fd);
	}
}

static const struct {
	const char *name;
	void (*leave)(void);
} ways[] = {
    {"term", leave_term},	{"int", leave_int},	  {"usr1", leave_usr1},
    {"forged", leave_forged},	{"done", leave_done},	  {"silent", leave_silent},
    {"exec", leave_exec},	{"daemon", leave_daemon}, {"kill", leave_kill},
    {"memory", leave_memory},	{"disk", leave_disk},	  {"again", leave_again},
    {"sigkill", leave_sigkill}, {"sighup", leave_sighup}, {"reset", leave_reset},
    {"seized", leave_seized},
};

static void (*leave)(void) = leave_term;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *name = strrchr((*argv)[0], '/');

	(void)argc;
	args = *argv;
	name = name ? name + 1 : (*argv)[0];
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		size_t n = strlen(ways[i].name);

		if (strncmp(name, "leave_", 6) == 0 && strncmp(name + 6, ways[i].name, n) == 0 &&
		    name[6 + n] == '_')
			leave = ways[i].leave;
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool left;

	if (planted_magic(data, size, 'L') && !left) {
		left = true;
		leave();
	}
	return planted_work(data, size);
}
