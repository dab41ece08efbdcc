/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/check/check.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/task.h"
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
	MODE_DIR = 0755,
	PATH_ROOM = 4096,
};

#define STAGE "check"

/* An input of the stage. */
struct staged {
	struct candidate file;
	bool ran;
	char *failed; /* the cell's output, bounded; NULL: it did not fail */
};

struct check {
	const struct triage_env *env;
	struct check_spec spec;
	struct check_sum sum;
	char *work, *stage_path; /* our directory, and the stage in it */
	size_t at;		 /* target->variants[at] is in work */
	bool begun;		 /* its crashes were checked for fixes */
	uint64_t until_cpu_us;	 /* its share of the budget ends at this sum.cpu_us */
	struct staged *v;
	size_t n;
	uint64_t left; /* inputs that wait beyond the stage */
	bool over;     /* nothing further is begun */
	uint64_t lent; /* memory */
	struct batch *batch;
	struct triage *triage;
	struct source *end; /* the batch's time */
};

static bool check_is_usable(const struct target *build)
{
	return build->role == ROLE_CHECK && !build->unbuilt;
}

bool check_is_wanted(const struct target *t)
{
	for (size_t i = 0; i < t->n_variants; i++)
		if (check_is_usable(&t->variants[i]))
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

static void check_note(struct check *c, const char *why)
{
	if (!*c->sum.triage.note)
		snprintf(c->sum.triage.note, sizeof(c->sum.triage.note), "%.90s: %.100s",
			 check_build(c)->name, why);
}

static void check_forget_stage(struct check *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->v[i].failed);
	free(c->v);
	c->v = NULL;
	c->n = 0;
}

/* --- stage: in a child ------------------------------------------------------------- */

/* Links one of the corpus's inputs into the stage, if the build has not run it. */
static int stage_one(const struct checked *known, int corpus, const char *name, int stage,
		     uint64_t *io_left, struct candidates *io, struct err *e)
{
	struct stage_sum sum = {0};
	char hex[STORE_NAME];
	struct stat st;
	int r;

	if (!candidates_name_ok(name) || fstatat(corpus, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode) || candidates_find(&known->ran, name, (uint64_t)st.st_size))
		return 0;
	if (io->n >= STAGE_MAX) {
		++*io_left;
		return 0;
	}
	r = shard_stage_file(corpus, name, stage, &sum, hex, e);
	return r < 0 || !*hex ? r : candidates_add(io, hex, (uint64_t)st.st_size, e);
}

