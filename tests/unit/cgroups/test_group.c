/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cgroups/bench.h"

#include "cgroups/stat.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

static const struct cgroup_limits usual = {
    .memory_max = 64 * MIB,
    .cpu_milli = 500,
    .cpu_weight = 100,
    .pids_max = 32,
};

static struct cgroup *make(struct cgroup_tree *t, const char *name, const struct cgroup_limits *lim)
{
	struct cgroup *cg = NULL;
	struct err e;

	bench_ok(cgroup_new(t, name, lim, false, &cg, &e), &e);
	return cg;
}

static void test_tree(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	const struct cgroup_promises *p = cgroup_tree_promises(t);
	char path[4096];

	(void)state;
	print_message("# %s at %s, missing: %s\n", cgroup_layout_name(cgroup_tree_layout(t)),
		      cgroup_tree_path(t), p->missing);
	assert_true(bench_exists(cgroup_tree_path(t), "cgroup.procs"));
	assert_int_equal(cgroup_tree_swept(t), 0);
	/* The field `missing` names broken promises only. */
	assert_int_equal(p->missing[0] == '\0', p->memory && p->swap_off && p->memory_high &&
						    p->cpu && p->pids && p->pressure && p->kill);
	(void)snprintf(path, sizeof(path), "%s", cgroup_tree_path(t));
	bench_close(t);
	assert_false(bench_exists(path, ""));
}

static void test_one_user(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	struct cgroup_tree_opts o = {.instance = "Not/ok"};
	struct cgroup_tree *other = NULL;
	struct err e;

	(void)state;
	assert_int_equal(cgroup_tree_open(&o, &other, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "Not/ok"));
	o = (struct cgroup_tree_opts){.instance = "x", .path = "../up"};
	assert_int_equal(cgroup_tree_open(&o, &other, &e), -EINVAL);
	o.path = "/a/../b";
	assert_int_equal(cgroup_tree_open(&o, &other, &e), -EINVAL);
	assert_null(other);
	bench_close(t);
}

static void test_names(void **state)
{
	static const char *const bad[] = {"", "a/b", "..", "A", "a b", "cgroup.procs"};
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *cg = make(t, "a", &usual), *other = NULL;
	struct cgroup_limits lim = usual;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cgroup_new(t, bad[i], &usual, false, &other, &e), -EINVAL);
	assert_int_equal(cgroup_new(t, "a", &usual, false, &other, &e), -EEXIST);
	lim.memory_high = lim.memory_max;
	assert_int_equal(cgroup_new(t, "b", &lim, false, &other, &e), -EINVAL);
	assert_false(bench_exists(cgroup_tree_path(t), "b"));
	bench_remove(cg);
	bench_close(t);
}

/* A child that takes as much memory as it can is killed at its own limit. */
static void test_memory(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *cg = make(t, "memory", &usual);
	struct cgroup_counters c;
	uint64_t mib = 512;
	int status;

	(void)state;
	status = bench_wait(bench_fork(cg, bench_hog, &mib));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	c = bench_read(cg);
	print_message("# memory: limit %llu, peak %llu, oom kills %llu\n",
		      (unsigned long long)usual.memory_max, (unsigned long long)c.mem_peak,
		      (unsigned long long)c.oom_kills);
	assert_true(c.oom_kills >= 1);
	assert_in_range(c.mem_peak, usual.memory_max / 2, usual.memory_max);
	bench_remove(cg);
	bench_close(t);
}

static void test_cpu(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *cg = make(t, "cpu", &usual);
	struct cgroup_counters c;
	uint64_t us = clock_mono_us();
	struct err e;
	pid_t pid;

	(void)state;
	/* Two hogs on half a CPU, until they have used 400 ms of it. */
	pid = bench_run(cg, "while :; do :; done & while :; do :; done");
	do {
		(void)poll(NULL, 0, 5);
		c = bench_read(cg);
	} while (c.usage_us < 400000 && clock_mono_us() - us < 60 * USEC_PER_SEC);
	us = clock_mono_us() - us;
	assert_true(c.populated);
	assert_int_equal(c.pids_now, 2);
	bench_ok(cgroup_kill(cg, &e), &e);
	bench_wait(pid);
	assert_true(c.usage_us >= 400000);
	print_message("# cpu: %llu us used in %llu us, throttled %llu us\n",
		      (unsigned long long)c.usage_us, (unsigned long long)us,
		      (unsigned long long)c.throttled_us);
	/* Without a quota two hogs use twice the time that passes.  A late tick
	 * overdraws the quota, which later periods pay back. */
	assert_true(c.usage_us <= us / 4 * 3 + 100000);
	assert_true(c.throttled_us > 0 || c.cpu.full_us > 0); /* Linux 6.18: see the header */
	assert_true(c.user_us > 0 && c.user_us + c.system_us <= c.usage_us + 20000);
	bench_remove(cg);
	bench_close(t);
}

/* Starts as many children as the limit allows tasks.  It is a task itself, so the last child is
 * refused.  This is no bomb: without the limit only these few children start. */
static int fork_some(void *arg)
{
	const uint32_t *limit = arg;

	for (uint32_t i = 0; i < *limit; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return errno;
		if (pid == 0) {
			(void)pause();
			_exit(0);
		}
	}
	return 0;
}

