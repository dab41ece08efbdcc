/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_PUBLISH_H
#define RUNNER_PUBLISH_PUBLISH_H

#include "runner/config/config.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/engine/engine.h"
#include "runner/publish/delivery.h"
#include "runner/publish/outbox/outbox.h"
#include "runner/publish/render/source_link.h"

/* Which notifications each destination (GitHub, a webhook) gets, and when.
 *
 * publish_queue() compares the ledger with the sent notifications, and queues the missing
 * notifications in the outbox.  It may be called at any time and any number of times.  If the
 * caller is killed, the next call queues the rest.  Each round (notify.h) calls it.
 *
 * GitHub gets, for each crash that is neither merged nor ignored, as far as configured:
 *	new		if the crash is open, failed again at least once (or was not measured), and
 *			has no known issue; at most new_per_day, the worst crash of each target
 *			first, then the second worst of each
 *	found		if one more target found a crash that has an issue
 *	fixed		if the crash is fixed in all its targets, and has an issue
 *	partly		if the crash is fixed in some of its targets, and has an issue
 *	regressed	if the crash came back after a fix, and has an issue; once for each fix
 *	again		if a target that had the crash before failed with it in this run, and the
 *			crash has an issue (a user may have closed the issue); once a run
 *	smaller		if the input was minimised after the issue was filed; only in the first
 *			week of the crash
 *
 * A webhook gets new, fixed and regressed, as configured, also for crashes that never failed
 * again.  When a webhook is added to the configuration, it does not get the old events: the first
 * event that it gets is at most one day older than the first publish_queue() with this webhook.
 * Only a crash in the state "new" is sent whatever its age.
 *
 * The configuration says what GitHub gets for a security-relevant crash: only the crash's name, an
 * issue in another repository, nothing, or everything.
 *
 * A chain is all notifications for one destination about one subject, for example about one crash.
 * The notifications of a chain are sent in order (runner/publish/outbox/outbox.h).
 *
 * A crash gets one issue, whenever fuzzcell is killed and whatever file is lost, because
 * 1. "new" is queued only if neither the ledger nor the outbox knows an issue of the crash;
 * 2. the notification's name is made from the crash, so the outbox has it once, also when it was
 *    sent (outbox.h), and one process at a time sends;
 * 3. before a request for an issue, and again after a request without an answer, the issue is
 *    looked up in the repository by a marker with the crash's signature (github/github.h). */

struct publish_target {
	const char *name;
	const char *build; /* the build command; NULL: unknown */
	/* The path of the target's program; NULL: unknown.  Of an absolute path, texts show only
	 * the file's name. */
	const char *binary;
	const char *label;  /* the target's label in a Bazel workspace; NULL: none */
	const char *corpus; /* the target's in-tree corpora in a Bazel workspace; NULL: none */
};

/* What happened before a target found a crash.  The statistics are of the run in which the target
 * found the crash, up to now or up to the end of the run. */
struct publish_past {
	bool known;	 /* execs, cov and corpus are known */
	uint64_t execs;	 /* number of executed inputs */
	uint64_t cov;	 /* coverage */
	uint64_t corpus; /* number of inputs in the corpus */
	/* The commit of the target's previous run, in which the crash did not occur.  "": unknown,
	 * or both runs have the same commit. */
	char clean_at[72];
};

/* All pointers are borrowed. */
struct publish {
	int state_dirfd;
	const char *state_path;	  /* hidden in issues; NULL: unknown */
	const char *shown_config; /* --config for commands in texts (render/render.h) */
	const char *shown_state;  /* --state-dir for commands in texts (render/render.h) */
	const struct github_config *github; /* NULL, or without a repository: no issues */
	const struct webhook_config *hooks;
	size_t n_hooks;
	const struct outbox_config *outbox;
	const struct publish_target *targets; /* the known targets */
	size_t n_targets;
	/* Sets *ret to the command that runs a target's program on the file "reproducer", with the
	 * same options as in the target's cell.  NULL: the commands are unknown. */
	int (*command)(const void *arg, const char *target, struct engine_cmd *ret, struct err *e);
	/* Sets *ret to what happened before a target found a crash.  NULL: unknown. */
	void (*past)(const void *arg, const struct known_crash *entry, struct publish_past *ret);
	const void *arg;	       /* for command and past */
	const struct sources *sources; /* for links to source code; NULL: unknown */
	const char *run;	       /* the run that has just ended; NULL: none */
	uint64_t now;		       /* Unix seconds */
};

/* Does the configuration have the destination `place` ("github", "hook-<name>")? */
bool publish_has_place(const struct publish *p, const char *place);

struct publish_sum {
	size_t queued;	/* entries that publish_queue() added to the outbox */
	size_t waiting; /* crashes that get no issue yet, because of new_per_day */
};
/* Queues the notifications that are missing (see above).  Only reads the ledger.  A failure for one
 * crash does not stop the others: *e has the first error, and the next call queues the rest. */
MUST_CHECK int publish_queue(const struct publish *p, struct outbox *o, const struct ledger *l,
			     struct publish_sum *ret, struct err *e);

/* Writes the title and the body of the issue that crash c would get, also if no repository is
 * configured.  o: the outbox with the record of sent notifications; NULL: nothing was sent. */
