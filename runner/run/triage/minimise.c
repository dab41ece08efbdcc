/* SPDX-License-Identifier: Apache-2.0 */
/* Minimises the reproducers of crashes.  A smaller input is accepted if it fails in the same way:
 * by the cheap key or, if that is new, by the signature. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
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

static bool is_of_run(const struct triage *t, const struct known_crash *c)
{
	const struct known_crash *own = ledger_entry(c, t->spec.target->name);

	return own && strcmp(own->last_seen.run, t->env->run) == 0;
}

static bool triage_minimise_wanted(const struct triage *t, const struct known_crash *c)
{
	const struct known_crash *own = ledger_entry(c, t->spec.target->name);

	if (!t->spec.signature)
		return ledger_minimize_waits(c, t->spec.target->name) &&
		       (t->spec.shrink_old || is_of_run(t, c));
	return own && *own->crash_file && !*c->merged_into &&
	       strcmp(c->signature, t->spec.signature) == 0;
}

void triage_shrink_done(struct triage *t)
{
	if (t->shrink.open)
		minimise_done(&t->shrink.s);
	t->shrink.open = false;
}

static bool triage_minimise_is_the_crash(const struct triage *t, const struct known_crash *c)
{
	return c && strcmp(c->signature, t->shrink.signature) == 0;
}

int triage_write_file(const char *path, struct slice bytes, struct err *e)
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

static void triage_minimise_on_saved(void *arg, const char *failed)
{
	struct triage *t = arg;

	if (failed)
		triage_give_up(t, failed);
	triage_next(t);
}

/* The vault has the old file or the new file: the ledger takes the file that is there. */
static void not_replaced(struct triage *t, const char *failed)
{
	struct ledger *l = books_ledger(t->env->books);
	const char *target = t->spec.target->name;
	const struct known_crash *own = ledger_find_entry(l, t->shrink.signature, target);
	char path[VAULT_PATH];
	struct err e;

	snprintf(path, sizeof(path), "%s", own ? own->minimized : "");
	if (*path)
		(void)!ledger_minimized(l, t->shrink.signature, target, path, 0, &e);
	triage_minimise_on_saved(t, failed);
}

static void note_try(struct triage *t)
{
	uint64_t ms = (clock_mono_us() - t->shrink.began_us) / USEC_PER_MSEC;
	struct err e;

	if (ledger_minimize_tried(books_ledger(t->env->books), t->shrink.signature,
				  t->spec.target->name, ms, t->shrink.ended, &e) < 0)
		triage_minimise_on_saved(t, e.msg);
	else
		books_save(t->env->books, triage_minimise_on_saved, t);
}

static void triage_minimise_on_vaulted(void *arg, struct slice result, const char *failed)
{
	struct triage *t = arg;
	char path[VAULT_PATH];
	struct slice best = minimise_best(&t->shrink.s);
	struct err e;

	if (!failed && (result.n == 0 || result.n >= sizeof(path)))
		failed = "a task gave no result";
	if (!failed) {
		memcpy(path, result.p, result.n);
		path[result.n] = '\0';
	}
	if (failed || ledger_minimized(books_ledger(t->env->books), t->shrink.signature,
				       t->spec.target->name, path, best.n, &e) < 0) {
		not_replaced(t, failed ? failed : e.msg);
		return;
	}
	t->sum.shrunk++;
	note_try(t);
}

static int triage_minimise_fill_vault(void *arg, struct buf *out, struct err *e)
{
	const struct triage *t = arg;
	struct vault_item item = {.signature = slice_of(t->shrink.signature),
				  .target = t->spec.target->name};
	char place[VAULT_PLACE], path[VAULT_PATH];
	int r;

	item.file[VAULT_MINIMIZED] = minimise_best(&t->shrink.s);
	r = vault_save(t->env->state->dirfd, &item, place, e);
	if (r < 0)
		return r;
	vault_path(place, VAULT_MINIMIZED, path);
	buf_puts(out, path);
	return 0;
}

