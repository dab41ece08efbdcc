/* SPDX-License-Identifier: Apache-2.0 */
/* Notes sightings, the results of replays, and the decisions of users. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/crash/ledger/internal.h"
#include "runner/crash/odds.h"

#include <errno.h>

DEFINE_CLEANUP(struct record *, ledger_record_free)

/* Forgets the passes. */
static void ledger_unpass(struct known_crash *c)
{
	c->reproduction.clean = c->reproduction.clean_minimized = 0;
	ledger_unset(&c->reproduction.clean_commit);
}

static struct record *ledger_note_crash(const struct ledger *l, const char *signature,
					struct err *e)
{
	struct record *n = ledger_head(l, signature);

	if (!n)
		(void)err_set(e, ENOENT, "no crash '%.100s'", signature);
	return n;
}

/* The target's entry in the crash, and the crash's record. */
static struct found *crash_entry(const struct ledger *l, const char *signature, const char *target,
				 struct record **ret, struct err *e)
{
	struct found *t;

	*ret = ledger_note_crash(l, signature, e);
	t = *ret ? ledger_entry_of(*ret, target) : NULL;
	if (*ret && !t)
		(void)err_set(e, ENOENT, "target '%.100s' did not find crash '%.100s'", target,
			      signature);
	return t;
}

/* The target's entry in the record of exactly this signature; else in the crash. */
static struct found *find_entry(const struct ledger *l, const char *signature, const char *target,
				struct record **ret, struct err *e)
{
	struct record *own = ledger_exact(l, signature), *head = ledger_note_crash(l, signature, e);
	struct found *t = own ? ledger_entry_of(own, target) : NULL;

	*ret = t ? own : head;
	if (!t && head)
		t = ledger_entry_of(head, target);
	if (!t && head)
		(void)err_set(e, ENOENT, "target '%.100s' did not find crash '%.100s'", target,
			      signature);
	return t;
}

static void ledger_note_changed(struct ledger *l, struct record *n)
{
	l->dirty = n->changed = true;
	ledger_summarize(n);
}

int ledger_minimized(struct ledger *l, const char *signature, const char *target, const char *path,
		     uint64_t bytes, struct err *e)
{
	struct record *n;
	struct found *t = find_entry(l, signature, target, &n, e);

	if (!t)
		return err_code(e);
	ledger_set(&t->c.minimized, path, LEDGER_TEXT_MAX, false);
	t->c.minimized_bytes = bytes;
	ledger_unset(&t->c.minimized_sha1);
	t->adopt[LEDGER_MINIMIZED] = true;
	t->c.reproduction.clean_minimized = 0;
	ledger_note_changed(l, n);
	return 0;
}

int ledger_minimize_writes(struct ledger *l, const char *signature, const char *target,
			   struct err *e)
{
	struct record *n;
	struct found *t = find_entry(l, signature, target, &n, e);

	if (!t)
		return err_code(e);
	t->c.minimized_bytes = 0;
	ledger_unset(&t->c.minimized_sha1);
	t->adopt[LEDGER_MINIMIZED] = false;
	ledger_note_changed(l, n);
	return 0;
}

int ledger_minimize_tried(struct ledger *l, const char *signature, const char *target, uint64_t ms,
			  bool ended, struct err *e)
{
	struct record *n;
	struct found *t = find_entry(l, signature, target, &n, e);

	if (!t)
		return err_code(e);
	ledger_add(&t->c.minimize_ms, ms);
	t->c.minimize_ended |= ended;
	ledger_note_changed(l, n);
	return 0;
}

bool ledger_minimize_waits(const struct known_crash *c, const char *target)
{
	const struct known_crash *own = ledger_entry(c, target);

	return own && !own->minimize_ended && *own->crash_file && !*c->merged_into &&
	       ledger_state_open(own->state) && own->state != LEDGER_FLAKY;
}

/* --- where it began and ended ---------------------------------------------- */

