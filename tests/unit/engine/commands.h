/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_ENGINE_COMMANDS_H
#define TESTS_UNIT_ENGINE_COMMANDS_H

/* Command lines of an engine.  Include unit.h first. */
#include "base/fault.h"
#include "runner/engine/engine.h"

#include <errno.h>

/* Calls make() with each of its allocations failing in turn; no memory may leak.  Returns the first
 * number beyond the last allocation. */
static inline unsigned fail_each_allocation(int (*make)(struct engine_cmd *ret, struct err *e))
{
	for (unsigned at = 1;; at++) {
		struct engine_cmd c = {0};
		struct err e;
		int r;

		fault_arm(at, FAULT_FAIL);
		r = make(&c, &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0) {
			engine_cmd_done(&c);
			return at;
		}
		assert_int_equal(r, -ENOMEM);
		assert_null(c.argv.v);
	}
}

#endif
