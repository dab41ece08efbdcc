/* SPDX-License-Identifier: Apache-2.0 */
/* Exports corpora to a directory or an archive. */
#include "base/memory.h"
#include "runner/corpus/transfer/transfer.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/pack.h"
#include "base/sys.h"
#include "runner/corpus/measure/shard.h"
#include "runner/corpus/spare.h"
#include "runner/corpus/workdir.h"
#include "runner/targets/names.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MODE_DIR = 0755, MODE_FILE = 0644 };

/* --- the targets ------------------------------------------------------------------ */

static int export_by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void export_add_target(int corpora, const char *name, const char *glob, struct strv *ret)
{
	struct stat st;

	if (names_target_ok(slice_of(name)) && (!glob || fnmatch(glob, name, 0) == 0) &&
	    fstatat(corpora, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		strv_push(ret, name);
}

int export_targets(int state_dirfd, const char *glob, struct strv *ret, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(state_dirfd, "corpus");
	struct strv found = {0};
	const struct dirent *ent;

	*ret = (struct strv){0};
	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open 'corpus'");
	while ((ent = sys_readdir(d)))
		export_add_target(dirfd(d), ent->d_name, glob, &found);
	if (errno) {
		int r = err_sys(e, "list 'corpus'");

		strv_done(&found);
		return r;
	}
	if (found.n > 1)
		qsort(found.v, found.n, sizeof(*found.v), export_by_text);
	*ret = found;
	return 0;
}

/* --- the inputs of one target ------------------------------------------------------ */

struct one {
	const char *target;
	int corpus;
	struct export_sum sum;
	/* The destination. */
	struct pack *pack;
	bool flat; /* in the archive: paths without the target's name */
	int dir;
};

static int add_to_pack(struct one *o, const char *name, struct slice data, struct err *e)
{
	char path[NAMES_TARGET_MAX + 2 + STORE_NAME];

	if (o->flat)
		return pack_add(o->pack, name, MODE_FILE, data, e);
	snprintf(path, sizeof(path), "%.*s/%s", NAMES_TARGET_MAX, o->target, name);
	return pack_add(o->pack, path, MODE_FILE, data, e);
}

/* An input with a content that does not match its name is left for `corpus verify`. */
static int export_take(struct one *o, const struct candidate *c, struct err *e)
{
	_autofree_ char *text = NULL;
	struct store_sum stored = {0};
	char hex[STORE_NAME];
	size_t n;
	int r;

	if (c->size == 0 || c->size > WORKDIR_INPUT_MAX) {
		o->sum.skipped++;
		return 0;
	}
	r = fs_read(o->corpus, c->name, WORKDIR_INPUT_MAX, &text, &n, e);
	if (r == -ENOENT)
		return err_wrap(e, "the corpus was replaced meanwhile, try again");
	if (r < 0)
		return r;
	digest_sha1_hex((struct slice){text, n}, hex);
	if (strcmp(hex, c->name) != 0) {
		o->sum.skipped++;
		return 0;
	}
	if (o->pack)
		r = add_to_pack(o, c->name, (struct slice){text, n}, e);
	else
		r = store_bytes((struct slice){text, n}, o->dir, &stored, hex, e);
	if (r == 0) {
		o->sum.files++;
		o->sum.bytes += n;
	}
	return r;
}

/* Counts files that shard_list() does not list: those with other names, which a user gave. */
static int count_others(struct one *o, size_t listed, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(o->corpus, ".");
	const struct dirent *ent;
	uint64_t all = 0;

	if (!d)
		return err_sys(e, "open the corpus");
	while ((ent = sys_readdir(d)))
		all += ent->d_name[0] != '.';
	if (errno)
		return err_sys(e, "list the corpus");
	o->sum.skipped += all > listed ? all - listed : 0;
	return 0;
}

static int export_take_all(const struct export *x, struct one *o, struct err *e)
{
	_autocandidates_ struct candidates all = {0}, spare = {0};
	int r = shard_list(o->corpus, &all, e);

	if (r == 0)
		r = count_others(o, all.n, e);
	if (r == 0 && !x->all)
		r = spare_leave_out(x->state_dirfd, o->target, &all, &spare, e);
	o->sum.spare = spare.n;
	for (size_t i = 0; r == 0 && i < all.n; i++)
		r = export_take(o, &all.v[i], e);
	return r;
}

/* o: has the destination. */
static int export_one(const struct export *x, struct one *o, struct err *e)
{
	_autofree_ char *path = xasprintf("corpus/%s", o->target);
	int r = fs_open_dir(x->state_dirfd, path, &o->corpus, e);

	if (r == 0)
		r = export_take_all(x, o, e);
	close_p(&o->corpus);
	if (r < 0)
		return err_wrap(e, "export '%s'", o->target);
	if (x->report)
		x->report(x->arg, o->target, &o->sum);
	return 0;
}

/* --- archives ------------------------------------------------------------------------ */

static bool export_ends(const char *path, const char *with)
{
	size_t n = strlen(path), m = strlen(with);

	return n > m && strcmp(path + n - m, with) == 0 && path[n - m - 1] != '/';
}

bool export_is_archive(const char *path)
{
	return export_ends(path, ".tar.gz") || export_ends(path, ".tgz") ||
	       export_ends(path, ".zip");
}

/* A file that appears complete, by a rename. */
struct output {
	int dir, fd;
	const char *name;
	char tmp[NAME_MAX + 1];
	struct pack *pack;
};

static int output_begin(struct output *o, struct err *e)
{
	int n = snprintf(o->tmp, sizeof(o->tmp), ".%s.new", o->name);
	int r;

	if (n < 0 || n >= (int)sizeof(o->tmp))
		return err_set(e, ENAMETOOLONG, "name '%s'", o->name);
	r = fs_open_file(o->dir, o->tmp, O_WRONLY | O_CREAT | O_TRUNC, MODE_FILE, &o->fd, e);
	if (r < 0)
		return r;
	r = export_ends(o->name, ".zip") ? pack_open_zip(o->fd, &o->pack, e)
					 : pack_open(o->fd, &o->pack, e);
	return r < 0 ? err_wrap(e, "write '%s'", o->name) : 0;
}

static int output_commit(struct output *o, struct err *e)
{
	int r = pack_close(o->pack, e);

	if (r < 0)
		return err_wrap(e, "write '%s'", o->name);
	if (sys_fsync(o->fd) < 0)
		return err_sys(e, "fsync '%s'", o->tmp);
	if (sys_renameat(o->dir, o->tmp, o->name) < 0)
		return err_sys(e, "rename '%s' to '%s'", o->tmp, o->name);
	if (sys_fsync(o->dir) < 0)
		return err_sys(e, "fsync the directory of '%s'", o->name);
	return 0;
}

/* r: the result of filling it. */
static int output_end(struct output *o, int r, struct err *e)
{
	if (r == 0)
		r = output_commit(o, e);
	pack_free(o->pack);
	if (o->fd >= 0)
		close(o->fd);
	if (r < 0 && o->fd >= 0)
		(void)unlinkat(o->dir, o->tmp, 0); /* allow: an incomplete archive */
	return r;
}

static int export_fill(const struct export *x, struct pack *pack, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < x->targets->n; i++) {
		struct one o = {.target = x->targets->v[i], .corpus = -1, .pack = pack, .dir = -1};

		r = export_one(x, &o, e);
	}
	return r;
}

static int open_parent(const char *path, int *ret_fd, const char **ret_name, struct err *e)
{
	const char *slash = strrchr(path, '/');
	_autofree_ char *dir = NULL;

	*ret_name = slash ? slash + 1 : path;
	dir = slash ? xstrndup(path, slash == path ? 1 : (size_t)(slash - path)) : xstrdup(".");
	*ret_fd = sys_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	return *ret_fd < 0 ? err_sys(e, "open directory '%s'", dir) : 0;
}

int export_archive(const struct export *x, const char *path, struct err *e)
{
	_autoclose_ int dir = -1;
	struct output o = {.fd = -1};
	int r = open_parent(path, &dir, &o.name, e);

	if (r < 0)
		return r;
	o.dir = dir;
	r = output_begin(&o, e);
	if (r == 0)
		r = export_fill(x, o.pack, e);
	return output_end(&o, r, e);
}

/* --- directories ---------------------------------------------------------------------- */

static int export_open_made(int at, const char *path, int *ret_fd, struct err *e)
{
	int r = fs_mkdirs(at, path, MODE_DIR, e);

	if (r < 0)
		return r;
	*ret_fd = sys_openat(at, path, O_RDONLY | O_DIRECTORY, 0);
	return *ret_fd < 0 ? err_sys(e, "open directory '%s'", path) : 0;
}

int export_tree(const struct export *x, const char *dir, struct err *e)
{
	_autoclose_ int all = -1;
	int r = export_open_made(AT_FDCWD, dir, &all, e);

	for (size_t i = 0; r == 0 && i < x->targets->n; i++) {
		struct one o = {.target = x->targets->v[i], .corpus = -1, .dir = -1};

		r = export_open_made(all, o.target, &o.dir, e);
		if (r == 0)
			r = export_one(x, &o, e);
		close_p(&o.dir);
	}
	if (r == 0 && sys_syncfs(all) < 0)
		r = err_sys(e, "sync '%s'", dir);
	return r;
}

static int seed_corpus(const struct export *x, const char *target, int dir, struct err *e)
{
	_autofree_ char *name = xasprintf("%s_seed_corpus.zip", target);
	struct output o = {.dir = dir, .fd = -1, .name = name};
	struct one one = {.target = target, .corpus = -1, .flat = true, .dir = -1};
	int r = output_begin(&o, e);

	one.pack = o.pack;
	if (r == 0)
		r = export_one(x, &one, e);
	return output_end(&o, r, e);
}

int export_seed_corpora(const struct export *x, const char *dir, struct err *e)
{
	_autoclose_ int all = -1;
	int r = export_open_made(AT_FDCWD, dir, &all, e);

	for (size_t i = 0; r == 0 && i < x->targets->n; i++)
		r = seed_corpus(x, x->targets->v[i], all, e);
	return r;
}
