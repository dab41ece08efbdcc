/* SPDX-License-Identifier: Apache-2.0 */
/* Saves a finding in the vault, then in the ledger, then takes it out of the queue. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/task.h"
#include "runner/corpus/seek.h"
#include "runner/crash/ledger/parsed.h"
#include "runner/crash/odds.h"
#include "runner/crash/similar.h"
#include "runner/crash/vault.h"
#include "runner/run/triage/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_in_run(const struct triage *t, const char *run, char out[400])
{
	snprintf(out, 400, "logs/%s/crashes/%s/%s", run, t->spec.target->name, t->f.name);
	return faccessat(t->env->state->dirfd, out, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The artifact's path: in the logs of this run, or of the run that queued it and did not triage it.
 * NULL: it is in no logs, or the input is a reproducer that is checked. */
static const char *artifact_path(const struct triage *t, char out[400])
{
	CLEANUP(closedir_p) DIR *logs = NULL;
	const struct dirent *ent;

	if (!*t->f.name)
		return NULL;
	if (is_in_run(t, t->env->run, out))
		return out;
	logs = sys_opendirat(t->env->state->dirfd, "logs");
	while (logs && (ent = sys_readdir(logs)))
		if (is_in_run(t, ent->d_name, out))
			return out;
	return NULL;
}

/* --- leaving the queue ---------------------------------------------------- */

/* A finding that waits until the ledger is written; the next finding is in work meanwhile. */
struct leaving {
	struct triage *t;
	char name[64]; /* "": the finding was not queued */
};

static void leave_queue(struct triage *t, const char *name)
{
	char path[300];
	_autoclose_ int queue = -1;
	struct err e;

	/* The report is removed last: the next triage removes a report without an artifact. */
	snprintf(path, sizeof(path), "triage/%s", t->spec.target->name);
	if (fs_open_dir(t->env->state->dirfd, path, &queue, &e) < 0 ||
	    (sys_unlinkat(queue, name, 0) < 0 && errno != ENOENT) ||
	    kept_remove(queue, name, &e) < 0)
		triage_give_up(t, "cannot take an artifact out of the queue");
	else
		t->sum.artifacts++;
}

static void triage_note_on_saved(void *arg, const char *failed)
{
	struct leaving *l = arg;
	struct triage *t = l->t;

	if (failed)
		triage_give_up(t, failed);
	else if (*l->name)
		leave_queue(t, l->name);
	t->sum.overran += !failed && engine_saved(slice_of(l->name)) == ENGINE_ARTIFACT_SLOW;
	free(l);
	t->saving--;
	if (t->saving == 0 && t->ending)
		triage_next(t);
}

static void triage_note_save(struct triage *t)
{
	struct leaving *l = xmalloc(sizeof(*l));

	l->t = t;
	memcpy(l->name, t->f.name, sizeof(l->name));
	t->saving++;
	books_save(t->env->books, triage_note_on_saved, l);
	triage_next(t);
}

/* --- the ledger ----------------------------------------------------------- */

/* The run that found the failure, if it was killed: no exit status has counted its finds.  NULL:
 * none. */
static const char *killed_run(const struct triage *t)
{
	const char *run = t->f.kept.run;
	int state = t->env->state->dirfd;
	char path[NAME_MAX + 32];

	if (!run || !fs_name_ok(slice_of(run)))
		return NULL;
	snprintf(path, sizeof(path), "logs/%s", run);
	if (faccessat(state, path, F_OK, 0) < 0)
		return NULL;
	snprintf(path, sizeof(path), "logs/%s/summary.json", run);
	return faccessat(state, path, F_OK, 0) < 0 ? run : NULL;
}

static struct crash_sighting sighting(const struct triage *t, const char *signature)
{
	uint64_t now = clock_real_us() / USEC_PER_SEC;
	const struct kept *k = &t->f.kept;
	struct crash_sighting s = {
	    .signature = signature,
	    .target = t->spec.target->name,
	    .build_of = t->spec.target->of,
	    .run = t->env->run,
	    .commit = triage_commit(t),
	    .counted_by = t->env->counts ? t->env->run : killed_run(t),
	    .time = now,
	};

	if (t->f.as_found) {
		s.run = k->run;
		s.commit = *k->commit ? k->commit : NULL;
		s.time = k->time < now ? k->time : now;
	}
	return s;
}

