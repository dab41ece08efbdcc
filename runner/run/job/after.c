/* SPDX-License-Identifier: Apache-2.0 */
/* The work between a job's cells and after the last one: triage, merging, and the next step. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/task.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/run/job/fuzzing.h"
#include "runner/run/job/internal.h"
#include "runner/state/history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Another cell is not worth its start for less time than this. */
#define WORTH_A_CELL_US (1 * USEC_PER_SEC)

/* A slow input takes two timeouts, and two more on an oversubscribed machine. */
enum { SHORT_RUN_TIMEOUTS = 4 };

/* --- triage --------------------------------------------------------------- */

/* Limits a time to the rest of the run. */
static uint64_t until_end(const struct job *j, uint64_t us)
{
	uint64_t now = clock_mono_us(), end = j->env->end_us;

	if (!end)
		return us;
	return end > now && end - now < us ? end - now : end > now ? us : 0;
}

static uint64_t triage_left(const struct job *j)
{
	return until_end(j,
			 j->cfg->triage_us > j->triage_us ? j->cfg->triage_us - j->triage_us : 0);
}

/* The time for a triage that begins now.  It is at most half a turn, because other jobs may wait
 * for the worker. */
static uint64_t triage_now(const struct job *j)
{
	uint64_t left = triage_left(j), most = j->turn_us / 2;

	return most && j->pending == REASON_NONE && most < left ? most : left;
}

bool job_may_minimise(const struct job *j)
{
	return j->unminimised && j->cfg->minimize_us > 0 && triage_left(j) > 0;
}

/* Whether the job must end at once.  Then its artifacts stay in the queue for a later run. */
static bool skips_last_steps(const struct job *j)
{
	return j->intent == INTENT_KILL || j->pending == REASON_STOPPED ||
	       j->pending == REASON_LOST || j->pending == REASON_DISK_LIMIT ||
	       j->pending == REASON_NO_BINARY;
}

/* Whether a program of another build came since the last check. */
static bool check_has_other_build(const struct job *j)
{
	struct file_id is;

	for (size_t i = 0; i < j->target->n_variants; i++)
		if (file_id_look(j->target->variants[i].binary, &is) &&
		    !(j->check_files && file_id_same(&is, &j->check_files[i])))
			return true;
	return false;
}

/* Whether the target's other builds have inputs to run, as far as is known here. */
static bool checks_wait(const struct job *j)
{
	return j->variants && check_is_wanted(j->target, j->variants) && j->fuzzed &&
	       !j->check_idle && until_end(j, WORTH_A_CELL_US) >= WORTH_A_CELL_US &&
	       (j->found.inputs > j->checked_inputs || j->check_waits ||
		check_has_other_build(j)) &&
	       j->env->check_left(j->env->arg) > 0;
}

enum phase_event job_after_last(const struct job *j)
{
	if (skips_last_steps(j))
		return EVENT_FINAL;
	if (j->fuzzed && !j->has_merged && j->cfg->merge_us > 0 && j->target->engine->measure)
		return EVENT_MERGE;
	if ((j->untriaged || j->unminimised || j->unchecked) && triage_left(j) > 0)
		return EVENT_TRIAGE;
	return checks_wait(j) ? EVENT_CHECK : EVENT_FINAL;
}

/* Whether the work after fuzzing must be put off, because the job must pause at once. */
static bool puts_off_last_work(const struct job *j)
{
	return j->pending != REASON_NONE && j->ask == ASK_PAUSE && j->hurries &&
	       job_after_last(j) != EVENT_FINAL;
}

static void after_pause(struct job *j)
{
	if (j->maintains && !j->hurries && job_may_minimise(j))
		job_step(j, EVENT_TRIAGE);
	else if (!j->hurries && checks_wait(j))
		job_step(j, EVENT_CHECK);
	else if (!j->hurries && job_cover_due(j))
		job_step(j, EVENT_COVER);
	else
		job_wait(j);
}

