/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/job/job.h"

#include "base/clock.h"
#include "base/task.h"
#include "runner/run/job/dump.h"
#include "runner/run/job/fuzzing.h"
#include "runner/run/job/internal.h"
#include "runner/run/job/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A killed cell that still lives is killed again. */
#define KILL_RETRY_US (1 * USEC_PER_SEC)
enum { ARTIFACTS_TEXT_MAX = 1 << 18, DUMP_LONGER_MAX = 10 /* maximum factor, when starved */ };

void job_init(struct job *j, const struct job_env *env, const struct target *t,
	      const struct target_config *cfg, const struct target_config *variants, size_t index,
	      struct fleet_target *fleet)
{
	*j = (struct job){.env = env,
			  .target = t,
			  .cfg = cfg,
			  .variants = variants,
			  .index = index,
			  .fleet = fleet,
			  .artifacts = BUF_INIT(ARTIFACTS_TEXT_MAX),
			  .log = {.fd = -1}};
}

void job_done(struct job *j)
{
	source_remove(j->timer);
	buf_done(&j->artifacts);
	words_done(&j->words.printed);
	free(j->refused);
	free(j->refused_text);
	free(j->merged);
	free(j->kept);
	free(j->check_files);
	job_cover_done(j);
	free(j->seen);
	if (j->log_open)
		joblog_close(&j->log);
	fuzzing_free(j, j->fuzzing);
}

void job_set_note(struct job *j, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(j->note, sizeof(j->note), fmt, ap);
	va_end(ap);
}

void job_note(struct job *j, const char *text)
{
	job_log(j, text);
	job_set_note(j, "%s", text);
}

void job_log(struct job *j, const char *text)
{
	joblog_note(&j->log, "%s", text);
}

uint64_t job_wall_us(const struct job *j, uint64_t now_us)
{
	return j->used_us + (j->began_us && now_us > j->began_us ? now_us - j->began_us : 0);
}

/* The time of the work between two cells that will be added to put_off_us. */
static uint64_t in_work_us(const struct job *j, uint64_t now_us)
{
	uint64_t began = j->phase == PHASE_TRIAGING   ? j->triage_began_us
			 : j->phase == PHASE_CHECKING ? j->check_began_us
			 : j->phase == PHASE_COVERING ? j->coverage_began_us
						      : now_us;

	return j->pending == REASON_NONE && now_us > began ? now_us - began : 0;
}

uint64_t job_fuzzed_us(const struct job *j, uint64_t now_us)
{
	uint64_t all = job_wall_us(j, now_us), other = j->put_off_us + in_work_us(j, now_us);

	return all > other ? all - other : 0;
}

/* --- shortage of our resources ------------------------------------------------ */

/* Whether an errno reports a shortage of descriptors, processes, memory or groups. */
static bool job_is_shortage(int code)
{
	return code == EMFILE || code == ENFILE || code == ENOMEM || code == EAGAIN ||
	       code == ENOSPC || code == EUSERS;
}

bool job_text_is_shortage(const char *text)
{
	/* ENOSPC is missing: a full disk has rules of its own. */
	static const int codes[] = {EMFILE, ENFILE, ENOMEM, EAGAIN, EUSERS};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strstr(text, strerrordesc_np(codes[i])))
			return true;
	/* The machine's OOM killer, or a user, killed our own process.  Or crun cannot give a cell
	 * more than our own hard limits allow (ulimit -Hf, -Ht). */
	return strstr(text, TASK_DIED) || strstr(text, "crun was ended by signal") ||
	       strstr(text, "setrlimit `");
}

void job_meet_shortage(struct job *j, const char *why)
{
	job_set_note(j, "%s", why);
	j->is_short = j->was_short = true;
	intent_pause(j, true); /* triage needs cells, too: it waits */
}

bool job_take_shortage(struct job *j)
{
	bool is = j->is_short;

	j->is_short = false;
	return is;
}

