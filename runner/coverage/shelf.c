/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/coverage/shelf.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/coverage/lcov.h"
#include "runner/coverage/report.h"
#include "runner/state/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODE_OURS = 0750, MODE_FILE = 0640, BLOCK = 1 << 16 };

int shelf_open(const struct state *s, const char *target, int *ret, struct err *e)
{
	_autofree_ char *path = xasprintf("coverage/%s", target);
	int r = fs_open_dir(s->dirfd, path, ret, e);

	if (r == -ENOENT) {
		*ret = -1;
		return 0;
	}
	return r;
}

/* --- copying what the tools wrote ------------------------------------------------------------- */

struct copied {
	uint64_t files, bytes;
};

static int copy_bytes(int from, int to, struct copied *io, struct err *e)
{
	_autofree_ char *block = xmalloc(BLOCK);
	ssize_t n;

	while ((n = sys_read(from, block, BLOCK)) > 0) {
		io->bytes += (uint64_t)n;
		if (io->bytes > SHELF_BYTES_MAX)
			return err_set(e, EFBIG, "the report has more than %llu MiB",
				       (unsigned long long)(SHELF_BYTES_MAX >> 20));
		if (sys_write_all(to, block, (size_t)n) < 0)
			return err_sys(e, "write the report");
	}
	return n < 0 ? err_sys(e, "read the report") : 0;
}

static int copy_file(int from, int to, const char *name, struct copied *io, struct err *e)
{
	_autoclose_ int in = -1, out = -1;
	int r;

	if (++io->files > SHELF_FILES_MAX)
		return err_set(e, E2BIG, "the report has more than %d files", SHELF_FILES_MAX);
	r = fs_open_file(from, name, O_RDONLY, 0, &in, e);
	if (r == 0)
		r = fs_open_file(to, name, O_WRONLY | O_CREAT | O_TRUNC, MODE_FILE, &out, e);
	return r == 0 ? copy_bytes(in, out, io, e) : r;
}

static int copy_dir(int from, int to, const char *name, unsigned depth, struct copied *io,
		    struct err *e);

/* Copies directories and regular files; others are left out. */
static int copy_entry(int from, int to, const char *name, unsigned depth, struct copied *io,
		      struct err *e)
{
	struct stat st;

	if (!fs_name_ok(slice_of(name)) || fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return copy_dir(from, to, name, depth + 1, io, e);
	return S_ISREG(st.st_mode) ? copy_file(from, to, name, io, e) : 0;
}

/* Copies what one directory holds into another. */
static int copy_all(int from, int to, unsigned depth, struct copied *io, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(from, ".");
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return err_sys(e, "open the report");
	while (r == 0 && (ent = sys_readdir(d)))
		r = copy_entry(from, to, ent->d_name, depth, io, e);
	return r == 0 && errno ? err_sys(e, "list the report") : r;
}

static int copy_dir(int from, int to, const char *name, unsigned depth, struct copied *io,
		    struct err *e)
{
	_autoclose_ int in = -1, out = -1;
	int r;

