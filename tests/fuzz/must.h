/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_MUST_H
#define TESTS_FUZZ_MUST_H

/* What holds of every input: where it does not, the process ends, and the input is kept. */
#include <stdlib.h>

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

#endif
