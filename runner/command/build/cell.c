/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/build/cell.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/loop.h"
#include "base/memory.h"
#include "base/scan.h"
#include "base/sys.h"
#include "base/units.h"
#include "cells/cell.h"
#include "runner/command/common/machine.h"
#include "runner/targets/build/build.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the directories that a build sees ------------------------------------ */

/* The directories that the cell sees besides the host's root, and their paths inside. */
struct mounts {
	struct cell_mount v[CELL_MOUNTS_MAX];
	char *path[2 * CELL_MOUNTS_MAX];
	size_t n, n_paths;
};

static void mounts_done(struct mounts *s)
{
	for (size_t i = 0; i < s->n_paths; i++)
		free(s->path[i]);
}

static char *mounts_keep(struct mounts *s, char *path)
{
	if (path)
		s->path[s->n_paths++] = path;
	return path;
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Mounts the directory at the same path inside, even if a link leads to another path. */
static int add_mount(struct mounts *s, const char *path, bool writable, struct err *e)
{
	char *real;

	if (s->n == CELL_MOUNTS_MAX)
		return err_set(e, E2BIG, "more than %d directories for a cell", CELL_MOUNTS_MAX);
	real = mounts_keep(s, realpath(path, NULL)); /* allow: the configuration's, or /etc */
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

	return repository && is_below(dir, repository) ? repository : dir;
}

/* The repository of the tree may be above it.  Then the build could make a nearer one, and the
 * owner's git would execute its commands. */
static int check_above(const char *tree, struct err *e)
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
static int add_git(const char *tree, struct mounts *s, struct err *e)
{
	char *git = mounts_keep(s, xasprintf("%s/.git", tree));
	struct stat st;

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].writable && is_below(s->v[i].target, git))
			return err_set(e, EPERM,
				       "'%s' is in a repository, and the owner's git executes its "
				       "commands: no build cell may write there",
				       s->v[i].target);
	if (lstat(git, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open '%s'", git);
	if (S_ISLNK(st.st_mode))
		return err_set(
		    e, EINVAL,
		    "'%s' is a link: a build cell needs a work tree with a .git of its own", git);
	return add_mount(s, git, false, e);
}

static int add_writable(const struct builder_cell *b, const char *dir, struct mounts *s,
			struct err *e)
{
	const struct config_source *src = b->source;
	const char *tree = work_tree(b->config, dir);
	const char *out = build_output(src);
	int r = add_mount(s, tree, true, e);

	if (r == 0)
		r = check_above(tree, e);
	if (r == 0 && out && !is_below(out, tree)) {
		r = add_mount(s, out, true, e);
		if (r == -ENOENT)
			r = err_wrap(e, "a build cell makes no directory outside of its work tree");
	}
	for (size_t i = 0; r == 0 && i < src->build_writable.n; i++)
		r = add_mount(s, src->build_writable.v[i], true, e);
	return r == 0 ? add_git(tree, s, e) : r; /* last: no other mount covers it */
}

static const char *find_writable(const struct mounts *s, const char *real)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].writable && is_below(real, s->v[i].source))
			return s->v[i].source;
	return NULL;
}

/* Refuses a writable home directory: git reads the owner's configuration there, and runs the
 * commands in it. */
static int check_home(const struct tool *t, const struct mounts *s, struct err *e)
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

static int check_gitdir(const char *tree, const struct mounts *s, struct err *e)
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
static int add_host(const struct builder_cell *b, struct mounts *s, struct err *e)
{
	static const char *const network[] = {"/etc/resolv.conf",   "/etc/hosts",
					      "/etc/nsswitch.conf", "/etc/services",
					      "/etc/ssl",	    "/etc/ca-certificates"};
	int r = 0;

	if (config_rootfs(b->config))
		return 0; /* a root of its own has what the build needs */
	if (access("/opt", F_OK) == 0)
		r = add_mount(s, "/opt", false, e);
	for (size_t i = 0;
	     r == 0 && b->source->build_network && i < sizeof(network) / sizeof(network[0]); i++)
		if (access(network[i], F_OK) == 0)
			r = add_mount(s, network[i], false, e);
	return r;
}

