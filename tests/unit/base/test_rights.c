/* SPDX-License-Identifier: Apache-2.0 */
/* Needs root, and users without an account: 4321, 4322. */
#include "tests/unit/unit.h"

#include "tests/unit/each.h"

#include "base/cleanup.h"
#include "base/owner.h"
#include "base/sys.h"
#include "base/way.h"

#include <grp.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sys/xattr.h>

enum { THEM = 4321, OTHERS = 4322, OVERFLOW = 65534 };

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
	assert_int_equal(r.mixed, uid == OVERFLOW);
	if (uid) /* without an account not even the group of the files counts, which is root's */
		assert_int_equal(r.gid, OVERFLOW);
	assert_int_equal(r.n_groups, 0);
}

/* The user who could make the path lead somewhere else. */
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
	expect("ours/link", THEM); /* the path goes through the other user's directory, and back */
	expect("ours/by-them", THEM);
	expect("ours/round", THEM);
	expect("theirs/more/file", OVERFLOW);
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
	const struct rights them = {.other = true, .uid = THEM, .gid = OVERFLOW};
	const struct rights grouped = {
	    .other = true, .uid = THEM, .gid = OVERFLOW, .n_groups = 1, .groups = {OTHERS}};

	(void)state;
	need_root();
	make_file("all", 0, 0644);
	make_file("root", 0, 0600);
	make_file("group", 0, 0640); /* the user is not in root's group */
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

/* Afterwards the process has all its rights again, also those that the kernel drops meanwhile. */
static void test_back(void **state)
{
	const struct rights them = {.other = true, .uid = THEM, .gid = OVERFLOW};
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

static int own(const char *name, struct owner *o, int *fd, struct err *e)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/%s", dir.path, name);
	return owner_open(path, o, fd, e);
}

static void runs_as(const char *name, uid_t uid)
{
	CLEANUP(owner_done) struct owner o = {0};
	_autoclose_ int fd = -1;
	struct stat st;
	struct err e;

	if (own(name, &o, &fd, &e) < 0)
		fail_msg("%s: %s", name, e.msg);
	assert_int_equal(o.root, uid == 0);
	assert_int_equal(o.other, uid != 0);
	assert_int_equal(o.uid, uid);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_uid, uid);
}

static void runs_not(const char *name, int code, const char *why)
{
	CLEANUP(owner_done) struct owner o = {0};
	_autoclose_ int fd = -1;
	struct err e;

	assert_int_equal(own(name, &o, &fd, &e), -code);
	if (!strstr(e.msg, why))
		fail_msg("%s", e.msg);
}

/* A program runs as the directory's owner.  In a directory that another user put there, no program
 * runs. */
static void test_runs(void **state)
{
	char here[60];

	(void)state;
	need_root();
	snprintf(here, sizeof(here), "%s/ours", dir.path);
	make_dir("ours", 0);
	make_dir("ours/more", 0);
	make_dir("ours/given", THEM);
	make_dir("theirs", THEM);
	make_dir("theirs/more", THEM);
	make_dir("theirs/root", 0);
	make_dir("theirs/others", OTHERS);
	make_file("theirs/file", THEM, 0644);
	make_link("theirs/link", here, THEM);
	make_link("theirs/by-root", here, 0);
	make_link("theirs/own", "more", THEM);
	make_link("ours/by-them", "more", THEM);
	make_link("ours/by-root", "more", 0);
	make_link("ours/round", "round", THEM);
	runs_as("ours", 0);
	runs_as("ours/../ours/./more/", 0);
	runs_as("ours/by-root", 0);
	runs_as("ours/given", THEM);
	runs_as("theirs", THEM);
	runs_as("theirs/own", THEM);
	runs_not("theirs/root", EPERM,
		 "/theirs' belongs to user 4321, and leads to a directory of user 0");
	runs_not("theirs/link", EPERM, "belongs to user 4321, and leads to a directory of user 0");
	runs_not("theirs/link/more", EPERM, "let one user own the whole path (chown)");
	runs_not("theirs/by-root", EPERM, "/theirs' belongs to user 4321");
	runs_not("ours/by-them", EPERM, "/ours/by-them' belongs to user 4321");
	runs_not("theirs/others", EPERM, "/theirs' belongs to user 4321 and '");
	runs_not("theirs/others", EPERM, "/theirs/others' to user 4322");
	runs_not("theirs/file", ENOTDIR, "Not a directory");
	runs_not("theirs/file/x", ENOTDIR, "Not a directory");
	runs_not("theirs/none", ENOENT, "No such file or directory");
	runs_not("ours/round", ELOOP, "Too many levels");
}

/* A user without an account is in no group of the machine, wherever a directory was made. */
static void test_group(void **state)
{
	static const struct {
		gid_t of, becomes;
	} all[] = {{0, OWNER_NOGROUP}, {THEM, THEM}, {1, OWNER_NOGROUP}};

	(void)state;
	need_root();
	if (!getgrgid(1) || getgrgid(THEM))
		skip();
	make_dir("theirs", THEM);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		CLEANUP(owner_done) struct owner o = {0};
		_autoclose_ int fd = -1;
		struct err e;

		assert_int_equal(fchownat(dir.fd, "theirs", THEM, all[i].of, 0), 0);
		assert_int_equal(own("theirs", &o, &fd, &e), 0);
		assert_int_equal(o.gid, all[i].becomes);
		assert_int_equal(o.group, all[i].becomes);
	}
}

