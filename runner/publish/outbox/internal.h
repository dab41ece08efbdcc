/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_OUTBOX_INTERNAL_H
#define RUNNER_PUBLISH_OUTBOX_INTERNAL_H

/* Internal to runner/publish/outbox/. */
#include "base/cleanup.h"
#include "runner/publish/outbox/outbox.h"

struct outbox {
	struct outbox_entry **v; /* by seq */
	size_t n, cap;
	int dir, done;	/* outbox/, outbox/done/; -1: missing */
	int state;	/* the state directory, owned by the caller */
	int deliver_fd; /* outbox.lock, if this process holds it; else -1 */
	int write_fd;	/* outbox/lock; -1: opened for reading */
	json_t *places; /* object: name -> numbers */
	uint64_t seed;
	char warning[300];
};

/* --- files.c: entries ------------------------------------------------- */

/* An entry as it is on disk. */
struct outbox_full {
	struct outbox_entry *entry;
	json_t *event, *progress;
};
/* Parses a complete entry, or fails with -EBADMSG.  id: the id in the file's name. */
MUST_CHECK int outbox_entry_parse(struct slice text, const char *id, struct outbox_full *ret,
				  struct err *e);
MUST_CHECK int outbox_entry_print(const struct outbox_entry *t, const json_t *event,
				  const json_t *progress, char **ret, struct err *e);
void outbox_full_done(struct outbox_full *f);
void outbox_entry_free(struct outbox_entry *t); /* NULL is fine */
/* Is it a valid name of an entry or a chain: "github-..." or "hook-..."? */
bool outbox_name_ok(const char *name);

/* Locks the outbox's files: no other process changes them until outbox_release(). */
MUST_CHECK int outbox_hold(struct outbox *o, struct err *e);
void outbox_release(struct outbox *o);
bool outbox_exists(const struct outbox *o, const char *id);
MUST_CHECK int outbox_load(struct outbox *o, const char *id, struct outbox_full *ret,
			   struct err *e);
MUST_CHECK int outbox_write(struct outbox *o, const struct outbox_entry *t, const json_t *event,
			    const json_t *progress, struct err *e);
/* Removes the file; a missing file is no error. */
MUST_CHECK int outbox_unlink(struct outbox *o, const char *id, struct err *e);
/* Does the error mean a damaged file, and not a temporary failure? */
bool outbox_damage(int r);
/* Moves an unreadable file to damaged/ and sets the warning. */
void outbox_set_aside(struct outbox *o, int dir, const char *name, const char *why);

/* --- files.c: destinations and records -------------------------------- */

MUST_CHECK int outbox_places_load(struct outbox *o, struct err *e);
/* Adds to the chain's record; the caller holds the lock of outbox_hold().  event NULL: no
 * notification was sent. */
MUST_CHECK int outbox_record(struct outbox *o, const struct outbox_entry *t, const json_t *event,
			     const char *how, const struct outbox_outcome *c, struct err *e);

/* --- outbox.c: when a delivery is tried again; pure, in seconds --------- */

enum {
	BACKOFF_FIRST_WAIT = 60,
	BACKOFF_DAY = 86400, /* between two attempts of a refused entry; the longest wait that a
			      * server can ask for */
};

/* How long to wait after failed attempt number `tries` (1 is the first).  The backoff doubles
 * from a minute to `most`, less up to a quarter as jitter, so that retries spread out.  If the
 * server asked for a wait, that wait and a little more apply, but no longer than a day.  Advances
 * the seed. */
uint64_t backoff_wait(uint64_t tries, uint64_t wish, uint64_t most, uint64_t *seed);
/* Is an attempt due?  If the clock is before the last attempt, it was set back.  Then next_try
 * means nothing, and the attempt is due. */
bool backoff_is_due(uint64_t now, uint64_t last_try, uint64_t next_try);

#endif