/* A turn begins: the note about a shortage goes. */
static void job_short_is_over(struct job *j)
{
	if (j->was_short)
		job_set_note(j, "%s", "");
	j->was_short = false;
}

/* --- while fuzzcell is suspended ------------------------------------------------ */

static uint64_t job_run_ends_us(const struct job *j)
{
	/* The end of the run's fuzzing is checked once a second. */
	return j->env->fuzz_until_us ? j->env->fuzz_until_us + USEC_PER_SEC : UINT64_MAX;
}

bool job_ends_with_run(const struct job *j)
{
	return !j->deadline_at || job_run_ends_us(j) < j->deadline_at;
}

/* The latest time at which fuzzcell itself ends the cell, as things stand. */
static uint64_t job_cell_ends_us(const struct job *j)
{
	uint64_t at = job_ends_with_run(j) ? job_run_ends_us(j) : j->deadline_at;

	if (j->phase == PHASE_FUZZING)
		return at < UINT64_MAX / 2 ? at + j->cfg->grace_us + JOB_DUMP_GRACE_US : 0;
	return j->phase == PHASE_STOPPING ? j->grace_at + JOB_DUMP_GRACE_US : j->grace_at;
}

/* Gives the keeper the cell's deadline, for the case that this process is suspended. */
static void job_give_keeper_deadline(struct job *j)
{
	struct fuzzing *a = j->fuzzing;
	uint64_t at = a && a->cell ? job_cell_ends_us(j) : 0;
	struct err e;

	if (!at || at + SETUP_KEEPER_SLACK_US == a->until_us)
		return;
	a->until_us = at + SETUP_KEEPER_SLACK_US;
	if (cell_deadline(a->cell, a->until_us, &e) < 0)
		joblog_note(
		    &j->log,
		    "the keeper has no deadline for the case that fuzzcell is suspended: %s",
		    e.msg);
}

/* --- the timer ------------------------------------------------------------------- */

static void do_kill(struct job *j);

/* The engine prints a line when it begins the dump.  Without that line the target either got no
 * CPU time, or went on with its input. */
static void check_dump_ignored(struct job *j)
{
	struct fuzzing *a = j->fuzzing;
	struct cgroup_counters c;
	struct err e;

	/* In starved cells only CPU time shows whether the input is over its limit. */
	a->ignored_dump =
	    a->stats_cpu_us && a->dump_sent && j->fuzzing->engine.fault == ENGINE_FAULT_NONE &&
	    fuzzing_read(a, &c, &e) == 0 && c.usage_us >= a->dump_cpu_us + JOB_DUMP_GRACE_US / 5 &&
	    c.usage_us >= a->stats_cpu_us + j->cfg->input_timeout_us;
}

static void job_on_timer(void *arg)
{
	struct job *j = arg;
	uint64_t now = clock_mono_us();

	if (j->grace_at && now >= j->grace_at) {
		j->grace_at = 0;
		if (j->phase == PHASE_KILLING)
			do_kill(j);
		else if (j->phase == PHASE_COLLECTING && j->leaves_seat)
			job_leave_seat(j);
		else if (j->phase == PHASE_COLLECTING)
			job_collect(j);
		else {
			if (j->phase == PHASE_DUMPING)
				check_dump_ignored(j);
			job_step(j, EVENT_GRACE);
		}
		return;
	}
	/* Work between two cells does not count as fuzzing: it moves the deadline. */
	if (j->deadline_at && now >= j->deadline_at && j->phase != PHASE_TRIAGING &&
	    j->phase != PHASE_CHECKING && j->phase != PHASE_COVERING) {
		j->deadline_at = 0;
		job_stop(j, REASON_TIME_LIMIT, false);
	}
}

/* Each job has one timer: for a step's grace period, otherwise for the deadline. */
static void arm(struct job *j)
{
	uint64_t at = j->grace_at ? j->grace_at : j->deadline_at;
	struct err e;
	int r = 0;

	job_give_keeper_deadline(j);
	if (!at)
		return;
	if (j->timer)
		r = loop_set_timer(j->timer, at, &e);
	else
		r = loop_add_timer(j->env->loop, at, job_on_timer, j, &j->timer, &e);
	if (r < 0) { /* without the timer nothing would end the cell */
		job_set_note(j, "%s", e.msg);
		job_kill(j, REASON_LOST);
	}
}

