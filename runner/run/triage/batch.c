/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/triage/batch.h"

#include "base/clock.h"
#include "base/lines.h"
#include "base/memory.h"
#include "runner/run/triage/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time for the start, symbolizing and writing a report, beside the time of an input. */
#define AROUND_US (60 * USEC_PER_SEC)

enum { PATH = sizeof(((struct engine_state *)0)->input) };

/* A worker: one cell at a time. */
struct batch_slot {
	struct batch *b;
	size_t index;		  /* selects the user of its cells */
	size_t at, end;		  /* the slot's inputs; `at` is next */
	size_t batch;		  /* number of inputs for the next cell; 0: all of them */
	size_t single_end;	  /* inputs up to here are run alone */
	struct exec *exec;	  /* the cell with many inputs */
	struct replay *replay;	  /* the run of one input */
	struct replay_seat *seat; /* for `replay`; NULL: not needed, or not possible */
	bool active;		  /* `exec` or `replay` is at work */

	/* The cell with many inputs. */
	size_t n;	/* its inputs */
	size_t started; /* inputs that were seen to begin */
	struct crash_parser *parser;
	struct crash_report report;
	struct failure_cause cause;
	char build[FILE_ID_TEXT]; /* for the parser */
	struct lines lines;
	struct engine_state seen;
	struct source *watch; /* limits the time of an input */
	bool stuck;
	bool slow;    /* the cell ended because an input took too long */
	bool starved; /* slow, and the cell waited for CPUs */
	bool odd;     /* a line named an input that was not next: a line was hidden or forged */

	/* A cell failed, but not clearly by one input.  It failed after all inputs (a leak seen at
	 * the exit, a refused system call).  Or earlier inputs left processes (a refused fork).
	 * Smaller cells search for the input.  If none of them fails, all inputs together do. */
	struct {
		bool any;
		size_t end;	 /* end of the suspected inputs */
		uint64_t failed; /* batch_slot.failed before the search */
		struct crash_report report;
		struct failure_cause cause;
		char *output; /* as batch_slot.cell_output */
		size_t output_n;
	} doubt;
	uint64_t failed;   /* inputs that were reported as failed */
	bool passed;	   /* whether the last finished input passed */
	char *cell_output; /* of the cell with many inputs, with its size; owned */
	size_t cell_output_n;
};

struct batch {
	const struct replay_env *env;
	struct batch_spec spec;
	struct batch_sum sum;
	struct batch_slot *slots;
	struct source *idle; /* the next step, from the loop */
	size_t next;	     /* the first input that no slot has yet */
	uint64_t began_us;
	unsigned closing; /* number of seats that are being closed */
	bool over;	  /* no further input is begun */
};

/* Notes why an input could not be run; other inputs go on. */
static void batch_leave_out(struct batch *b, const char *why)
{
	if (!*b->sum.why)
		snprintf(b->sum.why, sizeof(b->sum.why), "%.299s", why);
}

/* Runs no further input of this target.  why: the error, or NULL.  What fails afterwards, for
 * example a cell that is ended while it starts, is no further reason. */
static void batch_give_up(struct batch *b, const char *why)
{
	if (why && !b->over)
		batch_leave_out(b, why);
	b->over = true;
}

/* Takes the next step, from the loop. */
static void batch_step(struct batch *b)
{
	struct err e;

	/* The timer was armed before: arming it again does not allocate. */
	if (loop_set_timer(b->idle, clock_mono_us(), &e) < 0)
		batch_give_up(b, e.msg);
}

/* --- reporting results ------------------------------------------------------ */

/* n inputs passed, from this one on. */
static void batch_count_passed(struct batch *b, size_t from, size_t n)
{
	b->sum.passed += n;
	for (size_t i = 0; i < n && b->spec.ran; i++)
		b->spec.ran(b->spec.arg, from + i);
}

static void batch_report(struct batch_slot *s, const struct batch_failure *f)
{
	struct batch *b = s->b;

	b->sum.failed++;
	s->failed++;
	b->spec.failed(b->spec.arg, f);
	if (b->sum.failed >= BATCH_FAILURES_MAX)
		batch_give_up(b, NULL);
}

/* The report of the cell with many inputs. */
static void batch_report_cell(struct batch_slot *s, size_t input, bool together)
{
	batch_report(s, &(struct batch_failure){.input = input,
						.only_together = together,
						.report = &s->report,
						.cause = s->cause,
						.output = {s->cell_output, s->cell_output_n}});
}

