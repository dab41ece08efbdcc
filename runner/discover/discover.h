/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_DISCOVER_DISCOVER_H
#define RUNNER_DISCOVER_DISCOVER_H

#include "base/err.h"
#include "runner/engine/engine.h"

/* Where targets come from.  A source (an output directory, a manifest, later
 * Bazel) fills one list; nothing is executed. */

struct target {
	char *name;   /* [A-Za-z0-9@_.-]+, at most 128 bytes, unique in the list */
	char *binary; /* absolute host path */
	/* What the cell shows of the host beside the binary itself: its directory
	 * (OSS-Fuzz layout: libraries and data stand beside it), or NULL: the file alone. */
	char *dir;
	char *dict;	       /* absolute, or NULL */
	char *seed_archive;    /* <t>_seed_corpus.zip and its kin, or NULL */
	struct strv seed_dirs; /* in-tree corpora: absolute directories */
	struct strv flags;     /* engine flags from .options or the manifest: "-max_len=64" */
	struct strv env;       /* from .options [asan]/[env] or the manifest: "ASAN_OPTIONS=..." */
	const struct engine_ops *engine;
	uint64_t size; /* the binary's bytes: the first guess of how simple it is */
};

/* A file that was not taken, or was but with a doubt. */
struct discover_note {
	char *path; /* as found */
	char *why;  /* "no libFuzzer entry point", "dictionary without a target", ... */
	bool
	    warning; /* likely a mistake of a person (an orphan side file), not just another file */
};

struct target_list {
	struct target *v; /* sorted by name */
	size_t n;
	struct discover_note *notes;
	size_t n_notes;
};
void target_list_done(struct target_list *l);

enum { DISCOVER_MAX_TARGETS = 4096, DISCOVER_MAX_NOTES = 4096 };

/* One place to look, as the configuration names it. */
struct discover_source {
	const char *type; /* "directory" or "manifest" */
	const char *path; /* absolute, or relative to the working directory */
};

/* Adds what the source has to *io.  Two targets of one name are an error that
 * names both. */
MUST_CHECK int discover_add(const struct discover_source *s, struct target_list *io, struct err *e);

/* Unpacks a target's seed archive (zip, tar, with any compression that
 * libarchive knows) into the open directory, flat, each file named by the SHA-1
 * of its content; bounded in files, bytes and file size, links and devices
 * ignored.  What did not fit is counted. */
struct seeds_result {
	uint64_t files, bytes, skipped;
};
MUST_CHECK int discover_unpack_seeds(const char *archive, int dirfd, struct seeds_result *ret,
				     struct err *e);

#endif
