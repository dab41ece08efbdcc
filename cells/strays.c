/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/strays.h"

#include "base/cleanup.h"
#include "base/scan.h"
#include "base/sys.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>

/* Reads a file in /proc, which has no known size, up to max bytes. */
static size_t read_proc(const char *path, char *out, size_t max)
{
	_autoclose_ int fd = sys_openat(AT_FDCWD, path, O_RDONLY, 0);
	size_t n = 0;
	ssize_t got;

	while (fd >= 0 && n < max && (got = sys_read(fd, out + n, max - n)) > 0)
		n += (size_t)got;
	return n;
}

static bool strays_ends_with(struct slice s, const char *end)
{
	struct slice e = slice_of(end);

	return s.n >= e.n && memcmp(s.p + s.n - e.n, e.p, e.n) == 0;
}

/* The v2 line of /proc/PID/cgroup, "0::/a/b/NAME", also exists for a zombie.  It ends with
 * " (deleted)" when the group was removed. */
static bool strays_in_group(pid_t pid, const char *group)
{
	char path[64], text[4096], alive[96], deleted[96];
	struct slice rest, line;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	(void)snprintf(alive, sizeof(alive), "/%s", group);
	(void)snprintf(deleted, sizeof(deleted), "/%s (deleted)", group);
	rest = (struct slice){text, read_proc(path, text, sizeof(text))};
	while (scan_line(&rest, &line))
		if (scan_lit(&line, SLICE("0::")))
			return strays_ends_with(line, alive) || strays_ends_with(line, deleted);
	return false;
}

unsigned strays_reap(const char *group, pid_t except)
{
	char text[65536];
	struct slice rest = {text, read_proc("/proc/thread-self/children", text, sizeof(text))};
	unsigned alive = 0;
	uint64_t pid;

	while (scan_u64(&rest, 10, INT32_MAX, &pid)) {
		scan_blanks(&rest);
		if ((pid_t)pid != except && strays_in_group((pid_t)pid, group) &&
		    waitpid((pid_t)pid, NULL, WNOHANG) == 0)
			alive++;
	}
	return alive;
}
