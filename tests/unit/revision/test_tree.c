/* SPDX-License-Identifier: Apache-2.0 */
/* A real repository "repo" (tests/unit/corpus/repo.h), with the commits that each test adds. */
#include "tests/unit/corpus/repo.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "runner/revision/tree.h"

static struct revision_tree *tree;
static char at[PATH_MAX]; /* the other work tree */

static int tree_teardown(void **state)
{
	revision_close(tree);
	tree = NULL;
	return each_teardown(state);
}

static void open_it(void)
{
	struct err e = {0};

	if (revision_open(path_of("repo"), "tree-1", NULL, &tree, &e) < 0)
		fail_msg("%s", e.msg);
	snprintf(at, sizeof(at), "%s", revision_path(tree));
	setenv("TREE", at, 1);
}

static const char *find(const char *text)
{
	static char names[4][COMMIT_MAX];
	static unsigned next;
	char *ret = names[next++ % 4];
	struct err e = {0};

	if (revision_find(tree, text, ret, &e) < 0)
		fail_msg("%s", e.msg);
	return ret;
}

static void go(const char *text)
{
	struct err e = {0};

	if (revision_checkout(tree, find(text), &e) < 0)
		fail_msg("%s", e.msg);
}

static void fails_with(int want, const char *commit, const char *words)
{
	struct err e = {0};

	assert_int_equal(revision_checkout(tree, commit, &e), want);
	if (!strstr(e.msg, words))
		fail_msg("'%s' is not in '%s'", words, e.msg);
}

static void five_commits(void)
{
	must(
	    "cd repo; for i in 2 3 4 5; do echo $i >code; git commit -q -a -m \"commit $i\"; done");
}

static void test_commits(void **state)
{
	(void)state;
	need_git();
	five_commits();
	open_it();
	go("HEAD~2");
	must("test \"$(cat $TREE/code)\" = 3; test \"$(cat repo/code)\" = 5");
	must("test -z \"$(git -C repo status --porcelain)\"");
	go("HEAD");
	must("test \"$(cat $TREE/code)\" = 5");
	go("HEAD~4");
	must("test \"$(cat $TREE/code)\" = code; test -e $TREE/in/a.png");
	revision_close(tree);
	tree = NULL;
	must("! test -e $TREE; test \"$(git -C repo worktree list | wc -l)\" = 1");
}

/* What a build leaves is gone, also with odd permissions, and what it changed is changed back. */
static void test_clean(void **state)
{
	(void)state;
	need_git();
	five_commits();
	open_it();
	go("HEAD");
	must("cd $TREE; echo x >code; rm in/a.png; mkdir -p out/deep; echo '*.o' >.git-ignored;"
	     "echo '*' >.gitignore; touch out/deep/x.o; git init -q nested; chmod 000 out");
	go("HEAD~1");
	must("cd $TREE; test \"$(cat code)\" = 4; test -e in/a.png; ! test -e out;"
	     "! test -e nested; ! test -e .gitignore");
	/* A killed checkout. */
	must("cd $TREE; touch \"$(git rev-parse --git-dir)/index.lock\"; rm -r in");
	go("HEAD");
	must("test \"$(cat $TREE/in/a.png)\" = person");
	must("rm $TREE/.git"); /* the work tree is broken */
	go("HEAD");
	must("test \"$(cat $TREE/code)\" = 5");
	must("rm -r $TREE"); /* it is gone, but git knows it */
	go("HEAD~1");
	must("test \"$(cat $TREE/code)\" = 4");
}

