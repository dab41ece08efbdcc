/* SPDX-License-Identifier: Apache-2.0 */
/* Freezing, in the v2 tree of both layouts. */
#include "base/cleanup.h"
#include "base/proc.h"
#include "base/sys.h"
#include "cgroups/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

/* A further round finds threads that were created while the freeze took effect.  A thread that is
 * listed in every round is dying: the kernel reports its move as done, but does not move it. */
enum { ROUNDS = 20 };

static int freeze_wrap(const struct cgroup *cg, int r, struct err *e)
{
	return r < 0 ? err_wrap(e, "group '%s'", cg->name) : 0;
}

static int freeze_others(const struct cgroup *cg, bool frozen, struct err *e)
{
	return cg_file_write(cg->dir[0], CG_OTHERS "/cgroup.freeze", frozen ? "1" : "0", e);
}

int cgroup_freeze(struct cgroup *cg, bool frozen, struct err *e)
{
	int r = cg_file_write(cg->dir[0], "cgroup.freeze", frozen ? "1" : "0", e);

	if (r == 0 && !frozen && cg_file_exists(cg->dir[0], CG_OTHERS))
		r = freeze_others(cg, false, e);
	return freeze_wrap(cg, r, e);
}

/* A threaded group can hold single threads of a process.  The group above it keeps the limits, and
 * the processes are still killed through it. */
