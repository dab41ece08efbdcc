/* SPDX-License-Identifier: Apache-2.0 */
/* The groups that stay when a supervisor is killed with SIGKILL, and their removal. */
#include "tests/unit/cgroups/bench.h"

#include "base/cleanup.h"
#include "cgroups/internal.h"

#include <sys/prctl.h>
#include <sys/stat.h>

/* A supervisor of our instance with two sleepers in a group, killed by SIGKILL.  Before, it reports
 * its keeper and one sleeper. */
struct victim {
	pid_t keeper;
	pid_t sleeper;
	char path[4096];
};

static void __attribute__((noreturn)) be_victim(bool keeper, int report)
{
	struct cgroup_tree_opts o = {.instance = bench_instance, .keeper = keeper};
	struct cgroup_limits lim = {.memory_max = 64 * MIB, .pids_max = 8};
	struct cgroup_tree *t;
	struct cgroup *cg;
	struct victim v = {0};
	struct err e;

	if (cgroup_tree_open(&o, &t, &e) < 0 || cgroup_new(t, "left", &lim, false, &cg, &e) < 0)
		_exit(1);
	v.keeper = t->keeper;
	v.sleeper = bench_run(cg, "trap '' HUP INT TERM; sleep 1000 & exec sleep 1001");
	while (bench_read(cg).pids_now < 2)
		(void)poll(NULL, 0, 1);
	(void)snprintf(v.path, sizeof(v.path), "%s", cgroup_tree_path(t));
	if (write(report, &v, sizeof(v)) == (ssize_t)sizeof(v))
		(void)raise(SIGKILL);
	_exit(1);
}

static struct victim make_victim(bool keeper)
{
	struct victim v;
	int p[2];
	pid_t pid;

	assert_int_equal(pipe(p), 0);
	pid = fork();
	if (pid == 0)
		be_victim(keeper, p[1]);
	close(p[1]);
	assert_int_equal(read(p[0], &v, sizeof(v)), sizeof(v));
	close(p[0]);
	assert_int_equal(WTERMSIG(bench_wait(pid)), SIGKILL);
	return v;
}

/* This process reaps orphans of a dead parent, so that a wait for them cannot hang. */
static int adopt(void **state)
{
	(void)state;
	return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void test_next_start_sweeps(void **state)
{
	struct cgroup_tree *t;
	struct victim v;

	(void)state;
	bench_close(bench_open(false)); /* or skip */
	v = make_victim(false);
	assert_int_equal(v.keeper, 0);
	assert_int_equal(kill(v.sleeper, 0), 0); /* still alive */
	t = bench_open(false);
	assert_int_equal(cgroup_tree_swept(t), 2);
	assert_int_equal(WTERMSIG(bench_wait(v.sleeper)), SIGKILL);
	assert_false(bench_exists(cgroup_tree_path(t), "left"));
	bench_close(t);
	assert_false(bench_exists(v.path, ""));
}

static void test_keeper_ends_it(void **state)
{
	struct victim v;
	int status;

	(void)state;
	bench_close(bench_open(false)); /* or skip */
	v = make_victim(true);
	assert_true(v.keeper > 0);
	assert_int_equal(WTERMSIG(bench_wait(v.sleeper)), SIGKILL);
	status = bench_wait(v.keeper);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_false(bench_exists(v.path, ""));
}

/* A successor that starts at once waits for the keeper.  It finds no old group, and the keeper does
 * not touch new groups. */
static void test_keeper_and_successor(void **state)
{
	struct cgroup_limits lim = {.memory_max = 64 * MIB};
	struct cgroup_tree *t;
	struct cgroup *cg;
	struct victim v;
	struct err e;
	pid_t pid;

	(void)state;
	bench_close(bench_open(false)); /* or skip */
	for (int i = 0; i < 5; i++) {
		v = make_victim(true);
		t = bench_open(true);
		bench_ok(cgroup_new(t, "new", &lim, false, &cg, &e), &e);
		pid = bench_run(cg, "exec sleep 1000");
		assert_int_equal(WEXITSTATUS(bench_wait(v.keeper)), 0);
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		bench_ok(cgroup_kill(cg, &e), &e);
		assert_int_equal(WTERMSIG(bench_wait(pid)), SIGKILL);
		bench_remove(cg);
		bench_close(t);
		assert_int_equal(WTERMSIG(bench_wait(v.sleeper)), SIGKILL);
	}
}

static unsigned count_fds(pid_t pid)
{
	char path[64];
	unsigned n = 0;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	assert_non_null(d);
	for (struct dirent *de = readdir(d); de; de = readdir(d))
		n += de->d_name[0] != '.';
	closedir(d);
	return n;
}

/* The keeper sleeps in its own session, and has only the descriptors that it needs. */
static void test_keeper_is_apart(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	pid_t keeper = t->keeper;
	char path[64], name[32] = "";
	unsigned want = 1 + 2 * t->n;
	int fd;

	(void)state;
	while (getsid(keeper) != keeper || count_fds(keeper) > want)
		(void)poll(NULL, 0, 1);
	assert_int_equal(count_fds(keeper), want);
	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)keeper);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, name, sizeof(name) - 1) > 0);
	close(fd);
	assert_string_equal(name, "fuzzcell-keeper\n");
	(void)kill(keeper, SIGTERM);
	(void)kill(keeper, SIGHUP);
	assert_int_equal(waitpid(keeper, NULL, WNOHANG), 0);
	bench_close(t);
	assert_int_equal(waitpid(keeper, NULL, WNOHANG), -1); /* reaped */
}

