/* SPDX-License-Identifier: Apache-2.0 */
/* Handles the events of a job's cell: output, limits, and its end.  job_tick() decides each second
 * whether an input must end it: memory mark, refused fork or system call, stuck. */
#include "base/clock.h"
#include "base/memory.h"
#include "runner/corpus/workdir.h"
#include "runner/run/job/fuzzing.h"
#include "runner/run/job/internal.h"
#include "runner/run/job/suppress.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On the unified layout a cell above its memory mark is throttled to almost nothing.  The engine's
 * own watchdog checks once a second.  After this time fuzzcell forces the input out. */
#define OVER_MARK_US	  (2500 * USEC_PER_MSEC)
#define OVER_MARK_STALLED 0.5
/* The engine reports an input that takes too long.  A cell that is idle for twice that time, and at
 * least this long, has escaped the engine's check. */
#define STUCK_US (10 * USEC_PER_SEC)
/* If fuzzing begins within this time of the launch, no input of the corpus is slow. */
#define QUICKLY_US (1 * USEC_PER_SEC)
enum { SHORTAGES_MAX = 20 };
/* A share of a shorter interval is meaningless. */
#define PRESSURE_US (500 * USEC_PER_MSEC)

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void job_cell_begin(struct job *j)
{
	j->now = (struct cgroup_counters){0};
	j->reported.dict_entries = 0;
	j->over_mark_since = 0;
	j->last_failure = FAILURE_NONE;
	if (j->unproven) /* the earlier build has fuzzed, which does not prove that this one can */
		j->fuzzed = false;
}

void job_cell_other_build(struct job *j)
{
	j->starts_quickly = false;
	j->unsuppressed.n = 0;
	j->cov = j->ft = 0;
	memset(&j->reported, 0, sizeof(j->reported));
	job_starts_anew(j);
	job_forgive(j);
}

void job_starts_anew(struct job *j)
{
	j->stillborn = j->taken = 0;
}

void job_forgive(struct job *j)
{
	j->forgiven = j->failures_total;
}

void job_count_taken(struct job *j)
{
	j->taken += j->stillborn > 0;
}

void job_count_failures(struct job *j, enum failure what, uint64_t n)
{
	j->failures[what] += n;
	j->failures_total += (uint32_t)n;
}

void job_count_survived(struct job *j, enum failure what)
{
	job_count_failures(j, what, 1);
	j->forgiven++;
}

void job_reached(struct job *j, const struct engine_state *s)
{
	if (s->cov <= j->cov && s->ft <= j->ft)
		return;
	j->cov = s->cov > j->cov ? s->cov : j->cov;
	j->ft = s->ft > j->ft ? s->ft : j->ft;
	if (s->running)
		j->found_at_us = clock_mono_us();
}

static void job_cell_give_stats(struct job *j)
{
	const struct engine_state *s = &j->fuzzing->engine;
	struct fleet_news n = {
	    .fuzzes = s->running,
	    .cov = s->cov,
	    .edges_total = s->edges_total,
	    .lim = s->lim,
	    .max_len = j->fuzzing->max_len ? j->fuzzing->max_len : s->max_len,
	    .runs = job_execs(j),
	};

	(void)fleet_take_stats(j->fleet, &n);
}

static void job_cell_note_reported(struct job *j)
{
	const struct engine_state *s = &j->fuzzing->engine;

	if (s->edges_total)
		j->reported.edges_total = s->edges_total;
	if (s->corpus_units) {
		j->reported.corpus_units = s->corpus_units;
		j->reported.corpus_bytes = s->corpus_bytes;
	}
	if (s->dict_entries)
		j->reported.dict_entries = s->dict_entries;
}

static void job_cell_seeded(struct job *j, uint64_t cov)
{
	uint64_t before = j->fleet->curve.cov;

	if (j->fuzzing->has_others && j->fleet->known && cov > before)
		job_others_help(j);
	if (fleet_seeded(j->fleet, cov))
		joblog_note(&j->log, "inputs of other builds reach %llu new edges",
			    (unsigned long long)(cov - before));
	if (j->fleet->partners && !j->fleet->put_off)
		job_has_read_partners(j);
}

