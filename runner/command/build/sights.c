/* SPDX-License-Identifier: Apache-2.0 */
/* The directories that a build cell sees besides the host's root. */
#include "runner/command/build/sights.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/scan.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void sights_done(struct sights *s)
{
	for (size_t i = 0; i < s->n_paths; i++)
		free(s->path[i]);
}

static char *sights_keep(struct sights *s, char *path)
{
	if (path)
		s->path[s->n_paths++] = path;
	return path;
}

static bool build_sights_is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Mounts the directory at the same path inside, even if a link leads to another path. */
static int add_sight(struct sights *s, const char *path, bool writable, struct err *e)
{
	char *real;

	if (s->n == CELL_MOUNTS_MAX)
		return err_set(e, E2BIG, "more than %d directories for a cell", CELL_MOUNTS_MAX);
	real = sights_keep(s, realpath(path, NULL)); /* allow: the configuration's, or /etc */
	if (!real)
		return err_sys(e, "open '%s'", path);
	/* A push can turn a directory of its tree into a link to any other directory. */
	if (writable && strcmp(real, path) != 0)
		return err_set(
		    e, EINVAL,
		    "'%s' leads to '%s': a build cell follows no links, configure the path "
		    "without them",
		    path, real);
	s->v[s->n++] =
	    (struct cell_mount){.source = real, .target = path, .writable = writable, .exec = true};
	return 0;
}

/* The work tree that holds the build's directory.  A push can turn a directory into a link, so
 * only the work tree itself is opened outside of the cell. */
static const char *work_tree(const struct config *c, const char *dir)
{
	const char *repository = config_trigger(c)->repository;

	return repository && build_sights_is_below(dir, repository) ? repository : dir;
}

/* The repository of the tree may be above it.  Then the build could make a nearer one, and the
 * owner's git would execute its commands. */
static int build_sights_check_above(const char *tree, struct err *e)
{
	_autofree_ char *top = fs_find_above(tree, ".git");

	if (!top || strcmp(top, tree) == 0)
		return 0;
	return err_set(
	    e, EPERM,
	    "'%s' is in the repository of '%s': a build cell takes a whole work tree; name "
	    "its top as trigger.repository, or as build_dir",
	    tree, *top ? top : "/");
}

/* .git is read-only: the owner's git later executes hooks and commands from it, outside of the
 * cell.  A mount point cannot be moved away. */
static int add_git(const char *tree, struct sights *s, struct err *e)
{
	char *git = sights_keep(s, xasprintf("%s/.git", tree));
	struct stat st;

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].writable && build_sights_is_below(s->v[i].target, git))
			return err_set(e, EPERM,
				       "'%s' is in a repository, and the owner's git executes its "
				       "commands: no build cell may write there",
				       s->v[i].target);
	if (lstat(git, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open '%s'", git);
	if (S_ISLNK(st.st_mode))
		return err_set(e, EINVAL, "'%s' is a link: a build cell takes a work tree's own",
			       git);
	return add_sight(s, git, false, e);
}

static int add_writable(const struct builder_cell *b, const char *dir, struct sights *s,
			struct err *e)
{
	const struct config_source *src = b->source;
	const char *tree = work_tree(b->config, dir);
	int r = add_sight(s, tree, true, e);

	if (r == 0)
		r = build_sights_check_above(tree, e);
	if (r == 0 && strcmp(src->type, "directory") == 0 &&
	    !build_sights_is_below(src->path, tree)) {
		r = add_sight(s, src->path, true, e);
		if (r == -ENOENT)
			r = err_wrap(e, "outside of its work tree a build cell makes no directory");
	}
	for (size_t i = 0; r == 0 && i < src->build_writable.n; i++)
		r = add_sight(s, src->build_writable.v[i], true, e);
	return r == 0 ? add_git(tree, s, e) : r; /* last: no other mount covers it */
}

static const char *find_writable(const struct sights *s, const char *real)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].writable && build_sights_is_below(real, s->v[i].source))
			return s->v[i].source;
	return NULL;
}

/* Refuses a writable home directory: git reads the owner's configuration there, and runs the
 * commands in it. */
