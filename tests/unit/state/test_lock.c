/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/state/lock.h"
#include "tests/unit/scratch_dir.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child_with(int (*fn)(void))
{
	int p[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (fn() < 0 || write(p[1], "x", 1) != 1)
			_exit(1);
		while (pause() < 0)
			;
	}
	close(p[1]);
	assert_int_equal(read(p[0], &c, 1), 1);
	close(p[0]);
	return pid;
}

static void end_child(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int take_trigger(void)
{
	struct err e;
	int fd;

	return lock_trigger(dir.fd, "there", &fd, &e);
}

static int take_run(void)
{
	struct err e;
	int fd;

	return lock_run(dir.fd, "there", &fd, &e);
}

static void one_trigger_at_a_time(void **state)
{
	pid_t pid = child_with(take_trigger);
	char holder[64];
	struct err e;
	int fd = -1;

	(void)state;
	assert_int_equal(lock_trigger(dir.fd, "there", &fd, &e), -EBUSY);
	snprintf(holder, sizeof(holder), "another trigger holds 'there/trigger.lock' (process %d)",
		 (int)pid);
	assert_string_equal(e.msg, holder);
	end_child(pid);
	assert_int_equal(lock_trigger(dir.fd, "there", &fd, &e), 0); /* however it died */
	close(fd);
	assert_int_equal(unlinkat(dir.fd, "trigger.lock", 0), 0);
	assert_int_equal(symlinkat("victim", dir.fd, "trigger.lock"), 0);
	assert_int_equal(lock_trigger(dir.fd, "there", &fd, &e), -ELOOP);
	assert_false(scratch_has(dir.fd, "victim"));
}

static void a_run_is_found_by_its_lock(void **state)
{
	bool held = true;
	struct err e;
	pid_t pid, holder = 1;

	(void)state;
	assert_int_equal(lock_run_holder(dir.fd, &held, &holder, &e), 0);
	assert_false(held);
	pid = child_with(take_run);
	assert_int_equal(lock_run_holder(dir.fd, &held, &holder, &e), 0);
	assert_true(held);
	assert_int_equal(holder, pid);
	end_child(pid);
	assert_int_equal(lock_run_holder(dir.fd, &held, &holder, &e), 0);
	assert_false(held);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

static const struct CMUnitTest tests[] = {
    CASE(one_trigger_at_a_time),
    CASE(a_run_is_found_by_its_lock),
};

UNIT_MAIN(tests)
