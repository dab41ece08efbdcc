/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the inputs of the new corpus, checks their coverage, and exchanges the corpus.  At the
 * end of a merge it saves facts for the next merge, and counts the corpus. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/corpus/generation/generation.h"
#include "runner/corpus/generation/retry.h"
#include "runner/corpus/spare.h"
#include "runner/run/merge/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MODE_OURS = 0750, PASS_NAME = 24 };

/* The data for a decision. */
struct facts {
	const struct merge *m;
	struct merge_dir d;
	struct candidates staged, chosen;
	struct candidates known; /* inputs that were measured, and so may go */
	struct merge_pass measured, verified;
	struct reach all, got;
};

static void facts_done(struct facts *f)
{
	merge_dir_close(&f->d);
	candidates_done(&f->staged);
	candidates_done(&f->chosen);
	candidates_done(&f->known);
	merge_pass_done(&f->measured);
	merge_pass_done(&f->verified);
	reach_done(&f->all);
	reach_done(&f->got);
}

static int merge_decide_load(struct facts *f, struct err *e)
{
	int r = merge_dir_open(f->m, &f->d, e);

	return r == 0 ? merge_staged_load(f->d.dir, &f->staged, e) : r;
}

/* Lists the inputs that ran.  An input that did not run stays in the corpus, whatever the reason.
 */
static int list_known(struct facts *f, struct err *e)
{
	candidates_done(&f->known);
	for (size_t k = 0; k < f->measured.n; k++) {
		const struct candidates *list = &f->measured.lists[k];

		for (size_t i = 0; i < list->n; i++) {
			int r = f->measured.controls[k]->inputs[i].state == CONTROL_RAN
				    ? candidates_add(&f->known, list->v[i].name, list->v[i].size, e)
				    : 0;

			if (r < 0)
				return r;
		}
	}
	candidates_sort(&f->known);
	return candidates_save(f->d.dir, "known", &f->known, e);
}

/* Loads all measurements; this is most of the work. */
static int load_measured(struct facts *f, struct err *e)
{
	const char *pass = merge_first_pass(f->m->full);
	int r = merge_pass_load(f->d.dir, pass, &f->staged, &f->measured, e);

	return r == 0 ? list_known(f, e) : r;
}

/* Loads the chosen inputs without those that turned out to be bad. */
static int load_chosen(struct facts *f, bool *ret_all, struct err *e)
{
	_autocandidates_ struct candidates before = {0};
	int r = candidates_load(f->d.dir, "chosen", &before, e);

	for (size_t i = 0; r == 0 && i < before.n; i++)
		if (candidates_find(&f->staged, before.v[i].name, before.v[i].size))
			r = candidates_add(&f->chosen, before.v[i].name, before.v[i].size, e);
	*ret_all = f->chosen.n == before.n;
	return r; /* f->chosen has the order of the list */
}

static int load_verified(struct facts *f, struct err *e)
{
	char name[PASS_NAME];
	int r = 0;

	for (unsigned i = 1; r == 0 && i <= f->m->round; i++) {
		snprintf(name, sizeof(name), "verify-%u", i);
		r = merge_pass_load(f->d.dir, name, &f->staged, &f->verified, e);
	}
	return r;
}

static struct merge_size merge_decide_size_of(const struct candidates *c, const struct reach *reach)
{
	struct merge_size s = {
	    .files = c->n, .edges = reach->edges.count, .features = reach->features.count};

	for (size_t i = 0; i < c->n; i++)
		s.bytes += c->v[i].size;
	return s;
}

/* --- the next pass of verifying ------------------------------------------------------ */

static bool is_verified(const struct facts *f, const struct candidate *c)
{
	for (size_t k = 0; k < f->verified.n; k++)
		if (candidates_find(&f->verified.lists[k], c->name, c->size))
			return true;
	return false;
}

