/* SPDX-License-Identifier: Apache-2.0 */
/* Needs root, and users without an account: 4321, 4322. */
#include "tests/unit/unit.h"

#include "tests/unit/each.h"

#include "base/cleanup.h"
#include "base/owner.h"

#include <grp.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>

enum { THEM = 4321, OTHERS = 4322, NOBODY = 65534 };

static void need_root(void)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(dir.path, 0755), 0);
}

static void make_dir(const char *name, uid_t uid)
{
	assert_int_equal(mkdirat(dir.fd, name, 0755), 0);
	assert_int_equal(fchmodat(dir.fd, name, 0755, 0), 0);
	assert_int_equal(fchownat(dir.fd, name, uid, 0, 0), 0);
}

static void make_file(const char *name, uid_t uid, mode_t mode)
{
	scratch_write(dir.fd, name, "text");
	assert_int_equal(fchmodat(dir.fd, name, mode, 0), 0);
	assert_int_equal(fchownat(dir.fd, name, uid, 0, 0), 0);
}

static void make_link(const char *name, const char *to, uid_t uid)
{
	assert_int_equal(symlinkat(to, dir.fd, name), 0);
	assert_int_equal(fchownat(dir.fd, name, uid, 0, AT_SYMLINK_NOFOLLOW), 0);
}

static struct rights of(const char *name)
{
	char path[100];
	struct rights r;
	struct err e;

	snprintf(path, sizeof(path), "%s/%s", dir.path, name);
	assert_int_equal(rights_of(path, &r, &e), 0);
	return r;
}

static void expect(const char *name, uid_t uid)
{
	struct rights r = of(name);

	assert_int_equal(r.other, uid != 0);
	assert_int_equal(r.uid, uid);
	assert_int_equal(r.mixed, uid == NOBODY);
	if (uid) /* it has no account: not even the group of its files, which is root's */
		assert_int_equal(r.gid, NOBODY);
	assert_int_equal(r.n_groups, 0);
}

/* Who could make the path lead somewhere else. */
static void test_whose(void **state)
{
	char here[60];

	(void)state;
	need_root();
	make_dir("ours", 0);
	make_file("ours/file", 0, 0644);
	make_dir("theirs", THEM);
	make_file("theirs/root", 0, 0644);
	make_file("ours/theirs", THEM, 0644);
	make_dir("theirs/more", OTHERS);
	make_file("theirs/more/file", 0, 0644);
	snprintf(here, sizeof(here), "%s/ours/file", dir.path);
	make_link("theirs/out", here, 0);
	make_link("ours/link", "../theirs/out", 0);
	make_link("ours/by-them", "file", THEM);
	make_link("ours/round", "round", THEM);
	expect("ours/file", 0);
	expect("./ours//.././ours/file", 0);
	expect("nothing/there", 0);
	expect("theirs", THEM);
	expect("theirs/root", THEM);
	expect("theirs/nothing", THEM);
	expect("theirs/../ours/file", THEM);
	expect("ours/theirs", THEM);
	expect("ours/link", THEM); /* it goes through their directory, and back */
	expect("ours/by-them", THEM);
	expect("ours/round", THEM);
	expect("theirs/more/file", NOBODY);
	assert_int_equal(fchdir(dir.fd), 0);
	{
		struct rights r;
		struct err e;

		assert_int_equal(rights_of("theirs/root", &r, &e), 0);
		assert_int_equal(r.uid, THEM);
	}
	assert_int_equal(chdir("/"), 0);
}

static int open_as(const struct rights *r, const char *name)
{
	_autoclose_ int fd = rights_open(r, dir.fd, name, O_RDONLY);

	return fd < 0 ? errno : 0;
}