static void note_news(struct triage *t, const struct ledger_noted *n)
{
	t->sum.found += n->is_new && !n->is_further;
	t->sum.regressed += !n->is_new && !n->is_further && n->before == LEDGER_FIXED &&
			    n->entry->state == LEDGER_REGRESSED;
	snprintf(t->sum.last, sizeof(t->sum.last), "%.16s", n->crash->signature);
	if (t->stage == STAGE_CHECK)
		triage_check_failed(t, n->crash);
}

void triage_leave(struct triage *t)
{
	leave_queue(t, t->f.name);
	triage_next(t);
}

void triage_dismiss(struct triage *t)
{
	t->sum.dismissed++;
	triage_leave(t);
}

void triage_no_result(struct triage *t, const struct replay_end *end)
{
	if (t->stopping)
		return;
	t->sum.undecided += end->starved && t->stage == STAGE_QUEUE;
	if (!end->starved)
		triage_give_up(t, end->unusable);
	else if (!*t->sum.note)
		snprintf(t->sum.note, sizeof(t->sum.note), "%.199s", end->unusable);
}

void triage_count(struct triage *t, const struct known_crash *c, const char *raw_key)
{
	struct crash_sighting s = sighting(t, c->signature);
	struct ledger_noted n;
	char path[400];
	struct err e;

	s.raw_key = raw_key;
	s.artifact = artifact_path(t, path);
	if (ledger_note(books_ledger(t->env->books), &s, &n, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
		return;
	}
	note_news(t, &n);
	triage_note_save(t);
}

/* The signature of another crash that is likely the same bug; NULL: none. */
static const char *likely_same(const struct triage *t, const struct crash_report *r)
{
	const struct ledger *l = books_ledger(t->env->books);
	const char *state[CRASH_STATE_MAX];

	for (size_t i = 0; i < r->n_state; i++)
		state[i] = r->state[i];
	for (size_t i = 0; i < ledger_count(l); i++) {
		const struct known_crash *c = ledger_at(l, i);

		if (!*c->merged_into && strcmp(c->signature, r->signature) != 0 &&
		    similar_states((const char *const *)c->crash_state.v, c->crash_state.n, state,
				   r->n_state))
			return c->signature;
	}
	return NULL;
}

/* The saved reproducer. */
struct vaulted {
	uint64_t bytes;
	char sha1[DIGEST_SHA1_HEX];
	char path[VAULT_PATH];
};

static void note_now(struct triage *t);

/* Whether this triage may write a crash now.  False: note_now() is called when the triage that
 * writes is done. */
static bool may_write(struct triage *t)
{
	struct triage_parts *p = t->spec.parts;

	if (p && p->writing) {
		struct triage **last = &p->waiting;

		while (*last)
			last = &(*last)->next_writer;
		t->next_writer = NULL;
		*last = t;
		return false;
	}
	if (p)
		p->writing = t;
	return true;
}

static void has_written(struct triage *t)
{
	struct triage_parts *p = t->spec.parts;

	if (!p)
		return;
	p->writing = p->waiting;
	if (!p->writing)
		return;
	p->waiting = p->writing->next_writer;
	note_now(p->writing);
}

static const char no_report[] =
    "The failure did not come back when its input was run again; the target's log of that run has "
    "its output.\n";

static const char no_output[] =
    "The target failed without printing anything, and no input was saved.\n";

/* The content of report.txt. */
static struct slice report_text(const struct finding *f)
{
	if (f->output)
		return (struct slice){f->output, f->n_output};
	return f->lost ? slice_of(no_output) : slice_of(no_report);
}

/* Whether the finding's report was read in the text, not made of the cell's end. */
static bool is_read_in(const struct crash_report *r, struct slice text)
{
	enum { ENOUGH = 100 }; /* the parser replaces bytes of a long line, and cuts it */
	size_t n = strnlen(r->headline, ENOUGH);

	return n > 0 && memmem(text.p, text.n, r->headline, n);
}

/* What the parser read in report.txt, for the crash's record. */
static json_t *parsed_report(const struct triage *t)
{
	const struct finding *f = &t->f;
	struct slice text = report_text(f);
	struct crash_options o = {.target = t->spec.target->name};
	struct crash_report r = {0};
	json_t *j;

	if (is_read_in(&f->report, text))
		return parsed_json(&f->report, text);
	crash_parse(text, &o, &r);
	j = parsed_json(&r, text);
	crash_report_done(&r);
	return j;
}

/* v NULL: the old reproducer stays; parsed NULL: the old report stays. */
static void triage_note_take(struct triage *t, const struct vaulted *v, json_t *parsed)
{
	struct finding *f = &t->f;
	const struct crash_report *r = &f->report;
	const char *state[CRASH_STATE_MAX], *frames[LEDGER_FRAMES];
	char artifact[400];
	struct crash_place place;
	struct crash_sighting s = sighting(t, r->signature);
	struct ledger_noted n;
	struct err e;

	for (size_t i = 0; i < r->n_state; i++)
		state[i] = r->state[i];
	for (s.n_frames = 0; s.n_frames < r->n_frames && s.n_frames < LEDGER_FRAMES; s.n_frames++)
		frames[s.n_frames] = r->frames[s.n_frames].function;
	s.raw_key = f->raw_key;
	s.artifact = artifact_path(t, artifact);
	s.crash_type = r->type;
	s.kind = crash_kind_name(r->kind);
	s.access = crash_access_name(r->access);
	s.access_size = r->access_size;
	s.signal = r->signal;
	s.top_frame = r->top_frame;
	s.severity = crash_severity_name(r->severity);
	s.security = r->security;
	s.unsymbolized = r->unsymbolized;
	s.crash_state = state;
	s.n_crash_state = r->n_state;
	s.frames = frames;
	crash_place_of(r, &place);
	s.bug = r->bug;
	s.place = place.at;
	s.caller = place.caller;
	s.similar = likely_same(t, r);
	s.report = parsed;
	if (v) {
		s.crash_file = v->path;
		s.input_bytes = v->bytes;
		s.input_sha1 = v->sha1;
		s.tries = f->replays;
		s.hits = f->hits;
	}
	if (ledger_note(books_ledger(t->env->books), &s, &n, &e) < 0) {
		triage_give_up(t, e.msg);
		triage_next(t);
		return;
	}
	note_news(t, &n);
	t->sum.flaky += !f->lost && odds_reproduce(f->replays, f->hits) != ODDS_REPRODUCES;
	triage_note_save(t);
}

static void ledger_take(struct triage *t, const struct vaulted *v, json_t *parsed)
{
	triage_note_take(t, v, parsed);
	has_written(t);
}

/* --- the vault ------------------------------------------------------------ */

static json_t *triage_note_strings(const struct strv *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->n; i++)
		(void)!json_array_append_new(a, json_string(v->v[i]));
	return a;
}