void job_collect_later(struct job *j)
{
	j->grace_at = clock_mono_us() + USEC_PER_SEC;
	arm(j);
}

void job_put_off(struct job *j, uint64_t us)
{
	j->deadline_at += us;
	j->put_off_us += us;
	arm(j);
}

/* No cell could start: a resource is short, or the target's cell cannot be made. */
static void no_cell(struct job *j, int r, const struct err *e)
{
	if (job_is_shortage(-r))
		job_meet_shortage(j, e->msg);
	else {
		job_set_note(j, "%s", e->msg);
		intent_set_reason(j, REASON_STARTUP_FAILED);
	}
	job_step(j, EVENT_ENDED);
}

static void do_prepare(struct job *j)
{
	struct err e;
	int r = 0;

	intent_forget(j);
	job_short_is_over(j);
	job_look_at_binary(j);
	if (!j->log_open) {
		char name[160];

		/* runner.log is the runner's own log. */
		snprintf(name, sizeof(name), "%s%s.log",
			 strcmp(j->target->name, "runner") == 0 ? "target-" : "", j->target->name);
		r = joblog_open(&j->log, j->env->dirs->logs, name, j->env->log_limit, &e);
		j->log_open = r == 0;
	}
	if (r == 0)
		r = job_prepare(j, &e);
	if (r < 0)
		no_cell(j, r, &e);
}

static void do_launch(struct job *j)
{
	struct err e;
	int r;

	job_cell_begin(j);
	job_disk_begin(j);
	j->frozen = false;
	job_build_launched(j);
	job_after_launch(j);
	if (j->target->unbuilt ||
	    (faccessat(AT_FDCWD, j->target->binary, F_OK, 0) < 0 && errno == ENOENT)) {
		if (j->target->unbuilt)
			job_set_note(j, "%s", j->target->unbuilt);
		else
			job_set_note(j, "'%s' is no longer there", j->target->binary);
		intent_set_reason(j, REASON_NO_BINARY);
		job_look_at_binary(j); /* so that any later binary counts as changed */
		job_step(j, EVENT_ENDED);
		return;
	}
	r = fuzzing_launch(j, &job_cell_ops, &j->fuzzing, &e);
	if (r < 0) {
		no_cell(j, r, &e);
		return;
	}
	job_claims_launched(j);
	j->cells++;
	j->fuzzing->waited_us = j->fleet->clock.waited_us;
	fleet_launched(j->fleet, j->fuzzing->launched_us);
	arm(j);
}

void job_freeze(struct job *j, bool frozen)
{
	struct err e;

	if (frozen == j->frozen || (frozen && j->phase != PHASE_FUZZING))
		return;
	j->frozen = frozen;
	if (!j->fuzzing || !j->fuzzing->cell || cell_freeze(j->fuzzing->cell, frozen, &e) < 0)
		return; /* the cell is just ending */
	if (!frozen)
		fleet_thawed(j->fleet);
}

static void do_ask(struct job *j)
{
	struct err e;

	job_freeze(j, false);
	j->fuzzing->asked = true;
	j->grace_at = clock_mono_us() + j->cfg->grace_us;
	/* -ESRCH: the program has not begun, or has just ended.  The dump follows after the grace
	 * period. */
	(void)!cell_signal(j->fuzzing->cell, j->target->engine->stop_signal, &e);
	arm(j);
}

uint64_t job_dump_grace(double starved)
{
	double share = 1 - starved;

	if (!(share < 1))
		return JOB_DUMP_GRACE_US;
	if (share < 1.0 / DUMP_LONGER_MAX)
		return DUMP_LONGER_MAX * JOB_DUMP_GRACE_US;
	return (uint64_t)((double)JOB_DUMP_GRACE_US / share);
}

