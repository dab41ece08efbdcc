/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_PUBLISH_H
#define RUNNER_PUBLISH_PUBLISH_H

#include "runner/config/config.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/engine/engine.h"
#include "runner/publish/delivery.h"
#include "runner/publish/outbox/outbox.h"
#include "runner/publish/render/source_link.h"

/* Who is told what, and when.
 *
 * publish_queue() compares the ledger with what was told, and queues the difference: it
 * may be called at any time, as often as one likes, and loses nothing when whoever called
 * it before was killed.  A run calls it when its ledger is on disk.
 *
 * GitHub, for each crash that is neither merged nor ignored:
 *	new		it is open, it failed again at least once (or was not measured), and
 *			no issue of it is known; at most new_per_day of them, the worst of
 *			each target first
 *	fixed		it is fixed, and has an issue
 *	regressed	it came back, and has an issue; once for each fix
 *	again		it was seen in this run, and has an issue that may be closed by now;
 *			once a run
 * A webhook: new, fixed and regressed, as its configuration asks; also of crashes that never
 * failed again; nothing that is older by a day than the webhook itself.
 *
 * A security-relevant crash is told to GitHub as the configuration says: with nothing but its
 * name, in another repository, not at all, or in full. */

struct publish_target {
	const char *name;
	const char *build; /* the command that builds it; NULL: unknown */
	/* The path of its program; NULL: unknown.  Of an absolute one the last part is named. */
	const char *binary;
	/* Its label and its in-tree corpora in a Bazel workspace; NULL: none. */
	const char *label, *corpus;
};

struct publish_past {
	bool known; /* statistics of the run that found it, up to now or to its end */
	uint64_t execs, cov, corpus;
	char clean_at[72]; /* the commit of the last run that did not find it; "": unknown */
};

/* All borrowed. */
struct publish {
	int state_dirfd;
	const char *state_path; /* not to be seen in an issue; NULL: unknown */
	/* In commands for people: runner/publish/render/render.h. */
	const char *say_config, *say_state;
	const struct github_config *github; /* NULL, or without a repository: no issues */
	const struct webhook_config *hooks;
	size_t n_hooks;
	const struct outbox_config *outbox;
	const struct publish_target *targets; /* what is known of them */
	size_t n_targets;
	/* How a target's program is run with the file "reproducer", as its cell does.  NULL: it is
	 * not known. */
	int (*command)(const void *arg, const char *target, struct engine_cmd *ret, struct err *e);
	/* Of a target's crash, what was before it; NULL: it is not known. */
	void (*past)(const void *arg, const struct known_crash *entry, struct publish_past *ret);
	const void *arg;
	const struct sources *sources; /* NULL: not known */
	const char *run;	       /* that is over; NULL: none */
	uint64_t now;		       /* Unix seconds */
};

/* Whether the configuration still has this destination ("github", "hook-<name>"). */
bool publish_is_told(const struct publish *p, const char *place);

struct publish_sum {
	size_t queued;	/* new entries of the outbox */
	size_t issues;	/* of these new issues */
	size_t waiting; /* crashes without an issue, because of new_per_day */
};
/* The ledger is only read.  What could not be queued (the error is the first) is queued by the
 * next call. */
MUST_CHECK int publish_queue(const struct publish *p, struct outbox *o, const struct ledger *l,
			     struct publish_sum *ret, struct err *e);

/* The issue that the crash would get, also without a repository; o: what was sent before, NULL:
 * nothing was. */
MUST_CHECK int publish_preview(const struct publish *p, struct outbox *o,
			       const struct known_crash *c, struct buf *title, struct buf *body,
			       struct err *e);

/* What is about no crash; to webhooks. */
enum publish_note_kind { PUBLISH_RUN_FAILED, PUBLISH_SILENT, PUBLISH_NOTE_COUNT };
struct publish_note {
	enum publish_note_kind kind;
	const char *target; /* PUBLISH_SILENT: which */
	uint64_t since;	    /* PUBLISH_SILENT: when it was fuzzed last, Unix seconds; 0: never */
	const char *run, *commit; /* NULL: unknown.  PUBLISH_RUN_FAILED is told once a run */
	const char *text;	  /* one sentence for people; any bytes */
};
/* Each is told once: the same target since the same time, the same run. */
MUST_CHECK int publish_note(const struct publish *p, struct outbox *o, const struct publish_note *n,
			    struct err *e);

/* --- delivering ------------------------------------------------------------ */

/* Talks to one destination: github_deliver(), webhook_deliver(). */
struct publish_sender {
	const char *place; /* "github", "hook-<name>" */
	void (*deliver)(void *arg, struct delivery *d);
	void *arg;
	/* The number of the secret that it would show (0: none), without asking anybody; NULL:
	 * what was refused is not tried sooner for another one. */
	uint64_t (*token)(void *arg);
};

struct publish_deliver {
	int state_dirfd;
	const struct publish_sender *senders;
	size_t n_senders;
	uint64_t retry_max_s;
	uint64_t deadline_us;	    /* clock_mono_us(): nothing is begun after it; 0: none */
	uint64_t (*now)(void *arg); /* Unix seconds; NULL: the clock */
	void *arg;
};

struct publish_delivered {
	size_t done, later, refused, ignored;
	size_t left;   /* entries that wait, and have a sender */
	uint64_t next; /* when it is worth looking again; 0: none waits for a time */
	char failed[OUTBOX_PLACE + 260];  /* "github: why" of the first that failed; printable */
	char warning[OUTBOX_PLACE + 260]; /* of a destination that was reached; "" none */
};
/* Tries what is due, each entry once, until the deadline.  Takes outbox_lock() when o has it
 * not: -EBUSY: somebody else delivers.  Blocks as long as its senders do. */
MUST_CHECK int publish_deliver(const struct publish_deliver *d, struct outbox *o,
			       struct publish_delivered *ret, struct err *e);

/* --- what was learned ------------------------------------------------------ */

struct publish_learned {
	const char *chain;     /* for publish_noted() */
	const char *signature; /* as the ledger has it */
	const char *url;       /* of its issue; "" unknown */
	bool ignored;	       /* a person's label says so: ledger_ignore() */
	uint64_t labelled;     /* the label is for so many first entries; 0: all that are not new */
};
/* For the ledger's owner: calls fn for each crash that has an issue, or was ignored. */
MUST_CHECK int publish_learned(struct outbox *o,
			       int (*fn)(void *arg, const struct publish_learned *l, struct err *e),
			       void *arg, struct err *e);
/* The ledger is on disk: this chain's "ignored" is not told again, so that a person's
 * `crash unignore` lasts. */
MUST_CHECK int publish_noted(struct outbox *o, const char *chain, struct err *e);

/* --- the alarm --------------------------------------------------------------- */

struct publish_alarm {
	size_t count;	 /* entries that wait for longer than alarm_us */
	uint64_t oldest; /* when the first of them was queued, Unix seconds */
	char place[OUTBOX_PLACE];
	char why[256]; /* of the oldest one, printable; "" not tried yet */
};
/* What cannot be delivered; all zero when nothing waits too long.  What is for destinations
 * that are no longer configured is nobody's loss. */
void publish_alarm(const struct publish *p, const struct outbox *o, struct publish_alarm *ret);
/* Tells the other destinations of one that is stuck: once for each time that it is. */
MUST_CHECK int publish_alarm_queue(const struct publish *p, struct outbox *o, struct err *e);

#endif