static void test_pids(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	struct cgroup_limits lim = usual;
	struct cgroup *cg;
	struct err e;
	pid_t pid;

	(void)state;
	lim.pids_max = 4;
	cg = make(t, "pids", &lim);
	pid = bench_fork(cg, fork_some, &lim.pids_max);
	assert_int_equal(WEXITSTATUS(bench_wait(pid)), EAGAIN);
	assert_true(bench_read(cg).pids_refused >= 1);
	assert_in_range(bench_read(cg).pids_now, 1, 4);
	bench_ok(cgroup_kill(cg, &e), &e);
	assert_true(bench_wait_populated(cg, false));
	while (bench_read(cg).pids_now > 0) /* until its orphans are reaped, too */
		(void)poll(NULL, 0, 1);
	bench_remove(cg);
	bench_close(t);
}

/* Three generations of processes that ignore every signal: still killed at once. */
static void test_kill(void **state)
{
	struct pollfd quiet = {.events = POLLPRI};
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *cg = make(t, "kill", &usual);
	struct err e;
	pid_t pid;
	int status;

	(void)state;
	quiet.fd = cgroup_events_fd(cg);
	assert_int_equal(poll(&quiet, 1, 0), 0); /* no change yet */
	pid = bench_run(cg, "trap '' HUP INT TERM; (setsid sleep 1000 & exec sleep 1001) & "
			    "exec sleep 1002");
	while (bench_read(cg).pids_now < 3)
		(void)poll(NULL, 0, 1);
	assert_int_equal(cgroup_remove(cg, &e), -EBUSY);
	assert_true(bench_read(cg).populated); /* still valid */
	bench_ok(cgroup_kill(cg, &e), &e);
	status = bench_wait(pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_true(bench_wait_populated(cg, false));
	assert_false(bench_read(cg).populated);
	assert_true(bench_exists(cgroup_tree_path(t), "kill"));
	bench_remove(cg);
	assert_false(bench_exists(cgroup_tree_path(t), "kill"));
	bench_close(t);
}

static void *nap(void *arg)
{
	for (;;)
		(void)poll(NULL, 0, 1000);
	return arg;
}

static int live_on(void *arg)
{
	pthread_t t;

	(void)arg;
	if (pthread_create(&t, NULL, nap, NULL) != 0)
		return 121;
	syscall(SYS_exit, 0); /* ends only this thread */
	return 122;
}

static bool has_ended(pid_t pid)
{
	char path[64], text[256] = "";
	int fd, n;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? (int)read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	return n > 0 && strstr(text, ") Z ");
}

/* The kernel's cgroup.kill skips a process after the end of its first thread. */
static void test_kill_headless(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *cg = make(t, "headless", &usual);
	pid_t pid = bench_fork(cg, live_on, NULL);
	struct err e;
	int status;

	(void)state;
	while (!has_ended(pid))
		(void)poll(NULL, 0, 1);
	assert_true(bench_read(cg).populated);
	bench_ok(cgroup_kill(cg, &e), &e);
	assert_true(bench_wait_populated(cg, false));
	status = bench_wait(pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	bench_remove(cg);
	bench_close(t);
}

static void wait_frozen(void)
{
	char path[4300], text[256];
	uint64_t frozen = 0;

	(void)snprintf(path, sizeof(path), "%s/freeze/cgroup.events", cgroup_tree_path(bench_tree));
	while (!frozen) {
		struct pollfd p = {.fd = open(path, O_RDONLY | O_CLOEXEC), .events = POLLPRI};
		ssize_t n = pread(p.fd, text, sizeof(text), 0);

		assert_true(n > 0);
		assert_true(
		    cg_stat_keyed((struct slice){text, (size_t)n}, SLICE("frozen"), &frozen));
		if (!frozen)
			assert_int_equal(poll(&p, 1, 10000), 1);
		close(p.fd);
	}
}

static void test_freeze(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *cg = make(t, "freeze", &usual);
	struct cgroup_counters a, b;
	struct err e;
	pid_t pid;

	(void)state;
	pid = bench_run(cg, "while :; do :; done");
	while (bench_read(cg).usage_us < 10000)
		(void)poll(NULL, 0, 1);
	bench_ok(cgroup_freeze(cg, true, &e), &e);
	wait_frozen(); /* from then on no CPU time is used */
	a = bench_read(cg);
	(void)poll(NULL, 0, 100);
	b = bench_read(cg);
	/* The kernel reports the freeze shortly before the last task stops. */
	assert_in_range(b.usage_us, a.usage_us, a.usage_us + 1000);
	bench_ok(cgroup_freeze(cg, false, &e), &e);
	while (bench_read(cg).usage_us < b.usage_us + 10000)
		(void)poll(NULL, 0, 1);
	/* A frozen group can be killed. */
	bench_ok(cgroup_freeze(cg, true, &e), &e);
	bench_ok(cgroup_kill(cg, &e), &e);
	bench_wait(pid);
	bench_remove(cg);
	bench_close(t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(test_tree, bench_done),
    cmocka_unit_test_teardown(test_one_user, bench_done),
    cmocka_unit_test_teardown(test_names, bench_done),
    cmocka_unit_test_teardown(test_memory, bench_done),
    cmocka_unit_test_teardown(test_cpu, bench_done),
    cmocka_unit_test_teardown(test_pids, bench_done),
    cmocka_unit_test_teardown(test_kill, bench_done),
    cmocka_unit_test_teardown(test_kill_headless, bench_done),
    cmocka_unit_test_teardown(test_freeze, bench_done),
};

UNIT_MAIN(tests)
