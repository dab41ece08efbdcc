/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "runner/crash/ledger/internal.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

struct item {
	const char *name;
	struct record *owner;
};

static int ledger_index_compare(const void *a, const void *b)
{
	return strcmp(((const struct item *)a)->name, ((const struct item *)b)->name);
}

struct record *ledger_index_get(const struct index *x, const char *name)
{
	struct item key = {.name = name};
	struct item *const *at = tfind(&key, &x->root, ledger_index_compare);

	return at ? (*at)->owner : NULL;
}

int ledger_index_put(struct index *x, const char *name, struct record *n, struct record **ret_old,
		     struct err *e)
{
	struct item *item = xmalloc(sizeof(*item));
	struct item **at;

	if (!item)
		return err_sys(e, "index a crash");
	*item = (struct item){name, n};
	at = tsearch(item, &x->root, ledger_index_compare);
	if (ret_old)
		*ret_old = at && *at != item ? (*at)->owner : NULL;
	if (!at || *at != item)
		free(item);
	return at ? 0 : err_set(e, ENOMEM, "index a crash");
}

void ledger_index_drop(struct index *x, const char *name)
{
	struct item key = {.name = name};
	struct item **at = tfind(&key, &x->root, ledger_index_compare);
	struct item *item = at ? *at : NULL;

	if (item)
		tdelete(&key, &x->root, ledger_index_compare);
	free(item);
}

void ledger_index_done(struct index *x)
{
	tdestroy(x->root, free);
	x->root = NULL;
}
