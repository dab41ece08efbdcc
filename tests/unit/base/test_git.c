/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/corpus/repo.h"

#include "base/cleanup.h"

static void expect(const char *name, const char *top, const char *prefix)
{
	struct git g = open_repo(name);

	assert_string_equal(g.top, path_of(top));
	assert_string_equal(g.prefix, prefix);
	git_done(&g);
}

static void expect_none(const char *name, const char *words)
{
	struct git g = {0};
	char why[GIT_WHY] = "";
	struct err e;

	assert_int_equal(git_open(path_of(name), &g, why, &e), 0);
	if (!strstr(why, words))
		fail_msg("%s: '%s'", name, why);
	assert_null(g.top);
}

static void test_find(void **state)
{
	struct git g;
	char why[GIT_WHY];
	struct err e;

	(void)state;
	need_git();
	expect("repo", "repo", "");
	expect("repo/in", "repo", "in");
	expect("repo/in/sub", "repo", "in/sub");
	expect_none("corpus", "not a git repository");
	expect_none("repo/.git", "no work tree");
	must("git clone -q --bare repo bare.git; mkdir bare.git/in");
	expect_none("bare.git/in", "no work tree");
	must("git -C repo worktree add -q ../linked");
	expect("linked/in", "linked", "in");
	must("git init -q super; cd super; git submodule --quiet add ../repo sub");
	expect("super/sub/in", "super/sub", "in");
	assert_int_equal(git_open(path_of("none"), &g, why, &e), -ENOENT);
	/* A .git file with a false path of the repository. */
	must("mkdir liar; echo 'gitdir: /nowhere' >liar/.git");
	expect_none("liar", "not a git repository");
}

/* A path may have any bytes. */
static void test_names(void **state)
{
	static const char *const names[] = {"with space", "new\nline", "end\n",	   "quo'te\"",
					    "gl*b?[a]",	  ":(top)x",   "-rf",	   "$(id)",
					    "back\\sl",	  "\xff\xfe",  "\xc3\xa9", "\x1b[31m"};
	char path[64];

	(void)state;
	need_git();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct git g;
		char changes[64];
		struct err e;

		snprintf(path, sizeof(path), "repo/%s", names[i]);
		close(make_dir_at(dir.fd, path));
		expect(path, "repo", names[i]);
		g = open_repo(path);
		assert_int_equal(git_dirty(&g, g.prefix, &e), 0);
		snprintf(path, sizeof(path), "repo/%s/x", names[i]);
		scratch_write(dir.fd, path, "x");
		assert_int_equal(git_dirty(&g, g.prefix, &e), 1);
		assert_int_equal(git_dirty(&g, "in", &e), 0); /* names are not taken as patterns */
		snprintf(path, sizeof(path), "%s/x", names[i]);
		assert_int_equal(git_ignores(&g, path, &e), 0);
		assert_int_equal(git_changes(&g, path, changes, &e), 0);
		assert_string_equal(changes, "");
		git_done(&g);
	}
}

static void test_questions(void **state)
{
	struct git g;
	char changes[64];
	struct err e;

	(void)state;
	need_git();
	must("cd repo; printf '/out/\\n*.o\\n' >.gitignore; mkdir out;"
	     "printf '*.txt text\\nlfs/** filter=lfs diff=lfs\\nbin/** -text\\nall/** text=auto\\n'"
	     " >.gitattributes");
	g = open_repo("repo/in");
	assert_int_equal(git_ignores(&g, "out/x", &e), 1);
	assert_int_equal(git_ignores(&g, "in/x", &e), 0);
	assert_int_equal(git_ignores(&g, "in/x.o", &e), 1);
	assert_int_equal(git_dirty(&g, "in", &e), 0);
	assert_int_equal(git_dirty(&g, "", &e), 1);
	assert_int_equal(git_changes(&g, "in/x", changes, &e), 0);
	assert_string_equal(changes, "");
	assert_int_equal(git_changes(&g, "bin/x", changes, &e), 0);
	assert_string_equal(changes, "");
	assert_int_equal(git_changes(&g, "all/x", changes, &e), 0);
	assert_string_equal(changes, "text");
	assert_int_equal(git_changes(&g, "lfs/x", changes, &e), 0);
	assert_string_equal(changes, "filter=lfs");
	git_done(&g);
}

/* The first directory in a work tree that accepts a file; else the first existing directory. */
static void test_choose(void **state)
{
	struct strv dirs = {0};
	struct git g;
	char why[GIT_WHY], link[GIT_WHY];
	struct err e;
	size_t at;

	(void)state;
	need_git();
	assert_int_equal(intree_choose(&dirs, NULL, &g, &at, why, link, &e), 0);
	assert_int_equal(at, 0);
	must("mkdir plain repo/out; echo /out/ >repo/.gitignore");
	strv_push(&dirs, path_of("none"));
	assert_int_equal(intree_choose(&dirs, NULL, &g, &at, why, link, &e), 0);
	assert_int_equal(at, 1);
	strv_push(&dirs, path_of("repo/code"));
	strv_push(&dirs, path_of("repo/out"));
	strv_push(&dirs, path_of("plain"));
	assert_int_equal(intree_choose(&dirs, NULL, &g, &at, why, link, &e), 0);
	assert_int_equal(at, 2);
	assert_string_equal(why, "git ignores what is in it");
	strv_push(&dirs, path_of("repo/in/sub"));
	strv_push(&dirs, path_of("repo/in"));
	assert_int_equal(intree_choose(&dirs, NULL, &g, &at, why, link, &e), 1);
	assert_int_equal(at, 4);
	assert_string_equal(g.prefix, "in/sub");
	git_done(&g);
	strv_done(&dirs);
}

