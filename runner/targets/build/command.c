/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a configured command that fills an output directory. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/lines.h"
#include "base/tool.h"
#include "runner/targets/build/internal.h"
#include "runner/targets/build_user.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

/* File timestamps may be up to a clock tick behind. */
#define TICK_US UINT64_C(20000)

/* Limits of the reason: quoted lines of output, and named steps. */
enum { LINES = 3, SHOWN_MAX = 110, STEPS = 4, STEP_MAX = 60 };

struct chosen {
	struct slice v[LINES]; /* the last lines; the oldest is v[0] */
	size_t n;
};

static void build_command_keep(struct chosen *l, struct slice line)
{
	if (l->n == LINES)
		memmove(l->v, l->v + 1, --l->n * sizeof(l->v[0]));
	l->v[l->n++] = line;
}

/* The FILE of "FILE:LINE: error: ..."; for any other line, the whole line. */
static struct slice build_command_place_of(struct slice line)
{
	for (size_t i = 0; i + 1 < line.n; i++)
		if (line.p[i] == ':' && line.p[i + 1] >= '0' && line.p[i + 1] <= '9')
			return (struct slice){line.p, i};
	return line;
}

/* Keeps the first error of each file, so that a file with many errors hides no other file. */
static void keep_error(struct chosen *l, struct slice line)
{
	struct slice place = build_command_place_of(line);

	for (size_t i = 0; i < l->n; i++)
		if (slice_eq(build_command_place_of(l->v[i]), place))
			return;
	build_command_keep(l, line);
}

bool build_has_word(struct slice line, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= line.n; i++)
		if (strncasecmp(line.p + i, word, n) == 0)
			return true;
	return false;
}

/* A compiler's message about a failed linker; the linker printed the cause itself. */
static bool of_linker(struct slice line)
{
	return build_has_word(line, "linker command failed") ||
	       build_has_word(line, "ld returned ");
}

/* Chooses errors of a compiler or a linker, else lines with "error" or make's mark, else the last
 * line. */
static void build_command_choose(const struct tool_end *end, struct chosen *ret)
{
	struct slice all = {end->errors, end->errors_n}, line;
	struct chosen marked = {.n = 0}, other = {.n = 0}, last = {.n = 0};

	while (scan_line(&all, &line)) {
		if ((build_has_word(line, "error:") ||
		     build_has_word(line, "undefined reference to")) &&
		    !of_linker(line))
			keep_error(&marked, line);
		else if (build_has_word(line, "error") || build_has_word(line, "*** "))
			build_command_keep(&other, line);
		if (line.n > 0) {
			last.n = 0;
			build_command_keep(&last, line);
		}
	}
	*ret = marked.n ? marked : other.n ? other : last;
}

/* "FAILED: out/a", or in newer versions of ninja, "FAILED: [code=1] out/a". */
static bool ninja_step(struct slice line, struct slice *ret)
{
	struct slice code;

	if (!scan_lit(&line, SLICE("FAILED: ")))
		return false;
	if (scan_lit(&line, SLICE("[code=")) && !scan_until(&line, ' ', line.n, &code))
		return false;
	scan_blanks(&line);
	*ret = line;
	(void)scan_until(&line, ' ', line.n, ret);
	return ret->n > 0;
}

