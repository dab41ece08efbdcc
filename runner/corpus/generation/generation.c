/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/generation/generation.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/generation/carry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

static int generation_open_made(int at, const char *path, int *ret_fd, struct err *e)
{
	int r = fs_mkdirs(at, path, GENERATION_MODE, e);

	return r < 0 ? r : fs_open_dir(at, path, ret_fd, e);
}

/* The directory of all targets' generations. */
static int generation_open_all(int state, int corpora, int *ret_fd, struct err *e)
{
	_autoclose_ int beside = -1;
	bool same = false;
	int r = generation_open_made(state, "generations", &beside, e);

	if (r == 0)
		r = same_mount(beside, corpora, &same, e);
	if (r < 0)
		return r;
	if (!same)
		return generation_open_made(corpora, ".generations", ret_fd, e);
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
	r = generation_open_made(state, "corpus", &corpora, e);
	if (r == 0)
		r = generation_open_all(state, corpora, &all, e);
	if (r == 0)
		r = generation_open_made(all, target, &dir, e);
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
	int r = generation_carry(&c, e);

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
		r = generation_carry(&c, e);
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
	int r = generation_open_made(b->g->corpora, b->g->target, &corpus, e);

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
