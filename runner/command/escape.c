/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/escape.h"

#include <stdbool.h>
#include <stdio.h>

const char *escape(const char *s, char out[ESCAPE_MAX])
{
	unsigned char before = 0;
	unsigned n = 0;

	for (; *s && n + 5 < ESCAPE_MAX; s++) {
		unsigned char c = (unsigned char)*s;
		/* U+0080 to U+009F in UTF-8: terminals take U+009B for ESC and '['. */
		bool c1 = before == 0xc2 && c >= 0x80 && c < 0xa0;

		before = c;
		if (c < 0x20 || c == 0x7f || c1)
			n += (unsigned)snprintf(out + n, ESCAPE_MAX - n, "\\x%02x", c);
		else
			out[n++] = *s;
	}
	out[n] = '\0';
	return out;
}
