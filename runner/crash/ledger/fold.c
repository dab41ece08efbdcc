/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/ledger/fold.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/crash/ledger/internal.h"

#include <errno.h>

DEFINE_CLEANUP(struct ledger *, ledger_free)
DEFINE_CLEANUP(struct record *, ledger_record_free)

/* --- fields ---------------------------------------------------------------- */

static bool same_list(const struct ledger_list *a, const struct ledger_list *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return false;
	return true;
}

static bool same_field(const struct field *f, const struct known_crash *a,
		       const struct known_crash *b)
{
	const void *x = (const char *)a + f->offset, *y = (const char *)b + f->offset;

	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_LINES:
		return strcmp(*(char *const *)x, *(char *const *)y) == 0;
	case FIELD_LIST:
		return same_list(x, y);
	case FIELD_NUMBER:
		return *(const uint64_t *)x == *(const uint64_t *)y;
	case FIELD_FLAG:
		break;
	}
	return *(const bool *)x == *(const bool *)y;
}

static void copy_field(const struct field *f, struct known_crash *to,
		       const struct known_crash *from)
{
	const void *x = (const char *)from + f->offset;
	void *y = ledger_field_of(to, f);

	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_LINES:
		ledger_set(y, *(char *const *)x, f->max, f->type == FIELD_LINES);
		break;
	case FIELD_LIST:
		ledger_list_done(y);
		for (size_t i = 0; i < ((const struct ledger_list *)x)->n; i++)
			ledger_list_add(y, ((const struct ledger_list *)x)->v[i]);
		break;
	case FIELD_NUMBER:
		*(uint64_t *)y = *(const uint64_t *)x;
		break;
	case FIELD_FLAG:
		*(bool *)y = *(const bool *)x;
		break;
	}
}

/* The fields that are copied together: those of the reproducer, or of the description. */
static bool is_of_reproducer(const struct field *f)
{
	static const char *const keys[] = {
	    "crash_file",      "minimized",   "input_bytes",	"input_sha1", "minimized_sha1",
	    "minimized_bytes", "minimize_ms", "minimize_ended", "tries",      "hits"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(f->key, keys[i]) == 0)
			return true;
	return false;
}

static bool is_of_description(const struct field *f)
{
	static const char *const keys[] = {
	    "crash_type",  "top_frame", "kind",	 "access", "access_size",  "signal", "frames",
	    "crash_state", "bug",	"place", "caller", "unsymbolized", "similar"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!f->group && strcmp(f->key, keys[i]) == 0)
			return true;
	return false;
}

static void copy_group(struct known_crash *to, const struct known_crash *from,
		       bool (*is)(const struct field *))
{
	size_t n;
	const struct field *f = ledger_fields(&n);

	for (size_t i = 0; i < n; i++)
		if (is(&f[i]))
			copy_field(&f[i], to, from);
}

/* --- runs ------------------------------------------------------------------ */

static uint64_t count_in(const struct known_crash *c, const char *run)
{
	for (size_t i = 0; c && i < c->n_runs; i++)
		if (strcmp(c->runs[i].run, run) == 0)
			return c->runs[i].count;
	return 0;
}

/* The runs stay in the order of their ids, which is that of time. */
static void add_run(struct known_crash *c, const char *run, uint64_t count)
{
	size_t at = 0;

	while (at < c->n_runs && strcmp(c->runs[at].run, run) < 0)
		at++;
	if (at < c->n_runs && strcmp(c->runs[at].run, run) == 0) {
		ledger_add(&c->runs[at].count, count);
		return;
	}
	if (!c->runs)
		c->runs = xcalloc(LEDGER_RUNS, sizeof(*c->runs));
	if (c->n_runs == LEDGER_RUNS) {
		if (at == 0)
			return; /* older than all that are kept */
		ledger_unset(&c->runs[0].run);
		memmove(c->runs, c->runs + 1, (--at) * sizeof(*c->runs));
	} else {
		memmove(c->runs + at + 1, c->runs + at, (c->n_runs - at) * sizeof(*c->runs));
		c->n_runs++;
	}
	c->runs[at] = (struct ledger_run){.run = ledger_empty};
	ledger_set(&c->runs[at].run, run, LEDGER_TEXT_MAX, false);
	ledger_add(&c->runs[at].count, count);
}

