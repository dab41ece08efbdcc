/* SPDX-License-Identifier: Apache-2.0 */
/* An OSS-Fuzz style output directory.  It may be hostile.  Links must not lead out of it, because a
 * cell shows no more.  Types are checked before a file is opened, and no open file can block us. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/targets/names.h"
#include "runner/targets/source.h"
#include "runner/targets/tests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A file beside a target, or a directory of seeds. */
struct side {
	const char *name; /* in scan.names */
	struct slice target;
	enum names_side kind; /* SIDE_NONE: a directory of seeds */
	bool used;
};

struct scan {
	const char *path;   /* as in the configuration */
	char *real;	    /* absolute */
	int fd;		    /* the directory */
	struct strv names;  /* sorted */
	struct side *sides; /* in the order of names */
	size_t n_sides;
	uint64_t searched;
	struct target_list *out;
};

static struct place scan_place(const struct scan *s, const char *name)
{
	return (struct place){.dir = s->path, .name = name};
}

/* --- a file of the directory --------------------------------------------------- */

/* The file or directory behind a name.  fd -1: not usable, for the reason in why ("": it no longer
 * exists). */
struct found {
	int fd;
	bool is_dir;
	bool warning;
	char why[200];
	char *real; /* absolute path without links; below scan.real */
};

static void found_done(struct found *f)
{
	close_p(&f->fd);
	free(f->real);
}

/* Closes f and sets why. */
__attribute__((format(printf, 3, 4))) static void found_refuse(struct found *f, bool warning,
							       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->why, sizeof(f->why), fmt, ap);
	va_end(ap);
	f->warning = warning;
	close_p(&f->fd);
	f->fd = -1;
}

