/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/check/check.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/task.h"
#include "runner/crash/report/json.h"
#include "runner/run/check/checked.h"
#include "runner/run/triage/batch.h"
#include "runner/run/triage/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	STAGE_MAX = 4096, /* inputs at once */
	/* Reports of failures that are kept until they are saved: a hostile variant fails on each
	 * input.  The others are named by their replays alone. */
	REPORTS_MAX = 64,
	MODE_DIR = 0755,
};

#define STAGE "check"

/* For an input that runs alone, beside its own time: its cell's start and end. */
#define ALONE_US (30 * USEC_PER_SEC)

/* An input of the stage. */
struct staged {
	struct candidate file;
	bool ran, failed;
	struct failure_cause cause; /* if failed */
	/* What its cell printed and the parser read, owned; NULL: it did not fail, or too many
	 * did. */
	char *text;
	size_t text_n;
	json_t *report;
};

struct check {
	const struct triage_env *env;
	struct check_spec spec;
	struct check_sum sum;
	char *work, *stage_path;     /* our directory, and the stage in it */
	size_t at;		     /* target->variants[at] is in work */
	bool begun;		     /* its crashes were checked for fixes */
	char build[DIGEST_SHA1_HEX]; /* the SHA-1 of its program when the stage was made */
	uint64_t until_cpu_us;	     /* its share of the budget ends at this sum.cpu_us */
	struct staged *v;
	size_t n, n_reports;
	uint64_t left;	/* inputs that wait beyond the stage, then all that wait */
	bool stalled;	/* the variant ran nothing of the stage, or cannot run */
	bool alone;	/* the stage's first input runs alone, with the time that it needs */
	bool over;	/* nothing further is begun */
	uint64_t lent;	/* memory, for the variant beside its main build */
	uint64_t names; /* memory, for the symbolizer of the batch */
	struct batch *batch;
	struct triage *triage;
	uint64_t triage_began_us;
	struct source *end; /* the start, then the batch's time */
};

static bool check_is_usable(const struct target *t, const struct target_config *cfgs, size_t i)
{
	return t->variants[i].role == ROLE_CHECK && !t->variants[i].unbuilt && cfgs[i].enabled;
}

bool check_is_wanted(const struct target *t, const struct target_config *cfgs)
{
	for (size_t i = 0; i < t->n_variants; i++)
		if (check_is_usable(t, cfgs, i))
			return true;
	return false;
}

static const struct target *check_build(const struct check *c)
{
	return &c->spec.target->variants[c->at];
}

static const struct target_config *check_cfg(const struct check *c)
{
	return &c->spec.cfgs[c->at];
}

/* Whether nothing further may begin. */
static bool check_is_late(const struct check *c)
{
	return c->over || (c->spec.ends_us && clock_mono_us() >= c->spec.ends_us);
}

static void check_note(struct check *c, const char *why)
{
	if (!*c->sum.triage.note)
		snprintf(c->sum.triage.note, sizeof(c->sum.triage.note), "%.90s: %.100s",
			 check_build(c)->name, why);
}

static void check_forget_stage(struct check *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].text);
		json_decref(c->v[i].report);
	}
	free(c->v);
	c->v = NULL;
	c->n = c->n_reports = 0;
}

/* --- stage: in a child ------------------------------------------------------------- */

/* Adds the inputs of a directory that the build has not run. */
static int stage_list(const struct checked *known, int dir, struct candidates *io, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(dir, ".");
	const struct dirent *ent;
	struct stat st;
	int r = 0;

	if (!d)
		return err_sys(e, "open the inputs");
	while (r == 0 && (ent = sys_readdir(d)))
		if (candidates_name_ok(ent->d_name) &&
		    fstatat(dir, ent->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) &&
		    !candidates_find(&known->ran, ent->d_name, (uint64_t)st.st_size))
			r = candidates_add(io, ent->d_name, (uint64_t)st.st_size, e);
	return r == 0 && errno ? err_sys(e, "list the inputs") : r;
}

