/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/measure/shard.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/corpus/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* --- lists ------------------------------------------------------------------- */

enum { LINE_MAX_BYTES = STORE_NAME + 22, FIRST_CAP = 256 };

bool candidates_name_ok(const char *name)
{
	return strlen(name) == STORE_NAME - 1 && strspn(name, "0123456789abcdef") == STORE_NAME - 1;
}

int candidates_add(struct candidates *c, const char *name, uint64_t size, struct err *e)
{
	if (!candidates_name_ok(name))
		return err_set(e, EINVAL, "'%s' is no content's name", name);
	if (c->n == CANDIDATES_MAX)
		return err_set(e, E2BIG, "more than %d inputs", CANDIDATES_MAX);
	if (c->n == c->cap) {
		c->cap = c->cap ? 2 * c->cap : FIRST_CAP;
		c->v = xreallocarray(c->v, c->cap, sizeof(*c->v));
	}
	c->v[c->n].size = size;
	memcpy(c->v[c->n].name, name, STORE_NAME);
	c->n++;
	return 0;
}

static int shard_compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return memcmp(x->name, y->name, STORE_NAME);
}

void candidates_sort(struct candidates *c)
{
	if (c->n > 1)
		qsort(c->v, c->n, sizeof(*c->v), shard_compare);
}

const struct candidate *candidates_find(const struct candidates *c, const char *name, uint64_t size)
{
	struct candidate key = {.size = size};

	if (!candidates_name_ok(name) || c->n == 0)
		return NULL;
	memcpy(key.name, name, STORE_NAME);
	return bsearch(&key, c->v, c->n, sizeof(*c->v), shard_compare);
}

void candidates_done(struct candidates *c)
{
	free(c->v);
	*c = (struct candidates){0};
}

int candidates_save(int dirfd, const char *file, const struct candidates *c, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT((size_t)CANDIDATES_MAX * LINE_MAX_BYTES);
	int r;

	for (size_t i = 0; i < c->n; i++)
		buf_printf(&text, "%s %llu\n", c->v[i].name, (unsigned long long)c->v[i].size);
	r = buf_check(&text, e);
	return r < 0 ? r : fs_replace(dirfd, file, buf_slice(&text), e);
}

static bool shard_read_line(struct slice line, char name[STORE_NAME], uint64_t *ret_size)
{
	struct slice hex;

	if (!scan_until(&line, ' ', STORE_NAME - 1, &hex) || hex.n != STORE_NAME - 1)
		return false;
	memcpy(name, hex.p, hex.n);
	name[hex.n] = '\0';
	return candidates_name_ok(name) && scan_lit(&line, SLICE(" ")) &&
	       scan_u64(&line, 10, UINT64_MAX, ret_size) && line.n == 0;
}

int candidates_load(int dirfd, const char *file, struct candidates *ret, struct err *e)
{
	_autofree_ char *text = NULL;
	_autocandidates_ struct candidates c = {0};
	struct slice rest, line;
	char name[STORE_NAME];
	uint64_t size;
	size_t n;
	int r = fs_read(dirfd, file, (size_t)CANDIDATES_MAX * LINE_MAX_BYTES, &text, &n, e);

	if (r < 0)
		return r;
	if (n > 0 && text[n - 1] != '\n')
		return err_set(e, EBADMSG, "list '%s' is cut", file);
	rest = (struct slice){text, n};
	while (scan_line(&rest, &line)) {
		if (!shard_read_line(line, name, &size))
			return err_set(e, EBADMSG, "list '%s', line %zu", file, c.n + 1);
		r = candidates_add(&c, name, size, e);
		if (r < 0)
			return r;
	}
	candidates_sort(&c);
	*ret = c;
	c = (struct candidates){0};
	return 0;
}

/* --- reading a corpus in its place -------------------------------------------- */

enum {
	READABLE = 0444,
	READABLE_DIR = 0005,
	MODE_MADE = 0750, /* as state_open_corpus() makes it */
	MODE_OPEN = 0755,
};

/* Whether the file is a candidate under its name, and a cell can read it. */
static bool shard_is_plain(const char *name, const struct stat *st)
{
	return candidates_name_ok(name) && S_ISREG(st->st_mode) &&
	       (st->st_mode & READABLE) == READABLE && (uint64_t)st->st_size <= WORKDIR_INPUT_MAX;
}