static int stage_all(const struct check *c, const struct checked *known, int stage,
		     uint64_t *ret_left, struct candidates *ret, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = NULL;
	_autoclose_ int corpus = -1;
	const struct dirent *ent;
	int r = state_open_corpus(c->env->state, c->spec.target->name, &corpus, e);

	if (r < 0)
		return r;
	d = sys_opendirat(corpus, ".");
	if (!d)
		return err_sys(e, "open the corpus");
	while (r == 0 && (ent = sys_readdir(d)))
		r = stage_one(known, corpus, ent->d_name, stage, ret_left, ret, e);
	if (r == 0 && errno)
		r = err_sys(e, "list the corpus");
	candidates_sort(ret);
	return r;
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

/* Result: the inputs that wait beyond the stage, then "<size> <sha1>" for each of the stage. */
static int check_task_stage(void *arg, struct buf *out, struct err *e)
{
	const struct check *c = arg;
	const struct target *build = check_build(c);
	CLEANUP(checked_done) struct checked known = {0};
	CLEANUP(candidates_done) struct candidates list = {0};
	_autoclose_ int stage = -1;
	uint64_t left = 0;
	int r = checked_load(c->env->state->dirfd, build->name, build->binary, &known, e);

	if (r == 0)
		r = stage_make(c, &stage, e);
	if (r == 0)
		r = stage_all(c, &known, stage, &left, &list, e);
	if (r < 0)
		return r;
	buf_printf(out, "%llu\n", (unsigned long long)left);
	for (size_t i = 0; i < list.n; i++)
		buf_printf(out, "%llu %s\n", (unsigned long long)list.v[i].size, list.v[i].name);
	return buf_check(out, e);
}

static int check_take_stage(struct check *c, struct slice text)
{
	struct slice name;

	if (!scan_u64(&text, 10, UINT64_MAX, &c->left) || !scan_lit(&text, SLICE("\n")))
		return -EBADMSG;
	c->v = xcalloc(STAGE_MAX, sizeof(*c->v));
	while (text.n > 0 && c->n < STAGE_MAX) {
		struct candidate *f = &c->v[c->n].file;

		if (!scan_u64(&text, 10, UINT64_MAX, &f->size) || !scan_lit(&text, SLICE(" ")) ||
		    !scan_until(&text, '\n', STORE_NAME - 1, &name) ||
		    !scan_lit(&text, SLICE("\n")))
			return -EBADMSG;
		snprintf(f->name, sizeof(f->name), "%.*s", (int)name.n, name.p);
		c->n++;
	}
	return 0;
}

/* --- save: in a child --------------------------------------------------------------- */

/* Queues an input that failed, with the output of its cell. */
static int queue_one(const struct check *c, int stage, int queue, const struct staged *s,
		     struct err *e)
{
	struct kept k = {
	    .run = c->env->run,
	    .commit = c->spec.rebuilt ? NULL : c->env->commit,
	    .time = clock_real_us() / USEC_PER_SEC,
	    .own = "",
	    .detail = "",
	    .text = slice_of(s->failed),
	};
	struct store_sum sum = {0};
	char name[KEPT_NAME], hex[STORE_NAME];
	int r = 0;

	(void)file_id_look(check_build(c)->binary, &k.binary);
	snprintf(name, sizeof(name), "crash-%s", s->file.name);
	if (k.text.n > 0)
		r = kept_write(queue, name, &k, e);
	return r == 0 ? store_file(stage, s->file.name, queue, "crash", &sum, hex, e) : r;
}

static int queue_all(const struct check *c, struct err *e)
{
	_autofree_ char *path = xasprintf("triage/%s", check_build(c)->name);
	_autoclose_ int queue = -1, stage = -1;
	int r = fs_mkdirs(c->env->state->dirfd, path, MODE_DIR, e);

	if (r == 0)
		r = fs_open_dir(c->env->state->dirfd, path, &queue, e);
	if (r == 0)
		r = fs_open_dir(AT_FDCWD, c->stage_path, &stage, e);
	for (size_t i = 0; r == 0 && i < c->n; i++)
		if (c->v[i].failed)
			r = queue_one(c, stage, queue, &c->v[i], e);
	if (r == 0 && sys_syncfs(queue) < 0)
		r = err_sys(e, "put the failures on disk");
	return r;
}

/* Inputs that left the corpus meanwhile are kept in the list: they may come back. */
static int check_task_save(void *arg, struct buf *out, struct err *e)
{
	const struct check *c = arg;
	const struct target *build = check_build(c);
	CLEANUP(checked_done) struct checked known = {0};
	uint64_t now = clock_real_us() / USEC_PER_SEC;
	int r = queue_all(c, e);

	(void)out;
	if (r == 0)
		r = checked_load(c->env->state->dirfd, build->name, build->binary, &known, e);
	known.left = c->left;
	for (size_t i = 0; r == 0 && i < c->n; i++) {
		const struct candidate *f = &c->v[i].file;

		known.left += !c->v[i].ran;
		if (c->v[i].ran)
			r = candidates_add(&known.ran, f->name, f->size, e);
	}
	candidates_sort(&known.ran);
	if (known.left == 0)
		known.behind_since = 0;
	else if (known.behind_since == 0)
		known.behind_since = now;
	return r == 0 ? checked_save(c->env->state->dirfd, build->name, &known, e) : r;
}

/* --- one variant after the other ------------------------------------------------------ */

static void check_step(struct check *c);

static void check_return_memory(struct check *c)
{
	if (c->lent > 0 && c->env->return_memory)
		c->env->return_memory(c->env->arg, c->lent);
	c->lent = 0;
}

static void check_next_build(struct check *c)
{
	check_return_memory(c);
	check_forget_stage(c);
	c->begun = false;
	c->at++;
	check_step(c);
}

static void check_give_up_build(struct check *c, const char *why)
{
	check_note(c, why);
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
	bool more = c->left > 0 && c->sum.cpu_us < c->until_cpu_us;

	c->triage = NULL;
	check_add_sum(c, sum);
	check_forget_stage(c);
	if (more && !c->over)
		check_stage(c);
	else
		check_next_build(c);
}

static void check_triage(struct check *c)
{
	const struct target_config *cfg = check_cfg(c);
	struct triage_spec s = {
	    .target = check_build(c),
	    .cfg = cfg,
	    .index = c->spec.index,
	    .rebuilt = c->spec.rebuilt,
	    .stages = TRIAGE_QUEUE,
	    .budget_us = cfg->triage_us,
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
	if (!c->over && triage_start(c->env, &s, &c->triage, &e) == 0)
		return;
	if (!c->over)
		snprintf(none.note, sizeof(none.note), "%.199s", e.msg);
	check_on_triaged(c, &none);
}

static void check_on_saved(void *arg, struct slice result, const char *failed)
{
	struct check *c = arg;

	(void)result;
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

static void check_on_batch(void *arg, const struct batch_sum *sum)
{
	struct check *c = arg;

	c->batch = NULL;
	source_remove(c->end);
	c->end = NULL;
	c->sum.ran += sum->passed + sum->failed;
	c->sum.failed += sum->failed;
	c->sum.cpu_us += sum->cpu_us;
	c->sum.left += c->left + sum->left_out;
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

static void check_on_failed(void *arg, const struct batch_failure *f)
{
	struct check *c = arg;
	struct staged *s = &c->v[f->input];

	s->ran = true;
	free(s->failed);
	s->failed = xstrndup(f->output.p ? f->output.p : "", f->output.n);
}

static void check_on_end(void *arg)
{
	struct check *c = arg;

	batch_stop(c->batch, NULL); /* the rest waits for the next check */
}

static int check_run(struct check *c, struct err *e)
{
	uint64_t now = clock_mono_us(), end = now + c->until_cpu_us - c->sum.cpu_us;
	struct batch_spec s = {
	    .target = check_build(c),
	    .cfg = check_cfg(c),
	    .index = c->spec.index,
	    .workers = 1,
	    .work = c->work,
	    .name = check_input_name,
	    .n = c->n,
	    .failed = check_on_failed,
	    .ran = check_on_ran,
	    .done = check_on_batch,
	    .arg = c,
	};
	int r;

	s.dir = c->stage_path;
	if (c->spec.until_us && end > c->spec.until_us)
		end = c->spec.until_us;
	r = loop_add_timer(c->env->replay.exec.loop, end, check_on_end, c, &c->end, e);
	return r == 0 ? batch_start(&c->env->replay, &s, &c->batch, e) : r;
}

static void check_on_staged(void *arg, struct slice result, const char *failed)
{
	struct check *c = arg;
	struct err e;

	if (failed) {
		check_give_up_build(c, failed);
	} else if (check_take_stage(c, result) < 0) {
		check_give_up_build(c, "a task gave no result");
	} else if (c->over) {
		c->sum.left += c->left + c->n;
		check_next_build(c);
	} else if (c->n == 0) {
		check_save(c);
	} else if (check_run(c, &e) < 0) {
		source_remove(c->end);
		c->end = NULL;
		c->sum.left += c->left + c->n;
		check_give_up_build(c, e.msg);
	}
}

static void check_stage(struct check *c)
{
	struct task *t;
	struct err e;

	if (task_start(c->env->replay.exec.loop, check_task_stage, c, check_on_staged, c, &t, &e) <
	    0)
		check_give_up_build(c, e.msg);
}

/* A sanitizer may need more memory than the job has. */
static bool check_borrow_memory(struct check *c)
{
	uint64_t have = c->spec.main_cfg->memory, need = check_cfg(c)->memory;

	if (need <= have || !c->env->borrow_memory)
		return true;
	if (!c->env->borrow_memory(c->env->arg, need - have))
		return false;
	c->lent = need - have;
	return true;
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
		n += check_is_usable(&t->variants[i]);
	c->until_cpu_us = c->sum.cpu_us + (c->spec.budget_us - c->sum.cpu_us) / (n > 0 ? n : 1);
}

static void check_step(struct check *c)
{
	const struct target *t = c->spec.target;

	while (c->at < t->n_variants && !check_is_usable(&t->variants[c->at]))
		c->at++;
	if (c->over || c->at == t->n_variants || c->sum.cpu_us >= c->spec.budget_us) {
		check_finish(c);
		return;
	}
	check_share(c);
	if (!check_borrow_memory(c))
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
