/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/internal.h"

/* Other languages' runtimes under libFuzzer: Go, Jazzer (Java, JavaScript), Atheris
 * (Python).  Their frames have names only. */

static const struct {
	struct slice said;
	const char *type;
} go_panics[] = {
#define M(said, type)                          \
	{                                      \
		{said, sizeof(said) - 1}, type \
	}
    M("panic: runtime error: integer divide by zero", "Integer divide by zero"),
    M("panic: runtime error: index out of range", "Index out of range"),
    M("panic: runtime error: invalid memory address", "Invalid memory address"),
    M("panic: runtime error: makeslice: len out of range", "Makeslice: len out of range"),
    M("panic: runtime error: slice bounds out of range", "Slice bounds out of range"),
    M("fatal error: stack overflow", "Stack overflow"),
#undef M
};

/* The line from a panic's words on, without the log's prefix; in quotes they are only a mention. */
static struct slice go_panic(struct slice line)
{
	struct slice in = line;
	size_t quotes = 0, before;

	if (!text_after(&in, SLICE("panic: runtime error: ")))
		return line;
	before = line.n - in.n - strlen("panic: runtime error: ");
	for (size_t i = 0; i < before; i++)
		quotes += line.p[i] == '"';
	if (before == 0 || quotes % 2 > 0 || !text_one_of(line.p[before - 1], " \t"))
		return line;
	text_skip(&line, before);
	return line;
}

bool kind_go(struct crash_parser *p, const struct line *l)
{
	struct slice text;

	if (words_has(l->words, WORDS_GOROUTINE) && verdict_known(p) &&
	    text_begins(l->text, SLICE("goroutine "))) {
		p->v.go = true;
		if (verdict_is(p, "ASSERT"))
			p->v.kind = CRASH_PANIC;
	}
	if (!words_has(l->words, WORDS_GO))
		return false;
	text = go_panic(l->text);
	for (size_t i = 0; i < sizeof(go_panics) / sizeof(go_panics[0]); i++)
		if (text_begins(text, go_panics[i].said)) {
			verdict_new(p, go_panics[i].type, CRASH_PANIC, text);
			p->v.go = true;
		}
	return false;
}

bool kind_exception(struct crash_parser *p, const struct line *l)
{
	const char *type = "Uncaught exception";

	if (words_has(l->words, WORDS_PYTHON) &&
	    slice_eq(text_trim(l->text), SLICE("=== Uncaught Python exception: ==="))) {
		verdict_new(p, type, CRASH_PANIC, l->text);
		p->v.python = true;
	}
	if (!words_has(l->words, WORDS_EXCEPTION) || verdict_known(p) ||
	    !text_begins(text_trim(l->text), SLICE("==")))
		return false;
	if (words_has(l->words, WORDS_ISSUE))
		type = "Security exception";
	verdict_new(p, type, CRASH_PANIC, l->text);
	p->v.exception = true;
	return false;
}

/* "main.parse(0xc000, 0x3, ...)": arguments are numbers only. */
static bool go_frame(struct crash_parser *p, struct slice line)
{
	size_t open = text_last(line, '(');
	struct slice name = {line.p, open};

	if (open == line.n || open == 0 || !text_ends(line, SLICE(")")) ||
	    memchr(name.p, ' ', name.n) || memchr(name.p, '\t', name.n))
		return false;
	for (size_t i = open + 1; i + 1 < line.n; i++)
		if (!text_hex(line.p[i]) && !text_one_of(line.p[i], "x ,.{}?"))
			return false;
	if (!slice_eq(name, SLICE("panic")) && !text_begins(name, SLICE("runtime.")))
		state_name(p, text_basename(name));
	return true;
}

/* "\tat com.a.B.c(B.java:3)", " at f (/x/a.ts:6:15)" */
static bool at_frame(struct crash_parser *p, struct slice line)
{
	struct slice in = text_trim(line), name;

	if (!scan_lit(&in, SLICE("at ")) || !text_ends(in, SLICE(")")))
		return false;
	name = in;
	if (!text_cut(&name, SLICE("(")))
		return false;
	state_name(p, text_trim(name));
	return true;
}

/* '  File "/x/a.py", line 3, in f', the innermost last: the state is reversed. */
static bool python_frame(struct crash_parser *p, struct slice line)
{
	struct slice in = text_trim(line), rest;
	char older[STATE_TEXT_MAX];
	size_t n;

	if (text_has(line, SLICE("=========")) || text_has(line, SLICE("== ERROR: "))) {
		p->v.ended = true;
		return true;
	}
	if (!scan_lit(&in, SLICE("File \"")) || !text_after(&in, SLICE("\", line ")) ||
	    !text_after(&in, SLICE(", in ")))
		return false;
	n = p->state.n;
	memcpy(older, p->state.text, n);
	state_clear(&p->state);
	state_name(p, text_first_word(in));
	rest = (struct slice){older, n};
	for (struct slice name; p->state.frames < CRASH_STATE_MAX && scan_line(&rest, &name);)
		state_name(p, name);
	return true;
}

bool kind_foreign_frame(struct crash_parser *p, struct slice line)
{
	if (!verdict_known(p))
		return false;
	if (p->v.python)
		return python_frame(p, line);
	if (p->v.exception)
		return at_frame(p, line);
	return p->v.go && go_frame(p, line);
}
