/* SPDX-License-Identifier: Apache-2.0 */
/* Panics, fatal errors and failed tests of Go: what its runtime and its testing package print. */
#include "runner/crash/report/internal.h"

#include <stdio.h>

static const struct {
	struct slice message;
	const char *type;
	enum crash_kind kind;
} go_panics[] = {
#define M(message, type, kind)                             \
	{                                                  \
		{message, sizeof(message) - 1}, type, kind \
	}
    M("panic: runtime error: integer divide by zero", "Integer divide by zero", CRASH_PANIC),
    M("panic: runtime error: index out of range", "Index out of range", CRASH_PANIC),
    M("panic: runtime error: invalid memory address", "Invalid memory address", CRASH_PANIC),
    M("panic: runtime error: makeslice: len out of range", "Makeslice: len out of range",
      CRASH_PANIC),
    M("panic: runtime error: slice bounds out of range", "Slice bounds out of range", CRASH_PANIC),
    M("panic: test timed out after", "Timeout", CRASH_ENGINE),
    M("fatal error: stack overflow", "Stack overflow", CRASH_PANIC),
    M("fatal error: runtime: out of memory", "Out-of-memory", CRASH_ENGINE),
    M("fatal error: runtime: cannot allocate memory", "Out-of-memory", CRASH_ENGINE),
    M("fatal error: all goroutines are asleep", "Deadlock", CRASH_PANIC),
    M("fatal error: concurrent map", "Concurrent map access", CRASH_PANIC),
    M("fatal error: unexpected signal during runtime execution", "Fatal-signal", CRASH_SIGNAL),
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

/* --- frames ------------------------------------------------------------------------------- */

/* A stack is a line with the function, "main.(*T).parse(0xc000, 0x3, ...)", and one with its place,
 * "\t/src/main.go:12 +0x1d".  A report has the stacks of several goroutines if the whole program
 * failed.  The first with a function of the application counts. */

/* "parse(0xc000, 0x3, ...)": arguments are numbers only.  Sets *ret to the name. */
static bool go_name(struct slice line, struct slice *ret)
{
	size_t open = text_last(line, '(');

	*ret = (struct slice){line.p, open};
	if (open == line.n || open == 0 || !text_ends(line, SLICE(")")) ||
	    memchr(ret->p, ' ', ret->n) || memchr(ret->p, '\t', ret->n))
		return false;
	for (size_t i = open + 1; i + 1 < line.n; i++)
		if (!text_hex(line.p[i]) && !text_one_of(line.p[i], "x ,.{}?"))
			return false;
	return true;
}

/* "/src/main.go:12 +0x1d", with further words: sets *ret to the path and the number. */
static bool go_place(struct slice line, struct slice *ret)
{
	struct slice in = text_trim(line);
	size_t colon;

	*ret = text_first_word(in);
	colon = text_last(*ret, ':');
	if (colon == ret->n || colon == 0 || colon + 1 == ret->n)
		return false;
	for (size_t i = colon + 1; i < ret->n; i++)
		if (!text_digit(ret->p[i]))
			return false;
	return memchr(ret->p, '.', colon) != NULL;
}

/* The name as in the other languages' reports: "main.T.parse". */
static void go_plain_name(struct slice name, size_t cap, char *to)
{
	size_t n = 0;

	for (size_t i = 0; i < name.n && n + 1 < cap; i++)
		if (!text_one_of(name.p[i], "(*)"))
			to[n++] = name.p[i];
	to[n] = '\0';
}

/* Adds a frame in the form of the sanitizers.  Its place comes with the next line. */
static void go_add_frame(struct crash_parser *p, struct slice place)
{
	char text[2 * CRASH_NAME_MAX];
	struct frame f;
	int n = snprintf(text, sizeof(text), "#%llu 0x0 in %s %.*s",
			 (unsigned long long)p->v.go_frames, p->v.go_function,
			 (int)(place.n < CRASH_PATH_MAX ? place.n : CRASH_PATH_MAX), place.p);
	struct slice line = {text, (size_t)n};

	/* This goroutine waits: another runs the fuzz function. */
	p->v.go_skip |= strcmp(p->v.go_function, "testing.F.Fuzz") == 0 && !p->v.go_app;
	p->v.go_function[0] = '\0';
	if (p->v.go_skip || !frame_parse(line, &f))
		return;
	p->v.go_app |= !frame_ignored(&f, FRAME_VIEW_OWN);
	stack_line(&p->stack, line, true, p->v.go_frames);
	stack_line(&p->other, line, true, p->v.go_frames++);
}

static void go_begin_stack(struct crash_parser *p)
{
	p->v.go_function[0] = '\0';
	p->v.go_skip = p->v.go_app;
	if (p->v.go_skip)
		return;
	p->v.go_frames = 0;
	stack_restart(&p->stack, true);
	stack_restart(&p->other, false);
}

static bool go_is_runtime(struct slice name)
{
	static const struct slice packages[] = {
	    {"runtime.", 8}, {"runtime/debug.", 14}, {"testing.", 8}, {"reflect.Value.", 14}};

	for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++)
		if (text_begins(name, packages[i]))
			return true;
	return slice_eq(name, SLICE("panic"));
}

