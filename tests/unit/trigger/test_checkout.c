/* SPDX-License-Identifier: Apache-2.0 */
/* Real repositories: "up.git" is the remote, "dev" pushes, "tree" is watched. */
#include "tests/unit/corpus/repo.h"

#include "base/clock.h"
#include "runner/trigger/checkout.h"
#include "runner/trigger/growth.h"

static struct checkout got;

static int tree_setup(void **state)
{
	int r = each_setup(state);

	if (r == 0 && scratch_has(dir.fd, "repo"))
		must("git clone -q --bare repo up.git; git clone -q up.git dev;"
		     "git clone -q up.git tree");
	return r;
}

static struct checkout_opts opts(void)
{
	return (struct checkout_opts){path_of("tree"), "origin", "main", 60 * USEC_PER_SEC, NULL};
}

static void do_it(enum checkout_what what, const char *head)
{
	struct checkout_opts o = opts();
	char wanted[COMMIT_MAX];
	struct err e = {0};

	snprintf(wanted, sizeof(wanted), "%s", head ? head : "");
	if (checkout_do(&o, what, wanted, &got, &e) < 0)
		fail_msg("%s", e.msg);
	for (const char *p = got.why; *p; p++)
		assert_true(*p >= 0x20 && *p < 0x7f);
	for (const char *p = got.blocked; *p; p++)
		assert_true(*p >= 0x20 && *p < 0x7f);
}

static void poll_remote(void)
{
	do_it(CHECKOUT_POLL, NULL);
}

static void is_fine(void)
{
	if (got.kind != CHECKOUT_OK || *got.why || *got.blocked)
		fail_msg("%d '%s' '%s'", (int)got.kind, got.why, got.blocked);
}

static void mentions(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("'%s' is not in '%s'", words, text);
}

static void is_broken(const char *words)
{
	assert_int_equal(got.kind, CHECKOUT_BROKEN);
	mentions(got.why, words);
}

static void is_blocked(const char *words)
{
	assert_int_equal(got.kind, CHECKOUT_OK);
	mentions(got.blocked, words);
}

static void push(const char *text)
{
	char script[200];

	snprintf(script, sizeof(script),
		 "cd dev; echo '%s' >>code; git commit -q -a -m '%s'; git push -q origin main",
		 text, text);
	must(script);
}

static void test_forward(void **state)
{
	char old[COMMIT_MAX], new[COMMIT_MAX];

	(void)state;
	need_git();
	poll_remote();
	is_fine();
	assert_string_equal(got.head, got.tree);
	memcpy(old, got.head, sizeof(old));
	push("one");
	push("two");
	do_it(CHECKOUT_ASK, NULL); /* it knows the commit, and has written nothing */
	is_fine();
	assert_string_not_equal(got.head, old);
	assert_int_equal(sh("cd tree; git cat-file -e $(git -C ../dev rev-parse HEAD)"), 1);
	poll_remote();
	is_fine();
	assert_string_not_equal(got.head, old);
	assert_string_equal(got.tree, old); /* a check does not move the tree */
	assert_int_equal(sh("grep -q two tree/code"), 1);
	memcpy(new, got.head, sizeof(new));
	push("three"); /* not the commit that is asked for */
	do_it(CHECKOUT_UPDATE, new);
	is_fine();
	assert_string_equal(got.tree, new);
	must("grep -q two tree/code; ! grep -q three tree/code");
	must("test \"$(git -C tree symbolic-ref HEAD)\" = refs/heads/main");
	do_it(CHECKOUT_UPDATE, new); /* a second update does nothing */
	is_fine();
}

static void test_dirty(void **state)
{
	char head[COMMIT_MAX];

	(void)state;
	need_git();
	must("echo x >>tree/code");
	/* The tree is at the head, but its files differ from the head. */
	do_it(CHECKOUT_ASK, NULL);
	is_blocked("not committed");
	poll_remote();
	is_blocked("code");
	assert_string_equal(got.head, got.tree);
	memcpy(head, got.head, sizeof(head));
	do_it(CHECKOUT_UPDATE, head);
	is_blocked("not committed");
	push("one");
	do_it(CHECKOUT_ASK, NULL); /* a head that is not fetched yet */
	is_blocked("not committed");
	poll_remote();
	is_blocked("code");
	is_blocked("1 file");
	is_blocked("not committed");
	memcpy(head, got.head, sizeof(head));
	do_it(CHECKOUT_UPDATE, head);
	is_blocked("not committed");
	must("grep -q x tree/code");
	must("cd tree; git checkout -q -f; echo y >staged; git add staged");
	poll_remote();
	is_blocked("staged");
	must("cd tree; git rm -q --cached staged"); /* now the file is only untracked */
	poll_remote();
	is_fine();
}

