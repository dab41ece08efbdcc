/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/frame.h"

#include "runner/crash/report/text.h"

/* Functions and paths may hold blanks, parentheses and commas.  So a line is parsed from its right
 * end: build id, module, file with line and column.  The rest is the function. */

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

/* Removes " (BuildId: HEX)" from the end. */
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

/* Removes "(MODULE+0xOFFSET)", "(/MODULE)" or "(<unknown module>)" from the end; other parentheses
 * hold arguments. */
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

/* Removes ":DIGITS" from the end. */
static bool frame_take_number(struct slice *io, uint64_t *ret)
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

/* "crate.1a2b3c4d-cgu.0": Rust prints the object's name for a function without a line. */
static bool is_rust_object(struct slice s)
{
	size_t n = s.n;

	while (n > 0 && text_digit(s.p[n - 1]))
		n--;
	s.n = n;
	return n > 0 && text_ends(s, SLICE("-cgu.")) && memchr(s.p, ' ', s.n) == NULL;
}

/* FILE[:LINE[:COLUMN]] */
static void set_file(struct slice token, struct frame *f)
{
	uint64_t last = 0, before = 0;

	if (frame_take_number(&token, &last)) {
		if (frame_take_number(&token, &before)) {
			f->line = before;
			f->column = last;
		} else {
			f->line = last;
		}
	}
	if (!slice_eq(token, SLICE("??")) && !slice_eq(token, SLICE("<null>")))
		f->file = token;
}

static bool frame_is_file(struct slice token)
{
	uint64_t n;

	if (slice_eq(token, SLICE("<null>")))
		return true;
	if (frame_take_number(&token, &n)) {
		frame_take_number(&token, &n);
		return token.n > 0;
	}
	for (size_t i = 0; i < token.n; i++)
		if (text_one_of(token.p[i], "()<>,*&"))
			return false;
	return has_source_suffix(token) || is_rust_object(token) ||
	       memchr(token.p, '/', token.n) != NULL;
}

/* The beginning of an absolute path: the first " /" outside of parentheses; or s.n. */
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

/* The beginning of the file; s.n: there is none.  The message of a trap can hold paths, so only its
 * last word can be the file. */
static size_t find_file(struct slice s)
{
	bool trap = text_begins(s, SLICE(FRAME_TRAP));
	size_t at = trap ? s.n : absolute_path(s);
	struct slice token;
	uint64_t n;

	if (at == s.n)
		at = text_last(s, ' ');
	if (at == s.n)
		return s.n;
	token = (struct slice){s.p + at + 1, s.n - at - 1};
	if (!frame_is_file(token))
		return s.n;
	if (trap && !text_begins(token, SLICE("/")) && !has_source_suffix(token) &&
	    !frame_take_number(&token, &n))
		return s.n;
	return at;
}

static void split_file(struct slice in, struct frame *f)
{
	size_t at = find_file(in);
	uint64_t offset;

	if (at < in.n) {
		set_file((struct slice){in.p + at + 1, in.n - at - 1}, f);
		in.n = at;
	}
	in = text_trim(in);
	split_offset(in, &in, &offset);
	if (!slice_eq(in, SLICE("<null>")) && !slice_eq(in, SLICE("<unknown>")))
		f->function = in;
}

/* The length of "FILE:LINE" or "FILE:LINE:COLUMN" at the beginning, before a blank or the end;
 * 0: there is none.  Blanks are part of an absolute path only. */
static size_t place_length(struct slice s)
{
	bool absolute = text_begins(s, SLICE("/"));

	for (size_t i = 1; i + 1 < s.n; i++) {
		size_t end = i + 1;

		if (!absolute && text_one_of(s.p[i], " \t(<"))
			return 0;
		if (s.p[i] != ':')
			continue;
		while (end < s.n && text_digit(s.p[end]))
			end++;
		if (end > i + 1 && (end == s.n || s.p[end] == ' '))
			return end;
	}
	return 0;
}

/* Removes the place of the frame before from the beginning. */
static bool take_earlier(struct slice *io, struct frame *f)
{
	struct frame place = {0};
	struct slice file;
	size_t n = place_length(*io);

	if (n == 0)
		return false;
	set_file((struct slice){io->p, n}, &place);
	file = place.file;
	if (!text_begins(file, SLICE("/")) && !has_source_suffix(file))
		return false;
	f->earlier.here = true;
	f->earlier.file = file;
	f->earlier.line = place.line;
	f->earlier.column = place.column;
	text_skip(io, n);
	*io = text_trim(*io);
	return true;
}

/* Sets the function behind the place of the frame before.  Without a function the frame is
 * empty. */
static void set_shifted(struct slice in, struct frame *f)
{
	f->text = f->function = in;
	if (in.n == 0) {
		f->module = in;
		f->has_offset = false;
	}
}

/* Parses the text behind number and address. */
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
	if (has_in && take_earlier(&in, f))
		set_shifted(in, f);
	else
		split_file(in, f);
	return true;
}

/* Parses "#3 0x55f0 " or "#3 ", the text before function, file and module. */
static bool take_begin(struct slice *io, struct frame *f, bool *ret_has_address)
{
	scan_blanks(io);
	/* A tab behind the number: a status line of libFuzzer. */
	if (!scan_lit(io, SLICE("#")) || !scan_u64(io, 10, UINT32_MAX, &f->number) || io->n == 0 ||
	    io->p[0] != ' ')
		return false;
	scan_blanks(io);
	*ret_has_address = address(io, &f->pc);
	if (*ret_has_address)
		scan_blanks(io);
	return true;
}

bool frame_begins(struct slice line, uint64_t *ret_number, struct slice *ret_rest)
{
	struct frame f = {0};
	bool has_address;

	if (!take_begin(&line, &f, &has_address) || !has_address || !scan_lit(&line, SLICE("in ")))
		return false;
	*ret_number = f.number;
	*ret_rest = line;
	return true;
}

bool frame_parse(struct slice line, struct frame *ret)
{
	struct frame f = {0};
	bool has_address;

	if (!take_begin(&line, &f, &has_address) || !parse_rest(line, has_address, &f))
		return false;
	*ret = f;
	return true;
}

bool frame_is_harness(struct slice function)
{
	struct slice in = function;

	if (text_begins(function, SLICE("LLVMFuzzerTestOneInput")))
		return true;
	while (in.n > 0 && text_digit(in.p[in.n - 1]))
		in.n--;
	if (in.n == function.n || !text_drop(&in, SLICE(".func")))
		return false;
	in = text_basename(in);
	return text_after(&in, SLICE(".Fuzz")) && !memchr(in.p, '.', in.n) &&
	       (in.n == 0 || in.p[0] < 'a' || in.p[0] > 'z');
}
