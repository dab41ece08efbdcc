/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/generation/generation.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#define GENERATION_NEXT	   "next"
#define GENERATION_PENDING "pending"
#define GENERATION_TRASH   "trash" /* being removed */
enum { GENERATION_MODE = 0755 };

/* --- places ---------------------------------------------------------------------- */

/* Two directories of one file system may be on different mounts.  An exchange cannot cross
 * mounts. */
static int same_mount(int a, int b, bool *ret, struct err *e)
{
	struct statx x, y;

	if (statx(a, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &x) < 0 ||
	    statx(b, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &y) < 0)
		return err_sys(e, "stat the corpora");
	*ret = x.stx_dev_major == y.stx_dev_major && x.stx_dev_minor == y.stx_dev_minor &&
	       (!(x.stx_mask & y.stx_mask & STATX_MNT_ID) || x.stx_mnt_id == y.stx_mnt_id);
	return 0;
}

/* The directory of all targets' generations. */
static int generation_open_all(int state, int corpora, int *ret_fd, struct err *e)
{
	_autoclose_ int beside = -1;
	bool same = false;
	int r = fs_make_dir(state, "generations", GENERATION_MODE, &beside, e);

	if (r == 0)
		r = same_mount(beside, corpora, &same, e);
	if (r < 0)
		return r;
	if (!same)
		return fs_make_dir(corpora, ".generations", GENERATION_MODE, ret_fd, e);
	*ret_fd = take_fd(&beside);
	return 0;
}

int generation_open(int state, const char *target, struct generation *ret, struct err *e)
{
	_autoclose_ int corpora = -1;
	_autoclose_ int all = -1;
	_autoclose_ int dir = -1;
	int r;

	if (!fs_name_ok(slice_of(target)) || target[0] == '.' ||
	    strlen(target) >= sizeof(ret->target))
		return err_set(e, EINVAL, "'%s' is no target's name", target);
	r = fs_make_dir(state, "corpus", GENERATION_MODE, &corpora, e);
	if (r == 0)
		r = generation_open_all(state, corpora, &all, e);
	if (r == 0)
		r = fs_make_dir(all, target, GENERATION_MODE, &dir, e);
	if (r < 0)
		return err_wrap(e, "generations of '%s'", target);
	ret->corpora = take_fd(&corpora);
	ret->dir = take_fd(&dir);
	snprintf(ret->target, sizeof(ret->target), "%s", target);
	return 0;
}

void generation_close(struct generation *g)
{
	close_p(&g->corpora);
	close_p(&g->dir);
	g->corpora = g->dir = -1;
}

/* --- numbered generations -------------------------------------------------------- */

enum { NUMBER_DIGITS = 9 };

struct numbered {
	uint64_t first, last, count;
};

static bool generation_read_number(const char *name, uint64_t *ret)
{
	struct slice s = slice_of(name);

	return s.n <= NUMBER_DIGITS && s.p[0] != '0' && scan_u64(&s, 10, UINT32_MAX, ret) &&
	       s.n == 0;
}

/* Calls fn (may be NULL) for each; a result other than 0 ends the walk. */
static int each_number(const struct generation *g, struct numbered *ret,
		       int (*fn)(const struct generation *g, uint64_t number, void *arg), void *arg,
		       struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(g->dir, ".");
	struct numbered all = {0};
	const struct dirent *ent;
	uint64_t n;

	if (!d)
		return err_sys(e, "open the generations");
	while ((ent = sys_readdir(d))) {
		if (!generation_read_number(ent->d_name, &n))
			continue;
		if (all.count++ == 0 || n < all.first)
			all.first = n;
		if (n > all.last)
			all.last = n;
		if (fn && fn(g, n, arg) != 0)
			return 1;
	}
	if (errno)
		return err_sys(e, "list the generations");
	*ret = all;
	return 0;
}

static bool has_file(int dir, const char *name, uint64_t size)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == size;
}

struct wanted {
	const char *name;
	uint64_t size;
};

static int generation_has_file(const struct generation *g, uint64_t number, void *arg)
{
	const struct wanted *l = arg;
	char path[NAME_MAX + 32];

	snprintf(path, sizeof(path), "%llu/%s", (unsigned long long)number, l->name);
	return has_file(g->dir, path, l->size);
}

/* Whether a file of this name and size is in a numbered generation. */
static int generation_was_kept(const struct generation *g, const char *name, uint64_t size,
			       struct err *e)
{
	struct wanted l = {.name = name, .size = size};
	struct numbered all;

