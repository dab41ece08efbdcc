/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define OK(call)                                                           \
	do {                                                               \
		struct err e_;                                             \
		if ((call) < 0)                                            \
			fail_msg("%s:%d: %s", __FILE__, __LINE__, e_.msg); \
	} while (0)

static struct loop *new_loop(void)
{
	struct loop *l;

	OK(loop_new(&l, &e_));
	return l;
}

/* One loop, sources in it, and what their callbacks saw. */
struct world {
	struct loop *l;
	struct source *s[3];
	int fds[3];
	char seen[64]; /* one letter a callback */
	size_t got;
	int status;
	bool removes_all;
};

static void saw(struct world *w, char what)
{
	size_t n = strlen(w->seen);

	assert_true(n + 1 < sizeof(w->seen));
	w->seen[n] = what;
}

static void remove_all(struct world *w)
{
	for (size_t i = 0; i < sizeof(w->s) / sizeof(w->s[0]); i++)
		source_remove(take_ptr(&w->s[i]));
}

static void done(struct world *w)
{
	remove_all(w);
	loop_free(w->l);
}

static void on_end(void *arg)
{
	struct world *w = arg;

	saw(w, 'e');
	loop_stop(w->l);
}

static void on_read(void *arg, uint32_t events)
{
	struct world *w = arg;
	char c;

	assert_true(events & (EPOLLIN | EPOLLHUP));
	if (read(w->fds[0], &c, 1) == 1)
		saw(w, c);
	else
		loop_stop(w->l);
}

static void test_io(void **state)
{
	struct world w = {.l = new_loop()};
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	w.fds[0] = p[0];
	assert_int_equal(write(p[1], "abc", 3), 3); /* level-triggered: one byte a call */
	close(p[1]);
	OK(loop_add_io(w.l, p[0], EPOLLIN, on_read, &w, &w.s[0], &e_));
	OK(loop_run(w.l, &e_));
	assert_string_equal(w.seen, "abc");
	remove_all(&w);
	assert_true(fcntl(p[0], F_GETFD) >= 0); /* stays the caller's */
	close(p[0]);
	done(&w);
}

struct tick {
	struct world *w;
	uint64_t at;
	char name;
};

static void on_tick(void *arg)
{
	struct tick *t = arg;

	assert_true(clock_mono_us() >= t->at);
	saw(t->w, t->name);
}

static void test_timers(void **state)
{
	uint64_t now = clock_mono_us();
	struct world w = {.l = new_loop()};
	struct tick late = {&w, now + 100 * USEC_PER_MSEC, 'c'};
	struct tick soon = {&w, now + 50 * USEC_PER_MSEC, 'b'};
	struct tick past = {&w, 1, 'a'};
	struct source *end;

	(void)state;
	OK(loop_add_timer(w.l, late.at, on_tick, &late, &w.s[0], &e_));
	OK(loop_add_timer(w.l, soon.at, on_tick, &soon, &w.s[1], &e_));
	OK(loop_add_timer(w.l, past.at, on_tick, &past, &w.s[2], &e_));
	OK(loop_add_timer(w.l, now + 150 * USEC_PER_MSEC, on_end, &w, &end, &e_));
	OK(loop_run(w.l, &e_));
	assert_string_equal(w.seen, "abce"); /* each once, in order */
	source_remove(end);
	done(&w);
}

static void on_again(void *arg)
{
	struct world *w = arg;

	saw(w, 't');
	if (strlen(w->seen) == 3)
		loop_stop(w->l);
	else
		OK(loop_set_timer(w->s[0], clock_mono_us() + 1000, &e_));
}

static void test_timer_again(void **state)
{
	struct world w = {.l = new_loop()};
	uint64_t far = clock_mono_us() + 1000 * USEC_PER_SEC;

	(void)state;
	OK(loop_add_timer(w.l, far, on_again, &w, &w.s[0], &e_));
	OK(loop_set_timer(w.s[0], 0, &e_)); /* also an armed one */
	OK(loop_run(w.l, &e_));
	assert_string_equal(w.seen, "ttt");
	done(&w);
}

static void on_signal(void *arg, int signo)
{
	struct world *w = arg;

	saw(w, signo == SIGUSR1 ? '1' : signo == SIGTERM ? 't' : '?');
	if (strlen(w->seen) == 2)
		loop_stop(w->l);
}

static void test_signals(void **state)
{
	struct world w = {.l = new_loop()};
	sigset_t old, now;

	(void)state;
	assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &old), 0);
	OK(loop_add_signal(w.l, SIGUSR1, on_signal, &w, &w.s[0], &e_));
	OK(loop_add_signal(w.l, SIGTERM, on_signal, &w, &w.s[1], &e_));
	assert_int_equal(raise(SIGTERM), 0); /* would end us if it were not blocked */
	assert_int_equal(raise(SIGUSR1), 0);
	OK(loop_run(w.l, &e_));
	assert_non_null(strchr(w.seen, '1'));
	assert_non_null(strchr(w.seen, 't'));
	assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &now), 0);
	assert_true(sigismember(&now, SIGUSR1) && sigismember(&now, SIGTERM));
	done(&w);
	assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
}

