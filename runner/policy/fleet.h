/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_POLICY_FLEET_H
#define RUNNER_POLICY_FLEET_H

#include "runner/policy/rule.h"
#include "runner/policy/share.h"

/* The targets of a run and who of them runs: what a run asks each second, and what
 * `make bench-schedule` asks of fleets that it invents.  A target runs for a quantum; then,
 * or when its rule says so, it goes back and another one is chosen.  Pure: time and readings
 * are arguments, the arrays are the caller's. */

enum fleet_phase {
	FLEET_WAITS,
	FLEET_RUNS,
	FLEET_BUSY, /* it comes to a stop: fleet_back() says that it waits again */
	FLEET_OUT,  /* it does not run any more */
};

struct fleet_target {
	/* The caller's, when it joins; all else begins as zero. */
	struct rule rule;
	int32_t priority;
	double quota; /* CPUs that its cells may use; 0: no limit */
	/* Kept from run to run, as long as its build stays the same: the caller's, too. */
	bool known; /* the curve is one: curve_begin() or kept */
	struct curve curve;
	struct share_health health;
	/* What fleet_read() and fleet_tell() learned. */
	struct effective clock;
	bool fuzzes; /* its present cell is past reading its seeds */
	bool starts; /* it has no cell yet */
	uint64_t edges_total, lim, max_len;
	uint64_t runs;	       /* of the present cell */
	uint64_t spent_us;     /* effective time in this run */
	uint64_t gain_wall_us; /* clock.wall_us at the last new edge */
	/* The fleet's own. */
	enum fleet_phase phase;
	bool blocked;		/* the caller's: there is no room for it just now, */
	bool instead;		/* but when any of those that run has left there is */
	bool due;		/* turns_set(): it has to have its first turn now */
	bool capped;		/* continuous: its build had what it may have today */
	bool resting;		/* continuous: it does not pay, until something changes */
	bool forges;		/* its numbers are impossible: finds count for nothing */
	bool cut;		/* its quantum ends now */
	bool woken;		/* it has changed: it has its turn before others, once */
	bool passed;		/* a person wants others to come first, once, */
	bool next;		/* or it before all others, until it is started */
	uint64_t asked_us;	/* spent_us when its rule last let it go on */
	uint64_t held_us;	/* when its rule first held; 0: it does not */
	uint64_t last_us;	/* when its quantum began; 0: it had none in this run */
	unsigned row_n;		/* quanta that it won in a row while others wanted its worker, */
	uint64_t row_us;	/* when the first of these began, */
	uint64_t yields_us;	/* and until when it leaves the choice to the others */
	uint64_t cap_from_us;	/* spent_us when its cap began: with its build, or the day, */
	uint64_t from_us;	/* its quantum, */
	uint64_t turn_from_us;	/* and when it was last started; reading seeds counts for neither */
	uint64_t build_wall_us; /* clock.wall_us when its build came, */
	uint64_t build_lost_us; /* and CPU time that it had had while it thrashed */
};

struct fleet_rules {
	struct share_rules share;
	uint64_t fresh_us;	  /* a build that ran for less comes first */
	uint64_t quantum_us;	  /* effective time, or */
	uint64_t quantum_wall_us; /* wall time, whichever is over first */
	unsigned row;	  /* quanta that a target may win in a row while others want its worker */
	uint64_t turn_us; /* a started target gets so much before its rule decides */
	uint64_t hold_us; /* wall time that a target that is held waits for a calm machine */
	bool continuous;  /* who does not pay rests instead of leaving */
};
struct fleet_rules fleet_preset(double scale); /* as rule_preset() */

struct fleet {
	struct fleet_rules rules;
	struct fleet_target *v; /* the caller's */
	size_t n;
	struct chance chance;
	struct share_item *items; /* the caller's: room for n */
	uint64_t idle_until_us;	  /* nobody pays: when to ask again; 0: now */
	size_t chosen;		  /* 1 + who comes after the one that was just paused; 0: none */
};

/* Its next cell starts.  (What it was told to start, and every restart after a failure.) */
void fleet_launched(struct fleet_target *t, uint64_t now_us);
/* The counters of its cell. */
void fleet_read(struct fleet_target *t, const struct effective_reading *r);
/* Its cell has read its seeds, which reach so much: what is new of it was not found by fuzzing,
 * but brought by somebody, or before a kill that came before it could be noted. */
void fleet_seeded(struct fleet_target *t, uint64_t cov);
/* What the engine says: totals of the present cell.  True: more coverage than ever. */
struct fleet_news {
	bool fuzzes;
	uint64_t cov, edges_total, lim, max_len, runs;
};
bool fleet_tell(struct fleet_target *t, const struct fleet_news *n);
/* Forgets the stored curve of a build, because it cannot be true: the target is as new. */
void fleet_forget(struct fleet_target *t);
/* Marks a target with impossible numbers.  All that they brought it is void, and its quantum
 * ends.  Until another build, it runs only when no other target wants the worker, or by the
 * floor. */
void fleet_forged(struct fleet_target *t);
/* It was paused, or sent to rest, or its cell ended otherwise: it could be started again. */
void fleet_back(struct fleet *f, struct fleet_target *t);
/* Another build of it: nothing is known any more, and it has a cap of its own. */
void fleet_rebuilt(struct fleet_target *t);
/* Something about it has changed: it has a turn soon, whatever it was.  One that had its cap
 * is only started: it goes on when it is fleet_rebuilt() before its cell is launched. */
void fleet_wake(struct fleet *f, struct fleet_target *t);
/* A person wants it: it waits, is the next to start, and has a cap of its own. */
void fleet_choose(struct fleet *f, struct fleet_target *t);
/* A person does not want it just now: who waits besides it comes first, if anybody may. */
void fleet_pass(struct fleet *f, struct fleet_target *t);
/* Continuous: caps are for a day. */
void fleet_new_day(struct fleet *f);
/* Nobody was there to decide for so long: it is as if that time had not been. */
void fleet_slept(struct fleet *f, uint64_t us);

enum fleet_what {
	FLEET_NOTHING,
	FLEET_START,
	FLEET_PAUSE,   /* its quantum is over, or there is a worker less */
	FLEET_REST,    /* continuous: as FLEET_PAUSE, and it does not pay */
	FLEET_PLATEAU, /* it leaves: its rule says so; */
	FLEET_CAP,     /* it had what it may have; */
	FLEET_STARVED, /* its rule would, but the machine was not calm for so long */
};
struct fleet_order {
	enum fleet_what what;
	size_t target;
	enum share_why why; /* of a start */
};
struct fleet_room {
	/* Targets that may run (FLEET_RUNS).  A target that comes to a stop does not count, though
	 * it still has its worker: another one must not leave in its place. */
	unsigned run;
	unsigned idle; /* workers without a cell: targets that may start now */
	bool calm;     /* the machine has CPU time left */
};
/* What to do next: carry it out (the phase is set already) and ask again, until
 * FLEET_NOTHING. */
struct fleet_order fleet_next(struct fleet *f, uint64_t now_us, const struct fleet_room *room);

/* Its state for rule_ask() and rule_text(). */
struct rule_view fleet_view(const struct fleet_target *t);

#endif