bool kind_go_frame(struct crash_parser *p, struct slice line)
{
	struct slice name, plain = text_trim(line), place;

	if (p->v.go_function[0] && go_place(plain, &place)) {
		go_add_frame(p, place);
		return true;
	}
	p->v.go_function[0] = '\0';
	if (!go_name(plain, &name))
		return false;
	go_plain_name(name, sizeof(p->v.go_function), p->v.go_function);
	if (!p->v.go_skip && !go_is_runtime(name))
		state_name(p, text_basename(name));
	return true;
}

/* --- reports ------------------------------------------------------------------------------ */

/* A panic that the testing package prints.  The words are those of a panic that ends a process. */
static void go_test_panic(struct crash_parser *p, struct slice text)
{
	struct line inner = {.text = text, .words = words_in(&p->words, text)};

	if (words_has(inner.words, WORDS_GO) ||
	    (verdict_known(p) && !verdict_is(p, "Test failure")))
		return;
	verdict_clear(p); /* that was a message of the test's log */
	p->v.go_failed = true;
	(void)kind_assert(p, &inner);
}

/* The message of a failed test, "a_test.go:16: reached 3 with ...", has no stack: file and line
 * identify it.  A test may log before: the last message is that of the failure. */
static void go_test_message(struct crash_parser *p, struct slice line)
{
	struct slice in = text_trim(line), file, at = in;

	if (!scan_until(&in, ':', in.n, &file) || !text_ends(file, SLICE(".go")))
		return;
	text_skip(&in, 1);
	while (in.n > 0 && text_digit(in.p[0]))
		text_skip(&in, 1);
	at.n -= in.n;
	/* A quoted path is an input that the test could not read. */
	if (!scan_lit(&in, SLICE(": ")) || text_begins(in, SLICE("\"testdata/fuzz/")))
		return;
	if (text_begins(in, SLICE("panic: "))) {
		go_test_panic(p, in);
		return;
	}
	if (verdict_known(p) && !verdict_is(p, "Test failure"))
		return;
	verdict_new(p, "Test failure", CRASH_ASSERT, line);
	text_copy(p->v.place, sizeof(p->v.place), at);
}

/* "WARNING: DATA RACE", of -race: the stacks of two goroutines, and where these were made. */
static void go_race(struct crash_parser *p, struct slice line)
{
	if (text_begins(line, SLICE("WARNING: DATA RACE")) && !verdict_known(p)) {
		verdict_new(p, "Data race", CRASH_TSAN, line);
		p->v.go = p->v.go_race = true;
		go_begin_stack(p);
	} else if (p->v.go_race && text_begins(line, SLICE("Previous "))) {
		p->stack.at = STACK_DONE;
		stack_restart(&p->other, true);
		p->v.go_frames = 0;
		p->v.go_function[0] = '\0';
	} else if (p->v.go_race && text_begins(line, SLICE("Goroutine "))) {
		p->v.go_skip = true;
	}
}

/* What ends the messages of a failed test. */
static bool go_test_ends(struct slice plain)
{
	return text_begins(plain, SLICE("Failing input written to ")) ||
	       text_begins(plain, SLICE("goroutine ")) || slice_eq(plain, SLICE("FAIL"));
}

bool kind_go(struct crash_parser *p, const struct line *l)
{
	struct slice plain = text_trim(l->text), text;

	go_race(p, plain);
	if (p->v.go_failed && go_test_ends(plain))
		p->v.go_failed = false;
	if (p->v.go_failed)
		go_test_message(p, l->text);
	if (words_has(l->words, WORDS_GO_FAILED) && text_begins(plain, SLICE("--- FAIL: ")))
		p->v.go_failed = true;
	if (words_has(l->words, WORDS_GOROUTINE) && verdict_known(p) &&
	    text_begins(plain, SLICE("goroutine "))) {
		p->v.go = true;
		if (verdict_is(p, "ASSERT"))
			p->v.kind = CRASH_PANIC;
		go_begin_stack(p);
	}
	if (!words_has(l->words, WORDS_GO))
		return false;
	text = go_panic(l->text);
	for (size_t i = 0; i < sizeof(go_panics) / sizeof(go_panics[0]); i++)
		if (text_begins(text, go_panics[i].message) && !verdict_is(p, go_panics[i].type)) {
			verdict_new(p, go_panics[i].type, go_panics[i].kind, text);
			p->v.go = true;
		}
	return false;
}
