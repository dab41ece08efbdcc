/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_INTERNAL_H
#define RUNNER_RUN_TRIAGE_INTERNAL_H

#include "runner/crash/ledger/ledger.h"
#include "runner/crash/minimise/minimise.h"
#include "runner/run/triage/kept.h"
#include "runner/run/triage/triage.h"

/* Shared by triage.c (stages, replays), queue.c (artifacts), note.c (vault and ledger),
 * symbolize.c, check.c and minimise.c. */

/* An artifact in work. */
struct finding {
	char name[64];	 /* in triage/<target>; "" for a reproducer that is checked */
	char path[4096]; /* of the input, on the host */
	uint64_t replays, hits;
	bool cheap_done;
	char raw_key[CRASH_KEY_HEX];
	struct crash_report report; /* of the first hit */
	char *output;		    /* of the first hit */
	size_t n_output;
	/* The finding cell's report.  Zero, and `cell_report` not found, if none was kept. */
	struct kept kept;
	struct crash_report cell_report;
	bool starved;  /* a replay of it was starved */
	bool failed;   /* a replay failed, in any way */
	bool by_cell;  /* `cell_report` comes from the cell's end, not from a text */
	bool lost;     /* no input was saved: there is only `kept` */
	bool as_found; /* the ledger gets the finding cell's run and time, not those of this run */
	bool behind;   /* `cell_report` is undefined behaviour behind another, which a replay meets
			  first */
};
void finding_done(struct finding *f);
/* text: the content of report.txt. */
void finding_keep_output(struct finding *f, struct slice text);

enum triage_stage { STAGE_CHECK, STAGE_QUEUE, STAGE_MINIMISE, STAGE_END };

struct triage {
	const struct triage_env *env;
	struct triage_spec spec;
	char work[4000]; /* spec.work */
	struct triage_sum sum;
	enum triage_stage stage;
	struct replay *replay;	  /* NULL between cells */
	struct replay_seat *seat; /* for replays without names; NULL: not needed, or not possible */
	struct naming *naming;	  /* NULL: no symbolizer is at work */
	struct source *idle;	  /* the next step, from the loop */
	struct source *until;	  /* spec.until_us; NULL: never */
	uint64_t borrowed;	  /* memory that the replay in work borrowed */
	replay_done_fn *done;	  /* for the result of the replay in work */
	struct {
		const char *path;     /* NULL: none */
		replay_done_fn *done; /* NULL: names are wanted, no replay */
	} later;		      /* waits for memory */
	uint64_t end_us;
	bool stopping;
	unsigned saving;	    /* findings that wait until the ledger is written */
	struct triage *next_writer; /* in triage_parts.waiting */
	bool ending;		    /* the end waits for these */

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
		struct minimise s;
		bool open; /* s was initialised */
		char signature[LEDGER_SIGNATURE_MAX + 1];
		char other[16][CRASH_KEY_HEX]; /* cheap keys of other failures */
		size_t n_other;
		char same[16][CRASH_KEY_HEX]; /* cheap keys of the crash, beside the ledger's */
		size_t n_same;
		uint64_t end_us;
		char bug[CRASH_KEY_HEX]; /* the input's bug key; "": not known for this build */
		bool named;		 /* the replay in work is symbolized */
		bool shorter;		 /* the engine made the input shorter */
		bool ended;		 /* no later run goes on */
		uint64_t began_us;
		uint64_t old_end_us; /* for crashes that earlier runs saw */
		uint64_t limit_us;   /* then minimize_time is used up; end_us may be sooner */
	} minimise;

	/* The engine's part of minimising. */
	struct {
		struct seat *seat; /* NULL: not needed */
		struct exec *exec;
		struct crash_parser *parser;
		char build[FILE_ID_TEXT]; /* for the parser */
		char *best;		  /* n bytes; NULL: the input of minimise.s */
		char *tried;		  /* a shorter input that waits for names */
		char raw[CRASH_KEY_HEX];  /* the cheap key of `tried` */
		size_t n, n_tried;
		/* The size at which the engine found nothing shorter; SIZE_MAX: its time ended
		 * first; 0: not known. */
		size_t least;
		uint64_t end_us;
		unsigned misses;
	} engine;
};

/* Takes the next step, from the loop. */
void triage_next(struct triage *t);
/* Notes an error of fuzzcell, and gives the stage up. */
void triage_give_up(struct triage *t, const char *why);
/* A replay had no result: gives the stage up, unless only this input was starved. */
void triage_no_result(struct triage *t, const struct replay_end *end);

/* Runs path once, perhaps later.  done gets t.  path must live until then. */
MUST_CHECK int triage_replay(struct triage *t, const char *path, bool symbolize,
			     replay_done_fn *done, struct err *e);

/* Whether a replay must go on after undefined behaviour.  Fuzzing goes on after it, so another
 * crash may lie behind it. */
bool triage_goes_past_ub(const struct triage *t);

/* Returns the memory that was borrowed for a symbolizer; none is fine. */
void triage_return_memory(struct triage *t);

/* Whether t->f has the finding cell's report with offsets, and the binary has not changed since. */
bool triage_wants_names(const struct triage *t);
/* Asks a symbolizer for names, then calls triage_note().  It needs borrowed memory, and returns it.
 */
void triage_symbolize(struct triage *t);
void triage_symbolize_stop(struct triage *t);
/* Gets names for t->f if it wants them, when there is memory; then calls triage_note(). */
void triage_name_and_note(struct triage *t);

/* Replays t->f.path until its rate is known, then calls triage_note(). */
MUST_CHECK int triage_measure(struct triage *t, struct err *e);

/* Saves the complete t->f in the vault and the ledger, and takes it out of the queue; then calls
 * triage_next(). */
void triage_note(struct triage *t);
/* t->f is no failure: takes it out of the queue, then calls triage_next().  The artifact stays in
 * the logs of its run. */
void triage_dismiss(struct triage *t);
/* The same, but the input is not counted as dismissed. */
void triage_leave(struct triage *t);
/* As triage_note() for a known crash: only counts it. */
void triage_count(struct triage *t, const struct known_crash *c, const char *raw_key);

/* Fills t->names with the signatures of the crashes that the stage wants. */
void triage_list(struct triage *t,
		 bool (*wanted)(const struct triage *t, const struct known_crash *c));

/* The commit that the binary was made from; NULL: not known. */
const char *triage_commit(const struct triage *t);

/* Takes one step of a stage.  False: the stage is over. */
bool triage_check_step(struct triage *t);
/* The input of the checked crash failed as the crash `seen`. */
void triage_check_failed(struct triage *t, const struct known_crash *seen);
bool triage_queue_step(struct triage *t);
bool triage_minimise_step(struct triage *t);
/* Ends a minimising that waits for memory if its time is over.  False: there is none. */
bool triage_minimise_cut(struct triage *t);
/* Frees what minimising holds. */
void triage_minimise_done(struct triage *t);

/* The number of artifacts that still wait; an error counts as one more. */
size_t triage_queue_left(const struct triage *t);

/* Makes the absolute path of a file of the state directory.  False: it is too long. */
bool triage_path(const struct triage *t, const char *relative, char out[4096]);

#endif