/* A killed keeper breaks only the promise that no cell outlives the supervisor. */
static void test_keeper_is_gone(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	siginfo_t si;

	(void)state;
	(void)kill(t->keeper, SIGKILL);
	(void)waitid(P_PID, (id_t)t->keeper, &si, WEXITED | WNOWAIT);
	bench_close(t);
}

static void test_second_user_is_refused(void **state)
{
	struct cgroup_tree_opts o = {.instance = bench_instance, .no_wait = true};
	struct cgroup_tree *t = bench_open(false), *other = NULL;
	uint64_t began = clock_mono_us();
	struct err e;

	(void)state;
	assert_int_equal(cgroup_tree_open(&o, &other, &e), -EBUSY);
	assert_true(clock_mono_us() - began < 5 * USEC_PER_SEC); /* the longest wait is 10 s */
	assert_non_null(strstr(e.msg, bench_instance));
	/* Its groups exist, and are empty. */
	for (unsigned i = 0; i < t->n; i++)
		assert_int_equal(
		    faccessat(t->at[i].base_fd, t->at[i].path + t->at[i].base_n + 1, F_OK, 0), 0);
	bench_close(t);
}

/* Processes that left the process group or keep forking are gone when the call returns.  The group
 * can be used again. */
static void test_empty(void **state)
{
	struct cgroup_tree *t = bench_open(false);
	struct cgroup_limits lim = {.pids_max = 50};
	struct cgroup *cg;
	struct err e;
	pid_t pid;

	(void)state;
	bench_ok(cgroup_tree_weight(t, 50, &e), &e);
	assert_int_equal(cgroup_tree_weight(t, 10001, &e), -EINVAL);
	bench_ok(cgroup_new(t, "empty", &lim, false, &cg, &e), &e);
	for (int i = 0; i < 2; i++) {
		pid = bench_run(cg, "trap '' HUP INT TERM; setsid sh -c 'while :; do sleep 0.1; "
				    "done' & while :; do sleep 0.1 & wait; done");
		while (bench_read(cg).pids_now < 3)
			(void)poll(NULL, 0, 1);
		bench_ok(cgroup_empty(cg, &e), &e);
		assert_false(bench_read(cg).populated);
		assert_int_equal(WTERMSIG(bench_wait(pid)), SIGKILL);
		while (waitpid(-1, NULL, WNOHANG) > 0) /* adopted */
			;
	}
	bench_remove(cg);
	bench_close(t);
}