static void put_edge(struct ledger_edge *to, const struct crash_edge *from)
{
	ledger_set(&to->kind, from->kind, LEDGER_TEXT_MAX, false);
	ledger_set(&to->commit, from->commit, LEDGER_TEXT_MAX, false);
	ledger_set(&to->before, from->before, LEDGER_TEXT_MAX, false);
	ledger_set(&to->author, from->author, LEDGER_TEXT_MAX, false);
	ledger_set(&to->subject, from->subject, LEDGER_TEXT_MAX, false);
	ledger_set(&to->text, from->text, LEDGER_TEXT_MAX, false);
	ledger_set(&to->from, from->from, LEDGER_TEXT_MAX, false);
	to->commits = from->commits;
	to->time = from->time;
}

static const struct crash_edge no_edge = {.kind = NULL};

int ledger_edge(struct ledger *l, const char *signature, const char *target, bool fix,
		const struct crash_edge *edge, struct err *e)
{
	struct record *n;
	struct found *t = crash_entry(l, signature, target, &n, e);

	if (!t)
		return err_code(e);
	put_edge(fix ? &t->c.fix : &t->c.culprit, edge);
	ledger_note_changed(l, n);
	return 0;
}

/* --- passes ---------------------------------------------------------------- */

uint64_t ledger_passes(const struct known_crash *entry, const char *commit, bool minimized)
{
	if (strcmp(entry->reproduction.clean_commit, commit ? commit : "") != 0)
		return 0;
	return minimized ? entry->reproduction.clean_minimized : entry->reproduction.clean;
}

int ledger_passed(struct ledger *l, const char *signature, const char *target, const char *commit,
		  uint64_t original, uint64_t minimized, struct err *e)
{
	struct record *n;
	struct found *t = find_entry(l, signature, target, &n, e);

	if (!t)
		return err_code(e);
	if (strcmp(t->c.reproduction.clean_commit, commit ? commit : "") != 0) {
		ledger_unpass(&t->c);
		ledger_set(&t->c.reproduction.clean_commit, commit, LEDGER_TEXT_MAX, false);
	}
	ledger_add(&t->c.reproduction.clean, original);
	ledger_add(&t->c.reproduction.clean_minimized, minimized);
	ledger_note_changed(l, n);
	return 0;
}

/* --- decisions ------------------------------------------------------------- */

int ledger_fixed(struct ledger *l, const char *signature, const char *target, uint64_t time,
		 const char *commit, const char *run, struct err *e)
{
	struct record *n;
	struct found *t = crash_entry(l, signature, target, &n, e);

	if (!t)
		return err_code(e);
	if (ledger_next(t->c.state, EVENT_FIXED) == t->c.state)
		return 0; /* it is fixed already, or a user's decision stands */
	ledger_set_seen(&t->c.fixed, time, commit, run);
	t->c.state = ledger_next(t->c.state, EVENT_FIXED);
	ledger_unset(&t->c.uncounted);
	ledger_note_changed(l, n);
	return 0;
}

static void ledger_judge_entry(struct found *t, enum ledger_event ev)
{
	enum ledger_state was = t->c.state;

	t->c.state = ledger_next(was, ev);
	if (was == LEDGER_IGNORED && ev == EVENT_UNIGNORE &&
	    ledger_sighting_of(&t->c) == EVENT_SEEN_FLAKY)
		t->c.state = LEDGER_FLAKY;
	if (ev == EVENT_IGNORE)
		ledger_unset(&t->c.uncounted);
}

/* Changes the target's entry among the first `most` entries; target NULL: all of these. */
static int judge_all(struct ledger *l, const char *signature, const char *target, size_t most,
		     enum ledger_event ev, const char *note, struct err *e)
{
	struct record *n = ledger_note_crash(l, signature, e);
	size_t judged = 0;

