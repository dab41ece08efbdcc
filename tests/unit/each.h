/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EACH_H
#define TESTS_EACH_H

/* A fresh directory for each test: dir; *state is its address.  Include unit.h first. */
#include "tests/unit/scratch.h"

static struct scratch dir;

static inline int each_setup(void **state)
{
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	if (state)
		*state = &dir;
	return 0;
}

static inline int each_teardown(void **state)
{
	(void)state;
	scratch_remove(&dir);
	return 0;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

#endif
