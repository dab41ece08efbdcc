/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_WATCH_H
#define RUNNER_TRIGGER_WATCH_H

#include "runner/trigger/checkout.h"
#include "runner/trigger/due.h"
#include "runner/trigger/record.h"

#include <stdbool.h>
#include <stdint.h>

/* One repository's trigger, without its hands: it is told what happened, and says what to
 * do next.  No clock, no git, no process of its own, so that days of it are tested in
 * seconds.  drive.c is its hands. */
struct watch_opts {
	uint64_t interval_us; /* between two starts */
	uint64_t tick_us;     /* between two looks at the remote */
	uint64_t retry_us;    /* after a look that failed; doubled each time, up to the tick */
};

enum watch_at {
	WATCH_IDLE,
	WATCH_UPDATING,
	WATCH_RUNNING, /* a run that we can wait for */
	WATCH_ORPHAN,  /* one that an earlier trigger started */
};

struct watch {
	struct watch_opts o;
	struct trigger_record rec;
	char done[COMMIT_MAX]; /* record_done() */
	enum watch_at at;
	bool looking;	      /* while a run goes on, too */
	bool stopping;	      /* the run was asked to end */
	bool forced;	      /* the next start waits for nothing */
	bool again;	      /* the run is of a commit that was done before */
	bool asleep;	      /* nothing is begun any more, what runs is to end */
	struct since looked;  /* the end of the last look, well or not */
	uint64_t look_in_us;  /* after it */
	unsigned tries;	      /* looks that failed, in a row */
	struct since put_off; /* a start did not work out: no other one for so long */
	uint64_t put_off_us;
	char blocked[CHECKOUT_WHY]; /* what a person has to do before a start; "" nothing */
	struct since before;	    /* the start before the one that runs */
};

/* Who has the state directory's run lock, as far as it is seen. */
struct watch_holder {
	bool held;  /* by anybody */
	bool alive; /* the process that rec.pid tells of */
};

/* After record_load() and record_done(). */
void watch_init(struct watch *w, const struct watch_opts *o, const struct trigger_record *rec,
		const char *done, const struct watch_holder *h, const struct moment *now);

enum watch_do {
	WATCH_WAIT,   /* for wait_us, or until what goes on ends */
	WATCH_LOOK,   /* checkout_start(CHECKOUT_LOOK), then watch_looked() */
	WATCH_UPDATE, /* the work tree to rec.head, then watch_updated(), then a start */
	WATCH_STOP,   /* ask the run to end */
};
struct watch_act {
	enum watch_do what;
	uint64_t wait_us;
	struct due due; /* the decision behind it */
};
/* What to do now; it counts as begun. */
void watch_next(struct watch *w, const struct moment *now, const struct watch_holder *h,
		struct watch_act *ret);
/* The decision alone, as if nothing was going on here. */
void watch_decide(const struct watch *w, const struct moment *now, const struct watch_holder *h,
		  struct due *ret);

void watch_looked(struct watch *w, const struct moment *now, const struct checkout *c);
/* True: the work tree is there, a run may start.  Then watch_put_off(), or watch_starts(),
 * the record on disk, the run, watch_started(). */
bool watch_updated(struct watch *w, const struct moment *now, const struct checkout *c);
/* It was not to be: other work, no worker free, a full disk. */
void watch_put_off(struct watch *w, const struct moment *now, uint64_t wait_us);
void watch_starts(struct watch *w, const struct moment *now);
void watch_started(struct watch *w, pid_t pid, uint64_t pid_start);

enum watch_end {
	END_WELL,    /* came to an end; done says which one */
	END_REFUSED, /* it did not begin: another one holds the lock */
	END_FAILED,  /* could not build, died: also when its commit was done before */
	END_UNSEEN,  /* nobody knows; done says whether it came to its end */
};
/* why: for a person; done: record_done(), afterwards. */
void watch_ended(struct watch *w, const struct moment *now, enum watch_end end, const char *why,
		 const char *done);

/* After a WATCH_WAIT: nothing is going on, and nothing will before the next tick. */
bool watch_rests(const struct watch *w);

#endif
