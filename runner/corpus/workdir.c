/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/workdir.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/store.h"
#include "runner/discover/discover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MODE_OURS = 0755, MODE_CELL = 0700, READABLE = 0444 };

static int make_dir(int at, const char *name, mode_t mode, int *ret_fd, struct err *e)
{
	_autoclose_ int fd = -1;
	int r;

	if (sys_mkdirat(at, name, mode) < 0 && errno != EEXIST)
		return err_sys(e, "make directory '%s'", name);
	r = fs_open_dir(at, name, &fd, e);
	if (r < 0)
		return r;
	if (fchmod(fd, mode) < 0) /* whatever the umask said: the cell looks into it */
		return err_sys(e, "set the mode of '%s'", name);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* A directory that the cell may write: its own user's, nobody else's. */
static int make_cell_dir(int at, const char *name, const struct workdir_prepare *p, struct err *e)
{
	_autoclose_ int fd = -1;
	int r = make_dir(at, name, MODE_CELL, &fd, e);

	if (r < 0)
		return r;
	if (fchown(fd, p->uid, p->gid) < 0)
		return err_sys(e, "give '%s' to user %u", name, (unsigned)p->uid);
	return 0;
}

static void add_sum(struct workdir_seeds *to, const struct store_sum *got)
{
	to->files += got->files;
	to->bytes += got->bytes;
	to->skipped += got->skipped;
}

/* Where a link cannot be made, or would be of no use to the cell's user. */
static int copy_input(int corpus, const char *name, int seeds, struct workdir_seeds *sum,
		      struct err *e)
{
	struct store_sum got = {0};
	char hex[STORE_NAME];
	int r = store_file(corpus, name, seeds, NULL, &got, hex, e);

	add_sum(sum, &got);
	return r;
}

static int link_input(int corpus, const char *name, int seeds, struct workdir_seeds *sum,
		      struct err *e)
{
	struct stat st;

	if (fstatat(corpus, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size > WORKDIR_INPUT_MAX) {
		sum->skipped++;
		return 0;
	}
	if ((st.st_mode & READABLE) != READABLE)
		return copy_input(corpus, name, seeds, sum, e);
	if (sys_linkat(corpus, name, seeds, name) == 0) {
		sum->files++;
		sum->bytes += (uint64_t)st.st_size;
		return 0;
	}
	if (errno == EXDEV || errno == EMLINK || errno == EPERM)
		return copy_input(corpus, name, seeds, sum, e);
	if (errno == EEXIST)
		return 0;
	return err_sys(e, "link '%s'", name);
}

/* The persistent corpus in seeds/: links cost nothing, and the cell sees them
 * through a read-only mount. */
static int link_corpus(int corpus, int seeds, struct workdir_seeds *sum, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(corpus, ".");
	const struct dirent *ent;

	if (!d)
		return err_sys(e, "open the persistent corpus");
	while ((ent = sys_readdir(d))) {
		int r = ent->d_name[0] == '.' ? 0 : link_input(corpus, ent->d_name, seeds, sum, e);

		if (r < 0)
			return r;
	}
	return errno ? err_sys(e, "list the persistent corpus") : 0;
}

static int add_archive(const struct workdir_prepare *p, int seeds, struct workdir_seeds *sum,
		       char note[200])
{
	const struct seeds_to to = {.dirfd = seeds, .rights = p->rights};
	struct seeds_result r = {0};
	struct err e;

	if (!p->seed_archive)
		return 0;
	if (discover_unpack(p->seed_archive, &to, &r, &e) < 0)
		snprintf(note, 200, "%.199s", e.msg); /* what was unpacked stays */
	sum->files += r.files;
	sum->bytes += r.bytes;
	sum->skipped += r.skipped;
	if (r.skipped > 0 && !*note)
		snprintf(note, 200, "%.199s", r.why);
	return 0;
}

static int add_seed_dirs(const struct workdir_prepare *p, int seeds, struct workdir_seeds *sum,
			 char note[200])
{
	for (size_t i = 0; p->seed_dirs && p->seed_dirs[i]; i++) {
		const struct rights *namer = i < p->n_theirs ? p->rights : NULL;
		const char *dir = p->seed_dirs[i];
		struct store_sum got = {0};
		struct err e;
		int r = i < p->n_theirs + p->n_ours ? store_seeds_named(namer, dir, seeds, &got, &e)
						    : store_seeds(AT_FDCWD, dir, seeds, &got, &e);

		if (r < 0)
			snprintf(note, 200, "%.199s", e.msg);
		add_sum(sum, &got);
	}
	return 0;
}

int workdir_prepare(const struct workdir_prepare *p, struct workdir_seeds *ret, char note[200],
		    struct err *e)
{
	_autoclose_ int dir = -1;
	_autoclose_ int seeds = -1;
	struct workdir_seeds sum = {0};
	int r = make_dir(p->work, p->target, MODE_OURS, &dir, e);

	note[0] = '\0';
	if (r == 0)
		r = make_cell_dir(dir, "corpus", p, e);
	if (r == 0)
		r = make_cell_dir(dir, "artifacts", p, e);
	if (r == 0)
		r = make_dir(dir, "seeds", MODE_OURS, &seeds, e);
	if (r == 0)
		r = link_corpus(p->corpus, seeds, &sum, e);
	if (r == 0)
		r = add_archive(p, seeds, &sum, note);
	if (r == 0)
		r = add_seed_dirs(p, seeds, &sum, note);
	if (r < 0)
		return err_wrap(e, "prepare '%s'", p->target);
	*ret = sum;
	return 0;
}

/* What the cell's end says goes before what the engine called it; of a timeout or a leak a dump
 * that was not for it says nothing. */
static enum engine_artifact named(enum engine_artifact a, enum engine_artifact cause)
{
	if (a == ENGINE_ARTIFACT_CRASH && cause != ENGINE_ARTIFACT_NONE)
		return cause;
	if (a == ENGINE_ARTIFACT_TIMEOUT && cause != ENGINE_ARTIFACT_NONE &&
	    cause != ENGINE_ARTIFACT_SLOW)
		return cause;
	return a;
}

struct collecting {
	const struct workdir_collect *c;
	int dir; /* work/<run>/<target> */
	int artifacts, crashes, triage;
	struct workdir_found *sum;
	struct buf *names;
};

/* An input that ends the engine would end the next one at its start. */
static void quarantine(const struct collecting *k, const char *hex)
{
	_autoclose_ int quarantined = -1;
	char path[64];
	struct err e;

	(void)snprintf(path, sizeof(path), "seeds/%s", hex);
	(void)unlinkat(k->dir, path, 0); /* allow: it is rarely there */
	(void)snprintf(path, sizeof(path), "corpus/%s", hex);
	(void)unlinkat(k->dir, path, 0); /* allow: likewise */
	if (faccessat(k->c->corpus, hex, F_OK, 0) < 0)
		return;
	if (make_dir(k->c->quarantine, k->c->target, MODE_OURS, &quarantined, &e) == 0)
		(void)!sys_rename_to(k->c->corpus, hex, quarantined, hex); /* it stays then */
}

/* A link: what happens to one name does not matter to the other. */
static int queue_triage(const struct collecting *k, const char *name, struct err *e)
{
	if (sys_linkat(k->crashes, name, k->triage, name) == 0 || errno == EEXIST)
		return 0;
	return err_sys(e, "queue '%s' for triage", name);
}

static int collect_artifact(struct collecting *k, const char *name, struct err *e)
{
	enum engine_artifact a = named(k->c->engine->artifact(slice_of(name)), k->c->cause);
	const char *kind = engine_artifact_name(a);
	char hex[STORE_NAME], to[NAME_MAX + 1];
	struct store_sum got = {0};
	int r;

	if (!kind) {
		k->sum->skipped++;
		return 0;
	}
	r = store_file(k->artifacts, name, k->crashes, kind, &got, hex, e);
	if (r < 0)
		return r;
	k->sum->skipped += got.skipped;
	if (got.skipped)
		return 0;
	snprintf(to, sizeof(to), "%s-%s", kind, hex);
	if (a != ENGINE_ARTIFACT_SLOW) {
		k->sum->failures++;
		r = queue_triage(k, to, e);
		if (r < 0)
			return r;
		quarantine(k, hex);
	}
	r = buf_addf(k->names, e, "%s\n", to);
	return r == -EFBIG ? 0 : r; /* the list ends there; the artifact is saved */
}

/* fn for each name in the directory, at most WORKDIR_FILES_MAX of them. */
static int each(int at, struct collecting *k,
		int (*fn)(struct collecting *k, const char *name, struct err *e), struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(at, ".");
	const struct dirent *ent;
	unsigned n = 0;
	int r = 0;

	if (!d)
		return err_sys(e, "open a working directory");
	while (r == 0 && (ent = readdir(d))) {
		if (strcmp(ent->d_name, ".") == 0 || strcmp(ent->d_name, "..") == 0)
			continue;
		if (++n > WORKDIR_FILES_MAX) {
			k->sum->skipped++;
			break;
		}
		r = fn(k, ent->d_name, e);
	}
	return r;
}

static int remove_artifact(struct collecting *k, const char *name, struct err *e)
{
	return fs_remove_tree(k->artifacts, name, e);
}

static int collect_inputs(struct collecting *k, struct err *e)
{
	struct store_sum got = {0};
	int r = store_tree(k->dir, "corpus", k->c->corpus, &got, e);

	if (r < 0)
		return r;
	k->sum->inputs += got.files;
	k->sum->input_bytes += got.bytes;
	k->sum->skipped += got.skipped;
	return 0;
}

/* Artifacts first: an input that failed must not come back with the corpus. */
static int collect_all(struct collecting *k, struct err *e)
{
	int r = each(k->artifacts, k, collect_artifact, e);

	if (r == 0)
		r = collect_inputs(k, e);
	if (r == 0 && (sys_syncfs(k->crashes) < 0 || sys_syncfs(k->c->corpus) < 0))
		r = err_sys(e, "sync what was collected");
	if (r == 0)
		r = each(k->artifacts, k, remove_artifact, e);
	return r;
}

int workdir_collect(const struct workdir_collect *c, struct workdir_found *ret, struct buf *names,
		    struct err *e)
{
	_autoclose_ int dir = -1;
	_autoclose_ int artifacts = -1;
	_autoclose_ int crashes = -1;
	_autoclose_ int triage = -1;
	struct workdir_found sum = {0};
	struct collecting k = {.c = c, .sum = &sum, .names = names};
	int r = fs_open_dir(c->work, c->target, &dir, e);

	if (r == 0)
		r = fs_open_dir(dir, "artifacts", &artifacts, e);
	if (r == 0)
		r = make_dir(c->crashes, c->target, MODE_OURS, &crashes, e);
	if (r == 0)
		r = make_dir(c->triage, c->target, MODE_OURS, &triage, e);
	k.triage = triage;
	k.dir = dir;
	k.artifacts = artifacts;
	k.crashes = crashes;
	if (r == 0)
		r = collect_all(&k, e);
	if (crashes >= 0)
		(void)unlinkat(c->crashes, c->target, AT_REMOVEDIR); /* allow: only when empty */
	if (triage >= 0)
		(void)unlinkat(c->triage, c->target, AT_REMOVEDIR); /* allow: likewise */
	if (r < 0)
		return err_wrap(e, "collect '%s'", c->target);
	*ret = sum;
	return 0;
}
