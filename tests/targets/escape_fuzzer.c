/* SPDX-License-Identifier: Apache-2.0 */
/* Tries to access things that a cell must not see or change, each attempt in its own child, and
 * prints each result.  Then it continues fuzzing.  A successful attempt is undone where possible,
 * so that the target is safe outside a cell, also as root. PLANTED_PID (default: none) is a process
 * outside the cell. Promise: files, privileges, system calls.  No line says SUCCEEDED. */
#include "escape.h"
#include <sys/wait.h>

/* A child, because a filter may answer with a signal, and chroot and setuid must not affect us. */
static int try_one(const struct attempt *a)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		struct sigaction standard = {.sa_handler = SIG_DFL};

		(void)sigaction(SIGSEGV, &standard, NULL); /* allow: no engine's report */
		(void)alarm(10);
		_exit(a->run(a->arg));
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return errno;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void try_all(const struct attempt *list)
{
	char name[160];

	for (; list->what; list++) {
		(void)snprintf(name, sizeof(name), "%s%s%s", list->what, list->arg ? " " : "",
			       list->arg ? list->arg : "");
		planted_report(name, try_one(list));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool done;

	if (!done && size > 0) {
		done = true;
		try_all(escape_files);
		try_all(escape_kernel);
		dprintf(STDERR_FILENO, "planted: escape: all tried\n");
	}
	return planted_work(data, size);
}
