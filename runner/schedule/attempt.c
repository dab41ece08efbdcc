/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/schedule/attempt.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/schedule/internal.h"
#include "runner/schedule/setup.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { LONGER_MAX = 4 }; /* times the time that an input may take, on a busy machine */

/* Our own deadline comes first; this is the belt for the case that we die. */
#define BELT_US (60 * USEC_PER_SEC)

enum { LEAKS_MAX = 1 << 20 };

uid_t attempt_uid(const struct job *j)
{
	return setup_uid(j->index);
}

static int mount_work(struct setup *s, const struct job *j, const char *sub, const char *at,
		      bool writable, struct err *e)
{
	return setup_mount(s, at, writable, e, "%s/%s/%s", j->env->dirs->work_path, j->target->name,
			   sub);
}

static uint64_t max_time_s(const struct job *j, uint64_t now_us)
{
	uint64_t left = j->deadline_at > now_us ? j->deadline_at - now_us : 0;

	return (left + 2 * j->cfg->grace_us + BELT_US) / USEC_PER_SEC;
}

/* "xmalloc", "my_strdup", "PoolAllocator::get" */
static bool is_allocation(const char *function)
{
	static const char *const words[] = {"alloc", "dup"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(function, words[i]))
			return true;
	return false;
}

const char *attempt_leaking(const struct ledger_list *frames)
{
	size_t i = 0;

	while (i + 1 < frames->n && is_allocation(frames->v[i]))
		i++;
	return i < frames->n && *frames->v[i] ? frames->v[i] : NULL;
}

/* The function to name for the target's own leak; NULL: it is no leak. */
static const char *known_leak(const struct job *j, const struct known_crash *c)
{
	const struct known_crash *own = ledger_entry(c, j->target->name);

	return own && strcmp(own->kind, "lsan") == 0 && own->state != LEDGER_FIXED
		   ? attempt_leaking(&own->frames)
		   : NULL;
}

/* "leak:" and a pattern, in which only '*', '^' and '$' are special. */
static int add_leak(struct buf *b, const char *function, struct err *e)
{
	if (strpbrk(function, "\r\n"))
		return 0;
	return buf_addf(b, e, "leak:^%s$\n", function);
}

/* Leaks that were told once must not end every cell again. */
static int suppressions(const struct job *j, struct buf *ret, struct err *e)
{
	const struct ledger *l = books_ledger(j->env->triage_env.books);
	int r = 0;

	for (size_t i = 0; r == 0 && i < ledger_count(l); i++) {
		const char *function = known_leak(j, ledger_at(l, i));

		if (function)
			r = add_leak(ret, function, e);
	}
	return r == -EFBIG ? 0 : r; /* as many as it holds */
}

/* Without room for a symbolizer a known leak ends the cell, as any other does. */
static bool borrow(const struct job *j, struct attempt *a)
{
	const struct triage_env *env = &j->env->triage_env;
	uint64_t bytes = j->cfg->symbolizer_memory;

	if (!env->trial.symbolizer || !env->borrow_memory(env->arg, bytes))
		return false;
	a->borrowed = bytes;
	return true;
}

static int mount_leaks(struct setup *s, const struct job *j, struct attempt *a, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(LEAKS_MAX);
	_autoclose_ int dir = -1;
	int r = suppressions(j, &text, e);

	if (r < 0 || text.n == 0 || !borrow(j, a))
		return r;
	r = fs_open_dir(j->env->dirs->work, j->target->name, &dir, e);
	if (r == 0)
		r = fs_replace(dir, "known-leaks", buf_slice(&text), e);
	if (r == 0 && fchmodat(dir, "known-leaks", 0644, 0) < 0)
		r = err_sys(e, "set the mode of the suppressions");
	return r == 0 ? mount_work(s, j, "known-leaks", SETUP_FILE_LEAKS, false, e) : r;
}

uint64_t attempt_input_timeout(uint64_t may_take_us, double starved)
{
	double share = 1 - starved;
	unsigned times = share > 1.0 / LONGER_MAX ? (unsigned)(1 / share + 0.5) : LONGER_MAX;

	return may_take_us * (times > 1 ? times : 1);
}

static uint64_t input_timeout_s(const struct job *j)
{
	double starved = fmax(j->fleet->clock.starved, j->starved);
	uint64_t us = attempt_input_timeout(j->cfg->input_timeout_us, starved);

	return (us + USEC_PER_SEC - 1) / USEC_PER_SEC;
}

