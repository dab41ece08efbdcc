/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/frame_rust.h"

#include "runner/crash/report/text.h"

enum { HASH = 16, CRATE_LEAST = 8 };

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
		struct slice said;
		char is;
	} known[] = {
	    {{"$LT$", 4}, '<'}, {{"$GT$", 4}, '>'}, {{"$RF$", 4}, '&'}, {{"$BP$", 4}, '*'},
	    {{"$LP$", 4}, '('}, {{"$RP$", 4}, ')'}, {{"$SP$", 4}, '@'}, {{"$C$", 3}, ','},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (slice_eq(s, known[i].said))
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

bool frame_rust_plain(struct slice *io, char to[FRAME_RUST_PLAIN_MAX])
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

bool frame_rust_unnamed(struct slice *io, struct slice *ret)
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

bool frame_rust_crate(struct slice *io)
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
