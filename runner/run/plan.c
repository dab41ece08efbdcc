/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/plan.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "runner/targets/variants.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static int by_order(const void *a, const void *b)
{
	const struct plan_entry *x = a, *y = b;

	if (x->cfg.priority != y->cfg.priority)
		return x->cfg.priority > y->cfg.priority ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->target->size != y->target->size)
		return x->target->size < y->target->size ? -1 : 1;
	return strcmp(x->target->name, y->target->name);
}

struct config_target plan_build(const struct target *t)
{
	const struct variants_known *k = t->of ? variants_known(t->variant) : NULL;

	return (struct config_target){
	    .name = t->name, .of = t->of, .memory_milli = k ? k->memory_milli : 0};
}

/* Options from the target's side files apply where the configuration sets nothing.  A memory limit
 * may only become lower: the cell's limit stays as it is. */
static void apply_options(const struct config *c, const struct target *t, struct target_config *io)
{
	const struct config_target build = plan_build(t);
	uint64_t rss = t->rss_limit_mib << 20;

	if (t->input_timeout_s && !config_sets(c, &build, "timeout"))
		io->input_timeout_us = t->input_timeout_s * USEC_PER_SEC;
	if (rss && rss < io->rss_limit && !config_sets(c, &build, "rss_limit"))
		io->rss_limit = rss;
	io->sets_max_len = config_sets(c, &build, "max_len");
	io->sets_seed = config_sets(c, &build, "seed");
	io->sets_runs = config_sets(c, &build, "runs");
}

int plan_resolve(const struct config *c, const struct target *t, struct target_config *ret,
		 struct err *e)
{
	const struct config_target build = plan_build(t);
	int r = config_resolve(c, &build, ret, e);

	if (r == 0)
		apply_options(c, t, ret);
	return r;
}

static int plan_add_target(struct plan *p, const struct config *c, const struct target *t,
			   struct err *e)
{
	struct target_config cfg;
	int r = plan_resolve(c, t, &cfg, e);

	if (r < 0)
		return r;
	if (!cfg.enabled) {
		target_config_done(&cfg);
		p->disabled++;
		return 0;
	}
	p->v[p->n++] = (struct plan_entry){
	    .target = t, .cfg = cfg, .variants = xcalloc(t->n_variants + 1, sizeof(cfg))};
	for (size_t i = 0; r == 0 && i < t->n_variants; i++)
		r = plan_resolve(c, &t->variants[i], &p->v[p->n - 1].variants[i], e);
	return r;
}

/* Which of the globs with commas between them matches the name first, from 1; 0: none does. */
static size_t filter_rank(const char *filter, const char *name)
{
	_autofree_ char *copy = xstrdup(filter);
	char *rest = copy, *glob;

	for (size_t i = 1; (glob = strsep(&rest, ",")); i++)
		if (fnmatch(glob, name, 0) == 0)
			return i;
	return 0;
}

int plan_make(const struct config *c, const struct target_list *l, const char *filter,
	      struct plan *ret, struct err *e)
{
	struct plan p = {.v = xcalloc(l->n, sizeof(*p.v))};
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->n; i++) {
		size_t rank = filter ? filter_rank(filter, l->v[i].name) : 1, n = p.n;

		if (rank)
			r = plan_add_target(&p, c, &l->v[i], e);
		if (p.n > n)
			p.v[n].rank = rank;
	}
	if (r < 0) {
		plan_done(&p);
		return r;
	}
	qsort(p.v, p.n, sizeof(*p.v), by_order);
	*ret = p;
	return 0;
}

int plan_make_one(const struct config *c, const struct target *t, struct plan *ret, struct err *e)
{
	struct plan p = {.v = xcalloc(1, sizeof(*p.v))};
	int r = plan_add_target(&p, c, t, e);

	if (r < 0)
		plan_done(&p);
	else
		*ret = p;
	return r;
}

int plan_add_builds(const struct config *c, unsigned roles, plan_wants_fn *wants, void *arg,
		    struct plan *io, struct err *e)
{
	size_t targets = io->n, n = io->n;
	int r = 0;

	for (size_t i = 0; i < targets; i++)
		n += io->v[i].target->n_variants;
	io->v = xreallocarray(io->v, n + 1, sizeof(*io->v));
	for (size_t i = 0; i < targets; i++) {
		const struct target *t = io->v[i].target;

		for (size_t k = 0; r == 0 && k < t->n_variants; k++)
			if ((roles & 1u << t->variants[k].role) &&
			    (!wants || wants(arg, &t->variants[k])))
				r = plan_add_target(io, c, &t->variants[k], e);
	}
	return r;
}

static void entry_done(struct plan_entry *entry)
{
	for (size_t k = 0; k < entry->target->n_variants; k++)
		target_config_done(&entry->variants[k]);
	free(entry->variants);
	target_config_done(&entry->cfg);
}

void plan_keep(struct plan *io, plan_wants_fn *wants, void *arg)
{
	size_t n = 0;

	for (size_t i = 0; i < io->n; i++)
		if (wants(arg, io->v[i].target))
			io->v[n++] = io->v[i];
		else
			entry_done(&io->v[i]);
	io->n = n;
}

void plan_done(struct plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		entry_done(&p->v[i]);
	free(p->v);
	*p = (struct plan){0};
}

#define RESERVE_MAX_US (600 * USEC_PER_SEC)

uint64_t plan_reserve(uint64_t total_us)
{
	return total_us / 10 < RESERVE_MAX_US ? total_us / 10 : RESERVE_MAX_US;
}

bool plan_admits(uint64_t used, uint64_t limit, uint64_t machine)
{
	return limit <= machine && used <= machine - limit;
}