/* A line of the engine's output, or of its file of statistics. */
static void job_cell_take_line(struct job *j, struct slice line)
{
	const struct engine_state *s = &j->fuzzing->engine;
	bool ran = s->running;
	uint64_t before = s->status_lines;

	job_claims_line(j, line);
	if (s->status_lines != before) {
		j->fuzzing->stats_at_us = clock_mono_us();
		j->fuzzing->stats_cpu_us = 0; /* at the next reading */
	}
	if (s->running)
		j->fuzzed = true;
	if (s->running && !ran)
		job_cell_seeded(j, s->cov);
	job_reached(j, s);
	j->rss_mib = max_u64(j->rss_mib, s->rss_mib);
	job_cell_note_reported(j);
	job_cell_give_stats(j);
}

static void job_cell_on_line(void *arg, struct slice line)
{
	struct job *j = arg;

	job_words_line(j, line);
	job_cell_take_line(j, line);
	kept_line(&j->fuzzing->kept, line, j->fuzzing->engine.fault != ENGINE_FAULT_NONE);
}

enum { STATS_MAX = 8192 };

/* Reads the engine's file of statistics, if it changed.  The cell can write the file. */
static void job_cell_read_stats(struct job *j)
{
	const char *name = j->target->engine->stats_file;
	struct fuzzing *a = j->fuzzing;
	char path[PATH_MAX], text[STATS_MAX];
	struct slice in, line;

	if (!name)
		return;
	(void)snprintf(path, sizeof(path), "%s/artifacts/%s", j->target->name, name);
	in = (struct slice){text,
			    workdir_read(j->env->dirs->work, path, &a->stats, sizeof(text), text)};
	while (scan_line(&in, &line))
		job_cell_take_line(j, line);
}

/* The input that restarted the engine was lost with the first process.  A dump would save an
 * unrelated input. */
static void end_restarted(struct job *j)
{
	if (j->phase != PHASE_FUZZING && j->phase != PHASE_STOPPING)
		return;
	if (j->phase == PHASE_FUZZING)
		intent_save_input(j, ASK_RESTART);
	j->fuzzing->restarted = true;
	job_step(j, EVENT_KILL);
}

static void job_cell_on_output(void *arg, struct slice bytes)
{
	struct job *j = arg;
	struct fuzzing *a = j->fuzzing;
	size_t room = sizeof(a->head) - a->n_head;

	if (room > bytes.n)
		room = bytes.n;
	if (!j->start_us)
		j->start_us = clock_mono_us() - a->launched_us;
	memcpy(a->head + a->n_head, bytes.p, room);
	a->n_head += room;
	joblog_write(&j->log, bytes);
	lines_feed(&a->lines, bytes, job_cell_on_line, j);
	if (!a->ran && a->engine.running) {
		a->ran = true;
		j->starts_quickly = clock_mono_us() - a->launched_us <= QUICKLY_US;
	}
	if (j->fuzzing->engine.restarted)
		end_restarted(j);
}

enum ask job_asked(const struct job *j)
{
	if (j->fuzzing && j->fuzzing->at_mark)
		return ASK_MEMORY;
	return j->fuzzing && j->fuzzing->restarted ? ASK_RESTART : j->ask;
}

/* The input in work is the finding: forces it out, unless the cell is ending anyway. */
static void save_input(struct job *j, enum ask why)
{
	if (j->phase != PHASE_FUZZING)
		return;
	intent_save_input(j, why);
	job_step(j, EVENT_STOP_NOW);
}

/* The call's place in the table of refused calls.  When the table is full, other names share the
 * last place. */
static struct job_refused *job_cell_place_of(struct job *j, const char *name)
{
	const size_t size = sizeof(j->refused[0].name);
	size_t i = 0;

	if (!j->refused)
		j->refused = xcalloc(JOB_REFUSED_MAX, sizeof(*j->refused));
	while (i < j->n_refused && strncmp(j->refused[i].name, name, size - 1) != 0)
		i++;
	if (i < j->n_refused)
		return &j->refused[i];
	if (i == JOB_REFUSED_MAX)
		return &j->refused[i - 1];
	if (i == JOB_REFUSED_MAX - 1)
		name = "others";
	snprintf(j->refused[i].name, size, "%s", name);
	j->n_refused++;
	joblog_note(&j->log, "refused system call: %s", name);
	return &j->refused[i];
}

