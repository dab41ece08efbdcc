/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/task.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* The results of a test's tasks. */
struct bench {
	struct loop *l;
	unsigned calls, want;
	char *text;
	size_t n;
	char failed[600]; /* "": success */
};

static void on_done(void *arg, struct slice result, const char *failed)
{
	struct bench *b = arg;

	free(b->text);
	b->text = strndup(result.p, result.n);
	b->n = result.n;
	snprintf(b->failed, sizeof(b->failed), "%s", failed ? failed : "");
	if (++b->calls == b->want)
		loop_stop(b->l);
}

static void bench_make(struct bench *b)
{
	struct err e;

	*b = (struct bench){.want = 1};
	assert_int_equal(loop_new(&b->l, &e), 0);
}

static void bench_done(struct bench *b)
{
	assert_int_equal(b->calls, b->want);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie, no child */
	assert_int_equal(errno, ECHILD);
	loop_free(b->l);
	free(b->text);
}

static void play(struct bench *b, task_fn *fn, void *arg)
{
	struct task *t;
	struct err e;

	bench_make(b);
	assert_int_equal(task_start(b->l, fn, arg, on_done, b, &t, &e), 0);
	assert_int_equal(loop_run(b->l, &e), 0);
}

static int fn_result(void *arg, struct buf *out, struct err *e)
{
	(void)e;
	buf_printf(out, "from %s", (const char *)arg);
	return 0;
}

static int fn_bytes(void *arg, struct buf *out, struct err *e)
{
	(void)arg;
	(void)e;
	buf_put(out, (struct slice){"\0k\0f\n", 5});
	return 0;
}

static int fn_nothing(void *arg, struct buf *out, struct err *e)
{
	(void)arg;
	(void)out;
	(void)e;
	return 0;
}

static int fn_fails(void *arg, struct buf *out, struct err *e)
{
	buf_puts(out, "half a result");
	return err_set(e, ENOSPC, "write '%s'", (const char *)arg);
}

static void test_result(void **state)
{
	char name[] = "a child";
	struct bench b;

	(void)state;
	play(&b, fn_result, name);
	assert_string_equal(b.text, "from a child");
	assert_string_equal(b.failed, "");
	bench_done(&b);
	play(&b, fn_bytes, NULL);
	assert_int_equal(b.n, 5);
	assert_string_equal(b.failed, "");
	bench_done(&b);
	play(&b, fn_nothing, NULL);
	assert_int_equal(b.n, 0);
	assert_string_equal(b.failed, "");
	bench_done(&b);
}

static void test_failure(void **state)
{
	char name[] = "corpus/x";
	struct bench b;

	(void)state;
	play(&b, fn_fails, name);
	assert_string_equal(b.failed, "write 'corpus/x'");
	assert_int_equal(b.n, 0);
	bench_done(&b);
}

static int fn_dies(void *arg, struct buf *out, struct err *e)
{
	(void)out;
	(void)e;
	(void)raise(*(const int *)arg);
	_exit(0); /* a successful exit without a result */
}

static void test_death(void **state)
{
	static int how[] = {SIGKILL, SIGTERM, 0}; /* 0: no signal, it exits */

	(void)state;
	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		struct bench b;

		play(&b, fn_dies, &how[i]);
		assert_string_equal(b.failed, "the working process died");
		assert_int_equal(b.n, 0);
		bench_done(&b);
	}
}

enum { LARGE = TASK_RESULT_MAX - 1 };

static int fn_large(void *arg, struct buf *out, struct err *e)
{
	const size_t *n = arg;

	(void)e;
	for (size_t i = 0; i < *n; i++)
		buf_put(out, (struct slice){&"abcdefghijklm"[i % 13], 1});
	return 0;
}

static void test_large(void **state)
{
	size_t n = LARGE;
	struct bench b;

	(void)state;
	play(&b, fn_large, &n);
	assert_string_equal(b.failed, "");
	assert_int_equal(b.n, LARGE);
	for (size_t i = 0; i < b.n; i++)
		if (b.text[i] != "abcdefghijklm"[i % 13])
			fail_msg("byte %zu is %c", i, b.text[i]);
	bench_done(&b);
	n = LARGE + 1;
	play(&b, fn_large, &n);
	assert_non_null(strstr(b.failed, "more than"));
	assert_int_equal(b.n, 0);
	bench_done(&b);
}

struct shared {
	_Atomic int pid;
};

static int fn_told(void *arg, struct buf *out, struct err *e)
{
	struct shared *s = arg;
	size_t n = LARGE;
	int r = fn_large(&n, out, e);

	atomic_store(&s->pid, (int)getpid());
	return r; /* more than a pipe holds: the task blocks in the middle of it */
}

static char process_state(int pid)
{
	char path[64], text[256] = "";
	const char *p;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	p = strrchr(text, ')');
	return p ? p[2] : '?';
}

