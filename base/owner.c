/* SPDX-License-Identifier: Apache-2.0 */
#include "base/owner.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/way.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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
		return err_set(
		    e, EPERM,
		    "cannot run programs in '%.100s', which two users can exchange: '%s' "
		    "belongs to %s and '%s' to %s: let one user own the whole path "
		    "(chown)",
		    path, w->owners[0].path, one, w->owners[1].path,
		    owner_show(w->owners[1].uid, two));
	return err_set(
	    e, EPERM,
	    "cannot run programs in '%.100s': '%s' belongs to %s, and leads to a directory of %s: "
	    "let one user own the whole path (chown)",
	    path, w->owners[0].path, one, owner_show(w->st.st_uid, two));
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

/* the overflow user, which owns no files */
enum { OVERFLOW_UID = 65534 };

/* --- the rights of a user ----------------------------------------------------------- */

/* Adds the groups of the user's account.  Without an account there are none, not even root's. */
static void fill_groups(struct rights *r)
{
	const struct passwd *pw = r->mixed ? NULL : getpwuid(r->uid);
	int n = RIGHTS_GROUPS;

	r->gid = pw ? pw->pw_gid : OVERFLOW_UID;
	if (!pw)
		return;
	if (getgrouplist(pw->pw_name, pw->pw_gid, r->groups, &n) < 0)
		n = RIGHTS_GROUPS; /* there are more */
	r->n_groups = n > 0 ? (size_t)n : 0;
}

int rights_of(const char *path, struct rights *ret, struct err *e)
{
	struct way w;
	int r;

	*ret = (struct rights){0};
	if (geteuid() != 0)
		return 0;
	r = way_walk(path, &w, e);
	if (r < 0)
		return r;
	ret->other = w.n_owners > 0;
	ret->mixed = w.n_owners > 1;
	ret->uid = ret->mixed ? OVERFLOW_UID : ret->other ? w.owners[0].uid : 0;
	way_done(&w);
	if (ret->other)
		fill_groups(ret);
	return 0;
}

/* Whether fd is in the namer's tree: compares the directories of its current path. */
static int is_within(int fd, const struct rights *namer, struct err *e)
{
	char self[40], at[PATH_MAX];
	ssize_t n;

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, at, sizeof(at) - 1);
	if (n <= 0 || at[0] != '/')
		return n < 0 ? err_sys(e, "read '%s'", self) : 0;
	at[n] = '\0';
	for (char *slash = at + n; slash; slash = strrchr(at, '/')) {
		struct stat st;

		*slash = '\0';
		if (fstatat(AT_FDCWD, *at ? at : "/", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_dev == namer->tree_dev && st.st_ino == namer->tree_ino)
			return 1;
	}
	return 0;
}

/* A path that leads nowhere is no error here: opening it fails. */
static int rights_check_tree(const struct rights *namer, const char *path, struct err *e)
{
	struct way w;
	int r;

	if (!namer || !namer->tree_ino)
		return 0;
	r = way_walk(path, &w, e);
	if (r < 0)
		return r;
	r = w.fd < 0 ? 1 : is_within(w.fd, namer, e);
	way_done(&w);
	if (r != 0)
		return r < 0 ? r : 0;
	return err_set(e, EXDEV,
		       "'%.300s' leads out of the work tree in which it is named: keep it in the "
		       "tree, or name it in the configuration",
		       path);
}

int rights_of_named(const struct rights *namer, const char *path, struct rights *ret, struct err *e)
{
	struct rights there;

	if (rights_check_tree(namer, path, e) < 0 || rights_of(path, &there, e) < 0)
		return err_code(e);
	if (!namer || !namer->other) {
		*ret = there;
	} else if (!there.other || (!there.mixed && there.uid == namer->uid)) {
		*ret = *namer;
	} else {
		*ret = (struct rights){.other = true, .mixed = true, .uid = OVERFLOW_UID};
		fill_groups(ret);
	}
	return 0;
}

int rights_set_tree(struct rights *io, const char *top, struct err *e)
{
	struct stat st;

	if (fstatat(AT_FDCWD, *top ? top : "/", &st, 0) < 0)
		return err_sys(e, "stat the work tree '%s'", top);
	io->tree_dev = st.st_dev;
	io->tree_ino = st.st_ino;
	return 0;
}

