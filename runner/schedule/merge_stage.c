/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates of a merge, and which of them are not measured yet. */
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/store.h"
#include "runner/corpus/workdir.h"
#include "runner/schedule/merge_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
	READABLE = 0444,
	MODE_OURS = 0750,
	MODE_STAGE = 0755,
	IDENTITY_MAX = 512,
	COMMAND_MAX = 1 << 20
};

/* --- what the files were made for -------------------------------------------------- */

static int add_all(struct buf *b, const struct strv *v, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < v->n; i++)
		r = buf_addf(b, e, "%s\n", v->v[i]);
	return r;
}

/* Another binary, or other flags: another coverage. */
static int identity(const struct merge *m, struct buf *to, struct err *e)
{
	const struct target *t = m->spec.target;
	_autobuf_ struct buf command = BUF_INIT(COMMAND_MAX);
	char hex[DIGEST_SHA1_HEX];
	struct stat st;
	int r;

	if (fstatat(AT_FDCWD, t->binary, &st, 0) < 0)
		return err_sys(e, "look at '%s'", t->binary);
	r = buf_addf(&command, e, "%s\n%s\n", t->engine->name, t->binary);
	if (r == 0)
		r = add_all(&command, &t->flags, e);
	if (r == 0)
		r = add_all(&command, &m->spec.cfg->flags, e);
	if (r == 0)
		r = add_all(&command, &t->env, e);
	if (r == 0)
		r = add_all(&command, &m->spec.cfg->env, e);
	if (r < 0)
		return r;
	digest_sha1_hex(buf_slice(&command), hex);
	return buf_addf(to, e, "merge 1\nbinary %llu %lld.%09ld %llu %llu\ncommand %s\n",
			(unsigned long long)st.st_size, (long long)st.st_mtim.tv_sec,
			st.st_mtim.tv_nsec, (unsigned long long)st.st_dev,
			(unsigned long long)st.st_ino, hex);
}

static bool is_for(int dir, struct slice want)
{
	_autofree_ char *text = NULL;
	struct err e;
	size_t n;

	return fs_read(dir, "for", IDENTITY_MAX, &text, &n, &e) == 0 &&
	       slice_eq((struct slice){text, n}, want);
}

int merge_check_binary(const struct merge *m, int dir, struct err *e)
{
	_autobuf_ struct buf want = BUF_INIT(IDENTITY_MAX);
	int r = identity(m, &want, e);

	if (r == 0 && !is_for(dir, buf_slice(&want)))
		r = err_set(e, ESTALE, "'%s' was replaced meanwhile", m->spec.target->binary);
	return r;
}

