/* SPDX-License-Identifier: Apache-2.0 */
/* A job's working directory: child processes lay it out before a cell, and collect it afterwards.
 * Also the disk space of the job's files. */
#include "base/cleanup.h"
#include "base/sys.h"
#include "base/task.h"
#include "runner/run/job/fuzzing.h"
#include "runner/run/job/internal.h"
#include "runner/targets/counters.h"
#include "runner/targets/instrumented.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void job_files_add_dir(const struct job *j, const char *what, const char *build,
			      struct strv *dirs)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", what, build);
	if (faccessat(j->env->state->dirfd, path, F_OK, 0) == 0)
		strv_pushf(dirs, "%s/%s", j->env->state->path, path);
}

/* Adds seeds that are in the state directory: reproducers of fixed crashes, because an input that
 * failed once may fail again, and the corpora of the target's other builds that fuzz. */
static void job_files_add_ours(const struct job *j, struct strv *dirs)
{
	job_files_add_dir(j, "regressions", j->target->name, dirs);
	for (size_t i = 0; job_lender(j, i); i++)
		job_files_add_dir(j, "corpus", job_lender(j, i), dirs);
}

/* The result of the child that prepares. */
struct prepared {
	struct workdir_seeds seeds;
	struct file_id file;
	char build[DIGEST_SHA1_HEX]; /* "": the binary cannot be read; the launch reports it */
	struct job_program program;
	struct job_dictionary words;
	char wordless[200]; /* why there are no words; "": no error */
};

