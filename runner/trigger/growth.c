/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/trigger/growth.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/scan.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_MAX = 160, BLOCK = 4096, INDEX_ENTRY = 160, PART = 8 };

/* Parses "<mode> <type> <object> <size>\t<path>\0", in blocks that end anywhere. */
struct reader {
	struct growth sum, max;
	char head[HEAD_MAX]; /* the text before the tab */
	size_t n;
	bool in_path;
};

/* A directory and a submodule have "-" as their size. */
static void growth_add_entry(struct reader *r)
{
	size_t at = r->n;
	struct slice size;
	uint64_t bytes = 0;

	while (at > 0 && r->head[at - 1] != ' ')
		at--;
	size = (struct slice){r->head + at, r->n - at};
	if (!scan_u64(&size, 10, UINT64_MAX / 2, &bytes))
		bytes = 0;
	r->sum.files++;
	r->sum.bytes += (bytes / BLOCK + 1) * BLOCK;
	r->sum.names += INDEX_ENTRY;
}

static bool growth_is_more(const struct growth *a, const struct growth *b)
{
	return a->files > b->files || a->bytes > b->bytes || a->names > b->names;
}

static int growth_on_block(void *arg, struct slice block, struct err *e)
{
	struct reader *r = arg;

	for (size_t i = 0; i < block.n; i++) {
		char c = block.p[i];

		if (r->in_path) {
			r->in_path = c != '\0';
			r->sum.names++;
		} else if (c == '\t') {
			growth_add_entry(r);
			r->in_path = true;
			r->n = 0;
		} else if (r->n < HEAD_MAX) {
			r->head[r->n++] = c;
		}
	}
	return growth_is_more(&r->sum, &r->max)
		   ? err_set(e, EFBIG, "the commit's files are too many")
		   : 0;
}

/* 1: the tree has more than max. */
static int growth_read_tree(const struct git *g, const char *commit, const struct growth *max,
			    struct growth *ret, struct err *e)
{
	const char *const args[] = {"ls-tree", "-r", "-t", "-l", "-z", "--full-tree", commit, NULL};
	struct reader r = {.max = *max};
	int x = git_stream(g, args, (struct slice){0}, growth_on_block, &r, e);

	*ret = r.sum;
	if (x == -EFBIG)
		return 1;
	return x > 0 ? err_set(e, EPROTO, "git ls-tree failed") : x;
}

static uint64_t growth_add(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

static uint64_t growth_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

int growth_measure(const struct git *g, const char *from, const char *to,
		   const struct growth *limit, struct growth *ret_more, struct err *e)
{
	static const struct growth any = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
	struct growth was = {0}, will = {0}, max;
	int r = growth_read_tree(g, from, &any, &was, e);

	if (r < 0)
		return r;
	max = (struct growth){growth_add(was.files, limit->files),
			      growth_add(was.bytes, limit->bytes),
			      growth_add(was.names, limit->names)};
	r = growth_read_tree(g, to, &max, &will, e);
	*ret_more =
	    (struct growth){growth_less(will.files, was.files), growth_less(will.bytes, was.bytes),
			    growth_less(will.names, was.names)};
	return r;
}

int growth_check(const struct git *g, const char *from, const char *to, struct growth *ret_more,
		 struct err *e)
{
	_autoclose_ int fd = sys_openat(AT_FDCWD, g->top, O_PATH | O_DIRECTORY, 0);
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	struct growth limit;
	struct fs_room room;
	int r;

	if (fd < 0)
		return err_sys(e, "open '%s'", g->top);
	r = fs_room(fd, &room, e);
	if (r < 0)
		return r;
	limit = (struct growth){
	    .files = room.files / PART,
	    .bytes = room.bytes / PART,
	    .names = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / PART : UINT64_MAX};
	return growth_measure(g, from, to, &limit, ret_more, e);
}
