/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tool.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/memory.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { BLOCK = 65536, BLOCKS_AT_END = 32 };

/* The period of the group's checks.  The limit for each period bounds the cost of reading a flood
 * of output. */
#define TICK_US (100 * USEC_PER_MSEC)
enum { OUTPUT_PER_TICK = (64 << 20) / 10 };

/* The signals that end a tool without a group.  Bazel's client passes SIGTERM on to its server; at
 * the third SIGINT it kills the server. */
static const struct {
	int signo;
	uint64_t wait_us; /* before the next one */
} ladder[] = {
    {SIGTERM, 10 * USEC_PER_SEC}, {SIGINT, USEC_PER_SEC}, {SIGINT, USEC_PER_SEC},
    {SIGINT, USEC_PER_SEC},	  {SIGKILL, 0},
};
enum { STEPS = sizeof(ladder) / sizeof(ladder[0]) };
/* A tool with a group gets SIGTERM.  After this grace period everything in the group is killed. */
#define GROUP_WAIT_US (3 * USEC_PER_SEC)

struct running {
	const struct tool *t;
	struct tool_end *end;
	struct loop *loop;
	struct source *io[2], *child, *timer, *tick, *signals[3];
	int fds[2]; /* its output, its errors */
	pid_t pid;  /* 0: not started, or reaped */
	size_t step;
	uint64_t logged;
	size_t in_tick; /* bytes of its output read since the last tick */
	int failed;	/* -errno: the reason why we ended it */
	struct err *e;
};

/* --- the environment ----------------------------------------------------------- */

void tool_env_done(struct tool_env *env)
{
	for (size_t i = 0; i < env->n; i++)
		free(env->v[i]);
}

static void env_add(struct tool_env *env, const char *name, const char *value)
{
	assert(env->n < TOOL_ENV_MAX - TOOL_ENV_MORE - 1);
	if (value)
		env->v[env->n++] = xasprintf("%s=%s", name, value);
}

void tool_env_set(struct tool_env *env, const char *setting)
{
	size_t name = strcspn(setting, "=") + 1, i = 0;

	while (i < env->n && strncmp(env->v[i], setting, name) != 0)
		i++;
	assert(i < TOOL_ENV_MAX - 1);
	if (i < env->n)
		free(env->v[i]);
	else
		env->n++;
	env->v[i] = xstrdup(setting);
}

static void env_add_owner(struct tool_env *env, const struct owner *o)
{
	static const char *const ours[] = {
	    "HOME",	  "USER",   "LOGNAME", "TMPDIR",    "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
	    "CCACHE_DIR", "GOPATH", "GOCACHE", "GOMODCACHE"};

	if (o && o->other) {
		env_add(env, "HOME", o->home);
		env_add(env, "USER", o->name);
		env_add(env, "LOGNAME", o->name);
		return;
	}
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		env_add(env, ours[i], getenv(ours[i]));
}

void tool_env_fill(struct tool_env *env, const struct owner *o, const struct strv *more)
{
	static const char *const all[] = {"PATH",
					  "LANG",
					  "LC_ALL",
					  "TERM",
					  "TZ",
					  "CC",
					  "CXX",
					  "CPP",
					  "AR",
					  "LD",
					  "CFLAGS",
					  "CXXFLAGS",
					  "CPPFLAGS",
					  "LDFLAGS",
					  "MAKEFLAGS",
					  "JAVA_HOME",
					  "USE_BAZEL_VERSION",
					  "BAZELISK_HOME",
					  "GOFLAGS",
					  "GOPROXY",
					  "GOTOOLCHAIN",
					  "http_proxy",
					  "https_proxy",
					  "no_proxy",
					  "SSL_CERT_FILE"};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		env_add(env, all[i], getenv(all[i]));
	env_add_owner(env, o);
	for (size_t i = 0; more && i < more->n; i++)
		tool_env_set(env, more->v[i]);
}

/* --- its end ------------------------------------------------------------------------- */

static void signal_group(const struct running *r, int signo)
{
	if (r->pid > 0)
		(void)kill(-r->pid, signo); /* allow: its leader is not reaped */
}

/* Kills all of its processes at once, also those that left its process group. */
static void tool_kill_all(struct running *r)
{
	struct err ignored;

	r->step = STEPS;
	signal_group(r, SIGKILL);
	if (r->t->group)
		(void)!r->t->group->kill(r->t->group->arg, &ignored); /* tool_run() repeats it */
}

static void tool_next_step(struct running *r)
{
	uint64_t wait_us = r->step < STEPS ? ladder[r->step].wait_us : 0;
	struct err ignored;

	if (r->step == STEPS)
		return;
	if (r->t->group && wait_us)
		wait_us = GROUP_WAIT_US;
	if (!wait_us || (r->t->group && r->step > 0)) {
		tool_kill_all(r);
		return;
	}
	signal_group(r, ladder[r->step++].signo);
	if (loop_set_timer(r->timer, clock_mono_us() + wait_us, &ignored) < 0)
		tool_kill_all(r);
}

