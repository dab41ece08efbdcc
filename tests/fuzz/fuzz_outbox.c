/* SPDX-License-Identifier: Apache-2.0 */
/* A file of the outbox with any content: the entry is accepted completely or refused.  An accepted
 * entry survives writing and reading again. */
#include "base/cleanup.h"
#include "runner/publish/outbox/internal.h"
#include "tests/fuzz/must.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct outbox_full *f)
{
	const struct outbox_entry *t = f->entry;

	MUST(t && json_is_object(f->event) && json_is_object(f->progress));
	MUST(outbox_name_ok(t->id) && outbox_name_ok(t->chain));
	MUST(strncmp(t->id, t->place, strlen(t->place)) == 0);
	MUST(t->subject && *t->event);
	for (const char *p = t->why; *p; p++)
		MUST(*p >= ' ' && *p <= '~');
}

/* The first line is its name. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_autofree_ char *text = NULL, *again = NULL;
	struct outbox_full f = {0}, g = {0};
	struct slice in = {(const char *)data, size}, name;
	char id[OUTBOX_NAME], part[OUTBOX_PART];
	struct err e;

	outbox_name(in, part);
	MUST(strlen(part) < OUTBOX_PART && part[0] != '.');
	if (!scan_line(&in, &name) || name.n >= sizeof(id))
		return 0;
	memcpy(id, name.p, name.n);
	id[name.n] = '\0';
	if (outbox_entry_parse(in, id, &f, &e) < 0) {
		MUST(e.code == EBADMSG && !f.entry);
		return 0;
	}
	check(&f);
	MUST(outbox_entry_print(f.entry, f.event, f.progress, &text, &e) == 0);
	if (strlen(text) <= OUTBOX_ENTRY_BYTES_MAX) {
		MUST(outbox_entry_parse(slice_of(text), id, &g, &e) == 0);
		check(&g);
		MUST(outbox_entry_print(g.entry, g.event, g.progress, &again, &e) == 0);
		MUST(strcmp(text, again) == 0);
	}
	outbox_full_done(&f);
	outbox_full_done(&g);
	return 0;
}
