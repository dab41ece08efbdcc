/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "base/term.h"
#include "runner/command/command.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAPPED_BYTES = 64 << 10 };

/* A command that only prints fails if its output could not be written. EPIPE is no error: the
 * reader had enough. Other commands do their work whether or not their output is read. */
static int printed(char **argv, int status)
{
	int lost = status == EXIT_DONE && command_prints(argv[1], argv[2]) ? term_lost() : 0;

	if (lost == 0 || lost == EPIPE)
		return status;
	return fail(EXIT_INTERNAL, "standard output: %s", strerror(lost));
}

/* Turns "help crash list" into "crash list --help". */
static void turn_help(int argc, char **argv)
{
	static char option[] = "--help";

	if (argc < 3 || strcmp(argv[1], "help") != 0)
		return;
	memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof(*argv));
	argv[argc - 1] = option;
}

static int dispatch(int argc, char **argv)
{
	char hint[64];

	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return command_help(argc, argv);
	if (strcmp(argv[1], "--version") == 0)
		return command_version(argc - 1, argv + 1);
	for (size_t i = 0; i < n_commands; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	return fail(EXIT_USAGE, "unknown command '%s'%s (try: fuzzcell help)", argv[1],
		    command_hint(argv[1], commands, n_commands, hint));
}

int main(int argc, char **argv)
{
	sigset_t broken_pipe;
	struct err e;

	/* Maps each large block (a report's parser, a cell's output) separately, so that free()
	 * returns all of its memory. Without a fixed threshold, glibc raises it with each large
	 * block that is freed. */
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	/* A closed pipe causes EPIPE on the write instead of ending the run. */
	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	sigprocmask(SIG_BLOCK, &broken_pipe, NULL);
	/* If the parent ignored SIGCHLD, the kernel would discard the exit statuses of our
	 * children. */
	(void)signal(SIGCHLD, SIG_DFL); /* allow: the default is no handler */
	/* Buffers output by line, in order with the live view, and escapes terminal control
	 * sequences. */
	if (term_guard(&e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	if (!log_console_open(getenv("FUZZCELL_LOG")))
		return fail(EXIT_USAGE, "$FUZZCELL_LOG: '%s' is none of error, warn, info, debug",
			    getenv("FUZZCELL_LOG"));
	if (argc < 2)
		return fail(EXIT_USAGE, "no command (try: fuzzcell help)");
	turn_help(argc, argv);
	return printed(argv, dispatch(argc, argv));
}
