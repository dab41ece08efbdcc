/* SPDX-License-Identifier: Apache-2.0 */
#include "base/git.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/git_wait.h"
#include "base/memory.h"
#include "base/owner.h"
#include "base/proc.h"
#include "base/strv.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_MAX = 8192, ANSWER_MAX = 65536 };

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
	/* Files larger than 16 MiB are streamed.  A fetch writes one pack file, which git_tidy()
	 * finds after git was killed.  Nothing is packed in the background (checkout.c does it). */
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
			       "'%.200s' is not root's, but its repository is: let one user own "
			       "all of it (chown)",
			       g->top);
	*ret_fd = take_fd(&fd);
	return 0;
}

int git_start(const struct git *g, const char *const *args, const char *const *more, int in,
	      int out, int said, pid_t *ret_pid, struct err *e)
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
	spec.stderr_fd = said;
	spec.prepare = git_prepare;
	spec.prepare_arg = &p;
	spec.die_with_us = true;
	return proc_spawn(&spec, ret_pid, e);
}

static int open_said(int *ret_fd, struct err *e)
{
	*ret_fd = memfd_create("git", MFD_CLOEXEC);
	return *ret_fd < 0 ? err_sys(e, "make a file for git's errors") : 0;
}

/* The line with git's reason: the first line with "fatal: " or "error: " at its start, else the
 * first line. */
static void git_read_said(int fd, char why[GIT_WHY])
{
	char text[SAID_MAX], shown[ESCAPE_ASCII_MAX];
	ssize_t n = sys_pread(fd, text, sizeof(text), 0);
	struct slice all = {text, n > 0 ? (size_t)n : 0}, line, best = {0};

	while (scan_line(&all, &line)) {
		bool told = scan_lit(&line, SLICE("fatal: ")) || scan_lit(&line, SLICE("error: "));

		if (told || !best.p)
			best = line;
		if (told)
			break;
	}
	snprintf(why, GIT_WHY, "%.*s", GIT_WHY - 1,
		 best.n ? escape_ascii(best, shown) : "no reason given");
}

static int git_wait_for(const struct tool_group *group, pid_t pid, const char *what, int said,
			struct err *e)
{
	char why[GIT_WHY];
	int ws, r = git_wait_end(group, pid, &ws, e);

	if (r < 0)
		return err_wrap(e, "git %s", what);
	if (WIFEXITED(ws) && WEXITSTATUS(ws) <= 1)
		return WEXITSTATUS(ws);
	git_read_said(said, why);
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
	_autoclose_ int said = -1;
	struct err why;
	pid_t pid = 0;
	int p[2], r, ended;

	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe");
	rd = p[0];
	wr = p[1];
	if (open_in(in, &given, e) < 0 || open_said(&said, e) < 0 ||
	    git_start(g, args, NULL, given, wr, said, &pid, e) < 0)
		return err_code(e);
	close_p(&wr);
	r = git_drain(g->group, rd, sink, arg, e);
	close_p(&rd);
	ended = git_wait_for(g->group, pid, args[0], said, &why);
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
	_autoclose_ int said = -1;
	int p[2];

	*ret = (struct git_writer){.in = -1, .said = -1, .group = g->group};
	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe");
	rd = p[0];
	wr = p[1];
	if (open_said(&said, e) < 0 || git_start(g, args, NULL, rd, -1, said, &ret->pid, e) < 0)
		return err_code(e);
	ret->in = take_fd(&wr);
	ret->said = take_fd(&said);
	return 0;
}

int git_writer_end(struct git_writer *w, struct err *e)
{
	int r = 0;

	if (w->pid > 0) {
		close_p(&w->in);
		r = git_wait_for(w->group, w->pid, "fast-import", w->said, e);
		close_p(&w->said);
		if (r == 1)
			r = err_set(e, EPROTO, "git fast-import failed");
	}
	*w = (struct git_writer){.in = -1, .said = -1};
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
