/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_CHANGE_H
#define RUNNER_STATE_CHANGE_H

#include "base/err.h"

/* Changes many files of the state directory at once: after a kill or a full disk at any point, all
 * of them are as before, or all as after.
 *
 *	change/new/<path>	a file that is to be at <path>
 *	change/ready		all of them are on disk: from now on the change happens
 *
 * Then each file is renamed to its place.  A kill in between leaves the rest to the next process
 * that takes the lock: state_open() calls change_recover().  Nothing is removed from the state
 * directory by a change.
 *
 * All functions block, and need the lock. */

/* Removes what a change that did not get ready left, and makes change/new: *ret_fd, close() it. */
MUST_CHECK int change_begin(int state_dirfd, int *ret_fd, struct err *e);
/* Puts the files of change/new in their places.  After an error, change_recover() decides. */
MUST_CHECK int change_commit(int state_dirfd, struct err *e);
/* Completes a change that was ready, or drops what another one left. */
MUST_CHECK int change_recover(int state_dirfd, struct err *e);

#endif
