/* SPDX-License-Identifier: Apache-2.0 */
#include "base/escape.h"

#include "base/utf8.h"

#include <string.h>

const char *escape(const char *s, char out[ESCAPE_MAX])
{
	struct slice rest = slice_of(s);
	size_t at = 0;

	while (rest.n > 0) {
		char shown[UTF8_SHOWN_MAX];
		size_t n = utf8_shown(rest, shown), len = strlen(shown);

		if (at + len >= ESCAPE_MAX)
			break;
		memcpy(out + at, shown, len);
		at += len;
		rest = (struct slice){rest.p + n, rest.n - n};
	}
	out[at] = '\0';
	return out;
}

const char *escape_ascii(struct slice text, char out[ESCAPE_ASCII_MAX])
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (n + 8 > ESCAPE_ASCII_MAX) { /* "\xNN", "..." and the end */
			memcpy(out + n, "...", 3);
			n += 3;
			break;
		}
		if (c >= ' ' && c < 0x7f && c != '\\') {
			out[n++] = (char)c;
			continue;
		}
		out[n++] = '\\';
		out[n++] = 'x';
		out[n++] = digits[c >> 4];
		out[n++] = digits[c & 15];
	}
	out[n] = '\0';
	return out;
}
