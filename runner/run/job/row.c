/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a job: its curves over time, and its row of the run's status. */
#include "base/clock.h"
#include "base/sys.h"
#include "runner/run/job/fuzzing.h"
#include "runner/run/job/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* --- the curves of the job ------------------------------------------------- */

static struct series_of job_series_of(const struct job *j)
{
	return (struct series_of){.target = j->target->name,
				  .run = j->env->dirs->id,
				  .started_real_us = j->env->started_real_us};
}

void job_sample(struct job *j, uint64_t now_us, uint64_t rss, bool end)
{
	struct series_of of = job_series_of(j);
	struct series_point p = {
	    .t_us = now_us > j->env->began_us ? now_us - j->env->began_us : 0,
	    .execs = j->execs_before + job_execs(j),
	    .cov = j->cov,
	    .ft = j->ft,
	    .corpus_units = j->reported.corpus_units,
	    .corpus_bytes = j->reported.corpus_bytes,
	    .rss = rss,
	    .cpu_us = j->before.usage_us + j->now.usage_us,
	};

	series_take(&j->series, j->env->dirs->logs, &of, &p, end);
}

void job_end_series(struct job *j)
{
	struct series_of of = job_series_of(j);

	series_flush(&j->series, j->env->dirs->logs, &of);
}

/* --- the row --------------------------------------------------------------- */

/* A target with less CPU time than a hundredth of its time in cells was not fuzzed.  It is judged
 * after this time in cells. */
#define HARDLY_US (2 * USEC_PER_SEC)

_Static_assert((int)STRATEGIES <= (int)ROW_STRATEGIES, "a row has room for every strategy");
_Static_assert((int)FAILURE_COUNT <= (int)ROW_FAILURES, "a row has room for every kind of failure");

static const char *const *failure_names(void)
{
	static const char *names[FAILURE_COUNT]; /* filled once, then constant */

	if (!names[0])
		for (unsigned i = 0; i < FAILURE_COUNT; i++)
			names[i] = failure_name((enum failure)i);
	return names;
}

static const char *refused_text(struct job *j)
{
	struct buf b = BUF_INIT(2048);

	if (j->n_refused == 0)
		return "";
	for (size_t i = 0; i < j->n_refused; i++)
		buf_printf(&b, "%s%s (%llu)", i ? ", " : "", j->refused[i].name,
			   (unsigned long long)j->refused[i].n);
	free(j->refused_text);
	j->refused_text = b.p;
	return buf_str(&b);
}

static void row_engine(const struct job *j, struct target_row *r)
{
	const struct engine_state *now = j->fuzzing ? &j->fuzzing->engine : NULL;
	uint64_t files = j->seeds.files + j->found.inputs + j->found.skipped;
	uint64_t cpu_ms = r->cpu_us / USEC_PER_MSEC;

	r->execs = j->execs_before + job_execs(j);
	r->exec_per_s = cpu_ms > 0 ? r->execs * 1000 / cpu_ms : 0;
	r->cov = j->cov;
	r->ft = j->ft;
	r->edges_total = j->reported.edges_total;
	/* The library is in the program, or in a file that it loads. */
	r->has_library = j->program.has_library ||
			 (j->program.edges && j->reported.edges_total > j->program.edges);
	r->corpus_units = j->reported.corpus_units;
	/* All inputs are saved now.  The empty input is not a file, hence +1. */
	if (j->phase == PHASE_DONE && r->corpus_units > files + 1)
		r->corpus_units = files + 1;
	r->corpus_bytes = j->reported.corpus_bytes;
	r->dict_own = j->words.has.own;
	r->dict_entries = r->dict_own > 0 ? j->words.has.given : j->reported.dict_entries;
	r->kept = j->kept_before.total + (now ? now->kept : 0);
	r->kept_by_dict = j->kept_before.by_dict + (now ? now->kept_by_dict : 0);
	r->kept_by_cmp = j->kept_before.by_cmp + (now ? now->kept_by_cmp : 0);
	r->input_timeout_us = j->cfg->input_timeout_us;
}

static void row_usage(const struct job *j, struct target_row *r)
{
	const struct cgroup_counters *b = &j->before, *n = &j->now;
	const struct effective *c = &j->fleet->clock;

	r->cpu_us = b->usage_us + n->usage_us;
	r->effective_us = c->clock_us;
	r->starved = c->wall_us > 0 ? (double)c->waited_us / (double)c->wall_us : 0;
	r->pressure_cpu = j->pressure[0];
	r->pressure_memory = j->pressure[1];
	r->pressure_io = j->pressure[2];
	/* Only a living cell has a state. */
	r->pressure_state = effective_state_name(
	    j->phase >= PHASE_FUZZING && j->phase <= PHASE_KILLING ? c->state : EFFECTIVE_OK);
	r->memory_now = n->mem_now;
	r->memory_peak = b->mem_peak > n->mem_peak ? b->mem_peak : n->mem_peak;
	r->memory_limit = j->cfg->memory;
	r->rss_peak = job_claimed_rss(j);
	r->pids_refused = b->pids_refused + n->pids_refused;
	r->oom_kills = b->oom_kills + n->oom_kills;
}

