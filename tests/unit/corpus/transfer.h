/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CORPUS_TRANSFER_H
#define TESTS_UNIT_CORPUS_TRANSFER_H

/* A state directory, with archives and directories beside it. */
#include "tests/unit/unit.h"

#include "base/fault.h"
#include "runner/corpus/transfer/transfer.h"
#include "tests/unit/corpus/files.h"

static struct scratch dir;
static struct state *s;
static char at[160];

static inline int each_setup(void **state)
{
	struct err e;

	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	snprintf(at, sizeof(at), "%s/state", dir.path);
	assert_int_equal(state_open(at, STATE_LOCK, &s, &e), 0);
	return 0;
}

static inline int each_teardown(void **state)
{
	(void)state;
	state_close(s);
	scratch_remove(&dir);
	return 0;
}

static inline const char *path_of(const char *name)
{
	static char paths[4][160];
	static unsigned next;
	char *p = paths[next++ % 4];

	snprintf(p, sizeof(paths[0]), "%s/%s", dir.path, name);
	return p;
}

static inline const char *in_corpus(const char *target, const char *content)
{
	static char paths[4][300];
	static unsigned next;
	char *p = paths[next++ % 4];

	snprintf(p, sizeof(paths[0]), "corpus/%s/%s", target, name_of(content));
	return p;
}

static inline struct import_sum import(const char *name, const char *target)
{
	struct import_sum sum = {0};
	struct err e = {0};

	if (import_path(s, path_of(name), target, &sum, &e) < 0)
		fail_msg("%s", e.msg);
	return sum;
}

#endif
