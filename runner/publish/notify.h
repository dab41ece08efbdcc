/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_NOTIFY_H
#define RUNNER_PUBLISH_NOTIFY_H

#include "base/buf.h"
#include "runner/config/config.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/publish/publish.h"
#include "runner/state/state.h"
#include "runner/targets/discover.h"

/* One round of notifications to GitHub and webhooks, as configured.  It compares the ledger on
 * disk with the notifications of each destination, writes new ones into the outbox, and sends
 * due entries.  A round blocks, and holds secrets when it sends: call it in a forked child. */
struct notify {
	const struct config *config;
	const struct state *state;
	/* Parts of commands in texts that only the caller knows.  `command`: the words that run
	 * an input of a target.  `paths`: --config and --state-dir (new strings; NULL: not
	 * needed).  Both get arg. */
	int (*command)(const struct notify *n, const char *target, struct engine_cmd *ret,
		       struct err *e);
	void (*paths)(const struct notify *n, char **ret_config, char **ret_state);
	const void *arg;
	const struct target_list *targets; /* NULL: none are known */
	const char *run;		   /* the ended run; NULL: none */
	const struct publish_note *notes;  /* sent in addition to the ledger's changes */
	size_t n_notes;
	uint64_t send_us; /* no request begins after this time; 0: nothing is sent */
};

/* Is this destination ("github", "hook-<name>") in the configuration? */
bool notify_has_place(const struct config *c, const char *place);

/* Is there any destination in the configuration? */
bool notify_is_wanted(const struct config *c);

/* result: JSON for notify_read().  Queued entries stay queued when sending fails. */
MUST_CHECK int notify_round(const struct notify *t, struct buf *result, struct err *e);

struct notify_result {
	size_t done, refused, left;
	size_t postponed; /* crashes that get no issue today: github.new_per_day */
	bool learned;	  /* the ledger received a fact */
	uint64_t next;	  /* when the next round is useful, Unix seconds; 0: nothing waits */
	struct publish_alarm alarm;
	char failed[360];  /* "github: why" of the first delivery that failed; "": none */
	char warning[400]; /* about the outbox's files, or a destination; "": none */
};
/* Reads a round's result.  The ledger (NULL: none) receives the learned facts: issues, and
 * users' labels that ask to ignore a crash. */
MUST_CHECK int notify_read(struct slice result, struct ledger *l, struct notify_result *ret,
			   struct err *e);

/* The issue that the crash would get; nothing is queued or sent. */
MUST_CHECK int notify_preview(const struct notify *t, const struct known_crash *c,
			      struct buf *title, struct buf *body, struct err *e);

/* A user wants this crash to count again: the next round ignores labels that were seen before.
 * Call it with the state's lock held, before the ledger is saved. */
MUST_CHECK int notify_unignored(const struct state *s, const struct ledger *l,
				const char *signature, struct err *e);

/* "3 reports wait in the outbox, the oldest for 2d03h: github: ..."; "" when all is well. */
enum { NOTIFY_TEXT = 400 };
const char *notify_alarm_text(const struct publish_alarm *a, uint64_t now, char out[NOTIFY_TEXT]);

#endif