/* Text that is not UTF-8 is left out. */
static void add_text(json_t *to, const char *key, const char *text)
{
	if (text)
		(void)!json_object_set_new(to, key, json_string(text));
}

/* A path may have any bytes, and is null if it is not UTF-8. */
static json_t *triage_note_text_or_null(const char *text)
{
	json_t *j = json_string(text);

	return j ? j : json_null();
}

/* Finds the seed file of the repository, or of the configuration, with the input's content.  False:
 * there is none. */
static bool seed_of(const struct triage *t, struct slice input, char ret[PATH_MAX])
{
	const struct target *g = t->spec.target;
	const struct strv *own = &t->spec.cfg->seeds;
	struct rights as;
	struct err none;

	for (size_t i = 0; i < g->seed_dirs.n; i++)
		if (rights_of_named(&g->rights, g->seed_dirs.v[i], &as, &none) == 0 &&
		    seek_content(&as, g->seed_dirs.v[i], input, ret))
			return true;
	for (size_t i = 0; i < own->n; i++)
		if (rights_of_configured(own->v[i], &as, &none) == 0 &&
		    seek_content(&as, own->v[i], input, ret))
			return true;
	return false;
}

/* seed: a path; NULL: none. */
static json_t *meta_json(const struct triage *t, const char *seed)
{
	const struct finding *f = &t->f;
	const struct target *g = t->spec.target;
	struct crash_sighting s = sighting(t, f->report.signature);

	json_t *j = json_pack(
	    "{s:i, s:s, s:s, s:s, s:s, s:s, s:s?, s:I, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o}",
	    "v", 1, "signature", f->report.signature, "target", g->name, "artifact", f->name,
	    "binary", g->binary, "run", s.run, "commit", s.commit, "time", (json_int_t)s.time,
	    "crash_type", f->report.type, "tries", (json_int_t)f->replays, "hits",
	    (json_int_t)f->hits, "rss_limit_mib", (json_int_t)(t->spec.cfg->rss_limit >> 20),
	    "timeout_s", (json_int_t)(t->spec.cfg->input_timeout_us / USEC_PER_SEC), "flags",
	    triage_note_strings(&t->spec.cfg->flags), "env", triage_note_strings(&t->spec.cfg->env),
	    "seed", seed ? triage_note_text_or_null(seed) : json_null());

	add_text(j, "label", g->label);
	add_text(j, "corpus", g->corpus);
	add_text(j, "build", g->build);
	return j;
}