static int to_verify(struct facts *f, struct merge_decided *io, struct err *e)
{
	_autocandidates_ struct candidates fresh = {0};
	unsigned shards;
	char name[PASS_NAME];
	int r = candidates_save(f->d.dir, "chosen", &f->chosen, e);

	for (size_t i = 0; r == 0 && i < f->chosen.n; i++)
		if (!is_verified(f, &f->chosen.v[i]))
			r = candidates_add(&fresh, f->chosen.v[i].name, f->chosen.v[i].size, e);
	shards = fresh.n ? shard_count(fresh.n, f->m->spec.workers, false) : 0;
	snprintf(name, sizeof(name), "verify-%u", f->m->round + 1);
	if (r == 0)
		r = fs_remove_tree(f->d.dir, name, e);
	if (r == 0)
		r = merge_pass_deal(f->d.dir, name, 0, &fresh, shards, e);
	io->shards = shards;
	io->to = MERGE_TO_VERIFY;
	return r;
}

/* --- comparison with the corpus -------------------------------------------------------- */

struct difference {
	uint64_t fresh; /* chosen inputs that the corpus does not have */
	bool more;	/* the corpus has inputs that may go */
};

static int merge_decide_compare(const struct facts *f, struct difference *ret, struct err *e)
{
	_autocandidates_ struct candidates listed = {0};
	const struct candidates *corpus = f->m->direct ? &f->staged : &listed;
	int r = f->m->direct ? 0 : shard_list(f->d.corpus, &listed, e);

	*ret = (struct difference){0};
	for (size_t i = 0; r == 0 && i < f->chosen.n; i++)
		ret->fresh += !candidates_find(corpus, f->chosen.v[i].name, f->chosen.v[i].size);
	for (size_t i = 0; r == 0 && i < corpus->n && !ret->more; i++) {
		const struct candidate *c = &corpus->v[i];

		ret->more = candidates_find(&f->known, c->name, c->size) &&
			    !candidates_find(&f->chosen, c->name, c->size);
	}
	return r;
}

/* Lists cover and spare inputs.  A verifying pass lists all that each input reaches. */
static int list_cover(struct facts *f, struct merge_decided *io, struct err *e)
{
	_autocandidates_ struct candidates cover = {0}, spare = {0};
	struct cover_gap gap = cover_gap(&f->all, &f->got);
	/* If coverage did not show again, all chosen inputs are the cover: some are there for it.
	 */
	bool steady = gap.features == 0 && gap.edges == 0;
	int r = steady ? cover_fewest(f->verified.v, f->verified.n, &f->chosen, &cover, e) : 0;

	for (size_t i = 0; r == 0 && i < f->chosen.n; i++) {
		const struct candidate *c = &f->chosen.v[i];

		if (!steady || !candidates_find(&cover, c->name, c->size))
			r = candidates_add(steady ? &spare : &cover, c->name, c->size, e);
	}
	if (r < 0)
		return r;
	io->cover = merge_decide_size_of(&cover, &f->got);
	r = candidates_save(f->d.dir, MERGE_FILE_COVER, &cover, e);
	return r == 0 ? candidates_save(f->d.dir, MERGE_FILE_SPARE, &spare, e) : r;
}

static int merge_decide_settle(struct facts *f, struct merge_decided *io, struct err *e)
{
	struct difference d = {0};
	int r = merge_decide_compare(f, &d, e);

	io->new_inputs = d.fresh;
	io->to = d.fresh || d.more ? MERGE_TO_REPLACE : MERGE_TO_END;
	io->verdict = MERGE_UNCHANGED;
	if (r == 0)
		r = candidates_save(f->d.dir, "chosen", &f->chosen, e);
	return r == 0 ? list_cover(f, io, e) : r;
}

/* --- the decision ------------------------------------------------------------------ */

static void end_with(struct merge_decided *io, enum merge_verdict v, const char *why)
{
	io->to = MERGE_TO_END;
	io->verdict = v;
	snprintf(io->why, sizeof(io->why), "%s", why);
}

/* Whether the build reaches so little that it is probably broken. */
static bool merge_decide_is_broken(const struct facts *f, struct merge_decided *io)
{
	struct merge_last last;

	merge_last_load(f->m, &last);
	if (f->m->spec.force || io->all.edges >= last.edges / MERGE_REACH_SHARE)
		return false;
	end_with(io, MERGE_KEPT, "");
	io->blames_build = true;
	snprintf(io->why, sizeof(io->why),
		 "this build reaches %llu edges, the last one reached %llu: the corpus stays as "
		 "it is ('corpus minimize --force' if that is right)",
		 (unsigned long long)io->all.edges, (unsigned long long)last.edges);
	return true;
}

