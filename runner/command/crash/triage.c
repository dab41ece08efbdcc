/* SPDX-License-Identifier: Apache-2.0 */
/* Triages the artifacts in triage/<target>/, without fuzzing. */
#include "runner/run/triage/triage.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/cells.h"
#include "runner/command/common/pace.h"
#include "runner/command/crash/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define NO_BUDGET (365 * UINT64_C(86400) * USEC_PER_SEC)
enum { PART_LEAST = 16 }; /* artifacts per part, if there are several parts */

struct triage_all;

/* A target with artifacts that wait. Several triages process parts of its queue. Then one triage
 * minimises the inputs of its crashes. */
struct queue {
	const struct plan_entry *target;
	struct triage_parts parts;
	unsigned begun, active; /* parts */
	uint64_t until_us;	/* its deadline */
	bool minimises;		/* minimising has begun */
	struct triage_sum sum;
};

/* A place for the cells of one part. */
struct place {
	struct triage_all *all;
	size_t index; /* selects the user of its cells */
	struct queue *queue;
	struct triage *triage; /* NULL: free */
};

struct triage_all {
	struct session session;
	const char *workers;
	const char *commit;
	uint64_t time_us; /* limit per target; 0: none */
	struct cells cells;
	struct books *books;
	struct triage_env env;
	char run[64], last_commit[128];
	struct place *places;
	size_t next;	    /* of the plan */
	uint64_t waiting;   /* number of targets from `next` on with artifacts */
	uint64_t artifacts; /* number of artifacts at the start */
	struct pace pace;
	struct queue *open; /* has parts that are not started; NULL: none */
	unsigned active;    /* number of places in use */
	struct triage_sum sum;
	bool failed; /* an error was printed or noted */
	bool json;
	json_t *targets, *others; /* JSON: the results of targets; queues without a target */
};

#define AT(member) OPTION_AT(struct triage_all, member)
static const struct option_spec specs[] = {
    COMMON_OPTIONS(struct triage_all, session.common),
    {"workers", "N", "cells at once (default: one per CPU)", AT(workers)},
    {"time", "TIME", "time limit per target (default: none)", AT(time_us)},
    {"commit", "SHA", "the commit that the targets were built from (default: the last run's)",
     AT(commit)},
    {"json", NULL, "print JSON", AT(json)},
};

/* --- what waits ----------------------------------------------------------- */

static bool crash_triage_is_planned(const struct triage_all *a, const char *target)
{
	for (size_t i = 0; i < a->session.plan.n; i++)
		if (strcmp(a->session.plan.v[i].target->name, target) == 0)
			return true;
	return false;
}

/* Prints artifacts that wait for targets that no longer exist. */
static void crash_triage_print_others(const struct triage_all *a)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(a->session.state->dirfd, "triage");
	const struct dirent *ent;
	char name[CRASH_LINE], text[UNITS_OF_MAX];

	while (d && (ent = sys_readdir(d))) {
		uint64_t n = state_waiting(a->session.state, ent->d_name);

		if (n == 0 || crash_triage_is_planned(a, ent->d_name))
			continue;
		printf("%s: %s, but there is no such target\n", crash_line(ent->d_name, name),
		       units_of(n, "artifact waits", "artifacts wait", text));
		(void)json_array_append_new(a->others, json_pack("{s:o, s:I}", "target",
								 answer_text(ent->d_name), "left",
								 (json_int_t)n));
	}
}

/* --- the work ------------------------------------------------------------- */

static void crash_triage_fill(struct triage_all *a);
static void crash_triage_on_done(void *arg, const struct triage_sum *sum);

/* Number of artifacts that are no failures. */
static uint64_t harmless_of(const struct triage_sum *s)
{
	return s->dismissed + s->passed;
}

/* Number of artifacts of known crashes. */
static uint64_t known_of(const struct triage_sum *s)
{
	uint64_t other = s->found + s->regressed + harmless_of(s);

	return s->artifacts > other ? s->artifacts - other : 0;
}

static json_t *sum_json(const struct plan_entry *p, const struct triage_sum *s)
{
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "target",
			 answer_text(p->target->name), "artifacts", (json_int_t)s->artifacts, "new",
			 (json_int_t)s->found, "regressed", (json_int_t)s->regressed, "known",
			 (json_int_t)known_of(s), "dismissed", (json_int_t)harmless_of(s), "flaky",
			 (json_int_t)s->flaky, "minimized", (json_int_t)s->minimised, "replays",
			 (json_int_t)s->replays, "left", (json_int_t)s->left, "note",
			 answer_text(s->note));
}

