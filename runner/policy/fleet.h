/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_FLEET_H
#define RUNNER_POLICY_FLEET_H

#include "runner/policy/rule.h"
#include "runner/policy/share.h"
#include "runner/policy/strategy.h"

/* The targets of a run, and the choice of those that run.  A run asks each second; `make
 * bench-schedule` asks for simulated fleets.  The functions are pure: time and readings are
 * arguments, and the caller owns the arrays.
 *
 *   turn     The time that a target gets before others may have its worker.  At the end of a turn
 *            the target competes with the waiting targets for the next turn on this worker.  If it
 *            wins, it runs on.  If another target wins, it is paused and waits again.
 *   rule     Decides when more CPU time on a target is not expected to pay (rule.h).  It may stop a
 *            started target only after fleet_rules.rule_after_us.
 *   rest     Continuous: a target that does not pay waits, and only the floor starts it until
 *            something changes.  In other runs such a target leaves the fleet.
 *   floor    A small share of the choices that goes to the target that has waited longest, whether
 *            or not it pays (share_rules.floor).
 *   hold     If the rule would stop a target that was starved or thrashing lately, it answers
 *            RULE_HOLD.  A target that still is starved or thrashing then waits until CPU pressure
 *            is low.
 *   partner  Another build of a target, which fuzzes in turns with the main build.  Only edges that
 *            its inputs reach in the main build count as found: the main build's next cell reads
 *            them.  So a partner's new inputs give the main build a turn before others, which
 *            ends when they are read.  A main build and its partners leave the fleet together,
 *            when none of them pays; until then those that do not pay rest.
 *   strategy If the rule would stop a target, the target first tries other ways of its engine
 *            (strategy.h).  While it does, it competes for turns like a target that pays.
 *   cap      The effective time of a build after which its target stops in any case (rule.cap_us).
 *            Continuous: each day anew.
 *
 * Effective time is CPU time without thrashing (effective.h).  "Continuous" is a run without an
 * end. */

/* The policy's view of a target's phase.  The caller's state machine is the only place that keeps
 * the phase (fleet.does). */
enum fleet_does {
	FLEET_WAITS,
	FLEET_RUNS,
	FLEET_BUSY, /* stopping or at other work: it waits again afterwards */
	FLEET_OUT,  /* it has left the fleet */
};

/* Why a target waits. */
enum fleet_wait {
	FLEET_QUEUED,  /* for a worker */
	FLEET_RESTING, /* continuous: it does not pay, until something changes */
	FLEET_CAPPED,  /* continuous: it reached its cap, and waits for the next day */
	FLEET_HELD,    /* its rule holds, until CPU pressure is low */
};

/* A target's configuration. */
struct fleet_member {
	struct rule rule;
	int32_t priority;
	double quota;	     /* CPUs that the target's cells may use; 0: no limit */
	unsigned strategies; /* strategies.may */
	unsigned first;	     /* strategies.first */
	/* A partner: its main build, which joined before it.  NULL: this is a main build. */
	struct fleet_target *main;
	const char *build; /* a partner's name for users, borrowed: "memory" */
};

/* Only the functions of this directory write the members.  A target begins as zero; then
 * fleet_join() and, for a build of an earlier run, fleet_recall(). */