/* The quick pass, which lists only new coverage, is not enough: starts the full pass. */
static int to_full(struct facts *f, struct merge_decided *io, struct err *e)
{
	io->to = MERGE_TO_FULL;
	return merge_deal_rest(f->m, true, f->d.dir, &f->staged, &io->measure, e);
}

/* The measurement is all that was wanted. */
static int merge_decide_measured(struct facts *f, struct merge_decided *io, struct err *e)
{
	_autoclose_ int dir = -1;
	struct difference d;
	int r = merge_decide_compare(f, &d, e);

	io->new_inputs = d.fresh;
	end_with(io, MERGE_MEASURED, "");
	if (r < 0 || !f->m->spec.reach)
		return r;
	r = fs_open_dir(AT_FDCWD, f->m->spec.reach, &dir, e);
	return r == 0 ? merge_reach_save(dir, &f->all, e) : r;
}

static int merge_decide_choose(struct facts *f, struct merge_decided *io, struct err *e)
{
	int r = load_measured(f, e);

	if (r == 0 && !f->m->full && f->measured.holes)
		return to_full(f, io, e);
	if (r < 0 || cover_choose(f->measured.v, f->measured.n, &f->chosen, &f->all, e) < 0 ||
	    merge_reach_save(f->d.dir, &f->all, e) < 0)
		return err_code(e);
	io->all = merge_decide_size_of(&f->staged, &f->all);
	io->chosen = merge_decide_size_of(&f->chosen, &f->all);
	if (f->chosen.n == 0)
		end_with(io, MERGE_NOTHING,
			 f->all.ran ? "no input reaches anything: is the target instrumented?"
				    : "no input ran to its end");
	else if (f->m->spec.what == MERGE_REPLACE)
		return merge_decide_is_broken(f, io) ? 0 : to_verify(f, io, e);
	else
		return merge_decide_measured(f, io, e);
	return r;
}

/* Keeps the old corpus, because the chosen inputs missed coverage.  The message leaves out lost
 * coverage: all inputs that ever reached it are chosen, and no other choice could do better. */
static void merge_decide_guard(const struct cover_gap *gap, struct merge_decided *io)
{
	uint64_t features = gap->features - gap->lost_features;
	uint64_t edges = gap->edges - gap->lost_edges;

	end_with(io, MERGE_KEPT, "");
	snprintf(io->why, sizeof(io->why),
		 "measured once more, the smaller corpus missed %llu features and %llu edges: "
		 "the target does not always do the same",
		 (unsigned long long)features, (unsigned long long)edges);
}

static void give_sizes(const struct facts *f, struct merge_decided *io)
{
	io->all = merge_decide_size_of(&f->staged, &f->all);
	io->chosen = merge_decide_size_of(&f->chosen, &f->got);
}

/* Coverage is missing, or an input turned out to be bad: compares with all measurements, and tops
 * the choice up. */
static int check_all(struct facts *f, struct merge_decided *io, struct err *e)
{
	struct cover_gap gap;
	size_t added = 0;

	reach_done(&f->all);
	if (load_measured(f, e) < 0 || cover_reach(f->measured.v, f->measured.n, &f->all, e) < 0 ||
	    merge_reach_save(f->d.dir, &f->all, e) < 0 ||
	    cover_top_up(f->measured.v, f->measured.n, &f->all, &f->got, &f->chosen, &added, &gap,
			 e) < 0)
		return err_code(e);
	give_sizes(f, io);
	if (f->chosen.n == 0)
		end_with(io, MERGE_NOTHING, "no input ran to its end");
	else if (added && f->m->round <= MERGE_ROUNDS)
		return to_verify(f, io, e);
	else if (added)
		merge_decide_guard(&gap, io);
	else
		return merge_decide_settle(f, io, e);
	return 0;
}

