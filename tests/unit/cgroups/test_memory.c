/* SPDX-License-Identifier: Apache-2.0 */
/* The mark before the memory limit: tasks halt there until cgroup_memory_open().  On the hybrid
 * layout the kernel halts them.  On the unified layout it slows them down, and they are frozen. */
#include "tests/unit/cgroups/bench.h"

#include <pthread.h>

static const struct cgroup_limits marked = {
    .memory_high = 52 * MIB,
    .memory_max = 64 * MIB,
    .pids_max = 32,
};

static struct cgroup *make(struct cgroup_tree *t)
{
	struct cgroup *cg = NULL;
	struct err e;

	bench_ok(cgroup_new(t, "mark", &marked, false, &cg, &e), &e);
	return cg;
}

/* Waits for the event of the mark. */
static bool wait_event(struct cgroup *cg, int ms)
{
	uint32_t events;
	struct pollfd p = {.fd = cgroup_memory_fd(cg, &events)};

	assert_true(p.fd >= 0);
	p.events = (short)events;
	return poll(&p, 1, ms) == 1;
}

/* The memory that an allocator may get beyond the mark before it is frozen there. */
#define SLACK (4 * MIB)

/* Waits for a halt at the mark, with memory that cannot be reclaimed. */
static void halt(struct cgroup *cg)
{
	bool halted = false;
	struct err e;

	assert_true(wait_event(cg, 10000));
	/* With several threads, not each one causes an event. */
	for (int i = 0; i < 200 && !halted; i++) {
		bench_ok(cgroup_memory_event(cg, &halted, &e), &e);
		if (!halted)
			(void)wait_event(cg, 50);
	}
	assert_true(halted);
	bench_ok(cgroup_freeze(cg, true, &e), &e);
}

static int report_fd;

