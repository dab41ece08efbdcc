/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/discover.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/targets/names.h"
#include "runner/targets/source.h"
#include "runner/targets/variants.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void target_done(struct target *t)
{
	free(t->name);
	free(t->binary);
	free(t->dir);
	free(t->dict);
	free(t->seed_archive);
	free(t->unbuilt);
	free(t->build);
	free(t->label);
	free(t->test);
	free(t->made);
	free(t->corpus);
	free(t->variant);
	free(t->of);
	for (size_t i = 0; i < t->n_variants; i++)
		target_done(&t->variants[i]);
	free(t->variants);
	strv_done(&t->seed_dirs);
	strv_done(&t->flags);
	strv_done(&t->env);
	*t = (struct target){0};
}

void discover_built_done(struct discover_built *b)
{
	strv_done(&b->labels);
	strv_done(&b->whys);
	*b = (struct discover_built){0};
}

void target_list_done(struct target_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		target_done(&l->v[i]);
	for (size_t i = 0; i < l->n_notes; i++) {
		free(l->notes[i].path);
		free(l->notes[i].why);
	}
	free(l->v);
	free(l->notes);
	*l = (struct target_list){0};
}

/* Makes space for one more element.  The capacity is always a power of two. */
static void *discover_grow(void *v, size_t n, size_t size)
{
	return n & (n - 1) ? v : xreallocarray(v, n ? 2 * n : 1, size);
}

int list_add_target(struct target_list *l, struct target *t, struct err *e)
{
	if (l->n >= DISCOVER_MAX_TARGETS) {
		target_done(t);
		return err_set(e, E2BIG, "more than %d targets", DISCOVER_MAX_TARGETS);
	}
	l->v = discover_grow(l->v, l->n, sizeof(*l->v));
	l->v[l->n++] = *t;
	*t = (struct target){0};
	return 0;
}

/* Warnings may use all of the limit, other notes only half. */
static bool discover_has_room(const struct target_list *l, bool warning)
{
	return l->n_notes < (warning ? DISCOVER_MAX_NOTES : DISCOVER_MAX_NOTES / 2);
}

static char *place_text(struct place at)
{
	char dir[ESCAPE_ASCII_MAX], name[ESCAPE_ASCII_MAX] = "", line[16] = "";

	escape_ascii(slice_of(at.dir), dir);
	if (at.name)
		escape_ascii(slice_of(at.name), name);
	if (at.line)
		snprintf(line, sizeof(line), ":%u", at.line);
	return xasprintf("%s%s%s%s", dir, at.name ? "/" : "", name, line);
}

void list_note(struct target_list *l, struct place at, bool warning, const char *fmt, ...)
{
	char why[ESCAPE_ASCII_MAX], shown[ESCAPE_ASCII_MAX];
	va_list ap;

	if (!discover_has_room(l, warning)) {
		l->notes_dropped++;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	l->notes = discover_grow(l->notes, l->n_notes, sizeof(*l->notes));
	l->notes[l->n_notes++] = (struct discover_note){
	    place_text(at), xstrdup(escape_ascii(slice_of(why), shown)), warning};
}

static int discover_by_name(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int discover_twice(const struct target *a, const struct target *b, struct err *e)
{
	return err_set(e, EEXIST, "two targets are named '%s': '%s' and '%s'", a->name, a->binary,
		       b->binary);
}

/* Sorts fresh.  *ret_replaced: the number of missing targets of old that fresh contains. */
static int discover_check_names(struct target_list *fresh, const struct target_list *old,
				size_t *ret_replaced, struct err *e)
{
	*ret_replaced = 0;
	if (fresh->n == 0)
		return 0;
	qsort(fresh->v, fresh->n, sizeof(*fresh->v), discover_by_name);
	for (size_t i = 0; i + 1 < fresh->n; i++)
		if (discover_by_name(&fresh->v[i], &fresh->v[i + 1]) == 0)
			return discover_twice(&fresh->v[i], &fresh->v[i + 1], e);
	for (size_t i = 0; i < fresh->n && old->n > 0; i++) {
		const struct target *other =
		    bsearch(&fresh->v[i], old->v, old->n, sizeof(*old->v), discover_by_name);

		if (other && !other->missing)
			return discover_twice(other, &fresh->v[i], e);
		*ret_replaced += other != NULL;
	}
	return 0;
}

static bool is_listed(const struct target_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].name, name) == 0)
			return true;
	return false;
}

