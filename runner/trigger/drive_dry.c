/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the decisions and their reasons, without acting. */
#include "runner/trigger/drive_internal.h"

#include <stdio.h>

static void drive_dry_tell(struct watched *r)
{
	static const char *const words[] = {"nothing to do", "would wait", "would start",
					    "would end what runs"};
	char why[DUE_WHY + CHECKOUT_WHY + 200], text[sizeof(why) + 32];
	struct watch_holder h;
	struct quiet_answer q;
	struct due due;

	watched_holder(r, &h);
	watch_decide(&r->w, &r->d->now, &h, &due);
	(void)drive_ask_quiet(r->d, r, &q);
	(void)snprintf(why, sizeof(why), "%s%s%s%s%s", due.why, *r->w.blocked ? "; but " : "",
		       r->w.blocked, *q.why ? "; " : "", q.why);
	(void)snprintf(text, sizeof(text), "%s: %s", words[due.what], why);
	if (r->d->o->decided)
		r->d->o->decided(r->d->o->arg, r->i, due.what, r->w.rec.head, why);
	r->d->result.blocked |= *r->w.blocked && due.what == DUE_START;
	watched_say(r, false, text);
	r->told = true;
}

bool drive_dry(struct drive *d)
{
	bool all = true;

	for (size_t i = 0; i < d->n; i++) {
		struct watched *r = &d->repos[i];

		if (!r->w.looked.known && !r->w.looking) {
			r->w.looking = true;
			watched_look(r, CHECKOUT_PEEK);
		} else if (r->w.looked.known && !r->told) {
			drive_dry_tell(r);
		}
		all = all && r->told;
	}
	return all;
}