/* A script outside of the work tree is read-only, and so are the files beside it.  Mounts of
 * directories in it come later, and cover it. */
static int add_project(const struct builder_cell *b, const char *dir, struct mounts *s,
		       struct err *e)
{
	const char *project = b->source->project_dir;

	return project && !is_below(project, work_tree(b->config, dir))
		   ? add_mount(s, project, false, e)
		   : 0;
}

/* dir: where the build starts.  -EPERM: the build could write files that programs outside of the
 * cell read (the owner's home directory, the repository). mounts_done() frees, also after a
 * failure. */
static int mounts_fill(const struct builder_cell *b, const struct tool *t, const char *dir,
		       struct mounts *ret, struct err *e)
{
	int r = add_host(b, ret, e);

	if (r == 0)
		r = add_project(b, dir, ret, e);
	if (r == 0)
		r = add_writable(b, dir, ret, e);
	if (r == 0)
		r = check_home(t, ret, e);
	if (r == 0)
		r = check_gitdir(work_tree(b->config, dir), ret, e);
	return r;
}

static bool is_in(const char *path, const char *dir, bool itself)
{
	_autofree_ char *real = realpath(dir, NULL); /* allow: of the configuration */

	return real && is_below(path, real) && (itself || strcmp(path, real) != 0);
}

static bool can_make(const struct config *c, const struct config_source *src, const char *top)
{
	const char *out = build_output(src);
	bool can =
	    is_in(top, work_tree(c, src->build_dir), false) || (out && is_in(top, out, true));

	for (size_t i = 0; !can && i < src->build_writable.n; i++)
		can = is_in(top, src->build_writable.v[i], true);
	return can;
}

int builder_check_repository(const struct config *c, const char *top, struct err *e)
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

#define TICK_US	 (100 * USEC_PER_MSEC)
#define GRACE_US (3 * USEC_PER_SEC) /* from SIGTERM to the kill of all processes */

enum { REFUSED_SHOWN = 20 };

struct building {
	const struct builder_cell *b;
	const struct tool *t;
	struct tool_end *end;
	struct loop *loop;
	struct cell_host *host;
	struct cell *cell; /* NULL: the cell has ended */
	struct source *timer, *tick, *signals[3];
	struct cell_end last;
	uint64_t logged;
	unsigned refused;
	int failed; /* -errno: why it was ended; *e has the message */
	struct err *e;
};

/* --- the user ------------------------------------------------------------------------- */

/* Root inside is the owner outside: the owner gets the files that the build makes. */
static int find_user(const struct tool *t, const char *dir, uid_t *ret_uid, gid_t *ret_gid,
		     struct err *e)
{
	const struct owner *o = t->owner;

	*ret_uid = o && o->other ? o->uid : geteuid();
	*ret_gid = o && o->other ? o->gid : getegid();
	if (*ret_uid == 0 || *ret_gid == 0)
		return err_set(
		    e, EPERM,
		    "a build cell is never root on the host, and '%s' is root's: give the work "
		    "tree to a user of its own (chown -R), or set \"build_isolation\": \"none\"",
		    dir);
	if (o && o->uid != *ret_uid)
		return err_set(
		    e, EPERM,
		    "'%s' is user %u's, and we are user %u: only root can build it in a cell", dir,
		    (unsigned)o->uid, (unsigned)*ret_uid);
	return 0;
}

static void fill_env(const struct tool *t, struct tool_env *env)
{
	static char home[] = "/tmp", name[] = "root";
	const struct owner inside = {.other = true, .name = name, .home = home};

	tool_env_fill(env, &inside, t->env);
	/* As root, tar would give files to users that the cell does not have. */
	tool_env_set(env, "TAR_OPTIONS=--no-same-owner");
	/* LeakSanitizer traces its program, which is refused: programs that configure scripts
	 * compile with AddressSanitizer would all fail. */
	tool_env_set(env, "LSAN_OPTIONS=detect_leaks=0");
}

/* --- end of the build ------------------------------------------------------------------ */

