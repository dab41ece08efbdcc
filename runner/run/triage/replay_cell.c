/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a cell with many inputs, and finds the inputs that fail. */
#include "base/clock.h"
#include "base/memory.h"
#include "runner/run/triage/replay_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time for the start, symbolizing and writing a report, beside the time of an input. */
#define AROUND_US (60 * USEC_PER_SEC)

enum { PATH = sizeof(((struct engine_state *)0)->input) };

/* --- reporting failures ---------------------------------------------------- */

static void replay_cell_tell(struct slot *s, size_t input, const struct crash_report *report,
			     bool together)
{
	struct replay *r = s->r;
	struct replay_failure f = {.input = input, .only_together = together, .report = report};

	r->sum.failed++;
	s->failed++;
	r->spec.failed(r->spec.arg, &f);
	if (r->sum.failed >= REPLAY_FAILURES_MAX)
		replay_give_up(r, NULL);
}

/* Ends the search if all inputs of the failed cell were run in smaller cells. */
static void end_doubt(struct slot *s)
{
	if (!s->doubt.any || s->at < s->doubt.end)
		return;
	if (s->failed == s->doubt.failed) {
		s->r->sum.passed -= s->passed;
		replay_cell_tell(s, s->at - 1, &s->doubt.report, true);
	}
	crash_report_done(&s->doubt.report);
	s->doubt.any = false;
}

/* Begins a search: one of the next n inputs fails, or all of them together. */
static void begin_doubt(struct slot *s, size_t n)
{
	if (s->doubt.any || s->starved)
		return;
	s->doubt.any = true;
	s->doubt.end = s->at + n;
	s->doubt.failed = s->failed;
	s->doubt.report = s->report;
	s->report = (struct crash_report){0};
}

static void replay_cell_go_on(struct slot *s)
{
	crash_report_done(&s->report);
	end_doubt(s);
	replay_step(s->r);
}

/* --- one input, alone ----------------------------------------------------- */

/* The input passed, or has no result.  unusable: why. */
static void clear(struct slot *s, const char *unusable)
{
	struct replay *r = s->r;

	s->passed = !*unusable;
	r->sum.passed += s->passed;
	if (!s->passed && !r->over)
		replay_leave_out(r, unusable);
}

static void replay_cell_on_alone(void *arg, struct trial_end *end)
{
	struct slot *s = arg;
	bool busy = s->slow && *end->unusable && end->starved;

	s->trial = NULL;
	s->active = false;
	if (end->failed)
		replay_cell_tell(s, s->at - 1, end->report, false);
	else if (s->starved || busy) /* the result of the cell with many inputs is void */
		clear(s, end->unusable);
	else /* it failed with others, and passed or was not run alone */
		replay_cell_tell(s, s->at - 1, &s->report, !*end->unusable);
	replay_cell_go_on(s);
}

static struct trial_seat *seat_of(struct slot *s)
{
	struct err e;

	if (!s->seat && trial_seat_new(s->r->spec.work, s->index, &s->seat, &e) < 0)
		s->seat = NULL; /* each trial has a cell of its own */
	return s->seat;
}

static int try_alone(struct slot *s, size_t input, trial_done_fn *done, struct err *e)
{
	struct replay *r = s->r;
	char *path = xasprintf("%s/%s", r->spec.dir, r->spec.name(r->spec.arg, input));
	struct trial_spec t = {
	    .target = r->spec.target,
	    .cfg = r->spec.cfg,
	    .index = s->index,
	    .input = path,
	    .seat = seat_of(s),
	    .symbolize = true,
	    .done = done,
	    .arg = s,
	};
	int rc = trial_start(r->env, &t, &s->trial, e);

	free(path);
	s->active = rc == 0;
	if (rc == 0)
		r->sum.cells++;
	else
		replay_give_up(r, e->msg);
	return rc;
}

static void run_alone(struct slot *s, size_t input)
{
	struct err e;

	if (!s->r->over && try_alone(s, input, replay_cell_on_alone, &e) == 0)
		return;
	if (!s->starved)
		replay_cell_tell(s, input, &s->report, false);
	replay_cell_go_on(s);
}

static void on_single(void *arg, struct trial_end *end)
{
	struct slot *s = arg;

	s->trial = NULL;
	s->active = false;
	if (end->failed)
		replay_cell_tell(s, s->at - 1, end->report, false);
	else
		clear(s, end->unusable);
	replay_cell_go_on(s);
}

