/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_STATE_CHANGE_H
#define RUNNER_STATE_CHANGE_H

#include "base/err.h"
#include "base/strv.h"

/* Changes many files of the state directory at once: after a kill or a full disk at any point, all
 * of them are as before, or all as after.
 *
 *	change/new/<path>	a file that is to be at <path>
 *	change/gone		the paths of files that are to be removed, each with a NUL
 *	change/ready		all of them are on disk: from now on the change happens
 *
 * Then each file is renamed to its place, and after that the others are removed.  A kill in between
 * leaves the rest to the next process that takes the lock: state_open() calls change_recover().
 *
 * All functions block, and need the lock. */

/* Removes what a change that did not get ready left, and makes change/new: *ret_fd, close() it. */
MUST_CHECK int change_begin(int state_dirfd, int *ret_fd, struct err *e);
/* Once, before change_commit(): removes these files, and the directory of each if that is empty
 * then.  Missing ones are no error. */
MUST_CHECK int change_remove(int state_dirfd, const struct strv *paths, struct err *e);
/* Puts the files of change/new in their places.  After an error, change_recover() decides.
 * -EISDIR, -ENOTDIR: something is in the place of a file or directory; nothing changes. */
MUST_CHECK int change_commit(int state_dirfd, struct err *e);
/* Completes a change that was ready, or drops what another one left. */
MUST_CHECK int change_recover(int state_dirfd, struct err *e);

#endif
