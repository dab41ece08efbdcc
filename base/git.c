/* SPDX-License-Identifier: Apache-2.0 */
#include "base/git.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/owner.h"
#include "base/proc.h"
#include "base/strv.h"
#include "base/sys.h"
#include "base/units.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

bool commit_ok(const char *text)
{
	size_t n = strspn(text, "0123456789abcdef");

	return (n == 40 || n == 64) && text[n] == '\0';
}

/* --- waiting, with the limits of a group --------------------------------------- */

/* Waits for git and checks the limits of its group (NULL: none) ten times a second.  When git
 * exceeds a limit, everything in the group is killed, and the error (-EDQUOT) names the limit. */

enum { TICK_MS = 100 };

/* On error it kills all processes of the group.  The caller reaps them. */
static int git_wait_check(const struct tool_group *group, uint64_t *io_checked, struct err *e)
{
	uint64_t now = clock_mono_us();
	struct err ignored;

	if (!group || now - *io_checked < TICK_MS * USEC_PER_MSEC)
		return 0;
	*io_checked = now;
	if (group->check(group->arg, e) == 0)
		return 0;
	(void)!group->kill(group->arg, &ignored); /* group->end() kills again */
	return err_code(e);
}

static int next_ms(const struct tool_group *group, uint64_t until_us)
{
	uint64_t now = clock_mono_us(), ms = now < until_us ? (until_us - now) / 1000 + 1 : 0;

	if (group && ms > TICK_MS)
		return TICK_MS;
	return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

/* Returns when fd is readable; -ETIMEDOUT when clock_mono_us() passes until_us.  *io_checked is the
 * time of the last check of the limits; 0 before the first check. */
static int git_wait_input(const struct tool_group *group, int fd, uint64_t until_us,
			  uint64_t *io_checked, struct err *e)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (;;) {
		int r = git_wait_check(group, io_checked, e);

		if (r < 0)
			return r;
		r = poll(&p, 1, next_ms(group, until_us)); /* allow: its callers may wait */
		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return err_sys(e, "wait for git");
		if (clock_mono_us() >= until_us)
			return err_set(e, ETIMEDOUT, "out of time");
	}
}

/* git may have ended because of a limit, or may have exceeded one since the last check. */
static int check_end(const struct tool_group *group, struct err *e)
{
	struct err ignored;
	int r = group->check(group->arg, e);

	if (r < 0)
		(void)!group->end(group->arg, &ignored); /* the owner of the group ends it, too */
	return r;
}

