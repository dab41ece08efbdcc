/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/status/repeats.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct repeat {
	char *note;	/* of the last failure, owned; NULL: none */
	uint64_t more;	/* failures counted since the last one was shown */
	bool is_silent; /* the last failure was not shown, so its restart is not shown either */
};

void repeats_done(struct repeats *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].note);
	free(r->v);
	*r = (struct repeats){NULL, 0};
}

static struct repeat *of_row(struct repeats *r, size_t n_rows, size_t row)
{
	if (!r->v && n_rows > 0) {
		r->v = xcalloc(n_rows, sizeof(*r->v));
		r->n = n_rows;
	}
	return row < r->n ? &r->v[row] : NULL;
}

static bool repeats_failed(struct repeat *one, const char *note)
{
	one->is_silent = one->note && strcmp(one->note, note) == 0;
	if (one->is_silent) {
		one->more++;
		return false;
	}
	free(one->note);
	one->note = xstrdup(note);
	return true;
}

bool repeats_take(struct repeats *r, size_t n_rows, size_t row, const char *what, const char *note,
		  char unsaid[REPEATS_TEXT])
{
	struct repeat *one = of_row(r, n_rows, row);

	*unsaid = '\0';
	if (!one)
		return true;
	if (strcmp(what, "restarted") == 0)
		return !one->is_silent;
	if (strcmp(what, "failed") == 0 && one->note && strcmp(one->note, note) == 0)
		return repeats_failed(one, note);
	repeats_unsaid(r, row, unsaid);
	if (strcmp(what, "failed") == 0)
		return repeats_failed(one, note);
	free(one->note);
	*one = (struct repeat){.note = NULL};
	return true;
}

void repeats_unsaid(struct repeats *r, size_t row, char unsaid[REPEATS_TEXT])
{
	struct repeat *one = row < r->n ? &r->v[row] : NULL;

	*unsaid = '\0';
	if (!one || one->more == 0)
		return;
	(void)snprintf(unsaid, REPEATS_TEXT, "failed %llu more time%s%s%.200s",
		       (unsigned long long)one->more, one->more == 1 ? "" : "s",
		       one->note && *one->note ? ": " : "", one->note ? one->note : "");
	one->more = 0;
}
