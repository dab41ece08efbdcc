/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/schedule/replay.h"

#include "base/clock.h"
#include "base/lines.h"
#include "base/sys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Starting, symbolizing and writing a report, beside what an input may take. */
#define AROUND_US (60 * USEC_PER_SEC)

enum { PATH = sizeof(((struct engine_state *)0)->input) };

/* A worker: one cell at a time. */
struct slot {
	struct replay *r;
	size_t index;	     /* whose user its cells get */
	size_t at, end;	     /* inputs of its own: at is next */
	size_t started;	     /* of them, in this cell */
	struct exec *exec;   /* many inputs */
	struct trial *trial; /* one */
	struct crash_parser *parser;
	struct crash_report report; /* of the cell with many */
	struct lines lines;
	struct engine_state seen;
	struct source *watch; /* no input may take longer */
	bool stuck;
	bool active;
};

struct replay {
	const struct trial_env *env;
	struct replay_spec spec;
	struct replay_sum sum;
	struct slot *slots;
	struct source *idle; /* the next step, from the loop */
	size_t next;	     /* no slot has it yet */
	uint64_t began_us;
	bool over; /* nothing more is begun */
};

size_t replay_batch(size_t left, unsigned workers)
{
	size_t share = (left + workers - 1) / workers;

	if (share < REPLAY_LEAST)
		share = left < REPLAY_LEAST ? left : REPLAY_LEAST;
	return share < REPLAY_BATCH ? share : REPLAY_BATCH;
}

static void input_path(const struct replay *r, size_t input, char out[PATH])
{
	snprintf(out, PATH, SETUP_DIR_INPUTS "/%s", r->spec.name(r->spec.arg, input));
}

/* No input of this target will be run any more; why: it cannot be. */
static void give_up(struct replay *r, const char *why)
{
	if (why && !*r->sum.why)
		snprintf(r->sum.why, sizeof(r->sum.why), "%.299s", why);
	r->over = true;
}

static void step(struct replay *r)
{
	struct err e;

	/* It was armed before: that does not allocate. */
	if (loop_set_timer(r->idle, clock_mono_us(), &e) < 0)
		give_up(r, e.msg);
}

/* --- one input, alone ----------------------------------------------------- */

static void tell(struct slot *s, const struct crash_report *report, bool only_together)
{
	struct replay *r = s->r;
	struct replay_failure f = {
	    .input = s->at - 1, .only_together = only_together, .report = report};

	r->sum.failed++;
	r->spec.failed(r->spec.arg, &f);
	if (r->sum.failed >= REPLAY_FAILURES_MAX)
		give_up(r, NULL);
}

static void on_alone(void *arg, struct trial_end *end)
{
	struct slot *s = arg;

	s->trial = NULL;
	s->active = false;
	/* Not run alone, it failed all the same. */
	if (end->failed)
		tell(s, end->report, false);
	else
		tell(s, &s->report, !*end->unusable);
	crash_report_done(&s->report);
	step(s->r);
}

static void run_alone(struct slot *s, size_t input)
{
	struct replay *r = s->r;
	_Static_assert(PATH < 4096, "a name in a directory");
	char *path = sys_asprintf("%s/%s", r->spec.dir, r->spec.name(r->spec.arg, input));
	struct trial_spec t = {
	    .target = r->spec.target,
	    .cfg = r->spec.cfg,
	    .index = s->index,
	    .input = path,
	    .symbolize = true,
	    .done = on_alone,
	    .arg = s,
	};
	struct err e;
	int rc = path ? trial_start(r->env, &t, &s->trial, &e) : err_sys(&e, "allocate a path");

	free(path);
	r->sum.cells += rc == 0;
	s->active = rc == 0;
	if (rc < 0) {
		give_up(r, e.msg);
		step(r);
	}
}

/* --- many ----------------------------------------------------------------- */

