/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/build/cell.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/memory.h"
#include "base/units.h"
#include "cells/cell.h"
#include "runner/command/build/sights.h"
#include "runner/command/common/machine.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

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
		    "a build cell is never root outside, and '%s' is root's: give the work "
		    "tree to a user of its own (chown -R), or \"build_isolation\": \"none\"",
		    dir);
	if (o && o->uid != *ret_uid)
		return err_set(
		    e, EPERM,
		    "'%s' is user %u's, and we are user %u: only root can build it in a cell", dir,
		    (unsigned)o->uid, (unsigned)*ret_uid);
	return 0;
}

static void fill_env(struct tool_env *env)
{
	static char home[] = "/tmp", name[] = "root";
	const struct owner inside = {.other = true, .name = name, .home = home};

	tool_env_fill(env, &inside);
	/* As root, tar would give files to users that the cell does not have. */
	env->v[env->n++] = xstrdup("TAR_OPTIONS=--no-same-owner");
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
		r = builder_limits(g->b->watch->names, g->b->limits, &none, &now, e);
	return r < 0 ? r : watch_check(g->b->watch, now.mem_now, e);
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
	CLEANUP(sights_done) struct sights see = {.n = 0};
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
		r = sights_fill(g->b, g->t, dir, &see, e);
	if (r < 0)
		return r;
	fill_env(&env);
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
	if (builder_limits(g->b->watch->names, g->b->limits, &none, &c->last, e) < 0)
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
		return err_sys(e, "look at the signal mask");
	r = run(&g, b->source->build_dir, e);
	build_cell_stop(&g);
	ret->us = clock_mono_us() - began;
	(void)sigprocmask(SIG_SETMASK, &before, NULL); /* cannot fail: the mask was ours */
	return r < 0 ? err_wrap(e, "%s", t->argv[0]) : 0;
}
