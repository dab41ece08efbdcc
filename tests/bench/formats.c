/* SPDX-License-Identifier: Apache-2.0 */
/* Twelve input formats, each with a planted overflow that takes structure to reach: what
 * minimising is measured with.  -DFORMAT=1 to 12.  With -DGENERATE a program that writes a large
 * input which fails. */
#ifndef FORMAT
#define FORMAT 1
#endif

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef GENERATE
static const char text[] = "the quick brown fox jumps over the lazy dog; ";

static void put(uint32_t v, size_t n)
{
	while (n-- > 0)
		putchar((int)(v >> 8 * n & 0xff));
}

static void put_text(size_t n)
{
	for (size_t i = 0; i < n; i++)
		putchar(text[i % (sizeof(text) - 1)]);
}

static void put_times(const char *what, unsigned n)
{
	while (n-- > 0)
		fputs(what, stdout);
}

static void put_records(void)
{
	for (unsigned i = 0; i < 24; i++) {
		put(40 + i, 2);
		put_text(20);
		fputs(i == 12 ? "BUG" : "bug", stdout);
		put_text(17 + i);
	}
}

/* The innermost value, and its neighbours at each level. */
static void put_tlv(void)
{
	static const unsigned char sizes[] = {200, 140, 80};

	put(0x0320, 2);
	put_text(0x20);
	for (size_t i = 0; i < 3; i++) {
		put(1, 1);
		put(sizes[i], 1);
		put(0x0312, 2);
		put_text(0x12);
	}
	put(0x0214, 2);
	put_text(0x14);
	for (size_t i = 3; i-- > 0;) {
		/* What is left of this level. */
		unsigned inner = i == 2 ? 2 + 0x14 : 2u + sizes[i + 1];
		unsigned left = sizes[i] - (2 + 0x12) - inner;

		put(3, 1);
		put(left - 2, 1);
		put_text(left - 2);
	}
	put(0x0320, 2);
	put_text(0x20);
}

static void put_lines(void)
{
	put_times("[paths]\nroot = /usr/share\ncache = /var/cache\n# a remark\n", 6);
	put_times("[memory]\nfirst = 12\nsecond = twenty\n", 2);
	fputs("limit = 4096 kilobytes of it\n", stdout);
	put_times("third = 3\n[network]\nport = 8080\nhost = localhost\n", 6);
}

static void put_nesting(void)
{
	put_times("[1,2,3]", 20);
	fputs("{[1,{[2,[3,{$}]]}],4}", stdout);
	put_times("{a:[b]}", 20);
}

static void put_checksum(void)
{
	char all[600] = "CK";
	uint8_t sum = 0;

	for (size_t i = 2; i + 1 < sizeof(all); i++)
		all[i] = i == 300 ? '!' : text[i % (sizeof(text) - 1)];
	for (size_t i = 0; i + 1 < sizeof(all); i++)
		sum ^= (uint8_t)all[i];
	all[sizeof(all) - 1] = (char)sum;
	fwrite(all, 1, sizeof(all), stdout);
}

static void put_chunk(const char *type, const char *begin, size_t n)
{
	put((uint32_t)(strlen(begin) + n), 4);
	fputs(type, stdout);
	fputs(begin, stdout);
	put_text(n);
}

static void put_chunks(void)
{
	fputs("IMG1", stdout);
	for (unsigned i = 0; i < 5; i++)
		put_chunk("JUNK", "", 40 + i);
	put_chunk("HEAD", "abcd", 0);
	for (unsigned i = 0; i < 5; i++)
		put_chunk("DATA", "", 50 + i);
	put_chunk("TEXT", "<", 30);
	put_chunk("DONE", "", 20);
}

static void put_numbers(void)
{
	put(180, 2);
	for (uint32_t i = 0; i < 180; i++)
		put(i == 90 ? 0xfffffffc : 77 * i, 4);
}

static void put_hex(void)
{
	for (unsigned i = 0; i < 400; i++)
		printf("%02x", i >= 200 && i < 204 ? "Evil"[i - 200] : text[i % 40]);
}

static void put_table(void)
{
	put_times("one,two,three,four,five\n", 2);
	fputs("1,2,3 and a few,4,5\n", stdout);
	put_times("six,seven,eight,nine,ten\n", 20);
}

