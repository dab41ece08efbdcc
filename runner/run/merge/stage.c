/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the candidates of a merge, makes the stage, and deals the candidates that are not measured
 * yet into shards. */
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/generation/retry.h"
#include "runner/corpus/store.h"
#include "runner/corpus/workdir.h"
#include "runner/run/merge/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	READABLE = 0444,
	MODE_OURS = 0750,
	MODE_STAGE = 0755,
	IDENTITY_MAX = 512,
	COMMAND_MAX = 1 << 20
};

/* --- reading the corpus itself --------------------------------------------- */

/* If cells can read the corpus itself, no stage is made and removed.  For small inputs that takes a
 * third of a merge's time. */

/* Whether the corpus has all seeds.  The seeds of a job are in one directory, which is read here.
 * Other seeds need a stage: they are a user's files, or in an archive. */
static int seeds_are_in(const struct merge *m, const struct candidates *corpus, bool *ret,
			struct err *e)
{
	const struct target *t = m->spec.target;
	_autocandidates_ struct candidates seeds = {0};
	_autoclose_ int fd = -1;
	int r;

	if (!m->seeds) {
		*ret = !t->seed_archive && t->seed_dirs.n == 0 && m->spec.cfg->seeds.n == 0;
		return 0;
	}
	r = fs_open_dir(AT_FDCWD, m->seeds, &fd, e);
	if (r == 0)
		r = shard_list_plain(fd, &seeds, ret, e);
	for (size_t i = 0; r == 0 && *ret && i < seeds.n; i++)
		*ret = candidates_find(corpus, seeds.v[i].name, seeds.v[i].size) != NULL;
	return r;
}

/* True: the corpus holds all candidates and nothing else, and a cell's user may read it.
 * all: the corpus, sorted; empty if false. */
static int merge_list_direct(const struct merge *m, int corpus, struct candidates *all, bool *ret,
			     struct err *e)
{
	bool waits = false;
	int r = retry_waits(m->env.state->dirfd, m->spec.target->name, &waits, e);

	*ret = false;
	if (r == 0 && !waits)
		r = shard_list_plain(corpus, all, ret, e);
	if (r == 0 && *ret)
		r = seeds_are_in(m, all, ret, e);
	if (r < 0 || (*ret && !shard_open_to_cells(corpus)))
		*ret = false;
	if (!*ret)
		candidates_done(all);
	return r;
}

void merge_mount_inputs(struct setup *s, const struct merge *m)
{
	if (m->direct)
		setup_mount(s, SETUP_DIR_INPUTS, false, "%s/corpus/%s", m->env.state->path,
			    m->spec.target->name);
	else
		setup_mount(s, SETUP_DIR_INPUTS, false, "%s/stage", m->path);
}

/* --- dealing the candidates ------------------------------------------------ */

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

/* --- the identity of binary and flags ----------------------------------------------- */

static void merge_stage_add_all(struct buf *b, const struct strv *v)
{
	for (size_t i = 0; i < v->n; i++)
		buf_printf(b, "%s\n", v->v[i]);
}

/* The text of the file "for".  With another binary, or other flags, the coverage differs. */
static int identity(const struct merge *m, struct buf *to, struct err *e)
{
	const struct target *t = m->spec.target;
	_autobuf_ struct buf command = BUF_INIT(COMMAND_MAX);
	char hex[DIGEST_SHA1_HEX];
	struct stat st;
	int r;

	if (fstatat(AT_FDCWD, t->binary, &st, 0) < 0)
		return err_sys(e, "look at '%s'", t->binary);
	buf_printf(&command, "%s\n%s\n", t->engine->name, t->binary);
	merge_stage_add_all(&command, &t->flags);
	merge_stage_add_all(&command, &m->spec.cfg->flags);
	merge_stage_add_all(&command, &t->env);
	merge_stage_add_all(&command, &m->spec.cfg->env);
	r = buf_check(&command, e);
	if (r < 0)
		return r;
	digest_sha1_hex(buf_slice(&command), hex);
	buf_printf(to, "merge 1\nbinary %llu %lld.%09ld %llu %llu\ncommand %s\n",
		   (unsigned long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
		   (unsigned long long)st.st_dev, (unsigned long long)st.st_ino, hex);
	return buf_check(to, e);
}

static bool merge_stage_is_for(int dir, struct slice want)
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

	if (r == 0 && !merge_stage_is_for(dir, buf_slice(&want)))
		r = err_set(e, ESTALE, "'%s' was replaced meanwhile", m->spec.target->binary);
	return r;
}