static struct job_program job_files_look_at_program(const struct target *t)
{
	_autoclose_ int fd =
	    rights_open(&t->rights, AT_FDCWD, t->binary, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct job_program p = {0};

	if (fd < 0 || counters_in(fd, &p.edges) != COUNTERS_FOUND)
		return (struct job_program){0};
	p.has_library = instrumented_in(fd) == INSTRUMENTED_LIBRARY;
	return p;
}

static int job_files_prepare_work(void *arg, struct buf *out, struct err *e)
{
	const struct job *j = arg;
	struct workdir_prepare p = {
	    .work = j->env->dirs->work,
	    .target = j->target->name,
	    .uid = fuzzing_uid(j),
	    .gid = setup_gid(fuzzing_uid(j)),
	    .corpus = -1,
	    .seed_archive = j->target->seed_archive,
	    .rights = &j->target->rights,
	    .n_theirs = j->target->seed_dirs.n,
	    .n_ours = j->cfg->seeds.n,
	    .needs_seed = j->target->engine->needs_seed,
	    .quarantine = job_lender(j, 0) ? j->env->quarantine : -1,
	};
	struct prepared done = {0};
	struct strv dirs = {0};
	struct err ignored;
	char note[200];
	int r = state_open_corpus(j->env->state, j->target->name, &p.corpus, e);

	for (size_t i = 0; i < j->target->seed_dirs.n; i++)
		strv_push(&dirs, j->target->seed_dirs.v[i]);
	for (size_t i = 0; i < j->cfg->seeds.n; i++)
		strv_push(&dirs, j->cfg->seeds.v[i]);
	job_files_add_ours(j, &dirs);
	p.seed_dirs = (const char *const *)dirs.v;
	if (r == 0)
		r = workdir_prepare(&p, &done.seeds, note, e);
	if (progress_identify(&j->build, j->target->binary, &done.file, done.build, &ignored) < 0)
		*done.build = '\0';
	if (r == 0 &&
	    strcmp(done.build, j->build.id) == 0) /* another build begins in the plain way */
		r = job_strategy_prepare(j, e);
	done.program = job_files_look_at_program(j->target);
	if (r == 0 && job_words_prepare(j, &done.words, &ignored) < 0)
		snprintf(done.wordless, sizeof(done.wordless), "%.199s", ignored.msg);
	if (r < 0)
		return r; /* the process ends: no need to free */
	buf_put(out, (struct slice){(const char *)&done, sizeof(done)});
	buf_puts(out, note);
	return 0;
}

static void job_files_on_prepared(void *arg, struct slice result, const char *failed)
{
	struct job *j = arg;
	struct prepared done;

	if (failed && job_text_is_shortage(failed)) {
		job_meet_shortage(j, failed);
		job_step(j, EVENT_ENDED);
		return;
	}
	if (failed || result.n < sizeof(done)) {
		job_set_note(j, "%s", failed ? failed : "preparing gave no result");
		intent_set_reason(j, REASON_STARTUP_FAILED);
		job_step(j, EVENT_ENDED);
		return;
	}
	memcpy(&done, result.p, sizeof(done));
	if (done.seeds.files >= j->seeds.files) /* in later turns many seeds are in the corpus */
		j->seeds = done.seeds;
	if (result.n > sizeof(done))
		job_set_note(j, "%.*s", (int)(result.n - sizeof(done)), result.p + sizeof(done));
	if (*done.build)
		job_take_build(j, &done.file, done.build);
	j->program = done.program;
	job_claims_build(j, done.program.edges);
	job_words_prepared(j, &done.words, done.wordless);
	if (j->ask == ASK_NOTHING)
		job_after_prepare(j);
	else
		job_step(j, EVENT_ENDED);
}

/* The kind of the artifact, from the end of the cell. */
static enum engine_artifact job_files_cause_of(const struct job *j)
{
	if (!j->fuzzing)
		return ENGINE_ARTIFACT_NONE;
	if (j->last_failure == FAILURE_NONE && j->fuzzing->dump_sent)
		return ENGINE_ARTIFACT_SLOW; /* a replay decides whether the current input fails */
	if (j->last_failure == FAILURE_OOM && job_asked(j) != ASK_MEMORY)
		return ENGINE_ARTIFACT_NONE; /* the engine's own limit */
	return failure_artifact(j->last_failure);
}

/* The result of the child that collects; the artifacts' names follow. */
struct collected {
	struct workdir_found found;
	bool lost;	   /* a failure without an artifact waits for triage */
	char unsaved[200]; /* why the progress was not saved; "": it is on disk */
};

static int job_files_collect_others(const struct job *j, int corpus, struct err *e)
{
	int r = job_strategy_collect(j, corpus, e);

	return r == 0 ? job_partners_put_off(j, corpus, e) : r;
}

static int job_files_collect_work(void *arg, struct buf *out, struct err *e)
{
	static const struct engine_state nothing;
	const struct job *j = arg;
	const struct engine_state *engine = j->fuzzing ? &j->fuzzing->engine : &nothing;
	struct buf names = BUF_INIT(TASK_RESULT_MAX / 2);
	const struct slice printed = {engine->input_printed.bytes, engine->input_printed.n};
	struct workdir_collect c = {
	    .work = j->env->dirs->work,
	    .target = j->target->name,
	    .crashes = j->env->dirs->crashes,
	    .quarantine = j->env->quarantine,
	    .triage = j->env->triage,
	    .borrows = job_lender(j, 0) != NULL,
	    .engine = j->target->engine,
	    .cause = job_files_cause_of(j),
	    .unanswered = j->fuzzing && j->fuzzing->asked && j->fuzzing->dump_sent,
	    .forced_ns = j->fuzzing ? j->fuzzing->forced_ns : 0,
	    .named = *engine->artifact ? engine->artifact : NULL,
	    .is_new = j->named_is_new,
	    .printed = engine->input_printed.known ? &printed : NULL,
	    .kept = j->disk.kept,
	    .bytes_max = j->cfg->disk,
	};
	struct collected done = {0};
	struct err unsaved;
	int r = state_open_corpus(j->env->state, j->target->name, &c.corpus, e);

	if (r == 0)
		r = job_keep_report(j, e);
	if (r == 0)
		r = workdir_collect(&c, &done.found, &names, e);
	if (r == 0)
		r = job_files_collect_others(j, c.corpus, e);
	if (r == 0 && done.found.failures + done.found.suspects + done.found.dropped == 0)
		r = job_keep_lost(j, &done.lost, e);
	/* Without the progress file the next run knows less of the build, but no result is lost. */
	if (r == 0 && job_save_progress(j, &unsaved) < 0)
		snprintf(done.unsaved, sizeof(done.unsaved), "%.199s", unsaved.msg);
	if (r == 0 && job_words_collect(j, &unsaved) < 0 && !*done.unsaved)
		snprintf(done.unsaved, sizeof(done.unsaved), "%.199s", unsaved.msg);
	if (r < 0)
		return r;
	buf_put(out, (struct slice){(const char *)&done, sizeof(done)});
	buf_put(out, buf_slice(&names));
	return 0;
}

/* A file takes at least a block. */
enum { BLOCK = 4096 };

static void job_files_take_saved(struct job *j, const struct workdir_found *f)
{
	uint64_t artifacts = f->kept.artifacts - j->disk.kept.artifacts;

	j->disk.now = (struct disk_usage){0}; /* no file is left in its output directories */
	j->disk.saved.bytes += f->input_bytes + f->kept.bytes - j->disk.kept.bytes;
	j->disk.saved.bytes += BLOCK * (f->inputs + artifacts);
	j->disk.saved.files += f->inputs + artifacts;
	j->disk.kept = f->kept;
	if (f->dropped > 0) {
		joblog_note(&j->log,
			    "%llu artifacts were not kept: there are already %llu of this run",
			    (unsigned long long)f->dropped, (unsigned long long)f->kept.artifacts);
		job_set_note(j, "%llu artifacts were not kept, beside %llu that were",
			     (unsigned long long)f->dropped, (unsigned long long)f->kept.artifacts);
	}
	if (job_over_disk(j) && j->pending == REASON_NONE) {
		intent_set_reason(j, REASON_DISK_LIMIT);
		job_set_note(j, "the files written since the run began exceed its disk limit");
	}
}

/* An engine that goes on after a failure ends its cell without one: the artifacts tell. */
static void job_files_count_failures(struct job *j, struct slice names)
{
	static const enum failure failures[ENGINE_ARTIFACT_COUNT] = {
	    [ENGINE_ARTIFACT_CRASH] = FAILURE_CRASH,
	    [ENGINE_ARTIFACT_TIMEOUT] = FAILURE_TIMEOUT,
	    [ENGINE_ARTIFACT_OOM] = FAILURE_OOM,
	};
	struct slice name;

	while (scan_line(&names, &name)) {
		enum failure what = failures[engine_saved(name)];

		if (what == FAILURE_NONE)
			continue;
		job_count_survived(j, what);
	}
}

static void job_files_take_found(struct job *j, struct slice result)
{
	struct collected done;
	struct err e;

	memcpy(&done, result.p, sizeof(done));
	j->found.inputs += done.found.inputs;
	j->found.input_bytes += done.found.input_bytes;
	j->found.failures += done.found.failures;
	j->env->gave(j->env->arg, j, done.found.inputs);
	if (done.found.taken > 0)
		job_count_taken(j);
	if (j->puts_off)
		fleet_put_off(j->fleet);
	j->found.skipped += done.found.skipped + done.found.dropped;
	job_files_take_saved(j, &done.found);
	if (done.lost && j->last_failure == FAILURE_NONE)
		job_count_overrun(j, 1);
	if (done.found.failures + done.found.suspects > 0 || done.lost)
		job_queued_artifacts(j, done.found.suspects);
	if (*done.unsaved) {
		joblog_note(&j->log, "progress: %s", done.unsaved);
		job_set_note(j, "%s", done.unsaved);
	}
	result.p += sizeof(done);
	result.n -= sizeof(done);
	if (j->target->engine->goes_on && j->last_failure == FAILURE_NONE)
		job_files_count_failures(j, result);
	buf_put(&j->artifacts, result);
	if (buf_check(&j->artifacts, &e) < 0)
		job_set_note(j, "more artifacts than can be listed: see logs/%s/crashes/%s",
			     j->env->dirs->id, j->target->name);
}

enum { COLLECTS_MAX = 60 }; /* tries, one a second */

/* The results stay in the working directory, which is then kept.  The job ends, because the next
 * cell would add to them.  On a full disk the reason is the disk limit; any other failure is ours.
 */
static void job_files_cannot_collect(struct job *j, const char *why)
{
	bool is_full = strstr(why, strerrordesc_np(ENOSPC)) || strstr(why, strerrordesc_np(EDQUOT));

	j->uncollected = true;
	job_set_note(j, "%s", why);
	intent_unsaved(j, is_full ? REASON_DISK_LIMIT : REASON_LOST);
}

static void job_files_on_collected(void *arg, struct slice result, const char *failed)
{
	struct job *j = arg;

	if (failed && job_text_is_shortage(failed) && j->collects++ < COLLECTS_MAX) {
		job_collect_later(j);
		return;
	}
	j->collects = 0;
	if (!failed && result.n >= sizeof(struct collected)) {
		j->others_help = false;
		j->uncollected = false; /* this also collected the rest of earlier cells */
		job_files_take_found(j, result);
		job_words_collected(j);
	} else {
		job_files_cannot_collect(j, failed ? failed : "collecting gave no result");
	}
	job_after_collect(j);
}

int job_prepare(struct job *j, struct err *e)
{
	struct task *t;

	job_partners_begin(j);
	return task_start(j->env->loop, job_files_prepare_work, j, job_files_on_prepared, j, &t, e);
}

void job_collect(struct job *j)
{
	struct task *t;
	struct err e;
	int r;

	joblog_flush(&j->log);
	r = task_start(j->env->loop, job_files_collect_work, j, job_files_on_collected, j, &t, &e);
	if (r < 0)
		job_files_on_collected(j, SLICE(""), e.msg);
}

void job_disk_begin(struct job *j)
{
	j->disk.now = j->disk.at_walk = j->disk.before = (struct disk_usage){0};
	j->disk.unexplained = 0;
}

void job_disk_forgive(struct job *j)
{
	j->disk.saved = (struct fs_usage){0};
	j->disk.kept = (struct workdir_kept){0};
}

void job_disk_unexplained(struct job *j, uint64_t bytes)
{
	if (j->disk.unexplained != bytes) /* see turns_set() */
		j->disk.unexplained = bytes;
}

void job_disk_nameless(struct job *j, const struct cell_nameless *n)
{
	j->disk.now.nameless = *n;
}

void job_disk_walked(struct job *j, const struct disk_usage *u, bool frozen, uint64_t walk)
{
	if (!frozen)
		j->disk.before = j->disk.at_walk;
	j->disk.at_walk = j->disk.now = *u;
	j->disk.walked = walk;
}

void job_others_help(struct job *j)
{
	j->others_help = true;
}

bool job_over_disk(const struct job *j)
{
	const struct fs_usage *saved = &j->disk.saved;
	uint64_t bytes = disk_bytes(&j->disk.now), files = disk_files(&j->disk.now);

	return bytes >= j->cfg->disk || saved->bytes >= j->cfg->disk - bytes ||
	       files >= WORKDIR_FILES_MAX || saved->files >= WORKDIR_FILES_MAX - files;
}
