/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger in memory: how a record is found, the states, and the inputs of a fix. */
#include "runner/crash/ledger/ledger.h"

#include "base/memory.h"
#include "runner/crash/ledger/internal.h"
#include "runner/crash/odds.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- an index of records by name ------------------------------------------- */

struct index_item {
	const char *name;
	struct record *owner;
};

static int ledger_index_compare(const void *a, const void *b)
{
	return strcmp(((const struct index_item *)a)->name, ((const struct index_item *)b)->name);
}

struct record *ledger_index_get(const struct index *x, const char *name)
{
	struct index_item key = {.name = name};
	struct index_item *const *at = tfind(&key, &x->root, ledger_index_compare);

	return at ? (*at)->owner : NULL;
}

struct record *ledger_index_put(struct index *x, const char *name, struct record *n)
{
	struct index_item *item = xmalloc(sizeof(*item));
	struct index_item *const *at;

	*item = (struct index_item){name, n};
	at = tsearch(item, &x->root, ledger_index_compare);
	if (!at)
		out_of_memory();
	if (*at == item)
		return NULL;
	free(item);
	return (*at)->owner;
}

void ledger_index_drop(struct index *x, const char *name)
{
	struct index_item key = {.name = name};
	struct index_item **at = tfind(&key, &x->root, ledger_index_compare);
	struct index_item *item = at ? *at : NULL;

	if (item)
		tdelete(&key, &x->root, ledger_index_compare);
	free(item);
}

static void ledger_index_done(struct index *x)
{
	tdestroy(x->root, free);
	x->root = NULL;
}

/* --- the ledger ------------------------------------------------------------ */

struct ledger *ledger_new(void)
{
	struct ledger *l = xcalloc(1, sizeof(*l));

	l->foreign = json_object();
	return l;
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	ledger_index_done(&l->aliases);
	ledger_index_done(&l->raw_keys);
	for (size_t i = 0; i < l->n; i++)
		ledger_record_free(l->v[i]);
	free(l->v);
	json_decref(l->foreign);
	free(l);
}

const char *ledger_warning(const struct ledger *l)
{
	return l->warning;
}

bool ledger_dirty(const struct ledger *l)
{
	return l->dirty;
}

size_t ledger_count(const struct ledger *l)
{
	return l->n;
}

const struct known_crash *ledger_at(const struct ledger *l, size_t i)
{
	return i < l->n ? &l->v[i]->c : NULL;
}

/* The index of the signature, or where it belongs. */
static size_t ledger_place(const struct ledger *l, const char *signature)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(l->v[middle]->c.signature, signature) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct record *ledger_exact(const struct ledger *l, const char *signature)
{
	size_t i = ledger_place(l, signature);

	return i < l->n && strcmp(l->v[i]->c.signature, signature) == 0 ? l->v[i] : NULL;
}

/* A merged record points to a record that is not merged, so one step is enough. */
static struct record *ledger_head_of(const struct ledger *l, struct record *n)
{
	return n && *n->c.merged_into ? ledger_exact(l, n->c.merged_into) : n;
}

struct record *ledger_head(const struct ledger *l, const char *signature)
{
	struct record *n = ledger_exact(l, signature);

	return ledger_head_of(l, n ? n : ledger_index_get(&l->aliases, signature));
}

const struct known_crash *ledger_find(const struct ledger *l, const char *signature)
{
	const struct record *n = ledger_head(l, signature);

	return n ? &n->c : NULL;
}

const struct known_crash *ledger_record(const struct ledger *l, const char *signature)
{
	const struct record *n = ledger_exact(l, signature);

	return n ? &n->c : NULL;
}

bool ledger_raw_name(const char *target, const char *raw_key, char out[LEDGER_TEXT_MAX + 1])
{
	int n;

	if (!target || !*target || !raw_key || !*raw_key)
		return false;
	n = snprintf(out, LEDGER_TEXT_MAX + 1, "%s:%s", target, raw_key);
	return n > 0 && ledger_is_clean((struct slice){out, (size_t)n}, LEDGER_TEXT_MAX, false);
}

