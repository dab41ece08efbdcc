/* SPDX-License-Identifier: Apache-2.0 */
/* Names a failed assertion, of each library and language. */
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

static void set_assert(struct crash_parser *p, struct slice message, const struct line *l)
{
	char text[512];
	size_t n = message.n < sizeof(text) - 1 ? message.n : sizeof(text) - 1;

	if (n == 0)
		return;
	memcpy(text, message.p, n);
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
		struct slice message = l->text;

		if (at == l->text.n || !prefix_ok((struct slice){l->text.p, at}))
			continue;
		text_skip(&message, at + words[i].n);
		set_assert(p, message, l);
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
	struct slice in = l->text, message;

	if (!scan_lit(&in, SLICE("TRAP: ")) ||
	    !(kind_assert_quoted(in, SLICE("), File: "), &message) ||
	      kind_assert_quoted(in, SLICE(", File: "), &message)))
		return false;
	set_assert(p, message, l);
	verdict_cause(p, message);
	return true;
}

/* 'ASSERT: "x > 0" in file a.cpp, line 3', 'ASSERT failure in f: "text", file a.cpp, line 3' */
static bool on_qt(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text, message;

	if (scan_lit(&in, SLICE("ASSERT: "))) {
		if (!kind_assert_quoted(in, SLICE(" in file "), &message))
			return false;
	} else if (!scan_lit(&in, SLICE("ASSERT failure in ")) ||
		   !kind_assert_quoted(in, SLICE(", file "), &message)) {
		return false;
	}
	set_assert(p, message, l);
	verdict_cause(p, message);
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

/* --- checks ---------------------------------------------------------------- */

/* CHECK() and similar macros, in the logs of Google's libraries, Chrome and V8. */

/* "len > 0 (-1 vs. 0)" -> "len > 0": values are not part of a check. */
static struct slice without_values(struct slice s)
{
	struct slice in = s, rest;

	scan_lit(&in, SLICE("Check failed: "));
	rest = in;
	if (text_after(&rest, SLICE("failed: ")) && text_has(rest, SLICE(" vs. ")))
		in.n = (size_t)(rest.p - in.p) - 1;
	for (rest = in; text_after(&rest, SLICE(" ("));)
		if (text_has(rest, SLICE(" vs. "))) {
			in.n = (size_t)(rest.p - in.p) - 2;
			break;
		}
	/* ": 'text'" and '= "text"' at the end */
	for (size_t i = 0; i + 2 < in.n; i++) {
		struct slice value = {in.p + i + 1, in.n - i - 1};

		if (in.p[i] != ':' && in.p[i] != '=')
			continue;
		value = text_trim(value);
		if (value.n > 1 && (value.p[0] == '"' || value.p[0] == '\'') &&
		    value.p[value.n - 1] == value.p[0]) {
			in.n = i;
			break;
		}
	}
	return text_strip(in, " .'\"[]");
}

/* "../../a/b.cc:24", "b.cc(24)" -> "b.cc" */
static struct slice file_only(struct slice s)
{
	s = text_strip(s, " .'\"[]");
	text_cut(&s, SLICE("("));
	text_cut(&s, SLICE(":"));
	return text_basename(s);
}

static void set_check(struct crash_parser *p, const char *type, struct slice message,
		      struct slice file, const struct line *l)
{
	message = without_values(message);
	file = file_only(file);
	if (message.n > 512)
		message.n = 512;
	verdict_new(p, type, CRASH_ASSERT, l->text);
	state_set(&p->state, message, 1);
	if (file.n > 0) {
		state_add(&p->state, SLICE(" in "));
		state_add(&p->state, (struct slice){file.p, file.n < 128 ? file.n : 128});
	}
	state_add(&p->state, SLICE("\n"));
	verdict_cause(p, message);
}

/* 'F' and a date: "F0813 ", or since glog 0.5 "F20240813 " */
static bool begins_fatal(struct slice in)
{
	size_t digits = 0;

	if (!scan_lit(&in, SLICE("F")))
		return false;
	while (digits < in.n && text_digit(in.p[digits]))
		digits++;
	return (digits == 4 || digits == 8) && digits < in.n && in.p[digits] == ' ';
}

/* "F0813 00:29:27.775753  384244 file.cc:130] text" */
static bool google_fatal(struct slice in, struct slice *ret_file, struct slice *ret_message)
{
	size_t colon;

	if (!begins_fatal(in))
		return false;
	*ret_file = in;
	if (!text_after(&in, SLICE("] ")) || !text_cut(ret_file, SLICE("] ")))
		return false;
	colon = text_last(*ret_file, ':');
	if (colon == ret_file->n)
		return false;
	ret_file->n = colon;
	text_skip(ret_file, text_last(*ret_file, ' ') + 1);
	*ret_message = in;
	return true;
}

/* "[1:1:0308/122440.968711:FATAL:b.cc(243)] Check failed: text" and, newer, "...:FATAL:b.cc:243]
 * Check failed": the last field that does not begin with a number. */
static bool chrome_bracket(struct slice *io, struct slice *ret_file)
{
	struct slice in = text_trim(*io), inside;
	size_t close;

	if (!scan_lit(&in, SLICE("[")) || !memchr(in.p, ']', in.n))
		return false;
	close = (size_t)((const char *)memchr(in.p, ']', in.n) - in.p);
	inside = (struct slice){in.p, close};
	text_skip(&in, close + 1);
	for (;;) {
		size_t colon = text_last(inside, ':');

		if (colon == inside.n)
			return false;
		if (colon + 1 < inside.n && !text_digit(inside.p[colon + 1])) {
			*ret_file = (struct slice){inside.p + colon + 1, inside.n - colon - 1};
			*io = in;
			return true;
		}
		inside.n = colon;
	}
}

static bool on_chrome(struct crash_parser *p, const struct line *l)
{
	static const struct {
		struct slice message;
		const char *type;
	} kinds[] = {
	    {{"Security CHECK failed:", 22}, "Security CHECK failure"},
	    {{"Security DCHECK failed:", 23}, "Security DCHECK failure"},
	    {{"CHECK failed:", 13}, "CHECK failure"}, /* also matches DCHECK */
	    {{"Debug check failed:", 19}, "DCHECK failure"},
	    {{"Check failed:", 13}, "CHECK failure"},
	};
	struct slice in = l->text, file = {0};

	if (!chrome_bracket(&in, &file))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct slice message = in;

		/* Only security checks replace another crash. */
		if ((i > 1 && verdict_known(p)) || !text_after(&message, kinds[i].message))
			continue;
		text_cut(&message, SLICE("; ")); /* the message behind the condition */
		set_check(p, kinds[i].type, text_trim(message), file, l);
		return true;
	}
	return false;
}

