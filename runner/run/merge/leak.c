/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the inputs that leak.  While it measures, the engine checks for leaks only at its end, and
 * the target's output is a hint at best.  So the inputs are replayed, and a group that leaks is
 * halved until a single input leaks by itself. */
#include "base/clock.h"
#include "base/memory.h"
#include "runner/run/merge/internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void next_chunk(struct merge_slot *s);
static void next_range(struct merge_slot *s);

void merge_slot_done(struct merge_slot *s)
{
	free(s->leaks.names);
	s->leaks = (struct merge_leaks){0};
}

static void merge_leak_leave(struct merge_slot *s)
{
	merge_slot_done(s);
	merge_slot_free(s);
}

static void merge_leak_give_up(struct merge_slot *s, const char *why)
{
	merge_end_with(s->m, MERGE_FAILED, "looking for a leak: %s", why);
	merge_leak_leave(s);
}

static void push(struct merge_leaks *l, size_t from, size_t to)
{
	if (from >= to)
		return;
	/* A chunk is halved nine times at most, and each time one half waits. */
	assert(l->depth < sizeof(l->stack) / sizeof(l->stack[0]));
	l->stack[l->depth++] = (struct merge_range){from, to};
}

/* --- an input that leaks ---------------------------------------------------------------- */

static void on_put_away(void *arg, struct slice result, const char *failed)
{
	struct merge_slot *s = arg;

	struct merge_bad bad;

	if (!failed && result.n != sizeof(bad))
		failed = "no result";
	if (failed) {
		merge_leak_give_up(s, failed);
		return;
	}
	memcpy(&bad, result.p, sizeof(bad));
	if (merge_bad_one(s->m, &bad))
		next_range(s);
	else
		merge_leak_leave(s);
}

static void merge_leak_put_away(struct merge_slot *s)
{
	struct task *t;
	struct err e;

	s->kind = "leak";
	s->blamed = s->leaks.names[s->leaks.now.from];
	if (task_start(s->m->env.exec.loop, merge_task_leak, s, on_put_away, s, &t, &e) < 0)
		merge_leak_give_up(s, e.msg);
}

/* --- replaying --------------------------------------------------------------------------- */

static void merge_leak_on_end(void *arg, const struct exec_end *end)
{
	struct merge_slot *s = arg;
	struct merge_range now = s->leaks.now;
	size_t half = now.from + (now.to - now.from) / 2;

	s->exec = NULL;
	s->m->result.cells++;
	if (end->late)
		merge_end_with(s->m, MERGE_LATE, "the time for merging is over");
	if (end->failure != FAILURE_LEAK || s->m->ending) {
		next_range(s);
		return;
	}
	if (now.to - now.from == 1) {
		merge_leak_put_away(s);
		return;
	}
	push(&s->leaks, half, now.to);
	push(&s->leaks, now.from, half);
	next_range(s);
}

static int merge_leak_make_setup(struct setup *s, const struct merge *m, const struct strv *inputs,
				 struct err *e)
{
	const struct target_config *cfg = m->spec.cfg;
	struct engine_replay job = {
	    .inputs = (const char *const *)inputs->v,
	    .input_timeout_s = (cfg->input_timeout_us + USEC_PER_SEC - 1) / USEC_PER_SEC,
	    .rss_limit_mib = cfg->rss_limit >> 20,
	};

	setup_init(s, m->spec.target, cfg);
	merge_mount_inputs(s, m);
	job.binary = s->binary;
	job.flags = (const char *const *)s->flags.v;
	job.env = (const char *const *)s->env.v;
	return m->spec.target->engine->replay(&job, &s->cmd, e);
}

static int merge_leak_replay(struct merge_slot *s, struct err *e)
{
	struct merge *m = s->m;
	struct setup setup;
	struct strv inputs = {0};
	struct exec_spec x = {
	    .setup = &setup,
	    .index = m->spec.index + s->number,
	    .deadline_us = merge_time_left(m),
	    .output = merge_slot_output,
	    .done = merge_leak_on_end,
	    .arg = s,
	};
	int r;

	for (size_t i = s->leaks.now.from; i < s->leaks.now.to; i++)
		strv_pushf(&inputs, SETUP_DIR_INPUTS "/%s", s->leaks.names[i]);
	r = merge_leak_make_setup(&setup, m, &inputs, e);
	if (r == 0)
		r = exec_start(&m->env.exec, &x, &s->exec, e);
	setup_done(&setup);
	strv_done(&inputs);
	return r;
}

static void next_range(struct merge_slot *s)
{
	struct merge_leaks *l = &s->leaks;
	struct err e;

	if (s->m->ending)
		merge_leak_leave(s);
	else if (l->depth == 0)
		next_chunk(s);
	else {
		l->now = l->stack[--l->depth];
		if (merge_leak_replay(s, &e) < 0)
			merge_leak_give_up(s, e.msg);
	}
}

/* --- what to replay ------------------------------------------------------------------------ */

static void on_names(void *arg, struct slice result, const char *failed)
{
	struct merge_slot *s = arg;
	struct merge_leaks *l = &s->leaks;

	if (!failed && result.n > (size_t)MERGE_LEAK_CHUNK * STORE_NAME)
		failed = "too many names";
	if (failed) {
		merge_leak_give_up(s, failed);
		return;
	}
	l->n = result.n / STORE_NAME;
	memcpy(l->names, result.p, l->n * STORE_NAME);
	l->at += MERGE_LEAK_CHUNK;
	push(l, 0, l->n);
	next_range(s);
}

static void next_chunk(struct merge_slot *s)
{
	struct task *t;
	struct err e;

	if (s->leaks.at >= s->leaks.end)
		merge_leak_leave(s);
	else if (task_start(s->m->env.exec.loop, merge_task_names, s, on_names, s, &t, &e) < 0)
		merge_leak_give_up(s, e.msg);
}

void merge_leaks_start(struct merge_slot *s)
{
	struct merge_leaks *l = &s->leaks;

	*l = (struct merge_leaks){.at = s->facts.first, .end = s->next};
	l->names = xmalloc((size_t)MERGE_LEAK_CHUNK * STORE_NAME);
	next_chunk(s);
}