	return each_number(g, &all, generation_has_file, &l, e);
}

/* Removes a name, and syncs.  A missing name is no error. */
static int generation_forget(int dir, const char *name, struct err *e)
{
	if (sys_unlinkat(dir, name, 0) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "remove '%s'", name);
	if (sys_fsync(dir) < 0)
		return err_sys(e, "sync that '%s' is gone", name);
	return 0;
}

/* Renames it first: half removed under its own name it would be taken for complete. */
static int generation_trash(int dir, const char *name, struct err *e)
{
	int r = fs_remove_tree(dir, GENERATION_TRASH, e);

	if (r < 0)
		return r;
	if (sys_renameat(dir, name, GENERATION_TRASH) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "give '%s' up", name);
	return fs_remove_tree(dir, GENERATION_TRASH, e);
}

static int generation_prune(const struct generation *g, unsigned keep, struct err *e)
{
	struct numbered all;
	char name[24];
	int r = each_number(g, &all, NULL, NULL, e);

	while (r == 0 && all.count > keep) {
		snprintf(name, sizeof(name), "%llu", (unsigned long long)all.first);
		r = generation_trash(g->dir, name, e);
		if (r == 0)
			r = each_number(g, &all, NULL, NULL, e);
	}
	return r;
}

static int keep_next(const struct generation *g, uint64_t *ret_number, struct err *e)
{
	struct numbered all;
	char name[24];
	int r = each_number(g, &all, NULL, NULL, e);

	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%llu", (unsigned long long)all.last + 1);
	if (sys_renameat(g->dir, GENERATION_NEXT, name) < 0)
		return err_sys(e, "keep the old corpus as generation %s", name);
	*ret_number = all.last + 1;
	return 0;
}

/* Retires the replaced corpus in `next`: makes it a numbered generation, or removes it (keep 0).
 * Then removes all but the last `keep` generations, and `pending`. */
static int generation_retire(const struct generation *g, unsigned keep, uint64_t *ret_number,
			     struct err *e)
{
	int r;

	*ret_number = 0;
	if (keep)
		r = keep_next(g, ret_number, e);
	else
		r = generation_trash(g->dir, GENERATION_NEXT, e);
	if (r == 0)
		r = generation_prune(g, keep, e);
	return r < 0 ? r : generation_forget(g->dir, GENERATION_PENDING, e);
}

/* --- files that must be carried over ----------------------------------------- */

/* Selects the files of a retired corpus that the remaining corpus must get. */
enum carry_rule {
	CARRY_UNKNOWN, /* files that were not candidates: `known` lists the candidates */
	CARRY_LATE,    /* after a kill: files that came or changed since `since` */
	CARRY_ABSENT,  /* files that exist nowhere else under their name */
};
struct carry {
	const struct generation *g;
	int from, to; /* directories */
	enum carry_rule rule;
	const struct candidates *known;
	struct timespec since;
	bool inputs_only; /* only link inputs; `from` stays unchanged */
	uint64_t carried;
};

static bool is_input(const char *name, const struct stat *st)
{
	return name[0] != '.' && S_ISREG(st->st_mode) && (uint64_t)st->st_size <= WORKDIR_INPUT_MAX;
}

/* ".<name>.new", left by an incomplete copy. */
static bool carry_is_rest(const char *name)
{
	size_t n = strlen(name);

	return name[0] == '.' && n > 5 && strcmp(name + n - 4, ".new") == 0;
}

static int link_content(struct carry *c, const char *name, const char *hex, struct err *e)
{
	if (sys_linkat(c->from, name, c->to, hex) == 0)
		c->carried++;
	else if (errno != EEXIST)
		return err_sys(e, "carry '%s' over", name);
	return 0;
}

static bool carry_is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* 1: the file may go.  0: its content must be read to decide. */
static int may_go(struct carry *c, const char *name, const struct stat *st, struct err *e)
{
	uint64_t size = (uint64_t)st->st_size;

	switch (c->rule) {
	case CARRY_UNKNOWN:
		return candidates_find(c->known, name, size) != NULL;
	case CARRY_LATE:
		return carry_is_before(&st->st_ctim, &c->since);
	case CARRY_ABSENT:
		if (has_file(c->to, name, size))
			return 1;
		return generation_was_kept(c->g, name, size, e);
	}
	return 0;
}