/* Untracked inputs from fuzzing are no change; an untracked file in the commit's way is. */
static void test_untracked(void **state)
{
	char head[COMMIT_MAX];

	(void)state;
	need_git();
	must("echo new >tree/in/deadbeef");
	push("one");
	poll_remote();
	is_fine();
	do_it(CHECKOUT_UPDATE, got.head);
	is_fine();
	must("grep -q new tree/in/deadbeef");
	must("cd dev; echo theirs >in/deadbeef; git add .; git commit -q -m add; git push -q");
	poll_remote();
	is_fine();
	memcpy(head, got.head, sizeof(head));
	do_it(CHECKOUT_UPDATE, head);
	is_blocked("cannot bring the work tree");
	is_blocked("deadbeef");
	must("grep -q new tree/in/deadbeef");
}

static void test_other_branch(void **state)
{
	(void)state;
	need_git();
	must("git -C tree checkout -q -b mine");
	poll_remote();
	is_blocked("branch 'mine' is checked out, not 'main'");
	is_blocked("checkout main");
	must("git -C tree checkout -q --detach");
	poll_remote();
	is_blocked("detached");
	do_it(CHECKOUT_UPDATE, got.head);
	is_blocked("detached");
}

static void test_rewritten(void **state)
{
	char head[COMMIT_MAX], before[COMMIT_MAX];

	(void)state;
	need_git();
	push("one");
	poll_remote();
	do_it(CHECKOUT_UPDATE, got.head);
	memcpy(before, got.tree, sizeof(before));
	must(
	    "cd dev; echo z >>code; git commit -q -a --amend -m other; git push -q -f origin main");
	poll_remote();
	is_blocked("was rewritten");
	is_blocked("reset --hard origin/main");
	memcpy(head, got.head, sizeof(head));
	do_it(CHECKOUT_UPDATE, head);
	is_blocked("was rewritten");
	assert_string_equal(got.tree, before);
	must("cd tree; git reset -q --hard origin/main"); /* as the message advises */
	poll_remote();
	is_fine();
	must("cd tree; echo mine >>code; git commit -q -a -m mine");
	poll_remote();
	is_blocked("has commits that");
}

static void test_not_a_clone(void **state)
{
	(void)state;
	need_git();
	must("git -C tree remote rename origin upstream");
	poll_remote();
	is_broken("no remote 'origin'");
	push("one");
	must("rm -rf tree; git clone -q --depth 1 file://$PWD/up.git tree");
	poll_remote();
	is_broken("shallow clone");
	is_broken("--unshallow");
	must("git -C tree fetch -q --unshallow"); /* as the message advises */
	poll_remote();
	is_fine();
	must("rm -rf tree; mkdir tree");
	poll_remote();
	is_broken("not a git repository");
	must("rm -rf tree");
	poll_remote();
	is_broken("No such file");
	must("git clone -q --bare up.git tree");
	poll_remote();
	is_broken("no work tree");
	must("rm -rf tree; git init -q tree; git -C tree remote add origin ../up.git");
	poll_remote();
	is_blocked("nothing is checked out");
}

static void test_remote_away(void **state)
{
	char head[COMMIT_MAX];

	(void)state;
	need_git();
	push("one");
	poll_remote();
	memcpy(head, got.head, sizeof(head));
	must("mv up.git away");
	poll_remote();
	assert_int_equal(got.kind, CHECKOUT_NETWORK);
	mentions(got.why, "up.git");
	assert_string_equal(got.head, head); /* the known head stays */
	do_it(CHECKOUT_ASK, NULL);
	assert_int_equal(got.kind, CHECKOUT_NETWORK);
	do_it(CHECKOUT_UPDATE, head); /* the commit is there: no network needed */
	is_fine();
	must("mv away up.git; git -C up.git branch -m main trunk");
	poll_remote();
	is_broken("has no branch 'main'");
	do_it(CHECKOUT_ASK, NULL);
	is_broken("has no branch 'main'");
	/* A host name that does not resolve. */
	must("git -C tree remote set-url origin https://localhost:1/nothing.git");
	poll_remote();
	assert_int_equal(got.kind, CHECKOUT_NETWORK);
}

