/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"
#include "cgroups/internal.h"

#include <errno.h>
#include <fcntl.h>

enum {
	PROC_FILE_STEP = 64 << 10,
	PROC_FILE_MAX = 4 << 20, /* mountinfo of a machine with many containers */
};

int cg_file_again(int fd, char *buf, size_t n, struct slice *ret, struct err *e)
{
	ssize_t r = sys_pread(fd, buf, n, 0);

	if (r < 0)
		return err_sys(e, "read a control file");
	*ret = (struct slice){buf, (size_t)r};
	return 0;
}

int cg_file_read(int dirfd, const char *file, char *buf, struct slice *ret, struct err *e)
{
	_autoclose_ int fd = sys_openat(dirfd, file, O_RDONLY | O_NOFOLLOW, 0);

	if (fd < 0)
		return err_sys(e, "open '%s'", file);
	if (cg_file_again(fd, buf, CG_TEXT_MAX, ret, e) < 0)
		return err_wrap(e, "'%s'", file);
	return 0;
}

int cg_file_write(int dirfd, const char *file, const char *value, struct err *e)
{
	_autoclose_ int fd = sys_openat(dirfd, file, O_WRONLY | O_NOFOLLOW, 0);

	if (fd < 0)
		return err_sys(e, "open '%s'", file);
	if (sys_write_all(fd, value, strlen(value)) < 0)
		return err_sys(e, "write '%s' to '%s'", value, file);
	return 0;
}

bool cg_file_exists(int dirfd, const char *file)
{
	return faccessat(dirfd, file, F_OK, 0) == 0;
}

bool cg_file_has_word(int dirfd, const char *file, const char *word)
{
	char buf[CG_TEXT_MAX];
	struct slice text, line, one;
	struct err e;

	if (cg_file_read(dirfd, file, buf, &text, &e) < 0 || !scan_line(&text, &line))
		return false;
	while (line.n > 0) {
		scan_blanks(&line);
		if (!scan_until(&line, ' ', line.n, &one)) {
			one = line;
			line.n = 0;
		}
		if (slice_eq(one, slice_of(word)))
			return true;
	}
	return false;
}

static int files_grow(char **text, size_t *cap, const char *path, struct err *e)
{
	char *more;

	if (*cap >= PROC_FILE_MAX)
		return err_set(e, EFBIG, "'%s' has more than %zu bytes", path, *cap);
	more = xreallocarray(*text, *cap + PROC_FILE_STEP, 1);
	if (!more)
		return err_sys(e, "allocate %zu bytes for '%s'", *cap + PROC_FILE_STEP, path);
	*text = more;
	*cap += PROC_FILE_STEP;
	return 0;
}

int cg_file_proc(const char *path, char **ret, struct slice *ret_text, struct err *e)
{
	_autoclose_ int fd = sys_openat(AT_FDCWD, path, O_RDONLY, 0);
	_autofree_ char *text = NULL;
	size_t n = 0, cap = 0;
	ssize_t got;

	if (fd < 0)
		return err_sys(e, "open '%s'", path);
	do {
		if (n == cap && files_grow(&text, &cap, path, e) < 0)
			return -e->code;
		got = sys_read(fd, text + n, cap - n);
		if (got < 0)
			return err_sys(e, "read '%s'", path);
		n += (size_t)got;
	} while (got > 0);
	*ret_text = (struct slice){text, n};
	*ret = take_ptr(&text);
	return 0;
}