/* A symlink in a repository may lead to any file of this machine. */
static void test_links(void **state)
{
	static const struct {
		const char *dir, *leads; /* NULL: accepted */
	} all[] = {
	    {"repo/inner", NULL},
	    {"repo/outer", "repo/outer"},
	    {"repo/outer/sub", "repo/outer"},
	    {"repo/up", "repo/up"},
	    {"repo/to-liar", "repo/to-liar"},
	    {"repo/chain", "repo/chain"},
	    {"way/in", NULL},
	    {"way/outer", "repo/outer"},
	    {"other/hop", "other/hop"},
	    {"repo/in/../outer", "repo/outer"},
	};

	(void)state;
	need_git();
	must("mkdir -p plain/sub out; git init -q other; git init -q liar; cd repo;"
	     "ln -s in/sub inner; ln -s ../plain outer; ln -s ../out/../plain up;"
	     "ln -s ../liar to-liar; ln -s outer chain; ln -s ../repo/in ../other/hop;"
	     "ln -s repo ../way; git add .; git commit -q -m links");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char why[GIT_WHY], link[GIT_WHY], want[GIT_WHY];
		struct strv dirs = {0};
		struct git g = {0};
		struct err e = {0};
		size_t at;
		int r;

		strv_push(&dirs, path_of(all[i].dir));
		r = intree_choose(&dirs, NULL, &g, &at, why, link, &e);
		if (r != !all[i].leads)
			fail_msg("%s: %d: %s %s", all[i].dir, r, why, e.msg);
		if (all[i].leads) {
			snprintf(want, sizeof(want), "the symlink '%s' leads out of '%s/",
				 path_of(all[i].leads), dir.path);
			assert_memory_equal(link, want, strlen(want));
			assert_string_equal(why, link);
			/* The next directory is taken, and the link is reported. */
			strv_push(&dirs, path_of("repo/in"));
			assert_int_equal(intree_choose(&dirs, NULL, &g, &at, why, link, &e), 1);
			assert_int_equal(at, 1);
			assert_memory_equal(link, want, strlen(want));
		}
		git_done(&g);
		strv_done(&dirs);
	}
}

/* Environment variables do not change the repository, and commands in a repository's
 * configuration are not run. */
static void test_environment(void **state)
{
	struct git g;
	struct err e;

	(void)state;
	need_git();
	must("git init -q other; cd repo;"
	     "printf '#!/bin/sh\\n: >%s\\n' \"$(pwd)/ran\" >h; chmod +x h;"
	     "git config core.fsmonitor \"$(pwd)/h\"; git config core.hooksPath \"$(pwd)\"");
	setenv("GIT_DIR", path_of("other/.git"), 1);
	setenv("GIT_WORK_TREE", path_of("other"), 1);
	setenv("GIT_INDEX_FILE", path_of("other/index"), 1);
	expect("repo/in", "repo", "in");
	g = open_repo("repo/in");
	assert_int_equal(git_dirty(&g, "in", &e), 0);
	unsetenv("GIT_DIR");
	unsetenv("GIT_WORK_TREE");
	unsetenv("GIT_INDEX_FILE");
	assert_false(scratch_has(dir.fd, "repo/ran"));
	git_done(&g);
}

/* A push can contain the files of a bare repository.  git accepts them as a repository, with its
 * configuration and the commands in it. */
static void test_pushed_repository(void **state)
{
	static const char *const trees[] = {".", "..", "../.."};
	char set[80];

	(void)state;
	need_git();
	must("git init -q --bare repo/in/sub; cd repo/in/sub; git config core.bare false;"
	     "printf '* filter=x\\n' >info/attributes; printf x >a;"
	     "git --git-dir=. --work-tree=. add a; touch -d 1999-01-01 a;"
	     "git config filter.x.clean \"touch $(cd ../../..; pwd)/ran; cat\"");
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		struct git g = {0};
		char why[GIT_WHY] = "";
		struct err e;

		snprintf(set, sizeof(set), "git -C repo/in/sub config core.worktree %s", trees[i]);
		must(set);
		if (git_open(path_of("repo/in/sub"), &g, why, &e) == 1) {
			assert_string_equal(g.top, path_of("repo"));
			assert_true(git_dirty(&g, "in/sub", &e) >= 0);
		} else {
			assert_non_null(strstr(why, "a push can add such a repository"));
		}
		assert_false(scratch_has(dir.fd, "ran"));
		git_done(&g);
	}
}

