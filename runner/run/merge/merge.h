/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_MERGE_MERGE_H
#define RUNNER_RUN_MERGE_MERGE_H

#include "base/json.h"
#include "runner/corpus/measure/cover.h"
#include "runner/run/job/exec.h"
#include "runner/state/state.h"

/* Measures a target's corpus in cells and makes it smaller without losing coverage.  Candidates are
 * the inputs of corpus/<target>, all seeds, and quarantined inputs that are tried again.  Equal
 * contents count once.  In a cell the engine runs the inputs.  For each input it writes to a
 * control file which features and edges the input reached (runner/corpus/measure/control.h).
 *
 *   stage    Lists the candidates and deals them into shards, which are measured separately.
 *   measure  A cell measures each shard into the shard's control file.  This is the quick pass: an
 *            input lists only features that no earlier input of the same process had.  An input on
 *            which a cell dies is bad.  It is quarantined and queued for triage, and the next cell
 *            goes on after it.  A target can spoil (damage) a control file.  Then the shard is
 *            halved, and the halves are measured anew, until the input that spoils the control file
 *            is alone in its shard.  That input is bad.
 *   choose   Goes through all inputs that ran, the smallest first.  Chooses each input that has a
 *            feature which no input before it had.  Together the chosen inputs reach every feature,
 *            but they need not be the smallest such set (cover_choose() in
 *            runner/corpus/measure/cover.h).
 *   verify   Measures the chosen inputs once more, without the others.  If they reach everything
 *            again, the choice stands.  (After a quick pass the choice is repeated on this
 *            measurement, which may drop some inputs.)
 *            If they do not, or if one of them is bad or gone, all candidates are measured anew in
 *            a full pass: each input lists all of its features.  The inputs are chosen again and
 *            verified.  For each feature or edge that is still missing, the smallest input that had
 *            it and is not chosen is added.  The added inputs are verified, too.  This is done
 *            MERGE_ROUNDS times at most.  As long as the target has this build, later merges begin
 *            with the full pass.
 *   cover    Lists a part of the chosen inputs that reaches the same: few inputs, by a heuristic
 *            (cover_fewest()).  This part is the cover.  It is used outside of the state directory
 *            (runner/corpus/spare.h).  If verifying missed coverage, all chosen inputs are the
 *            cover.
 *   replace  One exchange replaces the corpus (runner/corpus/generation/generation.h).  The new
 *            corpus has the chosen inputs, and the inputs of the old corpus that did not run to
 *            their end in this merge.  It happens if no coverage was missing in verifying, or if
 * nothing could be added: then every input that ever reached the missing coverage is chosen.  If
 *            inputs could still be added after MERGE_ROUNDS rounds, the corpus stays (MERGE_KEPT).
 *
 * A broken build must not shrink the corpus (unless spec.force).  If a build fails on many inputs
 * of the corpus (MERGE_LOST_LEAST, MERGE_LOST_SHARE), the corpus stays, and these inputs go back
 * into it.  If all candidates reach less than half of the edges of the last successful merge, the
 * corpus is not replaced.  On another build quarantined inputs are tried again, MERGE_RETRY_MAX
 * inputs per merge (runner/corpus/generation/retry.h).
 *
 * The files are in merge/<target>/ of the state directory.  If the merge was killed, stopped or
 * late, or failed after it had measured something, the files stay.  The next merge of the same
 * binary, flags and environment uses the measurements again.  Otherwise the files are removed.
 *   for            the identity of the binary, its flags and its environment
 *   stage/         links to all candidates, made anew each time.  It is missing if the corpus
 *                  has all candidates and a cell's user may read it: cells mount the corpus
 *   staged         list of the candidates
 *   gone           list of candidates that were put away: bad, or removed by a user
 *   quick/<k>/     one shard of the quick pass: list, control (the control file)
 *   measure/<k>/   one shard of the full pass
 *   verify-<r>/    the shards of verifying round r
 *   chosen         list of the chosen inputs
 *   known          list of the inputs that ran: if not chosen, they may leave the corpus
 *   cover, spare   lists of the chosen inputs: the cover, and the others
 *   reach          the features and edges that all candidates reach
 *
 * The results of the last successful merge are in stats/merged/:
 *   <target>.json       the build, its coverage, and hints for the next merge
 *   <target>.unneeded   list of measured inputs that are not in the corpus
 *   <target>.cover      the list "cover"
 *   <target>.spare      the list "spare"
 *
 * All files that a cell wrote are hostile.  A target that forges the coverage of its inputs can
 * only make its own corpus worse; older generations of the corpus are kept. */

enum {
	MERGE_ROUNDS = 3,	/* rounds in which missing coverage is topped up */
	MERGE_BAD_MAX = 1000,	/* bad inputs in one merge; the next merge goes on after them */
	MERGE_STRIKES_MAX = 3,	/* cells in a row without progress on one shard */
	MERGE_SPOILED_MAX = 64, /* spoiled control files: a few bad inputs in a large corpus */
	/* Quarantined inputs that are tried again; fewer if such inputs timed out in the last
	 * merge. */
	MERGE_RETRY_MAX = 128,
	/* A build is broken if more than MERGE_LOST_LEAST inputs of the corpus fail, and more than
	 * one in MERGE_LOST_SHARE. */
	MERGE_LOST_LEAST = 8,
	MERGE_LOST_SHARE = 4,
	/* A build must reach the edges of the last successful merge divided by this. */
	MERGE_REACH_SHARE = 2,
};

