/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "runner/crash/minimise/internal.h"

#include <stdlib.h>

enum phase {
	NOTHING,
	TAIL,
	HEAD,
	BLANKS, /* large parts only: the later cuts of equal bytes are cheap */
	PARTS,
	WIDE, /* before the phases that take many candidates */
	CHUNKS,
	BYTES, /* a round begins */
	NARROW,
	SPACES,
	ZEROS, /* a round ends: another one when something changed */
	END,
};

/* The number of parts before the WIDE phase; smaller parts come after it. */
enum { PARTS_MOST = 32 };

static bool is_fields(unsigned phase)
{
	return phase == WIDE || phase == NARROW;
}

/* Begins a phase: sets the size of its first change, and starts at the end of the input. */
static void minimise_enter(struct shrink *s, unsigned phase)
{
	if (is_fields(s->phase) && s->fields.any)
		phase = TAIL; /* the number that kept these bytes necessary is smaller now */
	if (is_fields(phase))
		shrink_fields_begin(s, phase == WIDE);
	if (phase == END && s->changed) {
		phase = BYTES;
		s->again = true;
	}
	if (phase == BYTES)
		s->changed = false;
	s->phase = s->n > 0 ? phase : END;
	s->refused = 0;
	s->at = s->n;
	s->chunk = 1;
	if (phase == NOTHING || phase == BLANKS || (phase == SPACES && !s->again))
		s->chunk = s->n;
	else if (phase == TAIL || phase == HEAD || phase == PARTS)
		s->chunk = s->n / 2;
	else if (phase == CHUNKS)
		s->chunk = s->n / PARTS_MOST;
	if (s->chunk == 0) /* an input of one byte has no half */
		minimise_enter(s, phase + 1);
}

void shrink_init(struct shrink *s, struct slice input, unsigned max_tries)
{
	*s = (struct shrink){.max_tries = max_tries, .n = input.n};
	s->best = xmalloc(input.n + 1);
	s->next = xmalloc(input.n + 1);
	if (input.n > 0)
		memcpy(s->best, input.p, input.n);
	minimise_enter(s, NOTHING);
}

void shrink_done(struct shrink *s)
{
	free(s->best);
	free(s->next);
	s->best = s->next = NULL;
	s->n = 0;
	s->phase = END;
}

static size_t start_of(const struct shrink *s)
{
	return s->at > s->chunk ? s->at - s->chunk : 0;
}

void shrink_leave_out(struct shrink *s, size_t from, size_t to)
{
	memcpy(s->next, s->best, from);
	memcpy(s->next + from, s->best + to, s->n - to);
	s->n_next = s->n - (to - from);
}

/* Makes the candidate with the bytes from..to replaced; false: none of them gets simpler. */
static bool minimise_replace(struct shrink *s, size_t from, size_t to, char by)
{
	bool simpler = false;

	memcpy(s->next + from, s->best + from, to - from);
	for (size_t i = from; i < to; i++) {
		if (s->best[i] == ' ' || s->best[i] == by)
			continue;
		s->next[i] = by;
		simpler = true;
	}
	if (!simpler)
		return false;
	memcpy(s->next, s->best, from);
	memcpy(s->next + to, s->best + to, s->n - to);
	s->n_next = s->n;
	return true;
}

/* Leaving out either of two equal neighbours gives the same candidate.  The later neighbour was
 * just refused. */
static bool is_repeated(const struct shrink *s)
{
	return s->refused > 0 && s->at >= s->chunk && s->n - s->at >= s->chunk &&
	       memcmp(s->best + s->at - s->chunk, s->best + s->at, s->chunk) == 0;
}

static bool minimise_make(struct shrink *s)
{
	switch ((enum phase)s->phase) {
	case NOTHING:
	case TAIL:
		shrink_leave_out(s, s->n - s->chunk, s->n);
		return true;
	case HEAD:
		shrink_leave_out(s, 0, s->chunk);
		return true;
	case PARTS:
	case CHUNKS:
	case BYTES:
		if (is_repeated(s))
			return false;
		shrink_leave_out(s, start_of(s), s->at);
		return true;
	case WIDE:
	case NARROW:
		return shrink_fields_make(s);
	case BLANKS:
	case SPACES:
		return minimise_replace(s, start_of(s), s->at, ' ');
	case ZEROS:
		return minimise_replace(s, start_of(s), s->at, '0');
	case END:
		break;
	}
	return false;
}

