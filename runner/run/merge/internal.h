/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_MERGE_INTERNAL_H
#define RUNNER_RUN_MERGE_INTERNAL_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/task.h"
#include "runner/corpus/measure/cover.h"
#include "runner/run/merge/merge.h"

/* Shared by the files of a merge:
 *   merge.c   start and end, the order of the steps
 *   cell.c    cells that measure, the search for inputs that leak
 * In child processes, on the files of files.c: stage.c, look.c, decide.c. */

enum {
	MERGE_SHARDS_MAX = 400, /* in merge/<target>/measure; each needs a descriptor */
	MERGE_LEAK_CHUNK = 512, /* inputs replayed at a time; libFuzzer checks 1000 times at most */
};

#define MERGE_CONTROL_AT "/work/control" /* in the cell */

enum merge_step { MERGE_STAGE, MERGE_CELLS, MERGE_DECIDE, MERGE_EXCHANGE, MERGE_END };

/* Facts about the end of one cell. */
struct merge_facts {
	bool ran;	  /* false: there was no cell yet */
	bool ours;	  /* we ended it: the input in work is not to blame */
	bool accumulates; /* many inputs together may have caused the end */
	size_t first;	  /* the input that it began with */
};
enum merge_act {
	MERGE_RUN,    /* run a cell from the next input on */
	MERGE_BLAME,  /* the next input is bad: go on after it */
	MERGE_DONE,   /* the whole shard is measured */
	MERGE_FULL,   /* the control file is full: the rest goes to another shard */
	MERGE_STRIKE, /* the cell made no progress */
};
/* Decides what to do after a cell.  Pure.  full: the control file is near the limit of its size. */
enum merge_act merge_judge(const struct merge_facts *f, const struct control *c, bool full);

/* --- a cell's place ------------------------------------------------------------- */

struct merge_range {
	size_t from, to;
};

/* The search for inputs that leak, by halving.  A leak shows only at the process's end. */
struct merge_leaks {
	size_t at, end; /* the part of the shard's list that is still to be searched */
	char (*names)[STORE_NAME];
	size_t n;
	struct merge_range stack[16], now;
	size_t depth;
};

struct merge_slot {
	struct merge *m;
	unsigned number;
	bool busy;
	size_t shard;
	struct exec *exec;
	/* The input of merge_task_look(). */
	struct merge_facts facts;
	const char *kind; /* of a failure: "crash", "timeout", "oom", "leak", "pids" */
	bool leaked, stuck;
	char last_text[160]; /* the last output or error of the cell that ended last */
	unsigned strikes;
	size_t half;		      /* number of a new shard, for merge_task_halve() */
	uint64_t size_seen, grown_us; /* the control file's size, and when it last changed */
	size_t next;
	struct merge_leaks leaks;
	const char *blamed; /* the name of the leaking input, for merge_task_leak() */
};

struct merge {
	struct merge_env env;
	struct merge_spec spec;
	char *path;  /* merge/<target>, absolute */
	char *seeds; /* spec.seeds, or NULL */
	int dir;     /* merge/<target>, once it is there */
	enum merge_step step;
	uint64_t began_us, deadline_us;
	struct source *tick;

	size_t next, end; /* shards of the pass that are still to be measured */
	uint64_t max_len; /* length of the longest candidate */
	unsigned round;	  /* round of verifying; 0: not yet */
	unsigned spoiled; /* number of spoiled control files */
	unsigned halving; /* shards that are being halved: the last shards do not exist yet */
	char pass[24];	  /* directory of the shards that are measured: "quick", ... */
	/* full: the first pass measures all that each input reaches, not only what no other input
	 * reached.  That is slower, but allows another choice. */
	bool full, unsteady;
	bool direct; /* merge_staged.direct */
	bool again;  /* a shard was full: its rest is to be dealt */
	bool tasking, ending, over;
	bool inside, more; /* merge_advance()'s own */
	bool progress;	   /* something was measured */
	bool discard;	   /* at the end: remove merge/<target> */
	bool put_back;	   /* at the end: put the inputs of `lost` back into the corpus */
	bool slow;	   /* merge_last.slow */
	/* Inputs of the corpus that this merge quarantined. */
	char (*lost)[STORE_NAME];
	size_t n_lost;
	struct merge_size chosen, cover;

