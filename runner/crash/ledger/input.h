/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_LEDGER_INPUT_H
#define RUNNER_CRASH_LEDGER_INPUT_H

#include "runner/crash/ledger/ledger.h"

/* A crash's reproducers on disk: is each still the one that was noted?  A damaged one
 * does not fail, and what does not fail would look fixed.
 *
 * The ledger's paths may be anybody's: only a regular file below the state directory is
 * taken, reached by names alone: no "..", no symlink on the way.  Its size is compared when
 * it was noted, its SHA-1 when that was.  All read the whole file: they block, so a living
 * run calls them in a child process (base/task.h); nothing else of the ledger is used
 * than *c. */
enum ledger_input { LEDGER_INPUT, LEDGER_MINIMIZED, LEDGER_INPUT_COUNT };
#define LEDGER_INPUT_MAX (UINT64_C(64) << 20) /* bytes: as the vault's */

/* Its path in the state directory; "": there is none. */
const char *ledger_input_path(const struct known_crash *c, enum ledger_input which);

/* 0: it is.  -EBADMSG: it is not (size or content); -ENOENT: it is gone, or none was kept;
 * -EINVAL: no path below the state directory, or no regular file; -ELOOP, -ENOTDIR: a
 * symlink; -EFBIG; else it cannot be read.  The error names the path and says what is wrong.
 * None of these is a pass. */
MUST_CHECK int ledger_input_check(int state_dirfd, const struct known_crash *c,
				  enum ledger_input which, struct err *e);
/* The same, and the file, at its start; close() it. */
MUST_CHECK int ledger_input_open(int state_dirfd, const struct known_crash *c,
				 enum ledger_input which, int *ret_fd, struct err *e);
/* Both that the crash has; one that has none is fine. */
MUST_CHECK int ledger_input_check_all(int state_dirfd, const struct known_crash *c, struct err *e);

/* Writes a damaged or missing one anew, from a place in the state directory that still has the
 * content that was noted: an artifact, regressions/, quarantine/.  *ret_from: which.
 * -ENOENT: no place has it.  The writer holds the state directory's lock. */
MUST_CHECK int ledger_input_mend(int state_dirfd, const struct known_crash *c,
				 enum ledger_input which, const char **ret_from, struct err *e);

#endif
