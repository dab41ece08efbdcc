/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the work tree of a directory, and decides whether its git may be run. */
#include "base/git.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The user under which git runs: the owner of the directory that has .git, or of dir. */
static int find_owner(const char *dir, struct owner *ret, struct err *e)
{
	_autofree_ char *top = fs_find_above(dir, ".git");
	_autoclose_ int fd = -1;

	if (!top)
		return owner_open(dir, ret, &fd, e);
	return owner_open(*top ? top : "/", ret, &fd, e);
}

static const char *const inside[] = {"rev-parse", "--is-inside-work-tree", NULL};
static const char *const toplevel[] = {"rev-parse", "--show-toplevel", NULL};
static const char *const show_prefix[] = {"rev-parse", "--show-prefix", NULL};

static int has_git(const char *dir, int n, struct err *e)
{
	_autofree_ char *git = xasprintf("%.*s/.git", n, dir);
	struct stat st;

	if (fstatat(AT_FDCWD, git, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : err_sys(e, "open '%s'", git);
}

/* 1: the nearest ".git" is the one in top.
 *
 * A push can add the files of a bare repository, but no ".git".  git treats a directory with such
 * files as a repository.  Its configuration then names a work tree, and commands (filters) that git
 * runs. */
static int check_top(const struct git *g, char why[GIT_WHY], struct err *e)
{
	_autofree_ char *path = xasprintf("%s%s%s", g->top, *g->prefix ? "/" : "", g->prefix);
	size_t top = strlen(g->top), n = strlen(path);
	int r;

	while ((r = has_git(path, (int)n, e)) == 0 && n > top)
		while (--n > top && path[n] != '/')
			;
	if (r < 0 || (r == 1 && n == top))
		return r;
	snprintf(why, GIT_WHY,
		 "the work tree '%.120s' is not that of the nearest '.git': a push can bring "
		 "such a repository, and git would run what its configuration names",
		 g->top);
	return 0;
}

/* The owner of a repository's configuration chooses the commands that git executes.  git itself
 * checks the owner, unless its own configuration trusts every directory (safe.directory). */
static int check_one(const struct git *g, const char *path, struct err *e)
{
	struct rights r;
	int x = rights_of(path, &r, e);

	if (x < 0 || !r.other || (!r.mixed && r.uid == g->owner.uid))
		return x;
	return err_set(e, EPERM,
		       "'%.200s' is not of the user who owns the work tree '%.200s' (user %u): let "
		       "one user own all of it (chown)",
		       path, g->top, (unsigned)g->owner.uid);
}

static int git_open_check_repository(const struct git *g, const char *const *question,
				     struct err *e)
{
	_autofree_ char *answer = NULL;
	_autofree_ char *path = NULL;
	_autofree_ char *config = NULL;
	int r = git_ask(g, question, &answer, e);

	if (r < 0)
		return r;
	path = *answer == '/' ? xstrdup(answer) : xasprintf("%s/%s", g->top, answer);
	config = xasprintf("%s/config", path);
	r = check_one(g, path, e);
	return r < 0 ? r : check_one(g, config, e);
}

static const char *const git_dir[] = {"rev-parse", "--git-dir", NULL};
static const char *const common_dir[] = {"rev-parse", "--git-common-dir", NULL};

/* g->top is the directory itself until the top is known. */
static int find_top(struct git *g, char why[GIT_WHY], struct err *e)
{
	_autofree_ char *answer = NULL;
	_autofree_ char *top = NULL;
	size_t n;
	int r = git_ask(g, inside, &answer, e);

	if (r == -EPROTO || r == -ENOENT || r == -EACCES) { /* no repository; no git */
		snprintf(why, GIT_WHY, "%.*s", GIT_WHY - 1, e->msg);
		return 0;
	}
	if (r < 0)
		return r;
	if (strcmp(answer, "true") != 0) {
		snprintf(why, GIT_WHY, "it is in a repository, but in no work tree of it");
		return 0;
	}
	if (git_ask(g, show_prefix, &g->prefix, e) < 0 || git_ask(g, toplevel, &top, e) < 0)
		return err_code(e);
	n = strlen(g->prefix);
	if (n > 0 && g->prefix[n - 1] == '/')
		g->prefix[n - 1] = '\0';
	free(g->top);
	g->top = take_ptr(&top);
	r = check_top(g, why, e);
	if (r == 1 && (git_open_check_repository(g, git_dir, e) < 0 ||
		       git_open_check_repository(g, common_dir, e) < 0))
		return err_code(e);
	return r;
}

int git_open(const char *dir, struct git *ret, char why[GIT_WHY], struct err *e)
{
	struct git g = {0};
	int r = find_owner(dir, &g.owner, e);

	if (r < 0)
		return r;
	g.top = xstrdup(dir);
	r = find_top(&g, why, e);
	if (r == 1)
		*ret = g;
	else
		git_done(&g);
	return r;
}

static const char *const objects_path[] = {"rev-parse", "--git-path", "objects", NULL};

int git_limit(struct git *g, const struct git_limits *l, struct err *e)
{
	_autofree_ char *answer = NULL;

	if (!g->objects) {
		if (git_ask(g, objects_path, &answer, e) < 0)
			return err_code(e);
		g->objects =
		    *answer == '/' ? take_ptr(&answer) : xasprintf("%s/%s", g->top, answer);
	}
	g->group = NULL;
	return l ? l->open(l->arg, g->top, g->objects, &g->group, e) : 0;
}

void git_done(struct git *g)
{
	free(g->objects);
	free(g->top);
	free(g->prefix);
	owner_done(&g->owner);
	*g = (struct git){0};
}
