/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/frame.h"
#include "runner/crash/report/frame_rust.h"
#include "runner/crash/report/text.h"

/* Demanglers differ: "{lambda(int)#1}", "'lambda'(int)" and "$_0" mean the same, and "> >" is ">>"
 * since about LLVM 14.  Everything in brackets is removed; the rest is the same for all of them. */

struct naming {
	char *out;
	size_t n;
	size_t op_at;	    /* where "operator" begins in out, or SIZE_MAX */
	bool after_op;	    /* the operator's symbol has just been written */
	unsigned kept_open; /* number of '<' of Rust's "<T as Trait>", which stay */
};

static void frame_name_put(struct naming *w, struct slice s)
{
	size_t room = FRAME_NAME_MAX - 1 - w->n;
	size_t n = s.n < room ? s.n : room;

	text_copy(w->out + w->n, n + 1, s);
	w->n += n;
}

static char frame_name_last_of(const struct naming *w)
{
	if (w->n == 0)
		return '\0';
	return w->out[w->n - 1];
}

static char closing(char open)
{
	switch (open) {
	case '(':
		return ')';
	case '<':
		return '>';
	case '[':
		return ']';
	default:
		return '}';
	}
}

/* Skips the bracket that opens at io->p[0], with its content.  A bracket that is never closed ends
 * the name.  A '>' in parentheses, as in "f<(1 > 0)>", and that of "->" close nothing. */
static void skip_bracket(struct slice *io)
{
	char open = io->p[0], close = closing(open);
	size_t depth = 0, parens = 0;

	for (size_t i = 0; i < io->n; i++) {
		char c = io->p[i];

		if (open == '<' && c == '(')
			parens++;
		else if (open == '<' && c == ')' && parens > 0)
			parens--;
		if (parens > 0)
			continue;
		if (c == open)
			depth++;
		else if (c == close && !(c == '>' && i > 0 && io->p[i - 1] == '-'))
			depth--;
		if (depth == 0) {
			text_skip(io, i + 1);
			return;
		}
	}
	text_skip(io, io->n);
}

/* Copies "operator" with its symbol, the characters of which are not brackets. */
static bool take_operator(struct slice *io, struct naming *w)
{
	static const char *const symbols[] = {
	    "<=>", "->*", "<<=", ">>=", "()", "[]", "->", "<<", ">>", "<=",
	    ">=",  "==",  "!=",	 "&&",	"||", "<",  ">",  "(",	",",
	};
	struct slice in = *io;

	if (text_word(frame_name_last_of(w)) || !scan_lit(&in, SLICE("operator")) ||
	    (in.n > 0 && text_word(in.p[0])))
		return false;
	if (w->op_at == SIZE_MAX)
		w->op_at = w->n;
	frame_name_put(w, SLICE("operator"));
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (scan_lit(&in, slice_of(symbols[i]))) {
			frame_name_put(w, slice_of(symbols[i]));
			break;
		}
	w->after_op = true;
	*io = in;
	return true;
}

static bool take_quoted_lambda(struct slice *io)
{
	struct slice in = *io;

	if (!scan_lit(&in, SLICE("'lambda")))
		return false;
	while (in.n > 0 && text_digit(in.p[0]))
		text_skip(&in, 1);
	if (!scan_lit(&in, SLICE("'")))
		return false;
	*io = in;
	return true;
}

/* "$_12" */
static bool take_numbered(struct slice *io)
{
	struct slice in = *io;

	if (!scan_lit(&in, SLICE("$_")) || in.n == 0 || !text_digit(in.p[0]))
		return false;
	while (in.n > 0 && text_digit(in.p[0]))
		text_skip(&in, 1);
	*io = in;
	return true;
}

/* Removes the names that compilers give to unnamed things. */
static bool take_unnamed(struct slice *io, struct naming *w)
{
	struct slice word;

	if (frame_rust_unnamed(io, &word)) {
		frame_name_put(w, SLICE("{"));
		frame_name_put(w, word);
		frame_name_put(w, SLICE("}"));
		return true;
	}
	if (scan_lit(io, SLICE("(anonymous namespace)::")) ||
	    scan_lit(io, SLICE("`anonymous namespace'::")) || scan_lit(io, SLICE("{anonymous}::")))
		return true;
	if (text_begins(*io, SLICE("{lambda"))) {
		skip_bracket(io);
	} else if (!scan_lit(io, SLICE("(anonymous class)")) && !take_quoted_lambda(io) &&
		   !take_numbered(io)) {
		return false;
	}
	frame_name_put(w, SLICE("{lambda}"));
	return true;
}

/* Removes a bracket at io->p[0], or keeps a '<'. */
static bool take_bracket(struct slice *io, struct naming *w)
{
	char c = io->p[0];

	if (c == '(') {
		if (frame_name_last_of(w) == '.')
			return false; /* a Go receiver: "main.(*T).f" */
		skip_bracket(io);
		return true;
	}
	if (c == '[' && text_begins(*io, SLICE("[abi:"))) {
		skip_bracket(io);
		return true;
	}
	if (c == '[' && frame_rust_crate(io))
		return true;
	if (c == '<' && (text_word(frame_name_last_of(w)) || frame_name_last_of(w) == '}' ||
			 frame_name_last_of(w) == '~' || w->after_op)) {
		skip_bracket(io);
		return true;
	}
	if (c == '<')
		w->kept_open++;
	else if (c == '>' && w->kept_open > 0)
		w->kept_open--;
	return false;
}

