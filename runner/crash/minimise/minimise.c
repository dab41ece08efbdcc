/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/minimise/minimise.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Makes the candidate: the best input so far without the bytes from..to. */
static void minimise_leave_out(struct minimise *s, size_t from, size_t to)
{
	memcpy(s->next, s->best, from);
	memcpy(s->next + from, s->best + to, s->n - to);
	s->n_next = s->n - (to - from);
}

/* --- lengths, counts and offsets ------------------------------------------- */

/* Lengths, counts and offsets.  When a cut shortens the content that a number describes, the number
 * must get smaller with it.  The input's format is unknown, so a cut of one item is tried for every
 * possible number.  After an accepted cut, more of the number's items are cut.  It is also adjusted
 * for cuts in the content that it encloses. */

/* The widest and the most common first: the wider a number, the fewer match by chance. */
static const struct minimise_field forms[] = {
    {.width = 4, .unit = 1, .big = true},
    {.width = 4, .unit = 1},
    {.width = 2, .unit = 1, .big = true},
    {.width = 2, .unit = 1},
    {.width = 4, .unit = 1, .big = true, .absolute = true},
    {.width = 4, .unit = 1, .absolute = true},
    {.width = 2, .unit = 1, .big = true, .absolute = true},
    {.width = 2, .unit = 1, .absolute = true},
    {.width = 4, .unit = 4, .big = true},
    {.width = 4, .unit = 4},
    {.width = 2, .unit = 4, .big = true},
    {.width = 2, .unit = 4},
    {.width = 1, .unit = 1},
    {.width = 1, .unit = 1, .absolute = true},
    {.width = 1, .unit = 4},
};
enum { FORMS = sizeof(forms) / sizeof(forms[0]), WIDE_FORMS = 12 };
/* Above this size too many numbers match by chance. */
enum { LARGE = 64 << 10 };
/* A phase ends after so many refused numbers: they match by chance. */
enum { REFUSED_WIDE_MOST = 256, REFUSED_MOST = 2048 };

static size_t minimise_fields_get(const struct minimise_field *f, const char *p)
{
	size_t v = 0;

	for (size_t i = 0; i < f->width; i++) {
		unsigned char c = (unsigned char)p[f->at + (f->big ? i : f->width - 1 - i)];

		v = v << 8 | c;
	}
	return v;
}

static void minimise_fields_put(const struct minimise_field *f, char *p, size_t v)
{
	for (size_t i = 0; i < f->width; i++) {
		size_t shift = 8 * (f->big ? f->width - 1 - i : i);

		p[f->at + i] = (char)(v >> shift & 0xff);
	}
}

static size_t begin_of(const struct minimise_field *f)
{
	return f->at + f->width;
}

/* How many items the number's content has; 0: it cannot be a length, count or offset. */
static size_t items_of(const struct minimise *s, const struct minimise_field *f)
{
	size_t begin = begin_of(f), v;

	if (begin >= s->n)
		return 0;
	v = minimise_fields_get(f, s->best);
	if (f->absolute)
		return v > begin && v <= s->n ? v - begin : 0;
	return v <= (s->n - begin) / f->unit ? v : 0;
}

static bool minimise_fields_is_same(const struct minimise_field *a, const struct minimise_field *b)
{
	return a->at == b->at && a->width == b->width && a->unit == b->unit && a->big == b->big &&
	       a->absolute == b->absolute;
}

static bool may_chain(const struct minimise_field *f)
{
	return f->width > 1 && f->unit == 1 && !f->absolute;
}

static void next_field(struct minimise *s)
{
	struct minimise_field *f = &s->fields.now;

	s->fields.is_true = false;
	s->fields.tries = 0;
	if (s->fields.chances == 0) {
		s->fields.form = s->fields.forms;
		return;
	}
	if (begin_of(f) < s->n) {
		f->at++;
		return;
	}
	s->fields.form++;
	if (s->fields.form < s->fields.forms)
		*f = forms[s->fields.form];
}

/* In a text the numbers are text as well. */
static bool minimise_fields_is_text(const struct minimise *s)
{
	for (size_t i = 0; i < s->n; i++) {
		unsigned char c = (unsigned char)s->best[i];

		if (c >= 0x7f || (c < ' ' && c != '\t' && c != '\n' && c != '\r'))
			return false;
	}
	return true;
}

