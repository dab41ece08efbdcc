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
 * repository's configuration, git trusts the repository, and new files belong to the owner.  If
 * root owns the work tree, git runs as root.  Then no other user can exchange a component of the
 * work tree's path (owner_open()), and git starts in the open directory that owner_open() checked.
 *
 * git_open() refuses a directory if the nearest ".git" is not in the top of the work tree that git
 * names.  A push cannot add a ".git".  But a push can add the files of a bare repository, with
 * commands in the repository's configuration, and git would use that repository.
 *
 * In every command, the names of files are literal, never patterns.  The caller must block SIGPIPE,
 * as main.c does. */

struct git {
	char *top;	    /* top of the work tree, absolute */
	char *prefix;	    /* the directory passed to git_open(), relative to top: "" or "a/b" */
	struct owner owner; /* of the work tree: the user under which root runs git */
	/* Directory of the repository's objects, from git_limit(); NULL: not known yet. */
	char *objects;
	const struct tool_group *group; /* the limits of git; NULL: no limits */
};

enum { COMMIT_MAX = 65 }; /* a commit's name with its NUL */
/* Whether text is a commit's name: 40 or 64 hexadecimal digits. */
bool commit_ok(const char *text);

enum { GIT_WHY = 300 };
/* Finds the work tree of the directory dir (absolute).
 *
 * 1: dir is in a work tree; git_done() frees *ret.
 *
 * 0: dir is in no work tree, the work tree is refused, or git failed.  why has the reason in one
 * printable line. */
MUST_CHECK int git_open(const char *dir, struct git *ret, char why[GIT_WHY], struct err *e);
void git_done(struct git *g);

/* Limits for every git process that reads pushed objects: a few objects can make git use any amount
 * of memory and disk space. */
struct git_limits {
	void *arg; /* passed to both functions */
	/* Gets the two directories that git writes to: the top of the work tree, and the
	 * directory of the repository's objects.  *ret: the group in which git runs, valid as
	 * long as arg; NULL: no limits on this machine. */
	int (*open)(void *arg, const char *top, const char *objects, const struct tool_group **ret,
		    struct err *e);
	/* The caller of git_limit() calls close() when no git process uses the group any more. */
	void (*close)(void *arg);
};
/* From now on git runs with the limits l (NULL: no limits).  When git exceeds a limit, the function
 * that runs git returns -EDQUOT, and the error names the limit. */
MUST_CHECK int git_limit(struct git *g, const struct git_limits *l, struct err *e);

/* Removes the unfinished packs of killed git processes.  A pack stays if a process has the pack
 * open, or if the pack was changed in the last min_age seconds.  Call git_limit() before. */
MUST_CHECK int git_remove_unfinished(const struct git *g, unsigned min_age, struct err *e);
/* Removes the index lock that a killed git process left, if no process has the lock file open.
 * Call git_unlock() only after a git command of ours that takes the lock has failed: another
 * running git can hold the lock without having the file open. */
MUST_CHECK int git_unlock(const struct git *g, struct err *e);

/* Runs "git ARGS" in top (args end with NULL), with `in` as git's input.  Passes git's output to
 * sink, block by block.  When sink fails, git is ended, and the sink's error is returned.
 * Otherwise returns git's exit status or an error, like git_run(). */
typedef int git_sink(void *arg, struct slice block, struct err *e);
MUST_CHECK int git_stream(const struct git *g, const char *const *args, struct slice in,
			  git_sink *sink, void *arg, struct err *e);
/* Runs "git ARGS" in top (args end with NULL), and appends git's output to out (NULL: discards the
 * output).  Returns git's exit status if the status is 0 or 1; 1 is the answer "no" to a question.
 * Any other status is an error (-EPROTO) with git's message. */
MUST_CHECK int git_run(const struct git *g, const char *const *args, struct buf *out,
		       struct err *e);
/* Runs "git ARGS" like git_run().  *ret: git's output without its last newline, in a new string
 * (free() it). */
MUST_CHECK int git_ask(const struct git *g, const char *const *args, char **ret, struct err *e);

/* Runs a git command that may take long or hang, for example on the network.  env ("NAME=value",
 * NULL at the end) is added to git's environment.  git's output and error messages go into
 * `output`; what does not fit is discarded.  Returns git's exit status, any value.  -ETIMEDOUT: git
 * and its children were ended after limit_us.  -EDQUOT: git exceeded a limit of g.  -EPROTO: a
 * signal ended git. */
MUST_CHECK int git_run_timed(const struct git *g, const char *const *args, const char *const *env,
			     uint64_t limit_us, struct buf *output, struct err *e);

/* A git process that reads what the caller writes to `in`. */
struct git_writer {
	pid_t pid;			/* 0: no process */
	int in;				/* pipe to git's input; -1: closed */
	int errors;			/* file with git's error messages; -1: closed */
	const struct tool_group *group; /* as in struct git */
};
/* Starts "git ARGS" (fast-import) in top.  Git's output is discarded. */
MUST_CHECK int git_begin(const struct git *g, const char *const *args, struct git_writer *ret,
			 struct err *e);
/* Closes w->in and waits for git.  -EPROTO: git failed.  Idempotent. */
MUST_CHECK int git_writer_end(struct git_writer *w, struct err *e);

/* Does .gitignore exclude a file at path (relative to top)?  1: yes; 0: no. */
MUST_CHECK int git_ignores(const struct git *g, const char *path, struct err *e);
/* Does any file at or below path (relative to top) differ from HEAD?  A new file differs, too.
 * 1: yes; 0: no. */
MUST_CHECK int git_dirty(const struct git *g, const char *path, struct err *e);
/* Finds the attribute with which git changes the content of a file at path (relative to top).  ret:
 * "text", "filter=lfs", ...; "": git keeps the content byte for byte. */
MUST_CHECK int git_changes(const struct git *g, const char *path, char ret[64], struct err *e);

#endif