/* A hook and a filter of the repository never run. */
static void test_no_commands(void **state)
{
	(void)state;
	need_git();
	must("cd repo; echo '* filter=evil' >.gitattributes; git add .; git commit -q -m a;"
	     "printf '#!/bin/sh\\ntouch %s/ran\\n' \"$PWD\" >.git/hooks/post-checkout;"
	     "chmod +x .git/hooks/post-checkout; git config core.hooksPath .git/hooks;"
	     "git config filter.evil.smudge \"touch $PWD/ran; cat\";"
	     "git config filter.evil.clean \"touch $PWD/ran; cat\";"
	     "git config filter.evil.process \"touch $PWD/ran\";"
	     "git config filter.evil.required true; git config core.fsmonitor \"touch $PWD/ran\"");
	open_it();
	go("HEAD");
	go("HEAD~1");
	go("HEAD");
	must("test \"$(cat $TREE/code)\" = code; test -e $TREE/.gitattributes; ! test -e repo/ran");
	/* They are commands that git does run. */
	must("cd repo; rm code; git checkout -q code 2>/dev/null || true; test -e ran");
}

static void test_find(void **state)
{
	char ret[COMMIT_MAX];
	struct err e = {0};

	(void)state;
	need_git();
	five_commits();
	open_it();
	assert_int_equal(strlen(find("main")), 40);
	assert_string_equal(find("main"), find("HEAD"));
	assert_int_equal(revision_find(tree, "nothing", ret, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "git fetch"));
	assert_int_equal(revision_find(tree, "--all", ret, &e), -ENOENT);
	assert_int_equal(revision_find(tree, "HEAD:code", ret, &e), -ENOENT);
	assert_int_equal(revision_find(tree, "ffffffffffffffffffffffffffffffffffffffff", ret, &e),
			 -ENOENT);
	fails_with(-EPROTO, "ffffffffffffffffffffffffffffffffffffffff", "git");
}

static void test_dirty(void **state)
{
	struct err e = {0};

	(void)state;
	need_git();
	open_it();
	must("touch repo/new");
	assert_int_equal(revision_dirty(tree, &e), 0);
	must("echo x >repo/code");
	assert_int_equal(revision_dirty(tree, &e), 1);
}

static void test_row(void **state)
{
	CLEANUP(revision_row_done) struct revision_row row = {0};
	struct err e = {0};

	(void)state;
	need_git();
	five_commits();
	/* A branch of two commits, merged: they are no part of the row. */
	must("cd repo; git checkout -q -b side HEAD~2; echo a >a; git add a; git commit -q -m a;"
	     "echo b >a; git commit -q -a -m b; git checkout -q main;"
	     "git merge -q --no-ff -m merged side");
	open_it();
	assert_int_equal(revision_list(tree, find("HEAD"), NULL, &row, &e), 0);
	assert_int_equal(row.n, 6);
	assert_string_equal(row.v[0], find("HEAD"));
	assert_string_equal(row.v[1], find("HEAD~1"));
	assert_string_equal(row.v[5], find("HEAD~5"));
	assert_false(row.cut);
	revision_row_done(&row);

	assert_int_equal(revision_list(tree, find("HEAD"), find("HEAD~3"), &row, &e), 0);
	assert_int_equal(row.n, 4);
	assert_string_equal(row.v[3], find("HEAD~3"));
	revision_row_done(&row);

	/* "side" holds HEAD~3, which is on the row. */
	assert_int_equal(revision_list(tree, find("HEAD"), find("side"), &row, &e), 0);
	assert_int_equal(row.n, 4);
	assert_string_equal(row.v[3], find("HEAD~3"));
	revision_row_done(&row);

	assert_int_equal(revision_list(tree, find("HEAD"), find("HEAD"), &row, &e), 0);
	assert_int_equal(row.n, 1);
	revision_row_done(&row);

	assert_int_equal(revision_list(tree, find("HEAD~5"), NULL, &row, &e), 0);
	assert_int_equal(row.n, 1);
	revision_row_done(&row);
	assert_int_equal(revision_list(tree, find("HEAD~1"), find("side"), &row, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "not in the history"));
}

static void test_shallow(void **state)
{
	CLEANUP(revision_row_done) struct revision_row row = {0};
	struct err e = {0};

	(void)state;
	need_git();
	five_commits();
	must("mv repo full; git clone -q --depth 3 \"file://$PWD/full\" repo");
	open_it();
	assert_int_equal(revision_shallow(tree, &e), 1);
	assert_int_equal(revision_list(tree, find("HEAD"), NULL, &row, &e), 0);
	assert_int_equal(row.n, 3);
	go("HEAD~2");
	must("test \"$(cat $TREE/code)\" = 3");
}

