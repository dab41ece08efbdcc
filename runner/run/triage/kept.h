/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_KEPT_H
#define RUNNER_RUN_TRIAGE_KEPT_H

#include "base/buf.h"
#include "base/file_id.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/* The report that a fuzzing cell printed when it wrote an artifact.  It is the only trace of a
 * failure that never comes back.  It is kept beside the artifact in the queue, as
 * triage/<target>/.report-<artifact>, until the crash is in the ledger.  So a later run has
 * it, too.  It is a line of JSON (struct kept) and the text.
 *
 * A failure without an artifact also has a place in the queue: an empty file lost-<sha1>, with the
 * SHA-1 of the cell's name.  Its report is its only trace, and states how the cell ended. */

enum {
	KEPT_BEFORE = 8 << 10, /* bytes of output before the failure's first line */
	KEPT_AFTER = 56 << 10, /* bytes of output from that line on */
	KEPT_TEXT_MAX = KEPT_BEFORE + KEPT_AFTER,
	KEPT_NAME = 80, /* length of the file's name, with NUL */
};

/* --- while the cell lives --------------------------------------------------- */

/* The part of a cell's output that is kept.  All zero: nothing yet. */
struct kept_output {
	char *ring; /* KEPT_BEFORE bytes; NULL: none yet */
	uint64_t n; /* bytes that went through it */
	struct buf after;
};
/* failing: the engine has reported a failure, in this line or before. */
void kept_line(struct kept_output *k, struct slice line, bool failing);
/* The kept text, from the beginning of a line.  kept_text_before(): only the text before the
 * failure. */
MUST_CHECK int kept_text(const struct kept_output *k, struct buf *ret, struct err *e);
MUST_CHECK int kept_text_before(const struct kept_output *k, struct buf *ret, struct err *e);
void kept_output_done(struct kept_output *k);

/* --- beside the artifact ------------------------------------------------------ */

struct kept {
	const char *run, *commit; /* that found the failure; commit "": not known */
	uint64_t time;		  /* Unix seconds */
	struct file_id binary;	  /* size 0: not known */
	double starved; /* share of time that it waited for a CPU: in its cell, or recently */
	/* crash_own_name() of the cell's end, and its detail; "": the text names the crash.
	 * by_text: for a failure without an artifact, a crash report in the text comes first. */
	const char *own, *detail;
	bool by_text;
	struct slice text; /* at most KEPT_TEXT_MAX */
	/* What the parser read in the text: crash_report_json().  NULL: it was not parsed yet.
	 * After kept_read() it is not trusted (crash_report_from_json()), and belongs to `head`. */
	json_t *report;
	/* Owned, from kept_read(). */
	char *data;
	json_t *head;
};

/* Whether a name in the queue is that of a failure without an artifact. */
bool kept_is_lost(const char *name);
/* Queues a failure without an artifact of the named cell: the report, then its place in the queue.
 */
MUST_CHECK int kept_write_lost(int queue, const char *cell, const struct kept *k, struct err *e);

/* Writes a report; it replaces an older report of the same artifact.  queue: the directory
 * triage/<target>.  After 0 it is on disk.  -EINVAL: not a name of an artifact. */
MUST_CHECK int kept_write(int queue, const char *artifact, const struct kept *k, struct err *e);
/* -ENOENT: there is no report; -EBADMSG: it is damaged.  Free it with kept_done(). */
MUST_CHECK int kept_read(int queue, const char *artifact, struct kept *ret, struct err *e);
void kept_done(struct kept *k); /* all zero is fine */
/* Removes the report of an artifact that leaves the queue; no report is fine. */
MUST_CHECK int kept_remove(int queue, const char *artifact, struct err *e);
/* Removes reports without an artifact: a kill came between the two.  No other process or task may
 * use the directory meanwhile. */
MUST_CHECK int kept_sweep(int queue, struct err *e);

#endif