static void watch(struct slot *s)
{
	uint64_t most = 2 * s->r->spec.cfg->input_timeout_us + AROUND_US;
	struct err e;

	if (loop_set_timer(s->watch, clock_mono_us() + most, &e) < 0)
		give_up(s->r, e.msg);
}

static void on_stuck(void *arg)
{
	struct slot *s = arg;

	if (!s->exec)
		return;
	s->stuck = true;
	exec_stop(s->exec);
}

/* In their order: what the target itself prints moves it on only by forging exactly
 * the line of the next. */
static void on_line(void *arg, struct slice line)
{
	struct slot *s = arg;
	uint64_t before = s->seen.inputs;
	char path[PATH];

	s->r->spec.target->engine->line(line, &s->seen);
	if (s->seen.inputs == before || s->at + s->started >= s->end)
		return;
	input_path(s->r, s->at + s->started, path);
	if (strcmp(s->seen.input, path) != 0)
		return;
	s->started++;
	watch(s);
}

static void on_output(void *arg, struct slice bytes)
{
	struct slot *s = arg;

	crash_parser_feed(s->parser, bytes);
	lines_feed(&s->lines, bytes, on_line, s);
}

static bool ended_well(const struct exec_end *end)
{
	return end->code == 0 && end->signo == 0 && !end->late && !end->stopped && !*end->refused &&
	       end->failure == FAILURE_NONE && end->engine->done;
}

/* The input that was in work, or the last one that was. */
static void blame(struct slot *s, const struct exec_end *end)
{
	struct replay *r = s->r;
	struct exec_end judged = *end;

	judged.late = end->late || s->stuck; /* we stopped it for that */
	(void)trial_own_report(&judged, r->spec.target->name, &s->report);

	r->sum.passed += s->started - 1;
	s->at += s->started;
	if (s->started > 1) {
		run_alone(s, s->at - 1);
		return;
	}
	/* It was alone: nothing ran before it. */
	tell(s, &s->report, false);
	crash_report_done(&s->report);
	step(r);
}

static void on_many(void *arg, const struct exec_end *end)
{
	struct slot *s = arg;
	struct replay *r = s->r;
	struct err e;

	lines_end(&s->lines, on_line, s);
	s->exec = NULL;
	s->active = false;
	if (crash_parser_finish(s->parser, &s->report, &e) < 0)
		give_up(r, e.msg);
	crash_parser_free(s->parser);
	s->parser = NULL;
	if (!end->started) {
		give_up(r, end->why);
	} else if (ended_well(end) && s->started > 0) {
		/* Those that it hid are run again. */
		r->sum.passed += s->started;
		s->at += s->started;
	} else if (r->over && !s->stuck) {
		; /* stopped: nothing is known of the one in work */
	} else if (s->started == 0) {
		give_up(r, s->report.found ? s->report.headline
					   : "the target ended before it ran an input");
	} else {
		blame(s, end);
		return;
	}
	crash_report_done(&s->report);
	step(r);
}

static int add_inputs(const struct slot *s, struct strv *v, struct err *e)
{
	char path[PATH];
	int rc = 0;

	for (size_t i = s->at; rc == 0 && i < s->end; i++) {
		input_path(s->r, i, path);
		rc = strv_add(v, path, e);
	}
	return rc;
}

static int command(const struct slot *s, struct setup *setup, struct err *e)
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
	int rc = add_inputs(s, &inputs, e);

	job.inputs = (const char *const *)inputs.v;
	if (rc == 0)
		rc = spec->target->engine->replay(&job, &setup->cmd, e);
	strv_done(&inputs);
	return rc;
}

