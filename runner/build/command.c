/* SPDX-License-Identifier: Apache-2.0 */
/* A configured command that fills an output directory. */
#include "runner/build/internal.h"

#include "base/clock.h"
#include "base/tool.h"

#include <errno.h>
#include <sys/wait.h>

/* File systems stamp with a clock that is up to a tick behind. */
#define TICK_US UINT64_C(20000)

static struct slice last_line(const struct tool_end *end)
{
	struct slice all = {end->said, end->said_n}, line, last = {0};

	while (scan_line(&all, &line))
		if (line.n > 0)
			last = line;
	return last;
}

static void judge(const struct config_source *s, const struct tool_end *end,
		  struct build_result *ret)
{
	struct slice last = last_line(end);

	if (WIFSIGNALED(end->status))
		build_fail(ret, "%s was ended by signal %d", s->build.v[0], WTERMSIG(end->status));
	else if (WEXITSTATUS(end->status) != 0)
		build_fail(ret, "%s ended with %d: %.*s", s->build.v[0], WEXITSTATUS(end->status),
			   (int)last.n, last.p ? last.p : "");
}

int build_command(const struct config_source *s, int log_fd, struct build_result *ret,
		  struct err *e)
{
	struct owner owner;
	struct tool_end end = {0};
	struct tool t = {.argv = (const char *const *)s->build.v,
			 .dir = s->build_dir ? s->build_dir : ".",
			 .owner = &owner,
			 .time_us = s->build_time_us,
			 .log_fd = log_fd,
			 .log_max = BUILD_LOG_MAX};
	uint64_t began = clock_real_us();
	int r = owner_of(t.dir, &owner, e);

	if (r == 0) {
		r = tool_run(&t, &end, e);
		owner_done(&owner);
		ret->us = end.us;
		ret->log_lost = end.log_lost;
	}
	if (r == -EINTR || r == -ENOMEM)
		return r;
	if (r < 0)
		build_fail(ret, "%s", e->msg);
	else
		judge(s, &end, ret);
	if (!ret->ok)
		ret->failed.fresh_us = began - TICK_US;
	return 0;
}
