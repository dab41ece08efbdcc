/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_FLEET_H
#define RUNNER_POLICY_FLEET_H

#include "runner/policy/rule.h"
#include "runner/policy/share.h"

/* The targets of a run, and the choice of those that run.  A run asks each second;
 * `make bench-schedule` asks for simulated fleets.  A target runs for a turn.  After the turn, or
 * when its rule says so, it waits again and another target is chosen.  The functions are pure:
 * time and readings are arguments, and the caller owns the arrays. */

enum fleet_phase {
	FLEET_WAITS,
	FLEET_RUNS,
	FLEET_BUSY, /* stopping: fleet_back() makes it FLEET_WAITS again */
	FLEET_OUT,  /* it has left the fleet */
};

struct fleet_target {
	/* The caller sets these when the target joins; all other fields begin as zero. */
	struct rule rule;
	int32_t priority;
	double quota; /* CPUs that its cells may use; 0: no limit */
	/* Kept from run to run, as long as the build stays the same; also set by the caller. */
	bool known; /* the curve is valid: from curve_begin(), or kept */
	struct curve curve;
	struct share_health health;
	/* Set by fleet_read() and fleet_tell(). */
	struct effective clock;
	bool fuzzes; /* its present cell has read its seeds */
	bool starts; /* it was started, and has no cell yet */
	uint64_t edges_total, lim, max_len;
	uint64_t runs;	       /* inputs that the present cell ran */
	uint64_t spent_us;     /* effective time in this run */
	uint64_t gain_wall_us; /* clock.wall_us at the last new edge */
	/* Fields of the fleet itself. */
	enum fleet_phase phase;
	bool blocked;	      /* set by the caller: there is no memory for it now */
	bool fits_after_one;  /* set by the caller: it fits when any running target has left */
	bool due;	      /* set by turns_set(): it must get its first turn now */
	bool capped;	      /* continuous: its build used all that it may use today */
	bool resting;	      /* continuous: it does not pay, until something changes */
	bool forges;	      /* its numbers are impossible: its finds do not count */
	bool cut;	      /* its quantum ends now */
	bool woken;	      /* it has changed: it gets one turn before others */
	bool passed;	      /* a user wants others to come first, once */
	bool next;	      /* a user wants it before all others, until it is started */
	uint64_t asked_us;    /* spent_us when its rule last answered RULE_GO_ON */
	uint64_t held_us;     /* time of its rule's first RULE_HOLD; 0: it is not held */
	uint64_t last_us;     /* when its quantum began; 0: it had none in this run */
	unsigned row_n;	      /* quanta in a row that it won while others wanted its worker */
	uint64_t row_us;      /* when the first of these began */
	uint64_t yields_us;   /* until then it leaves the choice to the others */
	uint64_t cap_from_us; /* spent_us when its cap began, with its build or the day */
	/* spent_us when its quantum began, and when it was last started.  Time for reading seeds
	 * counts for neither. */
	uint64_t from_us, turn_from_us;
	uint64_t build_wall_us; /* clock.wall_us when its build came */
	uint64_t build_lost_us; /* CPU time used while thrashing, when its build came */
};

struct fleet_rules {
	struct share_rules share;
	uint64_t fresh_us; /* a build that ran for less comes first */
	/* A quantum in effective time and in wall time; it ends when either is over. */
	uint64_t quantum_us, quantum_wall_us;
	unsigned row;	  /* quanta that a target may win in a row while others want its worker */
	uint64_t turn_us; /* effective time of a started target before its rule decides */
	uint64_t hold_us; /* wall time that a held target waits for low CPU pressure */
	bool continuous;  /* a target that does not pay rests instead of leaving */
};
struct fleet_rules fleet_preset(double scale); /* scale: as for rule_preset() */

struct fleet {
	struct fleet_rules rules;
	struct fleet_target *v; /* owned by the caller */
	size_t n;
	struct chance chance;
	struct share_item *items;	/* owned by the caller: room for n */
	uint64_t idle_until_us;		/* no target pays: when to ask again; 0: now */
	struct fleet_target *successor; /* of a paused target: it starts next; NULL: none */
};

/* The target's next cell starts: after FLEET_START, and at every restart after a failure. */
void fleet_launched(struct fleet_target *t, uint64_t now_us);
/* Takes the counters of the target's cell. */
void fleet_read(struct fleet_target *t, const struct effective_reading *r);
/* The target's cell has read its seeds, which reach `cov` edges.  New edges among them do not count
 * as found by fuzzing.  A user added inputs, or an earlier run was killed before it noted them. */
void fleet_seeded(struct fleet_target *t, uint64_t cov);
/* Statistics of the engine: totals of the present cell.  True: the coverage is a new maximum. */
struct fleet_news {
	bool fuzzes;
	uint64_t cov, edges_total, lim, max_len, runs;
};
bool fleet_tell(struct fleet_target *t, const struct fleet_news *n);
/* Forgets the stored curve of a build, because it cannot be true: the target counts as new. */
void fleet_forget(struct fleet_target *t);
/* Marks a target with impossible numbers.  Its finds are void, and its quantum ends.  Until
 * another build, it runs only when no other target wants the worker, or by the floor. */
void fleet_forged(struct fleet_target *t);
/* The target was paused or sent to rest, or its cell ended otherwise: it may start again. */
void fleet_back(struct fleet *f, struct fleet_target *t);
/* The target has another build: nothing is known of it, and it gets a new cap. */
void fleet_rebuilt(struct fleet_target *t);
/* Something about the target has changed: it gets a turn soon, in whatever phase it is.  A target
 * that reached its cap is only started: it goes on if fleet_rebuilt() comes before its cell is
 * launched. */
void fleet_wake(struct fleet *f, struct fleet_target *t);
/* A user wants the target: it waits, is the next to start, and gets a new cap. */
void fleet_choose(struct fleet *f, struct fleet_target *t);
/* A user skips the target: other waiting targets come first, if any may start. */
void fleet_pass(struct fleet *f, struct fleet_target *t);
/* Continuous: a new day begins, and caps are per day. */
void fleet_new_day(struct fleet *f);
/* The process was suspended for this time: the fleet's times move on by it. */
void fleet_slept(struct fleet *f, uint64_t us);

enum fleet_what {
	FLEET_NOTHING,
	FLEET_START,
	FLEET_PAUSE,   /* its quantum is over, or there is one worker fewer */
	FLEET_REST,    /* continuous: as FLEET_PAUSE, because it does not pay */
	FLEET_PLATEAU, /* it leaves: its rule says so */
	FLEET_CAP,     /* it leaves: it reached its cap */
	FLEET_STARVED, /* it leaves: its rule held for fleet_rules.hold_us */
};
struct fleet_order {
	enum fleet_what what;
	size_t target;
	enum share_why why; /* for FLEET_START */
};
struct fleet_room {
	/* How many targets may run (FLEET_RUNS).  A target that is stopping does not count, though
	 * it still has its worker: another target must not leave in its place. */
	unsigned run;
	unsigned idle; /* workers without a cell: targets that may start now */
	bool calm;     /* CPU pressure is low */
};
/* The next order.  The phase is set already: the caller carries the order out and asks again,
 * until FLEET_NOTHING. */
struct fleet_order fleet_next(struct fleet *f, uint64_t now_us, const struct fleet_room *room);

/* The target's state for rule_ask() and rule_text(). */
struct rule_view fleet_view(const struct fleet_target *t);

#endif