static void batch_report_alone(struct batch_slot *s, size_t input, const struct replay_end *end)
{
	batch_report(s, &(struct batch_failure){.input = input,
						.report = end->report,
						.cause = end->cause,
						.output = end->output});
}

static void batch_report_doubt(struct batch_slot *s, size_t input)
{
	batch_report(s, &(struct batch_failure){.input = input,
						.only_together = true,
						.report = &s->doubt.report,
						.cause = s->doubt.cause,
						.output = {s->doubt.output, s->doubt.output_n}});
}

/* Ends the search if all inputs of the failed cell were run in smaller cells. */
static void batch_end_doubt(struct batch_slot *s)
{
	if (!s->doubt.any || s->at < s->doubt.end)
		return;
	if (s->failed == s->doubt.failed) {
		s->b->sum.passed -= s->passed;
		batch_report_doubt(s, s->at - 1);
	}
	crash_report_done(&s->doubt.report);
	free(s->doubt.output);
	s->doubt.output = NULL;
	s->doubt.any = false;
}

/* Begins a search: one of the next n inputs fails, or all of them together. */
static void batch_begin_doubt(struct batch_slot *s, size_t n)
{
	if (s->doubt.any || s->starved)
		return;
	s->doubt.any = true;
	s->doubt.end = s->at + n;
	s->doubt.failed = s->failed;
	s->doubt.report = s->report;
	s->doubt.cause = s->cause;
	s->report = (struct crash_report){0};
	s->doubt.output = s->cell_output;
	s->doubt.output_n = s->cell_output_n;
	s->cell_output = NULL;
	s->cell_output_n = 0;
}

static void batch_go_on(struct batch_slot *s)
{
	free(s->cell_output);
	s->cell_output = NULL;
	s->cell_output_n = 0;
	crash_report_done(&s->report);
	batch_end_doubt(s);
	batch_step(s->b);
}

/* --- one input, alone ----------------------------------------------------- */

/* The input passed, or has no result.  unusable: why. */
static void batch_clear(struct batch_slot *s, const char *unusable)
{
	struct batch *b = s->b;

	s->passed = !*unusable;
	batch_count_passed(b, s->at - 1, s->passed);
	if (!s->passed && !b->over)
		batch_leave_out(b, unusable);
}

static void batch_on_alone(void *arg, struct replay_end *end)
{
	struct batch_slot *s = arg;
	bool busy = s->slow && *end->unusable && end->starved;

	s->replay = NULL;
	s->active = false;
	s->b->sum.cpu_us += end->cpu_us;
	if (end->failed)
		batch_report_alone(s, s->at - 1, end);
	else if (s->starved || busy) /* the result of the cell with many inputs is void */
		batch_clear(s, end->unusable);
	else /* it failed with others, and passed or was not run alone */
		batch_report_cell(s, s->at - 1, !*end->unusable);
	batch_go_on(s);
}

static struct replay_seat *batch_seat_of(struct batch_slot *s)
{
	struct err e;

	if (!s->seat && replay_seat_new(s->b->spec.work, s->index, &s->seat, &e) < 0)
		s->seat = NULL; /* each replay has a cell of its own */
	return s->seat;
}

static int batch_replay_alone(struct batch_slot *s, size_t input, replay_done_fn *done,
			      struct err *e)
{
	struct batch *b = s->b;
	char *path = xasprintf("%s/%s", b->spec.dir, b->spec.name(b->spec.arg, input));
	struct replay_spec t = {
	    .target = b->spec.target,
	    .cfg = b->spec.cfg,
	    .index = s->index,
	    .input = path,
	    .seat = batch_seat_of(s),
	    .symbolize = true,
	    .done = done,
	    .arg = s,
	};
	int rc = replay_start(b->env, &t, &s->replay, e);

	free(path);
	s->active = rc == 0;
	if (rc == 0)
		b->sum.cells++;
	else
		batch_give_up(b, e->msg);
	return rc;
}

static void batch_run_alone(struct batch_slot *s, size_t input)
{
	struct err e;

	if (!s->b->over && batch_replay_alone(s, input, batch_on_alone, &e) == 0)
		return;
	if (!s->starved)
		batch_report_cell(s, input, false);
	batch_go_on(s);
}

static void batch_on_single(void *arg, struct replay_end *end)
{
	struct batch_slot *s = arg;

	s->replay = NULL;
	s->active = false;
	s->b->sum.cpu_us += end->cpu_us;
	if (end->failed)
		batch_report_alone(s, s->at - 1, end);
	else
		batch_clear(s, end->unusable);
	batch_go_on(s);
}

