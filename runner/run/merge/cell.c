/* SPDX-License-Identifier: Apache-2.0 */
/* A slot: the cells that measure one shard, one after the other, and the search for inputs that
 * leak. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/run/merge/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The engine reports an input that takes too long.  A cell without progress for twice that time and
 * this slack has escaped the engine's check.  The target's start is bounded, too. */
#define STUCK_US (30 * USEC_PER_SEC)

#define MAX_LEN_LEAST (UINT64_C(1) << 20)

/* exec_spec.output of a slot's cells. */
static void merge_slot_output(void *arg, struct slice bytes)
{
	const struct merge_slot *s = arg;

	if (s->m->spec.output)
		s->m->spec.output(s->m->spec.arg, bytes);
}

/* The slot is free again: the merge goes on. */
static void merge_slot_free(struct merge_slot *s)
{
	s->busy = false;
	merge_advance(s->m);
}

/* --- inputs that leak ------------------------------------------------------------- */

/* While it measures, the engine checks for leaks only at its end, and the target's output is a hint
 * at best.  So the inputs are replayed, and a group that leaks is halved until a single input leaks
 * by itself. */
static void merge_leak_next_chunk(struct merge_slot *s);
static void merge_leak_next_range(struct merge_slot *s);

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

static void merge_leak_push(struct merge_leaks *l, size_t from, size_t to)
{
	if (from >= to)
		return;
	/* A chunk is halved nine times at most, and each time one half waits. */
	assert(l->depth < sizeof(l->stack) / sizeof(l->stack[0]));
	l->stack[l->depth++] = (struct merge_range){from, to};
}

/* --- an input that leaks ---------------------------------------------------------------- */

static void merge_leak_on_put_away(void *arg, struct slice result, const char *failed)
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
		merge_leak_next_range(s);
	else
		merge_leak_leave(s);
}

static void merge_leak_put_away(struct merge_slot *s)
{
	struct task *t;
	struct err e;

	s->kind = "leak";
	s->blamed = s->leaks.names[s->leaks.now.from];
	if (task_start(s->m->env.exec.loop, merge_task_leak, s, merge_leak_on_put_away, s, &t, &e) <
	    0)
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
		merge_leak_next_range(s);
		return;
	}
	if (now.to - now.from == 1) {
		merge_leak_put_away(s);
		return;
	}
	merge_leak_push(&s->leaks, half, now.to);
	merge_leak_push(&s->leaks, now.from, half);
	merge_leak_next_range(s);
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
	return setup_replay(s, &job, e);
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

static void merge_leak_next_range(struct merge_slot *s)
{
	struct merge_leaks *l = &s->leaks;
	struct err e;

	if (s->m->ending)
		merge_leak_leave(s);
	else if (l->depth == 0)
		merge_leak_next_chunk(s);
	else {
		l->now = l->stack[--l->depth];
		if (merge_leak_replay(s, &e) < 0)
			merge_leak_give_up(s, e.msg);
	}
}

/* --- what to replay ------------------------------------------------------------------------ */

static void merge_leak_on_names(void *arg, struct slice result, const char *failed)
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
	merge_leak_push(l, 0, l->n);
	merge_leak_next_range(s);
}

static void merge_leak_next_chunk(struct merge_slot *s)
{
	struct task *t;
	struct err e;

	if (s->leaks.at >= s->leaks.end)
		merge_leak_leave(s);
	else if (task_start(s->m->env.exec.loop, merge_task_names, s, merge_leak_on_names, s, &t,
			    &e) < 0)
		merge_leak_give_up(s, e.msg);
}

/* Searches for leaks after a cell that leaked and had run the shard's inputs from `first` on. */
static void merge_leak_start(struct merge_slot *s)
{
	struct merge_leaks *l = &s->leaks;

	*l = (struct merge_leaks){.at = s->facts.first, .end = s->next};
	l->names = xmalloc((size_t)MERGE_LEAK_CHUNK * STORE_NAME);
	merge_leak_next_chunk(s);
}

static void merge_cell_launch(struct merge_slot *s);

