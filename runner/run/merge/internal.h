/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_MERGE_INTERNAL_H
#define RUNNER_RUN_MERGE_INTERNAL_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/task.h"
#include "runner/corpus/measure/cover.h"
#include "runner/run/merge/merge.h"

/* Between merge.c (its start and end), steps.c (what comes next), cell.c (cells
 * that measure), leak.c (which input leaks?), and what is done in child processes:
 * stage.c, direct.c, deal.c, look.c, decide.c on the files of
 * files.c. */

enum {
	MERGE_SHARDS_MAX = 400, /* in merge/<target>/measure; a descriptor each */
	MERGE_LEAK_CHUNK = 512, /* inputs replayed at a time; libFuzzer looks 1000 times */
};

#define MERGE_CONTROL_AT "/work/control" /* in the cell */

enum merge_step { MERGE_STAGE, MERGE_CELLS, MERGE_DECIDE, MERGE_EXCHANGE, MERGE_END };

/* What one cell did, and what its control file says of it. */
struct merge_facts {
	bool ran;	  /* false: there was no cell yet */
	bool ours;	  /* we ended it: nothing can be said of the input in work */
	bool accumulates; /* what it died of may be the sum of many inputs */
	size_t first;	  /* the input that it began with */
};
enum merge_act {
	MERGE_RUN,    /* (again) from the next input on */
	MERGE_BLAME,  /* the next input is bad: from the one behind it on */
	MERGE_DONE,   /* all of the shard is measured */
	MERGE_FULL,   /* the control file is as large as it may be: the rest elsewhere */
	MERGE_STRIKE, /* that cell got nowhere */
};
/* Pure.  started: `next` was in work when the cell ended; full: the control file is near
 * the limit of a file's size. */
enum merge_act merge_judge(const struct merge_facts *f, const struct control *c, bool full);

/* --- a cell's place ------------------------------------------------------------- */

struct merge_range {
	size_t from, to;
};

/* Looking for the inputs that leak, by halves.  A leak shows at the process's end. */
struct merge_leaks {
	size_t at, end; /* of the shard's list: still to be looked at */
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
	/* What merge_look() is told. */
	struct merge_facts facts;
	const char *kind; /* of a failure: "crash", "timeout", "oom", "leak" */
	bool leaked, stuck;
	char said[160]; /* of the cell that ended last */
	unsigned strikes;
	size_t half;		      /* a new shard, for merge_task_halve() */
	uint64_t size_seen, grown_us; /* of the control file */
	size_t next;
	struct merge_leaks leaks;
	const char *blamed; /* by leak.c, for its task */
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
	uint64_t max_len; /* the longest candidate's */
	unsigned round;	  /* of verifying; 0: not yet */
	unsigned spoiled; /* control files */
	unsigned halving; /* shards that become two: the last ones are not there yet */
	char pass[24];	  /* directory of the shards that are measured: "quick", ... */
	/* The first pass measures of each input all that it reaches, not only what no
	 * other had: slower, but another choice can be made from it. */
	bool full, unsteady;
	bool direct; /* merge_staged.direct */
	bool again;  /* a shard was full: its rest is to be dealt */
	bool tasking, ending, over;
	bool inside, more;	/* of merge_advance() */
	bool progress, discard; /* at the end: merge/<target> goes */
	bool put_back;		/* at the end: `lost` was wrong */
	bool slow;		/* merge_last.slow */
	/* Inputs of the corpus that this merge quarantined. */
	char (*lost)[STORE_NAME];
	size_t n_lost;
	struct merge_size chosen, cover;

	struct merge_result result;
	struct merge_slot *slots; /* spec.workers */
};

