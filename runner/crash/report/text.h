/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_REPORT_TEXT_H
#define RUNNER_CRASH_REPORT_TEXT_H

#include "base/scan.h"

/* Helpers for slices of a report. */

static inline bool text_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool text_hex(char c)
{
	return text_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* A letter, a digit, '_' or '$': part of a name. */
static inline bool text_word(char c)
{
	return text_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '$';
}

static inline char text_lower(char c)
{
	if (c >= 'A' && c <= 'Z')
		return "abcdefghijklmnopqrstuvwxyz"[c - 'A'];
	return c;
}

static inline char text_upper(char c)
{
	if (c >= 'a' && c <= 'z')
		return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[c - 'a'];
	return c;
}

static inline void text_skip(struct slice *io, size_t n)
{
	io->p += n;
	io->n -= n;
}

static inline bool text_begins(struct slice s, struct slice head)
{
	return scan_lit(&s, head);
}

static inline bool text_ends(struct slice s, struct slice tail)
{
	return s.n >= tail.n && (tail.n == 0 || memcmp(s.p + s.n - tail.n, tail.p, tail.n) == 0);
}

/* The first occurrence, or NULL. */
static inline const char *text_find(struct slice s, struct slice needle)
{
	return s.n ? memmem(s.p, s.n, needle.p, needle.n) : NULL;
}

static inline bool text_has(struct slice s, struct slice needle)
{
	return text_find(s, needle) != NULL;
}

/* Moves *io past the first occurrence; false and unmoved when there is none. */
static inline bool text_after(struct slice *io, struct slice needle)
{
	const char *hit = text_find(*io, needle);

	if (!hit)
		return false;
	text_skip(io, (size_t)(hit - io->p) + needle.n);
	return true;
}

/* Cuts *io before the first occurrence; false and unchanged when there is none. */
static inline bool text_cut(struct slice *io, struct slice needle)
{
	const char *hit = text_find(*io, needle);

	if (hit)
		io->n = (size_t)(hit - io->p);
	return hit != NULL;
}

/* Removes tail from the end of *io. */
static inline bool text_drop(struct slice *io, struct slice tail)
{
	if (!text_ends(*io, tail))
		return false;
	io->n -= tail.n;
	return true;
}

static inline bool text_one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

/* Removes characters of set from both ends. */
static inline struct slice text_strip(struct slice s, const char *set)
{
	while (s.n > 0 && text_one_of(s.p[0], set))
		text_skip(&s, 1);
	while (s.n > 0 && text_one_of(s.p[s.n - 1], set))
		s.n--;
	return s;
}

static inline struct slice text_trim(struct slice s)
{
	return text_strip(s, " \t\r\n\v\f");
}

/* The leading text without blanks. */
static inline struct slice text_first_word(struct slice s)
{
	size_t n = 0;

	while (n < s.n && s.p[n] != ' ' && s.p[n] != '\t')
		n++;
	return (struct slice){s.p, n};
}

/* The text behind the last '/' or '\'. */
static inline struct slice text_basename(struct slice s)
{
	size_t at = s.n;

	while (at > 0 && s.p[at - 1] != '/' && s.p[at - 1] != '\\')
		at--;
	text_skip(&s, at);
	return s;
}

/* The last c in s, or s.n. */
static inline size_t text_last(struct slice s, char c)
{
	const char *hit = s.n ? memrchr(s.p, c, s.n) : NULL;

	return hit ? (size_t)(hit - s.p) : s.n;
}

/* Copies s into a string of cap bytes, cut to fit, with '?' for unprintable bytes. */
static inline void text_copy(char *to, size_t cap, struct slice s)
{
	size_t n = s.n < cap ? s.n : cap - 1;

	for (size_t i = 0; i < n; i++) {
		to[i] = '?';
		if (s.p[i] >= ' ' && s.p[i] <= '~')
			to[i] = s.p[i];
	}
	to[n] = '\0';
}

#endif
