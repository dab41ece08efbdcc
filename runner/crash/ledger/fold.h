/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_LEDGER_FOLD_H
#define RUNNER_CRASH_LEDGER_FOLD_H

#include "runner/crash/ledger/ledger.h"

/* Brings together what several machines found, each with a ledger of its own.  A machine gives
 * what changed since it last gave something; another one folds that into its ledger.
 *
 * The order of the folds does not matter, except for the question under which of its signatures a
 * crash is known that has several of them: a crash with an issue keeps its name, else the older
 * one does. */

/* The crashes of `now` that changed since `then`, an earlier state of it, as a new ledger.  Counts
 * are differences.  A user's decisions, issues and paths of artifacts are left out. */
MUST_CHECK int ledger_since(const struct ledger *now, const struct ledger *then,
			    struct ledger **ret, struct err *e);

/* Brings the files of an entry of `from` into the state directory: if it has the first or a
 * better reproducer.  ret: their paths in the state directory, valid until
 * the next call; minimized NULL: there is none.  -ENOENT: there are none, or damaged ones; then the
 * entry is folded without its reproducer.
 *
 * same: the reproducer is there already.  Then its report decides, in a way that does not depend on
 * which one came first.  -EALREADY: the files that are there stay. */
struct ledger_files {
	const char *crash_file, *minimized;
	json_t *report; /* as crash_sighting.report, or NULL; borrowed */
};
typedef int ledger_files_fn(void *arg, const struct known_crash *entry, bool same,
			    struct ledger_files *ret, struct err *e);

struct ledger_fold_sum {
	uint64_t crashes;   /* new ones */
	uint64_t sightings; /* of all crashes */
};

/* Folds what ledger_since() gave, from any machine, into l.  For each target's entry:
 *
 *   - counts add, also those of runs;
 *   - the first sighting is the earliest, the last one the latest, and so is the fix;
 *   - the smallest reproducer that failed again stays, and brings its description with it.
 *     Without reproducers the first finder's description stays;
 *   - an entry that is ignored here stays ignored.  An entry that was ever fixed is fixed, or
 * regressed if it was seen later.  Else it is known, new or flaky, the first of these that one
 * machine says.
 *
 * A signature that is new here is merged into the crash that the other machine merged it into, and
 * by its bug and its place as in ledger_note().  -ENOSPC as in ledger_note(); what was folded
 * before that stays. */
MUST_CHECK int ledger_fold(struct ledger *l, const struct ledger *from, ledger_files_fn *files,
			   void *arg, struct ledger_fold_sum *io, struct err *e);

#endif