	if (!n)
		return err_code(e);
	for (size_t i = 0; i < n->c.n_by && i < most; i++) {
		if (target && strcmp(n->c.by[i]->fuzzer, target) != 0)
			continue;
		ledger_judge_entry(ledger_entry_at(n, i), ev);
		judged++;
	}
	if (target && judged == 0)
		return err_set(e, ENOENT, "target '%.100s' did not find crash '%.100s'", target,
			       signature);
	if (note)
		ledger_set(&n->c.note, note, LEDGER_NOTE_MAX, true);
	ledger_note_changed(l, n);
	return 0;
}

int ledger_ignore(struct ledger *l, const char *signature, const char *target, size_t n,
		  const char *note, struct err *e)
{
	return judge_all(l, signature, target, n, EVENT_IGNORE, note, e);
}

int ledger_unignore(struct ledger *l, const char *signature, const char *target, const char *note,
		    struct err *e)
{
	return judge_all(l, signature, target, SIZE_MAX, EVENT_UNIGNORE, note, e);
}

int ledger_issue(struct ledger *l, const char *signature, const char *url, struct err *e)
{
	struct record *n = ledger_note_crash(l, signature, e);

	if (!n)
		return err_code(e);
	ledger_set(&n->c.issue_url, url, LEDGER_TEXT_MAX, false);
	ledger_note_changed(l, n);
	return 0;
}

void ledger_next_run(struct ledger *l, const char *run)
{
	for (size_t i = 0; i < l->n; i++) {
		struct record *n = l->v[i];
		bool any = false;

		for (size_t k = 0; k < n->c.n_by; k++) {
			struct known_crash *c = &ledger_entry_at(n, k)->c;

			if (c->state != LEDGER_NEW || *c->uncounted ||
			    strcmp(c->first_seen.run, run ? run : "") == 0)
				continue;
			c->state = ledger_next(c->state, EVENT_NEXT_RUN);
			any = true;
		}
		if (any)
			ledger_note_changed(l, n);
	}
}

bool ledger_waits_for(const struct known_crash *entry, const char *run)
{
	return *entry->uncounted && strcmp(entry->uncounted, run ? run : "") != 0 &&
	       ledger_state_open(entry->state);
}

void ledger_counted(struct ledger *l, const char *target)
{
	for (size_t i = 0; i < l->n; i++) {
		struct found *t = ledger_entry_of(l->v[i], target);

		if (!t || !*t->c.uncounted)
			continue;
		ledger_unset(&t->c.uncounted);
		ledger_note_changed(l, l->v[i]);
	}
}

/* --- sightings ------------------------------------------------------------- */

static void put_build(struct known_crash *c, const struct crash_sighting *s)
{
	if (s->build_of)
		ledger_set(&c->build_of, s->build_of, LEDGER_TEXT_MAX, false);
}

struct note {
	struct ledger *l;
	struct found *n;
	struct known_crash *c; /* n's */
	bool overwrite;
};

static void ledger_note_put(const struct note *t, char **p, const char *text, bool lines)
{
	if (text && (t->overwrite || !**p))
		ledger_set(p, text, LEDGER_TEXT_MAX, lines);
}

static void ledger_note_put_list(const struct note *t, struct ledger_list *l, const char *const *v,
				 size_t n, size_t max)
{
	if (l->n > 0 && !t->overwrite)
		return;
	ledger_list_done(l);
	for (size_t i = 0; i < n && i < max; i++)
		ledger_list_add(l, v[i] ? v[i] : "");
}

static void put_number(const struct note *t, uint64_t *p, uint64_t v)
{
	if (t->overwrite || *p == 0)
		*p = v;
}

/* A sighting may raise the danger of a crash, but never lower it: the report is not trusted. */
static void put_danger(struct known_crash *c, const struct crash_sighting *s)
{
	c->security |= s->security;
	if (s->severity && (!*c->severity || ledger_rank(s->severity) > ledger_rank(c->severity)))
		ledger_set(&c->severity, s->severity, LEDGER_TEXT_MAX, false);
}

