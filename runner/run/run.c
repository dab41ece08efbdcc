/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/run.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "runner/run/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned lend(void *arg, const struct job *j, unsigned want)
{
	struct run *r = arg;

	return dispatch_lend(&r->dispatch, j, want);
}

static void give_back(void *arg, const struct job *j, unsigned lent)
{
	struct run *r = arg;

	dispatch_give_back(&r->dispatch, j, lent);
}

static bool borrow_memory(void *arg, uint64_t bytes)
{
	struct run *r = arg;

	return dispatch_borrow_memory(&r->dispatch, bytes);
}

static void return_memory(void *arg, uint64_t bytes)
{
	struct run *r = arg;

	dispatch_return_memory(&r->dispatch, bytes);
}

static bool has_variant(const struct target *t, const struct target_config *cfgs, const char *name)
{
	for (size_t i = 0; i < t->n_variants; i++)
		if (strcmp(t->variants[i].name, name) == 0)
			return t->variants[i].role == ROLE_CHECK && cfgs[i].enabled;
	return false;
}

static bool has_target(void *arg, const char *name)
{
	const struct run *r = arg;

	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->jobs[i].target->name, name) == 0 ||
		    has_variant(r->jobs[i].target, r->jobs[i].variants, name))
			return true;
	return false;
}

/* --- the share of the other builds ------------------------------------------ */

/* Less than this is not worth a cell's start. */
#define CHECK_LEAST_US (200 * USEC_PER_MSEC)

static uint64_t check_left(void *arg)
{
	const struct run *r = arg;
	double share = (double)r->o.cfg->check_milli / 1000, fuzzed = 0, left;

	for (size_t i = 0; i < r->n; i++)
		fuzzed += (double)(r->jobs[i].before.usage_us + r->jobs[i].now.usage_us);
	left = fuzzed * share / (1 - share) - (double)r->checked_us - (double)r->check_reserved_us;
	return left < (double)CHECK_LEAST_US ? 0 : (uint64_t)left;
}

/* Jobs that may still check their other builds share what is left: they often end together. */
static uint64_t check_begin(void *arg, uint64_t most_us)
{
	struct run *r = arg;
	uint64_t left = check_left(r), budget, n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->jobs[i].phase != PHASE_DONE &&
		     check_is_wanted(r->jobs[i].target, r->jobs[i].variants);
	budget = left / (n > 0 ? n : 1);
	if (budget < CHECK_LEAST_US)
		budget = CHECK_LEAST_US;
	if (budget > most_us)
		budget = most_us;
	if (budget > left)
		budget = left;
	r->check_reserved_us += budget;
	return budget;
}

static void check_ended(void *arg, uint64_t budget_us, uint64_t used_us)
{
	struct run *r = arg;

	r->check_reserved_us -= budget_us;
	r->checked_us += used_us;
}

static void gave(void *arg, const struct job *j, uint64_t inputs)
{
	struct run *r = arg;

	fleet_gave(&r->dispatch.fleet, j->fleet, inputs);
}

/* The job of the main build; NULL: this is a main build. */
static const struct job *main_of(const struct run *r, const struct target *t)
{
	for (size_t i = 0; t->of && i < r->n; i++)
		if (strcmp(r->jobs[i].target->name, t->of) == 0)
			return &r->jobs[i];
	return NULL;
}

/* What a job saved in an earlier run, and its main build did not read, is read now. */
static void give_unread(struct run *r, const struct job *j)
{
	const struct job *main = main_of(r, j->target);

	if (main)
		gave(r, j, job_inputs_since(j, main->partners_read_us));
}

/* On a small machine the symbolizer gets the memory that is left beside the target. */
static void fit_symbolizer(const struct run *r, struct target_config *c)
{
	uint64_t left = r->o.machine_memory > c->memory ? r->o.machine_memory - c->memory : 0;

	if (c->symbolizer_memory > left)
		c->symbolizer_memory = left;
}

static void make_jobs(struct run *r, struct plan *plan)
{
	uint64_t smallest = UINT64_MAX;

	dispatch_init(&r->dispatch, r->o.cfg, r->o.workers, r->o.machine_memory, r->o.continuous,
		      plan->n);
	r->jobs = xcalloc(plan->n, sizeof(*r->jobs));
	r->rows = xcalloc(plan->n, sizeof(*r->rows));
	for (; r->n < plan->n; r->n++) {
		struct plan_entry *p = &plan->v[r->n];
		const struct job *main = main_of(r, p->target);

		if (p->cfg.disk < smallest)
			smallest = p->cfg.disk;
		fit_symbolizer(r, &p->cfg);
		dispatch_join(&r->dispatch, r->n, &p->cfg,
			      job_strategies(p->target, &p->cfg, plan->n == 1),
			      main ? main->fleet : NULL, p->target->variant);
		for (size_t i = 0; i < p->target->n_variants; i++)
			fit_symbolizer(r, &p->variants[i]);
		job_init(&r->jobs[r->n], &r->env, p->target, &p->cfg, p->variants, r->n,
			 &r->dispatch.targets[r->n]);
		job_load_progress(&r->jobs[r->n]);
		give_unread(r, &r->jobs[r->n]);
	}
	r->dispatch.jobs = r->jobs;
	if (r->o.total_us)
		r->env.fuzz_until_us = r->dispatch.deadline_us =
		    r->began_us + r->o.total_us - plan_reserve(r->o.total_us);
	disk_watch_begin(&r->disk, r->o.dirs->work, r->o.disk_reserve, smallest);
}