/* Chooses again from the verified inputs: two shards may have chosen inputs for the same coverage.
 */
static int choose_again(struct facts *f, struct err *e)
{
	_autocandidates_ struct candidates less = {0};
	_autoreach_ struct reach same = {0};
	int r = cover_choose(f->verified.v, f->verified.n, &less, &same, e);

	if (r < 0)
		return r;
	candidates_done(&f->chosen);
	f->chosen = less;
	less = (struct candidates){0};
	return 0;
}

static int merge_decide_check(struct facts *f, struct merge_decided *io, struct err *e)
{
	struct cover_gap gap;
	bool all = false;

	if (load_chosen(f, &all, e) < 0 || load_verified(f, e) < 0 ||
	    cover_reach(f->verified.v, f->verified.n, &f->got, e) < 0 ||
	    merge_reach_load(f->d.dir, &f->all, e) < 0 ||
	    candidates_load(f->d.dir, "known", &f->known, e) < 0)
		return err_code(e);
	gap = cover_gap(&f->all, &f->got);
	if (!all || f->chosen.n == 0 || gap.features || gap.edges)
		return f->m->full ? check_all(f, io, e) : to_full(f, io, e);
	if (!f->m->full && choose_again(f, e) < 0)
		return err_code(e);
	give_sizes(f, io);
	return merge_decide_settle(f, io, e);
}

int merge_task_decide(void *arg, struct buf *out, struct err *e)
{
	CLEANUP(facts_done) struct facts f = {.m = arg, .d = MERGE_DIR_NONE};
	struct merge_decided d = {0};
	int r = merge_decide_load(&f, e);

	if (r == 0)
		r = f.m->round ? merge_decide_check(&f, &d, e) : merge_decide_choose(&f, &d, e);
	if (r == 0)
		buf_put(out, (struct slice){(const char *)&d, sizeof(d)});
	return r;
}

/* --- the exchange ------------------------------------------------------------------- */

static int merge_decide_replace(const struct facts *f, struct merge_replaced *ret, struct err *e)
{
	struct generation_replacement with = {
	    .stage = f->d.stage,
	    .chosen = &f->chosen,
	    .known = &f->known,
	    .keep = f->m->env.keep,
	};
	struct generation_result got;
	struct generation g;
	int r = generation_open(f->m->env.state->dirfd, f->m->spec.target->name, &g, e);

	if (r < 0)
		return r;
	r = generation_replace(&g, &with, &got, e);
	if (r < 0 && got.replaced) { /* the exchange succeeded, a later step failed */
		snprintf(ret->why, sizeof(ret->why), "%.*s", (int)sizeof(ret->why) - 1, e->msg);
		r = 0;
	}
	generation_close(&g);
	return r;
}

int merge_task_replace(void *arg, struct buf *out, struct err *e)
{
	CLEANUP(facts_done) struct facts f = {.m = arg, .d = MERGE_DIR_NONE};
	struct merge_replaced done = {0};
	bool all;

	if (merge_dir_open(f.m, &f.d, e) < 0 || merge_check_binary(f.m, f.d.dir, e) < 0 ||
	    merge_staged_load(f.d.dir, &f.staged, e) < 0 || load_chosen(&f, &all, e) < 0 ||
	    candidates_load(f.d.dir, "known", &f.known, e) < 0 ||
	    spare_forget(f.m->env.state->dirfd, f.m->spec.target->name, e) < 0 ||
	    merge_decide_replace(&f, &done, e) < 0)
		return err_code(e);
	buf_put(out, (struct slice){(const char *)&done, sizeof(done)});
	return 0;
}

/* --- the end of a merge ---------------------------------------------------- */

static bool went_well(const struct merge *m)
{
	enum merge_verdict v = m->result.verdict;

	return v == MERGE_REPLACED || v == MERGE_UNCHANGED || v == MERGE_CLEANED;
}

static int load_known(const struct merge *m, struct candidates *ret, struct err *e)
{
	_autoclose_ int dir = -1;
	int r = fs_open_dir(AT_FDCWD, m->path, &dir, e);

	return r == 0 ? candidates_load(dir, "known", ret, e) : r;
}

