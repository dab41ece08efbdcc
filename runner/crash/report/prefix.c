/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/internal.h"

/* The prefix that a log writes before each line of a report: "[x] ", "fuzz-1  | ", a time.  It is
 * learned from the line that begins a process or a report, and removed from the lines after it.  A
 * line without it stays unchanged.
 *
 * The prefix is kept as a pattern.  Numbers that change from line to line (times, counters) match
 * any number, with the blanks that pad them.  Other numbers, like the 1 of "fuzz-1", must be equal:
 * they identify a process.  `grep -Hn` writes "FILE:LINE:", and "FILE-LINE-" before lines of
 * context.  Blanks alone are a prefix, too: an indented report. */

enum { NUMBER = '\1', SEPARATOR = '\2', COUNTER_DIGITS = 9 };

static bool prefix_blank(char c)
{
	return c == ' ' || c == '\t';
}

static char at(struct slice s, size_t i)
{
	char c = '\0';

	if (i < s.n)
		c = s.p[i];
	return c;
}

/* Whether the run of digits from i to end changes from line to line: in a time, or a count of
 * seconds. */
static bool changes(struct slice s, size_t i, size_t end)
{
	bool goes_on = text_one_of(at(s, end), ":.,T") && text_digit(at(s, end + 1));
	bool went_on = i > 1 && text_one_of(s.p[i - 1], ":.,T") && text_digit(s.p[i - 2]);

	return goes_on || went_on || end - i >= COUNTER_DIGITS;
}

void prefix_forget(struct prefix *p)
{
	p->n = p->n_held = p->next_held = 0;
}

/* Where ":LINE:" of grep begins, at the end of the text; before.n: there is none. */
static size_t grep_begin(struct slice before)
{
	size_t at = before.n;

	if (at == 0 || before.p[at - 1] != ':')
		return before.n;
	for (at--; at > 0 && text_digit(before.p[at - 1]);)
		at--;
	return at + 1 < before.n && at > 0 && before.p[at - 1] == ':' ? at - 1 : before.n;
}

static void prefix_put(struct prefix *p, char c)
{
	if (p->n < sizeof(p->pattern))
		p->pattern[p->n++] = c;
}

/* Adds the character or the number at i; lines: where a line number of grep may be.  Returns the
 * end of the part. */
static size_t prefix_add_part(struct prefix *p, struct slice before, size_t i, size_t lines)
{
	size_t end = i;

	while (text_digit(at(before, end)))
		end++;
	if (end > i && (i == lines || changes(before, i, end))) {
		while (p->n > 0 && prefix_blank(p->pattern[p->n - 1]))
			p->n--;
		prefix_put(p, NUMBER);
		return end;
	}
	end += end == i;
	for (; i < end; i++)
		prefix_put(p, before.p[i]);
	return end;
}

bool prefix_learn(struct prefix *p, struct slice before)
{
	size_t lines = 0, end;

	/* Blanks do not replace a known prefix. */
	if (before.n == 0 || before.n > sizeof(p->pattern) ||
	    (p->n > 0 && text_trim(before).n == 0))
		return false;
	p->n = 0;
	end = grep_begin(before);
	while (prefix_blank(at((struct slice){before.p, end}, lines)))
		lines++;
	for (size_t i = 0; i < end;)
		i = prefix_add_part(p, (struct slice){before.p, end}, i, lines);
	if (end < before.n) {
		prefix_put(p, SEPARATOR);
		prefix_put(p, NUMBER);
		prefix_put(p, SEPARATOR);
	}
	p->printed = p->n;
	while (p->printed > 0 && prefix_blank(p->pattern[p->printed - 1]))
		p->printed--;
	return true;
}

static bool prefix_take_number(struct slice *io)
{
	while (prefix_blank(at(*io, 0)))
		text_skip(io, 1);
	if (!text_digit(at(*io, 0)))
		return false;
	while (text_digit(at(*io, 0)))
		text_skip(io, 1);
	return true;
}

bool prefix_strip(const struct prefix *p, struct slice *io)
{
	struct slice in = *io;

	for (size_t i = 0; i < p->n; i++) {
		if (p->pattern[i] == NUMBER) {
			if (!prefix_take_number(&in))
				return false;
		} else if (p->pattern[i] == SEPARATOR) {
			if (at(in, 0) != ':' && at(in, 0) != '-')
				return false;
			text_skip(&in, 1);
		} else if (in.n > 0 && in.p[0] == p->pattern[i]) {
			text_skip(&in, 1);
		} else if (in.n > 0 || i < p->printed) {
			return false; /* trailing blanks of an empty line may be missing */
		}
	}
	*io = in;
	return p->n > 0;
}

/* --- lines before the prefix was known --------------------------------------------------- */

void prefix_hold(struct prefix *p, const struct line *l)
{
	const uint64_t words = UINT64_C(1) << WORDS_ASSERT | UINT64_C(1) << WORDS_LIBC |
			       UINT64_C(1) << WORDS_CHECK | UINT64_C(1) << WORDS_FATAL;
	struct prefix_held *h;

	if (p->n > 0 || !(l->words & words) || l->text.n > sizeof(h->text))
		return;
	h = &p->held[p->n_held++ % PREFIX_HELD_MAX];
	memcpy(h->text, l->text.p, l->text.n);
	h->n = l->text.n;
}

bool prefix_release(struct prefix *p, struct slice *ret)
{
	if (p->n_held > PREFIX_HELD_MAX && p->next_held < p->n_held - PREFIX_HELD_MAX)
		p->next_held = p->n_held - PREFIX_HELD_MAX;
	while (p->next_held < p->n_held) {
		const struct prefix_held *h = &p->held[p->next_held++ % PREFIX_HELD_MAX];

		*ret = (struct slice){h->text, h->n};
		if (prefix_strip(p, ret))
			return true;
	}
	p->n_held = p->next_held = 0;
	return false;
}