/* Without cgroup.kill each process is killed singly, also if it ignores signals. */
static void test_kill_each(void **state)
{
	struct cgroup_tree *t = bench_open(false);
	struct cgroup_limits lim = {.pids_max = 200};
	struct cgroup *cg;
	struct err e;
	pid_t pid;

	(void)state;
	bench_ok(cgroup_new(t, "each", &lim, false, &cg, &e), &e);
	pid = bench_run(cg, "trap '' HUP INT TERM; i=0; while [ $i -lt 100 ]; do sleep 1000 & "
			    "i=$((i + 1)); done; wait");
	while (bench_read(cg).pids_now < 101) /* it starts no more processes */
		(void)poll(NULL, 0, 1);
	bench_ok(cg_sweep_kill_each(cg->dir[0], &e), &e);
	assert_int_equal(WTERMSIG(bench_wait(pid)), SIGKILL);
	bench_remove(cg);
	bench_close(t);
}

/* Nested groups are removed; a foreign group beside ours stays. */
static void test_only_ours(void **state)
{
	struct cgroup_tree *t = bench_open(false);
	char other[4200], name[64];
	struct err e;
	unsigned n;

	(void)state;
	(void)snprintf(name, sizeof(name), "%s-other", bench_instance);
	(void)snprintf(other, sizeof(other), "%s-other", cgroup_tree_path(t));
	assert_int_equal(mkdir(other, 0755), 0);
	for (unsigned i = 0; i < t->n; i++) {
		assert_int_equal(mkdirat(t->at[i].fd, "a", 0755), 0);
		assert_int_equal(mkdirat(t->at[i].fd, "a/b", 0755), 0);
		assert_int_equal(mkdirat(t->at[i].fd, "c", 0755), 0);
	}
	bench_ok(cg_sweep_all(t, &n, &e), &e);
	assert_int_equal(n, 0);
	for (unsigned i = 0; i < t->n; i++) {
		assert_int_equal(faccessat(t->at[i].fd, "a", F_OK, 0), -1);
		assert_int_equal(faccessat(t->at[i].fd, "c", F_OK, 0), -1);
	}
	bench_close(t);
	assert_int_equal(access(other, F_OK), 0);
	assert_int_equal(rmdir(other), 0);
	(void)rmdir("/sys/fs/cgroup/unified/fuzzcell"); /* hybrid: only this test uses it */
	(void)rmdir("/sys/fs/cgroup/fuzzcell");
}

static void __attribute__((noreturn)) remove_shared(const struct cgroup_tree *t)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		for (unsigned i = 0; i < t->n; i++)
			(void)unlinkat(t->at[i].base_fd, CG_SHARED, AT_REMOVEDIR);
}

/* The last instance that leaves removes the shared groups, while others start. */
static void test_leaving_while_others_come(void **state)
{
	struct cgroup_tree *t = bench_open(false);
	struct cgroup_tree_opts o = {.instance = bench_instance};
	struct err e;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		remove_shared(t);
	bench_close(t);
	for (unsigned i = 0; i < 200; i++) {
		int r = cgroup_tree_open(&o, &t, &e);

		if (r < 0) {
			(void)kill(pid, SIGKILL);
			(void)bench_wait(pid);
			fail_msg("at %u: %s", i, e.msg);
		}
		cgroup_tree_close(t);
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(WTERMSIG(bench_wait(pid)), SIGKILL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_next_start_sweeps, adopt, bench_done),
    cmocka_unit_test_setup_teardown(test_keeper_ends_it, adopt, bench_done),
    cmocka_unit_test_setup_teardown(test_keeper_and_successor, adopt, bench_done),
    cmocka_unit_test_teardown(test_keeper_is_apart, bench_done),
    cmocka_unit_test_teardown(test_keeper_is_gone, bench_done),
    cmocka_unit_test_teardown(test_second_user_is_refused, bench_done),
    cmocka_unit_test_teardown(test_kill_each, bench_done),
    cmocka_unit_test_setup_teardown(test_empty, adopt, bench_done),
    cmocka_unit_test_teardown(test_only_ours, bench_done),
    cmocka_unit_test_teardown(test_leaving_while_others_come, bench_done),
};

UNIT_MAIN(tests)
