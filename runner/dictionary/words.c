/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/dictionary/words.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/quote.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64 };
/* Counters saturate here. */
#define COUNT_MAX (UINT64_C(1) << 40)
_Static_assert(WORDS_MAX < UINT16_MAX, "a slot holds an index");

static struct slice words_bytes(const struct word *w)
{
	return (struct slice){w->bytes, w->n};
}

void words_done(struct words *w)
{
	free(w->v);
	free(w->slots);
	*w = WORDS_INIT;
}

/* --- the table -------------------------------------------------------------- */

/* The slot of the word, or the empty slot where it belongs. */
static size_t words_slot(const struct words *w, struct slice bytes)
{
	uint32_t h = 2166136261u;
	size_t at;

	assert(w->room > 0);
	for (size_t i = 0; i < bytes.n; i++)
		h = (h ^ (unsigned char)bytes.p[i]) * 16777619u;
	at = h % (2 * w->room);
	while (w->slots[at] && !slice_eq(words_bytes(&w->v[w->slots[at] - 1]), bytes))
		at = (at + 1) % (2 * w->room);
	return at;
}

struct word *words_find(const struct words *w, struct slice bytes)
{
	size_t at;

	if (!w->slots)
		return NULL;
	at = words_slot(w, bytes);
	return w->slots[at] ? &w->v[w->slots[at] - 1] : NULL;
}

/* Makes a larger table if the present one is full. */
static bool words_make_room(struct words *w)
{
	size_t room = w->room ? 2 * w->room : FIRST_ROOM;

	if (w->n < w->room)
		return true;
	if (room > WORDS_MAX)
		return false;
	free(w->slots);
	w->slots = xcalloc(2 * room, sizeof(*w->slots));
	w->v = xreallocarray(w->v, room, sizeof(*w->v));
	w->room = room;
	for (size_t i = 0; i < w->n; i++)
		w->slots[words_slot(w, words_bytes(&w->v[i]))] = (uint16_t)(i + 1);
	return true;
}

struct word *words_add(struct words *w, struct slice bytes)
{
	struct word *known = words_find(w, bytes);

	if (known || bytes.n == 0 || bytes.n > WORD_BYTES || !words_make_room(w))
		return known;
	w->v[w->n] = (struct word){.n = (uint8_t)bytes.n};
	memcpy(w->v[w->n].bytes, bytes.p, bytes.n);
	w->slots[words_slot(w, bytes)] = (uint16_t)(w->n + 1);
	return &w->v[w->n++];
}

/* --- what is known ---------------------------------------------------------- */

void words_add_literal(struct words *w, struct slice bytes, uint32_t more)
{
	uint32_t penalty = word_penalty(bytes);
	struct word *word;

	if (penalty == WORD_NONE)
		return;
	word = words_add(w, bytes);
	if (!word)
		return;
	penalty += more;
	word->penalty = word->is_present && word->penalty < penalty ? word->penalty : penalty;
	word->is_present = true;
	word->is_learned = false;
}

size_t words_add_given(struct words *w, struct slice text)
{
	struct slice line;
	size_t entries = 0;

	while (scan_line(&text, &line)) {
		const char *quote;
		struct word *word;
		char bytes[2 * WORD_BYTES]; /* an engine's limit */
		size_t n;

		scan_blanks(&line);
		quote = line.n > 0 && *line.p != '#' ? memchr(line.p, '"', line.n) : NULL;
		if (!quote)
			continue;
		line = (struct slice){quote, line.n - (size_t)(quote - line.p)};
		if (!quote_read(&line, bytes, sizeof(bytes), &n))
			continue;
		entries++;
		word = words_add(w, (struct slice){bytes, n});
		if (word)
			word->is_given = true;
	}
	return entries;
}

static void words_count(uint64_t *io, uint64_t n)
{
	*io = n < COUNT_MAX - *io ? *io + n : COUNT_MAX;
}

/* Comparisons produce many numbers.  A repeated byte has no use: engines try these anyway. */
static bool words_may_learn(struct slice bytes)
{
	size_t i = 1;

	if (bytes.n < 2)
		return false;
	while (i < bytes.n && bytes.p[i] == *bytes.p)
		i++;
	return i < bytes.n;
}

void words_brought(struct words *w, struct slice bytes, uint64_t n, bool may_learn)
{
	struct word *word = words_find(w, bytes);

	if (!word && may_learn && words_may_learn(bytes)) {
		word = words_add(w, bytes);
		if (word)
			word->is_learned = true;
	}
	if (word)
		words_count(&word->brought, n);
}

void words_offered(struct words *w, uint64_t execs)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].is_active)
			words_count(&w->v[i].tried, execs);
}

/* --- which of them ---------------------------------------------------------- */

enum words_class { CLASS_PROVEN, CLASS_FRESH, CLASS_TRIED, CLASS_OUT };

static enum words_class words_class(const struct word *w)
{
	if (w->is_given)
		return CLASS_OUT;
	if (w->is_learned)
		return w->brought >= WORDS_PROVEN ? CLASS_PROVEN : CLASS_OUT;
	if (w->brought > 0)
		return CLASS_PROVEN;
	if (!w->is_present)
		return CLASS_OUT;
	return w->tried < WORDS_TRIED ? CLASS_FRESH : CLASS_TRIED;
}

static int words_less(bool a_first, bool b_first)
{
	return a_first ? -1 : b_first;
}

static int words_by_rank(const void *x, const void *y)
{
	const struct word *a = *(const struct word *const *)x, *b = *(const struct word *const *)y;
	enum words_class ca = words_class(a), cb = words_class(b);

	if (ca != cb)
		return words_less(ca<cb, ca> cb);
	if (ca == CLASS_PROVEN && a->brought != b->brought)
		return words_less(a->brought > b->brought, a->brought < b->brought);
	if (ca == CLASS_FRESH && (a->tried > 0) != (b->tried > 0))
		return words_less(a->tried > 0, b->tried > 0);
	if (ca == CLASS_TRIED && a->tried != b->tried)
		return words_less(a->tried<b->tried, a->tried> b->tried);
	if (a->penalty != b->penalty)
		return words_less(a->penalty<b->penalty, a->penalty> b->penalty);
	return words_less(a<b, a> b);
}

/* A user chose the entries of a given dictionary, and each of our words reduces their use.  Beside
 * such a dictionary few words are tried at a time, and at most half as many words as it has are
 * active. */
static size_t words_limit(const struct words *w, size_t *io_most)
{
	size_t given = 0, half;

	for (size_t i = 0; i < w->n; i++)
		given += w->v[i].is_given;
	if (given == 0)
		return *io_most;
	half = given / 2 > WORDS_FEW ? given / 2 : WORDS_FEW;
	*io_most = half < *io_most ? half : *io_most;
	return given / WORDS_TRIALS > 2 ? given / WORDS_TRIALS : 2;
}

size_t words_choose(struct words *w, size_t most)
{
	_autofree_ struct word **order = xcalloc(w->n, sizeof(struct word *));
	size_t n = 0, learned = 0, trials = words_limit(w, &most);

	for (size_t i = 0; i < w->n; i++)
		w->v[i].is_active = false;
	for (size_t i = 0; i < w->n; i++)
		order[i] = &w->v[i];
	qsort(order, w->n, sizeof(struct word *), words_by_rank);
	for (size_t i = 0; i < w->n && n < most && words_class(order[i]) != CLASS_OUT; i++) {
		if (order[i]->is_learned && learned++ >= WORDS_LEARNED)
			continue;
		if (order[i]->brought == 0 && trials-- == 0)
			break;
		order[i]->is_active = true;
		n++;
	}
	return n;
}
