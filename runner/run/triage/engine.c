/* SPDX-License-Identifier: Apache-2.0 */
/* Minimises a reproducer with the engine's own function, before the passes of minimise.h.  An
 * engine tries thousands of shorter inputs per second in one process, and ends with the first that
 * fails in any way.  Each step is one process.  It goes on from the last input that failed as the
 * crash does.  At the end the result is run alone. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/run/triage/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_INPUT  "/seeds"
#define NAME_INPUT "input"
#define AT_OUTPUT  "/work/shorter"

/* For smaller inputs the passes are cheaper. */
enum { INPUT_LEAST = 8 };
/* A step ends after so many executions, or so many seconds, without a shorter input. */
enum { RUNS = 50000, STEP_LEAST_S = 1, STEP_MOST_S = 10 };
/* The maximum of steps in a row that end at another failure. */
enum { MISSES_MAX = 8 };
/* The largest file that the cell may write. */
#define FILE_MOST (UINT64_C(64) << 20)
/* The engine's limits are whole seconds: of a shorter minimize_time the passes need all. */
#define TIME_LEAST_US (5 * USEC_PER_SEC)
/* Time for the start and for writing a report, beside the time of an input. */
#define AROUND_US (60 * USEC_PER_SEC)

static struct slice current(const struct triage *t)
{
	return t->engine.best ? (struct slice){t->engine.best, t->engine.n}
			      : minimise_best(&t->shrink.s);
}

static uint64_t step_s(const struct triage *t)
{
	uint64_t s = t->spec.cfg->minimize_us / 6 / USEC_PER_SEC;

	if (s < STEP_LEAST_S)
		s = STEP_LEAST_S;
	return s < STEP_MOST_S ? s : STEP_MOST_S;
}

/* Whether the failure takes too long for thousands of inputs, or the engine does not see it. */
static bool is_out_of_reach(const struct known_crash *c)
{
	return strncmp(c->crash_type, "Timeout", 7) == 0 ||
	       strncmp(c->crash_type, "Out-of-memory", 13) == 0 ||
	       strcmp(c->kind, crash_kind_name(CRASH_CELL)) == 0;
}

bool triage_engine_helps(const struct triage *t, const struct known_crash *c)
{
	return t->spec.target->engine->shorten && t->spec.cfg->minimize_us >= TIME_LEAST_US &&
	       minimise_best(&t->shrink.s).n >= INPUT_LEAST && !is_out_of_reach(c);
}

bool triage_engine_helps_again(const struct triage *t)
{
	size_t n = minimise_best(&t->shrink.s).n;

	return t->engine.least > 0 && n < t->engine.least && n >= INPUT_LEAST &&
	       clock_mono_us() < t->shrink.end_us;
}

/* --- files ------------------------------------------------------------------ */

