/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATUS_SURVEY_SURVEY_H
#define RUNNER_STATUS_SURVEY_SURVEY_H

#include "base/moment.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/state/state.h"
#include "runner/status/health/health.h"

/* Reads the facts for runner/status/health from a state directory.  It writes nothing and takes
 * no lock.  Values that cannot be read are unknown. */

struct survey_opts {
	uint64_t now;		   /* Unix seconds */
	uint64_t silent_s, late_s; /* publish.silent, publish.alarm; 0: never, a day */
	uint64_t disk_reserve;	   /* run.disk_reserve; 0: does not check the disk */
	/* Is the destination configured?  Entries for other destinations do not count.  NULL:
	 * all are. */
	bool (*is_destination)(void *arg, const char *place);
	void *arg;
	const struct ledger *ledger; /* if already read; NULL: survey_read() reads it */
	/* This machine's boot, for callers that cannot read it any more; NULL: it is read. */
	const struct moment *boot;
};

struct survey_target {
	char *name;
	json_t *stats; /* the newest that runs left, owned; NULL: none */
	char *damaged; /* facts.damaged points to it; owned */
	/* facts.stats points to `stats`; a caller with a living run's status may point it there. */
	struct health_target facts;
	uint64_t seen; /* when a run last had the target, Unix seconds */
};

enum { SURVEY_RUN_MAX = 32 };

struct survey {
	struct survey_target *v; /* targets that a run had, by name */
	size_t n;
	struct health_service service; /* the caller sets unknown */
	/* Texts to which the service's facts point. */
	char place[80], why[256], trigger_why[300], damaged[256], unreadable[300],
	    lost[SURVEY_RUN_MAX];
};
/* Call survey_done() on *ret. */
MUST_CHECK int survey_read(const struct state *s, const struct survey_opts *o, struct survey *ret,
			   struct err *e);
void survey_done(struct survey *s);
/* Reads the facts of the service only.  They point into *ret, which must be {0} and must not
 * move. */
void survey_service(const struct state *s, const struct survey_opts *o, struct survey *ret);

/* Finds the last run if it did not complete.  If another run lives now, the run before the last
 * one must be incomplete, too.  ret_left: its data is still there, and the next start saves it. */
bool survey_lost_run(const struct state *s, char ret[SURVEY_RUN_MAX], bool *ret_left);

/* Is the run alive, whether it answers or not? */
bool survey_run_lives(const struct state *s, const char *run);

struct survey_target *survey_find(struct survey *s, const char *name); /* NULL: no run had it */
/* Adds a target that no run had yet; the list is then no longer sorted. */
struct survey_target *survey_add(struct survey *s, const struct survey_opts *o, const char *name);

/* Sets "untriaged" in a run's stats to the present number: a triage may have followed the run. */
void survey_untriaged(const struct state *s, const char *target, json_t *stats);

#endif
