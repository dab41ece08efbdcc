/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/revision/shelf.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/targets/names.h"
#include "runner/targets/sidefiles.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SHELF_DIR   "revisions"
#define SHELF_NEW   ".new"
#define SHELF_JSON  "built.json"
#define SHELF_FILES "files"

enum { MODE_DIR = 0755, COPY = 1 << 20, JSON_MAX = 1 << 20, WORDS_MAX = 1000 };

static const char *const kinds[SHELF_KIND_COUNT] = {"target", "absent", "unbuilt"};

void shelf_item_done(struct shelf_item *i)
{
	target_done(&i->target);
	*i = (struct shelf_item){0};
}

/* --- names ----------------------------------------------------------------- */

static int item_name(const struct shelf_key *k, char out[NAME_MAX + 1], struct err *e)
{
	int n;

	if (!commit_ok(k->commit) || strlen(k->how) != SHELF_HOW - 1 ||
	    (k->target && !names_target_ok(slice_of(k->target))))
		return err_set(e, EINVAL, "no name of a built target");
	n = snprintf(out, NAME_MAX + 1, "%s-%s%s%s", k->commit, k->how, k->target ? "-" : "",
		     k->target ? k->target : "");
	return n <= NAME_MAX ? 0 : err_set(e, ENAMETOOLONG, "the name of a built target");
}

static int open_shelf(int state_dirfd, int *ret_fd, struct err *e)
{
	return fs_make_dir(state_dirfd, SHELF_DIR, MODE_DIR, ret_fd, e);
}

/* --- reading ---------------------------------------------------------------- */

static int get_words(const json_t *j, struct strv *ret, struct err *e)
{
	if (!json_is_array(j) || json_array_size(j) > WORDS_MAX)
		return err_set(e, EBADMSG, "a list is missing");
	for (size_t i = 0; i < json_array_size(j); i++) {
		const char *word = json_string_value(json_array_get(j, i));

		if (!word)
			return err_set(e, EBADMSG, "a word of a list is no text");
		strv_push(ret, word);
	}
	return 0;
}

static char *text_or_null(const json_t *j, const char *key)
{
	const char *text = json_get_text(j, key);

	return *text ? xstrdup(text) : NULL;
}

static enum target_role role_named(const char *name)
{
	enum target_role r = 0;

	while (r < ROLE_COUNT && strcmp(target_role_name(r), name) != 0)
		r++;
	return r;
}

/* dir: of the item's files, absolute. */
static int get_target(const json_t *j, const char *name, const char *dir, struct target *ret,
		      struct err *e)
{
	const char *program = json_get_text(j, "program");
	int r;

	ret->name = xstrdup(name);
	ret->engine = engine_find(json_get_text(j, "engine"));
	ret->role = role_named(json_get_text(j, "role"));
	if (!ret->engine || ret->role == ROLE_COUNT || !fs_name_ok(slice_of(program)))
		return err_set(e, EBADMSG, "it is no target");
	ret->binary = xasprintf("%s/%s", dir, program);
	if (json_is_true(json_object_get(j, "files")))
		ret->dir = xstrdup(dir);
	r = get_words(json_object_get(j, "flags"), &ret->flags, e);
	if (r == 0)
		r = get_words(json_object_get(j, "env"), &ret->env, e);
	ret->input_timeout_s = json_get_u64(j, "timeout_s");
	ret->rss_limit_mib = json_get_u64(j, "rss_mib");
	ret->size = json_get_u64(j, "size");
	ret->test = text_or_null(j, "test");
	ret->variant = text_or_null(j, "variant");
	ret->of = text_or_null(j, "of");
	ret->sanitized = json_is_true(json_object_get(j, "sanitized"));
	return r;
}

static int read_item(int shelf, const char *path, const char *name, const struct shelf_key *k,
		     struct shelf_item *ret, struct err *e)
{
	_autojson_ json_t *j = NULL;
	_autofree_ char *file = xasprintf("%s/" SHELF_JSON, name);
	_autofree_ char *dir = xasprintf("%s/" SHELF_DIR "/%s/" SHELF_FILES, path, name);
	const char *kind;
	int r = json_load(shelf, file, JSON_MAX, &j, e);

	if (r < 0)
		return r;
	kind = json_get_text(j, "kind");
	while (ret->kind < SHELF_KIND_COUNT && strcmp(kinds[ret->kind], kind) != 0)
		ret->kind++;
	snprintf(ret->why, sizeof(ret->why), "%s", json_get_text(j, "why"));
	if (ret->kind == SHELF_KIND_COUNT || (ret->kind == SHELF_TARGET && !k->target))
		return err_set(e, EBADMSG, "it is of no known kind");
	return ret->kind == SHELF_TARGET ? get_target(j, k->target, dir, &ret->target, e) : 0;
}