static void test_describe(void **state)
{
	struct revision_info i;
	struct err e = {0};

	(void)state;
	need_git();
	must("cd repo; git checkout -q -b side; git commit -q --allow-empty -m s; git checkout -q "
	     "main;"
	     "GIT_COMMITTER_DATE='2001-02-03T04:05:06Z' git commit -q --allow-empty "
	     "--author='A\033[31m \xc3\xa9 <a@b>' -m \"$(printf 'red \\033[31m line\\n\\nmore')\";"
	     "git merge -q --no-ff -m merged side");
	open_it();
	assert_int_equal(revision_describe(tree, find("HEAD~1"), &i, &e), 0);
	assert_int_equal(i.parents, 1);
	assert_int_equal(i.time, 981173106);
	assert_null(strchr(i.author, '\033'));
	assert_non_null(strstr(i.author, "\xc3\xa9"));
	assert_null(strchr(i.subject, '\033'));
	assert_null(strstr(i.subject, "more"));
	assert_int_equal(revision_describe(tree, find("HEAD"), &i, &e), 0);
	assert_int_equal(i.parents, 2);
	assert_int_equal(revision_describe(tree, find("HEAD~2"), &i, &e), 0);
	assert_int_equal(i.parents, 0);
	assert_string_equal(i.subject, "first");
	assert_string_equal(i.author, "Someone");
}

/* Submodules come from the user's work tree, at the commit's own commits; nothing is fetched. */
static void test_submodules(void **state)
{
	(void)state;
	need_git();
	must("git init -q lib; cd lib; echo 1 >l; git add l; git commit -q -m l1; cd ..;"
	     "cd repo; git submodule -q add \"$PWD/../lib\" deps/lib; git commit -q -m with;"
	     "cd deps/lib; echo 2 >l; git commit -q -a -m l2; cd ../..; git commit -q -a -m new");
	open_it();
	go("HEAD");
	must("test \"$(cat $TREE/deps/lib/l)\" = 2");
	go("HEAD~1");
	must("test \"$(cat $TREE/deps/lib/l)\" = 1; test \"$(cat repo/deps/lib/l)\" = 2");
	go("HEAD~2");
	must("! test -e $TREE/deps");
	go("HEAD");
	must("test \"$(cat $TREE/deps/lib/l)\" = 2");
	revision_close(tree);
	tree = NULL;
	must("test -z \"$(ls repo/.git/modules/deps/lib/worktrees 2>/dev/null)\"");
	/* Where the user has none, there is none. */
	must("mv repo/deps/lib repo/deps/away");
	open_it();
	go("HEAD~1");
	must("test -d $TREE/deps/lib; ! test -e $TREE/deps/lib/l");
	must("mv repo/deps/away repo/deps/lib");
	/* The submodule's own filter does not run. */
	must("cd repo/deps/lib; git config filter.evil.smudge \"touch $PWD/ran; cat\";"
	     "echo '* filter=evil' >\"$(git rev-parse --git-dir)/info/attributes\"");
	go("HEAD");
	must("test \"$(cat $TREE/deps/lib/l)\" = 2; ! test -e repo/deps/lib/ran");
}

static void test_refused(void **state)
{
	struct err e = {0};

	(void)state;
	need_git();
	assert_int_equal(revision_open(path_of("corpus"), "tree-1", NULL, &tree, &e), -EINVAL);
	assert_null(tree);
	must("git init -q --bare repo/bare.git");
	assert_int_equal(revision_open(path_of("repo/bare.git"), "tree-1", NULL, &tree, &e),
			 -EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, each_setup, tree_teardown)
static const struct CMUnitTest tests[] = {
    TEST(test_commits),	   TEST(test_clean),   TEST(test_no_commands), TEST(test_find),
    TEST(test_dirty),	   TEST(test_row),     TEST(test_shallow),     TEST(test_describe),
    TEST(test_submodules), TEST(test_refused),
};

UNIT_MAIN(tests)
