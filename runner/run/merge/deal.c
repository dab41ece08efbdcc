/* SPDX-License-Identifier: Apache-2.0 */
/* Deals the candidates that are not measured yet into shards. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "runner/run/merge/internal.h"

#include <errno.h>
#include <fcntl.h>

const char *merge_first_pass(bool full)
{
	return full ? "measure" : "quick";
}

/* Adds the inputs that were measured on this binary, sorted.  A bad input that came back (a seed)
 * is run again.  With MERGE_MEASURE bad inputs stay in the corpus, and are not run again. */
static int merge_deal_add_known(const struct merge *m, const struct merge_pass *p,
				struct candidates *to, struct err *e)
{
	for (size_t k = 0; k < p->n; k++) {
		const struct control *c = p->v[k].control;

		for (size_t i = 0; i < c->n; i++) {
			const struct candidate *one = &p->lists[k].v[i];
			bool known =
			    c->inputs[i].state == CONTROL_RAN ||
			    (c->inputs[i].state == CONTROL_FAILED && m->spec.what == MERGE_MEASURE);
			int r = known ? candidates_add(to, one->name, one->size, e) : 0;

			if (r < 0)
				return r;
		}
	}
	candidates_sort(to);
	return 0;
}

static int subtract(const struct candidates *all, const struct candidates *known,
		    struct candidates *to, struct err *e)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct candidate *c = &all->v[i];
		int r = candidates_find(known, c->name, c->size)
			    ? 0
			    : candidates_add(to, c->name, c->size, e);

		if (r < 0)
			return r;
	}
	return 0; /* in the order of `all` */
}

static int find_rest(const struct merge *m, int dir, const char *pass, const struct candidates *all,
		     struct candidates *rest, struct err *e)
{
	_automergepass_ struct merge_pass before = {0};
	_autocandidates_ struct candidates known = {0};
	int r = merge_pass_load(dir, pass, all, &before, e);

	if (r == 0)
		r = merge_deal_add_known(m, &before, &known, e);
	return r == 0 ? subtract(all, &known, rest, e) : r;
}

static unsigned count_shards(const struct merge *m, const struct merge_staged *io, size_t n)
{
	return n ? shard_count(n, m->spec.workers, !io->full) : 0;
}

static bool too_many(const struct merge *m, const struct merge_staged *io, size_t n)
{
	return io->next + count_shards(m, io, n) > MERGE_SHARDS_MAX;
}

static int merge_deal_deal(const struct merge *m, const char *pass, int dir,
			   const struct candidates *all, struct merge_staged *io, struct err *e)
{
	_autocandidates_ struct candidates rest = {0};
	unsigned shards = 0;
	int r = merge_pass_count(dir, pass, &io->next, e);

	/* Each merge leaves shards.  If there are too many, all candidates are measured anew. */
	if (r == 0 && too_many(m, io, all->n) && m->step == MERGE_STAGE) {
		io->next = 0;
		r = fs_remove_tree(dir, pass, e);
	}
	if (r == 0 && too_many(m, io, all->n))
		r = err_set(e, E2BIG, "what the inputs reach does not fit %d control files",
			    MERGE_SHARDS_MAX);
	if (r == 0)
		r = find_rest(m, dir, pass, all, &rest, e);
	if (r == 0) {
		shards = count_shards(m, io, rest.n);
		r = merge_pass_deal(dir, pass, io->next, &rest, shards, e);
	}
	if (r < 0)
		return r;
	io->end = io->next + shards;
	io->candidates = all->n;
	io->reused = all->n - rest.n;
	io->longest = all->n ? all->v[all->n - 1].size : 0; /* they are sorted by size */
	return 0;
}

int merge_deal_rest(const struct merge *m, bool full, int dir, const struct candidates *all,
		    struct merge_staged *io, struct err *e)
{
	io->full = full;
	return merge_deal_deal(m, merge_first_pass(full), dir, all, io, e);
}

int merge_task_deal(void *arg, struct buf *out, struct err *e)
{
	const struct merge *m = arg;
	_autocandidates_ struct candidates all = {0};
	struct merge_staged s = {0};
	_autoclose_ int dir = -1;

	if (fs_open_dir(AT_FDCWD, m->path, &dir, e) < 0 || merge_staged_load(dir, &all, e) < 0 ||
	    merge_deal_rest(m, m->full, dir, &all, &s, e) < 0)
		return err_code(e);
	buf_put(out, (struct slice){(const char *)&s, sizeof(s)});
	return 0;
}
