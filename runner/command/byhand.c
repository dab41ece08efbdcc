/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/byhand.h"

#include "base/clock.h"
#include "runner/command/shell.h"
#include "runner/schedule/setup.h"

#include <sys/resource.h>

int byhand_command(const struct byhand *b, struct engine_cmd *ret, struct err *e)
{
	const struct target *t = b->target->target;
	const struct target_config *cfg = &b->target->cfg;
	const char *const inputs[] = {b->input, NULL};
	struct engine_replay job = {
	    .binary = b->binary,
	    .inputs = inputs,
	    .input_timeout_s = (cfg->input_timeout_us + USEC_PER_SEC - 1) / USEC_PER_SEC,
	    .rss_limit_mib = cfg->rss_limit >> 20,
	    .symbolizer = SHELL_SYMBOLIZER,
	};
	struct setup s; /* joins the flags and the environment as a cell has them */
	int r = setup_init(&s, t, cfg, e);

	job.flags = (const char *const *)s.flags.v;
	job.env = (const char *const *)s.env.v;
	if (r == 0)
		r = t->engine->replay(&job, ret, e);
	setup_done(&s);
	return r;
}

/* A stack overflow needs as much stack as it had. */
static uint64_t stack_kib(void)
{
	struct rlimit l;

	return getrlimit(RLIMIT_STACK, &l) < 0 || l.rlim_cur == RLIM_INFINITY ? 0
									      : l.rlim_cur >> 10;
}

int byhand_print(const struct byhand *b, struct buf *out, struct err *e)
{
	struct engine_cmd cmd = {0};
	struct shell_command c = {.dir = b->dir, .cmd = &cmd, .stack_kib = stack_kib()};
	int r = byhand_command(b, &cmd, e);

	if (r == 0)
		r = shell_print(&c, out, e);
	engine_cmd_done(&cmd);
	return r;
}
