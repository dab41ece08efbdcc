/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUN_DISPATCH_H
#define TESTS_RUN_DISPATCH_H

/* Simulated jobs on the test's own clock: the functions of job.h, and the run's reactions when a
 * job ends or waits again (runner/run/run.c).  Include unit.h first. */
#include "base/clock.h"
#include "runner/run/dispatch/dispatch.h"

#define S UINT64_C(1000000)

enum { MOST = 8, MERGE_S = 5 };

struct part {
	bool dies;    /* at once when it is started */
	bool deaf;    /* ignores the next pause */
	bool finds;   /* it always finds new coverage */
	bool merges;  /* merges after fuzzing, and borrows workers for it */
	bool other;   /* another binary exists, */
	bool same;    /* of the same content */
	bool unsaved; /* its files cannot be saved at a pause */
	unsigned starts, pauses, wraps, maintained, revived;
	unsigned merge_s; /* remaining */
	uint64_t budget_us, cpu_us;
};

static struct {
	uint64_t now;
	struct dispatch d;
	struct job jobs[MOST];
	struct target_config cfgs[MOST];
	struct part parts[MOST];
	struct run_config cfg;
	size_t n;
	double share;  /* share of a CPU for each cell */
	unsigned most; /* cells at once */
} w;

uint64_t clock_mono_us(void)
{
	return w.now;
}

uint64_t clock_real_us(void)
{
	return 7;
}

static inline enum phase waiting_phase(const struct job *j)
{
	static const enum phase phases[] = {
	    [FLEET_QUEUED] = PHASE_QUEUED,
	    [FLEET_RESTING] = PHASE_RESTING,
	    [FLEET_CAPPED] = PHASE_CAPPED,
	    [FLEET_HELD] = PHASE_HELD,
	};

	return phases[fleet_waits_for(j->fleet)];
}

/* Only running jobs hold workers and memory, and never more than the machine has. */
static inline void check(void)
{
	unsigned busy = 0;
	uint64_t memory = 0;

	for (size_t i = 0; i < w.n; i++) {
		const struct job *j = &w.jobs[i];

		assert_true(j->active || phase_waits(j->phase) || j->phase == PHASE_DONE);
		assert_true(!phase_waits(j->phase) || j->phase == waiting_phase(j));
		busy += j->active + j->lent;
		memory += (j->active + j->lent) * j->cfg->memory;
	}
	assert_int_equal(w.d.busy, busy);
	assert_int_equal(w.d.memory_used, memory);
	assert_true(memory <= w.d.machine_memory || busy == 1);
	w.most = busy > w.most ? busy : w.most;
}

/* --- the simulation --------------------------------------------------------- */

static inline struct part *part_of(const struct job *j)
{
	return &w.parts[j->index];
}

static inline void leave(struct job *j, enum phase to)
{
	j->phase = to == PHASE_QUEUED ? waiting_phase(j) : to;
	j->intent = INTENT_NONE;
	j->reason = to == PHASE_DONE ? j->pending : REASON_NONE;
	j->ask = ASK_NOTHING;
	dispatch_left(&w.d, j);
	dispatch_ended(&w.d, j);
	dispatch_next(&w.d);
}

static inline void merge(struct job *j)
{
	assert_true(w.d.busy <= w.d.workers.now);
	j->phase = PHASE_MERGING;
	j->lent = dispatch_lend(&w.d, j, MOST);
	part_of(j)->merge_s = MERGE_S;
	j->maintained_at_us = w.now;
}

void job_start(struct job *j, uint64_t budget_us)
{
	struct part *p = part_of(j);

	assert_true(phase_waits(j->phase) && j->phase != PHASE_CAPPED);
	assert_int_equal(j->pending, REASON_NONE);
	assert_true(w.d.busy <= w.d.workers.now);
	p->starts++;
	p->budget_us = budget_us;
	p->cpu_us = 0;
	if (p->other && !p->same)
		fleet_rebuilt(j->fleet);
	p->other = false;
	j->phase = PHASE_FUZZING;
	j->began_us = w.now;
	fleet_launched(j->fleet, w.now);
	if (!p->dies)
		return;
	j->pending = REASON_STARTUP_FAILED;
	leave(j, PHASE_DONE);
}

void job_pause(struct job *j, bool now)
{
	struct part *p = part_of(j);

	j->hurries = now;
	p->pauses++;
	if (!phase_waits(j->phase) && j->phase != PHASE_DONE)
		j->intent = INTENT_PAUSE;
	if (j->phase == PHASE_FUZZING && !p->deaf)
		j->phase = PHASE_STOPPING;
	p->deaf = false;
}

void job_stop(struct job *j, enum reason r, bool now)
{
	(void)now;
	if (j->pending == REASON_NONE)
		j->pending = r;
	if (j->phase == PHASE_FUZZING)
		j->phase = PHASE_STOPPING;
	else if (phase_waits(j->phase) && !part_of(j)->merges)
		leave(j, PHASE_DONE);
}

void job_kill(struct job *j, enum reason r)
{
	job_stop(j, r, true);
}

