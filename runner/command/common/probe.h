/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_PROBE_H
#define RUNNER_COMMAND_COMMON_PROBE_H

#include "runner/command/common/cells.h"
#include "runner/crash/bisect/journal.h"

/* Replays the inputs of a crash on a build, and decides whether the build has the crash. */

struct probe_spec {
	struct cells *cells;
	const struct target *target; /* the build */
	const struct target_config *cfg;
	/* Paths that cells can read (cells_copy()): as it was found, and minimised; NULL: none. */
	const char *input[JOURNAL_INPUTS];
	bool ub_goes_on; /* triage_ub_goes_on() */
	/* The build is known to have the crash: replay each input until its rate is known
	 * (odds_reproduce()), not until the first failure. */
	bool measure;
	/* Otherwise: the rates, and how likely a miss may be when the build passes.  had: replays
	 * of an earlier test, which count, too. */
	struct journal_tries known[JOURNAL_INPUTS], had[JOURNAL_INPUTS];
	double miss;
	bool (*is_crash)(void *arg, const struct crash_report *r);
	/* t: outcome, replays and `why`.  BISECT_UNTESTED: a signal came first, or the machine is
	 * too busy, as t->why says. */
	void (*done)(void *arg, const struct journal_test *t);
	void *arg; /* for both functions */
};

enum { PROBE_TRIES_MAX = 1000 }; /* of a call; then the chance of a miss stays as it is */

struct probe;

/* The loop calls done, once.  *spec is copied; what it points to must live until then. */
MUST_CHECK int probe_start(const struct probe_spec *spec, struct probe **ret, struct err *e);
void probe_stop(struct probe *p); /* at once; done is still called */

#endif
