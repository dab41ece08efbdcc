/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/byhand.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "runner/command/common/shell.h"
#include "runner/run/job/setup.h"

#include <sys/resource.h>

int byhand_command(const struct byhand *b, struct engine_cmd *ret, struct err *e)
{
	const struct target *t = b->target->target;
	const struct target_config *cfg = &b->target->cfg;
	const char *const inputs[] = {b->input, NULL};
	struct engine_replay job = {
	    .binary = b->binary,
	    .test = t->test,
	    .sanitized = t->sanitized,
	    .inputs = inputs,
	    .input_timeout_s = (cfg->input_timeout_us + USEC_PER_SEC - 1) / USEC_PER_SEC,
	    .rss_limit_mib = cfg->rss_limit >> 20,
	    .scratch = SHELL_SCRATCH,
	    .symbolizer = SHELL_SYMBOLIZER,
	    .ub_goes_on = b->ub_goes_on,
	};
	struct setup s; /* joins the flags and the environment as a cell has them */
	int r;

	setup_init(&s, t, cfg);
	job.flags = (const char *const *)s.flags.v;
	job.env = (const char *const *)s.env.v;
	r = t->engine->replay(&job, ret, e);
	setup_done(&s);
	return r;
}

/* Keeps the stack limit of this process: a stack overflow reproduces only with a stack of the same
 * size. */
static uint64_t stack_kib(void)
{
	struct rlimit l;

	return getrlimit(RLIMIT_STACK, &l) < 0 || l.rlim_cur == RLIM_INFINITY ? 0
									      : l.rlim_cur >> 10;
}

/* A mark at the beginning is ours. The same byte anywhere else belongs to the name and is
 * escaped. */
static int byhand_add_path(const char *path, struct strv *to, struct err *e)
{
	_autobuf_ struct buf b = BUF_INIT(BYHAND_MAX);
	size_t n = *path == SHELL_BYTE[0] ? 2 : 0;

	buf_put(&b, (struct slice){path, n});
	for (path += n; *path; path++)
		buf_put(&b, *path == SHELL_BYTE[0] ? SLICE(SHELL_BYTE) : (struct slice){path, 1});
	strv_push(to, buf_str(&b));
	return buf_check(&b, e);
}

static int byhand_print_marked(const struct byhand *b, struct buf *out, struct err *e)
{
	struct engine_cmd cmd = {0};
	struct shell_command c = {.dir = b->dir, .cmd = &cmd, .stack_kib = stack_kib()};
	int r = byhand_command(b, &cmd, e);

	if (r == 0)
		shell_print(&c, out);
	engine_cmd_done(&cmd);
	return r < 0 ? r : buf_check(out, e);
}

int byhand_print(const struct byhand *b, struct buf *out, struct err *e)
{
	struct strv path = {0};
	int r = byhand_add_path(b->dir, &path, e);

	if (r == 0)
		r = byhand_add_path(b->binary, &path, e);
	if (r == 0)
		r = byhand_add_path(b->input, &path, e);
	if (r == 0) {
		struct byhand marked = {b->target, path.v[0], path.v[1], path.v[2], b->ub_goes_on};

		r = byhand_print_marked(&marked, out, e);
	}
	strv_done(&path);
	return r;
}