static void row_outlook(const struct job *j, struct target_row *r)
{
	const struct fleet_target *t = j->fleet;

	r->outlook.known = t->known;
	r->outlook.cpu_us = t->curve.build_us;
	r->outlook.rate = rule_rate(&t->rule, &t->curve, t->edges_total);
	r->outlook.price = t->rule.kind == RULE_PRICE ? t->rule.price : 0;
	r->outlook.hour = curve_forecast(&t->curve, 3600);
	r->outlook.discovery = curve_discovery(&t->curve);
	r->outlook.burst_us = t->curve.age_us;
	r->outlook.early = curve_early(&t->curve, 0.1);
	if (job_coverage_dropped(j)) {
		r->cov_before = j->build.before_cov;
		r->edges_before = j->build.before_total;
	}
}

static void row_strategies(const struct job *j, struct target_row *r)
{
	const struct strategies *s = &j->fleet->strategies;

	r->strategy = strategy_name(s->now);
	if (j->fleet->main) /* only its main build can say what it finds */
		return;
	for (enum strategy i = 0; i < STRATEGIES; i++)
		if (s->arms[i].spent_us + s->arms[i].stood > 0)
			r->strategies[r->n_strategies++] = (struct row_strategy){
			    strategy_name(i), s->arms[i].spent_us, s->arms[i].found, false};
	for (const struct fleet_target *p = j->fleet->partners;
	     p && r->n_strategies < ROW_STRATEGIES; p = p->next_partner)
		r->strategies[r->n_strategies++] =
		    (struct row_strategy){p->build, p->curve.build_us, p->curve.cov, true};
}

static void row_findings(struct job *j, struct target_row *r)
{
	for (unsigned i = 0; i < FAILURE_COUNT; i++)
		r->failures[i] = j->failures[i];
	r->failure_names = failure_names();
	r->n_failure_names = FAILURE_COUNT;
	r->failures_total = j->failures_total;
	r->restarts = j->restarts;
	r->new_inputs = j->found.inputs;
	r->new_bytes = j->found.input_bytes;
	r->collect_skipped = j->found.skipped;
	r->seeds = j->seeds.files;
	r->refused = refused_text(j);
	r->log_dropped = j->log.dropped;
	r->line_dropped = j->line_dropped;
	r->artifacts = buf_str(&j->artifacts);
	r->crashes = j->seen;
	r->n_crashes = j->n_seen;
	r->crashes_new = j->crashes.found + j->uncounted_new;
	r->crashes_regressed = j->crashes.regressed + j->uncounted_regressed;
	r->crashes_fixed = j->crashes.fixed;
	r->crashes_unchecked = j->crashes_unchecked;
	r->checks_left = j->checks.left;
	r->checks_cpu_us = j->checks.cpu_us;
	r->checks_since = j->checks.since;
	r->dismissed = j->crashes.dismissed;
	/* A triage that was cut short may still decide them. */
	r->undecided = j->untriaged ? 0 : j->crashes.undecided;
	if (r->undecided > j->crashes.left)
		r->undecided = j->crashes.left;
	r->untriaged = j->crashes.left - r->undecided;
}

static void row_corpus(const struct job *j, struct target_row *r)
{
	const struct merge_result *m = j->merged;

	if (!m || j->merge)
		return;
	r->corpus.verdict = merge_verdict_name(m->verdict);
	r->corpus.why = m->why;
	r->corpus.files_before = m->before.files;
	r->corpus.files = m->after.files;
	r->corpus.bytes_before = m->before.bytes;
	r->corpus.bytes = m->after.bytes;
	r->corpus.edges = m->after.edges;
	r->corpus.features = m->after.features;
	r->corpus.bad = m->bad;
}

/* Users see one kind of waiting. */
static const char *shown_phase(enum phase p)
{
	return phase_name(phase_waits(p) ? PHASE_QUEUED : p);
}

void job_row(struct job *j, uint64_t now_us, struct target_row *ret)
{
	bool done = j->phase == PHASE_DONE;

	*ret = (struct target_row){
	    .name = j->target->name,
	    .state = done ? reason_name(j->reason) : shown_phase(j->phase),
	    .reason = reason_name(j->reason),
	    .done = done,
	    .fuzzed = j->fuzzed,
	    .unfuzzed = done && (!j->fuzzed || reason_counts(j->reason) == REASON_UNFUZZED),
	    .rebuilt = j->rebuilt,
	    .note = j->note,
	    .forged = j->claims.forged ? j->claims.text : "",
	    .wall_us = job_wall_us(j, now_us),
	};
	ret->cells_us = j->cells_us;
	ret->start_us = j->start_us;
	row_usage(j, ret);
	/* The target's output may be forged; the kernel's CPU time is not. */
	if (done && j->cells_us > HARDLY_US && ret->cpu_us < j->cells_us / 100)
		ret->unfuzzed = true;
	ret->given_up = done && !ret->unfuzzed && reason_counts(j->reason) == REASON_GIVEN_UP;
	row_engine(j, ret);
	ret->found = j->found_at_us > 0;
	if (ret->found && now_us > j->found_at_us)
		ret->silent_us = now_us - j->found_at_us;
	row_outlook(j, ret);
	row_strategies(j, ret);
	row_findings(j, ret);
	row_corpus(j, ret);
}
