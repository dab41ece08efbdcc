/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "cgroups/cgroup.h"
#include "tests/unit/scratch.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <sys/xattr.h>

/* A child's mount namespace replaces files of /proc, and a directory stands in for the group.
 * tests/vm tests the kernel's own groups. */

#define OWN "/a.service"

#define PROCS "a.service/fuzzcell-supervisor/cgroup.procs"
#define V1    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"

struct machine {
	bool v2;
	const char *v1, *groups; /* lines of mountinfo; of /proc/self/cgroup */
	bool delegated;
};

static bool mounted(const char *dir, const char *name, const char *on)
{
	char file[128];

	snprintf(file, sizeof(file), "%s/%s", dir, name);
	return mount(file, on, NULL, MS_BIND, NULL) == 0;
}

/* In the child: 0: the group is unchanged, 1: it was left, 2: the test failed, 3: an error. */
static int look(const char *dir, const struct machine *m)
{
	char text[512], group[64];
	struct err e;
	int fd, r;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", dir, "tmpfs", 0, "size=1m") < 0)
		return 2;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fs_mkdirs(fd, "a.service/fuzzcell-supervisor", 0755, &e) < 0)
		return 2;
	scratch_write(fd, PROCS, "");
	snprintf(group, sizeof(group), "%s" OWN, dir);
	if (m->delegated && setxattr(group, "trusted.delegate", "1", 1, 0) < 0)
		return 2;
	snprintf(text, sizeof(text), "%s%s%s%s", m->v2 ? "41 31 0:38 / " : "", m->v2 ? dir : "",
		 m->v2 ? " rw,relatime - cgroup2 cgroup2 rw\n" : "", m->v1);
	scratch_write(fd, "mountinfo", text);
	scratch_write(fd, "groups", m->groups);
	if (!mounted(dir, "mountinfo", "/proc/self/mountinfo") ||
	    !mounted(dir, "groups", "/proc/self/cgroup"))
		return 2;
	r = cgroup_leave(&e);
	scratch_text(fd, PROCS, text, sizeof(text));
	close(fd);
	return r < 0 ? 3 : strcmp(text, "0") == 0;
}

static int left(struct machine m)
{
	struct scratch s = SCRATCH_INIT;
	int status;
	pid_t pid;

	scratch_make(&s);
	pid = fork();
	if (pid == 0)
		_exit(look(s.path, &m));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	scratch_remove(&s);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_delegated_group_is_left(void **state)
{
	(void)state;
	assert_int_equal(left((struct machine){true, "", "0::" OWN "\n", true}), 1);
}

static void test_what_is_not_ours_stays(void **state)
{
	(void)state;
	assert_int_equal(left((struct machine){true, "", "0::" OWN "\n", false}), 0);
	/* the leaf itself, at a second call */
	assert_int_equal(left((struct machine){true, "", "0::" OWN "/fuzzcell-supervisor\n", true}),
			 0);
	/* controllers on v1: limits are not kept in this tree */
	assert_int_equal(left((struct machine){true, V1, "0::" OWN "\n", true}), 0);
	/* outside of our namespace; without a v2 tree */
	assert_int_equal(left((struct machine){true, "", "0::/../b\n", true}), 0);
	assert_int_equal(left((struct machine){false, "", "", true}), 0);
}

static void test_a_group_that_is_gone(void **state)
{
	(void)state;
	assert_int_equal(left((struct machine){true, "", "0::/gone\n", true}), 3);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_delegated_group_is_left),
    cmocka_unit_test(test_what_is_not_ours_stays),
    cmocka_unit_test(test_a_group_that_is_gone),
};

UNIT_MAIN(tests)
