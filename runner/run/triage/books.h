/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_BOOKS_H
#define RUNNER_RUN_TRIAGE_BOOKS_H

#include "base/loop.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/state/state.h"

/* The ledger of a living run: changed in memory, written by one child process at a
 * time, so that the loop never waits for a disk and no older copy replaces a newer
 * one. */
struct books;

/* Loads the ledger of s, tells it that a run begins (run NULL: it does not), and
 * writes it once: a disk that is full is found now.  warning: what was wrong with the file,
 * "" when nothing was. */
MUST_CHECK int books_open(struct loop *l, struct state *s, const char *run, struct books **ret,
			  char warning[300], struct err *e);
/* With nothing being written.  Unsaved changes are lost. */
void books_close(struct books *b); /* NULL is fine */

struct ledger *books_ledger(struct books *b);

/* All that was changed until now is written; then done is told, with NULL or what went
 * wrong.  Also when there was nothing to write; it may come before books_save() returns. */
typedef void books_done_fn(void *arg, const char *failed);
MUST_CHECK int books_save(struct books *b, books_done_fn *done, void *arg, struct err *e);

#endif