static void put_machine(void)
{
	put_times("1 2 + ", 1);
	put_times("1 * ", 60);
	put_times("2 * 1 + ", 9);
	fputs("?", stdout);
	put_times(" 1 +", 30);
}

static void put_tags(void)
{
	put_times("<x>some text<y>more</y></x>", 10);
	fputs("<a>begin<d>it</d><c>in it<e>so</e><b>here</b></c></a>", stdout);
	put_times("<x>some text<y>more</y></x>", 10);
}

static void put_offsets(void)
{
	fputs("OFFS", stdout);
	put(408, 2);
	put(60, 2);
	put_text(400);
	fputs("OOPS", stdout);
	put_text(200);
}

int main(void)
{
	static void (*const formats[])(void) = {
	    put_records, put_tlv, put_lines, put_nesting, put_checksum, put_chunks,
	    put_numbers, put_hex, put_table, put_machine, put_tags,	put_offsets,
	};

	formats[FORMAT - 1]();
	return ferror(stdout);
}
#else

__attribute__((noinline)) static void planted_overflow(size_t n)
{
	volatile char *p = malloc(4);

	p[4 + n % 4] = 1;
	free((void *)p);
}

static uint32_t be(const uint8_t *p, size_t n)
{
	uint32_t v = 0;

	while (n-- > 0)
		v = v << 8 | *p++;
	return v;
}

/* Records with a length of two bytes before each: one has a word in it. */
static void records(const uint8_t *p, size_t n)
{
	while (n >= 2) {
		size_t len = be(p, 2);

		if (len > n - 2)
			return;
		if (len >= 3 && memmem(p + 2, len, "BUG", 3))
			planted_overflow(len);
		p += 2 + len;
		n -= 2 + len;
	}
}

/* Type, length, value; values of type 1 contain such triples again. */
static void tlv_at(const uint8_t *p, size_t n, int depth)
{
	while (n >= 2) {
		size_t len = p[1];

		if (len > n - 2)
			return;
		if (p[0] == 1)
			tlv_at(p + 2, len, depth + 1);
		else if (p[0] == 2 && depth == 3 && len >= 5)
			planted_overflow(len);
		p += 2 + len;
		n -= 2 + len;
	}
}

static void tlv(const uint8_t *p, size_t n)
{
	tlv_at(p, n, 0);
}

/* "key = value" lines, in a section. */
static void lines(const uint8_t *p, size_t n)
{
	int in_section = 0;

	while (n > 0) {
		const uint8_t *end = memchr(p, '\n', n);
		size_t len = end ? (size_t)(end - p) : n;

		if (len > 0 && *p == '[')
			in_section = len == 8 && memcmp(p, "[memory]", 8) == 0;
		else if (in_section && len > 8 && memcmp(p, "limit = ", 8) == 0 && len - 8 > 12)
			planted_overflow(len);
		p += len + (end != NULL);
		n -= len + (end != NULL);
	}
}

/* Brackets must match; six deep is too deep. */
static void nesting(const uint8_t *p, size_t n)
{
	char open[64];
	size_t depth = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '[' || p[i] == '{') {
			if (depth == sizeof(open))
				return;
			open[depth++] = (char)p[i];
		} else if (p[i] == ']' || p[i] == '}') {
			if (depth == 0 || open[depth - 1] != p[i] - 2)
				return;
			depth--;
		} else if (p[i] == '$' && depth == 6 && open[0] == '{') {
			planted_overflow(depth);
		}
	}
}

/* The last byte is the exclusive or of all others. */
static void checksum(const uint8_t *p, size_t n)
{
	uint8_t sum = 0;

	if (n < 8 || memcmp(p, "CK", 2) != 0)
		return;
	for (size_t i = 0; i + 1 < n; i++)
		sum ^= p[i];
	if (sum == p[n - 1] && memchr(p + 2, '!', n - 3))
		planted_overflow(n);
}