static int triage_note_fill_vault(void *arg, struct buf *out, struct err *e)
{
	const struct triage *t = arg;
	const struct finding *f = &t->f;
	_autofree_ char *input = NULL, *meta = NULL;
	_autojson_ json_t *j = NULL;
	struct vault_item item = {.signature = slice_of(f->report.signature),
				  .target = t->spec.target->name};
	char place[VAULT_PLACE];
	struct vaulted v = {0};
	char seed[PATH_MAX];
	size_t n = 0;
	int r = f->lost ? 0 : fs_read(AT_FDCWD, f->path, VAULT_BYTES_MAX, &input, &n, e);

	if (r < 0)
		return r;
	j = meta_json(t, seed_of(t, (struct slice){input, n}, seed) ? seed : NULL);
	r = j ? json_print(j, 2, &meta, e) : err_set(e, EINVAL, "build JSON");
	if (r < 0)
		return r;
	item.file[VAULT_INPUT] = (struct slice){input, n}; /* lost: NULL, there is no input */
	item.file[VAULT_REPORT] = report_text(f);
	item.file[VAULT_META] = slice_of(meta);
	r = vault_save(t->env->state->dirfd, &item, place, e);
	if (r < 0)
		return r;
	vault_path(place, VAULT_INPUT, v.path);
	v.bytes = n;
	digest_sha1_hex((struct slice){input, n}, v.sha1);
	buf_put(out, (struct slice){(const char *)&v, sizeof(v)});
	return 0;
}

static void triage_note_on_vaulted(void *arg, struct slice result, const char *failed)
{
	_autojson_ json_t *parsed = NULL;
	struct triage *t = arg;
	struct vaulted v;

	if (!failed && result.n != sizeof(v))
		failed = "a task gave no result";
	if (failed) {
		triage_give_up(t, failed);
		triage_next(t);
		has_written(t);
		return;
	}
	memcpy(&v, result.p, sizeof(v));
	parsed = parsed_report(t);
	ledger_take(t, t->f.lost ? NULL : &v, parsed);
}

static uint64_t input_size(const struct finding *f)
{
	struct stat st;

	return stat(f->path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Whether the finding is a better reproducer than the target's own input.  Another target's input
 * may pass in this target.  A record that is merged into another crash keeps its own reproducer. */
static bool triage_note_is_better(const struct triage *t)
{
	const struct finding *f = &t->f;
	const struct ledger *l = books_ledger(t->env->books);
	const char *sig = f->report.signature, *target = t->spec.target->name;
	const struct known_crash *crash = ledger_find_entry(l, sig, target);
	const struct known_crash *record = ledger_record(l, sig);
	const struct known_crash *own = record ? ledger_entry(record, target) : crash;

	if (own && f->lost)
		return false; /* there is no input to keep */
	if (!own || !*own->crash_file)
		return true;
	if (crash && crash->state == LEDGER_FIXED)
		return f->hits > 0; /* the old input passes */
	return ledger_is_better(own, f->replays, f->hits, input_size(f));
}

static void note_now(struct triage *t)
{
	struct task *task;
	struct err e;

	if (!triage_note_is_better(t)) {
		ledger_take(t, NULL, NULL);
		return;
	}
	if (task_start(t->env->replay.exec.loop, triage_note_fill_vault, t, triage_note_on_vaulted,
		       t, &task, &e) < 0)
		triage_note_on_vaulted(t, SLICE(""), e.msg);
}

void triage_note(struct triage *t)
{
	if (may_write(t))
		note_now(t);
}
