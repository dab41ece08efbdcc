/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/job/fuzzing.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "runner/run/job/internal.h"
#include "runner/run/job/setup.h"
#include "runner/run/job/suppress.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGER_MAX = 4 }; /* maximum factor for an input's time, for a starved target */

/* Slack of the engine's own time limit.  Our deadline comes first; the engine's limit ends the cell
 * if this process dies. */
#define BELT_US (60 * USEC_PER_SEC)
/* With a known hang, an input may take this share of its time. */
enum { HANG_SHARE = 8 };
#define HANG_LEAST_US (2 * USEC_PER_SEC)

enum { SUPPRESSIONS_MAX = 1 << 20 };

uid_t fuzzing_uid(const struct job *j)
{
	return setup_uid(j->index);
}

static void mount_work(struct setup *s, const struct job *j, const char *sub, const char *at,
		       bool writable)
{
	setup_mount(s, at, writable, "%s/%s/%s", j->env->dirs->work_path, j->target->name, sub);
}

static uint64_t max_time_s(const struct job *j, uint64_t now_us)
{
	uint64_t left = j->deadline_at > now_us ? j->deadline_at - now_us : 0;

	if (j->seat_time_s) /* the same command as before */
		return j->seat_time_s;
	return (left + 2 * j->cfg->grace_us + BELT_US) / USEC_PER_SEC;
}

/* Borrows memory for a symbolizer.  Without it a known crash ends the cell, as any other crash. */
static bool fuzzing_borrow(const struct job *j, struct fuzzing *a)
{
	const struct triage_env *env = &j->env->triage_env;
	uint64_t bytes = j->cfg->symbolizer_memory;

	if (!env->replay.symbolizer || !env->borrow_memory(env->arg, bytes))
		return false;
	a->borrowed = bytes;
	return true;
}

/* Whether the file has this text already: most cells of a job have the same suppressions. */
static bool has_text(int dir, const char *name, struct slice text)
{
	_autofree_ char *was = NULL;
	size_t n;
	struct err e;

	return fs_read(dir, name, SUPPRESSIONS_MAX, &was, &n, &e) == 0 && n == text.n &&
	       memcmp(was, text.p, n) == 0;
}

/* Mounts the text as a file that the cell can read. */
static int mount_text(struct setup *s, const struct job *j, const char *name, const char *at,
		      struct slice text, struct err *e)
{
	_autoclose_ int dir = -1;
	int r = fs_open_dir(j->env->dirs->work, j->target->name, &dir, e);

	if (r == 0 && !has_text(dir, name, text))
		r = fs_replace(dir, name, text, e);
	if (r == 0 && fchmodat(dir, name, 0644, 0) < 0)
		r = err_sys(e, "set the mode of '%s'", name);
	if (r == 0)
		mount_work(s, j, name, at, false);
	return r;
}

/* Suppresses known crashes, so that they do not end every cell. */
static int mount_suppressions(struct setup *s, const struct job *j, struct fuzzing *a,
			      struct err *e)
{
	const struct ledger *l = books_ledger(j->env->triage_env.books);
	_autobuf_ struct buf leaks = BUF_INIT(SUPPRESSIONS_MAX);
	_autobuf_ struct buf undefined = BUF_INIT(SUPPRESSIONS_MAX);
	int r;

	suppress_leaks(l, j->target->name, &leaks); /* when a buffer is full, its lines are valid */
	suppress_undefined(l, j->target->name, &j->unsuppressed, &undefined);
	if (leaks.n + undefined.n == 0 || !fuzzing_borrow(j, a))
		return 0;
	r = leaks.n > 0 ? mount_text(s, j, "known-leaks", SETUP_FILE_LEAKS, buf_slice(&leaks), e)
			: 0;
	if (r == 0 && undefined.n > 0)
		r = mount_text(s, j, "known-undefined", SETUP_FILE_UNDEFINED, buf_slice(&undefined),
			       e);
	a->has_leaks = leaks.n > 0;
	a->has_undefined = undefined.n > 0;
	return r;
}

uint64_t fuzzing_input_timeout(uint64_t may_take_us, double starved)
{
	double share = 1 - starved;
	unsigned times = share > 1.0 / LONGER_MAX ? (unsigned)(1 / share + 0.5) : LONGER_MAX;

	return may_take_us * (times > 1 ? times : 1);
}

static bool has_known_hang(const struct job *j)
{
	static const char timeout[] = "Timeout";
	const struct ledger *l = books_ledger(j->env->triage_env.books);

	for (size_t i = 0; i < ledger_count(l); i++) {
		const struct known_crash *own = ledger_entry(ledger_at(l, i), j->target->name);

		if (own && ledger_state_open(own->state) &&
		    strncmp(own->crash_type, timeout, sizeof(timeout) - 1) == 0)
			return true;
	}
	return false;
}

