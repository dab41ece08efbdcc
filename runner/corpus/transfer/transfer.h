/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_TRANSFER_TRANSFER_H
#define RUNNER_CORPUS_TRANSFER_TRANSFER_H

#include "base/err.h"
#include "base/strv.h"
#include "runner/state/state.h"

#include <stdbool.h>
#include <stdint.h>

/* Inputs that come from elsewhere, and corpora that go elsewhere.  Everything blocks.
 *
 * The layout of an export, which import understands without being told a target:
 *	<target>/<sha1>
 * in a .tar.gz, a .zip or a directory; anything may stand before it. */

/* Of an archive that is imported: larger than a seed archive, as a whole machine's
 * corpora may be. */
#define TRANSFER_MAX_BYTES (UINT64_C(16) << 30) /* kept */
#define TRANSFER_MAX_READ  (UINT64_C(32) << 30) /* uncompressed */
enum {
	TRANSFER_MAX_ENTRIES = 2000000,
	TRANSFER_MAX_FILES = 500000, /* a merge takes CANDIDATES_MAX */
	TRANSFER_MAX_TARGETS = 4096, /* corpora that one archive can begin */
};

struct import_sum {
	uint64_t files, bytes; /* new in the corpus */
	uint64_t known;	       /* were there */
	uint64_t skipped;
	char why[256]; /* the first reason for skipping, printable; "" if none */
};

/* A file, a directory or an archive (by its name's ending; within a directory a .zip is
 * an input like any other) into corpus/<target>.  target NULL: what is called
 * <target>_seed_corpus says which; else the layout above does.  s: with its lock.
 * What was imported is on disk when it returns 0, and stays when it does not; *io is
 * added to in any case.  -EINVAL: no target, or a name that no target has. */
MUST_CHECK int import_path(struct state *s, const char *path, const char *target,
			   struct import_sum *io, struct err *e);

/* The targets that have a corpus and match the glob (NULL: all), sorted.  Free with
 * strv_done(). */
MUST_CHECK int export_targets(int state_dirfd, const char *glob, struct strv *ret, struct err *e);

struct export_sum {
	uint64_t files, bytes;
	uint64_t skipped; /* not named by their content, too large, empty */
	uint64_t spare;	  /* left out: the others reach the same (runner/corpus/spare.h) */
};
/* Told of each target when it is done. */
typedef void export_fn(void *arg, const char *target, const struct export_sum *sum);

struct export
{
	int state_dirfd;
	const struct strv *targets;
	bool all; /* what is spare, too */
	export_fn *told;
	void *arg;
};
/* One archive, by its name's ending (.tar.gz, .tgz, .zip), that appears whole and has
 * the same bytes whenever the corpora have. */
bool export_is_archive(const char *path);
MUST_CHECK int export_archive(const struct export *x, const char *path, struct err *e);
/* dir/<target>/<sha1>; the directory is made when it is missing, what is in it stays. */
MUST_CHECK int export_tree(const struct export *x, const char *dir, struct err *e);
/* dir/<target>_seed_corpus.zip each, as OSS-Fuzz wants them beside its targets. */
MUST_CHECK int export_seed_corpora(const struct export *x, const char *dir, struct err *e);

#endif