/* Writes stats/merged/<target>.unneeded: measured inputs that are not in the corpus.  Only these
 * are known to add nothing (`corpus update-intree --prune`). */
static int keep_unneeded(const struct merge *m, const struct candidates *known, struct err *e)
{
	_autocandidates_ struct candidates needed = {0};
	_autocandidates_ struct candidates unneeded = {0};
	_autofree_ char *name = xasprintf("%s.unneeded", m->spec.target->name);
	_autoclose_ int corpus = -1;
	_autoclose_ int dir = -1;

	if (state_open_corpus(m->env.state, m->spec.target->name, &corpus, e) < 0 ||
	    shard_list(corpus, &needed, e) < 0)
		return err_code(e);
	for (size_t i = 0; i < known->n; i++)
		if (!candidates_find(&needed, known->v[i].name, known->v[i].size) &&
		    candidates_add(&unneeded, known->v[i].name, known->v[i].size, e) < 0)
			return err_code(e);
	if (fs_mkdirs(m->env.state->dirfd, "stats/merged", MODE_OURS, e) < 0 ||
	    fs_open_dir(m->env.state->dirfd, "stats/merged", &dir, e) < 0)
		return err_code(e);
	return candidates_save(dir, name, &unneeded, e);
}

static int keep_cover(const struct merge *m, struct err *e)
{
	_autocandidates_ struct candidates cover = {0}, spare = {0};
	_autoclose_ int dir = -1;

	if (fs_open_dir(AT_FDCWD, m->path, &dir, e) < 0 ||
	    candidates_load(dir, MERGE_FILE_COVER, &cover, e) < 0 ||
	    candidates_load(dir, MERGE_FILE_SPARE, &spare, e) < 0)
		return err_code(e);
	return spare_save(m->env.state->dirfd, m->spec.target->name, &cover, &spare, e);
}

static int merge_end_settle(const struct merge *m, struct err *e)
{
	_autocandidates_ struct candidates known = {0};

	/* An input that ran is in the corpus, or the corpus reaches the same without it. */
	if (load_known(m, &known, e) < 0 ||
	    retry_passed(m->env.state->dirfd, m->spec.target->name, &known, e) < 0 ||
	    keep_unneeded(m, &known, e) < 0)
		return err_code(e);
	return keep_cover(m, e);
}

static int merge_end_remember(const struct merge *m, struct err *e)
{
	struct merge_last last;

	if (!went_well(m) && !m->slow)
		return 0;
	merge_last_load(m, &last);
	last.slow = m->slow;
	if (went_well(m)) {
		last.unsteady = last.unsteady || m->unsteady;
		last.edges = m->result.before.edges;
		last.features = m->result.before.features;
	}
	return merge_last_save(m, &last, e);
}

static int merge_end_count(int corpus, struct merge_size *io, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(corpus, ".");
	const struct dirent *ent;
	struct stat st;

	if (!d)
		return err_sys(e, "open the corpus");
	while ((ent = sys_readdir(d))) {
		if (ent->d_name[0] == '.' ||
		    fstatat(corpus, ent->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		io->files++;
		io->bytes += (uint64_t)st.st_size;
	}
	return errno ? err_sys(e, "list the corpus") : 0;
}

int merge_task_end(void *arg, struct buf *out, struct err *e)
{
	const struct merge *m = arg;
	_autoclose_ int corpus = -1;
	struct merge_size s = {0};

	if (m->put_back &&
	    retry_restore(m->env.state->dirfd, m->spec.target->name, m->lost, m->n_lost, e) < 0)
		return err_code(e);
	if ((went_well(m) && merge_end_settle(m, e) < 0) || merge_end_remember(m, e) < 0 ||
	    state_open_corpus(m->env.state, m->spec.target->name, &corpus, e) < 0 ||
	    merge_end_count(corpus, &s, e) < 0 ||
	    (m->discard && fs_remove_tree(AT_FDCWD, m->path, e) < 0))
		return err_code(e);
	buf_put(out, (struct slice){(const char *)&s, sizeof(s)});
	return 0;
}