/* A refused call is a finding once per run and name: the first input that makes it is saved.  A
 * call before fuzzing began may belong to the target's start, so no input is saved for it.  The
 * first input that repeats the call is the finding. */
static void job_cell_on_refused(void *arg, const char *name)
{
	struct job *j = arg;
	struct job_refused *r = job_cell_place_of(j, name);

	r->n++;
	/* An engine that goes on has the call in none of its inputs. */
	if (!j->fuzzing->engine.running || r->saved || j->phase != PHASE_FUZZING ||
	    j->target->engine->goes_on)
		return;
	r->saved = true;
	snprintf(j->fuzzing->refused, sizeof(j->fuzzing->refused), "%.31s", name);
	save_input(j, ASK_SYSCALL);
}

static void job_cell_on_memory(void *arg, bool halted)
{
	struct job *j = arg;
	struct err e;

	if (!halted) {
		if (!j->over_mark_since)
			j->over_mark_since = clock_mono_us();
		return;
	}
	joblog_note(&j->log, "halted at the memory mark of %llu bytes",
		    (unsigned long long)j->cfg->memory_high);
	if (j->phase == PHASE_FUZZING) {
		save_input(j, ASK_MEMORY);
	} else if (j->phase == PHASE_STOPPING) { /* the input must be saved here, too */
		j->fuzzing->at_mark = true;
		job_step(j, EVENT_STOP_NOW);
	} else { /* a stopping cell must be able to run */
		(void)!cell_memory_open(j->fuzzing->cell, CELL_EVERY_THREAD, 0, &e);
	}
}

static void add_counters(struct job *j, const struct cgroup_counters *c)
{
	struct cgroup_counters *s = &j->before;

	s->usage_us += c->usage_us;
	s->user_us += c->user_us;
	s->system_us += c->system_us;
	s->throttled_us += c->throttled_us;
	s->mem_peak = max_u64(s->mem_peak, c->mem_peak);
	s->mem_high_events += c->mem_high_events;
	s->oom_kills += c->oom_kills;
	s->pids_refused += c->pids_refused;
	j->now = (struct cgroup_counters){0};
}

/* The value of the last flag of that name; NULL: there is none. */
static const char *flag_value(const struct strv *flags, const char *start)
{
	for (size_t i = flags->n; i-- > 0;)
		if (strncmp(flags->v[i], start, strlen(start)) == 0)
			return flags->v[i] + strlen(start);
	return NULL;
}

/* Whether the engine may end by itself: only after as many inputs as the job allows. */
static bool has_had_its_runs(const struct job *j)
{
	const char *flag = flag_value(&j->cfg->flags, "-runs=");
	uint64_t runs = 0;

	if (!flag)
		flag = flag_value(&j->target->flags, "-runs=");
	if (flag) { /* -1 is no limit, and 0 inputs is no fuzzing */
		struct slice in = slice_of(flag);

		return scan_u64(&in, 10, UINT64_MAX, &runs) && runs > 0 &&
		       j->fuzzing->execs >= runs;
	}
	return j->cfg->runs > 0 && j->execs_before - j->runs_from >= j->cfg->runs;
}

static struct cell_facts facts_of(const struct job *j, const struct cell_end *end)
{
	const struct engine_state *s = &j->fuzzing->engine;
	struct cell_facts f = {
	    .started = end->how != CELL_NOT_STARTED,
	    .code = end->how == CELL_EXITED ? end->code : 0,
	    .signo = end->how == CELL_SIGNALED ? end->code : 0,
	    .ask = job_asked(j),
	    .forced = j->fuzzing->forced,
	    .fault_before = j->fuzzing->fault_before,
	    .reported =
		s->fault != ENGINE_FAULT_NONE && s->fault != ENGINE_FAULT_ENGINE && *s->artifact,
	    .oom_kills = end->last.oom_kills,
	    .pids_refused = end->last.pids_refused,
	    .fault = s->fault,
	    .fuzzed = s->running,
	};

