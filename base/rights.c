/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/owner.h"
#include "base/scan.h"
#include "base/sys.h"

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

/* "nobody": who owns nothing.  Links in a path, as many as the kernel follows. */
enum { NOBODY = 65534, LINKS_MAX = 40 };

/* --- whose ------------------------------------------------------------------------ */

struct way {
	int at;		     /* the directory that was reached */
	char rest[PATH_MAX]; /* what is left to go from there */
	unsigned links;
	uid_t uid; /* the first one that is not root; 0: none so far */
	bool mixed;
	int code; /* not 0: it could not be gone, which says nothing of where it leads */
};

static void meet(struct way *w, uid_t uid)
{
	w->mixed = w->mixed || (uid != 0 && w->uid != 0 && uid != w->uid);
	if (w->uid == 0)
		w->uid = uid;
}

/* The way ends here: nothing is there, or somebody who was met already changed it just now.
 * Other errors are the machine's. */
static bool stop(struct way *w)
{
	if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != EACCES)
		w->code = errno;
	return false;
}

static bool move(struct way *w, const char *to, int flags)
{
	int fd = sys_openat(w->at, to, O_PATH | O_DIRECTORY | flags, 0);

	if (fd < 0)
		return stop(w);
	close_p(&w->at);
	w->at = fd;
	return true;
}

static bool follow(struct way *w, const char *name)
{
	char to[PATH_MAX], all[2 * PATH_MAX];
	ssize_t n = readlinkat(w->at, name, to, sizeof(to) - 1);

	if (n < 0)
		return stop(w);
	if (w->links++ == LINKS_MAX)
		return false; /* for the kernel, too */
	to[n] = '\0';
	(void)snprintf(all, sizeof(all), "%s/%s", to, w->rest);
	if (strlen(all) >= sizeof(w->rest)) {
		w->code = ENAMETOOLONG;
		return false;
	}
	memcpy(w->rest, all, strlen(all) + 1);
	return to[0] != '/' || move(w, "/", 0);
}

/* One name further. */
static bool step(struct way *w, const char *name)
{
	struct stat st;

	if (fstatat(w->at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return stop(w);
	meet(w, st.st_uid);
	if (S_ISLNK(st.st_mode))
		return follow(w, name);
	return S_ISDIR(st.st_mode) && move(w, name, O_NOFOLLOW);
}

static void go(struct way *w)
{
	bool on = true;

	while (on) {
		size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");
		char name[PATH_MAX];

		if (n == 0)
			return;
		memcpy(name, w->rest + skip, n);
		name[n] = '\0';
		memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
		on = strcmp(name, ".") == 0 || step(w, name);
	}
}

/* Their account's groups; without an account none, not even root's. */
static void fill_groups(struct rights *r)
{
	const struct passwd *pw = r->mixed ? NULL : getpwuid(r->uid);
	int n = RIGHTS_GROUPS;

	r->gid = pw ? pw->pw_gid : NOBODY;
	if (!pw)
		return;
	if (getgrouplist(pw->pw_name, pw->pw_gid, r->groups, &n) < 0)
		n = RIGHTS_GROUPS; /* there are more */
	r->n_groups = n > 0 ? (size_t)n : 0;
}

int rights_of(const char *path, struct rights *ret, struct err *e)
{
	struct way w = {.at = -1};
	char cwd[PATH_MAX] = "";
	int n;

	*ret = (struct rights){0};
	if (geteuid() != 0)
		return 0;
	if (path[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		return err_sys(e, "the working directory");
	n = snprintf(w.rest, sizeof(w.rest), "%s/%s", cwd, path);
	if (n < 0 || (size_t)n >= sizeof(w.rest))
		return err_set(e, ENAMETOOLONG, "a path of %d bytes", n);
	w.at = sys_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
	if (w.at < 0)
		return err_sys(e, "open '/'");
	go(&w);
	close_p(&w.at);
	if (w.code)
		return err_set(e, w.code, "see who owns '%.300s': %s", path, strerror(w.code));
	*ret =
	    (struct rights){.other = w.uid != 0, .mixed = w.mixed, .uid = w.mixed ? NOBODY : w.uid};
	if (ret->other)
		fill_groups(ret);
	return 0;
}

/* --- with them ---------------------------------------------------------------------- */

/* Each change of the file system's user also takes this from a process. */
struct kept {
	int death, dump;
};

static struct kept keep(void)
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

/* Nothing is changed when the groups can't be. */
static int set(uid_t uid, gid_t gid, size_t n, const gid_t *groups)
{
	struct kept k = keep();

	if (setgroups(n, groups) < 0)
		return -1;
	(void)setfsgid(gid); /* says what was before, never what failed */
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
	/* Capabilities that stay would open everything all the same (capabilities(7)). */
	if (prctl(PR_GET_SECUREBITS) & SECBIT_NO_SETUID_FIXUP)
		return err_set(e, EPERM, "take the rights of user %u: root's would stay",
			       (unsigned)r->uid);
	b.uid = (uid_t)setfsuid((uid_t)-1);
	b.gid = (gid_t)setfsgid((gid_t)-1);
	b.n_groups = getgroups(0, NULL);
	b.groups = sys_calloc((size_t)(b.n_groups > 0 ? b.n_groups : 0) + 1, sizeof(*b.groups));
	if (b.n_groups < 0 || !b.groups || getgroups(b.n_groups, b.groups) != b.n_groups) {
		free(b.groups);
		return err_set(e, ENOMEM, "remember our own groups");
	}
	if (set(r->uid, r->gid, r->n_groups, r->groups) < 0) {
		err_sys(e, "take the rights of user %u", (unsigned)r->uid);
		b.on = (uid_t)setfsuid((uid_t)-1) != b.uid || (gid_t)setfsgid((gid_t)-1) != b.gid;
		rights_give_back(&b);
		return -e->code;
	}
	*ret = b;
	return 0;
}

void rights_give_back(struct rights_back *b)
{
	int saved = errno;

	if (b->on && set(b->uid, b->gid, (size_t)b->n_groups, b->groups) < 0)
		abort(); /* allow: nobody knows as whom we would go on */
	free(b->groups);
	*b = (struct rights_back){0};
	errno = saved;
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
