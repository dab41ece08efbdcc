/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/corpus/repo.h"

#include "tests/unit/corpus/intree.h"

struct made {
	struct intree_sum sum;
	char commit[INTREE_OID];
};

static int try_branch(const char *where, const char *name, bool prune, bool dry_run,
		      struct made *ret, struct err *e)
{
	struct intree t = {.corpus = corpus,
			   .prune = prune,
			   .unneeded = &unneeded,
			   .dry_run = dry_run,
			   .pruned = -1,
			   .report = on_name};
	struct intree_branch *b = NULL;
	struct git g = {0};
	char why[GIT_WHY] = "";
	int r = git_open(path_of(where), &g, why, e);

	*reported = '\0';
	if (r == 0)
		fail_msg("%s", why);
	if (r == 1)
		r = intree_branch_open(&g, name, "the subject\n\nthe body\n", &b, e);
	if (r == 0)
		r = intree_branch_update(b, &t, g.prefix, &ret->sum, e);
	if (r == 0)
		r = intree_branch_commit(b, ret->commit, e);
	intree_branch_free(b);
	git_done(&g);
	return r;
}

static struct made branch(const char *where, const char *name, bool prune)
{
	struct made made = {0};
	struct err e;

	if (try_branch(where, name, prune, false, &made, &e) < 0)
		fail_msg("%s", e.msg);
	return made;
}

static int refused(const char *where, const char *name)
{
	struct made made;
	struct err e;
	int r = try_branch(where, name, false, false, &made, &e);

	assert_true(r < 0);
	return r;
}

static void test_commit(void **state)
{
	struct made made;
	char script[400];

	(void)state;
	need_git();
	input("new");
	input("person"); /* in the repository as a.png */
	input("");
	scratch_write(corpus, name_of("damaged"), "dxmaged");
	must("git -C repo status --porcelain >before; git -C repo rev-parse HEAD >>before");
	made = branch("repo/in", "fuzzing/x", false);
	assert_int_equal(made.sum.added, 1);
	assert_int_equal(made.sum.known, 1);
	assert_int_equal(made.sum.skipped, 2);
	assert_int_equal(made.sum.removed, 0);
	assert_int_equal(strlen(made.commit), 40);
	must("git -C repo status --porcelain >after; git -C repo rev-parse HEAD >>after;"
	     "cmp before after; git -C repo fsck --strict --no-dangling 2>&1 | grep . && exit 1;"
	     "test \"$(git -C repo rev-parse fuzzing/x^)\" = \"$(git -C repo rev-parse main)\";"
	     "test \"$(git -C repo log -1 --format=%an:%ce:%s:%b fuzzing/x)\" ="
	     " Someone:some@one:the\\ subject:the\\ body;"
	     "test \"$(git -C repo diff --name-status main fuzzing/x | wc -l)\" = 1");
	snprintf(script, sizeof(script),
		 "test \"$(git -C repo show fuzzing/x:in/%s)\" = new;"
		 "test \"$(git -C repo ls-tree fuzzing/x in/%s | cut -c 1-6)\" = 100644",
		 name_of("new"), name_of("new"));
	must(script);
	/* A second call: another branch would be the same, and this branch exists. */
	assert_int_equal(refused("repo/in", "fuzzing/x"), -EEXIST);
	must("git -C repo merge -q fuzzing/x");
	made = branch("repo/in", "nothing", false);
	assert_int_equal(made.sum.added, 0);
	assert_int_equal(made.sum.known, 2);
	assert_string_equal(made.commit, "");
	assert_int_not_equal(sh("git -C repo rev-parse -q --verify nothing"), 0);
}

