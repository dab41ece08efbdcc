/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_WATCH_H
#define RUNNER_TRIGGER_WATCH_H

#include "runner/trigger/checkout.h"
#include "runner/trigger/due.h"
#include "runner/trigger/record.h"

#include <stdbool.h>
#include <stdint.h>

/* The decisions of one repository's trigger.  The caller (drive.c) reports events and executes the
 * actions.  The code uses no clock, no git and no processes, so that tests simulate days in
 * seconds. */
struct watch_opts {
	uint64_t interval_us; /* between two starts */
	uint64_t tick_us;     /* between two looks at the remote */
	uint64_t retry_us;    /* backoff after a failed look; doubles up to tick_us */
};

enum watch_at {
	WATCH_IDLE,
	WATCH_UPDATING,
	WATCH_RUNNING, /* a run that is our child */
	WATCH_ORPHAN,  /* a run that an earlier trigger started */
};

struct watch {
	struct watch_opts o;
	struct trigger_record rec;
	char done[COMMIT_MAX]; /* record_done() */
	enum watch_at at;
	bool looking;	      /* also possible during a run */
	bool stopping;	      /* the run got a stop request */
	bool forced;	      /* the next start happens without any wait */
	bool again;	      /* the run's commit was fuzzed before */
	bool asleep;	      /* begin nothing more, and stop an active run */
	struct since looked;  /* the end of the last look, successful or not */
	uint64_t look_in_us;  /* until the next look, counted from looked */
	unsigned tries;	      /* consecutive failed looks */
	struct since put_off; /* a start was postponed then, for put_off_us */
	uint64_t put_off_us;
	char blocked[CHECKOUT_WHY]; /* what a user must fix before a start; "": nothing */
	struct since before;	    /* the start before the active run's */
};

/* The holder of the state directory's run lock, as far as visible. */
struct watch_holder {
	bool held;  /* by any process */
	bool alive; /* the process rec.pid is alive */
};

/* rec: from record_load(); done: from record_done(). */
void watch_init(struct watch *w, const struct watch_opts *o, const struct trigger_record *rec,
		const char *done, const struct watch_holder *h, const struct moment *now);

enum watch_do {
	WATCH_WAIT,   /* for wait_us, or until the current action ends */
	WATCH_LOOK,   /* checkout_start(CHECKOUT_LOOK), then watch_looked() */
	WATCH_UPDATE, /* update the work tree to rec.head, then watch_updated(), then a start */
	WATCH_STOP,   /* ask the run to end */
};
struct watch_act {
	enum watch_do what;
	uint64_t wait_us;
	struct due due; /* the decision behind the action */
};
/* The next action, which then counts as begun. */
void watch_next(struct watch *w, const struct moment *now, const struct watch_holder *h,
		struct watch_act *ret);
/* The decision alone, without regard to a current action. */
void watch_decide(const struct watch *w, const struct moment *now, const struct watch_holder *h,
		  struct due *ret);

void watch_looked(struct watch *w, const struct moment *now, const struct checkout *c);
/* True: the work tree is updated, a run may start.  Then call watch_put_off(), or: watch_starts(),
 * save the record, start the run, watch_started(). */
bool watch_updated(struct watch *w, const struct moment *now, const struct checkout *c);
/* Postpones the start: other work, no free worker, a full disk. */
void watch_put_off(struct watch *w, const struct moment *now, uint64_t wait_us);
void watch_starts(struct watch *w, const struct moment *now);
void watch_started(struct watch *w, pid_t pid, uint64_t pid_start);

enum watch_end {
	END_WELL,    /* completed or was stopped; done says which */
	END_REFUSED, /* did not begin: another run holds the lock */
	END_FAILED,  /* the build failed or the run died, even if its commit was done before */
	END_UNSEEN,  /* not observed; done says whether the run completed */
};
/* why: for users; done: record_done() after the end. */
void watch_ended(struct watch *w, const struct moment *now, enum watch_end end, const char *why,
		 const char *done);

/* After a WATCH_WAIT: nothing is active, and nothing will begin before the next tick. */
bool watch_rests(const struct watch *w);

#endif