/* Links the input from one of the directories; a missing or odd file is left out. */
static int stage_one(const int dirs[2], const char *name, int stage, char hex[STORE_NAME],
		     struct err *e)
{
	struct stage_sum sum = {0};
	struct stat st;
	int r = 0;

	*hex = '\0';
	for (int i = 0; r == 0 && !*hex && i < 2; i++)
		if (dirs[i] >= 0 && fstatat(dirs[i], name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			r = shard_stage_file(dirs[i], name, stage, &sum, hex, e);
	return r;
}

/* The corpus, and the inputs of the build's fixed crashes (-1: there are none). */
static int stage_open(const struct check *c, int ret[2], struct err *e)
{
	_autofree_ char *fixed = xasprintf("regressions/%s", check_build(c)->name);
	struct err none;

	ret[0] = ret[1] = -1;
	if (fs_open_dir(c->env->state->dirfd, fixed, &ret[1], &none) < 0)
		ret[1] = -1;
	return state_open_corpus(c->env->state, c->spec.target->name, &ret[0], e);
}

static int stage_link(const struct candidates *all, const int dirs[2], int stage, struct buf *out,
		      struct err *e)
{
	char hex[STORE_NAME];
	int r = 0;

	for (size_t i = 0; r == 0 && i < all->n && i < STAGE_MAX; i++) {
		r = stage_one(dirs, all->v[i].name, stage, hex, e);
		if (strcmp(hex, all->v[i].name) == 0)
			buf_printf(out, "%llu %s\n", (unsigned long long)all->v[i].size, hex);
	}
	return r == 0 ? buf_check(out, e) : r;
}

/* The stage, empty. */
static int stage_make(const struct check *c, int *ret, struct err *e)
{
	_autoclose_ int work = -1;
	int r = fs_open_dir(AT_FDCWD, c->work, &work, e);

	if (r == 0)
		r = fs_remove_tree(work, STAGE, e);
	if (r == 0)
		r = fs_mkdirs(work, STAGE, MODE_DIR, e);
	return r == 0 ? fs_open_dir(work, STAGE, ret, e) : r;
}

/* Result: the build, and the inputs that wait beyond the stage; then "<size> <sha1>" for each of
 * the stage. */
static int check_task_stage(void *arg, struct buf *out, struct err *e)
{
	const struct check *c = arg;
	const struct target *build = check_build(c);
	CLEANUP(checked_done) struct checked known = {0};
	CLEANUP(candidates_done) struct candidates all = {0};
	_autoclose_ int corpus = -1, fixed = -1, stage = -1;
	int dirs[2] = {-1, -1};
	int r = checked_load(c->env->state->dirfd, build->name, build->binary, &known, e);

	if (r == 0)
		r = stage_make(c, &stage, e);
	if (r == 0)
		r = stage_open(c, dirs, e);
	if (r < 0)
		return r;
	corpus = dirs[0];
	fixed = dirs[1];
	r = stage_list(&known, corpus, &all, e);
	if (r == 0 && fixed >= 0)
		r = stage_list(&known, fixed, &all, e);
	candidates_sort(&all);
	buf_printf(out, "%s %zu\n", known.build, all.n > STAGE_MAX ? all.n - STAGE_MAX : (size_t)0);
	return r == 0 ? stage_link(&all, dirs, stage, out, e) : r;
}

static bool stage_read_input(struct slice *io, struct candidate *f)
{
	struct slice name;

	if (!scan_u64(io, 10, UINT64_MAX, &f->size) || !scan_lit(io, SLICE(" ")) ||
	    !scan_until(io, '\n', STORE_NAME - 1, &name) || !scan_lit(io, SLICE("\n")))
		return false;
	snprintf(f->name, sizeof(f->name), "%.*s", (int)name.n, name.p);
	return true;
}

static bool check_take_stage(struct check *c, struct slice text)
{
	struct slice build;

	if (!scan_until(&text, ' ', DIGEST_SHA1_HEX - 1, &build) || !scan_lit(&text, SLICE(" ")) ||
	    !scan_u64(&text, 10, UINT64_MAX, &c->left) || !scan_lit(&text, SLICE("\n")))
		return false;
	snprintf(c->build, sizeof(c->build), "%.*s", (int)build.n, build.p);
	c->v = xcalloc(STAGE_MAX, sizeof(*c->v));
	while (text.n > 0 && c->n < STAGE_MAX)
		if (!stage_read_input(&text, &c->v[c->n++].file))
			return false;
	return true;
}

/* --- save: in a child --------------------------------------------------------------- */

/* Whether the program came after the run began: then the run's commit is not its commit. */
static bool check_is_rebuilt(const struct check *c, struct file_id *ret)
{
	*ret = (struct file_id){0};
	return !file_id_look(check_build(c)->binary, ret) ||
	       ret->ctime_ns / 1000 > (int64_t)c->spec.run_began_us;
}

/* Queues an input that failed, with the report of its cell. */
static int queue_one(const struct check *c, int stage, int queue, const struct staged *s,
		     struct err *e)
{
	struct kept k = {
	    .run = c->env->run,
	    .time = clock_real_us() / USEC_PER_SEC,
	    .own = crash_own_name(s->cause.own),
	    .detail = s->cause.detail,
	    .text = {s->text, s->text_n < KEPT_TEXT_MAX ? s->text_n : KEPT_TEXT_MAX},
	    .report = s->report,
	};
	const char *kind = engine_artifact_name(s->cause.artifact);
	struct store_sum sum = {0};
	char name[KEPT_NAME], hex[STORE_NAME];
	int r = 0;

	k.commit = check_is_rebuilt(c, &k.binary) ? NULL : c->env->commit;
	snprintf(name, sizeof(name), "%s-%s", kind, s->file.name);
	if (s->text || s->cause.own != CRASH_OWN_NONE)
		r = kept_write(queue, name, &k, e);
	return r == 0 ? store_file(stage, s->file.name, queue, kind, &sum, hex, e) : r;
}

static int queue_all(const struct check *c, struct err *e)
{
	_autofree_ char *path = xasprintf("triage/%s", check_build(c)->name);
	_autoclose_ int queue = -1, stage = -1;
	int r = fs_make_dir(c->env->state->dirfd, path, MODE_DIR, &queue, e);

	if (r == 0)
		r = fs_open_dir(AT_FDCWD, c->stage_path, &stage, e);
	for (size_t i = 0; r == 0 && i < c->n; i++)
		if (c->v[i].failed)
			r = queue_one(c, stage, queue, &c->v[i], e);
	return r == 0 && sys_syncfs(queue) < 0 ? err_sys(e, "put the failures on disk") : r;
}

static bool any_failed(const struct check *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].failed)
			return true;
	return false;
}

