/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_CI_INTERNAL_H
#define RUNNER_COMMAND_CI_INTERNAL_H

/* Internal to runner/command/ci/. */
#include "base/git.h"
#include "base/json.h"
#include "runner/ci/affected.h"
#include "runner/ci/diff.h"
#include "runner/command/common/session.h"
#include "runner/crash/ledger/ledger.h"

/* What a crash means for the change. */
enum ci_status {
	CI_NEW,		/* it does not occur on the base */
	CI_OLD,		/* it does, or was known before */
	CI_FIXED,	/* known and open before, and fixed now */
	CI_UNCONFIRMED, /* seen, but no replay repeats it */
	CI_STATUS_COUNT
};
const char *ci_status_name(enum ci_status s); /* "new", ... */

struct ci_crash {
	const struct known_crash *crash, *entry; /* in ci.after */
	enum ci_status status;
	bool check;	/* the base is to be asked */
	bool recheck;	/* it was open before, and not seen now: the head is to be asked */
	char base[400]; /* what the base does with its inputs; "": not asked */
};

struct ci_target {
	char *name, *unbuilt;
	char why[300];	      /* it is fuzzed, or only replayed; "": not known yet */
	char unmeasured[200]; /* why its coverage is not known */
	uint64_t size, lines; /* of its program; changed lines that its corpus reaches */
	bool affected, fuzz, fuzzed;
	bool touched;	   /* it has a changed file, or that is not known */
	char problem[300]; /* it was not really fuzzed */
	char *end;	   /* the reason of its end */
	double seconds;
	uint64_t execs, edges;
	uint64_t checks_left; /* inputs that its check builds have yet to run */
};

struct ci {
	struct session session; /* reads the state */
	const char *base_text, *head_text, *seed_text;
	const char *sarif, *junit, *quality, *summary, *artifacts;
	uint64_t time_us;
	bool json;

	char base[COMMIT_MAX], head[COMMIT_MAX];
	char *root; /* of the repository */
	uint64_t seed, began_us, began_s;
	char fork_note[200];
	struct ledger *before, *after;
	struct ci_target *targets;
	size_t n_targets;
	struct ci_crash *crashes;
	size_t n_crashes;
	json_t *replayed;	/* the answer of regress */
	char not_built[600];	/* why a build failed; "": all was built */
	char not_replayed[300]; /* why inputs were left out */
};

/* The change in both directions: reports of the base have the lines before it, measurements of the
 * head those after it. */
struct ci_sides {
	struct diff before, after;
	bool *before_known, *after_known; /* of each file: whether a target's coverage names it */
};

void ci_target_done(struct ci_target *t);

/* choose.c: sets affected, fuzz, why and lines of all targets.  before, after: the diffs from the
 * base to the head, and back.  Prints errors, and returns an exit status. */
int ci_choose(struct ci *a, struct slice before, struct slice after);
static inline bool ci_is_chosen(const struct ci_target *t)
{
	return *t->why != '\0';
}
/* By the target's coverage (affected_lines()). */
void ci_choose_by(struct ci_target *t, const struct diff *d, const struct affected_coverage *c,
		  bool *io_known);

/* measure.c: measures the targets that are not chosen yet, and chooses by that.  Prints errors, and
 * returns an exit status. */
int ci_measure(struct ci *a, struct ci_sides *s);

/* crashes.c: which crashes there are.  Fills crashes from both ledgers. */
void ci_collect(struct ci *a);
/* The crash as in the result (runner/ci/formats.h). */
json_t *ci_crash_json(const struct ci *a, const struct ci_crash *c);

/* ask.c: replays the inputs of the crashes to check on the base, which is built if it is not kept,
 * and on the head.  Prints errors, and returns an exit status. */
int ci_ask(struct ci *a);

#endif
