/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CORPUS_REPO_H
#define TESTS_UNIT_CORPUS_REPO_H

/* A real git repository "repo" in a scratch directory, with "in" as its in-tree
 * directory.  Without git a test is skipped; with FUZZCELL_MUST_RUN set it fails. */
#include "tests/unit/unit.h"

#include "base/fault.h"
#include "runner/corpus/intree/intree.h"
#include "tests/unit/corpus/files.h"

#include <signal.h>
#include <sys/wait.h>

static struct scratch dir;
static int corpus;

static inline const char *path_of(const char *name)
{
	static char paths[4][200];
	static unsigned next;
	char *p = paths[next++ % 4];

	snprintf(p, sizeof(paths[0]), "%s/%s", dir.path, name);
	return p;
}

/* A shell's status, in the scratch directory. */
static inline int sh(const char *script)
{
	pid_t pid = fork();
	int ws;

	assert_true(pid >= 0);
	if (pid == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		if (chdir(dir.path) == 0)
			execl("/bin/sh", "sh", "-euc", script, (char *)NULL);
		_exit(126);
	}
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	return WIFEXITED(ws) ? WEXITSTATUS(ws) : -1;
}

static inline void must(const char *script)
{
	if (sh(script) != 0)
		fail_msg("%s", script);
}

static inline int each_setup(void **state)
{
	sigset_t broken_pipe;

	(void)state;
	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	sigprocmask(SIG_BLOCK, &broken_pipe, NULL);
	umask(022);
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	corpus = make_dir_at(dir.fd, "corpus");
	setenv("GIT_CONFIG_GLOBAL", path_of("config"), 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	if (sh("command -v git >/dev/null") != 0)
		return 0;
	must("git config -f config user.name Someone; git config -f config user.email some@one;"
	     "git config -f config init.defaultBranch main;"
	     "git config -f config protocol.file.allow always;"
	     "git init -q repo; mkdir -p repo/in/sub; printf person >repo/in/a.png;"
	     "printf deep >'repo/in/sub/b c'; printf code >repo/code;"
	     "git -C repo add .; git -C repo commit -q -m first");
	return 0;
}

static inline int each_teardown(void **state)
{
	(void)state;
	close(corpus);
	scratch_remove(&dir);
	return 0;
}

static inline void need_git(void)
{
	if (scratch_has(dir.fd, "repo"))
		return;
	if (getenv("FUZZCELL_MUST_RUN"))
		fail_msg("this test must run, and needs git");
	skip();
}

static inline struct git open_repo(const char *name)
{
	struct git g = {0};
	char why[GIT_WHY] = "";
	struct err e = {0};
	int r = git_open(path_of(name), &g, why, &e);

	if (r != 1)
		fail_msg("%s%s", why, e.msg);
	return g;
}

static inline void input(const char *content)
{
	scratch_write(corpus, name_of(content), content);
}

#endif