/* The repository's hooks are not run, and the remote's text is escaped. */
static void test_hostile(void **state)
{
	struct checkout_opts o = opts();
	struct err e;

	(void)state;
	need_git();
	must("for h in post-merge post-checkout reference-transaction pre-merge-commit; do"
	     " printf '#!/bin/sh\\ntouch %s/ran\\n' \"$PWD\" >tree/.git/hooks/$h;"
	     " chmod +x tree/.git/hooks/$h; done");
	push("one");
	poll_remote();
	is_fine();
	do_it(CHECKOUT_UPDATE, got.head);
	is_fine();
	assert_false(scratch_has(dir.fd, "ran"));
	must("printf '#!/bin/sh\\nprintf \"\\\\033[31mred\\\\n\" >&2; yes \"$0\" | head -c 9000000 "
	     ">&2;"
	     " exit 1\\n' >talks; chmod +x talks");
	must("git -C tree config remote.origin.uploadpack \"$PWD/talks\"");
	poll_remote();
	assert_int_equal(got.kind, CHECKOUT_NETWORK);
	mentions(got.why, "red");
	assert_null(strchr(got.why, '\033'));
	/* Names that would be options, or paths outside. */
	for (unsigned i = 0; i < 4; i++) {
		static const char *const bad[] = {"--upload-pack=touch ran", "a..b", "../main", ""};

		o.branch = bad[i];
		assert_int_equal(checkout_do(&o, CHECKOUT_POLL, NULL, &got, &e), 0);
		assert_int_equal(got.kind, CHECKOUT_BROKEN);
	}
	o.branch = "main";
	for (unsigned i = 0; i < 3; i++) {
		static const char *const bad[] = {"--upload-pack=touch ran", "../up.git", ""};

		o.remote = bad[i];
		assert_int_equal(checkout_do(&o, CHECKOUT_POLL, NULL, &got, &e), 0);
		assert_int_equal(got.kind, CHECKOUT_BROKEN);
	}
	assert_false(scratch_has(dir.fd, "ran"));
}

/* --- on a loop ----------------------------------------------------------------------- */

static struct loop *loop;

static void on_done(void *arg, const struct checkout *c)
{
	(void)arg;
	got = *c;
	loop_stop(loop);
}

static void on_loop(uint64_t limit_us)
{
	struct checkout_opts o = opts();
	struct err e = {0};

	o.fetch_us = limit_us;
	assert_int_equal(loop_new(&loop, &e), 0);
	assert_int_equal(checkout_start(loop, &o, CHECKOUT_POLL, NULL, on_done, NULL, &e), 0);
	assert_int_equal(loop_run(loop, &e), 0);
	loop_free(loop);
}

static void test_time_limit(void **state)
{
	uint64_t began;

	(void)state;
	need_git();
	on_loop(60 * USEC_PER_SEC);
	is_fine();
	assert_int_equal(strlen(got.head), 40);
	must("printf '#!/bin/sh\\necho $$ >%s/pid; exec sleep 600\\n' \"$PWD\" >stalls; chmod +x "
	     "stalls");
	must("git -C tree config remote.origin.uploadpack \"$PWD/stalls\"");
	began = clock_mono_us();
	on_loop(2 * USEC_PER_SEC);
	assert_int_equal(got.kind, CHECKOUT_NETWORK);
	mentions(got.why, "not done after 2s");
	assert_true(clock_mono_us() - began < 30 * USEC_PER_SEC);
	/* The stalled process is gone, too, and no lock stays. */
	must("i=0; while [ -s pid ] && kill -0 $(cat pid) 2>/dev/null && [ $i -lt 50 ];"
	     " do sleep 0.1; i=$((i + 1)); done; ! kill -0 $(cat pid) 2>/dev/null");
	must("test -z \"$(find tree/.git -name '*.lock')\"");
}

/* Returns the command in the last quotes. */
static void do_as_it_says(const char *text)
{
	const char *end = strrchr(text, '\''), *begin = end;
	char command[300];

	assert_non_null(end);
	while (begin > text && begin[-1] != '\'')
		begin--;
	snprintf(command, sizeof(command), "%.*s", (int)(end - begin), begin);
	must(command);
}

/* As root in another user's work tree: the files that it writes belong to that user. */
static void test_owner(void **state)
{
	(void)state;
	need_git();
	if (geteuid() != 0)
		skip();
	must("git config -f config safe.directory '*'; chmod 0755 .; chown -R 4321:4321 tree "
	     "up.git");
	push("one");
	must("chown -R 4321:4321 up.git");
	poll_remote();
	is_fine();
	do_it(CHECKOUT_UPDATE, got.head);
	is_fine();
	must("test -z \"$(find tree ! -uid 4321)\"");
	/* The advised command works here: root's git would refuse, or write as root. */
	must("echo mine >>tree/code");
	poll_remote();
	is_blocked("or 'setpriv --reuid=4321 --regid=4321 --clear-groups git -C ");
	do_as_it_says(got.blocked);
	poll_remote();
	is_fine();
	must("test -z \"$(find tree ! -uid 4321)\"");
}

