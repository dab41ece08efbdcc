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

/* git(1) for in-tree corpora.  git runs without a shell, without the repository's hooks and file
 * system monitors, and with an environment of our choice (no inherited GIT_DIR).
 *
 * When we are root, git runs as the work tree's owner.  So root executes no command of a
 * repository's configuration, git trusts the repository, and new files belong to the owner.  git
 * runs as root only where no other user can exchange the path (owner_open()), and only in the
 * directory that was checked.
 *
 * A repository without its own ".git" in the work tree is refused: a push can add such a
 * repository, with commands in its configuration.
 *
 * Names are literal in every command, never patterns.  SIGPIPE must be blocked, as in main.c. */

struct git {
	char *top;    /* top of the work tree, absolute */
	char *prefix; /* the directory passed to git_open(), relative to top: "" or "a/b" */
	struct owner owner;
	char *objects;			/* directory of the repository's objects; git_limit() */
	const struct tool_group *group; /* NULL: no limits */
};

/* 1: dir (absolute) is in a work tree; git_done() frees *ret.  0: it is not, or git failed; why has
 * the reason in one printable line. */
enum { GIT_WHY = 300 };
MUST_CHECK int git_open(const char *dir, struct git *ret, char why[GIT_WHY], struct err *e);
void git_done(struct git *g);

/* Limits for every git process that reads pushed objects: a few objects can make git use any amount
 * of memory and disk space.  open() gets the directories that git writes to.  The group that it
 * returns (NULL: no limits here) is valid as long as arg. */
struct git_limits {
	void *arg;
	int (*open)(void *arg, const char *top, const char *objects, const struct tool_group **ret,
		    struct err *e);
	void (*close)(void *arg); /* called when no git process uses arg any more */
};
/* From now on git runs with these limits (NULL: none).  When git exceeds a limit, the call that
 * runs it returns -EDQUOT, and the error names the limit. */
MUST_CHECK int git_limit(struct git *g, const struct git_limits *l, struct err *e);

/* Call it after git_limit().  Removes the unfinished packs of a killed git process, if no process
 * has them open.  min_age: minimum time since their last change, in seconds. */
MUST_CHECK int git_tidy(const struct git *g, unsigned min_age, struct err *e);
/* Removes the index lock that a killed git process left, if no process has it open.  Call it only
 * after a git command that takes the lock: another git can hold the lock without having it open. */
MUST_CHECK int git_unlock(const struct git *g, struct err *e);

/* Runs "git ARGS" in top, with `in` as its input, and passes its output to sink, block by block.
 * When sink fails, git is ended.  Returns the same as git_run(). */
typedef int git_sink(void *arg, struct slice block, struct err *e);
MUST_CHECK int git_stream(const struct git *g, const char *const *args, struct slice in,
			  git_sink *sink, void *arg, struct err *e);
/* Runs "git ARGS" in top; args end with NULL.  Its output is appended to out (NULL: discarded).
 * Returns its exit status when that is 0 or 1 (a question answered with "no").  Any other status is
 * an error (-EPROTO) with git's message. */
MUST_CHECK int git_run(const struct git *g, const char *const *args, struct buf *out,
		       struct err *e);
/* The same, but returns the output without its last newline in a new string (free() it). */
MUST_CHECK int git_ask(const struct git *g, const char *const *args, char **ret, struct err *e);

/* Runs a git command that uses the network, and so may hang.  env ("NAME=value", NULL at the end)
 * is added to our environment for git.  Its output and its errors go into `said` as far as there is
 * room.  Returns its exit status, any value.  -ETIMEDOUT: git and its children were ended after
 * limit_us.  -EDQUOT: git exceeded a limit of g.  -EPROTO: a signal ended git. */
MUST_CHECK int git_talk(const struct git *g, const char *const *args, const char *const *env,
			uint64_t limit_us, struct buf *said, struct err *e);

/* Starts "git ARGS" for all functions above.  A descriptor of -1 is /dev/null.  The caller reaps
 * the process. */
MUST_CHECK int git_start(const struct git *g, const char *const *args, const char *const *env,
			 int in, int out, int said, pid_t *ret_pid, struct err *e);

/* A git process that reads what the caller writes to `in`. */
struct git_writer {
	pid_t pid; /* 0: none */
	int in, said;
	const struct tool_group *group;
};
MUST_CHECK int git_begin(const struct git *g, const char *const *args, struct git_writer *ret,
			 struct err *e);
/* Closes `in` and waits for git; -EPROTO: git failed.  Idempotent. */
MUST_CHECK int git_writer_end(struct git_writer *w, struct err *e);

/* Does .gitignore exclude a file of this name (relative to top)?  1: yes. */
MUST_CHECK int git_ignores(const struct git *g, const char *path, struct err *e);
/* Does anything below path differ from HEAD, new files included?  1: yes. */
MUST_CHECK int git_dirty(const struct git *g, const char *path, struct err *e);
/* How .gitattributes changes the content of a file of this name: "text", "filter=lfs", or "" when
 * git keeps it byte for byte. */
MUST_CHECK int git_changes(const struct git *g, const char *path, char ret[64], struct err *e);

#endif
