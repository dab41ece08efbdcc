/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"
#include "runner/command/build/builds.h"
#include "runner/command/common/answer.h"

#include <stdio.h>
#include <string.h>

struct args {
	struct session session;
	bool json;
	json_t *answer; /* NULL: no build was started */
};

static const struct option_spec specs[] = {
    STATE_OPTIONS(struct args, session.common),
    {"json", NULL, "print JSON", OPTION_AT(struct args, json)},
};

/* Prints which targets a run would find now. */
static int build_conclude(const struct session *s, const struct builds *b, json_t *answer)
{
	char text[UNITS_OF_MAX];
	size_t unbuilt = 0;

	for (size_t i = 0; i < s->plan.n; i++)
		unbuilt += s->plan.v[i].target->unbuilt != NULL;
	printf("%s can be fuzzed, %zu can not\n",
	       units_of(s->plan.n - unbuilt, "target", "targets", text), unbuilt);
	(void)json_object_set_new(answer, "targets", json_integer((json_int_t)s->plan.n));
	(void)json_object_set_new(answer, "unbuilt", json_integer((json_int_t)unbuilt));
	if (b->failed && unbuilt == s->plan.n)
		return fail(EXIT_BUILD, "nothing was built");
	return b->failed || unbuilt ? EXIT_NOT_FUZZED : EXIT_DONE;
}

static int build(struct args *a)
{
	struct session *s = &a->session;
	struct builds b = {0};
	int r = session_load(s);

	if (r == EXIT_DONE && !builds_wanted(s))
		return fail(EXIT_USAGE,
			    "nothing to build: no source is of the type \"bazel\" or has "
			    "a \"build\" command (docs/discovery.md)");
	if (r == EXIT_DONE)
		r = session_lock(s);
	if (r != EXIT_DONE)
		return r;
	a->answer = json_pack("{s:[]}", "sources");
	b.sources_json = json_object_get(a->answer, "sources");
	r = builds_all(s, &b);
	if (r != EXIT_DONE)
		return r;
	r = b.nothing == b.sources ? EXIT_BUILD : session_plan(s);
	if (r == EXIT_DONE)
		return build_conclude(s, &b, a->answer);
	return b.failed ? fail(EXIT_BUILD, "nothing was built") : r;
}

int command_build(int argc, char **argv)
{
	struct args a = {0};
	int at = options_parse(argc, argv, "build [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "build: unexpected '%s'", argv[at]);
	begun = answer_begin(a.json);
	r = build(&a);
	session_close(&a.session);
	return answer_end(begun, a.answer, r);
}