/* --- what changed ----------------------------------------------------------- */

static bool changed(const struct known_crash *now, const struct known_crash *then)
{
	size_t n;
	const struct field *f = ledger_fields(&n);

	if (!then || now->state != then->state)
		return true;
	for (size_t i = 0; i < n; i++)
		if (!f[i].of_crash && !same_field(&f[i], now, then))
			return true;
	return false;
}

static int add_difference(struct record *to, const struct known_crash *now,
			  const struct known_crash *then, struct err *e)
{
	size_t n;
	const struct field *f = ledger_fields(&n);
	struct found *t;
	int r = ledger_entry_add(to, now->fuzzer, &t, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (!f[i].of_crash)
			copy_field(&f[i], &t->c, now);
	ledger_list_done(&t->c.artifacts);
	t->c.state = now->state;
	if (then)
		t->c.count -= then->count < now->count ? then->count : now->count;
	for (size_t i = 0; i < now->n_runs; i++) {
		uint64_t before = count_in(then, now->runs[i].run);

		if (now->runs[i].count > before)
			add_run(&t->c, now->runs[i].run, now->runs[i].count - before);
	}
	return 0;
}

/* The state of a merged record's entry means nothing: that of the crash counts. */
static enum ledger_state state_in_crash(const struct ledger *l, const struct known_crash *entry)
{
	const struct known_crash *c = ledger_find_entry(l, entry->signature, entry->fuzzer);

	return c ? c->state : entry->state;
}

static int record_since(const struct ledger *l, const struct known_crash *now,
			const struct known_crash *then, struct ledger *to, struct err *e)
{
	CLEANUP(ledger_record_free_p) struct record *n = ledger_record_new(now->signature);
	int r = ledger_reserve(to, now->signature, e);

	for (size_t i = 0; r == 0 && i < now->n_by; i++) {
		const struct known_crash *before = ledger_entry(then, now->by[i]->fuzzer);

		if (changed(now->by[i], before))
			r = add_difference(n, now->by[i], before, e);
		if (r == 0 && n->c.n_by > 0)
			n->c.by[n->c.n_by - 1]->state = state_in_crash(l, n->c.by[n->c.n_by - 1]);
	}
	if (r < 0 || n->c.n_by == 0)
		return r;
	if (!then) /* this machine decided it, not a user */
		ledger_set(&n->c.merged_into, now->merged_into, LEDGER_SIGNATURE_MAX, false);
	ledger_summarize(n);
	ledger_insert(to, take_ptr(&n));
	return 0;
}

int ledger_since(const struct ledger *now, const struct ledger *then, struct ledger **ret,
		 struct err *e)
{
	CLEANUP(ledger_free_p) struct ledger *l = ledger_new();
	int r = 0;

	for (size_t i = 0; r == 0 && i < now->n; i++)
		r = record_since(now, &now->v[i]->c, ledger_record(then, now->v[i]->c.signature), l,
				 e);
	if (r == 0)
		*ret = take_ptr(&l);
	return r;
}

/* --- folding an entry --------------------------------------------------------- */

struct fold {
	struct ledger *l;
	ledger_files_fn *files;
	void *arg;
	struct ledger_fold_sum *sum;
	struct record **fresh; /* this fold brought their bugs and places: to be merged */
	size_t n_fresh;
};

static int order_of_seen(const struct ledger_seen *a, const struct ledger_seen *b)
{
	int d = (a->time > b->time) - (a->time < b->time);

	d = d ? d : strcmp(a->run, b->run);
	return d ? d : strcmp(a->commit, b->commit);
}

static void take_seen(struct ledger_seen *to, const struct ledger_seen *from)
{
	ledger_set_seen(to, from->time, from->commit, from->run);
}

/* first: the earlier one stays.  A time of 0 is not known. */
static void join_seen(struct ledger_seen *to, const struct ledger_seen *from, bool first)
{
	int d = order_of_seen(from, to);

	if (from->time > 0 && (to->time == 0 || (first ? d < 0 : d > 0)))
		take_seen(to, from);
}

/* b: of another machine.  What is ignored here, a user ignored. */
static enum ledger_state join_states(const struct known_crash *a, enum ledger_state b)
{
	static const unsigned char rank[LEDGER_STATE_COUNT] = {
	    [LEDGER_FIXED] = 0, [LEDGER_FLAKY] = 1,	[LEDGER_NEW] = 2,
	    [LEDGER_KNOWN] = 3, [LEDGER_REGRESSED] = 4,
	};

	if (a->state == LEDGER_IGNORED)
		return LEDGER_IGNORED;
	if (a->fixed.time > 0)
		return a->last_seen.time > a->fixed.time ? LEDGER_REGRESSED : LEDGER_FIXED;
	if (b == LEDGER_IGNORED) /* it was ignored here, and no longer is */
		b = LEDGER_KNOWN;
	return rank[a->state] > rank[b] ? a->state : b;
}

/* All of a target's sightings but their number. */
static void join_times(struct known_crash *to, const struct known_crash *from)
{
	for (size_t i = 0; i < from->n_runs; i++)
		add_run(to, from->runs[i].run, from->runs[i].count);
	join_seen(&to->first_seen, &from->first_seen, true);
	join_seen(&to->last_seen, &from->last_seen, false);
	join_seen(&to->fixed, &from->fixed, false);
	to->state = join_states(to, from->state);
	to->security |= from->security;
	if (ledger_rank(from->severity) > ledger_rank(to->severity))
		ledger_set(&to->severity, from->severity, LEDGER_TEXT_MAX, false);
	if (!*to->build_of)
		ledger_set(&to->build_of, from->build_of, LEDGER_TEXT_MAX, false);
}

/* In the target's own record, or in the crash. */
static void join_sightings(struct known_crash *to, const struct known_crash *from)
{
	ledger_add(&to->count, from->count);
	join_times(to, from);
	if (from->count > 0) { /* a sighting makes passes void */
		to->reproduction.clean = to->reproduction.clean_minimized = 0;
		ledger_unset(&to->reproduction.clean_commit);
	}
}

/* Below 0: a is better.  First inputs that failed again, then small
 * ones; nothing that a later measurement may change decides. */
static int order_of_inputs(const struct known_crash *a, const struct known_crash *b)
{
	bool x = a->reproduction.hits > 0, y = b->reproduction.hits > 0;

	if (!*a->crash_file || !*b->crash_file)
		return !*a->crash_file - !*b->crash_file;
	if (*a->input_sha1 && strcmp(a->input_sha1, b->input_sha1) == 0)
		return 0;
	if (x != y)
		return x ? -1 : 1;
	if (a->input_bytes != b->input_bytes)
		return a->input_bytes < b->input_bytes ? -1 : 1;
	return strcmp(a->input_sha1, b->input_sha1);
}

static int order_of_minimized(const struct known_crash *a, const struct known_crash *b)
{
	if (!*a->minimized || !*b->minimized)
		return !*a->minimized - !*b->minimized;
	if (a->minimized_bytes != b->minimized_bytes)
		return a->minimized_bytes < b->minimized_bytes ? -1 : 1;
	return strcmp(a->minimized_sha1, b->minimized_sha1);
}

/* What was measured of one input, here and elsewhere. */
struct facts {
	uint64_t tries, hits, minimize_ms;
	bool minimize_ended;
};

static struct facts facts_of(const struct known_crash *c)
{
	return (struct facts){c->reproduction.tries, c->reproduction.hits, c->minimize_ms,
			      c->minimize_ended};
}

static void join_facts(struct known_crash *to, const struct facts *f)
{
	if (f->tries > to->reproduction.tries ||
	    (f->tries == to->reproduction.tries && f->hits > to->reproduction.hits)) {
		to->reproduction.tries = f->tries;
		to->reproduction.hits = f->hits;
	}
	if (f->minimize_ms > to->minimize_ms)
		to->minimize_ms = f->minimize_ms;
	to->minimize_ended |= f->minimize_ended;
}

static void take_files(struct record *n, struct found *to, const struct known_crash *from,
		       const struct ledger_files *files)
{
	copy_group(&to->c, from, is_of_reproducer);
	copy_group(&to->c, from, is_of_description);
	ledger_set(&to->c.crash_file, files->crash_file, LEDGER_TEXT_MAX, false);
	ledger_set(&to->c.minimized, files->minimized, LEDGER_TEXT_MAX, false);
	if (!files->minimized) {
		to->c.minimized_bytes = 0;
		ledger_unset(&to->c.minimized_sha1);
	}
	to->adopt[LEDGER_INPUT] = to->adopt[LEDGER_MINIMIZED] = false;
	if (files->report)
		parsed_note(n, to->c.fuzzer, files->report);
}

/* Takes the reproducer of `from` with its description, if it is better and its files are there. */
static int join_reproducer(const struct fold *f, struct record *n, struct found *to,
			   const struct known_crash *from, struct err *e)
{
	int inputs = order_of_inputs(from, &to->c), r;
	int minimized = inputs == 0 ? order_of_minimized(from, &to->c) : -1;
	struct facts theirs = facts_of(from), ours = facts_of(&to->c);
	struct ledger_files files = {0};

	if (!*from->crash_file || inputs > 0)
		return 0;
	r = minimized > 0 ? -EALREADY : f->files(f->arg, from, minimized == 0, &files, e);
	if (r == 0) {
		take_files(n, to, from, &files);
		if (inputs < 0) { /* passes of another input */
			to->c.reproduction.clean = to->c.reproduction.clean_minimized = 0;
			ledger_unset(&to->c.reproduction.clean_commit);
		}
	}
	if (inputs == 0)
		join_facts(&to->c, r == 0 ? &ours : &theirs);
	return r == -ENOENT || r == -EALREADY ? 0 : r;
}

/* A key that two crashes claim belongs to the one with the smaller signature. */
static void join_raw_keys(struct ledger *l, struct record *n, struct known_crash *to,
			  const struct known_crash *from)
{
	for (size_t i = 0; i < from->raw_keys.n; i++) {
		const char *key = from->raw_keys.v[i];
		struct record *old = ledger_index_get(&l->raw_keys, key);
		size_t own = strlen(from->fuzzer);

		if (strncmp(key, from->fuzzer, own) != 0 || key[own] != ':' || old == n ||
		    (old && strcmp(old->c.signature, n->c.signature) < 0))
			continue;
		if (old)
			ledger_give_up_key(l, old, key);
		if (to->raw_keys.n >= LEDGER_RAW_KEYS) {
			ledger_index_drop(&l->raw_keys, to->raw_keys.v[0]);
			ledger_list_drop(&to->raw_keys, 0);
		}
		ledger_list_add(&to->raw_keys, key);
		(void)ledger_index_put(&l->raw_keys, to->raw_keys.v[to->raw_keys.n - 1], n);
		ledger_list_sort(&to->raw_keys);
	}
}

static int join_entry(const struct fold *f, struct record *n, const struct known_crash *from,
		      struct err *e)
{
	struct found *to = ledger_entry_of(n, from->fuzzer);
	bool first = !to;
	int r = 0;

	if (!to)
		r = ledger_entry_add(n, from->fuzzer, &to, e);
	if (r == 0 && first)
		to->c.state = from->state;
	if (r == 0)
		r = join_reproducer(f, n, to, from, e);
	if (r < 0)
		return r;
	if (!*to->c.crash_file &&
	    (first || order_of_seen(&from->first_seen, &to->c.first_seen) < 0))
		copy_group(&to->c, from, is_of_description);
	join_sightings(&to->c, from);
	join_raw_keys(f->l, n, &to->c, from);
	return 0;
}

/* --- folding a record ---------------------------------------------------------- */

/* NULL: *e has the error. */
static struct record *make_record(struct fold *f, const char *signature, struct err *e)
{
	if (ledger_check_signature(signature, e) < 0 || ledger_reserve(f->l, signature, e) < 0)
		return NULL;
	return ledger_record_new(signature);
}

/* The sightings of a merged record count in the crash, too. */
static int join_head(struct record *head, const struct known_crash *from, struct err *e)
{
	struct found *to = ledger_entry_of(head, from->fuzzer);
	int r = 0;

	if (!to) {
		r = ledger_entry_add(head, from->fuzzer, &to, e);
		if (r < 0)
			return r;
		to->c.state = from->state;
		ledger_set(&to->c.crash_type, from->crash_type, LEDGER_TEXT_MAX, true);
	}
	join_sightings(&to->c, from);
	return 0;
}

static bool has_bug_or_place(const struct record *n)
{
	for (size_t i = 0; i < n->c.n_by; i++)
		if (*n->c.by[i]->bug || *n->c.by[i]->place)
			return true;
	return false;
}

/* In the order in which the targets found the crash, as ledger_note() has them. */
static int by_first_sight(const void *x, const void *y)
{
	const struct known_crash *a = *(struct known_crash *const *)x,
				 *b = *(struct known_crash *const *)y;
	int r = strcmp(a->first_seen.run, b->first_seen.run);

	if (a->first_seen.time != b->first_seen.time)
		return a->first_seen.time < b->first_seen.time ? -1 : 1;
	return r ? r : strcmp(a->fuzzer, b->fuzzer);
}

static void summarize(struct record *n)
{
	if (n->c.n_by > 1)
		qsort(n->c.by, n->c.n_by, sizeof(struct known_crash *), by_first_sight);
	if (n->c.n_by > 0)
		ledger_summarize(n);
}

/* All entries of `from`, in the record n and in the crash that n is merged into. */
static int join_entries(const struct fold *f, struct record *n, struct record *head,
			const struct record *from, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->c.n_by; i++) {
		const struct known_crash *c = from->c.by[i];

		r = join_entry(f, n, c, e);
		if (r == 0 && head && head != n)
			r = join_head(head, c, e);
		if (r == 0)
			ledger_add(&f->sum->sightings, c->count);
	}
	summarize(n);
	n->changed = f->l->dirty = true;
	if (head && head != n) {
		summarize(head);
		head->changed = true;
	}
	return r;
}