/* Drops missing targets of io that fresh contains: another source may make the target now. */
static void drop_missing(struct target_list *io, const struct target_list *fresh)
{
	size_t n = 0;

	for (size_t i = 0; i < io->n; i++) {
		if (io->v[i].missing && is_listed(fresh, io->v[i].name))
			target_done(&io->v[i]);
		else
			io->v[n++] = io->v[i];
	}
	io->n = n;
}

/* Moves all elements of fresh into io. */
static int discover_merge(struct target_list *io, struct target_list *fresh, struct err *e)
{
	size_t replaced;
	int r = discover_check_names(fresh, io, &replaced, e);

	if (r < 0)
		return r;
	if (io->n - replaced + fresh->n > DISCOVER_MAX_TARGETS)
		return err_set(e, E2BIG, "more than %d targets", DISCOVER_MAX_TARGETS);
	drop_missing(io, fresh);
	io->v = xreallocarray(io->v, io->n + fresh->n + 1, sizeof(*io->v));
	io->notes = xreallocarray(io->notes, io->n_notes + fresh->n_notes + 1, sizeof(*io->notes));
	for (size_t i = 0; i < fresh->n; i++)
		io->v[io->n++] = fresh->v[i];
	fresh->n = 0;
	if (io->n > 0)
		qsort(io->v, io->n, sizeof(*io->v), discover_by_name);
	io->notes_dropped += fresh->notes_dropped;
	io->partial |= fresh->partial;
	for (size_t i = 0; i < fresh->n_notes; i++) {
		if (discover_has_room(io, fresh->notes[i].warning)) {
			io->notes[io->n_notes++] = fresh->notes[i];
			fresh->notes[i] = (struct discover_note){0};
		} else {
			io->notes_dropped++;
		}
	}
	return 0;
}

/* Adds a note with the names of the old targets, as many as fit on a line. */
static void name_old(const struct discover_source *s, struct target_list *l, size_t n)
{
	char names[300] = "";
	size_t at = 0, named = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (!l->v[i].unbuilt || at + strlen(l->v[i].name) + 3 > sizeof(names))
			continue;
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", named++ ? ", " : "",
				       l->v[i].name);
	}
	list_note(l, (struct place){.dir = s->path}, true,
		  "the build failed and did not write these again: %s%s; they are not "
		  "fuzzed, because they may be the cause (a build into an empty directory "
		  "that continues after errors shows the cause: docs/discovery.md)",
		  names, named < n ? ", ..." : "");
}

/* After a failed build: marks programs that it did not write again.  They may be older than the
 * change that broke the build. */
static void set_old_apart(const struct discover_source *s, struct target_list *l)
{
	uint64_t fresh_us = s->built->fresh_us;
	struct stat st;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (fstatat(AT_FDCWD, l->v[i].binary, &st, 0) == 0 &&
		    (uint64_t)st.st_ctim.tv_sec * USEC_PER_SEC +
			    (uint64_t)st.st_ctim.tv_nsec / 1000 >=
			fresh_us)
			continue;
		n++;
		source_unbuilt(&l->v[i], "the build failed, and this is an older one");
	}
	if (n > 0)
		name_old(s, l, n);
}

/* Makes a source's target a build of the source's variant. */
static void set_variant(const struct discover_source *s, struct target_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct target *t = &l->v[i];
		char *name = xasprintf("%s@%s", t->name, s->variant);

		t->variant = xstrdup(s->variant);
		t->role = s->role;
		if (s->role == ROLE_MAIN) {
			free(name);
		} else if (!names_target_ok(slice_of(name))) {
			list_note(l, (struct place){.dir = t->binary}, true,
				  "not used: '%.200s' is longer than %d bytes", name,
				  NAMES_TARGET_MAX);
			free(name);
			target_done(t);
			continue;
		} else {
			t->of = t->name;
			t->name = name;
		}
		l->v[n++] = *t;
	}
	l->n = n;
}

/* After a failed build: adds the targets of an earlier build that this build did not make, and that
 * no earlier source has. */
