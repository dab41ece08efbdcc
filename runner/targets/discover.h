/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_DISCOVER_H
#define RUNNER_TARGETS_DISCOVER_H

#include "base/err.h"
#include "base/owner.h"
#include "base/tool.h"
#include "runner/engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

/* Where targets come from.  A source (an output directory, a manifest, a Bazel
 * workspace) fills one list; no target is executed, but Bazel is asked, as the
 * workspace's owner.  The rules, for a person, are in docs/discovery.md.  What is read here is
 * hostile: names, links, sizes and contents are bounded, nothing that is not a regular file or a
 * directory is opened, and all text that comes back is printable ASCII where it says so. */

struct target {
	char *name;   /* [A-Za-z0-9@_.-]+, at most 128 bytes, unique in the list */
	char *binary; /* absolute host path */
	/* What the cell shows of the host beside the binary itself: its directory
	 * (OSS-Fuzz layout: libraries and data stand beside it), or NULL: the file alone. */
	char *dir;
	char *dict;	       /* absolute, or NULL */
	char *seed_archive;    /* <t>_seed_corpus.zip and its kin, or NULL */
	struct strv seed_dirs; /* in-tree corpora: absolute directories */
	/* Engine flags from .options or the manifest that engine_ops.flag_ok lets
	 * pass: "-max_len=64"; one of a name. */
	struct strv flags;
	struct strv env; /* from .options [asan]/[env] or the manifest: "ASAN_OPTIONS=..." */
	/* What .options or the manifest's flags say of what is the job's to set
	 * (-timeout, -rss_limit_mb): defaults below the configuration's.  0: nothing said. */
	uint64_t input_timeout_s, rss_limit_mib;
	const struct engine_ops *engine;
	uint64_t size; /* the binary's bytes: the first guess of how simple it is */
	/* Why it has no binary that may be run ("//a:b did not build"), printable; NULL: it
	 * has.  `binary` is then a path where nothing is. */
	char *unbuilt;
	bool missing; /* an earlier build made it, and the last one failed */
	char *build;  /* the command that builds it, for a person; NULL: unknown */
	/* From the top of the repository or workspace, where `build` leaves its program; NULL:
	 * unknown. */
	char *made;
	/* Of a Bazel workspace, else NULL: its label, and its in-tree corpora ("a/x b/y"; NULL:
	 * none). */
	char *label, *corpus;
	/* With which all of these paths are to be opened, also later: who owns the manifest
	 * or the tree may have changed since what they lead to. */
	struct rights rights;
};
void target_done(struct target *t);

/* A file that was not taken, or was but with a doubt. */
struct discover_note {
	char *path; /* as found, printable ASCII (other bytes as \xNN), ":LINE" within a file */
	char *why;  /* "no fuzzing entry point", "dictionary without a target", ...; printable */
	bool
	    warning; /* likely a mistake of a person (an orphan side file), not just another file */
};

struct target_list {
	struct target *v; /* sorted by name */
	size_t n;
	struct discover_note *notes; /* in the order of the sources, files sorted by name */
	size_t n_notes;
	uint64_t notes_dropped; /* beyond DISCOVER_MAX_NOTES */
	bool partial;		/* a source may have more targets; a note says why */
};
void target_list_done(struct target_list *l);

enum {
	DISCOVER_MAX_TARGETS = 4096,
	/* Notes that are no warnings get at most half, so that they hide none. */
	DISCOVER_MAX_NOTES = 4096,
	DISCOVER_MAX_ENTRIES = 200000,		  /* names in an output directory */
	DISCOVER_MAX_MANIFEST = 16 * 1024 * 1024, /* bytes */
};
/* Bytes searched for an entry point: of one file (a larger one is not taken) and
 * of a whole output directory (an error).  OSS-Fuzz keeps its below 10 GB. */
#define DISCOVER_MAX_BINARY (UINT64_C(8) << 30)
#define DISCOVER_MAX_SEARCH (UINT64_C(64) << 30)

/* What the last build of a source did, when it did not all go well: what it left of an
 * earlier build is never taken for what it made. */
struct discover_built {
	/* Bazel's targets that did not build ("directory": targets by name), and why, printable */
	struct strv labels, whys;
	/* Not 0: its command failed, and a program that was last changed before this time
	 * (CLOCK_REALTIME) is an old one. */
	uint64_t fresh_us;
};
void discover_built_done(struct discover_built *b);

