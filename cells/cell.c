/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/cell.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/proc.h"
#include "base/sys.h"
#include "cells/crun.h"
#include "cells/internal.h"
#include "cells/strays.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

/* After the last process has died, the kernel needs some time until the group can be removed. */
enum { END_S = 60, RETRY_MS = 20, ADOPT_RETRY_US = 500 };

static void cell_step(struct cell *c, enum event ev);

/* --- life cycle ---------------------------------------------------------------- */

static void enter_adopting(struct cell *c);
static void enter_running(struct cell *c);
static void enter_ending(struct cell *c);
static void enter_gone(struct cell *c);

/* 0: no transition; the state ignores this event. */
#define TO(s) ((unsigned char)((s) + 1))
static const unsigned char next[CELL_STATE_COUNT][CELL_EVENT_COUNT] = {
    [STARTING] = {[EV_STARTED] = TO(ADOPTING), [EV_FAILED] = TO(ENDING)},
    [ADOPTING] = {[EV_ADOPTED] = TO(RUNNING), [EV_FAILED] = TO(ENDING)},
    [RUNNING] = {[EV_ENDED] = TO(ENDING), [EV_FAILED] = TO(ENDING)},
    [ENDING] = {[EV_REMOVED] = TO(GONE)},
};

static void (*const enter[CELL_STATE_COUNT])(struct cell *c) = {
    [ADOPTING] = enter_adopting,
    [RUNNING] = enter_running,
    [ENDING] = enter_ending,
    [GONE] = enter_gone,
};

static void cell_step(struct cell *c, enum event ev)
{
	unsigned char to = next[c->state][ev];

	if (!to)
		return;
	c->state = (enum state)(to - 1);
	enter[c->state](c);
}

/* Ignores a failure: it shows later, when the group cannot be removed. */
static void cell_kill_all(struct cell *c)
{
	struct err e;

	if (c->group)
		(void)!cgroup_kill(c->group, &e);
}

/* Releases all resources of a cell in any state, also when it is only partly built. */
static void cell_release(struct cell *c)
{
	struct err e;

	source_remove(take_ptr(&c->crun_exit));
	source_remove(take_ptr(&c->init_exit));
	source_remove(take_ptr(&c->events));
	cell_process1_disconnect(c);
	cell_job_drop(c);
	free(c->program);
	c->program = NULL;
	cpus_give(&c->host->cpus, c->cpu);
	c->cpu = CPUS_ALL;
	cell_memory_drop(c);
	source_remove(take_ptr(&c->timer));
	output_stop(&c->out);
	listener_stop(&c->refusals);
	/* On failure, closing the tree removes it. */
	(void)!cgroup_remove(take_ptr(&c->group), &e);
	if (c->dir >= 0) /* on failure, the next start does it */
		(void)!cell_host_forget(c->host, c->id, &e);
	close_p(&c->dir);
}

static void cell_free(struct cell *c)
{
	cell_release(c);
	free(c);
}

DEFINE_CLEANUP(struct cell *, cell_free)

/* --- running ------------------------------------------------------------------- */

/* Process 1 ended (we, the keeper or the kernel killed it), and the program died with it. */
static void died_with_init(struct cell *c, int status)
{
	char why[64];

	if (WIFSIGNALED(status)) {
		c->end.how = CELL_SIGNALED;
		c->end.code = WTERMSIG(status);
	} else {
		(void)snprintf(why, sizeof(why), "process 1 ended with status %d",
			       WEXITSTATUS(status));
		cell_not_started(c, why);
	}
}

static void on_init_exit(void *arg, pid_t pid, int status)
{
	struct cell *c = arg;

	(void)pid;
	source_remove(take_ptr(&c->init_exit));
	c->stays = false;
	c->init_gone = true;
	cell_process1_read(c);
	if (!c->job.ended)
		died_with_init(c, status);
	cell_job_drop(c);
	cell_step(c, EV_ENDED);
}

