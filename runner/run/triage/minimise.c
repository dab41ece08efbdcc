/* SPDX-License-Identifier: Apache-2.0 */
/* Minimises the reproducers of crashes.  A smaller input is accepted if it fails in the same way:
 * by the cheap key or, if that is new, by the signature and the line.
 *
 * The engine's own function comes before the passes of minimise.h.  An engine tries thousands of
 * shorter inputs per second in one process, and ends with the first that fails in any way.  Each
 * step is one process.  It goes on from the last input that failed as the crash does.  At the end
 * the result is run alone. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/task.h"
#include "runner/crash/ledger/input.h"
#include "runner/crash/vault.h"
#include "runner/run/triage/internal.h"
#include "runner/targets/sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger inputs would take more replays than any budget allows. */
enum { INPUT_MAX = 4 << 20, TRIES_MAX = 100000 };

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

enum minimise_verdict { MINIMISE_SAME, MINIMISE_OTHER, MINIMISE_UNKNOWN };

/* Replays the next candidate of the passes. */
static void minimise_passes(struct triage *t);

static void minimise_close(struct triage *t)
{
	if (t->minimise.open)
		minimise_done(&t->minimise.s);
	t->minimise.open = false;
}

/* Lets the passes go on with these bytes. */
static void minimise_restart(struct triage *t, struct slice bytes)
{
	minimise_close(t);
	minimise_init(&t->minimise.s, bytes, TRIES_MAX);
	t->minimise.open = t->minimise.shorter = true;
}

/* Writes a file of t->work that all users may read, because a cell's user must. */
static int minimise_write_file(const char *path, struct slice bytes, struct err *e)
{
	_autoclose_ int fd = -1;
	int r =
	    fs_open_file(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644, &fd, e);

	if (r < 0)
		return r;
	if (fchmod(fd, 0644) < 0 || sys_write_all(fd, bytes.p, bytes.n) < 0)
		return err_sys(e, "write '%s'", path);
	return 0;
}

/* --- comparing failures ------------------------------------------------------ */

static bool minimise_is_the_crash(const struct triage *t, const struct known_crash *c)
{
	return c && strcmp(c->signature, t->minimise.signature) == 0;
}

enum { KEYS_MAX = sizeof(((struct triage *)0)->minimise.other) / CRASH_KEY_HEX };