/* Inputs that left the corpus meanwhile stay in the list: they may come back.  If another program
 * came meanwhile, the inputs have yet to run in it. */
static int note_ran(const struct check *c, struct checked *io, struct err *e)
{
	bool same = strcmp(io->build, c->build) == 0;
	int r = 0;

	io->left = c->left;
	for (size_t i = 0; r == 0 && i < c->n; i++) {
		const struct candidate *f = &c->v[i].file;

		if (same && c->v[i].ran)
			r = candidates_add(&io->ran, f->name, f->size, e);
		else
			io->left++;
	}
	candidates_sort(&io->ran);
	if (io->left == 0)
		io->behind_since = 0;
	else if (io->behind_since == 0)
		io->behind_since = clock_real_us() / USEC_PER_SEC;
	return r;
}

/* Result: since when inputs wait, Unix seconds. */
static int check_task_save(void *arg, struct buf *out, struct err *e)
{
	const struct check *c = arg;
	const struct target *build = check_build(c);
	CLEANUP(checked_done) struct checked known = {0};
	_autoclose_ int work = -1;
	int r = any_failed(c) ? queue_all(c, e) : 0;

	if (r == 0)
		r = checked_load(c->env->state->dirfd, build->name, build->binary, &known, e);
	if (r == 0)
		r = note_ran(c, &known, e);
	buf_printf(out, "%llu", (unsigned long long)known.behind_since);
	if (r == 0)
		r = checked_save(c->env->state->dirfd, build->name, &known, e);
	if (r == 0)
		r = fs_open_dir(AT_FDCWD, c->work, &work, e);
	return r == 0 ? fs_remove_tree(work, STAGE, e) : r;
}