/* Chunks: length, type, data, as in an image. */
static void chunks(const uint8_t *p, size_t n)
{
	size_t seen = 0;

	if (n < 4 || memcmp(p, "IMG1", 4) != 0)
		return;
	for (p += 4, n -= 4; n >= 8;) {
		size_t len = be(p, 4);

		if (len > n - 8)
			return;
		if (memcmp(p + 4, "HEAD", 4) == 0 && len == 4)
			seen = 1;
		if (seen && memcmp(p + 4, "TEXT", 4) == 0 && len >= 6 && p[8] == '<')
			planted_overflow(len);
		p += 8 + len;
		n -= 8 + len;
	}
}

/* A count, then that many numbers; one of them is too large. */
static void numbers(const uint8_t *p, size_t n)
{
	size_t count = n >= 2 ? be(p, 2) : 0;

	if (n < 2 || n - 2 < 4 * count)
		return;
	for (size_t i = 0; i < count; i++)
		if (be(p + 2 + 4 * i, 4) > 0xfffffff0)
			planted_overflow(i);
}

/* Pairs of hexadecimal digits; they spell a word. */
static void hex(const uint8_t *p, size_t n)
{
	char text[4096];
	size_t m = 0;

	for (size_t i = 0; i + 1 < n && m < sizeof(text); i += 2) {
		char pair[3] = {(char)p[i], (char)p[i + 1], '\0'}, *end;

		text[m++] = (char)strtoul(pair, &end, 16);
		if (end != pair + 2)
			return;
	}
	if (memmem(text, m, "Evil", 4))
		planted_overflow(m);
}

/* A table: all rows have as many columns as the first row. */
static void table(const uint8_t *p, size_t n)
{
	size_t cells = 1, first = 0, row = 0, len = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\n') {
			if (row++ == 0)
				first = cells;
			else if (cells != first)
				return;
			cells = 1;
			len = 0;
		} else if (p[i] == ',') {
			cells++;
			len = 0;
		} else if (++len > 6 && row == 2 && first >= 3 && cells == 3) {
			planted_overflow(len);
		}
	}
}

/* A stack machine. */
static void machine(const uint8_t *p, size_t n)
{
	int stack[32], top = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] >= '0' && p[i] <= '9' && top < 32)
			stack[top++] = p[i] - '0';
		else if (p[i] == '+' && top >= 2)
			top--, stack[top - 1] += stack[top];
		else if (p[i] == '*' && top >= 2)
			top--, stack[top - 1] *= stack[top];
		else if (p[i] == '?' && top == 1 && stack[0] > 1000)
			planted_overflow((size_t)top);
		else if (p[i] != ' ')
			return;
	}
}

struct open_tags {
	char name[16];
	size_t depth;
};

static size_t close_tag(struct open_tags *t, char name)
{
	return t->depth > 0 && t->name[--t->depth] == name ? 4 : 0;
}

static size_t open_tag(struct open_tags *t, char name)
{
	if (t->depth == sizeof(t->name))
		return 0;
	if (name == 'b' && t->depth == 2 && memcmp(t->name, "ac", 2) == 0)
		planted_overflow(t->depth);
	t->name[t->depth++] = name;
	return 3;
}

/* Tags that must match. */
static void tags(const uint8_t *p, size_t n)
{
	struct open_tags open = {.depth = 0};

	for (size_t i = 0, len = 1; i + 3 < n && len > 0; i += len) {
		len = 1;
		if (p[i] == '<' && p[i + 1] == '/' && p[i + 3] == '>')
			len = close_tag(&open, (char)p[i + 2]);
		else if (p[i] == '<')
			len = p[i + 2] == '>' ? open_tag(&open, (char)p[i + 1]) : 0;
	}
}

/* A header has the position and the size of the data. */
static void offsets(const uint8_t *p, size_t n)
{
	size_t at, len;

	if (n < 8 || memcmp(p, "OFFS", 4) != 0)
		return;
	at = be(p + 4, 2);
	len = be(p + 6, 2);
	if (at < 8 || at > n || len > n - at || len < 4)
		return;
	if (memcmp(p + at, "OOPS", 4) == 0)
		planted_overflow(len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const formats[])(const uint8_t *p, size_t n) = {
	    records, tlv, lines, nesting, checksum, chunks,
	    numbers, hex, table, machine, tags,	    offsets,
	};

	formats[FORMAT - 1](data, size);
	return 0;
}
#endif
