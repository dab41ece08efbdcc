/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/intree/intree.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/corpus/intree/internal.h"
#include "runner/corpus/spare.h"
#include "runner/corpus/store.h"
#include "runner/corpus/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { TREE_DEPTH = 8, MODE_FILE = 0644 };

/* --- the corpus -------------------------------------------------------------------- */

int intree_corpus_open(const struct intree *t, struct intree_corpus *ret, struct err *e)
{
	struct intree_corpus c = {.t = t};
	int r = shard_list(t->corpus, &c.all, e);

	if (r == 0 && t->target)
		r = spare_leave_out(t->state_dirfd, t->target, &c.all, &c.spare, e);
	if (r < 0) {
		candidates_done(&c.all);
		return r;
	}
	c.known = xcalloc(c.all.n, sizeof(*c.known));
	*ret = c;
	return 0;
}

void intree_corpus_close(struct intree_corpus *c)
{
	candidates_done(&c->all);
	candidates_done(&c->spare);
	free(c->known);
	c->known = NULL;
}

/* An empty corpus may be lost or new: that is no reason to remove all inputs. */
bool intree_corpus_prunes(const struct intree_corpus *c)
{
	return c->t->prune && c->all.n > 0;
}

bool intree_corpus_unneeded(const struct intree_corpus *c, const char *hex, uint64_t size)
{
	const struct candidates *u = c->t->unneeded;

	if (candidates_find(&c->spare, hex, size))
		return true;
	return u && candidates_find(u, hex, size) && !candidates_find(&c->all, hex, size);
}

/* A file in the tree has this content.  Returns whether it is an input of the corpus, and marks it
 * as known. */
static bool intree_corpus_know(struct intree_corpus *c, const char *hex, uint64_t size)
{
	const struct candidate *found = candidates_find(&c->all, hex, size);

	if (found)
		c->known[found - c->all.v] = true;
	return found != NULL;
}

int intree_corpus_read(const struct intree_corpus *c, size_t i, char **ret, size_t *ret_n,
		       struct err *e)
{
	const struct candidate *x = &c->all.v[i];
	_autofree_ char *text = NULL;
	char hex[STORE_NAME];
	size_t n;
	int r;

	if (x->size == 0 || x->size > WORKDIR_INPUT_MAX)
		return 0;
	r = fs_read(c->t->corpus, x->name, WORKDIR_INPUT_MAX, &text, &n, e);
	if (r == -ENOENT)
		return err_wrap(e, "the corpus was replaced meanwhile, try again");
	if (r < 0)
		return r;
	digest_sha1_hex((struct slice){text, n}, hex);
	if (strcmp(hex, x->name) != 0)
		return 0;
	*ret = take_ptr(&text);
	*ret_n = n;
	return 1;
}

void intree_report(const struct intree *t, enum intree_what what, const char *name)
{
	if (t->report)
		t->report(t->arg, what, name);
}

/* --- the existing files ------------------------------------------------------------------ */

struct walk {
	struct intree_corpus *c;
	const struct rights *as;
	struct intree_sum *sum;
	struct strv gone; /* to be removed, paths relative to the directory */
};

static int walk_dir(int at, const char *name, const char *path, unsigned depth, struct walk *l,
		    struct err *e);

