/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/bisect/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put(char out[BISECT_SENTENCE], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void put(char out[BISECT_SENTENCE], const char *fmt, ...)
{
	size_t n = strlen(out);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out + n, BISECT_SENTENCE - n, fmt, ap);
	va_end(ap);
}

static const char *fails(const struct bisect_words *w)
{
	return w->any ? "fails in some way" : "fails";
}

static void put_neighbours(const struct bisect_words *w, const char *what,
			   char out[BISECT_SENTENCE])
{
	if (w->fix)
		put(out, "%s %s, and %s, the next commit, %s", w->last, fails(w), w->first, what);
	else
		put(out, "%s %s, and its parent %s %s", w->last, fails(w), w->first, what);
}

static void put_some(size_t n, const char *one, const char *many, const char **io_comma,
		     char out[BISECT_SENTENCE])
{
	if (n == 0)
		return;
	put(out, "%s%zu %s", *io_comma, n, n == 1 ? one : many);
	*io_comma = ", ";
}

static void put_range(const struct bisect_answer *a, const struct bisect_words *w,
		      char out[BISECT_SENTENCE])
{
	const char *comma = ": ";

	put(out, "%s %s, and %s does not; of the %zu commits between them", w->last, fails(w),
	    w->first, a->first - a->last - 1);
	put_some(a->skipped, "could not be built or started", "could not be built or started",
		 &comma, out);
	put_some(a->other, "fails in another way", "fail in another way", &comma, out);
	put_some(a->untested, "was not tried", "were not tried", &comma, out);
}

static void put_all(const struct bisect_answer *a, const struct bisect_words *w,
		    char out[BISECT_SENTENCE])
{
	if (w->bounded)
		put(out, "%s, the last of the commits, %s, too", w->last, fails(w));
	else if (a->first == a->last + 1)
		put(out, "%s %s, and is the oldest commit", w->last, fails(w));
	else
		put(out, "%s %s, and no older commit can be tested", w->last, fails(w));
}

static void put_open(const struct bisect_words *w, char out[BISECT_SENTENCE])
{
	put(out, "until now: %s %s", w->last, fails(w));
	if (w->first)
		put(out, ", and %s does not", w->first);
}

static void put_answer(const struct bisect_answer *a, const struct bisect_words *w,
		       char out[BISECT_SENTENCE])
{
	switch (a->kind) {
	case BISECT_COMMIT:
		put_neighbours(w, "does not", out);
		break;
	case BISECT_ADDED:
		put_neighbours(w, "has no such target", out);
		break;
	case BISECT_RANGE:
		put_range(a, w, out);
		break;
	case BISECT_ALL:
		put_all(a, w, out);
		break;
	case BISECT_NONE:
		put(out, "%s does not fail", w->last);
		break;
	case BISECT_UNKNOWN:
		put(out, "%s could not be tested: %s", w->last, w->why ? w->why : "");
		break;
	}
}

void bisect_describe(const struct bisect_answer *a, const struct bisect_words *w,
		     char out[BISECT_SENTENCE])
{
	if (a->open && a->kind != BISECT_NONE && a->kind != BISECT_UNKNOWN) {
		put_open(w, out);
		return;
	}
	put_answer(a, w, out);
	if (a->wrong >= 0.0005)
		put(out, " (chance that a pass misled: %.1f %%)", 100 * a->wrong);
}