/* failed is -errno, and *r->e has the message.  Only the first reason counts. */
static void tool_end_with(struct running *r, int failed)
{
	if (r->failed)
		return;
	r->failed = failed;
	tool_next_step(r);
}

static void tool_on_timer(void *arg)
{
	struct running *r = arg;
	char time[UNITS_MAX];

	if (r->failed)
		tool_next_step(r);
	else
		tool_end_with(r, err_set(r->e, ETIMEDOUT, "took more than %s",
					 units_time(r->t->time_us, time)));
}

static void tool_on_signal(void *arg, int signo)
{
	struct running *r = arg;

	if (r->end->signo && r->failed) { /* a second signal ends it at once */
		tool_kill_all(r);
		return;
	}
	r->end->signo = signo;
	if (!r->failed)
		tool_end_with(r, err_set(r->e, EINTR, "stopped by signal %d", signo));
}

/* --- its output ---------------------------------------------------------------------- */

/* Keeps the last TOOL_ERRORS_MAX bytes. */
static void keep_end(struct tool_end *end, struct slice block)
{
	size_t keep;

	if (block.n > TOOL_ERRORS_MAX) {
		block.p += block.n - TOOL_ERRORS_MAX;
		block.n = TOOL_ERRORS_MAX;
	}
	keep = TOOL_ERRORS_MAX - block.n;
	if (end->errors_n > keep) {
		memmove(end->errors, end->errors + end->errors_n - keep, keep);
		end->errors_n = keep;
	}
	memcpy(end->errors + end->errors_n, block.p, block.n);
	end->errors_n += block.n;
}

void tool_take(const struct tool *t, struct tool_end *io, uint64_t *io_logged, struct slice block)
{
	uint64_t room = t->log_max - *io_logged;
	size_t n = block.n < room ? block.n : (size_t)room;

	keep_end(io, block);
	if (t->errors)
		t->errors(t->arg, block);
	if (t->log_fd < 0)
		return;
	/* A full disk is no reason to end a build. */
	if (n > 0 && sys_write_all(t->log_fd, block.p, n) < 0) {
		*io_logged = t->log_max;
		n = 0;
	}
	*io_logged += n;
	io->log_lost += block.n - n;
}

static int watch_output(struct running *r, struct err *e);

/* Ends the tool when it has exceeded a limit.  Only the first reason counts. */
static void check_group(struct running *r)
{
	const struct tool_group *g = r->t->group;
	struct err why;

	if (!g || r->failed || g->check(g->arg, &why) == 0)
		return;
	*r->e = why;
	r->failed = -why.code;
	tool_kill_all(r);
}

static void tool_on_tick(void *arg)
{
	struct running *r = arg;
	struct err why;

	r->in_tick = 0;
	check_group(r);
	if (watch_output(r, &why) < 0 ||
	    loop_set_timer(r->tick, clock_mono_us() + TICK_US, &why) < 0) {
		if (!r->failed)
			*r->e = why;
		r->failed = -r->e->code;
		tool_kill_all(r);
	}
}

/* 1: there may be more. */
static int take_block(struct running *r, size_t which)
{
	char block[BLOCK];
	struct err why;
	ssize_t n = sys_read(r->fds[which], block, sizeof(block));

	if (n <= 0)
		return n < 0 && errno == EAGAIN ? 0 : -1;
	r->in_tick += (size_t)n;
	if (which == 1 || !r->t->out) {
		tool_take(r->t, r->end, &r->logged, (struct slice){block, (size_t)n});
	} else if (!r->failed && r->t->out(r->t->arg, (struct slice){block, (size_t)n}, &why) < 0) {
		*r->e = why;
		tool_end_with(r, -why.code);
	}
	return 1;
}

static void tool_on_readable(struct running *r, size_t which)
{
	bool over = take_block(r, which) < 0;

	if (!over && r->in_tick < OUTPUT_PER_TICK)
		return;
	for (size_t i = 0; i < 2; i++)
		if (i == which || !over) /* not read until the next tick, or never again */
			source_remove(take_ptr(&r->io[i]));
	if (over)
		close_p(&r->fds[which]);
}

static void tool_on_out(void *arg, uint32_t events)
{
	(void)events;
	tool_on_readable(arg, 0);
}

static void tool_on_errors(void *arg, uint32_t events)
{
	(void)events;
	tool_on_readable(arg, 1);
}

static int watch_output(struct running *r, struct err *e)
{
	static io_fn *const fn[] = {tool_on_out, tool_on_errors};

	for (size_t i = 0; i < 2; i++)
		if (!r->io[i] && r->fds[i] >= 0 &&
		    loop_add_io(r->loop, r->fds[i], EPOLLIN, fn[i], r, &r->io[i], e) < 0)
			return err_code(e);
	return 0;
}

/* Ends the processes that the tool left in its process group and in its group.  Does not wait for
 * the end of the pipes: without a group, or with `stays`, a daemon may hold them forever. */
