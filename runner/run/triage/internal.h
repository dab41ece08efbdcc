/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_INTERNAL_H
#define RUNNER_RUN_TRIAGE_INTERNAL_H

#include "runner/crash/ledger/fix.h"
#include "runner/crash/minimise/minimise.h"
#include "runner/run/triage/kept.h"
#include "runner/run/triage/triage.h"

/* Between triage.c (stages, trials), queue.c (what is each artifact?), note.c
 * (into the ledger), names.c, check.c, fix.c and minimise.c. */

/* An artifact in work. */
struct finding {
	char name[64];	 /* in triage/<target>; "" for a reproducer that is checked */
	char path[4096]; /* of the input, on the host */
	uint64_t tries, hits;
	bool cheap_done;
	char raw_key[CRASH_KEY_HEX];
	struct crash_report report; /* of the first hit */
	char *output;		    /* of the first hit */
	size_t n_output;
	/* What the finding cell said: of all zero, not found, when nothing is kept. */
	struct kept kept;
	struct crash_report told;
	bool starved; /* a try of it was */
	bool failed;  /* a replay failed, in any way */
	bool by_cell; /* told comes from the cell's end, not from a text */
	bool lost;    /* there is only kept: no input was saved */
	bool as_told; /* it is noted as found then and there, not as seen here */
	bool behind;  /* told is undefined behaviour behind another, which a replay meets first */
};
void finding_done(struct finding *f);
/* text is what its report.txt will say. */
void finding_keep_output(struct finding *f, struct slice text);

enum triage_stage { STAGE_CHECK, STAGE_QUEUE, STAGE_SHRINK, STAGE_END };

struct triage {
	const struct triage_env *env;
	struct triage_spec spec;
	char work[4000]; /* spec.work */
	struct triage_sum sum;
	enum triage_stage stage;
	struct trial *trial;	 /* NULL between cells */
	struct trial_seat *seat; /* of trials without names; NULL: none was needed, or can be */
	struct naming *naming;	 /* NULL: no symbolizer is at work */
	struct source *idle;	 /* the next step, from the loop */
	struct source *until;	 /* spec.until_us; NULL: never */
	uint64_t borrowed;	 /* memory, by the trial in work */
	trial_done_fn *done;	 /* who waits for it */
	struct {
		const char *path;    /* NULL: none */
		trial_done_fn *done; /* NULL: names are wanted, no trial */
	} later;		     /* what waits for memory */
	uint64_t end_us;
	bool stopping;
	unsigned saving;	    /* findings whose ledger is being written */
	struct triage *next_writer; /* in triage_parts.waiting */
	bool ending;		    /* waits for these */

	struct strv names; /* of the stage: artifacts, or signatures */
	size_t at;
	bool listed;
	struct finding f;

	struct {
		struct ledger_asked asked; /* the entry in work, with its inputs */
		size_t at;		   /* ledger_next_asked()'s place of the next one */
		uint64_t need, passed;	   /* passes of the input in work */
		bool minimized;		   /* the minimised input is in work */
	} check;

	struct {
		struct shrink s;
		bool open; /* s was initialised */
		char signature[LEDGER_SIGNATURE_MAX + 1];
		char raw[16][CRASH_KEY_HEX]; /* cheap keys that are known not to be it */
		size_t n_raw;
		char same[16][CRASH_KEY_HEX]; /* that are known to be it, beside the ledger's */
		size_t n_same;
		uint64_t end_us;
		char bug[CRASH_KEY_HEX]; /* of the input; "": not known for this build */
		bool named;		 /* the trial in work is symbolized */
		bool shorter;		 /* the engine made it so */
		bool ended;		 /* no later run goes on */
		uint64_t began_us;
		uint64_t old_end_us; /* for crashes that earlier runs saw */
		uint64_t limit_us;   /* minimize_time is used up then; end_us may be sooner */
	} shrink;

	/* The engine's part of it. */
	struct {
		struct seat *seat; /* NULL: none was needed, or can be */
		struct exec *exec;
		struct crash_parser *parser;
		char build[KEPT_FILE_TEXT]; /* the parser's */
		char *best;		    /* n bytes; NULL: what shrink.s has */
		char *tried;		    /* waits for names */
		char raw[CRASH_KEY_HEX];    /* its cheap key */
		size_t n, n_tried;
		/* The size at which it found nothing shorter, SIZE_MAX when it had no more time;
		 * 0: not known. */
		size_t least;
		uint64_t end_us;
		unsigned misses;
	} engine;
};

/* Goes on, from the loop. */
void triage_next(struct triage *t);
/* Something of ours failed: it is noted, the stage is given up. */
void triage_give_up(struct triage *t, const char *why);
/* A trial was of no use: the same, unless only this input has to wait for a calmer machine. */
void triage_cannot_tell(struct triage *t, const struct trial_end *end);