static int add_missing(const struct discover_source *s, const struct target_list *before,
		       struct target_list *l, struct err *e)
{
	const struct discover_built *b = s->built;
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->labels.n && i < b->whys.n; i++) {
		struct target t = {.engine = engine_at(0), .missing = true};

		if (!names_target_ok(slice_of(b->labels.v[i])) || is_listed(l, b->labels.v[i]) ||
		    (s->role == ROLE_MAIN && is_listed(before, b->labels.v[i])))
			continue;
		t.name = xstrdup(b->labels.v[i]);
		t.binary = xasprintf("%s/%s", s->path, b->labels.v[i]);
		source_unbuilt(&t, "%s", b->whys.v[i]);
		r = list_add_target(l, &t, e);
	}
	return r;
}

static int discover_add_rights(const struct rights *r, struct err *e)
{
	const struct err was = *e;

	if (!r->other || (was.code != EACCES && was.code != EPERM))
		return -was.code;
	if (r->mixed)
		return err_set(
		    e, was.code,
		    "%.380s (opened with the rights that every user has: several users own parts "
		    "of the path)",
		    was.msg);
	return err_set(e, was.code,
		       "%.380s (opened with the rights of user %u, who owns a part of the path)",
		       was.msg, (unsigned)r->uid);
}

/* Finds the tree that limits a manifest's paths.  A user who may push to a work tree chooses these
 * paths and links, and can see the files as seeds.  A build outside of a cell can read as much, but
 * not every tree has a build.  Other types of sources follow no link that leads out. */
static int find_tree(const struct discover_source *s, struct rights *io, struct err *e)
{
	_autofree_ char *path = NULL;
	_autofree_ char *top = NULL;
	_autoclose_ int fd = -1;
	struct rights ignored;
	int r;

	if (strcmp(s->type, "manifest") != 0)
		return 0;
	/* Use the path as written: a push or a build may have replaced the manifest with a link. */
	top = fs_find_above(s->path, ".git");
	if (top) {
		r = rights_set_tree(io, top, e);
		return r < 0 ? r : rights_of_named(io, s->path, &ignored, e);
	}
	fd = sys_openat(AT_FDCWD, s->path, O_PATH, 0);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open '%s'", s->path);
	r = source_fd_path(fd, &path, e);
	if (r == 0)
		top = fs_find_above(path, ".git");
	return r < 0 || !top ? r : rights_set_tree(io, top, e);
}

/* Checks the paths that a manifest names.  Each use of a path checks it again. */
static int check_named(const struct target *t, struct err *e)
{
	const char *const paths[] = {t->dir, t->dict, t->seed_archive};
	struct rights ignored;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(paths) / sizeof(paths[0]); i++)
		if (paths[i])
			r = rights_of_named(&t->rights, paths[i], &ignored, e);
	for (size_t i = 0; r == 0 && i < t->seed_dirs.n; i++)
		r = rights_of_named(&t->rights, t->seed_dirs.v[i], &ignored, e);
	return r < 0 ? err_wrap(e, "target \"%s\"", t->name) : 0;
}

/* Runs fn with the rights of the user who controls the source: root must not open files for a user
 * who could not open them. */
static int discover_as_owner(const struct discover_source *s, source_fn *fn,
			     struct target_list *out, struct err *e)
{
	_autorights_ struct rights_back back = {0};
	struct rights rights;
	int r = rights_of(s->path, &rights, e);

	if (r == 0)
		r = rights_take(&rights, &back, e);
	if (r == 0)
		r = find_tree(s, &rights, e);
	if (r < 0)
		return r;
	r = fn(s, out, e);
	for (size_t i = 0; i < out->n; i++)
		out->v[i].rights = rights;
	for (size_t i = 0; r == 0 && rights.tree_ino && i < out->n; i++)
		r = check_named(&out->v[i], e);
	if (r == -EXDEV)
		return err_wrap(e, "%s", s->path);
	return r < 0 ? discover_add_rights(&rights, e) : 0;
}

/* The path relative to top, if a shell needs no quotes for it; else NULL. */
static const char *plain_below(const char *path, const char *top)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_=/:.,+@%-";
	size_t n = strlen(top);

	return strncmp(path, top, n) == 0 && path[n] == '/' && path[n + 1] &&
		       path[n + strspn(path + n, plain)] == '\0'
		   ? path + n + 1
		   : NULL;
}

