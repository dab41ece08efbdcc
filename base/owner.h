/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OWNER_H
#define BASE_OWNER_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Who owns a directory.  What a work tree names (build rules, hooks, programs) is run as
 * its owner when we are root, so that root executes nothing that somebody else wrote. */
struct owner {
	bool other; /* we are root, and it is somebody else's: become them */
	uid_t uid;
	gid_t gid, group;  /* of the owner; of the directory */
	char *name, *home; /* with other, when they have some; else NULL */
};

/* owner_done() frees. */
MUST_CHECK int owner_of(const char *dir, struct owner *ret, struct err *e);
void owner_done(struct owner *o);

/* In a child before exec: async-signal-safe; -1 with errno.  Nothing when not other. */
MUST_CHECK int owner_become(const struct owner *o);

#endif