static void ledger_note_describe(struct note *t, const struct crash_sighting *s)
{
	struct known_crash *c = t->c;

	t->overwrite = s->crash_file && s->crash_type;
	if (s->crash_type && (t->overwrite || !*c->crash_type))
		c->unsymbolized = s->unsymbolized;
	ledger_note_put(t, &c->crash_type, s->crash_type, true);
	ledger_note_put(t, &c->kind, s->kind, false);
	ledger_note_put(t, &c->access, s->access, false);
	put_number(t, &c->access_size, s->access_size);
	ledger_note_put(t, &c->signal, s->signal, false);
	ledger_note_put(t, &c->top_frame, s->top_frame, false);
	ledger_note_put_list(t, &c->crash_state, s->crash_state, s->n_crash_state,
			     LEDGER_STATE_LINES);
	ledger_note_put_list(t, &c->frames, s->frames, s->n_frames, LEDGER_FRAMES);
	ledger_note_put(t, &c->bug, s->bug, false);
	ledger_note_put(t, &c->place, s->place, false);
	ledger_note_put(t, &c->caller, s->caller, false);
	put_danger(c, s);
	if (s->similar && strcmp(s->similar, c->signature) != 0)
		ledger_note_put(t, &c->similar, s->similar, false);
}

/* Recent replays count more: above the limit of exact odds, the old numbers are halved. */
static void ledger_note_measure(struct known_crash *c, uint64_t tries, uint64_t hits)
{
	if (tries > ODDS_EXACT_MAX)
		tries = ODDS_EXACT_MAX;
	if (hits > tries)
		hits = tries;
	if (c->reproduction.tries + tries > ODDS_EXACT_MAX) {
		c->reproduction.tries /= 2;
		c->reproduction.hits /= 2;
	}
	c->reproduction.tries += tries;
	c->reproduction.hits += hits;
}

/* NULL: not known yet. */
static void put_sha1(const struct note *t, enum ledger_input which, char **p, const char *sha1)
{
	ledger_unset(p);
	t->n->adopt[which] = !sha1;
	ledger_note_put(t, p, sha1, false);
}

static void reproducer(struct note *t, const struct crash_sighting *s)
{
	struct known_crash *c = t->c;

	t->overwrite = true;
	if (s->crash_file) {
		ledger_note_put(t, &c->crash_file, s->crash_file, false);
		c->input_bytes = s->input_bytes;
		put_sha1(t, LEDGER_INPUT, &c->input_sha1, s->input_sha1);
		ledger_unset(&c->minimized); /* belongs to the old reproducer */
		c->minimized_bytes = 0;
		put_sha1(t, LEDGER_MINIMIZED, &c->minimized_sha1, "");
		c->reproduction.tries = c->reproduction.hits = 0;
		c->minimize_ms = 0;
		c->minimize_ended = s->minimized != NULL;
	}
	if (s->minimized) {
		ledger_note_put(t, &c->minimized, s->minimized, false);
		c->minimized_bytes = s->minimized_bytes;
		put_sha1(t, LEDGER_MINIMIZED, &c->minimized_sha1, s->minimized_sha1);
	}
	ledger_note_measure(c, s->tries, s->hits);
}

/* Makes text the last entry of the list; above max the oldest entry is dropped. */
static void put_last(struct ledger_list *l, const char *text, size_t max)
{
	if (!text || !*text)
		return;
	if (ledger_list_at(l, text) < l->n)
		ledger_list_drop(l, ledger_list_at(l, text));
	else if (l->n >= max)
		ledger_list_drop(l, 0);
	ledger_list_add(l, text);
}

void ledger_give_up_key(struct ledger *l, struct record *old, const char *key)
{
	ledger_index_drop(&l->raw_keys, key);
	for (size_t i = 0; i < old->c.n_by; i++) {
		struct ledger_list *keys = &ledger_entry_at(old, i)->c.raw_keys;
		size_t at = ledger_list_at(keys, key);

		if (at < keys->n)
			ledger_list_drop(keys, at);
	}
	old->changed = true;
	ledger_summarize(old);
}