/* --- the cell ---------------------------------------------------------------------- */

/* The limit of an input's length.  It usually has the same number of digits in all merges, because
 * the length of the arguments shifts the stack.  The engine's default for a merge is 1 MiB. */
static uint64_t merge_cell_max_len(const struct merge *m)
{
	uint64_t len = m->max_len > MAX_LEN_LEAST ? m->max_len : MAX_LEN_LEAST;

	return len > m->spec.cfg->max_len ? len : m->spec.cfg->max_len;
}

static int merge_cell_engine_command(struct setup *s, const struct merge *m, struct err *e)
{
	const struct target_config *cfg = m->spec.cfg;
	struct engine_measure job = {
	    .binary = s->binary,
	    .test = m->spec.target->test,
	    .control = MERGE_CONTROL_AT,
	    .artifact_dir = "/tmp", /* the stage has the input already */
	    .input_timeout_s = (cfg->input_timeout_us + USEC_PER_SEC - 1) / USEC_PER_SEC,
	    .rss_limit_mib = cfg->rss_limit >> 20,
	    .max_len = merge_cell_max_len(m),
	    .only_new = !m->full && m->round == 0,
	    .flags = (const char *const *)s->flags.v,
	    .env = (const char *const *)s->env.v,
	};

	return m->spec.target->engine->measure(&job, &s->cmd, e);
}

/* Only the control file is writable.  So a cell cannot make other files, and the size is bounded as
 * that of any file of a cell. */
static int merge_cell_make_setup(struct setup *s, const struct merge_slot *slot, struct err *e)
{
	const struct merge *m = slot->m;

	setup_init(s, m->spec.target, m->spec.cfg);
	merge_mount_inputs(s, m);
	setup_mount(s, MERGE_CONTROL_AT, true, "%s/%s/%zu/" MERGE_FILE_CONTROL, m->path, m->pass,
		    slot->shard);
	return merge_cell_engine_command(s, m, e);
}

/* --- the end of a cell ---------------------------------------------------------------- */

static const char *merge_cell_kind_of(const struct merge_slot *s, const struct exec_end *end)
{
	uint64_t mark = s->m->spec.cfg->memory_high;

	if (s->stuck) /* above the memory mark the kernel throttles it to almost nothing */
		return mark && end->memory_peak >= mark - mark / 16 ? "oom" : "timeout";
	switch (end->failure) {
	case FAILURE_TIMEOUT:
	case FAILURE_STUCK:
		return "timeout";
	case FAILURE_OOM:
	case FAILURE_OOM_KILL:
		return "oom";
	case FAILURE_LEAK:
		return "leak";
	case FAILURE_PIDS:
		return "pids";
	case FAILURE_NONE:
	case FAILURE_CRASH:
	case FAILURE_SYSCALL:
	case FAILURE_INTERRUPT:
	case FAILURE_EXIT:
	case FAILURE_COUNT:
		break;
	}
	return "crash";
}

static bool merge_cell_accumulates(enum failure f)
{
	return f == FAILURE_OOM || f == FAILURE_OOM_KILL || f == FAILURE_PIDS ||
	       f == FAILURE_INTERRUPT || f == FAILURE_EXIT;
}

/* The last output of a cell, as one printable line. */
static void merge_cell_excerpt(struct slice text, char *out, size_t size)
{
	size_t n = 0;

	if (text.n > size)
		text = (struct slice){text.p + text.n - size, size};
	for (size_t i = 0; i < text.n && n + 1 < size; i++) {
		char c = text.p[i];

		if (c > 0x20 && c < 0x7f)
			out[n++] = c;
		else if (n > 0 && out[n - 1] != ' ')
			out[n++] = ' ';
	}
	while (n > 0 && out[n - 1] == ' ')
		n--;
	out[n] = '\0';
}