	f.end = j->target->engine->classify(s, f.code, f.signo);
	/* The kernel's kills and refusals hit the target, and the engine went on. */
	if (j->target->engine->goes_on && f.end == ENGINE_FINISHED && f.ask != ASK_PIDS)
		f.oom_kills = f.pids_refused = 0;
	/* The cell was not asked to end: output that makes it look finished is forged. */
	if (f.end == ENGINE_FINISHED && f.ask == ASK_NOTHING && !has_had_its_runs(j))
		f.end = ENGINE_UNKNOWN;
	return f;
}

/* Sets the note to the first output of a target that did not start, as one printable line. */
static void note_head(struct job *j, const char *what)
{
	char text[160];
	size_t n = 0;

	for (size_t i = 0; i < j->fuzzing->n_head && n + 1 < sizeof(text); i++) {
		char c = j->fuzzing->head[i];

		if (c >= 0x20 && c < 0x7f)
			text[n++] = c;
		else if (n > 0 && text[n - 1] != ' ')
			text[n++] = ' ';
	}
	text[n] = '\0';
	job_set_note(j, "%s%s%s", what, n ? ": " : " without any output", text);
}

/* The reason for our forced dump: the engine reports only the signal. */
static const char *asked_for(enum ask ask)
{
	switch (ask) {
	case ASK_MEMORY:
		return "passed the memory mark below its limit";
	case ASK_PIDS:
		return "a fork or thread was refused";
	case ASK_SYSCALL:
		return "made a system call that a cell may not make";
	case ASK_STUCK:
		return "did nothing for longer than an input may take";
	case ASK_RESTART:
		return "executed itself: its engine started again";
	case ASK_NOTHING:
	case ASK_FINISH:
	case ASK_PAUSE:
		break;
	}
	return NULL;
}

/* The cell ended although no stop was requested. */
static void explain_unasked(struct job *j, const struct cell_facts *f)
{
	int code = f->signo ? f->signo : f->code;
	char what[64];

	if (!f->fuzzed && f->fault == ENGINE_FAULT_NONE) {
		snprintf(what, sizeof(what), f->signo ? "died of signal %d" : "exited with %d",
			 code);
		note_head(j, what);
	} else if (f->end == ENGINE_INTERRUPTED)
		job_set_note(j, "ended as if by a stop signal, which fuzzcell did not send");
	else if (f->end == ENGINE_UNKNOWN || f->end == ENGINE_KILLED)
		job_set_note(j,
			     f->signo ? "died of signal %d without a report"
				      : "exited with %d without a report",
			     code);
	else if (f->end == ENGINE_FAULTED || f->end == ENGINE_STARTUP_FAILED)
		job_set_note(j, "%s", j->fuzzing->engine.fault_text);
}

static void explain(struct job *j, const struct cell_facts *f, const struct cell_end *end)
{
	if (!f->started)
		job_set_note(j, "%s", end->why);
	else if (f->oom_kills > 0)
		job_set_note(j, "killed by the kernel at its memory limit; the input may be lost");
	else if (asked_for(f->ask))
		job_set_note(j, "%s%s%s", asked_for(f->ask), *j->fuzzing->refused ? ": " : "",
			     j->fuzzing->refused);
	else if (f->ask == ASK_NOTHING)
		explain_unasked(j, f);
	else if (f->forced && f->ask == ASK_FINISH && j->fuzzing->asked)
		job_set_note(j, "did not stop when asked: %s",
			     j->fuzzing->dump_sent ? "forced" : "killed");
	else if (f->end == ENGINE_FAULTED && !(f->forced && f->ask == ASK_PAUSE))
		job_set_note(j, "%s", j->fuzzing->engine.fault_text);
}

/* Whether the cell's time ended while this process was suspended.  Then a kill by the keeper, or by
 * the limit of CPU time, is no failure. */
