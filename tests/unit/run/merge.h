/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUN_MERGE_H
#define TESTS_RUN_MERGE_H

/* A state directory with one target, and merges of it step by step.  The code of the child
 * processes runs in this process.  The cell is a function that reads the inputs of the stage and
 * writes their features.  Include unit.h first. */
#include "base/cleanup.h"
#include "base/fault.h"
#include "base/memory.h"
#include "runner/corpus/generation/generation.h"
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "runner/run/job/setup.h"
#include "runner/run/merge/internal.h"
#include "tests/unit/corpus/files.h"

#include <sys/wait.h>

struct world {
	struct scratch dir;
	struct state *state;
	int corpus; /* opened when the world was made */
	struct target target;
	struct target_config cfg;
	struct merge m;
	struct merge_slot slot;
	struct merge_slot none[2]; /* merge.slots: no cell is in them */
	char lost[MERGE_BAD_MAX][STORE_NAME];
	bool force;
	unsigned reaches; /* maximum of different edges; 0: any number */
	const char *kind; /* of failures; NULL: "crash" */
	unsigned cells;
	bool before[256];  /* edges that the cell has seen */
	char seeds[64];	   /* merge.seeds; "": none */
	bool flaky;	   /* the first byte of an input counts only at its first run */
	size_t stop_after; /* number of inputs after which a cell ends; 0: never */
	bool (*spoil)(struct world *w, int fd, const char *content); /* true: the cell dies */
};

static inline void must(int r, const struct err *e)
{
	if (r >= 0)
		return;
	fail_msg("%s", e->msg);
	abort(); /* not reached: fail_msg() does not return */
}

/* A control file belongs to the user of a cell, so the test needs root. */
static inline void needs_root(void)
{
	if (geteuid() == 0)
		return;
	if (getenv("FUZZCELL_MUST_RUN"))
		fail_msg("this test must run, and needs root");
	skip();
}

static inline void put_input(struct world *w, const char *content)
{
	_autoclose_ int fd = -1;
	struct err e;

	must(state_open_corpus(w->state, "t", &fd, &e), &e);
	scratch_write(fd, name_of(content), content);
	assert_int_equal(fchmodat(fd, name_of(content), 0644, 0), 0);
}

static inline void world_reset(struct world *w)
{
	free(w->m.path);
	w->m = (struct merge){.env = {.state = w->state,
				      .keep = 2,
				      .quarantine = w->m.env.quarantine,
				      .triage = w->m.env.triage},
			      .spec = {.target = &w->target, .cfg = &w->cfg, .workers = 2},
			      .dir = -1};
	/* not a call of the product: no fault hits it */
	assert_true(asprintf(&w->m.path, "%s/merge/t", w->state->path) > 0);
	w->m.seeds = *w->seeds ? w->seeds : NULL;
	w->m.spec.force = w->force;
	w->m.spec.budget_us = 40 * w->cfg.input_timeout_us;
	w->m.result.verdict = MERGE_VERDICT_COUNT;
	w->m.slots = w->none;
	w->m.lost = w->lost;
	w->slot = (struct merge_slot){.m = &w->m};
}

static inline void world_make(struct world *w)
{
	struct err e;

	*w = (struct world){.dir = SCRATCH_INIT};
	scratch_make(&w->dir);
	scratch_write(w->dir.fd, "binary", "engine");
	assert_int_equal(mkdirat(w->dir.fd, "seeds", 0755), 0);
	w->target = (struct target){.name = strdup("t"), .engine = &engine_libfuzzer};
	w->target.binary = xasprintf("%s/binary", w->dir.path);
	w->cfg = (struct target_config){.disk = 1 << 20, .input_timeout_us = 1000000};
	char *path = xasprintf("%s/state", w->dir.path);

	assert_non_null(path);
	must(state_open(path, STATE_LOCK, &w->state, &e), &e);
	free(path);
	w->m.env.quarantine = open_dir_at(w->state->dirfd, "quarantine");
	w->m.env.triage = open_dir_at(w->state->dirfd, "triage");
	world_reset(w);
}

/* Without a directory of seeds, cells read the corpus in place. */
static inline void world_has_seeds(struct world *w)
{
	if (w->target.seed_dirs.n == 0)
		strv_pushf(&w->target.seed_dirs, "%s/seeds", w->dir.path);
}

static inline void world_remove(struct world *w)
{
	if (!w->state)
		return; /* skipped */
	close(w->m.env.quarantine);
	close(w->m.env.triage);
	free(w->m.path);
	target_done(&w->target);
	target_config_done(&w->cfg);
	state_close(w->state);
	scratch_remove(&w->dir);
	*w = (struct world){0};
}

