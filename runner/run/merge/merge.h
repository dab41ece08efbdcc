/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_MERGE_MERGE_H
#define RUNNER_RUN_MERGE_MERGE_H

#include "base/json.h"
#include "runner/run/job/exec.h"
#include "runner/state/state.h"

/* Measures a target's corpus in cells and makes it smaller without losing coverage:
 *
 *   stage    corpus/<target> and all seeds, by content; dealt into shards
 *   measure  each shard in a cell that writes what every input reaches that none before
 *            it did; an input on which a cell dies is bad: quarantined and queued for
 *            triage, and a new cell goes on behind it.  A shard whose control file was
 *            spoiled is halved until the input that does it is alone
 *   choose   the smallest set that reaches everything (runner/corpus/measure/cover.h)
 *   verify   the chosen are measured once more by themselves.  When they do not reach
 *            everything again, or one of those measured has gone since, all of it begins
 *            anew, and each input says all that it reaches: what is missing is topped up
 *            then, MERGE_ROUNDS times at most.  A target that is so is remembered for as
 *            long as it has that build.
 *   cover    the fewest of them that reach the same: what goes elsewhere
 *   replace  only when nothing is missing: one exchange (runner/corpus/generation/generation.h)
 *
 * A build that fails on much of its corpus, or reaches less than half of what the corpus
 * reached before, is more likely broken than right: the corpus stays whole then, with
 * what it failed on (spec.force: not).  On another build what was quarantined is tried
 * again, MERGE_RETRY_MAX inputs a merge (runner/corpus/generation/retry.h).
 *
 * On disk, merge/<target>/ of the state directory: what was measured is used again by
 * the next merge of the same binary, whether this one was killed, stopped or late;
 * anything else is thrown away there.
 *   for            the binary and flags that it was made for
 *   stage/         links to all candidates, made anew each time; not there when the corpus
 *                  is all of them, and a cell's user may read it: cells see it then
 *   staged, gone   their list, and those of it that were put away
 *   quick/<k>/     list, control: one shard
 *   measure/<k>/   the same, with all that each input reaches
 *   verify-<r>/    the same, of the chosen; thrown away
 *   chosen, known  lists: what stays, what may go
 *   cover, spare   lists: of the chosen, the fewest that reach the same, and the others
 *   reach          what all candidates reach
 * and of the last merge, in stats/merged/: <target>.json, the build and what it reached;
 * <target>.unneeded, what was measured and is not in the corpus; <target>.cover, <target>.spare.
 *
 * Everything that a cell wrote is hostile.  A target that forges what its inputs
 * reach can make its own corpus worse, nothing else; generations keep the older ones. */

enum {
	MERGE_ROUNDS = 3,
	MERGE_BAD_MAX = 1000,	/* bad inputs in one merge; the next goes on behind them */
	MERGE_STRIKES_MAX = 3,	/* cells in a row that got nowhere */
	MERGE_SPOILED_MAX = 64, /* control files: a few bad inputs in a large corpus */
	MERGE_RETRY_MAX = 128,	/* fewer where they time out again */
	MERGE_LOST_LEAST = 8,	/* inputs of the corpus that may fail, and ... */
	MERGE_LOST_SHARE = 4,	/* ... one in so many: with more the build is to blame */
	MERGE_REACH_SHARE = 2,	/* what was reached before, divided by this, is the least */
};

struct merge_env {
	struct exec_env exec;
	struct state *state;
	int quarantine, triage; /* directories of the state */
	unsigned keep;		/* generations */
	uint64_t disk_reserve;	/* ends when less is free, bytes */
};

enum merge_what {
	MERGE_REPLACE,
	MERGE_MEASURE, /* up to choosing; changes nothing: bad inputs stay where they are */
};

enum merge_verdict {
	MERGE_REPLACED,
	MERGE_UNCHANGED, /* the chosen are what the corpus is already */
	MERGE_CLEANED,	 /* likewise, but for bad inputs that were taken out */
	MERGE_MEASURED,	 /* that was all */
	MERGE_KEPT,	 /* a guard: the old corpus is better, or the build bad; why says */
	MERGE_NOTHING,	 /* no candidates, or none that runs */
	MERGE_LATE,	 /* the budget is over: the next merge goes on */
	MERGE_STOPPED,	 /* merge_stop(): likewise */
	MERGE_FAILED,	 /* why says what; the old corpus stays */
	MERGE_VERDICT_COUNT,
};
const char *merge_verdict_name(enum merge_verdict v); /* "replaced", ... */

struct merge_size {
	uint64_t files, bytes, edges, features;
};

struct merge_result {
	enum merge_verdict verdict;
	char why[200]; /* printable; "" when there is nothing to say */
	/* The corpus as it was, with the edges and features of all candidates: its own
	 * and the seeds'. */
	struct merge_size before;
	/* The corpus as it is now; measured only: as it would be.  Edges and features
	 * are 0 when it did not come to measuring them. */
	struct merge_size after;
	/* Of `after`: what goes elsewhere (runner/corpus/spare.h).  All 0 when nothing was
	 * verified. */
	struct merge_size cover;
	uint64_t candidates; /* different inputs: the corpus and all seeds */
	uint64_t new_inputs; /* of `after`: those that the corpus did not have */
	uint64_t bad;	     /* failed in this merge: quarantined, and queued for triage */
	uint64_t restored;   /* of these: back in the corpus, the build is to blame */
	uint64_t reused;     /* measured by an earlier merge that did not end */
	uint64_t cells;
	uint64_t wall_us;
};
/* From the loop, once; r goes when it returns. */
typedef void merge_done_fn(void *arg, const struct merge_result *r);

/* target and cfg are borrowed until done. */
struct merge_spec {
	const struct target *target;
	const struct target_config *cfg;
	/* Its cells are those of the run's targets index to index + workers - 1, one
	 * each at a time: nobody else may use these. */
	size_t index;
	unsigned workers;   /* cells at once, at least 1 */
	uint64_t budget_us; /* wall time; replacing may take longer */
	enum merge_what what;
	bool force; /* whatever the build fails on, or does not reach any more */
	/* A directory of ours that has all seeds by content (a job's seeds/), or NULL: the
	 * target's archive and directories, and the configuration's. */
	const char *seeds;
	bool leaks_known; /* known leaks are suppressed while it fuzzes: no input is bad for one */
	/* Sees what the cells print, mixed; NULL is fine. */
	void (*output)(void *arg, struct slice bytes);
	merge_done_fn *done;
	void *arg; /* of both */
};

struct merge;

MUST_CHECK int merge_start(const struct merge_env *env, const struct merge_spec *spec,
			   struct merge **ret, struct err *e);
/* Ends its cells at once; done comes all the same, and says what became of it: an
 * exchange that has begun is not given up. */
void merge_stop(struct merge *m);

/* A line of stats/corpus_history.jsonl.  run, commit: NULL where there is none. */
struct merge_line {
	const char *run, *target, *commit;
	uint64_t real_us;
};
MUST_CHECK int merge_history_line(const struct merge_line *l, const struct merge_result *r,
				  json_t **ret, struct err *e);

#endif