static int join_record(struct fold *f, const struct record *from, struct err *e)
{
	CLEANUP(ledger_record_free_p) struct record *made = NULL;
	struct record *head = ledger_head(f->l, from->c.signature);
	struct record *n = ledger_exact(f->l, from->c.signature);
	bool described;
	int r;

	if (!n)
		n = head; /* an alias without a record */
	if (!n)
		n = made = make_record(f, from->c.signature, e);
	if (!n)
		return err_code(e);
	described = has_bug_or_place(n);
	r = join_entries(f, n, head, from, e);
	if (r < 0)
		return r;
	if (!described && has_bug_or_place(n))
		f->fresh[f->n_fresh++] = n;
	if (made)
		ledger_insert(f->l, take_ptr(&made));
	return 0;
}

/* --- merging what is one crash --------------------------------------------------- */

/* As ledger_note() decides it for a first sighting. */
static bool is_one_bug(const struct known_crash *a, const struct known_crash *b)
{
	if (*a->bug && strcmp(a->bug, b->bug) == 0)
		return true;
	if (!*a->place || strcmp(a->place, b->place) != 0 || strcmp(a->fuzzer, b->fuzzer) == 0 ||
	    !ledger_same_target(a, b))
		return false;
	return !*a->caller || !*b->caller || strcmp(a->caller, b->caller) == 0;
}

