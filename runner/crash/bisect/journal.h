/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_BISECT_JOURNAL_H
#define RUNNER_CRASH_BISECT_JOURNAL_H

#include "base/err.h"
#include "base/git.h"
#include "runner/crash/bisect/search.h"

#include <stdint.h>

/* The tests of a search, in the file "bisect.json" beside the reproducer of the target's entry: a
 * search that ended early goes on where it was, and a later one knows what was tested.  It is
 * written after each test.  The caller holds the state directory's lock. */

enum { JOURNAL_INPUTS = 2, JOURNAL_WHY = 300, JOURNAL_TESTS_MAX = 10000 };

/* Replays of one input. */
struct journal_tries {
	uint64_t tries, hits;
};

struct journal_test {
	char commit[COMMIT_MAX];
	enum bisect_outcome outcome;
	struct journal_tries input[JOURNAL_INPUTS]; /* as it was found, and minimised */
	/* BISECT_SKIPPED: why; BISECT_OTHER: how it fails instead.  Printable. */
	char why[JOURNAL_WHY];
};

struct journal {
	/* SHA-1 of both inputs, and how the source is built: other tests prove nothing here. */
	char *of;
	struct journal_test *v;
	size_t n;
};
void journal_done(struct journal *j);

/* dirfd: the directory of the file.  Reads the tests; none if there are none of `of`, or the file
 * is damaged. */
MUST_CHECK int journal_load(int dirfd, const char *of, struct journal *ret, struct err *e);
MUST_CHECK int journal_save(int dirfd, const struct journal *j, struct err *e);

/* NULL: the commit was not tested. */
const struct journal_test *journal_find(const struct journal *j, const char *commit);
/* Adds the test; replays of an earlier test of the commit are added to it. */
void journal_add(struct journal *io, const struct journal_test *t);

/* The chance that the tries miss a failure that the inputs show at the measured rates (odds.h).
 * known: replays of each input on a commit that fails, as many as odds_reproduce() asks for.  A
 * test that ends with its first hit is no measure. */
double journal_miss(const struct journal_test *t, const struct journal_tries known[JOURNAL_INPUTS]);

#endif