static bool minimise_has_key(char keys[][CRASH_KEY_HEX], size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

static void minimise_add_key(char keys[][CRASH_KEY_HEX], size_t *n, const char *key)
{
	if (*key && *n < KEYS_MAX)
		memcpy(keys[(*n)++], key, CRASH_KEY_HEX);
}

static const struct known_crash *minimise_own_entry(const struct triage *t,
						    const struct known_crash *c)
{
	return c ? ledger_entry(c, t->spec.target->name) : NULL;
}

/* Judges a report without names: whether it is the crash in work. */
static enum minimise_verdict minimise_compare(struct triage *t, const struct crash_report *r)
{
	const struct ledger *l = books_ledger(t->env->books);
	const struct known_crash *c = ledger_find_raw(l, t->spec.target->name, r->raw_key);

	if (minimise_is_the_crash(t, c) &&
	    minimise_own_entry(t, c)) /* the key is of this build, so are the lines */
		memcpy(t->minimise.bug, minimise_own_entry(t, c)->bug,
		       strnlen(minimise_own_entry(t, c)->bug, CRASH_KEY_HEX - 1) + 1);
	if (minimise_is_the_crash(t, c) || minimise_is_the_crash(t, ledger_find(l, r->signature)) ||
	    minimise_has_key(t->minimise.same, t->minimise.n_same, r->raw_key))
		return MINIMISE_SAME;
	return minimise_has_key(t->minimise.other, t->minimise.n_other, r->raw_key)
		   ? MINIMISE_OTHER
		   : MINIMISE_UNKNOWN;
}

/* Whether the lines are the same, too: another line of the same functions may be another bug.  In a
 * build that the ledger does not know, lines may have moved: then the first report counts. */
static bool minimise_is_the_bug(struct triage *t, const struct crash_report *r)
{
	if (!*t->minimise.bug)
		memcpy(t->minimise.bug, r->bug, sizeof(t->minimise.bug));
	return !*r->bug || strcmp(t->minimise.bug, r->bug) == 0;
}

/* Judges a report with names, and remembers the result for the cheap key.  True: it is the crash.
 */
static bool minimise_judge_named(struct triage *t, const struct crash_report *r,
				 const char *raw_key)
{
	const struct known_crash *c = ledger_find(books_ledger(t->env->books), r->signature);
	bool same = minimise_is_the_crash(t, c) && minimise_is_the_bug(t, r);

	if (same)
		minimise_add_key(t->minimise.same, &t->minimise.n_same, raw_key);
	else
		minimise_add_key(t->minimise.other, &t->minimise.n_other, raw_key);
	return same;
}

/* --- the engine ------------------------------------------------------------ */

static struct slice minimise_engine_best(const struct triage *t)
{
	return t->engine.best ? (struct slice){t->engine.best, t->engine.n}
			      : minimise_best(&t->minimise.s);
}

static uint64_t minimise_engine_step_s(const struct triage *t)
{
	uint64_t s = t->spec.cfg->minimize_us / 6 / USEC_PER_SEC;

	if (s < STEP_LEAST_S)
		s = STEP_LEAST_S;
	return s < STEP_MOST_S ? s : STEP_MOST_S;
}

/* Whether the failure takes too long for thousands of inputs, or the engine does not see it. */
static bool minimise_is_out_of_reach(const struct known_crash *c)
{
	return strncmp(c->crash_type, "Timeout", 7) == 0 ||
	       strncmp(c->crash_type, "Out-of-memory", 13) == 0 ||
	       strcmp(c->kind, crash_kind_name(CRASH_CELL)) == 0;
}

/* Whether the engine is likely to make the input smaller. */
static bool minimise_engine_helps(const struct triage *t, const struct known_crash *c)
{
	return t->spec.target->engine->shorten && t->spec.cfg->minimize_us >= TIME_LEAST_US &&
	       minimise_best(&t->minimise.s).n >= INPUT_LEAST && !minimise_is_out_of_reach(c);
}

/* After passes: whether they made the input smaller than the engine did. */
static bool minimise_engine_helps_again(const struct triage *t)
{
	size_t n = minimise_best(&t->minimise.s).n;

	return t->engine.least > 0 && n < t->engine.least && n >= INPUT_LEAST &&
	       clock_mono_us() < t->minimise.end_us;
}

/* --- files ------------------------------------------------------------------ */

/* The input is in a mounted directory, so that it can be replaced while the cell stays. */
static int minimise_engine_write_files(const struct triage *t, struct err *e)
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
	r = minimise_write_file(input, minimise_engine_best(t), e);
	if (r == 0)
		r = minimise_write_file(output, SLICE(""), e);
	if (r == 0 && uid && geteuid() == 0 && lchown(output, uid, setup_gid(uid)) < 0)
		r = err_sys(e, "give '%s' to user %u", output, (unsigned)uid);
	return r;
}

/* Reads the shorter input.  False: there is none. */
static bool minimise_engine_read_shorter(const struct triage *t, char **ret, size_t *ret_n)
{
	_autofree_ char *path = xasprintf("%s/.shorter", t->work), *text = NULL;
	struct err e;

	if (fs_read(AT_FDCWD, path, minimise_engine_best(t).n, &text, ret_n, &e) < 0 ||
	    *ret_n == 0 || *ret_n >= minimise_engine_best(t).n)
		return false;
	*ret = take_ptr(&text);
	return true;
}

/* --- the end ---------------------------------------------------------------- */

static void minimise_engine_take(struct triage *t, char *bytes, size_t n)
{
	free(t->engine.best);
	t->engine.best = bytes;
	t->engine.n = n;
	t->engine.misses = 0;
}

static void minimise_engine_done(struct triage *t)
{
	free(t->engine.best);
	free(t->engine.tried);
	t->engine.best = t->engine.tried = NULL;
	crash_parser_free(t->engine.parser);
	t->engine.parser = NULL;
}

static void minimise_engine_give_up(struct triage *t, const char *why)
{
	minimise_engine_done(t);
	triage_give_up(t, why);
	triage_next(t);
}

/* Goes on with the passes: with the engine's result if it is the same crash, otherwise without. */
static void minimise_engine_go_on(struct triage *t, bool same)
{
	if (same)
		minimise_restart(t, minimise_engine_best(t));
	minimise_engine_done(t);
	minimise_passes(t);
}