/* Runs path once, perhaps later; done gets t.  path must live until then. */
MUST_CHECK int triage_try(struct triage *t, const char *path, bool symbolize, trial_done_fn *done,
			  struct err *e);

/* Whether the failure in work is none of undefined behaviour: fuzzing goes on past that, so a crash
 * behind it may be met only behind it. */
bool triage_goes_past_ub(const struct triage *t);

/* What was borrowed for a symbolizer; nothing is fine. */
void triage_return_memory(struct triage *t);

/* t->f is as its cell told, by offsets, and the binary is still the one that it ran. */
bool triage_wants_names(const struct triage *t);
/* Asks a symbolizer for them, then triage_note(); with memory borrowed, which it returns. */
void triage_names(struct triage *t);
void triage_names_stop(struct triage *t);
/* Names for t->f where it wants them, when there is memory; then triage_note(). */
void triage_name_and_note(struct triage *t);

/* Reproduces t->f.path, then triage_note(). */
MUST_CHECK int triage_measure(struct triage *t, struct err *e);

/* t->f is complete: into the vault, the ledger, and out of the queue; then
 * triage_next(). */
void triage_note(struct triage *t);
/* t->f is no failure: out of the queue; then triage_next().  The artifact stays with its
 * run. */
void triage_dismiss(struct triage *t);
/* The same for an input that is not counted as dismissed. */
void triage_leave(struct triage *t);
/* Like triage_note() for a crash with a known cheap key: only counts it. */
void triage_count(struct triage *t, const struct known_crash *c, const char *raw_key);

/* The stage's names: the signatures of the crashes that it wants. */
MUST_CHECK int triage_list(struct triage *t,
			   bool (*wanted)(const struct triage *t, const struct known_crash *c),
			   struct err *e);

/* That the binary was made from; NULL: not known. */
const char *triage_commit(const struct triage *t);
/* What passes count for: the commit, or this run where that is not known. */
const char *triage_build(const struct triage *t, char out[128]);
/* How often each input of an entry must pass: at least once, also when no number is enough. */
uint64_t triage_needed(const struct known_crash *entry);
/* Whether the target is in this run. */
bool triage_is_here(const struct triage *t, const char *target);
/* Whether all inputs that the target must run have passed often enough. */
bool triage_has_passed(const struct triage *t, const struct known_crash *c);
/* The entry that no number of passes proves fixed in the target; NULL: there is none. */
const struct known_crash *triage_never_told(const struct triage *t, const struct known_crash *c);
/* Copies all inputs that the target must run to regressions/<target>/.  Blocks. */
MUST_CHECK int triage_keep(const struct triage *t, const struct known_crash *c, struct err *e);
/* The target of an open entry that is not in this run; NULL: there is none. */
const char *triage_missing(const struct triage *t, const struct known_crash *c);

/* One step of the stage; false: it is over. */
bool triage_check_step(struct triage *t);
/* The input of the crash that was checked failed as this one. */
void triage_check_failed(struct triage *t, const struct known_crash *seen);
bool triage_queue_step(struct triage *t);
bool triage_shrink_step(struct triage *t);
/* Ends the minimising that waits for memory when its time is over; false: nothing waits so. */
bool triage_shrink_cut(struct triage *t);
void triage_shrink_done(struct triage *t);

/* Between minimise.c and engine.c. */
enum shrink_verdict { SHRINK_SAME, SHRINK_OTHER, SHRINK_UNKNOWN };
/* What a report without names says. */
enum shrink_verdict triage_shrink_judge(struct triage *t, const struct crash_report *r);
/* What its report says, with names; the cheap key is known from then on. */
bool triage_shrink_named(struct triage *t, const struct crash_report *r, const char *raw_key);
/* Writes t->f.path, for a trial. */
MUST_CHECK int triage_shrink_write(struct triage *t, struct slice bytes, struct err *e);
/* The passes go on with these bytes. */
MUST_CHECK int triage_shrink_restart(struct triage *t, struct slice bytes, struct err *e);
void triage_shrink_passes(struct triage *t);
/* Whether the engine is likely to make t->shrink's input smaller. */
bool triage_engine_helps(const struct triage *t, const struct known_crash *c);
/* After passes, that they made it smaller since. */
bool triage_engine_helps_again(const struct triage *t);
/* It goes on with triage_shrink_passes(). */
void triage_engine_begin(struct triage *t);
void triage_engine_done(struct triage *t);
/* How many artifacts still wait; 0 also where that cannot be seen. */
size_t triage_queue_left(const struct triage *t);

/* Reads the signature's reproducer's path below the state directory. */
bool triage_path(const struct triage *t, const char *relative, char out[4096]);

#endif
