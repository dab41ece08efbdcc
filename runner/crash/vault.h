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
 *	crashes/<name>/minimized	the minimised reproducer (may be missing)
 *	crashes/<name>/report.txt	the target's report
 *	crashes/<name>/meta.json	the description of these files
 *	crashes/<name>/record.json	the crash's record (ledger/ledger.h), and what the
 *					parser read in each report.txt (ledger/parsed.h)
 *	crashes/<name>/by/<target>/	input, minimized, report.txt, meta.json of each further
 *					target that found it
 *
 * The crash's own files belong to the target in its meta.json, the first that found the crash.  A
 * target's files never replace another target's files.
 *
 * <name> is the signature when that is 16 lower-case hexadecimal digits.  Other signatures
 * become "o-" and the signature, with all but letters, digits, '.', '_' and '-' as "%XX".
 * A long name is cut and ends in "~" and the signature's SHA-1.
 *
 * A crash's directory appears whole, by a rename; later each of its files is replaced whole.  After
 * a kill or with a full disk, each file is the old or the new one.  A result of 0 means "on disk":
 * only then may the caller remove the source.  The writer holds the state directory's lock; readers
 * need none. */

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

/* The name of a signature's directory; different signatures have different names.  -EINVAL: the
 * signature is empty or too long. */
MUST_CHECK int vault_name(struct slice signature, char out[VAULT_NAME], struct err *e);
/* "crashes/<name>"; for a further target "crashes/<name>/by/<target>". */
MUST_CHECK int vault_place(struct slice signature, const char *target, char out[VAULT_PLACE],
			   struct err *e);
/* The path of a file in the place, as the ledger keeps it. */
void vault_path(const char *place, enum vault_file f, char out[VAULT_PATH]);

/* Files with a NULL p are left alone: they stay as they were, or are missing in a new crash.  (An
 * empty input has an n of 0 and a p that is not NULL.) */
struct vault_item {
	struct slice signature;
	const char *target; /* NULL: unknown, the place is the crash's own */
	/* NULL: the target's place, found by its name.  Otherwise it must be one of the two
	 * possible places, and is used. */
	const char *place;
	struct slice file[VAULT_FILE_COUNT];
};

/* Makes the target's place, or replaces files in it, in the order of enum vault_file. ret_place:
 * the place; it may be NULL. */
MUST_CHECK int vault_save(int state_dirfd, const struct vault_item *item,
			  char ret_place[VAULT_PLACE], struct err *e);

/* Reads a file of a target ("": of the first) into a new NUL-terminated buffer (free() it);
 * -ENOENT: there is none. */
MUST_CHECK int vault_read(int state_dirfd, struct slice signature, const char *target,
			  enum vault_file f, char **ret, size_t *ret_n, struct err *e);
/* The same file, opened for reading; close() it. */
MUST_CHECK int vault_open(int state_dirfd, struct slice signature, const char *target,
			  enum vault_file f, int *ret_fd, struct err *e);

/* Removes the temporary files of killed writers.  Call it at a start, with the lock held. */
MUST_CHECK int vault_sweep(int state_dirfd, struct err *e);

#endif