static bool any_is_one_bug(const struct record *a, const struct record *b)
{
	for (size_t i = 0; i < a->c.n_by; i++)
		for (size_t k = 0; k < b->c.n_by; k++)
			if (is_one_bug(a->c.by[i], b->c.by[k]))
				return true;
	return false;
}

/* Whether a gives the crash of both its name. */
static bool names_it(const struct record *a, const struct record *b)
{
	if (!*a->c.issue_url != !*b->c.issue_url)
		return *a->c.issue_url;
	if (a->c.first_seen.time != b->c.first_seen.time)
		return a->c.first_seen.time < b->c.first_seen.time;
	return strcmp(a->c.signature, b->c.signature) < 0;
}

/* What ledger_merge() leaves out, because it is for users: times, runs, and the worse state. */
static void join_merged(struct record *head, const struct record *n)
{
	for (size_t i = 0; i < n->c.n_by; i++) {
		struct found *to = ledger_entry_of(head, n->c.by[i]->fuzzer);

		if (to)
			join_times(&to->c, n->c.by[i]);
	}
	summarize(head);
}

/* Two crashes with an issue each stay two, and so do those that are too many. */
static int merge_pair(struct ledger *l, const char *x, const char *y, struct err *e)
{
	struct record *a = ledger_head(l, x), *b = ledger_head(l, y);
	struct record *head, *other;
	int r;

	if (!a || !b || a == b || (*a->c.issue_url && *b->c.issue_url) ||
	    a->c.aliases.n + b->c.aliases.n + 1 >= LEDGER_ALIASES)
		return 0;
	head = names_it(a, b) ? a : b;
	other = head == a ? b : a;
	/* First its own entries, with their states: those of records merged into it mean nothing.
	 */
	r = ledger_join(head, other, false, e);
	if (r == 0)
		r = ledger_merge(l, other->c.signature, head->c.signature, e);
	if (r == 0)
		join_merged(head, other);
	return r;
}

