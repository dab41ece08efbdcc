/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_SEAT_H
#define RUNNER_RUN_JOB_SEAT_H

#include "runner/run/job/setup.h"

/* Keeps the cell of one command for the next command, if that is the same: program, arguments,
 * environment, mounts, limits and user.  Input that differs is in a mounted file.  It runs one
 * command at a time.  Commands in one cell are less isolated than commands in separate cells
 * (SECURITY.md). */
struct seat;

struct seat *seat_new(void);
/* Ends the cell that stayed, soon; no cell is fine. */
void seat_clear(struct seat *s);
/* Closes the seat; no command may be at work.  closed is called when no cell of it lives, perhaps
 * at once; then s is freed.  A kill fails if it gets no descriptor: call this again until closed is
 * called. */
void seat_close(struct seat *s, void (*closed)(void *arg), void *arg);

/* As setup_start(), or starts the command in the cell that stayed and sets *ret_again.  A command
 * ends with ops->exited; then call seat_park(), or cell_kill() and wait for ops->ended. */
MUST_CHECK int seat_start(struct seat *s, const struct setup *setup, const struct setup_cell *c,
			  uid_t uid, const struct cell_ops *ops, void *arg, struct cell **ret,
			  bool *ret_again, struct err *e);
/* The command has ended, and its cell stays.  Its ops are not called any more. */
void seat_park(struct seat *s);

#endif
