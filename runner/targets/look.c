/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/directory.h"

#include "base/cleanup.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void found_done(struct found *f)
{
	close_p(&f->fd);
	free(f->real);
}

void look_refuse(struct found *f, bool warning, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->why, sizeof(f->why), fmt, ap);
	va_end(ap);
	f->warning = warning;
	close_p(&f->fd);
	f->fd = -1;
}

static bool look_is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* Accepts only regular files and directories.  Other types must not even be opened. */
static bool type_ok(const struct scan *s, const char *name, struct found *f)
{
	struct stat st;

	if (fstatat(s->fd, name, &st, 0) < 0) {
		if (errno == ELOOP)
			look_refuse(f, true, "a loop of symbolic links");
		else if (errno == ENOENT && fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			look_refuse(f, true, "a symbolic link to nothing");
		else if (errno != ENOENT)
			look_refuse(f, true, "cannot be examined: %s", strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		look_refuse(f, false, "neither a file nor a directory");
		return false;
	}
	return true;
}

int look(const struct scan *s, const char *name, struct found *ret, struct err *e)
{
	struct stat st;
	int r;

	*ret = (struct found){.fd = -1};
	if (!type_ok(s, name, ret))
		return 0;
	/* O_NONBLOCK: the file may have been replaced by a FIFO. */
	ret->fd = sys_openat(s->fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (ret->fd < 0) {
		look_refuse(ret, true, "can't be opened: %s", strerror(errno));
		return 0;
	}
	if (fstat(ret->fd, &st) < 0) {
		look_refuse(ret, true, "cannot be examined: %s", strerror(errno));
		return 0;
	}
	ret->is_dir = S_ISDIR(st.st_mode);
	if (!ret->is_dir && !S_ISREG(st.st_mode)) {
		look_refuse(ret, true, "changed its type while it was read");
		return 0;
	}
	r = source_fd_path(ret->fd, &ret->real, e);
	if (r < 0)
		return r;
	if (!look_is_below(ret->real, s->real))
		look_refuse(ret, !ret->is_dir && (st.st_mode & 0111),
			    "leads out of the directory, where a cell sees nothing");
	return 0;
}