static int carry_input(struct carry *c, const char *name, const struct stat *st, struct err *e)
{
	_autoclose_ int fd = -1;
	char hex[STORE_NAME];
	int r = may_go(c, name, st, e);

	if (r != 0)
		return r < 0 ? r : 0;
	fd = sys_openat(c->from, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	if (fd < 0)
		return err_sys(e, "open '%s'", name);
	r = digest_sha1_file(fd, WORKDIR_INPUT_MAX, hex, e);
	if (r < 0)
		return err_wrap(e, "'%s'", name);
	if (c->rule == CARRY_UNKNOWN && candidates_find(c->known, hex, (uint64_t)st->st_size))
		return 0; /* under another name */
	return link_content(c, name, hex, e);
}

static int carry_move(struct carry *c, const char *name, struct err *e)
{
	if (c->inputs_only || carry_is_rest(name))
		return 0;
	if (sys_rename_to(c->from, name, c->to, name) < 0)
		return err_sys(e, "carry '%s' over", name);
	c->carried++;
	return 0;
}

static int carry_entry(struct carry *c, const char *name, struct err *e)
{
	struct stat st;

	if (fstatat(c->from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "stat '%s'", name);
	return is_input(name, &st) ? carry_input(c, name, &st, e) : carry_move(c, name, e);
}

/* Links inputs under their content's name.  Other entries (directories, dot files, links) are moved
 * unchanged. */
static int carry_all(struct carry *c, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(c->from, ".");
	const struct dirent *ent;

	if (!d)
		return err_sys(e, "open a corpus");
	while ((ent = sys_readdir(d))) {
		int r = carry_entry(c, ent->d_name, e);

		if (r < 0)
			return r;
	}
	return errno ? err_sys(e, "list a corpus") : 0;
}

/* --- the new corpus ----------------------------------------------------------------- */

struct building {
	const struct generation *g;
	const struct generation_replacement *with;
	int next;
	struct generation_result *sum;
};

static int copy_one(const struct building *b, const struct candidate *c, struct err *e)
{
	struct store_sum got = {0};
	char hex[STORE_NAME];
	int r = store_file(b->with->stage, c->name, b->next, NULL, &got, hex, e);

	if (r == 0 && strcmp(hex, c->name) != 0)
		return err_set(e, EBADMSG, "'%s' in the stage has another content", c->name);
	return r;
}

static int generation_add_one(const struct building *b, const struct candidate *c, struct err *e)
{
	struct stat st;
	int r = 0;

	if (sys_linkat(b->with->stage, c->name, b->next, c->name) < 0 && errno != EEXIST) {
		if (errno != EXDEV && errno != EMLINK && errno != EPERM)
			return err_sys(e, "link '%s'", c->name);
		r = copy_one(b, c, e);
	}
	if (r < 0)
		return r;
	if (fstatat(b->next, c->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "stat '%s'", c->name);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != c->size)
		return err_set(e, EBADMSG, "'%s' in the stage is not what it was", c->name);
	b->sum->files++;
	b->sum->bytes += c->size;
	return 0;
}

static int make_next(struct building *b, struct err *e)
{
	int r;

	if (sys_mkdirat(b->g->dir, GENERATION_NEXT, GENERATION_MODE) < 0)
		return err_sys(e, "make directory '%s'", GENERATION_NEXT);
	r = fs_open_dir(b->g->dir, GENERATION_NEXT, &b->next, e);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < b->with->chosen->n; i++)
		r = generation_add_one(b, &b->with->chosen->v[i], e);
	return r;
}

/* A directory keeps its inode number when it is renamed.  So a recovery can find out whether the
 * exchange happened. */
static int write_pending(const struct building *b, struct err *e)
{
	struct stat st;
	char text[32];

	if (fstat(b->next, &st) < 0)
		return err_sys(e, "stat '%s'", GENERATION_NEXT);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)st.st_ino);
	return fs_replace(b->g->dir, GENERATION_PENDING, slice_of(text), e);
}

/* Carries over inputs that came after the candidates were listed.  Later inputs are carried over
 * after the exchange.  A recovery finds them by their time: they are newer than `pending`. */
static int carry_new(struct building *b, int corpus, struct err *e)
{
	struct carry c = {.g = b->g,
			  .from = corpus,
			  .to = b->next,
			  .rule = CARRY_UNKNOWN,
			  .known = b->with->known,
			  .inputs_only = true};
	int r = carry_all(&c, e);

	b->sum->carried += c.carried;
	return r;
}

static int generation_exchange(const struct generation *g, struct err *e)
{
	if (sys_exchange(g->dir, GENERATION_NEXT, g->corpora, g->target) < 0)
		return err_sys(e, "exchange '%s' and the corpus", GENERATION_NEXT);
	return 0;
}

