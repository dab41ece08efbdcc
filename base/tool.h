/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TOOL_H
#define BASE_TOOL_H

#include "base/owner.h"
#include "base/scan.h"
#include "base/strv.h"

#include <stdint.h>

/* Runs another user's program (a build, Bazel) until it ends.  Its time is limited, and its output
 * is read at most at 64 MiB/s.  It runs in a process group that is ended as a whole.  SIGINT,
 * SIGTERM and SIGHUP to us are blocked meanwhile, and end the program gracefully.  The call blocks:
 * do not call it from a callback of another loop.
 *
 * The program does not get our whole environment, which may contain a token.  It gets only:
 *
 * PATH, LANG, LC_ALL, TERM, TZ, CC, CXX, CPP, AR, LD, CFLAGS, CXXFLAGS, CPPFLAGS, LDFLAGS,
 * MAKEFLAGS, JAVA_HOME, USE_BAZEL_VERSION, BAZELISK_HOME, http_proxy, https_proxy, no_proxy,
 * SSL_CERT_FILE;
 *
 * When it runs as us, it also gets our HOME, USER, LOGNAME, TMPDIR, XDG_CACHE_HOME,
 * XDG_CONFIG_HOME and CCACHE_DIR.  Otherwise it gets the owner's HOME, USER and LOGNAME.  Values
 * in `env` of struct tool come on top. */
enum { TOOL_ERRORS_MAX = 16384 };

typedef int tool_sink(void *arg, struct slice block, struct err *e);

/* The group of a tool with limits.  The caller implements the limits, because base does not know
 * control groups.  Errors of these functions are reported as errors of the tool. */
struct tool;
struct tool_end;

struct tool_group {
	char id[32]; /* never reused: [a-z0-9-] */
	void *arg;
	/* Runs in the child before exec, while it still has our rights.  Async-signal-safe; -1 with
	 * errno. */
	int (*enter)(void *arg);
	/* Runs ten times a second, and once more when the program has ended.  It returns a negative
	 * number and sets *e when a limit was passed.  Then everything in the group is killed. */
	int (*check)(void *arg, struct err *e);
	/* Kills all processes in the group, also those that left the tool's process group. */
	int (*kill)(void *arg, struct err *e);
	/* Does the same, and waits until all of them are gone. */
	int (*end)(void *arg, struct err *e);
	/* Runs the tool by other means than fork, under the contract of tool_run().  NULL: the tool
	 * is our child.  When it is set, the other functions are NULL. */
	int (*run)(void *arg, const struct tool *t, struct tool_end *ret, struct err *e);
};

struct tool {
	const char *const *argv;   /* no shell; argv[0] is looked up in PATH without a slash */
	int dir;		   /* descriptor of its working directory */
	const struct owner *owner; /* from owner_open(), like dir; NULL: it runs as us */
	/* More of its environment, at most TOOL_ENV_MORE: "NAME=value", which replaces a variable
	 * of that name.  NULL: nothing more. */
	const struct strv *env;
	uint64_t time_us; /* the program is ended after this time: -ETIMEDOUT; 0: no limit */
	/* Gets its output, block by block; when this fails, the tool is ended.  NULL: the output
	 * is treated like its errors. */
	tool_sink *out;
	/* Gets its errors as well, block by block; may be NULL. */
	void (*errors)(void *arg, struct slice block);
	void *arg;			/* for both callbacks */
	const struct tool_group *group; /* NULL: no limits, only a process group */
	bool stays; /* when the program ends by itself, its group's processes go on (a server) */
	int log_fd; /* a copy of its errors, up to log_max bytes; -1: none */
	uint64_t log_max;
};

struct tool_end {
	int status;		      /* as waitpid(2) has it; valid when tool_run() returns 0 */
	uint64_t us;		      /* its run time */
	int signo;		      /* the signal to us that ended it, or 0 */
	uint64_t log_lost;	      /* bytes missing in the log */
	size_t errors_n;	      /* the end of its errors: */
	char errors[TOOL_ERRORS_MAX]; /* any bytes */
};

/* Returns 0 when the program ended by itself, with any status.  Errors: -ETIMEDOUT, -EINTR (*ret
 * has the signal), the sink's error, or the error of the start (-ENOENT: no such program).  *ret is
 * always written.  No process of its process group is left in any case.  No process of its group is
 * left unless `stays` is set. */
MUST_CHECK int tool_run(const struct tool *t, struct tool_end *ret, struct err *e);

/* For tool_group.run: the environment of a tool of this owner, with `more` (NULL: nothing) on top.
 * tool_env_done() frees it. */
enum { TOOL_ENV_MORE = 16, TOOL_ENV_MAX = 40 + TOOL_ENV_MORE };
struct tool_env {
	char *v[TOOL_ENV_MAX]; /* "NAME=value", NULL at the end */
	size_t n;
};
void tool_env_fill(struct tool_env *env, const struct owner *o, const struct strv *more);
/* Replaces the variable of that name, or adds it. */
void tool_env_set(struct tool_env *env, const char *setting);
void tool_env_done(struct tool_env *env);
/* Writes the tool's errors, or all of its output, to the log and to ret->errors.  *io_logged is the
 * number of bytes so far. */
void tool_take(const struct tool *t, struct tool_end *io, uint64_t *io_logged, struct slice block);

#endif