const struct known_crash *ledger_find_raw(const struct ledger *l, const char *target,
					  const char *raw_key)
{
	char key[LEDGER_TEXT_MAX + 1];
	const struct record *n;

	if (!ledger_raw_name(target, raw_key, key))
		return NULL;
	n = ledger_head_of(l, ledger_index_get(&l->raw_keys, key));
	return n ? &n->c : NULL;
}

int ledger_check_signature(const char *signature, struct err *e)
{
	struct slice s = {signature, signature ? strnlen(signature, LEDGER_SIGNATURE_MAX + 1) : 0};

	if (s.n == 0)
		return err_set(e, EINVAL, "a crash without a signature");
	if (s.n > LEDGER_SIGNATURE_MAX)
		return err_set(e, EINVAL, "a signature of more than %d bytes",
			       LEDGER_SIGNATURE_MAX);
	if (!ledger_is_clean(s, LEDGER_SIGNATURE_MAX, false))
		return err_set(e, EINVAL, "a signature that is no text");
	return 0;
}

/* No key may be in the file twice: a foreign value with the key of a crash gets a "~" appended. */
static int ledger_give_way(struct ledger *l, const char *signature, struct err *e)
{
	json_t *j = json_object_get(l->foreign, signature);
	char key[LEDGER_SIGNATURE_MAX + 32];
	size_t n = strlen(signature);

	if (!j)
		return 0;
	memcpy(key, signature, n + 1);
	do {
		if (n + 2 > sizeof(key))
			return err_set(e, EEXIST, "'%.100s' exists, but is not a crash", signature);
		memcpy(key + n++, "~", 2);
	} while (json_object_get(l->foreign, key) || ledger_exact(l, key));
	(void)json_object_set(l->foreign, key, j);
	json_object_del(l->foreign, signature);
	return 0;
}

int ledger_reserve(struct ledger *l, const char *signature, struct err *e)
{
	size_t cap = l->cap ? l->cap * 2 : 64;

	if (l->n >= LEDGER_CRASHES_MAX)
		return err_set(e, ENOSPC, "more than %d crashes", LEDGER_CRASHES_MAX);
	if (l->n == l->cap) {
		l->v = xreallocarray(l->v, cap, sizeof(struct record *));
		l->cap = cap;
	}
	return ledger_give_way(l, signature, e);
}

void ledger_insert(struct ledger *l, struct record *n)
{
	size_t at = ledger_place(l, n->c.signature);

	memmove(l->v + at + 1, l->v + at, (l->n - at) * sizeof(struct record *));
	l->v[at] = n;
	l->n++;
}

/* --- states of an entry ---------------------------------------------------- */

/* The table of states in ledger.h. */
static const char *const state_names[] = {
    [LEDGER_NEW] = "new",     [LEDGER_KNOWN] = "known",
    [LEDGER_FIXED] = "fixed", [LEDGER_REGRESSED] = "regressed",
    [LEDGER_FLAKY] = "flaky", [LEDGER_IGNORED] = "ignored",
};
_Static_assert(sizeof(state_names) / sizeof(state_names[0]) == LEDGER_STATE_COUNT,
	       "name every state");

/* clang-format off */
#define ROW(new, known, fixed, regressed, flaky, ignored) {	\
	[LEDGER_NEW] = LEDGER_##new,				\
	[LEDGER_KNOWN] = LEDGER_##known,			\
	[LEDGER_FIXED] = LEDGER_##fixed,			\
	[LEDGER_REGRESSED] = LEDGER_##regressed,		\
	[LEDGER_FLAKY] = LEDGER_##flaky,			\
	[LEDGER_IGNORED] = LEDGER_##ignored}

static const unsigned char state_after[][LEDGER_STATE_COUNT] = {
	[EVENT_SEEN_WELL]  = ROW(NEW,     KNOWN,   REGRESSED, REGRESSED, KNOWN,   IGNORED),
	[EVENT_SEEN]       = ROW(NEW,     KNOWN,   REGRESSED, REGRESSED, FLAKY,   IGNORED),
	[EVENT_SEEN_FLAKY] = ROW(FLAKY,   FLAKY,   REGRESSED, REGRESSED, FLAKY,   IGNORED),
	[EVENT_NEXT_RUN]   = ROW(KNOWN,   KNOWN,   FIXED,     REGRESSED, FLAKY,   IGNORED),
	[EVENT_FIXED]      = ROW(FIXED,   FIXED,   FIXED,     FIXED,     FIXED,   IGNORED),
	[EVENT_IGNORE]     = ROW(IGNORED, IGNORED, IGNORED,   IGNORED,   IGNORED, IGNORED),
	[EVENT_UNIGNORE]   = ROW(NEW,     KNOWN,   FIXED,     REGRESSED, FLAKY,   KNOWN),
};
/* clang-format on */
_Static_assert(sizeof(state_after) / sizeof(state_after[0]) == EVENT_COUNT,
	       "a row for every event");