	if (depth > SHELF_DEPTH_MAX)
		return err_set(e, ELOOP, "the report has directories %d deep", SHELF_DEPTH_MAX);
	r = fs_open_dir(from, name, &in, e);
	if (r == 0)
		r = fs_make_dir(to, name, MODE_OURS, &out, e);
	return r == 0 ? copy_all(in, out, depth, io, e) : r;
}

int shelf_copy_pages(int report, int to, struct err *e)
{
	_autoclose_ int pages = -1;
	struct copied sum = {0};
	int r = fs_open_dir(report, "html", &pages, e);

	if (r == -ENOENT)
		return err_set(e, ENOENT,
			       "it has no pages: its source text was not found (--sources DIR "
			       "names its tree)");
	return r == 0 ? copy_all(pages, to, 0, &sum, e) : r;
}

int shelf_copy_lcov(int report, int to, struct err *e)
{
	_autoclose_ int from = -1;
	struct copied sum = {0};
	int r = fs_open_file(report, "lcov.info", O_RDONLY, 0, &from, e);

	return r == 0 ? copy_bytes(from, to, &sum, e) : r;
}

static int shelf_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int shelf_names(const struct state *s, struct strv *ret, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(s->dirfd, "coverage");
	const struct dirent *ent;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open 'coverage'");
	while ((ent = sys_readdir(d)))
		if (ent->d_name[0] != '.' && ent->d_name[0] != '@')
			strv_push(ret, ent->d_name);
	if (errno)
		return err_sys(e, "list 'coverage'");
	if (ret->n > 0)
		qsort(ret->v, ret->n, sizeof(*ret->v), shelf_compare);
	return 0;
}

/* --- a report takes its place ---------------------------------------------------- */

static char *shelf_history(const char *target)
{
	return xasprintf("coverage/%s.jsonl", target);
}

/* Writes the line of the report that is in place, if a kill came before it. */
static int shelf_settle(struct state *s, const char *target, struct err *e)
{
	_autofree_ char *name = shelf_history(target);
	_autojson_ json_t *report = NULL, *last = NULL, *line = NULL;
	_autoclose_ int dir = -1;
	uint64_t damaged;
	struct err none;
	int r = shelf_open(s, target, &dir, e);

	if (r < 0 || dir < 0 || json_load(dir, "report.json", REPORT_JSON_MAX, &report, &none) < 0)
		return r;
	r = history_last(s, name, 1, &last, &damaged, e);
	line = report_history_line(report);
	/* Times do not show it: the clock can be set back, and two reports can have the same. */
	if (r < 0 || json_equal(json_array_get(last, 0), line))
		return r;
	return state_append_history(s, NULL, name, line, e);
}

static int write_json(int dir, const char *name, const json_t *j, struct err *e)
{
	_autofree_ char *text = NULL;
	int r = json_print(j, 0, &text, e);

	return r == 0 ? fs_replace(dir, name, slice_of(text), e) : r;
}

/* The new report in coverage/.new. */
static int shelf_fill(int shelf, int out, const json_t *report, struct err *e)
{
	_autojson_ json_t *summary = report_summary(report);
	_autoclose_ int dir = -1;
	struct copied sum = {0};
	struct stat st;
	int r = fs_remove_tree(shelf, ".new", e);

	if (r == 0)
		r = fs_make_dir(shelf, ".new", MODE_OURS, &dir, e);
	if (r == 0)
		r = write_json(dir, "report.json", report, e);
	if (r == 0)
		r = write_json(dir, "summary.json", summary, e);
	if (r == 0)
		r = copy_file(out, dir, "lcov.info", &sum, e);
	if (r == 0 && fstatat(out, "html", &st, AT_SYMLINK_NOFOLLOW) == 0)
		r = copy_entry(out, dir, "html", 0, &sum, e);
	return r == 0 && sys_syncfs(shelf) < 0 ? err_sys(e, "put the report on disk") : r;
}

static int shelf_exchange(int shelf, const char *target, struct err *e)
{
	int r = sys_exchange(shelf, ".new", shelf, target);

	if (r < 0 && errno == ENOENT)
		r = sys_renameat(shelf, ".new", target);
	if (r < 0)
		return err_sys(e, "move the report to 'coverage/%s'", target);
	if (sys_fsync(shelf) < 0)
		return err_sys(e, "put the report on disk");
	return fs_remove_tree(shelf, ".new", e);
}

int shelf_put(struct state *s, const char *target, int out, const json_t *report, struct err *e)
{
	_autoclose_ int shelf = -1;
	int r = fs_make_dir(s->dirfd, "coverage", MODE_OURS, &shelf, e);

	if (r == 0)
		r = shelf_settle(s, target, e);
	if (r == 0)
		r = shelf_fill(shelf, out, report, e);
	if (r == 0)
		r = shelf_exchange(shelf, target, e);
	return r == 0 ? shelf_settle(s, target, e) : r;
}

/* --- reading --------------------------------------------------------------------- */

int shelf_summary(const struct state *s, const char *target, json_t **ret, struct err *e)
{
	_autoclose_ int dir = -1;
	int r = shelf_open(s, target, &dir, e);

	*ret = NULL;
	if (r < 0 || dir < 0)
		return r;
	r = json_load(dir, "summary.json", SHELF_SUMMARY_MAX, ret, e);
	return r == -ENOENT ? 0 : r;
}

static int shelf_open_pages(const struct state *s, const char *target, int *ret, struct err *e)
{
	_autofree_ char *path = xasprintf("coverage/%s/html", target);

	return fs_open_dir(s->dirfd, path, ret, e);
}

int shelf_open_page(const struct state *s, const char *target, struct slice path, int *ret,
		    struct err *e)
{
	_autoclose_ int dir = -1;
	struct slice part;
	char name[256];
	int r = shelf_open_pages(s, target, &dir, e);

