/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SCRATCH_DIR_H
#define TESTS_SCRATCH_DIR_H

/* One scratch directory for a test program: each test begins with an empty directory. */
#include "tests/unit/scratch.h"

static struct scratch dir;

static inline int begin(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	scratch_remove(&dir);
	return 0;
}

#endif
