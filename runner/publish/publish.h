/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_PUBLISH_H
#define RUNNER_PUBLISH_PUBLISH_H

#include "runner/config/config.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/engine/engine.h"
#include "runner/publish/delivery.h"
#include "runner/publish/outbox/outbox.h"
#include "runner/publish/render/source_link.h"

/* Which notifications each destination gets, and when.
 *
 * publish_queue() compares the ledger with the sent notifications, and queues the difference.
 * It may be called at any time and any number of times.  If a caller is killed, the next call
 * queues the rest.  A run calls it when its ledger is on disk.
 *
 * GitHub gets, for each crash that is neither merged nor ignored:
 *	new		if the crash is open, failed again at least once (or was not measured), and
 *			has no known issue; at most new_per_day, each target's worst crash first
 *	fixed		if the crash is fixed and has an issue
 *	regressed	if the crash came back and has an issue; once for each fix
 *	again		if the crash was seen in this run and has an issue that may be closed;
 *			once a run
 *
 * A webhook gets new, fixed and regressed, as configured, also for crashes that never failed
 * again.  It gets nothing that is more than a day older than the webhook itself.
 *
 * For a security-relevant crash, GitHub gets what the configuration says: the name only, an
 * issue in another repository, nothing, or everything. */

struct publish_target {
	const char *name;
	const char *build; /* the build command; NULL: unknown */
	/* The path of its program; NULL: unknown.  Texts show the last part of an absolute path. */
	const char *binary;
	/* Its label and its in-tree corpora in a Bazel workspace; NULL: none. */
	const char *label, *corpus;
};

struct publish_past {
	bool known; /* the statistics of the run that found it, up to now or to its end */
	uint64_t execs, cov, corpus;
	char clean_at[72]; /* the commit of the last run without the crash; "": unknown */
};

/* All pointers are borrowed. */
struct publish {
	int state_dirfd;
	const char *state_path; /* hidden in issues; NULL: unknown */
	/* For commands in texts: runner/publish/render/render.h. */
	const char *say_config, *say_state;
	const struct github_config *github; /* NULL, or without a repository: no issues */
	const struct webhook_config *hooks;
	size_t n_hooks;
	const struct outbox_config *outbox;
	const struct publish_target *targets; /* the known targets */
	size_t n_targets;
	/* The command that runs a target's program on the file "reproducer", as in its cell.
	 * NULL: unknown. */
	int (*command)(const void *arg, const char *target, struct engine_cmd *ret, struct err *e);
	/* Sets what happened before a target's crash; NULL: unknown. */
	void (*past)(const void *arg, const struct known_crash *entry, struct publish_past *ret);
	const void *arg;
	const struct sources *sources; /* NULL: unknown */
	const char *run;	       /* the ended run; NULL: none */
	uint64_t now;		       /* Unix seconds */
};

/* Does the configuration still have this destination ("github", "hook-<name>")? */
bool publish_is_told(const struct publish *p, const char *place);

struct publish_sum {
	size_t queued;	/* new entries of the outbox */
	size_t issues;	/* those of them that are new issues */
	size_t waiting; /* crashes without an issue, because of new_per_day */
};
/* Reads the ledger only.  On failure the error is the first one, and the next call queues the
 * rest. */
MUST_CHECK int publish_queue(const struct publish *p, struct outbox *o, const struct ledger *l,
			     struct publish_sum *ret, struct err *e);

/* The issue that the crash would get, also without a configured repository.  o: the sent
 * notifications; NULL: none. */
MUST_CHECK int publish_preview(const struct publish *p, struct outbox *o,
			       const struct known_crash *c, struct buf *title, struct buf *body,
			       struct err *e);

/* Notifications without a crash, for webhooks. */
enum publish_note_kind { PUBLISH_RUN_FAILED, PUBLISH_SILENT, PUBLISH_NOTE_COUNT };
struct publish_note {
	enum publish_note_kind kind;
	const char *target;	  /* PUBLISH_SILENT: its name */
	uint64_t since;		  /* PUBLISH_SILENT: last fuzzed, Unix seconds; 0: never */
	const char *run, *commit; /* NULL: unknown.  PUBLISH_RUN_FAILED is sent once a run */
	const char *text;	  /* one sentence for users; any bytes */
};
/* Each is sent once: per target and `since`, or per run. */
MUST_CHECK int publish_note(const struct publish *p, struct outbox *o, const struct publish_note *n,
			    struct err *e);

/* --- delivering ------------------------------------------------------------ */

/* Sends to one destination: github_deliver(), webhook_deliver(). */
struct publish_sender {
	const char *place; /* "github", "hook-<name>" */
	void (*deliver)(void *arg, struct delivery *d);
	void *arg;
	/* The number of the secret that it would send (0: none); makes no request.  NULL: a new
	 * secret does not shorten the backoff after a refusal. */
	uint64_t (*token)(void *arg);
};

struct publish_deliver {
	int state_dirfd;
	const struct publish_sender *senders;
	size_t n_senders;
	uint64_t retry_max_s;
	uint64_t deadline_us;	    /* clock_mono_us(): no delivery begins after it; 0: none */
	uint64_t (*now)(void *arg); /* Unix seconds; NULL: the clock */
	void *arg;
};

struct publish_delivered {
	size_t done, later, refused, ignored;
	size_t left;   /* pending entries that have a sender */
	uint64_t next; /* when the next call is useful; 0: no entry waits for a time */
	char failed[OUTBOX_PLACE + 260];  /* "github: why" of the first failure; printable */
	char warning[OUTBOX_PLACE + 260]; /* of a reached destination; "": none */
};
/* Tries each due entry once, until the deadline.  Takes outbox_lock() unless o has it; -EBUSY:
 * another process delivers.  Blocks as long as its senders do. */
MUST_CHECK int publish_deliver(const struct publish_deliver *d, struct outbox *o,
			       struct publish_delivered *ret, struct err *e);

/* --- learned facts --------------------------------------------------------- */

struct publish_learned {
	const char *chain;     /* for publish_noted() */
	const char *signature; /* as in the ledger */
	const char *url;       /* of its issue; "": unknown */
	bool ignored;	       /* a user's label asks to ignore it: ledger_ignore() */
	uint64_t labelled;     /* the label applies to this number of first entries; 0: to all
				* that are not new */
};
/* For the owner of the ledger: calls fn for each crash that has an issue or was ignored. */
MUST_CHECK int publish_learned(struct outbox *o,
			       int (*fn)(void *arg, const struct publish_learned *l, struct err *e),
			       void *arg, struct err *e);
/* Call it when the ledger is on disk: publish_learned() no longer reports this chain as ignored.
 * So a user's `crash unignore` lasts. */
MUST_CHECK int publish_noted(struct outbox *o, const char *chain, struct err *e);

/* --- the alarm --------------------------------------------------------------- */

struct publish_alarm {
	size_t count;	 /* entries that have waited longer than alarm_us */
	uint64_t oldest; /* when the first of them was queued, Unix seconds */
	char place[OUTBOX_PLACE];
	char why[256]; /* of the oldest entry, printable; "": not tried yet */
};
/* The entries that cannot be delivered; all zero when no entry waits too long.  Entries for
 * destinations that are no longer configured do not count. */
void publish_alarm(const struct publish *p, const struct outbox *o, struct publish_alarm *ret);
/* Notifies the other destinations about a stuck destination, once each time that it gets stuck. */
MUST_CHECK int publish_alarm_queue(const struct publish *p, struct outbox *o, struct err *e);

#endif
