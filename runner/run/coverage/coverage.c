/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/coverage/coverage.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/task.h"
#include "runner/coverage/report.h"
#include "runner/coverage/shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOOLS_US (UINT64_C(1800) * USEC_PER_SEC)

enum { MODE_DIR = 0755 };

struct coverage {
	const struct coverage_env *env;
	struct coverage_spec spec;
	const struct target **builds;
	size_t n_builds;
	bool joins; /* coverage_join(): the profiles are there */
	char *work, *corpus, *raw, *out;
	char *sources; /* NULL: none */
	struct llvm llvm;
	struct candidates inputs;
	struct collect *collect;
	struct tools *tools;
	struct collect_sum sum;
	char notes[300];
	bool stopped;
	char why[300];	/* the end: why there is no report; "" */
	json_t *report; /* or the report; owned */
};

/* --- the end ------------------------------------------------------------------------------- */

static void coverage_free(struct coverage *c)
{
	candidates_done(&c->inputs);
	llvm_done(&c->llvm);
	free(c->builds);
	free(c->work);
	free(c->corpus);
	free(c->raw);
	free(c->out);
	free(c->sources);
	json_decref(c->report);
	free(c);
}

/* Removes what may be large: a run's disk space is limited.  The merged profile stays. */
static int coverage_task_clean(void *arg, struct buf *out, struct err *e)
{
	static const char *const large[] = {
	    "corpus",	   "raw",	    "list",	    "out/html",
	    "out/listing", "out/lcov.info", "out/lcov.raw", "out/summary.json"};
	const struct coverage *c = arg;
	_autoclose_ int work = -1;
	int r = fs_open_dir(AT_FDCWD, c->work, &work, e);

	(void)out;
	for (size_t i = 0; r == 0 && i < sizeof(large) / sizeof(large[0]); i++)
		r = fs_remove_tree(work, large[i], e);
	return r;
}

static void coverage_on_cleaned(void *arg, struct slice result, const char *failed)
{
	struct coverage *c = arg;
	struct coverage_end end = {.why = *c->why ? c->why : NULL,
				   .stopped = c->stopped,
				   .sum = c->sum,
				   .report = c->report};

	(void)result;
	(void)failed; /* the owner of the directory removes it at its end */
	c->spec.done(c->spec.arg, &end);
	coverage_free(c);
}

/* why NULL: there is a report, which is taken. */
static void coverage_finish(struct coverage *c, const char *why, json_t *report)
{
	struct task *t;
	struct err e;

	snprintf(c->why, sizeof(c->why), "%s", why ? why : "");
	c->report = report;
	if (task_start(c->env->exec.loop, coverage_task_clean, c, coverage_on_cleaned, c, &t, &e) <
	    0)
		coverage_on_cleaned(c, SLICE(""), e.msg);
}

/* --- the report, in a child ------------------------------------------------------------------ */

static int coverage_task_report(void *arg, struct buf *out, struct err *e)
{
	const struct coverage *c = arg;
	struct report_facts f = {
	    .target = c->spec.target,
	    .commit = c->spec.commit,
	    .time = clock_real_us() / USEC_PER_SEC,
	    .llvm = c->llvm.version,
	    .ran = c->sum.ran,
	    .failed = c->sum.failed,
	    .left_out = c->sum.left_out,
	    .why = c->sum.why,
	    .notes = c->notes,
	};
	_autoclose_ int from = -1, before = -1;
	_autojson_ json_t *report = NULL;
	int r = fs_open_dir(AT_FDCWD, c->out, &from, e);

	(void)out;
	if (r == 0)
		r = shelf_open(c->env->state, c->spec.target, &before, e);
	if (r == 0)
		r = report_make(from, before, &f, &report, e);
	return r == 0 ? shelf_put(c->env->state, c->spec.target, from, report, e) : r;
}