static void discover_set_build(const struct discover_source *s, struct target *t)
{
	const char *made = s->top ? plain_below(t->binary, s->top) : NULL;

	if (t->build)
		return;
	t->build = xstrdup(s->shown_build);
	if (made)
		t->made = xasprintf("%s%s", strchr(made, '/') ? "" : "./", made);
}

static bool has_missing(const struct discover_source *s)
{
	return s->built && s->built->labels.n > 0 && strcmp(s->type, "directory") == 0;
}

/* Whether the last build of a variant failed.  The main builds are fuzzed without it. */
static bool is_failed_variant(const struct discover_source *s)
{
	return s->variant && s->role != ROLE_MAIN && s->built && s->built->fresh_us;
}

static int discover_read(const struct discover_source *s, source_fn *fn, struct target_list *ret,
			 struct err *e)
{
	int r = discover_as_owner(s, fn, ret, e);

	if (r == -ENOENT && has_missing(s)) /* a failed build removed the directory */
		return 0;
	if (r < 0 && is_failed_variant(s)) {
		target_list_done(ret);
		if (r != -ENOENT)
			list_note(ret, (struct place){.dir = s->path}, true, "not used: %s",
				  e->msg);
		return 0;
	}
	return r;
}

static int discover_add_source(const struct discover_source *s, source_fn *fn,
			       struct target_list *io, struct err *e)
{
	CLEANUP(target_list_done) struct target_list fresh = {0};
	int r = discover_read(s, fn, &fresh, e);

	if (r == 0 && s->built && s->built->fresh_us)
		set_old_apart(s, &fresh);
	if (r == 0 && has_missing(s))
		r = add_missing(s, io, &fresh, e);
	if (r == 0 && fresh.n == 0 && is_failed_variant(s))
		list_note(&fresh, (struct place){.dir = s->path}, true,
			  "the build of the variant '%s' failed and made no target", s->variant);
	if (r == 0 && s->variant)
		set_variant(s, &fresh);
	for (size_t i = 0; r == 0 && s->shown_build && i < fresh.n; i++)
		discover_set_build(s, &fresh.v[i]);
	if (r == 0)
		r = discover_merge(io, &fresh, e);
	return r < 0 ? err_wrap(e, "%s", s->path) : 0;
}

static int discover_add_one(const struct discover_source *s, struct target_list *io, struct err *e)
{
	static const struct {
		const char *type;
		source_fn *fn;
	} sources[] = {
	    {"directory", discover_directory},
	    {"manifest", discover_manifest},
	    {"bazel", discover_bazel},
	};

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (strcmp(sources[i].type, s->type) == 0)
			return discover_add_source(s, sources[i].fn, io, e);
	return err_set(e, EINVAL, "'%s': unknown type of source (directory, manifest or bazel)",
		       s->type);
}

/* --- directories with the names of sanitizers, side by side ------------------------- */

/* Whether the same users control both paths: another user's program must not get the corpus of this
 * user's target. */
static bool same_users(const char *a, const char *b)
{
	struct rights x, y;
	struct err e;

	return rights_of(a, &x, &e) == 0 && rights_of(b, &y, &e) == 0 && x.other == y.other &&
	       x.mixed == y.mixed && (!x.other || x.uid == y.uid);
}

static bool is_taken(const struct discover_source *s, const char *path)
{
	size_t n = strlen(path);

	for (size_t i = 0; s->taken && i < s->taken->n; i++) {
		const char *other = s->taken->v[i];

		if (strncmp(other, path, n) == 0 && strspn(other + n, "/") == strlen(other + n))
			return true;
	}
	return false;
}

/* Adds the builds in top/<name> of each known name but the main build's.  These directories were
 * not configured, so a mistake in one is a warning. */
static void add_siblings(const struct discover_source *s, const char *top, const char *main,
			 struct target_list *io)
{
	const struct variants_known *k;

	for (size_t i = 0; (k = variants_known_at(i)); i++) {
		_autofree_ char *path = xasprintf("%s/%s", top, k->name);
		struct discover_source one = *s;
		struct discover_built built = {0};
		struct err e;

		if (strcmp(k->name, main) == 0 || !variants_is_dir(path) || is_taken(s, path))
			continue;
		if (!same_users(s->path, path)) {
			list_note(io, (struct place){.dir = path}, true,
				  "not used: other users control it than '%s'", s->path);
			continue;
		}
		one.path = path;
		one.variant = k->name;
		one.role = k->role;
		one.built = s->built ? &built : NULL;
		built.fresh_us = s->built ? s->built->fresh_us : 0;
		if (discover_add_one(&one, io, &e) < 0)
			list_note(io, (struct place){.dir = path}, true, "not used: %s", e.msg);
	}
}