/* "uaf_fuzzer: 7 artifacts: 1 new crash, 6 of known crashes; 1 input made smaller; 40 replays" */
static void crash_triage_print_sum(const struct plan_entry *p, const struct triage_sum *s)
{
	const struct {
		const char *before;
		uint64_t n;
		const char *one, *more;
	} parts[] = {
	    {": ", s->found, "new crash", "new crashes"},
	    {", ", s->regressed, "crash came back", "crashes came back"},
	    {", ", known_of(s), "of a known crash", "of known crashes"},
	    {", ", harmless_of(s), "is no failure", "are no failures"},
	    {"; of all, ", s->flaky, "hardly reproducible", "hardly reproducible"},
	    {"; ", s->minimised, "input made smaller", "inputs made smaller"},
	};
	char note[CRASH_LINE], text[UNITS_OF_MAX];
	bool first = true;

	printf("%s: %s", p->target->name, units_of(s->artifacts, "artifact", "artifacts", text));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].n == 0)
			continue;
		printf("%s%s", first && *parts[i].before == ',' ? ": " : parts[i].before,
		       units_of(parts[i].n, parts[i].one, parts[i].more, text));
		first = false;
	}
	printf("; %s\n", units_of(s->replays, "replay", "replays", text));
	if (s->left)
		printf("%s: %s%s%s\n", p->target->name,
		       units_of(s->left, "artifact still waits", "artifacts still wait", text),
		       *s->note ? ": " : "", crash_line(s->note, note));
	else if (*s->note)
		printf("%s: %s\n", p->target->name, crash_line(s->note, note));
}

static void crash_triage_add(struct triage_sum *to, const struct triage_sum *s)
{
	to->artifacts += s->artifacts;
	to->found += s->found;
	to->regressed += s->regressed;
	to->dismissed += s->dismissed;
	to->passed += s->passed;
	to->flaky += s->flaky;
	to->minimised += s->minimised;
	to->replays += s->replays;
	to->left = s->left; /* already the whole queue's */
	if (!*to->note)
		memcpy(to->note, s->note, sizeof(to->note));
}

