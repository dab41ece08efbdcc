/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H

/* Definitions of the tests of base/loop.h.  Include unit.h first. */
#include "base/cleanup.h"
#include "base/loop.h"

#define OK(call)                                                           \
	do {                                                               \
		struct err e_;                                             \
		if ((call) < 0)                                            \
			fail_msg("%s:%d: %s", __FILE__, __LINE__, e_.msg); \
	} while (0)

static inline struct loop *new_loop(void)
{
	struct loop *l;

	OK(loop_new(&l, &e_));
	return l;
}

/* One loop, its sources, and a log of their callbacks. */
struct world {
	struct loop *l;
	struct source *s[3];
	int fds[3];
	char seen[64]; /* one letter per callback */
	size_t got;
	int status;
	bool removes_all;
};

static inline void saw(struct world *w, char what)
{
	size_t n = strlen(w->seen);

	assert_true(n + 1 < sizeof(w->seen));
	w->seen[n] = what;
}

static inline void remove_all(struct world *w)
{
	for (size_t i = 0; i < sizeof(w->s) / sizeof(w->s[0]); i++)
		source_remove(take_ptr(&w->s[i]));
}

static inline void done(struct world *w)
{
	remove_all(w);
	loop_free(w->l);
}

#endif