/* A partial result is a failure, although it begins with the sign of success. */
static void test_death_in_the_middle(void **state)
{
	struct shared *s =
	    mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct bench b;
	struct task *t;
	struct err e;

	(void)state;
	assert_true(s != MAP_FAILED);
	bench_make(&b);
	assert_int_equal(task_start(b.l, fn_told, s, on_done, &b, &t, &e), 0);
	while (atomic_load(&s->pid) == 0 || process_state(s->pid) != 'S')
		sched_yield();
	assert_int_equal(kill(s->pid, SIGKILL), 0);
	assert_int_equal(loop_run(b.l, &e), 0);
	assert_string_equal(b.failed, "the working process died");
	assert_int_equal(b.n, 0);
	bench_done(&b);
	munmap(s, sizeof(*s));
}

static unsigned open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

struct one {
	struct bench *b;
	char name[8], text[32], failed[64];
};

static void on_one(void *arg, struct slice result, const char *failed)
{
	struct one *o = arg;

	snprintf(o->text, sizeof(o->text), "%.*s", (int)result.n, result.p);
	snprintf(o->failed, sizeof(o->failed), "%s", failed ? failed : "");
	if (++o->b->calls == o->b->want)
		loop_stop(o->b->l);
}

enum { MANY = 20 };

static void start_one(struct bench *b, struct one *o, unsigned i)
{
	static int killed = SIGKILL;
	struct task *t;
	struct err e;

	o->b = b;
	snprintf(o->name, sizeof(o->name), "n%u", i);
	if (i % 5 == 3)
		assert_int_equal(task_start(b->l, fn_dies, &killed, on_one, o, &t, &e), 0);
	else
		assert_int_equal(
		    task_start(b->l, i % 5 == 4 ? fn_fails : fn_result, o->name, on_one, o, &t, &e),
		    0);
}

/* Several tasks at once: their results are not mixed, and no descriptor stays open. */
static void test_many(void **state)
{
	struct one ones[MANY] = {0};
	unsigned fds = open_fds();
	struct bench b;
	char want[64];
	struct err e;

	(void)state;
	bench_make(&b);
	b.want = MANY;
	for (unsigned i = 0; i < MANY; i++)
		start_one(&b, &ones[i], i);
	assert_int_equal(loop_run(b.l, &e), 0);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(want, sizeof(want), i % 5 == 4 ? "write '%s'" : "from %s", ones[i].name);
		if (i % 5 == 3)
			assert_string_equal(ones[i].failed, "the working process died");
		else if (i % 5 == 4)
			assert_string_equal(ones[i].failed, want);
		else
			assert_string_equal(ones[i].text, want);
	}
	bench_done(&b);
	assert_int_equal(open_fds(), fds);
}

/* A task that could not be started leaves no process, no descriptor, no callback. */
static void test_start_fails(void **state)
{
	char name[] = "x";
	unsigned fds = open_fds();
	struct bench b;
	struct task *t;
	struct err e;

	(void)state;
	bench_make(&b);
	fault_arm(1, FAULT_FAIL);
	assert_int_equal(task_start(b.l, fn_result, name, on_done, &b, &t, &e), -EMFILE);
	fault_arm(0, FAULT_FAIL);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(task_start(b.l, fn_result, name, on_done, &b, &t, &e), 0);
	assert_int_equal(loop_run(b.l, &e), 0);
	bench_done(&b);
	assert_int_equal(open_fds(), fds);
}

static int fn_lingers(void *arg, struct buf *out, struct err *e)
{
	struct shared *s = arg;

	(void)out;
	(void)e;
	atomic_store(&s->pid, (int)getpid());
	while (pause() < 0)
		;
	return 0;
}

/* The loop ends before the child: the child is waited for, or killed. */
static void test_finish(void **state)
{
	struct shared s = {0};
	char name[] = "late";
	struct bench b;
	struct task *t;
	struct err e;

	(void)state;
	bench_make(&b);
	assert_int_equal(task_start(b.l, fn_result, name, on_done, &b, &t, &e), 0);
	task_finish(t, clock_mono_us() + 60 * USEC_PER_SEC);
	assert_int_equal(b.calls, 1);
	assert_string_equal(b.failed, "");
	assert_true(b.n > 0);
	b.calls = 0;
	assert_int_equal(task_start(b.l, fn_lingers, &s, on_done, &b, &t, &e), 0);
	task_finish(t, clock_mono_us() + USEC_PER_SEC / 10);
	assert_string_equal(b.failed, "the working process died");
	bench_done(&b);
}

/* When the process is killed its workers end with it: no worker writes to a state directory that
 * the next run holds. */
static void test_dies_with_us(void **state)
{
	struct shared *s =
	    mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	(void)state;
	assert_true(s != MAP_FAILED);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct bench b = {.want = 1};
		struct task *t;
		struct err e;

		if (loop_new(&b.l, &e) < 0 ||
		    task_start(b.l, fn_lingers, s, on_done, &b, &t, &e) < 0)
			_exit(1);
		_exit(loop_run(b.l, &e) < 0);
	}
	while (atomic_load(&s->pid) == 0)
		sched_yield();
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid); /* hangs if it still lives */
	munmap(s, sizeof(*s));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_result),
    cmocka_unit_test(test_failure),
    cmocka_unit_test(test_death),
    cmocka_unit_test(test_large),
    cmocka_unit_test(test_death_in_the_middle),
    cmocka_unit_test(test_many),
    cmocka_unit_test(test_start_fails),
    cmocka_unit_test(test_finish),
    cmocka_unit_test(test_dies_with_us),
};

UNIT_MAIN(tests)
