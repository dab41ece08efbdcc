/* SPDX-License-Identifier: Apache-2.0 */
/* Source coverage in a continuous run: when a target's report is due, and making it. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "runner/coverage/print.h"
#include "runner/coverage/shelf.h"
#include "runner/run/job/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* After a merge that gained inputs, the next report may come so soon. */
#define GAINED_S UINT64_C(3600)

enum { WEIGHT_SHARE = 10 }; /* its cells have this part of the target's weight */

/* The index of the target's coverage build; n_variants: it has none that is usable. */
static size_t cover_build(const struct job *j)
{
	const struct target *t = j->target;

	for (size_t i = 0; j->variants && i < t->n_variants; i++)
		if (t->variants[i].role == ROLE_COVERAGE && !t->variants[i].unbuilt &&
		    j->variants[i].enabled)
			return i;
	return t->n_variants;
}

/* The time of the report that an earlier run made. */
static void cover_recall(struct job *j)
{
	_autojson_ json_t *last = NULL;
	struct err ignored;

	if (!j->coverage_known &&
	    shelf_summary(j->env->state, j->target->name, &last, &ignored) == 0)
		j->coverage_s = json_get_u64(last, "time");
	j->coverage_known = true;
}

bool job_cover_due(struct job *j)
{
	uint64_t now = clock_real_us() / USEC_PER_SEC, age;

	if (!j->env->coverage_us || !j->fuzzed || cover_build(j) == j->target->n_variants)
		return false;
	cover_recall(j);
	age = now > j->coverage_s ? now - j->coverage_s : 0;
	return !j->coverage_s || age >= j->env->coverage_us / USEC_PER_SEC ||
	       (j->coverage_merges > 0 && age >= GAINED_S);
}

void job_cover_gained(struct job *j)
{
	j->coverage_merges++;
}

void job_cover_done(struct job *j)
{
	free(j->coverage_cfg);
	j->coverage_cfg = NULL;
}

/* Memory for the build, and for llvm-cov, beside the target's own. */
static bool cover_borrow(struct job *j, const struct target_config *cfg)
{
	const struct triage_env *env = &j->env->triage_env;
	uint64_t need = cfg->memory + cfg->symbolizer_memory;

	need = need > j->cfg->memory ? need - j->cfg->memory : 0;
	if (need > 0 && env->borrow_memory && !env->borrow_memory(env->arg, need))
		return false;
	j->coverage_lent = env->borrow_memory ? need : 0;
	return true;
}

static void cover_return(struct job *j)
{
	const struct triage_env *env = &j->env->triage_env;

	if (j->coverage_lent > 0)
		env->return_memory(env->arg, j->coverage_lent);
	j->coverage_lent = 0;
}

static void cover_on_done(void *arg, const struct coverage_end *end)
{
	struct job *j = arg;
	char share[PRINT_SHARE];

	j->coverage = NULL;
	cover_return(j);
	if (j->pending == REASON_NONE)
		job_put_off(j, clock_mono_us() - j->coverage_began_us);
	if (end->report)
		joblog_note(&j->log,
			    "source coverage: lines %s; %llu functions are no longer reached",
			    print_share(json_object_get(end->report, "totals"), "lines", share),
			    (unsigned long long)json_get_u64(json_object_get(end->report, "change"),
							     "no_longer_reached"));
	else
		joblog_note(&j->log, "source coverage: no report: %s", end->why);
	if (!end->report && !end->stopped && !*j->note)
		job_set_note(j, "source coverage: %s", end->why);
	job_after_next_step(j);
}

/* The build's configuration; fuzzing cells go first. */
static void cover_take_cfg(struct job *j, const struct target_config *cfg)
{
	if (!j->coverage_cfg)
		j->coverage_cfg = xmalloc(sizeof(*j->coverage_cfg));
	*j->coverage_cfg = *cfg; /* it borrows the texts */
	j->coverage_cfg->cpu_weight = cfg->cpu_weight / WEIGHT_SHARE;
	if (j->coverage_cfg->cpu_weight == 0)
		j->coverage_cfg->cpu_weight = 1;
}

void job_cover(struct job *j)
{
	size_t build = cover_build(j);
	const struct target_config *cfg = &j->variants[build];
	char work[4096];
	struct coverage_spec s = {
	    .target = j->target->name,
	    .build = &j->target->variants[build],
	    .index = j->index,
	    .workers = 1,
	    .commit = job_is_rebuilt(j) ? NULL : j->env->triage_env.commit,
	    .sources = j->env->sources,
	    .html = true,
	    .work = work,
	    .done = cover_on_done,
	    .arg = j,
	};
	struct coverage_end none = {0};
	struct err e;

	j->coverage_began_us = clock_mono_us();
	j->coverage_s = clock_real_us() / USEC_PER_SEC;
	j->coverage_merges = 0;
	if (!cover_borrow(j, cfg)) {
		j->coverage_merges = 1; /* tried again in an hour */
		none.why = "memory for it is not free now";
		none.stopped = true;
		cover_on_done(j, &none);
		return;
	}
	cover_take_cfg(j, cfg);
	s.cfg = j->coverage_cfg;
	/* Beside the job's own corpus/, which must stay. */
	snprintf(work, sizeof(work), "%s/%s/coverage", j->env->dirs->work_path, j->target->name);
	if (coverage_start(&j->env->coverage_env, &s, &j->coverage, &e) < 0) {
		none.why = e.msg;
		cover_on_done(j, &none);
	}
}