int shard_list_plain(int dir, struct candidates *to, bool *ret_plain, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(dir, ".");
	const struct dirent *ent;
	struct stat st;
	int r = 0;

	if (!d)
		return err_sys(e, "open the inputs");
	*ret_plain = true;
	while (r == 0 && *ret_plain && (ent = sys_readdir(d))) {
		if (strcmp(ent->d_name, ".") == 0 || strcmp(ent->d_name, "..") == 0)
			continue;
		if (fstatat(dir, ent->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return err_sys(e, "look at '%s'", ent->d_name);
		*ret_plain = shard_is_plain(ent->d_name, &st);
		if (*ret_plain)
			r = candidates_add(to, ent->d_name, (uint64_t)st.st_size, e);
	}
	if (r == 0 && *ret_plain && errno)
		r = err_sys(e, "list the inputs");
	candidates_sort(to);
	return r;
}

bool shard_open_to_cells(int corpus)
{
	struct stat st, all;

	if (fstat(corpus, &st) < 0)
		return false;
	if ((st.st_mode & READABLE_DIR) == READABLE_DIR)
		return true;
	return (st.st_mode & 07777) == MODE_MADE && st.st_uid == geteuid() &&
	       fstatat(corpus, "..", &all, 0) == 0 && !(all.st_mode & S_IXOTH) &&
	       fchmod(corpus, MODE_OPEN) == 0;
}

/* --- the stage ------------------------------------------------------------ */

enum { TREE_DEPTH = 8, MODE_DIR = 0755 };

/* Errors that belong to the file.  All others are ours or the disk's, and must stop a merge. */
static bool is_files_fault(int code)
{
	return code == ENOENT || code == ELOOP || code == ENXIO || code == EACCES ||
	       code == ENOTDIR || code == ENODEV || code == EFBIG || code == EPERM;
}

/* Errors of a link that is impossible where a copy is possible. */
static bool is_copied(int code)
{
	return code == EXDEV || code == EMLINK || code == EPERM;
}

static int copy(int at, const char *name, int stage, struct stage_sum *io, char hex[STORE_NAME],
		struct err *e)
{
	struct store_sum got = {0};
	int r = store_file(at, name, stage, NULL, &got, hex, e);

	if (r < 0)
		return r;
	io->files += got.files;
	io->bytes += got.bytes;
	io->copied += got.files;
	io->skipped += got.skipped;
	return 0;
}

static int link_as(int at, const char *name, int stage, char hex[STORE_NAME], const struct stat *st,
		   struct stage_sum *io, struct err *e)
{
	if ((st->st_mode & READABLE) != READABLE)
		return copy(at, name, stage, io, hex, e);
	if (sys_linkat(at, name, stage, hex) == 0) {
		io->files++;
		io->bytes += (uint64_t)st->st_size;
		return 0;
	}
	if (errno == EEXIST)
		return 0;
	if (is_copied(errno))
		return copy(at, name, stage, io, hex, e);
	return err_sys(e, "link '%s' into the stage", name);
}

int shard_stage_file(int at, const char *name, int stage, struct stage_sum *io,
		     char hex[STORE_NAME], struct err *e)
{
	_autoclose_ int fd = sys_openat(at, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	struct stat st;
	int r;

	*hex = '\0';
	if (fd < 0 && !is_files_fault(errno))
		return err_sys(e, "open '%s'", name);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size > WORKDIR_INPUT_MAX) {
		io->skipped++;
		return 0;
	}
	r = digest_sha1_file(fd, WORKDIR_INPUT_MAX, hex, e);
	if (r == -EFBIG) { /* the file grew */
		io->skipped++;
		*hex = '\0';
		return 0;
	}
	if (r < 0)
		return err_wrap(e, "'%s'", name);
	return link_as(at, name, stage, hex, &st, io, e);
}

struct walk {
	int stage;
	struct stage_sum *io;
	unsigned seen;
};

static int stage_walk_dir(int at, const char *dir, unsigned depth, struct walk *w, struct err *e);

static int stage_walk_entry(int at, const char *name, unsigned depth, struct walk *w, struct err *e)
{
	char hex[STORE_NAME];
	struct stat st;

	if (++w->seen > CANDIDATES_MAX)
		return err_set(e, E2BIG, "more than %d inputs", CANDIDATES_MAX);
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
		if (depth < TREE_DEPTH)
			return stage_walk_dir(at, name, depth + 1, w, e);
		w->io->skipped++;
		return 0;
	}
	return shard_stage_file(at, name, w->stage, w->io, hex, e);
}

static int stage_walk_dir(int at, const char *dir, unsigned depth, struct walk *w, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	const struct dirent *ent;
	int fd = sys_openat(at, dir, O_RDONLY | O_DIRECTORY | (depth ? O_NOFOLLOW : 0), 0);

	if (fd < 0 && depth && is_files_fault(errno)) {
		w->io->skipped++;
		return 0;
	}
	if (fd < 0)
		return err_sys(e, "open directory '%s'", dir);
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return err_set(e, ENOMEM, "open directory '%s'", dir);
	}
	while ((ent = sys_readdir(d))) {
		int r = ent->d_name[0] == '.' ? 0 : stage_walk_entry(fd, ent->d_name, depth, w, e);

		if (r < 0)
			return r;
	}
	return errno ? err_sys(e, "list directory '%s'", dir) : 0;
}

