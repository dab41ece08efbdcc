/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/measure/shard.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LINE_MAX_BYTES = STORE_NAME + 22, FIRST_CAP = 256 };

/* --- lists ------------------------------------------------------------------- */

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