static void write_vault(void *arg, const char *failed)
{
	struct triage *t = arg;
	struct task *task;
	struct err e;

	if (failed)
		not_replaced(t, failed);
	else if (task_start(t->env->replay.exec.loop, triage_minimise_fill_vault, t,
			    triage_minimise_on_vaulted, t, &task, &e) < 0)
		not_replaced(t, e.msg);
}

/* Replaces the minimised input.  The ledger is written first, so that its facts about the file are
 * never wrong. */
static void replace_smaller(struct triage *t)
{
	struct ledger *l = books_ledger(t->env->books);
	const char *target = t->spec.target->name;
	const struct known_crash *own = ledger_find_entry(l, t->shrink.signature, target);
	struct err e;

	if (!own || !*own->minimized)
		write_vault(t, NULL);
	else if (ledger_minimize_writes(l, t->shrink.signature, target, &e) < 0)
		triage_minimise_on_saved(t, e.msg);
	else
		books_save(t->env->books, write_vault, t);
}

static void finish_one(struct triage *t, bool ended)
{
	t->at++;
	t->shrink.ended = ended;
	(void)unlink(t->f.path); /* allow: of the work directory, which goes anyway */
	if (t->shrink.s.accepted == 0 && !t->shrink.shorter)
		note_try(t);
	else
		replace_smaller(t);
}

bool triage_shrink_cut(struct triage *t)
{
	uint64_t now = clock_mono_us();

	if (t->stage != STAGE_SHRINK || !t->later.path ||
	    (!t->stopping && now < t->end_us && now < t->shrink.end_us))
		return false;
	t->later.path = NULL;
	finish_one(t, now >= t->shrink.limit_us && !t->engine.best);
	return true;
}

static void triage_minimise_answer(struct triage *t, bool accepted)
{
	t->shrink.named = false;
	minimise_judge(&t->shrink.s, accepted);
	triage_shrink_passes(t);
}

/* --- comparing failures ------------------------------------------------------ */

enum { KEYS_MAX = sizeof(((struct triage *)0)->shrink.raw) / CRASH_KEY_HEX };