/* The known name that is the last part of the path; NULL: another name. */
static const struct variants_known *named_by(const char *path)
{
	const char *slash = strrchr(path, '/');

	return variants_known(slash ? slash + 1 : path);
}

/* Whether the directory itself has programs that are targets.  A mistake is found again later. */
static bool has_targets(const struct discover_source *s)
{
	CLEANUP(target_list_done) struct target_list l = {0};
	struct err e;

	return discover_as_owner(s, discover_directory, &l, &e) < 0 || l.n > 0;
}

static int add_directory(const struct discover_source *s, struct target_list *io, struct err *e)
{
	_autofree_ char *path = xstrdup(s->path), *below = NULL;
	const struct variants_known *main;
	struct discover_source one = *s;
	int r;

	for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
		path[n - 1] = '\0';
	below = variants_main_dir(path);
	if (below && has_targets(s)) {
		free(below);
		below = NULL;
	}
	if (below) /* out: its builds are in out/address, ... */
		one.path = below;
	main = named_by(below ? below : path); /* out/address: others are beside it */
	if (!below && !main)
		return discover_add_one(s, io, e);
	one.variant = main->name;
	r = discover_add_one(&one, io, e);
	if (r < 0)
		return r;
	if (!below) {
		char *slash = strrchr(path, '/');

		if (!slash)
			snprintf(path, strlen(path) + 1, ".");
		else
			slash[slash == path] = '\0';
	}
	add_siblings(s, path, main->name, io);
	return 0;
}

int discover_add(const struct discover_source *s, struct target_list *io, struct err *e)
{
	if (strcmp(s->type, "directory") == 0 && !s->variant)
		return add_directory(s, io, e);
	return discover_add_one(s, io, e);
}

/* --- shared by the sources -------------------------------------------------- */

void source_unbuilt(struct target *t, const char *fmt, ...)
{
	char why[ESCAPE_ASCII_MAX], shown[ESCAPE_ASCII_MAX];
	char *built;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (t->unbuilt)
		return;
	t->unbuilt = xstrdup(escape_ascii(slice_of(why), shown));
	built = t->binary;
	t->binary = xasprintf("%s.unbuilt", built);
	free(built);
}

int source_fd_path(int fd, char **ret, struct err *e)
{
	char link[40], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (n < 0)
		return err_sys(e, "read link '%s'", link);
	if (n == (ssize_t)sizeof(path))
		return err_set(e, ENAMETOOLONG, "the path of an open file");
	*ret = xstrndup(path, (size_t)n);
	return 0;
}

struct noting {
	struct target_list *list;
	struct place at;
};

static void note_line(void *arg, unsigned line, bool warning, const char *why)
{
	struct noting *n = arg;

	n->at.line = line;
	list_note(n->list, n->at, warning, "%s", why);
}

int source_options(struct target_list *l, struct place at, int fd, const struct engine_ops *engine,
		   struct optfile *ret, struct err *e)
{
	struct noting n = {.list = l, .at = at};
	_autofree_ char *text = xmalloc(OPTFILE_MAX + 1);
	size_t len = 0;
	ssize_t got = 1;

	*ret = (struct optfile){0};
	while (got > 0 && len <= OPTFILE_MAX) {
		got = sys_pread(fd, text + len, OPTFILE_MAX + 1 - len, (off_t)len);
		if (got < 0) {
			list_note(l, at, true, "cannot be read: %s", strerror(errno));
			return 0;
		}
		len += (size_t)got;
	}
	if (len > OPTFILE_MAX) {
		list_note(l, at, true, "more than %d bytes: not used", OPTFILE_MAX);
		return 0;
	}
	return optfile_parse((struct slice){text, len}, engine, note_line, &n, ret, e);
}

void source_use_options(struct target *t, struct optfile *o)
{
	t->flags = o->flags;
	t->env = o->env;
	t->input_timeout_s = o->input_timeout_s;
	t->rss_limit_mib = o->rss_limit_mib;
	o->flags = o->env = (struct strv){0};
}