/* The verdict; the first one stays.  Cells are stopped, then the end comes. */
void merge_end_with(struct merge *m, enum merge_verdict v, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Takes the first step; nothing is called back before this returned. */
MUST_CHECK int merge_begin(struct merge *m, struct err *e);
/* Something ended: what next? */
void merge_advance(struct merge *m);
/* The last step was taken: tells who asked; m is gone. */
void merge_finish(struct merge *m);

/* exec_spec.output of a slot's cells. */
void merge_slot_output(void *arg, struct slice bytes);
/* Takes a shard; calls merge_advance() when the slot is free again. */
void merge_slot_take(struct merge_slot *s, size_t shard);
void merge_slot_stop(struct merge_slot *s);
void merge_slot_free(struct merge_slot *s); /* and merge_advance() */
void merge_slot_done(struct merge_slot *s); /* what it holds */
/* Once a second: does its cell still get on? */
void merge_slot_tick(struct merge_slot *s, uint64_t now_us);
/* A bad input that was put away. */
struct merge_bad {
	char lost[STORE_NAME]; /* its name when the corpus had it, else "" */
	bool slow;	       /* it was tried again, and took its whole time again */
};
/* One more of them; false: too many, it ends. */
bool merge_bad_one(struct merge *m, const struct merge_bad *bad);
/* What fails here is the build's fault: nothing of the corpus goes. */
void merge_blame_build(struct merge *m, const char *why);
uint64_t merge_time_left(const struct merge *m);

/* After a cell that leaked and had run the shard's inputs from `first` on. */
void merge_leaks_start(struct merge_slot *s);

/* --- in child processes: task_fn ----------------------------------------------- */

/* stage.c, deal.c.  arg: the merge.  Stages, or stages nothing and only deals
 * what is not measured yet. */
struct merge_staged {
	uint64_t candidates, longest, reused;
	uint64_t files, bytes; /* of the corpus */
	size_t next, end;      /* shards to measure */
	bool full;	       /* as merge.full must be */
	bool direct;	       /* likewise: cells read the corpus itself, not a stage */
	char note[160];
};
int merge_task_stage(void *arg, struct buf *out, struct err *e);
int merge_task_deal(void *arg, struct buf *out, struct err *e);
/* all: the candidates, sorted. */
MUST_CHECK int merge_deal_rest(const struct merge *m, bool full, int dir,
			       const struct candidates *all, struct merge_staged *io,
			       struct err *e);
/* direct.c.  True: the corpus holds all candidates and nothing else, and a cell's user
 * may read it.  all: what it holds, sorted; empty otherwise. */
MUST_CHECK int merge_list_direct(const struct merge *m, int corpus, struct candidates *all,
				 bool *ret, struct err *e);
/* Shows a cell the candidates. */
MUST_CHECK int merge_mount_inputs(struct setup *s, const struct merge *m, struct err *e);
/* The directory of the first pass: "quick" or "measure". */
const char *merge_first_pass(bool full);
/* -ESTALE: it is no longer the binary that was measured. */
MUST_CHECK int merge_check_binary(const struct merge *m, int dir, struct err *e);

/* look.c.  arg: the slot. */
struct merge_looked {
	enum merge_act act;
	size_t next, n;
	bool damaged;	      /* the cell spoiled the control file: it is written anew */
	struct merge_bad bad; /* of MERGE_BLAME */
};
int merge_task_look(void *arg, struct buf *out, struct err *e);
/* Which input of a shard spoils its control file?  The second half of them goes into the
 * shard s->half; the last one left is bad.  out: struct merge_bad of it, or nothing. */
int merge_task_halve(void *arg, struct buf *out, struct err *e);
/* out: names of STORE_NAME bytes each, of s->leaks.at and what follows. */
int merge_task_names(void *arg, struct buf *out, struct err *e);
/* s->blamed is bad.  out: struct merge_bad. */
int merge_task_leak(void *arg, struct buf *out, struct err *e);

/* decide.c.  arg: the merge. */
struct merge_decided {
	enum { MERGE_TO_FULL, MERGE_TO_VERIFY, MERGE_TO_REPLACE, MERGE_TO_END } to;
	enum merge_verdict verdict; /* of MERGE_TO_END */
	char why[200];
	size_t shards;		     /* of MERGE_TO_VERIFY */
	struct merge_staged measure; /* of MERGE_TO_FULL */
	struct merge_size all, chosen, cover;
	uint64_t new_inputs;
};
int merge_task_decide(void *arg, struct buf *out, struct err *e);
/* MERGE_TO_FULL: from the beginning. */
void merge_begin_full(struct merge *m, const struct merge_decided *d);
/* What a decision for MERGE_TO_END means for the merge. */
void merge_end_decided(struct merge *m, const struct merge_decided *d);
struct merge_replaced {
	char why[200]; /* it is in place, but ...; "" */
};
int merge_task_replace(void *arg, struct buf *out, struct err *e);
/* out: struct merge_size of the corpus. */
int merge_task_end(void *arg, struct buf *out, struct err *e);

/* last.c: of the last merge that ended well; all 0 and "" before the first. */
struct merge_last {
	char build[DIGEST_SHA1_HEX];
	bool unsteady;		  /* a quick first pass was of no use on this build */
	bool slow;		  /* of what was tried again some timed out again */
	uint64_t edges, features; /* of all candidates */
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
/* What is there; the stage (or the corpus in its place, merge.direct) and the corpus too. */
MUST_CHECK int merge_dir_open(const struct merge *m, struct merge_dir *ret, struct err *e);

/* The candidates of this merge, listed once: `staged` is written when they are staged, and
 * the name of each that was put away goes to `gone`. */
MUST_CHECK int merge_staged_save(int dir, const struct candidates *all, struct err *e);
MUST_CHECK int merge_staged_strike(int dir, const char *name, struct err *e);
MUST_CHECK int merge_staged_load(int dir, struct candidates *ret, struct err *e); /* the rest */
#define MERGE_FILE_STAGED "staged"
#define MERGE_FILE_GONE	  "gone"

/* A pass: numbered shards. */
struct merge_pass {
	struct cover_shard *v; /* points to the two */
	struct candidates *lists;
	struct control **controls;
	size_t n;
	bool holes; /* something was forgotten that ran: "only what is new" misses it */
};
#define _automergepass_ CLEANUP(merge_pass_done)
void merge_pass_done(struct merge_pass *p);

/* Appends the shards of <name>/; of inputs that are not in `only` nothing counts. */
MUST_CHECK int merge_pass_load(int dir, const char *name, const struct candidates *only,
			       struct merge_pass *io, struct err *e);
/* How many shards <name>/ has; 0 when it is not there. */
MUST_CHECK int merge_pass_count(int dir, const char *name, size_t *ret, struct err *e);
/* New shards of <name>/ for all of the list: as many as shard_count() says (0 for none),
 * numbered from `from` on. */
MUST_CHECK int merge_pass_deal(int dir, const char *name, size_t from,
			       const struct candidates *list, unsigned shards, struct err *e);
/* <name>/<k>/ and its list. */
MUST_CHECK int merge_shard_open(int dir, const char *name, size_t k, int *ret_fd,
				struct candidates *ret, struct err *e);
/* Makes it, or makes it anew, with nothing measured. */
MUST_CHECK int merge_shard_make(int dir, const char *name, size_t k, const struct candidates *list,
				struct err *e);
/* What all candidates reach, in a file of ours; -EBADMSG: not as we wrote it. */
MUST_CHECK int merge_reach_save(int dir, const struct reach *r, struct err *e);
MUST_CHECK int merge_reach_load(int dir, struct reach *ret, struct err *e);
#define MERGE_FILE_CONTROL "control"
#define MERGE_FILE_LIST	   "list"
#define MERGE_FILE_COVER   "cover"
#define MERGE_FILE_SPARE   "spare"

#endif