/* wide: numbers of two and four bytes, else of one byte. */
static void minimise_fields_begin(struct minimise *s, bool wide)
{
	memset(&s->fields, 0, sizeof(s->fields));
	s->fields.form = wide ? 0 : WIDE_FORMS;
	s->fields.forms = wide ? WIDE_FORMS : FORMS;
	s->fields.chances = wide ? REFUSED_WIDE_MOST : REFUSED_MOST;
	s->fields.now = forms[s->fields.form];
	if (s->n > LARGE || minimise_fields_is_text(s))
		s->fields.form = s->fields.forms;
}

static bool minimise_fields_over(const struct minimise *s)
{
	return s->fields.form == s->fields.forms;
}

/* Chooses the items that the next candidate leaves out: *ret_n items before *ret_end.  False:
 * none. */
static bool minimise_fields_choose(struct minimise *s, size_t items, size_t *ret_end, size_t *ret_n)
{
	if (items == 0)
		return false;
	if (!s->fields.is_true) { /* first the last item, then the first one, then the last one with
				   * a chain */
		*ret_end = s->fields.tries == 1 ? 1 : items;
		*ret_n = 1;
		return s->fields.tries != 1 || items > 1;
	}
	if (s->fields.end > items)
		s->fields.end = items;
	*ret_end = s->fields.end;
	*ret_n = s->fields.chunk < s->fields.end ? s->fields.chunk : s->fields.end;
	return *ret_n > 0;
}

static bool minimise_fields_is_known(const struct minimise *s, const struct minimise_field *f)
{
	for (size_t i = 0; i < s->fields.n_known; i++)
		if (minimise_fields_is_same(&s->fields.known[i], f))
			return true;
	return false;
}

/* A length may be valid only together with the lengths around it.  Finds numbers of the same form
 * that enclose it.  Only wide numbers have chains, since few of them match by chance. */
static void find_chain(struct minimise *s, size_t to)
{
	struct minimise_field f = s->fields.now;

	for (f.at = 0; begin_of(&f) <= s->fields.now.at; f.at++) {
		size_t at = s->fields.n_known + s->fields.n_chain;

		if (at == MINIMISE_KNOWN)
			return;
		if (begin_of(&f) + items_of(s, &f) < to || minimise_fields_is_known(s, &f))
			continue;
		s->fields.known[at] = f;
		s->fields.n_chain++;
		f.at += f.width - 1;
	}
}

/* Reduces the known numbers that enclose the cut. */
static void put_enclosing(struct minimise *s, size_t from, size_t to)
{
	for (size_t i = 0; i < s->fields.n_known + s->fields.n_chain; i++) {
		const struct minimise_field *f = &s->fields.known[i];
		size_t begin = begin_of(f), items = items_of(s, f);

		if (!minimise_fields_is_same(f, &s->fields.now) && begin <= from &&
		    begin + items * f->unit >= to && (to - from) % f->unit == 0)
			minimise_fields_put(
			    f, s->next, minimise_fields_get(f, s->best) - (to - from) / f->unit);
	}
}

/* Makes a candidate.  False: the current number has no further candidate; call
 * minimise_fields_refused() then, as after a refusal. */
static bool minimise_fields_make(struct minimise *s)
{
	const struct minimise_field *f = &s->fields.now;
	size_t end, n;

	if (minimise_fields_over(s) || !minimise_fields_choose(s, items_of(s, f), &end, &n))
		return false;
	s->fields.to = begin_of(f) + end * f->unit;
	s->fields.from = s->fields.to - n * f->unit;
	s->fields.n_chain = 0;
	if (s->fields.tries == 2)
		find_chain(s, s->fields.to);
	if (s->fields.tries == 2 && s->fields.n_chain == 0)
		return false;
	minimise_leave_out(s, s->fields.from, s->fields.to);
	put_enclosing(s, s->fields.from, s->fields.to);
	minimise_fields_put(f, s->next, minimise_fields_get(f, s->best) - n);
	return true;
}

static void minimise_fields_refused(struct minimise *s)
{
	if (!s->fields.is_true) {
		bool is_number = items_of(s, &s->fields.now) > 0;

		s->fields.chances -= is_number && s->fields.chances > 0;
		if (++s->fields.tries > (may_chain(&s->fields.now) ? 2 : 1) || !is_number)
			next_field(s);
		return;
	}
	s->fields.end -= s->fields.chunk < s->fields.end ? s->fields.chunk : s->fields.end;
	if (s->fields.end > 0)
		return;
	s->fields.chunk /= 2;
	s->fields.end = items_of(s, &s->fields.now);
	if (s->fields.chunk == 0 || s->fields.end == 0)
		next_field(s);
}

/* Moves the known numbers behind the cut. */
static void move_known(struct minimise *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->fields.n_known; i++) {
		struct minimise_field f = s->fields.known[i];

		if (f.at >= s->fields.to)
			f.at -= s->fields.to - s->fields.from;
		else if (begin_of(&f) > s->fields.from)
			continue;
		s->fields.known[n++] = f;
	}
	s->fields.n_known = n;
}