bool job_wraps_up(const struct job *j)
{
	return phase_waits(j->phase) && j->pending != REASON_NONE;
}

void job_wrap_up(struct job *j)
{
	part_of(j)->wraps++;
	merge(j);
}

bool job_needs_maintenance(const struct job *j)
{
	return phase_waits(j->phase) && j->pending == REASON_NONE && j->fuzzed;
}

void job_new_day(struct job *j)
{
	j->triage_us = 0;
	j->forgiven = j->failures_total;
}

void job_maintain(struct job *j)
{
	part_of(j)->maintained++;
	j->intent = INTENT_PAUSE;
	j->fuzzed = false;
	merge(j);
}

void job_settle(struct job *j)
{
	if (phase_waits(j->phase))
		j->phase = waiting_phase(j);
}

void job_revive(struct job *j)
{
	part_of(j)->revived++;
	j->phase = PHASE_QUEUED;
	j->reason = j->pending = REASON_NONE;
}

bool job_other_binary(const struct job *j)
{
	return part_of(j)->other;
}

void job_log(struct job *j, const char *text)
{
	(void)j;
	assert_true(*text);
}

uint64_t job_fuzzed_us(const struct job *j, uint64_t now_us)
{
	(void)now_us;
	return j->used_us;
}

/* --- time ------------------------------------------------------------------- */

static inline void fuzz(struct job *j)
{
	struct part *p = part_of(j);
	struct fleet_news n = {.fuzzes = true, .edges_total = 1000, .cov = 10};
	struct effective_reading r = {.at_us = w.now};

	p->cpu_us += (uint64_t)(w.share * S);
	r.usage_us = p->cpu_us;
	r.cpu_stall_us = (uint64_t)((1 - w.share) / w.share * (double)p->cpu_us);
	fleet_read(j->fleet, &r);
	n.cov += p->finds ? j->fleet->curve.build_us / (S / 10) : 0;
	(void)fleet_take_stats(j->fleet, &n);
	j->used_us += S;
	j->fuzzed = true;
}

static inline void merged(struct job *j)
{
	dispatch_give_back(&w.d, j, j->lent);
	j->lent = 0;
	leave(j, j->pending == REASON_NONE ? PHASE_QUEUED : PHASE_DONE);
}

static inline void not_saved(struct job *j)
{
	j->uncollected = true;
	j->pending = REASON_DISK_LIMIT;
	leave(j, PHASE_DONE);
}

static inline void live(struct job *j)
{
	struct part *p = part_of(j);

	if (j->phase == PHASE_FUZZING)
		fuzz(j);
	else if (j->phase == PHASE_STOPPING && p->unsaved)
		not_saved(j);
	else if (j->phase == PHASE_STOPPING && j->pending == REASON_NONE)
		leave(j, PHASE_QUEUED);
	else if (j->phase == PHASE_STOPPING && !p->merges)
		leave(j, PHASE_DONE);
	else if (j->phase == PHASE_STOPPING)
		merge(j);
	else if (j->phase == PHASE_MERGING && p->merge_s-- == 0)
		merged(j);
}

static inline void seconds(unsigned n)
{
	while (n-- > 0) {
		w.now += S;
		for (size_t i = 0; i < w.n; i++) {
			live(&w.jobs[i]);
			check();
		}
		dispatch_second(&w.d, w.now);
		dispatch_next(&w.d);
		check();
	}
}

static inline size_t in_phase(enum phase p)
{
	size_t n = 0;

	for (size_t i = 0; i < w.n; i++)
		n += w.jobs[i].phase == p;
	return n;
}

static inline size_t waiting(void)
{
	size_t n = 0;

	for (size_t i = 0; i < w.n; i++)
		n += phase_waits(w.jobs[i].phase);
	return n;
}

/* Starts n jobs with a tenth of the machine's memory each. */
static inline void begin(size_t n, unsigned workers, bool continuous)
{
	w.now = 1000 * S;
	w.n = n;
	w.share = 1;
	w.cfg = (struct run_config){.turn_us = 300 * S, .floor_milli = 50, .hold_us = 600 * S};
	dispatch_init(&w.d, &w.cfg, workers, 1000, continuous, n);
	w.d.jobs = w.jobs;
	for (size_t i = 0; i < n; i++) {
		w.cfgs[i] =
		    (struct target_config){.memory = 100,
					   .max_time_us = 86400 * S,
					   .plateau = {.price_milli = 50, .window_us = 600 * S}};
		w.jobs[i] = (struct job){.index = i, .fleet = &w.d.targets[i], .cfg = &w.cfgs[i]};
		dispatch_join(&w.d, i, &w.cfgs[i], 0, NULL, NULL);
	}
}

static inline int teardown(void **state)
{
	(void)state;
	dispatch_done(&w.d);
	memset(&w, 0, sizeof(w));
	return 0;
}

/* As a run that ends. */
static inline void close_all(enum reason why)
{
	w.d.closed = true;
	for (size_t i = 0; i < w.n; i++)
		if (w.jobs[i].phase != PHASE_DONE)
			job_stop(&w.jobs[i], why, false);
}

#define CASE(f) cmocka_unit_test_teardown(f, teardown)

#endif
