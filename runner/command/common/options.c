/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line's options; finds the configuration, the targets and the paths. */
#include "runner/command/command.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/units.h"
#include "runner/command/build/builder.h"
#include "runner/command/common/shell.h"
#include "runner/publish/http/token.h"
#include "runner/state/state.h"
#include "runner/status/color.h"
#include "runner/targets/names.h"
#include "runner/targets/variants.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- parsing -------------------------------------------------------------- */

/* Returns 'o' for "o,output"; 0: the option has no letter. */
static char letter_of(const struct option_spec *s)
{
	if (s->name[0] && s->name[1] == ',')
		return s->name[0];
	return 0;
}

static const char *options_name_of(const struct option_spec *s)
{
	return letter_of(s) ? s->name + 2 : s->name;
}

static void print_help(const char *usage, const struct option_spec *specs, size_t n)
{
	printf("usage: fuzzcell %s\n\n", usage);
	for (size_t i = 0; i < n; i++) {
		const struct option_spec *s = &specs[i];
		char left[64], letter[8] = "";

		if (letter_of(s))
			snprintf(letter, sizeof(letter), "-%c, ", letter_of(s));
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, options_name_of(s),
			 s->arg ? " " : "", s->arg ? s->arg : "");
		printf("  %-26s %s\n", left, s->help);
	}
	printf("  %-26s %s\n", "--log-level LEVEL",
	       "log to stderr: error, warn, info or debug (default: $FUZZCELL_LOG)");
	printf("  %-26s %s\n", "-h, --help", "this text");
}

static struct option *long_options(const struct option_spec *specs, size_t n)
{
	struct option *o = xcalloc(n + 3, sizeof(*o));

	for (size_t i = 0; i < n; i++)
		o[i] = (struct option){options_name_of(&specs[i]),
				       specs[i].arg ? required_argument : no_argument, NULL, 0};
	o[n] = (struct option){"help", no_argument, NULL, 0};
	o[n + 1] = (struct option){"log-level", required_argument, NULL, 0};
	return o;
}

enum { LETTERS_MAX = 16, OPTIONS_MAX = 64 };

/* Builds getopt's list: ":h" (':' reports a missing value), and "o:" for each letter with a
 * value. */
static const char *letters(const struct option_spec *specs, size_t n, char out[LETTERS_MAX])
{
	size_t at = 0;

	out[at++] = ':';
	out[at++] = 'h';
	for (size_t i = 0; i < n && at + 3 <= LETTERS_MAX; i++)
		if (letter_of(&specs[i])) {
			out[at++] = letter_of(&specs[i]);
			if (specs[i].arg)
				out[at++] = ':';
		}
	out[at] = '\0';
	return out;
}

static int index_of(const struct option_spec *specs, size_t n, int letter)
{
	for (size_t i = 0; i < n; i++)
		if (letter_of(&specs[i]) == letter)
			return (int)i;
	return -1;
}

/* Sets the variable, too: runs that a trigger starts read the level from it. */
static int take_log_level(const char *command, const char *level)
{
	if (!*level || !log_console_open(level))
		return -1 - fail(EXIT_USAGE,
				 "%s: --log-level: '%s' is none of error, warn, info, debug",
				 command, level);
	if (setenv("FUZZCELL_LOG", level, 1) < 0)
		out_of_memory();
	return 0;
}

/* Returns the option as the user typed it. */
static const char *typed(int c, char **argv, const struct option *o)
{
	bool apart = c == 0 && o->has_arg == required_argument && optarg == argv[optind - 1];

	return argv[optind - (apart ? 2 : 1)];
}

/* getopt_long() accepts abbreviations; we do not. */
static bool is_whole(int c, char **argv, const struct option *o)
{
	const char *text = typed(c, argv, o);

	if (c != 0)
		return true;
	text += strspn(text, "-");
	return strcspn(text, "=") == strlen(o->name);
}

