/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the directory of a target that is in a work tree. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "runner/corpus/intree/intree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- resolving a path ---------------------------------------------------------------- */

enum { LINKS_MAX = 40 }; /* the kernel's limit */

/* A path that is being resolved. */
struct walk {
	char at[PATH_MAX];   /* resolved so far, without symlinks; "" is the root */
	char rest[PATH_MAX]; /* not yet resolved */
	/* The symlinks in work trees, and the tops of these work trees. */
	struct strv links, tops;
	unsigned n;
};

static void note_link(struct walk *w, const char *link)
{
	_autofree_ char *top = fs_find_above(w->at, ".git");

	if (!top)
		return;
	strv_push(&w->links, link);
	strv_push(&w->tops, top);
}

/* Puts the link's target in front of the rest. */
static int intree_choose_follow(struct walk *w, const char *link, struct err *e)
{
	char target[PATH_MAX], rest[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target) - 1);

	if (n < 0)
		return err_sys(e, "read the symlink '%s'", link);
	note_link(w, link);
	target[n] = '\0';
	if (++w->n > LINKS_MAX)
		return err_set(e, ELOOP, "'%s': too many symlinks", link);
	memcpy(rest, w->rest, sizeof(rest));
	if (strlen(target) + strlen(rest) + 2 > sizeof(w->rest))
		return err_set(e, ENAMETOOLONG, "'%s' leads to too long a path", link);
	snprintf(w->rest, sizeof(w->rest), "%.*s/%.*s", (int)strlen(target), target,
		 (int)strlen(rest), rest);
	if (*target == '/')
		w->at[0] = '\0';
	return 0;
}

/* Resolves one name. */
static int intree_choose_step(struct walk *w, const char *name, struct err *e)
{
	_autofree_ char *to = NULL;
	struct stat st;

	if (!*name || strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		*(*w->at ? strrchr(w->at, '/') : w->at) = '\0';
		return 0;
	}
	to = xasprintf("%s/%s", w->at, name);
	if (fstatat(AT_FDCWD, to, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "open '%s'", to);
	if (S_ISLNK(st.st_mode))
		return intree_choose_follow(w, to, e);
	if (strlen(to) >= sizeof(w->at))
		return err_set(e, ENAMETOOLONG, "'%s'", to);
	memcpy(w->at, to, strlen(to) + 1);
	return 0;
}

static int intree_choose_walk(struct walk *w, const char *path, struct err *e)
{
	int r = 0;

	if (*path != '/' || strlen(path) >= sizeof(w->rest))
		return err_set(e, EINVAL, "'%.200s' is no absolute path", path);
	memcpy(w->rest, path, strlen(path) + 1);
	while (r == 0 && *w->rest) {
		size_t n = strcspn(w->rest, "/");
		char name[NAME_MAX + 1];

		if (n > NAME_MAX)
			return err_set(e, ENAMETOOLONG, "'%.200s'", w->rest);
		memcpy(name, w->rest, n);
		name[n] = '\0';
		n += w->rest[n] == '/';
		memmove(w->rest, w->rest + n, strlen(w->rest + n) + 1);
		r = intree_choose_step(w, name, e);
	}
	return r;
}

static bool intree_choose_is_below(const char *path, const char *top)
{
	size_t n = strlen(top);

	return strncmp(path, top, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* Refuses a symlink that leaves its work tree.  The repository controls a symlink, so it could lead
 * to any directory of the machine.  1: it leaves the work tree; why names the symlink. */
static int leads_out(const char *dir, char why[GIT_WHY], struct err *e)
{
	_autofree_ struct walk *w = xcalloc(1, sizeof(*w));
	int r = intree_choose_walk(w, dir, e);

	for (size_t i = 0; r == 0 && i < w->tops.n; i++)
		if (!intree_choose_is_below(w->at, w->tops.v[i])) {
			snprintf(why, GIT_WHY, "the symlink '%.120s' leads out of '%.120s'",
				 w->links.v[i], w->tops.v[i]);
			r = 1;
		}
	strv_done(&w->links);
	strv_done(&w->tops);
	return r;
}

/* --- choosing --------------------------------------------------------------------------- */

/* Whether git would accept a new input there. */
static int intree_choose_is_wanted(const struct git *g, char why[GIT_WHY], struct err *e)
{
	_autofree_ char *path = xasprintf("%s%s%040d", g->prefix, *g->prefix ? "/" : "", 0);
	int r = git_ignores(g, path, e);

	if (r > 0)
		snprintf(why, GIT_WHY, "git ignores what is in it");
	return r < 0 ? r : !r;
}

/* 1: the directory's work tree is in *ret.  0: why is the reason; link: the same text if a symlink
 * is the reason. */
static int intree_choose_check(const char *dir, const struct git_limits *limits, struct git *ret,
			       char why[GIT_WHY], char link[GIT_WHY], struct err *e)
{
	struct git g;
	int r = leads_out(dir, why, e);

	if (r == 1)
		memcpy(link, why, GIT_WHY);
	if (r != 0)
		return r < 0 ? r : 0;
	r = git_open(dir, &g, why, e);
	if (r != 1)
		return r;
	r = git_limit(&g, limits, e);
	if (r == 0)
		r = intree_choose_is_wanted(&g, why, e);
	if (r == 1)
		*ret = g;
	else
		git_done(&g);
	return r;
}

int intree_choose(const struct strv *dirs, const struct git_limits *limits, struct git *ret_git,
		  size_t *ret_at, char why[GIT_WHY], char link[GIT_WHY], struct err *e)
{
	char other[GIT_WHY] = "";

	*ret_at = dirs->n;
	*why = *link = '\0';
	for (size_t i = 0; i < dirs->n; i++) {
		struct stat st;
		int r;

		if (fstatat(AT_FDCWD, dirs->v[i], &st, 0) < 0 || !S_ISDIR(st.st_mode))
			continue;
		r = intree_choose_check(dirs->v[i], limits, ret_git,
					*ret_at == dirs->n ? why : other, link, e);
		if (r != 0 || *ret_at == dirs->n)
			*ret_at = i;
		if (r != 0)
			return r;
	}
	return 0;
}
