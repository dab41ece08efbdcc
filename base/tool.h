/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TOOL_H
#define BASE_TOOL_H

#include "base/owner.h"
#include "base/scan.h"

#include <stdint.h>

/* Runs a program of somebody else's (a build, Bazel) to its end: bounded in time and
 * output (64 MiB/s are read at most), in a process group of its own that is ended as a whole,
 * stopped in good order by SIGINT, SIGTERM and SIGHUP, which are blocked meanwhile.  It
 * blocks: not to be called from a callback of another loop.
 *
 * It does not get our environment, where a token may be, but these variables: PATH,
 * LANG, LC_ALL, TERM, TZ, CC, CXX, CPP, AR, LD, CFLAGS, CXXFLAGS, CPPFLAGS, LDFLAGS,
 * MAKEFLAGS, JAVA_HOME, USE_BAZEL_VERSION, BAZELISK_HOME, http_proxy, https_proxy,
 * no_proxy, SSL_CERT_FILE; and HOME, USER, LOGNAME, TMPDIR, XDG_CACHE_HOME,
 * XDG_CONFIG_HOME, CCACHE_DIR when it runs as us, else the owner's HOME, USER and
 * LOGNAME. */
enum { TOOL_SAID_MAX = 4096 };

typedef int tool_sink(void *arg, struct slice block, struct err *e);

/* Where a tool runs when it has limits: what keeps them is known above this room.  Errors
 * are told as the tool's. */
struct tool;
struct tool_end;

struct tool_group {
	char id[32]; /* of this group alone, also of those that are gone: [a-z0-9-] */
	void *arg;
	/* In the child before exec, with all our rights: async-signal-safe; -1 with errno. */
	int (*enter)(void *arg);
	/* Ten times a second, and once more when the program has ended: negative when a limit was
	 * passed, *e says which.  Then everything is killed. */
	int (*check)(void *arg, struct err *e);
	/* Kills all that lives in it, whatever it did to leave its process group. */
	int (*kill)(void *arg, struct err *e);
	/* The same, and returns when all of it is gone. */
	int (*end)(void *arg, struct err *e);
	/* Runs it in a way of its own, as tool_run() says; NULL: a child of ours.  With it the
	 * others are NULL. */
	int (*run)(void *arg, const struct tool *t, struct tool_end *ret, struct err *e);
};

struct tool {
	const char *const *argv;   /* no shell; argv[0] is looked up in PATH without a slash */
	int dir;		   /* where it is started: a directory's descriptor */
	const struct owner *owner; /* owner_open() gives both; NULL: us */
	uint64_t time_us;	   /* then it is ended: -ETIMEDOUT; 0: no limit */
	/* Gets its output, block by block, and ends it when that fails; NULL: the output
	 * goes where its errors go. */
	tool_sink *out;
	void *arg;
	const struct tool_group *group; /* NULL: no limits, no more than a process group */
	bool stays; /* what it leaves in its group goes on when it ended by itself: a server */
	int log_fd; /* a copy of its errors, up to log_max bytes; -1: none */
	uint64_t log_max;
};

struct tool_end {
	int status;		  /* as waitpid(2) has it; valid when tool_run() returns 0 */
	uint64_t us;		  /* how long it took */
	int signo;		  /* the signal to us that ended it, or 0 */
	uint64_t log_lost;	  /* bytes that the log has not */
	size_t said_n;		  /* the end of its errors: */
	char said[TOOL_SAID_MAX]; /* any bytes */
};

/* 0: it ended by itself, well or not.  -ETIMEDOUT, -EINTR (*ret says which signal), the
 * sink's error, or it could not be started (-ENOENT: no such program).  *ret is always
 * written.  Nothing of its process group is left in any case, and nothing of its group
 * unless that stays. */
MUST_CHECK int tool_run(const struct tool *t, struct tool_end *ret, struct err *e);

/* For a way of one's own.  The environment that a tool of this owner gets; tool_env_done() is
 * right also after a failure. */
enum { TOOL_ENV_MAX = 40 };
struct tool_env {
	char *v[TOOL_ENV_MAX]; /* "NAME=value", NULL at the end */
	size_t n;
};
MUST_CHECK int tool_env_fill(struct tool_env *env, const struct owner *o, struct err *e);
void tool_env_done(struct tool_env *env);
/* Its errors, or all of its output, go to the log and to ret->said; logged: bytes so far. */
void tool_take(const struct tool *t, struct tool_end *io, uint64_t *io_logged, struct slice block);

#endif