	while (r == 0 && scan_until(&path, '/', sizeof(name) - 1, &part)) {
		int below = -1;

		(void)scan_lit(&path, SLICE("/"));
		snprintf(name, sizeof(name), "%.*s", (int)part.n, part.p);
		if (!fs_name_ok(part))
			return err_set(e, ENOENT, "no such page");
		r = fs_open_dir(dir, name, &below, e);
		close_p(&dir);
		dir = below;
	}
	if (r == 0 && (path.n >= sizeof(name) || !fs_name_ok(path)))
		return err_set(e, ENOENT, "no such page");
	snprintf(name, sizeof(name), "%.*s", (int)path.n, path.p);
	return r == 0 ? fs_open_file(dir, name, O_RDONLY, 0, ret, e) : r;
}

struct pages {
	shelf_page_fn *fn;
	void *arg;
	uint64_t n;
};

static int pages_below(struct pages *p, int dir, const char *path, unsigned depth, struct err *e);

static int pages_one(struct pages *p, int dir, const char *path, const char *name, unsigned depth,
		     struct err *e)
{
	_autofree_ char *whole = *path ? xasprintf("%s/%s", path, name) : xstrdup(name);
	_autoclose_ int below = -1;
	struct stat st;
	int r;

	if (!fs_name_ok(slice_of(name)) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISREG(st.st_mode))
		return ++p->n <= SHELF_FILES_MAX ? p->fn(p->arg, whole, e) : 0;
	if (!S_ISDIR(st.st_mode) || depth >= SHELF_DEPTH_MAX)
		return 0;
	r = fs_open_dir(dir, name, &below, e);
	return r == 0 ? pages_below(p, below, whole, depth + 1, e) : r;
}

static int pages_below(struct pages *p, int dir, const char *path, unsigned depth, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(dir, ".");
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return err_sys(e, "open the pages");
	while (r == 0 && (ent = sys_readdir(d)))
		r = pages_one(p, dir, path, ent->d_name, depth, e);
	return r == 0 && errno ? err_sys(e, "list the pages") : r;
}

int shelf_each_page(const struct state *s, const char *target, shelf_page_fn *fn, void *arg,
		    struct err *e)
{
	_autoclose_ int dir = -1;
	struct pages p = {.fn = fn, .arg = arg};
	int r = shelf_open_pages(s, target, &dir, e);