static void coverage_on_reported(void *arg, struct slice result, const char *failed)
{
	struct coverage *c = arg;
	json_t *report = NULL;
	_autoclose_ int dir = -1;
	struct err e;

	(void)result;
	if (!failed && (shelf_open(c->env->state, c->spec.target, &dir, &e) < 0 ||
			json_load(dir, "report.json", REPORT_JSON_MAX, &report, &e) < 0))
		failed = e.msg;
	coverage_finish(c, failed, report);
}

/* --- the tools ------------------------------------------------------------------- */

static void coverage_on_tools(void *arg, const char *why, const char *notes)
{
	struct coverage *c = arg;
	struct task *t;
	struct err e;

	c->tools = NULL;
	snprintf(c->notes, sizeof(c->notes), "%.*s", (int)sizeof(c->notes) - 1, notes);
	if (why)
		coverage_finish(c, why, NULL);
	else if (task_start(c->env->exec.loop, coverage_task_report, c, coverage_on_reported, c, &t,
			    &e) < 0)
		coverage_finish(c, e.msg, NULL);
}

static void coverage_report(struct coverage *c)
{
	struct tools_spec s = {
	    .builds = c->builds,
	    .n_builds = c->n_builds,
	    .cfg = c->spec.cfg,
	    .index = c->spec.index,
	    .llvm = &c->llvm,
	    .raw = c->raw,
	    .out = c->out,
	    .sources = c->sources,
	    .html = c->spec.html,
	    .deadline_us = TOOLS_US,
	    .done = coverage_on_tools,
	    .arg = c,
	};
	struct err e;

	if (tools_start(&c->env->exec, &s, &c->tools, &e) < 0)
		coverage_finish(c, e.msg, NULL);
}

/* --- the corpus ------------------------------------------------------------------ */

static void coverage_on_collected(void *arg, const struct collect_sum *sum)
{
	struct coverage *c = arg;

	c->collect = NULL;
	c->sum = *sum;
	if (c->stopped)
		coverage_finish(c, "stopped", NULL);
	else if (sum->profiles == 0)
		coverage_finish(c, *sum->why ? sum->why : "no input ran to its end", NULL);
	else
		coverage_report(c);
}

static void coverage_collect(struct coverage *c)
{
	struct collect_spec s = {
	    .build = c->spec.build,
	    .cfg = c->spec.cfg,
	    .index = c->spec.index,
	    .workers = c->spec.workers,
	    .dir = c->corpus,
	    .inputs = &c->inputs,
	    .raw = c->raw,
	    .done = coverage_on_collected,
	    .arg = c,
	};
	struct err e;

	if (collect_start(&c->env->exec, &s, &c->collect, &e) < 0)
		coverage_finish(c, e.msg, NULL);
}

static int coverage_fresh_dir(int work, const char *name, struct err *e)
{
	int r = fs_remove_tree(work, name, e);

	return r == 0 ? fs_mkdirs(work, name, MODE_DIR, e) : r;
}

static int coverage_open_corpus(const struct coverage *c, int *ret, struct err *e)
{
	return state_open_corpus(c->env->state, c->spec.build->of, ret, e);
}

/* Cells read the corpus in its place if they can, else a directory of links.  Result: "direct", or
 * nothing. */
static int coverage_stage(const struct coverage *c, int work, struct buf *out, struct err *e)
{
	_autoclose_ int corpus = -1, stage = -1;
	_autocandidates_ struct candidates all = {0};
	struct stage_sum sum = {0};
	bool plain = false;
	int r = coverage_fresh_dir(work, "raw", e);

	if (r == 0)
		r = coverage_fresh_dir(work, "corpus", e);
	if (r == 0)
		r = coverage_open_corpus(c, &corpus, e);
	if (r == 0)
		r = shard_list_plain(corpus, &all, &plain, e);
	if (r < 0)
		return r;
	if (plain && shard_open_to_cells(corpus)) {
		buf_puts(out, "direct");
		return candidates_save(work, "list", &all, e);
	}
	candidates_done(&all);
	r = fs_open_dir(work, "corpus", &stage, e);
	if (r == 0)
		r = shard_stage(corpus, ".", stage, &sum, e);
	if (r == 0)
		r = shard_list(stage, &all, e);
	return r == 0 ? candidates_save(work, "list", &all, e) : r;
}