/* The user's changed, staged, added or removed files are neither in the commit nor touched. */
static void test_dirty(void **state)
{
	(void)state;
	need_git();
	input("new");
	input("untracked"); /* the user's own file is in no commit yet */
	must("cd repo; printf changed >code; printf staged >in/staged; git add in/staged;"
	     "printf staged2 >in/a.png; git add in/a.png; printf unstaged >in/a.png;"
	     "printf untracked >in/mine; rm in/sub/b*; git checkout -q --detach;"
	     "git stash list >../before; git status --porcelain=v2 --branch >>../before;"
	     "git diff >>../before; git diff --cached >>../before;"
	     "sha1sum .git/index code in/* 2>/dev/null >>../before || :");
	assert_int_equal(branch("repo/in", "b", false).sum.added, 2);
	must("cd repo; git stash list >../after; git status --porcelain=v2 --branch >>../after;"
	     "git diff >>../after; git diff --cached >>../after;"
	     "sha1sum .git/index code in/* 2>/dev/null >>../after || :;"
	     "diff ../before ../after;"
	     "test \"$(git diff --name-only HEAD b | wc -l)\" = 2;"
	     "test \"$(git diff --diff-filter=A --name-only HEAD b | wc -l)\" = 2");
}

static void test_prune(void **state)
{
	struct made made;

	(void)state;
	need_git();
	must("cd repo; printf x >in/.gitignore; ln -s a.png in/link; printf taken >in/taken;"
	     "git add .; git commit -qm second");
	made = branch("repo/in", "empty", true); /* no corpus: no file is removed */
	assert_string_equal(made.commit, "");
	input("new");
	input("person");
	{
		char script[128];

		snprintf(script, sizeof(script),
			 "cd repo; printf other >in/%s; git add .; git commit -qm third",
			 name_of("new"));
		must(script);
	}
	made = branch("repo/in", "keep", false);
	assert_int_equal(made.sum.skipped, 1);
	assert_non_null(strstr(reported, "taken "));
	made = branch("repo/in", "unmeasured", true); /* unmeasured files stay */
	assert_string_equal(made.commit, "");
	assert_int_equal(made.sum.kept, 3);
	assert_int_equal(made.sum.skipped, 1);
	assert_non_null(strstr(reported, "kept sub/b c\n"));
	unneed("deep");
	unneed("taken");
	unneed("other");
	unneed("person"); /* the corpus has it again */
	made = branch("repo/in", "b", true);
	assert_int_equal(made.sum.added, 1);
	assert_int_equal(made.sum.known, 1);
	assert_int_equal(made.sum.kept, 0);
	assert_int_equal(made.sum.removed, 3); /* b c, taken, and the file with the input's name */
	assert_non_null(strstr(reported, "removed sub/b c\n"));
	assert_non_null(strstr(reported, "removed taken\n"));
	must("cd repo; git ls-tree -r --name-only b in >../got;"
	     "grep -qx in/.gitignore ../got; grep -qx in/link ../got; grep -qx in/a.png ../got;"
	     "test \"$(wc -l <../got)\" = 4; git ls-tree -r --name-only b | grep -qx code");
	/* The work tree still has all files. */
	must("cd repo; test -e in/taken; test -e 'in/sub/b c'; git diff --quiet HEAD");
}

