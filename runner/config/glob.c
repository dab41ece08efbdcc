/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/config/layers.h"

enum { GLOB_MAX = 256 };

/* Behind the bracket expression that begins at p ("[abc]", "[!a-z]", "[]x]",
 * "[[:alpha:]]"); NULL: it has no end. */
static const char *bracket_end(const char *p)
{
	p++;
	if (*p == '!' || *p == '^')
		p++;
	if (*p == ']')
		p++;
	for (; *p && *p != ']'; p++) {
		if (*p == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '=')) {
			const char close[] = {p[1], ']', '\0'};
			const char *end = strstr(p + 2, close);

			if (!end)
				return NULL;
			p = end + 1;
		} else if (*p == '\\' && p[1]) {
			p++;
		}
	}
	return *p ? p + 1 : NULL;
}

static const char *glob_why_not(const char *p)
{
	while (*p) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return "it has a control character";
		if (*p == '\\' && !p[1])
			return "it ends with a backslash";
		if (*p == '[') {
			p = bracket_end(p);
			if (!p)
				return "a [ without its ]";
			continue;
		}
		p += *p == '\\' ? 2 : 1;
	}
	return NULL;
}

bool glob_ok(const char *glob, const char **why)
{
	size_t n = strlen(glob);

	*why = n == 0	      ? "it is empty"
	       : n > GLOB_MAX ? "it has more than 256 bytes"
			      : glob_why_not(glob);
	return !*why;
}