/* A raw key of another crash moves to this crash: triage decided it later. */
static void put_raw_key(const struct note *t, struct record *n, const struct crash_sighting *s)
{
	struct ledger_list *keys = &t->c->raw_keys;
	char key[LEDGER_TEXT_MAX + 1];
	struct record *old;

	if (!ledger_raw_name(s->target, s->raw_key, key))
		return;
	old = ledger_index_get(&t->l->raw_keys, key);
	if (old && strcmp(old->c.merged_into, n->c.signature) == 0)
		return; /* the key stays with the merged record, for ledger_split() */
	if (old && old != n)
		ledger_give_up_key(t->l, old, key);
	else
		ledger_index_drop(&t->l->raw_keys, key);
	if (old != n && keys->n >= LEDGER_RAW_KEYS)
		ledger_index_drop(&t->l->raw_keys, keys->v[0]);
	put_last(keys, key, LEDGER_RAW_KEYS);
	(void)ledger_index_put(&t->l->raw_keys, keys->v[keys->n - 1], n);
}

static struct ledger_run *ledger_note_run_of(struct known_crash *c, const char *name)
{
	struct ledger_run *v = c->runs;

	for (size_t i = c->n_runs; i > 0; i--)
		if (strcmp(v[i - 1].run, name) == 0)
			return &v[i - 1];
	if (!v)
		v = xcalloc(LEDGER_RUNS, sizeof(*v));
	c->runs = v;
	if (c->n_runs == LEDGER_RUNS) {
		ledger_unset(&v[0].run);
		memmove(v, v + 1, (LEDGER_RUNS - 1) * sizeof(*v));
		c->n_runs--;
	}
	v[c->n_runs] = (struct ledger_run){.run = ledger_empty};
	ledger_set(&v[c->n_runs].run, name, LEDGER_TEXT_MAX, false);
	return &v[c->n_runs++];
}

static void ledger_note_count(struct known_crash *c, const struct crash_sighting *s)
{
	uint64_t n = s->count ? s->count : 1;

	if (s->by_hand)
		return;
	ledger_add(&c->count, n);
	if (s->run && *s->run)
		ledger_add(&ledger_note_run_of(c, s->run)->count, n);
}

static void put_seen(struct ledger_seen *seen, const struct crash_sighting *s)
{
	ledger_set_seen(seen, s->time, s->commit, s->run);
}

/* Forgets the target's passes, also in merged records: a sighting invalidates them. */
static void unpass(const struct ledger *l, const struct record *n, struct found *t)
{
	ledger_unpass(&t->c);
	for (size_t i = 0; i < n->c.aliases.n; i++) {
		struct record *part = ledger_exact(l, n->c.aliases.v[i]);
		struct found *own = part ? ledger_entry_of(part, t->c.fuzzer) : NULL;

		if (!own)
			continue;
		part->changed |= *own->c.reproduction.clean_commit;
		ledger_unpass(&own->c);
		ledger_summarize(part);
	}
}

/* A sighting from before the fix does not reopen the crash. */
static void change_state(const struct ledger *l, const struct record *n, struct found *t,
			 const struct crash_sighting *s)
{
	struct known_crash *c = &t->c;
	bool is_late = c->state == LEDGER_FIXED && s->time > 0 && s->time < c->fixed.time;

	if (c->state == LEDGER_NEW && !*c->uncounted && s->run &&
	    strcmp(s->run, c->first_seen.run) != 0)
		c->state = ledger_next(c->state, EVENT_NEXT_RUN);
	if (is_late)
		return;
	if (c->state == LEDGER_FIXED) { /* it began again */
		put_edge(&c->culprit, &no_edge);
		put_edge(&c->fix, &no_edge);
	}
	c->state = ledger_next(c->state, ledger_sighting_of(c));
	unpass(l, n, t);
}

