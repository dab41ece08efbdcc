/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/json.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/session.h"
#include "runner/command/config/show.h"
#include "runner/targets/build/build.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct config_args {
	struct session session;
	bool json;
	json_t *answer;
};

static const struct option_spec specs[] = {
    COMMON_OPTIONS(struct config_args, session.common),
    {"json", NULL, "print JSON", OPTION_AT(struct config_args, json)},
};

/* Lists the builds that `fuzzcell build` would refuse, and those that would run as root. */
static int check_builds(const struct config *c, json_t *as_root)
{
	size_t n;
	const struct config_source *v = config_sources(c, &n);
	char shown[ESCAPE_MAX];

	for (size_t i = 0; i < n; i++) {
		bool root = false;
		struct err e;
		int r = build_wanted(&v[i]) ? build_check(&v[i], &root, &e) : 0;

		if (r == -EPERM)
			return fail(EXIT_USAGE, "%s", escape(e.msg, shown));
		if (r < 0 || !root)
			continue;
		printf("note: the build of %s runs as root (\"build_as_root\")\n",
		       escape(v[i].path, shown));
		(void)json_array_append_new(as_root, answer_text(v[i].path));
	}
	return EXIT_DONE;
}

/* If there are targets, all of them must resolve. Globs that match no target are likely typos.
 * Before the first build there may be no targets. */
static int config_check(struct config_args *a)
{
	_autofree_ const char **names = NULL;
	struct target_list *l = &a->session.common.targets;
	const char *glob;
	size_t next = 0, n;
	int r;

	a->answer = json_pack("{s:[], s:[]}", "builds_as_root", "unused_globs");
	r = check_builds(a->session.common.config, json_object_get(a->answer, "builds_as_root"));

	config_sources(a->session.common.config, &n);
	a->session.common.before_build = true;
	if (r == EXIT_DONE && (n > 0 || a->session.common.targets_dir))
		r = common_find_targets(&a->session.common);
	names = common_target_names(l);
	for (size_t i = 0; r == EXIT_DONE && i < l->n; i++) {
		struct target_config t;
		struct err e;

		if (config_resolve(a->session.common.config, l->v[i].name, &t, &e) < 0)
			r = fail(EXIT_USAGE, "%s", e.msg);
		else
			target_config_done(&t);
	}
	if (r != EXIT_DONE)
		return r;
	while (l->n > 0 &&
	       (glob = config_unused_glob(a->session.common.config, names, l->n, &next))) {
		warn("targets.\"%s\" matches no target", glob);
		(void)json_array_append_new(json_object_get(a->answer, "unused_globs"),
					    answer_text(glob));
	}
	(void)json_object_set_new(a->answer, "targets", json_integer((json_int_t)l->n));
	printf("configuration is good%s\n", l->n ? "" : " (no targets to check it against)");
	return EXIT_DONE;
}

static void print_values(json_t *j)
{
	const char *key;
	json_t *entry;

	json_object_foreach(j, key, entry)
	{
		const json_t *v = json_object_get(entry, "value");
		_autofree_ char *value = NULL;
		struct err e;

		if (!json_is_string(v) && json_print(v, 0, &value, &e) < 0)
			continue;
		printf("%-26s %-24s # %s\n", key, value ? value : json_string_value(v),
		       json_string_value(json_object_get(entry, "from")));
	}
}

static int show(struct config_args *a, const char *target)
{
	int r = config_show(&a->session.common, target, &a->answer);

	if (r == EXIT_DONE && !a->json)
		print_values(a->answer);
	return r;
}

/* For scripts: prints where the state is, and checks that it can be opened. */
static int state(struct config_args *a)
{
	int r = session_make(&a->session);

	if (r != EXIT_DONE)
		return r;
	puts(a->session.state->path);
	a->answer = json_pack("{s:o}", "state_dir", answer_text(a->session.state->path));
	return EXIT_DONE;
}

int command_config(int argc, char **argv)
{
	static const struct command names[] = {
	    {.name = "check"}, {.name = "show"}, {.name = "state"}};
	struct config_args a = {0};
	int at = options_parse(argc, argv, "config check|show TARGET|state [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	const char *what;
	char hint[64];
	int begun, r;

	if (at < 0)
		return -1 - at;
	what = at < argc ? argv[at] : "";
	begun = answer_begin(a.json);
	r = common_load_config(&a.session.common);
	if (r != EXIT_DONE)
		;
	else if (strcmp(what, "check") == 0 && at + 1 == argc)
		r = config_check(&a);
	else if (strcmp(what, "show") == 0 && at + 2 == argc)
		r = show(&a, argv[at + 1]);
	else if (strcmp(what, "state") == 0 && at + 1 == argc)
		r = state(&a);
	else
		r = fail(EXIT_USAGE,
			 "usage: fuzzcell config check | config show TARGET | config state%s",
			 command_hint(what, names, sizeof(names) / sizeof(names[0]), hint));
	session_close(&a.session);
	if (r != EXIT_DONE) {
		json_decref(a.answer);
		a.answer = NULL;
	}
	return answer_end(begun, a.answer, r);
}
