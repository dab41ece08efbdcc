/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tool.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { BLOCK = 65536, BLOCKS_AT_END = 32, ENV_MAX = 40 };

/* How it is ended: Bazel's client hands SIGTERM on to its server, and kills that at the
 * third SIGINT, as a person at a terminal does. */
static const struct {
	int signo;
	uint64_t wait_us; /* before the next one */
} ladder[] = {
    {SIGTERM, 10 * USEC_PER_SEC}, {SIGINT, USEC_PER_SEC}, {SIGINT, USEC_PER_SEC},
    {SIGINT, USEC_PER_SEC},	  {SIGKILL, 0},
};
enum { STEPS = sizeof(ladder) / sizeof(ladder[0]) };

struct running {
	const struct tool *t;
	struct tool_end *end;
	struct loop *loop;
	struct source *io[2], *child, *timer, *signals[3];
	int fds[2]; /* its output, its errors */
	pid_t pid;  /* 0: not started, or reaped */
	size_t step;
	bool ended;
	uint64_t logged;
	int failed; /* -errno: why it was ended */
	struct err *e;
};

/* --- its environment ---------------------------------------------------------------- */

struct env {
	char *v[ENV_MAX];
	size_t n;
};

static void env_done(struct env *env)
{
	for (size_t i = 0; i < env->n; i++)
		free(env->v[i]);
}

static int env_add(struct env *env, const char *name, const char *value, struct err *e)
{
	if (!value)
		return 0;
	env->v[env->n] = sys_asprintf("%s=%s", name, value);
	if (!env->v[env->n])
		return err_sys(e, "allocate an environment");
	env->n++;
	return 0;
}

static int env_fill(struct env *env, const struct owner *o, struct err *e)
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
					  "http_proxy",
					  "https_proxy",
					  "no_proxy",
					  "SSL_CERT_FILE"};
	static const char *const ours[] = {
	    "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "CCACHE_DIR"};
	_Static_assert(sizeof(all) / sizeof(all[0]) + sizeof(ours) / sizeof(ours[0]) < ENV_MAX,
		       "raise ENV_MAX");
	bool other = o && o->other;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(all) / sizeof(all[0]); i++)
		r = env_add(env, all[i], getenv(all[i]), e);
	for (size_t i = 0; r == 0 && !other && i < sizeof(ours) / sizeof(ours[0]); i++)
		r = env_add(env, ours[i], getenv(ours[i]), e);
	if (r == 0 && other)
		r = env_add(env, "HOME", o->home, e);
	if (r == 0 && other)
		r = env_add(env, "USER", o->name, e);
	if (r == 0 && other)
		r = env_add(env, "LOGNAME", o->name, e);
	return r;
}

/* --- its end ------------------------------------------------------------------------- */

static void signal_group(const struct running *r, int signo)
{
	if (r->pid > 0)
		(void)kill(-r->pid, signo); /* allow: its leader is not reaped */
}

static void next_step(struct running *r)
{
	struct err ignored;

	if (r->step == STEPS)
		return;
	signal_group(r, ladder[r->step].signo);
	if (ladder[r->step].wait_us &&
	    loop_set_timer(r->timer, clock_mono_us() + ladder[r->step].wait_us, &ignored) < 0) {
		signal_group(r, SIGKILL);
		r->step = STEPS;
		return;
	}
	r->step++;
}

/* failed: -errno, *r->e says why; the first reason is the one. */
static void end(struct running *r, int failed)
{
	if (r->failed)
		return;
	r->failed = failed;
	next_step(r);
}

static void on_timer(void *arg)
{
	struct running *r = arg;
	char time[UNITS_MAX];

	if (r->failed)
		next_step(r);
	else
		end(r,
		    err_set(r->e, ETIMEDOUT, "took more than %s", units_time(r->t->time_us, time)));
}

static void on_signal(void *arg, int signo)
{
	struct running *r = arg;

	if (r->end->signo && r->failed) { /* again: they mean it */
		signal_group(r, SIGKILL);
		return;
	}
	r->end->signo = signo;
	if (!r->failed)
		end(r, err_set(r->e, EINTR, "stopped by signal %d", signo));
}

/* --- what it says -------------------------------------------------------------------- */

/* The last TOOL_SAID_MAX bytes of all. */
static void keep_end(struct tool_end *end, struct slice block)
{
	size_t keep;

	if (block.n > TOOL_SAID_MAX) {
		block.p += block.n - TOOL_SAID_MAX;
		block.n = TOOL_SAID_MAX;
	}
	keep = TOOL_SAID_MAX - block.n;
	if (end->said_n > keep) {
		memmove(end->said, end->said + end->said_n - keep, keep);
		end->said_n = keep;
	}
	memcpy(end->said + end->said_n, block.p, block.n);
	end->said_n += block.n;
}

static void take_said(struct running *r, struct slice block)
{
	uint64_t room = r->t->log_max - r->logged;
	size_t n = block.n < room ? block.n : (size_t)room;

	keep_end(r->end, block);
	if (r->t->log_fd < 0)
		return;
	/* A full disk is no reason to end a build. */
	if (n > 0 && sys_write_all(r->t->log_fd, block.p, n) < 0) {
		r->logged = r->t->log_max;
		n = 0;
	}
	r->logged += n;
	r->end->log_lost += block.n - n;
}