static int engine_command(struct setup *s, const struct job *j, const struct attempt *a,
			  struct err *e)
{
	static const char *const seed_dirs[] = {SETUP_DIR_SEEDS, NULL};
	struct engine_fuzz f = {
	    .binary = s->binary,
	    .corpus_dir = SETUP_DIR_CORPUS,
	    .seed_dirs = seed_dirs,
	    .artifact_dir = SETUP_DIR_ARTIFACTS,
	    .dict = j->words.has.own > 0 || job_given_dictionary(j) ? SETUP_FILE_DICT : NULL,
	    .max_time_s = max_time_s(j, a->launched_us),
	    .input_timeout_s = input_timeout_s(j),
	    .rss_limit_mib = j->cfg->rss_limit >> 20,
	    .max_len = j->cfg->max_len,
	    /* Another cell with the same seed would try the same again. */
	    .seed = j->cfg->seed ? j->cfg->seed + j->cells : 0,
	    .runs = job_runs_left(j),
	    /* They go by names: such a cell gets a symbolizer, and memory for it. */
	    .suppressions = a->borrowed ? SETUP_FILE_LEAKS : NULL,
	    .symbolizer = a->borrowed ? j->env->triage_env.trial.symbolizer : NULL,
	    .flags = (const char *const *)s->flags.v,
	    .env = (const char *const *)s->env.v,
	};

	return j->target->engine->fuzz(&f, &s->cmd, e);
}

static int mount_dictionary(struct setup *s, const struct job *j, struct err *e)
{
	const char *given = job_given_dictionary(j);

	if (j->words.has.own > 0) /* it has the given entries, too */
		return mount_work(s, j, JOB_DICTIONARY, SETUP_FILE_DICT, false, e);
	return given ? setup_mount(s, SETUP_FILE_DICT, false, e, "%s", given) : 0;
}

static int make_setup(struct setup *s, const struct job *j, struct attempt *a, struct err *e)
{
	int r = setup_init(s, j->target, j->cfg, e);

	if (r == 0)
		r = mount_work(s, j, "corpus", SETUP_DIR_CORPUS, true, e);
	if (r == 0)
		r = mount_work(s, j, "artifacts", SETUP_DIR_ARTIFACTS, true, e);
	if (r == 0)
		r = mount_work(s, j, "seeds", SETUP_DIR_SEEDS, false, e);
	if (r == 0)
		r = mount_dictionary(s, j, e);
	if (r == 0)
		r = mount_leaks(s, j, a, e);
	if (r == 0)
		r = engine_command(s, j, a, e);
	return r;
}

static int start_cell(struct job *j, const struct setup *s, const struct cell_ops *ops,
		      struct attempt *a, struct err *e)
{
	char id[64];
	struct setup_cell c = {.host = j->env->host,
			       .rootfs = j->env->rootfs,
			       .id = id,
			       .extra_memory = a->borrowed,
			       .wall_us = max_time_s(j, a->launched_us) * USEC_PER_SEC};

	snprintf(id, sizeof(id), "%s-%zu-%u", j->env->dirs->id, j->index, j->cells);
	return setup_start(s, &c, attempt_uid(j), ops, j, &a->cell, e);
}

/* What a person needs to do the same by hand. */
static void note_command(struct job *j, const struct engine_cmd *cmd)
{
	struct buf b = BUF_INIT(16384);
	struct err e;
	int r = 0;

	for (size_t i = 0; r == 0 && i < cmd->env.n; i++)
		r = buf_addf(&b, &e, "%s ", cmd->env.v[i]);
	for (size_t i = 0; r == 0 && i < cmd->argv.n; i++)
		r = buf_addf(&b, &e, "%s%s", cmd->argv.v[i], i + 1 < cmd->argv.n ? " " : "");
	joblog_note(&j->log, "command: %s", buf_str(&b));
	buf_done(&b);
}

void attempt_free(const struct job *j, struct attempt *a)
{
	const struct triage_env *env = &j->env->triage_env;

	if (!a)
		return;
	if (a->borrowed)
		env->return_memory(env->arg, a->borrowed);
	kept_output_done(&a->kept);
	free(a);
}

int attempt_launch(struct job *j, const struct cell_ops *ops, struct attempt **ret, struct err *e)
{
	struct attempt *a = sys_calloc(1, sizeof(*a));
	struct setup s = {0};
	int r;

	if (!a)
		return err_sys(e, "allocate a cell's state");
	a->launched_us = clock_mono_us();
	a->may_take_us = input_timeout_s(j) * USEC_PER_SEC;
	a->lines.ends = true;
	a->lost.own = CRASH_OWN_;
	if (!kept_file_look(j->target->binary, &a->binary))
		a->binary.size = 0;
	r = make_setup(&s, j, a, e);
	if (r == 0) {
		a->max_len = s.cmd.max_len;
		note_command(j, &s.cmd);
		r = start_cell(j, &s, ops, a, e);
	}
	setup_done(&s);
	if (r < 0) {
		attempt_free(j, a);
		return r;
	}
	*ret = a;
	return 0;
}
