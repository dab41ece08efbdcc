/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_SEAT_H
#define RUNNER_RUN_JOB_SEAT_H

#include "runner/run/job/setup.h"

/* Keeps the cell of one command for the next one, if that is the same: program, arguments,
 * environment, mounts, limits and user.  What differs is in a file that a mount shows.  One command
 * at a time.  Commands in one cell are less parted than those in cells of their own (SECURITY.md).
 */
struct seat;

MUST_CHECK int seat_new(struct seat **ret, struct err *e);
/* Ends the cell that stayed, soon; nothing is fine. */
void seat_clear(struct seat *s);
/* No command may be at work.  closed comes when no cell of it lives, perhaps at once; then s is
 * freed.  A cell that cannot be killed, for want of a descriptor, lives: call it again until closed
 * has come. */
void seat_close(struct seat *s, void (*closed)(void *arg), void *arg);

/* setup_start(), or the command in the cell that stayed: then *ret_again.  ops->exited ends a
 * command: then seat_park(), or cell_kill() and ops->ended. */
MUST_CHECK int seat_start(struct seat *s, const struct setup *setup, const struct setup_cell *c,
			  uid_t uid, const struct cell_ops *ops, void *arg, struct cell **ret,
			  bool *ret_again, struct err *e);
/* The command has ended, and its cell stays.  Nothing more comes to its ops. */
void seat_park(struct seat *s);

#endif
