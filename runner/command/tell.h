/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_TELL_H
#define RUNNER_COMMAND_TELL_H

#include "base/buf.h"
#include "runner/command/command.h"
#include "runner/config/config.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/publish/publish.h"
#include "runner/state/state.h"
#include "runner/targets/discover.h"

/* One round of telling GitHub and webhooks, as the configuration says: what the ledger on
 * disk has and nobody was told yet is written into the outbox, and what waits there is
 * sent.  It blocks, and holds secrets when it sends: for a forked child. */
struct tell {
	const struct config *config;
	const struct state *state;
	/* How it was called, so that commands for people say the same; NULL: unknown. */
	const struct common *common;
	const struct target_list *targets; /* NULL: none are known */
	const char *run;		   /* that is over; NULL: none */
	const struct publish_note *notes;  /* to be told beside the ledger */
	size_t n_notes;
	uint64_t send_us; /* nothing more is sent after so long; 0: nothing is sent */
};

/* Is this destination ("github", "hook-<name>") in the configuration? */
bool tell_knows(const struct config *c, const char *place);

/* Is anybody to be told? */
bool tell_wanted(const struct config *c);

/* result: JSON for tell_read().  What was queued stays queued when sending fails. */
MUST_CHECK int tell_round(const struct tell *t, struct buf *result, struct err *e);

struct told {
	size_t done, refused, left;
	size_t held;   /* crashes that get no issue today: github.new_per_day */
	uint64_t next; /* Unix seconds: when it is worth another round; 0: nothing waits */
	struct publish_alarm alarm;
	char failed[360];  /* "github: why": the first that could not be sent; "" none */
	char warning[400]; /* of the outbox's files, or a destination; "" none */
};
/* Reads a round's result, and gives the ledger (NULL: none) what was learned: issues,
 * and a person's label that says to ignore a crash. */
MUST_CHECK int tell_read(struct slice result, struct ledger *l, struct told *ret, struct err *e);

/* The issue that the crash would get; nothing is queued or sent. */
MUST_CHECK int tell_preview(const struct tell *t, const struct known_crash *c, struct buf *title,
			    struct buf *body, struct err *e);

/* A person says that this crash counts again: labels that were seen before are no longer learned
 * of by the next round.  With the state's lock, before the ledger is saved. */
MUST_CHECK int tell_unignored(const struct state *s, const struct ledger *l, const char *signature,
			      struct err *e);

/* "3 reports wait in the outbox, the oldest for 2d03h: github: ..."; "" when all is well. */
enum { TELL_TEXT = 400 };
const char *tell_alarm_text(const struct publish_alarm *a, uint64_t now, char out[TELL_TEXT]);

#endif
