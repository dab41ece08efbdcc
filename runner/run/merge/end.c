/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a merge: saves facts for the next merge, and counts the corpus. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/corpus/generation/retry.h"
#include "runner/corpus/spare.h"
#include "runner/run/merge/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { MODE_OURS = 0750 };

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
