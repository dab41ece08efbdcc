/* SPDX-License-Identifier: Apache-2.0 */
/* Imports inputs into the corpus of a target. */
#include "runner/corpus/transfer/transfer.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/measure/shard.h"
#include "runner/corpus/store.h"
#include "runner/corpus/workdir.h"
#include "runner/targets/discover.h"
#include "runner/targets/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct seeds_limits most = {
    .entries = TRANSFER_MAX_ENTRIES,
    .files = TRANSFER_MAX_FILES,
    .file = WORKDIR_INPUT_MAX,
    .bytes = TRANSFER_MAX_BYTES,
    .read = TRANSFER_MAX_READ,
};

static void skipped(struct import_sum *io, uint64_t n, const char *why)
{
	if (n > 0 && io->skipped == 0)
		snprintf(io->why, sizeof(io->why), "%s", why);
	io->skipped += n;
}

static void add_stored(struct import_sum *io, const struct store_sum *got)
{
	io->files += got->files;
	io->bytes += got->bytes;
	io->known += got->known;
	skipped(io, got->skipped,
		"not a regular file, larger than 64 MiB, unreadable, too deep or too many");
}

static void add_unpacked(struct import_sum *io, const struct seeds_result *got)
{
	io->files += got->files - got->known;
	io->known += got->known;
	io->bytes += got->bytes - got->known_bytes;
	skipped(io, got->skipped, got->why);
}

/* --- names ---------------------------------------------------------------------- */

/* The last component, without slashes at the end of the path. */
static struct slice base_of(const char *path)
{
	struct slice s = slice_of(path);
	size_t at;

	while (s.n > 1 && s.p[s.n - 1] == '/')
		s.n--;
	for (at = s.n; at > 0 && s.p[at - 1] != '/'; at--)
		;
	return (struct slice){s.p + at, s.n - at};
}

static bool import_ends(struct slice name, const char *with)
{
	size_t n = strlen(with);

	return name.n > n && memcmp(name.p + name.n - n, with, n) == 0;
}

static bool is_archive(struct slice name)
{
	static const char seed_corpus[] = NAMES_SEED_DIR_SUFFIX;
	const char *suffix;

	for (size_t i = 0; (suffix = names_archive_suffix(i)); i++)
		if (import_ends(name, suffix + sizeof(seed_corpus) - 1))
			return true;
	return import_ends(name, ".tar.zst");
}

/* "png_seed_corpus.zip" and "png_seed_corpus" name the target png. */
static bool names_target(struct slice base, bool is_dir, char target[NAMES_TARGET_MAX + 1])
{
	struct slice t;

	if (is_dir && import_ends(base, NAMES_SEED_DIR_SUFFIX))
		t = (struct slice){base.p, base.n - strlen(NAMES_SEED_DIR_SUFFIX)};
	else if (is_dir || names_side_of(base, &t) != SIDE_ARCHIVE)
		return false;
	if (!names_target_ok(t))
		return false;
	memcpy(target, t.p, t.n);
	target[t.n] = '\0';
	return true;
}

/* ".../<target>/<sha1>" */
static bool in_layout(const char *name, struct slice *ret_target)
{
	struct slice base = base_of(name), dir;

	if (base.p == name || !candidates_name_ok(base.p))
		return false;
	dir = (struct slice){name, (size_t)(base.p - name) - 1};
	for (size_t at = dir.n; at > 0; at--)
		if (dir.p[at - 1] == '/') {
			dir = (struct slice){dir.p + at, dir.n - at};
			break;
		}
	*ret_target = dir;
	return names_target_ok(dir);
}

/* --- by the layout ---------------------------------------------------------------- */

struct corpora {
	struct state *s;
	unsigned made;
	int fd; /* the last target's corpus, or -1 */
	char target[NAMES_TARGET_MAX + 1];
};

static int import_open_corpus(struct corpora *c, struct slice target, int *ret_fd, struct err *e)
{
	char path[NAMES_TARGET_MAX + 16];

	*ret_fd = c->fd;
	if (c->fd >= 0 && slice_eq(target, slice_of(c->target)))
		return 0;
	close_p(&c->fd);
	c->fd = *ret_fd = -1;
	snprintf(c->target, sizeof(c->target), "%.*s", (int)target.n, target.p);
	snprintf(path, sizeof(path), "corpus/%s", c->target);
	if (faccessat(c->s->dirfd, path, F_OK, 0) < 0 && c->made++ >= TRANSFER_MAX_TARGETS)
		return err_set(e, E2BIG, "more than %d new targets", TRANSFER_MAX_TARGETS);
	if (state_open_corpus(c->s, c->target, &c->fd, e) < 0)
		return err_code(e);
	*ret_fd = c->fd;
	return 0;
}

static int import_place(void *arg, const char *name, int *ret_dirfd, struct err *e)
{
	struct slice target;

	if (in_layout(name, &target))
		return import_open_corpus(arg, target, ret_dirfd, e);
	*ret_dirfd = -1;
	return 0;
}

