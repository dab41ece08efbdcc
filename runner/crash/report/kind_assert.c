/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/internal.h"

/* Failed assertions.  They are printed before the signal's report and are more precise.  So the
 * message becomes the first line of the state, and the signal only adds frames. */

static bool same_fold(struct slice at, struct slice lower)
{
	if (at.n < lower.n)
		return false;
	for (size_t i = 0; i < lower.n; i++)
		if (text_lower(at.p[i]) != lower.p[i])
			return false;
	return true;
}

/* The first occurrence, ignoring case; s.n: there is none. */
static size_t find_fold(struct slice s, struct slice lower)
{
	for (size_t i = 0; i + lower.n <= s.n; i++)
		if (same_fold((struct slice){s.p + i, s.n - i}, lower))
			return i;
	return s.n;
}

static size_t find_fold_last(struct slice s, struct slice lower)
{
	for (size_t i = s.n; i-- > 0;)
		if (same_fold((struct slice){s.p + i, s.n - i}, lower))
			return i;
	return s.n;
}

static void set_assert(struct crash_parser *p, struct slice said, const struct line *l)
{
	char text[512];
	size_t n = said.n < sizeof(text) - 1 ? said.n : sizeof(text) - 1;

	if (n == 0)
		return;
	memcpy(text, said.p, n);
	text[n++] = '\n';
	p->v.headline[0] = '\0';
	verdict_type(p, SLICE("ASSERT"), CRASH_ASSERT, l->text);
	state_set(&p->state, (struct slice){text, n}, 1);
	stack_restart(&p->stack, true);
}

/* "[...]" or "...x.cc:...", or nothing, before the word. */
static bool prefix_ok(struct slice before)
{
	static const struct slice places[] = {
	    {".c:", 3}, {".cc:", 4}, {".cpp:", 5}, {".cxx:", 5},
	    {".h:", 3}, {".hh:", 4}, {".hpp:", 5}, {".hxx:", 5},
	};

	if (text_trim(before).n == 0 || text_has(before, SLICE("OpenSSL internal error")))
		return true;
	if (before.p[0] == '[' && text_ends(text_trim(before), SLICE("]")))
		return true;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (text_has(before, places[i]))
			return true;
	return false;
}

/* "ASSERT FAILED: x", "assertion failure: x", "panic: x" */
static bool on_plain(struct crash_parser *p, const struct line *l)
{
	static const struct slice words[] = {
	    {"assert failed: ", 15},	 {"assert failure: ", 16}, {"assertion failed: ", 18},
	    {"assertion failure: ", 19}, {"panic: ", 7},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t at = find_fold(l->text, words[i]);
		struct slice said = l->text;

		if (at == l->text.n || !prefix_ok((struct slice){l->text.p, at}))
			continue;
		text_skip(&said, at + words[i].n);
		set_assert(p, said, l);
		return true;
	}
	return false;
}

static bool is_quote(char c)
{
	return c == '`' || c == '\'' || c == '"';
}

/* glibc's "t: a.c:3: int f(void): Assertion `x > 0' failed." */
static bool on_glibc(struct crash_parser *p, const struct line *l)
{
	const struct slice word = SLICE("assertion ");
	struct slice in = text_trim(l->text), before;
	size_t at;

	text_drop(&in, SLICE("."));
	if (in.n < 7 || !same_fold((struct slice){in.p + in.n - 7, 7}, SLICE(" failed")))
		return false;
	in.n -= 7;
	at = find_fold_last(in, word);
	before = text_trim((struct slice){in.p, at});
	if (at == in.n || !text_ends(before, SLICE(":")))
		return false;
	text_skip(&in, at + word.n);
	if (in.n > 0 && is_quote(in.p[0]))
		text_skip(&in, 1);
	if (in.n > 0 && is_quote(in.p[in.n - 1]))
		in.n--;
	set_assert(p, in, l);
	verdict_cause(p, in);
	return true;
}

/* libc++'s "x/y/vector:12: assertion n < size() failed: index out of bounds" */
static bool on_libcxx(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text, before = l->text;
	uint64_t line;
	size_t colon;

	if (!text_after(&in, SLICE(": assertion ")))
		return false;
	before.n = (size_t)(in.p - before.p) - 12;
	colon = text_last(before, ':');
	if (colon == before.n || !memchr(before.p, '/', colon) ||
	    !scan_u64(&(struct slice){before.p + colon + 1, before.n - colon - 1}, 10, UINT32_MAX,
		      &line))
		return false;
	if (!text_after(&in, SLICE(" failed:")))
		return false;
	set_assert(p, text_trim(in), l);
	verdict_cause(p, in);
	return true;
}

