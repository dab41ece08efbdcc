/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUN_MERGE_EACH_H
#define TESTS_RUN_MERGE_EACH_H

/* A world for each test of a whole merge.  Include unit.h first. */
#include "tests/unit/run/merge.h"

static struct world w;

/* Not a setup function: a setup function cannot skip. */
static inline void begin(void **state)
{
	(void)state;
	needs_root();
	world_make(&w);
}

static inline int teardown(void **state)
{
	(void)state;
	world_remove(&w);
	return 0;
}

#define CASE(f) cmocka_unit_test_teardown(f, teardown)

static inline void put_inputs(const char *const *contents)
{
	for (; *contents; contents++)
		put_input(&w, *contents);
}

/* Several inputs, in this order. */
#define PUT(...) put_inputs((const char *const[]){__VA_ARGS__, NULL})

static inline void merge_ok(struct merge_decided *d)
{
	struct err e = {0};

	must(merge_whole(&w, d, &e), &e);
}

#endif