static void enter_running(struct cell *c)
{
	struct err e;

	int r = loop_add_child(c->host->loop, c->init, on_init_exit, c, &c->init_exit, &e);

	source_remove(take_ptr(&c->timer));
	if (r == 0 && c->freeze)
		r = cgroup_freeze(c->group, true, &e);
	if (r < 0) {
		cell_not_started(c, e.msg);
		cell_step(c, EV_FAILED);
		return;
	}
	cell_process1_report(c);
}

/* Whether process 1 is our child and no process of crun is left.  The crun process that we started
 * has exited, but a process that it forked may still run.  The number of process 1 is not reused
 * until we reap it. */
static bool handed_over(const struct cell *c)
{
	siginfo_t si;

	return waitid(P_PID, (id_t)c->init, &si, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       strays_reap(c->id, c->init) == 0;
}

static void on_adopt(void *arg)
{
	struct cell *c = arg;
	uint64_t now = clock_mono_us();
	struct err e;
	int r = 0;

	if (handed_over(c)) {
		cell_step(c, EV_ADOPTED);
		return;
	}
	r = now > c->until ? err_set(&e, ETIMEDOUT, "crun did not hand the job over")
			   : loop_set_timer(c->timer, now + ADOPT_RETRY_US, &e);
	if (r < 0) {
		cell_not_started(c, e.msg);
		cell_step(c, EV_FAILED);
	}
}

static int meet_init(struct cell *c, struct err *e)
{
	int r = crun_read_pid(c->dir, &c->init, e);

	return r < 0 ? r : loop_add_timer(c->host->loop, UINT64_MAX, on_adopt, c, &c->timer, e);
}

static void enter_adopting(struct cell *c)
{
	struct err e;

	source_remove(take_ptr(&c->timer));
	c->until = clock_mono_us() + c->host->start_us;
	if (meet_init(c, &e) == 0) {
		on_adopt(c);
	} else {
		cell_not_started(c, e.msg);
		cell_step(c, EV_FAILED);
	}
}

static void on_crun_exit(void *arg, pid_t pid, int status)
{
	struct cell *c = arg;

	(void)pid;
	source_remove(take_ptr(&c->crun_exit));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		cell_step(c, EV_STARTED);
		return;
	}
	cell_not_started(c, c->cut ? c->cut : "");
	if (!c->cut)
		crun_why(c->dir, status, c->end.why, sizeof(c->end.why));
	cell_step(c, EV_FAILED);
}

static void on_start_deadline(void *arg)
{
	struct cell *c = arg;

	c->cut = "crun did not start the job before the deadline";
	cell_kill_all(c);
}

/* --- ending -------------------------------------------------------------------- */

/* Returns 0 when the group is removed.  Called at each event of the group and at each retry. */
static int try_remove(struct cell *c, struct err *e)
{
	int r = cgroup_read(c->group, &c->end.last, e);

	if (r < 0)
		return r;
	if (c->end.last.populated ||
	    (c->end.how == CELL_NOT_STARTED && strays_reap(c->id, c->crun)))
		return err_set(e, EBUSY, "processes of the cell are still there");
	output_drain(&c->out);
	source_remove(take_ptr(&c->events));
	cell_memory_drop(c);
	r = cgroup_remove(c->group, e);
	if (r == 0)
		c->group = NULL;
	return r;
}

static void on_retry(void *arg)
{
	struct cell *c = arg;
	uint64_t now = clock_mono_us();
	struct err e, again;

	if (try_remove(c, &e) == 0) {
		cell_step(c, EV_REMOVED);
		return;
	}
	cell_kill_all(c); /* also processes forked during the last kill */
	if (now < c->until && loop_set_timer(c->timer, now + RETRY_MS * USEC_PER_MSEC, &again) == 0)
		return;
	(void)snprintf(c->end.why, sizeof(c->end.why), "the cell's group stays: %.300s", e.msg);
	cell_step(c, EV_REMOVED);
}

static void on_group_event(void *arg, uint32_t events)
{
	(void)events;
	on_retry(arg);
}