MUST_CHECK int publish_preview(const struct publish *p, struct outbox *o,
			       const struct known_crash *c, struct buf *title, struct buf *body,
			       struct err *e);

/* A note: a notification that is not about a crash.  Only webhooks get notes. */
enum publish_note_kind {
	PUBLISH_RUN_FAILED, /* a run failed */
	PUBLISH_SILENT,	    /* a target was not fuzzed for a long time */
	PUBLISH_NOTE_COUNT
};
struct publish_note {
	enum publish_note_kind kind;
	const char *target; /* PUBLISH_SILENT: the target's name */
	/* PUBLISH_SILENT: when the target was last fuzzed, Unix seconds; 0: never. */
	uint64_t since;
	const char *run;    /* NULL: unknown */
	const char *commit; /* NULL: unknown */
	const char *text;   /* one sentence for users; any bytes */
};
/* Queues the note for each webhook that is configured for its kind.  A webhook gets
 * PUBLISH_RUN_FAILED once for each run, and PUBLISH_SILENT once for each target and `since`. */
MUST_CHECK int publish_note(const struct publish *p, struct outbox *o, const struct publish_note *n,
			    struct err *e);

/* --- delivering ------------------------------------------------------------ */

/* The functions that send to one destination. */
struct publish_sender {
	const char *place; /* the destination: "github", "hook-<name>" */
	/* Sends one entry: github_deliver() or webhook_deliver(). */
	void (*deliver)(void *arg, struct delivery *d);
	void *arg; /* for deliver and token */
	/* Returns the number of the secret that deliver() would send now; 0: no secret.  Makes no
	 * request.  With this number, a new secret ends the backoff after a refusal of the old
	 * secret.  NULL: a new secret does not end the backoff. */
	uint64_t (*token)(void *arg);
};

struct publish_deliver {
	int state_dirfd;
	const struct publish_sender *senders;
	size_t n_senders;
	uint64_t retry_max_s;	    /* the longest backoff between two attempts */
	uint64_t deadline_us;	    /* clock_mono_us() after which no delivery begins; 0: none */
	uint64_t (*now)(void *arg); /* returns Unix seconds; NULL: the real clock */
	void *arg;		    /* for now */
};

struct publish_delivered {
	size_t done;	/* entries that were delivered */
	size_t refused; /* failed attempts; a user must act (DELIVERY_REFUSED) */
	size_t left;	/* pending entries that have a sender */
	/* When the next call is useful, Unix seconds; 0: no pending entry has a sender. */
	uint64_t next;
	char failed[OUTBOX_PLACE + 260];  /* "github: why" of the first failure; "": none */
	char warning[OUTBOX_PLACE + 260]; /* "github: ..." of the first warning; "": none */
};
/* Tries each due entry once, until the deadline.  Takes outbox_lock() unless o has the lock.
 * -EBUSY: another process delivers.  Blocks as long as the senders block. */
MUST_CHECK int publish_deliver(const struct publish_deliver *d, struct outbox *o,
			       struct publish_delivered *ret, struct err *e);

/* --- learned facts --------------------------------------------------------- */

/* What is known about a crash from GitHub.  The owner of the ledger copies it into the ledger. */
struct publish_learned {
	const char *chain;     /* the crash's chain, for publish_forget_ignored() */
	const char *signature; /* the crash's signature in the ledger */
	const char *url;       /* of the crash's issue; "": unknown */
	bool ignored;	       /* a user's label asks to ignore the crash: ledger_ignore() */
	/* With `ignored`: the number of entries of the crash, from the first one, to which the
	 * label applies.  0: the label applies to all entries that are not new. */
	uint64_t labelled;
};
/* Calls fn for each crash that has an issue, or that a user's label asks to ignore. */
MUST_CHECK int publish_learned(struct outbox *o,
			       int (*fn)(void *arg, const struct publish_learned *l, struct err *e),
			       void *arg, struct err *e);
/* From now on, publish_learned() does not report the crash of this chain as ignored.  Call it when
 * the ledger on disk has the crash as ignored.  Otherwise the label would undo a later `crash
 * unignore` of a user. */
MUST_CHECK int publish_forget_ignored(struct outbox *o, const char *chain, struct err *e);

/* --- the alarm --------------------------------------------------------------- */

/* The stuck entries: pending entries that have waited for outbox_config.alarm_us. */
struct publish_alarm {
	size_t count;		  /* number of stuck entries; 0: there are none */
	uint64_t oldest;	  /* when the oldest stuck entry was queued, Unix seconds */
	char place[OUTBOX_PLACE]; /* the destination of the oldest stuck entry */
	/* Why the last attempt to send the oldest stuck entry failed, printable; "": not tried
	 * yet. */
	char why[256];
};
/* Finds the stuck entries; *ret is all zero when there are none.  Entries for destinations that are
 * no longer configured do not count. */
void publish_alarm(const struct publish *p, const struct outbox *o, struct publish_alarm *ret);
/* Queues a notification about each destination with stuck entries, for the other destinations.
 * Each time a destination gets stuck, the others are notified once. */
MUST_CHECK int publish_alarm_queue(const struct publish *p, struct outbox *o, struct err *e);

#endif
