/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CGROUPS_BENCH_H
#define TESTS_UNIT_CGROUPS_BENCH_H

/* Definitions of the tests on real control groups: a tree of the test's own, and children in its
 * groups.  No group or process stays, whatever fails: the teardown (bench_done) sweeps, and so does
 * the keeper when the test itself is killed.
 *
 * A child takes a bounded amount of every resource: a limit that does not work must fail its test,
 * not the machine. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc.h"
#include "cgroups/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define MIB (UINT64_C(1) << 20)

static char bench_instance[32];
static struct cgroup_tree *bench_tree; /* open now */

static inline void bench_ok(int r, const struct err *e)
{
	if (r < 0)
		fail_msg("%s", e->msg);
}

/* Opens a tree, or skips the test on a machine without one; FUZZCELL_MUST_RUN makes the skip a
 * failure. */
static inline struct cgroup_tree *bench_open(bool keeper)
{
	struct cgroup_tree_opts o = {.instance = bench_instance, .keeper = keeper};
	struct cgroup_tree *t = NULL;
	struct err e;

	(void)snprintf(bench_instance, sizeof(bench_instance), "unit-%d", (int)getpid());
	if (cgroup_tree_open(&o, &t, &e) == 0)
		return bench_tree = t;
	if (getenv("FUZZCELL_MUST_RUN"))
		fail_msg("%s", e.msg);
	print_message("# skipped: %s\n", e.msg);
	skip();
	abort(); /* not reached: skip() jumps */
}

/* After every test: kills and removes its remains. */
static inline int bench_done(void **state)
{
	struct cgroup_tree_opts o = {.instance = bench_instance};
	struct cgroup_tree *t = NULL;
	struct err e;

	(void)state;
	cgroup_tree_close(bench_tree); /* living processes keep the tree; the lock is released */
	bench_tree = NULL;
	if (bench_instance[0] && cgroup_tree_open(&o, &t, &e) == 0)
		cgroup_tree_close(t);
	return 0;
}

static inline void bench_close(struct cgroup_tree *t)
{
	bench_tree = NULL;
	cgroup_tree_close(t);
}

static inline int bench_enter(void *arg)
{
	return cgroup_enter(arg);
}

/* Forks a child in the group; fn(arg) is its exit status. */
static inline pid_t bench_fork(struct cgroup *cg, int (*fn)(void *arg), void *arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		/* The child does not execute, so the descriptor stays open: the keeper would wait
		 * for it. */
		close_p(&bench_tree->keeper_fd);
		_exit(cgroup_enter(cg) < 0 ? 120 : fn(arg));
	}
	assert_true(pid > 0);
	return pid;
}

/* Runs sh -c text in the group. */
static inline pid_t bench_run(struct cgroup *cg, const char *text)
{
	const char *const argv[] = {"/bin/sh", "-c", text, NULL};
	struct proc_spec s = PROC_SPEC_INIT;
	struct err e;
	pid_t pid = -1;

	s.argv = argv;
	s.prepare = bench_enter;
	s.prepare_arg = cg;
	bench_ok(proc_spawn(&s, &pid, &e), &e);
	return pid;
}

static inline int bench_wait(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static inline struct cgroup_counters bench_read(struct cgroup *cg)
{
	struct cgroup_counters c;
	struct err e;

	bench_ok(cgroup_read(cg, &c, &e), &e);
	return c;
}

/* Waits for this state by cgroup_events_fd; false after 10 s. */
static inline bool bench_wait_populated(struct cgroup *cg, bool want)
{
	uint64_t until = clock_mono_us() + 10 * USEC_PER_SEC;
	bool now = !want;
	struct err e;

	for (;;) {
		struct pollfd p = {.fd = cgroup_events_fd(cg), .events = POLLPRI};

		bench_ok(cgroup_populated(cg, &now, &e), &e);
		if (now == want)
			return true;
		if (clock_mono_us() > until)
			return false;
		(void)poll(&p, 1, 1000);
	}
}

/* Calls cgroup_remove() once the last task is gone. */
static inline void bench_remove(struct cgroup *cg)
{
	struct err e;

	assert_true(bench_wait_populated(cg, false));
	bench_ok(cgroup_remove(cg, &e), &e);
}

/* Takes memory page by page, as fast as it can; *arg: how many MiB. */
static inline int bench_hog(void *arg)
{
	const uint64_t *mib = arg;

	for (uint64_t i = 0; i < *mib; i++) {
		char *p =
		    mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return 1;
		memset(p, 1, MIB);
	}
	return 0;
}

static inline bool bench_exists(const char *tree_path, const char *name)
{
	char path[4200];

	(void)snprintf(path, sizeof(path), "%s%s%s", tree_path, *name ? "/" : "", name);
	return access(path, F_OK) == 0;
}

#endif
