/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/config/config.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "runner/config/layers.h"
#include "runner/config/value.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

enum { CONFIG_MAX_BYTES = 1 << 20, GLOB_MAX = 256 };

/* --- the text of the file ------------------------------------------------------ */

/* Splits "line N[, column M]: why", the form of base/json.h and places.h. */
static uint32_t split_line(const char *msg, const char **ret_why)
{
	struct slice in = slice_of(msg);
	const char *why = strstr(msg, ": ");
	uint64_t line = 0;

	if (scan_lit(&in, SLICE("line ")) && !scan_u64(&in, 10, UINT32_MAX, &line))
		line = 0;
	*ret_why = line && why ? why + 2 : msg;
	return (uint32_t)line;
}

static const char *text_hint(const char *why)
{
	static const struct {
		const char *sign, *hint;
	} hints[] = {
	    {"near '/", " (JSON has no comments)"},
	    {"near '#", " (JSON has no comments)"},
	    {"near ''", " (strings stand in double quotes)"},
	    {"string or '}' expected near '}'", " (no comma after the last member)"},
	    {"unexpected token near ']'", " (no comma after the last element)"},
	    {"JSON_ALLOW_NUL", " (no NUL bytes in strings)"},
	    {"near '\xef\xbb\xbf", " (save the file without a byte order mark)"},
	};

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (strstr(why, hints[i].sign))
			return hints[i].hint;
	return "";
}

/* Adds file and line to an error about the text. */
static int text_error(const struct config *c, struct err *e)
{
	struct where at = {.input = &c->file};
	char text[sizeof(e->msg)];
	const char *why;

	at.line = split_line(e->msg, &why);
	memccpy(text, why, '\0', sizeof(text));
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return where_fail(&at, e, "%s%s", text, text_hint(text));
}

/* Parses text into c->root, an object, and c->places.  Errors have file and line. */
static int config_read_text(struct config *c, struct slice text, struct err *e)
{
	const char *nul = text.n ? memchr(text.p, '\0', text.n) : NULL;
	struct where at = {.input = &c->file, .line = 1};
	int r;

	if (text.n > CONFIG_MAX_BYTES)
		return where_fail(&at, e, "more than %d bytes", CONFIG_MAX_BYTES);
	for (const char *p = text.p; nul && p < nul; p++)
		at.line += *p == '\n';
	if (nul)
		return where_fail(&at, e, "a NUL byte: this is not a text file");
	if (text.n == 0)
		return where_fail(&at, e, "the file is empty: write {} for the built-in values");
	r = json_parse(text, &c->root, e);
	if (r == 0)
		r = places_scan(text, &c->places, e);
	if (r < 0)
		return text_error(c, e);
	if (!json_is_object(c->root))
		return where_fail(&at, e, "the configuration is not an object: write {...}");
	return 0;
}

/* --- globs --------------------------------------------------------------------- */

/* Behind the bracket expression that begins at p ("[abc]", "[!a-z]", "[]x]",
 * "[[:alpha:]]"); NULL: it has no end. */
static const char *bracket_end(const char *p)
{
	p++;
	if (*p == '!' || *p == '^')
		p++;
	if (*p == ']')
		p++;
	for (; *p && *p != ']'; p++) {
		if (*p == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '=')) {
			const char close[] = {p[1], ']', '\0'};
			const char *end = strstr(p + 2, close);

			if (!end)
				return NULL;
			p = end + 1;
		} else if (*p == '\\' && p[1]) {
			p++;
		}
	}
	return *p ? p + 1 : NULL;
}

static const char *glob_why_not(const char *p)
{
	while (*p) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return "it has a control character";
		if (*p == '\\' && !p[1])
			return "it ends with a backslash";
		if (*p == '[') {
			p = bracket_end(p);
			if (!p)
				return "a [ without its ]";
			continue;
		}
		p += *p == '\\' ? 2 : 1;
	}
	return NULL;
}

/* Whether the pattern is well formed for fnmatch(3); false with the reason in *why. */
static bool glob_ok(const char *glob, const char **why)
{
	size_t n = strlen(glob);

	*why = n == 0	      ? "it is empty"
	       : n > GLOB_MAX ? "it has more than 256 bytes"
			      : glob_why_not(glob);
	return !*why;
}

/* --- names ----------------------------------------------------------------- */

static int working_directory(char **ret, struct err *e)
{
	char dir[PATH_MAX];

	if (!getcwd(dir, sizeof(dir)))
		return err_sys(e, "find the working directory");
	*ret = xstrdup(dir);
	return 0;
}

/* The absolute path of the directory that contains the file of this name. */
static char *directory_of(const char *cwd, const char *name)
{
	const char *slash = strrchr(name, '/');
	size_t n = slash ? (size_t)(slash - name) : 0;
	const char *sep = strcmp(cwd, "/") == 0 ? "" : "/";

	if (!slash)
		return xstrdup(cwd);
	if (*name == '/')
		return xstrndup(name, n ? n : 1);
	return xasprintf("%s%s%.*s", cwd, sep, (int)n, name);
}

