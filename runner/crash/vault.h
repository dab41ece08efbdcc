/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_VAULT_H
#define RUNNER_CRASH_VAULT_H

#include "base/err.h"
#include "base/scan.h"

#include <limits.h>
#include <stdint.h>

#define VAULT_BY "by"

/* The files of each crash in the state directory:
 *
 *	crashes/<name>/input		the reproducer as it was found
 *	crashes/<name>/minimized	the same made smaller (may be missing)
 *	crashes/<name>/report.txt	the target's report
 *	crashes/<name>/meta.json	the description of these files
 *	crashes/<name>/record.json	a copy of the crash's record in the ledger
 *	crashes/<name>/by/<target>/	input, minimized, report.txt, meta.json of each further
 *					target that found it
 *
 * The directory itself belongs to the target in its meta.json, the first that found the
 * crash.  A target's files never replace those of another.
 *
 * <name> is the signature when that is 16 lower-case hexadecimal digits, else (older
 * ledgers) "o-" and the signature, everything but letters, digits, '.', '_' and '-' as
 * "%XX"; a long one is cut and ends in "~" and its SHA-1.
 *
 * A crash's directory appears whole, by a rename; later each of its files is replaced
 * whole.  After a kill or with a full disk, each file is the old or the new one.  A result
 * of 0 means "on disk": only then may the file's source be removed.  The writer holds the
 * state directory's lock; readers need none. */

enum vault_file {
	VAULT_INPUT,
	VAULT_MINIMIZED,
	VAULT_REPORT,
	VAULT_META,
	VAULT_RECORD,
	VAULT_FILE_COUNT
};

enum {
	VAULT_NAME = 224,			  /* a directory's name with its NUL */
	VAULT_PLACE = VAULT_NAME + NAME_MAX + 16, /* "crashes/<name>/by/<target>" */
	VAULT_PATH = VAULT_PLACE + 16,		  /* a file in it */
	VAULT_SIGNATURE_MAX = 1024,		  /* bytes; a longer signature is refused */
};
#define VAULT_BYTES_MAX (UINT64_C(64) << 20) /* of a file: as the largest input */

const char *vault_file_name(enum vault_file f);

/* The name of a signature's directory; never the same for two.  -EINVAL: empty or too
 * long. */
MUST_CHECK int vault_name(struct slice signature, char out[VAULT_NAME], struct err *e);
/* "crashes/<name>"; for a further target "crashes/<name>/by/<target>". */
MUST_CHECK int vault_place(struct slice signature, const char *target, char out[VAULT_PLACE],
			   struct err *e);
/* The path of a file in the place, as the ledger keeps it. */
void vault_path(const char *place, enum vault_file f, char out[VAULT_PATH]);

/* Files whose p is NULL are left alone: as they were, or missing in a new crash.  (An
 * empty input is an n of 0 and a p that is not NULL.) */
struct vault_item {
	struct slice signature;
	const char *target; /* NULL: unknown, the place is the crash's own */
	/* NULL: the target's place, whichever it is.  Otherwise exactly this one of the two. */
	const char *place;
	struct slice file[VAULT_FILE_COUNT];
};

/* Makes the target's place, or replaces files in it, in the order of enum vault_file. ret_place:
 * the place; it may be NULL. */
MUST_CHECK int vault_save(int state_dirfd, const struct vault_item *item,
			  char ret_place[VAULT_PLACE], struct err *e);

/* Replaces one file of a crash whole when it is not what it should be, but does not sync: for
 * what is a copy of something that is on disk.  -ENOENT: the crash has no directory. */
MUST_CHECK int vault_copy(int state_dirfd, struct slice signature, enum vault_file f,
			  struct slice text, struct err *e);

/* Reads a file of a target ("": of the first) into a new NUL-terminated buffer (free() it);
 * -ENOENT: there is none. */
MUST_CHECK int vault_read(int state_dirfd, struct slice signature, const char *target,
			  enum vault_file f, char **ret, size_t *ret_n, struct err *e);
/* The same file, opened for reading; close() it. */
MUST_CHECK int vault_open(int state_dirfd, struct slice signature, const char *target,
			  enum vault_file f, int *ret_fd, struct err *e);

/* Removes all that is kept of a crash, because a person said so.  None is fine. */
MUST_CHECK int vault_remove(int state_dirfd, struct slice signature, struct err *e);

/* Removes what killed writers left.  At a start, with the lock held. */
MUST_CHECK int vault_sweep(int state_dirfd, struct err *e);

#endif