const char *ledger_state_name(enum ledger_state s)
{
	return s < LEDGER_STATE_COUNT ? state_names[s] : "";
}

bool ledger_state_of(struct slice name, enum ledger_state *ret)
{
	for (enum ledger_state s = 0; s < LEDGER_STATE_COUNT; s++)
		if (slice_eq(name, slice_of(state_names[s]))) {
			*ret = s;
			return true;
		}
	return false;
}

bool ledger_state_open(enum ledger_state s)
{
	return s != LEDGER_FIXED && s != LEDGER_IGNORED;
}

enum ledger_state ledger_worst(enum ledger_state a, enum ledger_state b)
{
	static const enum ledger_state order[] = {LEDGER_REGRESSED, LEDGER_NEW,	    LEDGER_KNOWN,
						  LEDGER_FLAKY,	    LEDGER_IGNORED, LEDGER_FIXED};
	size_t i = 0;

	_Static_assert(sizeof(order) / sizeof(order[0]) == LEDGER_STATE_COUNT, "rank every state");
	while (order[i] != a && order[i] != b)
		i++;
	return order[i];
}

enum ledger_state ledger_next(enum ledger_state s, enum ledger_event ev)
{
	return state_after[ev][s];
}

enum ledger_state ledger_first(enum ledger_event ev)
{
	return ev == EVENT_SEEN_FLAKY ? LEDGER_FLAKY : LEDGER_NEW;
}

enum ledger_event ledger_sighting_of(const struct known_crash *c)
{
	switch (odds_reproduce(c->reproduction.tries, c->reproduction.hits)) {
	case ODDS_REPRODUCES:
		return EVENT_SEEN_WELL;
	case ODDS_FLAKY:
	case ODDS_NOT:
		return EVENT_SEEN_FLAKY;
	case ODDS_UNDECIDED:
	case ODDS_VERDICT_COUNT:
		break;
	}
	return EVENT_SEEN;
}

/* --- inputs that must pass ------------------------------------------------- */

/* The i-th part of the crash: the crash itself, then the records that are merged into it. */
static const struct known_crash *ledger_part_at(const struct ledger *l, const struct known_crash *c,
						size_t i)
{
	return i == 0 ? c : ledger_record(l, c->aliases.v[i - 1]); /* an alias may have no record */
}

static const struct known_crash *ledger_own_input(const struct known_crash *part,
						  const char *target)
{
	const struct known_crash *t = ledger_entry(part, target);

	return t && *t->crash_file ? t : NULL;
}

static const struct known_crash *ledger_borrowed_input(const struct ledger *l,
						       const struct known_crash *c)
{
	for (size_t i = 0; i <= c->aliases.n; i++) {
		const struct known_crash *part = ledger_part_at(l, c, i);

		if (part && *part->crash_file)
			return part->by[part->lead];
	}
	return NULL;
}

bool ledger_next_asked(const struct ledger *l, const struct known_crash *c, const char *target,
		       size_t *at, struct ledger_asked *ret)
{
	bool any = false;

	for (size_t i = 0; i <= c->aliases.n; i++) {
		const struct known_crash *part = ledger_part_at(l, c, i);
		const struct known_crash *t = ledger_own_input(part, target);

		any = any || t;
		if (i < *at || !t)
			continue;
		*at = i + 1;
		*ret = (struct ledger_asked){t, t};
		return true;
	}
	if (any || *at > 0 || !ledger_entry(c, target) || !ledger_borrowed_input(l, c))
		return false;
	*at = c->aliases.n + 1;
	*ret = (struct ledger_asked){ledger_borrowed_input(l, c), ledger_entry(c, target)};
	return true;
}