/* merge/<target>, emptied when it was made for something else. */
static int open_for(const struct merge *m, int *ret_fd, struct err *e)
{
	_autobuf_ struct buf want = BUF_INIT(IDENTITY_MAX);
	_autoclose_ int fd = -1;
	int r = identity(m, &want, e);

	if (r == 0)
		r = fs_mkdirs(AT_FDCWD, m->path, MODE_OURS, e);
	if (r == 0)
		r = fs_open_dir(AT_FDCWD, m->path, &fd, e);
	if (r == 0 && !is_for(fd, buf_slice(&want))) {
		r = fs_remove_tree(fd, "measure", e);
		if (r == 0)
			r = fs_replace(fd, "for", buf_slice(&want), e);
	}
	if (r < 0)
		return r;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* --- the stage ------------------------------------------------------------------- */

static int remove_old(int dir, struct err *e)
{
	char name[32];
	int r = fs_remove_tree(dir, "stage", e);

	if (r == 0)
		r = fs_remove_tree(dir, "chosen", e);
	if (r == 0)
		r = fs_remove_tree(dir, "known", e);
	if (r == 0)
		r = fs_remove_tree(dir, "reach", e);
	for (unsigned i = 1; r == 0 && i <= MERGE_ROUNDS + 1; i++) {
		snprintf(name, sizeof(name), "verify-%u", i);
		r = fs_remove_tree(dir, name, e);
	}
	return r;
}

static int make_stage(int dir, struct err *e)
{
	_autoclose_ int fd = -1;
	int r = remove_old(dir, e);

	if (r == 0)
		r = fs_mkdirs(dir, "stage", MODE_STAGE, e);
	if (r == 0)
		r = fs_open_dir(dir, "stage", &fd, e);
	if (r == 0 && fchmod(fd, MODE_STAGE) < 0) /* whatever the umask said */
		r = err_sys(e, "set the mode of the stage");
	return r;
}

/* A person's file gets its content's name: under another one it could neither be
 * quarantined nor replaced. */
static int adopt(int corpus, const char *name, struct err *e)
{
	_autoclose_ int fd =
	    sys_openat(corpus, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	char hex[DIGEST_SHA1_HEX];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    digest_sha1_file(fd, WORKDIR_INPUT_MAX, hex, e) < 0)
		return 0; /* no input: it stays as it is */
	if (sys_renameat(corpus, name, hex) < 0)
		return err_sys(e, "rename '%s' to '%s'", name, hex);
	return 0;
}

static int adopt_all(int corpus, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(corpus, ".");
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return err_sys(e, "open the corpus");
	while (r == 0 && (ent = sys_readdir(d)))
		if (ent->d_name[0] != '.' && !candidates_name_ok(ent->d_name))
			r = adopt(corpus, ent->d_name, e);
	return r == 0 && errno ? err_sys(e, "list the corpus") : r;
}

/* Copied, not linked: a person may change a file of theirs, and its name in the
 * corpus would lie. */
static int add_dirs(int stage, const struct strv *dirs, struct merge_staged *io, struct err *e)
{
	for (size_t i = 0; i < dirs->n; i++) {
		struct store_sum sum = {0};
		int r = store_seeds(AT_FDCWD, dirs->v[i], stage, &sum, e);

		/* None of it is in the corpus on its account: nothing gets lost. */
		if (r == -ENOENT || r == -ENOTDIR || r == -EACCES)
			snprintf(io->note, sizeof(io->note), "%.*s", (int)sizeof(io->note) - 1,
				 e->msg);
		else if (r < 0)
			return r;
	}
	return 0;
}

static int add_seeds(const struct merge *m, int stage, struct merge_staged *io, struct err *e)
{
	const struct target *t = m->spec.target;
	struct stage_sum sum = {0};
	struct seeds_result unpacked;
	int r = 0;

	if (m->spec.seeds)
		return shard_stage(AT_FDCWD, m->spec.seeds, stage, &sum, e);
	if (t->seed_archive && discover_unpack_seeds(t->seed_archive, stage, &unpacked, e) < 0) {
		if (e->code == ENOSPC || e->code == EIO || e->code == EDQUOT)
			return -e->code;
		snprintf(io->note, sizeof(io->note), "%.*s", (int)sizeof(io->note) - 1, e->msg);
	}
	r = add_dirs(stage, &t->seed_dirs, io, e);
	return r == 0 ? add_dirs(stage, &m->spec.cfg->seeds, io, e) : r;
}

/* Our own files have their content's names, or `corpus verify` says so: they are not
 * read.  *odd: something else is there, too. */
static int link_one(const struct merge_dir *d, const char *name, struct stage_sum *io, bool *odd,
		    struct err *e)
{
	struct stat st;

	if (fstatat(d->corpus, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "look at '%s' in the corpus", name);
	if (!candidates_name_ok(name) || !S_ISREG(st.st_mode) ||
	    (st.st_mode & READABLE) != READABLE || (uint64_t)st.st_size > WORKDIR_INPUT_MAX) {
		*odd = true;
		return 0;
	}
	if (sys_linkat(d->corpus, name, d->stage, name) < 0) {
		if (errno != EXDEV && errno != EMLINK && errno != EPERM)
			return err_sys(e, "link '%s' into the stage", name);
		*odd = true;
		return 0;
	}
	io->files++;
	io->bytes += (uint64_t)st.st_size;
	return 0;
}

static int stage_corpus(const struct merge_dir *d, struct stage_sum *io, struct err *e)
{
	CLEANUP(closedir_p) DIR *list = sys_opendirat(d->corpus, ".");
	const struct dirent *ent;
	bool odd = false;
	int r = 0;

	if (!list)
		return err_sys(e, "open the corpus");
	while (r == 0 && (ent = sys_readdir(list)))
		if (ent->d_name[0] != '.')
			r = link_one(d, ent->d_name, io, &odd, e);
	if (r == 0 && errno)
		r = err_sys(e, "list the corpus");
	return r == 0 && odd ? shard_stage(d->corpus, ".", d->stage, io, e) : r;
}

static int stage_all(const struct merge *m, int dir, struct merge_staged *io, struct err *e)
{
	_automergedir_ struct merge_dir d = MERGE_DIR_NONE;
	struct stage_sum corpus = {0};
	int r = make_stage(dir, e);

	if (r == 0)
		r = merge_dir_open(m, &d, e);
	if (r == 0 && m->spec.what == MERGE_REPLACE)
		r = adopt_all(d.corpus, e);
	if (r == 0)
		r = stage_corpus(&d, &corpus, e);
	if (r < 0)
		return r;
	io->files = corpus.files;
	io->bytes = corpus.bytes;
	return add_seeds(m, d.stage, io, e);
}

/* --- what is to be measured --------------------------------------------------------- */

/* Measured before, on this binary; sorted.  A bad one that came back (a seed) is run
 * again, unless nothing may be changed and it stays where it is. */
static int add_known(const struct merge *m, const struct merge_pass *p, struct candidates *to,
		     struct err *e)
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

static int find_rest(const struct merge *m, int dir, const struct candidates *all,
		     struct candidates *rest, struct err *e)
{
	_automergepass_ struct merge_pass before = {0};
	_autocandidates_ struct candidates known = {0};
	int r = merge_pass_load(dir, "measure", all, &before, e);

	if (r == 0)
		r = add_known(m, &before, &known, e);
	return r == 0 ? subtract(all, &known, rest, e) : r;
}

static bool too_many(const struct merge *m, const struct candidates *all, size_t shards)
{
	return shards + shard_count(all->n, m->spec.workers) > MERGE_SHARDS_MAX;
}

static int deal(const struct merge *m, int dir, const struct candidates *all,
		struct merge_staged *io, struct err *e)
{
	_autocandidates_ struct candidates rest = {0};
	size_t shards = 0;
	int r = merge_pass_count(dir, "measure", &io->next, e);

	/* Each start leaves some: after many, all is measured anew. */
	if (r == 0 && too_many(m, all, io->next) && m->step == MERGE_STAGE) {
		io->next = 0;
		r = fs_remove_tree(dir, "measure", e);
	}
	if (r == 0 && too_many(m, all, io->next))
		r = err_set(e, E2BIG, "what the inputs reach does not fit %d control files",
			    MERGE_SHARDS_MAX);
	if (r == 0)
		r = find_rest(m, dir, all, &rest, e);
	if (r == 0)
		r = merge_pass_deal(dir, "measure", io->next, &rest, m->spec.workers, &shards, e);
	if (r < 0)
		return r;
	io->end = io->next + shards;
	io->candidates = all->n;
	io->reused = all->n - rest.n;
	io->longest = all->n ? all->v[all->n - 1].size : 0; /* by size */
	return 0;
}

static int list_and_deal(const struct merge *m, int dir, struct merge_staged *io, struct err *e)
{
	_autocandidates_ struct candidates all = {0};
	_autoclose_ int stage = -1;
	int r = fs_open_dir(dir, "stage", &stage, e);

	if (r == 0)
		r = shard_list(stage, &all, e);
	return r == 0 ? deal(m, dir, &all, io, e) : r;
}

static int give(const struct merge_staged *s, struct buf *out, struct err *e)
{
	return buf_add(out, (struct slice){(const char *)s, sizeof(*s)}, e);
}

int merge_task_stage(void *arg, struct buf *out, struct err *e)
{
	const struct merge *m = arg;
	struct merge_staged s = {0};
	_autoclose_ int dir = -1;
	int r = open_for(m, &dir, e);

	if (r == 0)
		r = stage_all(m, dir, &s, e);
	if (r == 0)
		r = list_and_deal(m, dir, &s, e);
	return r == 0 ? give(&s, out, e) : r;
}

int merge_task_deal(void *arg, struct buf *out, struct err *e)
{
	const struct merge *m = arg;
	struct merge_staged s = {0};
	_autoclose_ int dir = -1;
	int r = fs_open_dir(AT_FDCWD, m->path, &dir, e);

	if (r == 0)
		r = list_and_deal(m, dir, &s, e);
	return r == 0 ? give(&s, out, e) : r;
}
