/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_OUTBOX_OUTBOX_H
#define RUNNER_PUBLISH_OUTBOX_OUTBOX_H

#include "base/err.h"
#include "base/json.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* What is to be told to whom, on disk before anything is sent, and what was told:
 *
 *	outbox/<id>.json	an entry that waits
 *	outbox/done/<chain>.json	what a chain's entries came to: never told again
 *	outbox/places.json	the destinations: until when they want to be left alone, ...
 *	outbox/damaged/		files that could not be read as any of these
 *	outbox.lock		held by the one who delivers
 *
 * An id says what happened ("github-fixed-<crash>-<time>"), so what is queued twice is
 * there once.  A chain is all that one destination is told about one subject (a crash, a
 * target): its entries go out in the order in which they were queued, each when the one
 * before it is done.  Each file is replaced whole; "done" is on disk before the entry
 * goes.  A kill anywhere loses no entry and tells none twice, as far as the
 * destination can tell: one that was sent and not noted is sent again, with the
 * same id and what its `progress` says.
 *
 * Anybody may queue, retry and drop at any time (a lock is held for the moment of each change);
 * one process at a time delivers.  All times are Unix seconds.  No function waits for a
 * network. */

enum {
	OUTBOX_NAME = 201, /* an id, or a chain's name, with its NUL */
	OUTBOX_PART = 91,  /* what outbox_name() makes of a text, with its NUL */
	OUTBOX_PLACE = 80, /* a destination's name with its NUL: "github", "hook-<name>" */
	OUTBOX_ENTRIES_MAX = 20000,
	OUTBOX_ENTRY_BYTES_MAX = 1 << 20, /* of a file */
	OUTBOX_TOLD_MAX = 32,		  /* entries that a chain remembers: the last ones */
};

/* To read, not to write to; lives until the entry is done or dropped. */
struct outbox_entry {
	char id[OUTBOX_NAME], chain[OUTBOX_NAME];
	char place[OUTBOX_PLACE];
	char event[32]; /* "new", "fixed", ... */
	char *subject;	/* a crash's signature, a target's name, a run */
	uint64_t seq;	/* the order in which they were queued */
	uint64_t created;
	uint64_t tries, last_try, next_try; /* next_try 0: now */
	bool refused;			    /* no try as it is will do: it is tried daily */
	bool head;			    /* the first of its chain: nothing waits before it */
	char why[256];			    /* of the last try that failed; printable, one line */
};

struct outbox;

/* For those who change something; makes the directories.  What is damaged is set aside and
 * said by outbox_warning(); what could not be read is an error. */
MUST_CHECK int outbox_open(int state_dirfd, struct outbox **ret, struct err *e);
/* For those who only look: nothing is made, nothing set aside. */
MUST_CHECK int outbox_read(int state_dirfd, struct outbox **ret, struct err *e);
void outbox_close(struct outbox *o);		    /* NULL is fine; gives the lock back */
const char *outbox_warning(const struct outbox *o); /* one printable line, or "" */

/* The deliverer's lock, until outbox_close(); it is fine to have it already.  -EBUSY: somebody
 * else delivers. */
MUST_CHECK int outbox_lock(struct outbox *o, struct err *e);

/* In the order in which they were queued. */
size_t outbox_count(const struct outbox *o);
const struct outbox_entry *outbox_at(const struct outbox *o, size_t i);

/* Any text as part of an id or a name: letters, digits, '.', '_' and '-' stay, the rest is
 * ":XX"; a long one is cut and ends in "::" and its SHA-1.  A signature of 16 digits is
 * itself.  Two texts never become one. */
void outbox_name(struct slice text, char out[OUTBOX_PART]);

/* One printable line in any case, cut to cap bytes with its NUL. */
void outbox_line(char *to, size_t cap, const char *from);

/* --- what was told --------------------------------------------------------- */

/* A chain's record; json_decref() it.  An empty one when nothing was told. */
MUST_CHECK int outbox_chain(struct outbox *o, const char *chain, json_t **ret, struct err *e);
bool outbox_chain_told(const json_t *record, const char *id);
/* "told", "ignored" (by a label), "deleted" (its issue was, by a person), "dropped" (by a
 * person); "": not at all. */
const char *outbox_chain_how(const json_t *record, const char *id);
bool outbox_chain_empty(const json_t *record);			      /* nothing was told */
const char *outbox_chain_url(const json_t *record);		      /* of its issue, or "" */
const char *outbox_chain_text(const json_t *record, const char *key); /* "" when not there */
/* Calls fn with the record of each chain of a place (a text that their names begin with). */
MUST_CHECK int outbox_each_chain(struct outbox *o, const char *place,
				 int (*fn)(void *arg, const json_t *record, struct err *e),
				 void *arg, struct err *e);
