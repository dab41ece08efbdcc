/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/build_user.h"

#include "base/cleanup.h"

#include <errno.h>

static int check_root(const char *dir, bool as_root, const struct owner *o, struct err *e)
{
	if (!o->root)
		return 0;
	if (!as_root)
		return err_set(
		    e, EPERM,
		    "'%.180s' belongs to root, and builds do not run as root by default: "
		    "give it to a user of its own (chown -R USER '%.180s'), or set "
		    "\"build_as_root\": true",
		    dir, dir);
	if (*o->writable)
		return err_set(
		    e, EPERM,
		    "cannot build in '%.100s' as root: other users may write to '%s': chmod "
		    "go-w '%s'",
		    dir, o->writable, o->writable);
	return 0;
}

int build_user_open(const char *dir, bool as_root, struct owner *ret, int *ret_fd, struct err *e)
{
	_autoclose_ int fd = -1;
	struct owner o;
	int r = owner_open(dir, &o, &fd, e);

	if (r < 0)
		return r;
	r = check_root(dir, as_root, &o, e);
	if (r < 0) {
		owner_done(&o);
		return r;
	}
	*ret = o;
	*ret_fd = take_fd(&fd);
	return 0;
}
