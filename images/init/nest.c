/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the place in which a program runs.  For the programs of engines that find their inputs by
 * their working directory, and write new ones there: the cell's other directories have fixed
 * places. */
#include "images/init/nest.h"

#include "images/init/each.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 3, MODE = 0755, FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };

/* Makes the directories of a path: all of it, or those above its last name.  Process 1 has no
 * library of ours. */
static int nest_mkdirs(const char *path, int whole)
{
	char at[PATH_MAX];
	size_t n = strlen(path);

	if (n == 0 || n >= sizeof(at)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && (path[i] || !whole))
			continue;
		memcpy(at, path, i);
		at[i] = '\0';
		if (mkdir(at, MODE) < 0 && errno != EEXIST) /* allow: as above */
			return -1;
	}
	return 0;
}

static int nest_link(const char *from, const char *to)
{
	return nest_mkdirs(to, 0) < 0 ? -1 : symlink(from, to);
}

static int nest_link_name(const char *from, const char *to, const char *name)
{
	char target[PATH_MAX], at[PATH_MAX];

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (snprintf(target, sizeof(target), "%s/%s", from, name) >= (int)sizeof(target) ||
	    snprintf(at, sizeof(at), "%s/%s", to, name) >= (int)sizeof(at))
		return 0; /* no program could open it by this path */
	return symlink(target, at) < 0 && errno != EEXIST ? -1 : 0;
}

static int nest_links(const char *from, const char *to)
{
	const struct dirent *de;
	int r = nest_mkdirs(to, 1);
	DIR *d;

	if (r < 0)
		return r;
	d = opendir(from); /* allow: as above */
	if (!d)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	while (r == 0 && (de = readdir(d)))
		r = nest_link_name(from, to, de->d_name);
	closedir(d);
	return r;
}

static int nest_limit(const char *bytes)
{
	struct rlimit l = {0};

	l.rlim_cur = l.rlim_max = strtoull(bytes, NULL, 10); /* allow: fuzzcell's own word */
	return setrlimit(RLIMIT_DATA, &l);
}

/* --- saving what the program made --------------------------------------------------------- */

static void nest_copy(int from, int to)
{
	char block[4096];
	ssize_t n;

	while ((n = read(from, block, sizeof(block))) > 0)
		if (write(to, block, (size_t)n) != n)
			return;
}

/* A file of the directory; -1: there is none. */
static int nest_open_one(const char *path)
{
	DIR *d = opendir(path); /* allow: as above */
	const struct dirent *de;
	int fd = -1;

	while (d && fd < 0 && (de = readdir(d)))
		if (de->d_name[0] != '.')
			fd = openat(dirfd(d), de->d_name, FLAGS); /* allow: as above */
	if (d)
		closedir(d);
	return fd;
}

/* Returns in a child, which becomes the program. */
static int nest_save(const char *dir, const char *file)
{
	pid_t pid = fork();
	int status = 0, from, to;

	if (pid <= 0)
		return pid;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	from = nest_open_one(dir);
	to = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC); /* allow: as above */
	if (from >= 0 && to >= 0)
		nest_copy(from, to);
	each_end_as(status);
}

static int nest_step(char **words)
{
	if (strcmp(words[0], "link") == 0)
		return nest_link(words[1], words[2]);
	if (strcmp(words[0], "links") == 0)
		return nest_links(words[1], words[2]);
	if (strcmp(words[0], "data") == 0)
		return nest_limit(words[1]);
	if (strcmp(words[0], "save") == 0)
		return nest_save(words[1], words[2]);
	if (strcmp(words[0], "in") == 0)
		return nest_mkdirs(words[1], 1) < 0 ? -1
						    : chdir(words[1]); /* allow: the program's */
	errno = EINVAL;
	return -1;
}

char **nest_make(char **argv)
{
	for (argv++; *argv && strcmp(*argv, "--") != 0; argv += WORDS) {
		if (argv[1] && argv[2] && nest_step(argv) == 0)
			continue;
		(void)dprintf(STDERR_FILENO, "fuzzcell: cannot prepare '%s': %s\n",
			      argv[1] ? argv[1] : argv[0], strerror(errno));
		return NULL;
	}
	return *argv && argv[1] ? argv + 1 : NULL;
}