void replay_single(struct slot *s)
{
	struct err e;

	(void)!try_alone(s, s->at++, on_single, &e);
}

/* --- many inputs: while the cell runs -------------------------------------- */

static void replay_cell_input_path(const struct replay *r, size_t input, char out[PATH])
{
	snprintf(out, PATH, SETUP_DIR_INPUTS "/%s", r->spec.name(r->spec.arg, input));
}

static void replay_cell_watch(struct slot *s)
{
	uint64_t most = 2 * s->r->spec.cfg->input_timeout_us + AROUND_US;
	struct err e;

	if (loop_set_timer(s->watch, clock_mono_us() + most, &e) < 0)
		replay_give_up(s->r, e.msg);
}

void replay_stuck(void *arg)
{
	struct slot *s = arg;

	if (!s->exec)
		return;
	s->stuck = true;
	exec_stop(s->exec);
}

/* Counts inputs that begin in their order.  If a target forges the line of the next input, the
 * engine's own line comes second, and is odd. */
static void replay_cell_on_line(void *arg, struct slice line)
{
	struct slot *s = arg;
	uint64_t before = s->seen.inputs;
	char path[PATH];

	s->r->spec.target->engine->line(line, &s->seen);
	if (s->seen.inputs == before)
		return;
	if (s->started < s->n) {
		replay_cell_input_path(s->r, s->at + s->started, path);
		if (strcmp(s->seen.input, path) == 0) {
			s->started++;
			replay_cell_watch(s);
			return;
		}
	}
	s->odd |= strncmp(s->seen.input, SETUP_DIR_INPUTS "/", strlen(SETUP_DIR_INPUTS "/")) == 0;
}

static void replay_cell_on_output(void *arg, struct slice bytes)
{
	struct slot *s = arg;

	crash_parser_feed(s->parser, bytes);
	lines_feed(&s->lines, bytes, replay_cell_on_line, s);
}

/* --- many inputs: the end of the cell --------------------------------------- */

static bool ended_well(const struct exec_end *end)
{
	return end->code == 0 && end->signo == 0 && !end->late && !end->stopped && !*end->refused &&
	       end->failure == FAILURE_NONE && end->engine->done;
}

/* All inputs of the cell passed.  During a search the next cells do not grow until it is found. */
static void replay_cell_pass(struct slot *s)
{
	s->r->sum.passed += s->n;
	s->at += s->n;
	s->passed = true;
	if (!s->doubt.any || s->failed > s->doubt.failed)
		s->batch *= 2;
}

/* Whether the cell's output cannot be believed. */
static bool is_odd(const struct slot *s, bool well)
{
	return s->n > 1 && (s->odd || (well && s->started < s->n));
}

/* The input in work failed. */
static void replay_cell_blame(struct slot *s)
{
	s->r->sum.passed += s->started - 1;
	s->at += s->started;
	s->batch *= 2;
	if (s->started > 1 || s->starved) {
		run_alone(s, s->at - 1);
		return;
	}
	/* No input ran before it in this cell. */
	replay_cell_tell(s, s->at - 1, &s->report, false);
	replay_cell_go_on(s);
}

static void replay_cell_judge(struct slot *s, const struct exec_end *end)
{
	struct exec_end judged = *end;

	judged.late = end->late || s->stuck; /* stopped by replay_stuck() */
	s->slow = judged.late || end->failure == FAILURE_TIMEOUT;
	s->starved = s->slow && trial_starved(end);
	(void)trial_own_report(&judged, s->r->spec.target->name, &s->report);
	if (is_odd(s, false)) {
		s->single_end = s->at + s->n;
		begin_doubt(s, s->n);
		replay_cell_go_on(s);
	} else if (end->engine->done && s->started == s->n && s->n > 1) {
		s->batch = s->n / 2;
		begin_doubt(s, s->n);
		replay_cell_go_on(s);
	} else if (*end->refused && s->started > 1) {
		/* An earlier input may have made the system call. */
		s->batch = s->started - 1;
		replay_cell_go_on(s);
	} else if (end->failure == FAILURE_PIDS && s->started > 1) {
		/* An earlier input may have left processes. */
		s->batch = s->started - 1;
		begin_doubt(s, s->started);
		replay_cell_go_on(s);
	} else {
		replay_cell_blame(s);
	}
}