struct fleet_target {
	struct rule rule;
	int32_t priority;
	double quota;
	/* The caller keeps these from run to run, as long as the build stays the same. */
	bool known; /* the curve is valid: from curve_begin(), or recalled */
	struct curve curve;
	struct share_health health;
	struct strategies strategies;
	/* A partner: its main build, and the next partner of that; a main build: its partners. */
	struct fleet_target *main, *next_partner, *partners;
	const char *build; /* a partner's name, as in struct fleet_member */
	/* A partner: inputs that the main build has not read, and those that its present cell
	 * reads. */
	uint64_t given, reads;
	/* Set by fleet_read() and fleet_take_stats(). */
	struct effective clock;
	bool fuzzes;			    /* its present cell has read its seeds */
	bool starts;			    /* it was started, and has no cell yet */
	uint64_t edges_total, lim, max_len; /* as in struct rule_view */
	uint64_t runs;			    /* inputs that the present cell ran */
	uint64_t spent_us;		    /* effective time in this run */
	uint64_t gain_wall_us;		    /* clock.wall_us at the last new edge */
	/* Set by fleet_fits(). */
	bool blocked;	     /* there is no memory for the target now */
	bool fits_after_one; /* there is memory for it when any one running target has left */
	bool due;	     /* set by turns_set(): it must get its first turn now */
	/* The last answer of its rule, in a continuous run or with partners.  Both last longer than
	 * a time of waiting: the floor starts an unpaying target, and the turn does not make it
	 * pay. */
	bool at_cap;   /* it reached its cap */
	bool unpaying; /* it does not pay, and has found nothing since */
	bool forges;   /* its engine's numbers are impossible: its finds do not count */
	bool cut;      /* its turn ends now */
	bool woken;    /* it has changed: it gets one turn before others */
	bool measures; /* a main build: a partner's inputs wait to be read */
	bool put_off;  /* a main build: fleet_put_off() in this turn */
	/* A user skipped it: other targets come first until one has started, or none can start. */
	bool passed;
	bool next;		/* a user wants it before all others, until it is started */
	uint64_t asked_us;	/* spent_us when its rule last answered RULE_GO_ON */
	uint64_t held_us;	/* time of its rule's first RULE_HOLD; 0: the rule does not hold */
	uint64_t turn_began_us; /* when its last turn began; 0: none in this run, or set to 0 */
	unsigned row_n;		/* turns in a row that it won while others wanted its worker */
	uint64_t row_us;	/* when the first turn of this row began */
	/* Until then it runs only if no other paying target waits, or by the floor: it won too many
	 * turns in a row. */
	uint64_t yields_us;
	uint64_t cap_from_us; /* spent_us when its cap last began anew */
	/* Time for reading seeds counts for neither of these two. */
	uint64_t from_us;	/* spent_us when its present turn began */
	uint64_t start_from_us; /* spent_us when it was last started */
	uint64_t build_wall_us; /* clock.wall_us when its build came */
	uint64_t build_lost_us; /* CPU time used while thrashing, when its build came */
};

struct fleet_rules {
	struct share_rules share;
	/* A build that got less effective time than this comes first, unless it has had
	 * turn_us of wall time in cells. */
	uint64_t fresh_us;
	/* A turn in effective time and in wall time.  It ends when either is over. */
	uint64_t turn_us, turn_wall_us;
	unsigned row; /* turns that a target may win in a row while others want its worker */
	uint64_t
	    rule_after_us; /* effective time that a started target gets before its rule decides */
	uint64_t hold_us;  /* wall time to wait for low CPU pressure while the rule holds */
	bool continuous;   /* a target that does not pay rests instead of leaving */
};
struct fleet_rules fleet_preset(double scale); /* scale: as for rule_preset() */

struct fleet {
	struct fleet_rules rules;
	struct fleet_target *v; /* owned by the caller */
	size_t n;
	/* Returns what target i does now. */
	enum fleet_does (*does)(const void *arg, size_t i);
	const void *arg;
	struct chance chance;	  /* random numbers */
	struct share_item *items; /* owned by the caller: room for n */
	uint64_t idle_until_us;	  /* no target pays: when to choose again; 0: now */
	/* The target that won the next turn from a paused target: it starts next.  NULL: none. */
	struct fleet_target *successor;
};

/* The target has this configuration. */
void fleet_join(struct fleet_target *t, const struct fleet_member *m);
/* The target's build is known from an earlier run. */
void fleet_recall(struct fleet_target *t, const struct curve *curve,
		  const struct share_health *health, const struct strategies *strategies,
		  uint64_t edges_total);
/* States before each fleet_next() whether there is memory for the target: now, and when any one
 * running target has left. */
void fleet_fits(struct fleet *f, struct fleet_target *t, bool now, bool after_one);
/* Memory is being freed for the target: it starts next. */
void fleet_reserve(struct fleet *f, struct fleet_target *t);
/* The binary has changed during the target's turn: it counts as having waited longest. */
void fleet_outdated(struct fleet_target *t);
/* The target's next cell starts.  Call it after FLEET_START, and at every restart after a
 * failure. */
void fleet_launched(struct fleet_target *t, uint64_t now_us);
/* Takes the counters of the target's cell. */
void fleet_read(struct fleet_target *t, const struct effective_reading *r);
/* The target's cell was frozen until now: its idle time does not count. */
void fleet_thawed(struct fleet_target *t);
/* The end of a target's cell. */
enum fleet_end {
	FLEET_WELL,
	FLEET_NOT_STARTED, /* it failed before it fuzzed */
	FLEET_LIMITED,	   /* it came to a limit of time or memory */
	FLEET_CRASHED,
};
void fleet_ended(struct fleet_target *t, enum fleet_end end);
/* The target's cell has read its seeds, which reach `cov` edges.  If that is more than before, the
 * additional edges do not count as found by fuzzing: a user added inputs, or an earlier run was
 * killed before it saved the coverage.  Edges that a strategy found count, and edges of partners
 * count for these.  True: edges were counted for partners. */
