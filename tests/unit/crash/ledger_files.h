/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CRASH_LEDGER_FILES_H
#define TESTS_UNIT_CRASH_LEDGER_FILES_H

/* A ledger in its own directory. */
#include "tests/unit/crash/ledgers.h"

#include "tests/unit/scratch.h"

#define NAME "known_crashes.json"

static struct scratch dir;

static inline int each_setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	return 0;
}

static inline int scratch_teardown(void **state)
{
	scratch_remove(&dir);
	return each_teardown(state);
}

static inline void load(void)
{
	ledger_free(ledger);
	ledger = NULL;
	OK(ledger_load(dir.fd, &ledger, &oops));
}

static inline void save(void)
{
	OK(ledger_save(ledger, dir.fd, &oops));
	assert_false(ledger_dirty(ledger));
}

static inline const char *file(const char *name)
{
	static char text[4096];

	return scratch_text(dir.fd, name, text, sizeof(text));
}

#endif
