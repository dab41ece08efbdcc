/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/seek.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "runner/corpus/workdir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH = 8, BLOCK = 65536 };

struct seek {
	const struct rights *as;
	struct slice content;
	unsigned entries;
	char *path; /* PATH_MAX bytes: the current directory, then the file that was found */
};

static bool seek_is_same(int fd, struct slice content)
{
	char block[BLOCK];
	ssize_t n;

	while (content.n > 0) {
		n = sys_read(fd, block, content.n < BLOCK ? content.n : BLOCK);
		if (n <= 0 || memcmp(block, content.p, (size_t)n) != 0)
			return false;
		content = (struct slice){content.p + n, content.n - (size_t)n};
	}
	return true;
}

static bool is_it(const struct seek *s, int at, const char *name, const struct stat *st)
{
	_autoclose_ int fd = -1;

	if (!S_ISREG(st->st_mode) || (uint64_t)st->st_size != s->content.n)
		return false;
	fd = rights_open(s->as, at, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	return fd >= 0 && seek_is_same(fd, s->content);
}

static bool in_dir(struct seek *s, int at, const char *dir, unsigned depth);

/* On success, name is appended to the path; else the path is unchanged. */
static bool in_entry(struct seek *s, int at, const char *name, unsigned depth)
{
	size_t n = strlen(s->path), len = strlen(name);
	struct stat st;
	bool found;

	if (n + 1 + len >= PATH_MAX || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	snprintf(s->path + n, PATH_MAX - n, "/%s", name);
	if (S_ISDIR(st.st_mode))
		found = depth < DEPTH && in_dir(s, at, name, depth + 1);
	else
		found = is_it(s, at, name, &st);
	if (!found)
		s->path[n] = '\0';
	return found;
}

static bool in_dir(struct seek *s, int at, const char *dir, unsigned depth)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	int fd = rights_open(s->as, at, dir, O_RDONLY | O_DIRECTORY | (depth ? O_NOFOLLOW : 0));
	const struct dirent *ent;
	bool found = false;

	d = fd >= 0 ? fdopendir(fd) : NULL;
	if (!d) {
		close_p(&fd);
		return false;
	}
	while (!found && s->entries < WORKDIR_FILES_MAX && (ent = sys_readdir(d))) {
		s->entries++;
		found = ent->d_name[0] != '.' && in_entry(s, fd, ent->d_name, depth);
	}
	return found;
}

bool seek_content(const struct rights *as, const char *dir, struct slice content,
		  char ret[PATH_MAX])
{
	struct seek s = {.as = as, .content = content, .path = ret};

	if (content.n == 0 || strlen(dir) >= PATH_MAX)
		return false;
	snprintf(ret, PATH_MAX, "%s", dir);
	return in_dir(&s, AT_FDCWD, dir, 0);
}