/* The input is in a mounted directory, so that it can be replaced while the cell stays. */
static int write_files(const struct triage *t, struct err *e)
{
	_autofree_ char *dir = xasprintf("%s/.engine", t->work);
	_autofree_ char *input = xasprintf("%s/" NAME_INPUT, dir);
	_autofree_ char *output = xasprintf("%s/.shorter", t->work);
	uid_t uid = setup_uid(t->spec.index);
	int r;

	if (sys_mkdirat(AT_FDCWD, dir, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make directory '%s'", dir);
	if (chmod(dir, 0755) < 0) /* independent of the umask */
		return err_sys(e, "set the mode of '%s'", dir);
	r = triage_write_file(input, current(t), e);
	if (r == 0)
		r = triage_write_file(output, SLICE(""), e);
	if (r == 0 && uid && geteuid() == 0 && lchown(output, uid, setup_gid(uid)) < 0)
		r = err_sys(e, "give '%s' to user %u", output, (unsigned)uid);
	return r;
}

/* Reads the shorter input.  False: there is none. */
static bool read_shorter(const struct triage *t, char **ret, size_t *ret_n)
{
	_autofree_ char *path = xasprintf("%s/.shorter", t->work), *text = NULL;
	struct err e;

	if (fs_read(AT_FDCWD, path, current(t).n, &text, ret_n, &e) < 0 || *ret_n == 0 ||
	    *ret_n >= current(t).n)
		return false;
	*ret = take_ptr(&text);
	return true;
}

/* --- the end ---------------------------------------------------------------- */

static void triage_engine_take(struct triage *t, char *bytes, size_t n)
{
	free(t->engine.best);
	t->engine.best = bytes;
	t->engine.n = n;
	t->engine.misses = 0;
}

void triage_engine_done(struct triage *t)
{
	free(t->engine.best);
	free(t->engine.tried);
	t->engine.best = t->engine.tried = NULL;
	crash_parser_free(t->engine.parser);
	t->engine.parser = NULL;
}

static void triage_engine_give_up(struct triage *t, const char *why)
{
	triage_engine_done(t);
	triage_give_up(t, why);
	triage_next(t);
}

/* Goes on with the passes: with the engine's result if it is the same crash, otherwise without. */
static void triage_engine_go_on(struct triage *t, bool same)
{
	if (same)
		triage_shrink_restart(t, current(t));
	triage_engine_done(t);
	triage_shrink_passes(t);
}

static void on_alone_named(void *arg, struct replay_end *end)
{
	struct triage *t = arg;

	triage_engine_go_on(t, !*end->unusable && end->failed &&
				   triage_shrink_named(t, end->report, t->engine.raw));
}

static void triage_engine_on_alone(void *arg, struct replay_end *end)
{
	struct triage *t = arg;
	bool failed = !*end->unusable && end->failed;
	enum shrink_verdict v = failed ? triage_shrink_judge(t, end->report) : SHRINK_OTHER;
	struct err e;

	if (v != SHRINK_UNKNOWN) {
		triage_engine_go_on(t, v == SHRINK_SAME);
		return;
	}
	memcpy(t->engine.raw, end->report->raw_key, sizeof(t->engine.raw));
	if (triage_replay(t, t->f.path, true, on_alone_named, &e) < 0)
		triage_engine_give_up(t, e.msg);
}

/* Ends the engine's cell, because a worker has one cell at a time.  Removes its output, to free
 * disk space. */
static void leave_seat(struct triage *t)
{
	_autofree_ char *path = xasprintf("%s/.shorter", t->work);

	if (t->engine.seat)
		seat_clear(t->engine.seat);
	(void)unlink(path); /* allow: there may be none */
}

static void triage_engine_finish(struct triage *t)
{
	struct err e;

	leave_seat(t);
	if (!t->engine.best || t->stopping) {
		triage_engine_done(t);
		triage_shrink_passes(t);
	} else if (triage_write_file(t->f.path, current(t), &e) < 0 ||
		   triage_replay(t, t->f.path, false, triage_engine_on_alone, &e) < 0) {
		triage_engine_give_up(t, e.msg);
	}
}

/* --- a step ----------------------------------------------------------------- */

static void triage_engine_step(struct triage *t);

static void miss(struct triage *t)
{
	t->engine.misses++;
	triage_engine_step(t);
}

/* The result of a replay with names, for a stack that was not seen before. */
static void on_named(void *arg, struct replay_end *end)
{
	struct triage *t = arg;
	char *tried = take_ptr(&t->engine.tried);

	if (!*end->unusable && end->failed && triage_shrink_named(t, end->report, t->engine.raw)) {
		triage_engine_take(t, tried, t->engine.n_tried);
		triage_engine_step(t);
		return;
	}
	free(tried);
	miss(t);
}

static void ask_names(struct triage *t, char *bytes, size_t n, const char *raw)
{
	struct err e;

	free(t->engine.tried);
	t->engine.tried = bytes;
	t->engine.n_tried = n;
	memcpy(t->engine.raw, raw, sizeof(t->engine.raw));
	leave_seat(t);
	if (triage_write_file(t->f.path, (struct slice){bytes, n}, &e) < 0 ||
	    triage_replay(t, t->f.path, true, on_named, &e) < 0)
		triage_engine_give_up(t, e.msg);
}

static void triage_engine_judge(struct triage *t, const struct crash_report *r)
{
	char *bytes;
	size_t n;

	if (!r->found || !read_shorter(t, &bytes, &n)) {
		t->engine.least = current(t).n;
		triage_engine_finish(t);
		return;
	}
	switch (triage_shrink_judge(t, r)) {
	case SHRINK_SAME:
		triage_engine_take(t, bytes, n);
		triage_engine_step(t);
		break;
	case SHRINK_OTHER:
		free(bytes);
		miss(t);
		break;
	case SHRINK_UNKNOWN:
		ask_names(t, bytes, n, r->raw_key);
		break;
	}
}

static void triage_engine_on_end(void *arg, const struct exec_end *end)
{
	struct triage *t = arg;
	struct crash_report report;

	crash_parser_finish(t->engine.parser, &report);
	crash_parser_free(t->engine.parser);
	t->engine.parser = NULL;
	t->engine.exec = NULL;
	if (!end->started || end->stopped || end->late)
		triage_engine_finish(t);
	else
		triage_engine_judge(t, &report);
	crash_report_done(&report);
}

static void triage_engine_on_output(void *arg, struct slice bytes)
{
	struct triage *t = arg;

	crash_parser_feed(t->engine.parser, bytes);
}

static int triage_engine_command(const struct triage *t, struct setup *s, struct err *e)
{
	struct engine_shorten job = {
	    .binary = s->binary,
	    .input = DIR_INPUT "/" NAME_INPUT,
	    .output = AT_OUTPUT,
	    .runs = RUNS,
	    .max_time_s = step_s(t),
	    .input_timeout_s = (t->spec.cfg->input_timeout_us + USEC_PER_SEC - 1) / USEC_PER_SEC,
	    .rss_limit_mib = t->spec.cfg->rss_limit >> 20,
	    .ub_goes_on = triage_goes_past_ub(t),
	    .flags = (const char *const *)s->flags.v,
	    .env = (const char *const *)s->env.v,
	};

	return t->spec.target->engine->shorten(&job, &s->cmd, e);
}

static int triage_engine_launch(struct triage *t, struct err *e)
{
	struct target_config cfg = *t->spec.cfg; /* a shallow copy: the run owns the strings */
	struct setup s;
	int r;

	if (cfg.disk > FILE_MOST)
		cfg.disk = FILE_MOST;
	setup_init(&s, t->spec.target, &cfg);
	setup_mount(&s, DIR_INPUT, false, "%s/.engine", t->work);
	setup_mount(&s, AT_OUTPUT, true, "%s/.shorter", t->work);
	r = triage_engine_command(t, &s, e);
	if (r == 0) {
		struct exec_spec x = {
		    .setup = &s,
		    .seat = t->engine.seat,
		    .index = t->spec.index,
		    .deadline_us =
			step_s(t) * USEC_PER_SEC + 2 * t->spec.cfg->input_timeout_us + AROUND_US,
		    .forks_end_it = true,
		    .output = triage_engine_on_output,
		    .done = triage_engine_on_end,
		    .arg = t,
		};
		r = exec_start(&t->env->replay.exec, &x, &t->engine.exec, e);
	}
	setup_done(&s);
	return r;
}

static int triage_engine_start(struct triage *t, struct err *e)
{
	const struct target *target = t->spec.target;
	struct crash_options o = {.target = target->name,
				  .build = kept_file_now(target->binary, t->engine.build)};
	int r = write_files(t, e);

	if (!t->engine.seat)
		t->engine.seat = seat_new();
	if (t->seat)
		replay_seat_clear(t->seat);
	if (r < 0)
		return r;
	t->engine.parser = crash_parser_new(&o);
	return triage_engine_launch(t, e);
}

static void triage_engine_step(struct triage *t)
{
	bool is_late = clock_mono_us() >= t->engine.end_us;
	struct err e;

	if (is_late)
		t->engine.least = SIZE_MAX; /* it had not finished */
	if (t->stopping || is_late || t->engine.misses >= MISSES_MAX ||
	    current(t).n < INPUT_LEAST) {
		triage_engine_finish(t);
		return;
	}
	if (triage_engine_start(t, &e) == 0)
		t->sum.replays++;
	else
		triage_engine_finish(t); /* the passes work without the engine */
}

void triage_engine_begin(struct triage *t)
{
	uint64_t until = clock_mono_us() + t->spec.cfg->minimize_us / 2;

	triage_engine_done(t);
	t->engine.misses = 0;
	t->engine.least = 0;
	if (until > t->shrink.end_us)
		until = t->shrink.end_us;
	t->engine.end_us = until < t->end_us ? until : t->end_us;
	triage_engine_step(t);
}