static void tool_on_child(void *arg, pid_t pid, int status)
{
	struct running *r = arg;

	(void)pid;
	signal_group(r, SIGKILL);
	check_group(r); /* a limit may have ended it */
	if (!r->t->stays)
		tool_kill_all(r);
	r->pid = 0;
	r->end->status = status;
	for (size_t i = 0; i < 2; i++)
		for (int n = 0; n < BLOCKS_AT_END && r->fds[i] >= 0 && take_block(r, i) > 0; n++)
			;
	loop_stop(r->loop);
}

/* --- start ------------------------------------------------------------------------- */

struct prepare {
	int dir;
	const struct tool_group *group;
	const struct owner *owner;
};

static int tool_prepare(void *arg)
{
	const struct prepare *p = arg;

	/* The child enters the group while it still has our rights. */
	if (p->group && p->group->enter(p->group->arg) < 0)
		return -1;
	/* The kernel resets the parent-death signal when the user changes. */
	if (p->owner && (owner_become(p->owner) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0))
		return -1;
	return fchdir(p->dir); /* allow: in the child */
}

static int make_pipe(int *ret_rd, int *ret_wr, struct err *e)
{
	int p[2];

	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe");
	*ret_rd = p[0];
	*ret_wr = p[1];
	return fcntl(p[0], F_SETFL, O_NONBLOCK) < 0 ? err_sys(e, "set a pipe up") : 0;
}

static int tool_spawn(struct running *r, const int to[2], struct err *e)
{
	CLEANUP(tool_env_done) struct tool_env env = {0};
	struct prepare p = {.dir = r->t->dir, .owner = r->t->owner, .group = r->t->group};
	struct proc_spec spec = PROC_SPEC_INIT;

	tool_env_fill(&env, r->t->owner, r->t->env);
	spec.argv = r->t->argv;
	spec.env = (const char *const *)env.v;
	spec.stdout_fd = to[r->t->out ? 0 : 1];
	spec.stderr_fd = to[1];
	spec.prepare = tool_prepare;
	spec.prepare_arg = &p;
	spec.die_with_us = true;
	return proc_spawn(&spec, &r->pid, e);
}

static int tool_watch(struct running *r, struct err *e)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	uint64_t at = r->t->time_us ? clock_mono_us() + r->t->time_us : UINT64_MAX;

	if (loop_add_timer(r->loop, at, tool_on_timer, r, &r->timer, e) < 0 ||
	    loop_add_timer(r->loop, clock_mono_us() + TICK_US, tool_on_tick, r, &r->tick, e) < 0)
		return err_code(e);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (loop_add_signal(r->loop, ends[i], tool_on_signal, r, &r->signals[i], e) < 0)
			return err_code(e);
	return watch_output(r, e);
}

static int tool_start(struct running *r, struct err *e)
{
	_autoclose_ int out = -1;
	_autoclose_ int errors = -1;

	/* Signals are handled before the tool starts, so that none is lost. */
	if (make_pipe(&r->fds[0], &out, e) < 0 || make_pipe(&r->fds[1], &errors, e) < 0 ||
	    loop_new(&r->loop, e) < 0 || tool_watch(r, e) < 0 ||
	    tool_spawn(r, (const int[2]){out, errors}, e) < 0)
		return err_code(e);
	return loop_add_child(r->loop, r->pid, tool_on_child, r, &r->child, e);
}

static void tool_stop(struct running *r)
{
	for (size_t i = 0; i < 2; i++)
		source_remove(r->io[i]);
	for (size_t i = 0; i < sizeof(r->signals) / sizeof(r->signals[0]); i++)
		source_remove(r->signals[i]);
	source_remove(r->timer);
	source_remove(r->tick);
	source_remove(r->child);
	if (r->pid > 0) { /* after an error of our own, the tool still runs */
		signal_group(r, SIGKILL);
		while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	loop_free(r->loop);
	close_p(&r->fds[0]);
	close_p(&r->fds[1]);
}

/* Fails when a process of the tool is still alive. */
static int tool_end_group(const struct running *r, int rc, struct err *e)
{
	const struct tool_group *g = r->t->group;
	struct err why;

	if (!g || (rc == 0 && r->t->stays) || g->end(g->arg, &why) == 0 || rc < 0)
		return rc;
	*e = why;
	return -why.code;
}

int tool_run(const struct tool *t, struct tool_end *ret, struct err *e)
{
	struct running r = {.t = t, .end = ret, .fds = {-1, -1}, .e = e};
	uint64_t began = clock_mono_us();
	sigset_t before;
	int rc;

	*ret = (struct tool_end){0};
	if (t->group && t->group->run)
		return t->group->run(t->group->arg, t, ret, e);
	if (sigprocmask(SIG_SETMASK, NULL, &before) < 0)
		return err_sys(e, "read the signal mask");
	rc = tool_start(&r, e);
	if (rc == 0)
		rc = loop_run(r.loop, e);
	tool_stop(&r);
	ret->us = clock_mono_us() - began;
	(void)sigprocmask(SIG_SETMASK, &before, NULL); /* can't fail: it was ours */
	if (rc == 0 && r.failed)
		rc = r.failed;
	rc = tool_end_group(&r, rc, e);
	return rc < 0 ? err_wrap(e, "%s", t->argv[0]) : 0;
}
