/* SPDX-License-Identifier: Apache-2.0 */
/* Two signatures, one crash.  A record that is merged keeps what it had and points to
 * one that stands for itself, never to a merged one; the other's count includes its
 * count, and its aliases name it.  An alias need not have a record (a person wrote it
 * into the file): those are in the index. */
#include "base/cleanup.h"
#include "runner/crash/ledger_internal.h"

#include <errno.h>

DEFINE_CLEANUP(struct record *, ledger_record_free)

static int put_into(struct record *n, struct record *head, struct err *e)
{
	int r = ledger_list_add(&head->c.aliases, n->c.signature, true, e);

	if (r < 0)
		return r;
	r = ledger_set(&n->c.merged_into, head->c.signature, LEDGER_SIGNATURE_MAX, true, e);
	if (r < 0) {
		ledger_list_drop(&head->c.aliases, head->c.aliases.n - 1);
		return r;
	}
	ledger_add(&head->c.count, n->c.count);
	n->copy = head->copy = true;
	return 0;
}

static void take_out_of(struct record *n, struct record *head)
{
	size_t at = ledger_list_at(&head->c.aliases, n->c.signature);

	if (at < head->c.aliases.n)
		ledger_list_drop(&head->c.aliases, at);
	head->c.count -= n->c.count < head->c.count ? n->c.count : head->c.count;
	ledger_unset(&n->c.merged_into);
	n->copy = head->copy = true;
}

/* What is merged into from goes along, one by one. */
static int move_merged(struct ledger *l, struct record *from, struct record *head, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < l->n && r == 0 && from->c.aliases.n > 0; i++) {
		struct record *n = l->v[i];

		if (strcmp(n->c.merged_into, from->c.signature) != 0)
			continue;
		take_out_of(n, from);
		r = put_into(n, head, e);
	}
	return r;
}

/* What is left are aliases without a record. */
static int move_names(struct ledger *l, struct record *from, struct record *head, struct err *e)
{
	struct ledger_list *names = &from->c.aliases;
	int r = 0;

	from->copy = head->copy = true;
	while (names->n > 0 && r == 0) {
		char *name = ledger_list_steal(names, names->n - 1);

		ledger_index_drop(&l->aliases, name);
		r = ledger_list_take(&head->c.aliases, name, e);
		if (r == 0)
			r = ledger_index_put(&l->aliases, name, head, NULL, e);
	}
	return r;
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
	if (r == 0)
		r = move_names(l, n, head, e);
	if (r == 0)
		r = put_into(n, head, e);
	if (r < 0)
		return err_wrap(e, "merge crash '%.100s'", from);
	ledger_list_sort(&head->c.aliases);
	if (n->c.state == LEDGER_REGRESSED && head->c.state != LEDGER_IGNORED)
		head->c.state = LEDGER_REGRESSED; /* only a fix, or a person, says otherwise */
	else if (head->c.state == LEDGER_FIXED && ledger_state_open(n->c.state))
		head->c.state = LEDGER_KNOWN;
	return 0;
}

/* An alias that never had a record gets one. */
static int split_name(struct ledger *l, const char *alias, struct record *head, struct err *e)
{
	CLEANUP(ledger_record_free_p) struct record *n = NULL;
	struct ledger_list *names = &head->c.aliases;
	int r = ledger_reserve(l, alias, e);

	if (r < 0)
		return r;
	r = ledger_record_new(alias, &n, e);
	if (r < 0)
		return r;
	r = ledger_set(&n->c.fuzzer, head->c.fuzzer, LEDGER_TEXT_MAX, false, e);
	if (r == 0)
		r = ledger_set(&n->c.crash_type, head->c.crash_type, LEDGER_TEXT_MAX, true, e);
	if (r < 0)
		return r;
	n->c.state = LEDGER_KNOWN;
	n->copy = head->copy = true;
	ledger_index_drop(&l->aliases, alias);
	ledger_list_drop(names, ledger_list_at(names, n->c.signature));
	ledger_insert(l, take_ptr(&n));
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
	take_out_of(n, head);
	l->dirty = true;
	return 0;
}