/* Syncs both names of the exchange. */
static int generation_settle(const struct generation *g, struct err *e)
{
	if (sys_fsync(g->corpora) < 0 || sys_fsync(g->dir) < 0)
		return err_sys(e, "sync the exchange");
	return 0;
}

/* corpus: a descriptor of the old corpus, also after the exchange. */
static int generation_finish(struct building *b, int corpus, struct err *e)
{
	struct carry c = {.g = b->g,
			  .from = corpus,
			  .to = b->next,
			  .rule = CARRY_UNKNOWN,
			  .known = b->with->known};
	int r = generation_settle(b->g, e);

	if (r == 0)
		r = carry_all(&c, e);
	b->sum->carried += c.carried;
	if (r == 0 && c.carried && sys_syncfs(b->next) < 0)
		r = err_sys(e, "sync the new corpus");
	if (r == 0)
		r = generation_retire(b->g, b->with->keep, &b->sum->kept, e);
	return r;
}

/* Copies owner and mode: a user may have given the corpus to a group. */
static int generation_as_before(int corpus, int next, struct err *e)
{
	struct stat old, new;

	if (fstat(corpus, &old) < 0 || fstat(next, &new) < 0)
		return err_sys(e, "stat the corpus");
	if ((old.st_uid != new.st_uid || old.st_gid != new.st_gid) &&
	    fchown(next, old.st_uid, old.st_gid) < 0)
		return err_sys(e, "give the new corpus to user %u", (unsigned)old.st_uid);
	if (fchmod(next, old.st_mode & 07777) < 0)
		return err_sys(e, "set the mode of the new corpus");
	return 0;
}

static int replace(struct building *b, struct err *e)
{
	_autoclose_ int corpus = -1;
	int r = fs_make_dir(b->g->corpora, b->g->target, GENERATION_MODE, &corpus, e);

	if (r == 0)
		r = make_next(b, e);
	if (r == 0)
		r = generation_as_before(corpus, b->next, e);
	if (r == 0)
		r = write_pending(b, e);
	if (r == 0)
		r = carry_new(b, corpus, e);
	if (r == 0 && sys_syncfs(b->next) < 0)
		r = err_sys(e, "sync the new corpus");
	if (r == 0)
		r = generation_exchange(b->g, e);
	if (r < 0)
		return r;
	b->sum->replaced = true;
	return generation_finish(b, corpus, e);
}

/* Best effort: the caller reports the error before it, and the next start tries again. */
static void generation_undo(const struct generation *g)
{
	struct err e;

	if (fs_remove_tree(g->dir, GENERATION_NEXT, &e) == 0)
		(void)!generation_forget(g->dir, GENERATION_PENDING, &e);
}

int generation_replace(struct generation *g, const struct generation_replacement *with,
		       struct generation_result *ret, struct err *e)
{
	struct building b = {.g = g, .with = with, .next = -1, .sum = ret};
	enum generation_found found;
	int r;

	*ret = (struct generation_result){0};
	if (with->chosen->n == 0)
		return err_set(e, ENODATA, "the corpus of '%s' would become empty", g->target);
	r = generation_recover(g, with->keep, &found, e);
	if (r < 0)
		return r;
	r = replace(&b, e);
	close_p(&b.next);
	if (r < 0 && !ret->replaced)
		generation_undo(g);
	if (r < 0)
		return err_wrap(e,
				ret->replaced ? "the new corpus of '%s' is in place, but"
					      : "replace the corpus of '%s'",
				g->target);
	return 0;
}

/* --- recovery ------------------------------------------------------------- */

enum { PENDING_MAX = 64 };

/* Reads the inode of the new corpus, and the time of `pending`; inode 0: nothing is recorded. */
static int read_pending(const struct generation *g, uint64_t *ret_inode, struct timespec *ret_since,
			struct err *e)
{
	_autofree_ char *text = NULL;
	struct slice in;
	struct stat st;
	size_t n;
	int r = fs_read(g->dir, GENERATION_PENDING, PENDING_MAX, &text, &n, e);

