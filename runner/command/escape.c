/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/escape.h"

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
