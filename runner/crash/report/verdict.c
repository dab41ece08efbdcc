/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/internal.h"

/* The facts about the crash, and when a newer report replaces them: a report of another process
 * always, a report of the same process if its kind does so. */

bool verdict_known(const struct crash_parser *p)
{
	return p->v.type[0] && !p->stale;
}

bool verdict_is(const struct crash_parser *p, const char *type)
{
	return verdict_known(p) && strcmp(p->v.type, type) == 0;
}

void verdict_clear(struct crash_parser *p)
{
	memset(&p->v, 0, sizeof(p->v));
	state_clear(&p->state);
	stack_restart(&p->stack, true);
	stack_restart(&p->other, false);
	p->can_go_back = false;
	p->stale = false;
}

static void freshen(struct crash_parser *p)
{
	if (p->stale)
		verdict_clear(p);
}

void verdict_reset(struct crash_parser *p)
{
	freshen(p);
	p->v.address[0] = '\0';
	p->v.access_size = 0;
	p->v.cause[0] = '\0';
	p->v.headline[0] = '\0';
	p->v.by_engine = false;
	p->v.echo = false;
	p->v.ended = false;
	state_clear(&p->state);
	stack_restart(&p->stack, true);
	stack_restart(&p->other, false);
}

/* Types that a later report does not replace. */
static unsigned verdict_rank(struct slice type)
{
	if (slice_eq(type, SLICE("V8 sandbox violation")))
		return 2;
	return slice_eq(type, SLICE("Timeout")) ? 1 : 0;
}

void verdict_type(struct crash_parser *p, struct slice type, enum crash_kind kind,
		  struct slice line)
{
	freshen(p);
	if (verdict_rank(type) < verdict_rank(slice_of(p->v.type)))
		return;
	text_copy(p->v.type, sizeof(p->v.type), text_trim(type));
	p->v.kind = kind;
	if (!p->v.headline[0])
		text_copy(p->v.headline, sizeof(p->v.headline), text_trim(line));
}

void verdict_new(struct crash_parser *p, const char *type, enum crash_kind kind, struct slice line)
{
	verdict_reset(p);
	verdict_type(p, slice_of(type), kind, line);
}

void verdict_address(struct crash_parser *p, struct slice address)
{
	text_copy(p->v.address, sizeof(p->v.address), text_trim(address));
}

/* Values differ from run to run: digits become '#'. */
void verdict_cause(struct crash_parser *p, struct slice text)
{
	size_t n = 0;

	text = text_trim(text);
	for (size_t i = 0; i < text.n && n + 1 < sizeof(p->v.cause); i++) {
		char c = text.p[i];

		if (text_digit(c) && n > 0 && p->v.cause[n - 1] == '#')
			continue;
		if (text_digit(c))
			c = '#';
		else if (c < ' ' || c > '~')
			c = '?';
		p->v.cause[n++] = c;
	}
	p->v.cause[n] = '\0';
}
