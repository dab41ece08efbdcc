/* SPDX-License-Identifier: Apache-2.0 */
/* A configured command that fills an output directory. */
#include "runner/build/internal.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/lines.h"
#include "base/tool.h"
#include "runner/discover/build_user.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

/* File systems stamp with a clock that is up to a tick behind. */
#define TICK_US UINT64_C(20000)

/* Lines of what it said last that are told. */
enum { LINES = 4, SHOWN_MAX = 110 };

/* The last line, which may be make's own, says less than a compiler's. */
struct chosen {
	struct slice v[LINES]; /* the last ones; the oldest is v[0] */
	size_t n;
};

static void keep(struct chosen *l, struct slice line)
{
	if (l->n == LINES)
		memmove(l->v, l->v + 1, --l->n * sizeof(l->v[0]));
	l->v[l->n++] = line;
}

bool build_says(struct slice line, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= line.n; i++)
		if (strncasecmp(line.p + i, word, n) == 0)
			return true;
	return false;
}

/* What names a part that failed: make's "*** [Makefile:9: a_fuzzer] Error 1", ninja's "FAILED: ".
 */
static bool names_part(struct slice line)
{
	return build_says(line, "*** ") || scan_lit(&line, SLICE("FAILED: "));
}

/* For each part that failed its first error (a compiler's, a linker's) and its name; else what has
 * "error" in it, else the last line. */
static void choose(const struct tool_end *end, struct chosen *ret)
{
	struct slice all = {end->said, end->said_n}, line;
	struct chosen marked = {.n = 0}, other = {.n = 0}, last = {.n = 0};
	bool had_error = false, any_error = false;

	while (scan_line(&all, &line)) {
		bool error = build_says(line, "error:"), part = names_part(line);

		if (part || (error && !had_error))
			keep(&marked, line);
		if (part || build_says(line, "error"))
			keep(&other, line);
		had_error = error || (had_error && !part);
		any_error |= error;
		if (line.n > 0) {
			last.n = 0;
			keep(&last, line);
		}
	}
	*ret = any_error ? marked : other.n ? other : last;
}

static void say_status(const struct config_source *s, const struct tool_end *end,
		       struct build_result *ret)
{
	char text[LINES * (SHOWN_MAX + 2) + 1] = "";
	struct chosen l;
	size_t at = 0;

	choose(end, &l);
	for (size_t i = 0; i < l.n; i++) {
		char plain[SHOWN_MAX];
		struct slice line = lines_without_colours(l.v[i], plain, sizeof(plain));

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%.*s", i ? "; " : "",
				       (int)line.n, line.p);
	}
	build_fail(ret, "%s ended with %d: %s", s->build.v[0], WEXITSTATUS(end->status), text);
}

static void judge(const struct config_source *s, const struct tool_end *end,
		  struct build_result *ret)
{
	if (WIFSIGNALED(end->status))
		build_fail(ret, "%s was ended by signal %d", s->build.v[0], WTERMSIG(end->status));
	else if (WEXITSTATUS(end->status) != 0)
		say_status(s, end, ret);
}

int build_command(const struct config_source *s, const struct tool_group *group, int log_fd,
		  struct build_result *ret, struct err *e)
{
	_autoclose_ int dir = -1;
	struct owner owner;
	struct tool_end end = {0};
	struct tool t = {.argv = (const char *const *)s->build.v,
			 .owner = &owner,
			 .group = group,
			 .time_us = s->build_time_us,
			 .log_fd = log_fd,
			 .log_max = BUILD_LOG_MAX};
	uint64_t began = clock_real_us();
	int r = build_user_open(s->build_dir, s->build_as_root, &owner, &dir, e);

	if (r == 0) {
		t.dir = dir;
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
