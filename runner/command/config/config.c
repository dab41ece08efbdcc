/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/command.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/scan.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/session.h"
#include "runner/run/job/setup.h"
#include "runner/run/plan.h"
#include "runner/targets/build/build.h"
#include "runner/targets/names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- a value and where it comes from -------------------------------------- */

static const char beside[] = "beside the target";
static const char options[] = "the target's .options or manifest";

static const char *from_of(const json_t *j, const char *key)
{
	return json_string_value(json_object_get(json_object_get(j, key), "from"));
}

static bool is_unset(const json_t *j, const char *key)
{
	const json_t *v = json_object_get(json_object_get(j, key), "value");

	return json_is_null(v) || (json_is_array(v) && json_array_size(v) == 0) ||
	       (json_is_object(v) && json_object_size(v) == 0);
}

/* Takes value. */
static void config_put_value(json_t *j, const char *key, json_t *value, const char *from)
{
	(void)json_object_set_new(
	    j, key, json_pack("{s:o, s:o}", "value", value, "from", answer_text(from)));
}

/* --- limits ----------------------------------------------------------------- */

static void put_limits(const struct common *c, const struct target *t,
		       const struct target_config *cfg, json_t *j)
{
	const struct config_target build = plan_build(t);
	char value[32]; /* exact, as the configuration would have it */

	snprintf(value, sizeof(value), "%llus", (unsigned long long)t->input_timeout_s);
	if (t->input_timeout_s && !config_sets(c->config, &build, "timeout"))
		config_put_value(j, "timeout", json_string(value), options);
	snprintf(value, sizeof(value), "%lluMiB", (unsigned long long)t->rss_limit_mib);
	if (t->rss_limit_mib && cfg->rss_limit == t->rss_limit_mib << 20 &&
	    !config_sets(c->config, &build, "rss_limit"))
		config_put_value(j, "rss_limit", json_string(value), options);
}

static void put_flag_key(const char *flag, const char *from, json_t *j)
{
	static const char *const keys[] = {"max_len", "seed", "runs"};

	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		size_t n = strlen(keys[k]);
		struct slice value;
		uint64_t number;

		if (strncmp(flag + 1, keys[k], n) != 0 || flag[n + 1] != '=')
			continue;
		value = slice_of(flag + n + 2);
		if (k > 0 && scan_u64(&value, 10, INT64_MAX, &number))
			config_put_value(j, keys[k], json_integer((json_int_t)number), from);
		else
			config_put_value(j, keys[k], answer_text(flag + n + 2), from);
		return;
	}
}

/* Keys that the engine also takes as flags: the last flag wins. */
static void put_flag_keys(const struct target *t, const struct target_config *cfg, json_t *j)
{
	for (size_t i = 0; i < t->flags.n; i++)
		if (setup_flag_holds(cfg, t->flags.v[i]))
			put_flag_key(t->flags.v[i], options, j);
	for (size_t i = 0; i < cfg->flags.n; i++)
		put_flag_key(cfg->flags.v[i], "\"flags\" of the configuration", j);
}

/* --- lists ------------------------------------------------------------------ */

/* Values of the side files and of the configuration both count; those of the configuration come
 * last. */
static void put_list(json_t *j, const char *key, json_t *all, const struct strv *configured,
		     const char *from)
{
	char both[ESCAPE_MAX];

	for (size_t i = 0; i < configured->n; i++)
		(void)json_array_append_new(all, answer_text(configured->v[i]));
	snprintf(both, sizeof(both), "%s%s%s", from, configured->n ? "; then " : "",
		 configured->n ? from_of(j, key) : "");
	config_put_value(j, key, all, both);
}

static void put_seeds(const struct target *t, const struct target_config *cfg, json_t *j)
{
	json_t *all = json_array();

	for (size_t i = 0; i < t->seed_dirs.n; i++)
		(void)json_array_append_new(all, answer_text(t->seed_dirs.v[i]));
	if (t->seed_archive)
		(void)json_array_append_new(all, answer_text(t->seed_archive));
	put_list(j, "seeds", all, &cfg->seeds, beside);
}

/* Options of sanitizers are joined; other variables take the value of the configuration. */
static void add_own_env(json_t *all, json_t *own)
{
	const char *name;
	json_t *value;

	json_object_foreach(own, name, value)
	{
		const char *before = json_string_value(json_object_get(all, name));
		size_t n = strlen(name);
		bool joined = before && n > 8 && strcmp(name + n - 8, "_OPTIONS") == 0;
		json_t *now = joined ? json_sprintf("%s:%s", before, json_string_value(value))
				     : json_incref(value);

		(void)json_object_set_new(all, name, now);
	}
}