static bool job_cell_is_overdue(const struct job *j, const struct cell_end *end)
{
	const struct fuzzing *a = j->fuzzing;
	/* Our own timer may fire before we see the end of a cell that died long ago. */
	bool unasked = j->ask == ASK_NOTHING || (j->ask == ASK_FINISH && !a->forced);
	bool killed = end->how == CELL_SIGNALED && end->code == SIGKILL;
	bool late = a->until_us && clock_mono_us() > a->until_us;

	if (end->how == CELL_EXITED || end->last.oom_kills > 0)
		return false;
	return unasked && (end->overdue || (killed && late));
}

static void judge_overdue(struct job *j)
{
	j->last_failure = FAILURE_NONE;
	intent_overdue(j, job_ends_with_run(j) ? REASON_RUN_DEADLINE : REASON_TIME_LIMIT);
	job_set_note(
	    j,
	    "fuzzcell was suspended for %llu s, and the target's cell was killed at its deadline",
	    (unsigned long long)(j->fuzzing->absent_us / USEC_PER_SEC));
	job_count_health(j, FAILURE_NONE);
}

/* Whether crun failed because a resource of ours is short.  At the cell's own limits, or after
 * SHORTAGES_MAX in a row, it is the target's failure. */
static bool is_shortage(struct job *j, const struct cell_end *end)
{
	if (end->how != CELL_NOT_STARTED) {
		j->shortages = 0;
		return false;
	}
	return end->last.pids_refused == 0 && end->last.oom_kills == 0 &&
	       /* crun writes to our runtime directory only */
	       (job_text_is_shortage(end->why) || strstr(end->why, strerrordesc_np(ENOSPC)) ||
		/* crun does not say that the disk of its state is full. */
		strstr(end->why, "cannot create state directory")) &&
	       ++j->shortages <= SHORTAGES_MAX;
}

static void know_failure(struct job *j)
{
	bool crashed = j->last_failure == FAILURE_CRASH || j->last_failure == FAILURE_LEAK;
	const struct known_crash *own = job_known_failure(j, &j->named_is_new);

	j->knew = own && crashed;
	if (j->knew && j->fuzzing->has_undefined && suppress_goes_on(own))
		suppress_not_add(&j->unsuppressed, own->signature);
}

/* Whether inputs of other targets ended the cell while it read them. */
static bool job_cell_read_others(const struct job *j, const struct cell_facts *f)
{
	return j->fuzzing->has_others && f->started && !f->fuzzed && j->ask != ASK_FINISH &&
	       j->ask != ASK_PAUSE;
}

/* That is a finding, but no reason to give the target up.  Without an artifact the input is still
 * there, and would end the next cell, too. */
static void judge_others(struct job *j, const struct cell_facts *f, enum failure what,
			 const struct cell_end *end)
{
	char why[sizeof(j->note)];

	if (what != FAILURE_NONE) {
		job_count_failures(j, what, 1);
		j->forgiven++;
	}
	explain(j, f, end);
	snprintf(why, sizeof(why), "%s", j->note);
	job_set_note(j, "with inputs of other targets: %s", why);
	fleet_strategy_failed(j->fleet, !*j->fuzzing->engine.artifact);
}

/* Whether an input that the job may have from another build ended the cell while it read seeds: it
 * is left out from now on, and is no reason to give the target up. */
static bool job_cell_read_borrowed(const struct job *j, const struct cell_facts *f,
				   enum failure what)
{
	return what != FAILURE_NONE && f->started && !f->fuzzed && *j->fuzzing->engine.artifact &&
	       !j->puts_off && job_lender(j, 0);
}

