/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fault.h"
#include "tests/unit/base/world.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

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

/* A child ends by this signal, or with this status, and is reaped. */
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

/* The child is already a zombie when it is added. */
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

/* After its source is removed, a child can be waited for. */
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

/* The child reports its own child's number, and dies before that child on our signal. */
static void orphan(int report, int wait_for)
{
	pid_t pid = fork();
	char c;

	if (pid == 0)
		_exit(read(wait_for, &c, 1) == 1 ? 9 : 1);
	_exit(write(report, &pid, sizeof(pid)) == (ssize_t)sizeof(pid) ? 0 : 1);
}

static void test_adopted(void **state)
{
	struct world w = {.l = new_loop()};
	int report[2], go[2];
	pid_t pid, grandchild;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(pipe2(report, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		orphan(report[1], go[0]);
	assert_int_equal(read(report[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	OK(loop_add_child(w.l, grandchild, on_child, &w, &w.s[0], &e_));
	assert_int_equal(write(go[1], "g", 1), 1);
	OK(loop_run(w.l, &e_));
	assert_true(WIFEXITED(w.status) && WEXITSTATUS(w.status) == 9);
	assert_int_equal(waitpid(grandchild, NULL, WNOHANG), -1);
	for (int i = 0; i < 2; i++) {
		close(report[i]);
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
	w->status = (int)w->got; /* the bytes until now */
	loop_stop(w->l);
}

/* Much more output than one callback reads, and then the end at once. */
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_child),	 cmocka_unit_test(test_child_gone),
    cmocka_unit_test(test_child_left),	 cmocka_unit_test(test_adopted),
    cmocka_unit_test(test_output_first),
};

UNIT_MAIN(tests)