/* root runs git as the owner: otherwise git would refuse, or run commands as root. */
static void test_owner(void **state)
{
	const char *const args[] = {"rev-parse", "--verify", "-q", "HEAD", NULL};
	_autofree_ char *head = NULL;
	struct git g;
	struct err e;

	(void)state;
	need_git();
	if (geteuid() != 0)
		skip();
	must("chmod 755 .; chown -R 65534:65534 repo");
	g = open_repo("repo/in");
	assert_true(g.owner.other);
	assert_int_equal(g.owner.uid, 65534);
	assert_int_equal(git_ask(&g, args, &head, &e), 0);
	assert_int_equal(strlen(head), 40);
	git_done(&g);
}

/* Root's git does not start where another user could exchange the repository. */
static void test_root_behind_theirs(void **state)
{
	char why[GIT_WHY];
	struct git g;
	struct err e;

	(void)state;
	need_git();
	if (geteuid() != 0)
		skip();
	must("chmod 755 .; ln -s repo link; chown -h 65534 link");
	assert_int_equal(git_open(path_of("link"), &g, why, &e), -EPERM);
	assert_non_null(strstr(e.msg, "/link' belongs to user 65534"));
	assert_int_equal(git_open(path_of("link/in"), &g, why, &e), -EPERM);
	must("chown 65534 repo/in");
	assert_int_equal(git_open(path_of("repo/in"), &g, why, &e), -EPERM);
	must("chown 0 repo/in");
	expect("repo/in", "repo", "in");
}

/* Root's git does not start with a configuration that another user may write. */
static void test_root_with_theirs(void **state)
{
	static const char *const theirs[] = {
	    "chown 65534 repo/.git", "chown 0 repo/.git; chown 65534 repo/.git/config",
	    "mv repo/.git away; chown 65534 away; chown 0 away/config; ln -s ../away repo/.git",
	    "rm repo/.git; echo \"gitdir: $PWD/away\" >repo/.git"};
	char why[GIT_WHY];
	struct git g;
	struct err e;

	(void)state;
	need_git();
	if (geteuid() != 0)
		skip();
	must("chmod 755 .; printf '[safe]\\n\\tdirectory = *\\n' >trusting");
	setenv("GIT_CONFIG_GLOBAL", path_of("trusting"), 1);
	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
		must(theirs[i]);
		assert_int_equal(git_open(path_of("repo/in"), &g, why, &e), -EPERM);
		assert_non_null(
		    strstr(e.msg, "does not belong to the user who owns the work tree"));
	}
	must("chown 0 away");
	expect("repo/in", "repo", "in");
	unsetenv("GIT_CONFIG_GLOBAL");
}

static void test_no_git(void **state)
{
	_autofree_ char *path = strdup(getenv("PATH"));

	(void)state;
	need_git();
	setenv("PATH", path_of("corpus"), 1);
	expect_none("repo/in", "start 'git'");
	setenv("PATH", path, 1);
	expect("repo/in", "repo", "in");
}

static void test_run(void **state)
{
	const char *const bad[] = {"rev-parse", "--no-such\x1b[31m", "x\ny", NULL};
	const char *const no[] = {"show-ref", "--verify", "-q", "refs/heads/none", NULL};
	const char *const many[] = {"log", "--format=%B", NULL};
	_autobuf_ struct buf out = BUF_INIT(10000);
	struct git g;
	struct err e;

	(void)state;
	need_git();
	g = open_repo("repo");
	assert_int_equal(git_run(&g, bad, &out, &e), -EPROTO);
	assert_memory_equal(e.msg, "git rev-parse: ", 15);
	assert_null(strchr(e.msg, '\x1b'));
	assert_int_equal(git_run(&g, no, &out, &e), 1);
	/* Output above the limit ends the read; git does not hang. */
	must("head -c 3000000 /dev/zero | tr '\\0' x >big;"
	     "git -C repo commit -q --allow-empty -F ../big");
	assert_int_equal(git_run(&g, many, &out, &e), -EFBIG);
	git_done(&g);
}

static void test_faults(void **state)
{
	unsigned nth;

	(void)state;
	need_git();
	for (nth = 1;; nth++) {
		struct git g = {0};
		char why[GIT_WHY];
		struct err e = {0};
		int r;

		fault_arm(nth, FAULT_FAIL);
		r = git_open(path_of("repo/in"), &g, why, &e);
		fault_arm(0, FAULT_FAIL);
		git_done(&g);
		if (r == 1)
			break;
		assert_true(r < 0 && *e.msg);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	}
	assert_true(nth > 20);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_find),
    CASE(test_names),
    CASE(test_questions),
    CASE(test_choose),
    CASE(test_links),
    CASE(test_environment),
    CASE(test_owner),
    CASE(test_root_behind_theirs),
    CASE(test_no_git),
    CASE(test_run),
    CASE(test_faults),
    CASE(test_pushed_repository),
    CASE(test_root_with_theirs),
};

UNIT_MAIN(tests)