/* 1: there may be more. */
static int take_block(struct running *r, size_t which)
{
	char block[BLOCK];
	struct err why;
	ssize_t n = sys_read(r->fds[which], block, sizeof(block));

	if (n <= 0)
		return n < 0 && errno == EAGAIN ? 0 : -1;
	if (which == 1 || !r->t->out) {
		take_said(r, (struct slice){block, (size_t)n});
	} else if (!r->failed && r->t->out(r->t->arg, (struct slice){block, (size_t)n}, &why) < 0) {
		*r->e = why;
		end(r, -why.code);
	}
	return 1;
}

static void on_readable(struct running *r, size_t which)
{
	if (take_block(r, which) >= 0)
		return;
	source_remove(r->io[which]);
	r->io[which] = NULL;
}

static void on_out(void *arg, uint32_t events)
{
	(void)events;
	on_readable(arg, 0);
}

static void on_said(void *arg, uint32_t events)
{
	(void)events;
	on_readable(arg, 1);
}

/* Whatever it left in its group goes with it; what left the group (a daemon) may hold
 * the pipes for ever, so that their end is not waited for. */
static void on_child(void *arg, pid_t pid, int status)
{
	struct running *r = arg;

	(void)pid;
	signal_group(r, SIGKILL);
	r->pid = 0;
	r->end->status = status;
	for (size_t i = 0; i < 2; i++)
		for (int n = 0; n < BLOCKS_AT_END && take_block(r, i) > 0; n++)
			;
	r->ended = true;
	loop_stop(r->loop);
}

/* --- start ------------------------------------------------------------------------- */

struct prepare {
	int dir;
	const struct owner *owner;
};

static int prepare(void *arg)
{
	const struct prepare *p = arg;

	/* Another user: the kernel forgets what was said before. */
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

static int spawn(struct running *r, const int to[2], struct err *e)
{
	CLEANUP(env_done) struct env env = {0};
	struct prepare p = {.dir = r->t->dir, .owner = r->t->owner};
	struct proc_spec spec = PROC_SPEC_INIT;
	int rc = env_fill(&env, r->t->owner, e);

	if (rc < 0)
		return rc;
	spec.argv = r->t->argv;
	spec.env = (const char *const *)env.v;
	spec.stdout_fd = to[r->t->out ? 0 : 1];
	spec.stderr_fd = to[1];
	spec.prepare = prepare;
	spec.prepare_arg = &p;
	spec.die_with_us = true;
	return proc_spawn(&spec, &r->pid, e);
}

static int watch(struct running *r, struct err *e)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	uint64_t at = r->t->time_us ? clock_mono_us() + r->t->time_us : UINT64_MAX;
	int rc = loop_add_timer(r->loop, at, on_timer, r, &r->timer, e);

	for (size_t i = 0; rc == 0 && i < sizeof(ends) / sizeof(ends[0]); i++)
		rc = loop_add_signal(r->loop, ends[i], on_signal, r, &r->signals[i], e);
	if (rc == 0)
		rc = loop_add_io(r->loop, r->fds[0], EPOLLIN, on_out, r, &r->io[0], e);
	if (rc == 0)
		rc = loop_add_io(r->loop, r->fds[1], EPOLLIN, on_said, r, &r->io[1], e);
	return rc;
}

static int start(struct running *r, struct err *e)
{
	_autoclose_ int out = -1;
	_autoclose_ int said = -1;
	int rc = make_pipe(&r->fds[0], &out, e);

	if (rc == 0)
		rc = make_pipe(&r->fds[1], &said, e);
	if (rc == 0)
		rc = loop_new(&r->loop, e);
	/* First the signals: one that comes from now on finds us ready. */
	if (rc == 0)
		rc = watch(r, e);
	if (rc == 0)
		rc = spawn(r, (const int[2]){out, said}, e);
	return rc == 0 ? loop_add_child(r->loop, r->pid, on_child, r, &r->child, e) : rc;
}

static void stop(struct running *r)
{
	for (size_t i = 0; i < 2; i++)
		source_remove(r->io[i]);
	for (size_t i = 0; i < sizeof(r->signals) / sizeof(r->signals[0]); i++)
		source_remove(r->signals[i]);
	source_remove(r->timer);
	source_remove(r->child);
	if (r->pid > 0) { /* our own trouble */
		signal_group(r, SIGKILL);
		while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	loop_free(r->loop);
	close_p(&r->fds[0]);
	close_p(&r->fds[1]);
}

int tool_run(const struct tool *t, struct tool_end *ret, struct err *e)
{
	struct running r = {.t = t, .end = ret, .fds = {-1, -1}, .e = e};
	uint64_t began = clock_mono_us();
	sigset_t before;
	int rc;

	*ret = (struct tool_end){0};
	if (sigprocmask(SIG_SETMASK, NULL, &before) < 0)
		return err_sys(e, "look at the signal mask");
	rc = start(&r, e);
	if (rc == 0)
		rc = loop_run(r.loop, e);
	stop(&r);
	ret->us = clock_mono_us() - began;
	(void)sigprocmask(SIG_SETMASK, &before, NULL); /* can't fail: it was ours */
	if (rc == 0 && r.failed)
		rc = r.failed;
	return rc < 0 ? err_wrap(e, "%s", t->argv[0]) : 0;
}