static void minimise_engine_on_alone_named(void *arg, struct replay_end *end)
{
	struct triage *t = arg;

	minimise_engine_go_on(t, !*end->unusable && end->failed &&
				     minimise_judge_named(t, end->report, t->engine.raw));
}

static void minimise_engine_on_alone(void *arg, struct replay_end *end)
{
	struct triage *t = arg;
	bool failed = !*end->unusable && end->failed;
	enum minimise_verdict v = failed ? minimise_compare(t, end->report) : MINIMISE_OTHER;
	struct err e;

	if (v != MINIMISE_UNKNOWN) {
		minimise_engine_go_on(t, v == MINIMISE_SAME);
		return;
	}
	memcpy(t->engine.raw, end->report->raw_key, sizeof(t->engine.raw));
	if (triage_replay(t, t->f.path, true, minimise_engine_on_alone_named, &e) < 0)
		minimise_engine_give_up(t, e.msg);
}

/* Ends the engine's cell, because a worker has one cell at a time.  Removes its output, to free
 * disk space. */
static void minimise_engine_leave_seat(struct triage *t)
{
	_autofree_ char *path = xasprintf("%s/.shorter", t->work);

	if (t->engine.seat)
		seat_clear(t->engine.seat);
	(void)unlink(path); /* allow: there may be none */
}

static void minimise_engine_finish(struct triage *t)
{
	struct err e;

	minimise_engine_leave_seat(t);
	if (!t->engine.best || t->stopping) {
		minimise_engine_done(t);
		minimise_passes(t);
	} else if (minimise_write_file(t->f.path, minimise_engine_best(t), &e) < 0 ||
		   triage_replay(t, t->f.path, false, minimise_engine_on_alone, &e) < 0) {
		minimise_engine_give_up(t, e.msg);
	}
}

/* --- a step ----------------------------------------------------------------- */

static void minimise_engine_step(struct triage *t);

static void minimise_engine_miss(struct triage *t)
{
	t->engine.misses++;
	minimise_engine_step(t);
}

/* The result of a replay with names, for a stack that was not seen before. */
static void minimise_engine_on_named(void *arg, struct replay_end *end)
{
	struct triage *t = arg;
	char *tried = take_ptr(&t->engine.tried);

	if (!*end->unusable && end->failed && minimise_judge_named(t, end->report, t->engine.raw)) {
		minimise_engine_take(t, tried, t->engine.n_tried);
		minimise_engine_step(t);
		return;
	}
	free(tried);
	minimise_engine_miss(t);
}

static void minimise_engine_ask_names(struct triage *t, char *bytes, size_t n, const char *raw)
{
	struct err e;

	free(t->engine.tried);
	t->engine.tried = bytes;
	t->engine.n_tried = n;
	memcpy(t->engine.raw, raw, sizeof(t->engine.raw));
	minimise_engine_leave_seat(t);
	if (minimise_write_file(t->f.path, (struct slice){bytes, n}, &e) < 0 ||
	    triage_replay(t, t->f.path, true, minimise_engine_on_named, &e) < 0)
		minimise_engine_give_up(t, e.msg);
}

static void minimise_engine_judge(struct triage *t, const struct crash_report *r)
{
	char *bytes;
	size_t n;

	if (!r->found || !minimise_engine_read_shorter(t, &bytes, &n)) {
		t->engine.least = minimise_engine_best(t).n;
		minimise_engine_finish(t);
		return;
	}
	switch (minimise_compare(t, r)) {
	case MINIMISE_SAME:
		minimise_engine_take(t, bytes, n);
		minimise_engine_step(t);
		break;
	case MINIMISE_OTHER:
		free(bytes);
		minimise_engine_miss(t);
		break;
	case MINIMISE_UNKNOWN:
		minimise_engine_ask_names(t, bytes, n, r->raw_key);
		break;
	}
}

static void minimise_engine_on_end(void *arg, const struct exec_end *end)
{
	struct triage *t = arg;
	struct crash_report report;

	crash_parser_finish(t->engine.parser, &report);
	crash_parser_free(t->engine.parser);
	t->engine.parser = NULL;
	t->engine.exec = NULL;
	if (!end->started || end->stopped || end->late)
		minimise_engine_finish(t);
	else
		minimise_engine_judge(t, &report);
	crash_report_done(&report);
}