static int launch(struct slot *s, struct err *e)
{
	const struct replay_spec *spec = &s->r->spec;
	uint64_t each = 2 * spec->cfg->input_timeout_us;
	struct setup setup;
	int rc = setup_init(&setup, spec->target, spec->cfg, e);

	if (rc == 0)
		rc = setup_mount(&setup, SETUP_DIR_INPUTS, false, e, "%s", spec->dir);
	if (rc == 0)
		rc = command(s, &setup, e);
	if (rc == 0) {
		struct exec_spec x = {
		    .setup = &setup,
		    .index = s->index,
		    .extra_memory = spec->cfg->symbolizer_memory,
		    .deadline_us = (s->end - s->at) * each + AROUND_US, /* on_stuck() is sooner */
		    .output = on_output,
		    .done = on_many,
		    .arg = s,
		};
		rc = exec_start(&s->r->env->exec, &x, &s->exec, e);
	}
	setup_done(&setup);
	return rc;
}

static void run_many(struct slot *s)
{
	struct crash_options o = {.target = s->r->spec.target->name};
	struct err e;
	int rc;

	s->started = 0;
	s->stuck = false;
	s->lines = (struct lines){0};
	s->seen = (struct engine_state){0};
	rc = crash_parser_new(&o, &s->parser, &e);
	if (rc == 0)
		rc = launch(s, &e);
	if (rc < 0) {
		crash_parser_free(s->parser);
		s->parser = NULL;
		give_up(s->r, e.msg);
		return;
	}
	s->r->sum.cells++;
	s->active = true;
	watch(s);
}

/* --- all ------------------------------------------------------------------ */

static void replay_free(struct replay *r)
{
	for (unsigned i = 0; r->slots && i < r->spec.workers; i++)
		source_remove(r->slots[i].watch);
	source_remove(r->idle);
	free(r->slots);
	free(r);
}

/* Gives the slot something to do; false: there is nothing. */
static bool feed(struct slot *s)
{
	struct replay *r = s->r;

	if (r->over)
		return false;
	if (s->at == s->end && r->next < r->spec.n) {
		s->at = r->next;
		s->end = r->next + replay_batch(r->spec.n - r->next, r->spec.workers);
		r->next = s->end;
	}
	if (s->at < s->end)
		run_many(s);
	return s->active;
}

static void on_idle(void *arg)
{
	struct replay *r = arg;
	bool busy = false;

	for (unsigned i = 0; i < r->spec.workers; i++)
		busy = r->slots[i].active || feed(&r->slots[i]) || busy;
	if (busy)
		return;
	r->sum.left_out = r->spec.n - r->sum.passed - r->sum.failed;
	r->sum.wall_us = clock_mono_us() - r->began_us;
	r->spec.done(r->spec.arg, &r->sum);
	replay_free(r);
}

static int make_slots(struct replay *r, struct err *e)
{
	struct loop *l = r->env->exec.loop;
	int rc = 0;

	r->slots = sys_calloc(r->spec.workers, sizeof(*r->slots));
	if (!r->slots)
		return err_sys(e, "allocate %u cells' states", r->spec.workers);
	for (unsigned i = 0; rc == 0 && i < r->spec.workers; i++) {
		struct slot *s = &r->slots[i];

		*s = (struct slot){.r = r, .index = r->spec.index + i};
		/* It finds nothing to do until a cell runs. */
		rc = loop_add_timer(l, r->began_us, on_stuck, s, &s->watch, e);
	}
	return rc;
}

int replay_start(const struct trial_env *env, const struct replay_spec *spec, struct replay **ret,
		 struct err *e)
{
	struct replay *r = sys_calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return err_sys(e, "allocate the replay of '%s'", spec->target->name);
	*r = (struct replay){.env = env, .spec = *spec, .began_us = clock_mono_us()};
	rc = make_slots(r, e);
	if (rc == 0)
		rc = loop_add_timer(env->exec.loop, r->began_us, on_idle, r, &r->idle, e);
	if (rc < 0) {
		replay_free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void replay_stop(struct replay *r)
{
	r->sum.stopped = true;
	give_up(r, NULL);
	for (unsigned i = 0; i < r->spec.workers; i++) {
		if (r->slots[i].exec)
			exec_stop(r->slots[i].exec);
		if (r->slots[i].trial)
			trial_stop(r->slots[i].trial);
	}
}
