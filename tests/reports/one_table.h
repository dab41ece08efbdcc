/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_REPORTS_ONE_TABLE_H
#define TESTS_REPORTS_ONE_TABLE_H

/* The harness of a program with one table of planted bugs, `bugs`.  Include it last. */
#include <string.h>

NOINLINE static int dispatch(const struct bug *b)
{
	int r = b->run();

	return HIDE(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int r = 0;

	for (const struct bug *b = bugs; b->name; b++)
		if (strlen(b->name) == size && memcmp(b->name, data, size) == 0)
			r = dispatch(b);
	return HIDE(r) & 0;
}

#endif