static void minimise_engine_on_output(void *arg, struct slice bytes)
{
	struct triage *t = arg;

	crash_parser_feed(t->engine.parser, bytes);
}

static int minimise_engine_command(const struct triage *t, struct setup *s, struct err *e)
{
	struct engine_shorten job = {
	    .binary = s->binary,
	    .input = DIR_INPUT "/" NAME_INPUT,
	    .output = AT_OUTPUT,
	    .runs = RUNS,
	    .max_time_s = minimise_engine_step_s(t),
	    .input_timeout_s = (t->spec.cfg->input_timeout_us + USEC_PER_SEC - 1) / USEC_PER_SEC,
	    .rss_limit_mib = t->spec.cfg->rss_limit >> 20,
	    .ub_goes_on = triage_goes_past_ub(t),
	    .flags = (const char *const *)s->flags.v,
	    .env = (const char *const *)s->env.v,
	};

	return setup_shorten(s, &job, e);
}

static int minimise_engine_launch(struct triage *t, struct err *e)
{
	struct target_config cfg = *t->spec.cfg; /* a shallow copy: the run owns the strings */
	struct setup s;
	int r;

	if (cfg.disk > FILE_MOST)
		cfg.disk = FILE_MOST;
	setup_init(&s, t->spec.target, &cfg);
	setup_mount(&s, DIR_INPUT, false, "%s/.engine", t->work);
	setup_mount(&s, AT_OUTPUT, true, "%s/.shorter", t->work);
	r = minimise_engine_command(t, &s, e);
	if (r == 0) {
		struct exec_spec x = {
		    .setup = &s,
		    .seat = t->engine.seat,
		    .index = t->spec.index,
		    .deadline_us = minimise_engine_step_s(t) * USEC_PER_SEC +
				   2 * t->spec.cfg->input_timeout_us + AROUND_US,
		    .forks_end_it = true,
		    .output = minimise_engine_on_output,
		    .done = minimise_engine_on_end,
		    .arg = t,
		};
		r = exec_start(&t->env->replay.exec, &x, &t->engine.exec, e);
	}
	setup_done(&s);
	return r;
}

static int minimise_engine_start(struct triage *t, struct err *e)
{
	const struct target *target = t->spec.target;
	struct crash_options o = {.target = target->name,
				  .build = file_id_now(target->binary, t->engine.build)};
	int r = minimise_engine_write_files(t, e);

	if (!t->engine.seat)
		t->engine.seat = seat_new();
	if (t->seat)
		replay_seat_clear(t->seat);
	if (r < 0)
		return r;
	t->engine.parser = crash_parser_new(&o);
	return minimise_engine_launch(t, e);
}

static void minimise_engine_step(struct triage *t)
{
	bool is_late = clock_mono_us() >= t->engine.end_us;
	struct err e;

	if (is_late)
		t->engine.least = SIZE_MAX; /* it had not finished */
	if (t->stopping || is_late || t->engine.misses >= MISSES_MAX ||
	    minimise_engine_best(t).n < INPUT_LEAST) {
		minimise_engine_finish(t);
		return;
	}
	if (minimise_engine_start(t, &e) == 0)
		t->sum.replays++;
	else
		minimise_engine_finish(t); /* the passes work without the engine */
}

/* Minimises with the engine, then calls minimise_passes(). */
static void minimise_engine_begin(struct triage *t)
{
	uint64_t until = clock_mono_us() + t->spec.cfg->minimize_us / 2;

	minimise_engine_done(t);
	t->engine.misses = 0;
	t->engine.least = 0;
	if (until > t->minimise.end_us)
		until = t->minimise.end_us;
	t->engine.end_us = until < t->end_us ? until : t->end_us;
	minimise_engine_step(t);
}

/* --- saving the result ----------------------------------------------------- */

static bool minimise_is_of_run(const struct triage *t, const struct known_crash *c)
{
	const struct known_crash *own = ledger_entry(c, t->spec.target->name);

	return own && strcmp(own->last_seen.run, t->env->run) == 0;
}