/* Notes which run's exit status counts the entry. */
static void put_uncounted(struct known_crash *c, const struct crash_sighting *s, bool is_new,
			  enum ledger_state before)
{
	bool is_back = before == LEDGER_FIXED && c->state == LEDGER_REGRESSED;

	if (s->counted_by && (is_new || is_back))
		ledger_set(&c->uncounted, s->counted_by, LEDGER_TEXT_MAX, false);
}

static const char *ledger_note_target_of(const struct known_crash *entry)
{
	return *entry->build_of ? entry->build_of : entry->fuzzer;
}

bool ledger_same_target(const struct known_crash *a, const struct known_crash *b)
{
	return *a->fuzzer && strcmp(ledger_note_target_of(a), ledger_note_target_of(b)) == 0;
}

bool ledger_is_further(const struct known_crash *c, size_t i)
{
	uint64_t since = c->by[i]->first_seen.time;

	for (size_t k = 0; k < i; k++)
		if (ledger_same_target(c->by[k], c->by[i]) &&
		    (c->by[k]->fixed.time == 0 || c->by[k]->fixed.time > since))
			return true;
	return false;
}

/* An open entry of another build of the target, else an ignored entry of another build; NULL: there
 * is none. */
static const struct known_crash *ledger_note_other_build(const struct record *n,
							 const struct known_crash *of)
{
	const struct known_crash *ignored = NULL;

	for (size_t i = 0; i < n->c.n_by; i++) {
		const struct known_crash *c = n->c.by[i];

		if (c == of || !ledger_same_target(c, of))
			continue;
		if (ledger_state_open(c->state))
			return c;
		ignored = c->state == LEDGER_IGNORED ? c : ignored;
	}
	return ignored;
}

/* The state of a new entry.  build: ledger_note_other_build(). */
static enum ledger_state ledger_note_first_state(const struct known_crash *c,
						 const struct known_crash *build)
{
	enum ledger_state state = ledger_first(ledger_sighting_of(c));

	if (build && build->state == LEDGER_IGNORED)
		return LEDGER_IGNORED;
	return build && state == LEDGER_NEW ? LEDGER_KNOWN : state;
}

/* Returns whether another build of the target has the crash already. */
static bool note_in(struct ledger *l, struct record *n, struct found *of,
		    const struct crash_sighting *s, bool is_new)
{
	struct note t = {.l = l, .n = of, .c = &of->c};
	const struct known_crash *build;
	enum ledger_state before = of->c.state;

	put_build(&of->c, s);
	build = ledger_note_other_build(n, &of->c);
	ledger_note_describe(&t, s);
	reproducer(&t, s);
	put_last(&of->c.artifacts, s->artifact, LEDGER_ARTIFACTS);
	put_raw_key(&t, n, s);
	if (is_new)
		put_seen(&of->c.first_seen, s);
	/* A replay by a user counts as a sighting only if the crash was not open. */
	if (s->time >= of->c.last_seen.time &&
	    (is_new || !s->by_hand || !ledger_state_open(before)))
		put_seen(&of->c.last_seen, s);
	ledger_note_count(&of->c, s);
	if (is_new)
		of->c.state = ledger_note_first_state(&of->c, build);
	else
		change_state(l, n, of, s);
	if (!build)
		put_uncounted(&of->c, s, is_new, before);
	ledger_summarize(n);
	return build;
}

/* Finds or makes the entry of the target.  An entry without a target's name goes to the first
 * target that has a sighting. */
static int entry_for(struct record *n, const char *target, bool *ret_new, struct found **ret,
		     struct err *e)
{
	char *name = ledger_empty; /* the target's name, cut to the ledger's limit */
	struct found *t;
	int r = 0;

	ledger_set(&name, target, LEDGER_TEXT_MAX, false);
	t = *name ? ledger_entry_of(n, name) : ledger_entry_at(n, n->c.lead);
	if (!t && (t = ledger_entry_of(n, "")))
		ledger_set(&t->c.fuzzer, name, LEDGER_TEXT_MAX, false);
	*ret_new = !t;
	if (!t)
		r = ledger_entry_add(n, name, &t, e);
	ledger_unset(&name);
	*ret = t;
	return r;
}

