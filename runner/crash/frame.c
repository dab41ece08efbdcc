/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/frame.h"

#include "runner/crash/text.h"

/* Functions and paths may hold blanks, parentheses and commas, so a line is read
 * from its right end: build id, module, file with line and column; the function is
 * what is left. */

/* "0x55f0", or hexadecimal digits that begin with a digit (a name cannot). */
static bool address(struct slice *in, uint64_t *ret)
{
	struct slice s = *in;
	uint64_t v = 0;
	size_t n = 0;

	if (s.n == 0 || !text_digit(s.p[0]))
		return false;
	if (s.n > 2 && s.p[0] == '0' && (s.p[1] == 'x' || s.p[1] == 'X'))
		text_skip(&s, 2);
	for (; n < s.n && text_hex(s.p[n]); n++) {
		char c = text_lower(s.p[n]);

		v = v << 4 | (uint64_t)(text_digit(c) ? c - '0' : c - 'a' + 10);
	}
	if (n == 0 || n > 16 || (n < s.n && s.p[n] != ' ' && s.p[n] != '\t'))
		return false;
	text_skip(&s, n);
	*in = s;
	*ret = v;
	return true;
}

/* Takes " (BuildId: HEX)" off the end. */
static void take_build_id(struct slice *io, struct frame *f)
{
	const struct slice mark = SLICE("(BuildId: ");
	size_t open = text_last(*io, '(');
	struct slice id;

	if (open == io->n || !text_ends(*io, SLICE(")")))
		return;
	id = (struct slice){io->p + open, io->n - open - 1};
	if (!scan_lit(&id, mark))
		return;
	for (size_t i = 0; i < id.n; i++)
		if (!text_hex(id.p[i]))
			return;
	f->build_id = id;
	io->n = open;
	*io = text_trim(*io);
}

/* "/bin/t+0x5ce92": the offset behind the last '+'. */
static bool split_offset(struct slice in, struct slice *ret_head, uint64_t *ret)
{
	size_t plus = text_last(in, '+');
	struct slice tail = {in.p + plus, in.n - plus};

	if (!scan_lit(&tail, SLICE("+0x")) || !scan_u64(&tail, 16, UINT64_MAX, ret) || tail.n > 0)
		return false;
	*ret_head = (struct slice){in.p, plus};
	return true;
}

/* Takes "(MODULE+0xOFFSET)", "(/MODULE)" or "(<unknown module>)" off the end;
 * what else is in parentheses are arguments. */
static void take_module(struct slice *io, struct frame *f)
{
	size_t open = text_last(*io, '(');
	struct slice in;

	if (open == io->n || !text_ends(*io, SLICE(")")) ||
	    (open > 0 && io->p[open - 1] != ' ' && io->p[open - 1] != '\t'))
		return;
	in = (struct slice){io->p + open + 1, io->n - open - 2};
	if (split_offset(in, &f->module, &f->offset))
		f->has_offset = true;
	else if (text_begins(in, SLICE("/")) || slice_eq(in, SLICE("<unknown module>")))
		f->module = in;
	else
		return;
	io->n = open;
	*io = text_trim(*io);
}

/* Takes ":DIGITS" off the end. */
static bool take_number(struct slice *io, uint64_t *ret)
{
	size_t colon = text_last(*io, ':');
	struct slice tail = {io->p + colon, io->n - colon};

	if (!scan_lit(&tail, SLICE(":")) || !scan_u64(&tail, 10, UINT32_MAX, ret) || tail.n > 0)
		return false;
	io->n = colon;
	return true;
}

static bool has_source_suffix(struct slice s)
{
	static const struct slice suffixes[] = {
	    {".c", 2},	 {".cc", 3},  {".cpp", 4}, {".cxx", 4}, {".h", 2},   {".hh", 3},
	    {".hpp", 4}, {".hxx", 4}, {".inc", 4}, {".inl", 4}, {".S", 2},   {".s", 2},
	    {".rs", 3},	 {".go", 3},  {".C", 2},   {".c++", 4}, {".ii", 3},  {".m", 2},
	    {".mm", 3},	 {".y", 2},   {".l", 2},   {".tcc", 4}, {".def", 4}, {".o", 2},
	};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (s.n > suffixes[i].n && text_ends(s, suffixes[i]))
			return true;
	return false;
}

/* FILE[:LINE[:COLUMN]] */
static void set_file(struct slice token, struct frame *f)
{
	uint64_t last = 0, before = 0;

	if (take_number(&token, &last)) {
		if (take_number(&token, &before)) {
			f->line = before;
			f->column = last;
		} else {
			f->line = last;
		}
	}
	if (!slice_eq(token, SLICE("??")) && !slice_eq(token, SLICE("<null>")))
		f->file = token;
}

static bool is_file(struct slice token)
{
	uint64_t n;

	if (slice_eq(token, SLICE("<null>")))
		return true;
	if (take_number(&token, &n)) {
		take_number(&token, &n);
		return token.n > 0;
	}
	for (size_t i = 0; i < token.n; i++)
		if (text_one_of(token.p[i], "()<>,*&"))
			return false;
	return has_source_suffix(token) || memchr(token.p, '/', token.n) != NULL;
}

/* Where an absolute path begins: the first " /" outside of parentheses; or s.n. */
static size_t absolute_path(struct slice s)
{
	size_t depth = 0;

	for (size_t i = 0; i + 1 < s.n; i++) {
		if (s.p[i] == '(')
			depth++;
		else if (s.p[i] == ')' && depth > 0)
			depth--;
		else if (depth == 0 && s.p[i] == ' ' && s.p[i + 1] == '/')
			return i;
	}
	return s.n;
}

static void split_file(struct slice in, struct frame *f)
{
	size_t at = absolute_path(in);
	uint64_t offset;

	if (at == in.n)
		at = text_last(in, ' ');
	if (at < in.n && is_file((struct slice){in.p + at + 1, in.n - at - 1})) {
		set_file((struct slice){in.p + at + 1, in.n - at - 1}, f);
		in.n = at;
	}
	in = text_trim(in);
	split_offset(in, &in, &offset);
	if (!slice_eq(in, SLICE("<null>")) && !slice_eq(in, SLICE("<unknown>")))
		f->function = in;
}

/* Behind number and address. */
static bool parse_rest(struct slice in, bool has_address, struct frame *f)
{
	bool has_in = has_address && scan_lit(&in, SLICE("in "));

	in = text_trim(in);
	take_build_id(&in, f);
	f->text = in;
	take_module(&in, f);
	if (!has_address && !f->has_offset)
		return false; /* without an address only TSan's form is a frame */
	if (has_address && !has_in && f->module.n == 0 &&
	    (in.n == 0 || slice_eq(in, SLICE("in")) || memchr(in.p, '/', in.n) ||
	     memchr(in.p, '\\', in.n)))
		return false;
	split_file(in, f);
	return true;
}

bool frame_parse(struct slice line, struct frame *ret)
{
	struct frame f = {0};
	bool has_address;

	scan_blanks(&line);
	/* A tab behind the number makes it a status line of libFuzzer. */
	if (!scan_lit(&line, SLICE("#")) || !scan_u64(&line, 10, UINT32_MAX, &f.number) ||
	    line.n == 0 || line.p[0] != ' ')
		return false;
	scan_blanks(&line);
	has_address = address(&line, &f.pc);
	if (has_address)
		scan_blanks(&line);
	if (!parse_rest(line, has_address, &f))
		return false;
	*ret = f;
	return true;
}