	if (r == -ENOENT)
		return 0;
	return r == 0 ? pages_below(&p, dir, "", 0, e) : r;
}

/* --- what changed ---------------------------------------------------------------- */

/* Lines of the history are composed: a function that was newly reached and then lost is neither. */
struct changes {
	uint64_t since;
	const char *commit;
	bool begun; /* the line to compare with was seen */
	json_t *base, *last;
	json_t *newly, *lost; /* objects by "path: function" */
};

static char *changes_key(const char *path, const char *function)
{
	return xasprintf("%s: %s", path, function);
}

static void changes_move(const json_t *list, json_t *from, json_t *to)
{
	const json_t *f;
	size_t i;

	json_array_foreach(list, i, f)
	{
		_autofree_ char *key =
		    changes_key(json_get_text(f, "path"), json_get_text(f, "function"));

		if (json_object_get(from, key))
			(void)json_object_del(from, key);
		else
			(void)json_object_set_new(to, key, json_deep_copy(f));
	}
}

/* Whether the changes are counted from this line on: the last one at or before the time, or else
 * the first; or the last of the commit. */
static bool changes_begin_with(const struct changes *c, const json_t *line)
{
	if (c->commit)
		return strncmp(json_get_text(line, "commit"), c->commit, strlen(c->commit)) == 0;
	return !c->begun || json_get_u64(line, "time") <= c->since;
}

static int changes_on_line(void *arg, const json_t *line, struct err *e)
{
	struct changes *c = arg;

	(void)e;
	json_decref(c->last);
	c->last = json_deep_copy(line);
	if (changes_begin_with(c, line)) {
		json_decref(c->base);
		c->base = json_incref(c->last);
		(void)json_object_clear(c->newly);
		(void)json_object_clear(c->lost);
		c->begun = true;
	} else if (c->begun) {
		changes_move(json_object_get(line, "newly"), c->lost, c->newly);
		changes_move(json_object_get(line, "lost"), c->newly, c->lost);
	}
	return 0;
}

/* The functions of the newest report: by changes_key(), whether it is reached. */
static json_t *changes_now(const struct lcov *l)
{
	char path[ESCAPE_MAX], name[ESCAPE_MAX];
	json_t *now = json_object();

	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->v[i].n_functions; k++) {
			const struct lcov_function *fn = &l->v[i].functions[k];
			/* As the lines of the history have them. */
			_autofree_ char *key =
			    changes_key(escape(l->v[i].path, path), escape(fn->name, name));

			if (fn->count > 0 || !json_object_get(now, key))
				(void)json_object_set_new(now, key, json_boolean(fn->count > 0));
		}
	return now;
}

static void changes_keep(json_t *by_name, const json_t *now, bool reached)
{
	const char *key;
	json_t *f;
	void *next;

	json_object_foreach_safe(by_name, next, key, f)
	{
		if (json_is_true(json_object_get(now, key)) != reached ||
		    !json_object_get(now, key))
			(void)json_object_del(by_name, key);
	}
}

/* A function that left the program is neither newly reached nor lost. */
static void changes_forget_gone(const struct state *s, const char *target, struct changes *c)
{
	_autofree_ char *text = NULL;
	_autoclose_ int dir = -1;
	_autolcov_ struct lcov l = {0};
	json_t *now;
	struct err e;
	size_t n;

	if (shelf_open(s, target, &dir, &e) < 0 || dir < 0 ||
	    fs_read(dir, "lcov.info", REPORT_TEXT_MAX, &text, &n, &e) < 0 ||
	    lcov_parse((struct slice){text, n}, &l, &e) < 0)
		return;
	now = changes_now(&l);
	changes_keep(c->newly, now, true);
	changes_keep(c->lost, now, false);
	json_decref(now);
}

static json_t *changes_list(json_t *by_name)
{
	json_t *list = json_array(), *f;
	const char *key;

	json_object_foreach(by_name, key, f)(void) json_array_append(list, f);
	return list;
}

int shelf_changes(const struct state *s, const char *target, uint64_t since, const char *commit,
		  json_t **ret, struct err *e)
{
	_autofree_ char *name = shelf_history(target);
	struct changes c = {
	    .since = since, .commit = commit, .newly = json_object(), .lost = json_object()};
	uint64_t damaged;
	int r = history_each(s, name, changes_on_line, &c, &damaged, e);

	*ret = NULL;
	if (r == 0 && c.begun)
		changes_forget_gone(s, target, &c);
	if (r == 0 && c.begun)
		*ret = json_pack(
		    "{s:O?, s:O?, s:O?, s:O?, s:o, s:o}", "since", json_object_get(c.base, "time"),
		    "commit", json_object_get(c.base, "commit"), "before",
		    json_object_get(c.base, "totals"), "after", json_object_get(c.last, "totals"),
		    "newly", changes_list(c.newly), "lost", changes_list(c.lost));
	json_decref(c.base);
	json_decref(c.last);
	json_decref(c.newly);
	json_decref(c.lost);
	return r;
}
