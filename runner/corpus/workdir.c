/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/workdir.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/corpus/store.h"
#include "runner/targets/discover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MODE_OURS = 0755, MODE_CELL = 0700, READABLE = 0444 };

static int workdir_make_dir(int at, const char *name, mode_t mode, int *ret_fd, struct err *e)
{
	_autoclose_ int fd = -1;
	int r;

	if (sys_mkdirat(at, name, mode) < 0 && errno != EEXIST)
		return err_sys(e, "make directory '%s'", name);
	r = fs_open_dir(at, name, &fd, e);
	if (r < 0)
		return r;
	if (fchmod(fd, mode) < 0) /* independent of the umask: the cell reads the directory */
		return err_sys(e, "set the mode of '%s'", name);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* A directory that only the cell's user may write. */
static int make_cell_dir(int at, const char *name, const struct workdir_prepare *p, struct err *e)
{
	_autoclose_ int fd = -1;
	int r = workdir_make_dir(at, name, MODE_CELL, &fd, e);

	if (r < 0)
		return r;
	if (fchown(fd, p->uid, p->gid) < 0)
		return err_sys(e, "give '%s' to user %u", name, (unsigned)p->uid);
	return 0;
}

static void workdir_add_sum(struct workdir_seeds *to, const struct store_sum *got)
{
	to->files += got->files;
	to->bytes += got->bytes;
	to->skipped += got->skipped;
}

/* For inputs that cannot be linked, or that the cell's user could not read through a link. */
static int copy_input(int corpus, const char *name, int seeds, struct workdir_seeds *sum,
		      struct err *e)
{
	struct store_sum got = {0};
	char hex[STORE_NAME];
	int r = store_file(corpus, name, seeds, NULL, &got, hex, e);

	workdir_add_sum(sum, &got);
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

/* Links the persistent corpus into seeds/.  Links cost nothing, and the cell sees them through a
 * read-only mount. */
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
		snprintf(note, 200, "%.199s", e.msg); /* the unpacked files stay */
	sum->files += r.files;
	sum->bytes += r.bytes;
	sum->skipped += r.skipped;
	if (r.skipped > 0 && !*note)
		snprintf(note, 200, "%.199s", r.why);
	return 0;
}

static void add_seed_dirs(const struct workdir_prepare *p, int seeds, struct workdir_seeds *sum,
			  char note[200])
{
	for (size_t i = 0; p->seed_dirs && p->seed_dirs[i]; i++) {
		const char *dir = p->seed_dirs[i];
		struct store_sum got = {0};
		struct rights as;
		struct err e;
		int r = 0;

		if (i < p->n_theirs)
			r = rights_of_named(p->rights, dir, &as, &e);
		else if (i < p->n_theirs + p->n_ours)
			r = rights_of_configured(dir, &as, &e);
		if (r == 0)
			r = i < p->n_theirs + p->n_ours
				? store_seeds_as(&as, AT_FDCWD, dir, seeds, &got, &e)
				: store_seeds(AT_FDCWD, dir, seeds, &got, &e);
		if (r < 0)
			snprintf(note, 200, "%.199s", e.msg);
		workdir_add_sum(sum, &got);
	}
}

/* Removes quarantined inputs from the seeds. */
static int workdir_leave_out(const struct workdir_prepare *p, int seeds, struct workdir_seeds *sum,
			     struct err *e)
{
	_autoclose_ int out = -1;
	CLEANUP(closedir_p) DIR *d = NULL;
	const struct dirent *ent;

	if (p->quarantine < 0 || faccessat(p->quarantine, p->target, F_OK, 0) < 0)
		return 0;
	if (fs_open_dir(p->quarantine, p->target, &out, e) < 0)
		return err_code(e);
	d = sys_opendirat(out, ".");
	if (!d)
		return err_sys(e, "open the quarantine of '%s'", p->target);
	while ((ent = sys_readdir(d)))
		if (ent->d_name[0] != '.' && sys_unlinkat(seeds, ent->d_name, 0) == 0)
			sum->files -= sum->files > 0;
	return errno ? err_sys(e, "list the quarantine of '%s'", p->target) : 0;
}

static int workdir_add_seed(const struct workdir_prepare *p, int seeds, struct err *e)
{
	struct store_sum ignored = {0};
	char hex[STORE_NAME];

	return p->needs_seed ? store_bytes(SLICE("0"), seeds, &ignored, hex, e) : 0;
}

int workdir_prepare(const struct workdir_prepare *p, struct workdir_seeds *ret, char note[200],
		    struct err *e)
{
	_autoclose_ int dir = -1;
	_autoclose_ int seeds = -1;
	struct workdir_seeds sum = {0};
	int r = workdir_make_dir(p->work, p->target, MODE_OURS, &dir, e);

	note[0] = '\0';
	if (r == 0)
		r = make_cell_dir(dir, "corpus", p, e);
	if (r == 0)
		r = make_cell_dir(dir, "artifacts", p, e);
	if (r == 0)
		r = workdir_make_dir(dir, "seeds", MODE_OURS, &seeds, e);
	if (r == 0)
		r = link_corpus(p->corpus, seeds, &sum, e);
	if (r == 0)
		r = add_archive(p, seeds, &sum, note);
	if (r < 0)
		return err_wrap(e, "prepare '%s'", p->target);
	add_seed_dirs(p, seeds, &sum, note);
	r = workdir_leave_out(p, seeds, &sum, e);
	if (r == 0)
		r = workdir_add_seed(p, seeds, e);
	*ret = sum;
	return r;
}

/* The cell's end overrides the kind that the engine chose.  A leak keeps its kind.  So does a
 * timeout if the cause is ENGINE_ARTIFACT_SLOW: the forced dump says nothing about a timeout. */
static enum engine_artifact workdir_named(enum engine_artifact a, enum engine_artifact cause)
{
	bool renamed = a == ENGINE_ARTIFACT_CRASH ||
		       (a == ENGINE_ARTIFACT_TIMEOUT && cause != ENGINE_ARTIFACT_SLOW);

	return renamed && cause != ENGINE_ARTIFACT_NONE ? cause : a;
}

/* For a killed run: its limit is not known. */
#define UNBACKED_MAX (UINT64_C(1) << 30)

struct collecting {
	const struct workdir_collect *c;
	int dir; /* work/<run>/<target> */
	int artifacts, inputs, seeds, crashes, triage;
	uint64_t queued; /* in triage/<target> */
	struct store_seen seen;
	struct workdir_found *sum;
	struct buf *names;
};

/* The quarantine keeps a seed of another build's corpus by a link: there it stays. */
static void quarantine_borrowed(const struct collecting *k, const char *seed, const char *hex)
{
	_autoclose_ int quarantined = -1;
	struct err e;

	if (faccessat(k->dir, seed, F_OK, 0) == 0 &&
	    workdir_make_dir(k->c->quarantine, k->c->target, MODE_OURS, &quarantined, &e) == 0)
		(void)!sys_linkat(k->dir, seed, quarantined, hex); /* else it fails once more */
}

/* An input that ended this engine would end the next one at its start. */
static void quarantine(const struct collecting *k, const char *hex)
{
	_autoclose_ int quarantined = -1;
	bool owned = faccessat(k->c->corpus, hex, F_OK, 0) == 0;
	char path[64];
	struct err e;

	(void)snprintf(path, sizeof(path), "seeds/%s", hex);
	if (k->c->borrows && !owned)
		quarantine_borrowed(k, path, hex);
	k->sum->taken += unlinkat(k->dir, path, 0) == 0; /* allow: it is rarely there */
	(void)snprintf(path, sizeof(path), "others/%s", hex);
	k->sum->taken += unlinkat(k->dir, path, 0) == 0; /* allow: it is rarely there */
	(void)snprintf(path, sizeof(path), "corpus/%s", hex);
	(void)unlinkat(k->dir, path, 0); /* allow: it is rarely there */
	if (owned &&
	    workdir_make_dir(k->c->quarantine, k->c->target, MODE_OURS, &quarantined, &e) == 0)
		(void)!sys_rename_to(k->c->corpus, hex, quarantined, hex); /* on failure it stays */
}

/* A link, so that each of the two names can be removed independently. */
static int workdir_queue_triage(const struct collecting *k, const char *name, struct err *e)
{
	if (sys_linkat(k->crashes, name, k->triage, name) == 0 || errno == EEXIST)
		return 0;
	return err_sys(e, "queue '%s' for triage", name);
}

static bool is_named(const struct collecting *k, const char *name)
{
	return k->c->named && strcmp(name, k->c->named) == 0;
}

/* Whether an artifact is kept.  The first of each kind is, and so is a possible new crash. */
static bool workdir_is_kept(const struct collecting *k, const char *name, enum engine_artifact a)
{
	const struct workdir_kept *kept = &k->sum->kept;
	struct stat st;

	if (k->queued >= WORKDIR_QUEUE_MAX)
		return false;
	if (!(kept->kinds & 1U << a))
		return true;
	if (k->c->is_new && is_named(k, name))
		return kept->artifacts < UINT64_C(2) * WORKDIR_ARTIFACTS_MAX;
	if (kept->artifacts >= WORKDIR_ARTIFACTS_MAX)
		return false;
	return !k->c->bytes_max || fstatat(k->artifacts, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	       kept->bytes + (uint64_t)st.st_size <= k->c->bytes_max;
}

/* Counts a dropped artifact.  Its input is removed from the seeds, too: it must not end the next
 * cell. */
static int drop_artifact(struct collecting *k, const char *name, struct err *e)
{
	_autoclose_ int fd = -1;
	char hex[DIGEST_SHA1_HEX];
	struct err ignored;

	k->sum->dropped++;
	if (is_named(k, name))
		fd = sys_openat(k->artifacts, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW,
				0);
	if (fd >= 0 && digest_sha1_file(fd, WORKDIR_INPUT_MAX, hex, &ignored) == 0)
		quarantine(k, hex);
	return fs_remove_tree(k->artifacts, name, e);
}

static int store_artifact(struct collecting *k, const char *name, const char *kind,
			  struct store_sum *got, char hex[STORE_NAME], struct err *e)
{
	int r = store_file(k->artifacts, name, k->crashes, kind, got, hex, e);

	return store_is_full(r) ? store_take(k->artifacts, name, k->crashes, kind, got, hex, e) : r;
}

static int make_places(struct collecting *k, struct err *e)
{
	int r = 0;

	if (k->crashes < 0)
		r = workdir_make_dir(k->c->crashes, k->c->target, MODE_OURS, &k->crashes, e);
	if (r == 0 && k->triage < 0)
		r = workdir_make_dir(k->c->triage, k->c->target, MODE_OURS, &k->triage, e);
	return r;
}

/* The forced stop does not explain artifacts that the engine wrote before it. */
static enum engine_artifact cause_for(const struct collecting *k, const char *name)
{
	struct stat st;

	if (k->c->cause == ENGINE_ARTIFACT_SLOW &&
	    fstatat(k->artifacts, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec < k->c->forced_ns)
		return ENGINE_ARTIFACT_NONE;
	return k->c->cause;
}

/* Queues a saved artifact for triage, and removes a failing input from the corpus. */
static int judge_artifact(struct collecting *k, const char *to, const char *hex,
			  enum engine_artifact a, struct err *e)
{
	bool fails = a != ENGINE_ARTIFACT_SLOW; /* else this is unknown, and the input stays */
	int r = workdir_queue_triage(k, to, e);

	k->sum->failures += fails;
	k->sum->suspects += !fails;
	k->queued++;
	if (r == 0 && fails)
		quarantine(k, hex);
	return r;
}

static int collect_artifact(struct collecting *k, const char *name, struct err *e)
{
	enum engine_artifact reported = k->c->engine->artifact(slice_of(name));
	enum engine_artifact a = workdir_named(reported, cause_for(k, name));
	const char *kind = engine_artifact_name(a);
	char hex[STORE_NAME], to[NAME_MAX + 1];
	struct store_sum got = {0};
	struct err ignored;
	int r = make_places(k, e);

	if (!kind) {
		k->sum->skipped++;
		return 0;
	}
	if (r < 0)
		return r;
	/* A target's umask may have removed our right to read it.  A file that stays unreadable is
	 * skipped. */
	(void)!fs_unlock_file(k->artifacts, name, &ignored);
	if (!workdir_is_kept(k, name, a))
		return drop_artifact(k, name, e);
	r = store_artifact(k, name, kind, &got, hex, e);
	if (r < 0)
		return r;
	k->sum->skipped += got.skipped;
	if (got.skipped)
		return 0;
	k->sum->kept.kinds |= 1U << a;
	/* Known artifacts count, too: they were read, and a cell may give one artifact thousands of
	 * names. */
	k->sum->kept.artifacts += got.files + got.known;
	k->sum->kept.bytes += got.bytes;
	snprintf(to, sizeof(to), "%s-%s", kind, hex);
	/* An input that the engine itself reports as slow ended normally. */
	if (a != ENGINE_ARTIFACT_SLOW || (reported != a && k->c->unanswered))
		r = judge_artifact(k, to, hex, a, e);
	if (r < 0)
		return r;
	buf_printf(k->names, "%s\n", to); /* may not fit: the list ends there */
	return 0;
}

/* Removes other files of artifacts/: that frees disk space. */
static int remove_junk(struct collecting *k, const char *name, struct err *e)
{
	if (k->c->engine->artifact(slice_of(name)) != ENGINE_ARTIFACT_NONE)
		return 0;
	k->sum->skipped++;
	return fs_remove_tree(k->artifacts, name, e);
}

/* Calls fn for each name in the directory, at most WORKDIR_FILES_MAX times. */
static int workdir_each(int at, struct collecting *k,
			int (*fn)(struct collecting *k, const char *name, struct err *e),
			struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(at, ".");
	const struct dirent *ent = NULL;
	unsigned n = 0;
	int r = 0;

	if (!d)
		return err_sys(e, "open a working directory");
	while (r == 0 && (ent = sys_readdir(d))) {
		if (++n > WORKDIR_FILES_MAX) {
			k->sum->skipped++;
			break;
		}
		r = fn(k, ent->d_name, e);
	}
	/* Files that were not listed would be removed with the directory. */
	return r == 0 && !ent && errno ? err_sys(e, "list a working directory") : r;
}

/* Opens a directory that the cell may have made, a component of the path after the other: none of
 * them may be a link. */
static int workdir_open_below(int at, const char *path, int *ret, struct err *e)
{
	_autoclose_ int fd = -1;
	struct slice rest = slice_of(path), part;
	char name[NAME_MAX + 1];
	int r = 0;

	while (r == 0 && rest.n > 0) {
		_autoclose_ int up = take_fd(&fd);

		if (!scan_until(&rest, '/', NAME_MAX, &part)) {
			part = rest;
			rest.n = 0;
		} else {
			(void)scan_lit(&rest, SLICE("/"));
		}
		(void)snprintf(name, sizeof(name), "%.*s", (int)part.n, part.p);
		r = fs_unlock_dir(up < 0 ? at : up, name, e);
		if (r == 0)
			r = fs_open_dir(up < 0 ? at : up, name, &fd, e);
	}
	if (r == 0)
		*ret = take_fd(&fd);
	return r;
}

/* Whether a file of the directory is an artifact, or an input. */
static bool workdir_is_wanted(const struct engine_ops *engine, const struct engine_dir *dir,
			      const char *name)
{
	return dir->fails ? engine->artifact(slice_of(name)) != ENGINE_ARTIFACT_NONE
			  : engine->input(slice_of(name));
}

/* Moves the files of one of the engine's directories to artifacts/ or corpus/. */
static int workdir_flatten_one(struct collecting *k, const struct engine_dir *dir, struct err *e)
{
	_autoclose_ int from = -1;
	CLEANUP(closedir_p) DIR *d = NULL;
	const struct dirent *ent;
	unsigned n = 0;
	int r = workdir_open_below(k->artifacts, dir->path, &from, e);

	/* The engine did not come so far, or the target has put another thing there. */
	if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
		return 0;
	if (r < 0) /* what cannot be read now must not be removed */
		return r;
	d = sys_opendirat(from, ".");
	if (!d)
		return err_sys(e, "open '%s'", dir->path);
	while ((ent = sys_readdir(d))) {
		if (!workdir_is_wanted(k->c->engine, dir, ent->d_name))
			continue;
		if (++n > WORKDIR_FILES_MAX) {
			k->sum->skipped++;
			return 0;
		}
		if (sys_rename_to(from, ent->d_name, dir->fails ? k->artifacts : k->inputs,
				  ent->d_name) < 0)
			return err_sys(e, "move '%s/%s'", dir->path, ent->d_name);
	}
	return errno ? err_sys(e, "list '%s'", dir->path) : 0;
}

/* Lays the files of an engine's own directories where those of every engine are, and removes the
 * rest of the directories. */
static int workdir_flatten(struct collecting *k, struct err *e)
{
	const struct engine_dir *dirs = k->c->engine->dirs;
	int r = 0;

	for (size_t i = 0; r == 0 && dirs && dirs[i].path; i++)
		r = workdir_flatten_one(k, &dirs[i], e);
	for (size_t i = 0; r == 0 && dirs && dirs[i].path; i++) {
		char top[NAME_MAX + 1];

		(void)snprintf(top, sizeof(top), "%.*s", (int)strcspn(dirs[i].path, "/"),
			       dirs[i].path);
		r = fs_remove_tree(k->artifacts, top, e);
	}
	return r;
}

static int remove_artifact(struct collecting *k, const char *name, struct err *e)
{
	return fs_remove_tree(k->artifacts, name, e);
}

static int remove_input(struct collecting *k, const char *name, struct err *e)
{
	return fs_remove_tree(k->inputs, name, e);
}

/* Saves an input, and adds it to the seeds of the job's next cell. */
static int collect_input(struct collecting *k, const char *name, struct err *e)
{
	struct workdir_seeds ignored = {0};
	struct store_sum got = {0};
	char hex[STORE_NAME];
	int r = store_entry(k->inputs, name, k->c->corpus, &k->seen, &got, hex, e);

	if (store_is_full(r))
		r = store_take(k->inputs, name, k->c->corpus, NULL, &got, hex, e);
	if (r == 0 && *hex && k->seeds >= 0)
		r = link_input(k->c->corpus, hex, k->seeds, &ignored, e);
	k->sum->inputs += got.files;
	k->sum->input_bytes += got.bytes;
	k->sum->skipped += got.skipped;
	return r;
}

/* The cell could write the directory: an existing file or link of that name is not followed. */
static int write_printed(struct collecting *k, const char *name, struct err *e)
{
	_autoclose_ int fd =
	    sys_openat(k->artifacts, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, READABLE);

	if (fd < 0 || sys_write_all(fd, k->c->printed->p, k->c->printed->n) < 0)
		return err_sys(e, "write '%s', which the engine printed", name);
	return 0;
}

/* Whether the engine wrote the artifact not at all, or only in part: it had no descriptor, memory
 * or disk space. */
static bool is_incomplete(const struct collecting *k, const char *name)
{
	struct stat st;

	if (fstatat(k->artifacts, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT;
	return S_ISREG(st.st_mode) && (uint64_t)st.st_size < k->c->printed->n &&
	       unlinkat(k->artifacts, name, 0) == 0; /* allow: all of it was printed */
}

static int collect_named(struct collecting *k, struct err *e)
{
	const char *name = k->c->named;
	int r = 0;

	if (!name || !fs_name_ok(slice_of(name)))
		return 0;
	if (k->c->printed && is_incomplete(k, name))
		r = write_printed(k, name, e);
	if (r == 0 && faccessat(k->artifacts, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return r == 0 ? collect_artifact(k, name, e) : r;
}

static int collect_other(struct collecting *k, const char *name, struct err *e)
{
	return is_named(k, name) ? 0 : collect_artifact(k, name, e);
}

/* Collects artifacts first: a failing input must not come back with the corpus. */
static int collect_all(struct collecting *k, struct err *e)
{
	int r = workdir_flatten(k, e);

	if (r == 0)
		r = workdir_each(k->artifacts, k, remove_junk, e);
	if (r == 0)
		r = collect_named(k, e);
	if (r == 0)
		r = workdir_each(k->artifacts, k, collect_other, e);
	if (r == 0)
		r = workdir_each(k->inputs, k, collect_input, e);
	if (r == 0 &&
	    ((k->crashes >= 0 && sys_syncfs(k->crashes) < 0) || sys_syncfs(k->c->corpus) < 0))
		r = err_sys(e, "sync what was collected");
	if (r == 0)
		r = workdir_each(k->artifacts, k, remove_artifact, e);
	return r == 0 ? workdir_each(k->inputs, k, remove_input, e) : r;
}

/* Counts the files that wait for the target's triage. */
static int count_queue(struct collecting *k, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(k->c->triage, k->c->target);
	const struct dirent *ent;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open the queue of triage");
	while (k->queued < WORKDIR_QUEUE_MAX && (ent = sys_readdir(d)))
		k->queued += ent->d_name[0] != '.';
	return errno ? err_sys(e, "list the queue of triage") : 0;
}

/* The cell may have removed all rights from its directory.  Without root we could not open it then,
 * neither now nor at any later start. */
static int open_cell_dir(const struct collecting *k, const char *name, int *ret, struct err *e)
{
	int r = fs_unlock_dir(k->dir, name, e);

	return r == 0 ? fs_open_dir(k->dir, name, ret, e) : r;
}

static int open_places(struct collecting *k, struct err *e)
{
	int r = fs_open_dir(k->c->work, k->c->target, &k->dir, e);

	if (r == 0)
		r = open_cell_dir(k, "artifacts", &k->artifacts, e);
	if (r == 0)
		r = open_cell_dir(k, "corpus", &k->inputs, e);
	if (r == 0 && k->c->lost)
		return fs_remove_tree(k->dir, "seeds", e);
	if (r == 0 && fs_open_dir(k->dir, "seeds", &k->seeds, e) == -ENOENT)
		return 0; /* the layout is incomplete: no cell ran */
	return r;
}

size_t workdir_read(int work, const char *path, struct file_id *io, size_t cap, char *text)
{
	_autoclose_ int dir = -1;
	_autoclose_ int fd = -1;
	const char *slash = strrchr(path, '/');
	_autofree_ char *up = xstrndup(path, (size_t)(slash - path));
	struct file_id now;
	struct stat st;
	struct err e;
	ssize_t n;

	if (workdir_open_below(work, up, &dir, &e) < 0)
		return 0;
	fd = sys_openat(dir, slash + 1, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	now = file_id_of(&st);
	if (file_id_same(&now, io))
		return 0;
	*io = now;
	n = sys_pread(fd, text, cap, 0);
	return n > 0 ? (size_t)n : 0;
}

const struct engine_ops *workdir_engine(int work, const char *target)
{
	const struct engine_ops *engine;

	for (size_t i = 0; (engine = engine_at(i)); i++)
		for (const struct engine_dir *d = engine->dirs; d && d->path; d++) {
			char path[PATH_MAX];

			(void)snprintf(path, sizeof(path), "%s/artifacts/%s", target, d->path);
			if (faccessat(work, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
				return engine;
		}
	return engine_at(0);
}

int workdir_collect(const struct workdir_collect *c, struct workdir_found *ret, struct buf *names,
		    struct err *e)
{
	struct workdir_found sum = {.kept = c->kept};
	struct collecting k = {
	    .c = c,
	    .dir = -1,
	    .artifacts = -1,
	    .inputs = -1,
	    .seeds = -1,
	    .crashes = -1,
	    .triage = -1,
	    .seen.unbacked_max = c->bytes_max ? c->bytes_max : UNBACKED_MAX,
	    .sum = &sum,
	    .names = names,
	};
	int r = open_places(&k, e);

	if (r == 0)
		r = count_queue(&k, e);
	if (r == 0)
		r = collect_all(&k, e);
	if (k.crashes >= 0)
		(void)unlinkat(c->crashes, c->target, AT_REMOVEDIR); /* allow: only when empty */
	if (k.triage >= 0)
		(void)unlinkat(c->triage, c->target, AT_REMOVEDIR); /* allow: only when empty */
	close_p(&k.dir);
	close_p(&k.artifacts);
	close_p(&k.inputs);
	close_p(&k.seeds);
	close_p(&k.crashes);
	close_p(&k.triage);
	if (r < 0)
		return err_wrap(e, "collect '%s'", c->target);
	*ret = sum;
	return 0;
}