static int coverage_task_stage(void *arg, struct buf *out, struct err *e)
{
	const struct coverage *c = arg;
	_autoclose_ int work = -1;
	int r = fs_make_dir(AT_FDCWD, c->work, MODE_DIR, &work, e);

	if (r == 0)
		r = coverage_fresh_dir(work, "out", e);
	return r < 0 || c->joins ? r : coverage_stage(c, work, out, e);
}

static void coverage_on_staged(void *arg, struct slice result, const char *failed)
{
	struct coverage *c = arg;
	_autoclose_ int work = -1;
	struct err e;

	if (slice_eq(result, SLICE("direct"))) {
		free(c->corpus);
		c->corpus = xasprintf("%s/corpus/%s", c->env->state->path, c->spec.build->of);
	}
	if (!failed && !c->joins &&
	    (fs_open_dir(AT_FDCWD, c->work, &work, &e) < 0 ||
	     candidates_load(work, "list", &c->inputs, &e) < 0))
		failed = e.msg;
	if (!failed && c->stopped)
		failed = "stopped";
	if (!failed && !c->joins && c->inputs.n == 0)
		failed = "its corpus is empty";
	if (failed)
		coverage_finish(c, failed, NULL);
	else if (c->joins)
		coverage_report(c);
	else
		coverage_collect(c);
}

/* --- from outside ---------------------------------------------------------------- */

/* The work tree around the build; NULL: it is in none. */
static char *coverage_tree_of(const struct target *build)
{
	_autofree_ char *top = fs_find_above(build->dir ? build->dir : build->binary, ".git");

	return top && *top ? take_ptr(&top) : NULL;
}

static struct coverage *coverage_new(const struct coverage_env *env,
				     const struct coverage_spec *spec,
				     const struct target *const *builds, size_t n_builds)
{
	struct coverage *c = xcalloc(1, sizeof(*c));

	*c = (struct coverage){.env = env,
			       .spec = *spec,
			       .n_builds = n_builds,
			       .work = xstrdup(spec->work),
			       .corpus = xasprintf("%s/corpus", spec->work),
			       .raw = xasprintf("%s/raw", spec->work),
			       .out = xasprintf("%s/out", spec->work)};
	c->sources = spec->sources ? xstrdup(spec->sources) : coverage_tree_of(spec->build);
	c->builds = xcalloc(n_builds, sizeof(const struct target *));
	for (size_t i = 0; i < n_builds; i++)
		c->builds[i] = builds[i];
	return c;
}

static int coverage_begin(struct coverage *c, struct coverage **ret, struct err *e)
{
	const struct exec_env *x = &c->env->exec;
	struct task *t;
	int r = llvm_find(x->rootfs, llvm_version_of(c->spec.build), &c->llvm, e);

	if (r == 0)
		r = task_start(x->loop, coverage_task_stage, c, coverage_on_staged, c, &t, e);
	if (r < 0)
		coverage_free(c);
	else
		*ret = c;
	return r;
}

int coverage_start(const struct coverage_env *env, const struct coverage_spec *spec,
		   struct coverage **ret, struct err *e)
{
	return coverage_begin(coverage_new(env, spec, &spec->build, 1), ret, e);
}

int coverage_join(const struct coverage_env *env, const struct coverage_spec *spec,
		  const struct coverage_joined *of, struct coverage **ret, struct err *e)
{
	struct coverage *c = coverage_new(env, spec, of->builds, of->n_builds);

	c->joins = true;
	c->sum = of->sum;
	return coverage_begin(c, ret, e);
}

void coverage_stop(struct coverage *c)
{
	c->stopped = true;
	if (c->collect)
		collect_stop(c->collect);
	if (c->tools)
		tools_stop(c->tools);
}

void coverage_look(const struct coverage *c, uint64_t *ret_done, uint64_t *ret_of)
{
	*ret_done = c->collect ? collect_finished(c->collect) : c->sum.ran + c->sum.failed;
	*ret_of = c->inputs.n;
}
