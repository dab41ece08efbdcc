/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_VAULT_H
#define RUNNER_CRASH_VAULT_H

#include "base/err.h"
#include "base/scan.h"

#include <stdint.h>

/* What is kept of each crash, in the state directory:
 *
 *	crashes/<name>/input		the reproducer as it was found
 *	crashes/<name>/minimized	the same made smaller (may be missing)
 *	crashes/<name>/report.txt	what the target said
 *	crashes/<name>/meta.json	what we know about the above
 *
 * <name> is the signature when that is 16 lower-case hexadecimal digits, else (older
 * ledgers) "o-" and the signature with everything but letters, digits, '.', '_' and '-' as %XX.
 * A crash's directory appears whole, by a rename; later each file is replaced by a
 * rename.  A kill or a full disk at any moment leaves the old state or the new one of each file,
 * and 0 means "on disk": what something was made from may go only after that.
 * The writer holds the state directory's lock; readers need none. */

enum vault_file { VAULT_INPUT, VAULT_MINIMIZED, VAULT_REPORT, VAULT_META, VAULT_FILE_ };

enum {
	VAULT_NAME = 256,	      /* a name with its NUL */
	VAULT_PATH = VAULT_NAME + 24, /* "crashes/<name>/<file>" with its NUL */
	VAULT_SIGNATURE_MAX = 1024,   /* bytes of a signature; longer ones are refused */
};
#define VAULT_BYTES_MAX (UINT64_C(64) << 20) /* of a file: as the greatest input */

const char *vault_file_name(enum vault_file f);

/* The directory's name for a signature; never the same for two.  -EINVAL: empty or
 * too long. */
MUST_CHECK int vault_name(struct slice signature, char out[VAULT_NAME], struct err *e);
/* "crashes/<name>/<file>", as the ledger keeps it. */
MUST_CHECK int vault_path(struct slice signature, enum vault_file f, char out[VAULT_PATH],
			  struct err *e);

/* Files with p NULL are left as they are (or missing in a new crash). */
struct vault_item {
	struct slice signature;
	struct slice file[VAULT_FILE_];
};

/* Make or update a crash's directory below state_dirfd. */
MUST_CHECK int vault_save(int state_dirfd, const struct vault_item *item, struct err *e);

/* A file in a new NUL-terminated buffer (free() it); -ENOENT when there is none. */
MUST_CHECK int vault_read(int state_dirfd, struct slice signature, enum vault_file f, char **ret,
			  size_t *ret_n, struct err *e);

/* Remove the crash's directory, when a person said so.  None is fine. */
MUST_CHECK int vault_remove(int state_dirfd, struct slice signature, struct err *e);

/* Remove what killed writers left behind.  Once at a start, with the lock held. */
MUST_CHECK int vault_sweep(int state_dirfd, struct err *e);

#endif
