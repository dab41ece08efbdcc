/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_OUTBOX_OUTBOX_H
#define RUNNER_PUBLISH_OUTBOX_OUTBOX_H

#include "base/err.h"
#include "base/json.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* Pending notifications, which are on disk before any is sent, and a record of those that were
 * sent:
 *
 *	outbox/<id>.json	a pending entry
 *	outbox/done/<chain>.json	the results of a chain's entries: none is sent again
 *	outbox/places.json	the destinations: the end of their backoff, ...
 *	outbox/damaged/		files that could not be read as any of these
 *	outbox/index-*.json	the known issues of a repository (runner/publish/github/find.c)
 *	outbox/lock		held during each change
 *	outbox.lock		held by the process that delivers
 *
 * An id says what happened ("github-fixed-<crash>-<time>"), so an event that is queued twice has
 * one entry.  A chain has all notifications for one destination about one subject (a crash, a
 * target).  Its entries are sent in the order in which they were queued, each after the previous
 * one is done.
 *
 * Each file is replaced as a whole, and "done" is on disk before the entry is removed.  So a
 * kill at any point loses no entry.  If a kill comes between sending and recording, the entry is
 * sent again.  It then has the same id and its saved `progress`, so the destination can detect the
 * repetition.
 *
 * Any process may queue, retry and drop at any time; each change takes a lock briefly.  One
 * process at a time delivers.  All times are Unix seconds.  No function waits for a network. */

enum {
	OUTBOX_NAME = 201, /* an id, or a chain's name, with its NUL */
	OUTBOX_PART = 91,  /* the result of outbox_name(), with its NUL */
	OUTBOX_PLACE = 80, /* a destination's name with its NUL: "github", "hook-<name>" */
	OUTBOX_ENTRIES_MAX = 20000,
	OUTBOX_ENTRY_BYTES_MAX = 1 << 20, /* of a file */
	OUTBOX_SENT_MAX = 32,		  /* a chain remembers its last entries */
};

/* Read-only; valid until the entry is done or dropped. */
struct outbox_entry {
	char id[OUTBOX_NAME], chain[OUTBOX_NAME];
	char place[OUTBOX_PLACE];
	char event[32]; /* "new", "fixed", ... */
	char *subject;	/* a crash's signature, a target's name, a run */
	uint64_t seq;	/* the order in which they were queued */
	uint64_t created;
	uint64_t tries, last_try, next_try; /* next_try 0: now */
	bool refused;			    /* other attempts fail too: tried daily */
	bool head;			    /* the first of its chain: no entry is before it */
	char why[256];			    /* of the last failed attempt; printable, one line */
};

struct outbox;

/* Opens the outbox for changes and creates its directories.  Damaged files are set aside and
 * reported by outbox_warning(); an unreadable file is an error. */
MUST_CHECK int outbox_open(int state_dirfd, struct outbox **ret, struct err *e);
/* Opens the outbox for reading: creates nothing, sets nothing aside. */
MUST_CHECK int outbox_read(int state_dirfd, struct outbox **ret, struct err *e);
void outbox_close(struct outbox *o);		    /* NULL is fine; releases the lock */
const char *outbox_warning(const struct outbox *o); /* one printable line, or "" */

/* Takes the lock for delivering, until outbox_close(); holding it already is fine.  -EBUSY:
 * another process delivers. */
MUST_CHECK int outbox_lock(struct outbox *o, struct err *e);

/* In the order in which they were queued. */
size_t outbox_count(const struct outbox *o);
const struct outbox_entry *outbox_at(const struct outbox *o, size_t i);

/* Converts any text to a part of an id or a name.  Letters, digits, '.', '_' and '-' stay, other
 * bytes become ":XX".  A long text is cut and ends in "::" and its SHA-1.  A signature of 16
 * digits does not change.  Two texts never get the same name. */
void outbox_name(struct slice text, char out[OUTBOX_PART]);

/* Makes one printable line of any text, cut to cap bytes with its NUL. */
void outbox_line(char *to, size_t cap, const char *from);

/* --- what was sent --------------------------------------------------------- */

/* A chain's record; json_decref() it.  Empty when nothing was sent. */
MUST_CHECK int outbox_chain(struct outbox *o, const char *chain, json_t **ret, struct err *e);
bool outbox_chain_has(const json_t *record, const char *id);
/* "told" (sent), "ignored" (by a user's label), "deleted" (a user deleted the issue), "dropped"
 * (by a user); "": none of these. */
const char *outbox_chain_how(const json_t *record, const char *id);
bool outbox_chain_empty(const json_t *record);	    /* nothing was sent */
const char *outbox_chain_url(const json_t *record); /* of its issue, or "" */
/* Calls fn with the record of each chain of a place; place: the beginning of the chains' names. */
MUST_CHECK int outbox_each_chain(struct outbox *o, const char *place,
				 int (*fn)(void *arg, const json_t *record, struct err *e),
				 void *arg, struct err *e);
