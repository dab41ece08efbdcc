/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines of groups: the keeper enforces them while this process does nothing. */
#include "tests/unit/unit.h"

#include "tests/unit/cgroups/bench.h"

/* Ignores every signal that can be ignored, and keeps forking. */
#define STUBBORN "trap '' TERM HUP INT; while :; do sleep 1 & wait; done"

static struct cgroup *group(struct cgroup_tree *t, const char *name)
{
	static const struct cgroup_limits none;
	struct cgroup *cg = NULL;
	struct err e;

	bench_ok(cgroup_new(t, name, &none, true, &cg, &e), &e);
	return cg;
}

static void deadline(struct cgroup *cg, uint64_t until_us)
{
	struct err e;

	bench_ok(cgroup_deadline(cg, until_us, &e), &e);
}

static void kill_and_remove(struct cgroup *cg, pid_t pid)
{
	struct err e;

	bench_ok(cgroup_kill(cg, &e), &e);
	(void)bench_wait(pid);
	bench_remove(cg);
}

static void only_late_groups_are_killed(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *late = group(t, "late"), *later = group(t, "later"),
		      *none = group(t, "none");
	pid_t pids[] = {bench_run(late, STUBBORN), bench_run(later, STUBBORN),
			bench_run(none, STUBBORN)};
	uint64_t began = clock_mono_us();
	bool lives;
	struct err e;

	(void)state;
	(void)kill(t->keeper, SIGSTOP); /* it gets the next messages all at once */
	deadline(later, began + 3600 * USEC_PER_SEC);
	deadline(late, began + 3600 * USEC_PER_SEC);
	deadline(none, began + 1);
	deadline(none, 0);
	deadline(late, began + 200 * USEC_PER_MSEC); /* the last message counts */
	assert_false(cgroup_overdue(late));
	(void)kill(t->keeper, SIGCONT);
	assert_true(bench_wait_populated(late, false));
	assert_true(clock_mono_us() - began >= 200 * USEC_PER_MSEC);
	assert_true(cgroup_overdue(late));
	assert_int_equal(WTERMSIG(bench_wait(pids[0])), SIGKILL);
	bench_remove(late);
	for (unsigned i = 1; i < 3; i++) {
		struct cgroup *cg = i == 1 ? later : none;

		bench_ok(cgroup_populated(cg, &lives, &e), &e);
		assert_true(lives);
		assert_false(cgroup_overdue(cg));
		kill_and_remove(cg, pids[i]);
	}
	bench_close(t);
}

/* A group that ends in time is not overdue, and neither is a new group in its place. */
static void a_group_that_ends_in_time_is_not_overdue(void **state)
{
	struct cgroup_tree *t = bench_open(true);

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct cgroup *cg = group(t, "one");
		pid_t pid = bench_run(cg, i == 1 ? STUBBORN : "exit 3");

		if (i == 1)
			deadline(cg, clock_mono_us() + 1);
		else
			assert_int_equal(WEXITSTATUS(bench_wait(pid)), 3);
		assert_true(bench_wait_populated(cg, false));
		deadline(cg, clock_mono_us() + (i == 2 ? 1 : 3600 * USEC_PER_SEC));
		assert_int_equal(cgroup_overdue(cg), i == 1);
		if (i == 1)
			assert_int_equal(WTERMSIG(bench_wait(pid)), SIGKILL);
		bench_remove(cg);
	}
	bench_close(t);
}

/* A group that is halted at its memory mark, or frozen, is killed, too. */
static void a_frozen_group_is_killed(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *cg = group(t, "frozen");
	pid_t pid = bench_run(cg, STUBBORN);
	struct err e;

	(void)state;
	bench_ok(cgroup_freeze(cg, true, &e), &e);
	deadline(cg, clock_mono_us() + 100 * USEC_PER_MSEC);
	assert_int_equal(WTERMSIG(bench_wait(pid)), SIGKILL);
	assert_true(cgroup_overdue(cg));
	bench_remove(cg);
	bench_close(t);
}

/* A stopped keeper delays no call, and the end kills it. */
static void a_stopped_keeper_is_an_error(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *cg = group(t, "x");
	struct err e;
	int r = 0;

	(void)state;
	(void)kill(t->keeper, SIGSTOP);
	for (unsigned i = 0; r == 0 && i < 100000; i++)
		r = cgroup_deadline(cg, UINT64_MAX, &e);
	assert_int_equal(r, -EAGAIN);
	assert_non_null(strstr(e.msg, "send a message to the keeper"));
	bench_remove(cg);
	bench_close(t);
}

/* A deadline ends also when the message about the next one is lost. */
static void an_error_leaves_no_deadline(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *cg = group(t, "x"), *other = group(t, "other");
	pid_t pid = bench_run(cg, STUBBORN);
	uint64_t until = clock_mono_us() + 200 * USEC_PER_MSEC;
	bool lives;
	struct err e;
	int r = 0;

	(void)state;
	deadline(cg, until);
	(void)kill(t->keeper, SIGSTOP);
	for (unsigned i = 0; r == 0 && i < 100000; i++)
		r = cgroup_deadline(other, UINT64_MAX, &e);
	assert_int_equal(r, -EAGAIN);
	assert_int_equal(cgroup_deadline(cg, 0, &e), -EAGAIN);
	(void)kill(t->keeper, SIGCONT);
	while (clock_mono_us() < until + 300 * USEC_PER_MSEC)
		(void)poll(NULL, 0, 50);
	bench_ok(cgroup_populated(cg, &lives, &e), &e);
	assert_true(lives);
	assert_false(cgroup_overdue(cg));
	deadline(cg, 1); /* the keeper still works */
	assert_int_equal(WTERMSIG(bench_wait(pid)), SIGKILL);
	assert_true(cgroup_overdue(cg));
	bench_remove(cg);
	bench_remove(other);
	bench_close(t);
}

static void without_a_keeper_nothing_happens(void **state)
{
	struct cgroup_tree *t = bench_open(false);
	struct cgroup *cg = group(t, "x");

	(void)state;
	deadline(cg, 1);
	assert_false(cgroup_overdue(cg));
	bench_remove(cg);
	bench_close(t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(only_late_groups_are_killed, bench_done),
    cmocka_unit_test_teardown(a_group_that_ends_in_time_is_not_overdue, bench_done),
    cmocka_unit_test_teardown(a_frozen_group_is_killed, bench_done),
    cmocka_unit_test_teardown(a_stopped_keeper_is_an_error, bench_done),
    cmocka_unit_test_teardown(an_error_leaves_no_deadline, bench_done),
    cmocka_unit_test_teardown(without_a_keeper_nothing_happens, bench_done),
};

UNIT_MAIN(tests)