/* The time that an input may take.  A known hang costs the engine this time whenever it is met.  If
 * the whole corpus ran quickly, no input needs long, so the time is shorter.  Triage then counts a
 * slow input for the known hang. */
static uint64_t fuzzing_may_take(const struct job *j)
{
	uint64_t us = j->cfg->input_timeout_us, shorter = us / HANG_SHARE;

	if (!j->starts_quickly || us <= HANG_LEAST_US || !has_known_hang(j))
		return us;
	return shorter > HANG_LEAST_US ? shorter : HANG_LEAST_US;
}

static uint64_t input_timeout_s(const struct job *j)
{
	double starved = fmax(j->fleet->clock.starved, j->starved);
	uint64_t us = fuzzing_input_timeout(fuzzing_may_take(j), starved);

	return (us + USEC_PER_SEC - 1) / USEC_PER_SEC;
}

/* The path in the cell of the engine's second build; NULL: there is none. */
static char *fuzzing_companion(const struct job *j, const char *binary)
{
	const struct target *t = j->target;
	_autofree_ char *path = NULL;

	if (!t->engine->companion || !t->dir) /* without the directory the cell does not show it */
		return NULL;
	path = xasprintf("%s%s", t->binary, t->engine->companion);
	return faccessat(AT_FDCWD, path, X_OK, 0) == 0
		   ? xasprintf("%s%s", binary, t->engine->companion)
		   : NULL;
}

/* Engines keep their time in numbers of 32 bits, or count nanoseconds: three years are enough. */
enum { ENGINE_TIME_MAX_S = 100000000 };

static int fuzzing_engine_command(struct setup *s, const struct job *j, const struct fuzzing *a,
				  struct err *e)
{
	const char *const seed_dirs[] = {SETUP_DIR_SEEDS, a->has_others ? SETUP_DIR_OTHERS : NULL,
					 NULL};
	_autofree_ char *companion = fuzzing_companion(j, s->binary);
	uint64_t within = max_time_s(j, a->launched_us);
	struct engine_fuzz f = {
	    .binary = s->binary,
	    .corpus_dir = SETUP_DIR_CORPUS,
	    .seed_dirs = seed_dirs,
	    .artifact_dir = SETUP_DIR_ARTIFACTS,
	    .dict = j->words.has.own > 0 || job_given_dictionary(j) ? SETUP_FILE_DICT : NULL,
	    .companion = companion,
	    .max_time_s = within < ENGINE_TIME_MAX_S ? within : ENGINE_TIME_MAX_S,
	    .input_timeout_s = input_timeout_s(j),
	    .rss_limit_mib = j->cfg->rss_limit >> 20,
	    .max_len = j->cfg->max_len,
	    /* With the same seed another cell would try the same inputs again. */
	    .seed = j->cfg->seed ? j->cfg->seed + j->cells : 0,
	    .runs = job_runs_left(j),
	    /* Suppressions match names: such a cell gets a symbolizer, and memory for it. */
	    .known_leaks = a->has_leaks ? SETUP_FILE_LEAKS : NULL,
	    .known_undefined = a->has_undefined ? SETUP_FILE_UNDEFINED : NULL,
	    .symbolizer = a->borrowed ? j->env->triage_env.replay.symbolizer : NULL,
	    .flags = (const char *const *)s->flags.v,
	    .env = (const char *const *)s->env.v,
	};

	job_strategy_apply(j, &f);
	return setup_fuzz(s, &f, e);
}

static void mount_dictionary(struct setup *s, const struct job *j)
{
	const char *given = job_given_dictionary(j);

	if (j->words.has.own > 0) /* the joined file has the given entries, too */
		mount_work(s, j, JOB_DICTIONARY, SETUP_FILE_DICT, false);
	else if (given)
		setup_mount(s, SETUP_FILE_DICT, false, "%s", given);
}

static int fuzzing_make_setup(struct setup *s, const struct job *j, struct fuzzing *a,
			      struct err *e)
{
	int r;

	setup_init(s, j->target, j->cfg);
	mount_work(s, j, "corpus", SETUP_DIR_CORPUS, true);
	mount_work(s, j, "artifacts", SETUP_DIR_ARTIFACTS, true);
	mount_work(s, j, "seeds", SETUP_DIR_SEEDS, false);
	a->has_others = job_strategy_has_others(j);
	if (a->has_others)
		mount_work(s, j, "others", SETUP_DIR_OTHERS, false);
	mount_dictionary(s, j);
	r = mount_suppressions(s, j, a, e);
	return r == 0 ? fuzzing_engine_command(s, j, a, e) : r;
}