/* Reports and artifacts from now on are the result of our signal. */
static void mark_forced(struct job *j)
{
	struct fuzzing *a = j->fuzzing;
	struct timespec now = {0};

	if (a->forced)
		return;
	a->forced = true;
	a->fault_before = j->fuzzing->engine.fault;
	/* The kernel stamps files with this clock, which is behind clock_real_us(). */
	(void)!clock_gettime(CLOCK_REALTIME_COARSE, &now);
	a->forced_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void do_dump(struct job *j)
{
	uint64_t grace =
	    job_asked(j) == ASK_MEMORY
		? DUMP_MARK_GRACE_US
		: job_dump_grace(fmax(fmax(j->fleet->clock.starved, j->starved), j->pressure[1]));
	struct cgroup_counters c;
	struct err e;
	int r;

	job_freeze(j, false);
	mark_forced(j);
	j->fuzzing->dump_cpu_us = fuzzing_read(j->fuzzing, &c, &e) == 0 ? c.usage_us : 0;
	r = dump_input(j->fuzzing->cell, j->target->engine, &j->fuzzing->engine,
		       job_asked(j) == ASK_MEMORY, &e);
	if (r > 0)
		joblog_note(&j->log, "%s", e.msg);
	j->fuzzing->dump_sent = r >= 0;
	j->grace_at = clock_mono_us() + grace;
	arm(j);
}

static void do_kill(struct job *j)
{
	struct err e;

	mark_forced(j);
	if (cell_kill(j->fuzzing->cell, &e) < 0)
		joblog_note(&j->log, "%s", e.msg); /* the timer retries */
	j->grace_at = clock_mono_us() + KILL_RETRY_US;
	arm(j);
}

static void leave_turn(struct job *j)
{
	if (j->log_open)
		joblog_rest(&j->log);
	j->used_us = job_wall_us(j, clock_mono_us());
	j->began_us = 0;
	j->deadline_at = 0;
	source_remove(j->timer);
	j->timer = NULL;
}

static void do_finish(struct job *j)
{
	leave_turn(j);
	j->reason = j->pending;
	job_end_series(j);
	job_list_crashes(j);
	if (j->log_open) {
		joblog_note(&j->log, "ended: %s%s%s", reason_name(j->reason), *j->note ? ": " : "",
			    j->note);
		joblog_rest(&j->log);
	}
	j->env->news(j->env->arg, j, JOB_ENDED);
}

static void do_revive(struct job *j)
{
	intent_forget(j);
	j->reason = REASON_NONE;
	job_starts_anew(j);
	job_forgive(j);
	job_disk_forgive(j);
	job_build_check_again(j);
	*j->note = '\0';
	job_forget_crashes(j);
}

static void job_act(struct job *j, enum phase_action a)
{
	switch (a) {
	case ACTION_PREPARE:
		do_prepare(j);
		break;
	case ACTION_RELAUNCH:
		j->restarts++;
		do_launch(j);
		if (!j->knew)
			j->env->news(j->env->arg, j, JOB_RESTARTED);
		break;
	case ACTION_LAUNCH:
		do_launch(j);
		break;
	case ACTION_ASK:
		do_ask(j);
		break;
	case ACTION_DUMP:
		do_dump(j);
		break;
	case ACTION_KILL:
		do_kill(j);
		break;
	case ACTION_COLLECT:
		j->grace_at = 0;
		job_collect(j);
		break;
	case ACTION_TRIAGE:
		job_triage(j);
		break;
	case ACTION_STOP_TRIAGE:
		if (j->triage)
			triage_stop(j->triage);
		break;
	case ACTION_MERGE:
		job_merge(j);
		break;
	case ACTION_STOP_MERGE:
		if (j->merge)
			merge_stop(j->merge);
		break;
	case ACTION_CHECK:
		job_check(j);
		break;
	case ACTION_STOP_CHECK:
		if (j->check)
			check_stop(j->check);
		break;
	case ACTION_COVER:
		job_cover(j);
		break;
	case ACTION_STOP_COVER:
		if (j->coverage)
			coverage_stop(j->coverage);
		break;
	case ACTION_REQUEUE:
		leave_turn(j);
		intent_none(j);
		job_maintained(j);
		j->env->news(j->env->arg, j, JOB_REQUEUED);
		break;
	case ACTION_FINISH:
		do_finish(j);
		break;
	case ACTION_REVIVE:
		do_revive(j);
		break;
	case ACTION_WAIT:
	case ACTION_NONE:
	case ACTION_COUNT:
		break;
	}
}

void job_step(struct job *j, enum phase_event ev)
{
	struct phase_step s = phase_step(j->phase, ev);

	j->phase = s.next;
	job_act(j, s.action);
}

static enum phase_event waits_for(const struct job *j)
{
	static const enum phase_event events[] = {
	    [FLEET_QUEUED] = EVENT_PAUSED,
	    [FLEET_RESTING] = EVENT_RESTS,
	    [FLEET_CAPPED] = EVENT_CAPPED,
	    [FLEET_HELD] = EVENT_HELD,
	};

	return events[fleet_waits_for(j->fleet)];
}

void job_wait(struct job *j)
{
	job_step(j, waits_for(j));
}

void job_settle(struct job *j)
{
	if (phase_waits(j->phase))
		job_step(j, waits_for(j));
}

void job_forget_fuzzing(struct job *j)
{
	fuzzing_free(j, j->fuzzing);
	j->fuzzing = NULL;
}

void job_cell_thawed(struct job *j)
{
	j->frozen = false;
}

void job_end_wait(struct job *j)
{
	j->grace_at = 0;
}

void job_work_begins(struct job *j)
{
	j->began_us = clock_mono_us();
}

void job_new_day(struct job *j)
{
	job_after_new_day(j);
	job_forgive(j);
	job_disk_forgive(j);
}

void job_start(struct job *j, uint64_t budget_us)
{
	job_work_begins(j);
	j->deadline_at = j->began_us + budget_us;
	job_step(j, EVENT_START);
	j->env->news(j->env->arg, j, JOB_STARTED);
}

bool job_wraps_up(const struct job *j)
{
	return phase_waits(j->phase) && j->pending != REASON_NONE;
}

void job_wrap_up(struct job *j)
{
	job_work_begins(j);
	intent_next_cell(j);
	job_step(j, job_after_last(j));
}

static bool is_after(const struct job *j)
{
	return j->phase == PHASE_TRIAGING || j->phase == PHASE_MERGING ||
	       j->phase == PHASE_CHECKING || j->phase == PHASE_COVERING;
}

void job_stop(struct job *j, enum reason r, bool now)
{
	intent_end(j, r);
	if (phase_waits(j->phase)) {
		if (job_after_last(j) == EVENT_FINAL)
			job_step(j, EVENT_FINAL);
	} else if (is_after(j) && j->intent == INTENT_KILL) {
		job_step(j, EVENT_KILL);
	} else {
		job_step(j, now ? EVENT_STOP_NOW : EVENT_STOP);
	}
}

void job_revive(struct job *j)
{
	job_step(j, EVENT_REVIVED);
}

void job_pause(struct job *j, bool now)
{
	if (phase_waits(j->phase) || j->phase == PHASE_DONE)
		return;
	/* After fuzzing, `ask` still says how fuzzing ended.  Keep it, unless triage or merging
	 * must stop now. */
	if (is_after(j) && now)
		intent_pause_work(j);
	else
		intent_pause(j, now);
	if (!is_after(j))
		job_step(j, EVENT_STOP);
	else if (now)
		job_step(j, EVENT_KILL);
}

void job_kill(struct job *j, enum reason r)
{
	intent_end(j, r);
	job_step(j, phase_waits(j->phase) ? EVENT_FINAL : EVENT_KILL);
}
