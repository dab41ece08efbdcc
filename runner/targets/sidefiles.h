/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_SIDEFILES_H
#define RUNNER_TARGETS_SIDEFILES_H

#include "base/pack.h"
#include "runner/targets/discover.h"

/* The files from a target's directory that its binary may need to run an input elsewhere:
 * libraries, data files and its own options. Other targets, corpora, dictionaries and large files
 * are excluded. */
enum {
	SIDEFILES_DEPTH = 3,
	SIDEFILES_MAX = 2000,
	SIDEFILES_FILE_MAX = 16 << 20,	   /* bytes */
	SIDEFILES_LIBRARY_MAX = 256 << 20, /* of a *.so */
};
#define SIDEFILES_BYTES_MAX (UINT64_C(1) << 30)

struct sidefiles {
	uint64_t files, bytes;
	uint64_t left_out; /* number of files left out by size or count */
	char largest[200]; /* the first file that was left out, printable; "": none */
};

/* Reports whether to take a file of this name (relative to t->dir) and size. */
bool sidefiles_wanted(const struct target_list *all, const struct target *t, const char *path,
		      uint64_t bytes, bool *ret_too_large);

/* Calls take for each file, opened with the target's rights; path is relative to t->dir. A link to
 * a file in the same directory counts as that file; other links are ignored. */
typedef int sidefiles_take(void *arg, const char *path, mode_t mode, int fd, struct err *e);
MUST_CHECK int sidefiles_each(const struct target_list *all, const struct target *t,
			      sidefiles_take *take, void *arg, struct sidefiles *ret,
			      struct err *e);
/* Adds the files as "<prefix>/<path>". */
MUST_CHECK int sidefiles_pack(const struct target_list *all, const struct target *t,
			      const char *prefix, struct pack *p, struct sidefiles *ret,
			      struct err *e);

#endif