static bool has_key(char keys[][CRASH_KEY_HEX], size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

static void add_key(char keys[][CRASH_KEY_HEX], size_t *n, const char *key)
{
	if (*key && *n < KEYS_MAX)
		memcpy(keys[(*n)++], key, CRASH_KEY_HEX);
}

static const struct known_crash *own_entry(const struct triage *t, const struct known_crash *c)
{
	return c ? ledger_entry(c, t->spec.target->name) : NULL;
}

enum shrink_verdict triage_shrink_judge(struct triage *t, const struct crash_report *r)
{
	const struct ledger *l = books_ledger(t->env->books);
	const struct known_crash *c = ledger_find_raw(l, t->spec.target->name, r->raw_key);

	if (triage_minimise_is_the_crash(t, c) &&
	    own_entry(t, c)) /* the key is of this build, so are the lines */
		memcpy(t->shrink.bug, own_entry(t, c)->bug,
		       strnlen(own_entry(t, c)->bug, CRASH_KEY_HEX - 1) + 1);
	if (triage_minimise_is_the_crash(t, c) ||
	    triage_minimise_is_the_crash(t, ledger_find(l, r->signature)) ||
	    has_key(t->shrink.same, t->shrink.n_same, r->raw_key))
		return SHRINK_SAME;
	return has_key(t->shrink.raw, t->shrink.n_raw, r->raw_key) ? SHRINK_OTHER : SHRINK_UNKNOWN;
}

/* Whether the lines are the same, too: another line of the same functions may be another bug.  In a
 * build that the ledger does not know, lines may have moved: then the first report counts. */
static bool is_the_bug(struct triage *t, const struct crash_report *r)
{
	if (!*t->shrink.bug)
		memcpy(t->shrink.bug, r->bug, sizeof(t->shrink.bug));
	return !*r->bug || strcmp(t->shrink.bug, r->bug) == 0;
}

bool triage_shrink_named(struct triage *t, const struct crash_report *r, const char *raw_key)
{
	const struct known_crash *c = ledger_find(books_ledger(t->env->books), r->signature);
	bool same = triage_minimise_is_the_crash(t, c) && is_the_bug(t, r);

	if (same)
		add_key(t->shrink.same, &t->shrink.n_same, raw_key);
	else
		add_key(t->shrink.raw, &t->shrink.n_raw, raw_key);
	return same;
}

static void triage_minimise_on_replayed(void *arg, struct replay_end *end);

static void try_candidate(struct triage *t)
{
	struct err e;

	if (triage_replay(t, t->f.path, t->shrink.named, triage_minimise_on_replayed, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
	}
}

static void triage_minimise_on_replayed(void *arg, struct replay_end *end)
{
	struct triage *t = arg;
	enum shrink_verdict verdict;

	if (*end->unusable) { /* the best input so far is kept */
		finish_one(t, false);
		return;
	}
	if (!end->failed) {
		triage_minimise_answer(t, false);
		return;
	}
	if (t->shrink.named) {
		triage_minimise_answer(t, triage_shrink_named(t, end->report, t->f.raw_key));
		return;
	}
	verdict = triage_shrink_judge(t, end->report);
	if (verdict != SHRINK_UNKNOWN) {
		triage_minimise_answer(t, verdict == SHRINK_SAME);
	} else {
		/* With names the failure may turn out to be the same. */
		memcpy(t->f.raw_key, end->report->raw_key, sizeof(t->f.raw_key));
		t->shrink.named = true;
		try_candidate(t);
	}
}

void triage_shrink_passes(struct triage *t)
{
	uint64_t now = clock_mono_us();
	struct slice candidate;
	struct err e;

	if (t->stopping || now >= t->end_us || now >= t->shrink.end_us) {
		finish_one(t, now >= t->shrink.limit_us);
		return;
	}
	if (!minimise_next(&t->shrink.s, &candidate)) {
		if (triage_engine_helps_again(t))
			triage_engine_begin(t);
		else
			finish_one(t, true);
		return;
	}
	if (triage_write_file(t->f.path, candidate, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
		return;
	}
	try_candidate(t);
}

void triage_shrink_restart(struct triage *t, struct slice bytes)
{
	triage_shrink_done(t);
	minimise_init(&t->shrink.s, bytes, TRIES_MAX);
	t->shrink.open = t->shrink.shorter = true;
}

static int triage_minimise_begin(struct triage *t, const struct known_crash *c, struct err *e)
{
	char *input = NULL;
	size_t n;
	/* It goes on with the result of earlier runs. */
	enum ledger_input from = *c->minimized ? LEDGER_MINIMIZED : LEDGER_INPUT;
	int r = ledger_input_check(t->env->state->dirfd, c, from, e);

	if (r == 0)
		r = fs_read(t->env->state->dirfd, ledger_input_path(c, from), INPUT_MAX, &input, &n,
			    e);

	triage_shrink_done(t);
	snprintf(t->shrink.signature, sizeof(t->shrink.signature), "%s", c->signature);
	if (r == 0)
		minimise_init(&t->shrink.s, (struct slice){input, n}, TRIES_MAX);
	t->shrink.open = r == 0;
	free(input);
	finding_done(&t->f);
	snprintf(t->f.path, sizeof(t->f.path), "%s/candidate", t->work);
	t->shrink.n_raw = t->shrink.n_same = 0;
	t->shrink.named = t->shrink.shorter = false;
	*t->shrink.bug = '\0';
	t->engine.least = 0;
	return r;
}

/* Sets the time limits: minimize_time is a crash's total over all runs. */
static void begin_time(struct triage *t, const struct known_crash *own, bool old)
{
	uint64_t ms = t->spec.cfg->minimize_us / USEC_PER_MSEC;

	if (!t->spec.signature)
		ms -= own->minimize_ms < ms ? own->minimize_ms : ms;
	t->shrink.began_us = clock_mono_us();
	t->shrink.end_us = t->shrink.limit_us = t->shrink.began_us + ms * USEC_PER_MSEC;
	if (t->spec.signature && t->shrink.limit_us > t->end_us) /* the user's limit */
		t->shrink.limit_us = t->end_us;
	if (old && t->shrink.end_us > t->shrink.old_end_us)
		t->shrink.end_us = t->shrink.old_end_us;
}

static void make_smaller(struct triage *t)
{
	const struct known_crash *own = ledger_find_entry(
	    books_ledger(t->env->books), t->shrink.signature, t->spec.target->name);

	if (own && triage_engine_helps(t, own))
		triage_engine_begin(t);
	else
		triage_shrink_passes(t);
}

/* Runs the input once before minimising.  In another build, or on another machine, it may not fail:
 * then no smaller input means anything. */
static void try_first(struct triage *t);

static void on_first(void *arg, struct replay_end *end)
{
	struct triage *t = arg;
	enum shrink_verdict verdict = SHRINK_OTHER;

	if (!*end->unusable && end->failed && t->shrink.named)
		verdict =
		    triage_shrink_named(t, end->report, t->f.raw_key) ? SHRINK_SAME : SHRINK_OTHER;
	else if (!*end->unusable && end->failed)
		verdict = triage_shrink_judge(t, end->report);
	if (verdict == SHRINK_UNKNOWN) { /* the known cheap key is from another build */
		memcpy(t->f.raw_key, end->report->raw_key, sizeof(t->f.raw_key));
		t->shrink.named = true;
		try_first(t);
		return;
	}
	t->shrink.named = false;
	if (verdict == SHRINK_SAME) {
		make_smaller(t);
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

static void try_first(struct triage *t)
{
	struct err e;

	if (triage_write_file(t->f.path, minimise_best(&t->shrink.s), &e) < 0 ||
	    triage_replay(t, t->f.path, t->shrink.named, on_first, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
	}
}

/* Moves crashes of this run to the front: crashes of earlier runs can take all of the time. */
static void this_run_first(const struct triage *t)
{
	char **v = t->names.v;

	for (size_t i = 0, n = 0; i < t->names.n; i++) {
		char *name = v[i];

		if (!is_of_run(t, ledger_record(books_ledger(t->env->books), name)))
			continue;
		memmove(v + n + 1, v + n, (i - n) * sizeof(*v));
		v[n++] = name;
	}
}

static void triage_minimise_list(struct triage *t)
{
	uint64_t now = clock_mono_us();

	triage_list(t, triage_minimise_wanted);
	this_run_first(t);
	t->shrink.old_end_us = now + (t->end_us > now ? (t->end_us - now) / 2 : 0);
}

/* Begins to minimise the record's input.  False: there is nothing to do. */
static bool triage_minimise_step(struct triage *t, const struct known_crash *record)
{
	const struct known_crash *own = ledger_entry(record, t->spec.target->name);
	bool old = !t->spec.signature && !is_of_run(t, record);
	struct err e;
	int r;

	if (!own || sanitizer_missing(t->spec.target, own->kind) ||
	    (old && clock_mono_us() >= t->shrink.old_end_us))
		return false;
	begin_time(t, own, old);
	r = triage_minimise_begin(t, own, &e);
	if (r < 0) {
		t->at++;
		t->shrink.ended = r == -EFBIG || r == -ENOENT || r == -EBADMSG || r == -EINVAL;
		note_try(t);
	} else if (old || t->spec.signature) {
		try_first(t);
	} else {
		make_smaller(t);
	}
	return true;
}

bool triage_shrink_step(struct triage *t)
{
	if (t->spec.cfg->minimize_us == 0)
		return false;
	if (!t->listed)
		triage_minimise_list(t);
	for (; t->at < t->names.n; t->at++)
		if (triage_minimise_step(
			t, ledger_record(books_ledger(t->env->books), t->names.v[t->at])))
			return true;
	return false;
}