void job_after_next_step(struct job *j)
{
	uint64_t now = clock_mono_us();

	/* The binary has changed since this turn began: the new build gets its own turn soon. */
	if (j->pending == REASON_NONE && job_other_binary(j)) {
		fleet_outdated(j->fleet);
		intent_pause_work(j);
		j->maintains = false;
	}
	if (puts_off_last_work(j)) {
		job_wait(j);
		return;
	}
	if (j->pending == REASON_NONE && j->ask == ASK_PAUSE) {
		after_pause(j);
		return;
	}
	if (j->pending == REASON_NONE && !j->launched) { /* triaged crashes of earlier runs */
		job_step(j, EVENT_READY);
		return;
	}
	if (j->pending == REASON_NONE && j->deadline_at < now + WORTH_A_CELL_US)
		intent_set_reason(j, j->last_failure != FAILURE_NONE ? REASON_CRASHED
								     : REASON_TIME_LIMIT);
	intent_next_cell(j);
	job_step(j, j->pending == REASON_NONE ? EVENT_AGAIN : job_after_last(j));
}

static void job_after_add_sum(struct job *j, const struct triage_sum *s)
{
	j->crashes.found += s->found;
	j->crashes.regressed += s->regressed;
	j->crashes.fixed += s->fixed;
	j->crashes.dismissed += s->dismissed;
	j->crashes.left = j->left_judged = s->left;
	j->crashes.undecided = s->undecided < s->left ? s->undecided : s->left;
	j->check_cut += s->unchecked;
	if (*s->note) {
		joblog_note(&j->log, "triage: %s", s->note);
		if (!*j->note)
			job_set_note(j, "triage: %s", s->note);
	}
}

void job_count_overrun(struct job *j, uint64_t n)
{
	job_count_failures(j, FAILURE_TIMEOUT, n);
}

/* Inputs that earlier runs queued are not failures of this run. */
static void count_overrun(struct job *j, uint64_t n)
{
	if (n > j->suspects)
		n = j->suspects;
	j->suspects -= n;
	job_count_overrun(j, n);
}

static void on_triaged(void *arg, const struct triage_sum *sum)
{
	struct job *j = arg;

	uint64_t used = clock_mono_us() - j->triage_began_us;

	j->triage = NULL;
	/* A long queue must not take the place of fuzzing. */
	if (j->pending == REASON_NONE)
		job_put_off(j, used);
	if (j->ask == ASK_PAUSE || used >= triage_now(j))
		j->untriaged = sum->left > 0; /* the triage was cut short */
	j->unminimised = j->unminimised || sum->found + sum->regressed > sum->minimised;
	j->triage_us += used;
	if (j->minimises) /* minimising that was cut short goes on later, if the job goes on */
		j->unminimised = (j->ask == ASK_PAUSE && j->hurries) ||
				 (j->pending == REASON_NONE && triage_left(j) == 0);
	job_after_add_sum(j, sum);
	count_overrun(j, sum->overran);
	job_after_next_step(j);
}

/* When to kill a replay in work, which may take minutes: the run's end must be kept. */
static uint64_t job_after_cut_at(const struct job *j)
{
	return j->env->end_us ? j->env->end_us + j->cfg->grace_us : 0;
}

static void check_build(struct job *j, struct triage_spec *s)
{
	j->unchecked = false;
	j->check_cut = 0;
	s->stages |= TRIAGE_CHECK;
	s->anew = *j->checked && strcmp(j->checked, j->build.id) != 0;
	memcpy(j->checked, j->build.id, sizeof(j->checked));
}

void job_triage(struct job *j)
{
	char work[4096];
	struct triage_spec s = {
	    .target = j->target,
	    .cfg = j->cfg,
	    .index = j->index,
	    .rebuilt = job_is_rebuilt(j),
	    .stages = TRIAGE_QUEUE,
	    .budget_us = triage_now(j),
	    .until_us = job_after_cut_at(j),
	    .work = work,
	    .done = on_triaged,
	    .arg = j,
	};
	struct err e;

	j->minimises = j->maintains || j->pending != REASON_NONE;
	j->maintains = false;
	if (j->minimises) {
		s.stages |= TRIAGE_MINIMISE;
		s.minimise_old = true;
	}
	if (j->minimises ? j->unchecked : !j->launched)
		check_build(j, &s);
	j->untriaged = false;
	j->triage_began_us = clock_mono_us();
	snprintf(work, sizeof(work), "%s/%s", j->env->dirs->work_path, j->target->name);
	if (triage_start(&j->env->triage_env, &s, &j->triage, &e) < 0) {
		struct triage_sum none = {0};

		snprintf(none.note, sizeof(none.note), "%.199s", e.msg);
		on_triaged(j, &none);
	}
}

