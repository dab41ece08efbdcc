/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/job/modules.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/targets/counters.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Parses "55f7-55f8 r-xp 00001000 fd:01 1234    /path"; NULL: no file, or not for execution. */
static char *executed(char *line)
{
	char *path = strchr(line, '/'), *mode = strchr(line, ' ');

	if (!path || !mode || mode > path || path - mode < 4 || mode[3] != 'x')
		return NULL;
	/* A memory file has no path that can be opened, and loaders do not use it. */
	return strncmp(path, "/memfd:", 7) == 0 ? NULL : path;
}

size_t modules_in(char *maps, const char *ret[MODULES_MAX])
{
	size_t n = 0;

	for (char *line = maps, *next; line && *line; line = next) {
		const char *path;
		size_t i = 0;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		path = executed(line);
		/* The mappings of a file are neighbours. */
		while (path && i < n && strcmp(ret[n - 1 - i], path) != 0)
			i++;
		if (!path || i < n)
			continue;
		if (n == MODULES_MAX)
			return MODULES_MAX + 1;
		ret[n++] = path;
	}
	return n;
}

/* The path is checked before it is opened: by now it may be a device. */
static int modules_open_file(int root, const char *path)
{
	_autoclose_ int at = sys_openat(root, path, O_PATH, 0);
	struct stat st;
	char self[64];

	if (at < 0 || fstat(at, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	return sys_openat(AT_FDCWD, self, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
}

static enum modules_look modules_add(int root, const char *path, uint64_t *io)
{
	_autoclose_ int fd = modules_open_file(root, path + strspn(path, "/"));
	uint64_t edges;

	if (fd < 0)
		return MODULES_GONE;
	switch (counters_in(fd, &edges)) {
	case COUNTERS_UNKNOWN:
		return MODULES_UNKNOWN;
	case COUNTERS_FOUND:
		*io += edges;
		break;
	case COUNTERS_NONE:
		break;
	}
	return MODULES_COUNTED;
}

enum modules_look modules_edges(pid_t pid, uint64_t *ret)
{
	_autofree_ char *maps = NULL;
	_autoclose_ int root = -1;
	const char *paths[MODULES_MAX];
	enum modules_look r = MODULES_COUNTED;
	char name[64];
	size_t n, got;
	struct err e;

	*ret = 0;
	snprintf(name, sizeof(name), "/proc/%d/root", (int)pid);
	root = sys_openat(AT_FDCWD, name, O_PATH | O_DIRECTORY, 0);
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	if (root < 0 || fs_read(AT_FDCWD, name, MODULES_TEXT_MAX, &maps, &got, &e) < 0)
		return MODULES_GONE;
	n = modules_in(maps, paths);
	if (n == 0 || n > MODULES_MAX)
		return MODULES_GONE;
	for (size_t i = 0; r == MODULES_COUNTED && i < n; i++)
		r = modules_add(root, paths[i], ret);
	return r == MODULES_COUNTED && *ret == 0 ? MODULES_UNKNOWN : r;
}