static void minimise_fields_accepted(struct minimise *s)
{
	size_t items = items_of(s, &s->fields.now), n;

	s->fields.n_known += s->fields.n_chain;
	s->fields.n_chain = 0;
	s->fields.tries = 0;
	move_known(s);
	if (!s->fields.is_true) {
		s->fields.is_true = true;
		s->fields.chunk = items > 1 ? items / 2 : 1;
		s->fields.end = items;
		if (s->fields.n_known < MINIMISE_KNOWN)
			s->fields.known[s->fields.n_known++] = s->fields.now;
		return;
	}
	n = (s->fields.from - begin_of(&s->fields.now)) / s->fields.now.unit;
	s->fields.end = n;
	if (n == 0)
		minimise_fields_refused(s);
}

/* --- candidates ------------------------------------------------------------ */

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
static void minimise_enter(struct minimise *s, unsigned phase)
{
	if (is_fields(s->phase) && s->fields.any)
		phase = TAIL; /* a number is smaller now, so bytes that it described may go */
	if (is_fields(phase))
		minimise_fields_begin(s, phase == WIDE);
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

void minimise_init(struct minimise *s, struct slice input, unsigned max_tries)
{
	*s = (struct minimise){.max_tries = max_tries, .n = input.n};
	s->best = xmalloc(input.n + 1);
	s->next = xmalloc(input.n + 1);
	if (input.n > 0)
		memcpy(s->best, input.p, input.n);
	minimise_enter(s, NOTHING);
}

void minimise_done(struct minimise *s)
{
	free(s->best);
	free(s->next);
	s->best = s->next = NULL;
	s->n = 0;
	s->phase = END;
}

static size_t start_of(const struct minimise *s)
{
	return s->at > s->chunk ? s->at - s->chunk : 0;
}

/* Makes the candidate with the bytes from..to replaced; false: none of them gets simpler. */
static bool minimise_replace(struct minimise *s, size_t from, size_t to, char by)
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
static bool is_repeated(const struct minimise *s)
{
	return s->refused > 0 && s->at >= s->chunk && s->n - s->at >= s->chunk &&
	       memcmp(s->best + s->at - s->chunk, s->best + s->at, s->chunk) == 0;
}

static bool minimise_make(struct minimise *s)
{
	switch ((enum phase)s->phase) {
	case NOTHING:
	case TAIL:
		minimise_leave_out(s, s->n - s->chunk, s->n);
		return true;
	case HEAD:
		minimise_leave_out(s, 0, s->chunk);
		return true;
	case PARTS:
	case CHUNKS:
	case BYTES:
		if (is_repeated(s))
			return false;
		minimise_leave_out(s, start_of(s), s->at);
		return true;
	case WIDE:
	case NARROW:
		return minimise_fields_make(s);
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
static bool minimise_is_known(struct minimise *s)
{
	s->hash = minimise_hash_of(s->next, s->n_next);
	if (s->skips >= s->max_tries || s->seen[s->hash % MINIMISE_SEEN] != s->hash)
		return false;
	s->skips++;
	return true;
}

static size_t least_chunk(const struct minimise *s)
{
	size_t part = s->phase == PARTS ? s->n / PARTS_MOST : 1;

	return part > 1 ? part : 1;
}

/* Begins the next, finer sweep over the input. */
static void next_sweep(struct minimise *s)
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

static void minimise_refuse(struct minimise *s)
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
		if (!minimise_fields_over(s))
			minimise_fields_refused(s);
		if (minimise_fields_over(s))
			minimise_enter(s, s->phase + 1);
		break;
	case NOTHING:
	case END:
		minimise_enter(s, s->phase + 1);
		break;
	}
}

static void accept(struct minimise *s)
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
		minimise_fields_accepted(s);
		if (minimise_fields_over(s))
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

bool minimise_next(struct minimise *s, struct slice *candidate)
{
	if (s->asked)
		minimise_judge(s, false);
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

void minimise_judge(struct minimise *s, bool accepted)
{
	if (!s->asked)
		return;
	s->asked = false;
	if (accepted) {
		accept(s);
		return;
	}
	s->seen[s->hash % MINIMISE_SEEN] = s->hash;
	minimise_refuse(s);
}

struct slice minimise_best(const struct minimise *s)
{
	return (struct slice){s->best ? s->best : "", s->n};
}

bool minimise_complete(const struct minimise *s)
{
	return s->phase == END;
}
