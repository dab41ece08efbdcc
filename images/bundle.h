/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_BUNDLE_H
#define IMAGES_BUNDLE_H

#include "base/err.h"
#include "images/root.h"
#include "images/spec.h"

#include <sys/resource.h>

/* OCI config.json (runtime-spec 1.0) of a cell.  Nothing is opened or made. */

struct bundle {
	const struct cell_spec *spec;
	const struct root_plan *plan;
	enum cell_profile profile;
	bool recursive; /* the kernel can make what is mounted below a directory read-only, too */
	const char *filter;   /* bundle_base64() of the seccomp program */
	const char *listener; /* absolute path of the socket that gets its listener */
	/* What we may have ourselves: a cell in a user namespace cannot go above. */
	rlim_t files_hard;
	rlim_t memlock_hard;
};

/* In a new string (free() it).  -EINVAL: text that is not UTF-8. */
MUST_CHECK int bundle_json(const struct bundle *b, char **ret, struct err *e);

/* RFC 4648, section 4, in a new string. */
MUST_CHECK int bundle_base64(const uint8_t *p, size_t n, char **ret, struct err *e);

#endif