static int ledger_note_in_crash(struct ledger *l, struct record *n, const struct crash_sighting *s,
				struct ledger_noted *ret, struct err *e)
{
	struct found *t;
	bool is_new, further;
	enum ledger_state before;
	int r = entry_for(n, s->target, &is_new, &t, e);

	if (r < 0)
		return r;
	before = t->c.state;
	l->dirty = n->changed = true;
	further = note_in(l, n, t, s, is_new);
	*ret = (struct ledger_noted){&n->c, &t->c, is_new, is_new ? t->c.state : before, further};
	return 0;
}

static int note_new(struct ledger *l, const struct crash_sighting *s, struct ledger_noted *ret,
		    struct err *e)
{
	CLEANUP(ledger_record_free_p) struct record *n = NULL;
	struct found *t = NULL;
	int r = ledger_reserve(l, s->signature, e);

	if (r < 0)
		return r;
	n = ledger_record_new(s->signature);
	r = ledger_entry_add(n, s->target ? s->target : "", &t, e);
	if (r < 0)
		return r;
	n->changed = l->dirty = true;
	(void)note_in(l, n, t, s, true);
	*ret = (struct ledger_noted){&n->c, &t->c, true, t->c.state, false};
	ledger_insert(l, take_ptr(&n));
	return 0;
}

static bool ledger_note_has_bug(const struct known_crash *entry, const struct crash_sighting *s)
{
	return strcmp(entry->bug, s->bug) == 0;
}

/* Whether another build of the target failed at the sighting's place. */
static bool ledger_note_has_place(const struct known_crash *entry, const struct crash_sighting *s)
{
	const char *target = s->build_of ? s->build_of : s->target;

	if (!s->target || strcmp(entry->place, s->place) != 0 ||
	    strcmp(entry->fuzzer, s->target) == 0 ||
	    strcmp(ledger_note_target_of(entry), target) != 0)
		return false;
	return !*entry->caller || !s->caller || !*s->caller ||
	       strcmp(entry->caller, s->caller) == 0;
}

/* The oldest crash with an entry for which `is` holds, in its own record or in a variant, that has
 * room for another alias; NULL: none. */
static struct record *crash_of(const struct ledger *l, const struct crash_sighting *s,
			       bool (*is)(const struct known_crash *,
					  const struct crash_sighting *))
{
	struct record *oldest = NULL;

	for (size_t i = 0; i < l->n; i++) {
		struct record *n = l->v[i], *head;
		bool found = false;

		for (size_t k = 0; k < n->c.n_by && !found; k++)
			found = is(n->c.by[k], s);
		if (!found)
			continue;
		head = *n->c.merged_into ? ledger_exact(l, n->c.merged_into) : n;
		if (head && head->c.aliases.n < LEDGER_ALIASES &&
		    (!oldest || head->c.first_seen.time < oldest->c.first_seen.time))
			oldest = head;
	}
	return oldest;
}

/* Makes a record of the sighting that is merged into head.  It is not in the ledger yet. */
static int make_variant(struct ledger *l, const struct crash_sighting *s, const struct record *head,
			struct record **ret, struct err *e)
{
	CLEANUP(ledger_record_free_p) struct record *n = ledger_record_new(s->signature);
	struct note t = {.l = l};
	int r = ledger_entry_add(n, s->target ? s->target : "", &t.n, e);

	if (r < 0)
		return r;
	t.c = &t.n->c;
	t.c->state = LEDGER_KNOWN;
	put_build(t.c, s);
	ledger_note_describe(&t, s);
	reproducer(&t, s);
	put_seen(&t.c->first_seen, s);
	ledger_set(&n->c.merged_into, head->c.signature, LEDGER_SIGNATURE_MAX, false);
	ledger_summarize(n);
	n->changed = true;
	*ret = take_ptr(&n);
	return 0;
}

