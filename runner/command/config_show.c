/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/config_show.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "base/units.h"
#include "runner/command/escape.h"
#include "runner/discover/names.h"
#include "runner/schedule/plan.h"
#include "runner/schedule/setup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char beside[] = "beside the target";
static const char options[] = "the target's .options or manifest";

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "explain the configuration");
}

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
static int put(json_t *j, const char *key, json_t *value, const char *from, struct err *e)
{
	json_t *one = value ? json_pack("{s:o, s:s}", "value", value, "from", from) : NULL;

	return json_object_set_new(j, key, one) < 0 ? no_memory(e) : 0;
}

/* --- limits ----------------------------------------------------------------- */

static int put_limits(const struct common *c, const struct target *t,
		      const struct target_config *cfg, json_t *j, struct err *e)
{
	char text[UNITS_MAX];
	int r = 0;

	if (t->input_timeout_s && !config_sets(c->config, t->name, "timeout"))
		r = put(j, "timeout", json_string(units_time(cfg->input_timeout_us, text)), options,
			e);
	if (r == 0 && t->rss_limit_mib && cfg->rss_limit == t->rss_limit_mib << 20 &&
	    !config_sets(c->config, t->name, "rss_limit"))
		r = put(j, "rss_limit", json_string(units_size(cfg->rss_limit, text)), options, e);
	return r;
}

/* A key that is a flag for the engine, too. */
static int put_flag_keys(const struct target *t, const struct target_config *cfg, json_t *j,
			 struct err *e)
{
	static const char *const keys[] = {"max_len", "seed", "runs"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->flags.n; i++)
		for (size_t k = 0; r == 0 && k < sizeof(keys) / sizeof(keys[0]); k++) {
			const char *flag = t->flags.v[i];
			size_t n = strlen(keys[k]);

			if (strncmp(flag + 1, keys[k], n) == 0 && flag[n + 1] == '=' &&
			    setup_flag_holds(cfg, flag))
				r = put(j, keys[k], json_string(flag + n + 2), options, e);
		}
	return r;
}

/* --- lists ------------------------------------------------------------------ */

/* Of what is given there and in the configuration, both hold, and the configuration comes last. */
static int put_list(json_t *j, const char *key, json_t *all, const struct strv *configured,
		    const char *from, struct err *e)
{
	char both[ESCAPE_MAX];

	for (size_t i = 0; i < configured->n; i++)
		if (json_array_append_new(all, json_string(configured->v[i])) < 0) {
			json_decref(all);
			return no_memory(e);
		}
	snprintf(both, sizeof(both), "%s%s%s", from, configured->n ? "; then " : "",
		 configured->n ? from_of(j, key) : "");
	return put(j, key, all, both, e);
}

static json_t *array_of(const struct strv *v)
{
	json_t *all = json_array();

	for (size_t i = 0; all && i < v->n; i++)
		if (json_array_append_new(all, json_string(v->v[i])) < 0) {
			json_decref(all);
			return NULL;
		}
	return all;
}

static int put_seeds(const struct target *t, const struct target_config *cfg, json_t *j,
		     struct err *e)
{
	json_t *all = array_of(&t->seed_dirs);

	if (t->seed_archive && json_array_append_new(all, json_string(t->seed_archive)) < 0) {
		json_decref(all);
		return no_memory(e);
	}
	return put_list(j, "seeds", all, &cfg->seeds, beside, e);
}

static int put_env(const struct target *t, json_t *j, struct err *e)
{
	json_t *all = json_object(), *own = json_object_get(json_object_get(j, "env"), "value");
	char both[ESCAPE_MAX];

	for (size_t i = 0; all && i < t->env.n; i++) {
		const char *equals = strchr(t->env.v[i], '=');
		_autofree_ char *name =
		    equals ? sys_strndup(t->env.v[i], (size_t)(equals - t->env.v[i])) : NULL;

		if (!name || json_object_set_new(all, name, json_string(equals + 1)) < 0) {
			json_decref(all);
			return no_memory(e);
		}
	}
	snprintf(both, sizeof(both), "%s%s%s", options, is_unset(j, "env") ? "" : "; then ",
		 is_unset(j, "env") ? "" : from_of(j, "env"));
	if (json_object_update(all, own) < 0) {
		json_decref(all);
		return no_memory(e);
	}
	return put(j, "env", all, both, e);
}

static int put_flags(const struct target *t, const struct target_config *cfg, json_t *j,
		     struct err *e)
{
	json_t *all = json_array();

	for (size_t i = 0; all && i < t->flags.n; i++)
		if (setup_flag_holds(cfg, t->flags.v[i]) &&
		    json_array_append_new(all, json_string(t->flags.v[i])) < 0) {
			json_decref(all);
			return no_memory(e);
		}
	return put_list(j, "flags", all, &cfg->flags, options, e);
}

static int put_lists(const struct target *t, const struct target_config *cfg, json_t *j,
		     struct err *e)
{
	int r = 0;

	if (t->dict && is_unset(j, "dictionary"))
		r = put(j, "dictionary", json_string(t->dict), beside, e);
	if (r == 0 && t->flags.n)
		r = put_flags(t, cfg, j, e);
	if (r == 0 && t->env.n)
		r = put_env(t, j, e);
	if (r == 0 && (t->seed_dirs.n || t->seed_archive))
		r = put_seeds(t, cfg, j, e);
	return r;
}

/* --- all of it -------------------------------------------------------------- */

static int no_target(const struct common *c, const char *name)
{
	_autofree_ const char **names = sys_calloc(c->targets.n + 1, sizeof(*names));
	const char *near = NULL;
	char shown[ESCAPE_MAX];

	for (size_t i = 0; names && i < c->targets.n; i++)
		names[i] = c->targets.v[i].name;
	if (names)
		near = names_near(slice_of(name), names, c->targets.n);
	return fail(EXIT_USAGE, "config show: there is no target '%s'%s%s%s (fuzzcell list)",
		    escape(name, shown), near ? "; did you mean '" : "", near ? near : "",
		    near ? "'?" : "");
}

static const struct target *find(const struct target_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].name, name) == 0)
			return &l->v[i];
	return NULL;
}

/* A target that is switched off has no place in the plan, and its side files say nothing. */
static int put_all(const struct common *c, const struct target *t, json_t *j, struct err *e)
{
	struct plan p;
	int r = plan_make(c->config, &c->targets, t->name, &p, e);

	if (r < 0)
		return r;
	if (p.n == 1)
		r = put_limits(c, t, &p.v[0].cfg, j, e);
	if (r == 0 && p.n == 1)
		r = put_flag_keys(t, &p.v[0].cfg, j, e);
	if (r == 0 && p.n == 1)
		r = put_lists(t, &p.v[0].cfg, j, e);
	plan_done(&p);
	return r;
}

int config_show(struct common *c, const char *target, json_t **ret)
{
	_autojson_ json_t *j = NULL;
	const struct target *t;
	struct err e;
	int r;

	c->before_build = true;
	r = common_find_targets(c);
	if (r != EXIT_DONE)
		return r;
	t = find(&c->targets, target);
	if (!t)
		return no_target(c, target);
	if (config_explain(c->config, target, &j, &e) < 0 || put_all(c, t, j, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	*ret = json_incref(j);
	return EXIT_DONE;
}
