/* SPDX-License-Identifier: Apache-2.0 */
#include "base/task.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* The child sends one byte, 'k' (ok) or 'f' (failed), then the result or the error text. */
enum { CHUNK = 65536 };

struct task {
	struct source *io, *child;
	pid_t pid;
	int fd;
	struct buf result;
	bool eof, reaped;
	bool ended_well; /* exit status 0: the result is complete */
	task_done_fn *done;
	void *done_arg;
};

static void task_free(struct task *t)
{
	source_remove(t->io);
	source_remove(t->child);
	close_p(&t->fd);
	buf_done(&t->result);
	free(t);
}

static void maybe_done(struct task *t)
{
	struct slice r = buf_slice(&t->result);

	if (!t->eof || !t->reaped)
		return;
	if (r.n > 0 && r.p[0] == 'f')
		t->done(t->done_arg, SLICE(""), r.p + 1);
	else if (t->result.full || r.n == 0 || !t->ended_well)
		t->done(t->done_arg, SLICE(""), TASK_DIED);
	else
		t->done(t->done_arg, (struct slice){r.p + 1, r.n - 1}, NULL);
	task_free(t);
}

/* False: end of the result. */
static bool take_chunk(struct task *t)
{
	char chunk[CHUNK];
	ssize_t n = sys_read(t->fd, chunk, sizeof(chunk));

	if (n > 0)
		buf_put(&t->result, (struct slice){chunk, (size_t)n});
	return n > 0;
}

static void task_on_readable(void *arg, uint32_t events)
{
	struct task *t = arg;

	(void)events;
	if (take_chunk(t))
		return;
	t->eof = true;
	source_remove(take_ptr(&t->io));
	maybe_done(t);
}

static void on_reaped(void *arg, pid_t pid, int status)
{
	struct task *t = arg;

	(void)pid;
	t->reaped = true;
	t->ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	source_remove(take_ptr(&t->child));
	maybe_done(t);
}

static void __attribute__((noreturn)) work(task_fn *fn, void *arg, int fd, pid_t parent)
{
	_autobuf_ struct buf out = BUF_INIT(TASK_RESULT_MAX - 1);
	struct err e;
	int r;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(125);
	r = fn(arg, &out, &e);
	if (r >= 0)
		r = buf_check(&out, &e);
	if (r < 0)
		r = sys_write_all(fd, "f", 1) < 0 || sys_write_all(fd, e.msg, strlen(e.msg)) < 0;
	else
		r = sys_write_all(fd, "k", 1) < 0 || sys_write_all(fd, buf_str(&out), out.n) < 0;
	_exit(r ? 1 : 0);
}

static int fork_worker(task_fn *fn, void *arg, int *ret_fd, pid_t *ret_pid, struct err *e)
{
	pid_t parent = getpid();
	int p[2];
	pid_t pid;

	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe to a working process");
	pid = fork();
	if (pid < 0) {
		err_sys(e, "fork a working process");
		close(p[0]);
		close(p[1]);
		return err_code(e);
	}
	if (pid == 0)
		work(fn, arg, p[1], parent);
	close(p[1]);
	*ret_fd = p[0];
	*ret_pid = pid;
	return 0;
}

int task_start(struct loop *l, task_fn *fn, void *fn_arg, task_done_fn *done, void *done_arg,
	       struct task **ret, struct err *e)
{
	struct task *t = xmalloc(sizeof(*t));

	*t = (struct task){.fd = -1, .done = done, .done_arg = done_arg};
	t->result = BUF_INIT(TASK_RESULT_MAX);
	if (fork_worker(fn, fn_arg, &t->fd, &t->pid, e) == 0 &&
	    loop_add_child(l, t->pid, on_reaped, t, &t->child, e) == 0 &&
	    loop_add_io(l, t->fd, EPOLLIN, task_on_readable, t, &t->io, e) == 0) {
		*ret = t;
		return 0;
	}
	if (t->pid > 0) {
		(void)kill(t->pid, SIGKILL); /* allow: just forked, not reaped */
		while (waitpid(t->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	task_free(t);
	return err_code(e);
}

void task_finish(struct task *t, uint64_t until_us)
{
	struct pollfd p = {.fd = t->fd, .events = POLLIN};
	uint64_t now;
	int status = 0;

	source_remove(take_ptr(&t->io));
	source_remove(take_ptr(&t->child));
	while (!t->eof && (now = clock_mono_us()) < until_us) {
		int ms = (int)((until_us - now) / 1000 + 1);

		if (poll(&p, 1, ms) > 0) /* allow: the loop is over */
			t->eof = !take_chunk(t);
	}
	if (!t->reaped) {
		if (!t->eof)
			(void)kill(t->pid, SIGKILL); /* allow: not reaped */
		while (waitpid(t->pid, &status, 0) < 0 && errno == EINTR)
			;
		t->ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	t->eof = t->reaped = true;
	maybe_done(t);
}