void job_judge(struct job *j, const struct cell_end *end)
{
	struct cell_facts f = facts_of(j, end);
	enum failure what = failure_of(&f);
	struct loop_guard g = {.failures_max = j->cfg->max_crashes, .fuzzed = j->fuzzed};

	j->knew = j->named_is_new = false;
	if (f.fuzzed)
		job_starts_anew(j);
	if (job_cell_is_overdue(j, end)) {
		judge_overdue(j);
		return;
	}
	if (is_shortage(j, end)) {
		j->last_failure = FAILURE_NONE;
		job_meet_shortage(j, end->why);
		return;
	}
	j->last_failure = what;
	if (what != FAILURE_NONE)
		know_failure(j);
	job_note_lost(j, &f, what);
	if (job_cell_read_others(j, &f)) {
		judge_others(j, &f, what, end);
		return;
	}
	if (what != FAILURE_NONE)
		job_count_failures(j, what, 1);
	if (job_cell_read_borrowed(j, &f, what)) {
		job_borrowed_failed(j);
		j->forgiven++;
	} else {
		job_count_health(j, what);
		j->stillborn += what != FAILURE_NONE && !f.fuzzed;
	}
	g.failures = j->failures_total - j->forgiven;
	g.stillborn = j->stillborn;
	g.taken = j->taken;
	explain(j, &f, end);
	if (f.end == ENGINE_NOT_INSTRUMENTED && j->ask == ASK_FINISH)
		intent_blind(j);
	if (j->ask == ASK_FINISH || (j->ask == ASK_PAUSE && what == FAILURE_NONE))
		return; /* pending has the reason; without a reason the job waits in the queue */
	intent_set_reason(j, reason_after(&f, what, &g));
}

static double job_cell_share(uint64_t now, uint64_t before, uint64_t wall)
{
	return wall > 0 && now > before ? (double)(now - before) / (double)wall : 0;
}

static void job_cell_mark(struct job *j)
{
	const struct effective *c = &j->fleet->clock;

	if (c->wall_us - j->marks[0].wall_us < j->cfg->input_timeout_us)
		return;
	j->marks[1] = j->marks[0];
	j->marks[0].wall_us = c->wall_us;
	j->marks[0].waited_us = c->waited_us;
}

double job_waited_lately(const struct job *j)
{
	const struct effective *c = &j->fleet->clock;

	return job_cell_share(c->waited_us, j->marks[1].waited_us,
			      c->wall_us - j->marks[1].wall_us);
}

static uint64_t job_cell_grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void job_cell_read_pressure(struct job *j, const struct cgroup_counters *c, uint64_t now_us)
{
	uint64_t wall =
	    now_us > j->fleet->clock.last.at_us ? now_us - j->fleet->clock.last.at_us : 0;
	struct effective_reading r = {
	    .at_us = now_us,
	    .usage_us = c->usage_us,
	    .system_us = c->system_us,
	    .cpu_stall_us = c->cpu.full_us,
	    .memory_stall_us = c->memory.full_us,
	    .io_stall_us = c->io.full_us,
	};

	const uint64_t stalled[3] = {job_cell_grown(c->cpu.full_us, j->now.cpu.full_us),
				     job_cell_grown(c->memory.full_us, j->now.memory.full_us),
				     job_cell_grown(c->io.full_us, j->now.io.full_us)};

	for (size_t i = 0; i < 3 && wall >= PRESSURE_US; i++)
		j->pressure[i] = (double)stalled[i] / (double)wall;
	series_stalled(&j->series, wall, stalled);
	fleet_read(j->fleet, &r);
	job_cell_mark(j);
}

/* The program has ended, and the cell is gone or parked.  end->last counts this program alone. */
static void program_ended(struct job *j, const struct cell_end *end)
{
	struct fuzzing *a = j->fuzzing;
	struct engine_state *s = &a->engine;
	uint64_t rss = j->now.mem_now; /* end->last has no memory left */

	lines_end(&a->lines, job_cell_on_line, j);
	job_cell_read_stats(j);
	job_claims_ended(j, end->last.usage_us);
	j->line_dropped += a->lines.dropped;
	a->execs = max_u64(s->execs, s->final.execs);
	j->execs_before += a->execs;
	s->execs = 0;
	s->final.execs = 0;
	j->kept_before.total += s->kept;
	j->kept_before.by_dict += s->kept_by_dict;
	j->kept_before.by_cmp += s->kept_by_cmp;
	s->kept = s->kept_by_dict = s->kept_by_cmp = 0;
	a->absent_us = job_cell_grown(clock_mono_us(), j->fleet->clock.last.at_us);
	job_cell_read_pressure(j, &end->last, clock_mono_us());
	add_counters(j, &end->last);
	job_sample(j, clock_mono_us(), rss, true);
	memset(j->pressure, 0, sizeof(j->pressure)); /* no task is left to wait */
	j->cells_us += clock_mono_us() - a->launched_us;
	j->starved = job_cell_share(j->fleet->clock.waited_us, a->waited_us,
				    clock_mono_us() - a->launched_us);
	job_judge(j, end);
	a->cell = NULL; /* freed when we return */
	job_cell_thawed(j);
	if (j->last_failure != FAILURE_NONE && !j->knew)
		j->env->news(j->env->arg, j, JOB_FAILED);
	job_step(j, EVENT_ENDED);
}

