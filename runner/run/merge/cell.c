/* SPDX-License-Identifier: Apache-2.0 */
/* A slot: the cells that measure one shard, one after the other. */
#include "base/clock.h"
#include "base/sys.h"
#include "runner/run/merge/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The engine reports an input that takes too long.  A cell without progress for twice that time and
 * this slack has escaped the engine's check.  The target's start is bounded, too. */
#define STUCK_US (30 * USEC_PER_SEC)

#define MAX_LEN_LEAST (UINT64_C(1) << 20)

static void merge_cell_launch(struct merge_slot *s);

/* --- the cell ---------------------------------------------------------------------- */

/* The limit of an input's length.  It usually has the same number of digits in all merges, because
 * the length of the arguments shifts the stack.  The engine's default for a merge is 1 MiB. */
static uint64_t max_len(const struct merge *m)
{
	uint64_t len = m->max_len > MAX_LEN_LEAST ? m->max_len : MAX_LEN_LEAST;

	return len > m->spec.cfg->max_len ? len : m->spec.cfg->max_len;
}

static int merge_cell_engine_command(struct setup *s, const struct merge *m, struct err *e)
{
	const struct target_config *cfg = m->spec.cfg;
	struct engine_measure job = {
	    .binary = s->binary,
	    .control = MERGE_CONTROL_AT,
	    .artifact_dir = "/tmp", /* the stage has the input already */
	    .input_timeout_s = (cfg->input_timeout_us + USEC_PER_SEC - 1) / USEC_PER_SEC,
	    .rss_limit_mib = cfg->rss_limit >> 20,
	    .max_len = max_len(m),
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

void merge_slot_output(void *arg, struct slice bytes)
{
	const struct merge_slot *s = arg;

	if (s->m->spec.output)
		s->m->spec.output(s->m->spec.arg, bytes);
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
static void excerpt(struct slice text, char *out, size_t size)
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
		snprintf(s->said, sizeof(s->said), "%.*s", (int)sizeof(s->said) - 1, end->why);
	else if (*end->engine->fault_text)
		snprintf(s->said, sizeof(s->said), "%s: %.*s", failure_name(end->failure),
			 (int)sizeof(s->said) - 16, end->engine->fault_text);
	else {
		excerpt(end->output, words, sizeof(words));
		snprintf(s->said, sizeof(s->said), "%s %d%s%s",
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

static void strike(struct merge_slot *s)
{
	if (++s->strikes >= MERGE_STRIKES_MAX)
		merge_end_with(s->m, MERGE_FAILED, "%u cells in a row made no progress: %s",
			       s->strikes, s->said);
}

static void on_halved(void *arg, struct slice result, const char *failed)
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
static void spoiled(struct merge_slot *s, const struct merge_looked *l)
{
	struct merge *m = s->m;
	struct task *t;
	struct err e;

	if (++m->spoiled > MERGE_SPOILED_MAX || m->end >= MERGE_SHARDS_MAX) {
		m->put_back = true; /* no single input is to blame */
		merge_end_with(m, MERGE_FAILED, "%u cells spoiled their control file: %s",
			       m->spoiled, s->said);
	}
	if (m->ending) {
		merge_slot_free(s);
		return;
	}
	s->facts = (struct merge_facts){0};
	s->kind = "crash";
	s->half = l->n > 1 ? m->end++ : 0;
	m->halving++;
	if (task_start(m->env.exec.loop, merge_task_halve, s, on_halved, s, &t, &e) < 0)
		on_halved(s, SLICE(""), e.msg);
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
		strike(s);
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
static bool looks_for_leaks(const struct merge *m)
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
		spoiled(s, &l);
		return;
	}
	more = merge_cell_judge(s, &l);
	if (more && !m->ending)
		merge_cell_launch(s);
	else if (l.act == MERGE_DONE && s->leaked && looks_for_leaks(m))
		merge_leaks_start(s);
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

/* --- calls from merge.c and steps.c ------------------------------------------------------ */

void merge_slot_take(struct merge_slot *s, size_t shard)
{
	s->busy = true;
	s->shard = shard;
	s->strikes = 0;
	s->facts = (struct merge_facts){0};
	s->leaked = s->stuck = false;
	s->said[0] = '\0';
	merge_cell_look(s);
}

void merge_slot_stop(struct merge_slot *s)
{
	if (s->exec)
		exec_stop(s->exec);
}

void merge_slot_free(struct merge_slot *s)
{
	s->busy = false;
	merge_advance(s->m);
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