/* Notes the first sighting of a signature that has the bug of head. */
static int note_variant(struct ledger *l, struct record *head, const struct crash_sighting *s,
			struct ledger_noted *ret, struct err *e)
{
	CLEANUP(ledger_record_free_p) struct record *n = NULL;
	struct ledger_list *names = &head->c.aliases;
	struct crash_sighting rest = *s;
	int r = ledger_reserve(l, s->signature, e);

	if (r == 0)
		r = make_variant(l, s, head, &n, e);
	if (r < 0)
		return r;
	ledger_list_add(names, s->signature);
	rest.crash_file = rest.minimized = NULL; /* they belong to the variant's record */
	rest.tries = rest.hits = 0;
	r = ledger_note_in_crash(l, head, &rest, ret, e);
	if (r < 0) {
		ledger_list_drop(names, names->n - 1);
		return r;
	}
	ledger_list_sort(names);
	ledger_insert(l, take_ptr(&n));
	return 0;
}

/* A merged record keeps its own reproducer, for a fix and for ledger_split(). */
static int note_merged(struct ledger *l, struct record *head, struct crash_sighting *s,
		       struct err *e)
{
	struct record *own = ledger_exact(l, s->signature);
	struct note t = {.l = l};
	bool is_new;
	int r;

	if (!own || own == head || !s->crash_file)
		return 0;
	r = entry_for(own, s->target, &is_new, &t.n, e);
	if (r < 0)
		return r;
	t.c = &t.n->c;
	if (is_new)
		t.c->state = LEDGER_KNOWN;
	put_build(t.c, s);
	ledger_note_describe(&t, s);
	reproducer(&t, s);
	own->changed = l->dirty = true;
	s->crash_file = s->minimized = NULL;
	s->tries = s->hits = 0;
	ledger_summarize(own);
	return 0;
}

static int ledger_note_sighting(struct ledger *l, const struct crash_sighting *s,
				struct ledger_noted *ret, struct err *e)
{
	struct crash_sighting rest = *s;
	struct record *n;
	int r = ledger_check_signature(s->signature, e);

	if (r < 0)
		return r;
	n = ledger_head(l, s->signature);
	if (!n) {
		if (s->bug && *s->bug)
			n = crash_of(l, s, ledger_note_has_bug);
		if (!n && s->place && *s->place)
			n = crash_of(l, s, ledger_note_has_place);
		if (!n)
			return note_new(l, s, ret, e);
		r = note_variant(l, n, s, ret, e);
		return r < 0 ? err_wrap(e, "note a variant of crash '%s'", n->c.signature) : 0;
	}
	r = note_merged(l, n, &rest, e);
	if (r == 0)
		r = ledger_note_in_crash(l, n, &rest, ret, e);
	return r < 0 ? err_wrap(e, "note crash '%s'", n->c.signature) : 0;
}

int ledger_note(struct ledger *l, const struct crash_sighting *s, struct ledger_noted *ret,
		struct err *e)
{
	int r = ledger_note_sighting(l, s, ret, e);
	struct record *own = r == 0 && s->report ? ledger_exact(l, s->signature) : NULL;

	if (own)
		parsed_note(own, ret->entry->fuzzer, s->report);
	return r;
}

bool ledger_is_better(const struct known_crash *c, uint64_t tries, uint64_t hits, uint64_t bytes)
{
	uint64_t now_tries = c->reproduction.tries, now_hits = c->reproduction.hits;
	uint64_t now_bytes = *c->minimized ? c->minimized_bytes : c->input_bytes;
	double share, now;

	if (!*c->crash_file)
		return true;
	if (c->state == LEDGER_FIXED)
		return hits > 0;
	share = tries ? (double)hits / (double)tries : 0;
	now = now_tries ? (double)now_hits / (double)now_tries : 0;
	return share > now || (share >= now && bytes < now_bytes);
}
