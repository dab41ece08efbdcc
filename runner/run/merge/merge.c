/* SPDX-License-Identifier: Apache-2.0 */
/* The start and the end of a merge; its steps are in steps.c. */
#include "runner/run/merge/merge.h"

#include "base/clock.h"
#include "base/memory.h"
#include "runner/run/merge/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define TICK_US USEC_PER_SEC

static void merge_free(struct merge *m)
{
	source_remove(m->tick);
	for (unsigned i = 0; i < m->spec.workers; i++)
		merge_slot_done(&m->slots[i]);
	free(m->slots);
	free(m->path);
	free(m->seeds);
	free(m->lost);
	if (m->dir >= 0)
		close(m->dir);
	free(m);
}

uint64_t merge_time_left(const struct merge *m)
{
	uint64_t now = clock_mono_us();

	return m->deadline_us > now ? m->deadline_us - now : 0;
}

void merge_end_with(struct merge *m, enum merge_verdict v, const char *fmt, ...)
{
	va_list ap;

	if (m->ending)
		return;
	m->ending = true;
	m->result.verdict = v;
	va_start(ap, fmt);
	vsnprintf(m->result.why, sizeof(m->result.why), fmt, ap);
	va_end(ap);
	for (char *c = m->result.why; *c; c++) /* a path in the text may have any bytes */
		if (*c < ' ' || *c == 0x7f)
			*c = '?';
	for (unsigned i = 0; i < m->spec.workers; i++)
		merge_slot_stop(&m->slots[i]);
}

void merge_blame_build(struct merge *m, const char *why)
{
	m->put_back = true;
	merge_end_with(m, MERGE_KEPT, "%s: the corpus stays as it is", why);
}

static bool merge_is_broken(const struct merge *m)
{
	return !m->spec.force && m->n_lost > MERGE_LOST_LEAST &&
	       m->n_lost > m->result.before.files / MERGE_LOST_SHARE;
}

bool merge_bad_one(struct merge *m, const struct merge_bad *bad)
{
	if (*bad->lost && m->n_lost < MERGE_BAD_MAX)
		memcpy(m->lost[m->n_lost++], bad->lost, STORE_NAME);
	m->slow = m->slow || bad->slow;
	m->result.bad++;
	if (merge_is_broken(m))
		merge_blame_build(m, "this build fails on too many inputs");
	else if (m->result.bad >= MERGE_BAD_MAX)
		merge_end_with(m, MERGE_FAILED, "%d bad inputs: the next merge goes on after them",
			       MERGE_BAD_MAX);
	return !m->ending;
}

void merge_finish(struct merge *m)
{
	m->result.wall_us = clock_mono_us() - m->began_us;
	m->spec.done(m->spec.arg, &m->result);
	merge_free(m);
}

static void merge_check_disk(struct merge *m)
{
	struct statvfs v;

	if (fstatvfs(m->env.state->dirfd, &v) == 0 &&
	    (uint64_t)v.f_bavail * v.f_frsize < m->env.disk_reserve)
		merge_end_with(m, MERGE_FAILED,
			       "less than run.disk_reserve is free: make room, or lower it");
}

static void merge_on_tick(void *arg)
{
	struct merge *m = arg;
	uint64_t now = clock_mono_us();
	struct err e;

	for (unsigned i = 0; i < m->spec.workers; i++)
		merge_slot_tick(&m->slots[i], now);
	if (m->step == MERGE_CELLS)
		merge_check_disk(m);
	if (loop_set_timer(m->tick, now + TICK_US, &e) < 0)
		merge_end_with(m, MERGE_FAILED, "%s", e.msg); /* a hang would not be seen */
}

static int init(struct merge *m, struct err *e)
{
	m->slots = xcalloc(m->spec.workers, sizeof(*m->slots));
	m->lost = xcalloc(MERGE_BAD_MAX, sizeof(*m->lost));
	m->path = xasprintf("%s/merge/%s", m->env.state->path, m->spec.target->name);
	if (m->spec.seeds)
		m->seeds = xstrdup(m->spec.seeds);
	for (unsigned i = 0; i < m->spec.workers; i++)
		m->slots[i] = (struct merge_slot){.m = m, .number = i};
	m->began_us = clock_mono_us();
	m->deadline_us = m->began_us + m->spec.budget_us;
	return loop_add_timer(m->env.exec.loop, m->began_us + TICK_US, merge_on_tick, m, &m->tick,
			      e);
}

int merge_start(const struct merge_env *env, const struct merge_spec *spec, struct merge **ret,
		struct err *e)
{
	struct merge *m = xcalloc(1, sizeof(*m));
	int r;

	*m = (struct merge){.env = *env, .spec = *spec, .dir = -1};
	m->result.verdict = MERGE_VERDICT_COUNT;
	r = init(m, e);
	if (r == 0)
		r = merge_begin(m, e);
	if (r < 0) {
		merge_free(m);
		return r;
	}
	*ret = m;
	return 0;
}

void merge_stop(struct merge *m)
{
	merge_end_with(m, MERGE_STOPPED, "stopped");
}