static int merge_fresh(struct ledger *l, const struct record *n, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->n; i++)
		if (l->v[i] != n && any_is_one_bug(n, l->v[i]))
			r = merge_pair(l, n->c.signature, l->v[i]->c.signature, e);
	return r;
}

static size_t count_crashes(const struct ledger *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += !*l->v[i]->c.merged_into;
	return n;
}

int ledger_fold(struct ledger *l, const struct ledger *from, ledger_files_fn *files, void *arg,
		struct ledger_fold_sum *io, struct err *e)
{
	struct fold f = {.l = l, .files = files, .arg = arg, .sum = io};
	size_t before = count_crashes(l), after;
	int r = 0;

	f.fresh = xcalloc(from->n + 1, sizeof(struct record *));
	for (size_t i = 0; r == 0 && i < from->n; i++) {
		r = join_record(&f, from->v[i], e);
		if (r < 0)
			r = err_wrap(e, "crash '%.100s'", from->v[i]->c.signature);
	}
	for (size_t i = 0; r == 0 && i < from->n; i++) {
		const struct known_crash *c = &from->v[i]->c;

		if (*c->merged_into)
			r = merge_pair(l, c->signature, c->merged_into, e);
	}
	for (size_t i = 0; r == 0 && i < f.n_fresh; i++)
		r = merge_fresh(l, f.fresh[i], e);
	free(f.fresh);
	after = count_crashes(l);
	ledger_add(&io->crashes, after > before ? after - before : 0);
	return r;
}