/* One place to look, as the configuration names it. */
struct discover_source {
	const char *type; /* "directory", "manifest" or "bazel" */
	const char *path; /* absolute, or relative to the working directory */
	/* "bazel": path is the workspace.  NULL and empty: the program "bazel",
	 * DISCOVER_BAZEL_QUERY, no startup options, DISCOVER_BAZEL_FLAGS. */
	const char *bazel, *query;
	const struct strv *startup, *flags;
	bool as_root;			    /* Bazel may be started as root */
	const struct tool_group *group;	    /* the group where Bazel runs; NULL: without limits */
	const struct discover_built *built; /* NULL: nothing is known of it */
	/* Of a source that a command of the configuration builds: for target.build of those that
	 * do not know it themselves; the repository in whose top directory one types it, for
	 * target.made.  NULL: unknown. */
	const char *said_build, *top;
};
/* The tag itself: "fuzz_target" alone would also match "not_fuzz_target". */
#define DISCOVER_BAZEL_QUERY \
	"attr(tags, \"[\\[ ]fuzz_target[,\\]]\", //...) intersect kind(\"cc_binary\", //...)"
#define DISCOVER_BAZEL_FLAGS "--config=asan-fuzzer"

/* Adds what the source has to *io; on an error *io is as it was.  Two targets of
 * one name are an error (-EEXIST) that names both.  All that is opened for it is opened
 * with the rights of who decides what s->path leads to. */
MUST_CHECK int discover_add(const struct discover_source *s, struct target_list *io, struct err *e);

/* Unpacks a target's seed archive (zip or tar; gzip, bzip2, xz, lzma, zstd, lz4 or
 * compress) into the open directory, flat, each file named by the SHA-1 of its
 * content: no name of the archive is ever used.  Directories, links, devices and
 * empty files are passed over.  A file that is there already is left alone, so
 * that an interrupted call is made good by the next; no file ever appears cut.
 * Nothing is fsynced: it can be unpacked again.
 * It takes as long as the archive takes to read, up to SEEDS_MAX_READ bytes
 * uncompressed: not for the event loop's thread while cells run.
 *
 * *ret is written always, also on an error: what was unpacked stays.  Entries that
 * were too large, damaged or encrypted are counted as skipped and the rest is
 * unpacked; at a limit of the whole archive the rest is left.  -EBADMSG: damaged
 * beyond reading on, naming the archive and the entry. */
enum {
	SEEDS_MAX_FILES = 200000,
	SEEDS_MAX_ENTRIES = 1000000,	  /* of any kind */
	SEEDS_MAX_FILE = 5 * 1024 * 1024, /* bytes; ClusterFuzz's cap of a corpus input */
};
#define SEEDS_MAX_BYTES (UINT64_C(2) << 30) /* kept */
#define SEEDS_MAX_READ	(UINT64_C(4) << 30) /* uncompressed, also of what is not kept */

struct seeds_result {
	uint64_t files,
	    bytes; /* entries that are in the directory now, those from before included */
	uint64_t known, known_bytes; /* of these: were there before, or came twice */
	uint64_t skipped;
	char why[256]; /* the first reason for skipping, printable ASCII; "" if none */
};
MUST_CHECK int discover_unpack_seeds(const char *archive, int dirfd, struct seeds_result *ret,
				     struct err *e);

/* The same with other limits, or into several directories. */
struct seeds_limits {
	uint64_t entries, files;
	size_t file; /* bytes; so much memory is taken at most */
	uint64_t bytes, read;
};
extern const struct seeds_limits seeds_limits_default; /* those above */

struct seeds_to {
	int dirfd; /* for all; -1 with place */
	/* Where an entry of this name goes (any bytes: decide by it, but never open it);
	 * the directory stays the callee's.  *ret_dirfd -1: it is skipped, because of
	 * not_placed. */
	int (*place)(void *arg, const char *name, int *ret_dirfd, struct err *e);
	void *arg;
	const char *not_placed;
	const struct seeds_limits *most; /* NULL: the default */
	const struct rights *rights;	 /* the archive is opened with; NULL: ours */
};
MUST_CHECK int discover_unpack(const char *archive, const struct seeds_to *to,
			       struct seeds_result *ret, struct err *e);

#endif
