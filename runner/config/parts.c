/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a configuration's sources, webhooks and GitHub; refuses contradictions. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/config/layers.h"
#include "runner/config/project.h"
#include "runner/config/source_go.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

enum { MAX_SOURCES = 64, MAX_VARIANTS = 16, MAX_WEBHOOKS = 16 };

const struct part config_parts[PART_COUNT] = {
    [PART_RUN] = {"run", &schema_run, offsetof(struct config, run)},
    [PART_TRIGGER] = {"trigger", &schema_trigger, offsetof(struct config, trigger)},
    [PART_GIT] = {"git", &schema_git, offsetof(struct config, git)},
    [PART_GITHUB] = {"github", &schema_github, offsetof(struct config, github)},
    [PART_OUTBOX] = {"outbox", &schema_outbox, offsetof(struct config, outbox)},
    [PART_SERVE] = {"serve", &schema_serve, offsetof(struct config, serve)},
    [PART_BISECT] = {"bisect", &schema_bisect, offsetof(struct config, bisect)},
};

void parts_presets(struct config *c)
{
	for (size_t i = 0; i < PART_COUNT; i++)
		layer_presets(config_parts[i].schema, part_base(c, &config_parts[i]));
}

static void source_done(struct source_config *s)
{
	free(s->v.type);
	free(s->v.builds_dir);
	free(s->v.project_dir);
	strv_done(&s->v.project_notes);
	free(s->v.broken);
	layer_done(&schema_source, s);
}

void parts_done(struct config *c)
{
	for (size_t i = 0; i < PART_COUNT; i++)
		layer_done(config_parts[i].schema, part_base(c, &config_parts[i]));
	for (size_t i = 0; i < c->n_sources; i++) {
		struct source_config s = {.v = c->sources[i]};

		source_done(&s);
	}
	for (size_t i = 0; i < c->n_webhooks; i++)
		layer_done(&schema_webhook, &c->webhooks[i]);
	free(c->sources);
	free(c->webhooks);
}

/* --- contradictions --------------------------------------------------------- */

/* Whether the file or the command line sets a key. */
static bool parts_is_set(const struct schema *s, const struct origin *from, const char *name)
{
	const struct key *k = schema_find(s, "", slice_of(name));

	assert(k);
	return k && from[k - s->keys].rank > 0;
}

/* The first of n names that the configuration sets; NULL: none. */
static const char *first_set(const struct origin *from, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (parts_is_set(&schema_source, from, names[i]))
			return names[i];
	return NULL;
}

#define FIRST_SET(from, names) first_set((from), (names), sizeof(names) / sizeof((names)[0]))

static int check_bazel(const struct origin *from, const struct where *at, struct err *e)
{
	static const char *const of_others[] = {"build", "build_dir", "build_isolation"};
	const char *name = FIRST_SET(from, of_others);

	return name ? where_fail(at, e,
				 "\"%s\" is not for the type \"bazel\", which builds by itself "
				 "(use \"flags\")",
				 name)
		    : 0;
}

static int check_project(const struct source_config *s, const struct origin *from,
			 const struct where *at, struct err *e)
{
	static const char *const of_others[] = {"build", "variant",	    "variants", "bazel",
						"query", "startup_options", "flags"};
	const char *name = FIRST_SET(from, of_others);

	if (name)
		return where_fail(
		    at, e,
		    "\"%s\" is not for the type \"oss-fuzz\", which runs build.sh once for "
		    "each sanitizer in project.yaml",
		    name);
	return s->v.build_dir
		   ? 0
		   : where_fail(at, e,
				"\"build_dir\" is missing, the directory with the sources "
				"of the project");
}

static int check_go(const struct origin *from, const struct where *at, struct err *e)
{
	static const char *const of_others[] = {"build", "build_dir",	    "variants", "bazel",
						"query", "startup_options", "flags"};
	const char *name = FIRST_SET(from, of_others);

	return name ? where_fail(at, e, "\"%s\" is not for the type \"go\", which builds by itself",
				 name)
		    : 0;
}

static int check_command(const struct source_config *s, const struct origin *from,
			 const struct where *at, struct err *e)
{
	static const char *const of_bazel[] = {"bazel", "query", "startup_options", "flags"};
	static const char *const of_builds[] = {"build_dir",  "build_memory",
						"build_pids", "build_cpu_weight",
						"build_disk", "build_isolation"};
	const char *name = FIRST_SET(from, of_bazel);

	if (name)
		return where_fail(at, e, "\"%s\" is for the type \"bazel\", this is \"%s\"", name,
				  s->v.type);
	if (parts_is_set(&schema_source, from, "build") && s->v.build.n == 0)
		return where_fail(at, e, "\"build\" names no command");
	if (s->v.build_as_root && s->v.build.n == 0)
		return where_fail(at, e, "\"build_as_root\" without \"build\"");
	name = s->v.build.n == 0 ? FIRST_SET(from, of_builds) : NULL;
	return name ? where_fail(at, e, "\"%s\" without \"build\"", name) : 0;
}