static int init_config(struct config *c, const char *name, struct err *e)
{
	int r = working_directory(&c->cwd, e);

	if (r < 0)
		return r;
	c->name = xstrdup(name);
	c->dir = directory_of(c->cwd, name);
	c->file = (struct input){c->name, c->dir};
	c->command_line = (struct input){"command line", c->cwd};
	layer_presets(&schema_root, &c->top);
	parts_presets(c);
	return 0;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_overrides; i++)
		free(c->overrides[i].text);
	free(c->overrides);
	free(c->sections);
	layer_done(&schema_root, &c->top);
	parts_done(c);
	places_done(&c->places);
	json_decref(c->root);
	free(c->name);
	free(c->dir);
	free(c->cwd);
	free(c);
}

DEFINE_CLEANUP(struct config *, config_free)

/* --- sections -------------------------------------------------------------- */

json_t *top_member(const struct config *c, const char *name, const struct where *top,
		   uint32_t *ret_id, struct where *ret_at)
{
	uint32_t id = places_child(0);

	for (void *i = json_object_iter(c->root); i; i = json_object_iter_next(c->root, i)) {
		if (strcmp(json_object_iter_key(i), name) == 0) {
			*ret_id = id;
			*ret_at = (struct where){.up = top,
						 .input = top->input,
						 .key = name,
						 .line = places_line(&c->places, id)};
			return json_object_iter_value(i);
		}
		id = places_next(&c->places, id);
	}
	return NULL;
}

static int add_section(struct config *c, struct section s, const struct where *at, struct err *e)
{
	struct where_chain w;

	if (!json_is_object(s.values))
		return where_fail(s.glob ? section_where(c, &s, &w) : at, e,
				  "not an object: write {\"key\": value, ...}");
	s.rank = RANK_FILE + (unsigned)c->n_sections;
	c->sections[c->n_sections++] = s;
	return 0;
}

static int read_globs(struct config *c, json_t *globs, uint32_t id, const struct where *at,
		      struct err *e)
{
	uint32_t child = places_child(id);

	if (!json_is_object(globs))
		return where_fail(at, e, "not an object: write {\"glob\": {...}, ...}");
	for (void *i = json_object_iter(globs); i; i = json_object_iter_next(globs, i)) {
		struct section s = {json_object_iter_key(i), true, json_object_iter_value(i), child,
				    0};
		struct where_chain w;
		const char *why;
		int r;

		if (!glob_ok(s.name, &why))
			return where_fail(section_where(c, &s, &w), e, "not a well-formed glob: %s",
					  why);
		r = add_section(c, s, at, e);
		if (r < 0)
			return r;
		child = places_next(&c->places, child);
	}
	return 0;
}

static bool is_this(const struct section *s, const void *arg)
{
	return s == arg;
}

/* Applies each section over the defaults once, to report mistakes now and not when the first
 * target matches. */
static int try_sections(const struct config *c, struct err *e)
{
	struct resolved r;
	int n = resolve(c, is_this, NULL, NULL, &r, e);

	if (n == 0)
		target_config_done(&r.v);
	for (size_t i = 0; n == 0 && i < c->n_sections; i++) {
		if (!c->sections[i].glob)
			continue;
		n = resolve(c, is_this, &c->sections[i], NULL, &r, e);
		if (n == 0)
			target_config_done(&r.v);
	}
	return n;
}

static int read_sections(struct config *c, const struct where *top, struct err *e)
{
	json_t *globs = json_object_get(c->root, "targets");
	struct where at;
	uint32_t id;
	json_t *j;
	int r = 0;

	c->sections = xcalloc(json_object_size(globs) + 1, sizeof(*c->sections));
	j = top_member(c, "defaults", top, &id, &at);
	if (j)
		r = add_section(c, (struct section){"defaults", false, j, id, 0}, &at, e);
	if (r < 0)
		return r;
	j = top_member(c, "targets", top, &id, &at);
	if (j)
		r = read_globs(c, j, id, &at, e);
	return r < 0 ? r : try_sections(c, e);
}

static int config_read_all(struct config *c, struct err *e)
{
	struct where top = {.input = &c->file, .line = 1};
	struct layer root = {
	    c, &schema_root, {.rank = RANK_FILE, .section = ""}, &c->top, c->top_from};
	int r = layer_object(&root, c->root, 0, &top, e);

	if (r == 0)
		r = parts_read(c, &top, e);
	return r < 0 ? r : read_sections(c, &top, e);
}

static int config_read(struct slice text, const char *name, bool projects, struct config **ret,
		       struct err *e)
{
	CLEANUP(config_free_p) struct config *c = xcalloc(1, sizeof(*c));
	int r = init_config(c, name, e);

	c->reads_projects = projects;
	if (r == 0)
		r = config_read_text(c, text, e);
	if (r == 0)
		r = config_read_all(c, e);
	if (r == 0)
		*ret = take_ptr(&c);
	return r;
}

