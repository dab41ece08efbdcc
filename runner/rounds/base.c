/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/rounds/base.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/corpus/store.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/crash/vault.h"
#include "runner/targets/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

DEFINE_CLEANUP(struct ledger *, ledger_free)

enum { MODE_DIR = 0750, FILE_MAX = 64 << 20 };

struct copying {
	int from, to; /* state directories */
	const struct round_share *share;
	struct base_sum *sum;
};

/* Whether the name is that of a target of the share, or of another build of one ("png@memory"). */
static bool is_ours(const struct copying *c, const char *name)
{
	size_t n = strcspn(name, "@");

	for (size_t i = 0; i < c->share->n; i++)
		if (strncmp(c->share->v[i].target, name, n) == 0 &&
		    c->share->v[i].target[n] == '\0')
			return true;
	return false;
}

/* Copies a small file of the base; a missing one is no error. */
static int copy_file(const struct copying *c, const char *dir, const char *name, struct err *e)
{
	_autofree_ char *path = xasprintf("%s/%s", dir, name), *text = NULL;
	_autoclose_ int to = -1;
	size_t n;
	int r = fs_read(c->from, path, FILE_MAX, &text, &n, e);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = fs_make_dir(c->to, dir, MODE_DIR, &to, e);
	return r < 0 ? r : fs_replace(to, name, (struct slice){text, n}, e);
}

/* Copies the files in a directory that are named after a target: "png.json". */
static int copy_files(const struct copying *c, const char *dir, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(c->from, dir);
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open '%s' of the base", dir);
	while (r == 0 && (ent = sys_readdir(d))) {
		const char *dot = strrchr(ent->d_name, '.');
		_autofree_ char *target =
		    xstrndup(ent->d_name, dot ? (size_t)(dot - ent->d_name) : 0);

		if (names_target_ok(slice_of(target)) && is_ours(c, target))
			r = copy_file(c, dir, ent->d_name, e);
	}
	return r == 0 && errno ? err_sys(e, "list '%s' of the base", dir) : r;
}

static int copy_inputs(const struct copying *c, const char *room, const char *target, struct err *e)
{
	_autofree_ char *path = xasprintf("%s/%s", room, target);
	_autoclose_ int to = -1;
	struct store_sum got = {0};
	int r = fs_make_dir(c->to, path, MODE_DIR, &to, e);

	if (r == 0)
		r = store_seeds(c->from, path, to, &got, e);
	c->sum->inputs += got.files;
	c->sum->bytes += got.bytes;
	return r == -ENOENT ? 0 : r;
}

static int copy_room(const struct copying *c, const char *room, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(c->from, room);
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return errno == ENOENT ? 0 : err_sys(e, "open '%s' of the base", room);
	while (r == 0 && (ent = sys_readdir(d)))
		if (names_target_ok(slice_of(ent->d_name)) && is_ours(c, ent->d_name))
			r = copy_inputs(c, room, ent->d_name, e);
	return r == 0 && errno ? err_sys(e, "list '%s' of the base", room) : r;
}

/* --- crashes -------------------------------------------------------------------------- */

static int copy_place(const struct copying *c, const char *place, struct err *e)
{
	int r = 0;

	for (enum vault_file f = 0; r == 0 && f < VAULT_FILE_COUNT; f++)
		r = copy_file(c, place, vault_file_name(f), e);
	return r;
}

static int copy_crash(const struct copying *c, const struct known_crash *crash, struct err *e)
{
	char name[VAULT_NAME];
	int r = vault_name(slice_of(crash->signature), name, e);
	_autofree_ char *own = r == 0 ? xasprintf("crashes/%s", name) : NULL;

	for (size_t i = 0; r == 0 && i < crash->n_by; i++) {
		_autofree_ char *by = xasprintf("%s/" VAULT_BY "/%s", own, crash->by[i]->fuzzer);

		if (names_target_ok(slice_of(crash->by[i]->fuzzer)))
			r = copy_place(c, by, e);
	}
	if (r == 0)
		r = copy_place(c, own, e);
	c->sum->crashes++;
	return r;
}