static bool minimise_wanted(const struct triage *t, const struct known_crash *c)
{
	const struct known_crash *own = ledger_entry(c, t->spec.target->name);

	if (!t->spec.signature)
		return ledger_minimize_waits(c, t->spec.target->name) &&
		       (t->spec.minimise_old || minimise_is_of_run(t, c));
	return own && *own->crash_file && !*c->merged_into &&
	       strcmp(c->signature, t->spec.signature) == 0;
}

static void minimise_on_saved(void *arg, const char *failed)
{
	struct triage *t = arg;

	if (failed)
		triage_give_up(t, failed);
	triage_next(t);
}

/* The vault has the old file or the new file: the ledger takes the file that is there. */
static void minimise_on_not_replaced(struct triage *t, const char *failed)
{
	struct ledger *l = books_ledger(t->env->books);
	const char *target = t->spec.target->name;
	const struct known_crash *own = ledger_find_entry(l, t->minimise.signature, target);
	char path[VAULT_PATH];
	struct err e;

	snprintf(path, sizeof(path), "%s", own ? own->minimized : "");
	if (*path)
		(void)!ledger_minimized(l, t->minimise.signature, target, path, 0, &e);
	minimise_on_saved(t, failed);
}

static void minimise_note_time(struct triage *t)
{
	uint64_t ms = (clock_mono_us() - t->minimise.began_us) / USEC_PER_MSEC;
	struct err e;

	if (ledger_minimize_tried(books_ledger(t->env->books), t->minimise.signature,
				  t->spec.target->name, ms, t->minimise.ended, &e) < 0)
		minimise_on_saved(t, e.msg);
	else
		books_save(t->env->books, minimise_on_saved, t);
}

static void minimise_on_vaulted(void *arg, struct slice result, const char *failed)
{
	struct triage *t = arg;
	char path[VAULT_PATH];
	struct slice best = minimise_best(&t->minimise.s);
	struct err e;

	if (!failed && (result.n == 0 || result.n >= sizeof(path)))
		failed = "a task gave no result";
	if (!failed) {
		memcpy(path, result.p, result.n);
		path[result.n] = '\0';
	}
	if (failed || ledger_minimized(books_ledger(t->env->books), t->minimise.signature,
				       t->spec.target->name, path, best.n, &e) < 0) {
		minimise_on_not_replaced(t, failed ? failed : e.msg);
		return;
	}
	t->sum.minimised++;
	minimise_note_time(t);
}

static int minimise_fill_vault(void *arg, struct buf *out, struct err *e)
{
	const struct triage *t = arg;
	struct vault_item item = {.signature = slice_of(t->minimise.signature),
				  .target = t->spec.target->name};
	char place[VAULT_PLACE], path[VAULT_PATH];
	int r;

	item.file[VAULT_MINIMIZED] = minimise_best(&t->minimise.s);
	r = vault_save(t->env->state->dirfd, &item, place, e);
	if (r < 0)
		return r;
	vault_path(place, VAULT_MINIMIZED, path);
	buf_puts(out, path);
	return 0;
}

static void minimise_write_vault(void *arg, const char *failed)
{
	struct triage *t = arg;
	struct task *task;
	struct err e;

	if (failed)
		minimise_on_not_replaced(t, failed);
	else if (task_start(t->env->replay.exec.loop, minimise_fill_vault, t, minimise_on_vaulted,
			    t, &task, &e) < 0)
		minimise_on_not_replaced(t, e.msg);
}

/* Replaces the minimised input.  The ledger is written first, so that its facts about the file are
 * never wrong. */
static void minimise_replace_smaller(struct triage *t)
{
	struct ledger *l = books_ledger(t->env->books);
	const char *target = t->spec.target->name;
	const struct known_crash *own = ledger_find_entry(l, t->minimise.signature, target);
	struct err e;

	if (!own || !*own->minimized)
		minimise_write_vault(t, NULL);
	else if (ledger_minimize_writes(l, t->minimise.signature, target, &e) < 0)
		minimise_on_saved(t, e.msg);
	else
		books_save(t->env->books, minimise_write_vault, t);
}

static void minimise_finish_one(struct triage *t, bool ended)
{
	t->at++;
	t->minimise.ended = ended;
	(void)unlink(t->f.path); /* allow: of the work directory, which goes anyway */
	if (t->minimise.s.accepted == 0 && !t->minimise.shorter)
		minimise_note_time(t);
	else
		minimise_replace_smaller(t);
}