/* A damaged item is removed: the commit is built again. */
static int load_named(int shelf, const char *path, const struct shelf_key *k,
		      struct shelf_item *ret, struct err *e)
{
	char name[NAME_MAX + 1];
	struct err why;
	int r = item_name(k, name, e);

	*ret = (struct shelf_item){0};
	if (r < 0)
		return r;
	r = read_item(shelf, path, name, k, ret, &why);
	if (r == 0) {
		(void)utimensat(shelf, name, NULL, 0); /* it is used */
		return 0;
	}
	shelf_item_done(ret);
	if (r != -ENOENT && fs_remove_tree(shelf, name, e) < 0)
		return err_code(e);
	return err_set(e, ENOENT, "it is not built");
}

int shelf_load(int state_dirfd, const char *path, const struct shelf_key *k, struct shelf_item *ret,
	       struct err *e)
{
	struct shelf_key whole = {k->commit, k->how, NULL};
	_autoclose_ int shelf = -1;
	int r = open_shelf(state_dirfd, &shelf, e);

	*ret = (struct shelf_item){0};
	if (r < 0)
		return r;
	r = load_named(shelf, path, &whole, ret, e);
	return r == -ENOENT && k->target ? load_named(shelf, path, k, ret, e) : r;
}

/* --- writing ---------------------------------------------------------------- */

static json_t *words_json(const struct strv *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->n; i++)
		(void)json_array_append_new(a, json_string(v->v[i]));
	return a;
}

static const char *program_of(const struct target *t)
{
	const char *slash = strrchr(t->binary, '/');

	return slash ? slash + 1 : t->binary;
}

static json_t *target_json(const struct target *t)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:o, s:o, s:I, s:I, s:I, s:s, s:s, s:s, s:b}",
			 "kind", kinds[SHELF_TARGET], "engine", t->engine->name, "role",
			 target_role_name(t->role), "program", program_of(t), "files",
			 t->dir != NULL, "flags", words_json(&t->flags), "env", words_json(&t->env),
			 "timeout_s", (json_int_t)t->input_timeout_s, "rss_mib",
			 (json_int_t)t->rss_limit_mib, "size", (json_int_t)t->size, "test",
			 t->test ? t->test : "", "variant", t->variant ? t->variant : "", "of",
			 t->of ? t->of : "", "sanitized", (int)t->sanitized);
}

static int copy_fd(int from, int dirfd, const char *to, mode_t mode, struct err *e)
{
	_autofree_ char *block = xmalloc(COPY);
	_autoclose_ int out = -1;
	ssize_t n;
	int r = fs_open_file(dirfd, to, O_WRONLY | O_CREAT | O_TRUNC, mode, &out, e);

	if (r < 0)
		return r;
	while ((n = sys_read(from, block, COPY)) > 0)
		if (sys_write_all(out, block, (size_t)n) < 0)
			return err_sys(e, "write '%s'", to);
	if (n < 0)
		return err_sys(e, "read '%s'", to);
	return fchmod(out, mode) < 0 ? err_sys(e, "set the mode of '%s'", to) : 0;
}

/* Makes the directory of a file. */
static int make_parent(int dirfd, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	_autofree_ char *dir = slash ? xstrndup(path, (size_t)(slash - path)) : NULL;

	return dir ? fs_mkdirs(dirfd, dir, MODE_DIR, e) : 0;
}

static int take_file(void *arg, const char *path, mode_t mode, int fd, struct err *e)
{
	const int *files = arg;
	int r = make_parent(*files, path, e);

	return r < 0 ? r : copy_fd(fd, *files, path, mode, e);
}

static int keep_program(const struct target *t, int files, struct err *e)
{
	_autoclose_ int fd =
	    rights_open(&t->rights, AT_FDCWD, t->binary, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return err_sys(e, "open '%s'", t->binary);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "'%s' is not a regular file", t->binary);
	return copy_fd(fd, files, program_of(t), 0755, e);
}

/* Writes the item into the new directory SHELF_NEW of the shelf. */
static int fill(int shelf, const struct target_list *all, const struct target *t, const json_t *j,
		struct err *e)
{
	_autofree_ char *text = NULL;
	_autoclose_ int item = -1;
	_autoclose_ int files = -1;
	struct sidefiles side;
	int r = fs_mkdirs(shelf, SHELF_NEW "/" SHELF_FILES, MODE_DIR, e);

	if (r == 0)
		r = fs_open_dir(shelf, SHELF_NEW, &item, e);
	if (r == 0)
		r = fs_open_dir(item, SHELF_FILES, &files, e);
	if (r == 0 && t)
		r = sidefiles_each(all, t, take_file, &files, &side, e);
	if (r == 0 && t)
		r = keep_program(t, files, e);
	if (r == 0)
		r = json_print(j, 2, &text, e);
	if (r == 0)
		r = fs_replace(item, SHELF_JSON, slice_of(text), e);
	if (r == 0 && sys_syncfs(shelf) < 0)
		r = err_sys(e, "sync '" SHELF_DIR "'");
	return r;
}