static int walk_file(int at, const char *name, const char *path, struct walk *l, struct err *e)
{
	_autoclose_ int fd =
	    rights_open(l->as, at, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	char hex[STORE_NAME];
	struct stat st;
	int r;

	if (fd < 0 && (errno == ENOENT || errno == EACCES || errno == ELOOP || errno == ENXIO))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open '%s'", path);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > WORKDIR_INPUT_MAX)
		return 0;
	r = digest_sha1_file(fd, WORKDIR_INPUT_MAX, hex, e);
	if (r < 0)
		return r == -EFBIG ? 0 : err_wrap(e, "'%s'", path);
	if (intree_corpus_know(l->c, hex, (uint64_t)st.st_size) || !intree_corpus_prunes(l->c))
		return 0;
	if (intree_corpus_unneeded(l->c, hex, (uint64_t)st.st_size)) {
		strv_push(&l->gone, path);
		return 0;
	}
	l->sum->kept++;
	intree_report(l->c->t, INTREE_KEPT, path);
	return 0;
}

static int remove_as(const struct rights *as, int dir, const char *name)
{
	_autorights_ struct rights_back back = {0};
	struct err e;

	if (rights_take(as, &back, &e) < 0) {
		errno = e.code;
		return -1;
	}
	return sys_unlinkat(dir, name, 0);
}

/* ".<sha1>.new", a file that a killed call left. */
static bool intree_is_rest(const char *name)
{
	char hex[STORE_NAME];
	size_t n = strlen(name);

	if (n != STORE_NAME + 4 || name[0] != '.' || strcmp(name + STORE_NAME, ".new") != 0)
		return false;
	memcpy(hex, name + 1, STORE_NAME - 1);
	hex[STORE_NAME - 1] = '\0';
	return candidates_name_ok(hex);
}

static int walk_entry(int at, const char *name, const char *dir, unsigned depth, struct walk *l,
		      struct err *e)
{
	_autofree_ char *path = xasprintf("%s%s%s", dir, *dir ? "/" : "", name);
	struct stat st;

	if (name[0] == '.') {
		if (intree_is_rest(name) && !l->c->t->dry_run)
			(void)remove_as(l->as, at,
					name); /* on failure the file stays, harmlessly */
		return 0;
	}
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* removed meanwhile */
	if (S_ISDIR(st.st_mode))
		return depth < TREE_DEPTH ? walk_dir(at, name, path, depth + 1, l, e) : 0;
	return S_ISREG(st.st_mode) ? walk_file(at, name, path, l, e) : 0;
}

static int walk_dir(int at, const char *name, const char *path, unsigned depth, struct walk *l,
		    struct err *e)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	_autoclose_ int fd = rights_open(l->as, at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	const struct dirent *ent;

	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return err_sys(e, "open directory '%s'", name);
	(void)take_fd(&fd); /* the stream closes it */
	while ((ent = sys_readdir(d))) {
		int r = walk_entry(dirfd(d), ent->d_name, path, depth, l, e);

		if (r < 0)
			return r;
	}
	return errno ? err_sys(e, "list directory '%s'", name) : 0;
}

/* --- prune ---------------------------------------------------------------------------- */

/* Keeps copies, on disk, of all files that will be removed. */
static int keep_all(const struct intree *t, const struct rights *as, int dir, struct strv *gone,
		    struct intree_sum *sum, struct err *e)
{
	for (size_t i = 0; i < gone->n; i++) {
		struct store_sum got = {0};
		char hex[STORE_NAME];
		int r = store_file_as(as, dir, gone->v[i], t->pruned, &got, hex, e);

		if (r < 0)
			return err_wrap(e, "keep '%s'", gone->v[i]);
		if (!*hex) {
			sum->skipped++;
			gone->v[i][0] = '\0';
		}
	}
	return sys_syncfs(t->pruned) < 0 ? err_sys(e, "sync what is kept") : 0;
}

static int intree_prune(const struct intree *t, const struct rights *as, int dir, struct strv *gone,
			struct intree_sum *sum, struct err *e)
{
	int r = 0;

	if (gone->n > 0 && !t->dry_run)
		r = keep_all(t, as, dir, gone, sum, e);
	for (size_t i = 0; r == 0 && i < gone->n; i++) {
		if (!gone->v[i][0])
			continue;
		if (!t->dry_run && remove_as(as, dir, gone->v[i]) < 0 && errno != ENOENT)
			return err_sys(e, "remove '%s'", gone->v[i]);
		sum->removed++;
		intree_report(t, INTREE_REMOVED, gone->v[i]);
	}
	return r;
}

/* --- add ------------------------------------------------------------------------------ */

/* Never replaces an existing name, even if it appears only now. */
static int intree_name_it(int dir, const char *tmp, const char *name, struct err *e)
{
	struct stat st;

	if (sys_linkat(dir, tmp, dir, name) == 0) {
		(void)unlinkat(dir, tmp, 0); /* allow: the file has its final name */
		return 1;
	}
	if (errno == EEXIST)
		return 0;
	if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK)
		return err_sys(e, "name '%s'", name);
	/* The file system has no links. */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return sys_renameat(dir, tmp, name) < 0 ? err_sys(e, "name '%s'", name) : 1;
}

/* A directory in a work tree, and the rights with which it is changed. */
struct to {
	int dir;
	const struct rights *as;
	struct stat st;
};

static int create(const struct to *to, const char *tmp, int *ret_fd, struct err *e)
{
	_autorights_ struct rights_back back = {0};
	int r = rights_take(to->as, &back, e);

	if (r < 0)
		return r;
	(void)unlinkat(to->dir, tmp, 0); /* allow: a killed call may have left it; the name is
					  * reserved for us */
	*ret_fd = sys_openat(to->dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, MODE_FILE);
	return *ret_fd < 0 ? err_sys(e, "create '%s'", tmp) : 0;
}