/* The first name that the list has twice; NULL: none. */
static const char *first_twice(const struct strv *v)
{
	for (size_t i = 0; i < v->n; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(v->v[i], v->v[k]) == 0)
				return v->v[i];
	return NULL;
}

/* The first of them has the main builds. */
static int check_variants(const struct source_config *s, const struct origin *from,
			  const struct where *up, struct err *e)
{
	const struct key *k = schema_find(&schema_source, "", SLICE("variants"));
	const struct strv *v = &s->v.variants;
	struct where at = {.up = up, .input = up->input, .key = "variants"};
	const char *name;

	assert(k);
	if (!k || from[k - schema_source.keys].rank == 0)
		return 0;
	at.line = from[k - schema_source.keys].line;
	if (strcmp(s->v.type, "bazel") == 0)
		return where_fail(&at, e,
				  "not for the type \"bazel\": write a source with \"variant\" and "
				  "\"flags\" for each build");
	if (s->v.build.n == 0)
		return where_fail(&at, e, "\"build\" is missing, the command that makes them");
	if (v->n == 0)
		return where_fail(&at, e, "it names no build: write a list such as [\"address\"]");
	if (v->n > MAX_VARIANTS)
		return where_fail(&at, e, "more than %d of them", MAX_VARIANTS);
	if (s->v.variant)
		return where_fail(&at, e, "\"variant\" is set, too: keep one of the two keys");
	name = first_twice(v);
	if (name)
		return where_fail(&at, e, "\"%s\" is in the list twice: name each build once",
				  name);
	if (strcmp(v->v[0], "coverage") == 0)
		return where_fail(&at, e,
				  "\"coverage\" is the first, and the first build is fuzzed: put "
				  "\"address\" before it");
	return 0;
}

/* Of several builds, the main build and the coverage build have their roles by their names. */
static int check_role(const struct source_config *s, const struct where *at, struct err *e)
{
	bool several = s->v.variants.n > 0 || strcmp(s->v.type, "oss-fuzz") == 0;

	if (!s->v.variant && !several)
		return where_fail(at, e, "\"role\" without \"variant\" or \"variants\"");
	if (several && s->v.role == BUILD_ROLE_COVERAGE)
		return where_fail(at, e,
				  "\"role\": \"coverage\" is not for several builds: name one of "
				  "them \"coverage\"");
	return 0;
}

static int check_source(const struct source_config *s, const struct origin *from,
			const struct where *at, struct err *e)
{
	static const char *const of_cells[] = {"build_network", "build_writable"};
	const char *name =
	    s->v.build_isolation != ISOLATION_CELL ? FIRST_SET(from, of_cells) : NULL;
	int r = strcmp(s->v.type, "bazel") == 0	     ? check_bazel(from, at, e)
		: strcmp(s->v.type, "oss-fuzz") == 0 ? check_project(s, from, at, e)
		: strcmp(s->v.type, "go") == 0	     ? check_go(from, at, e)
						     : check_command(s, from, at, e);

	if (r == 0)
		r = check_variants(s, from, at, e);
	if (r == 0 && parts_is_set(&schema_source, from, "role"))
		r = check_role(s, at, e);
	if (r < 0 || !name)
		return r;
	return where_fail(at, e, "\"%s\" without \"build_isolation\": \"cell\"", name);
}

static int check_webhook(const struct config *c, const struct webhook_config *w,
			 const struct where *at, struct err *e)
{
	for (size_t i = 0; i < c->n_webhooks; i++)
		if (strcmp(c->webhooks[i].name, w->name) == 0)
			return where_fail(at, e, "two webhooks are named \"%s\"", w->name);
	if (!w->url == !w->url_file)
		return where_fail(at, e,
				  w->url ? "set \"url\" or \"url_file\", not both"
					 : "\"url\" or \"url_file\" is missing");
	return 0;
}