	struct merge_result result;
	struct merge_slot *slots; /* spec.workers */
};

/* Sets the verdict and stops the cells; then the merge ends.  The first verdict stays. */
void merge_end_with(struct merge *m, enum merge_verdict v, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A task or a cell has ended: takes the next steps. */
void merge_advance(struct merge *m);

/* Takes a shard; calls merge_advance() when the slot is free again. */
void merge_slot_take(struct merge_slot *s, size_t shard);
void merge_slot_stop(struct merge_slot *s);
void merge_slot_done(struct merge_slot *s); /* frees what the slot holds */
/* Once a second: stops the slot's cell if it makes no progress. */
void merge_slot_tick(struct merge_slot *s, uint64_t now_us);
/* A bad input that was put away. */
struct merge_bad {
	char lost[STORE_NAME]; /* its name if it was in the corpus, otherwise "" */
	bool slow;	       /* it was retried, and timed out again */
};
/* Counts a bad input.  False: there are too many, and the merge ends. */
bool merge_bad_one(struct merge *m, const struct merge_bad *bad);
/* The build caused the failures: ends the merge, and the corpus stays whole. */
void merge_blame_build(struct merge *m, const char *why);
uint64_t merge_time_left(const struct merge *m);

/* --- in child processes: task_fn ----------------------------------------------- */

/* stage.c.  arg: the merge.  merge_task_stage() lists and deals the candidates;
 * merge_task_deal() only deals those that are not measured yet. */
struct merge_staged {
	uint64_t candidates, longest, reused;
	uint64_t files, bytes; /* size of the corpus */
	size_t next, end;      /* shards to measure */
	bool full;	       /* for merge.full */
	bool direct;	       /* for merge.direct: cells read the corpus itself, not a stage */
	char note[160];
};
int merge_task_stage(void *arg, struct buf *out, struct err *e);
int merge_task_deal(void *arg, struct buf *out, struct err *e);
/* all: the candidates, sorted. */
MUST_CHECK int merge_deal_rest(const struct merge *m, bool full, int dir,
			       const struct candidates *all, struct merge_staged *io,
			       struct err *e);
/* Mounts the candidates in a cell. */
void merge_mount_inputs(struct setup *s, const struct merge *m);
/* The directory of the first pass: "quick" or "measure". */
const char *merge_first_pass(bool full);
/* -ESTALE: the binary has changed since it was measured. */
MUST_CHECK int merge_check_binary(const struct merge *m, int dir, struct err *e);

/* look.c.  arg: the slot. */
struct merge_looked {
	enum merge_act act;
	size_t next, n;
	bool damaged;	      /* the cell spoiled the control file: it is written anew */
	struct merge_bad bad; /* for MERGE_BLAME */
};
int merge_task_look(void *arg, struct buf *out, struct err *e);
/* Searches for the input that spoils the control file of a shard.  The second half of the inputs
 * goes into the shard s->half.  The last input left is bad.  out: its struct merge_bad, or nothing.
 */
int merge_task_halve(void *arg, struct buf *out, struct err *e);
/* out: names of STORE_NAME bytes each, from s->leaks.at on. */
int merge_task_names(void *arg, struct buf *out, struct err *e);
/* s->blamed is bad.  out: struct merge_bad. */
int merge_task_leak(void *arg, struct buf *out, struct err *e);

/* decide.c.  arg: the merge. */
struct merge_decided {
	enum { MERGE_TO_FULL, MERGE_TO_VERIFY, MERGE_TO_REPLACE, MERGE_TO_END } to;
	enum merge_verdict verdict; /* for MERGE_TO_END */
	char why[200];
	size_t shards;		     /* for MERGE_TO_VERIFY */
	struct merge_staged measure; /* for MERGE_TO_FULL */
	struct merge_size all, chosen, cover;
	uint64_t new_inputs;
	bool blames_build; /* MERGE_KEPT: the inputs that failed go back into the corpus */
};
int merge_task_decide(void *arg, struct buf *out, struct err *e);
/* Carries out MERGE_TO_FULL: measures from the beginning. */
void merge_begin_full(struct merge *m, const struct merge_decided *d);
/* Carries out MERGE_TO_END. */
void merge_end_decided(struct merge *m, const struct merge_decided *d);
struct merge_replaced {
	char why[200]; /* an error after the exchange; "": none */
};
int merge_task_replace(void *arg, struct buf *out, struct err *e);
/* out: the corpus's struct merge_size. */
int merge_task_end(void *arg, struct buf *out, struct err *e);

/* files.c: facts from the last merge; all 0 and "" before the first merge. */
struct merge_last {
	char build[DIGEST_SHA1_HEX];
	bool unsteady;		  /* a quick first pass failed on this build */
	bool slow;		  /* some retried inputs timed out again */
	uint64_t edges, features; /* that all candidates reached, in the last successful merge */
};
void merge_last_load(const struct merge *m, struct merge_last *ret);
MUST_CHECK int merge_last_save(const struct merge *m, const struct merge_last *last, struct err *e);

/* --- the files of merge/<target>, files.c ---------------------------------- */

struct merge_dir {
	int dir, stage, corpus;
};
#define MERGE_DIR_NONE ((struct merge_dir){-1, -1, -1})
#define _automergedir_ CLEANUP(merge_dir_close)
void merge_dir_close(struct merge_dir *d);
/* Opens merge/<target>, its stage (with merge.direct the corpus instead), and the corpus. */
MUST_CHECK int merge_dir_open(const struct merge *m, struct merge_dir *ret, struct err *e);

/* The candidates of this merge.  `staged` is written once; the names of candidates that were put
 * away are appended to `gone`. */
MUST_CHECK int merge_staged_save(int dir, const struct candidates *all, struct err *e);
MUST_CHECK int merge_staged_strike(int dir, const char *name, struct err *e);
MUST_CHECK int merge_staged_load(int dir, struct candidates *ret, struct err *e); /* the rest */
#define MERGE_FILE_STAGED "staged"
#define MERGE_FILE_GONE	  "gone"

/* A pass: numbered shards. */
struct merge_pass {
	struct cover_shard *v; /* points to `lists` and `controls` */
	struct candidates *lists;
	struct control **controls;
	size_t n;
	/* Results of an input were dropped.  In a quick pass later inputs do not repeat them. */
	bool holes;
};
#define _automergepass_ CLEANUP(merge_pass_done)
void merge_pass_done(struct merge_pass *p);

/* Appends the shards of <name>/.  Results of inputs that are not in `only` are dropped. */
MUST_CHECK int merge_pass_load(int dir, const char *name, const struct candidates *only,
			       struct merge_pass *io, struct err *e);
/* Counts the shards of <name>/; 0 if the directory does not exist. */
MUST_CHECK int merge_pass_count(int dir, const char *name, size_t *ret, struct err *e);
/* Deals the list into new shards of <name>/, numbered from `from` on.  shards: from shard_count();
 * 0: none. */
MUST_CHECK int merge_pass_deal(int dir, const char *name, size_t from,
			       const struct candidates *list, unsigned shards, struct err *e);
/* Opens <name>/<k>/ and loads its list. */
MUST_CHECK int merge_shard_open(int dir, const char *name, size_t k, int *ret_fd,
				struct candidates *ret, struct err *e);
/* Makes a shard, or makes it anew, with nothing measured. */
MUST_CHECK int merge_shard_make(int dir, const char *name, size_t k, const struct candidates *list,
				struct err *e);
/* The features and edges that all candidates reach, in a file.  -EBADMSG: the file is damaged. */
MUST_CHECK int merge_reach_save(int dir, const struct reach *r, struct err *e);
#define MERGE_FILE_CONTROL "control"
#define MERGE_FILE_LIST	   "list"
#define MERGE_FILE_COVER   "cover"
#define MERGE_FILE_SPARE   "spare"

#endif