static int intree_write_temp(const struct to *to, const char *tmp, struct slice data, struct err *e)
{
	_autoclose_ int fd = -1;
	int r = create(to, tmp, &fd, e);

	if (r < 0)
		return r;
	if (fchmod(fd, MODE_FILE) < 0)
		return err_sys(e, "set the mode of '%s'", tmp);
	/* Root does not change the owner of a file in a directory that other users can exchange. */
	if (geteuid() == 0 && (!to->as->other || to->as->uid == to->st.st_uid) &&
	    fchown(fd, to->st.st_uid, to->st.st_gid) < 0)
		return err_sys(e, "give '%s' to the directory's owner", tmp);
	return sys_write_all(fd, data.p, data.n) < 0 ? err_sys(e, "write '%s'", tmp) : 0;
}

static int name_as(const struct to *to, const char *tmp, const char *name, struct err *e)
{
	_autorights_ struct rights_back back = {0};
	int r = rights_take(to->as, &back, e);

	return r == 0 ? intree_name_it(to->dir, tmp, name, e) : r;
}

/* 1: added; 0: its name is taken. */
static int intree_add_file(const struct to *to, const char *name, struct slice data, struct err *e)
{
	char tmp[STORE_NAME + 8];
	int r;

	snprintf(tmp, sizeof(tmp), ".%s.new", name);
	r = intree_write_temp(to, tmp, data, e);
	if (r == 0)
		r = name_as(to, tmp, name, e);
	if (r <= 0)
		(void)remove_as(to->as, to->dir, tmp); /* the first error is reported */
	return r;
}

static int is_free(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0;
}

static int intree_add_one(struct intree_corpus *c, size_t i, const struct to *to,
			  struct intree_sum *sum, struct err *e)
{
	_autofree_ char *text = NULL;
	const char *name = c->all.v[i].name;
	size_t n = 0;
	int r = intree_corpus_read(c, i, &text, &n, e);

	if (r < 0)
		return r;
	if (r == 0) {
		sum->skipped++;
		return 0;
	}
	r = c->t->dry_run ? is_free(to->dir, name)
			  : intree_add_file(to, name, (struct slice){text, n}, e);
	if (r < 0)
		return r;
	if (r == 0) {
		sum->skipped++;
		intree_report(c->t, INTREE_TAKEN, name);
		return 0;
	}
	sum->added++;
	sum->bytes += n;
	return 0;
}

static int intree_add_all(struct intree_corpus *c, const struct rights *as, int dir,
			  struct intree_sum *sum, struct err *e)
{
	struct to to = {.dir = dir, .as = as};
	int r = 0;

	if (fstat(dir, &to.st) < 0)
		return err_sys(e, "stat the directory");
	for (size_t i = 0; r == 0 && i < c->all.n; i++) {
		if (c->known[i])
			sum->known++;
		else
			r = intree_add_one(c, i, &to, sum, e);
	}
	return r;
}

/* --- a directory ------------------------------------------------------------------------ */

static int intree_update_files(struct intree_corpus *c, const struct rights *as, int dir,
			       struct intree_sum *sum, struct err *e)
{
	struct walk l = {.c = c, .as = as, .sum = sum};
	int r = walk_dir(dir, ".", "", 0, &l, e);

	/* Prunes first: a file to be removed may have an input's name. */
	if (r == 0)
		r = intree_prune(c->t, as, dir, &l.gone, sum, e);
	if (r == 0)
		r = intree_add_all(c, as, dir, sum, e);
	if (r == 0 && !c->t->dry_run && sys_syncfs(dir) < 0)
		r = err_sys(e, "sync it");
	strv_done(&l.gone);
	return r;
}

int intree_update(const struct intree *t, const char *dir, struct intree_sum *ret, struct err *e)
{
	struct intree_corpus c;
	_autoclose_ int fd = -1;
	struct rights as;
	int r;

	*ret = (struct intree_sum){0};
	r = rights_of(dir, &as, e);
	if (r < 0)
		return r;
	fd = rights_open(&as, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return err_sys(e, "open directory '%s'", dir);
	r = intree_corpus_open(t, &c, e);
	if (r < 0)
		return r;
	ret->spare = c.spare.n;
	r = intree_update_files(&c, &as, fd, ret, e);
	intree_corpus_close(&c);
	return r < 0 ? err_wrap(e, "'%s'", dir) : 0;
}