/* The replay was stopped: the input in work has no result. */
static void stopped(struct slot *s, const struct exec_end *end)
{
	if (s->doubt.any && s->failed == s->doubt.failed)
		replay_cell_tell(s, s->doubt.end - 1, &s->doubt.report, true);
	else if (s->started > 0 && !s->odd && !*end->refused && end->failure != FAILURE_PIDS)
		s->r->sum.passed += s->started - 1;
}

static void on_many(void *arg, const struct exec_end *end)
{
	struct slot *s = arg;
	struct replay *r = s->r;

	lines_end(&s->lines, replay_cell_on_line, s);
	s->exec = NULL;
	s->active = false;
	crash_parser_finish(s->parser, &s->report);
	crash_parser_free(s->parser);
	s->parser = NULL;
	if (!end->started) {
		replay_give_up(r, end->why);
	} else if (ended_well(end) && s->started > 0) {
		if (is_odd(s, true))
			s->single_end = s->at + s->n;
		else
			replay_cell_pass(s);
	} else if (r->over && !s->stuck) {
		stopped(s, end);
	} else if (s->started == 0) {
		replay_give_up(r, s->report.found ? s->report.headline
						  : "the target ended before it ran an input");
	} else {
		replay_cell_judge(s, end);
		return;
	}
	replay_cell_go_on(s);
}

/* --- many inputs: the start of the cell -------------------------------------- */

static int replay_cell_command(const struct slot *s, struct setup *setup, struct err *e)
{
	const struct replay_spec *spec = &s->r->spec;
	struct strv inputs = {0};
	struct engine_replay job = {
	    .binary = setup->binary,
	    .input_timeout_s = (spec->cfg->input_timeout_us + USEC_PER_SEC - 1) / USEC_PER_SEC,
	    .rss_limit_mib = spec->cfg->rss_limit >> 20,
	    .symbolizer = s->r->env->symbolizer,
	    .flags = (const char *const *)setup->flags.v,
	    .env = (const char *const *)setup->env.v,
	};
	char path[PATH];
	int rc;

	for (size_t i = 0; i < s->n; i++) {
		replay_cell_input_path(s->r, s->at + i, path);
		strv_push(&inputs, path);
	}
	job.inputs = (const char *const *)inputs.v;
	rc = spec->target->engine->replay(&job, &setup->cmd, e);
	strv_done(&inputs);
	return rc;
}

static int replay_cell_launch(struct slot *s, struct err *e)
{
	const struct replay_spec *spec = &s->r->spec;
	uint64_t each = 2 * spec->cfg->input_timeout_us;
	struct setup setup;
	int rc;

	setup_init(&setup, spec->target, spec->cfg);
	setup_mount(&setup, SETUP_DIR_INPUTS, false, "%s", spec->dir);
	rc = replay_cell_command(s, &setup, e);
	if (rc == 0) {
		struct exec_spec x = {
		    .setup = &setup,
		    .index = s->index,
		    .extra_memory = spec->cfg->symbolizer_memory,
		    .deadline_us = s->n * each + AROUND_US, /* replay_stuck() comes sooner */
		    .forks_end_it = true,
		    .output = replay_cell_on_output,
		    .done = on_many,
		    .arg = s,
		};
		rc = exec_start(&s->r->env->exec, &x, &s->exec, e);
	}
	setup_done(&setup);
	return rc;
}

void replay_cell(struct slot *s)
{
	const struct target *target = s->r->spec.target;
	struct crash_options o = {.target = target->name,
				  .build = kept_file_now(target->binary, s->build)};
	struct err e;

	s->n = (s->doubt.any ? s->doubt.end : s->end) - s->at;
	if (s->batch && s->batch < s->n)
		s->n = s->batch;
	s->started = 0;
	s->stuck = s->odd = false;
	s->lines = (struct lines){0};
	s->seen = (struct engine_state){0};
	s->parser = crash_parser_new(&o);
	if (replay_cell_launch(s, &e) < 0) {
		crash_parser_free(s->parser);
		s->parser = NULL;
		replay_give_up(s->r, e.msg);
		return;
	}
	s->r->sum.cells++;
	s->active = true;
	replay_cell_watch(s);
}