static struct run *run_new(const struct run_opts *o)
{
	struct run *r = xcalloc(1, sizeof(*r));

	r->o = *o;
	r->began_us = clock_mono_us();
	r->env = (struct job_env){
	    .began_us = r->began_us,
	    .started_real_us = clock_real_us(),
	    .end_us = o->total_us ? r->began_us + o->total_us : 0,
	    .loop = o->loop,
	    .host = o->host,
	    .state = o->state,
	    .dirs = o->dirs,
	    .quarantine = -1,
	    .triage = -1,
	    .rootfs = o->rootfs,
	    .log_limit = o->log_limit,
	    .merge_env = {.exec = {.loop = o->loop,
				   .host = o->host,
				   .rootfs = o->rootfs,
				   .run = o->dirs->id},
			  .state = o->state,
			  .keep = o->generations,
			  .disk_reserve = o->disk_reserve},
	    .borrow = lend,
	    .give_back = give_back,
	    .check_left = check_left,
	    .check_begin = check_begin,
	    .check_ended = check_ended,
	    .coverage_us = o->continuous ? o->cfg->coverage_us : 0,
	    .sources = o->sources,
	    .coverage_env = {.exec = {.loop = o->loop,
				      .host = o->host,
				      .rootfs = o->rootfs,
				      .run = o->dirs->id},
			     .state = o->state},
	    .triage_env = {.replay = {.exec = {.loop = o->loop,
					       .host = o->host,
					       .rootfs = o->rootfs,
					       .run = o->dirs->id},
				      .symbolizer = o->symbolizer},
			   .books = o->books,
			   .state = o->state,
			   .run = o->dirs->id,
			   .commit = o->commit,
			   .counts = true,
			   .borrow_memory = borrow_memory,
			   .return_memory = return_memory,
			   .has_target = has_target,
			   .arg = r},
	    .gave = gave,
	    .news = run_news,
	    .arg = r,
	};
	r->view = (struct run_view){
	    .id = o->dirs->id,
	    .version = FUZZCELL_VERSION,
	    .layout = o->layout,
	    .commit = o->commit,
	    .started_real_us = r->env.started_real_us,
	    .total_us = o->total_us,
	    .workers = o->workers,
	    .workers_most = o->workers,
	    .continuous = o->continuous,
	    .build_failed = o->build_failed,
	    .pid = getpid(),
	};
	return r;
}

int run_all(const struct run_opts *o, struct plan *plan, struct run **ret, struct err *e)
{
	struct run *r = run_new(o);
	int rc;

	rc = fs_open_dir(o->state->dirfd, "quarantine", &r->env.quarantine, e);
	if (rc == 0)
		rc = fs_open_dir(o->state->dirfd, "triage", &r->env.triage, e);
	r->env.merge_env.quarantine = r->env.quarantine;
	r->env.merge_env.triage = r->env.triage;
	r->env.merge_index = plan->n;
	if (rc == 0)
		make_jobs(r, plan);
	r->view.rows = r->rows;
	r->view.n_rows = r->n;
	if (rc == 0)
		rc = run_watch(r, e);
	if (rc == 0 && r->n > 0) {
		(void)run_look(r); /* the event of one target has the rows of all targets */
		dispatch_next(&r->dispatch);
		rc = loop_run(o->loop, e);
	}
	/* The rest may take minutes, and no request is answered meanwhile: clients must get an
	 * error at once. */
	control_server_close(r->server);
	r->server = NULL;
	if (rc == 0 && r->failed < 0) {
		rc = r->failed;
		*e = r->err;
	}
	if (rc < 0) {
		run_free(r);
		return rc;
	}
	r->view.ended_real_us = clock_real_us();
	*ret = r;
	return 0;
}

const struct run_view *run_result(struct run *r)
{
	return run_look(r);
}

bool run_uncollected(const struct run *r)
{
	bool any = false;

	for (size_t i = 0; i < r->n; i++)
		any = any || r->jobs[i].uncollected;
	return any;
}

void run_free(struct run *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		job_done(&r->jobs[i]);
	run_unwatch(r);
	if (r->env.quarantine >= 0)
		close(r->env.quarantine);
	if (r->env.triage >= 0)
		close(r->env.triage);
	dispatch_done(&r->dispatch);
	free(r->jobs);
	free(r->rows);
	free(r);
}
