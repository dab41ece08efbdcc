/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_SURVEY_SURVEY_H
#define RUNNER_STATUS_SURVEY_SURVEY_H

#include "base/moment.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/state/state.h"
#include "runner/status/health/health.h"

/* The facts that runner/health judges, as a state directory has them: for whoever shows health.
 * Nothing is written and no lock is taken.  What cannot be read is not known. */

struct survey_opts {
	uint64_t now;		   /* Unix seconds */
	uint64_t silent_s, late_s; /* publish.silent, publish.alarm; 0: never, a day */
	uint64_t disk_reserve;	   /* run.disk_reserve; 0: the disk is not looked at */
	/* Whether a destination is configured; what waits for others is nobody's loss.
	 * NULL: all are. */
	bool (*told)(void *arg, const char *place);
	void *arg;
	const struct ledger *ledger; /* when it was read already; NULL: it is read */
	/* This machine's boot, for who may not read it any more; NULL: it is read. */
	const struct moment *boot;
};

struct survey_target {
	char *name;
	json_t *stats; /* the newest that runs left, owned; NULL: none */
	char *damaged; /* what facts.damaged points to, owned */
	/* With stats; who knows what a living run says points it there. */
	struct health_target facts;
	uint64_t seen; /* when a run last had it, Unix seconds */
};

enum { SURVEY_RUN_MAX = 32 };

struct survey {
	struct survey_target *v; /* that a run had; by name */
	size_t n;
	struct health_service service; /* unknown is the caller's to fill in */
	/* What the service's facts point to. */
	char place[80], why[256], trigger_why[300], damaged[256], unreadable[300],
	    lost[SURVEY_RUN_MAX];
};
/* ret: survey_done() it. */
MUST_CHECK int survey_read(const struct state *s, const struct survey_opts *o, struct survey *ret,
			   struct err *e);
void survey_done(struct survey *s);
/* Of the service alone, in place: it points into ret, which begins as {0}. */
void survey_service(const struct state *s, const struct survey_opts *o, struct survey *ret);

/* The last run, when it did not come to its end; while one lives only when the one before that did
 * not either.  ret_left: what it left is there still, and the next start saves it. */
bool survey_lost_run(const struct state *s, char ret[SURVEY_RUN_MAX], bool *ret_left);

/* It is at work now, whether it can be asked or not. */
bool survey_run_lives(const struct state *s, const char *run);

struct survey_target *survey_find(struct survey *s, const char *name); /* NULL: no run had it */
/* One that no run had yet; they are no longer in order. */
MUST_CHECK int survey_add(struct survey *s, const struct survey_opts *o, const char *name,
			  struct survey_target **ret, struct err *e);

/* The "untriaged" of what a run left of a target is how many wait now: the run may have been
 * followed by a triage. */
void survey_untriaged(const struct state *s, const char *target, json_t *stats);

#endif