static bool found_by_us(const struct copying *c, const struct known_crash *crash)
{
	for (size_t i = 0; i < crash->n_by; i++)
		if (is_ours(c, crash->by[i]->fuzzer))
			return true;
	return false;
}

/* A crash comes with what is merged into it, and into which it is merged: the ledger is made again
 * from the records. */
static int copy_crashes(const struct copying *c, struct err *e)
{
	CLEANUP(ledger_free_p) struct ledger *l = NULL;
	int r = ledger_load(c->from, &l, e);

	for (size_t i = 0; r == 0 && i < ledger_count(l); i++) {
		const struct known_crash *crash = ledger_at(l, i);

		if (found_by_us(c, crash) || found_by_us(c, ledger_find(l, crash->signature)))
			r = copy_crash(c, crash, e);
	}
	return r;
}

/* --- the shard's directory -------------------------------------------------------------- */

static bool is_empty(int state, const char *path)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(state, path);

	return !d || !sys_readdir(d);
}

/* Whether the shard continues; else the directory must be new, or of a beginning that was
 * killed. */
static int look_at_own(struct state *s, const struct shard_id *want, bool *ret_again, struct err *e)
{
	struct shard_id have;
	int r = shard_load(s->dirfd, &have, e);

	*ret_again = r == 0;
	if (r == 0 && (strcmp(have.plan, want->plan) != 0 || have.shard != want->shard ||
		       have.round != want->round))
		return err_set(e, EEXIST,
			       "state directory '%s' belongs to shard %u of plan %s: collect what "
			       "is in its deltas/, and give an empty directory",
			       s->path, have.shard, have.plan);
	if (r != -ENOENT)
		return r;
	if (faccessat(s->dirfd, "shard", F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    (!is_empty(s->dirfd, "corpus") || !is_empty(s->dirfd, "crashes")))
		return err_set(e, EEXIST,
			       "state directory '%s' is not that of a shard: give an empty "
			       "directory with --state-dir",
			       s->path);
	return fs_mkdirs(s->dirfd, "shard", MODE_DIR, e);
}

static int copy_all(const struct copying *c, struct err *e)
{
	static const char *const rooms[] = {"corpus", "quarantine", "retry", "regressions"};
	static const char *const dirs[] = {"stats/progress", "stats/merged", "dictionaries"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(rooms) / sizeof(rooms[0]); i++)
		r = copy_room(c, rooms[i], e);
	for (size_t i = 0; r == 0 && i < sizeof(dirs) / sizeof(dirs[0]); i++)
		r = copy_files(c, dirs[i], e);
	if (r == 0)
		r = copy_crashes(c, e);
	if (r == 0 && sys_syncfs(c->to) < 0)
		r = err_sys(e, "sync the state directory");
	return r;
}

int base_copy(struct state *s, const char *base, const struct round_plan *p, unsigned shard,
	      struct base_sum *ret, struct err *e)
{
	_autoclose_ int from = sys_openat(AT_FDCWD, base, O_RDONLY | O_DIRECTORY, 0);
	struct copying c = {from, s->dirfd, &p->v[shard - 1], ret};
	struct shard_id id = {.round = p->round,
			      .shard = shard,
			      .shards = p->shards,
			      .due = (clock_real_us() + p->time_us) / USEC_PER_SEC};
	struct stat ours, theirs;
	int r;

	*ret = (struct base_sum){0};
	memcpy(id.plan, p->id, sizeof(id.plan));
	if (from < 0)
		return err_sys(e, "open the base state '%s'", base);
	if (fstat(from, &theirs) == 0 && fstat(s->dirfd, &ours) == 0 &&
	    theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino)
		return err_set(e, EEXIST,
			       "the base state is the shard's own state directory: give another "
			       "--state-dir");
	r = look_at_own(s, &id, &ret->again, e);
	if (r < 0 || ret->again)
		return r;
	r = copy_all(&c, e);
	return r < 0 ? err_wrap(e, "copy the base state '%s'", base) : shard_begin(s, &id, e);
}
