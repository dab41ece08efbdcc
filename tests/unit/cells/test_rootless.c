/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fault.h"
#include "cells/cell.h"
#include "cells/crun.h"
#include "cells/rootless.h"
#include "tests/unit/forked.h"
#include "tests/unit/scratch.h"

#include <errno.h>

enum { USER = 1700001 };

static const struct rootless_switch at_least_64 = {"n", "user.n", 64};

static void a_switch_says_what_to_set(void **state)
{
	static const struct {
		const char *text;
		int want;
	} t[] = {{"0\n", -EPERM}, {"63\n", -EPERM},    {"64\n", 0},
		 {"127000", 0},	  {"yes\n", -EBADMSG}, {"", -EBADMSG}};
	struct scratch s = SCRATCH_INIT;

	(void)state;
	scratch_make(&s);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct err e = {0};

		scratch_write(s.fd, "n", t[i].text);
		assert_int_equal(rootless_switch_check(s.fd, &at_least_64, &e), t[i].want);
		if (t[i].want == -EPERM)
			assert_non_null(strstr(e.msg, "sysctl -w user.n=64"));
	}
	scratch_remove(&s);
}

static void a_switch_that_is_not_there_forbids_nothing(void **state)
{
	struct scratch s = SCRATCH_INIT;
	struct err e;

	(void)state;
	scratch_make(&s);
	assert_int_equal(rootless_switch_check(s.fd, &at_least_64, &e), 0);
	scratch_remove(&s);
}

static void a_switch_that_cannot_be_read_is_no_permission(void **state)
{
	struct scratch s = SCRATCH_INIT;
	struct err e;

	(void)state;
	scratch_make(&s);
	scratch_write(s.fd, "n", "64\n");
	for (unsigned at = 1; at <= 2; at++) { /* open, read */
		fault_arm(at, FAULT_FAIL);
		assert_true(rootless_switch_check(s.fd, &at_least_64, &e) < 0);
		assert_non_null(strstr(e.msg, "/proc/sys/n"));
	}
	fault_arm(0, FAULT_FAIL);
	scratch_remove(&s);
}

static int as_user(void)
{
	int mounts = 4711;
	struct err e;

	if (setresgid(USER, USER, USER) < 0 || setresuid(USER, USER, USER) < 0)
		return FORKED_SKIP;
	if (rootless_check(CGROUP_HYBRID, &e) != -ENOTSUP || !strstr(e.msg, "run as root"))
		return 1;
	/* On the unified layout the machine's settings decide. */
	if (rootless_check(CGROUP_UNIFIED, &e) != 0 && !strstr(e.msg, "sysctl -w"))
		return 2;
	return crun_open_mounts(CGROUP_UNIFIED, &mounts, &e) == 0 && mounts == -1 ? 0 : 3;
}

static void a_user_needs_the_unified_layout_and_no_mounts(void **state)
{
	(void)state;
	forked(as_user);
}

static int as_another_user(void)
{
	static const char *const argv[] = {"/bin/true", NULL};
	static const struct cell_ops ops = {0};
	struct cell_spec spec = {.id = "a", .argv = argv, .cwd = "/", .uid = USER, .gid = USER + 1};
	struct cell *c = NULL;
	struct err e = {0};

	if (setresgid(USER, USER, USER) < 0 || setresuid(USER, USER, USER) < 0)
		return FORKED_SKIP;
	/* This check comes before the check of the host, which does not exist. */
	if (cell_start(NULL, &spec, &ops, NULL, &c, &e) != -EPERM || !strstr(e.msg, "we are"))
		return 1;
	spec.uid++;
	spec.gid--;
	return cell_start(NULL, &spec, &ops, NULL, &c, &e) == -EPERM ? 0 : 2;
}

static void a_users_cell_has_its_own_user(void **state)
{
	(void)state;
	forked(as_another_user);
}

static void root_needs_nothing_of_it(void **state)
{
	struct err e;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(rootless_check(CGROUP_HYBRID, &e), 0);
	assert_int_equal(rootless_check(CGROUP_UNIFIED, &e), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_switch_says_what_to_set),
    cmocka_unit_test(a_switch_that_is_not_there_forbids_nothing),
    cmocka_unit_test(a_switch_that_cannot_be_read_is_no_permission),
    cmocka_unit_test(a_user_needs_the_unified_layout_and_no_mounts),
    cmocka_unit_test(a_users_cell_has_its_own_user),
    cmocka_unit_test(root_needs_nothing_of_it),
};

UNIT_MAIN(tests)