bool triage_minimise_cut(struct triage *t)
{
	uint64_t now = clock_mono_us();

	if (t->stage != STAGE_MINIMISE || !t->later.path ||
	    (!t->stopping && now < t->end_us && now < t->minimise.end_us))
		return false;
	t->later.path = NULL;
	minimise_finish_one(t, now >= t->minimise.limit_us && !t->engine.best);
	return true;
}

static void minimise_answer(struct triage *t, bool accepted)
{
	t->minimise.named = false;
	minimise_judge(&t->minimise.s, accepted);
	minimise_passes(t);
}

/* --- the passes ------------------------------------------------------------ */

static void minimise_on_replayed(void *arg, struct replay_end *end);

static void minimise_replay_candidate(struct triage *t)
{
	struct err e;

	if (triage_replay(t, t->f.path, t->minimise.named, minimise_on_replayed, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
	}
}

static void minimise_on_replayed(void *arg, struct replay_end *end)
{
	struct triage *t = arg;
	enum minimise_verdict verdict;

	if (*end->unusable) { /* the best input so far is kept */
		minimise_finish_one(t, false);
		return;
	}
	if (!end->failed) {
		minimise_answer(t, false);
		return;
	}
	if (t->minimise.named) {
		minimise_answer(t, minimise_judge_named(t, end->report, t->f.raw_key));
		return;
	}
	verdict = minimise_compare(t, end->report);
	if (verdict != MINIMISE_UNKNOWN) {
		minimise_answer(t, verdict == MINIMISE_SAME);
	} else {
		/* With names the failure may turn out to be the same. */
		memcpy(t->f.raw_key, end->report->raw_key, sizeof(t->f.raw_key));
		t->minimise.named = true;
		minimise_replay_candidate(t);
	}
}

static void minimise_passes(struct triage *t)
{
	uint64_t now = clock_mono_us();
	struct slice candidate;
	struct err e;

	if (t->stopping || now >= t->end_us || now >= t->minimise.end_us) {
		minimise_finish_one(t, now >= t->minimise.limit_us);
		return;
	}
	if (!minimise_next(&t->minimise.s, &candidate)) {
		if (minimise_engine_helps_again(t))
			minimise_engine_begin(t);
		else
			minimise_finish_one(t, true);
		return;
	}
	if (minimise_write_file(t->f.path, candidate, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
		return;
	}
	minimise_replay_candidate(t);
}

static int minimise_begin(struct triage *t, const struct known_crash *c, struct err *e)
{
	char *input = NULL;
	size_t n;
	/* It goes on with the result of earlier runs. */
	enum ledger_input from = *c->minimized ? LEDGER_MINIMIZED : LEDGER_INPUT;
	int r = ledger_input_check(t->env->state->dirfd, c, from, e);

	if (r == 0)
		r = fs_read(t->env->state->dirfd, ledger_input_path(c, from), INPUT_MAX, &input, &n,
			    e);

	minimise_close(t);
	snprintf(t->minimise.signature, sizeof(t->minimise.signature), "%s", c->signature);
	if (r == 0)
		minimise_init(&t->minimise.s, (struct slice){input, n}, TRIES_MAX);
	t->minimise.open = r == 0;
	free(input);
	finding_done(&t->f);
	snprintf(t->f.path, sizeof(t->f.path), "%s/candidate", t->work);
	t->minimise.n_other = t->minimise.n_same = 0;
	t->minimise.named = t->minimise.shorter = false;
	*t->minimise.bug = '\0';
	t->engine.least = 0;
	return r;
}

/* Sets the time limits: minimize_time is a crash's total over all runs. */
static void minimise_begin_time(struct triage *t, const struct known_crash *own, bool old)
{
	uint64_t ms = t->spec.cfg->minimize_us / USEC_PER_MSEC;

	if (!t->spec.signature)
		ms -= own->minimize_ms < ms ? own->minimize_ms : ms;
	t->minimise.began_us = clock_mono_us();
	t->minimise.end_us = t->minimise.limit_us = t->minimise.began_us + ms * USEC_PER_MSEC;
	if (t->spec.signature && t->minimise.limit_us > t->end_us) /* the user's limit */
		t->minimise.limit_us = t->end_us;
	if (old && t->minimise.end_us > t->minimise.old_end_us)
		t->minimise.end_us = t->minimise.old_end_us;
}

static void minimise_make_smaller(struct triage *t)
{
	const struct known_crash *own = ledger_find_entry(
	    books_ledger(t->env->books), t->minimise.signature, t->spec.target->name);

	if (own && minimise_engine_helps(t, own))
		minimise_engine_begin(t);
	else
		minimise_passes(t);
}

/* Runs the input once before minimising.  In another build, or on another machine, it may not fail:
 * then no smaller input means anything. */
static void minimise_replay_first(struct triage *t);

static void minimise_on_first(void *arg, struct replay_end *end)
{
	struct triage *t = arg;
	enum minimise_verdict verdict = MINIMISE_OTHER;

	if (!*end->unusable && end->failed && t->minimise.named)
		verdict = minimise_judge_named(t, end->report, t->f.raw_key) ? MINIMISE_SAME
									     : MINIMISE_OTHER;
	else if (!*end->unusable && end->failed)
		verdict = minimise_compare(t, end->report);
	if (verdict == MINIMISE_UNKNOWN) { /* the known cheap key is from another build */
		memcpy(t->f.raw_key, end->report->raw_key, sizeof(t->f.raw_key));
		t->minimise.named = true;
		minimise_replay_first(t);
		return;
	}
	t->minimise.named = false;
	if (verdict == MINIMISE_SAME) {
		minimise_make_smaller(t);
		return;
	}
	if (t->spec.signature)
		snprintf(t->sum.note, sizeof(t->sum.note), "%s",
			 *end->unusable ? end->unusable
					: "its input does not fail in this way here");
	t->at++;
	(void)unlink(t->f.path); /* allow: of the work directory, which goes anyway */
	triage_next(t);
}

static void minimise_replay_first(struct triage *t)
{
	struct err e;

	if (minimise_write_file(t->f.path, minimise_best(&t->minimise.s), &e) < 0 ||
	    triage_replay(t, t->f.path, t->minimise.named, minimise_on_first, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
	}
}

/* Moves crashes of this run to the front: crashes of earlier runs can take all of the time. */
static void minimise_this_run_first(const struct triage *t)
{
	char **v = t->names.v;

	for (size_t i = 0, n = 0; i < t->names.n; i++) {
		char *name = v[i];

		if (!minimise_is_of_run(t, ledger_record(books_ledger(t->env->books), name)))
			continue;
		memmove(v + n + 1, v + n, (i - n) * sizeof(*v));
		v[n++] = name;
	}
}

static void minimise_list(struct triage *t)
{
	uint64_t now = clock_mono_us();

	triage_list(t, minimise_wanted);
	minimise_this_run_first(t);
	t->minimise.old_end_us = now + (t->end_us > now ? (t->end_us - now) / 2 : 0);
}

/* Begins to minimise the record's input.  False: there is nothing to do. */
static bool minimise_step(struct triage *t, const struct known_crash *record)
{
	const struct known_crash *own = ledger_entry(record, t->spec.target->name);
	bool old = !t->spec.signature && !minimise_is_of_run(t, record);
	struct err e;
	int r;

	if (!own || sanitizer_missing(t->spec.target, own->kind) ||
	    (old && clock_mono_us() >= t->minimise.old_end_us))
		return false;
	minimise_begin_time(t, own, old);
	r = minimise_begin(t, own, &e);
	if (r < 0) {
		t->at++;
		t->minimise.ended = r == -EFBIG || r == -ENOENT || r == -EBADMSG || r == -EINVAL;
		minimise_note_time(t);
	} else if (old || t->spec.signature) {
		minimise_replay_first(t);
	} else {
		minimise_make_smaller(t);
	}
	return true;
}

bool triage_minimise_step(struct triage *t)
{
	if (t->spec.cfg->minimize_us == 0)
		return false;
	if (!t->listed)
		minimise_list(t);
	for (; t->at < t->names.n; t->at++)
		if (minimise_step(t, ledger_record(books_ledger(t->env->books), t->names.v[t->at])))
			return true;
	return false;
}

void triage_minimise_done(struct triage *t)
{
	minimise_engine_done(t);
	minimise_close(t);
}