/* --- the cell ------------------------------------------------------------------ */

static inline void put_record(struct world *w, int fd, size_t i, const char *content)
{
	bool seen[256] = {false}, news = !w->m.full && w->m.round == 0;
	static char text[8192];
	int n = snprintf(text, sizeof(text), "FT %zu", i);

	for (const unsigned char *p = (const unsigned char *)content; *p; p++) {
		unsigned edge = w->reaches ? *p % w->reaches : *p;

		if (w->flaky && w->m.round && p == (const unsigned char *)content)
			continue;
		if (!seen[edge] && !(news && w->before[edge]))
			n += snprintf(text + n, sizeof(text) - (size_t)n, " %u", edge * 8);
		seen[edge] = true;
	}
	n += snprintf(text + n, sizeof(text) - (size_t)n, "\nCOV %zu", i);
	for (int c = 0; c < 256; c++)
		if (seen[c] && !w->before[c])
			n += snprintf(text + n, sizeof(text) - (size_t)n, " %d", c);
	for (int c = 0; c < 256; c++)
		w->before[c] = w->before[c] || seen[c];
	n += snprintf(text + n, sizeof(text) - (size_t)n, "\n");
	assert_int_equal(write(fd, text, (size_t)n), n);
}

/* '!': the target dies on this input.  '>': the target executes itself on this input. */
static inline bool run_input(struct world *w, int fd, size_t i, const char *name)
{
	char path[PATH_MAX], content[256];

	if (w->m.direct)
		snprintf(path, sizeof(path), "%s/corpus/t/%s", w->state->path, name);
	else
		snprintf(path, sizeof(path), "%s/stage/%s", w->m.path, name);
	if (w->m.direct && access(path, F_OK) < 0)
		return false; /* a file that cannot be opened ends the engine */
	scratch_text(AT_FDCWD, path, content, sizeof(content));
	dprintf(fd, "STARTED %zu %zu\n", i, strlen(content));
	if (*content == '!' || (w->spoil && w->spoil(w, fd, content)))
		return false;
	if (*content == '>')
		return true;
	put_record(w, fd, i, content);
	return true;
}

/* Runs from the slot's next input to the end of its shard, or until the target dies.  Like a cell,
 * it knows only the control file. */
static inline void run_cell(struct world *w)
{
	char path[PATH_MAX], line[PATH_MAX];
	size_t n = 0, end;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%zu/" MERGE_FILE_CONTROL, w->m.path, w->m.pass,
		 w->slot.shard);
	f = fopen(path, "r+e");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%zu\n0\n", &n), 1);
	w->slot.facts = (struct merge_facts){.ran = true, .first = w->slot.next};
	w->slot.kind = w->kind ? w->kind : "crash";
	w->cells++;
	memset(w->before, 0, sizeof(w->before));
	end = w->stop_after ? w->slot.next + w->stop_after : n;
	for (size_t i = 0; i < end && i < n; i++) {
		_autoclose_ int fd = openat(AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC);

		assert_non_null(fgets(line, sizeof(line), f));
		line[strcspn(line, "\n")] = '\0';
		if (i >= w->slot.next && !run_input(w, fd, i, strrchr(line, '/') + 1))
			break;
	}
	fclose(f);
}

/* --- the steps ------------------------------------------------------------------- */

static inline int task(task_fn *fn, void *arg, void *to, size_t size, struct err *e)
{
	_autobuf_ struct buf out = BUF_INIT(TASK_RESULT_MAX);
	int r = fn(arg, &out, e);

	if (r < 0)
		return r;
	assert_int_equal(out.n, size);
	if (size)
		memcpy(to, out.p, size);
	return 0;
}

static inline int stage(struct world *w, struct merge_staged *ret, struct err *e)
{
	int r;

	world_reset(w);
	r = task(merge_task_stage, &w->m, ret, sizeof(*ret), e);
	if (r < 0)
		return r;
	w->m.max_len = ret->longest;
	w->m.full = ret->full;
	w->m.direct = ret->direct;
	snprintf(w->m.pass, sizeof(w->m.pass), "%s", merge_first_pass(w->m.full));
	w->m.result.before.files = ret->files;
	return r;
}

static inline int look(struct world *w, struct merge_looked *ret, struct err *e)
{
	int r = task(merge_task_look, &w->slot, ret, sizeof(*ret), e);

	if (r == 0)
		w->slot.next = ret->next;
	return r;
}