/* Whether the run is so short that the first cells come before the triage of waiting artifacts. */
static bool run_is_short(const struct job *j)
{
	uint64_t least = SHORT_RUN_TIMEOUTS * j->cfg->input_timeout_us;

	return until_end(j, least) < least;
}

void job_find_unminimised(struct job *j)
{
	const struct ledger *l = books_ledger(j->env->triage_env.books);

	for (size_t i = 0; j->cfg->minimize_us > 0 && i < ledger_count(l); i++)
		if (ledger_minimize_waits(ledger_at(l, i), j->target->name))
			j->unminimised = true;
}

void job_after_prepare(struct job *j)
{
	bool triages = !j->launched && triage_left(j) > 0;

	if (!j->launched)
		job_find_unminimised(j);

	if (triages && run_is_short(j)) {
		j->untriaged = j->unchecked = true;
		triages = false;
	}
	job_step(j, triages ? EVENT_TRIAGE : EVENT_READY);
}

/* A triage starts when this many known failures were queued since the last triage. */
enum { KNOWN_MOST = 32 };

static bool are_many(const struct job *j)
{
	uint64_t left = j->crashes.left, before = j->left_judged;

	return left >= KNOWN_MOST + (before < left ? before : left) && triage_left(j) > 0;
}

/* Whether the engine starts again at once: its failure is known, and can wait for triage. */
static bool goes_on_at_once(const struct job *j)
{
	return j->knew && j->last_failure != FAILURE_NONE && j->pending == REASON_NONE &&
	       j->ask == ASK_NOTHING && !are_many(j) &&
	       j->deadline_at >= clock_mono_us() + WORTH_A_CELL_US && !job_other_binary(j);
}

/* Gives the job a seat.  A configured seed or number of runs makes each command differ, so that no
 * cell can stay. */
static void take_seat(struct job *j)
{
	if (!j->seat && !j->cfg->seed && !j->cfg->runs)
		j->seat = seat_new();
}

void job_took_seat(struct job *j, uint64_t time_s)
{
	j->seat_time_s = time_s;
}

static void on_left_seat(void *arg)
{
	struct job *j = arg;

	j->seat = NULL;
	j->seat_time_s = 0;
	j->leaves_seat = false;
	job_end_wait(j);
	job_after_collect(j);
}

void job_leave_seat(struct job *j)
{
	j->leaves_seat = true;
	job_collect_later(j); /* calls this again each second until the seat is closed */
	seat_close(j->seat, on_left_seat, j);
}

void job_after_collect(struct job *j)
{
	job_forget_fuzzing(j);
	if (goes_on_at_once(j)) {
		take_seat(j);
		job_step(j, EVENT_AGAIN);
		return;
	}
	if (j->seat) { /* no cell stays during other work */
		job_leave_seat(j);
		return;
	}
	/* Triage comes between two cells, so that the next cell suppresses a new known leak. */
	if (j->untriaged && !skips_last_steps(j) && triage_left(j) > 0 &&
	    !(j->ask == ASK_PAUSE && j->hurries))
		job_step(j, EVENT_TRIAGE);
	else
		job_after_next_step(j);
}

void job_after_launch(struct job *j)
{
	j->has_merged = false;
	j->check_idle = false;
}

void job_after_new_day(struct job *j)
{
	j->triage_us = 0;
	job_find_unminimised(j);
}

void job_queued_artifacts(struct job *j, uint64_t suspects)
{
	j->suspects += suspects;
	j->untriaged = true;
	j->crashes.left = state_waiting(j->env->state, j->target->name);
}

/* --- maintenance ---------------------------------------------------------------- */

static bool is_unmerged(const struct job *j)
{
	return j->fuzzed && !j->has_merged && j->found.inputs > j->merged_inputs &&
	       j->cfg->merge_us > 0 && j->target->engine->measure;
}

bool job_needs_maintenance(const struct job *j)
{
	return phase_waits(j->phase) && j->pending == REASON_NONE &&
	       (is_unmerged(j) || job_may_minimise(j));
}

