/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_REPORTS_PREFIXES_H
#define TESTS_REPORTS_PREFIXES_H

/* A report as a log keeps it: with a prefix before each line. */
#include "base/scan.h"

#include <stdio.h>
#include <stdlib.h>

enum { PREFIXES = 19, PREFIX_MOST = 64 };

/* Writes the prefix of kind `way` for the line of this number. */
static inline size_t prefix_print(unsigned way, unsigned line, char ret[PREFIX_MOST])
{
	unsigned s = line / 7 % 60, us = line * 5431 % 1000000;
	int n = 0;

#define WAY(i, ...)                                          \
	case i:                                              \
		n = snprintf(ret, PREFIX_MOST, __VA_ARGS__); \
		break
	switch (way % PREFIXES) {
		WAY(0, "[x] ");
		WAY(1, "2026-11-22T00:00:%02uZ ", s);
		WAY(2, "2026-11-22T00:00:%02u.%06u1Z ", s, us);
		WAY(3, "fuzz-1: ");
		WAY(4, "fuzzer-1  | ");
		WAY(5, "Nov 22 00:00:%02u host app[12]: ", s);
		WAY(6, "[%5u.%06u] ", 95 + s, us);
		WAY(7, "E/libFuzzer( 123): ");
		WAY(8, "11-22 10:01:%02u.%03u  99  99 F DEBUG   : ", s, us / 1000);
		WAY(9, "%u:", line + 1);
		WAY(10, "[pod/fuzz-1/web] ");
		WAY(11, "\033[36mfuzzer-1  | \033[0m");
		WAY(12, "fuzzer-1  | 2026-11-22T00:00:%02u.%06u123Z ", s, us);
		WAY(13, "%u %s\t", 1763769600 + s, "web");
		WAY(14, "2026-11-22 00:00:%02u,%03u INFO out: ", s, us / 1000);
		/* indentation, and `grep -Hn` */
		WAY(15, "        ");
		WAY(16, "\t");
		WAY(17, "   ");
		WAY(18, "logs/crash-12.txt:%u:", line + 9);
	}
#undef WAY
	return (size_t)n;
}

/* Returns the text with a prefix before each line, in memory to free(); NULL: no such kind. */
static inline char *prefix_all(struct slice text, unsigned way, size_t *ret_n)
{
	size_t lines = 1, n = 0;
	struct slice line;
	char *to;

	for (size_t i = 0; i < text.n; i++)
		lines += text.p[i] == '\n';
	to = malloc(text.n + lines * (PREFIX_MOST + 1));
	for (unsigned i = 0; to && scan_line(&text, &line); i++) {
		n += prefix_print(way, i, to + n);
		memcpy(to + n, line.p, line.n);
		n += line.n;
		/* Editors and some logs remove blanks at the ends of lines. */
		while (line.n == 0 && i % 2 && n > 0 && to[n - 1] == ' ')
			n--;
		to[n++] = '\n';
	}
	*ret_n = n;
	return to;
}

#endif
