/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_TRIAGE_BOOKS_H
#define RUNNER_RUN_TRIAGE_BOOKS_H

#include "base/loop.h"
#include "runner/crash/ledger/ledger.h"
#include "runner/state/state.h"

/* The ledger of a living run.  It is changed in memory, and one child process at a time writes it.
 * So the loop never waits for a disk, and no older copy replaces a newer copy. */
struct books;

/* Loads the ledger of s, begins a run in it (run NULL: none), and writes it once, so that a full
 * disk is found now.  warning: the problem with the file; "": none. */
MUST_CHECK int books_open(struct loop *l, struct state *s, const char *run, struct books **ret,
			  char warning[300], struct err *e);
/* For use after the loop: waits until what was to be saved is written.  A child that takes more
 * than a minute is killed; its changes are not saved. */
void books_finish(struct books *b);
/* Does the same, then closes.  Changes since the last books_save() are lost. */
void books_close(struct books *b); /* NULL is fine */

struct ledger *books_ledger(struct books *b);

/* Writes all changes until now, then calls done with NULL or an error.  It is called also if there
 * was nothing to write, and may be called before books_save() returns.  done NULL: the caller needs
 * no answer, because a later save, or the run's end, writes the changes as well. */
typedef void books_done_fn(void *arg, const char *failed);
void books_save(struct books *b, books_done_fn *done, void *arg);

#endif
