/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_GIT_H
#define BASE_GIT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/owner.h"
#include "base/tool.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* git(1) for in-tree corpora: started without a shell, waited for, with an environment
 * of our choice (no GIT_DIR that happens to be set), without hooks and file system
 * monitors of the repository.
 *
 * When we are root it runs as the work tree's owner.  So root executes no command of a
 * repository's configuration, git trusts the repository, and its files are the owner's.
 * As root it works only where no other user can exchange the path (owner_open()), and only
 * in the very directory that was checked.
 *
 * A repository without a ".git" of its own in the work tree is refused: a push can bring
 * one, with commands in its configuration.
 *
 * Names are literal in every command, never patterns.  SIGPIPE must be blocked, as
 * main.c does it. */

struct git {
	char *top;    /* of the work tree, absolute */
	char *prefix; /* the directory that was asked for, from top: "" or "a/b" */
	struct owner owner;
	char *objects;			/* directory of the repository's objects; git_limit() */
	const struct tool_group *group; /* NULL: no limits */
};

/* 1: dir (absolute) is in a work tree.  0: it is not, or git will not say so: why, one
 * printable line.  On 1, git_done() frees. */
enum { GIT_WHY = 300 };
MUST_CHECK int git_open(const char *dir, struct git *ret, char why[GIT_WHY], struct err *e);
void git_done(struct git *g);

/* Limits of every git that reads pushed objects: a few objects can make git use any amount of
 * memory and disk space.  open() gets the directories that git writes to.  Its group (NULL: no
 * limits here) is valid as long as arg. */
struct git_limits {
	void *arg;
	int (*open)(void *arg, const char *top, const char *objects, const struct tool_group **ret,
		    struct err *e);
	void (*close)(void *arg); /* no git runs with arg any more */
};
/* From now on git runs with these limits (NULL: without limits).  When git passes a limit, the
 * call returns -EDQUOT, and the error names the limit. */
MUST_CHECK int git_limit(struct git *g, const struct git_limits *l, struct err *e);

/* After git_limit().  Removes unfinished packs of a killed git, if no process has them open.
 * min_age: seconds since they were last changed. */
MUST_CHECK int git_tidy(const struct git *g, unsigned min_age, struct err *e);
/* Removes the lock of the index that a killed git left, if no process has it open.  Call it
 * only after a git that had the lock: another git can hold the lock without having it open. */
MUST_CHECK int git_unlock(const struct git *g, struct err *e);

/* Runs "git ARGS", from top, with `in` to read; sink gets its output, block by block, and
 * ends it when that fails.  As git_run(). */
typedef int git_sink(void *arg, struct slice block, struct err *e);
MUST_CHECK int git_stream(const struct git *g, const char *const *args, struct slice in,
			  git_sink *sink, void *arg, struct err *e);
/* Runs "git ARGS", from top; args end with NULL.  out: its output as it is, NULL for
 * nowhere.  Returns its status when that is 0 or 1 (which is "no" where it is asked
 * something); anything else is an error (-EPROTO) in git's words. */
MUST_CHECK int git_run(const struct git *g, const char *const *args, struct buf *out,
		       struct err *e);
/* The same, the output without its last newline in a new string (free() it). */
MUST_CHECK int git_ask(const struct git *g, const char *const *args, char **ret, struct err *e);

/* For what talks to others, and may take as long as they like: env ("NAME=value", NULL at
 * the end) comes on top of ours; what it says, its errors too, goes into `said` as far as
 * there is room.  Returns its status, whatever it is.  -ETIMEDOUT: it was ended after
 * limit_us, and what it had started; -EDQUOT: it passed a limit of g; -EPROTO: a signal ended
 * it. */
MUST_CHECK int git_talk(const struct git *g, const char *const *args, const char *const *env,
			uint64_t limit_us, struct buf *said, struct err *e);

/* What all of these begin with: -1 is /dev/null; the caller reaps it. */
MUST_CHECK int git_start(const struct git *g, const char *const *args, const char *const *env,
			 int in, int out, int said, pid_t *ret_pid, struct err *e);

/* A git that reads what is written to `in`. */
struct git_writer {
	pid_t pid; /* 0: none */
	int in, said;
	const struct tool_group *group;
};
MUST_CHECK int git_begin(const struct git *g, const char *const *args, struct git_writer *ret,
			 struct err *e);
/* Closes `in` and waits; -EPROTO: it failed.  More than once is fine. */
MUST_CHECK int git_end(struct git_writer *w, struct err *e);

/* Is a file of this name (from top) kept out by .gitignore?  1: yes. */
MUST_CHECK int git_ignores(const struct git *g, const char *path, struct err *e);
/* Does anything below path differ from HEAD, new files included?  1: yes. */
MUST_CHECK int git_dirty(const struct git *g, const char *path, struct err *e);
/* What .gitattributes does to the content of such a file: "text", "filter=lfs", or ""
 * when it is kept byte for byte. */
MUST_CHECK int git_changes(const struct git *g, const char *path, char ret[64], struct err *e);

#endif