/* On another build, lets quarantined inputs be tried again: they may run now. */
static int check_turn(const struct merge *m, struct slice build, struct err *e)
{
	struct merge_last last;
	char hex[DIGEST_SHA1_HEX];
	int r;

	digest_sha1_hex(build, hex);
	merge_last_load(m, &last);
	if (m->spec.what != MERGE_REPLACE || strcmp(last.build, hex) == 0)
		return 0;
	r = retry_turn(m->env.state->dirfd, m->spec.target->name, e);
	memcpy(last.build, hex, sizeof(hex));
	last.unsteady = false;
	return r == 0 ? merge_last_save(m, &last, e) : r;
}

/* Opens merge/<target>, and removes measurements of another binary or other flags. */
static int open_for(const struct merge *m, int *ret_fd, struct err *e)
{
	_autobuf_ struct buf want = BUF_INIT(IDENTITY_MAX);
	_autoclose_ int fd = -1;

	if (identity(m, &want, e) < 0 || fs_mkdirs(AT_FDCWD, m->path, MODE_OURS, e) < 0 ||
	    fs_open_dir(AT_FDCWD, m->path, &fd, e) < 0)
		return err_code(e);
	if (!merge_stage_is_for(fd, buf_slice(&want)) &&
	    (fs_remove_tree(fd, merge_first_pass(true), e) < 0 ||
	     fs_remove_tree(fd, merge_first_pass(false), e) < 0 ||
	     fs_replace(fd, "for", buf_slice(&want), e) < 0))
		return err_code(e);
	if (check_turn(m, buf_slice(&want), e) < 0)
		return err_code(e);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* --- the stage ------------------------------------------------------------------- */

static int remove_old(int dir, struct err *e)
{
	static const char *const old[] = {
	    "stage", MERGE_FILE_STAGED, MERGE_FILE_GONE, "chosen", "known", "reach",
	};
	char name[32];
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(old) / sizeof(old[0]); i++)
		r = fs_remove_tree(dir, old[i], e);
	for (unsigned i = 1; r == 0 && i <= MERGE_ROUNDS + 1; i++) {
		snprintf(name, sizeof(name), "verify-%u", i);
		r = fs_remove_tree(dir, name, e);
	}
	return r;
}

static int make_stage(int dir, struct err *e)
{
	_autoclose_ int fd = -1;
	int r = fs_make_dir(dir, "stage", MODE_STAGE, &fd, e);

	if (r == 0 && fchmod(fd, MODE_STAGE) < 0) /* independent of the umask */
		r = err_sys(e, "set the mode of the stage");
	return r;
}

/* Renames a user's file in the corpus after its content: under another name it could neither be
 * quarantined nor replaced. */
static int merge_stage_adopt(int corpus, const char *name, struct err *e)
{
	_autoclose_ int fd =
	    sys_openat(corpus, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	char hex[DIGEST_SHA1_HEX];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0 ||
	    digest_sha1_file(fd, WORKDIR_INPUT_MAX, hex, e) < 0)
		return 0; /* the file is no input: it stays as it is */
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
			r = merge_stage_adopt(corpus, ent->d_name, e);
	return r == 0 && errno ? err_sys(e, "list the corpus") : r;
}

/* Links an input into the stage.  The content of our own files is not read: `corpus verify` checks
 * their names.  *odd: the directory has other files, too. */
static int link_one(int from, const char *name, int stage, struct stage_sum *io, bool *odd,
		    struct err *e)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "look at '%s'", name);
	if (!candidates_name_ok(name) || !S_ISREG(st.st_mode) ||
	    (st.st_mode & READABLE) != READABLE || (uint64_t)st.st_size > WORKDIR_INPUT_MAX) {
		*odd = true;
		return 0;
	}
	if (sys_linkat(from, name, stage, name) == 0) {
		io->files++;
		io->bytes += (uint64_t)st.st_size;
		return 0;
	}
	if (errno != EEXIST && errno != EXDEV && errno != EMLINK && errno != EPERM)
		return err_sys(e, "link '%s' into the stage", name);
	*odd = *odd || errno != EEXIST;
	return 0;
}

/* Links all inputs of one of our directories into the stage. */
static int link_all(int from, int stage, struct stage_sum *io, struct err *e)
{
	CLEANUP(closedir_p) DIR *list = sys_opendirat(from, ".");
	const struct dirent *ent;
	bool odd = false;
	int r = 0;

	if (!list)
		return err_sys(e, "open the inputs");
	while (r == 0 && (ent = sys_readdir(list)))
		if (ent->d_name[0] != '.')
			r = link_one(from, ent->d_name, stage, io, &odd, e);
	if (r == 0 && errno)
		r = err_sys(e, "list the inputs");
	return r == 0 && odd ? shard_stage(from, ".", stage, io, e) : r;
}

