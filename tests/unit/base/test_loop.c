/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/fault.h"
#include "tests/unit/base/world.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>

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
	assert_int_equal(write(p[1], "abc", 3), 3); /* level-triggered: one byte per call */
	close(p[1]);
	OK(loop_add_io(w.l, p[0], EPOLLIN, on_read, &w, &w.s[0], &e_));
	OK(loop_run(w.l, &e_));
	assert_string_equal(w.seen, "abc");
	remove_all(&w);
	assert_true(fcntl(p[0], F_GETFD) >= 0); /* the caller's descriptor stays open */
	close(p[0]);
	done(&w);
}

struct tick {
	struct world *w;
	uint64_t at;
	char name;
	struct source *next; /* it is due 50 ms after this one */
};

static void on_tick(void *arg)
{
	struct tick *t = arg;

	assert_true(clock_mono_us() >= t->at);
	saw(t->w, t->name);
	if (t->next)
		OK(loop_set_timer(t->next, clock_mono_us() + 50 * USEC_PER_MSEC, &e_));
}

static void test_timers(void **state)
{
	uint64_t now = clock_mono_us(), far = now + 1000 * USEC_PER_SEC;
	struct world w = {.l = new_loop()};
	struct tick late = {&w, now + 100 * USEC_PER_MSEC, 'c', NULL};
	struct tick soon = {&w, now + 50 * USEC_PER_MSEC, 'b', NULL};
	struct tick past = {&w, 1, 'a', NULL};
	struct source *end;

	(void)state;
	OK(loop_add_timer(w.l, far, on_end, &w, &end, &e_));
	late.next = end;
	OK(loop_add_timer(w.l, far, on_tick, &late, &w.s[0], &e_));
	soon.next = w.s[0];
	OK(loop_add_timer(w.l, soon.at, on_tick, &soon, &w.s[1], &e_));
	OK(loop_add_timer(w.l, past.at, on_tick, &past, &w.s[2], &e_));
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
	OK(loop_set_timer(w.s[0], 0, &e_)); /* also when it is armed */
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
	assert_int_equal(raise(SIGTERM), 0); /* would end the test if it were not blocked */
	assert_int_equal(raise(SIGUSR1), 0);
	OK(loop_run(w.l, &e_));
	assert_non_null(strchr(w.seen, '1'));
	assert_non_null(strchr(w.seen, 't'));
	assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &now), 0);
	assert_true(sigismember(&now, SIGUSR1) && sigismember(&now, SIGTERM));
	done(&w);
	assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
}

static void on_remove_all(void *arg, uint32_t events)
{
	struct world *w = arg;

	(void)events;
	saw(w, 'i');
	remove_all(w); /* its own source, and sources with a pending event */
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

/* After a callback stops the loop, no other callback is called, and the loop does not run again. */
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

static void on_entry(void *arg, const char *name)
{
	struct world *w = arg;

	saw(w, *name);
	if (strcmp(name, "z") == 0)
		loop_stop(w->l);
}

/* A file that is renamed, or made, is an entry; a file that is written in place, or removed, is
 * not. */
static void test_dir(void **state)
{
	struct world w = {.l = new_loop()};
	struct scratch dir = SCRATCH_INIT;

	(void)state;
	scratch_make(&dir);
	scratch_write(dir.fd, "a", "1");
	OK(loop_add_dir(w.l, dir.fd, on_entry, &w, &w.s[0], &e_));
	scratch_write(dir.fd, "a", "2");
	scratch_write(dir.fd, "b", "1");
	assert_int_equal(renameat(dir.fd, "b", dir.fd, "a"), 0);
	assert_int_equal(unlinkat(dir.fd, "a", 0), 0);
	assert_int_equal(mkdirat(dir.fd, "z", 0700), 0);
	OK(loop_run(w.l, &e_));
	assert_string_equal(w.seen, "baz");
	remove_all(&w);
	done(&w);
	scratch_remove(&dir);
}

static void test_errors(void **state)
{
	struct world w = {.l = new_loop()};
	_autoclose_ int file = -1;
	struct err e;

	(void)state;
	file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	assert_int_equal(loop_add_io(w.l, file, EPOLLIN, on_read, &w, &w.s[0], &e), -EPERM);
	assert_string_equal(e.msg, "watch a descriptor");
	assert_int_equal(loop_add_dir(w.l, -1, on_entry, &w, &w.s[0], &e), -EBADF);
	assert_null(w.s[0]);
	done(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_io),
    cmocka_unit_test(test_timers),
    cmocka_unit_test(test_timer_again),
    cmocka_unit_test(test_signals),
    cmocka_unit_test(test_remove_others),
    cmocka_unit_test(test_remove_self),
    cmocka_unit_test(test_stop),
    cmocka_unit_test(test_dir),
    cmocka_unit_test(test_errors),
};

UNIT_MAIN(tests)