static int check_home(const struct tool *t, const struct sights *s, struct err *e)
{
	const struct owner *o = t->owner;
	const char *home = o && o->other ? o->home : getenv("HOME");
	/* allow: an account's, or our own */
	_autofree_ char *real = home ? realpath(home, NULL) : NULL;
	const char *in = real ? find_writable(s, real) : NULL;

	return in ? err_set(e, EPERM,
			    "'%s' holds the home directory of its owner ('%s'): a build cell would "
			    "write the configuration of git and of shells there; give the owner "
			    "another home directory (usermod --home)",
			    in, real)
		  : 0;
}

/* Finds the repository of a work tree that has a file as .git. */
static int read_gitdir(const char *tree, char **ret, struct err *e)
{
	_autofree_ char *git = xasprintf("%s/.git", tree);
	_autofree_ char *path = NULL;
	char text[PATH_MAX + 16];
	_autoclose_ int fd = -1;
	struct slice at, to;
	ssize_t n;

	*ret = NULL;
	fd = sys_openat(AT_FDCWD, git, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open '%s'", git);
	n = sys_pread(fd, text, sizeof(text), 0);
	if (n < 0)
		return errno == EISDIR ? 0 : err_sys(e, "read '%s'", git);
	at = (struct slice){text, (size_t)n};
	if (!scan_lit(&at, SLICE("gitdir: ")) || !scan_line(&at, &to) || to.n >= PATH_MAX)
		return err_set(e, EINVAL, "'%s' names no repository", git);
	path = *to.p == '/' ? xstrndup(to.p, to.n) : xasprintf("%s/%.*s", tree, (int)to.n, to.p);
	*ret = realpath(path, NULL); /* allow: a push cannot change .git */
	return *ret ? 0 : err_sys(e, "open '%s'", path);
}

static int check_gitdir(const char *tree, const struct sights *s, struct err *e)
{
	_autofree_ char *real = NULL;
	int r = read_gitdir(tree, &real, e);
	const char *in = r == 0 && real ? find_writable(s, real) : NULL;

	return in ? err_set(e, EPERM,
			    "the repository '%s' is in '%s', which a build cell can write: move it "
			    "out of there (git init --separate-git-dir)",
			    real, in)
		  : r;
}

/* Adds the directories of the list that the host has. */
static int add_host(const struct builder_cell *b, struct sights *s, struct err *e)
{
	static const char *const network[] = {"/etc/resolv.conf",   "/etc/hosts",
					      "/etc/nsswitch.conf", "/etc/services",
					      "/etc/ssl",	    "/etc/ca-certificates"};
	int r = 0;

	if (config_rootfs(b->config))
		return 0; /* a root of its own has what the build needs */
	if (access("/opt", F_OK) == 0)
		r = add_sight(s, "/opt", false, e);
	for (size_t i = 0;
	     r == 0 && b->source->build_network && i < sizeof(network) / sizeof(network[0]); i++)
		if (access(network[i], F_OK) == 0)
			r = add_sight(s, network[i], false, e);
	return r;
}

int sights_fill(const struct builder_cell *b, const struct tool *t, const char *dir,
		struct sights *ret, struct err *e)
{
	int r = add_host(b, ret, e);

	if (r == 0)
		r = add_writable(b, dir, ret, e);
	if (r == 0)
		r = check_home(t, ret, e);
	if (r == 0)
		r = check_gitdir(work_tree(b->config, dir), ret, e);
	return r;
}

static bool build_sights_is_in(const char *path, const char *dir, bool itself)
{
	_autofree_ char *real = realpath(dir, NULL); /* allow: of the configuration */

	return real && build_sights_is_below(path, real) && (itself || strcmp(path, real) != 0);
}

static bool can_make(const struct config *c, const struct config_source *src, const char *top)
{
	bool can =
	    build_sights_is_in(top, work_tree(c, src->build_dir), false) ||
	    (strcmp(src->type, "directory") == 0 && build_sights_is_in(top, src->path, true));

	for (size_t i = 0; !can && i < src->build_writable.n; i++)
		can = build_sights_is_in(top, src->build_writable.v[i], true);
	return can;
}

int sights_check_repository(const struct config *c, const char *top, struct err *e)
{
	size_t n;
	const struct config_source *v = config_sources(c, &n);

	for (size_t i = 0; i < n; i++)
		if (v[i].build_isolation == ISOLATION_CELL && v[i].build_dir &&
		    can_make(c, &v[i], top))
			return err_set(e, EPERM,
				       "the repository of '%.200s' is in a directory that a build "
				       "cell can write: git would run commands that the build "
				       "names there",
				       top);
	return 0;
}