/* Abseil's "[file.cc : 17] RAW: Check n > 4 failed: text", before its log is ready */
static void on_raw(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text, file;

	if (verdict_known(p) || !scan_lit(&in, SLICE("[")))
		return;
	file = in;
	if (!text_cut(&file, SLICE(" : ")) || !text_after(&in, SLICE("] RAW: Check ")))
		return;
	text_cut(&in, SLICE(" failed: "));
	set_check(p, "CHECK failure", in, file, l);
}

bool kind_check(struct crash_parser *p, const struct line *l)
{
	struct slice file = {0}, message = {0};

	if (!verdict_known(p) && google_fatal(l->text, &file, &message)) {
		struct slice rest = text_trim(message);
		bool check = scan_lit(&rest, SLICE("Check failed:"));

		set_check(p, check ? "CHECK failure" : "Fatal error", text_trim(rest), file, l);
		return false;
	}
	if (words_has(l->words, WORDS_CHECK)) {
		on_raw(p, l);
		on_chrome(p, l);
	}
	return false;
}

/* --- V8 ------------------------------------------------------------------- */

/* "# Check failed: text." and other text after "# Fatal error in" */
static void on_fatal_text(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text;
	char type[sizeof(p->v.type)], file[sizeof(p->v.check_file)];

	if (!scan_lit(&in, SLICE("#")) || in.n == 0 || (in.p[0] != ' ' && in.p[0] != '\t'))
		return;
	in = text_trim(in);
	if (in.n == 0)
		return;
	memcpy(type, p->v.type, sizeof(type));
	memcpy(file, p->v.check_file, sizeof(file));
	if (text_begins(in, SLICE("unreachable code")) ||
	    text_begins(in, SLICE("unimplemented code"))) {
		verdict_new(p, "Unreachable code", CRASH_ASSERT, l->text);
		state_set(&p->state, slice_of(file), 0);
		state_add(&p->state, SLICE("\n"));
		return;
	}
	if (scan_lit(&in, SLICE("Debug check failed: ")))
		text_copy(type, sizeof(type), SLICE("DCHECK failure"));
	else if (scan_lit(&in, SLICE("Check failed: ")) ||
		 text_begins(in, SLICE("RepresentationChangerError: ")))
		text_copy(type, sizeof(type), SLICE("CHECK failure"));
	set_check(p, type, in, slice_of(file), l);
}

