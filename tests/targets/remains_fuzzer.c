/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves what a later input could meet on an input that begins with 'L', and overflows the heap on
 * one that begins with 'C' if it meets any of it.  One that begins with 'K' kills itself.
 * Promise: truth.  Triage replays inputs of a target one after the other in one cell, and says of
 * each what it says of it alone. */
#include "planted.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void leave_process(void)
{
	if (fork() != 0)
		return;
	setsid();
	for (;;)
		pause();
}

static void leave_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd >= 0)
		close(fd);
}

static void leave_limit(void)
{
	struct rlimit few = {32, 32};

	(void)prlimit(1, RLIMIT_NOFILE, &few, NULL);
}

static bool has_met_any(void)
{
	struct rlimit files = {0};

	(void)getrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_cur == 32 || access("/tmp/left", F_OK) == 0 ||
	       access("/dev/shm/left", F_OK) == 0 || kill(-1, 0) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	volatile uint8_t *cell = malloc(1);

	if (size > 1 && data[0] == 'L') {
		if (data[1] == 'p')
			leave_process();
		else if (data[1] == 'l')
			leave_limit();
		else
			leave_file(data[1] == 't' ? "/tmp/left" : "/dev/shm/left");
	} else if (cell && size > 1 && data[0] == 'C' && has_met_any()) {
		cell[1] = 'x';
	} else if (size > 0 && data[0] == 'K') {
		kill(getpid(), SIGKILL);
	}
	free((void *)cell);
	return 0;
}