	*ret_inode = 0;
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (fstatat(g->dir, GENERATION_PENDING, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "stat '%s'", GENERATION_PENDING);
	*ret_since = st.st_mtim;
	in = (struct slice){text, n};
	if (!scan_u64(&in, 10, UINT64_MAX, ret_inode))
		*ret_inode = 0; /* the record is incomplete, so the exchange had not begun */
	return 0;
}

static int generation_open_corpus(const struct generation *g, int *ret_fd, struct err *e)
{
	return fs_make_dir(g->corpora, g->target, GENERATION_MODE, ret_fd, e);
}

static int carry(struct carry *c, struct err *e)
{
	int r = carry_all(c, e);

	if (r == 0 && c->carried && sys_syncfs(c->to) < 0)
		r = err_sys(e, "sync what was carried over");
	return r;
}

/* The exchange did not happen, or this is unknown.  The corpus gets every file that only `next`
 * has. */
static int recover_undo(struct carry *c, struct err *e)
{
	int r;

	c->rule = CARRY_ABSENT;
	r = carry(c, e);
	if (r == 0)
		r = generation_trash(c->g->dir, GENERATION_NEXT, e);
	if (r == 0)
		r = generation_forget(c->g->dir, GENERATION_PENDING, e);
	return r;
}

static int recover_finish(struct carry *c, unsigned keep, struct err *e)
{
	uint64_t number;
	int r = 0;

	c->rule = CARRY_LATE;
	if (sys_fsync(c->g->corpora) < 0 || sys_fsync(c->g->dir) < 0)
		r = err_sys(e, "sync the exchange");
	if (r == 0)
		r = carry(c, e);
	if (r == 0)
		r = generation_retire(c->g, keep, &number, e);
	return r;
}

static int recover_exchange(const struct generation *g, int next, unsigned keep,
			    enum generation_found *ret, struct err *e)
{
	_autoclose_ int corpus = -1;
	struct carry c = {.g = g, .from = next};
	uint64_t inode = 0;
	struct stat st;
	int r = generation_open_corpus(g, &corpus, e);

	c.to = corpus;
	if (r == 0)
		r = read_pending(g, &inode, &c.since, e);
	if (r < 0)
		return r;
	if (fstat(corpus, &st) < 0)
		return err_sys(e, "stat the corpus");
	*ret = inode && inode == st.st_ino ? GENERATION_FINISHED : GENERATION_UNDONE;
	return *ret == GENERATION_FINISHED ? recover_finish(&c, keep, e) : recover_undo(&c, e);
}

int generation_recover(struct generation *g, unsigned keep, enum generation_found *ret,
		       struct err *e)
{
	_autoclose_ int next = -1;
	enum generation_found found = GENERATION_CLEAN;
	int r = fs_remove_tree(g->dir, GENERATION_TRASH, e);

	if (r == 0) /* fs_replace() may leave it */
		r = generation_forget(g->dir, "." GENERATION_PENDING ".new", e);
	if (r == 0) {
		next = sys_openat(g->dir, GENERATION_NEXT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
		if (next >= 0)
			r = recover_exchange(g, next, keep, &found, e);
		else if (errno == ENOENT)
			r = generation_forget(g->dir, GENERATION_PENDING, e);
		else
			r = err_sys(e, "open '%s'", GENERATION_NEXT);
	}
	if (r < 0)
		return err_wrap(e, "recover the corpus of '%s'", g->target);
	*ret = found;
	return 0;
}

static int generation_recover_target(int state, const char *target, unsigned keep,
				     struct generation_sum *sum, struct err *e)
{
	struct generation g = {.corpora = -1, .dir = -1};
	enum generation_found found = GENERATION_CLEAN;
	int r = generation_open(state, target, &g, e);

	if (r == 0)
		r = generation_recover(&g, keep, &found, e);
	generation_close(&g);
	sum->undone += found == GENERATION_UNDONE;
	sum->finished += found == GENERATION_FINISHED;
	return r;
}

/* Recovers each target of a directory of generations; a missing directory is no error. */
static int recover_dir(int state, const char *path, unsigned keep, struct generation_sum *sum,
		       struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(state, path);
	const struct dirent *ent;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open directory '%s'", path);
	while ((ent = sys_readdir(d))) {
		int r = ent->d_name[0] == '.'
			    ? 0
			    : generation_recover_target(state, ent->d_name, keep, sum, e);

		if (r < 0)
			return r;
	}
	return errno ? err_sys(e, "list directory '%s'", path) : 0;
}

int generation_recover_all(int state, unsigned keep, struct generation_sum *ret, struct err *e)
{
	struct generation_sum sum = {0};
	int r = recover_dir(state, "generations", keep, &sum, e);

	if (r == 0)
		r = recover_dir(state, "corpus/.generations", keep, &sum, e);
	if (r == 0)
		*ret = sum;
	return r;
}