struct merge_env {
	struct exec_env exec;
	struct state *state;
	int quarantine, triage; /* directories of the state */
	unsigned keep;		/* number of older generations of the corpus to keep */
	uint64_t disk_reserve;	/* bytes: the merge ends when fewer are free */
};

enum merge_what {
	MERGE_REPLACE, /* all steps */
	/* A full pass, up to choosing.  Changes nothing in the corpus: bad inputs stay there. */
	MERGE_MEASURE,
};

enum merge_verdict {
	MERGE_REPLACED,	 /* the chosen inputs are the corpus */
	MERGE_UNCHANGED, /* there was no input to add to the corpus, or to remove */
	MERGE_CLEANED,	 /* as MERGE_UNCHANGED, but bad inputs were taken out of the corpus */
	MERGE_MEASURED,	 /* the successful end of MERGE_MEASURE */
	/* The corpus was not replaced: the chosen inputs reach less, or the build is broken; `why`
	 * has the reason. */
	MERGE_KEPT,
	MERGE_NOTHING, /* there are no candidates, or none of them reaches anything */
	MERGE_LATE,    /* the budget is used up: the next merge goes on */
	MERGE_STOPPED, /* merge_stop(): the next merge goes on */
	MERGE_FAILED,  /* `why` has the error; the old corpus stays */
	MERGE_VERDICT_COUNT,
};
const char *merge_verdict_name(enum merge_verdict v); /* "replaced", ... */

struct merge_size {
	uint64_t files, bytes, edges, features;
};

struct merge_result {
	enum merge_verdict verdict;
	char why[200]; /* printable; "" when there is nothing to report */
	/* Files and bytes of the corpus before the merge; edges and features of all candidates. */
	struct merge_size before;
	/* The corpus after the merge; for MERGE_MEASURED, the chosen inputs.  Edges and features
	 * are 0 if they were not measured. */
	struct merge_size after;
	struct merge_size cover; /* a part of `after`; all 0 if there is no cover */
	uint64_t candidates;	 /* number of candidates */
	uint64_t new_inputs;	 /* chosen inputs that the corpus did not have before the merge */
	uint64_t bad;		 /* bad inputs that this merge found */
	uint64_t restored; /* bad inputs that went back into the corpus: the build is broken */
	uint64_t reused;   /* candidates that an earlier, unfinished merge measured */
	uint64_t cells;	   /* cells that ran */
	uint64_t wall_us;  /* duration of the merge */
};
/* The loop calls it once.  r is freed afterwards. */
typedef void merge_done_fn(void *arg, const struct merge_result *r);

/* target and cfg are borrowed until done. */
struct merge_spec {
	const struct target *target;
	const struct target_config *cfg;
	/* The merge's cells use exec_spec.index from `index` to index + workers - 1, each for one
	 * cell at a time.  No other part of the run may use these indexes. */
	size_t index;
	unsigned workers;   /* cells at once, at least 1 */
	uint64_t budget_us; /* wall time; an exchange that has begun is completed */
	enum merge_what what;
	bool force; /* replace the corpus even if the build seems broken */
	/* Our directory with all seeds by content (a job's seeds/).  NULL: the archive and the
	 * directories of the target and the configuration. */
	const char *seeds;
	/* MERGE_MEASURE: our directory, which gets the file "reach" (merge_reach_load()); NULL:
	 * none is wanted. */
	const char *reach;
	bool leaks_known; /* a leak makes no input bad: known leaks are suppressed in fuzzing */
	/* Gets the output of all cells, interleaved; NULL is fine. */
	void (*output)(void *arg, struct slice bytes);
	merge_done_fn *done;
	void *arg; /* for output and done */
};

struct merge;

MUST_CHECK int merge_start(const struct merge_env *env, const struct merge_spec *spec,
			   struct merge **ret, struct err *e);
/* Ends the merge's cells at once, and then the merge.  done is still called.  An exchange that has
 * begun is completed: then the verdict is MERGE_REPLACED. */
void merge_stop(struct merge *m);

/* Loads the features and edges that all candidates reach, from the file "reach" of a directory.
 * *ret starts as {0}; reach_done() frees it. */
MUST_CHECK int merge_reach_load(int dir, struct reach *ret, struct err *e);

/* What a line of stats/corpus_history.jsonl has beside the result of the merge. */
struct merge_line {
	const char *run, *target, *commit; /* run, commit: NULL if there is none */
	uint64_t real_us;		   /* clock_real_us() */
};
MUST_CHECK int merge_history_line(const struct merge_line *l, const struct merge_result *r,
				  json_t **ret, struct err *e);

#endif
