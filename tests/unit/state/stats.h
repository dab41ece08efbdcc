/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_STATE_STATS_H
#define TESTS_UNIT_STATE_STATS_H

/* A fresh state directory for each test, with its stats/.  Include unit.h first. */
#include "base/fault.h"
#include "runner/state/state.h"
#include "tests/unit/scratch.h"

static struct scratch dir;
static struct state state_of; /* only its directory counts */

static inline int each_setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	assert_int_equal(mkdirat(dir.fd, "stats", 0755), 0);
	state_of = (struct state){.dirfd = dir.fd, .lock_fd = -1};
	return 0;
}

static inline int each_teardown(void **state)
{
	(void)state;
	fault_arm(0, FAULT_FAIL);
	scratch_remove(&dir);
	return 0;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, each_setup, each_teardown)

#endif