/* The user's label was recorded elsewhere: removes "ignored" from the chain's record. */
MUST_CHECK int outbox_chain_forget_ignored(struct outbox *o, const char *chain, struct err *e);

/* --- queueing -------------------------------------------------------------- */

struct outbox_item {
	const char *place; /* "github" or "hook-<name>" */
	const char *id;	   /* made of outbox_name() parts; begins with place and '-' */
	const char *chain;
	const char *subject; /* any text */
	const json_t *event; /* runner/publish/delivery.h */
	/* The URL of its issue, if known; becomes the first progress ("issue_url"). */
	const char *url;
};
/* Is the entry pending, sent or dropped?  record: its chain's. */
bool outbox_has(struct outbox *o, const char *id, const json_t *record);
/* Is an entry of this chain pending? */
bool outbox_chain_waits(const struct outbox *o, const char *chain);
/* *ret_new false: the entry existed already.  -ENOSPC: OUTBOX_ENTRIES_MAX, or a full disk. */
MUST_CHECK int outbox_queue(struct outbox *o, const struct outbox_item *item, uint64_t now,
			    bool *ret_new, struct err *e);

/* --- delivering: with the lock --------------------------------------------- */

/* Is the entry due?  It is the first of its chain, its time has come, and its destination is not
 * in backoff.  A clock that was set back before the last attempt makes the entry due. */
bool outbox_due(const struct outbox *o, const struct outbox_entry *t, uint64_t now);
/* When the entry becomes due, as things are; 0: now, or when the previous entry is done. */
uint64_t outbox_due_at(const struct outbox *o, const struct outbox_entry *t);

struct outbox_work {
	struct outbox_entry *entry;
	json_t *event, *progress;
};
void outbox_work_done(struct outbox_work *w);
/* -ENOENT: the entry was dropped meanwhile, or was sent before; it no longer exists. */
MUST_CHECK int outbox_begin(struct outbox *o, size_t i, struct outbox_work *ret, struct err *e);
/* Saves what the attempt did so far; 0: it is on disk.  -ENOENT: the entry was dropped: do not
 * send. */
MUST_CHECK int outbox_progress(struct outbox *o, const struct outbox_work *w, struct err *e);

struct outbox_outcome {
	uint64_t now;
	const char *url; /* of the issue, or "" */
	bool ignored;	 /* a user's label asks to ignore the crash */
	bool deleted;	 /* a user deleted the issue */
	/* For an entry that is not done. */
	bool refused, whole_place;
	uint64_t wait_s;	/* the wait that the server asked for; 0: none */
	uint64_t refused_token; /* with whole_place: runner/publish/delivery.h */
	const char *why;
	uint64_t retry_max_s;
};
/* Both end the attempt and finish `work`: outbox_sent() removes the entry, outbox_later() makes
 * it wait again. */
MUST_CHECK int outbox_sent(struct outbox *o, struct outbox_work *w, const struct outbox_outcome *c,
			   struct err *e);
MUST_CHECK int outbox_later(struct outbox *o, struct outbox_work *w, const struct outbox_outcome *c,
			    struct err *e);
/* No request was possible: the entry stays due as before, with the reason. */
MUST_CHECK int outbox_unasked(struct outbox *o, struct outbox_work *w, const char *why,
			      struct err *e);
/* token: the number of the secret that this place would get now (0: none).  If the place refused
 * a different secret, this ends the backoff for that refusal. */
MUST_CHECK int outbox_place_token(struct outbox *o, const char *place, uint64_t token,
				  struct err *e);

/* --- decisions of the user ------------------------------------------------- */

/* Makes the entry due now, and ends its destination's backoff. */
MUST_CHECK int outbox_retry(struct outbox *o, size_t i, struct err *e);
/* The entry is never sent. */
MUST_CHECK int outbox_drop(struct outbox *o, size_t i, uint64_t now, struct err *e);

/* --- destinations ---------------------------------------------------------- */

/* A number stored for a destination; 0: not set. */
uint64_t outbox_place_get(const struct outbox *o, const char *place, const char *key);
/* Sets numbers of a destination; 0: they are on disk. */
struct outbox_number {
	const char *key;
	uint64_t value;
};
MUST_CHECK int outbox_place_set(struct outbox *o, const char *place, const struct outbox_number *v,
				size_t n, struct err *e);

/* The seed of the retries' jitter; outbox_open() takes it from the clock. */
void outbox_seed(struct outbox *o, uint64_t seed);

#endif
