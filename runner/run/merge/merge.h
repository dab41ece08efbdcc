/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_MERGE_MERGE_H
#define RUNNER_RUN_MERGE_MERGE_H

#include "base/json.h"
#include "runner/run/job/exec.h"
#include "runner/state/state.h"

/* Measures a target's corpus in cells and makes it smaller without losing coverage:
 *
 *   stage    Candidates are corpus/<target> and all seeds, by content.  They are dealt into
 *            shards.
 *   measure  A cell measures each shard.  It writes for each input what no input before it
 *            reached.  An input on which a cell dies is bad: it is quarantined and queued for
 *            triage, and a new cell goes on after it.  If a control file is spoiled, its shard
 *            is halved until the input that spoils it is alone.
 *   choose   The smallest set that reaches everything is chosen
 *            (runner/corpus/measure/cover.h).
 *   verify   The chosen inputs are measured once more by themselves.  If they do not reach
 *            everything again, or a measured input has gone, all is measured anew.  Each input
 *            then writes all that it reaches, and missing coverage is topped up, MERGE_ROUNDS
 *            times at most.  Such a target is remembered as long as it has that build.
 *   cover    The fewest of the chosen inputs that reach the same are listed, for use outside
 *            of the state directory.
 *   replace  Only if no coverage is missing, one exchange replaces the corpus
 *            (runner/corpus/generation/generation.h).
 *
 * A build that fails on much of its corpus, or reaches less than half of the former coverage, is
 * probably broken.  Then the corpus stays whole, with the inputs that failed (unless spec.force).
 * On another build quarantined inputs are tried again, MERGE_RETRY_MAX inputs per merge
 * (runner/corpus/generation/retry.h).
 *
 * The files are in merge/<target>/ of the state directory.  The next merge of the same binary uses
 * the measurements again if this merge was killed, stopped or late.  Otherwise they are removed.
 *   for            the binary and flags that it was made for
 *   stage/         links to all candidates, made anew each time.  It is missing if the corpus
 *                  has all candidates and a cell's user may read it: cells mount that instead
 *   staged, gone   the list of candidates, and those of them that were put away
 *   quick/<k>/     list, control: one shard
 *   measure/<k>/   the same, with all that each input reaches
 *   verify-<r>/    the same for the chosen inputs; removed afterwards
 *   chosen, known  lists: inputs that stay, inputs that may go
 *   cover, spare   lists: the fewest chosen inputs that reach the same, and the others
 *   reach          what all candidates reach
 * The results of the last merge are in stats/merged/: <target>.json has the build and its coverage,
 * <target>.unneeded lists measured inputs that are not in the corpus; also <target>.cover and
 * <target>.spare.
 *
 * All files that a cell wrote are hostile.  A target that forges the coverage of its inputs can
 * only make its own corpus worse; older generations are kept. */

enum {
	MERGE_ROUNDS = 3,
	MERGE_BAD_MAX = 1000,	/* bad inputs in one merge; the next merge goes on after them */
	MERGE_STRIKES_MAX = 3,	/* cells in a row without progress */
	MERGE_SPOILED_MAX = 64, /* spoiled control files: a few bad inputs in a large corpus */
	MERGE_RETRY_MAX = 128,	/* retried inputs; fewer if they time out again */
	/* The build is to blame if more inputs of the corpus fail than MERGE_LOST_LEAST and than
	 * one in MERGE_LOST_SHARE. */
	MERGE_LOST_LEAST = 8,
	MERGE_LOST_SHARE = 4,
	MERGE_REACH_SHARE = 2, /* the former coverage divided by this is the required minimum */
};

struct merge_env {
	struct exec_env exec;
	struct state *state;
	int quarantine, triage; /* directories of the state */
	unsigned keep;		/* generations */
	uint64_t disk_reserve;	/* the merge ends when fewer bytes are free */
};

enum merge_what {
	MERGE_REPLACE,
	MERGE_MEASURE, /* up to choosing; changes nothing: bad inputs stay where they are */
};

enum merge_verdict {
	MERGE_REPLACED,
	MERGE_UNCHANGED, /* the corpus has only the chosen inputs already */
	MERGE_CLEANED,	 /* as MERGE_UNCHANGED, but bad inputs were taken out */
	MERGE_MEASURED,	 /* the end of MERGE_MEASURE */
	MERGE_KEPT,	 /* the old corpus is better, or the build is bad; `why` has the reason */
	MERGE_NOTHING,	 /* there are no candidates, or none that runs */
	MERGE_LATE,	 /* the budget is used up: the next merge goes on */
	MERGE_STOPPED,	 /* merge_stop(): the next merge goes on */
	MERGE_FAILED,	 /* `why` has the error; the old corpus stays */
	MERGE_VERDICT_COUNT,
};
const char *merge_verdict_name(enum merge_verdict v); /* "replaced", ... */

struct merge_size {
	uint64_t files, bytes, edges, features;
};

struct merge_result {
	enum merge_verdict verdict;
	char why[200]; /* printable; "" when there is nothing to say */
	/* The old corpus, with the edges and features of all candidates: its own inputs and the
	 * seeds. */
	struct merge_size before;
	/* The new corpus; for MERGE_MEASURED as it would be.  Edges and features are 0 if they were
	 * not measured. */
	struct merge_size after;
	/* The cover, a part of `after` (runner/corpus/spare.h).  All 0 if nothing was verified. */
	struct merge_size cover;
	uint64_t candidates; /* different inputs: the corpus and all seeds */
	uint64_t new_inputs; /* inputs of `after` that the old corpus did not have */
	uint64_t bad;	     /* failed in this merge: quarantined, and queued for triage */
	uint64_t restored;   /* bad inputs that are back in the corpus: the build is to blame */
	uint64_t reused;     /* inputs that an earlier, unfinished merge measured */
	uint64_t cells;
	uint64_t wall_us;
};
/* Called from the loop, once; r is freed afterwards. */
typedef void merge_done_fn(void *arg, const struct merge_result *r);

/* target and cfg are borrowed until done. */
struct merge_spec {
	const struct target *target;
	const struct target_config *cfg;
	/* Its cells use the indexes index to index + workers - 1, each for one cell at a time.  No
	 * other part of the run may use these. */
	size_t index;
	unsigned workers;   /* cells at once, at least 1 */
	uint64_t budget_us; /* wall time; replacing may take longer */
	enum merge_what what;
	bool force; /* ignore failures and lost coverage of the build */
	/* Our directory with all seeds by content (a job's seeds/).  NULL: the archive and the
	 * directories of the target and the configuration. */
	const char *seeds;
	bool leaks_known; /* a leak makes no input bad: known leaks are suppressed in fuzzing */
	/* Gets the output of all cells, mixed; NULL is fine. */
	void (*output)(void *arg, struct slice bytes);
	merge_done_fn *done;
	void *arg; /* for both functions */
};

struct merge;

MUST_CHECK int merge_start(const struct merge_env *env, const struct merge_spec *spec,
			   struct merge **ret, struct err *e);
/* Ends the merge's cells at once.  done is still called with the result: an exchange that has begun
 * is completed. */
void merge_stop(struct merge *m);

/* A line of stats/corpus_history.jsonl.  run, commit: NULL where there is none. */
struct merge_line {
	const char *run, *target, *commit;
	uint64_t real_us;
};
MUST_CHECK int merge_history_line(const struct merge_line *l, const struct merge_result *r,
				  json_t **ret, struct err *e);

#endif
