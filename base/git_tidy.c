/* SPDX-License-Identifier: Apache-2.0 */
/* Removes files that a killed git process left.  git itself removes them after two weeks, or
 * never. */
#include "base/cleanup.h"
#include "base/git.h"
#include "base/memory.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The kernel gives a lease only on a file that no other descriptor refers to.  A file system
 * without leases leaves the file to git. */
static bool is_unused(int fd, unsigned min_age)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       time(NULL) - st.st_mtime >= (time_t)min_age && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
}

static int remove_unused(int dir, const char *name, unsigned min_age, struct err *e)
{
	_autoclose_ int fd = sys_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

	if (fd < 0 || !is_unused(fd, min_age) || sys_unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	return err_sys(e, "remove '%s', which git left", name);
}

static int tidy_packs(const char *path, unsigned min_age, struct err *e)
{
	_autoclose_ int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	const struct dirent *d;
	int r = 0;
	DIR *dir;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open '%s'", path);
	dir = fdopendir(fd);
	if (!dir)
		return err_sys(e, "read '%s'", path);
	(void)take_fd(&fd); /* closedir() closes it */
	while (r == 0 && (d = readdir(dir)))
		if (strncmp(d->d_name, "tmp_", 4) == 0)
			r = remove_unused(dirfd(dir), d->d_name, min_age, e);
	closedir(dir);
	return r;
}

int git_tidy(const struct git *g, unsigned min_age, struct err *e)
{
	_autofree_ char *packs = xasprintf("%s/pack", g->objects);
	_autorights_ struct rights_back back = {0};
	struct rights rights;

	if (rights_of(packs, &rights, e) < 0 || rights_take(&rights, &back, e) < 0)
		return err_code(e);
	return tidy_packs(packs, min_age, e);
}

int git_unlock(const struct git *g, struct err *e)
{
	static const char *const args[] = {"rev-parse", "--absolute-git-dir", NULL};
	_autorights_ struct rights_back back = {0};
	_autofree_ char *path = NULL;
	_autoclose_ int fd = -1;
	struct rights rights;

	if (git_ask(g, args, &path, e) < 0 || rights_of(path, &rights, e) < 0 ||
	    rights_take(&rights, &back, e) < 0)
		return err_code(e);
	fd = sys_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	return fd < 0 ? err_sys(e, "open '%s'", path) : remove_unused(fd, "index.lock", 0, e);
}