void job_maintain(struct job *j)
{
	job_work_begins(j);
	j->maintained_at_us = j->began_us;
	intent_maintain(j);
	j->maintains = true;
	job_step(j, is_unmerged(j) ? EVENT_MERGE : EVENT_TRIAGE);
}

void job_maintained(struct job *j)
{
	j->maintains = false;
}

/* --- the corpus ----------------------------------------------------------- */

static int write_history(void *arg, struct buf *out, struct err *e)
{
	const struct job *j = arg;
	struct merge_line line = {
	    .run = j->env->dirs->id,
	    .target = j->target->name,
	    .commit = job_is_rebuilt(j) ? NULL : j->env->triage_env.commit,
	    .real_us = clock_real_us(),
	};
	json_t *text;
	int r = merge_history_line(&line, j->merged, &text, e);

	(void)out;
	return r < 0 ? r
		     : state_append_history(j->env->state, NULL, "corpus_history.jsonl", text, e);
}

static void on_history(void *arg, struct slice result, const char *failed)
{
	struct job *j = arg;

	(void)result;
	if (failed)
		job_set_note(j, "%s", failed);
	job_after_next_step(j);
}

static void on_merged(void *arg, const struct merge_result *r)
{
	struct job *j = arg;
	struct task *t;
	struct err e;

	j->merge = NULL;
	if (!j->merged)
		j->merged = xcalloc(1, sizeof(*j->merged));
	*j->merged = *r;
	j->untriaged = j->untriaged || r->bad > 0;
	if (r->new_inputs > 0)
		job_cover_gained(j);
	j->env->give_back(j->env->arg, j, j->lent);
	j->lent = 0;
	joblog_note(&j->log, "corpus: %s%s%s", merge_verdict_name(r->verdict), *r->why ? ": " : "",
		    r->why);
	if (task_start(j->env->loop, write_history, j, on_history, j, &t, &e) < 0)
		on_history(j, SLICE(""), e.msg);
}

void job_merge(struct job *j)
{
	char seeds[4096];
	struct merge_spec s = {
	    .target = j->target,
	    .cfg = j->cfg,
	    .index = j->env->merge_index + j->index * JOB_MERGE_CELLS,
	    .budget_us = until_end(j, j->cfg->merge_us),
	    .what = MERGE_REPLACE,
	    /* The main build's corpus is a partner's seeds, but no part of its corpus. */
	    .seeds = j->fleet->main ? NULL : seeds,
	    .done = on_merged,
	    .arg = j,
	};
	struct err e;

	j->has_merged = true;
	j->merges++;
	j->merged_inputs = j->found.inputs;
	j->maintained_at_us = clock_mono_us();
	if (s.budget_us < WORTH_A_CELL_US) {
		struct merge_result late = {.verdict = MERGE_LATE,
					    .why = "no time was left for the merge"};

		on_merged(j, &late);
		return;
	}
	j->lent = j->env->borrow(j->env->arg, j, JOB_MERGE_CELLS - 1);
	s.workers = 1 + j->lent;
	snprintf(seeds, sizeof(seeds), "%s/%s/seeds", j->env->dirs->work_path, j->target->name);
	if (merge_start(&j->env->merge_env, &s, &j->merge, &e) < 0) {
		struct merge_result none = {.verdict = MERGE_FAILED};

		snprintf(none.why, sizeof(none.why), "%.199s", e.msg);
		on_merged(j, &none);
	}
}

/* --- other builds --------------------------------------------------------- */

static void on_checked(void *arg, const struct check_sum *sum)
{
	struct job *j = arg;

	j->check = NULL;
	j->check_idle = sum->ran == 0 || sum->beyond;
	j->check_waits = sum->incomplete || sum->left > 0;
	if (j->pending == REASON_NONE)
		job_put_off(j, clock_mono_us() - j->check_began_us);
	j->env->check_ended(j->env->arg, j->check_budget_us, sum->cpu_us);
	j->check_budget_us = 0;
	j->triage_us += sum->triage_us;
	j->checks.ran += sum->ran;
	j->checks.failed += sum->failed;
	j->checks.cpu_us += sum->cpu_us;
	j->checks.left = sum->left;
	j->checks.since = sum->left > 0 ? sum->behind_since : 0;
	j->crashes.found += sum->triage.found;
	j->crashes.regressed += sum->triage.regressed;
	j->crashes.fixed += sum->triage.fixed;
	j->check_cut += sum->triage.unchecked;
	if (sum->ran > 0 || *sum->triage.note)
		joblog_note(
		    &j->log, "checked %llu inputs in other builds: %llu failed, %llu wait%s%s",
		    (unsigned long long)sum->ran, (unsigned long long)sum->failed,
		    (unsigned long long)sum->left, *sum->triage.note ? ": " : "", sum->triage.note);
	if (*sum->triage.note && !*j->note)
		job_set_note(j, "%s", sum->triage.note);
	job_after_next_step(j);
}

