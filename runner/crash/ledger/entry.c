/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of a crash, one for each target that found it, and their summary. */
#include "base/memory.h"
#include "runner/crash/ledger/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

struct found *ledger_entry_at(const struct record *n, size_t i)
{
	return (struct found *)n->c.by[i]; /* the entry's first member */
}

static size_t ledger_entry_place(const struct known_crash *c, const char *target)
{
	size_t i = 0;

	while (i < c->n_by && strcmp(c->by[i]->fuzzer, target) != 0)
		i++;
	return i;
}

const struct known_crash *ledger_entry(const struct known_crash *c, const char *target)
{
	size_t i = c ? ledger_entry_place(c, target) : 0;

	return c && i < c->n_by ? c->by[i] : NULL;
}

const struct known_crash *ledger_find_entry(const struct ledger *l, const char *signature,
					    const char *target)
{
	return ledger_entry(ledger_find(l, signature), target);
}

struct found *ledger_entry_of(const struct record *n, const char *target)
{
	size_t i = ledger_entry_place(&n->c, target);

	return i < n->c.n_by ? ledger_entry_at(n, i) : NULL;
}

static int ledger_entry_reserve(struct known_crash *c, struct err *e)
{
	struct known_crash **v = c->by;

	if (c->n_by >= LEDGER_TARGETS)
		return err_set(e, ENOSPC, "more than %d targets found crash '%.100s'",
			       LEDGER_TARGETS, c->signature);
	if ((c->n_by & (c->n_by - 1)) == 0) /* the array doubles at each power of two */
		v = xreallocarray(c->by, c->n_by ? c->n_by * 2 : 1, sizeof(struct known_crash *));
	if (!v)
		return err_sys(e, "grow the entries of a crash");
	c->by = v;
	return 0;
}

int ledger_entry_add(struct record *n, const char *target, struct found **ret, struct err *e)
{
	struct found *t;
	int r = ledger_entry_reserve(&n->c, e);

	if (r < 0)
		return r;
	t = xcalloc(1, sizeof(*t));
	ledger_fields_init(&t->c);
	r = ledger_set(&t->c.fuzzer, target, LEDGER_TEXT_MAX, false, e);
	if (r < 0) {
		ledger_entry_free(t);
		return r;
	}
	t->c.signature = n->c.signature;
	n->c.by[n->c.n_by++] = &t->c;
	*ret = t;
	return 0;
}

void ledger_entry_drop(struct ledger *l, struct record *n, size_t i)
{
	const struct ledger_list *keys = &n->c.by[i]->raw_keys;

	for (size_t k = 0; k < keys->n; k++)
		ledger_index_drop(&l->raw_keys, keys->v[k]);
	ledger_entry_free(ledger_entry_at(n, i));
	n->c.n_by--;
	memmove(n->c.by + i, n->c.by + i + 1, (n->c.n_by - i) * sizeof(struct known_crash *));
}

/* --- the summary ------------------------------------------------------------ */

unsigned ledger_rank(const char *severity)
{
	static const char *const order[] = {"low", "medium", "high", "critical"};

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (strcasecmp(severity, order[i]) == 0)
			return i + 1;
	return 0;
}

static size_t leading(const struct known_crash *c)
{
	size_t open = c->n_by, kept = c->n_by;

	for (size_t i = 0; i < c->n_by; i++) {
		bool has_input = *c->by[i]->crash_file;

		if (ledger_state_open(c->by[i]->state)) {
			if (has_input)
				return i;
			open = open < c->n_by ? open : i;
		}
		kept = has_input && kept == c->n_by ? i : kept;
	}
	return kept < c->n_by ? kept : open < c->n_by ? open : 0;
}

static int list_targets(struct known_crash *c, struct err *e)
{
	int r = 0;

	ledger_list_done(&c->targets);
	for (size_t i = 0; r == 0 && i < c->n_by; i++)
		if (i != c->lead)
			r = ledger_list_add(&c->targets, c->by[i]->fuzzer, false, e);
	return r;
}

/* Run ids begin with the time, so this is the order of time. */
static int by_run(const void *a, const void *b)
{
	return strcmp(((const struct ledger_run *)a)->run, ((const struct ledger_run *)b)->run);
}

/* Lists the runs of all entries, each once; the entries own the texts.  A single entry's list is
 * used as it is. */
static int list_runs(struct record *n, struct err *e)
{
	struct known_crash *c = &n->c;
	struct ledger_run *v;
	size_t all = 0, k = 0;

	free(n->runs);
	n->runs = NULL;
	for (size_t i = 0; i < c->n_by; i++)
		all += c->by[i]->n_runs;
	if (c->n_by == 1 || all == 0)
		return 0;
	v = n->runs = xcalloc(all, sizeof(*v));
	if (!v)
		return err_sys(e, "sum up a crash");
	for (size_t i = 0; i < c->n_by; i++)
		for (size_t m = 0; m < c->by[i]->n_runs; m++)
			v[k++] = c->by[i]->runs[m];
	qsort(v, all, sizeof(*v), by_run);
	k = 0;
	for (size_t i = 1; i < all; i++)
		if (strcmp(v[k].run, v[i].run) == 0)
			ledger_add(&v[k].count, v[i].count);
		else
			v[++k] = v[i];
	c->n_runs = k + 1 < LEDGER_RUNS ? k + 1 : LEDGER_RUNS;
	c->runs = v + (k + 1 - c->n_runs);
	return 0;
}

/* Borrows the entry's fields; the crash's own fields stay. */
static void ledger_entry_borrow(struct known_crash *c, const struct known_crash *from)
{
	struct known_crash own = *c;

	*c = *from;
	c->signature = own.signature;
	c->targets = own.targets;
	c->by = own.by;
	c->n_by = own.n_by;
	c->lead = own.lead;
	c->issue_url = own.issue_url;
	c->note = own.note;
	c->merged_into = own.merged_into;
	c->aliases = own.aliases;
}

static void sum_up(struct known_crash *c)
{
	c->first_seen = c->by[0]->first_seen;
	c->count = 0;
	for (size_t i = 0; i < c->n_by; i++) {
		const struct known_crash *t = c->by[i];

		c->state = ledger_worst(c->state, t->state);
		ledger_add(&c->count, t->count);
		if (t->last_seen.time > c->last_seen.time)
			c->last_seen = t->last_seen;
		if (t->fixed.time > c->fixed.time)
			c->fixed = t->fixed;
	}
}

/* Sums up the open entries; when none is open, all of them. */
static void sum_up_danger(struct known_crash *c)
{
	bool any_open = ledger_state_open(c->state);

	for (size_t i = 0; i < c->n_by; i++) {
		const struct known_crash *t = c->by[i];

		if (any_open && !ledger_state_open(t->state))
			continue;
		c->security |= t->security;
		if (ledger_rank(t->severity) > ledger_rank(c->severity))
			c->severity = t->severity;
	}
}

int ledger_summarize(struct record *n, struct err *e)
{
	struct known_crash *c = &n->c;
	int r;

	c->lead = leading(c);
	ledger_entry_borrow(c, c->by[c->lead]);
	sum_up(c);
	sum_up_danger(c);
	r = list_targets(c, e);
	return r == 0 ? list_runs(n, e) : r;
}
