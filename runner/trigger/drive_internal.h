/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_DRIVE_INTERNAL_H
#define RUNNER_TRIGGER_DRIVE_INTERNAL_H

#include "runner/trigger/drive.h"
#include "runner/trigger/quiet.h"

enum { SAID_MAX = 800 };

struct drive;
struct watched {
	struct drive *d;
	size_t i;
	const struct drive_repo *given;
	struct watch w;
	struct source *child;  /* of the run */
	int workers_fd;	       /* the run reads its number of workers from it; -1: none */
	uint32_t workers;      /* last number sent; 0: the number in its configuration */
	int pidfd;	       /* of an orphaned run; -1: none */
	struct source *orphan; /* watches pidfd for the run's end */
	bool ready;	       /* the work tree is updated; a run may start */
	bool settling;	       /* the start is postponed by SETTLE */
	bool told;	       /* the dry run's decision was reported */
	bool unsaved;	       /* the last attempt to save its record failed */
	char key[DUE_WHY];     /* identifies the last reported decision */
	char said[SAID_MAX], complained[SAID_MAX];
};

struct drive {
	const struct drive_opts *o;
	struct watched *repos;
	size_t n;
	struct source *timer, *on_term, *on_int, *on_hup;
	struct moment now;
	struct quiet_sample before, last; /* at_us 0: none */
	bool ending, reload, failed;
	uint64_t look_until_us; /* clock_mono_us(); at the end, waits for looks until then */
	bool again;		/* drive_soon() was called */
	struct err error;
	struct drive_result result;
};

/* drive.c */
void drive_soon(struct drive *d); /* after an event: steps all repositories again */
void drive_now(struct drive *d);  /* reads the clocks */

/* drive_watched.c: the actions for one repository */
MUST_CHECK int watched_init(struct drive *d, size_t i, const struct drive_repo *given,
			    struct err *e);
void watched_done(struct watched *r);
/* Reports text, unless it is equal to the last text. */
void watched_say(struct watched *r, bool bad, const char *text);
int watched_save(struct watched *r); /* reports a failure */
void watched_holder(struct watched *r, struct watch_holder *ret);
void watched_look(struct watched *r, enum checkout_what what);
uint64_t watched_step(struct watched *r); /* returns the maximum time until the next step */
void watched_stop(struct watched *r);
void watched_ended(struct watched *r, enum watch_end end, const char *why);

/* drive_start.c: starts ready runs while workers are free, and shares the workers */
void drive_share(struct drive *d);

/* drive_machine.c: load by other work */
void drive_sample(struct drive *d);
/* False: not enough samples yet. */
bool drive_ask_quiet(struct drive *d, const struct watched *r, struct quiet_answer *ret);

/* drive_dry.c; true: all decisions are reported */
bool drive_dry(struct drive *d);

#endif
