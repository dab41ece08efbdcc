/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what the corpora reach on the head, by the builds that fuzz: for targets without a
 * coverage report of the base. */
#include "runner/command/ci/internal.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "runner/command/common/cells.h"
#include "runner/run/coverage/edges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHARE = 4 }; /* of the time: more is better spent on fuzzing */

struct measuring {
	struct ci *ci;
	struct ci_sides *sides;
	struct session session; /* with the lock, and the machine */
	struct cells cells;
	struct merge_env env;
	struct edges *edges;
	struct source *soon;
	char *dwarfdump; /* its path in a cell; NULL: none */
	uint64_t deadline_us;
	size_t at; /* the target in work */
	int status;
};

static struct ci_target *in_work(const struct measuring *m)
{
	return &m->ci->targets[m->at];
}

static void measure_next(void *arg);

static void measure_soon(struct measuring *m)
{
	struct loop *l = m->cells.replay.exec.loop;
	struct err e;

	source_remove(m->soon);
	m->soon = NULL;
	if (loop_add_timer(l, clock_mono_us(), measure_next, m, &m->soon, &e) < 0) {
		m->status = fail(EXIT_INTERNAL, "%s", e.msg);
		loop_stop(l);
	}
}

/* --- one target -------------------------------------------------------------------- */

static bool measure_wants(void *arg, const char *path)
{
	const struct measuring *m = arg;

	return affected_file(&m->sides->after, m->ci->root, path) != NULL;
}

static void measure_give_up(struct measuring *m, const char *why)
{
	snprintf(in_work(m)->unmeasured, sizeof(in_work(m)->unmeasured), "%.199s", why);
	m->at++;
	measure_soon(m);
}

static void measure_on_done(void *arg, const char *why, const struct lcov *reached)
{
	struct measuring *m = arg;
	struct affected_coverage c = {.lcov = reached, .by = AFFECTED_HEAD, .root = m->ci->root};

	m->edges = NULL;
	if (why) {
		if (reached)
			(void)affected_lines(&m->sides->after, &c, m->sides->after_known);
		measure_give_up(m, why);
		return;
	}
	ci_choose_by(in_work(m), &m->sides->after, &c, m->sides->after_known);
	m->at++;
	measure_soon(m);
}

/* A target without a corpus is new: its seeds tell little. */
static bool measure_has_corpus(const struct measuring *m)
{
	_autoclose_ int dir = -1;
	_autocandidates_ struct candidates all = {0};
	struct err ignored;
	bool plain;

	return state_open_corpus(m->session.state, in_work(m)->name, &dir, &ignored) == 0 &&
	       shard_list_plain(dir, &all, &plain, &ignored) == 0 && (all.n > 0 || !plain);
}

static void measure_one(struct measuring *m, uint64_t left_us)
{
	const struct lcov none = {0};
	const struct plan *p = &m->session.plan;
	struct edges_spec s = {
	    .workers = m->cells.workers,
	    .dwarfdump = m->dwarfdump,
	    .work = m->cells.path,
	    .budget_us = left_us,
	    .wants = measure_wants,
	    .done = measure_on_done,
	    .arg = m,
	};
	struct err e;

	for (size_t i = 0; i < p->n && !s.target; i++)
		if (strcmp(p->v[i].target->name, in_work(m)->name) == 0) {
			s.target = p->v[i].target;
			s.cfg = &p->v[i].cfg;
		}
	if (!s.target)
		measure_give_up(m, "it is not enabled");
	else if (!measure_has_corpus(m))
		measure_give_up(m, "its corpus is empty");
	else if (!affected_has_code(&m->sides->after))
		measure_on_done(m, NULL, &none);
	else if (!s.dwarfdump)
		measure_give_up(m, "there is no llvm-dwarfdump");
	else if (edges_start(&m->env, &s, &m->edges, &e) < 0)
		measure_give_up(m, e.msg);
}

/* --- all of them -------------------------------------------------------------------- */

static bool is_wanted(const struct ci_target *t)
{
	return !ci_is_chosen(t) && !t->unbuilt;
}

static void measure_next(void *arg)
{
	struct measuring *m = arg;
	uint64_t now = clock_mono_us();

	source_remove(m->soon);
	m->soon = NULL;
	while (m->at < m->ci->n_targets && !is_wanted(in_work(m)))
		m->at++;
	if (cells_stopped(&m->cells))
		m->status = fail(EXIT_NOT_FUZZED, "stopped");
	if (m->at == m->ci->n_targets || m->status != EXIT_DONE)
		loop_stop(m->cells.replay.exec.loop);
	else if (now >= m->deadline_us)
		measure_give_up(m, "there was no time to measure it");
	else
		measure_one(m, m->deadline_us - now);
}

static void measure_on_stop(void *arg)
{
	struct measuring *m = arg;

	if (m->edges)
		edges_stop(m->edges);
}

/* The one beside the symbolizer, of the same version. */
static char *find_dwarfdump(const char *symbolizer)
{
	static const char name[] = "llvm-symbolizer";
	const char *at = symbolizer ? strstr(symbolizer, name) : NULL;

	return at ? xasprintf("%.*sllvm-dwarfdump%s", (int)(at - symbolizer), symbolizer,
			      at + strlen(name))
		  : NULL;
}

static int measure_run(struct measuring *m)
{
	const struct config *c = m->session.common.config;
	struct err e;

	m->env = (struct merge_env){.exec = m->cells.replay.exec,
				    .state = m->session.state,
				    .quarantine = -1,
				    .triage = -1,
				    .disk_reserve = config_run(c)->disk_reserve};
	if (fs_open_dir(m->session.state->dirfd, "quarantine", &m->env.quarantine, &e) < 0 ||
	    fs_open_dir(m->session.state->dirfd, "triage", &m->env.triage, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	m->dwarfdump = find_dwarfdump(m->cells.replay.symbolizer);
	m->deadline_us = clock_mono_us() + m->ci->time_us / SHARE;
	measure_soon(m);
	return cells_run(&m->cells, measure_on_stop, m);
}

static void measure_close(struct measuring *m)
{
	source_remove(m->soon);
	free(m->dwarfdump);
	if (m->env.quarantine >= 0)
		close(m->env.quarantine);
	if (m->env.triage >= 0)
		close(m->env.triage);
	cells_close(&m->cells);
	session_close(&m->session);
}

static bool any_wanted(const struct ci *a)
{
	for (size_t i = 0; i < a->n_targets; i++)
		if (is_wanted(&a->targets[i]))
			return true;
	return false;
}

int ci_measure(struct ci *a, struct ci_sides *s)
{
	struct measuring m = {.ci = a,
			      .sides = s,
			      .session = {.common = {.config_path = a->session.common.config_path,
						     .state_dir = a->session.common.state_dir}},
			      .cells = {.dirfd = -1},
			      .env = {.quarantine = -1, .triage = -1}};
	int r;

	if (!any_wanted(a))
		return EXIT_DONE;
	r = session_load(&m.session);
	if (r == EXIT_DONE)
		r = session_find(&m.session);
	if (r == EXIT_DONE)
		r = session_open(&m.session);
	if (r == EXIT_DONE)
		r = cells_open(&m.cells, &m.session, "ci");
	if (r == EXIT_DONE)
		r = measure_run(&m);
	measure_close(&m);
	return r == EXIT_DONE ? m.status : r;
}
