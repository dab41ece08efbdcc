/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_TRANSFER_VERIFY_H
#define RUNNER_CORPUS_TRANSFER_VERIFY_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Is what a state directory keeps still what it was?  Reads every input; blocks.  The
 * caller holds the lock: what a living run is writing would look wrong.
 *
 *   corpus/, quarantine/, regressions/	<target>/<sha1>: the content's SHA-1 is the name;
 *					regular, not empty; in corpus/ readable for cells
 *   generations/, corpus/.generations/	the same of each numbered one, and no exchange
 *					that did not end
 *   triage/, logs/<run>/crashes/	<target>/<kind>-<sha1>: the content's SHA-1
 *   merge/				only of targets that have a corpus
 *   work/				nothing: what is there, a killed run left
 *   everywhere above			no ".<name>.new" of a killed writer
 *
 * Repairing sets aside what is damaged or strange, by a rename below damaged/, gives
 * inputs that only have a wrong name or mode the right one, and ends an exchange.
 * Nothing is ever deleted. */

enum verify_fix {
	VERIFY_LEFT,	/* not repaired: not asked to, or nobody can */
	VERIFY_ASIDE,	/* it is at `to` now */
	VERIFY_RENAMED, /* likewise: its content's name */
	VERIFY_MENDED,	/* it is right now */
};

struct verify_finding {
	const char *path; /* from the state directory; any bytes */
	const char *what; /* "its content is that of <sha1>", ... */
	enum verify_fix fix;
	const char *to; /* or why it could not be repaired, with VERIFY_LEFT; may be NULL */
};
typedef void verify_fn(void *arg, const struct verify_finding *f);

struct verify {
	int state_dirfd;
	bool repair;
	unsigned keep; /* generations, when an exchange is ended */
	verify_fn *found;
	void (*looked)(void *arg, uint64_t files); /* so many by now; NULL: none */
	void *arg;
};
struct verify_sum {
	uint64_t targets; /* that have a corpus */
	uint64_t files;	  /* looked into */
	uint64_t wrong, repaired;
};
/* Negative only when something could not be read that must be: the rest is findings. */
MUST_CHECK int verify_state(const struct verify *v, struct verify_sum *ret, struct err *e);

#endif
