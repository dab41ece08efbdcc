/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the control files of groups. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "cgroups/internal.h"

#include <fcntl.h>

enum { PROC_FILE_MAX = 4 << 20 }; /* mountinfo of a machine with many containers */

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

int cg_file_proc(const char *path, char **ret, struct slice *ret_text, struct err *e)
{
	int r = fs_read(AT_FDCWD, path, PROC_FILE_MAX, ret, &ret_text->n, e);

	if (r == 0)
		ret_text->p = *ret;
	return r;
}