/* --- one variant after the other ------------------------------------------------------ */

static void check_step(struct check *c);

static void check_return(struct check *c, uint64_t *lent)
{
	if (*lent > 0 && c->env->return_memory)
		c->env->return_memory(c->env->arg, *lent);
	*lent = 0;
}

/* False: the memory is not free now. */
static bool check_borrow(struct check *c, uint64_t bytes, uint64_t *lent)
{
	if (bytes == 0 || !c->env->borrow_memory)
		return true;
	if (!c->env->borrow_memory(c->env->arg, bytes))
		return false;
	*lent = bytes;
	return true;
}

static void check_next_build(struct check *c)
{
	check_return(c, &c->lent);
	check_forget_stage(c);
	c->begun = c->stalled = false;
	c->left = 0;
	c->at++;
	check_step(c);
}

/* The rest of the variant's inputs waits. */
static void check_give_up_build(struct check *c, const char *why)
{
	if (why)
		check_note(c, why);
	c->sum.left += c->left + c->n;
	c->sum.incomplete = true;
	check_next_build(c);
}

static void check_add_sum(struct check *c, const struct triage_sum *s)
{
	struct triage_sum *to = &c->sum.triage;

	to->artifacts += s->artifacts;
	to->found += s->found;
	to->regressed += s->regressed;
	to->fixed += s->fixed;
	to->minimised += s->minimised;
	to->dismissed += s->dismissed;
	to->flaky += s->flaky;
	to->left += s->left;
	to->undecided += s->undecided;
	to->replays += s->replays;
	to->unchecked += s->unchecked;
	if (*s->note)
		check_note(c, s->note);
}

static void check_stage(struct check *c);

static void check_on_triaged(void *arg, const struct triage_sum *sum)
{
	struct check *c = arg;

	c->triage = NULL;
	c->sum.triage_us += clock_mono_us() - c->triage_began_us;
	check_add_sum(c, sum);
	if (c->left == 0)
		check_next_build(c);
	else if (c->stalled || check_is_late(c) || c->sum.cpu_us >= c->until_cpu_us)
		check_give_up_build(c, NULL);
	else
		check_stage(c);
}

static void check_triage(struct check *c)
{
	uint64_t used = c->sum.triage_us;
	struct file_id ignored;
	struct triage_spec s = {
	    .target = check_build(c),
	    .cfg = check_cfg(c),
	    .index = c->spec.index,
	    .rebuilt = check_is_rebuilt(c, &ignored),
	    .stages = TRIAGE_QUEUE,
	    .budget_us = c->spec.triage_us > used ? c->spec.triage_us - used : 0,
	    .until_us = c->spec.until_us,
	    .work = c->work,
	    .done = check_on_triaged,
	    .arg = c,
	};
	struct triage_sum none = {0};
	struct err e;

	if (c->spec.finds_fixes && !c->begun)
		s.stages |= TRIAGE_CHECK;
	if (c->spec.minimises) {
		s.stages |= TRIAGE_MINIMISE;
		s.minimise_old = true;
	}
	c->begun = true;
	c->triage_began_us = clock_mono_us();
	if (check_is_late(c) || s.budget_us == 0) {
		c->sum.incomplete = true;
		check_on_triaged(c, &none);
	} else if (triage_start(c->env, &s, &c->triage, &e) < 0) {
		snprintf(none.note, sizeof(none.note), "%.199s", e.msg);
		check_on_triaged(c, &none);
	}
}

