/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/bazel/files.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/targets/bazel/label.h"
#include "runner/targets/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 8 }; /* groups in groups */

/* The files of one entry of "data". */
struct group {
	char dir[BAZEL_LABEL_MAX + 1]; /* the deepest one that has all; with files > 0 */
	uint64_t files;
};

struct search {
	const struct bazel *b;
	const struct bazel_graph *g;
	const char *label;
	struct target *t;
	struct target_list *notes;
	struct strv dicts;  /* labels */
	struct group loose; /* files that are in "data" themselves */
	uint64_t *io_steps;
};

static void search_done(struct search *s)
{
	strv_done(&s->dicts);
}

static bool ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n > m && strcmp(s + n - m, with) == 0;
}

/* --- files --------------------------------------------------------------------------- */

/* Shortens to what both paths begin with, whole components. */
static void common(char *dir, const char *other)
{
	size_t whole = 0;

	for (size_t n = 0;; n++) {
		if ((!dir[n] || dir[n] == '/') && (!other[n] || other[n] == '/'))
			whole = n;
		if (dir[n] != other[n] || !dir[n])
			break;
	}
	dir[whole] = '\0';
}

static int add_file(struct search *s, const char *label, struct group *to, struct err *e)
{
	_autofree_ char *path = NULL;
	char *slash;

	if (ends(label, ".dict"))
		return strv_add(&s->dicts, label, e);
	path = bazel_label_path(label);
	if (!path)
		return err_sys(e, "allocate a path");
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	else
		*path = '\0';
	if (to->files++ == 0)
		snprintf(to->dir, sizeof(to->dir), "%s", path);
	else
		common(to->dir, path);
	return 0;
}

/* A group's files, and those of the groups in it. */
static int walk(struct search *s, const char *label, unsigned depth, struct group *to,
		struct err *e)
{
	const struct bazel_rule *rule;
	int r = 0;

	if (++*s->io_steps > BAZEL_STEPS_MAX)
		return err_set(e, ELOOP, "%s: too many data to look through", s->label);
	if (bazel_graph_is_file(s->g, label))
		return add_file(s, label, to, e);
	rule = bazel_graph_find(s->g, label);
	if (!rule || depth == DEPTH_MAX)
		return 0; /* made by a build: no corpus in the tree */
	for (size_t i = 0; r == 0 && i < rule->members.n; i++)
		r = walk(s, rule->members.v[i], depth + 1, to, e);
	return r;
}

/* --- corpora ------------------------------------------------------------------------- */