static void merge_cell_note(struct merge_slot *s, const struct exec_end *end)
{
	char words[120];

	if (!end->started)
		snprintf(s->last_text, sizeof(s->last_text), "%.*s", (int)sizeof(s->last_text) - 1,
			 end->why);
	else if (*end->engine->fault_text)
		snprintf(s->last_text, sizeof(s->last_text), "%s: %.*s", failure_name(end->failure),
			 (int)sizeof(s->last_text) - 16, end->engine->fault_text);
	else {
		merge_cell_excerpt(end->output, words, sizeof(words));
		snprintf(s->last_text, sizeof(s->last_text), "%s %d%s%s",
			 end->signo ? "died of signal" : "exited with",
			 end->signo ? end->signo : end->code, *words ? ": " : " without a word",
			 words);
	}
}

static void merge_cell_look(struct merge_slot *s);

static void merge_cell_on_end(void *arg, const struct exec_end *end)
{
	struct merge_slot *s = arg;

	s->exec = NULL;
	s->m->result.cells++;
	s->facts.ran = true;
	s->facts.ours = end->late || (end->stopped && !s->stuck);
	s->facts.accumulates = !s->stuck && merge_cell_accumulates(end->failure);
	s->kind = merge_cell_kind_of(s, end);
	s->leaked = end->failure == FAILURE_LEAK;
	merge_cell_note(s, end);
	if (end->late)
		merge_end_with(s->m, MERGE_LATE, "the time for merging is over");
	merge_cell_look(s);
}

/* --- between two cells --------------------------------------------------------------- */

static void merge_cell_strike(struct merge_slot *s)
{
	if (++s->strikes >= MERGE_STRIKES_MAX)
		merge_end_with(s->m, MERGE_FAILED, "%u cells in a row made no progress: %s",
			       s->strikes, s->last_text);
}

static void merge_cell_on_halved(void *arg, struct slice result, const char *failed)
{
	struct merge_slot *s = arg;
	struct merge *m = s->m;
	struct merge_bad bad;

	m->halving--;
	if (failed)
		merge_end_with(m, MERGE_FAILED, "%s", failed);
	if (!failed && result.n == sizeof(bad)) { /* the shard had only this input */
		memcpy(&bad, result.p, sizeof(bad));
		(void)merge_bad_one(m, &bad);
		merge_slot_free(s);
	} else if (m->ending) {
		merge_slot_free(s);
	} else {
		merge_cell_look(s); /* at the first half: none of it is measured */
		merge_advance(m);
	}
}

/* The control file is spoiled, and the input that did it is not known: halves the shard. */
static void merge_cell_spoiled(struct merge_slot *s, const struct merge_looked *l)
{
	struct merge *m = s->m;
	struct task *t;
	struct err e;

	if (++m->spoiled > MERGE_SPOILED_MAX || m->end >= MERGE_SHARDS_MAX) {
		m->put_back = true; /* no single input is to blame */
		merge_end_with(m, MERGE_FAILED, "%u cells spoiled their control file: %s",
			       m->spoiled, s->last_text);
	}
	if (m->ending) {
		merge_slot_free(s);
		return;
	}
	s->facts = (struct merge_facts){0};
	s->kind = "crash";
	s->half = l->n > 1 ? m->end++ : 0;
	m->halving++;
	if (task_start(m->env.exec.loop, merge_task_halve, s, merge_cell_on_halved, s, &t, &e) < 0)
		merge_cell_on_halved(s, SLICE(""), e.msg);
}

/* Whether the shard needs a cell. */
static bool merge_cell_judge(struct merge_slot *s, const struct merge_looked *l)
{
	switch (l->act) {
	case MERGE_RUN:
		return true;
	case MERGE_BLAME:
		s->m->progress = true;
		return merge_bad_one(s->m, &l->bad) && l->next < l->n;
	case MERGE_STRIKE:
		merge_cell_strike(s);
		return true;
	case MERGE_FULL:
		s->m->again = true;
		break;
	case MERGE_DONE:
		break;
	}
	return false;
}

/* Whether to search for leaks.  A known leak might be found in every input. */
static bool merge_cell_finds_leaks(const struct merge *m)
{
	return !m->ending && m->spec.what == MERGE_REPLACE && !m->spec.leaks_known;
}

