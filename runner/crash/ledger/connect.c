/* SPDX-License-Identifier: Apache-2.0 */
/* Connects the records after reading: merged records, aliases and raw keys.  The file is not
 * trusted: it may hold cycles, chains, and names of no crash or of two. */
#include "runner/crash/ledger/internal.h"

enum { CHAIN_MAX = 16 };

/* The record at the end of the chain of merges; NULL: there is none. */
static struct record *end_of_chain(const struct ledger *l, struct record *n)
{
	for (unsigned i = 0; n && i < CHAIN_MAX; i++) {
		if (!*n->c.merged_into)
			return n;
		n = ledger_exact(l, n->c.merged_into);
	}
	return NULL;
}

static int straighten(struct ledger *l, struct err *e)
{
	for (size_t i = 0; i < l->n; i++) {
		struct record *n = l->v[i], *head = end_of_chain(l, n);
		int r = 0;

		if (!head) {
			ledger_mend(l, n->c.signature, "merged_into", "leads to no crash");
			ledger_unset(&n->c.merged_into);
		} else if (head != n) {
			r = ledger_set(&n->c.merged_into, head->c.signature, LEDGER_SIGNATURE_MAX,
				       true, e);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* Keeps only those aliases of the file that have no record: the others follow from the records. */
static int ledger_connect_take_names(struct ledger *l, struct record *n, struct err *e)
{
	struct ledger_list all = n->c.aliases;
	int r = 0;

	n->c.aliases = (struct ledger_list){0};
	while (all.n > 0 && r == 0) {
		char *name = ledger_list_steal(&all, 0);

		if (ledger_exact(l, name) || ledger_index_get(&l->aliases, name) ||
		    ledger_check_signature(name, e) < 0) {
			ledger_unset(&name);
			continue;
		}
		r = ledger_list_take(&n->c.aliases, name, e);
		if (r == 0)
			r = ledger_index_put(&l->aliases, name, n, NULL, e);
	}
	ledger_list_done(&all);
	return r;
}

static int take_raw_keys(struct ledger *l, struct record *n, struct found *t, struct err *e)
{
	struct ledger_list *keys = &t->c.raw_keys;

	for (size_t i = 0; i < keys->n;) {
		struct record *old;
		int r = ledger_index_put(&l->raw_keys, keys->v[i], n, &old, e);

		if (r < 0)
			return r;
		if (old)
			ledger_list_drop(keys, i); /* the first record keeps the key */
		else
			i++;
	}
	return 0;
}

static int take_all_raw_keys(struct ledger *l, struct record *n, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n->c.n_by; i++)
		r = take_raw_keys(l, n, ledger_entry_at(n, i), e);
	return r < 0 ? r : ledger_summarize(n, e);
}

static int take_merged(struct ledger *l, struct record *n, struct err *e)
{
	struct record *head = ledger_exact(l, n->c.merged_into);

	if (head->c.aliases.n < LEDGER_ALIASES) {
		int r = ledger_list_add(&head->c.aliases, n->c.signature, true, e);

		return r < 0 ? r : ledger_join(head, n, true, e);
	}
	ledger_mend(l, n->c.signature, "merged_into", "names a crash with too many aliases");
	ledger_unset(&n->c.merged_into);
	return 0;
}

int ledger_connect(struct ledger *l, struct err *e)
{
	int r = straighten(l, e);

	for (size_t i = 0; i < l->n && r == 0; i++) {
		r = ledger_connect_take_names(l, l->v[i], e);
		if (r == 0)
			r = take_all_raw_keys(l, l->v[i], e);
	}
	for (size_t i = 0; i < l->n && r == 0; i++)
		if (*l->v[i]->c.merged_into)
			r = take_merged(l, l->v[i], e);
	for (size_t i = 0; i < l->n; i++)
		ledger_list_sort(&l->v[i]->c.aliases);
	return r;
}