static void frame_name_take_all(struct slice in, struct naming *w)
{
	while (in.n > 0) {
		if (take_operator(&in, w))
			continue;
		if (take_unnamed(&in, w) || take_bracket(&in, w)) {
			w->after_op = false;
			continue;
		}
		/* "operator< <int>": the blank is before template arguments. */
		if (in.p[0] == ' ' && w->after_op && in.n > 1 && in.p[1] == '<') {
			text_skip(&in, 1);
			continue;
		}
		w->after_op = false;
		frame_name_put(w, (struct slice){in.p, 1});
		text_skip(&in, 1);
	}
}

/* Removes ".part.3", ".cold", ".llvm.1234567": the suffixes of compilers for copies. */
static bool drop_clone(struct slice *io)
{
	static const char *const words[] = {
	    "part", "cold",	"isra",	   "constprop", "llvm",	  "localalias", "lto_priv",
	    "cfi",  "cfi_jt",	"clone",   "__uniq",	"resume", "destroy",	"cleanup",
	    "warm", "unlikely", "startup", "exit",	"avx2",	  "default",	"ifunc",
	};
	struct slice s = *io, word;
	size_t dot = text_last(s, '.');
	size_t digits = s.n;

	while (digits > 0 && text_digit(s.p[digits - 1]))
		digits--;
	if (digits < s.n && digits > 1 && s.p[digits - 1] == '.') {
		s.n = digits - 1;
		dot = text_last(s, '.');
	}
	if (dot == s.n || dot == 0)
		return false;
	word = (struct slice){s.p + dot + 1, s.n - dot - 1};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (slice_eq(word, slice_of(words[i]))) {
			io->n = dot;
			return true;
		}
	return false;
}

/* Removes "$8d18...a6d9" of unique internal names. */
static bool drop_hash(struct slice *io)
{
	size_t at = io->n;

	while (at > 0 && text_hex(io->p[at - 1]))
		at--;
	if (io->n - at < 16 || at <= 1 || io->p[at - 1] != '$')
		return false;
	io->n = at - 1;
	return true;
}

/* "f(int) [clone .cold]", "f(int) (.part.0)" */
static bool drop_bracketed_clone(struct slice *io)
{
	size_t at;

	if (text_ends(*io, SLICE("]")))
		at = text_last(*io, '[');
	else if (text_ends(*io, SLICE(")")))
		at = text_last(*io, '(');
	else
		return false;
	if (at == io->n || at == 0 ||
	    (!text_begins((struct slice){io->p + at, io->n - at}, SLICE("[clone ")) &&
	     !text_begins((struct slice){io->p + at, io->n - at}, SLICE("(."))))
		return false;
	io->n = at;
	*io = text_trim(*io);
	return true;
}

static struct slice without_edges(struct slice s)
{
	s = text_trim(s);
	while (scan_lit(&s, SLICE("non-virtual thunk to ")) ||
	       scan_lit(&s, SLICE("virtual thunk to ")) ||
	       scan_lit(&s, SLICE("covariant return thunk to ")))
		;
	while (drop_bracketed_clone(&s) || drop_clone(&s) || drop_hash(&s))
		;
	while (scan_lit(&s, SLICE("___interceptor_")) || scan_lit(&s, SLICE("__interceptor_")))
		;
	return s;
}

static bool drop_qualifier(struct slice *io)
{
	return text_drop(io, SLICE(" const")) || text_drop(io, SLICE(" volatile")) ||
	       text_drop(io, SLICE(" noexcept")) || text_drop(io, SLICE(" &&")) ||
	       text_drop(io, SLICE(" &")) || text_drop(io, SLICE(" ")) ||
	       text_drop(io, SLICE("::"));
}

/* The beginning of the name behind a return type: behind the last blank that is in no bracket and
 * before any "operator". */
static size_t name_begin(struct slice s, size_t op_at)
{
	size_t end = op_at < s.n ? op_at : s.n, at = 0, depth = 0;

	for (size_t i = 0; i < end; i++) {
		if (s.p[i] == '<')
			depth++;
		else if (s.p[i] == '>' && depth > 0)
			depth--;
		else if (s.p[i] == ' ' && depth == 0)
			at = i + 1;
	}
	return at;
}

void frame_name(struct slice function, char ret[FRAME_NAME_MAX])
{
	struct slice in = without_edges(function), out;
	struct naming w = {.out = ret, .op_at = SIZE_MAX};
	char plain[FRAME_RUST_PLAIN_MAX];

	if (!frame_rust_plain(&in, plain))
		frame_rust_drop_hash(&in);
	frame_name_take_all(in, &w);
	out = (struct slice){ret, w.n};
	while (drop_qualifier(&out))
		;
	text_skip(&out, name_begin(out, w.op_at));
	while (text_begins(out, SLICE("*")) || text_begins(out, SLICE("&")))
		text_skip(&out, 1);
	if (out.n == 0) {
		/* The function has only brackets, as in "(*f)(int)". */
		out = (struct slice){in.p, in.n < FRAME_NAME_MAX ? in.n : FRAME_NAME_MAX - 1};
		text_copy(ret, FRAME_NAME_MAX, out);
		return;
	}
	memmove(ret, out.p, out.n);
	ret[out.n] = '\0';
}

void frame_function(struct slice function, char *to, size_t cap)
{
	const struct slice dots = SLICE("<...>");
	size_t n = 0;
	char before = '\0';

	if (function.n < cap) {
		text_copy(to, cap, function);
		return;
	}
	while (function.n > 0 && n + dots.n < cap) {
		char c = function.p[0];

		if (c == '<' && text_word(before) &&
		    !text_ends((struct slice){to, n}, SLICE("operator"))) {
			skip_bracket(&function);
			text_copy(to + n, cap - n, dots);
			n += dots.n;
		} else {
			text_copy(to + n, cap - n, (struct slice){function.p, 1});
			text_skip(&function, 1);
			n++;
		}
		before = c;
	}
	to[n] = '\0';
}