static void merge_cell_on_looked(void *arg, struct slice result, const char *failed)
{
	struct merge_slot *s = arg;
	struct merge *m = s->m;
	struct merge_looked l;
	bool more;

	if (failed || result.n != sizeof(l)) {
		merge_end_with(m, MERGE_FAILED, "%s", failed ? failed : "no result");
		merge_slot_free(s);
		return;
	}
	memcpy(&l, result.p, sizeof(l));
	if (s->facts.ran && l.next > s->facts.first) {
		s->strikes = 0;
		m->progress = true;
	}
	s->next = l.next;
	if (l.damaged) {
		merge_cell_spoiled(s, &l);
		return;
	}
	more = merge_cell_judge(s, &l);
	if (more && !m->ending)
		merge_cell_launch(s);
	else if (l.act == MERGE_DONE && s->leaked && merge_cell_finds_leaks(m))
		merge_leak_start(s);
	else
		merge_slot_free(s);
}

static void merge_cell_look(struct merge_slot *s)
{
	struct task *t;
	struct err e;

	if (task_start(s->m->env.exec.loop, merge_task_look, s, merge_cell_on_looked, s, &t, &e) <
	    0)
		merge_cell_on_looked(s, SLICE(""), e.msg);
}

static int merge_cell_start_cell(struct merge_slot *s, uint64_t left_us, struct err *e)
{
	const struct merge_spec *spec = &s->m->spec;
	struct setup setup;
	struct exec_spec x = {
	    .setup = &setup,
	    .index = spec->index + s->number,
	    .deadline_us = left_us,
	    /* The engine counts the depth of the stack as coverage, and it depends on where the
	     * stack begins.  With other addresses the features of two cells do not compare. */
	    .fixed_addresses = true,
	    .output = merge_slot_output,
	    .done = merge_cell_on_end,
	    .arg = s,
	};
	int r = merge_cell_make_setup(&setup, s, e);

	if (r == 0 && faccessat(AT_FDCWD, spec->target->binary, F_OK, 0) < 0)
		r = err_sys(e, "'%s'", spec->target->binary);
	if (r == 0)
		r = exec_start(&s->m->env.exec, &x, &s->exec, e);
	setup_done(&setup);
	return r;
}

static void merge_cell_launch(struct merge_slot *s)
{
	uint64_t left = merge_time_left(s->m);
	struct err e;

	s->facts = (struct merge_facts){.first = s->next};
	s->leaked = s->stuck = false;
	s->size_seen = 0;
	s->grown_us = clock_mono_us();
	if (left == 0)
		merge_end_with(s->m, MERGE_LATE, "the time for merging is over");
	else if (merge_cell_start_cell(s, left, &e) == 0)
		return;
	else
		merge_end_with(s->m, MERGE_FAILED, "%s", e.msg);
	merge_slot_free(s);
}

/* --- calls from merge.c ------------------------------------------------------ */

void merge_slot_take(struct merge_slot *s, size_t shard)
{
	s->busy = true;
	s->shard = shard;
	s->strikes = 0;
	s->facts = (struct merge_facts){0};
	s->leaked = s->stuck = false;
	s->last_text[0] = '\0';
	merge_cell_look(s);
}

void merge_slot_stop(struct merge_slot *s)
{
	if (s->exec)
		exec_stop(s->exec);
}

void merge_slot_tick(struct merge_slot *s, uint64_t now_us)
{
	const struct merge *m = s->m;
	char path[64];
	struct stat st;

	if (!s->exec || s->leaks.names) /* a replay has the engine's limit and our deadline */
		return;
	snprintf(path, sizeof(path), "%s/%zu/" MERGE_FILE_CONTROL, m->pass, s->shard);
	if (fstatat(m->dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (uint64_t)st.st_size != s->size_seen) {
		s->size_seen = (uint64_t)st.st_size;
		s->grown_us = now_us;
	}
	if (now_us - s->grown_us <= 2 * m->spec.cfg->input_timeout_us + STUCK_US)
		return;
	s->stuck = true;
	exec_stop(s->exec);
}