/* "# Fatal error in ../../src/vector.h, line 24", or in a function */
static bool on_fatal(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text;
	bool has_line;

	if (!scan_lit(&in, SLICE("#")))
		return false;
	in = text_trim(in);
	if (!scan_lit(&in, SLICE("Fatal error in ")))
		return false;
	has_line = text_cut(&in, SLICE(", line "));
	verdict_new(p, "Fatal error", CRASH_ASSERT, l->text);
	p->v.fatal = true;
	if (has_line)
		in = file_only(in);
	text_copy(p->v.check_file, sizeof(p->v.check_file), has_line ? in : SLICE(""));
	state_set(&p->state, in, 0);
	state_add(&p->state, SLICE("\n"));
	return true;
}

/* "LLVM ERROR: text", and "UNREACHABLE executed at FILE:LINE!" behind a line of text.  The text can
 * hold names from the input, so only the stack goes into the signature. */
static bool on_llvm(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text;

	if (scan_lit(&in, SLICE("LLVM ERROR: "))) {
		verdict_new(p, "Fatal error", CRASH_ASSERT, l->text);
		in = text_trim(in);
		state_set(&p->state, (struct slice){in.p, in.n < 512 ? in.n : 512}, 1);
	} else if (scan_lit(&in, SLICE("UNREACHABLE executed"))) {
		verdict_new(p, "Unreachable code", CRASH_ASSERT, l->text);
		if (!scan_lit(&in, SLICE(" at ")))
			return true;
		in = file_only(in);
		text_copy(p->v.place, sizeof(p->v.place), in);
		state_set(&p->state, in, 1);
	} else {
		return false;
	}
	state_add(&p->state, SLICE("\n"));
	return true;
}

bool kind_fatal(struct crash_parser *p, const struct line *l)
{
	if (words_has(l->words, WORDS_FATAL) && !verdict_known(p) &&
	    (on_fatal(p, l) || on_llvm(p, l)))
		return true;
	if (verdict_known(p) && p->v.fatal)
		on_fatal_text(p, l);
	return false;
}

/* "abort: CSA_ASSERT failed: text [FILE:LINE]" */
static void on_csa(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text, file = {0};
	size_t open;

	if (!scan_lit(&in, SLICE("abort: ")) || !text_begins(in, SLICE("CSA_ASSERT failed:")))
		return;
	open = text_last(in, '[');
	if (open < in.n && open > 0 && text_ends(in, SLICE("]"))) {
		file = file_only((struct slice){in.p + open + 1, in.n - open - 2});
		in.n = open;
	}
	in = text_trim(in);
	verdict_new(p, "ASSERT", CRASH_ASSERT, l->text);
	state_set(&p->state, in, CRASH_STATE_MAX);
	state_add(&p->state, SLICE("\n"));
	state_add(&p->state, file);
	verdict_cause(p, in);
}

/* The lines of a differential fuzzer's finding are its state. */
static void on_correctness(struct crash_parser *p, struct slice in)
{
	if (!scan_lit(&in, SLICE("#")))
		return;
	in = text_trim(in);
	if (scan_lit(&in, SLICE("V8 correctness ")) &&
	    (text_begins(in, SLICE("configs:")) || text_begins(in, SLICE("sources:")) ||
	     text_begins(in, SLICE("suppression:"))))
		state_name(p, in);
}

bool kind_v8(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text;

	if (!words_has(l->words, WORDS_V8))
		return false;
	if (text_begins(in, SLICE("## V8 sandbox violation")))
		verdict_type(p, SLICE("V8 sandbox violation"), CRASH_OTHER, l->text);
	if (verdict_is(p, "V8 correctness failure"))
		on_correctness(p, l->text);
	if (verdict_known(p))
		return false;
	on_csa(p, l);
	if (text_begins(in, SLICE("#")) && text_has(in, SLICE("V8 correctness failure")))
		verdict_new(p, "V8 correctness failure", CRASH_OTHER, l->text);
	if (text_begins(text_trim(in), SLICE("[")) && text_after(&in, SLICE("] V8 error: "))) {
		in = text_trim(in);
		text_drop(&in, SLICE("."));
		verdict_new(p, "V8 API error", CRASH_ASSERT, l->text);
		state_set(&p->state, in, 0);
		state_add(&p->state, SLICE("\n"));
		verdict_cause(p, in);
	}
	return false;
}
