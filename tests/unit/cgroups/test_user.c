/* SPDX-License-Identifier: Apache-2.0 */
/* An ordinary user without a delegated group is refused, with advice. */
#include "tests/unit/cgroups/bench.h"

#include "tests/unit/forked.h"

enum { USER = 1700001 };

static int open_as(const char *path)
{
	struct cgroup_tree_opts o = {.path = path, .instance = "unit-user"};
	struct cgroup_tree *t = NULL;
	struct err e = {0};
	int r;

	if (setresgid(USER, USER, USER) < 0 || setresuid(USER, USER, USER) < 0)
		return FORKED_SKIP;
	r = cgroup_tree_open(&o, &t, &e);
	if (r >= 0 || r != -e.code || t)
		return 1;
	if (path)
		return r == -EACCES || r == -EPERM ? 0 : 2;
	if (r == -ENOTSUP) /* the hybrid layout */
		return strstr(e.msg, "ordinary user") && strstr(e.msg, "run as root") ? 0 : 3;
	return r == -EACCES && strstr(e.msg, "systemd-run --user --scope") ? 0 : 4;
}

static int without_path(void)
{
	return open_as(NULL);
}

/* A configured group is used as it is, and is not created. */
static int with_path(void)
{
	return open_as("/");
}

static void a_user_without_a_group_is_told_how_to_get_one(void **state)
{
	(void)state;
	forked(without_path);
}

static void a_user_cannot_take_the_root(void **state)
{
	(void)state;
	forked(with_path);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_user_without_a_group_is_told_how_to_get_one),
    cmocka_unit_test(a_user_cannot_take_the_root),
};

UNIT_MAIN(tests)