static int make_others(const struct cgroup *cg, struct err *e)
{
	int r;

	if (sys_mkdirat(cg->dir[0], CG_OTHERS, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make group '" CG_OTHERS "'");
	r = cg_file_write(cg->dir[0], CG_OTHERS "/cgroup.type", "threaded", e);
	return r < 0 ? r : freeze_others(cg, true, e);
}

struct moving {
	const struct cgroup *cg;
	pid_t stays; /* a thread */
	pid_t of;    /* only threads of this process are moved; 0: of all processes */
	const char *to;
	bool (*when)(const struct moving *m, pid_t tid); /* NULL: always */
	unsigned moved;
	int r;
	struct err *e;
};

/* The value after name in a thread's /proc/PID/task/TID/status.  False: the process has no such
 * thread. */
static bool freeze_status_of(pid_t pid, pid_t tid, struct slice name, char buf[CG_TEXT_MAX],
			     struct slice *ret)
{
	char path[64];
	struct slice text, line;
	struct err e;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	if (cg_file_read(AT_FDCWD, path, buf, &text, &e) < 0)
		return false;
	while (scan_line(&text, &line))
		if (scan_lit(&line, name)) {
			*ret = line;
			return true;
		}
	return false;
}

static void move_one(uint64_t id, void *arg)
{
	struct moving *m = arg;
	pid_t tid = (pid_t)id;
	char text[CG_TEXT_MAX];
	struct slice is;
	int r;

	if (m->r < 0 || tid == m->stays || (m->when && !m->when(m, tid)) ||
	    (m->of && !freeze_status_of(m->of, tid, SLICE("State:\t"), text, &is)))
		return;
	(void)snprintf(text, sizeof(text), "%d", (int)tid);
	r = cg_file_write(m->cg->dir[0], m->to, text, m->e);
	if (r == 0)
		m->moved++;
	else if (r != -ESRCH) /* -ESRCH: the thread has ended */
		m->r = r;
}

/* Moves the threads in one group's list to the other group. */
static int freeze_move(struct moving *m, const char *from)
{
	int r = cg_each_id(m->cg->dir[0], from, move_one, m, m->e);

	return r < 0 ? r : m->r;
}

#define THREADS	       "cgroup.threads"
#define OTHERS_THREADS CG_OTHERS "/cgroup.threads"

static int move_others(const struct cgroup *cg, pid_t tid, pid_t pid, struct err *e)
{
	unsigned moved = 1;
	int r = 0;

	for (unsigned i = 0; r == 0 && moved > 0 && i < ROUNDS; i++) {
		struct moving m = {.cg = cg, .stays = tid, .of = pid, .to = OTHERS_THREADS, .e = e};

		r = freeze_move(&m, THREADS);
		moved = m.moved;
	}
	return r;
}

int cgroup_thaw_only(struct cgroup *cg, pid_t tid, pid_t pid, struct err *e)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", (int)tid);
	/* An earlier call may have moved this thread to the others, so it is moved back. */
	if (make_others(cg, e) < 0 || cg_file_write(cg->dir[0], THREADS, text, e) < 0 ||
	    move_others(cg, tid, pid, e) < 0 ||
	    cg_file_write(cg->dir[0], "cgroup.freeze", "0", e) < 0)
		return err_wrap(e, "group '%s'", cg->name);
	return 0;
}

/* Whether the thread has a pending SIGSTOP of PTRACE_ATTACH, which a frozen thread does not take.
 */
static bool is_to_stop(const struct moving *m, pid_t tid)
{
	char buf[CG_TEXT_MAX];
	struct slice text;
	uint64_t pending;

	return freeze_status_of(m->of, tid, SLICE("SigPnd:\t"), buf, &text) &&
	       scan_u64(&text, 16, UINT64_MAX, &pending) &&
	       (pending & UINT64_C(1) << (SIGSTOP - 1)) != 0;
}

static bool has_stopped(const struct moving *m, pid_t tid)
{
	char buf[CG_TEXT_MAX];
	struct slice state;

	return freeze_status_of(m->of, tid, SLICE("State:\t"), buf, &state) &&
	       scan_lit(&state, SLICE("t"));
}

int cgroup_let_stop(struct cgroup *cg, pid_t tid, pid_t pid, struct err *e)
{
	struct moving out = {
	    .cg = cg, .stays = tid, .of = pid, .to = THREADS, .when = is_to_stop, .e = e};
	struct moving back = {
	    .cg = cg, .stays = tid, .of = pid, .to = OTHERS_THREADS, .when = has_stopped, .e = e};
	int r = freeze_move(&out, OTHERS_THREADS);

	if (r == 0)
		r = freeze_move(&back, THREADS);
	return freeze_wrap(cg, r, e);
}

static int each_task(struct cgroup *cg, void (*fn)(uint64_t id, void *arg), void *arg,
		     struct err *e)
{
	int r = cg_each_id(cg->dir[0], THREADS, fn, arg, e);

	if (r == 0 && cg_file_exists(cg->dir[0], CG_OTHERS))
		r = cg_each_id(cg->dir[0], OTHERS_THREADS, fn, arg, e);
	return freeze_wrap(cg, r, e);
}

static void check_running(uint64_t id, void *arg)
{
	bool *stands = arg;
	char text[CG_TEXT_MAX];
	struct slice is;

	if (*stands && freeze_status_of((pid_t)id, (pid_t)id, SLICE("State:\t"), text, &is))
		*stands = !scan_lit(&is, SLICE("R"));
}

/* One look reads the tasks one after the other.  Between two of them, a task that waited for a lock
 * may get it from a task that then freezes. */
enum { STANDS_LOOKS = 4 };

int cgroup_stands(struct cgroup *cg, bool *ret, struct err *e)
{
	int r = 0;

	*ret = true;
	for (unsigned i = 0; r == 0 && *ret && i < STANDS_LOOKS; i++)
		r = each_task(cg, check_running, ret, e);
	return r;
}

static bool freeze_blocks(pid_t pid, int signo)
{
	char buf[CG_TEXT_MAX];
	struct slice text;
	uint64_t blocked;

	return freeze_status_of(pid, pid, SLICE("SigBlk:\t"), buf, &text) &&
	       scan_u64(&text, 16, UINT64_MAX, &blocked) &&
	       (blocked & UINT64_C(1) << (signo - 1)) != 0;
}

/* A sanitizer's tracer blocks all signals except those of faults before it stops a thread. (glibc's
 * posix_spawn(3) also blocks the signals of faults.) */
static bool is_tracer(pid_t pid)
{
	return freeze_blocks(pid, SIGHUP) && freeze_blocks(pid, SIGTERM) &&
	       !freeze_blocks(pid, SIGSEGV);
}

/* No process in a frozen group is reaped, so the number still belongs to the same process. */
static void end_beside(uint64_t id, void *arg)
{
	const pid_t *spared = arg;
	_autoclose_ int fd = -1;
	pid_t pid = (pid_t)id;
	struct err e;

	if (pid != spared[0] && pid != spared[1] && !is_tracer(pid) && proc_open(pid, &fd, &e) == 0)
		(void)!proc_kill(fd, SIGKILL, &e); /* a failure means that it has ended */
}

int cgroup_kill_beside(struct cgroup *cg, pid_t pid, pid_t init, struct err *e)
{
	pid_t spared[] = {pid, init};

	return freeze_wrap(cg, cg_each_id(cg->dir[0], "cgroup.procs", end_beside, spared, e), e);
}

struct preference {
	pid_t tid; /* this thread has priority */
	pid_t of;  /* only threads of this process are deferred; 0: all others */
	cpu_set_t cpu;
};

/* A thread that has ended meanwhile is no error. */
static void defer_one(uint64_t id, void *arg)
{
	const struct preference *p = arg;
	const struct sched_param none = {0};
	char text[CG_TEXT_MAX];
	struct slice is;
	pid_t tid = (pid_t)id;

	(void)sched_setaffinity(tid, sizeof(p->cpu), &p->cpu);
	if (tid != p->tid && (!p->of || freeze_status_of(p->of, tid, SLICE("State:\t"), text, &is)))
		(void)sched_setscheduler(tid, SCHED_IDLE, &none);
}

int cgroup_prefer(struct cgroup *cg, pid_t tid, pid_t pid, struct err *e)
{
	struct preference p = {.tid = tid, .of = pid};
	cpu_set_t may;
	size_t cpu = 0;

	if (sched_getaffinity(tid, sizeof(may), &may) < 0)
		return err_sys(e, "CPUs of thread %d of group '%s'", (int)tid, cg->name);
	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &may))
		cpu++;
	CPU_ZERO(&p.cpu);
	CPU_SET(cpu, &p.cpu);
	return each_task(cg, defer_one, &p, e);
}