int builder_limits(const struct limit_names *names, const struct cgroup_limits *lim,
		   const struct cgroup_counters *before, const struct cgroup_counters *now,
		   struct err *e)
{
	char limit[UNITS_MAX];

	if (now->oom_kills > before->oom_kills)
		return err_set(e, EDQUOT, "%s passed its memory limit of %s (%s)", names->program,
			       units_size(lim->memory_max, limit), names->memory);
	if (now->pids_refused > before->pids_refused)
		return err_set(e, EDQUOT, "%s passed its limit of %u processes (%s)",
			       names->program, lim->pids_max, names->pids);
	return 0;
}

/* Kills the build. Keeps the first reason. */
static void end_now(struct building *g, int failed)
{
	struct err ignored;

	if (!g->failed)
		g->failed = failed;
	if (g->cell)
		(void)!cell_kill(g->cell,
				 &ignored); /* build_cell_on_ended() notes processes that stay */
}

static void end_politely(struct building *g, int failed)
{
	struct err ignored;

	g->failed = failed;
	if (!g->cell || cell_signal(g->cell, SIGTERM, &ignored) < 0 ||
	    loop_set_timer(g->timer, clock_mono_us() + GRACE_US, &ignored) < 0)
		end_now(g, failed);
}

static void build_cell_on_timer(void *arg)
{
	struct building *g = arg;
	char time[UNITS_MAX];

	if (g->failed)
		end_now(g, g->failed);
	else
		end_politely(g, err_set(g->e, ETIMEDOUT, "took more than %s",
					units_time(g->t->time_us, time)));
}

static void build_cell_on_signal(void *arg, int signo)
{
	struct building *g = arg;

	if (g->failed) { /* a second signal: kill at once */
		end_now(g, g->failed);
		return;
	}
	g->end->signo = signo;
	end_politely(g, err_set(g->e, EINTR, "stopped by signal %d", signo));
}

static int build_cell_check(const struct building *g, struct err *e)
{
	static const struct cgroup_counters none;
	struct cgroup_counters now;
	int r = cell_read(g->cell, &now, e);

	if (r == 0)
		r = builder_limits(g->b->file_limits->names, g->b->limits, &none, &now, e);
	return r < 0 ? r : limits_check(g->b->file_limits, now.mem_now, e);
}

static void build_cell_on_tick(void *arg)
{
	struct building *g = arg;
	struct err why;

	if (!g->cell)
		return;
	if ((!g->failed && build_cell_check(g, &why) < 0) ||
	    loop_set_timer(g->tick, clock_mono_us() + TICK_US, &why) < 0) {
		if (!g->failed)
			*g->e = why;
		end_now(g, -g->e->code);
	}
}

/* --- output ----------------------------------------------------------------------------- */

static void build_cell_on_output(void *arg, struct slice bytes)
{
	struct building *g = arg;

	tool_take(g->t, g->end, &g->logged, bytes);
}

static void build_cell_on_refused(void *arg, const char *name)
{
	struct building *g = arg;
	char line[120];

	if (g->refused++ >= REFUSED_SHOWN)
		return;
	snprintf(line, sizeof(line), "fuzzcell: refused the system call %.60s\n", name);
	tool_take(g->t, g->end, &g->logged, slice_of(line));
}

static void build_cell_on_ended(void *arg, const struct cell_end *end)
{
	struct building *g = arg;

	g->cell = NULL;
	g->last = *end;
	loop_stop(g->loop);
}

/* --- start -------------------------------------------------------------------------------- */

static int open_host(struct building *g, const char *dir, struct err *e)
{
	const struct cell_host_opts o = {.profile = g->b->source->build_network ? CELL_BUILD_NETWORK
										: CELL_BUILD,
					 .loop = g->loop,
					 .tree = g->b->tree,
					 .runtime_dir = dir,
					 .crun = config_crun(g->b->config),
					 .best_effort = config_best_effort(g->b->config),
					 .output_bytes_per_s = UINT64_C(64) << 20};

	return cell_host_new(&o, &g->host, e);
}