static void test_opens(void **state)
{
	const struct rights them = {.other = true, .uid = THEM, .gid = NOBODY};
	const struct rights grouped = {
	    .other = true, .uid = THEM, .gid = NOBODY, .n_groups = 1, .groups = {OTHERS}};

	(void)state;
	need_root();
	make_file("all", 0, 0644);
	make_file("root", 0, 0600);
	make_file("group", 0, 0640); /* root's group is not theirs */
	make_file("theirs", THEM, 0600);
	make_file("others", OTHERS, 0640);
	assert_int_equal(fchownat(dir.fd, "others", OTHERS, OTHERS, 0), 0);
	make_dir("hidden", 0);
	make_file("hidden/all", 0, 0644);
	assert_int_equal(fchmodat(dir.fd, "hidden", 0700, 0), 0);
	assert_int_equal(open_as(&them, "all"), 0);
	assert_int_equal(open_as(&them, "root"), EACCES);
	assert_int_equal(open_as(&them, "group"), EACCES);
	assert_int_equal(open_as(&them, "theirs"), 0);
	assert_int_equal(open_as(&them, "others"), EACCES);
	assert_int_equal(open_as(&them, "hidden/all"), EACCES);
	assert_int_equal(open_as(&grouped, "others"), 0);
	assert_int_equal(open_as(NULL, "root"), 0);
	assert_int_equal(open_as(&(struct rights){.uid = THEM}, "hidden/all"), 0);
}

/* All that a process has is as it was, also what the kernel takes from it on the way. */
static void test_back(void **state)
{
	const struct rights them = {.other = true, .uid = THEM, .gid = NOBODY};
	const gid_t groups[] = {0, 7, 8};
	gid_t is[8];
	int death = 0;

	(void)state;
	need_root();
	make_file("root", 0, 0600);
	assert_int_equal(setgroups(3, groups), 0);
	assert_int_equal(prctl(PR_SET_PDEATHSIG, SIGUSR2), 0);
	assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
	assert_int_equal(open_as(&them, "root"), EACCES);
	assert_int_equal(setfsuid((uid_t)-1), 0);
	assert_int_equal(setfsgid((gid_t)-1), 0);
	assert_int_equal(getgroups(8, is), 3);
	assert_memory_equal(is, groups, sizeof(groups));
	assert_int_equal(prctl(PR_GET_PDEATHSIG, &death), 0);
	assert_int_equal(death, SIGUSR2);
	assert_int_equal(prctl(PR_GET_DUMPABLE), 1);
	assert_int_equal(open_as(NULL, "root"), 0);
	assert_int_equal(prctl(PR_SET_PDEATHSIG, 0), 0);
}

/* What one names and another one can exchange is opened as what both may read. */
static void test_named(void **state)
{
	struct rights them, others = {.other = true, .uid = OTHERS, .gid = NOBODY}, r;
	char path[100];
	struct err e;

	(void)state;
	need_root();
	make_dir("ours", 0);
	make_dir("theirs", THEM);
	them = of("theirs");
	snprintf(path, sizeof(path), "%s/theirs", dir.path);
	assert_int_equal(rights_of_named(NULL, path, &r, &e), 0);
	assert_true(r.other && r.uid == THEM);
	assert_int_equal(rights_of_named(&them, path, &r, &e), 0);
	assert_true(r.other && !r.mixed && r.uid == THEM);
	assert_int_equal(rights_of_named(&others, path, &r, &e), 0);
	assert_true(r.other && r.mixed && r.uid == NOBODY);
	snprintf(path, sizeof(path), "%s/ours", dir.path);
	assert_int_equal(rights_of_named(&them, path, &r, &e), 0);
	assert_true(r.other && r.uid == THEM);
	assert_int_equal(rights_of_named(NULL, path, &r, &e), 0);
	assert_false(r.other);
	make_file("theirs/key", 0, 0600);
	snprintf(path, sizeof(path), "%s/theirs/key", dir.path);
	assert_int_equal(rights_open_named(NULL, path, O_RDONLY), -1);
	assert_int_equal(errno, EACCES);
}

static const struct CMUnitTest tests[] = {
    CASE(test_whose),
    CASE(test_opens),
    CASE(test_back),
    CASE(test_named),
};
UNIT_MAIN(tests)