static bool is_trimmed(struct slice line, const char *text)
{
	scan_blanks(&line);
	while (line.n > 0 && (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\r'))
		line.n--;
	return slice_eq(line, slice_of(text));
}

/* "make: *** [Makefile:9: out/a] Error 1".  Ignores "Error 2", the exit status of a nested make,
 * which has named the step itself. */
static bool make_step(struct slice line, struct slice *ret)
{
	struct slice in;

	while (line.n > 0 && !scan_lit(&line, SLICE("*** ["))) {
		line.p++;
		line.n--;
	}
	if (!scan_until(&line, ']', line.n, &in) || is_trimmed(line, "Error 2"))
		return false;
	*ret = in;
	for (size_t i = in.n; i-- > 0 && ret->n == in.n;)
		if (in.p[i] == ' ')
			*ret = (struct slice){in.p + i + 1, in.n - i - 1};
	return ret->n > 0;
}

/* Appends the names of the first failed steps to `text`, which has `size` bytes. */
static void add_steps(const struct tool_end *end, char *text, size_t size)
{
	struct slice all = {end->errors, end->errors_n}, line, v[STEPS];
	size_t n = 0, cut, at = strlen(text);

	while (n < STEPS && scan_line(&all, &line)) {
		bool known = false;

		if (!ninja_step(line, &v[n]) && !make_step(line, &v[n]))
			continue;
		for (size_t i = 0; i < n; i++)
			known = known || slice_eq(v[i], v[n]);
		if (known)
			continue;
		cut = v[n].n > STEP_MAX ? v[n].n - STEP_MAX : 0; /* the name is at the end */
		at += (size_t)snprintf(text + at, size - at, "%s%.*s",
				       n ? ", " : "; failed: ", (int)(v[n].n - cut), v[n].p + cut);
		n++;
	}
}

static void build_command_report(const struct config_source *s, const struct tool_end *end,
				 struct build_result *ret)
{
	char text[LINES * (SHOWN_MAX + 2) + STEPS * (STEP_MAX + 2) + 16] = "";
	struct chosen l;
	size_t at = 0;

	build_command_choose(end, &l);
	for (size_t i = 0; i < l.n; i++) {
		char plain[SHOWN_MAX];
		struct slice line = lines_without_colours(l.v[i], plain, sizeof(plain));

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%.*s", i ? "; " : "",
				       (int)line.n, line.p);
	}
	add_steps(end, text, sizeof(text));
	build_fail(ret, "%s ended with %d: %s", s->build.v[0], WEXITSTATUS(end->status), text);
}

static void build_command_judge(const struct config_source *s, const struct tool_end *end,
				struct build_result *ret)
{
	if (WIFSIGNALED(end->status))
		build_fail(ret, "%s was ended by signal %d", s->build.v[0], WTERMSIG(end->status));
	else if (WEXITSTATUS(end->status) != 0)
		build_command_report(s, end, ret);
}

/* Makes OUT, and an empty WORK.  The build's user does this, under the limits of the build: a push
 * can turn the directories into links.  0 also if it fails: then *io has the reason. */
static int make_directories(const struct tool *build, struct tool_end *end, struct build_result *io,
			    struct err *e)
{
	static const char *const argv[] = {
	    "sh", "-c", "mkdir -p -- \"$OUT\" && rm -rf -- \"$WORK\" && mkdir -p -- \"$WORK\"",
	    NULL};
	struct tool t = *build;
	int r;

	if (!build->env || build->env->n == 0)
		return 0;
	t.argv = argv;
	r = tool_run(&t, end, e);
	if (r == 0 && end->status != 0) {
		struct slice errors = {end->errors, end->errors_n}, first = {"", 0};

		(void)scan_line(&errors, &first);
		build_fail(io, "the directories OUT and WORK: %.*s", (int)first.n, first.p);
	}
	return r;
}

static int build_command_run(const struct tool *t, struct tool_end *end, struct build_result *ret,
			     struct err *e)
{
	int r = make_directories(t, end, ret, e);

	return r < 0 || !ret->ok ? r : tool_run(t, end, e);
}

int build_command(const struct config_source *s, const struct tool_group *group, int log_fd,
		  struct build_result *ret, struct err *e)
{
	_autostrv_ struct strv env = {0};
	_autoclose_ int dir = -1;
	struct owner owner;
	struct tool_end end = {0};
	struct tool t = {.argv = (const char *const *)s->build.v,
			 .owner = &owner,
			 .env = &env,
			 .group = group,
			 .time_us = s->build_time_us,
			 .log_fd = log_fd,
			 .log_max = BUILD_LOG_MAX};
	uint64_t began = clock_real_us();
	int r = build_user_open(s->build_dir, s->build_as_root, &owner, &dir, e);

	build_environment(s, &env);
	if (r == 0) {
		t.dir = dir;
		r = build_check_script(s, &owner, e);
		if (r == 0)
			r = build_command_run(&t, &end, ret, e);
		owner_done(&owner);
		ret->us = end.us;
		ret->log_lost = end.log_lost;
	}
	if (r == -EINTR || r == -ENOMEM)
		return r;
	if (r < 0)
		build_fail(ret, "%s", e->msg);
	else if (ret->ok)
		build_command_judge(s, &end, ret);
	if (!ret->ok)
		ret->failed.fresh_us = began - TICK_US;
	return 0;
}