/* Runs one shard to its end, or to an end after which no cell can continue it. */
static inline int run_shard(struct world *w, size_t k, struct merge_looked *ret, struct err *e)
{
	int r;

	w->slot.shard = k;
	w->slot.facts = (struct merge_facts){0};
	for (;;) {
		r = look(w, ret, e);
		if (r == 0 && ret->act == MERGE_BLAME && !merge_bad_one(&w->m, &ret->bad))
			return r;
		if (r < 0 || (ret->act != MERGE_RUN && ret->act != MERGE_BLAME) ||
		    ret->next == ret->n)
			return r;
		run_cell(w);
	}
}

/* A spoiled shard is split in two. */
static inline int halve(struct world *w, const struct merge_looked *l, struct err *e)
{
	_autobuf_ struct buf out = BUF_INIT(TASK_RESULT_MAX);
	struct merge_bad bad;
	int r;

	w->slot.half = l->n > 1 ? w->m.end++ : 0;
	w->slot.kind = "crash";
	r = merge_task_halve(&w->slot, &out, e);
	if (r == 0 && l->n == 1) {
		assert_int_equal(out.n, sizeof(bad));
		memcpy(&bad, out.p, sizeof(bad));
		(void)merge_bad_one(&w->m, &bad);
	}
	return r;
}

static inline int run_shards(struct world *w, size_t from, size_t to, struct err *e)
{
	struct merge_looked l = {0};
	int r = 0;

	w->m.end = to;
	for (size_t k = from; r == 0 && k < w->m.end && !w->m.ending;) {
		r = run_shard(w, k, &l, e);
		if (r == 0 && l.damaged)
			r = halve(w, &l, e);
		k += !l.damaged || l.n == 1;
	}
	return r;
}

static inline int decide(struct world *w, struct merge_decided *ret, struct err *e)
{
	int r = task(merge_task_decide, &w->m, ret, sizeof(*ret), e);

	while (r == 0 && !w->m.ending && (ret->to == MERGE_TO_VERIFY || ret->to == MERGE_TO_FULL)) {
		if (ret->to == MERGE_TO_FULL)
			merge_begin_full(&w->m, ret);
		else {
			w->m.round++;
			snprintf(w->m.pass, sizeof(w->m.pass), "verify-%u", w->m.round);
			w->m.next = 0;
			w->m.end = ret->shards;
		}
		r = run_shards(w, w->m.next, w->m.end, e);
		if (r == 0)
			r = task(merge_task_decide, &w->m, ret, sizeof(*ret), e);
	}
	return r;
}

/* Runs a whole merge.  Returns -errno of the first failing step. */
static inline int merge_whole(struct world *w, struct merge_decided *ret, struct err *e)
{
	struct merge_replaced replaced;
	struct merge_size now;
	struct merge_staged s;
	int r = stage(w, &s, e);

	*ret = (struct merge_decided){0};
	if (r == 0)
		r = run_shards(w, s.next, s.end, e);
	if (r == 0 && !w->m.ending) {
		r = decide(w, ret, e);
		w->m.result.before.edges = ret->all.edges;
		w->m.result.before.features = ret->all.features;
		if (r == 0 && ret->to == MERGE_TO_REPLACE) {
			r = task(merge_task_replace, &w->m, &replaced, sizeof(replaced), e);
			if (r == 0)
				merge_end_with(&w->m, MERGE_REPLACED, "%s", replaced.why);
		} else if (r == 0)
			merge_end_decided(&w->m, ret);
	}
	w->m.discard = true;
	if (r == 0)
		r = task(merge_task_end, &w->m, &now, sizeof(now), e);
	return r;
}

/* --- checks ----------------------------------------------------------------------- */

static inline bool in_corpus(const struct world *w, const char *content)
{
	char path[80];

	snprintf(path, sizeof(path), "corpus/t/%s", name_of(content));
	return holds(w->state->dirfd, path, content);
}

static inline bool in_quarantine(const struct world *w, const char *content)
{
	char path[80];

	snprintf(path, sizeof(path), "quarantine/t/%s", name_of(content));
	return holds(w->state->dirfd, path, content);
}

static inline bool in_retry(const struct world *w, const char *content)
{
	char path[80];

	snprintf(path, sizeof(path), "retry/t/%s", name_of(content));
	return holds(w->state->dirfd, path, content);
}

static inline bool in_generations(const struct world *w, const char *content)
{
	char path[80];

	for (unsigned i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "generations/t/%u/%s", i, name_of(content));
		if (holds(w->state->dirfd, path, content))
			return true;
	}
	return false;
}

static inline bool in_triage(const struct world *w, const char *kind, const char *content)
{
	char path[96];

	snprintf(path, sizeof(path), "triage/t/%s", artifact_of(kind, content));
	return holds(w->state->dirfd, path, content);
}

#endif
