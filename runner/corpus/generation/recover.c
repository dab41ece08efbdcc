/* SPDX-License-Identifier: Apache-2.0 */
/* The recovery of generation.h: completes or undoes a killed exchange. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/generation/carry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

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

static int generation_recover_open_corpus(const struct generation *g, int *ret_fd, struct err *e)
{
	int r = fs_mkdirs(g->corpora, g->target, GENERATION_MODE, e);

	return r < 0 ? r : fs_open_dir(g->corpora, g->target, ret_fd, e);
}

static int carry(struct carry *c, struct err *e)
{
	int r = generation_carry(c, e);

	if (r == 0 && c->carried && sys_syncfs(c->to) < 0)
		r = err_sys(e, "sync what was carried over");
	return r;
}

/* The exchange did not happen, or this is unknown.  The corpus gets every file that only `next`
 * has. */
static int generation_recover_undo(struct carry *c, struct err *e)
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

static int generation_recover_finish(struct carry *c, unsigned keep, struct err *e)
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

static int generation_recover_recover(const struct generation *g, int next, unsigned keep,
				      enum generation_found *ret, struct err *e)
{
	_autoclose_ int corpus = -1;
	struct carry c = {.g = g, .from = next};
	uint64_t inode = 0;
	struct stat st;
	int r = generation_recover_open_corpus(g, &corpus, e);

	c.to = corpus;
	if (r == 0)
		r = read_pending(g, &inode, &c.since, e);
	if (r < 0)
		return r;
	if (fstat(corpus, &st) < 0)
		return err_sys(e, "stat the corpus");
	*ret = inode && inode == st.st_ino ? GENERATION_FINISHED : GENERATION_UNDONE;
	return *ret == GENERATION_FINISHED ? generation_recover_finish(&c, keep, e)
					   : generation_recover_undo(&c, e);
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
			r = generation_recover_recover(g, next, keep, &found, e);
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