static int link_dir(const char *path, int stage, struct err *e)
{
	_autoclose_ int fd = -1;
	struct stage_sum sum = {0};
	int r = fs_open_dir(AT_FDCWD, path, &fd, e);

	return r == 0 ? link_all(fd, stage, &sum, e) : r;
}

/* Copies seeds and does not link them: after a change by the user the name in the corpus would no
 * longer match the content. */
static int merge_stage_add_dirs(int stage, const struct strv *dirs, const struct rights *as,
				struct merge_staged *io, struct err *e)
{
	for (size_t i = 0; i < dirs->n; i++) {
		struct store_sum sum = {0};
		struct rights own;
		int r = as ? rights_of_named(as, dirs->v[i], &own, e)
			   : rights_of_configured(dirs->v[i], &own, e);

		if (r == 0)
			r = store_seeds_as(&own, AT_FDCWD, dirs->v[i], stage, &sum, e);

		/* Missing seeds lose nothing: the corpus does not depend on them. */
		if (r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -EXDEV)
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
	const struct seeds_to to = {.dirfd = stage, .rights = &t->rights};
	struct seeds_result unpacked;
	int r = 0;

	if (m->seeds)
		return link_dir(m->seeds, stage, e);
	if (t->seed_archive && discover_unpack(t->seed_archive, &to, &unpacked, e) < 0) {
		if (e->code == ENOSPC || e->code == EIO || e->code == EDQUOT)
			return err_code(e);
		snprintf(io->note, sizeof(io->note), "%.*s", (int)sizeof(io->note) - 1, e->msg);
	}
	r = merge_stage_add_dirs(stage, &t->seed_dirs, &t->rights, io, e);
	return r == 0 ? merge_stage_add_dirs(stage, &m->spec.cfg->seeds, NULL, io, e) : r;
}

/* The number of quarantined inputs to retry.  If they timed out again in the last merge, all
 * together get at most a quarter of the time. */
static unsigned retries(const struct merge *m)
{
	uint64_t timeout = m->spec.cfg->input_timeout_us, n = MERGE_RETRY_MAX;
	struct merge_last last;

	merge_last_load(m, &last);
	if (last.slow && timeout > 0 && m->spec.budget_us / 4 / timeout < n)
		n = m->spec.budget_us / 4 / timeout;
	return (unsigned)n;
}

static int stage_all(const struct merge *m, int dir, int corpus, struct candidates *all,
		     struct merge_staged *io, struct err *e)
{
	_autoclose_ int stage = -1;
	struct stage_sum sum = {0};

	if (make_stage(dir, e) < 0 || fs_open_dir(dir, "stage", &stage, e) < 0 ||
	    (m->spec.what == MERGE_REPLACE && adopt_all(corpus, e) < 0) ||
	    link_all(corpus, stage, &sum, e) < 0 ||
	    retry_stage(m->env.state->dirfd, m->spec.target->name, retries(m), stage, e) < 0)
		return err_code(e);
	io->files = sum.files;
	io->bytes = sum.bytes;
	return add_seeds(m, stage, io, e) < 0 ? err_code(e) : shard_list(stage, all, e);
}

static int find_candidates(const struct merge *m, int dir, struct candidates *all,
			   struct merge_staged *io, struct err *e)
{
	_autoclose_ int corpus = -1;

	if (remove_old(dir, e) < 0 ||
	    state_open_corpus(m->env.state, m->spec.target->name, &corpus, e) < 0 ||
	    merge_list_direct(m, corpus, all, &io->direct, e) < 0)
		return err_code(e);
	if (!io->direct)
		return stage_all(m, dir, corpus, all, io, e);
	io->files = all->n;
	for (size_t i = 0; i < all->n; i++)
		io->bytes += all->v[i].size;
	return 0;
}

/* Whether the first pass must be full.  MERGE_MEASURE must give the exact size. */
static bool wants_full(const struct merge *m)
{
	struct merge_last last;

	merge_last_load(m, &last);
	return m->spec.what == MERGE_MEASURE || last.unsteady;
}

int merge_task_stage(void *arg, struct buf *out, struct err *e)
{
	const struct merge *m = arg;
	_autocandidates_ struct candidates all = {0};
	struct merge_staged s = {0};
	_autoclose_ int dir = -1;

	if (open_for(m, &dir, e) < 0 || find_candidates(m, dir, &all, &s, e) < 0 ||
	    merge_staged_save(dir, &all, e) < 0 ||
	    merge_deal_rest(m, wants_full(m), dir, &all, &s, e) < 0)
		return err_code(e);
	buf_put(out, (struct slice){(const char *)&s, sizeof(s)});
	return 0;
}
