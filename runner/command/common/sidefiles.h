/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_COMMON_SIDEFILES_H
#define RUNNER_COMMAND_COMMON_SIDEFILES_H

#include "base/pack.h"
#include "runner/targets/discover.h"

/* What a target's binary may need from its directory to run an input elsewhere:
 * libraries, data files, its own options; not other targets, corpora, dictionaries, nor
 * what is large. */
enum {
	SIDEFILES_DEPTH = 3,
	SIDEFILES_MAX = 2000,
	SIDEFILES_FILE_MAX = 16 << 20,	   /* bytes */
	SIDEFILES_LIBRARY_MAX = 256 << 20, /* of a *.so */
};
#define SIDEFILES_BYTES_MAX (UINT64_C(1) << 30)

struct sidefiles {
	uint64_t files, bytes;
	uint64_t left_out; /* by size or number */
	char largest[200]; /* one of them, printable; "" none */
};

/* Is a file of this name (a path relative to t->dir) and size to be taken? */
bool sidefiles_wanted(const struct target_list *all, const struct target *t, const char *path,
		      uint64_t bytes, bool *ret_too_large);

/* Adds them as "<prefix>/<path>".  A link counts as the file that it names in the same
 * directory; others are passed over. */
MUST_CHECK int sidefiles_pack(const struct target_list *all, const struct target *t,
			      const char *prefix, struct pack *p, struct sidefiles *ret,
			      struct err *e);

#endif
