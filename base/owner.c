/* SPDX-License-Identifier: Apache-2.0 */
#include "base/owner.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GROUPS_MAX = 1024, SHOWN_MAX = 48 };

/* --- the owner -------------------------------------------------------------------- */

/* Writes "user 1000 (alice)". */
static const char *owner_show(uid_t uid, char out[SHOWN_MAX])
{
	const struct passwd *pw = getpwuid(uid);

	(void)snprintf(out, SHOWN_MAX, pw ? "user %u (%.24s)" : "user %u", (unsigned)uid,
		       pw ? pw->pw_name : "");
	return out;
}

static int owner_refuse(const char *path, const struct way *w, struct err *e)
{
	char one[SHOWN_MAX], two[SHOWN_MAX];

	owner_show(w->owners[0].uid, one);
	if (w->n_owners > 1)
		return err_set(e, EPERM,
			       "'%s' is of %s and '%s' of %s: nothing is run in '%.100s', which "
			       "both can exchange: let one user own all of the way there (chown)",
			       w->owners[0].path, one, w->owners[1].path,
			       owner_show(w->owners[1].uid, two), path);
	return err_set(
	    e, EPERM,
	    "'%s' is of %s, and what it leads to is of %s: nothing is run in '%.100s' as "
	    "a user who did not choose it: let one user own all of the way there "
	    "(chown)",
	    w->owners[0].path, one, owner_show(w->st.st_uid, two), path);
}

static bool owner_in_group(const struct passwd *pw, gid_t gid)
{
	gid_t groups[GROUPS_MAX];
	int n = GROUPS_MAX;

	if (getgrouplist(pw->pw_name, pw->pw_gid, groups, &n) < 0)
		n = GROUPS_MAX; /* there are more */
	for (int i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

/* The group of the new user is a group of its account.  The directory's group counts only when the
 * account is a member: the directory may have inherited it from another user's directory.  Without
 * an account it counts only when the machine has no group of that number. */
static void become_account(struct owner *o, const struct stat *st)
{
	const struct passwd *pw = getpwuid(o->uid);

	if (!pw) {
		o->gid = o->group =
		    st->st_gid != 0 && !getgrgid(st->st_gid) ? st->st_gid : OWNER_NOGROUP;
		return;
	}
	o->gid = o->group = pw->pw_gid;
	if (st->st_gid != 0 && owner_in_group(pw, st->st_gid))
		o->group = st->st_gid;
	o->name = xstrdup(pw->pw_name);
	o->home = xstrdup(pw->pw_dir);
}

static int owner_decide(const char *path, const struct way *w, struct owner *ret, struct err *e)
{
	struct owner o = {.uid = w->st.st_uid, .gid = w->st.st_gid, .group = w->st.st_gid};

	if (w->n_owners > 1 || (w->n_owners == 1 && w->owners[0].uid != w->st.st_uid))
		return owner_refuse(path, w, e);
	o.other = w->st.st_uid != 0;
	o.root = !o.other;
	if (o.other)
		become_account(&o, &w->st);
	else
		memcpy(o.writable, w->writable, sizeof(o.writable));
	*ret = o;
	return 0;
}

static int open_as_root(const char *path, struct owner *ret, int *ret_fd, struct err *e)
{
	struct way w;
	int r = way_walk(path, &w, e);

	if (r < 0)
		return r;
	if (w.fd < 0)
		return err_set(e, w.code, "open directory '%s': %s", path, strerror(w.code));
	if (!S_ISDIR(w.st.st_mode))
		r = err_set(e, ENOTDIR, "open directory '%s': %s", path, strerror(ENOTDIR));
	else
		r = owner_decide(path, &w, ret, e);
	if (r == 0)
		*ret_fd = take_fd(&w.fd);
	way_done(&w);
	return r;
}

int owner_open(const char *path, struct owner *ret, int *ret_fd, struct err *e)
{
	_autoclose_ int fd = -1;
	struct stat st;

	if (geteuid() == 0)
		return open_as_root(path, ret, ret_fd, e);
	fd = sys_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open directory '%s'", path);
	*ret = (struct owner){.uid = st.st_uid, .gid = st.st_gid, .group = st.st_gid};
	*ret_fd = take_fd(&fd);
	return 0;
}

void owner_done(struct owner *o)
{
	free(o->name);
	free(o->home);
	*o = (struct owner){0};
}

/* --- becoming the owner ----------------------------------------------------------- */

/* A process that shares our terminal could type into it (TIOCSTI), and root's shell would read the
 * input. */
static void leave_terminal(void)
{
	int fd = sys_openat(AT_FDCWD, "/dev/tty", O_RDWR | O_NOCTTY, 0);

	if (fd < 0) /* there is no terminal */
		return;
	(void)ioctl(fd, TIOCNOTTY); /* no error when we do not lead its session */
	close(fd);
}

/* A process that inherits a session keyring can use all keys in it, whatever their owner.  A
 * machine without keys, or with a filter that refuses them, refuses them to our children, too. */
static int leave_keyring(void)
{
	return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS &&
		       errno != EPERM
		   ? -1
		   : 0;
}

int owner_become(const struct owner *o)
{
	if (!o->other)
		return 0;
	leave_terminal();
	/* Not the C library's calls: those change all threads of the process, and between vfork(2)
	 * and the execution of the program its list of threads is our parent's. */
	if (syscall(SYS_setgroups, 1, &o->group) < 0 ||
	    syscall(SYS_setresgid, o->gid, o->gid, o->gid) < 0 ||
	    syscall(SYS_setresuid, o->uid, o->uid, o->uid) < 0)
		return -1;
	return leave_keyring(); /* the new keyring counts against the owner's quota */
}
