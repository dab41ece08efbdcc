/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/state/aside.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define ASIDE "damaged"

enum { MODE_DIR = 0750, NAMES_TRIED = 1000 };

/* Finds a free name "damaged/<path>", and makes its directories. */
static int find_place(int at, const char *path, char **ret, struct err *e)
{
	for (unsigned i = 1; i < NAMES_TRIED; i++) {
		_autofree_ char *to =
		    i == 1 ? xasprintf(ASIDE "/%s", path) : xasprintf(ASIDE "/%s~%u", path, i);
		char *slash = strrchr(to, '/'); /* at least that behind ASIDE */
		int r;

		*slash = '\0';
		r = fs_mkdirs(at, to, MODE_DIR, e);
		*slash = '/';
		if (r < 0)
			return r;
		if (faccessat(at, to, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
			*ret = take_ptr(&to);
			return 0;
		}
	}
	return err_set(e, EEXIST, "too many were set aside as '" ASIDE "/%s'", path);
}

int state_set_aside(int state_dirfd, int dir, const char *name, const char *path, char **ret_to,
		    struct err *e)
{
	_autofree_ char *to = NULL;
	int r = find_place(state_dirfd, path, &to, e);

	if (r < 0)
		return r;
	if (sys_rename_to(dir, name, state_dirfd, to) < 0)
		return err_sys(e, "move it to '%s'", to);
	*ret_to = take_ptr(&to);
	return 0;
}