static void check_on_saved(void *arg, struct slice result, const char *failed)
{
	struct check *c = arg;
	uint64_t since = 0;

	if (scan_u64(&result, 10, UINT64_MAX, &since) && since > 0 &&
	    (c->sum.behind_since == 0 || since < c->sum.behind_since))
		c->sum.behind_since = since;
	for (size_t i = 0; i < c->n; i++)
		c->left += failed || !c->v[i].ran;
	check_forget_stage(c);
	if (failed)
		check_give_up_build(c, failed);
	else
		check_triage(c);
}

static void check_save(struct check *c)
{
	struct task *t;
	struct err e;

	if (task_start(c->env->replay.exec.loop, check_task_save, c, check_on_saved, c, &t, &e) < 0)
		check_on_saved(c, SLICE(""), e.msg);
}

static int check_run(struct check *c, struct err *e);

/* What check_run() has taken. */
static void check_forget_run(struct check *c)
{
	source_remove(c->end);
	c->end = NULL;
	check_return(c, &c->names);
}

/* The budget was used up before any input had a result.  Then one gets it nevertheless: otherwise a
 * slow input would use up the budget of each check, and all would wait behind it. */
static bool check_run_alone(struct check *c, bool cut, const struct batch_sum *sum)
{
	struct err e;

	if (!cut || c->alone || sum->passed + sum->failed > 0 || check_is_late(c))
		return false;
	c->alone = c->sum.beyond = true;
	if (check_run(c, &e) == 0)
		return true;
	check_forget_run(c);
	check_note(c, e.msg);
	return false;
}

static void check_on_batch(void *arg, const struct batch_sum *sum)
{
	struct check *c = arg;
	bool cut = !c->end;

	c->batch = NULL;
	check_forget_run(c);
	c->sum.ran += sum->passed + sum->failed;
	c->sum.failed += sum->failed;
	c->sum.cpu_us += sum->cpu_us;
	if (check_run_alone(c, cut, sum))
		return;
	/* Inputs that sleep use no CPU time: only one of them runs alone. */
	c->stalled = c->alone || sum->passed + sum->failed == 0 || (*sum->why && sum->left_out > 0);
	if (*sum->why && sum->left_out > 0)
		check_note(c, sum->why);
	check_save(c);
}

static const char *check_input_name(void *arg, size_t input)
{
	const struct check *c = arg;

	return c->v[input].file.name;
}

static void check_on_ran(void *arg, size_t input)
{
	struct check *c = arg;

	c->v[input].ran = true;
}

/* A search for the input that failed among others, which was cut short, blames the last of them.
 * That input runs again. */
static void check_on_failed(void *arg, const struct batch_failure *f)
{
	struct check *c = arg;
	struct staged *s = &c->v[f->input];

	s->ran = !(f->only_together && (c->over || !c->end));
	s->failed = s->ran;
	s->cause = f->cause;
	if (!s->failed || s->text || c->n_reports >= REPORTS_MAX)
		return;
	c->n_reports++;
	s->text = xmalloc(f->output.n + 1);
	memcpy(s->text, f->output.n > 0 ? f->output.p : "", f->output.n);
	s->text_n = f->output.n;
	s->report = crash_report_json(f->report);
}

static void check_on_end(void *arg)
{
	struct check *c = arg;

	source_remove(c->end);
	c->end = NULL; /* what the batch reports from now on was cut short */
	batch_stop(c->batch, NULL);
}