/* Content is committed byte for byte, whatever the attributes and names are. */
static void test_bytes(void **state)
{
	static const struct slice hostile = {"\0done\ndata 5\n\"\xff M 100644 inline x\n", 34};
	char script[600];
	int fd;

	(void)state;
	need_git();
	must("cd repo; printf '* text=auto eol=crlf\\n' >.gitattributes;"
	     "git config core.autocrlf true; mkdir -p 'odd\n\"dir\\ \xff'; "
	     "printf y >'odd\n\"dir\\ \xff/y'; git add . 2>/dev/null; git commit -qm second");
	input("line\r\nends\r\n\n");
	fd = openat(corpus, "x", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	for (unsigned i = 0; i < 3000; i++)
		assert_int_equal(write(fd, hostile.p, hostile.n), hostile.n);
	close(fd);
	must("cd corpus; mv x $(sha1sum <x | cut -c 1-40)");
	assert_int_equal(branch("repo/odd\n\"dir\\ \xff", "b", false).sum.added, 2);
	snprintf(script, sizeof(script), "%s",
		 "cd repo; for f in $(ls ../corpus); do"
		 " git cat-file blob \"b:odd\n\"'\"'\"dir\\\\ \xff/$f\" | cmp - ../corpus/$f; done;"
		 "test \"$(git diff --name-only -z main b | tr -dc '\\0' | wc -c)\" = 2");
	must(script);
	assert_int_equal(branch("repo", "top", false).sum.added, 2); /* prefix "" */
	must("cd repo; for f in $(ls ../corpus); do"
	     " git cat-file blob \"top:$f\" | cmp - ../corpus/$f; done");
}

static void test_refused(void **state)
{
	static const char *const names[] = {"",	     "-x",	"a b",	"a..b",	 "x.lock", "a/",
					    "HEAD~", "\x1b[1m", "a\nb", "@{-1}", "/x",	   "x^"};

	(void)state;
	need_git();
	input("new");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(refused("repo/in", names[i]), -EINVAL);
	must("git init -q unborn; mkdir unborn/in; git init -q --object-format=sha256 long;"
	     "cd long; mkdir in; git commit -q --allow-empty -m first");
	assert_int_equal(refused("unborn/in", "x"), -EINVAL);
	assert_int_equal(refused("long/in", "x"), -ENOTSUP);
	/* Names that would be below a branch, or above one. */
	assert_int_equal(refused("repo/in", "main"), -EEXIST);
	assert_int_equal(refused("repo/in", "main/x"), -EEXIST);
	assert_int_equal(refused("repo/in", "main/x/y"), -EEXIST);
	must("cd repo; git branch a/b/c");
	assert_int_equal(refused("repo/in", "a"), -EEXIST);
	assert_int_equal(refused("repo/in", "a/b"), -EEXIST);
	assert_int_equal(refused("repo/in", "a/b/c/d"), -EEXIST);
	must("cd repo; git branch -q -D a/b/c; git show-ref | wc -l | grep -qx 1");
	/* No author is configured. */
	must("cd repo; git config user.useConfigOnly true; git config -f ../config --unset "
	     "user.email");
	assert_int_equal(refused("repo/in", "x"), -EPROTO);
}

/* git decides, except for names that it accepts but no user means. */
static void test_names(void **state)
{
	static const char *const names[] = {
	    "x",	"a/b",	 "HEAD",       "x/HEAD",     "heads/x", "-x",	 "a-",
	    "a..b",	"a.b",	 "x.lock",     "a/b.lock/c", "x.loc",	".lock", "a b",
	    "a~",	"a^",	 "a:",	       "a?",	     "a*",	"a[b",	 "a]",
	    "a\\b",	"a/",	 "/a",	       "a//b",	     ".a",	"a/.b",	 "a./b",
	    "a.",	"@{-1}", "a@{b",       "a@b",	     "a\nb",	"a\tb",	 "\x7f",
	    "\xc3\xa4", "\xff",	 "FETCH_HEAD", "refs",	     "$(id)",	"it's",	 "\"",
	    "a/@",	"{",	 ".",	       "..",	     "x.lock.", "{a,b}", "!",
	    "#1",	"a/-b",	 "@a",	       "a@",	     ""};
	static const char *const ours[] = {"@", "refs/heads/x", "refs/x"};
	char longest[INTREE_NAME_MAX + 2];
	struct err e;

	(void)state;
	need_git();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bool taken = intree_branch_name(names[i], &e) == 0;

		setenv("NAME", names[i], 1);
		if (taken != (sh("git check-ref-format --branch \"$NAME\" >/dev/null 2>&1") == 0))
			fail_msg("'%s' is %s", names[i], taken ? "taken" : e.msg);
	}
	unsetenv("NAME");
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		assert_int_equal(intree_branch_name(ours[i], &e), -EINVAL);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(intree_branch_name(longest, &e), -EINVAL);
	assert_int_equal(intree_branch_name(longest + 1, &e), 0);
}