int rights_of_configured(const char *path, struct rights *ret, struct err *e)
{
	_autofree_ char *top = fs_find_above(path, ".git");
	struct rights namer = {0};

	if (top && rights_set_tree(&namer, top, e) < 0)
		return err_code(e);
	return rights_of_named(&namer, path, ret, e);
}

/* --- using the rights --------------------------------------------------------------- */

/* Attributes that each setfsuid(2) resets, and that are restored after it. */
struct kept {
	int death, dump;
};

static struct kept rights_keep(void)
{
	struct kept k = {0, prctl(PR_GET_DUMPABLE)};

	(void)prctl(PR_GET_PDEATHSIG, &k.death); /* allow: it has no error but a bad address */
	return k;
}

static void keep_on(const struct kept *k)
{
	(void)prctl(PR_SET_PDEATHSIG, k->death); /* allow: it was valid before */
	if (k->dump == 0 || k->dump == 1)
		(void)prctl(PR_SET_DUMPABLE, k->dump); /* allow: likewise */
}

/* Changes nothing when the groups cannot be set. */
static int rights_set(uid_t uid, gid_t gid, size_t n, const gid_t *groups)
{
	struct kept k = rights_keep();

	if (setgroups(n, groups) < 0)
		return -1;
	(void)setfsgid(gid); /* returns the old group, never an error */
	(void)setfsuid(uid);
	keep_on(&k);
	errno = EPERM;
	return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid ? 0 : -1;
}

int rights_take(const struct rights *r, struct rights_back *ret, struct err *e)
{
	struct rights_back b = {.on = true};

	*ret = (struct rights_back){0};
	if (!r || !r->other)
		return 0;
	/* With this bit the capabilities stay, and would still open everything (capabilities(7)).
	 */
	if (prctl(PR_GET_SECUREBITS) & SECBIT_NO_SETUID_FIXUP)
		return err_set(e, EPERM,
			       "take the rights of user %u: root's capabilities would stay",
			       (unsigned)r->uid);
	b.uid = (uid_t)setfsuid((uid_t)-1);
	b.gid = (gid_t)setfsgid((gid_t)-1);
	b.n_groups = getgroups(0, NULL);
	b.groups = xcalloc((size_t)(b.n_groups > 0 ? b.n_groups : 0) + 1, sizeof(*b.groups));
	if (b.n_groups < 0 || getgroups(b.n_groups, b.groups) != b.n_groups) {
		free(b.groups);
		return err_set(e, EIO, "remember our own groups");
	}
	if (rights_set(r->uid, r->gid, r->n_groups, r->groups) < 0) {
		err_sys(e, "take the rights of user %u", (unsigned)r->uid);
		b.on = (uid_t)setfsuid((uid_t)-1) != b.uid || (gid_t)setfsgid((gid_t)-1) != b.gid;
		rights_give_back(&b);
		return err_code(e);
	}
	*ret = b;
	return 0;
}

void rights_give_back(struct rights_back *b)
{
	int saved = errno;

	if (b->on && rights_set(b->uid, b->gid, (size_t)b->n_groups, b->groups) < 0)
		abort(); /* allow: we would continue with unknown rights */
	free(b->groups);
	*b = (struct rights_back){0};
	errno = saved;
}

int rights_open_named(const struct rights *namer, const char *path, int flags)
{
	struct rights r;
	struct err e;

	if ((uid_t)setfsuid((uid_t)-1) != geteuid())
		return sys_openat(AT_FDCWD, path, flags, 0);
	if (rights_of_named(namer, path, &r, &e) == 0)
		return rights_open(&r, AT_FDCWD, path, flags);
	errno = e.code;
	return -1;
}

int rights_open(const struct rights *r, int at, const char *path, int flags)
{
	_autorights_ struct rights_back back = {0};
	struct err e;

	if (rights_take(r, &back, &e) < 0) {
		errno = e.code;
		return -1;
	}
	return sys_openat(at, path, flags, 0);
}