static int check_github(const struct config *c, const struct where *at, struct err *e)
{
	const struct github_config *g = &c->github;
	unsigned ways = (g->token_file ? 1U : 0) + (g->token_env ? 1U : 0) + (g->app ? 1U : 0);

	if (ways > 1)
		return where_fail(at, e,
				  "only one of \"token_file\", \"token_env\" and \"app\" may "
				  "be set");
	if (g->repository && ways == 0)
		return where_fail(at, e, "\"token_file\", \"token_env\" or \"app\" is missing");
	if (g->app && (!g->installation || !g->app_key_file))
		return where_fail(at, e, "\"app\" needs \"installation\" and \"app_key_file\"");
	if (!g->app && (g->installation || g->app_key_file))
		return where_fail(at, e, "\"installation\" and \"app_key_file\" need \"app\"");
	if (g->security == SECURITY_REPOSITORY && !g->security_repository)
		return where_fail(at, e,
				  "\"security\": \"repository\" needs "
				  "\"security_repository\"");
	return 0;
}

/* --- defaults of word lists -------------------------------------------------- */

static void preset_words(struct strv *io, const struct schema *s, const struct origin *from,
			 const char *key, const char *const *words)
{
	if (parts_is_set(s, from, key))
		return;
	for (; *words; words++)
		strv_push(io, *words);
}

static int finish_github(struct config *c, const struct where *at, struct err *e)
{
	static const char *const labels[] = {"fuzzing", "crash", "automated", NULL};

	preset_words(&c->github.labels, &schema_github, c->part_from[PART_GITHUB], "labels",
		     labels);
	return check_github(c, at, e);
}

/* --- reading ----------------------------------------------------------------- */

static int read_part(struct config *c, size_t i, const struct where *top, struct where *ret_at,
		     struct err *e)
{
	const struct part *p = &config_parts[i];
	uint32_t id;
	json_t *j;
	struct layer l = {c,
			  p->schema,
			  {.rank = RANK_FILE, .section = p->name},
			  part_base(c, p),
			  c->part_from[i]};

	j = top_member(c, p->name, top, &id, ret_at);
	return j ? layer_object(&l, j, id, ret_at, e) : 0;
}

static int read_source_once(const struct config *c, json_t *j, uint32_t id, const struct where *at,
			    struct source_config *ret, struct err *e)
{
	static const char *const flags[] = {"--config=asan-fuzzer", NULL};
	const struct key *type = schema_find(&schema_source, "", SLICE("type"));
	struct origin from[SCHEMA_MAX_KEYS] = {{0}};
	struct layer l = {
	    c, &schema_source, {.rank = RANK_FILE, .section = "discovery"}, ret, from};
	int r;

	*ret = (struct source_config){0};
	layer_presets(&schema_source, ret);
	r = layer_object(&l, j, id, at, e);
	if (r == 0) {
		ret->v.type = xstrdup(type->choices[ret->type]);
		r = check_source(ret, from, at, e);
	}
	if (r < 0) {
		source_done(ret);
		return r;
	}
	ret->v.is_main = !ret->v.variant;
	if (ret->v.build.n > 0 && !ret->v.build_dir)
		ret->v.build_dir = xstrdup(c->dir);
	if (strcmp(ret->v.type, "bazel") == 0)
		preset_words(&ret->v.bazel_flags, &schema_source, from, "flags", flags);
	return 0;
}

/* Makes the source its build of number i: in the directory PATH/NAME, or for a manifest,
 * DIR/NAME/MANIFEST. */
static void source_select(struct config_source *io, size_t i)
{
	bool manifest = strcmp(io->type, "manifest") == 0;
	char *path = io->path, *slash = strrchr(path, '/');
	const char *name = io->variants.v[i];
	size_t n = manifest ? (size_t)(slash - path) : strlen(path);

	if (n == 1 && !manifest)
		n = 0; /* "/" */
	io->path = xasprintf("%.*s/%s%s", (int)n, path, name, manifest ? slash : "");
	io->builds_dir = n ? xstrndup(path, n) : xstrdup("/");
	io->variant = xstrdup(name);
	io->is_main = i == 0;
	free(path);
}

static void copy_words(const struct strv *from, struct strv *to)
{
	for (size_t i = 0; i < from->n; i++)
		strv_push(to, from->v[i]);
}

/* Makes the source of a project one with a build command and variants.  p NULL: the source stays as
 * it is. */
static void source_of_project(struct config_source *io, const struct project *p, size_t i)
{
	strv_push(&io->build, "bash");
	strv_push(&io->build, "-eu");
	strv_pushf(&io->build, "%s/" PROJECT_SCRIPT, io->path);
	if (!p)
		return;
	io->project_dir = io->path;
	io->path = xasprintf("%s/" CONFIG_BUILDS_DIR, io->build_dir);
	free(io->type);
	io->type = xstrdup("directory");
	copy_words(&p->sanitizers, &io->variants);
	if (i == 0)
		copy_words(&p->notes, &io->project_notes);
}

struct projects {
	struct project p;
	char *broken;
};