static int crash_triage_start(struct place *p, struct queue *q, unsigned stages, struct err *e)
{
	struct triage_all *a = p->all;
	uint64_t now = clock_mono_us();
	_autofree_ char *work = xasprintf("%s/%zu", a->cells.path, p->index);
	struct triage_spec s = {
	    .target = q->target->target,
	    .cfg = &q->target->cfg,
	    .index = p->index,
	    .stages = stages,
	    .budget_us = q->until_us > now ? q->until_us - now : 0,
	    .work = work,
	    .parts = &q->parts,
	    .part = q->begun,
	    .done = crash_triage_on_done,
	    .arg = p,
	};

	if (sys_mkdirat(AT_FDCWD, work, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make directory '%s'", work);
	p->queue = q;
	return triage_start(&a->env, &s, &p->triage, e);
}

static void conclude_queue(struct triage_all *a, struct queue *q)
{
	crash_triage_print_sum(q->target, &q->sum);
	(void)json_array_append_new(a->targets, sum_json(q->target, &q->sum));
	a->sum.artifacts += q->sum.artifacts;
	a->sum.found += q->sum.found;
	a->sum.left += q->sum.left;
	a->failed = a->failed || *q->sum.note;
	free(q);
}

/* Returns false after an error, which it prints. */
static bool crash_triage_begin(struct place *p, struct queue *q, unsigned stages)
{
	struct triage_all *a = p->all;
	struct err e;

	if (crash_triage_start(p, q, stages, &e) < 0) {
		(void)fail(EXIT_INTERNAL, "%s: %s", q->target->target->name, e.msg);
		p->triage = NULL;
		a->failed = true;
		return false;
	}
	q->active++;
	a->active++;
	return true;
}

/* After the last of several parts, starts one triage that minimises the inputs of the crashes. */
static bool crash_triage_begin_minimising(struct place *p, struct queue *q)
{
	if (q->parts.n == 1 || q->minimises || cells_stopped(&p->all->cells))
		return false;
	q->minimises = true;
	return crash_triage_begin(p, q, TRIAGE_MINIMISE);
}

static void crash_triage_on_done(void *arg, const struct triage_sum *sum)
{
	struct place *p = arg;
	struct triage_all *a = p->all;
	struct queue *q = p->queue;

	crash_triage_add(&q->sum, sum);
	p->triage = NULL;
	q->active--;
	a->active--;
	if (q == a->open && cells_stopped(&a->cells))
		a->open = NULL;
	if (q != a->open && q->active == 0 && !crash_triage_begin_minimising(p, q))
		conclude_queue(a, q);
	crash_triage_fill(a);
}

static struct place *crash_triage_free_place(struct triage_all *a)
{
	for (unsigned i = 0; i < a->cells.workers; i++)
		if (!a->places[i].triage)
			return &a->places[i];
	return NULL;
}

/* Returns the number of parts: an equal share of the places, and at most one part per PART_LEAST
 * artifacts. */
static unsigned parts_for(const struct triage_all *a, uint64_t waiting)
{
	uint64_t share = a->waiting ? a->cells.workers / a->waiting : 1;
	uint64_t most = (waiting + PART_LEAST - 1) / PART_LEAST;

	share = share < most ? share : most;
	return share ? (unsigned)share : 1;
}

/* Returns a queue with a part that is not started; NULL: there is none. */
static struct queue *next_queue(struct triage_all *a)
{
	struct plan *plan = &a->session.plan;

	while (!a->open && a->next < plan->n) {
		const struct plan_entry *t = &plan->v[a->next++];
		uint64_t waiting = state_waiting(a->session.state, t->target->name);

		if (waiting == 0)
			continue;
		a->open = xcalloc(1, sizeof(*a->open));
		a->open->target = t;
		a->open->until_us = clock_mono_us() + (a->time_us ? a->time_us : NO_BUDGET);
		a->open->parts.n = parts_for(a, waiting);
		a->waiting -= a->waiting > 0;
	}
	return a->open;
}

/* Starts the next part of the queue. */
static void crash_triage_begin_part(struct triage_all *a, struct place *p, struct queue *q)
{
	bool begun = crash_triage_begin(
	    p, q, q->parts.n == 1 ? TRIAGE_QUEUE | TRIAGE_MINIMISE : TRIAGE_QUEUE);

	if (++q->begun < q->parts.n)
		return;
	a->open = NULL;
	if (!begun && q->active == 0)
		conclude_queue(a, q);
}

static void crash_triage_fill(struct triage_all *a)
{
	struct place *p;
	struct queue *q;

	while (!cells_stopped(&a->cells) && (p = crash_triage_free_place(a)) && (q = next_queue(a)))
		crash_triage_begin_part(a, p, q);
	if (a->active == 0)
		loop_stop(a->cells.replay.exec.loop);
}

/* Returns the number of targets with artifacts that wait. *ret_artifacts: the number of
 * artifacts. */
static uint64_t count_waiting(const struct triage_all *a, uint64_t *ret_artifacts)
{
	const struct plan *plan = &a->session.plan;
	uint64_t n = 0;

	*ret_artifacts = 0;
	for (size_t i = 0; i < plan->n; i++) {
		uint64_t waiting = state_waiting(a->session.state, plan->v[i].target->name);

		n += waiting > 0;
		*ret_artifacts += waiting;
	}
	return n;
}

static void crash_triage_look(void *arg, uint64_t *ret_done, uint64_t *ret_of)
{
	const struct triage_all *a = arg;
	uint64_t left;

	(void)count_waiting(a, &left);
	*ret_of = a->artifacts;
	*ret_done = left < a->artifacts ? a->artifacts - left : 0;
}

static void crash_triage_on_stop(void *arg)
{
	struct triage_all *a = arg;

	for (unsigned i = 0; i < a->cells.workers; i++)
		if (a->places[i].triage)
			triage_stop(a->places[i].triage);
}

/* --- around it ------------------------------------------------------------ */

/* Attributes the crashes to the last run, which found the artifacts. */
static void name_run(struct triage_all *a)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(a->session.state->dirfd, "logs");
	const struct dirent *ent;

	snprintf(a->run, sizeof(a->run), "triage");
	for (bool any = false; d && (ent = sys_readdir(d));)
		if (ent->d_name[0] >= '0' && ent->d_name[0] <= '9' && strlen(ent->d_name) < 32 &&
		    (!any || strcmp(ent->d_name, a->run) > 0)) {
			snprintf(a->run, sizeof(a->run), "%.31s", ent->d_name);
			any = true;
		}
}

static void name_commit(struct triage_all *a)
{
	_autofree_ char *text = NULL;
	struct err e;
	size_t n;

	if (a->commit || fs_read(a->session.state->dirfd, "last_run_commit", sizeof(a->last_commit),
				 &text, &n, &e) < 0)
		return;
	snprintf(a->last_commit, sizeof(a->last_commit), "%s", text);
	a->last_commit[strcspn(a->last_commit, "\r\n")] = '\0';
	a->commit = *a->last_commit ? a->last_commit : NULL;
}

static int crash_triage_work(struct triage_all *a)
{
	struct err e;

	a->places = xcalloc(a->cells.workers, sizeof(*a->places));
	for (unsigned i = 0; i < a->cells.workers; i++)
		a->places[i] = (struct place){.all = a, .index = i};
	a->env = (struct triage_env){.replay = a->cells.replay,
				     .books = a->books,
				     .state = a->session.state,
				     .run = a->run,
				     .commit = a->commit};
	a->waiting = count_waiting(a, &a->artifacts);
	a->pace = (struct pace){
	    .look = crash_triage_look, .arg = a, .what = "crash triage", .unit = "artifacts"};
	if (pace_begin(&a->pace, a->cells.replay.exec.loop, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	a->active = 1; /* crash_triage_fill() before the loop runs must not stop it */
	crash_triage_fill(a);
	if (--a->active == 0)
		return EXIT_DONE;
	return cells_run(&a->cells, crash_triage_on_stop, a);
}

static int crash_triage_conclude(struct triage_all *a, json_t **ret)
{
	char artifacts[UNITS_OF_MAX], crashes[UNITS_OF_MAX], left[UNITS_OF_MAX];

	crash_triage_print_others(a);
	*ret = json_pack("{s:I, s:I, s:I, s:O, s:O}", "artifacts", (json_int_t)a->sum.artifacts,
			 "new", (json_int_t)a->sum.found, "left", (json_int_t)a->sum.left,
			 "targets", a->targets, "not_here", a->others);
	printf("%s triaged, %s, %s\n",
	       units_of(a->sum.artifacts, "artifact", "artifacts", artifacts),
	       units_of(a->sum.found, "new crash", "new crashes", crashes),
	       units_of(a->sum.left, "still waits", "still wait", left));
	return a->failed || a->sum.left ? EXIT_NOT_FUZZED : EXIT_DONE;
}

static int triage(struct triage_all *a, json_t **ret)
{
	int r = session_open(&a->session);
	char warning[300];
	struct err e;

	if (r == EXIT_DONE)
		r = cells_open(&a->cells, &a->session, "triage");
	if (r != EXIT_DONE)
		return r;
	name_run(a);
	name_commit(a);
	if (books_open(a->session.machine.loop, a->session.state, NULL, &a->books, warning, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (*warning)
		warn("%s", warning);
	r = crash_triage_work(a);
	return r == EXIT_DONE ? crash_triage_conclude(a, ret) : r;
}

int command_crash_triage(int argc, char **argv)
{
	struct triage_all a = {0};
	int at = options_parse(argc, argv, "crash triage [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	json_t *j = NULL;
	struct err e;
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "crash triage: unexpected '%s'", argv[at]);
	begun = answer_begin(a.json);
	a.targets = json_array();
	a.others = json_array();
	r = session_load(&a.session);
	if (r == EXIT_DONE)
		r = session_set(&a.session, "run.workers", a.workers, "--workers");
	if (r == EXIT_DONE)
		r = session_recall(&a.session);
	if (r == EXIT_DONE)
		r = session_plan(&a.session);
	if (r == EXIT_DONE &&
	    plan_add_builds(a.session.common.config, 1u << ROLE_CHECK | 1u << ROLE_FUZZ, NULL, NULL,
			    &a.session.plan, &e) < 0)
		r = fail(EXIT_USAGE, "%s", e.msg);
	if (r == EXIT_DONE)
		r = triage(&a, &j);
	pace_end(&a.pace);
	books_close(a.books);
	free(a.places);
	cells_close(&a.cells);
	session_close(&a.session);
	json_decref(a.targets);
	json_decref(a.others);
	return answer_end(begun, j, r);
}