static int check_run(struct check *c, struct err *e)
{
	uint64_t end = clock_mono_us() + (c->alone ? 2 * check_cfg(c)->input_timeout_us + ALONE_US
						   : c->until_cpu_us - c->sum.cpu_us);
	struct batch_spec s = {
	    .target = check_build(c),
	    .cfg = check_cfg(c),
	    .index = c->spec.index,
	    .workers = 1,
	    .dir = c->stage_path,
	    .work = c->work,
	    .name = check_input_name,
	    .n = c->alone ? 1 : c->n,
	    .failed = check_on_failed,
	    .ran = check_on_ran,
	    .done = check_on_batch,
	    .arg = c,
	};
	int r;

	if (c->spec.ends_us && end > c->spec.ends_us)
		end = c->spec.ends_us;
	if (!check_borrow(c, check_cfg(c)->symbolizer_memory, &c->names))
		return err_set(e, EAGAIN, "memory for its symbolizer is not free now");
	r = loop_add_timer(c->env->replay.exec.loop, end, check_on_end, c, &c->end, e);
	return r == 0 ? batch_start(&c->env->replay, &s, &c->batch, e) : r;
}

static void check_on_staged(void *arg, struct slice result, const char *failed)
{
	struct check *c = arg;
	struct err e;

	if (failed) {
		check_give_up_build(c, failed);
	} else if (!check_take_stage(c, result)) {
		check_give_up_build(c, "a task gave no result");
	} else if (check_is_late(c)) {
		check_give_up_build(c, NULL);
	} else if (c->n == 0) {
		check_save(c);
	} else if (check_run(c, &e) < 0) {
		check_forget_run(c);
		check_give_up_build(c, e.msg);
	}
}

static void check_stage(struct check *c)
{
	struct task *t;
	struct err e;

	c->left = 0;
	c->alone = false;
	if (task_start(c->env->replay.exec.loop, check_task_stage, c, check_on_staged, c, &t, &e) <
	    0)
		check_give_up_build(c, e.msg);
}

static void check_finish(struct check *c)
{
	c->spec.done(c->spec.arg, &c->sum);
	free(c->work);
	free(c->stage_path);
	free(c);
}

/* Divides the rest of the budget among the variants that are left. */
static void check_share(struct check *c)
{
	const struct target *t = c->spec.target;
	uint64_t n = 0;

	for (size_t i = c->at; i < t->n_variants; i++)
		n += check_is_usable(t, c->spec.cfgs, i);
	c->until_cpu_us = c->sum.cpu_us + (c->spec.budget_us - c->sum.cpu_us) / (n > 0 ? n : 1);
}

static void check_step(struct check *c)
{
	const struct target *t = c->spec.target;
	uint64_t have = c->spec.main_cfg->memory, need;

	while (c->at < t->n_variants && !check_is_usable(t, c->spec.cfgs, c->at))
		c->at++;
	if (c->at == t->n_variants || check_is_late(c) || c->sum.cpu_us >= c->spec.budget_us) {
		c->sum.incomplete |= c->at < t->n_variants;
		check_finish(c);
		return;
	}
	check_share(c);
	need = check_cfg(c)->memory;
	if (!check_borrow(c, need > have ? need - have : 0, &c->lent))
		check_give_up_build(c, "its memory is not free now");
	else
		check_stage(c);
}

static void check_on_begin(void *arg)
{
	struct check *c = arg;

	source_remove(c->end);
	c->end = NULL;
	check_step(c);
}

int check_start(const struct triage_env *env, const struct check_spec *spec, struct check **ret,
		struct err *e)
{
	struct check *c = xcalloc(1, sizeof(*c));
	int r;

	c->env = env;
	c->spec = *spec;
	/* done must not be called before this returns. */
	r = loop_add_timer(env->replay.exec.loop, clock_mono_us(), check_on_begin, c, &c->end, e);
	if (r < 0) {
		free(c);
		return r;
	}
	c->work = xstrdup(spec->work);
	c->stage_path = xasprintf("%s/" STAGE, spec->work);
	*ret = c;
	return 0;
}

void check_stop(struct check *c)
{
	c->over = true;
	if (c->batch)
		batch_stop(c->batch, NULL);
	if (c->triage)
		triage_stop(c->triage);
}
