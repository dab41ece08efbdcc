/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_MUST_H
#define TESTS_FUZZ_MUST_H

/* Checks an invariant.  When it is violated, the process ends, and the engine keeps the input. */
#include <stdlib.h>

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

#endif