/* Runs the slot's next input alone, before any cell with many inputs decided on it. */
static void batch_run_single(struct batch_slot *s)
{
	struct err e;

	(void)!batch_replay_alone(s, s->at++, batch_on_single, &e);
}

/* --- many inputs: while the cell runs -------------------------------------- */

static void batch_input_path(const struct batch *b, size_t input, char out[PATH])
{
	snprintf(out, PATH, SETUP_DIR_INPUTS "/%s", b->spec.name(b->spec.arg, input));
}

static void batch_watch(struct batch_slot *s)
{
	uint64_t most = 2 * s->b->spec.cfg->input_timeout_us + AROUND_US;
	struct err e;

	if (loop_set_timer(s->watch, clock_mono_us() + most, &e) < 0)
		batch_give_up(s->b, e.msg);
}

void batch_end_stuck(struct batch *b, unsigned worker)
{
	struct batch_slot *s = &b->slots[worker];

	if (!s->exec)
		return;
	s->stuck = true;
	exec_stop(s->exec);
}

/* The timer of batch_slot.watch. */
static void batch_on_stuck(void *arg)
{
	const struct batch_slot *s = arg;

	batch_end_stuck(s->b, (unsigned)(s - s->b->slots));
}

/* Counts inputs that begin in their order.  If a target forges the line of the next input, the
 * engine's own line comes second, and is odd. */
static void batch_on_line(void *arg, struct slice line)
{
	struct batch_slot *s = arg;
	uint64_t before = s->seen.inputs;
	char path[PATH];

	s->b->spec.target->engine->line(line, &s->seen);
	if (s->seen.inputs == before)
		return;
	if (s->started < s->n) {
		batch_input_path(s->b, s->at + s->started, path);
		if (strcmp(s->seen.input, path) == 0) {
			s->started++;
			batch_watch(s);
			return;
		}
	}
	s->odd |= strncmp(s->seen.input, SETUP_DIR_INPUTS "/", strlen(SETUP_DIR_INPUTS "/")) == 0;
}

static void batch_on_output(void *arg, struct slice bytes)
{
	struct batch_slot *s = arg;

	crash_parser_feed(s->parser, bytes);
	lines_feed(&s->lines, bytes, batch_on_line, s);
}

/* --- many inputs: the end of the cell --------------------------------------- */

static bool batch_cell_ended_well(const struct exec_end *end)
{
	return end->code == 0 && end->signo == 0 && !end->late && !end->stopped && !*end->refused &&
	       end->failure == FAILURE_NONE && end->engine->done;
}

/* All inputs of the cell passed.  During a search the next cells do not grow until it is found. */
static void batch_pass(struct batch_slot *s)
{
	batch_count_passed(s->b, s->at, s->n);
	s->at += s->n;
	s->passed = true;
	if (!s->doubt.any || s->failed > s->doubt.failed)
		s->batch *= 2;
}

/* Whether the cell's output cannot be believed. */
static bool batch_is_odd(const struct batch_slot *s, bool well)
{
	return s->n > 1 && (s->odd || (well && s->started < s->n));
}

/* The input in work failed. */
static void batch_blame(struct batch_slot *s)
{
	batch_count_passed(s->b, s->at, s->started - 1);
	s->at += s->started;
	s->batch *= 2;
	if (s->started > 1 || s->starved) {
		batch_run_alone(s, s->at - 1);
		return;
	}
	/* No input ran before it in this cell. */
	batch_report_cell(s, s->at - 1, false);
	batch_go_on(s);
}

static void batch_judge(struct batch_slot *s, const struct exec_end *end)
{
	struct exec_end judged = *end;

	judged.late = end->late || s->stuck; /* stopped by batch_end_stuck() */
	s->slow = judged.late || end->failure == FAILURE_TIMEOUT;
	s->starved = s->slow && replay_starved(end);
	s->cause = failure_own_report(&judged, s->b->spec.target->name, &s->report);
	if (batch_is_odd(s, false)) {
		s->single_end = s->at + s->n;
		batch_begin_doubt(s, s->n);
		batch_go_on(s);
	} else if (end->engine->done && s->started == s->n && s->n > 1) {
		s->batch = s->n / 2;
		batch_begin_doubt(s, s->n);
		batch_go_on(s);
	} else if (*end->refused && s->started > 1) {
		/* An earlier input may have made the system call. */
		s->batch = s->started - 1;
		batch_go_on(s);
	} else if (end->failure == FAILURE_PIDS && s->started > 1) {
		/* An earlier input may have left processes. */
		s->batch = s->started - 1;
		batch_begin_doubt(s, s->started);
		batch_go_on(s);
	} else {
		batch_blame(s);
	}
}

