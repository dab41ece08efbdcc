/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* The length of a character by its first byte; 0: no character starts with this byte. */
static size_t bytes_by(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc0 || first >= 0xf8)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* RFC 3629: shortest form, no surrogates, up to U+10FFFF. */
size_t utf8_next(struct slice s, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = s.n ? (unsigned char)s.p[0] : 0x80;
	size_t n = bytes_by(first);
	uint32_t c = n < 2 ? first : first & (0x7fU >> n);

	if (n == 0 || n > s.n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if (((unsigned char)s.p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | ((unsigned char)s.p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

bool utf8_is_plain(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} odd[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},	 {0x061c, 0x061c},
		   {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
		   {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xfff0, 0xffff}, {0xe0000, 0xe0fff}};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (c >= odd[i].first && c <= odd[i].last)
			return false;
	return true;
}

size_t utf8_shown(struct slice s, char out[UTF8_SHOWN_MAX])
{
	uint32_t c = 0;
	size_t n = utf8_next(s, &c);

	if (n == 0 || c < 0x20 || c == 0x7f)
		snprintf(out, UTF8_SHOWN_MAX, "\\x%02x", (unsigned char)s.p[0]);
	else if (utf8_is_plain(c))
		snprintf(out, UTF8_SHOWN_MAX, "%.*s", (int)n, s.p);
	else
		snprintf(out, UTF8_SHOWN_MAX, c > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)c);
	return n ? n : 1;
}