static void enter_ending(struct cell *c)
{
	struct loop *l = c->host->loop;
	struct err e;
	int r;

	source_remove(take_ptr(&c->timer));
	source_remove(take_ptr(&c->init_exit));
	cell_process1_disconnect(c);
	cell_job_drop(c);
	listener_stop(&c->refusals);
	c->end.overdue = cgroup_overdue(c->group);
	c->until = clock_mono_us() + END_S * USEC_PER_SEC;
	r = loop_add_timer(l, UINT64_MAX, on_retry, c, &c->timer, &e);
	if (r == 0)
		r = loop_add_io(l, cgroup_events_fd(c->group), EPOLLPRI, on_group_event, c,
				&c->events, &e);
	if (r == 0) {
		on_retry(c);
		return;
	}
	(void)snprintf(c->end.why, sizeof(c->end.why), "cannot wait for the end: %.300s", e.msg);
	cell_step(c, EV_REMOVED);
}

static void enter_gone(struct cell *c)
{
	output_drain(&c->out);
	cell_release(c);
	c->ops.ended(c->arg, &c->end);
	free(c);
}

/* --- callbacks of a running cell ----------------------------------------------- */

static void cell_on_output(void *arg, struct slice bytes)
{
	struct cell *c = arg;

	if (c->ops.output)
		c->ops.output(c->arg, bytes);
}

static void cell_on_refused(void *arg, const char *name)
{
	struct cell *c = arg;

	output_now(&c->out); /* output from before the call comes first */
	if (c->ops.refused)
		c->ops.refused(c->arg, name);
}

/* --- starting ------------------------------------------------------------------ */

static bool id_ok(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n > 0 && n < sizeof(((struct cell *)NULL)->id) && id[n] == '\0' && id[0] != '-';
}

static int cell_check(const struct cell_spec *s, struct err *e)
{
	if (!id_ok(s->id))
		return err_set(e, EINVAL, "'%.70s' is not a valid cell id", s->id);
	if (!s->argv || !s->argv[0] || !s->cwd || s->cwd[0] != '/')
		return err_set(e, EINVAL, "cell '%s' needs an argv and an absolute cwd", s->id);
	if (s->uid == 0 || s->gid == 0)
		return err_set(e, EINVAL, "cell '%s' must not run as root of this machine", s->id);
	if (geteuid() != 0 && (s->uid != geteuid() || s->gid != getegid()))
		return err_set(e, EPERM, "cell '%s' cannot be user %u, group %u: we are %u, %u",
			       s->id, (unsigned)s->uid, (unsigned)s->gid, (unsigned)geteuid(),
			       (unsigned)getegid());
	if (s->n_mounts > CELL_MOUNTS_MAX)
		return err_set(e, E2BIG, "cell '%s' has more than %d mounts", s->id,
			       CELL_MOUNTS_MAX);
	return 0;
}

/* Adds all event sources except crun's: only the call that adds crun's can fail after its start. */
static int cell_watch(struct cell *c, int *ret_write_end, int *ret_socket, struct err *e)
{
	struct cell_host *h = c->host;
	int p[2];

	if (listener_start(&c->refusals, h->loop, c->dir, "seccomp", cell_on_refused, c, e) < 0 ||
	    loop_add_timer(h->loop, clock_mono_us() + h->start_us, on_start_deadline, c, &c->timer,
			   e) < 0 ||
	    cell_memory_watch(c, e) < 0 || cell_process1_connect(c, ret_socket, e) < 0)
		return err_code(e);
	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe");
	*ret_write_end = p[1];
	return output_start(&c->out, h->loop, p[0], h->output_bytes_per_s, h->room, cell_on_output,
			    c, e);
}

static int start_crun(struct cell *c, const struct cell_spec *spec, int output, int socket,
		      struct err *e)
{
	_autofree_ char *dir = xasprintf("%s/cells/%s", c->host->dir, c->id);
	struct crun_job job = {.program = c->host->crun,
			       .copy = c->host->crun_copy,
			       .state_dir = c->host->crun_state,
			       .bundle_dir = dir,
			       .id = c->id,
			       .group = c->group,
			       .mounts = c->host->mounts,
			       .output_fd = output,
			       .init = c->host->init,
			       .socket = socket,
			       .fixed_addresses = spec->fixed_addresses};
	int r = crun_start(&job, &c->crun, e);

