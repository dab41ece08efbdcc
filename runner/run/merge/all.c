/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/merge/all.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* A merge time of "off" disables merges in runs; an explicit merge has no limit then. */
#define UNLIMITED_US (UINT64_C(365) * 24 * 3600 * USEC_PER_SEC)

struct one {
	struct all *all;
	const struct plan_entry *entry;
	struct merge *merge;
	unsigned cells;
};

struct all {
	const struct merge_all_opts *o;
	struct one *v; /* as the plan */
	size_t next, running;
	unsigned cells;	 /* in use */
	uint64_t memory; /* sum of the limits of these cells */
	bool stopped;
	struct source *signals[3];
};

unsigned merge_all_share(unsigned free, size_t waiting, uint64_t limit, uint64_t memory_left)
{
	unsigned share = waiting > 0 && waiting < free ? (unsigned)(free / waiting) : 1;

	while (share > 1 && limit > memory_left / share)
		share--;
	return share;
}

static void merge_all_fill(struct all *a);

static void merge_all_release(struct one *one)
{
	struct all *a = one->all;

	a->running--;
	a->cells -= one->cells;
	a->memory -= one->cells * one->entry->cfg.memory;
	one->merge = NULL;
}

static void merge_all_on_done(void *arg, const struct merge_result *r)
{
	struct one *one = arg;
	struct all *a = one->all;

	merge_all_release(one);
	a->o->ended(a->o->arg, one->entry, r);
	merge_all_fill(a);
}

static void merge_all_start(struct one *one)
{
	const struct all *a = one->all;
	const struct target_config *cfg = &one->entry->cfg;
	struct merge_spec spec = {
	    .target = one->entry->target,
	    .cfg = cfg,
	    .index = (size_t)(one - a->v) * a->o->workers,
	    .workers = one->cells,
	    .budget_us = cfg->merge_us ? cfg->merge_us : UNLIMITED_US,
	    .what = a->o->what,
	    .force = a->o->force,
	    .done = merge_all_on_done,
	    .arg = one,
	};
	struct merge_result failed = {.verdict = MERGE_FAILED};
	struct err e;
	int r = merge_start(&a->o->env, &spec, &one->merge, &e);

	if (r == 0)
		return;
	if (r == -ENOTSUP)
		failed.verdict = MERGE_KEPT;
	snprintf(failed.why, sizeof(failed.why), "%.*s", (int)sizeof(failed.why) - 1, e.msg);
	merge_all_release(one);
	a->o->ended(a->o->arg, one->entry, &failed);
}

static void merge_all_fill(struct all *a)
{
	const struct merge_all_opts *o = a->o;

	while (!a->stopped && a->next < o->plan->n && a->cells < o->workers) {
		struct one *one = &a->v[a->next];
		uint64_t limit = one->entry->cfg.memory;

		/* A target that is too large for the machine runs alone, as in a run. */
		if (a->running > 0 && !plan_admits(a->memory, limit, o->machine_memory))
			break;
		one->cells = merge_all_share(
		    o->workers - a->cells, o->plan->n - a->next, limit,
		    o->machine_memory > a->memory ? o->machine_memory - a->memory : 0);
		a->next++;
		a->running++;
		a->cells += one->cells;
		a->memory += one->cells * limit;
		merge_all_start(one);
	}
	if (a->running == 0)
		loop_stop(o->env.exec.loop);
}

static void merge_all_on_signal(void *arg, int signo)
{
	struct all *a = arg;

	(void)signo;
	a->stopped = true;
	for (size_t i = 0; i < a->next; i++)
		if (a->v[i].merge)
			merge_stop(a->v[i].merge);
}

static int merge_all_watch(struct all *a, struct err *e)
{
	static const int signos[] = {SIGINT, SIGTERM, SIGHUP};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(signos) / sizeof(signos[0]); i++)
		r = loop_add_signal(a->o->env.exec.loop, signos[i], merge_all_on_signal, a,
				    &a->signals[i], e);
	return r;
}

int merge_all(const struct merge_all_opts *o, struct err *e)
{
	_autofree_ struct one *v = xcalloc(o->plan->n, sizeof(*v));
	struct all a = {.o = o, .v = v};
	int r;

	for (size_t i = 0; i < o->plan->n; i++)
		v[i] = (struct one){.all = &a, .entry = &o->plan->v[i]};
	r = merge_all_watch(&a, e);
	if (r == 0 && o->plan->n > 0) {
		merge_all_fill(&a);
		if (a.running > 0)
			r = loop_run(o->env.exec.loop, e);
	}
	for (size_t i = 0; i < sizeof(a.signals) / sizeof(a.signals[0]); i++)
		source_remove(a.signals[i]);
	return r;
}
