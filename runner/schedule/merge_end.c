/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a merge: what the next one is told, and what the corpus is now. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/retry.h"
#include "runner/schedule/merge_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static bool went_well(const struct merge *m)
{
	enum merge_verdict v = m->result.verdict;

	return v == MERGE_REPLACED || v == MERGE_UNCHANGED || v == MERGE_CLEANED;
}

/* What ran is in the corpus, or the corpus reaches the same without it. */
static int settle_retries(const struct merge *m, struct err *e)
{
	_autocandidates_ struct candidates known = {0};
	_autoclose_ int dir = -1;
	int r = fs_open_dir(AT_FDCWD, m->path, &dir, e);

	if (r == 0)
		r = candidates_load(dir, "known", &known, e);
	return r == 0 ? retry_passed(m->env.state->dirfd, m->spec.target->name, &known, e) : r;
}

static int remember(const struct merge *m, struct err *e)
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

static int count(int corpus, struct merge_size *io, struct err *e)
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
	int r = 0;

	if (m->put_back)
		r = retry_restore(m->env.state->dirfd, m->spec.target->name, m->lost, m->n_lost, e);
	if (r == 0 && went_well(m))
		r = settle_retries(m, e);
	if (r == 0)
		r = remember(m, e);
	if (r == 0)
		r = state_open_corpus(m->env.state, m->spec.target->name, &corpus, e);
	if (r == 0)
		r = count(corpus, &s, e);
	if (r == 0 && m->discard)
		r = fs_remove_tree(AT_FDCWD, m->path, e);
	return r == 0 ? buf_add(out, (struct slice){(const char *)&s, sizeof(s)}, e) : r;
}
