/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_BAZEL_BAZEL_H
#define RUNNER_TARGETS_BAZEL_BAZEL_H

#include "base/clock.h"
#include "base/owner.h"
#include "base/tool.h"
#include "runner/targets/bazel/error.h"
#include "runner/targets/discover.h"

/* A Bazel workspace and its own Bazel (4.2 or newer).  Bazel is started in the workspace; when
 * we are root, as its owner.  Bazel's answers are as hostile as BUILD files: they are bounded
 * and checked.  A question takes about a second when Bazel's server runs, else about eight.  No
 * answer is kept between questions.
 *
 * In a group, Bazel's server lives as long as the group.  A server that another process started
 * is replaced first: it would run the workspace's rules without the group's limits. */
enum { BAZEL_MARK_MAX = 64 };

struct bazel {
	char *dir; /* absolute, real */
	int fd;	   /* of it */
	struct owner owner;
	const char *program, *query;
	const struct strv *startup;
	struct strv flags;
	const struct tool_group *group;
	char mark[BAZEL_MARK_MAX]; /* a startup option that marks the group's server; "": none */
};

#define BAZEL_INIT       \
	{                \
		.fd = -1 \
	}

/* -EINVAL: no workspace.  -EPERM: no user may build it (runner/targets/build_user.h).  The
 * source's strings must live as long as *ret. bazel_done() frees. */
MUST_CHECK int bazel_open(const struct discover_source *s, struct bazel *ret, struct err *e);
void bazel_done(struct bazel *b);

/* One call: "bazel STARTUP COMMAND ARGS". */
struct bazel_call {
	const char *command;
	const struct strv *args;
	tool_sink *out; /* receives Bazel's standard output */
	void *arg;
	uint64_t time_us; /* 0: BAZEL_ASK_US */
	int log_fd;	  /* receives a copy of its messages; -1: none */
	uint64_t log_max;
};
#define BAZEL_ASK_US (600 * USEC_PER_SEC)

/* 0: Bazel exited with status *ret_code.  error: the first error in Bazel's output
 * (runner/targets/bazel/error.h), or "".  Other ends are errors.  An answer that `out` refuses is
 * an error, too, unless the exit status shows that Bazel failed. */
MUST_CHECK int bazel_call(const struct bazel *b, const struct bazel_call *c, int *ret_code,
			  char error[BAZEL_ERROR_MAX], struct err *e);

/* The labels that the query finds, plain and sorted.  partial: "", or Bazel's message about why
 * there may be more (a package that cannot be loaded). */
MUST_CHECK int bazel_labels(const struct bazel *b, struct strv *ret, char partial[BAZEL_ERROR_MAX],
			    struct err *e);

#endif