static bool has_build_file(int fd)
{
	return faccessat(fd, "BUILD", F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
	       faccessat(fd, "BUILD.bazel", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* Sources stand beside a BUILD file, and would become inputs, too; a directory high up has
 * much that is no input.  files 0: it need not be looked at. */
static int holds_more(int fd, uint64_t files, bool *ret, struct err *e)
{
	enum { BESIDE = 3, SOME = 16 }; /* BUILD, a dictionary, a README */
	uint64_t most = has_build_file(fd) ? files + BESIDE : 2 * files + SOME;
	struct fs_usage u;
	int r = files ? fs_usage(fd, 0, most + 1, &u, e) : 0;

	*ret = files && r == 0 && u.files > most;
	return r;
}

/* Takes the directory, a path from the workspace, when it is one of inputs. */
static int take_dir(struct search *s, const char *dir, uint64_t files, struct err *e)
{
	struct place at = {.dir = s->label};
	_autofree_ char *real = NULL;
	_autofree_ char *path = sys_asprintf("%s/%s", s->b->dir, dir);
	_autoclose_ int fd = -1;
	bool more;
	int r;

	if (!path)
		return err_sys(e, "allocate a path");
	fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return list_note(s->notes, at, true, e, "its corpus '%s': %s", dir,
				 strerror(errno));
	r = source_fd_path(fd, &real, e);
	if (r < 0)
		return r;
	if (!is_below(real, s->b->dir))
		return *dir ? list_note(s->notes, at, true, e,
					"its corpus '%s' leads out of the workspace: not used", dir)
			    : 0;
	r = holds_more(fd, files, &more, e);
	if (r < 0)
		return r;
	if (more)
		return list_note(s->notes, at, false, e,
				 "'%s' has more than its data in it: no corpus", dir);
	for (size_t i = 0; i < s->t->seed_dirs.n; i++)
		if (strcmp(s->t->seed_dirs.v[i], real) == 0)
			return 0;
	return strv_add(&s->t->seed_dirs, real, e);
}

static int take_group(struct search *s, const char *label, struct err *e)
{
	struct group group = {.files = 0};
	int r;

	if (bazel_graph_is_file(s->g, label))
		return add_file(s, label, &s->loose, e);
	r = walk(s, label, 0, &group, e);
	if (r < 0 || group.files == 0 || !*group.dir)
		return r;
	return take_dir(s, group.dir, group.files, e);
}

static bool says_corpus(const char *label)
{
	return strstr(label, "corpus") || strstr(label, "seed");
}

/* What a target needs to run may be in its data, too: when some are called a corpus, these
 * are. */
static int take_data(struct search *s, const struct bazel_rule *rule, struct err *e)
{
	bool named = false;
	int r = 0;

	for (size_t i = 0; i < rule->data.n; i++)
		named = named || (!bazel_graph_is_file(s->g, rule->data.v[i]) &&
				  says_corpus(rule->data.v[i]));
	for (size_t i = 0; r == 0 && i < rule->data.n; i++) {
		const char *label = rule->data.v[i];

		if (!named || says_corpus(label) || ends(label, ".dict") || strstr(label, "dict"))
			r = take_group(s, label, e);
	}
	if (r == 0 && s->loose.files > 0 && s->t->seed_dirs.n == 0 && *s->loose.dir)
		r = take_dir(s, s->loose.dir, s->loose.files, e);
	s->loose.files = 0;
	return r;
}

/* Made by the same call of a macro.  Called without name = "...", a macro gives each of its
 * rules a name of its own: then it is one that begins alike. */
static bool are_siblings(const struct bazel_rule *a, const struct bazel_rule *b)
{
	char name[2][NAMES_TARGET_MAX + 1];

	if (a == b || !a->function || !b->function || !a->where || !b->where ||
	    strcmp(a->where, b->where) != 0 || strcmp(a->function, b->function) != 0)
		return false;
	if (a->generator && b->generator && strcmp(a->generator, b->generator) == 0)
		return true;
	bazel_label_target(a->label, false, name[0]);
	bazel_label_target(b->label, false, name[1]);
	return *name[0] && strncmp(name[0], name[1], strlen(name[0])) == 0;
}

static int take_siblings(struct search *s, const struct bazel_rule *rule, struct err *e)
{
	int r = 0;

	*s->io_steps += s->g->n;
	for (size_t i = 0; r == 0 && i < s->g->n && s->t->seed_dirs.n == 0; i++)
		if (are_siblings(rule, &s->g->rules[i]))
			r = take_data(s, &s->g->rules[i], e);
	return r;
}

static int take_by_name(struct search *s, struct err *e)
{
	struct bazel_parts p = bazel_label_parts(s->label);
	char name[NAMES_TARGET_MAX + 1];
	_autofree_ char *dir = NULL;
	_autofree_ char *path = NULL;
	struct stat st;

	bazel_label_target(s->label, false, name);
	dir = sys_asprintf("%.*s%s%s_corpus", (int)p.package.n, p.package.p, p.package.n ? "/" : "",
			   name);
	path = dir ? sys_asprintf("%s/%s", s->b->dir, dir) : NULL;
	if (!path)
		return err_sys(e, "allocate a path");
	if (!*name || fstatat(AT_FDCWD, path, &st, 0) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	return take_dir(s, dir, 0, e);
}

/* --- dictionary, flags --------------------------------------------------------------- */

static int use_dict(struct search *s, const char *path, struct err *e)
{
	struct place at = {.dir = s->label};
	_autofree_ char *full = sys_asprintf("%s/%s", s->b->dir, path);
	_autofree_ char *real = NULL;
	_autoclose_ int fd = -1;
	struct stat st;
	int r;

	if (!full)
		return err_sys(e, "allocate a path");
	fd = sys_openat(AT_FDCWD, full, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0 || fstat(fd, &st) < 0)
		return list_note(s->notes, at, true, e, "its dictionary '%s': %s", path,
				 strerror(errno));
	r = source_fd_path(fd, &real, e);
	if (r < 0)
		return r;
	if (!S_ISREG(st.st_mode) || !is_below(real, s->b->dir))
		return list_note(s->notes, at, true, e,
				 "its dictionary '%s' is no file of the workspace: not used", path);
	free(s->t->dict);
	s->t->dict = take_ptr(&real);
	return 0;
}

/* The dictionary in its data that a name within its package, or a label, ends with. */
static const char *dict_called(const struct search *s, struct slice name)
{
	for (size_t i = 0; i < s->dicts.n; i++) {
		struct slice have = bazel_label_parts(s->dicts.v[i]).name;

		if (name.n >= have.n && memcmp(name.p + name.n - have.n, have.p, have.n) == 0)
			return s->dicts.v[i];
	}
	return NULL;
}

/* "$(location :a.dict)", "$(rootpath a.dict)", which must be in its data, or a path from
 * the workspace. */
static int dict_of_flag(struct search *s, struct slice value, struct err *e)
{
	_autofree_ char *path = NULL;
	const char *label = NULL;
	struct slice kind, name;

	if (!scan_lit(&value, SLICE("$("))) {
		path = sys_strndup(value.p, value.n);
		return path ? use_dict(s, path, e) : err_sys(e, "allocate a path");
	}
	if (scan_until(&value, ' ', 32, &kind)) {
		scan_blanks(&value);
		label =
		    scan_until(&value, ')', BAZEL_LABEL_MAX, &name) ? dict_called(s, name) : NULL;
	}
	if (!label)
		return list_note(s->notes, (struct place){.dir = s->label}, true, e,
				 "its args name a dictionary that is not in its data");
	path = bazel_label_path(label);
	return path ? use_dict(s, path, e) : err_sys(e, "allocate a path");
}

/* What a rule's "args" say, which `bazel run` gives to the program. */
static int take_arg(struct search *s, const char *arg, struct optfile *io, struct err *e)
{
	struct slice flag = slice_of(arg), key;
	char why[OPTFILE_WHY_MAX];
	bool taken;
	int r;

	if (!scan_lit(&flag, SLICE("-")) || !scan_until(&flag, '=', OPTFILE_KEY_MAX, &key) ||
	    !scan_lit(&flag, SLICE("=")))
		return 0;
	if (slice_eq(key, SLICE("dict")))
		return dict_of_flag(s, flag, e);
	r = optfile_flag(io, s->t->engine, key, flag, &taken, why, e);
	if (r == 0 && !taken)
		r = list_note(s->notes, (struct place){.dir = s->label}, true, e, "args: '%s': %s",
			      arg, why);
	return r;
}

static int take_args(struct search *s, const struct bazel_rule *rule, struct err *e)
{
	CLEANUP(optfile_done) struct optfile options = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < rule->args.n; i++)
		r = take_arg(s, rule->args.v[i], &options, e);
	if (r == 0)
		source_use_options(s->t, &options);
	return r;
}

/* -dict= was first; else the one that is called as the target is, else the only one. */
static int choose_dict(struct search *s, struct err *e)
{
	const char *best = s->dicts.n == 1 ? s->dicts.v[0] : NULL;
	_autofree_ char *path = NULL;

	for (size_t i = 0; !best && i < s->dicts.n; i++) {
		struct slice name = bazel_label_parts(s->dicts.v[i]).name;
		size_t n = strlen(s->t->name);

		if (name.n == n + 5 && memcmp(name.p, s->t->name, n) == 0)
			best = s->dicts.v[i];
	}
	if (!best && s->dicts.n > 0)
		return list_note(s->notes, (struct place){.dir = s->label}, true, e,
				 "%zu dictionaries in its data, none of them %s.dict: not used",
				 s->dicts.n, s->t->name);
	if (!best)
		return 0;
	path = bazel_label_path(best);
	return path ? use_dict(s, path, e) : err_sys(e, "allocate a path");
}

int bazel_files(const struct bazel *b, const struct bazel_graph *g, const char *label,
		struct target *t, struct target_list *notes, uint64_t *io_steps, struct err *e)
{
	const struct bazel_rule *rule = bazel_graph_find(g, label);
	CLEANUP(search_done)
	struct search s = {
	    .b = b, .g = g, .label = label, .t = t, .notes = notes, .io_steps = io_steps};
	int r = rule ? take_data(&s, rule, e) : 0;

	if (r == 0 && rule && t->seed_dirs.n == 0)
		r = take_siblings(&s, rule, e);
	if (r == 0 && t->seed_dirs.n == 0)
		r = take_by_name(&s, e);
	if (r == 0 && rule)
		r = take_args(&s, rule, e);
	return r == 0 && !t->dict ? choose_dict(&s, e) : r;
}
