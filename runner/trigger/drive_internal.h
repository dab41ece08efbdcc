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
	int workers_fd;	       /* it reads there how many workers it has; -1 none */
	uint32_t workers;      /* that it was told; 0: its configuration's */
	int pidfd;	       /* of an orphan, -1 none */
	struct source *orphan; /* its end */
	bool ready;	       /* the work tree is there, it may start */
	bool settling;	       /* put off for moments only */
	bool told;	       /* a dry run's answer */
	bool unsaved;	       /* the last time that its record was to be */
	char key[DUE_WHY];     /* what the last decision that was said was about */
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
	uint64_t look_until_us; /* clock_mono_us(): so long it waits for a look at its end */
	bool again;		/* drive_soon() was called */
	struct err error;
	struct drive_result result;
};

/* drive.c */
void drive_soon(struct drive *d); /* something happened: all is looked at again */
void drive_now(struct drive *d);  /* reads the clocks */

/* drive_watched.c: one repository's hands */
MUST_CHECK int watched_init(struct drive *d, size_t i, const struct drive_repo *given,
			    struct err *e);
void watched_done(struct watched *r);
/* Says it when it is new. */
void watched_say(struct watched *r, bool bad, const char *text);
int watched_save(struct watched *r); /* said when it fails */
void watched_holder(struct watched *r, struct watch_holder *ret);
void watched_look(struct watched *r, enum checkout_what what);
uint64_t watched_step(struct watched *r); /* at most how long until the next one */
void watched_stop(struct watched *r);
void watched_ended(struct watched *r, enum watch_end end, const char *why);

/* drive_start.c: starts what is ready as far as there is room, and shares workers */
void drive_share(struct drive *d);

/* drive_machine.c: other work */
void drive_sample(struct drive *d);
/* False: too little was seen of the machine yet. */
bool drive_ask_quiet(struct drive *d, const struct watched *r, struct quiet_answer *ret);

/* drive_dry.c: true when all is told */
bool drive_dry(struct drive *d);

#endif