/* "thread 'main' panicked at 'text', src/a.rs:1:2"; since Rust 1.73 the text is on the next
 * line. */
static bool on_rust(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text;

	if (!text_begins(in, SLICE("thread ")) || !text_after(&in, SLICE(" panicked at ")))
		return false;
	if (scan_lit(&in, SLICE("'"))) {
		text_cut(&in, SLICE("'"));
		set_assert(p, in, l);
	} else {
		verdict_new(p, "ASSERT", CRASH_ASSERT, l->text);
	}
	p->v.kind = CRASH_PANIC;
	return true;
}

/* "F0813 00:29:27.775753 384244 a.cc:130] assertion failed at a.cc:1 in f: text" */
static void on_google(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text;

	if (l->text.n == 0 || l->text.p[0] != 'F' || !text_after(&in, SLICE("] ")) ||
	    !text_after(&in, SLICE("assertion failed at ")) || !text_after(&in, SLICE(" in ")) ||
	    text_last(in, ':') == in.n)
		return;
	text_skip(&in, text_last(in, ':') + 1);
	set_assert(p, text_trim(in), l);
}

/* FFmpeg's "Assertion x > 0 failed at a.c:3"; its log may print a context before it */
static bool on_ffmpeg(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text, place;

	if (text_begins(in, SLICE("[")))
		text_after(&in, SLICE("] "));
	place = in;
	if (!scan_lit(&in, SLICE("Assertion ")) || !text_after(&place, SLICE(" failed at ")) ||
	    !memchr(place.p, ':', place.n))
		return false;
	text_cut(&in, SLICE(" failed at "));
	set_assert(p, in, l);
	verdict_cause(p, in);
	return true;
}

/* The text between the first quote and the last quote that `follows` comes after. */
static bool kind_assert_quoted(struct slice in, struct slice follows, struct slice *ret)
{
	struct slice rest = in, end = {NULL, 0};

	if (!text_after(&rest, SLICE("\"")))
		return false;
	in = rest;
	while (text_after(&rest, SLICE("\"")))
		if (text_begins(rest, follows))
			end = rest;
	if (!end.p)
		return false;
	*ret = (struct slice){in.p, (size_t)(end.p - in.p) - 1};
	return true;
}

/* 'TRAP: failed Assert("x > 0"), File: "a.c", Line: 3', and before PostgreSQL 16
 * 'TRAP: FailedAssertion("!(x > 0)", File: "a.c", Line: 3)' */
static bool on_postgres(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text, said;

	if (!scan_lit(&in, SLICE("TRAP: ")) ||
	    !(kind_assert_quoted(in, SLICE("), File: "), &said) ||
	      kind_assert_quoted(in, SLICE(", File: "), &said)))
		return false;
	set_assert(p, said, l);
	verdict_cause(p, said);
	return true;
}

/* 'ASSERT: "x > 0" in file a.cpp, line 3', 'ASSERT failure in f: "text", file a.cpp, line 3' */
static bool on_qt(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text, said;

	if (scan_lit(&in, SLICE("ASSERT: "))) {
		if (!kind_assert_quoted(in, SLICE(" in file "), &said))
			return false;
	} else if (!scan_lit(&in, SLICE("ASSERT failure in ")) ||
		   !kind_assert_quoted(in, SLICE(", file "), &said)) {
		return false;
	}
	set_assert(p, said, l);
	verdict_cause(p, said);
	return true;
}

bool kind_assert(struct crash_parser *p, const struct line *l)
{
	if (!words_has(l->words, WORDS_ASSERT) || on_ffmpeg(p, l) || on_postgres(p, l) ||
	    on_qt(p, l))
		return false;
	on_plain(p, l);
	on_google(p, l);
	if (!on_glibc(p, l) && !on_libcxx(p, l))
		on_rust(p, l);
	return false;
}

bool kind_never(struct crash_parser *p, const struct line *l)
{
	if (words_has(l->words, WORDS_NEVER) &&
	    slice_eq(text_trim(l->text), SLICE("SHOULD NEVER BE REACHED")))
		verdict_new(p, "ASSERT_NOT_REACHED", CRASH_ASSERT, l->text);
	return false;
}