static bool found_is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* Accepts only regular files and directories.  Other types must not even be opened. */
static bool type_ok(const struct scan *s, const char *name, struct found *f)
{
	struct stat st;

	if (fstatat(s->fd, name, &st, 0) < 0) {
		if (errno == ELOOP)
			found_refuse(f, true, "a loop of symbolic links");
		else if (errno == ENOENT && fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			found_refuse(f, true, "a symbolic link to nothing");
		else if (errno != ENOENT)
			found_refuse(f, true, "cannot be examined: %s", strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		found_refuse(f, false, "neither a file nor a directory");
		return false;
	}
	return true;
}

/* Opens name if it is a regular file or a directory below the scanned directory.  If not, *ret has
 * the reason, and the result is 0.  Negative: a system error. */
static int scan_open(const struct scan *s, const char *name, struct found *ret, struct err *e)
{
	struct stat st;
	int r;

	*ret = (struct found){.fd = -1};
	if (!type_ok(s, name, ret))
		return 0;
	/* O_NONBLOCK: the file may have been replaced by a FIFO. */
	ret->fd = sys_openat(s->fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (ret->fd < 0) {
		found_refuse(ret, true, "cannot be opened: %s", strerror(errno));
		return 0;
	}
	if (fstat(ret->fd, &st) < 0) {
		found_refuse(ret, true, "cannot be examined: %s", strerror(errno));
		return 0;
	}
	ret->is_dir = S_ISDIR(st.st_mode);
	if (!ret->is_dir && !S_ISREG(st.st_mode)) {
		found_refuse(ret, true, "changed its type while it was read");
		return 0;
	}
	r = source_fd_path(ret->fd, &ret->real, e);
	if (r < 0)
		return r;
	if (!found_is_below(ret->real, s->real))
		found_refuse(ret, !ret->is_dir && (st.st_mode & 0111),
			     "leads out of the directory, where a cell sees nothing");
	return 0;
}

/* --- the side files of a target: seeds, dictionary, options -------------------- */

/* Number of orphans that get a "did you mean".  The time of these guesses is proportional to
 * orphans times targets. */
enum { GUESSES_MAX = 64 };

static int sides_by_name(const void *key, const void *side)
{
	const struct side *s = side;

	return strcmp(key, s->name);
}

static struct side *find_side(struct scan *s, const char *name)
{
	if (s->n_sides == 0)
		return NULL;
	return bsearch(name, s->sides, s->n_sides, sizeof(*s->sides), sides_by_name);
}

/* Finds the side file target+suffix.  *ret_side NULL: no such file.  f->fd -1: the file is not
 * usable, and a note says why. */
static int sides_find(struct scan *s, const char *target, const char *suffix, bool dir,
		      struct side **ret_side, struct found *f, struct err *e)
{
	_autofree_ char *name = xasprintf("%s%s", target, suffix);
	int r;

	*ret_side = find_side(s, name);
	if (!*ret_side)
		return 0;
	(*ret_side)->used = true;
	r = scan_open(s, name, f, e);
	if (r < 0)
		return r;
	if (f->fd >= 0 && f->is_dir != dir)
		found_refuse(f, true, dir ? "not a directory" : "a directory, not a file");
	if (f->fd < 0)
		list_note(s->out, scan_place(s, name), true, "not used: %s",
			  f->why[0] ? f->why : "gone while it was read");
	return 0;
}

static int attach_archive(struct scan *s, struct target *t, struct err *e)
{
	const char *first = NULL, *suffix;

	for (size_t i = 0; (suffix = names_archive_suffix(i)); i++) {
		CLEANUP(found_done) struct found f = {.fd = -1};
		struct side *side;
		int r = sides_find(s, t->name, suffix, false, &side, &f, e);

		if (r < 0)
			return r;
		if (f.fd < 0)
			continue;
		if (t->seed_archive) {
			list_note(s->out, scan_place(s, side->name), true,
				  "a second seed archive of '%s': '%s' is used", t->name, first);
			continue;
		}
		t->seed_archive = take_ptr(&f.real);
		first = side->name;
	}
	return 0;
}

static int attach_seed_dir(struct scan *s, struct target *t, struct err *e)
{
	CLEANUP(found_done) struct found f = {.fd = -1};
	struct side *side;
	int r = sides_find(s, t->name, NAMES_SEED_DIR_SUFFIX, true, &side, &f, e);

	if (r == 0 && f.fd >= 0)
		strv_push(&t->seed_dirs, f.real);
	return r;
}

/* Attaches the dict= of an options file.  The path starts at the directory and must stay in it. */
static int attach_named_dict(struct scan *s, struct target *t, struct place at, const char *dict,
			     struct err *e)
{
	CLEANUP(found_done) struct found f = {.fd = -1};
	struct side *side;
	int r = scan_open(s, dict, &f, e);

	if (r < 0)
		return r;
	if (f.fd >= 0 && f.is_dir)
		found_refuse(&f, true, "it is a directory");
	if (f.fd < 0) {
		list_note(s->out, at, true, "dict '%.200s' is not used: %s", dict,
			  f.why[0] ? f.why : "no such file");
		return 0;
	}
	side = find_side(s, f.real + strlen(s->real) + 1);
	if (side)
		side->used = true;
	t->dict = take_ptr(&f.real);
	return 0;
}

static int attach_options(struct scan *s, struct target *t, struct err *e)
{
	CLEANUP(optfile_done) struct optfile o = {0};
	CLEANUP(found_done) struct found f = {.fd = -1};
	struct side *side;
	int r = sides_find(s, t->name, ".options", false, &side, &f, e);

	if (r < 0 || f.fd < 0)
		return r;
	r = source_options(s->out, scan_place(s, side->name), f.fd, t->engine, &o, e);
	if (r < 0)
		return r;
	source_use_options(t, &o);
	return o.dict ? attach_named_dict(s, t, scan_place(s, side->name), o.dict, e) : 0;
}

static int attach_dict(struct scan *s, struct target *t, struct err *e)
{
	CLEANUP(found_done) struct found f = {.fd = -1};
	struct side *side;
	int r = sides_find(s, t->name, ".dict", false, &side, &f, e);

	/* A dictionary of the options file has priority. */
	if (r == 0 && f.fd >= 0 && !t->dict)
		t->dict = take_ptr(&f.real);
	return r;
}

/* Adds the side files to each target of s->out, and marks them as used. */
static int sides_attach(struct scan *s, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->out->n; i++) {
		struct target *t = &s->out->v[i];

		r = attach_options(s, t, e);
		if (r == 0)
			r = attach_dict(s, t, e);
		if (r == 0)
			r = attach_archive(s, t, e);
		if (r == 0)
			r = attach_seed_dir(s, t, e);
	}
	return r;
}

static void note_orphan(struct scan *s, const struct side *x, const char *near)
{
	const char *noun = x->kind == SIDE_NONE ? "seed directory" : names_side_noun(x->kind);

	list_note(s->out, scan_place(s, x->name), true, "%s without a target '%.*s'%s%s%s", noun,
		  (int)x->target.n, x->target.p, near ? ": did you mean '" : "", near ? near : "",
		  near ? "'?" : "");
}

/* Adds a warning for each unused side file. */
static void sides_note_orphans(struct scan *s)
{
	_autofree_ const char **targets = xcalloc(s->out->n + 1, sizeof(*targets));
	unsigned guesses = 0;

	for (size_t i = 0; i < s->out->n; i++)
		targets[i] = s->out->v[i].name;
	for (size_t i = 0; i < s->n_sides; i++) {
		const struct side *x = &s->sides[i];
		const char *near = NULL;

		if (x->used)
			continue;
		if (guesses++ < GUESSES_MAX)
			near = names_near(x->target, targets, s->out->n);
		note_orphan(s, x, near);
	}
}

/* --- the scan ------------------------------------------------------------------ */

static void scan_done(struct scan *s)
{
	free(s->real);
	close_p(&s->fd);
	strv_done(&s->names);
	free(s->sides);
}

static void add_side(struct scan *s, const char *name, struct slice target, enum names_side kind)
{
	s->sides[s->n_sides++] = (struct side){.name = name, .target = target, .kind = kind};
}

/* The inputs of a test that its repository has, in the directory of its package's files. */
static int attach_package_seeds(struct scan *s, struct target *t, struct slice stem, struct err *e)
{
	CLEANUP(found_done) struct found f = {.fd = -1};
	_autofree_ char *path = xasprintf("%.*s/testdata/fuzz/%s", (int)stem.n, stem.p, t->test);
	int r = scan_open(s, path, &f, e);

	if (r == 0 && f.fd >= 0 && f.is_dir)
		strv_push(&t->seed_dirs, f.real);
	return r;
}

static int directory_add_test(struct scan *s, const char *file, const struct binary *b,
			      struct slice stem, const struct tests *all, size_t i, struct err *e)
{
	struct target t = {.engine = b->engine, .size = b->size, .sanitized = all->sanitized};
	int r;

	t.name = xasprintf("%.*s.%s", (int)stem.n, stem.p, all->names.v[i]);
	if (!names_target_ok(slice_of(t.name))) {
		list_note(s->out, scan_place(s, file), true, "the target '%s': %s", t.name,
			  "its name has more than 128 bytes: rename the program");
		free(t.name);
		return 0;
	}
	t.test = xstrdup(all->names.v[i]);
	t.dir = xstrdup(s->real);
	t.binary = xasprintf("%s/%s", s->real, file);
	r = attach_package_seeds(s, &t, stem, e);
	if (r < 0) {
		target_done(&t);
		return r;
	}
	return list_add_target(s->out, &t, e);
}

/* The names of the program's tests.  None: a note says why. */
static int find_tests(struct scan *s, const char *file, int fd, const struct binary *b,
		      struct tests *ret, struct err *e)
{
	CLEANUP(found_done) struct found f = {.fd = -1};
	_autofree_ char *list = xasprintf("%s" TESTS_SUFFIX, file);
	const char *why;
	int r;

	*ret = (struct tests){0};
	if (*b->engine->tests) {
		why = tests_in(fd, b->engine->tests, ret);
		if (why)
			list_note(s->out, scan_place(s, file), !ret->none, "a test program that %s",
				  why);
		else if (ret->odd > 0)
			list_note(
			    s->out, scan_place(s, file), true,
			    "%zu of its fuzz tests are not used: a name has at most 100 letters "
			    "of A-Z, a-z, 0-9 and _",
			    ret->odd);
		return 0;
	}
	r = scan_open(s, list, &f, e);
	if (r < 0)
		return r;
	why = f.is_dir	  ? "is a directory"
	      : f.fd >= 0 ? tests_listed(f.fd, ret)
	      : f.why[0]  ? f.why
			  : "is missing";
	if (why)
		list_note(s->out, scan_place(s, file), true,
			  "a program of %s tests, but '%s', the list of their names, %s",
			  b->engine->name, list, why);
	return 0;
}

/* Adds a target for each test of the program. */
static int add_tests(struct scan *s, const char *file, int fd, const struct binary *b,
		     struct err *e)
{
	struct slice stem;
	struct tests all;
	const char *why;
	int r;

	if (!names_program_of_tests(slice_of(file), &stem, &why)) {
		list_note(s->out, scan_place(s, file), true, "has fuzz tests, but %s", why);
		return 0;
	}
	r = find_tests(s, file, fd, b, &all, e);
	for (size_t i = 0; r == 0 && i < all.names.n; i++)
		r = directory_add_test(s, file, b, stem, &all, i, e);
	strv_done(&all.names);
	return r;
}

static int directory_add_target(struct scan *s, const char *name, int fd, const struct binary *b,
				struct err *e)
{
	struct target t = {.engine = b->engine, .size = b->size};
	struct slice target;
	const char *why;

	if (!b->executable) {
		list_note(s->out, scan_place(s, name), true,
			  "has a fuzzing entry point, but no permission to execute: chmod +x");
		return 0;
	}
	if (b->engine->tests)
		return add_tests(s, name, fd, b, e);
	if (!names_program(slice_of(name), &target, &why)) {
		list_note(s->out, scan_place(s, name), true, "has a fuzzing entry point, but %s",
			  why);
		return 0;
	}
	t.name = xstrndup(target.p, target.n);
	t.dir = xstrdup(s->real);
	t.binary = xasprintf("%s/%s", s->real, name);
	return list_add_target(s->out, &t, e);
}

static int directory_judge(struct scan *s, const char *name, int fd, const struct binary *b,
			   struct err *e)
{
	struct place at = scan_place(s, name);

	if (b->changed)
		list_note(s->out, at, true, "changed while it was read: is a build running?");
	else if (!b->elf && !b->script)
		list_note(s->out, at, false, "neither an ELF program nor a script");
	else if (b->too_large)
		list_note(s->out, at, true, "a program of more than %llu GiB: not searched",
			  (unsigned long long)(DISCOVER_MAX_BINARY >> 30));
	else if (b->engine)
		return directory_add_target(s, name, fd, b, e);
	else if (names_looks_like_target(slice_of(name)))
		list_note(s->out, at, true, "named like a target, but has no fuzzing entry point");
	else
		list_note(s->out, at, false, "no fuzzing entry point");
	return 0;
}

static void take_directory(struct scan *s, const char *name)
{
	size_t n = strlen(name), suffix = strlen(NAMES_SEED_DIR_SUFFIX);

	if (n > suffix && strcmp(name + n - suffix, NAMES_SEED_DIR_SUFFIX) == 0)
		add_side(s, name, (struct slice){name, n - suffix}, SIDE_NONE);
	else
		list_note(s->out, scan_place(s, name), false,
			  "a directory: only programs at the top are targets");
}

static int take_program(struct scan *s, const char *name, int fd, struct err *e)
{
	struct binary b;
	int r = binary_probe(fd, &s->searched, &b, e);

	if (r == -EIO || r == -EACCES) {
		list_note(s->out, scan_place(s, name), true, "%s", e->msg);
		return 0;
	}
	return r < 0 ? err_wrap(e, "%s", name) : directory_judge(s, name, fd, &b, e);
}

static int take_other(struct scan *s, const char *name, struct err *e)
{
	CLEANUP(found_done) struct found f = {.fd = -1};
	int r = scan_open(s, name, &f, e);

	if (r < 0)
		return r;
	if (f.fd >= 0 && !f.is_dir)
		return take_program(s, name, f.fd, e);
	if (f.fd >= 0)
		take_directory(s, name);
	else if (f.why[0])
		list_note(s->out, scan_place(s, name), f.warning, "%s", f.why);
	return 0;
}

static int take_name(struct scan *s, const char *name, struct err *e)
{
	const char *other = names_known_other(slice_of(name));
	struct slice target;
	enum names_side kind = names_side_of(slice_of(name), &target);

	if (!other && kind == SIDE_NONE)
		return take_other(s, name, e);
	if (!other && kind == SIDE_META)
		other = "metadata for another platform: not used";
	if (other)
		list_note(s->out, scan_place(s, name), false, "%s", other);
	else
		add_side(s, name, target, kind);
	return 0;
}

static int directory_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int directory_read_names(struct scan *s, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(s->fd, ".");
	const struct dirent *ent;

	if (!d)
		return err_sys(e, "open directory");
	for (errno = 0; (ent = readdir(d)); errno = 0) {
		if (strcmp(ent->d_name, ".") == 0 || strcmp(ent->d_name, "..") == 0)
			continue;
		if (s->names.n == DISCOVER_MAX_ENTRIES)
			return err_set(e, E2BIG, "more than %d files: not a directory of targets",
				       DISCOVER_MAX_ENTRIES);
		strv_push(&s->names, ent->d_name);
	}
	if (errno)
		return err_sys(e, "read directory");
	if (s->names.n > 0)
		qsort(s->names.v, s->names.n, sizeof(*s->names.v), directory_compare);
	return 0;
}

int discover_directory(const struct discover_source *from, struct target_list *out, struct err *e)
{
	CLEANUP(scan_done) struct scan s = {.path = from->path, .fd = -1, .out = out};
	int r;

	s.fd = sys_openat(AT_FDCWD, s.path, O_RDONLY | O_DIRECTORY, 0);
	if (s.fd < 0)
		return err_sys(e, "open directory");
	r = source_fd_path(s.fd, &s.real, e);
	if (r == 0 && strcmp(s.real, "/") == 0)
		r = err_set(e, EINVAL,
			    "a cell would see the whole machine: name a directory of its own");
	if (r == 0)
		r = directory_read_names(&s, e);
	if (r < 0)
		return r;
	s.sides = xcalloc(s.names.n + 1, sizeof(*s.sides));
	for (size_t i = 0; r == 0 && i < s.names.n; i++)
		r = take_name(&s, s.names.v[i], e);
	if (r == 0)
		r = sides_attach(&s, e);
	if (r == 0)
		sides_note_orphans(&s);
	return r;
}
