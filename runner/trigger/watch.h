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
	uint64_t interval_us; /* minimum time between two starts */
	uint64_t tick_us;     /* time between two polls of the remote */
	uint64_t retry_us;    /* backoff after a failed poll; doubles up to tick_us */
};

enum watch_at {
	WATCH_IDLE,	/* neither an update nor a run is active; a poll may be */
	WATCH_UPDATING, /* the work tree is being updated, before a start */
	WATCH_RUNNING,	/* a run is active, and is our child */
	WATCH_ORPHAN,	/* a run is active, and an earlier trigger started it */
};

struct watch {
	struct watch_opts o;
	struct trigger_record rec;
	char done[COMMIT_MAX]; /* the commit of the last completed run (record_done()); "": none */
	enum watch_at at;
	bool polling;	      /* a poll is in progress; this is also possible during a run */
	bool stopping;	      /* the active run got a stop request */
	bool forced;	      /* start a run now, whatever was fuzzed before: due_input.forced */
	bool again;	      /* the active run's commit was completed before the run started */
	bool asleep;	      /* set by the caller: begin nothing more, and stop an active run */
	struct since polled;  /* the end of the last poll, successful or not */
	uint64_t poll_in_us;  /* time from `polled` to the next poll */
	unsigned tries;	      /* consecutive failed polls */
	struct since put_off; /* when a start was last postponed */
	uint64_t put_off_us;  /* time from put_off until a start is possible again */
	char blocked[CHECKOUT_WHY]; /* what a user must fix before a start; "": nothing */
	/* The start before the start of the active run.  It becomes the last start again if the
	 * active run ends with END_REFUSED. */
	struct since before;
};

/* Facts that only the caller can find out, because watch.c reads no files. */
struct watch_holder {
	bool locked; /* some process holds the run lock of the state directory */
	bool alive;  /* the process rec.pid is alive */
};

/* rec: from record_load(); done: from record_done().  If rec says that a run is active, but h says
 * that its process is not alive, the run counts as ended (END_UNSEEN). */
void watch_init(struct watch *w, const struct watch_opts *o, const struct trigger_record *rec,
		const char *done, const struct watch_holder *h, const struct moment *now);

enum watch_do {
	WATCH_WAIT, /* wait for wait_us, or until an action in progress ends */
	/* Poll the remote (checkout_start() with CHECKOUT_POLL), then call watch_polled(). */
	WATCH_POLL,
	/* Update the work tree to rec.head (CHECKOUT_UPDATE), then call watch_updated(). */
	WATCH_UPDATE,
	WATCH_STOP, /* ask the active run to end */
};
struct watch_act {
	enum watch_do what;
	uint64_t wait_us; /* with WATCH_WAIT */
	struct due due;	  /* the decision behind the action */
};
/* Sets *ret to the next action.  An action other than WATCH_WAIT then counts as begun: the caller
 * must execute the action. */
void watch_next(struct watch *w, const struct moment *now, const struct watch_holder *h,
		struct watch_act *ret);
/* Sets *ret to the decision whether a run must start or stop.  Begins no action, and does not
 * consider a poll or an update in progress. */
void watch_decide(const struct watch *w, const struct moment *now, const struct watch_holder *h,
		  struct due *ret);

/* Reports the end of a poll; c: its result. */
void watch_polled(struct watch *w, const struct moment *now, const struct checkout *c);

/* Reports the end of an update; c: its result.
 *
 * True: the work tree is updated, and a run may start.  To postpone the start, call
 * watch_put_off().
 * To start the run: call watch_starts(), save the record, start the process, call watch_started().
 *
 * False: no run starts now. */
bool watch_updated(struct watch *w, const struct moment *now, const struct checkout *c);

/* Postpones the start by wait_us.  Reasons: other work, no free worker, a full disk. */
void watch_put_off(struct watch *w, const struct moment *now, uint64_t wait_us);

/* Writes a start of rec.head at `now` into w->rec. */
void watch_starts(struct watch *w, const struct moment *now);

/* Writes the process of the started run into w->rec: trigger_record.pid and pid_start. */
void watch_started(struct watch *w, pid_t pid, uint64_t pid_start);

/* How a run ended.  A run has completed its commit if record_done() names the commit afterwards. */
enum watch_end {
	/* The run ended without a failure.  It was completed if record_done() names its commit,
	 * else stopped. */
	END_WELL,
	/* The run did not begin: another run holds the lock, or the start could not be recorded. */
	END_REFUSED,
	/* The build failed or the run died.  This counts as a failure, even if an earlier run
	 * completed the same commit, unless the run had got a stop request. */
	END_FAILED,
	/* The end was not observed.  If record_done() does not name the commit, the run counts as
	 * failed, or as stopped if it had got a stop request. */
	END_UNSEEN,
};
/* Reports the end of the active run.  why: the reason, for users; done: the result of record_done()
 * after the end. */
void watch_ended(struct watch *w, const struct moment *now, enum watch_end end, const char *why,
		 const char *done);

/* Call it after watch_next() returned WATCH_WAIT.  True: no poll, update or run is active, and no
 * failed poll waits for an early retry.  After four consecutive failures, or a failure that no
 * retry can help, early retries do not count. */
bool watch_rests(const struct watch *w);

#endif