static void on_child(void *arg, pid_t pid, int status)
{
	struct world *w = arg;

	assert_true(pid > 0);
	saw(w, 'x');
	w->status = status;
	if (w->removes_all)
		remove_all(w);
	loop_stop(w->l);
}

/* A child that ends by this signal, or with this status; it is reaped after. */
static int status_of(int signo, int code, bool removes)
{
	struct world w = {.l = new_loop(), .removes_all = removes};
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (signo)
			raise(signo);
		_exit(code);
	}
	OK(loop_add_child(w.l, pid, on_child, &w, &w.s[0], &e_));
	OK(loop_run(w.l, &e_));
	assert_string_equal(w.seen, "x");
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	done(&w);
	return w.status;
}

static void test_child(void **state)
{
	int ws;

	(void)state;
	for (int removes = 0; removes <= 1; removes++) {
		ws = status_of(0, 0, removes);
		assert_true(WIFEXITED(ws) && WEXITSTATUS(ws) == 0);
		ws = status_of(0, 77, removes);
		assert_true(WIFEXITED(ws) && WEXITSTATUS(ws) == 77);
		ws = status_of(SIGKILL, 0, removes);
		assert_true(WIFSIGNALED(ws) && WTERMSIG(ws) == SIGKILL);
		ws = status_of(SIGABRT, 0, removes); /* with or without a core dump */
		assert_true(WIFSIGNALED(ws) && WTERMSIG(ws) == SIGABRT);
	}
}

/* One that is a zombie already when it is added. */
static void test_child_gone(void **state)
{
	struct world w = {.l = new_loop()};
	struct source *twice = NULL;
	siginfo_t si;
	struct err e;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(5);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	OK(loop_add_child(w.l, pid, on_child, &w, &w.s[0], &e_));
	assert_int_equal(loop_add_child(w.l, pid, on_child, &w, &twice, &e), -EBUSY);
	assert_null(twice);
	OK(loop_run(w.l, &e_));
	assert_int_equal(WEXITSTATUS(w.status), 5);
	done(&w);
}

/* A source that is removed leaves its child to whoever waits for it. */
static void test_child_left(void **state)
{
	struct world w = {.l = new_loop()};
	int ws, p[2];
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(p[1]);
		_exit(read(p[0], &c, 1) == 0 ? 6 : 1);
	}
	OK(loop_add_child(w.l, pid, on_child, &w, &w.s[0], &e_));
	remove_all(&w);
	close(p[0]);
	close(p[1]);
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	assert_int_equal(WEXITSTATUS(ws), 6);
	done(&w);
}

/* Tells its own child's number and dies before it; ours says when. */
static void orphan(int tell, int wait_for)
{
	pid_t pid = fork();
	char c;

	if (pid == 0)
		_exit(read(wait_for, &c, 1) == 1 ? 9 : 1);
	_exit(write(tell, &pid, sizeof(pid)) == (ssize_t)sizeof(pid) ? 0 : 1);
}

static void test_adopted(void **state)
{
	struct world w = {.l = new_loop()};
	int tell[2], go[2];
	pid_t pid, grandchild;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		orphan(tell[1], go[0]);
	assert_int_equal(read(tell[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	OK(loop_add_child(w.l, grandchild, on_child, &w, &w.s[0], &e_));
	assert_int_equal(write(go[1], "g", 1), 1);
	OK(loop_run(w.l, &e_));
	assert_true(WIFEXITED(w.status) && WEXITSTATUS(w.status) == 9);
	assert_int_equal(waitpid(grandchild, NULL, WNOHANG), -1);
	for (int i = 0; i < 2; i++) {
		close(tell[i]);
		close(go[i]);
	}
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
	done(&w);
}

static void on_output(void *arg, uint32_t events)
{
	struct world *w = arg;
	char block[500];
	ssize_t n;

	(void)events;
	n = read(w->fds[0], block, sizeof(block));
	assert_true(n >= 0);
	if (n == 0)
		source_remove(take_ptr(&w->s[0]));
	w->got += (size_t)n;
}

static void on_exit_after_output(void *arg, pid_t pid, int status)
{
	struct world *w = arg;

	(void)pid;
	(void)status;
	w->status = (int)w->got; /* what had come until now */
	loop_stop(w->l);
}

/* Much more output than one callback takes, and then at once the end. */
static void output_once(size_t n)
{
	struct world w = {.l = new_loop()};
	static char text[60000];
	pid_t pid;
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(write(p[1], text, n) == (ssize_t)n ? 0 : 1);
	close(p[1]);
	w.fds[0] = p[0];
	OK(loop_add_child(w.l, pid, on_exit_after_output, &w, &w.s[1], &e_));
	OK(loop_add_io(w.l, p[0], EPOLLIN, on_output, &w, &w.s[0], &e_));
	OK(loop_run(w.l, &e_));
	assert_int_equal(w.status, n);
	close(p[0]);
	done(&w);
}

static void test_output_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < 50; i++)
		output_once(1 + i * 1200);
}

static void on_remove_all(void *arg, uint32_t events)
{
	struct world *w = arg;

	(void)events;
	saw(w, 'i');
	remove_all(w); /* its own, and those whose event is already there */
}

static void test_remove_others(void **state)
{
	struct world w = {.l = new_loop()};
	struct source *end;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		int p[2];

		assert_int_equal(pipe2(p, O_CLOEXEC), 0);
		close(p[1]); /* readable at once: EPOLLHUP */
		w.fds[i] = p[0];
		OK(loop_add_io(w.l, p[0], EPOLLIN, on_remove_all, &w, &w.s[i], &e_));
	}
	OK(loop_add_timer(w.l, clock_mono_us() + 50 * USEC_PER_MSEC, on_end, &w, &end, &e_));
	OK(loop_run(w.l, &e_));
	assert_string_equal(w.seen, "ie"); /* one callback, not three */
	source_remove(end);
	for (size_t i = 0; i < 3; i++)
		close(w.fds[i]);
	done(&w);
}