/* A few objects describe 10^12 files: git would write until the disk or the memory is full. */
static void test_bomb(void **state)
{
	(void)state;
	need_git();
	must("cd dev; t=$(printf x | git hash-object -w --stdin);"
	     "t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf \"100644 blob $t\\tf$i\\n\"; done"
	     " | git mktree); for d in 1 2 3 4 5 6 7 8 9 10 11; do"
	     " t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf \"040000 tree $t\\td$i\\n\"; done"
	     " | git mktree); done;"
	     "t=$( (git ls-tree HEAD; printf \"040000 tree $t\\tx\\n\") | git mktree);"
	     "git push -q origin $(git commit-tree -m bomb -p HEAD $t):main");
	poll_remote();
	is_fine();
	do_it(CHECKOUT_UPDATE, got.head);
	is_blocked("over an eighth of the free disk space or of the memory");
	assert_false(scratch_has(dir.fd, "tree/x"));
}

/* A failed fetch removes the files of killed fetches, but not files that a living git has open.
 * A successful fetch leaves a pack, which git later packs with others. */
static void test_left_behind(void **state)
{
	int fd;

	(void)state;
	need_git();
	push("one");
	poll_remote();
	is_fine();
	must("test $(ls tree/.git/objects/pack/*.pack | wc -l) -ge 1");
	must(": >tree/.git/objects/pack/tmp_pack_old; : >tree/.git/objects/pack/tmp_pack_open");
	fd = openat(dir.fd, "tree/.git/objects/pack/tmp_pack_open", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	poll_remote(); /* the file is so young that a git may be about to rename it */
	is_fine();
	assert_true(scratch_has(dir.fd, "tree/.git/objects/pack/tmp_pack_old"));
	must("git -C tree config gc.autoPackLimit 1; mv up.git away.git");
	poll_remote();
	assert_int_equal(got.kind, CHECKOUT_NETWORK);
	assert_false(scratch_has(dir.fd, "tree/.git/objects/pack/tmp_pack_old"));
	assert_true(scratch_has(dir.fd, "tree/.git/objects/pack/tmp_pack_open"));
	must("mv away.git up.git; touch -d '2 hours ago' tree/.git/objects/pack/tmp_pack_open");
	close(fd);
	push("two");
	poll_remote();
	is_fine();
	assert_false(scratch_has(dir.fd, "tree/.git/objects/pack/tmp_pack_open"));
	must("test $(ls tree/.git/objects/pack/*.pack | wc -l) -eq 1"); /* gc was done */
}

/* Directories, names and blocks count; existing files do not. */
static void test_growth(void **state)
{
	struct growth limit = {.files = 4, .bytes = 4 * 4096, .names = 4096}, more;
	struct git g;
	struct err e;

	(void)state;
	need_git();
	must("cd repo; mkdir -p new/er; head -c 4096 /dev/zero >new/er/a; : >new/b;"
	     "git add .; git commit -q -m more");
	g = open_repo("repo");
	assert_int_equal(growth_measure(&g, "HEAD", "HEAD", &limit, &more, &e), 0);
	assert_int_equal(more.files, 0);
	assert_int_equal(growth_measure(&g, "HEAD^", "HEAD", &limit, &more, &e), 1);
	limit.bytes += 4096;
	assert_int_equal(growth_measure(&g, "HEAD^", "HEAD", &limit, &more, &e), 0);
	assert_int_equal(more.files, 4); /* new, new/b, new/er, new/er/a */
	assert_int_equal(more.bytes, 5 * 4096);
	limit.files = 3;
	assert_int_equal(growth_measure(&g, "HEAD^", "HEAD", &limit, &more, &e), 1);
	limit = (struct growth){.files = 4, .bytes = 5 * 4096, .names = 100};
	assert_int_equal(growth_measure(&g, "HEAD^", "HEAD", &limit, &more, &e), 1);
	assert_true(growth_measure(&g, "HEAD", "none", &limit, &more, &e) < 0);
	git_done(&g);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, tree_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_forward),	    CASE(test_dirty),	    CASE(test_untracked),   CASE(test_other_branch),
    CASE(test_rewritten),   CASE(test_not_a_clone), CASE(test_remote_away), CASE(test_hostile),
    CASE(test_time_limit),  CASE(test_owner),	    CASE(test_bomb),	    CASE(test_growth),
    CASE(test_left_behind),
};

UNIT_MAIN(tests)
