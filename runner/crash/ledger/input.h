/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_LEDGER_INPUT_H
#define RUNNER_CRASH_LEDGER_INPUT_H

#include "runner/crash/ledger/ledger.h"

/* Checks that a crash's reproducers on disk are the ones that were noted.  A damaged reproducer
 * does not fail, and so its crash would look fixed.
 *
 * The ledger's paths are not trusted.  Only a regular file below the state directory is accepted,
 * without ".." and without a symlink on the way.  Its size and its SHA-1 are compared if they were
 * noted.  All functions read the whole file and block, so a run calls them in a child process
 * (base/task.h).  They use nothing of the ledger but *c. */
enum ledger_input { LEDGER_INPUT, LEDGER_MINIMIZED, LEDGER_INPUT_COUNT };
#define LEDGER_INPUT_MAX (UINT64_C(64) << 20) /* bytes: as the vault's */

/* The reproducer's path in the state directory; "": there is none. */
const char *ledger_input_path(const struct known_crash *c, enum ledger_input which);

/* 0: it is the noted one.  -EBADMSG: its size or content differs; -ENOENT: it is gone, or none was
 * kept; -EINVAL: not a path below the state directory, or not a regular file; -ELOOP, -ENOTDIR: a
 * symlink; -EFBIG: too large; else it cannot be read.  The error names the path and the reason.
 * None of these is a pass. */
MUST_CHECK int ledger_input_check(int state_dirfd, const struct known_crash *c,
				  enum ledger_input which, struct err *e);
/* Does the same check and opens the file, at its start; close() it. */
MUST_CHECK int ledger_input_open(int state_dirfd, const struct known_crash *c,
				 enum ledger_input which, int *ret_fd, struct err *e);
/* Checks all reproducers that the crash has; a missing minimised reproducer is no error. */
MUST_CHECK int ledger_input_check_all(int state_dirfd, const struct known_crash *c, struct err *e);

/* Restores a damaged or missing reproducer from a place in the state directory that still has the
 * noted content: an artifact, regressions/, quarantine/.  *ret_from: the place.  -ENOENT: no place
 * has it.  The writer holds the state directory's lock. */
MUST_CHECK int ledger_input_mend(int state_dirfd, const struct known_crash *c,
				 enum ledger_input which, const char **ret_from, struct err *e);

#endif