/* The replay was stopped: the input in work has no result. */
static void batch_take_stopped(struct batch_slot *s, const struct exec_end *end)
{
	if (s->doubt.any && s->failed == s->doubt.failed)
		batch_report_doubt(s, s->doubt.end - 1);
	else if (s->started > 0 && !s->odd && !*end->refused && end->failure != FAILURE_PIDS)
		batch_count_passed(s->b, s->at, s->started - 1);
}

static void batch_on_cell_end(void *arg, const struct exec_end *end)
{
	struct batch_slot *s = arg;
	struct batch *b = s->b;

	lines_end(&s->lines, batch_on_line, s);
	s->exec = NULL;
	s->active = false;
	b->sum.cpu_us += end->cpu_us;
	if (!batch_cell_ended_well(end) && end->output.n > 0) {
		s->cell_output = xmalloc(end->output.n);
		s->cell_output_n = end->output.n;
		memcpy(s->cell_output, end->output.p, end->output.n);
	}
	crash_parser_finish(s->parser, &s->report);
	crash_parser_free(s->parser);
	s->parser = NULL;
	if (!end->started) {
		batch_give_up(b, end->why);
	} else if (batch_cell_ended_well(end) && s->started > 0) {
		if (batch_is_odd(s, true))
			s->single_end = s->at + s->n;
		else
			batch_pass(s);
	} else if (b->over && !s->stuck) {
		batch_take_stopped(s, end);
	} else if (s->started == 0) {
		batch_give_up(b, s->report.found ? s->report.headline
						 : "the target ended before it ran an input");
	} else {
		batch_judge(s, end);
		return;
	}
	batch_go_on(s);
}

/* --- many inputs: the start of the cell -------------------------------------- */

static int batch_command(const struct batch_slot *s, struct setup *setup, struct err *e)
{
	const struct batch_spec *spec = &s->b->spec;
	struct strv inputs = {0};
	struct engine_replay job = {
	    .binary = setup->binary,
	    .input_timeout_s = (spec->cfg->input_timeout_us + USEC_PER_SEC - 1) / USEC_PER_SEC,
	    .rss_limit_mib = spec->cfg->rss_limit >> 20,
	    .symbolizer = s->b->env->symbolizer,
	    .flags = (const char *const *)setup->flags.v,
	    .env = (const char *const *)setup->env.v,
	};
	char path[PATH];
	int rc;

	for (size_t i = 0; i < s->n; i++) {
		batch_input_path(s->b, s->at + i, path);
		strv_push(&inputs, path);
	}
	job.inputs = (const char *const *)inputs.v;
	rc = setup_replay(setup, &job, e);
	strv_done(&inputs);
	return rc;
}

static int batch_launch(struct batch_slot *s, struct err *e)
{
	const struct batch_spec *spec = &s->b->spec;
	uint64_t each = 2 * spec->cfg->input_timeout_us;
	struct setup setup;
	int rc;

	setup_init(&setup, spec->target, spec->cfg);
	setup_mount(&setup, SETUP_DIR_INPUTS, false, "%s", spec->dir);
	rc = batch_command(s, &setup, e);
	if (rc == 0) {
		struct exec_spec x = {
		    .setup = &setup,
		    .index = s->index,
		    .extra_memory = spec->cfg->symbolizer_memory,
		    .deadline_us = s->n * each + AROUND_US, /* batch_end_stuck() comes sooner */
		    .forks_end_it = true,
		    .output = batch_on_output,
		    .done = batch_on_cell_end,
		    .arg = s,
		};
		rc = exec_start(&s->b->env->exec, &x, &s->exec, e);
	}
	setup_done(&setup);
	return rc;
}

/* Starts a cell with the slot's next inputs.  On an error it gives the batch up. */
static void batch_run_cell(struct batch_slot *s)
{
	const struct target *target = s->b->spec.target;
	struct crash_options o = {.target = target->name,
				  .build = file_id_now(target->binary, s->build)};
	struct err e;

	s->n = (s->doubt.any ? s->doubt.end : s->end) - s->at;
	if (s->batch && s->batch < s->n)
		s->n = s->batch;
	s->started = 0;
	s->stuck = s->odd = false;
	s->lines = (struct lines){0};
	s->seen = (struct engine_state){0};
	s->parser = crash_parser_new(&o);
	if (batch_launch(s, &e) < 0) {
		crash_parser_free(s->parser);
		s->parser = NULL;
		batch_give_up(s->b, e.msg);
		return;
	}
	s->b->sum.cells++;
	s->active = true;
	batch_watch(s);
}

