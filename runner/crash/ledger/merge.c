/* SPDX-License-Identifier: Apache-2.0 */
/* Merges two signatures into one crash, and splits them.  A merged record keeps its data, and
 * points to a record that is not merged.  The count of that record includes the merged record's
 * count, and its aliases name the merged record.  An alias need not have a record (a user wrote it
 * into the file): such aliases are in the index. */
#include "runner/crash/ledger/internal.h"

#include <errno.h>

int ledger_join(struct record *head, const struct record *n, bool fixed_stays, struct err *e)
{
	bool stays =
	    head->c.state == LEDGER_IGNORED || (fixed_stays && head->c.state == LEDGER_FIXED);
	int r;

	for (size_t i = 0; i < n->c.n_by; i++) {
		const struct known_crash *from = n->c.by[i];
		struct found *t;

		if (!*from->fuzzer || ledger_entry_of(head, from->fuzzer))
			continue;
		r = ledger_entry_add(head, from->fuzzer, &t, e);
		if (r < 0)
			return r;
		t->c.state = stays ? head->c.state : from->state;
		ledger_set(&t->c.build_of, from->build_of, LEDGER_TEXT_MAX, false);
		ledger_set(&t->c.crash_type, from->crash_type, LEDGER_TEXT_MAX, true);
		ledger_set_seen(&t->c.first_seen, from->first_seen.time, from->first_seen.commit,
				from->first_seen.run);
		head->changed = true;
	}
	ledger_summarize(head);
	return 0;
}

/* The target's entry; without a target, the first. */
static struct found *entry_or_first(const struct record *head, const char *target)
{
	struct found *t = ledger_entry_of(head, target);

	return t ? t : ledger_entry_at(head, 0);
}

/* Adds each target's sightings of n to head's. */
static void add_counts(struct record *head, const struct record *n)
{
	for (size_t i = 0; i < n->c.n_by; i++)
		ledger_add(&entry_or_first(head, n->c.by[i]->fuzzer)->c.count, n->c.by[i]->count);
	ledger_summarize(head);
}

/* Whether the target never found head itself: its entry came by a merge, and none of the records
 * still merged has the target. */
static bool came_along(const struct ledger *l, const struct record *head,
		       const struct known_crash *t)
{
	if (*t->crash_file || t->last_seen.time || *t->last_seen.run)
		return false;
	for (size_t i = 0; i < head->c.aliases.n; i++) {
		const struct record *n = ledger_exact(l, head->c.aliases.v[i]);

		if (n && ledger_entry_of(n, t->fuzzer))
			return false;
	}
	return true;
}

/* Subtracts each target's sightings of n from head's. */
static void take_counts(struct ledger *l, struct record *head, const struct record *n)
{
	for (size_t i = 0; i < n->c.n_by; i++) {
		const char *target = n->c.by[i]->fuzzer;
		struct found *t = entry_or_first(head, target);
		uint64_t count = n->c.by[i]->count;

		t->c.count -= count < t->c.count ? count : t->c.count;
	}
	for (size_t i = head->c.n_by; i > 1; i--)
		if (ledger_entry_of(n, head->c.by[i - 1]->fuzzer) &&
		    came_along(l, head, head->c.by[i - 1]))
			ledger_entry_drop(l, head, i - 1);
	ledger_summarize(head);
}

static int put_into(struct record *n, struct record *head, struct err *e)
{
	int r = ledger_join(head, n, false, e);

	if (r < 0)
		return r;
	ledger_list_add(&head->c.aliases, n->c.signature);
	ledger_set(&n->c.merged_into, head->c.signature, LEDGER_SIGNATURE_MAX, false);
	n->changed = head->changed = true;
	add_counts(head, n);
	return 0;
}

static void take_out_of(struct ledger *l, struct record *n, struct record *head)
{
	size_t at = ledger_list_at(&head->c.aliases, n->c.signature);

	if (at < head->c.aliases.n)
		ledger_list_drop(&head->c.aliases, at);
	ledger_unset(&n->c.merged_into);
	n->changed = head->changed = true;
	take_counts(l, head, n);
}