bool fleet_seeded(struct fleet_target *t, uint64_t cov);
/* The main build leaves what partners gave for a later turn: too many of these inputs fail, or its
 * strategy reads a part of them. */
void fleet_put_off(struct fleet_target *t);
/* A partner saved so many new inputs, or has saved them in an earlier run. */
void fleet_gave(struct fleet *f, struct fleet_target *t, uint64_t inputs);
/* Statistics of the engine: totals of the present cell.  A partner's `cov` and its limits do not
 * count. */
struct fleet_news {
	bool fuzzes; /* the cell has read its seeds */
	uint64_t cov, edges_total, lim, max_len, runs;
};
/* Takes these statistics.  True: the coverage is a new maximum. */
bool fleet_take_stats(struct fleet_target *t, const struct fleet_news *n);
/* Forgets the stored curve of a build, because the curve cannot be true.  The target counts as
 * new. */
void fleet_forget(struct fleet_target *t);
/* A cell of the target's present strategy ended before it fuzzed, or reads inputs for too long:
 * strategies_failed(). */
void fleet_strategy_failed(struct fleet_target *t, bool at_once);
/* Marks a target with impossible numbers.  Its finds are void, and its turn ends.  Until it has
 * another build, it runs only if no other paying target waits, or by the floor. */
void fleet_forged(struct fleet_target *t);
/* Call it when a target's turn or other work has ended, and the target waits again. */
void fleet_back(struct fleet *f, struct fleet_target *t);
/* The target has another build.  Nothing is known of that build, and the cap begins anew. */
void fleet_rebuilt(struct fleet_target *t);
/* Why a target waits, or would wait.  Ask again after fleet_wake(), fleet_choose(), fleet_new_day()
 * and FLEET_REST_ON. */
enum fleet_wait fleet_waits_for(const struct fleet_target *t);
/* Something about the target has changed.  Whatever it does, it gets a turn soon.  The
 * cap does not begin anew: a target that reached its cap is started, but goes on only if
 * fleet_rebuilt() comes before its cell is launched. */
void fleet_wake(struct fleet *f, struct fleet_target *t);
/* A user wants the target.  It is the next to start, and its cap begins anew. */
void fleet_choose(struct fleet *f, struct fleet_target *t);
/* A user skips the target: other waiting targets come first, if any may start. */
void fleet_pass(struct fleet *f, struct fleet_target *t);
/* Continuous: a new day begins.  All caps begin anew. */
void fleet_new_day(struct fleet *f);
/* The process was suspended for `us`.  Turns and waiting times do not count this time. */
void fleet_slept(struct fleet *f, uint64_t us);

enum fleet_what {
	FLEET_NOTHING,
	FLEET_START,
	/* Another target won the next turn, fewer targets may run, its rule holds, or
	 * (continuous) it reached its cap. */
	FLEET_PAUSE,
	FLEET_REST,    /* continuous, or with partners: it is paused and rests: it does not pay */
	FLEET_REST_ON, /* continuous: it waits, and rests now: its rule held for hold_us */
	FLEET_TRY,     /* it is paused, and goes on with another strategy */
	FLEET_PLATEAU, /* it leaves the fleet, because it does not pay */
	FLEET_CAP,     /* it leaves the fleet, because it reached its cap */
	FLEET_STARVED, /* it leaves the fleet, because its rule held for fleet_rules.hold_us */
};
struct fleet_order {
	enum fleet_what what;
	size_t target;	    /* index in fleet.v */
	enum share_why why; /* for FLEET_START */
};
struct fleet_room {
	/* How many targets may run (FLEET_RUNS).  A target that is stopping still has its worker,
	 * but this number counts that worker as free: otherwise a further target would have to
	 * leave. */
	unsigned run;
	unsigned idle; /* workers without a cell: the number of targets that may start now */
	bool calm;     /* CPU pressure is low */
};
/* Returns the next order.  The caller carries the order out, so that fleet.does shows it, and calls
 * this again, until FLEET_NOTHING. */
struct fleet_order fleet_next(struct fleet *f, uint64_t now_us, const struct fleet_room *room);

/* The target's state for rule_ask() and rule_text(). */
struct rule_view fleet_view(const struct fleet_target *t);

#endif