static void job_cell_on_ended(void *arg, const struct cell_end *cell)
{
	struct job *j = arg;
	struct cell_end end = *cell;

	fuzzing_share(j->fuzzing, &end.last);
	program_ended(j, &end);
}

/* Whether the engine may start again in its cell.  A failure that involves the cell's limits or our
 * signals ends the cell. */
static bool job_cell_was_harmless(const struct job *j, const struct cgroup_counters *c)
{
	const struct fuzzing *a = j->fuzzing;

	return j->ask == ASK_NOTHING && !j->frozen && !a->asked && !a->forced && !a->restarted &&
	       !a->at_mark && !*a->refused && !j->over_mark_since && c->oom_kills == 0 &&
	       c->pids_refused == 0;
}

/* The program in the cell of j->seat has exited. */
static void job_cell_on_exited(void *arg, const struct cell_end *cell, bool left)
{
	struct job *j = arg;
	struct cell_end end = *cell;
	struct err e;

	if (left || fuzzing_read(j->fuzzing, &end.last, &e) < 0 ||
	    !job_cell_was_harmless(j, &end.last)) {
		if (cell_kill(j->fuzzing->cell, &e) < 0)
			job_step(j, EVENT_KILL); /* retries until the kill succeeds */
		return;
	}
	seat_park(j->seat);
	program_ended(j, &end);
}

const struct cell_ops job_cell_ops = {
    .output = job_cell_on_output,
    .refused = job_cell_on_refused,
    .memory = job_cell_on_memory,
    .exited = job_cell_on_exited,
    .ended = job_cell_on_ended,
};

static void watch_mark(struct job *j, uint64_t now_us)
{
	bool over = j->cfg->memory_high > 0 && !j->target->engine->goes_on &&
		    j->now.mem_now >= j->cfg->memory_high - j->cfg->memory_high / 16 &&
		    j->pressure[1] >= OVER_MARK_STALLED;

	if (!over)
		j->over_mark_since = 0;
	else if (!j->over_mark_since)
		j->over_mark_since = now_us;
	else if (now_us - j->over_mark_since >= OVER_MARK_US)
		save_input(j, ASK_MEMORY);
}

void job_tick(struct job *j, uint64_t now_us)
{
	uint64_t own_us = j->target->engine->input_timeout_s * USEC_PER_SEC;
	uint64_t idle;
	struct cgroup_counters c;
	struct err e;

	if (j->phase != PHASE_FUZZING || fuzzing_read(j->fuzzing, &c, &e) < 0)
		return; /* the cell is just ending: its end brings the last counters */
	job_cell_read_pressure(j, &c, now_us);
	j->now = c;
	job_cell_read_stats(j);
	job_claims_tick(j, c.usage_us);
	if (j->fuzzing->stats_at_us && !j->fuzzing->stats_cpu_us)
		j->fuzzing->stats_cpu_us = c.usage_us;
	job_sample(j, now_us, c.mem_now, false);
	job_watch_coverage(j);
	watch_mark(j, now_us);
	if (c.pids_refused > 0)
		save_input(j, ASK_PIDS);
	idle = j->fleet->clock.idle_us;
	if (!j->frozen && idle > STUCK_US && idle > 2 * max_u64(j->cfg->input_timeout_us, own_us))
		save_input(j, ASK_STUCK);
	/* Later versions of libFuzzer only warn, and go on without coverage. */
	if (j->fuzzing->engine.running && j->fuzzing->engine.not_instrumented)
		job_stop(j, REASON_NOT_INSTRUMENTED, false);
}