/* Directories of root in which other users may exchange entries. */
static void test_writable(void **state)
{
	static const struct {
		mode_t mode;
		gid_t gid;
		bool below, itself;
	} all[] = {
	    {0755, 7, false, false}, {0775, 0, false, false}, {0775, 7, true, true},
	    {0757, 0, true, true},   {01777, 0, false, true},
	};

	(void)state;
	need_root();
	make_dir("d", 0);
	make_dir("d/e", 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (int below = 0; below < 2; below++) {
			CLEANUP(owner_done) struct owner o = {0};
			_autoclose_ int fd = -1;
			struct err e;

			assert_int_equal(fchownat(dir.fd, "d", 0, all[i].gid, 0), 0);
			assert_int_equal(fchmodat(dir.fd, "d", all[i].mode, 0), 0);
			assert_int_equal(own(below ? "d/e" : "d", &o, &fd, &e), 0);
			assert_true(o.root);
			assert_int_equal(*o.writable != '\0', below ? all[i].below : all[i].itself);
		}
}

/* The same by an ACL: the mode is 0775, and the group is root's. */
static void test_listed(void **state)
{
	/* acl(5) as the kernel keeps it: version 2; tag, permissions, user (xattr(7)) */
	static const uint16_t list[] = {2,	0,	0x01, 7, 0xffff, 0xffff, 0x02, 7,
					THEM,	0,	0x04, 5, 0xffff, 0xffff, 0x10, 7,
					0xffff, 0xffff, 0x20, 5, 0xffff, 0xffff};
	CLEANUP(owner_done) struct owner o = {0};
	_autoclose_ int fd = -1;
	char path[100];
	struct err e;

	(void)state;
	need_root();
	make_dir("d", 0);
	make_dir("d/e", 0);
	snprintf(path, sizeof(path), "%s/d", dir.path);
	if (setxattr(path, "system.posix_acl_access", list, sizeof(list), 0) < 0)
		skip(); /* this file system has no ACLs */
	assert_int_equal(own("d/e", &o, &fd, &e), 0);
	assert_true(o.root && *o.writable);
}

/* Another user's process exchanges a directory for a link, and back, again and again. */
static pid_t start_exchange(const char *a, const char *b)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
			_exit(1);
		while (sys_exchange(dir.fd, a, dir.fd, b) == 0)
			;
		_exit(1);
	}
	return pid;
}

static void test_race(void **state)
{
	unsigned theirs = 0, refused = 0;
	char here[60];
	int status;
	pid_t pid;

	(void)state;
	need_root();
	snprintf(here, sizeof(here), "%s/ours", dir.path);
	make_dir("ours", 0);
	make_dir("ours/in", 0);
	make_dir("real", THEM);
	make_dir("real/in", THEM);
	make_link("other", here, THEM);
	pid = start_exchange("real", "other");
	for (unsigned i = 0; i < 200000 && (theirs < 500 || refused < 500); i++) {
		CLEANUP(owner_done) struct owner o = {0};
		_autoclose_ int fd = -1;
		struct stat st;
		struct err e;
		int r = own(i % 2 ? "real" : "real/in", &o, &fd, &e);

		if (r < 0) {
			assert_int_equal(r, -EPERM);
			refused++;
			continue;
		}
		theirs++;
		assert_true(o.other && o.uid == THEM);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_uid, THEM);
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_true(theirs > 0 && refused > 0);
}

/* A path that one user names and another can exchange is opened with the rights that both have. */
static void test_named(void **state)
{
	struct rights them, others = {.other = true, .uid = OTHERS, .gid = OVERFLOW}, r;
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
	assert_true(r.other && r.mixed && r.uid == OVERFLOW);
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

/* Each kind of file is found at the end of its path, also behind links. */
static void test_end(void **state)
{
	static const char *const ends[] = {"dir",     "file",	 "to_dir",
					   "to_file", "to_link", "to_dir/"};

	(void)state;
	assert_int_equal(mkdirat(dir.fd, "dir", 0755), 0);
	scratch_write(dir.fd, "file", "text");
	assert_int_equal(symlinkat("dir", dir.fd, "to_dir"), 0);
	assert_int_equal(symlinkat("file", dir.fd, "to_file"), 0);
	assert_int_equal(symlinkat("to_file", dir.fd, "to_link"), 0);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		char path[120];
		struct stat st;
		struct way w;
		struct err e;

		snprintf(path, sizeof(path), "%s/%s", dir.path, ends[i]);
		assert_int_equal(way_walk(path, &w, &e), 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(w.code, 0);
		assert_true(w.fd >= 0 && w.st.st_ino == st.st_ino);
		way_done(&w);
	}
}

/* An open file does not depend on the directories of its path. */
static void test_proc(void **state)
{
	static const char *const bad[] = {"/proc/self/cwd", "/proc/self/root/etc", "/proc/1/root",
					  "/proc/self/exe", "/dev/fd/0"};
	static const char *const good[] = {"/proc/self/status", "/proc/mounts", "/proc"};
	char path[100];
	struct rights r;
	struct err e;

	(void)state;
	need_root();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (rights_of(bad[i], &r, &e) != -EPERM)
			fail_msg("%s", bad[i]);
	assert_non_null(strstr(e.msg, "'/dev/fd/0' goes through a link in /proc"));
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(rights_of(good[i], &r, &e), 0);
	make_link("link", "/proc/self/cwd", THEM);
	snprintf(path, sizeof(path), "%s/link/sub", dir.path);
	assert_int_equal(rights_of(path, &r, &e), -EPERM);
}

static const struct CMUnitTest tests[] = {
    CASE(test_whose),	 CASE(test_opens),  CASE(test_back),  CASE(test_runs),
    CASE(test_writable), CASE(test_race),   CASE(test_named), CASE(test_end),
    CASE(test_proc),	 CASE(test_listed), CASE(test_group),
};
UNIT_MAIN(tests)