/* Returns when the process has ended, also with an error; *ret_ws as waitpid(2) has it. */
static int git_wait_end(const struct tool_group *group, pid_t pid, int *ret_ws, struct err *e)
{
	_autoclose_ int fd = -1;
	uint64_t checked = 0;
	struct err why;
	int ended, r = group ? proc_open(pid, &fd, e) : 0;

	if (r == 0 && group)
		r = git_wait_input(group, fd, UINT64_MAX, &checked, e);
	if (r < 0)
		(void)kill(-pid, SIGKILL); /* allow: our child, not reaped */
	while (waitpid(pid, ret_ws, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "wait for git");
	if (!group)
		return 0;
	ended = check_end(group, &why);
	if (r == 0 && ended < 0)
		*e = why;
	return r < 0 ? r : ended;
}

enum { GIT_ERRORS_MAX = 8192, ANSWER_MAX = 65536 };

/* --- a process ------------------------------------------------------------------- */

/* Passes on only the user's settings for authors of commits, and the paths of programs and files.
 */
static void git_add_env(const struct git *g, bool literal, const char *const *more,
			struct strv *env)
{
	static const char *const ours[] = {"HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL",
					   "GIT_CONFIG_SYSTEM", "EMAIL"};
	static const char *const all[] = {"PATH",
					  "TZ",
					  "GIT_CONFIG_NOSYSTEM",
					  "GIT_AUTHOR_NAME",
					  "GIT_AUTHOR_EMAIL",
					  "GIT_AUTHOR_DATE",
					  "GIT_COMMITTER_NAME",
					  "GIT_COMMITTER_EMAIL",
					  "GIT_COMMITTER_DATE"};
	const char *v;

	strv_push(env, "GIT_OPTIONAL_LOCKS=0"); /* queries take no lock on the index */
	if (literal)
		strv_push(env, "GIT_LITERAL_PATHSPECS=1");
	strv_push(env, "GIT_TERMINAL_PROMPT=0");
	strv_push(env, "LC_ALL=C");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if ((v = getenv(all[i])))
			strv_pushf(env, "%s=%s", all[i], v);
	for (size_t i = 0; !g->owner.other && i < sizeof(ours) / sizeof(ours[0]); i++)
		if ((v = getenv(ours[i])))
			strv_pushf(env, "%s=%s", ours[i], v);
	if (g->owner.other && g->owner.home)
		strv_pushf(env, "HOME=%s", g->owner.home);
	for (; more && *more; more++)
		strv_push(env, *more);
}

static void git_add_args(const struct git *g, const char *const *args, struct strv *argv)
{
	/* Files larger than 16 MiB are streamed.  A fetch writes one pack file, which
	 * git_remove_unfinished() finds after git was killed.  Nothing is packed in the background
	 * (checkout.c does it). */
	static const char *const first[] = {"git",
					    "-c",
					    "core.hooksPath=/dev/null",
					    "-c",
					    "core.fsmonitor=false",
					    "-c",
					    "core.bigFileThreshold=16m",
					    "-c",
					    "fetch.unpackLimit=1",
					    "-c",
					    "maintenance.auto=false",
					    "-c",
					    "gc.autoDetach=false",
					    "-c",
					    "submodule.recurse=false",
					    "-C"};

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		strv_push(argv, first[i]);
	strv_push(argv, g->owner.root ? "." : g->top);
	for (; *args; args++)
		strv_push(argv, *args);
}

/* The memory limit of a git process without a group: a pushed build can write a configuration as
 * large as the disk. */
static const struct rlimit own_memory = {UINT64_C(1) << 30, UINT64_C(1) << 30};

struct prepare {
	const struct tool_group *group;
	const struct owner *owner;
	int dir; /* -1: git enters the directory itself, with the rights of its user */
};

/* Runs in the child.  A change of user clears the parent-death signal, so it is set last.
 * SIGTERM lets git remove its lock files. */
static int git_prepare(void *arg)
{
	const struct prepare *p = arg;

	/* Before the change of user, because the other user may not enter the group. */
	if (p->group ? p->group->enter(p->group->arg) < 0 : setrlimit(RLIMIT_DATA, &own_memory) < 0)
		return -1;
	if (owner_become(p->owner) < 0)
		return -1;
	if (p->dir >= 0 && fchdir(p->dir) < 0) /* allow: in the child */
		return -1;
	return prctl(PR_SET_PDEATHSIG, SIGTERM);
}

/* Opens the directory where root's git starts.  No other user can change the path meanwhile. */
static int open_top(const struct git *g, int *ret_fd, struct err *e)
{
	_autoclose_ int fd = -1;
	struct owner now;
	bool root;
	int r = g->owner.root ? owner_open(g->top, &now, &fd, e) : 0;

	if (r < 0 || !g->owner.root)
		return r;
	root = now.root;
	owner_done(&now);
	if (!root)
		return err_set(e, EPERM,
			       "'%.200s' does not belong to root, but its repository does: let one "
			       "user own both (chown)",
			       g->top);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Starts "git ARGS" in top and does not wait.  more ("NAME=value") is added to git's environment.
 * in and out: descriptors of git's input and output; -1: /dev/null.  errors: descriptor of git's
 * error messages; -1: our own stderr.  The caller reaps the process. */
static int git_start(const struct git *g, const char *const *args, const char *const *more, int in,
		     int out, int errors, pid_t *ret_pid, struct err *e)
{
	_autostrv_ struct strv argv = {0};
	_autostrv_ struct strv env = {0};
	_autoclose_ int dir = -1;
	struct prepare p = {.group = g->group, .owner = &g->owner, .dir = -1};
	struct proc_spec spec = PROC_SPEC_INIT;
	int r = open_top(g, &dir, e);

	if (r < 0)
		return r;
	git_add_args(g, args, &argv);
	git_add_env(g, strcmp(args[0], "check-ignore") != 0, more, &env);
	p.dir = dir;
	spec.argv = (const char *const *)argv.v;
	spec.env = (const char *const *)env.v;
	spec.stdin_fd = in;
	spec.stdout_fd = out;
	spec.stderr_fd = errors;
	spec.prepare = git_prepare;
	spec.prepare_arg = &p;
	spec.die_with_us = true;
	return proc_spawn(&spec, ret_pid, e);
}

static int git_open_errors(int *ret_fd, struct err *e)
{
	*ret_fd = memfd_create("git", MFD_CLOEXEC);
	return *ret_fd < 0 ? err_sys(e, "make a file for git's errors") : 0;
}

/* The line with git's reason: the first line with "fatal: " or "error: " at its start, else the
 * first line. */
static void git_read_reason(int fd, char why[GIT_WHY])
{
	char text[GIT_ERRORS_MAX], shown[ESCAPE_ASCII_MAX];
	ssize_t n = sys_pread(fd, text, sizeof(text), 0);
	struct slice all = {text, n > 0 ? (size_t)n : 0}, line, best = {0};

	while (scan_line(&all, &line)) {
		bool is_reason =
		    scan_lit(&line, SLICE("fatal: ")) || scan_lit(&line, SLICE("error: "));

		if (is_reason || !best.p)
			best = line;
		if (is_reason)
			break;
	}
	snprintf(why, GIT_WHY, "%.*s", GIT_WHY - 1,
		 best.n ? escape_ascii(best, shown) : "no reason given");
}

static int git_wait_for(const struct tool_group *group, pid_t pid, const char *what, int errors,
			struct err *e)
{
	char why[GIT_WHY];
	int ws, r = git_wait_end(group, pid, &ws, e);

	if (r < 0)
		return err_wrap(e, "git %s", what);
	if (WIFEXITED(ws) && WEXITSTATUS(ws) <= 1)
		return WEXITSTATUS(ws);
	git_read_reason(errors, why);
	if (WIFSIGNALED(ws))
		return err_set(e, EPROTO, "git %s: ended by signal %d", what, WTERMSIG(ws));
	return err_set(e, EPROTO, "git %s: %s", what, why);
}

/* git closes its end of the pipe when it ends.  When sink fails, the caller closes ours, which ends
 * git. */
static int git_drain(const struct tool_group *group, int fd, git_sink *sink, void *arg,
		     struct err *e)
{
	char block[16384];
	uint64_t checked = 0;
	ssize_t n;
	int r;

	while ((r = git_wait_input(group, fd, UINT64_MAX, &checked, e)) == 0 &&
	       (n = sys_read(fd, block, sizeof(block))) != 0) {
		if (n < 0)
			return err_sys(e, "read git's output");
		r = sink(arg, (struct slice){block, (size_t)n}, e);
		if (r < 0)
			return err_wrap(e, "read git's output");
	}
	return r;
}

/* Puts git's whole input into a file in memory, so that we need not write input while we read
 * output.  *ret_fd is -1 without input. */
static int open_in(struct slice in, int *ret_fd, struct err *e)
{
	_autoclose_ int fd = -1;

	*ret_fd = -1;
	if (in.n == 0)
		return 0;
	fd = memfd_create("git", MFD_CLOEXEC);
	if (fd < 0 || sys_write_all(fd, in.p, in.n) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(e, "store git's input");
	*ret_fd = take_fd(&fd);
	return 0;
}

int git_stream(const struct git *g, const char *const *args, struct slice in, git_sink *sink,
	       void *arg, struct err *e)
{
	_autoclose_ int given = -1;
	_autoclose_ int rd = -1;
	_autoclose_ int wr = -1;
	_autoclose_ int errors = -1;
	struct err why;
	pid_t pid = 0;
	int p[2], r, ended;

	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe");
	rd = p[0];
	wr = p[1];
	if (open_in(in, &given, e) < 0 || git_open_errors(&errors, e) < 0 ||
	    git_start(g, args, NULL, given, wr, errors, &pid, e) < 0)
		return err_code(e);
	close_p(&wr);
	r = git_drain(g->group, rd, sink, arg, e);
	close_p(&rd);
	ended = git_wait_for(g->group, pid, args[0], errors, &why);
	if (r == 0 && ended < 0)
		*e = why;
	return r < 0 ? r : ended;
}

static int add_block(void *arg, struct slice block, struct err *e)
{
	if (!arg)
		return 0;
	buf_put(arg, block);
	return buf_check(arg, e);
}

int git_run(const struct git *g, const char *const *args, struct buf *out, struct err *e)
{
	return git_stream(g, args, (struct slice){0}, add_block, out, e);
}

int git_ask(const struct git *g, const char *const *args, char **ret, struct err *e)
{
	_autobuf_ struct buf out = BUF_INIT(ANSWER_MAX);
	int r = git_run(g, args, &out, e);

	if (r < 0)
		return r;
	if (out.n > 0 && out.p[out.n - 1] == '\n')
		out.p[--out.n] = '\0';
	*ret = xstrdup(buf_str(&out));
	return r;
}

int git_begin(const struct git *g, const char *const *args, struct git_writer *ret, struct err *e)
{
	_autoclose_ int rd = -1;
	_autoclose_ int wr = -1;
	_autoclose_ int errors = -1;
	int p[2];

	*ret = (struct git_writer){.in = -1, .errors = -1, .group = g->group};
	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe");
	rd = p[0];
	wr = p[1];
	if (git_open_errors(&errors, e) < 0 ||
	    git_start(g, args, NULL, rd, -1, errors, &ret->pid, e) < 0)
		return err_code(e);
	ret->in = take_fd(&wr);
	ret->errors = take_fd(&errors);
	return 0;
}

int git_writer_end(struct git_writer *w, struct err *e)
{
	int r = 0;

	if (w->pid > 0) {
		close_p(&w->in);
		r = git_wait_for(w->group, w->pid, "fast-import", w->errors, e);
		close_p(&w->errors);
		if (r == 1)
			r = err_set(e, EPROTO, "git fast-import failed");
	}
	*w = (struct git_writer){.in = -1, .errors = -1};
	return r;
}

/* --- questions --------------------------------------------------------------------- */

/* check-ignore is the only command that refuses GIT_LITERAL_PATHSPECS.  Its names are literal
 * unless they start with a colon, so "./" is put before the name. */
int git_ignores(const struct git *g, const char *path, struct err *e)
{
	_autofree_ char *plain = xasprintf("./%s", path);
	const char *const args[] = {"check-ignore", "-q", "--", plain, NULL};
	int r = git_run(g, args, NULL, e);

	return r < 0 ? r : !r;
}

int git_dirty(const struct git *g, const char *path, struct err *e)
{
	const char *const args[] = {"status", "--porcelain",	  "-z", "--ignore-submodules=all",
				    "--",     *path ? path : ".", NULL};
	_autobuf_ struct buf out = BUF_INIT((size_t)64 << 20);
	int r = git_run(g, args, &out, e);

	return r < 0 ? r : out.n > 0;
}

/* The output is "<path>\0<attribute>\0<value>\0" for each attribute. */
int git_changes(const struct git *g, const char *path, char ret[64], struct err *e)
{
	const char *const args[] = {"check-attr", "-z", "filter", "text", "--", path, NULL};
	_autobuf_ struct buf out = BUF_INIT(ANSWER_MAX);
	struct slice rest, field[3];
	int r = git_run(g, args, &out, e);

	*ret = '\0';
	if (r < 0)
		return r;
	rest = buf_slice(&out);
	while (scan_until(&rest, '\0', ANSWER_MAX, &field[0]) && scan_lit(&rest, SLICE("\0")) &&
	       scan_until(&rest, '\0', ANSWER_MAX, &field[1]) && scan_lit(&rest, SLICE("\0")) &&
	       scan_until(&rest, '\0', ANSWER_MAX, &field[2]) && scan_lit(&rest, SLICE("\0"))) {
		if (slice_eq(field[2], SLICE("unspecified")) || slice_eq(field[2], SLICE("unset")))
			continue;
		if (slice_eq(field[1], SLICE("filter")))
			snprintf(ret, 64, "filter=%.*s", (int)(field[2].n < 40 ? field[2].n : 40),
				 field[2].p);
		else if (!*ret)
			snprintf(ret, 64, "text");
	}
	return 0;
}

/* --- a command that may hang --------------------------------------------------- */

/* The grace period: after SIGTERM git removes its lock files.  Its children may ignore the signal.
 */
enum { GRACE_MS = 2000 };

/* Bytes that do not fit are discarded: the output may be hostile and of any length. */
static void add_some(struct buf *b, struct slice block)
{
	size_t room = b->max - b->n;

	if (block.n > room)
		block.n = room;
	if (block.n > 0)
		buf_put(b, block);
}

static int git_timed_drain(const struct tool_group *group, int fd, uint64_t until_us,
			   struct buf *output, struct err *e)
{
	char block[16384];
	uint64_t checked = 0;
	ssize_t n;

	for (;;) {
		int r = git_wait_input(group, fd, until_us, &checked, e);

		if (r < 0)
			return r;
		n = sys_read(fd, block, sizeof(block));
		if (n <= 0)
			return n < 0 ? err_sys(e, "read git's output") : 0;
		add_some(output, (struct slice){block, (size_t)n});
	}
}

/* Ends git and its children.  git leads their process group and is not reaped yet. */
static void git_timed_end_group(pid_t pid, int fd)
{
	uint64_t until = clock_mono_us() + GRACE_MS * USEC_PER_MSEC;
	struct buf nothing = BUF_INIT(0);
	struct err e;

	(void)kill(-pid, SIGTERM); /* allow: our child, not reaped */
	if (git_timed_drain(NULL, fd, until, &nothing, &e) < 0)
		(void)kill(-pid, SIGKILL); /* allow: our child, not reaped */
}

int git_run_timed(const struct git *g, const char *const *args, const char *const *env,
		  uint64_t limit_us, struct buf *output, struct err *e)
{
	uint64_t until = clock_mono_us() + limit_us;
	_autoclose_ int rd = -1;
	_autoclose_ int wr = -1;
	char time[UNITS_MAX];
	pid_t pid = 0;
	struct err why;
	int p[2], r, ws, ended;

	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe");
	rd = p[0];
	wr = p[1];
	r = git_start(g, args, env, -1, wr, wr, &pid, e);
	if (r < 0)
		return r;
	close_p(&wr);
	r = git_timed_drain(g->group, rd, until, output, e);
	if (r < 0)
		git_timed_end_group(pid, rd);
	ended = git_wait_end(g->group, pid, &ws, &why);
	if (r == -ETIMEDOUT)
		return err_set(e, ETIMEDOUT, "git %s was not done after %s", args[0],
			       units_time(limit_us, time));
	if (r == 0 && ended < 0)
		*e = why;
	if (r < 0 || ended < 0)
		return err_wrap(e, "git %s", args[0]);
	return WIFEXITED(ws)
		   ? WEXITSTATUS(ws)
		   : err_set(e, EPROTO, "git %s: ended by signal %d", args[0], WTERMSIG(ws));
}

/* --- the work tree ------------------------------------------------------------- */

/* Finds the work tree of a directory, and decides whether its git may be run. */

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
		 "the work tree '%.120s' is not that of the nearest '.git': a push can add "
		 "such a repository, and git would run the commands of its configuration",
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
		       "'%.200s' does not belong to the user who owns the work tree '%.200s' (user "
		       "%u): let one user own both (chown)",
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

/* --- what a killed git left ---------------------------------------------------- */

/* Removes files that a killed git process left.  git itself removes them after two weeks, or
 * never. */

/* The kernel gives a lease only on a file that no other descriptor refers to.  A file system
 * without leases leaves the file to git. */
static bool is_unused(int fd, unsigned min_age)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       time(NULL) - st.st_mtime >= (time_t)min_age && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
}

static int remove_unused(int dir, const char *name, unsigned min_age, struct err *e)
{
	_autoclose_ int fd = sys_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

	if (fd < 0 || !is_unused(fd, min_age) || sys_unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	return err_sys(e, "remove '%s', which git left", name);
}

static int git_remove_packs(const char *path, unsigned min_age, struct err *e)
{
	_autoclose_ int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	const struct dirent *d;
	int r = 0;
	DIR *dir;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open '%s'", path);
	dir = fdopendir(fd);
	if (!dir)
		return err_sys(e, "read '%s'", path);
	(void)take_fd(&fd); /* closedir() closes it */
	while (r == 0 && (d = readdir(dir)))
		if (strncmp(d->d_name, "tmp_", 4) == 0)
			r = remove_unused(dirfd(dir), d->d_name, min_age, e);
	closedir(dir);
	return r;
}

int git_remove_unfinished(const struct git *g, unsigned min_age, struct err *e)
{
	_autofree_ char *packs = xasprintf("%s/pack", g->objects);
	_autorights_ struct rights_back back = {0};
	struct rights rights;

	if (rights_of(packs, &rights, e) < 0 || rights_take(&rights, &back, e) < 0)
		return err_code(e);
	return git_remove_packs(packs, min_age, e);
}

int git_unlock(const struct git *g, struct err *e)
{
	static const char *const args[] = {"rev-parse", "--absolute-git-dir", NULL};
	_autorights_ struct rights_back back = {0};
	_autofree_ char *path = NULL;
	_autoclose_ int fd = -1;
	struct rights rights;

	if (git_ask(g, args, &path, e) < 0 || rights_of(path, &rights, e) < 0 ||
	    rights_take(&rights, &back, e) < 0)
		return err_code(e);
	fd = sys_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	return fd < 0 ? err_sys(e, "open '%s'", path) : remove_unused(fd, "index.lock", 0, e);
}
