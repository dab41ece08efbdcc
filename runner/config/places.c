/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/config/places.h"

#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>

struct scan {
	struct slice in;
	uint32_t line;
	uint32_t key_line; /* line of the last key */
	bool want_key;
	size_t depth;
	struct {
		uint32_t id;
		bool object;
	} open[PLACES_MAX_DEPTH];
	struct places out;
};

static int places_add(struct scan *s, struct err *e)
{
	bool member = s->depth > 0 && s->open[s->depth - 1].object;
	struct places *p = &s->out;

	if (p->n == PLACES_MAX)
		return err_set(e, E2BIG, "line %u: more than %d values", s->line, PLACES_MAX);
	if (p->n == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 64;
		p->v = xreallocarray(p->v, p->cap, sizeof(*p->v));
	}
	p->v[p->n] = (struct place){member ? s->key_line : s->line, (uint32_t)p->n + 1};
	p->n++;
	return 0;
}

static void places_skip(struct scan *s, size_t n)
{
	s->in.p += n;
	s->in.n -= n;
}

/* Skips from the opening quote to behind the closing quote. */
static void skip_string(struct scan *s)
{
	places_skip(s, 1);
	while (s->in.n > 0 && *s->in.p != '"')
		places_skip(s, *s->in.p == '\\' && s->in.n > 1 ? 2 : 1);
	if (s->in.n > 0)
		places_skip(s, 1);
}

/* A number, true, false or null. */
static void skip_word(struct scan *s)
{
	while (s->in.n > 0 && !memchr(",:[]{}\" \t\r\n", *s->in.p, 12))
		places_skip(s, 1);
}

static int open_container(struct scan *s, bool object, struct err *e)
{
	int r;

	if (s->depth == PLACES_MAX_DEPTH)
		return err_set(e, E2BIG, "line %u: nested deeper than %d levels", s->line,
			       PLACES_MAX_DEPTH);
	r = places_add(s, e);
	if (r < 0)
		return r;
	s->open[s->depth].id = (uint32_t)s->out.n - 1;
	s->open[s->depth].object = object;
	s->depth++;
	s->want_key = object;
	places_skip(s, 1);
	return 0;
}

static int close_container(struct scan *s, struct err *e)
{
	if (s->depth == 0 || !s->out.v)
		return err_set(e, EBADMSG, "line %u: a closing bracket without an opening bracket",
			       s->line);
	s->depth--;
	s->out.v[s->open[s->depth].id].end = (uint32_t)s->out.n;
	places_skip(s, 1);
	return 0;
}

static int places_quoted(struct scan *s, struct err *e)
{
	int r = 0;

	if (s->want_key)
		s->key_line = s->line;
	else
		r = places_add(s, e);
	s->want_key = false;
	skip_string(s);
	return r;
}

static int places_word(struct scan *s, struct err *e)
{
	int r = places_add(s, e);

	skip_word(s);
	return r;
}

static int places_step(struct scan *s, struct err *e)
{
	switch (*s->in.p) {
	case '\n':
		s->line++;
		places_skip(s, 1);
		return 0;
	case ' ':
	case '\t':
	case '\r':
	case ':':
		places_skip(s, 1);
		return 0;
	case ',':
		s->want_key = s->depth > 0 && s->open[s->depth - 1].object;
		places_skip(s, 1);
		return 0;
	case '{':
	case '[':
		return open_container(s, *s->in.p == '{', e);
	case '}':
	case ']':
		return close_container(s, e);
	case '"':
		return places_quoted(s, e);
	default:
		return places_word(s, e);
	}
}

int places_scan(struct slice text, struct places *ret, struct err *e)
{
	struct scan s = {.in = text, .line = 1};
	int r = 0;

	while (r == 0 && s.in.n > 0)
		r = places_step(&s, e);
	if (r == 0)
		*ret = s.out;
	else
		places_done(&s.out);
	return r;
}

void places_done(struct places *p)
{
	free(p->v);
	*p = (struct places){0};
}

uint32_t places_line(const struct places *p, uint32_t id)
{
	return id < p->n ? p->v[id].line : 0;
}

uint32_t places_child(uint32_t id)
{
	return id + 1;
}

uint32_t places_next(const struct places *p, uint32_t id)
{
	return id < p->n ? p->v[id].end : id;
}
