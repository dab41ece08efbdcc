/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/builds.h"

#include <stdio.h>

static const struct option_spec specs[] = {
    STATE_OPTIONS,
};

static bool take(void *arg, const char *name, const char *value)
{
	struct session *s = arg;

	return common_take(&s->common, name, value);
}

/* What was built, as a run would find it now. */
static int conclude(const struct session *s, const struct builds *b)
{
	size_t unbuilt = 0;

	for (size_t i = 0; i < s->plan.n; i++)
		unbuilt += s->plan.v[i].target->unbuilt != NULL;
	printf("%zu targets can be fuzzed, %zu can not\n", s->plan.n - unbuilt, unbuilt);
	if (b->failed && unbuilt == s->plan.n)
		return fail(EXIT_BUILD, "nothing was built");
	return b->failed || unbuilt ? EXIT_NOT_FUZZED : EXIT_DONE;
}

static int build(struct session *s)
{
	struct builds b = {0};
	int r = session_load(s);

	if (r == EXIT_DONE && !builds_wanted(s))
		return fail(EXIT_USAGE,
			    "nothing to build: no source is of the type \"bazel\" or has "
			    "a \"build\" command (docs/discovery.md)");
	if (r == EXIT_DONE)
		r = session_lock(s);
	if (r == EXIT_DONE)
		r = builds_all(s, &b);
	if (r != EXIT_DONE)
		return r;
	r = b.nothing == b.sources ? EXIT_BUILD : session_plan(s);
	if (r == EXIT_DONE)
		return conclude(s, &b);
	return b.failed ? fail(EXIT_BUILD, "nothing was built") : r;
}

int command_build(int argc, char **argv)
{
	struct session s = {0};
	int at = options_parse(argc, argv, "build [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), take, &s);
	int r;

	if (at < 0)
		return -1 - at;
	r = at < argc ? fail(EXIT_USAGE, "build: unexpected '%s'", argv[at]) : build(&s);
	session_close(&s);
	return r;
}