/* Notes the programs that this check uses, for check_has_other_build(). */
static void look_at_variants(struct job *j)
{
	if (!j->check_files)
		j->check_files = xcalloc(j->target->n_variants, sizeof(*j->check_files));
	for (size_t i = 0; i < j->target->n_variants; i++)
		if (!file_id_look(j->target->variants[i].binary, &j->check_files[i]))
			j->check_files[i] = (struct file_id){0};
}

void job_check(struct job *j)
{
	uint64_t most = j->turn_us && j->pending == REASON_NONE ? j->turn_us / 2 : UINT64_MAX;
	char work[4096];
	struct check_spec s = {
	    .target = j->target,
	    .cfgs = j->variants,
	    .main_cfg = j->cfg,
	    .index = j->index,
	    .triage_us = triage_now(j),
	    .ends_us = j->env->end_us,
	    .until_us = job_after_cut_at(j),
	    .run_began_us = j->env->started_real_us,
	    .finds_fixes = check_has_other_build(j),
	    .minimises = j->pending != REASON_NONE,
	    .work = work,
	    .done = on_checked,
	    .arg = j,
	};
	struct err e;

	look_at_variants(j);
	j->checked_inputs = j->found.inputs;
	j->check_began_us = clock_mono_us();
	j->check_budget_us = s.budget_us = j->env->check_begin(j->env->arg, most);
	snprintf(work, sizeof(work), "%s/%s", j->env->dirs->work_path, j->target->name);
	if (check_start(&j->env->triage_env, &s, &j->check, &e) < 0) {
		struct check_sum none = {.incomplete = true};

		snprintf(none.triage.note, sizeof(none.triage.note), "%.199s", e.msg);
		on_checked(j, &none);
	}
}

/* --- the report of the job's crashes --------------------------------------- */

enum { LISTED_MAX = 20 };

static uint64_t count_in_run(const struct known_crash *c, const char *run)
{
	for (size_t i = c->n_runs; i-- > 0;)
		if (strcmp(c->runs[i].run, run) == 0)
			return c->runs[i].count;
	return 0;
}

