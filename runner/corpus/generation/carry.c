/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/generation/carry.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { NUMBER_DIGITS = 9 };

/* --- files that must be carried over ----------------------------------------- */

static bool is_input(const char *name, const struct stat *st)
{
	return name[0] != '.' && S_ISREG(st->st_mode) && (uint64_t)st->st_size <= WORKDIR_INPUT_MAX;
}

/* ".<name>.new", left by an incomplete copy. */
static bool generation_carry_is_rest(const char *name)
{
	size_t n = strlen(name);

	return name[0] == '.' && n > 5 && strcmp(name + n - 4, ".new") == 0;
}

static bool has_file(int dir, const char *name, uint64_t size)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == size;
}

static int link_content(struct carry *c, const char *name, const char *hex, struct err *e)
{
	if (sys_linkat(c->from, name, c->to, hex) == 0)
		c->carried++;
	else if (errno != EEXIST)
		return err_sys(e, "carry '%s' over", name);
	return 0;
}

static bool generation_carry_is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* 1: the file may go.  0: its content must be read to decide. */
static int may_go(struct carry *c, const char *name, const struct stat *st, struct err *e)
{
	uint64_t size = (uint64_t)st->st_size;

	switch (c->rule) {
	case CARRY_UNKNOWN:
		return candidates_find(c->known, name, size) != NULL;
	case CARRY_LATE:
		return generation_carry_is_before(&st->st_ctim, &c->since);
	case CARRY_ABSENT:
		if (has_file(c->to, name, size))
			return 1;
		return generation_was_kept(c->g, name, size, e);
	}
	return 0;
}

static int carry_input(struct carry *c, const char *name, const struct stat *st, struct err *e)
{
	_autoclose_ int fd = -1;
	char hex[STORE_NAME];
	int r = may_go(c, name, st, e);

	if (r != 0)
		return r < 0 ? r : 0;
	fd = sys_openat(c->from, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	if (fd < 0)
		return err_sys(e, "open '%s'", name);
	r = digest_sha1_file(fd, WORKDIR_INPUT_MAX, hex, e);
	if (r < 0)
		return err_wrap(e, "'%s'", name);
	if (c->rule == CARRY_UNKNOWN && candidates_find(c->known, hex, (uint64_t)st->st_size))
		return 0; /* under another name */
	return link_content(c, name, hex, e);
}

static int generation_carry_move(struct carry *c, const char *name, struct err *e)
{
	if (c->inputs_only || generation_carry_is_rest(name))
		return 0;
	if (sys_rename_to(c->from, name, c->to, name) < 0)
		return err_sys(e, "carry '%s' over", name);
	c->carried++;
	return 0;
}

static int carry_entry(struct carry *c, const char *name, struct err *e)
{
	struct stat st;

	if (fstatat(c->from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "stat '%s'", name);
	return is_input(name, &st) ? carry_input(c, name, &st, e)
				   : generation_carry_move(c, name, e);
}

int generation_carry(struct carry *c, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(c->from, ".");
	const struct dirent *ent;

	if (!d)
		return err_sys(e, "open a corpus");
	while ((ent = sys_readdir(d))) {
		int r = carry_entry(c, ent->d_name, e);

		if (r < 0)
			return r;
	}
	return errno ? err_sys(e, "list a corpus") : 0;
}

/* --- numbered generations -------------------------------------------------------- */

struct numbered {
	uint64_t first, last, count;
};

static bool generation_carry_read_number(const char *name, uint64_t *ret)
{
	struct slice s = slice_of(name);

	return s.n <= NUMBER_DIGITS && s.p[0] != '0' && scan_u64(&s, 10, UINT32_MAX, ret) &&
	       s.n == 0;
}

/* Calls fn (may be NULL) for each; a result other than 0 ends the walk. */
static int each_number(const struct generation *g, struct numbered *ret,
		       int (*fn)(const struct generation *g, uint64_t number, void *arg), void *arg,
		       struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(g->dir, ".");
	struct numbered all = {0};
	const struct dirent *ent;
	uint64_t n;

	if (!d)
		return err_sys(e, "open the generations");
	while ((ent = sys_readdir(d))) {
		if (!generation_carry_read_number(ent->d_name, &n))
			continue;
		if (all.count++ == 0 || n < all.first)
			all.first = n;
		if (n > all.last)
			all.last = n;
		if (fn && fn(g, n, arg) != 0)
			return 1;
	}
	if (errno)
		return err_sys(e, "list the generations");
	*ret = all;
	return 0;
}

struct looked_for {
	const char *name;
	uint64_t size;
};

static int generation_carry_look(const struct generation *g, uint64_t number, void *arg)
{
	const struct looked_for *l = arg;
	char path[NAME_MAX + 32];

	snprintf(path, sizeof(path), "%llu/%s", (unsigned long long)number, l->name);
	return has_file(g->dir, path, l->size);
}

int generation_was_kept(const struct generation *g, const char *name, uint64_t size, struct err *e)
{
	struct looked_for l = {.name = name, .size = size};
	struct numbered all;

	return each_number(g, &all, generation_carry_look, &l, e);
}

int generation_forget(int dir, const char *name, struct err *e)
{
	if (sys_unlinkat(dir, name, 0) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "remove '%s'", name);
	if (sys_fsync(dir) < 0)
		return err_sys(e, "sync that '%s' is gone", name);
	return 0;
}

/* Renames it first: half removed under its own name it would be taken for complete. */
int generation_trash(int dir, const char *name, struct err *e)
{
	int r = fs_remove_tree(dir, GENERATION_TRASH, e);

	if (r < 0)
		return r;
	if (sys_renameat(dir, name, GENERATION_TRASH) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "give '%s' up", name);
	return fs_remove_tree(dir, GENERATION_TRASH, e);
}

static int generation_carry_prune(const struct generation *g, unsigned keep, struct err *e)
{
	struct numbered all;
	char name[24];
	int r = each_number(g, &all, NULL, NULL, e);

	while (r == 0 && all.count > keep) {
		snprintf(name, sizeof(name), "%llu", (unsigned long long)all.first);
		r = generation_trash(g->dir, name, e);
		if (r == 0)
			r = each_number(g, &all, NULL, NULL, e);
	}
	return r;
}

static int keep_next(const struct generation *g, uint64_t *ret_number, struct err *e)
{
	struct numbered all;
	char name[24];
	int r = each_number(g, &all, NULL, NULL, e);

	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%llu", (unsigned long long)all.last + 1);
	if (sys_renameat(g->dir, GENERATION_NEXT, name) < 0)
		return err_sys(e, "keep the old corpus as generation %s", name);
	*ret_number = all.last + 1;
	return 0;
}

int generation_retire(const struct generation *g, unsigned keep, uint64_t *ret_number,
		      struct err *e)
{
	int r;

	*ret_number = 0;
	if (keep)
		r = keep_next(g, ret_number, e);
	else
		r = generation_trash(g->dir, GENERATION_NEXT, e);
	if (r == 0)
		r = generation_carry_prune(g, keep, e);
	return r < 0 ? r : generation_forget(g->dir, GENERATION_PENDING, e);
}