static void projects_done(struct projects *s)
{
	project_done(&s->p);
	free(s->broken);
}

static void source_read_project(const struct config *c, const char *dir, struct projects *ret)
{
	struct err e;

	if (!c->reads_projects)
		ret->broken = xasprintf("%s/" PROJECT_FILE " was not read", dir);
	else if (project_read(dir, &ret->p, &e) < 0)
		ret->broken = xstrdup(e.msg);
}

/* Makes it the build of number i of the source, and returns how many there are. */
static size_t source_split(const struct config *c, struct config_source *io, size_t i,
			   struct projects *project)
{
	if (strcmp(io->type, "oss-fuzz") == 0) {
		if (i == 0)
			source_read_project(c, io->path, project);
		source_of_project(io, project->broken ? NULL : &project->p, i);
		io->broken = project->broken ? xstrdup(project->broken) : NULL;
	}
	if (strcmp(io->type, "go") == 0)
		source_of_go(io);
	if (io->variants.n > 0)
		source_select(io, i);
	return io->variants.n > 0 ? io->variants.n : 1;
}

/* Each of a source's builds becomes a source, which is built, recorded and searched by itself.  The
 * object is read again for each of them. */
static int read_source(struct config *c, json_t *j, uint32_t id, const struct where *at,
		       struct err *e)
{
	CLEANUP(projects_done) struct projects project = {.broken = NULL};
	size_t n = 1;

	for (size_t i = 0; i < n; i++) {
		struct source_config s;
		int r = read_source_once(c, j, id, at, &s, e);

		if (r < 0)
			return r;
		n = source_split(c, &s.v, i, &project);
		if (c->n_sources == MAX_SOURCES) {
			source_done(&s);
			return where_fail(at, e, "more than %d sources: each build is one",
					  MAX_SOURCES);
		}
		c->sources[c->n_sources++] = s.v;
	}
	return 0;
}

static int read_webhook(struct config *c, json_t *j, uint32_t id, const struct where *at,
			struct err *e)
{
	struct webhook_config w = {0};
	struct origin from[SCHEMA_MAX_KEYS] = {{0}};
	struct layer l = {c, &schema_webhook, {.rank = RANK_FILE, .section = "webhooks"}, &w, from};
	int r;

	layer_presets(&schema_webhook, &w);
	r = layer_object(&l, j, id, at, e);
	if (r == 0)
		r = check_webhook(c, &w, at, e);
	if (r < 0)
		layer_done(&schema_webhook, &w);
	else
		c->webhooks[c->n_webhooks++] = w;
	return r;
}

/* A list of objects of the top level.  items is the offset of the array in struct config, which has
 * room for max. */
struct list {
	const char *name, *form;
	size_t max, size, items;
	int (*read)(struct config *c, json_t *j, uint32_t id, const struct where *at,
		    struct err *e);
};

static int read_list_of(struct config *c, const struct list *l, const struct where *top,
			struct err *e)
{
	void **items = (void **)((char *)c + l->items);
	struct where at;
	uint32_t id;
	json_t *list = top_member(c, l->name, top, &id, &at);
	size_t n = json_array_size(list);
	int r = 0;

	if (!list)
		return 0;
	if (!json_is_array(list))
		return where_fail(&at, e, "not a list: write %s", l->form);
	if (n > l->max)
		return where_fail(&at, e, "more than %zu of them", l->max);
	*items = xcalloc(l->max, l->size);
	id = places_child(id);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct where element = {
		    .up = &at, .input = at.input, .index = i, .line = places_line(&c->places, id)};

		r = l->read(c, json_array_get(list, i), id, &element, e);
		id = places_next(&c->places, id);
	}
	return r;
}

int parts_read(struct config *c, const struct where *top, struct err *e)
{
	static const struct list sources = {"discovery",
					    "[{\"type\": ..., \"path\": ...}, ...]",
					    MAX_SOURCES,
					    sizeof(struct config_source),
					    offsetof(struct config, sources),
					    read_source};
	static const struct list webhooks = {"webhooks",
					     "[{\"name\": ..., \"url\": ...}, ...]",
					     MAX_WEBHOOKS,
					     sizeof(struct webhook_config),
					     offsetof(struct config, webhooks),
					     read_webhook};
	struct where at[PART_COUNT];
	int r = 0;

	for (size_t i = 0; r == 0 && i < PART_COUNT; i++) {
		at[i] = *top;
		r = read_part(c, i, top, &at[i], e);
	}
	if (r == 0)
		r = finish_github(c, &at[PART_GITHUB], e);
	if (r == 0)
		r = read_list_of(c, &sources, top, e);
	return r < 0 ? r : read_list_of(c, &webhooks, top, e);
}