int shard_stage(int from_dirfd, const char *dir, int stage, struct stage_sum *io, struct err *e)
{
	struct walk w = {.stage = stage, .io = io};

	return stage_walk_dir(from_dirfd, dir, 0, &w, e);
}

int shard_list(int stage, struct candidates *ret, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(stage, ".");
	_autocandidates_ struct candidates c = {0};
	const struct dirent *ent;
	struct stat st;

	if (!d)
		return err_sys(e, "open the stage");
	while ((ent = sys_readdir(d))) {
		int r = 0;

		if (!candidates_name_ok(ent->d_name))
			continue; /* an incomplete copy */
		if (fstatat(stage, ent->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return err_sys(e, "stat '%s' in the stage", ent->d_name);
		if (S_ISREG(st.st_mode))
			r = candidates_add(&c, ent->d_name, (uint64_t)st.st_size, e);
		if (r < 0)
			return r;
	}
	if (errno)
		return err_sys(e, "list the stage");
	candidates_sort(&c);
	*ret = c;
	c = (struct candidates){0};
	return 0;
}

/* --- bad units ---------------------------------------------------------------- */

/* A missing name is no error. */
static int remove_name(int dirfd, const char *name, struct err *e)
{
	if (sys_unlinkat(dirfd, name, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove '%s'", name);
	return 0;
}

int shard_quarantine(int stage, int corpus, int quarantine, const char *target, const char *name,
		     struct err *e)
{
	_autoclose_ int to = -1;
	struct stage_sum sum = {0};
	char hex[STORE_NAME];
	int r = fs_make_dir(quarantine, target, MODE_DIR, &to, e);

	if (r == 0) /* copies from the stage first, so that a repetition finds the input in one of
		     * the two */
		r = shard_stage_file(stage, name, to, &sum, hex, e);
	if (r == 0 && faccessat(to, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		r = err_set(e, ENOENT, "it is not in the stage");
	if (r == 0 && sys_syncfs(to) < 0)
		r = err_sys(e, "sync the quarantine");
	if (r == 0)
		r = remove_name(stage, name, e);
	if (r == 0)
		r = remove_name(corpus, name, e);
	return r < 0 ? err_wrap(e, "quarantine '%s'", name) : 0;
}

/* --- shards ------------------------------------------------------------------ */

/* A cell needs some 150 ms until its first input runs, and a run of an input some 0.1 ms.  Below
 * this number a further cell costs more than it saves. */
enum { SHARD_WORTH = 500 };
/* A control file has some 7 bytes a feature: 280 MiB at 5,000 features an input.  Each restart of a
 * cell reads it again. */
enum { SHARD_INPUTS = 8192 };
/* The file is at most a tenth as large if it lists only new features. */
enum { SHARD_INPUTS_NEW = 4 * SHARD_INPUTS };
/* A run costs as much as reading this number of bytes. */
enum { RUN_COST = 4096 };

unsigned shard_count(size_t n, unsigned workers, bool only_new)
{
	size_t most = only_new ? SHARD_INPUTS_NEW : SHARD_INPUTS;
	size_t least = (n + most - 1) / most;
	size_t count = n / SHARD_WORTH ? n / SHARD_WORTH : 1;

	if (workers < 1)
		workers = 1;
	if (count > workers)
		count = workers;
	if (count < least) /* a multiple of the workers */
		count = (least + workers - 1) / workers * workers;
	if (count > SHARDS_MAX)
		count = SHARDS_MAX;
	return (unsigned)count;
}

static unsigned lightest(const uint64_t *cost, unsigned n)
{
	unsigned best = 0;

	for (unsigned i = 1; i < n; i++)
		if (cost[i] < cost[best])
			best = i;
	return best;
}

/* Takes the largest first, and gives each to the shard with the least work. */
static int shard_deal(const struct candidates *all, unsigned shards, uint64_t *cost,
		      struct candidates *to, struct err *e)
{
	for (size_t i = all->n; i-- > 0;) {
		unsigned k = lightest(cost, shards);
		int r = candidates_add(&to[k], all->v[i].name, all->v[i].size, e);

		if (r < 0)
			return r;
		cost[k] += all->v[i].size + RUN_COST;
	}
	return 0;
}

int shard_split(const struct candidates *all, unsigned shards, struct candidates *ret,
		struct err *e)
{
	_autofree_ uint64_t *cost = NULL;
	int r;

	if (shards < 1 || shards > SHARDS_MAX)
		return err_set(e, EINVAL, "%u shards", shards);
	cost = xcalloc(shards, sizeof(*cost));
	r = shard_deal(all, shards, cost, ret, e);
	for (unsigned k = 0; k < shards; k++) {
		if (r < 0)
			candidates_done(&ret[k]);
		else
			candidates_sort(&ret[k]);
	}
	return r;
}