	if (r < 0)
		return r;
	r = loop_add_child(c->host->loop, c->crun, on_crun_exit, c, &c->crun_exit, e);
	if (r < 0) { /* we would not notice its end */
		cell_kill_all(c);
		(void)waitpid(c->crun, NULL, 0);
	}
	return r;
}

static int cell_build(struct cell *c, const struct cell_spec *spec, struct err *e)
{
	struct cgroup_limits limits = spec->limits;
	_autoclose_ int output = -1;
	_autoclose_ int socket = -1;

	if (limits.pids_max)
		limits.pids_max++; /* for process 1, which does not count as the job's */
	if (cell_host_bundle(c->host, spec, &c->dir, e) < 0 ||
	    cgroup_new(c->host->tree, c->id, &limits, c->host->best_effort, &c->group, e) < 0 ||
	    cell_watch(c, &output, &socket, e) < 0)
		return err_code(e);
	return start_crun(c, spec, output, socket, e);
}

int cell_start(struct cell_host *h, const struct cell_spec *spec, const struct cell_ops *ops,
	       void *arg, struct cell **ret, struct err *e)
{
	CLEANUP(cell_free_p) struct cell *c = NULL;
	int r = cell_check(spec, e);

	if (r < 0)
		return r;
	c = xcalloc(1, sizeof(*c));
	c->host = h;
	c->ops = *ops;
	c->arg = arg;
	c->dir = -1;
	c->stays = spec->stays;
	c->cpu = spec->one_cpu ? cpus_take(&h->cpus) : CPUS_ALL;
	c->uid = spec->uid;
	c->gid = spec->gid;
	c->process1.socket = -1;
	c->job.fd = -1;
	c->out = OUTPUT_INIT;
	c->refusals = LISTENER_INIT;
	memcpy(c->id, spec->id, strlen(spec->id));
	c->program = xstrdup(spec->argv[0]);
	if (cell_build(c, spec, e) < 0)
		return err_wrap(e, "start cell '%s'", spec->id);
	*ret = take_ptr(&c);
	return 0;
}

/* --- actions on a living cell ------------------------------------------------- */

int cell_signal(struct cell *c, int signo, struct err *e)
{
	if (c->state < ENDING && !c->job.pid && !c->job.ended) {
		c->job.pending |= UINT64_C(1) << (signo - 1);
		return 0;
	}
	if (!c->job.pid)
		return err_set(e, ESRCH, "the program of cell '%s' has ended", c->id);
	/* In a halted cell any thread might take the signal after the thaw, but only the first
	 * thread runs then. */
	return c->mark.halted || c->mark.alone ? proc_kill_first(c->job.pid, signo, e)
					       : proc_kill(c->job.fd, signo, e);
}

int cell_kill(struct cell *c, struct err *e)
{
	if (!c->group)
		return 0;
	if (c->state == STARTING && !c->cut)
		c->cut = "killed while it was starting";
	return cgroup_kill(c->group, e);
}

pid_t cell_pid(const struct cell *c)
{
	return c->job.pid;
}

int cell_set_gone(const struct cell *c, struct err *e)
{
	return err_set(e, ESRCH, "cell '%s' is gone", c->id);
}

int cell_freeze(struct cell *c, bool frozen, struct err *e)
{
	if (c->state < RUNNING) { /* crun would be frozen, too, and miss its deadline */
		c->freeze = frozen;
		return 0;
	}
	return c->group ? cgroup_freeze(c->group, frozen, e) : cell_set_gone(c, e);
}

int cell_deadline(struct cell *c, uint64_t until_us, struct err *e)
{
	return c->group ? cgroup_deadline(c->group, until_us, e) : cell_set_gone(c, e);
}

int cell_read(struct cell *c, struct cgroup_counters *ret, struct err *e)
{
	return c->group ? cgroup_read(c->group, ret, e) : cell_set_gone(c, e);
}
