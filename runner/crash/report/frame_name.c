/* SPDX-License-Identifier: Apache-2.0 */
/* Makes function names comparable: Rust's manglings, templates, arguments. */
#include "runner/crash/report/frame.h"
#include "runner/crash/report/text.h"

/* --- names of Rust --------------------------------------------------------- */

/* Names of Rust.  The older mangling looks like C++'s.  So most symbolizers print its escapes, and
 * a hash that differs in every build.  Rustc's demangler prints neither (rustc's book, "Symbol
 * Mangling"):
 *
 *   core::panicking::panic::h0123456789abcdef
 *   _$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$::drop::h0123...
 *   app::run::_$u7b$$u7b$closure$u7d$$u7d$::h0123456789abcdef
 *   _ZN4core9panicking5panic17h0123456789abcdefE          not demangled at all
 *   app[8787f43e282added]::run::{closure#0}                the newer mangling */

enum { HASH = 16, CRATE_LEAST = 8, FRAME_RUST_PLAIN_MAX = 1024 };

static size_t hex_at_end(struct slice s)
{
	size_t n = 0;

	while (n < s.n && text_hex(s.p[s.n - n - 1]))
		n++;
	return n;
}

bool frame_rust_drop_hash(struct slice *io)
{
	struct slice s = *io;
	bool mangled = text_begins(s, SLICE("_ZN")) && text_drop(&s, SLICE("E"));

	if (hex_at_end(s) != HASH)
		return false;
	s.n -= HASH;
	if (!text_drop(&s, mangled ? SLICE("17h") : SLICE("::h")) || s.n == 0)
		return false;
	*io = s;
	return true;
}

/* --- escapes of the older mangling ------------------------------------------------------ */

static char of_two(struct slice s)
{
	static const struct {
		struct slice escape;
		char is;
	} known[] = {
	    {{"$LT$", 4}, '<'}, {{"$GT$", 4}, '>'}, {{"$RF$", 4}, '&'}, {{"$BP$", 4}, '*'},
	    {{"$LP$", 4}, '('}, {{"$RP$", 4}, ')'}, {{"$SP$", 4}, '@'}, {{"$C$", 3}, ','},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (slice_eq(s, known[i].escape))
			return known[i].is;
	return '\0';
}

/* "$u7b$" */
static char of_code(struct slice s)
{
	uint64_t v;

	if (!scan_lit(&s, SLICE("$u")) || !scan_u64(&s, 16, 0x7e, &v) || v < 0x20 ||
	    !slice_eq(s, SLICE("$")))
		return '\0';
	return (char)v;
}

/* The character of the escape at the beginning of s, and the escape's length; '\0': none. */
static char frame_rust_escaped(struct slice s, size_t *ret_n)
{
	struct slice word = {s.p, 1};
	char c;

	if (s.n == 0 || s.p[0] != '$')
		return '\0';
	while (word.n < s.n && word.n < 5 && s.p[word.n] != '$')
		word.n++;
	if (word.n == s.n)
		return '\0';
	word.n++;
	*ret_n = word.n;
	c = of_two(word);
	if (!c)
		c = of_code(word);
	return c;
}

/* An identifier that would begin with an escape has '_' before it. */
static bool is_guard(struct slice all, size_t at)
{
	size_t n;

	return all.p[at] == '_' && (at == 0 || all.p[at - 1] == ':') &&
	       frame_rust_escaped((struct slice){all.p + at + 1, all.n - at - 1}, &n);
}

/* True if the name holds escapes of the older mangling.  Then *io is the plain name, in `to` and
 * cut to fit. */
static bool frame_rust_plain(struct slice *io, char to[FRAME_RUST_PLAIN_MAX])
{
	struct slice in = *io;
	size_t n = 0;

	if (!frame_rust_drop_hash(&in) || !memchr(in.p, '$', in.n))
		return false;
	for (size_t i = 0; i < in.n && n + 2 < FRAME_RUST_PLAIN_MAX;) {
		struct slice rest = {in.p + i, in.n - i};
		size_t took = 1;
		char c = frame_rust_escaped(rest, &took);

		if (c) {
			to[n++] = c;
		} else if (text_begins(rest, SLICE(".."))) {
			took = 2;
			to[n++] = ':';
			to[n++] = ':';
		} else {
			took = 1;
			if (!is_guard(in, i))
				to[n++] = in.p[i];
		}
		i += took;
	}
	*io = (struct slice){to, n};
	return true;
}

/* --- unnamed items ----------------------------------------------------------------------- */

static bool is_label(char c)
{
	return text_word(c) || c == ':' || c == '.';
}

/* Consumes "{{closure}}", "{closure#0}", "{impl#3}" or "{shim:vtable#0}" at the beginning of *io.
 * *ret is the word in it. */
static bool frame_rust_unnamed(struct slice *io, struct slice *ret)
{
	struct slice in = *io, word;
	bool old = scan_lit(&in, SLICE("{{"));
	uint64_t number;

	if (!old && !scan_lit(&in, SLICE("{")))
		return false;
	word = (struct slice){in.p, 0};
	while (in.n > 0 && is_label(in.p[0])) {
		text_skip(&in, 1);
		word.n++;
	}
	if (word.n == 0 ||
	    (!old && (!scan_lit(&in, SLICE("#")) || !scan_u64(&in, 10, UINT32_MAX, &number))))
		return false;
	if (!scan_lit(&in, old ? SLICE("}}") : SLICE("}")))
		return false;
	*io = in;
	*ret = word;
	return true;
}

/* Consumes "[8787f43e282added]" before "::": it identifies the build of a crate. */
static bool frame_rust_crate(struct slice *io)
{
	struct slice in = *io;
	size_t n = 0;

	if (!scan_lit(&in, SLICE("[")))
		return false;
	while (n < in.n && text_hex(in.p[n]))
		n++;
	text_skip(&in, n);
	if (n < CRATE_LEAST || n > HASH || !scan_lit(&in, SLICE("]")) ||
	    !text_begins(in, SLICE("::")))
		return false;
	*io = in;
	return true;
}

/* --- names of all languages ------------------------------------------------ */

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