static uint64_t mixed(uint64_t h)
{
	h *= UINT64_C(0x9e3779b97f4a7c15);
	return h ^ (h >> 29);
}

static uint64_t minimise_hash_of(const char *p, size_t n)
{
	uint64_t h = mixed(n + 1), word;

	for (; n >= sizeof(word); p += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = mixed(h ^ word);
	}
	word = 0;
	if (n > 0)
		memcpy(&word, p, n);
	return mixed(mixed(h ^ word) + 1);
}

/* Skips known candidates, at most max_tries of them: making a candidate costs time as well. */
static bool minimise_is_known(struct shrink *s)
{
	s->hash = minimise_hash_of(s->next, s->n_next);
	if (s->skips >= s->max_tries || s->seen[s->hash % SHRINK_SEEN] != s->hash)
		return false;
	s->skips++;
	return true;
}

static size_t least_chunk(const struct shrink *s)
{
	size_t part = s->phase == PARTS ? s->n / PARTS_MOST : 1;

	return part > 1 ? part : 1;
}

/* Begins the next, finer sweep over the input. */
static void next_sweep(struct shrink *s)
{
	s->at = s->n;
	if (s->phase == BYTES) /* repeats until every byte was refused */
		return;
	if ((s->phase == PARTS || s->phase == CHUNKS) && s->chunk / 2 > least_chunk(s))
		s->chunk /= 2;
	else if (s->phase == SPACES && s->chunk > 1)
		s->chunk = s->chunk > 4 ? s->chunk / 4 : 1;
	else if (s->phase == BLANKS && s->chunk == s->n && s->n >= 4)
		s->chunk /= 4;
	else
		minimise_enter(s, s->phase + 1);
}

static void minimise_refuse(struct shrink *s)
{
	s->refused++;
	switch ((enum phase)s->phase) {
	case TAIL:
	case HEAD:
		s->chunk /= 2;
		if (s->chunk == 0)
			minimise_enter(s, s->phase + 1);
		break;
	case BLANKS:
	case PARTS:
	case CHUNKS:
	case BYTES:
	case SPACES:
	case ZEROS:
		s->at = start_of(s);
		if (s->phase == BYTES && s->refused >= s->n)
			minimise_enter(s, NARROW);
		else if (s->at == 0)
			next_sweep(s);
		break;
	case WIDE:
	case NARROW:
		if (!shrink_fields_over(s))
			shrink_fields_refused(s);
		if (shrink_fields_over(s))
			minimise_enter(s, s->phase + 1);
		break;
	case NOTHING:
	case END:
		minimise_enter(s, s->phase + 1);
		break;
	}
}

static void accept(struct shrink *s)
{
	char *old = s->best;
	size_t from = start_of(s);

	s->best = s->next;
	s->next = old;
	s->n = s->n_next;
	s->accepted++;
	s->changed = true;
	if (s->n == 0) {
		minimise_enter(s, END);
	} else if (is_fields(s->phase)) {
		s->fields.any = true;
		shrink_fields_accepted(s);
		if (shrink_fields_over(s))
			minimise_enter(s, s->phase + 1);
	} else if (s->phase == TAIL || s->phase == HEAD) {
		/* After a refusal this is a binary search for the longest cut. */
		s->chunk = s->refused > 0 ? s->chunk / 2 : s->n / 2;
		if (s->chunk == 0)
			minimise_enter(s, s->phase + 1);
	} else {
		s->refused = 0;
		s->at = from;
		if (from == 0)
			next_sweep(s);
	}
}

bool shrink_next(struct shrink *s, struct slice *candidate)
{
	if (s->asked)
		shrink_tell(s, false);
	while (s->phase != END && s->tries < s->max_tries) {
		if (minimise_make(s) && !minimise_is_known(s)) {
			s->tries++;
			s->asked = true;
			*candidate = (struct slice){s->next, s->n_next};
			return true;
		}
		minimise_refuse(s);
	}
	return false;
}

void shrink_tell(struct shrink *s, bool accepted)
{
	if (!s->asked)
		return;
	s->asked = false;
	if (accepted) {
		accept(s);
		return;
	}
	s->seen[s->hash % SHRINK_SEEN] = s->hash;
	minimise_refuse(s);
}

struct slice shrink_best(const struct shrink *s)
{
	return (struct slice){s->best ? s->best : "", s->n};
}

bool shrink_complete(const struct shrink *s)
{
	return s->phase == END;
}
