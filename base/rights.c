/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/owner.h"
#include "base/sys.h"
#include "base/way.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>

/* the overflow user, which owns no files */
enum { OVERFLOW_UID = 65534 };

/* --- the user ---------------------------------------------------------------------- */

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
		       "'%.300s' leads out of the work tree of what names it: keep it in the tree, "
		       "or name it in the configuration",
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
		return err_set(e, EPERM, "take the rights of user %u: root's would stay",
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
