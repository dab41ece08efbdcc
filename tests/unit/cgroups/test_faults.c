/* SPDX-License-Identifier: Apache-2.0 */
/* Every call that can fail fails once: an error, and no group or process is left. */
#include "tests/unit/cgroups/bench.h"

#include "base/fault.h"

static const struct cgroup_limits lim = {
    .memory_max = 64 * MIB,
    .memory_high = 32 * MIB,
    .cpu_milli = 500,
    .pids_max = 8,
};

static unsigned open_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* True if the fault that was armed for call number `at` was hit.  Disarms it. */
static bool was_hit(unsigned at)
{
	bool armed = false;

	for (unsigned i = 0; i < at; i++)
		armed |= fault_hit("probe", 0);
	fault_arm(0, FAULT_FAIL);
	return !armed;
}

static void check_error(int r, const struct err *e)
{
	assert_int_equal(r, -e->code);
	assert_true(e->msg[0] != '\0');
}

/* A fault during the check of the machine's features may also end as a missing promise; then the
 * promise is named. */
static void test_open(void **state)
{
	struct cgroup_tree_opts o = {.instance = bench_instance, .keeper = true};
	unsigned before, failed = 0, at;
	char path[4096];

	(void)state;
	bench_close(bench_open(true)); /* or skip; now libcgroup has its permanent allocations */
	before = open_fds();
	for (at = 1;; at++) {
		struct cgroup_tree *t = NULL;
		struct err e = {.code = 0};
		int r;
		bool hit;

		fault_arm(at, FAULT_FAIL);
		r = cgroup_tree_open(&o, &t, &e);
		hit = was_hit(at);
		if (r < 0) {
			failed++;
			check_error(r, &e);
			assert_null(t);
		} else {
			const struct cgroup_promises *p = cgroup_tree_promises(t);

			(void)snprintf(path, sizeof(path), "%s", cgroup_tree_path(t));
			assert_true(p->missing[0] || (p->memory && p->memory_high && p->swap_off &&
						      p->cpu && p->pids && p->pressure && p->kill));
		}
		cgroup_tree_close(t);
		assert_int_equal(open_fds(), before);
		if (!hit)
			break;
	}
	print_message("# open: %u calls, %u errors\n", at - 1, failed);
	assert_true(failed > 10);
	assert_false(bench_exists(path, ""));
}

static void test_new(void **state)
{
	struct cgroup_tree *t = bench_open(true);
	unsigned before = open_fds(), failed = 0, at;
	struct err e;
	int r;

	(void)state;
	for (at = 1;; at++) {
		struct cgroup *cg = NULL;

		fault_arm(at, FAULT_FAIL);
		r = cgroup_new(t, "fault", &lim, false, &cg, &e);
		if (!was_hit(at)) {
			bench_ok(r, &e);
			bench_ok(cgroup_remove(cg, &e), &e);
			break;
		}
		assert_true(r < 0);
		failed++;
		check_error(r, &e);
		assert_null(cg);
		assert_int_equal(open_fds(), before);
		assert_false(bench_exists(cgroup_tree_path(t), "fault"));
	}
	print_message("# new: %u calls, %u errors\n", at - 1, failed);
	assert_true(failed > 20);
	bench_close(t);
}

static int op_read(struct cgroup *cg, struct err *e)
{
	struct cgroup_counters c = {.usage_us = 4711};
	int r = cgroup_read(cg, &c, e);

	assert_true(r == 0 || c.usage_us == 4711);
	return r;
}

static int op_freeze(struct cgroup *cg, struct err *e)
{
	return cgroup_freeze(cg, false, e);
}

static int op_populated(struct cgroup *cg, struct err *e)
{
	bool populated = true;
	int r = cgroup_populated(cg, &populated, e);

	assert_int_equal(populated, r < 0);
	return r;
}

static int op_event(struct cgroup *cg, struct err *e)
{
	bool halted = true;
	int r = cgroup_memory_event(cg, &halted, e);

	assert_int_equal(halted, r < 0);
	return r;
}

static void test_operations(void **state)
{
	static int (*const ops[])(struct cgroup *, struct err *) = {
	    op_read, op_freeze, op_populated, op_event, cgroup_kill, cgroup_memory_open,
	};
	struct cgroup_tree *t = bench_open(true);
	struct cgroup *cg;
	struct err e;
	int r;

	(void)state;
	bench_ok(cgroup_new(t, "ops", &lim, false, &cg, &e), &e);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		for (unsigned at = 1;; at++) {
			fault_arm(at, FAULT_FAIL);
			r = ops[i](cg, &e);
			if (!was_hit(at)) {
				bench_ok(r, &e);
				break;
			}
			assert_true(r < 0);
			check_error(r, &e);
		}
	/* Removed in part, and then again. */
	fault_arm(1, FAULT_FAIL);
	assert_true(cgroup_remove(cg, &e) < 0);
	bench_ok(cgroup_remove(cg, &e), &e);
	assert_false(bench_exists(cgroup_tree_path(t), "ops"));
	bench_close(t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(test_open, bench_done),
    cmocka_unit_test_teardown(test_new, bench_done),
    cmocka_unit_test_teardown(test_operations, bench_done),
};

UNIT_MAIN(tests)
