/* SPDX-License-Identifier: Apache-2.0 */
/* Which literals of a program may be tokens of its input. */
#include "runner/dictionary/words.h"

/* Messages and the program's own names are longer than most tokens. */
enum { TEXT_MIN = 2, BINARY_MIN = 2, BINARY_MAX = 16, MESSAGE_MIN = 5, TOKEN_MAX = 16 };

static bool words_filter_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool words_filter_is_text(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((s.p[i] < ' ' || s.p[i] > '~') && s.p[i] != '\t' && s.p[i] != '\n' &&
		    s.p[i] != '\r')
			return false;
	return true;
}

static bool is_one_byte(struct slice s)
{
	size_t i = 1;

	while (i < s.n && s.p[i] == *s.p)
		i++;
	return i == s.n;
}

/* printf's conversions: "%d", "%-8.3lu".  Before any other character, "%" may be part of a
 * token. */
static bool is_conversion(struct slice s)
{
	size_t i = 1;

	while (i < s.n && s.p[i] && strchr("-+ #0123456789.*hlzjtL", s.p[i]))
		i++;
	return i < s.n && s.p[i] && strchr("diouxXcsfFeEgGpn", s.p[i]) != NULL;
}

static bool is_format(struct slice s)
{
	for (size_t i = 0; i + 1 < s.n; i++)
		if (s.p[i] == '%' && is_conversion((struct slice){s.p + i, s.n - i}))
			return true;
	return false;
}

static bool words_filter_ends_with(struct slice s, const char *end)
{
	size_t n = strlen(end);

	return s.n > n && memcmp(s.p + s.n - n, end, n) == 0;
}

/* Paths of files, and source files as assertions print them. */
static bool words_filter_is_path(struct slice s)
{
	static const char *const sources[] = {".c",  ".h",   ".cc", ".cpp", ".cxx",
					      ".hh", ".hpp", ".rs", ".go",  ".inc"};

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (words_filter_ends_with(s, sources[i]))
			return true;
	return s.n > 4 && *s.p == '/' && words_filter_is_letter(s.p[1]) &&
	       memchr(s.p + 1, '/', s.n - 1);
}

/* The expression of an assertion: "size != NULL", "parser->event". */
static bool is_expression(struct slice s)
{
	static const char *const marks[] = {
	    "->", " == ", " != ", " >= ", " <= ", " && ", " || ", " > ", " < "};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *hit = memmem(s.p, s.n, marks[i], strlen(marks[i]));

		if (hit && hit > s.p && hit + strlen(marks[i]) < s.p + s.n)
			return true;
	}
	return memmem(s.p, s.n, "sizeof(", 7) != NULL;
}

/* Words of a sentence: two or more, of letters, all but the first in lower case. */
static bool is_message(struct slice s)
{
	size_t spaces = 0, others = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == ' ' && i > 0 && i + 1 < s.n) {
			spaces++;
			others += !(s.p[i + 1] >= 'a' && s.p[i + 1] <= 'z');
		}
	}
	if (s.n > MESSAGE_MIN && words_filter_is_letter(*s.p) && s.p[s.n - 1] == '\n')
		return true;
	if (spaces == 0)
		return false;
	return spaces > 2 || (others == 0 && s.n > MESSAGE_MIN) || s.n > TOKEN_MAX;
}

static uint32_t text_penalty(struct slice s)
{
	/* An escape: tables for printing bytes have 256 of them. */
	if (s.n > 2 && *s.p == '\\' && s.p[1] == 'x')
		return WORD_NONE;
	if (s.n < TEXT_MIN || is_format(s) || words_filter_is_path(s) || is_message(s) ||
	    is_expression(s))
		return WORD_NONE;
	if (s.n > TOKEN_MAX)
		return 2;
	return memchr(s.p, ' ', s.n) ? 1 : 0;
}

uint32_t word_penalty(struct slice bytes)
{
	if (bytes.n == 0 || bytes.n > WORD_BYTES)
		return WORD_NONE;
	if (words_filter_is_text(bytes))
		return text_penalty(bytes);
	if (bytes.n < BINARY_MIN || bytes.n > BINARY_MAX || is_one_byte(bytes))
		return WORD_NONE;
	return 1;
}