static int unpack(struct state *s, const char *path, int corpus, struct import_sum *io,
		  struct err *e)
{
	struct corpora all = {.s = s, .fd = -1};
	struct seeds_to to = {.dirfd = corpus, .most = &most};
	struct seeds_result got;
	int r;

	if (corpus < 0) {
		to.place = import_place;
		to.arg = &all;
		to.not_placed = "not <target>/<sha1>; give the target with --target";
	}
	r = discover_unpack(path, &to, &got, e);
	close_p(&all.fd);
	add_unpacked(io, &got);
	return r;
}

static int import_take_file(struct corpora *c, int dir, const char *target, const char *name,
			    struct import_sum *io, struct err *e)
{
	struct store_sum got = {0};
	char hex[STORE_NAME];
	int corpus, r;

	if (!candidates_name_ok(name)) {
		skipped(io, 1, "not named by its content; give the target with --target");
		return 0;
	}
	r = import_open_corpus(c, slice_of(target), &corpus, e);
	if (r == 0)
		r = store_file(dir, name, corpus, NULL, &got, hex, e);
	add_stored(io, &got);
	return r;
}

static int import_take_corpus(struct corpora *c, int all, const char *target, struct import_sum *io,
			      struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(all, target);
	const struct dirent *ent;

	if (!d && (errno == ENOTDIR || errno == ELOOP || errno == EACCES || errno == ENOENT)) {
		skipped(io, 1, "no directory of a target; give the target with --target");
		return 0;
	}
	if (!d)
		return err_sys(e, "open directory '%s'", target);
	while ((ent = sys_readdir(d))) {
		int r = ent->d_name[0] == '.'
			    ? 0
			    : import_take_file(c, dirfd(d), target, ent->d_name, io, e);

		if (r < 0)
			return r;
	}
	return errno ? err_sys(e, "list directory '%s'", target) : 0;
}

/* DIR/<target>/<sha1> */
static int take_corpora(struct state *s, const char *path, struct import_sum *io, struct err *e)
{
	struct corpora c = {.s = s, .fd = -1};
	_autoclose_ int all = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	CLEANUP(closedir_p) DIR *d = all < 0 ? NULL : sys_opendirat(all, ".");
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return err_sys(e, "open directory '%s'", path);
	while (r == 0 && (ent = sys_readdir(d))) {
		if (ent->d_name[0] == '.')
			continue;
		if (names_target_ok(slice_of(ent->d_name)))
			r = import_take_corpus(&c, all, ent->d_name, io, e);
		else
			skipped(io, 1, "not a valid target name");
	}
	if (r == 0 && errno)
		r = err_sys(e, "list directory '%s'", path);
	close_p(&c.fd);
	return r;
}

/* --- one path ---------------------------------------------------------------------- */

/* corpus: of the named target, or -1. */
static int import_take(struct state *s, const char *path, const struct stat *st, int corpus,
		       struct import_sum *io, struct err *e)
{
	struct store_sum got = {0};
	char hex[STORE_NAME];
	int r;

	if (S_ISREG(st->st_mode) && is_archive(base_of(path)))
		return unpack(s, path, corpus, io, e);
	if (corpus < 0 && S_ISDIR(st->st_mode))
		return take_corpora(s, path, io, e);
	if (corpus < 0)
		return err_set(e, EINVAL, "'%s' names no target: give it with --target", path);
	if (S_ISDIR(st->st_mode)) {
		r = store_seeds_named(NULL, path, corpus, &got, e);
	} else if (S_ISREG(st->st_mode) && st->st_size == 0) {
		skipped(io, 1, "an empty file is no input");
		return 0;
	} else {
		r = store_file(AT_FDCWD, path, corpus, NULL, &got, hex, e);
	}
	add_stored(io, &got);
	return r;
}

/* Syncs the corpora's file system. */
static int import_settle(struct state *s, struct err *e)
{
	_autoclose_ int corpora = -1;
	int r = fs_open_dir(s->dirfd, "corpus", &corpora, e);

	if (r == 0 && sys_syncfs(corpora) < 0)
		r = err_sys(e, "sync what was imported");
	return r;
}

int import_path(struct state *s, const char *path, const char *target, struct import_sum *io,
		struct err *e)
{
	_autoclose_ int corpus = -1;
	char named[NAMES_TARGET_MAX + 1];
	struct stat st;
	int r = 0;

	if (fstatat(AT_FDCWD, path, &st, 0) < 0)
		return err_sys(e, "open '%s'", path);
	if (!target && names_target(base_of(path), S_ISDIR(st.st_mode), named))
		target = named;
	if (target && !names_target_ok(slice_of(target)))
		return err_set(e, EINVAL, "'%.128s' is not a valid target name", target);
	if (target)
		r = state_open_corpus(s, target, &corpus, e);
	if (r == 0)
		r = import_take(s, path, &st, corpus, io, e);
	return r == 0 ? import_settle(s, e) : r;
}