int config_parse(struct slice text, const char *name, struct config **ret, struct err *e)
{
	return config_read(text, name, false, ret, e);
}

int config_load(const char *path, struct config **ret, struct err *e)
{
	_autofree_ char *text = NULL;
	size_t n;
	int r;

	if (!path)
		return config_parse(SLICE("{}"), "built-in", ret, e);
	r = fs_read(AT_FDCWD, path, CONFIG_MAX_BYTES, &text, &n, e);
	if (r < 0)
		return err_wrap(e, "read the configuration");
	return config_read((struct slice){text, n}, path, true, ret, e);
}

/* --- accessors ------------------------------------------------------------- */

const struct run_config *config_run(const struct config *c)
{
	return &c->run;
}

const struct config_source *config_sources(const struct config *c, size_t *ret_n)
{
	*ret_n = c->n_sources;
	return c->sources;
}

const struct trigger_config *config_trigger(const struct config *c)
{
	return &c->trigger;
}

const struct git_config *config_git(const struct config *c)
{
	return &c->git;
}

const struct github_config *config_github(const struct config *c)
{
	return &c->github;
}

const struct outbox_config *config_outbox(const struct config *c)
{
	return &c->outbox;
}

const struct serve_config *config_serve(const struct config *c)
{
	return &c->serve;
}

const struct bisect_config *config_bisect(const struct config *c)
{
	return &c->bisect;
}

const struct webhook_config *config_webhooks(const struct config *c, size_t *ret_n)
{
	*ret_n = c->n_webhooks;
	return c->webhooks;
}

bool config_best_effort(const struct config *c)
{
	return c->top.enforcement == 1;
}

const char *config_cgroup(const struct config *c)
{
	return c->top.cgroup;
}

const char *config_crun(const struct config *c)
{
	return c->top.crun;
}

const char *config_rootfs(const struct config *c)
{
	return c->top.rootfs;
}

const char *config_state_dir(const struct config *c)
{
	return c->top.state_dir;
}

const char *config_symbolizer(const struct config *c)
{
	return c->top.symbolizer;
}

const char *config_source_dir(const struct config *c)
{
	return c->top.source_dir;
}

const char *config_source_link(const struct config *c)
{
	return c->top.source_link;
}

const char *config_unused_glob(const struct config *c, const char *const *names, size_t n,
			       size_t *io_next)
{
	for (; *io_next < c->n_sections; (*io_next)++) {
		const struct section *s = &c->sections[*io_next];
		bool used = !s->glob;

		for (size_t i = 0; !used && i < n; i++)
			used = section_matches(s, CONFIG_TARGET(names[i]));
		if (used)
			continue;
		(*io_next)++;
		return s->name;
	}
	return NULL;
}

/* --- values of the command line ------------------------------------------------ */

static int override_target(struct config *c, const struct key *k, const char *text,
			   const struct where *at, struct err *e)
{
	struct target_config probe = {0};
	int r = value_read_text(k, text, at, &probe, e);

	target_config_done(&probe);
	if (r < 0)
		return r;
	c->overrides = xreallocarray(c->overrides, c->n_overrides + 1, sizeof(*c->overrides));
	c->overrides[c->n_overrides++] = (struct override){k, xstrdup(text)};
	return 0;
}

static const struct key *override_key(const struct schema *s, const char *name,
				      const struct where *at, struct err *e)
{
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->keys[i].name, name) != 0)
			continue;
		if (s->keys[i].type < VALUE_FLAGS)
			return &s->keys[i];
		where_fail(at, e, "only a file can set it");
		return NULL;
	}
	where_fail(at, e, "unknown key");
	return NULL;
}

/* Sets a key outside "defaults" directly. */
static int override_now(const struct schema *s, const char *name, const char *text,
			const struct where *at, void *base, struct origin *from, struct err *e)
{
	const struct key *k = override_key(s, name, at, e);
	int r;

	if (!k)
		return err_code(e);
	r = value_read_text(k, text, at, base, e);
	if (r == 0)
		from[k - s->keys] = (struct origin){.rank = RANK_COMMAND_LINE};
	return r;
}

int config_override(struct config *c, const char *key, const char *text, struct err *e)
{
	const struct where top = {.input = &c->command_line};
	struct where at = {.up = &top, .input = top.input, .key = key};
	const struct key *k;

	for (size_t i = 0; i < PART_COUNT; i++) {
		const struct part *p = &config_parts[i];
		size_t n = strlen(p->name);

		if (strncmp(key, p->name, n) == 0 && key[n] == '.')
			return override_now(p->schema, key + n + 1, text, &at, part_base(c, p),
					    c->part_from[i], e);
	}
	if (strncmp(key, "defaults.", 9) != 0)
		return override_now(&schema_root, key, text, &at, &c->top, c->top_from, e);
	k = override_key(&schema_target, key + 9, &at, e);
	return k ? override_target(c, k, text, &at, e) : err_code(e);
}
