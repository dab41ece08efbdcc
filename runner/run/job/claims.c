/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether the numbers that a job's engine prints are possible.  The target shares the
 * engine's output, and false numbers would give it more CPU time.  The bounds do not depend on that
 * output: the counters in the files that the process maps, and the kernel's count of its CPU time.
 */
#include "base/clock.h"
#include "runner/run/job/fuzzing.h"
#include "runner/run/job/internal.h"
#include "runner/run/job/modules.h"

#include <stdio.h>
#include <string.h>

/* A bound that no engine reaches: 50 ns for copying the input, the call and reading the counters.
 * The kernel's count may lag by a tick.  Our reading lags by less than a second. */
enum { EXECS_PER_US = 20 };
#define LATE_US USEC_PER_SEC
#define TICK_US (10 * USEC_PER_MSEC)
/* The bound without countable sections: an edge takes at least a counter and a table entry. */
enum { BYTES_AN_EDGE = 16 };
/* A single odd line may be two lines that were written at once, so more are needed. */
enum { REFUSED_LEAST = 3, REFUSED_SHARE = 10 };
enum { LOOKS_MAX = 16 /* at the files of a cell */ };
#define LOOK_US USEC_PER_SEC

static void set_bound(struct job *j)
{
	j->fuzzing->engine.edges_most =
	    j->claims.edges ? j->claims.edges : j->cfg->memory / BYTES_AN_EDGE;
}

void job_claims_build(struct job *j, uint64_t edges)
{
	if (edges > j->claims.edges)
		j->claims.edges = edges;
}

void job_claims_recall(struct job *j, const char *text)
{
	j->claims.forged = true;
	snprintf(j->claims.text, sizeof(j->claims.text), "%s", text);
}

void job_claims_other_build(struct job *j)
{
	memset(&j->claims, 0, sizeof(j->claims));
}

void job_claims_launched(struct job *j)
{
	j->claims.execs = 0;
	set_bound(j);
}

uint64_t job_execs(const struct job *j)
{
	uint64_t most = (j->now.usage_us + LATE_US) * EXECS_PER_US;

	if (!j->fuzzing)
		return 0;
	return j->fuzzing->engine.execs < most ? j->fuzzing->engine.execs : most;
}

/* The number of executions that were possible until now.  The engine has one thread: since the
 * last reading it used at most the time that has passed. */
static uint64_t execs_now(const struct job *j)
{
	uint64_t now = clock_mono_us(), read = j->fleet->clock.last.at_us;
	uint64_t since = now > read ? now - read : 0;

	return (j->now.usage_us + since + LATE_US) * EXECS_PER_US;
}

static void job_claims_mark(struct job *j)
{
	char text[240];

	j->claims.forged = true;
	fleet_forged(j->fleet);
	snprintf(text, sizeof(text), "FORGED STATISTICS: its numbers are ignored from now on: %s",
		 j->claims.text);
	job_log(j, text);
	j->env->news(j->env->arg, j, JOB_FORGES);
}

static void refused(struct job *j)
{
	struct job_claims *c = &j->claims;
	uint64_t lines = c->lines + j->fuzzing->engine.status_lines;

	if (c->refused++ == 0)
		snprintf(c->text, sizeof(c->text), "%s", j->fuzzing->engine.refused_text);
	if (!c->forged && c->refused >= REFUSED_LEAST && c->refused * REFUSED_SHARE >= lines)
		job_claims_mark(j);
}

/* Counts the edges of the files that the process maps now.  False: that is not possible now. */
static bool job_claims_look(struct job *j)
{
	struct fuzzing *a = j->fuzzing;
	uint64_t edges, now = clock_mono_us();
	pid_t pid = cell_pid(a->cell);

	if (pid <= 0 || a->looks >= LOOKS_MAX || (a->looks && now - a->looked_us < LOOK_US))
		return false;
	a->looks++;
	a->looked_us = now;
	switch (modules_edges(pid, &edges)) {
	case MODULES_GONE:
		return false;
	case MODULES_UNKNOWN:
		j->claims.edges = 0;
		break;
	case MODULES_COUNTED:
		job_claims_build(j, edges);
		break;
	}
	set_bound(j);
	return true;
}