/* --- all inputs of a target ------------------------------------------------------ */

static void batch_free(struct batch *b)
{
	for (unsigned i = 0; i < b->spec.workers; i++) {
		source_remove(b->slots[i].watch);
		crash_report_done(&b->slots[i].report);
		crash_report_done(&b->slots[i].doubt.report);
		free(b->slots[i].cell_output);
		free(b->slots[i].doubt.output);
	}
	source_remove(b->idle);
	free(b->slots);
	free(b);
}

/* Gives the slot inputs.  False: there is nothing to do. */
static bool batch_feed(struct batch_slot *s)
{
	struct batch *b = s->b;

	if (b->over)
		return false;
	if (s->at == s->end && b->next < b->spec.n) {
		s->at = b->next;
		s->end = b->next + batch_size(b->spec.n - b->next, b->spec.workers);
		s->batch = 0;
		b->next = s->end;
	}
	if (s->at < s->single_end)
		batch_run_single(s);
	else if (s->at < s->end)
		batch_run_cell(s);
	return s->active;
}

static void batch_on_closed(void *arg)
{
	struct batch_slot *s = arg;

	if (--s->b->closing == 0)
		batch_step(s->b);
}

/* False: no seat has to be closed later. */
static bool batch_close_seats(struct batch *b)
{
	struct replay_seat *seat;

	b->closing = 1; /* a seat may be closed at once */
	for (unsigned i = 0; i < b->spec.workers; i++) {
		seat = b->slots[i].seat;
		b->slots[i].seat = NULL;
		b->closing += seat != NULL;
		if (seat)
			replay_seat_close(seat, batch_on_closed, &b->slots[i]);
	}
	return --b->closing > 0;
}

static void batch_on_idle(void *arg)
{
	struct batch *b = arg;
	bool busy = false;

	for (unsigned i = 0; i < b->spec.workers; i++)
		busy = b->slots[i].active || batch_feed(&b->slots[i]) || busy;
	if (busy || b->closing > 0 || batch_close_seats(b))
		return;
	b->sum.left_out = b->spec.n - b->sum.passed - b->sum.failed;
	b->sum.wall_us = clock_mono_us() - b->began_us;
	b->spec.done(b->spec.arg, &b->sum);
	batch_free(b);
}

static int batch_make_slots(struct batch *b, struct err *e)
{
	struct loop *l = b->env->exec.loop;
	int rc = 0;

	b->slots = xcalloc(b->spec.workers, sizeof(*b->slots));
	for (unsigned i = 0; rc == 0 && i < b->spec.workers; i++) {
		struct batch_slot *s = &b->slots[i];

		s->b = b;
		s->index = b->spec.index + i;
		/* The timer has no effect until a cell runs. */
		rc = loop_add_timer(l, b->began_us, batch_on_stuck, s, &s->watch, e);
	}
	return rc;
}

int batch_start(const struct replay_env *env, const struct batch_spec *spec, struct batch **ret,
		struct err *e)
{
	struct batch *b = xcalloc(1, sizeof(*b));
	int rc;

	*b = (struct batch){.env = env, .spec = *spec, .began_us = clock_mono_us()};
	rc = batch_make_slots(b, e);
	if (rc == 0)
		rc = loop_add_timer(env->exec.loop, b->began_us, batch_on_idle, b, &b->idle, e);
	if (rc < 0) {
		batch_free(b);
		return rc;
	}
	*ret = b;
	return 0;
}

uint64_t batch_begun(const struct batch *b)
{
	uint64_t n = b->sum.passed + b->sum.failed;

	for (unsigned i = 0; i < b->spec.workers; i++)
		n += b->slots[i].exec ? b->slots[i].started : 0;
	return n;
}

void batch_stop(struct batch *b, const char *why)
{
	b->sum.stopped |= !why;
	batch_give_up(b, why);
	for (unsigned i = 0; i < b->spec.workers; i++) {
		if (b->slots[i].exec)
			exec_stop(b->slots[i].exec);
		if (b->slots[i].replay)
			replay_stop(b->slots[i].replay);
	}
}

size_t batch_size(size_t left, unsigned workers)
{
	size_t share = (left + workers - 1) / workers;

	if (share < BATCH_INPUTS_MIN)
		share = left < BATCH_INPUTS_MIN ? left : BATCH_INPUTS_MIN;
	return share < BATCH_INPUTS_MAX ? share : BATCH_INPUTS_MAX;
}
