/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_INTERNAL_H
#define RUNNER_PUBLISH_INTERNAL_H

/* Internal to runner/publish/. */
#include "runner/publish/publish.h"

enum publish_what {
	PUBLISH_NEW,
	PUBLISH_AGAIN,
	PUBLISH_FIXED, /* in all targets that found it */
	PUBLISH_REGRESSED,
	PUBLISH_FOUND,	  /* one more target found an issue's crash */
	PUBLISH_PARTLY,	  /* fixed in some of its targets */
	PUBLISH_SMALLER,  /* its input was minimised after the issue was filed */
	PUBLISH_BISECTED, /* the commit with which it began or ended was found after that */
	PUBLISH_WHAT_COUNT
};

#define PUBLISH_GITHUB "github"

bool publish_has_github(const struct publish *p);
const char *publish_what_name(enum publish_what w);

/* One crash and one destination. */
struct publish_case {
	const struct publish *p;
	const struct known_crash *crash;
	const struct known_crash *entry;   /* its entry that the notification is about */
	const struct webhook_config *hook; /* NULL: GitHub */
	char place[OUTBOX_PLACE];
	char name[OUTBOX_PART]; /* of the crash */
	char chain[OUTBOX_NAME];
	json_t *record; /* the chain's */
};
/* entry NULL: the case is the crash as a whole. */
void publish_case_init(const struct publish *p, const struct known_crash *c,
		       const struct known_crash *entry, const struct webhook_config *hook,
		       struct publish_case *ret);
/* Reads the chain's record, which publish_case_named() and publish_event() need. */
MUST_CHECK int publish_case_load(struct publish_case *k, struct outbox *o, struct err *e);
void publish_case_done(struct publish_case *k);
/* The number of the crash's entries that the issue names. */
size_t publish_case_named(const struct publish_case *k);

/* Stands for what is known of where the crash began and ended; "": nothing is. */
enum { PUBLISH_EDGES = 17 };
void publish_case_edges(const struct publish_case *k, char ret[PUBLISH_EDGES]);
/* Whether the crash's texts show no details. */
bool publish_case_redacted(const struct publish_case *k);

/* The event of a crash (delivery.h). */
MUST_CHECK int publish_event(const struct publish_case *k, enum publish_what w, const char *id,
			     json_t **ret, struct err *e);

/* "hook-<name>" */
void publish_hook_place(const struct webhook_config *h, char out[OUTBOX_PLACE]);

#endif
