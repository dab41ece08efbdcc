/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/ledger/ledger.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/crash/ledger/internal.h"

#include <errno.h>
#include <stdio.h>

DEFINE_CLEANUP(struct ledger *, ledger_free)

int ledger_new(struct ledger **ret, struct err *e)
{
	CLEANUP(ledger_free_p) struct ledger *l = xcalloc(1, sizeof(*l));

	if (!l)
		return err_sys(e, "allocate the ledger");
	l->foreign = json_object();
	if (!l->foreign)
		return err_set(e, ENOMEM, "allocate the ledger");
	*ret = take_ptr(&l);
	return 0;
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
static struct record *head_of(const struct ledger *l, struct record *n)
{
	return n && *n->c.merged_into ? ledger_exact(l, n->c.merged_into) : n;
}

struct record *ledger_head(const struct ledger *l, const char *signature)
{
	struct record *n = ledger_exact(l, signature);

	return head_of(l, n ? n : ledger_index_get(&l->aliases, signature));
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
	n = head_of(l, ledger_index_get(&l->raw_keys, key));
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
	if (!ledger_is_clean(s, LEDGER_SIGNATURE_MAX, true))
		return err_set(e, EINVAL, "a signature that is no text");
	return 0;
}

/* No key may be in the file twice: a foreign value with the key of a crash gets a "~" appended. */
static int give_way(struct ledger *l, const char *signature, struct err *e)
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
	if (json_object_set(l->foreign, key, j) < 0)
		return err_set(e, ENOMEM, "keep the value of '%.100s'", signature);
	json_object_del(l->foreign, signature);
	return 0;
}

int ledger_reserve(struct ledger *l, const char *signature, struct err *e)
{
	size_t cap = l->cap ? l->cap * 2 : 64;
	struct record **v;

	if (l->n >= LEDGER_CRASHES_MAX)
		return err_set(e, ENOSPC, "more than %d crashes", LEDGER_CRASHES_MAX);
	if (l->n == l->cap) {
		v = xreallocarray(l->v, cap, sizeof(struct record *));
		if (!v)
			return err_sys(e, "grow the ledger");
		l->v = v;
		l->cap = cap;
	}
	return give_way(l, signature, e);
}

void ledger_insert(struct ledger *l, struct record *n)
{
	size_t at = ledger_place(l, n->c.signature);

	memmove(l->v + at + 1, l->v + at, (l->n - at) * sizeof(struct record *));
	l->v[at] = n;
	l->n++;
}
