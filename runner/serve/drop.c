/* SPDX-License-Identifier: Apache-2.0 */
/* Gives up root's rights before the first request. */
#include "base/cleanup.h"
#include "runner/serve/serve.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* All rights of the first version of Landlock.  Files are read below one directory only, and
 * nothing is written, created, removed or executed anywhere. */
enum { LANDLOCK_ALL = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1 };

static int lock_files(int dirfd, struct err *e)
{
	const struct landlock_ruleset_attr all = {.handled_access_fs = LANDLOCK_ALL};
	const struct landlock_path_beneath_attr below = {
	    .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
	    .parent_fd = dirfd};
	_autoclose_ int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);

	/* The kernel lacks Landlock, or it is disabled. */
	if (rules < 0 && (errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM))
		return 0;
	if (rules < 0 ||
	    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		return err_sys(e, "restrict file access");
	return 0;
}

/* The capabilities that are kept: reading other users' files, and connecting to the run's
 * socket. */
static int drop_capabilities(struct err *e)
{
	static const uint32_t kept = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH;
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct have[2] = {0};

	if (syscall(SYS_capget, &head, have) < 0)
		return err_sys(e, "read our capabilities");
	have[0].permitted &= kept;
	have[0].effective &= kept;
	have[0].inheritable = 0;
	have[1] = (struct __user_cap_data_struct){0};
	return syscall(SYS_capset, &head, have) < 0 ? err_sys(e, "drop capabilities") : 0;
}

int serve_drop(const struct state *s, struct err *e)
{
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "set no_new_privs");
	r = lock_files(s->dirfd, e);
	return r < 0 ? r : drop_capabilities(e);
}