/* Logs the command, so that a user can run it by hand. */
static void note_command(struct job *j, const struct engine_cmd *cmd)
{
	struct buf b = BUF_INIT(16384);

	for (size_t i = 0; i < cmd->env.n; i++)
		buf_printf(&b, "%s ", cmd->env.v[i]);
	for (size_t i = 0; i < cmd->argv.n; i++)
		buf_printf(&b, "%s%s", cmd->argv.v[i], i + 1 < cmd->argv.n ? " " : "");
	joblog_note(&j->log, "command: %s", buf_str(&b));
	buf_done(&b);
}

static int start_in_seat(struct job *j, const struct setup *s, const struct setup_cell *c,
			 const struct cell_ops *ops, struct fuzzing *a, struct err *e)
{
	bool again;
	int r = seat_start(j->seat, s, c, fuzzing_uid(j), ops, j, &a->cell, &again, e);

	if (r < 0)
		return r;
	job_took_seat(j, c->wall_us / USEC_PER_SEC);
	if (!again)
		note_command(j, &s->cmd);
	else if (cell_read(a->cell, &a->from, e) < 0) /* its end could not be judged */
		(void)!cell_kill(a->cell, e);
	return 0;
}

static int fuzzing_start_cell(struct job *j, const struct setup *s, const struct cell_ops *ops,
			      struct fuzzing *a, struct err *e)
{
	char id[64];
	struct setup_cell c = {.host = j->env->host,
			       .rootfs = j->env->rootfs,
			       .id = id,
			       .extra_memory = a->borrowed,
			       .wall_us = max_time_s(j, a->launched_us) * USEC_PER_SEC};

	snprintf(id, sizeof(id), "%s-%zu-%u", j->env->dirs->id, j->index, j->cells);
	if (j->seat)
		return start_in_seat(j, s, &c, ops, a, e);
	note_command(j, &s->cmd);
	return setup_start(s, &c, fuzzing_uid(j), ops, j, &a->cell, e);
}

/* Counters of a cgroup that could not be read are zero. */
static void fuzzing_less(uint64_t *io, uint64_t before)
{
	*io = *io > before ? *io - before : 0;
}

void fuzzing_share(const struct fuzzing *a, struct cgroup_counters *io)
{
	const struct cgroup_counters *from = &a->from;

	fuzzing_less(&io->usage_us, from->usage_us);
	fuzzing_less(&io->user_us, from->user_us);
	fuzzing_less(&io->system_us, from->system_us);
	fuzzing_less(&io->throttled_us, from->throttled_us);
	fuzzing_less(&io->mem_high_events, from->mem_high_events);
	fuzzing_less(&io->oom_kills, from->oom_kills);
	fuzzing_less(&io->pids_refused, from->pids_refused);
	fuzzing_less(&io->cpu.full_us, from->cpu.full_us);
	fuzzing_less(&io->memory.full_us, from->memory.full_us);
	fuzzing_less(&io->io.full_us, from->io.full_us);
}

int fuzzing_read(const struct fuzzing *a, struct cgroup_counters *ret, struct err *e)
{
	int r = cell_read(a->cell, ret, e);

	if (r == 0)
		fuzzing_share(a, ret);
	return r;
}

void fuzzing_free(const struct job *j, struct fuzzing *a)
{
	const struct triage_env *env = &j->env->triage_env;

	if (!a)
		return;
	if (a->borrowed)
		env->return_memory(env->arg, a->borrowed);
	kept_output_done(&a->kept);
	crash_report_done(&a->report);
	free(a);
}

int fuzzing_launch(struct job *j, const struct cell_ops *ops, struct fuzzing **ret, struct err *e)
{
	struct fuzzing *a = xcalloc(1, sizeof(*a));
	struct setup s = {0};
	int r;

	a->launched_us = clock_mono_us();
	a->may_take_us = input_timeout_s(j) * USEC_PER_SEC;
	a->lines.ends = true;
	a->lost.own = CRASH_OWN_NONE;
	if (!file_id_look(j->target->binary, &a->binary))
		a->binary.size = 0;
	r = fuzzing_make_setup(&s, j, a, e);
	if (r == 0) {
		a->max_len = s.cmd.max_len;
		r = fuzzing_start_cell(j, &s, ops, a, e);
	}
	setup_done(&s);
	if (r < 0) {
		fuzzing_free(j, a);
		return r;
	}
	*ret = a;
	return 0;
}
