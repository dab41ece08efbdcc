/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/escape.h"

#include <stdio.h>

const char *escape(const char *s, char out[ESCAPE_MAX])
{
	unsigned n = 0;

	for (; *s && n + 5 < ESCAPE_MAX; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x20 || c == 0x7f)
			n += (unsigned)snprintf(out + n, ESCAPE_MAX - n, "\\x%02x", c);
		else
			out[n++] = *s;
	}
	out[n] = '\0';
	return out;
}