static void put_env(const struct target *t, json_t *j)
{
	json_t *all = json_object(), *own = json_object_get(json_object_get(j, "env"), "value");
	char both[ESCAPE_MAX];

	for (size_t i = 0; i < t->env.n; i++) {
		const char *equals = strchr(t->env.v[i], '='); /* after a checked name */
		_autofree_ char *name = xstrndup(t->env.v[i], (size_t)(equals - t->env.v[i]));

		(void)json_object_set_new(all, name, answer_text(equals + 1));
	}
	snprintf(both, sizeof(both), "%s%s%s", options, is_unset(j, "env") ? "" : "; then ",
		 is_unset(j, "env") ? "" : from_of(j, "env"));
	add_own_env(all, own);
	config_put_value(j, "env", all, both);
}

static void put_flags(const struct target *t, const struct target_config *cfg, json_t *j)
{
	json_t *all = json_array();

	for (size_t i = 0; i < t->flags.n; i++)
		if (setup_flag_holds(cfg, t->flags.v[i]))
			(void)json_array_append_new(all, answer_text(t->flags.v[i]));
	put_list(j, "flags", all, &cfg->flags, options);
}

static void put_lists(const struct target *t, const struct target_config *cfg, json_t *j)
{
	if (t->dict && is_unset(j, "dictionary"))
		config_put_value(j, "dictionary", answer_text(t->dict), beside);
	if (t->flags.n)
		put_flags(t, cfg, j);
	if (t->env.n)
		put_env(t, j);
	if (t->seed_dirs.n || t->seed_archive)
		put_seeds(t, cfg, j);
}

/* --- all of it -------------------------------------------------------------- */

static int no_target(const struct common *c, const char *name)
{
	size_t n;
	_autofree_ const char **names = common_target_names(&c->targets, &n);
	const char *near = names_near(slice_of(name), names, n);
	char shown[ESCAPE_MAX];

	return fail(EXIT_USAGE, "config show: there is no target '%s'%s%s%s (fuzzcell list)",
		    escape(name, shown), near ? "; did you mean '" : "", near ? near : "",
		    near ? "'?" : "");
}

/* A disabled target is not in the plan, and its side files do not count. */
static int put_all(const struct common *c, const struct target *t, json_t *j, struct err *e)
{
	struct plan p;
	int r = plan_make_one(c->config, t, &p, e);

	if (r < 0)
		return r;
	if (p.n == 1) {
		put_limits(c, t, &p.v[0].cfg, j);
		put_flag_keys(t, &p.v[0].cfg, j);
		put_lists(t, &p.v[0].cfg, j);
	}
	plan_done(&p);
	return 0;
}

/* Shows the values of a target's cell and the source of each: config_explain(), and the target's
 * side files. Finds the targets. Returns an exit status, with the error printed. */
static int config_show(struct common *c, const char *target, json_t **ret)
{
	_autojson_ json_t *j = NULL;
	struct config_target build;
	const struct target *t;
	struct err e;
	int r;

	c->before_build = true;
	r = common_find_targets(c);
	if (r != EXIT_DONE)
		return r;
	t = common_target(&c->targets, target);
	if (!t)
		return no_target(c, target);
	build = plan_build(t);
	if (config_explain(c->config, &build, &j, &e) < 0 || put_all(c, t, j, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	*ret = json_incref(j);
	return EXIT_DONE;
}

/* --- the command ---------------------------------------------------------- */

struct config_args {
	struct session session;
	bool json;
	json_t *answer;
};

static const struct option_spec specs[] = {
    COMMON_OPTIONS(struct config_args, session.common),
    {"json", NULL, "print JSON", OPTION_AT(struct config_args, json)},
};

static void print_project_notes(const struct config_source *s)
{
	char shown[ESCAPE_MAX];

	for (size_t i = 0; i < s->project_notes.n; i++)
		printf("note: %s\n", escape(s->project_notes.v[i], shown));
}

/* Lists the builds that `fuzzcell build` would refuse, and those that would run as root. */
static int check_builds(const struct config *c, json_t *as_root)
{
	size_t n;
	const struct config_source *v = config_sources(c, &n);
	char shown[ESCAPE_MAX];

	for (size_t i = 0; i < n; i++) {
		bool root = false;
		struct err e;
		bool asked = build_wanted(&v[i]) && !build_is_again(&v[i]);
		int r = asked ? build_check(&v[i], &root, &e) : 0;

		print_project_notes(&v[i]);
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

static int check_target(const struct config *c, const struct target *t)
{
	const struct config_target build = plan_build(t);
	struct target_config cfg;
	int r = EXIT_DONE;
	struct err e;

	if (config_resolve(c, &build, &cfg, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	target_config_done(&cfg);
	for (size_t i = 0; r == EXIT_DONE && i < t->n_variants; i++)
		r = check_target(c, &t->variants[i]);
	return r;
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
	names = common_target_names(l, &n);
	for (size_t i = 0; r == EXIT_DONE && i < l->n; i++) {
		r = check_target(a->session.common.config, &l->v[i]);
	}
	if (r != EXIT_DONE)
		return r;
	while (l->n > 0 && (glob = config_unused_glob(a->session.common.config, names, n, &next))) {
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
