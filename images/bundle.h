/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_BUNDLE_H
#define IMAGES_BUNDLE_H

#include "base/err.h"
#include "images/root.h"
#include "images/spec.h"

#include <sys/resource.h>

/* The OCI config.json (runtime-spec 1.0) of a cell, as text.  Opens and makes no files. */

struct bundle {
	const struct cell_spec *spec;
	const struct root_plan *plan;
	enum cell_profile profile;
	bool recursive;	      /* the kernel can make mounts below a directory read-only, too */
	const char *filter;   /* bundle_base64() of the seccomp program */
	const char *listener; /* absolute path of the socket that gets its listener */
	/* Our own hard limits: a cell in a user namespace cannot exceed them. */
	rlim_t files_hard;
	rlim_t memlock_hard;
};

/* Writes config.json to a new string (free() it).  -EINVAL: an input is not UTF-8. */
MUST_CHECK int bundle_json(const struct bundle *b, char **ret, struct err *e);

/* Encodes less than a gigabyte as base64 (RFC 4648, section 4) in a new string. */
MUST_CHECK char *bundle_base64(const uint8_t *p, size_t n);

#endif