static int build_cell_watch(struct building *g, struct err *e)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	uint64_t now = clock_mono_us(), at = g->t->time_us ? now + g->t->time_us : UINT64_MAX;
	int r = loop_add_timer(g->loop, at, build_cell_on_timer, g, &g->timer, e);

	if (r == 0)
		r = loop_add_timer(g->loop, now + TICK_US, build_cell_on_tick, g, &g->tick, e);
	for (size_t i = 0; r == 0 && i < sizeof(ends) / sizeof(ends[0]); i++)
		r = loop_add_signal(g->loop, ends[i], build_cell_on_signal, g, &g->signals[i], e);
	return r;
}

static int build_cell_start(struct building *g, const char *dir, struct err *e)
{
	static const struct cell_ops ops = {.output = build_cell_on_output,
					    .refused = build_cell_on_refused,
					    .ended = build_cell_on_ended};
	CLEANUP(mounts_done) struct mounts see = {.n = 0};
	CLEANUP(tool_env_done) struct tool_env env = {.n = 0};
	struct cell_spec spec = {.id = "build",
				 .argv = g->t->argv,
				 .cwd = dir,
				 .rootfs = config_rootfs(g->b->config),
				 .mounts = see.v,
				 .tmp_bytes = g->b->limits->memory_max / 2,
				 .limits = *g->b->limits};
	int r = find_user(g->t, dir, &spec.uid, &spec.gid, e);

	if (r == 0)
		r = mounts_fill(g->b, g->t, dir, &see, e);
	if (r < 0)
		return r;
	fill_env(g->t, &env);
	spec.n_mounts = see.n;
	spec.env = (const char *const *)env.v;
	return cell_start(g->host, &spec, &ops, g, &g->cell, e);
}

static void build_cell_stop(struct building *g)
{
	for (size_t i = 0; i < sizeof(g->signals) / sizeof(g->signals[0]); i++)
		source_remove(g->signals[i]);
	source_remove(g->timer);
	source_remove(g->tick);
	if (g->cell) /* the loop failed: the tree's keeper kills the cell */
		end_now(g, -EIO);
	cell_host_free(g->host);
	loop_free(g->loop);
}

static int build_cell_judge(struct building *g, struct err *e)
{
	static const struct cgroup_counters none;
	const struct cell_end *c = &g->last;

	g->end->status = c->how == CELL_SIGNALED ? c->code : c->code << 8;
	if (*c->why && c->how != CELL_NOT_STARTED)
		return err_set(e, EBUSY, "%s", c->why);
	if (g->failed)
		return g->failed;
	if (builder_limits(g->b->file_limits->names, g->b->limits, &none, &c->last, e) < 0)
		return err_code(e);
	return c->how == CELL_NOT_STARTED ? err_set(e, ENOEXEC, "%s", c->why) : 0;
}

static int run(struct building *g, const char *dir, struct err *e)
{
	_autofree_ char *runtime = NULL;
	int r = machine_runtime_dir(g->b->instance, &runtime, e);

	if (r == 0)
		r = loop_new(&g->loop, e);
	if (r == 0)
		r = open_host(g, runtime, e);
	if (r == 0)
		r = build_cell_watch(g, e);
	if (r == 0)
		r = build_cell_start(g, dir, e);
	if (r == 0)
		r = loop_run(g->loop, e);
	return r < 0 ? r : build_cell_judge(g, e);
}

int builder_cell_run(const struct builder_cell *b, const struct tool *t, struct tool_end *ret,
		     struct err *e)
{
	struct building g = {.b = b, .t = t, .end = ret, .e = e};
	uint64_t began = clock_mono_us();
	sigset_t before;
	int r;

	*ret = (struct tool_end){0};
	if (sigprocmask(SIG_SETMASK, NULL, &before) < 0)
		return err_sys(e, "read the signal mask");
	r = run(&g, b->source->build_dir, e);
	build_cell_stop(&g);
	ret->us = clock_mono_us() - began;
	(void)sigprocmask(SIG_SETMASK, &before, NULL); /* cannot fail: the mask was ours */
	return r < 0 ? err_wrap(e, "%s", t->argv[0]) : 0;
}
