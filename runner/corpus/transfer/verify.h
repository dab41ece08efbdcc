/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_TRANSFER_VERIFY_H
#define RUNNER_CORPUS_TRANSFER_VERIFY_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Verifies the files of a state directory.  Reads every input; blocks.  The caller holds the lock:
 * files that a run is writing would look damaged.
 *
 *   corpus/, quarantine/, retry/, regressions/
 *					<target>/<sha1>: the content's SHA-1 is the name;
 *					regular, not empty; in corpus/ readable for cells
 *   generations/, corpus/.generations/	the same of each numbered one, and no exchange
 *					that did not end
 *   triage/, logs/<run>/crashes/	<target>/<kind>-<sha1>: the content's SHA-1
 *   merge/				only of targets that have a corpus
 *   work/				nothing: any entry is left by a killed run
 *   everywhere above			no ".<name>.new" of a killed writer
 *
 * Repairing moves damaged or strange files below damaged/.  An input that only has a wrong name or
 * mode gets the right one.  A killed exchange is completed or undone.  Nothing is ever deleted. */

enum verify_fix {
	VERIFY_LEFT,	/* not repaired: not requested, or impossible */
	VERIFY_ASIDE,	/* moved to `to` */
	VERIFY_RENAMED, /* renamed to `to`, its content's name */
	VERIFY_MENDED,	/* repaired in place */
};

struct verify_finding {
	const char *path; /* relative to the state directory; any bytes */
	const char *what; /* "its content is that of <sha1>", ... */
	enum verify_fix fix;
	const char *to; /* VERIFY_LEFT: why it could not be repaired; may be NULL */
};
typedef void verify_fn(void *arg, const struct verify_finding *f);

struct verify {
	int state_dirfd;
	bool repair;
	unsigned keep; /* generations to keep, when an exchange is completed */
	verify_fn *found;
	void (*progress)(void *arg, uint64_t files); /* number of files so far; NULL: no progress */
	void *arg;
};
struct verify_sum {
	uint64_t targets; /* targets that have a corpus */
	uint64_t files;	  /* files that were read */
	uint64_t wrong, repaired;
};
/* Negative only if a necessary file could not be read.  All other problems are findings. */
MUST_CHECK int verify_state(const struct verify *v, struct verify_sum *ret, struct err *e);

#endif