/* Returns the most similar option; NULL: none is similar. */
static const char *near_option(struct slice word, const struct option *o)
{
	const char *names[OPTIONS_MAX];
	size_t n = 0;

	for (; n < OPTIONS_MAX && o[n].name; n++)
		names[n] = o[n].name;
	return word.n > 1 ? names_near(word, names, n) : NULL;
}

static int bad_option(int c, const char *command, const char *text, const struct option *o)
{
	bool is_long = strncmp(text, "--", 2) == 0;
	struct slice word = {is_long ? text + 2 : "", is_long ? strcspn(text + 2, "=") : 0};
	const char *near = near_option(word, o);

	if (c == ':')
		return -1 - fail(EXIT_USAGE, "%s: '%s' needs a value (try --help)", command, text);
	if (near && slice_eq(word, slice_of(near)))
		return -1 - fail(EXIT_USAGE, "%s: --%s takes no value", command, near);
	return -1 - fail(EXIT_USAGE, "%s: unknown option '%s'%s%s%s (try --help)", command, text,
			 near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

struct parsing {
	const char *command, *usage;
	const struct option_spec *specs;
	size_t n;
	bool (*take)(void *arg, const char *name, const char *value);
	void *args;
};

/* The configuration reads a bare number as seconds. On the command line a unit is required: the
 * user may mean minutes. */
static bool lacks_unit(const struct option_spec *s)
{
	return s->arg && strcmp(s->arg, "TIME") == 0 && *optarg &&
	       optarg[strspn(optarg, "0123456789")] == '\0';
}

/* Returns 0, or -1 - exit status. */
static int options_store(const struct parsing *p, const struct option_spec *s)
{
	int words = (int)strcspn(p->usage, "[") - 1; /* of the usage: the command */
	void *to = (char *)p->args + s->at;

	switch (s->kind) {
	case OPTION_FLAG:
		*(bool *)to = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)to = optarg;
		return 0;
	case OPTION_TIME:
		if (units_parse_time(slice_of(optarg), to) && *(uint64_t *)to > 0)
			return 0;
		return -1 - fail(EXIT_USAGE, "%.*s: --%s: '%s' is not a time (\"30s\", \"10m\")",
				 words, p->usage, options_name_of(s), optarg);
	case OPTION_COLOR:
		if (color_set(optarg))
			return 0;
		return -1 - fail(EXIT_USAGE, "%.*s: --color: '%s' is none of auto, always, never",
				 words, p->usage, optarg);
	case OPTION_TAKEN:
		break;
	}
	assert(p->take); /* of a table with such an option */
	/* take() printed the error. */
	return p->take(p->args, options_name_of(s), optarg) ? 0 : -1 - EXIT_USAGE;
}

/* i: of the specs, behind which are --help and --log-level.  Returns 0, or -1 - exit status. */
static int use(const struct parsing *p, size_t i)
{
	if (i == p->n) {
		print_help(p->usage, p->specs, p->n);
		return -1 - EXIT_DONE;
	}
	if (i > p->n)
		return take_log_level(p->command, optarg);
	if (lacks_unit(&p->specs[i]))
		return -1 - fail(EXIT_USAGE, "%s: --%s: '%s' has no unit: %ss, %sm or %sh?",
				 p->command, options_name_of(&p->specs[i]), optarg, optarg, optarg,
				 optarg);
	return options_store(p, &p->specs[i]);
}

int options_parse(int argc, char **argv, const char *usage, const struct option_spec *specs,
		  size_t n, bool (*take)(void *arg, const char *name, const char *value),
		  void *args)
{
	const struct parsing p = {argv[0], usage, specs, n, take, args};
	_autofree_ struct option *o = long_options(specs, n);
	char chars[LETTERS_MAX];
	int at, c, r = 0;

	optind = 1;
	opterr = 0;
	while (r == 0 && (c = getopt_long(argc, argv, letters(specs, n, chars), o, &at)) != -1) {
		if (c != 0)
			at = c == 'h' ? (int)n : index_of(specs, n, c);
		if (at < 0)
			r = bad_option(c, argv[0], argv[optind - 1], o);
		else if (!is_whole(c, argv, &o[at]))
			r = bad_option('?', argv[0], typed(c, argv, &o[at]), o);
		else
			r = use(&p, (size_t)at);
	}
	return r < 0 ? r : optind;
}

/* --- how a user builds the targets of a source ---------------------------- */

enum { COMMAND_MAX = 1 << 16 };

/* Returns the path relative to top: "a/b" for "/src/a/b" and "/src". NULL: path is not below
 * top. */
static const char *origin_below(const char *path, const char *top)
{
	size_t n = strlen(top);

	return strncmp(path, top, n) == 0 && path[n] == '/' && path[n + 1] ? path + n + 1 : NULL;
}

static void origin_add_words(const struct strv *words, struct buf *out)
{
	for (size_t i = 0; i < words->n; i++) {
		buf_puts(out, i ? " " : "");
		shell_quote(words->v[i], out);
	}
}

/* dir: relative to the top; NULL: the top itself, or unknown. */
static void print_build(const struct config_source *s, const char *dir, struct buf *out)
{
	if (dir) {
		buf_puts(out, "(cd ");
		shell_quote(dir, out);
		buf_puts(out, " && ");
	}
	if (s->variants.n > 0)
		buf_printf(out, "SANITIZER=%s ", s->variant);
	if (s->build_shown)
		buf_puts(out, s->build_shown);
	else
		origin_add_words(&s->build, out);
	buf_puts(out, dir ? ")" : "");
	if (s->variants.n > 0)
		buf_puts(out, " # with CC, CFLAGS, OUT, ... as in an OSS-Fuzz build");
}

/* Describes how a user builds the targets of a configured source, and in which repository, for
 * discover_source.shown_build and .top. Both are new strings. NULL: the source has no `build`, or
 * is in no repository. */
static int origin_find(const struct config_source *s, char **ret_build, char **ret_top,
		       struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(COMMAND_MAX);
	_autofree_ char *top = NULL;
	int r;

	*ret_build = *ret_top = NULL;
	if (s->build.n == 0)
		return 0;
	if (s->build_dir && *s->build_dir == '/')
		top = fs_find_above(s->build_dir, ".git");
	print_build(s, top ? origin_below(s->build_dir, top) : NULL, &text);
	r = buf_check(&text, e);
	if (r < 0)
		return r;
	*ret_build = xstrdup(buf_str(&text));
	*ret_top = take_ptr(&top);
	return 0;
}

/* --- the configuration and the targets ------------------------------------ */

/* The state directory may hold the configuration, and the configuration may name the state
 * directory. The command line and the environment take precedence. */
static char *default_config(const struct common *c)
{
	const char *env = getenv("FUZZCELL_STATE_DIR");
	const char *home = getenv("HOME");
	_autofree_ char *path = NULL;

	if (c->state_dir)
		path = xasprintf("%s/config.json", c->state_dir);
	else if (env && *env)
		path = xasprintf("%s/config.json", env);
	else if (home)
		path = xasprintf("%s/.fuzzcell/config.json", home);
	return path && access(path, F_OK) == 0 ? take_ptr(&path) : NULL;
}

/* Hides the token before any program starts: no program inherits it, and no core file contains
 * it. */
static int hide_token(const struct config *c)
{
	const char *name = config_github(c)->token_env;
	struct err e;

	if (!name)
		return EXIT_DONE;
	token_protect_process();
	return token_env_take(name, &e) < 0 ? fail(EXIT_USAGE, "%s", e.msg) : EXIT_DONE;
}

const char *common_state_dir(const struct common *c)
{
	const char *env = getenv("FUZZCELL_STATE_DIR");

	if (c->state_dir || (env && *env))
		return c->state_dir;
	return config_state_dir(c->config);
}

int common_load_config(struct common *c)
{
	_autofree_ char *path = c->config_path ? NULL : default_config(c);
	struct err e;
	int r;

	if (config_load(c->config_path ? c->config_path : path, &c->config, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	r = hide_token(c->config);
	if (r == EXIT_DONE)
		return r;
	config_free(c->config);
	c->config = NULL;
	return r;
}

static int options_add_source(const struct discover_source *s, struct target_list *io)
{
	struct err e;
	int r = discover_add(s, io, &e);

	if (r == -ENOENT && s->shown_build)
		return fail(EXIT_USAGE, "%s (fuzzcell build makes it)", e.msg);
	return r < 0 ? fail(EXIT_USAGE, "%s", e.msg) : EXIT_DONE;
}

static int start_builder(struct common *c, struct err *e)
{
	char instance[STATE_INSTANCE_MAX];
	int r;

	if (c->builder)
		return 0;
	r = state_instance(common_state_dir(c), instance, e);
	return r < 0 ? r : builder_start(c->config, instance, false, &c->builder, e);
}

int common_git(void *arg, const char *top, const char *objects, const struct tool_group **ret,
	       struct err *e)
{
	struct common *c = arg;
	int r = start_builder(c, e);

	return r == 0 ? builder_git(c->builder, top, objects, ret, e) : r;
}

int common_group(struct common *c, const struct config_source *s, const struct tool_group **ret)
{
	struct err e;
	int r = start_builder(c, &e);

	if (r == 0)
		r = builder_group(c->builder, s, ret, &e);
	return r < 0 ? fail(EXIT_MACHINE, "%s", e.msg) : EXIT_DONE;
}

static enum target_role role_of(const struct config_source *src)
{
	static const enum target_role roles[BUILD_ROLE_COUNT] = {
	    [BUILD_ROLE_CHECK] = ROLE_CHECK,
	    [BUILD_ROLE_FUZZ] = ROLE_FUZZ,
	    [BUILD_ROLE_COVERAGE] = ROLE_COVERAGE,
	};
	const struct variants_known *k = src->is_main ? NULL : variants_known(src->variant);

	if (src->is_main)
		return ROLE_MAIN;
	if (src->role == BUILD_ROLE_AUTO ||
	    (src->variants.n > 0 && k && k->role == ROLE_COVERAGE)) /* of several builds */
		return k ? k->role : ROLE_CHECK;
	return roles[src->role];
}

int common_add_source(struct common *c, const struct config_source *src,
		      const struct discover_built *built, struct target_list *io)
{
	struct discover_source s = {
	    .type = src->type,
	    .path = src->path,
	    .variant = src->variant,
	    .role = role_of(src),
	    .bazel = src->bazel,
	    .query = src->query,
	    .startup = &src->bazel_startup,
	    .flags = &src->bazel_flags,
	    .as_root = src->build_as_root,
	    .built = built,
	};

	_autofree_ char *build = NULL, *top = NULL;
	_autostrv_ struct strv taken = {0};
	size_t n;
	const struct config_source *all = config_sources(c->config, &n);
	struct err e;
	int r;

	if (src->broken)
		return fail(EXIT_USAGE, "%s", src->broken);
	r = strcmp(src->type, "bazel") == 0 ? common_group(c, src, &s.group) : EXIT_DONE;

	if (r == EXIT_DONE && origin_find(src, &build, &top, &e) < 0)
		r = fail(EXIT_INTERNAL, "%s", e.msg);
	for (size_t k = 0; k < n; k++)
		strv_push(&taken, all[k].path);
	s.taken = &taken;
	s.shown_build = build;
	s.top = top;
	return r == EXIT_DONE ? options_add_source(&s, io) : r;
}

/* Not for Bazel workspaces: discovery reports their unbuilt targets itself. */
static bool made_later(const struct config_source *src)
{
	return src->build.n > 0 && strcmp(src->type, "bazel") != 0 && access(src->path, F_OK) < 0 &&
	       errno == ENOENT;
}

static int add_or_wait(struct common *c, const struct config_source *src, size_t i)
{
	char shown[ESCAPE_MAX];

	if (!c->before_build || !made_later(src))
		return common_add_source(c, src, c->built && i < c->n_built ? &c->built[i] : NULL,
					 &c->targets);
	printf("note: %s is missing: build it first (fuzzcell build)\n", escape(src->path, shown));
	return EXIT_DONE;
}

static bool is_manifest(const char *path)
{
	size_t n = strlen(path);

	return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

int common_find_targets(struct common *c)
{
	const struct config_source *src;
	int r = EXIT_DONE;
	size_t n;

	if (c->targets_dir) {
		const struct discover_source s = {
		    .type = is_manifest(c->targets_dir) ? "manifest" : "directory",
		    .path = c->targets_dir,
		};

		r = options_add_source(&s, &c->targets);
		variants_join(&c->targets);
		return r;
	}
	src = config_sources(c->config, &n);
	if (n == 0)
		return fail(EXIT_USAGE, "no targets: give --targets DIR, or \"discovery\" in the "
					"configuration (docs/configuration.md)");
	for (size_t i = 0; r == EXIT_DONE && i < n; i++)
		r = add_or_wait(c, &src[i], i);
	variants_join(&c->targets);
	builder_close(c->builder);
	c->builder = NULL;
	return r;
}

const struct target *common_target(const struct target_list *l, const char *name)
{
	return variants_find(l, name);
}

const char **common_target_names(const struct target_list *l, size_t *ret_n)
{
	const char **names;
	size_t n = l->n;

	for (size_t i = 0; i < l->n; i++)
		n += l->v[i].n_variants;
	names = xcalloc(n + 1, sizeof(*names));
	*ret_n = 0;
	for (size_t i = 0; i < l->n; i++) {
		names[(*ret_n)++] = l->v[i].name;
		for (size_t k = 0; k < l->v[i].n_variants; k++)
			names[(*ret_n)++] = l->v[i].variants[k].name;
	}
	return names;
}

void common_done(struct common *c)
{
	target_list_done(&c->targets);
	builder_close(c->builder);
	config_free(c->config);
}

/* --- paths for other commands --------------------------------------------- */

enum { PATH_LONGEST = 512 };

void common_paths_done(struct common_paths *p)
{
	free(p->config);
	free(p->state);
	*p = (struct common_paths){NULL, NULL};
}

static char *real_path(const char *path)
{
	char *real = realpath(path, NULL); /* allow: a user's path, not a target's */

	if (real && strlen(real) <= PATH_LONGEST)
		return real;
	free(real);
	return NULL;
}

/* Reports whether path is the default of a command, in ~/.fuzzcell. */
static bool is_usual(const char *path, const char *below)
{
	const char *home = getenv("HOME");
	_autofree_ char *usual = home ? xasprintf("%s/.fuzzcell%s", home, below) : NULL;
	_autofree_ char *real = usual ? real_path(usual) : NULL;

	return real && strcmp(real, path) == 0;
}

void common_paths_find(const struct common *c, const char *state_path, struct common_paths *ret)
{
	const char *env = getenv("FUZZCELL_STATE_DIR");
	_autofree_ char *config = NULL;
	bool named; /* the caller named the state directory */

	*ret = (struct common_paths){NULL, NULL};
	if (!c)
		return;
	named = c->state_dir || (env && *env);
	config = c->config_path ? real_path(c->config_path) : NULL;
	if (config && (named || !is_usual(config, "/config.json")))
		ret->config = take_ptr(&config);
	if (named && (ret->config || !is_usual(state_path, "")))
		ret->state = real_path(state_path);
}