static void job_claims_hold(struct fuzzing *a, struct slice line)
{
	if (line.n + 1 > sizeof(a->held) - a->n_held)
		return;
	memcpy(a->held + a->n_held, line.p, line.n);
	a->n_held += line.n;
	a->held[a->n_held++] = '\n';
}

/* Judges the lines that could not be judged at once, after a look.  They are old: their coverage
 * does not count as found now. */
static void judge_held(struct job *j)
{
	struct fuzzing *a = j->fuzzing;
	struct slice in = {a->held, a->n_held}, line;
	uint64_t before;

	if (a->n_held == 0)
		return;
	a->n_held = 0;
	while (scan_line(&in, &line)) {
		before = a->engine.refused;
		j->target->engine->line(line, &a->engine);
		if (a->engine.refused > before)
			refused(j);
	}
	(void)fleet_seeded(j->fleet, a->engine.cov);
}

void job_claims_line(struct job *j, struct slice line)
{
	struct engine_state *s = &j->fuzzing->engine;
	uint64_t before = s->refused, edges;

	s->execs_most = execs_now(j);
	j->target->engine->line(line, s);
	if (s->refused == before)
		return;
	if (s->refused_edges == 0 || j->claims.forged) {
		refused(j);
		return;
	}
	/* The program may have loaded libraries since the last count. */
	edges = s->refused_edges;
	if (!job_claims_look(j)) {
		job_claims_hold(j->fuzzing, line);
		return;
	}
	judge_held(j);
	if (edges <= s->edges_most)
		j->target->engine->line(line, s);
	else
		refused(j);
}

/* Judges the curve of an earlier run. */
static void judge_kept(struct job *j)
{
	struct fleet_target *t = j->fleet;
	char text[200];

	if (t->main || !t->known || j->claims.edges == 0 || t->curve.cov <= j->claims.edges ||
	    !job_claims_look(j) || j->claims.edges == 0 || t->curve.cov <= j->claims.edges)
		return;
	snprintf(text, sizeof(text),
		 "an earlier run noted %llu edges, the program has %llu: the progress is reset",
		 (unsigned long long)t->curve.cov, (unsigned long long)j->claims.edges);
	job_log(j, text);
	fleet_forget(t);
}

/* late_us: the maximum lag of the CPU time. */
static void judge_execs(struct job *j, uint64_t usage_us, uint64_t late_us)
{
	uint64_t most = (usage_us + late_us) * EXECS_PER_US;
	struct engine_state *s = &j->fuzzing->engine;
	uint64_t *claimed[] = {&s->execs, &s->final.execs};
	bool can_be = true;

	for (size_t i = 0; i < 2; i++) {
		if (*claimed[i] <= most)
			continue;
		can_be = false;
		snprintf(s->refused_text, sizeof(s->refused_text),
			 "%llu executions in %.1f s of CPU time", (unsigned long long)*claimed[i],
			 (double)usage_us / (double)USEC_PER_SEC);
		*claimed[i] = j->claims.execs;
	}
	if (can_be)
		j->claims.execs = s->execs;
	else
		refused(j);
}

void job_claims_tick(struct job *j, uint64_t usage_us)
{
	judge_execs(j, usage_us, LATE_US);
	if (j->fuzzing->n_held > 0 && job_claims_look(j))
		judge_held(j);
	judge_kept(j);
}

void job_claims_ended(struct job *j, uint64_t usage_us)
{
	judge_execs(j, usage_us, TICK_US); /* the CPU time was read after the end */
	j->claims.lines += j->fuzzing->engine.status_lines;
}

uint64_t job_claimed_rss(const struct job *j)
{
	/* Mapped files are not always charged to the process's cgroup. */
	uint64_t files = j->target->size + (UINT64_C(64) << 20);
	uint64_t peak = j->before.mem_peak > j->now.mem_peak ? j->before.mem_peak : j->now.mem_peak;
	uint64_t most = (peak ? peak : j->cfg->memory) + files;

	return j->rss_mib <= most >> 20 ? j->rss_mib << 20 : most;
}