static int put(int state_dirfd, const struct shelf_key *k, const struct target_list *all,
	       const struct target *t, const json_t *j, struct err *e)
{
	_autoclose_ int shelf = -1;
	char name[NAME_MAX + 1];
	int r = item_name(k, name, e);

	if (r == 0)
		r = open_shelf(state_dirfd, &shelf, e);
	if (r == 0)
		r = fs_remove_tree(shelf, SHELF_NEW, e);
	if (r == 0)
		r = fill(shelf, all, t, j, e);
	if (r == 0)
		r = fs_remove_tree(shelf, name, e);
	if (r == 0 && sys_renameat(shelf, SHELF_NEW, name) < 0)
		r = err_sys(e, "rename '" SHELF_DIR "/" SHELF_NEW "'");
	return r < 0 ? err_wrap(e, "keep the build of %.12s", k->commit) : 0;
}

int shelf_keep(int state_dirfd, const struct shelf_key *k, const struct target_list *all,
	       const struct target *t, struct err *e)
{
	_autojson_ json_t *j = target_json(t);

	return put(state_dirfd, k, all, t, j, e);
}

int shelf_note(int state_dirfd, const struct shelf_key *k, enum shelf_kind kind, const char *why,
	       struct err *e)
{
	_autojson_ json_t *j = json_pack("{s:s, s:s}", "kind", kinds[kind], "why", why);

	return put(state_dirfd, k, NULL, NULL, j, e);
}

int shelf_forget(int state_dirfd, const struct shelf_key *k, struct err *e)
{
	const struct shelf_key whole = {k->commit, k->how, NULL};
	_autoclose_ int shelf = -1;
	char name[2][NAME_MAX + 1];
	int r = item_name(k, name[0], e);

	if (r == 0)
		r = item_name(&whole, name[1], e);
	if (r == 0)
		r = open_shelf(state_dirfd, &shelf, e);
	for (size_t i = 0; r == 0 && i < 2; i++)
		r = fs_remove_tree(shelf, name[i], e);
	return r;
}

/* --- its size ---------------------------------------------------------------- */

struct shelf_use {
	char *name;
	uint64_t bytes, used_ns;
};

struct shelf_uses {
	struct shelf_use *v;
	size_t n, cap;
	uint64_t bytes;
};

static void shelf_uses_done(struct shelf_uses *u)
{
	for (size_t i = 0; i < u->n; i++)
		free(u->v[i].name);
	free(u->v);
}

static int by_use(const void *a, const void *b)
{
	const struct shelf_use *x = a, *y = b;

	if (x->used_ns != y->used_ns)
		return x->used_ns < y->used_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int count_item(struct shelf_uses *u, int shelf, const char *name, struct err *e)
{
	_autoclose_ int fd = -1;
	struct fs_usage all = {0};
	struct stat st = {.st_size = 0};
	int r = fs_open_dir(shelf, name, &fd, e);

	if (r == 0 && fstat(fd, &st) < 0)
		r = err_sys(e, "look at '%s'", name);
	if (r == 0)
		r = fs_usage(fd, 0, 0, &all, e);
	if (r < 0)
		return r;
	if (u->n == u->cap) {
		u->cap = u->cap ? u->cap * 2 : 64;
		u->v = xreallocarray(u->v, u->cap, sizeof(*u->v));
	}
	u->v[u->n++] = (struct shelf_use){xstrdup(name), all.bytes,
					  (uint64_t)st.st_mtim.tv_sec * 1000000000 +
					      (uint64_t)st.st_mtim.tv_nsec};
	u->bytes += all.bytes;
	return 0;
}

int shelf_trim(int state_dirfd, uint64_t max_bytes, struct err *e)
{
	CLEANUP(shelf_uses_done) struct shelf_uses u = {0};
	CLEANUP(closedir_p) DIR *d = NULL;
	_autoclose_ int shelf = -1;
	const struct dirent *ent;
	int r = open_shelf(state_dirfd, &shelf, e);

	if (r < 0)
		return r;
	d = sys_opendirat(shelf, ".");
	if (!d)
		return err_sys(e, "list '" SHELF_DIR "'");
	while (r == 0 && (ent = sys_readdir(d)))
		if (ent->d_name[0] != '.')
			r = count_item(&u, shelf, ent->d_name, e);
	if (r == 0 && errno)
		r = err_sys(e, "list '" SHELF_DIR "'");
	if (u.n > 0)
		qsort(u.v, u.n, sizeof(*u.v), by_use);
	for (size_t i = 0; r == 0 && u.bytes > max_bytes && i + 1 < u.n; i++) {
		r = fs_remove_tree(shelf, u.v[i].name, e);
		u.bytes -= u.v[i].bytes;
	}
	return r;
}