/* Moves all records that are merged into `from`. */
static int move_merged(struct ledger *l, struct record *from, struct record *head, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < l->n && r == 0 && from->c.aliases.n > 0; i++) {
		struct record *n = l->v[i];

		if (strcmp(n->c.merged_into, from->c.signature) != 0)
			continue;
		take_out_of(l, n, from);
		r = put_into(n, head, e);
	}
	return r;
}

/* Moves the remaining aliases, which have no record. */
static void move_names(struct ledger *l, struct record *from, struct record *head)
{
	struct ledger_list *names = &from->c.aliases;

	from->changed = head->changed = true;
	while (names->n > 0) {
		char *name = ledger_list_steal(names, names->n - 1);

		ledger_index_drop(&l->aliases, name);
		ledger_list_take(&head->c.aliases, name);
		(void)ledger_index_put(&l->aliases, name, head);
	}
}

/* A target's entry is at least as bad as its entry in the merged record. */
static void take_states(struct record *head, const struct record *n)
{
	for (size_t i = 0; i < n->c.n_by; i++) {
		enum ledger_state from = n->c.by[i]->state;
		struct found *t = entry_or_first(head, n->c.by[i]->fuzzer);

		if (from == LEDGER_REGRESSED && t->c.state != LEDGER_IGNORED)
			t->c.state = from; /* only a fix, or a user, changes it */
		else if (t->c.state == LEDGER_FIXED && ledger_state_open(from))
			t->c.state = LEDGER_KNOWN;
	}
	ledger_summarize(head);
}

int ledger_merge(struct ledger *l, const char *from, const char *into, struct err *e)
{
	struct record *n = ledger_head(l, from), *head = ledger_head(l, into);
	int r;

	if (!n || !head)
		return err_set(e, ENOENT, "no crash '%.100s'", n ? into : from);
	if (n == head)
		return err_set(e, EINVAL, "'%.100s' and '%.100s' are one crash already", from,
			       into);
	if (n->c.aliases.n + head->c.aliases.n >= LEDGER_ALIASES)
		return err_set(e, ENOSPC, "crash '%.100s' has more than %d aliases",
			       head->c.signature, LEDGER_ALIASES);
	l->dirty = true;
	r = move_merged(l, n, head, e);
	if (r == 0) {
		move_names(l, n, head);
		r = put_into(n, head, e);
	}
	if (r < 0)
		return err_wrap(e, "merge crash '%.100s'", from);
	ledger_list_sort(&head->c.aliases);
	take_states(head, n);
	return 0;
}

/* Makes a record for an alias that never had one. */
static int split_name(struct ledger *l, const char *alias, struct record *head, struct err *e)
{
	struct ledger_list *names = &head->c.aliases;
	struct record *n;
	struct found *t;
	int r = ledger_reserve(l, alias, e);

	if (r < 0)
		return r;
	n = ledger_record_new(alias);
	r = ledger_entry_add(n, head->c.fuzzer, &t, e);
	if (r < 0) {
		ledger_record_free(n);
		return r;
	}
	ledger_set(&t->c.crash_type, head->c.crash_type, LEDGER_TEXT_MAX, true);
	t->c.state = LEDGER_KNOWN;
	ledger_summarize(n);
	n->changed = head->changed = true;
	ledger_index_drop(&l->aliases, alias);
	ledger_list_drop(names, ledger_list_at(names, n->c.signature));
	ledger_insert(l, n);
	l->dirty = true;
	return 0;
}

int ledger_split(struct ledger *l, const char *alias, struct err *e)
{
	struct record *n = ledger_exact(l, alias);
	struct record *head = ledger_head(l, alias);

	if (!head)
		return err_set(e, ENOENT, "no crash '%.100s'", alias);
	if (!n)
		return split_name(l, alias, head, e);
	if (n == head)
		return err_set(e, EINVAL, "crash '%.100s' is merged into no other", alias);
	l->dirty = true;
	take_out_of(l, n, head);
	return 0;
}
