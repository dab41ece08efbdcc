/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/text.h"

void text_copy(char *to, size_t cap, struct slice s)
{
	size_t n = s.n < cap ? s.n : cap - 1;

	for (size_t i = 0; i < n; i++) {
		to[i] = '?';
		if (s.p[i] >= ' ' && s.p[i] <= '~')
			to[i] = s.p[i];
	}
	to[n] = '\0';
}
