/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_TRANSFER_TRANSFER_H
#define RUNNER_CORPUS_TRANSFER_TRANSFER_H

#include "base/err.h"
#include "base/strv.h"
#include "runner/state/state.h"

#include <stdbool.h>
#include <stdint.h>

/* Imports inputs, and exports corpora.  Everything blocks.
 *
 * The layout of an export, which import reads without a target name:
 *	<target>/<sha1>
 * in a .tar.gz, a .zip or a directory.  Any path may precede it. */

/* Limits of an imported archive.  They are above those of a seed archive, since it may hold all
 * corpora of a machine. */
#define TRANSFER_MAX_BYTES (UINT64_C(16) << 30) /* kept */
#define TRANSFER_MAX_READ  (UINT64_C(32) << 30) /* uncompressed */
enum {
	TRANSFER_MAX_ENTRIES = 2000000,
	TRANSFER_MAX_FILES = 500000, /* a merge takes CANDIDATES_MAX */
	TRANSFER_MAX_TARGETS = 4096, /* corpora that one archive can create */
};

struct import_sum {
	uint64_t files, bytes; /* new in the corpus */
	uint64_t known;	       /* existed already */
	uint64_t skipped;
	char why[256]; /* the first reason for skipping, printable; "" if none */
};

/* Imports a file, a directory or an archive into corpus/<target>.  The name's ending identifies an
 * archive; a .zip within a directory is an ordinary input.  target NULL: the name
 * <target>_seed_corpus gives it, or else the layout above.  s: with its lock.  0: the imported
 * files are on disk.  On an error the files that were imported stay.  *io is increased in both
 * cases.  -EINVAL: there is no target, or the name is invalid. */
MUST_CHECK int import_path(struct state *s, const char *path, const char *target,
			   struct import_sum *io, struct err *e);

/* The targets that have a corpus and match the glob (NULL: all), sorted.  Free with
 * strv_done(). */
MUST_CHECK int export_targets(int state_dirfd, const char *glob, struct strv *ret, struct err *e);

struct export_sum {
	uint64_t files, bytes;
	uint64_t skipped; /* not named by their content, too large, empty */
	uint64_t spare;	  /* spare inputs, left out: the others reach the same
			   * (runner/corpus/spare.h) */
};
/* Called for each target when it is done. */
typedef void export_fn(void *arg, const char *target, const struct export_sum *sum);

struct export
{
	int state_dirfd;
	const struct strv *targets;
	bool all; /* spare inputs, too */
	export_fn *report;
	void *arg;
};
/* Writes one archive; the name's ending (.tar.gz, .tgz, .zip) selects the format.  It appears
 * complete, and equal corpora give equal bytes. */
bool export_is_archive(const char *path);
MUST_CHECK int export_archive(const struct export *x, const char *path, struct err *e);
/* Writes dir/<target>/<sha1>.  A missing directory is made; existing files stay. */
MUST_CHECK int export_tree(const struct export *x, const char *dir, struct err *e);
/* Writes dir/<target>_seed_corpus.zip for each target: OSS-Fuzz expects them beside its targets. */
MUST_CHECK int export_seed_corpora(const struct export *x, const char *dir, struct err *e);

#endif