static void *idle_thread(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Like an engine's handler: writes the input that it holds. */
static void on_abort(int signo)
{
	char pages[256 * 1024]; /* needs new memory */

	(void)signo;
	memset(pages, 'x', sizeof(pages));
	if (write(report_fd, pages, 1) == 1)
		_exit(77);
	_exit(78);
}

static int hog_with_handler(void *arg)
{
	struct sigaction sa = {.sa_handler = on_abort};
	uint64_t mib = 512;

	report_fd = *(int *)arg;
	sigaction(SIGABRT, &sa, NULL);
	return bench_hog(&mib);
}

/* The fastest possible allocator halts below the limit.  With SIGABRT pending, it runs the handler
 * first after the raise of the limit, before it takes one more page. */
static void test_halt_and_dump(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	struct cgroup_counters c;
	struct cgroup *cg;
	struct err e;
	uint64_t us;
	int p[2];
	char got;

	(void)state;
	assert_int_equal(pipe(p), 0);
	for (int i = 0; i < 20; i++) {
		pid_t pid;

		cg = make(t);
		pid = bench_fork(cg, hog_with_handler, &p[1]);
		halt(cg);
		c = bench_read(cg);
		assert_true(c.mem_high_events > 0);
		assert_in_range(c.mem_now, marked.memory_high - 2 * MIB,
				marked.memory_high + SLACK);
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		(void)kill(pid, SIGABRT);
		us = clock_mono_us();
		bench_ok(cgroup_memory_open(cg, &e), &e);
		bench_ok(cgroup_freeze(cg, false, &e), &e);
		assert_int_equal(read(p[0], &got, 1), 1);
		us = clock_mono_us() - us;
		assert_int_equal(WEXITSTATUS(bench_wait(pid)), 77);
		c = bench_read(cg);
		if (i == 0)
			print_message("# mark: handler %llu us after the raise, peak %llu\n",
				      (unsigned long long)us, (unsigned long long)c.mem_peak);
		assert_int_equal(c.oom_kills, 0);
		assert_true(c.mem_peak <= marked.memory_max);
		bench_remove(cg);
	}
	close(p[0]);
	close(p[1]);
	bench_close(t);
}

enum { THREADS = 16 };

static void *hog_thread(void *arg)
{
	(void)bench_hog(arg);
	return arg;
}

/* Threads that take memory as fast as they can. */
static int threads_with_handler(void *arg)
{
	struct sigaction sa = {.sa_handler = on_abort};
	uint64_t mib = 512;
	pthread_t t;

	report_fd = *(int *)arg;
	sigaction(SIGABRT, &sa, NULL);
	/* The first threads may reach the mark earlier: then there is no memory for one more
	 * thread. */
	for (int i = 1; i < THREADS && pthread_create(&t, NULL, hog_thread, &mib) == 0; i++)
		;
	return bench_hog(&mib);
}

/* The writing thread has the rest of the memory for itself: the other threads do not take one
 * page of it. */
static void test_one_thread_alone(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	int p[2];
	char got;

	(void)state;
	assert_int_equal(pipe(p), 0);
	for (int i = 0; i < 20; i++) {
		struct cgroup *cg = make(t);
		pid_t pid = bench_fork(cg, threads_with_handler, &p[1]);
		struct cgroup_counters c;
		struct err e;

		halt(cg);
		bench_ok(proc_kill_first(pid, SIGABRT, &e), &e);
		bench_ok(cgroup_memory_open(cg, &e), &e);
		bench_ok(cgroup_thaw_only(cg, pid, 0, &e), &e);
		assert_int_equal(WEXITSTATUS(bench_wait(pid)), 77);
		assert_int_equal(read(p[0], &got, 1), 1);
		c = bench_read(cg);
		assert_int_equal(c.oom_kills, 0);
		assert_in_range(c.mem_peak, marked.memory_high - 2 * MIB,
				marked.memory_high + SLACK + 2 * MIB);
		bench_remove(cg);
	}
	close(p[0]);
	close(p[1]);
	bench_close(t);
}

static int hog_in_child(void *arg)
{
	struct sigaction sa = {.sa_handler = on_abort};
	uint64_t mib = 512;
	pthread_t t;

	report_fd = *(int *)arg;
	sigaction(SIGABRT, &sa, NULL);
	if (pthread_create(&t, NULL, idle_thread, NULL) != 0)
		return 1;
	if (fork() == 0)
		_exit(bench_hog(&mib));
	(void)idle_thread(NULL);
	return 1;
}

/* The watchdog runs, then the first thread; the other processes, which hold the memory, do not
 * run. */
static void test_one_thread_after_the_other(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	uint64_t until = clock_mono_us() + 60 * USEC_PER_SEC;
	struct cgroup *cg = make(t);
	pid_t pid, second;
	struct err e;
	int p[2];
	char got;

	(void)state;
	assert_int_equal(pipe(p), 0);
	pid = bench_fork(cg, hog_in_child, &p[1]);
	halt(cg);
	bench_ok(proc_second_thread(pid, &second, &e), &e);
	bench_ok(cgroup_memory_open(cg, &e), &e);
	bench_ok(cgroup_thaw_only(cg, second, 0, &e), &e);
	bench_ok(cgroup_kill_beside(cg, pid, 0, &e), &e);
	while (bench_read(cg).mem_now > marked.memory_high / 2 && clock_mono_us() < until)
		(void)poll(NULL, 0, 1);
	assert_true(bench_read(cg).mem_now < marked.memory_high / 2);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	bench_ok(cgroup_freeze(cg, true, &e), &e);
	bench_ok(proc_kill_first(pid, SIGABRT, &e), &e);
	bench_ok(cgroup_thaw_only(cg, pid, 0, &e), &e);
	assert_int_equal(WEXITSTATUS(bench_wait(pid)), 77);
	assert_int_equal(read(p[0], &got, 1), 1);
	assert_int_equal(bench_read(cg).oom_kills, 0);
	close(p[0]);
	close(p[1]);
	bench_remove(cg);
	bench_close(t);
}

static void *populate(void *arg)
{
	for (;;) {
		char *p = mmap(NULL, marked.memory_max, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (p != MAP_FAILED)
			memset(p, 1, marked.memory_max);
	}
	return arg;
}

static int populating_threads(void *arg)
{
	pthread_t t;

	for (int i = 1; i < THREADS && pthread_create(&t, NULL, populate, NULL) == 0; i++)
		;
	populate(arg);
	return 1;
}

/* A thread in a system call at the freeze takes memory until the call returns.  Once the group is
 * frozen, it does not use more memory. */
static void test_frozen_it_takes_no_more(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	bool stands = false;
	struct err e;

	(void)state;
	/* On the unified layout such a call goes through the mark, up to the limit. */
	for (int i = 0; i < 5 && cgroup_tree_layout(t) == CGROUP_HYBRID; i++) {
		uint64_t until = clock_mono_us() + 60 * USEC_PER_SEC;
		struct cgroup *cg = make(t);
		pid_t pid = bench_fork(cg, populating_threads, NULL);

		halt(cg);
		do
			bench_ok(cgroup_stands(cg, &stands, &e), &e);
		while (!stands && clock_mono_us() < until);
		assert_true(stands);
		bench_ok(cgroup_memory_open(cg, &e), &e);
		(void)poll(NULL, 0, 50); /* meanwhile they took the rest */
		assert_int_equal(bench_read(cg).oom_kills, 0);
		assert_true(bench_read(cg).mem_now <= marked.memory_high + SLACK);
		bench_ok(cgroup_kill(cg, &e), &e);
		(void)bench_wait(pid);
		bench_remove(cg);
	}
	bench_close(t);
}

/* Once opened, the limit itself holds and the kernel's killer works. */
static void test_limit_after_mark(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *cg = make(t);
	uint64_t mib = 512;
	struct cgroup_counters c;
	struct err e;
	bool halted;
	pid_t pid;
	int status;

	(void)state;
	pid = bench_fork(cg, bench_hog, &mib);
	assert_true(wait_event(cg, 10000));
	bench_ok(cgroup_memory_event(cg, &halted, &e), &e);
	bench_ok(cgroup_memory_open(cg, &e), &e);
	status = bench_wait(pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	c = bench_read(cg);
	assert_true(c.mem_high_events > 0);
	print_message("# mark, then limit: peak %llu, oom kills %llu, events %llu\n",
		      (unsigned long long)c.mem_peak, (unsigned long long)c.oom_kills,
		      (unsigned long long)c.mem_high_events);
	assert_true(c.oom_kills > 0);
	assert_in_range(c.mem_peak, marked.memory_high, marked.memory_max);
	bench_remove(cg);
	bench_close(t);
}

/* Halted tasks can be killed.  Page cache alone does not cause a halt. */
static void test_kill_halted(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *cg = make(t);
	uint64_t mib = 512;
	struct err e;
	pid_t pid;
	int status;

	(void)state;
	pid = bench_fork(cg, bench_hog, &mib);
	assert_true(wait_event(cg, 10000));
	bench_ok(cgroup_kill(cg, &e), &e);
	status = bench_wait(pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	bench_remove(cg);
	bench_close(t);
}

static void test_page_cache(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *cg = make(t);
	char name[] = "/var/tmp/fuzzcell-unit-XXXXXX", text[128];
	int fd = mkstemp(name), status;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	(void)snprintf(text, sizeof(text), "exec head -c 200M /dev/zero >%s", name);
	status = bench_wait(bench_run(cg, text));
	(void)unlink(name);
	assert_int_equal(status, 0);
	assert_int_equal(bench_read(cg).oom_kills, 0);
	print_message("# 200 MiB file through a mark of 52 MiB: peak %llu\n",
		      (unsigned long long)bench_read(cg).mem_peak);
	bench_remove(cg);
	bench_close(t);
}

static void test_no_mark(void **state)
{
	struct cgroup_limits lim = {.memory_max = 64 * MIB};
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *cg;
	uint32_t events;
	struct err e;
	bool halted;

	(void)state;
	bench_ok(cgroup_new(t, "plain", &lim, false, &cg, &e), &e);
	assert_int_equal(cgroup_memory_fd(cg, &events), -1);
	assert_int_equal(cgroup_memory_event(cg, &halted, &e), -ENOENT);
	bench_ok(cgroup_memory_open(cg, &e), &e);
	bench_remove(cg);
	bench_close(t);
}

/* The lowest limit of the groups above ours counts, for example of a systemd slice. */
static void test_limit_above(void **state)
{
	char path[64], up[300];
	struct cgroup_tree_opts o = {.path = path, .instance = bench_instance};
	const struct cg_place *p;
	struct cgroup_tree *t;
	const char *file;
	uint64_t before;
	struct err e;

	(void)state;
	if (geteuid() != 0)
		skip();	       /* a user cannot make groups above its own */
	t = bench_open(false); /* or skip */
	before = cgroup_tree_memory(t);
	bench_close(t);
	(void)snprintf(path, sizeof(path), "/fuzzcell-unit-%d/in", (int)getpid());
	bench_ok(cgroup_tree_open(&o, &t, &e), &e);
	bench_tree = t;
	p = cg_place_of(t, CG_MEMORY);
	file = p->h.v2 ? "../memory.max" : "../memory.limit_in_bytes";
	assert_true(cgroup_tree_memory(t) >= before);
	bench_ok(cg_file_write(p->base_fd, file, "536870912", &e), &e);
	assert_int_equal(cgroup_tree_memory(t), 536870912);
	bench_ok(cg_file_write(p->base_fd, file + 3, "268435456", &e), &e);
	assert_int_equal(cgroup_tree_memory(t), 268435456);
	for (unsigned i = 0; i < t->n; i++) {
		(void)snprintf(up, sizeof(up), "%s%s", t->at[i].h.mount, path);
		cg_sweep_ours(t);
		assert_int_equal(rmdir(up), 0);
		*strrchr(up, '/') = '\0';
		assert_int_equal(rmdir(up), 0);
	}
	bench_close(t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(test_limit_above, bench_done),
    cmocka_unit_test_teardown(test_halt_and_dump, bench_done),
    cmocka_unit_test_teardown(test_one_thread_alone, bench_done),
    cmocka_unit_test_teardown(test_one_thread_after_the_other, bench_done),
    cmocka_unit_test_teardown(test_frozen_it_takes_no_more, bench_done),
    cmocka_unit_test_teardown(test_limit_after_mark, bench_done),
    cmocka_unit_test_teardown(test_kill_halted, bench_done),
    cmocka_unit_test_teardown(test_page_cache, bench_done),
    cmocka_unit_test_teardown(test_no_mark, bench_done),
};

UNIT_MAIN(tests)