/* A directory here, a file in HEAD: a commit would remove it. */
static void test_changed_type(void **state)
{
	(void)state;
	need_git();
	input("new");
	must("cd repo; rm code; mkdir -p code/in");
	assert_int_equal(refused("repo/code/in", "x"), -ENOTDIR);
	assert_int_equal(refused("repo/code", "x"), -ENOTDIR);
	must("mkdir -p repo/brand/new");
	assert_int_equal(branch("repo/brand/new", "x", true).sum.added, 1);
}

static void test_places(void **state)
{
	(void)state;
	need_git();
	input("new");
	must("git -C repo worktree add -q ../linked; git init -q super; cd super;"
	     "git submodule --quiet add ../repo sub; git commit -qm first");
	assert_int_equal(branch("linked/in", "l", false).sum.added, 1);
	assert_int_equal(branch("super/sub/in", "s", false).sum.added, 1);
	must("git -C repo rev-parse -q --verify l >/dev/null;"
	     "git -C super/sub rev-parse -q --verify s >/dev/null;"
	     "test -z \"$(git -C super status --porcelain)\"");
}

/* Objects that root writes into a user's repository would lock the user out. */
static void test_owner(void **state)
{
	(void)state;
	need_git();
	if (geteuid() != 0)
		skip();
	input("new");
	must("chmod 755 .; chown -R 65534:65534 repo; git config -f repo/.git/config user.name N;"
	     "git config -f repo/.git/config user.email e; chown 65534:65534 repo/.git/config");
	assert_int_equal(branch("repo/in", "b", false).sum.added, 1);
	must("test -z \"$(find repo ! -uid 65534)\"");
}

static unsigned refs(void)
{
	struct stat st;

	return fstatat(dir.fd, "repo/.git/refs/heads/b", &st, 0) == 0;
}

/* Any call fails: the branch exists completely or not at all. */
static void test_faults(void **state)
{
	unsigned nth, failed = 0;

	(void)state;
	need_git();
	input("new");
	input("newer");
	for (nth = 1;; nth++) {
		struct made made = {0};
		struct err e = {0};
		int r;

		fault_arm(nth, FAULT_FAIL);
		r = try_branch("repo/in", "b", true, false, &made, &e);
		fault_arm(0, FAULT_FAIL);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		if (r == 0)
			break;
		failed++;
		assert_true(*e.msg);
		if (refs()) /* only the query of its name failed */
			must("test $(git -C repo ls-tree -r --name-only b in | wc -l) = 2;"
			     "git -C repo branch -q -D b");
	}
	assert_true(failed > 60);
	must("test $(git -C repo ls-tree -r --name-only b in | wc -l) = 2;"
	     "git -C repo fsck --strict --no-dangling 2>&1 | grep . && exit 1; :");
}

static void test_dry_run(void **state)
{
	struct made made = {0};
	struct err e;

	(void)state;
	need_git();
	input("new");
	must("find repo -type f -exec sha1sum {} + | sort >before");
	assert_int_equal(try_branch("repo/in", "b", true, true, &made, &e), 0);
	assert_int_equal(made.sum.added, 1);
	assert_int_equal(made.sum.removed, 2);
	assert_string_equal(made.commit, "");
	assert_int_equal(refs(), 0);
	must("find repo -type f -exec sha1sum {} + | sort | cmp - before");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

static const struct CMUnitTest tests[] = {
    CASE(test_commit),	CASE(test_dirty),  CASE(test_prune),	    CASE(test_bytes),
    CASE(test_refused), CASE(test_names),  CASE(test_changed_type), CASE(test_places),
    CASE(test_owner),	CASE(test_faults), CASE(test_dry_run),
};

UNIT_MAIN(tests)
