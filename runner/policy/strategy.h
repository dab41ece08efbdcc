/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_STRATEGY_H
#define RUNNER_POLICY_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

/* Other ways to fuzz a build with the same engine, when the target's rule (rule.h) says that more
 * of the same does not pay.  Each strategy gets a trial.  As long as it finds edges at the target's
 * price it goes on; otherwise the next one is tried:
 *
 *   - first those that were never tried on this build, in the order of the enum, from
 *     strategies.first on;
 *   - then those that paid before, and the plain way, when all of them together have found enough
 *     since their last trial.
 *
 * A strategy that did not pay in its first trial is not tried again on the build.  When none is
 * left, the target ends or rests, as it would without strategies.  The plain way comes before that,
 * if finds have yet to show.
 *
 * Some strategies read only a part of the corpus, so that their finds show when a later cell has
 * read all of it: see strategies_seeded().  Pure, and it owns nothing. */

enum strategy {
	STRATEGY_PLAIN,	 /* the engine's own way */
	STRATEGY_OTHERS, /* from inputs of other targets, too */
	STRATEGY_FEW,	 /* one mutation an input */
	STRATEGY_SHORT,	 /* short inputs only */
	STRATEGY_EVEN,	 /* all inputs of the corpus are equally likely to be mutated */
	STRATEGY_SUBSET, /* from a part of the corpus */
	STRATEGY_LENGTH, /* inputs of any length from the beginning */
	STRATEGY_VALUES, /* inputs that bring operands of a comparison closer are kept, too */
	STRATEGY_WORDS,	 /* words of the program beside the given dictionary */
	STRATEGIES
};
/* "plain", "few-mutations", ...: the name in files and for users. */
const char *strategy_name(enum strategy s);

/* What a strategy did on a build. */
struct strategy_arm {
	uint64_t spent_us; /* effective time */
	uint64_t found;	   /* edges */
	bool paid;	   /* a trial found edges at the price */
	/* Edges of the build when its last trial ended without paying, + 1; 0: no trial did. */
	uint64_t stood;
};

struct strategies {
	/* The strategies that may be tried, a bit each (1u << STRATEGY_FEW).  0: none. */
	unsigned may;
	enum strategy now, next; /* of the present or last cell, and of the next one */
	unsigned first;		 /* those never tried begin here: shards try different ones */
	bool again;		 /* PLAIN is on trial, after others: else the rule judges it */
	/* Its finds show when a cell has read all seeds; PLAIN: no strategy waits for that. */
	enum strategy owed;
	uint64_t owed_us;		/* of its trial; 0: not known, as after another run */
	uint64_t trial_us, trial_found; /* of the present trial */
	unsigned failures;		/* strategies_failed() in the present trial */
	struct strategy_arm arms[STRATEGIES];
};

/* Another build: what is known of the strategies does not apply to it. */
void strategies_forget(struct strategies *s);
/* A cell with the strategy `next` starts. */
void strategies_launched(struct strategies *s);
/* Adds effective time, or edges that the present strategy found. */
void strategies_spend(struct strategies *s, uint64_t us);
void strategies_find(struct strategies *s, uint64_t edges);
/* The seeds of a cell reach so many edges more than the build ever reached.  True: a strategy
 * found them, and they are counted for it. */
bool strategies_seeded(struct strategies *s, double price, uint64_t more);

/* Its cell ended before it fuzzed.  After STRATEGY_FAILURES of them, or at_once, the trial is over,
 * and PLAIN is next. */
void strategies_failed(struct strategies *s, bool at_once, uint64_t cov);
/* Whether cells of the strategy read less than the whole corpus. */
bool strategy_reads_less(enum strategy s);
/* The strategy with finds that a later cell, or a later run, will show; PLAIN: there is none. */
enum strategy strategies_owed(const struct strategies *s);

/* The rule says that more of the same does not pay. */
struct strategy_terms {
	double price;	   /* edges per CPU-second; 0: one edge pays for a trial */
	uint64_t least_us; /* the shortest trial */
	uint64_t build_us; /* effective time of the build */
	uint64_t cov;	   /* its edges */
};
enum strategy_answer {
	STRATEGY_GO_ON, /* its trial is not over, or it pays */
	STRATEGY_NEXT,	/* another one is next: the present cell ends */
	STRATEGY_NONE,	/* none is left; PLAIN is next */
};
enum strategy_answer strategies_ask(struct strategies *s, const struct strategy_terms *t);

enum { STRATEGY_FAILURES = 4 };
enum { STRATEGY_TRIAL_PART = 32 }; /* a trial gets this part of the build's time */

#endif