/* Describes the crash in one printable line. */
static void print_what(const struct known_crash *c, bool waits, char *out, size_t size)
{
	char found[64] = "";

	if (waits)
		snprintf(found, sizeof(found), "; found in run %.24s, which was killed",
			 c->uncounted);
	snprintf(out, size - strlen(found), "%s%s%s", c->crash_type, *c->top_frame ? " in " : "",
		 c->top_frame);
	memcpy(out + strlen(out), found, strlen(found) + 1);
	for (char *p = out; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
}

/* uncounted: no exit status has counted this crash yet, because the run that found it was killed.
 */
static void job_after_list_crash(struct job *j, const struct known_crash *c, uint64_t count,
				 bool uncounted)
{
	struct row_crash r = {.count = count ? count : c->count,
			      .hits = c->reproduction.hits,
			      .tries = c->reproduction.tries,
			      .security = c->security};
	size_t at = j->n_seen;

	if (!j->seen)
		j->seen = xcalloc(LISTED_MAX + 1, sizeof(*j->seen));
	snprintf(r.signature, sizeof(r.signature), "%s", c->signature);
	snprintf(r.state, sizeof(r.state), "%s", ledger_state_name(c->state));
	print_what(c, uncounted, r.what, sizeof(r.what));
	while (at > 0 && j->seen[at - 1].count < count)
		at--;
	if (at == LISTED_MAX)
		return;
	if (j->n_seen == LISTED_MAX)
		j->n_seen--;
	memmove(j->seen + at + 1, j->seen + at, (j->n_seen - at) * sizeof(r));
	j->seen[at] = r;
	j->n_seen++;
}

/* The number of undecided timeouts, from the history of the last run with a turn of the target. */
static uint64_t undecided_before(const struct job *j)
{
	_autofree_ char *name = NULL;
	_autojson_ json_t *lines = NULL;
	uint64_t damaged;
	struct err e;

	if (history_target_name(j->target->name, &name, &e) < 0 ||
	    history_last(j->env->state, name, 1, &lines, &damaged, &e) < 0)
		return 0;
	return json_get_u64(json_array_get(lines, 0), "timeouts_undecided");
}

/* Counts open crashes with inputs that were not seen in this run or on its commit. */
static uint64_t count_unchecked(const struct job *j)
{
	const struct triage_env *env = &j->env->triage_env;
	const struct ledger *l = books_ledger(env->books);
	const char *commit = job_is_rebuilt(j) ? NULL : env->commit;
	uint64_t n = 0;

	for (size_t i = 0; i < ledger_count(l); i++) {
		const struct known_crash *c = ledger_at(l, i);
		const struct known_crash *own = ledger_entry(c, j->target->name);
		struct ledger_asked a;
		size_t at = 0;

		n += own && !*c->merged_into && ledger_state_open(own->state) &&
		     strcmp(own->last_seen.run, env->run) != 0 &&
		     !(commit && strcmp(own->last_seen.commit, commit) == 0) &&
		     ledger_next_asked(l, c, j->target->name, &at, &a);
	}
	return n;
}

void job_forget_crashes(struct job *j)
{
	free(j->seen);
	j->seen = NULL;
	j->n_seen = 0;
}

/* The crash's entry of the i-th build: of the main build, then of the check variants.  NULL: there
 * is none. */
static const struct known_crash *job_after_entry_of(const struct job *j,
						    const struct known_crash *c, size_t i)
{
	const struct target *build = i == 0 ? j->target : &j->target->variants[i - 1];

	return i > 0 && build->role != ROLE_CHECK ? NULL : ledger_entry(c, build->name);
}

/* Lists a crash once, whichever of the target's builds failed. */
static void job_after_list_of_builds(struct job *j, const struct known_crash *c)
{
	const char *run = j->env->triage_env.run;
	const struct known_crash *first = NULL;
	bool waits = false;
	uint64_t n = 0;

	for (size_t i = 0; i <= j->target->n_variants; i++) {
		const struct known_crash *own = job_after_entry_of(j, c, i);
		uint64_t in_run = own ? count_in_run(own, run) : 0;
		bool own_waits = own && ledger_waits_for(own, run);

		j->uncounted_regressed += own_waits && own->state == LEDGER_REGRESSED;
		j->uncounted_new += own_waits && own->state != LEDGER_REGRESSED;
		first = !first && (in_run > 0 || own_waits) ? own : first;
		waits |= own_waits;
		n += in_run;
	}
	if (first)
		job_after_list_crash(j, first, n, waits);
}

void job_list_crashes(struct job *j)
{
	const struct ledger *l = books_ledger(j->env->triage_env.books);

	/* A cell or the merge may have queued more inputs since the last triage. */
	j->crashes.left = state_waiting(j->env->state, j->target->name);
	if (j->crashes.left > 0 && j->triage_us == 0) /* no triage in this run */
		j->crashes.undecided = undecided_before(j);
	j->crashes_unchecked = j->unchecked ? count_unchecked(j) : j->check_cut;
	j->uncounted_new = j->uncounted_regressed = 0;
	for (size_t i = 0; i < ledger_count(l); i++)
		if (!*ledger_at(l, i)->merged_into)
			job_after_list_of_builds(j, ledger_at(l, i));
	for (size_t i = 0; i < j->target->n_variants; i++)
		if (j->target->variants[i].role == ROLE_CHECK)
			j->crashes.left +=
			    state_waiting(j->env->state, j->target->variants[i].name);
	if (j->reason == REASON_CRASH_LOOP && j->n_seen > 0)
		job_set_note(j, "most often %s: %s", j->seen[0].signature, j->seen[0].what);
}
