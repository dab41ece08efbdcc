/* SPDX-License-Identifier: Apache-2.0 */
/* Builds all fuzz targets of a Bazel workspace; a failed target does not stop the others. */
#include "runner/targets/build/internal.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sys.h"
#include "runner/targets/bazel/bazel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { EVENTS_PATH_MAX = 64 };

/* The file for Bazel's build events, written as the workspace's owner.  We keep it open, so
 * renaming or replacing the file has no effect on us. */
struct events {
	char path[EVENTS_PATH_MAX];
	int fd;
};

static int events_open(const struct owner *o, struct events *ret, struct err *e)
{
	snprintf(ret->path, sizeof(ret->path), "/tmp/fuzzcell-build-XXXXXX");
	ret->fd = mkostemp(ret->path, O_CLOEXEC);
	if (ret->fd < 0)
		return err_sys(e, "make '%s'", ret->path);
	if (o->other && fchown(ret->fd, o->uid, o->gid) < 0)
		return err_sys(e, "make '%s'", ret->path);
	return 0;
}

static void events_done(struct events *ev)
{
	if (ev->fd < 0)
		return;
	close(ev->fd);
	(void)sys_unlinkat(AT_FDCWD, ev->path, 0); /* on failure, it stays in /tmp */
}

static void build_bazel_add_args(const struct bazel *b, const struct events *ev,
				 const struct strv *labels, struct strv *args)
{
	for (size_t i = 0; i < b->flags.n; i++)
		strv_push(args, b->flags.v[i]);
	strv_push(args, "--keep_going");
	strv_pushf(args, "--build_event_json_file=%s", ev->path);
	strv_push(args, "--");
	for (size_t i = 0; i < labels->n; i++)
		strv_push(args, labels->v[i]);
}

/* Reads the result of each target from the events.  Without events, no target counts as built. */
static int build_bazel_judge(const struct bazel *b, const struct events *ev,
			     const struct strv *labels, int code, const char *error,
			     struct build_result *ret, struct err *e)
{
	struct rights rights;
	const struct events_beside beside = {&rights, error};
	size_t failed;
	bool any = false;
	int r = rights_of(b->dir, &rights, e);

	if (r == 0)
		r = events_read(ev->fd, labels, &beside, ret, &any, e);
	if (r < 0)
		return r;
	failed = ret->failed.labels.n;
	if (code < 0)
		build_fail(ret, "%s; %zu of %zu targets were built", error, ret->built.n,
			   labels->n);
	else if (!any)
		build_fail(ret, "%s build: %s", b->program,
			   *error ? error
				  : "no build events (does its server see another /tmp? "
				    "bazel shutdown)");
	else if (failed > 0)
		build_fail(ret, "%zu of %zu targets did not build%s: %s: %s", failed, labels->n,
			   failed > 1 ? "; the first" : "", ret->failed.labels.v[0],
			   ret->failed.whys.v[0]);
	else if (code != 0)
		build_fail(ret, "%s build ended with %d: %s", b->program, code, error);
	return 0;
}

static int build_bazel_call(const struct bazel *b, const struct config_source *s,
			    const struct strv *labels, int log_fd, struct build_result *ret,
			    struct err *e)
{
	_autostrv_ struct strv args = {0};
	CLEANUP(events_done) struct events ev = {.fd = -1};
	struct bazel_call c = {.command = "build",
			       .args = &args,
			       .time_us = s->build_time_us,
			       .log_fd = log_fd,
			       .log_max = BUILD_LOG_MAX};
	char error[BAZEL_ERROR_MAX];
	int code = -1, r = events_open(&b->owner, &ev, e);

	if (r < 0)
		return r;
	build_bazel_add_args(b, &ev, labels, &args);
	r = bazel_call(b, &c, &code, error, e);
	if (r == -EINTR || r == -ENOMEM)
		return r;
	if (r < 0) /* a timeout or a kill: finished targets count as built */
		snprintf(error, sizeof(error), "%.*s", BAZEL_ERROR_MAX - 1, e->msg);
	return build_bazel_judge(b, &ev, labels, code, error, ret, e);
}

static int build_bazel_build(const struct bazel *b, const struct config_source *s, int log_fd,
			     struct build_result *ret, struct err *e)
{
	_autostrv_ struct strv labels = {0};
	char partial[BAZEL_ERROR_MAX];
	int r = bazel_labels(b, &labels, partial, e);

	if (r == -EPROTO || r == -ENOENT || r == -ETIMEDOUT || r == -EBADMSG || r == -EDQUOT) {
		build_fail(ret, "%s", e->msg);
		return 0;
	}
	if (r == 0 && labels.n == 0)
		build_fail(ret, "the query finds no target");
	else if (r == 0)
		r = build_bazel_call(b, s, &labels, log_fd, ret, e);
	if (r == 0 && ret->ok && *partial)
		build_fail(ret, "there may be more targets: %s", partial);
	return r;
}

int build_bazel(const struct config_source *s, const struct tool_group *group, int log_fd,
		struct build_result *ret, struct err *e)
{
	const struct discover_source from = {.type = s->type,
					     .path = s->path,
					     .bazel = s->bazel,
					     .query = s->query,
					     .as_root = s->build_as_root,
					     .startup = &s->bazel_startup,
					     .flags = &s->bazel_flags,
					     .group = group};
	CLEANUP(bazel_done) struct bazel b = BAZEL_INIT;
	uint64_t began = clock_mono_us();
	int r = bazel_open(&from, &b, e);

	if (r == 0)
		r = build_bazel_build(&b, s, log_fd, ret, e);
	ret->us = clock_mono_us() - began;
	return r;
}