/* A person's label was taken note of: the chain no longer says "ignored". */
MUST_CHECK int outbox_chain_noted(struct outbox *o, const char *chain, struct err *e);

/* --- queueing -------------------------------------------------------------- */

struct outbox_item {
	const char *place; /* "github" or "hook-<name>" */
	const char *id;	   /* outbox_name() of it; begins with place and '-' */
	const char *chain;
	const char *subject; /* any text */
	const json_t *event; /* runner/publish/delivery.h */
	/* Of its issue, when that is known: becomes the first progress ("issue_url"). */
	const char *url;
};
/* Whether it waits, was told or dropped; the record is the chain's. */
bool outbox_has(struct outbox *o, const char *id, const json_t *record);
/* Whether anything of this chain waits. */
bool outbox_chain_waits(const struct outbox *o, const char *chain);
/* *ret_new false: it was there already.  -ENOSPC: OUTBOX_ENTRIES_MAX, or a full disk. */
MUST_CHECK int outbox_queue(struct outbox *o, const struct outbox_item *item, uint64_t now,
			    bool *ret_new, struct err *e);

/* --- delivering: with the lock --------------------------------------------- */

/* May this entry be tried now?  It is its chain's first, its time has come, and its
 * destination does not want to be left alone.  A clock that went back behind the last
 * try makes it due. */
bool outbox_due(const struct outbox *o, const struct outbox_entry *t, uint64_t now);
/* When it may be, as things are; 0: now, or when the one before it is done. */
uint64_t outbox_due_at(const struct outbox *o, const struct outbox_entry *t);

struct outbox_work {
	struct outbox_entry *entry;
	json_t *event, *progress;
};
void outbox_work_done(struct outbox_work *w);
/* -ENOENT: somebody dropped it meanwhile, or it was told before; it is no entry any more. */
MUST_CHECK int outbox_begin(struct outbox *o, size_t i, struct outbox_work *ret, struct err *e);
/* What the attempt did so far; 0 means "on disk".  -ENOENT: it was dropped: do not send. */
MUST_CHECK int outbox_progress(struct outbox *o, const struct outbox_work *w, struct err *e);

struct outbox_outcome {
	uint64_t now;
	const char *url; /* of the issue, or "" */
	bool ignored;	 /* a person's label says so */
	bool deleted;	 /* the issue is gone, by a person's hand */
	/* Of what is not done. */
	bool refused, whole_place;
	uint64_t wait_s;	/* the server's wish; 0: none */
	uint64_t refused_token; /* with whole_place: runner/publish/delivery.h */
	const char *why;
	uint64_t retry_max_s;
};
/* After both the entry is at its end, or waits again; work is done. */
MUST_CHECK int outbox_told(struct outbox *o, struct outbox_work *w, const struct outbox_outcome *c,
			   struct err *e);
MUST_CHECK int outbox_later(struct outbox *o, struct outbox_work *w, const struct outbox_outcome *c,
			    struct err *e);
/* Nobody could be asked: it is as due as it was, with a reason. */
MUST_CHECK int outbox_unasked(struct outbox *o, struct outbox_work *w, const char *why,
			      struct err *e);
/* The secret that would be shown to this place now (0: none); when the place refused another
 * one, it is no longer left alone for that. */
MUST_CHECK int outbox_place_token(struct outbox *o, const char *place, uint64_t token,
				  struct err *e);

/* --- a person's word ------------------------------------------------------- */

/* Makes it due now, and its destination with it. */
MUST_CHECK int outbox_retry(struct outbox *o, size_t i, struct err *e);
/* It will not be told, now or later. */
MUST_CHECK int outbox_drop(struct outbox *o, size_t i, uint64_t now, struct err *e);

/* --- destinations ---------------------------------------------------------- */

/* A number that belongs to a destination; 0 when nobody set it. */
uint64_t outbox_place_get(const struct outbox *o, const char *place, const char *key);
/* A change is on disk when it returns 0. */
struct outbox_number {
	const char *key;
	uint64_t value;
};
MUST_CHECK int outbox_place_set(struct outbox *o, const char *place, const struct outbox_number *v,
				size_t n, struct err *e);

/* Where the jitter of retries begins; outbox_open() takes it from the clock. */
void outbox_seed(struct outbox *o, uint64_t seed);

#endif