static void on_timer_removes(void *arg)
{
	struct world *w = arg;

	saw(w, 't');
	remove_all(w);
}

static void on_signal_removes(void *arg, int signo)
{
	struct world *w = arg;

	(void)signo;
	saw(w, 's');
	remove_all(w);
	loop_stop(w->l);
}

/* Timers and signals that remove themselves and their neighbours. */
static void test_remove_self(void **state)
{
	struct world w = {.l = new_loop()}, v = {.l = w.l};
	sigset_t old;

	(void)state;
	assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &old), 0);
	for (size_t i = 0; i < 3; i++)
		OK(loop_add_timer(w.l, 1, on_timer_removes, &w, &w.s[i], &e_));
	OK(loop_add_signal(w.l, SIGUSR1, on_signal_removes, &v, &v.s[0], &e_));
	OK(loop_add_timer(w.l, clock_mono_us() + 1000 * USEC_PER_SEC, on_end, &v, &v.s[1], &e_));
	assert_int_equal(raise(SIGUSR1), 0);
	OK(loop_run(w.l, &e_));
	assert_string_equal(v.seen, "s");
	assert_true(strlen(w.seen) <= 1); /* the signal may come first and stop the loop */
	remove_all(&w);
	done(&v);
	assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
}

/* No callback after the one that stopped the loop, and no second life. */
static void on_stop(void *arg, uint32_t events)
{
	struct world *w = arg;

	(void)events;
	saw(w, 's');
	loop_stop(w->l);
}

static void test_stop(void **state)
{
	struct world w = {.l = new_loop()};
	struct err e;
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	close(p[1]);
	OK(loop_add_io(w.l, p[0], EPOLLIN, on_stop, &w, &w.s[0], &e_));
	OK(loop_add_timer(w.l, 1, on_end, &w, &w.s[1], &e_));
	OK(loop_run(w.l, &e_));
	assert_int_equal(strlen(w.seen), 1);
	assert_int_equal(loop_run(w.l, &e), -EBUSY);
	assert_int_equal(strlen(w.seen), 1);
	close(p[0]);
	done(&w);
	source_remove(NULL);
	loop_free(NULL);
}

static void test_errors(void **state)
{
	struct world w = {.l = new_loop()};
	struct loop *l = NULL;
	_autoclose_ int file = -1;
	struct err e;

	(void)state;
	file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	assert_int_equal(loop_add_io(w.l, file, EPOLLIN, on_read, &w, &w.s[0], &e), -EPERM);
	assert_string_equal(e.msg, "watch a descriptor");
	fault_arm(1, FAULT_FAIL);
	assert_int_equal(loop_new(&l, &e), -ENOMEM);
	fault_arm(1, FAULT_FAIL);
	assert_int_equal(loop_add_io(w.l, 0, EPOLLIN, on_read, &w, &w.s[0], &e), -ENOMEM);
	fault_arm(1, FAULT_FAIL);
	assert_int_equal(loop_add_timer(w.l, 1, on_end, &w, &w.s[0], &e), -ENOMEM);
	fault_arm(1, FAULT_FAIL);
	assert_int_equal(loop_add_signal(w.l, SIGUSR2, on_signal, &w, &w.s[0], &e), -ENOMEM);
	fault_arm(1, FAULT_FAIL);
	assert_int_equal(loop_add_child(w.l, 1, on_child, &w, &w.s[0], &e), -ENOMEM);
	fault_arm(0, FAULT_FAIL);
	assert_null(l);
	assert_null(w.s[0]);
	done(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_io),		 cmocka_unit_test(test_timers),
    cmocka_unit_test(test_timer_again),	 cmocka_unit_test(test_signals),
    cmocka_unit_test(test_child),	 cmocka_unit_test(test_child_gone),
    cmocka_unit_test(test_child_left),	 cmocka_unit_test(test_adopted),
    cmocka_unit_test(test_output_first), cmocka_unit_test(test_remove_others),
    cmocka_unit_test(test_remove_self),	 cmocka_unit_test(test_stop),
    cmocka_unit_test(test_errors),
};

UNIT_MAIN(tests)
