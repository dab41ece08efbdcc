/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_DISCOVER_H
#define RUNNER_TARGETS_DISCOVER_H

#include "base/err.h"
#include "base/owner.h"
#include "base/tool.h"
#include "runner/engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

/* Discovery of targets.  Each source (an output directory, a manifest, a Bazel workspace) adds its
 * targets to one list.  Discovery executes no target, but runs Bazel as the workspace's owner.
 * docs/discovery.md explains the rules to users.
 *
 * All input is hostile: names, links, sizes and contents are bounded, and only regular files and
 * directories are opened.  Returned text is printable ASCII where a comment says so. */

struct target {
	char *name;   /* [A-Za-z0-9@_.-]+, at most 128 bytes, unique in the list */
	char *binary; /* absolute host path */
	/* The directory that the cell shows together with the binary (OSS-Fuzz layout: it contains
	 * libraries and data).  NULL: the cell shows only the binary. */
	char *dir;
	char *dict;	       /* absolute, or NULL */
	char *seed_archive;    /* <t>_seed_corpus.zip or another archive type, or NULL */
	struct strv seed_dirs; /* in-tree corpora: absolute directories */
	/* Engine flags from .options or the manifest, accepted by engine_ops.flag_ok:
	 * "-max_len=64"; each name once. */
	struct strv flags;
	struct strv env; /* from .options [asan]/[env] or the manifest: "ASAN_OPTIONS=..." */
	/* -timeout and -rss_limit_mb from .options or the manifest, which the job sets.  The
	 * configuration overrides them.  0: not set. */
	uint64_t input_timeout_s, rss_limit_mib;
	const struct engine_ops *engine;
	uint64_t size; /* of the binary in bytes: a first estimate of the target's complexity */
	/* Why there is no usable binary ("//a:b did not build"), printable.  `binary` is then a
	 * path without a file.  NULL: the binary is usable. */
	char *unbuilt;
	bool missing; /* made by an earlier build; the last build failed and did not make it */
	char *build;  /* the command that builds it, for users; NULL: unknown */
	/* Path of the program that `build` makes, relative to the top of the repository or
	 * workspace; NULL: unknown. */
	char *made;
	/* Bazel only: the label, and the in-tree corpora ("a/x b/y"; NULL: none). */
	char *label, *corpus;
	/* Open all of these paths with these rights, also later: the owner of the manifest or the
	 * tree may have changed the files behind the paths. */
	struct rights rights;
};
void target_done(struct target *t);

/* A note about a file that was refused or looks like a mistake. */
struct discover_note {
	char *path;   /* as found, printable ASCII (other bytes as \xNN), ":LINE" within a file */
	char *why;    /* "no fuzzing entry point", "dictionary without a target", ...; printable */
	bool warning; /* likely a user's mistake (an orphan side file), not just another file */
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
	/* Notes that are not warnings get at most half of it, so that they displace no warning. */
	DISCOVER_MAX_NOTES = 4096,
	DISCOVER_MAX_ENTRIES = 200000,		  /* names in an output directory */
	DISCOVER_MAX_MANIFEST = 16 * 1024 * 1024, /* bytes */
};
/* Bytes searched for an entry point, in one file and in a whole output directory.  A larger file is
 * refused; a larger directory is an error.  OSS-Fuzz keeps its directories below 10 GB. */
#define DISCOVER_MAX_BINARY (UINT64_C(8) << 30)
#define DISCOVER_MAX_SEARCH (UINT64_C(64) << 30)

/* The failures of a source's last build.  Discovery must not take a file of an earlier build for
 * a result of this build. */
struct discover_built {
	/* The labels that did not build ("directory": names of targets); the reasons, printable */
	struct strv labels, whys;
	/* Not 0: the build command failed.  A program last changed before this time
	 * (CLOCK_REALTIME) is from an earlier build. */
	uint64_t fresh_us;
};
void discover_built_done(struct discover_built *b);

/* One source of targets, as configured. */
struct discover_source {
	const char *type; /* "directory", "manifest" or "bazel" */
	const char *path; /* absolute, or relative to the working directory */
	/* "bazel": path is the workspace.  NULL and empty: the program "bazel",
	 * DISCOVER_BAZEL_QUERY, no startup options, DISCOVER_BAZEL_FLAGS. */
	const char *bazel, *query;
	const struct strv *startup, *flags;
	bool as_root;			    /* Bazel may run as root */
	const struct tool_group *group;	    /* the group where Bazel runs; NULL: without limits */
	const struct discover_built *built; /* NULL: no failed build is known */
	/* For a source with a build command.  said_build: the command, for targets without a
	 * `build` of their own.  top: the top directory of the repository where a user runs it,
	 * for target.made.  NULL: unknown. */
	const char *said_build, *top;
};
/* The tag itself: "fuzz_target" alone would also match "not_fuzz_target". */
#define DISCOVER_BAZEL_QUERY \
	"attr(tags, \"[\\[ ]fuzz_target[,\\]]\", //...) intersect kind(\"cc_binary\", //...)"
#define DISCOVER_BAZEL_FLAGS "--config=asan-fuzzer"

/* Adds the targets of the source to *io.  On an error, *io is unchanged.  Two targets with the same
 * name are an error (-EEXIST) that names both.  All files are opened with the rights of the user
 * who controls s->path. */
MUST_CHECK int discover_add(const struct discover_source *s, struct target_list *io, struct err *e);

/* Unpacks a target's seed archive (zip or tar; gzip, bzip2, xz, lzma, zstd, lz4 or compress) into
 * the open directory, without subdirectories.
 * - The name of each file is the SHA-1 of its content.  Names in the archive are never used.
 * - Directories, links, devices and empty files are ignored.
 * - The call is idempotent: existing files stay, and a file appears only when it is complete.
 * - Nothing is fsynced, because the archive can be unpacked again.
 * The call reads up to SEEDS_MAX_READ uncompressed bytes: do not call it in the event loop's thread
 * while cells run.
 *
 * *ret is always written, also on an error; unpacked files stay.  Too large, damaged or encrypted
 * entries count as skipped.  At a limit of the whole archive, the rest is skipped.  -EBADMSG: a
 * damaged archive that cannot be read further; the message names the archive and the entry. */
enum {
	SEEDS_MAX_FILES = 200000,
	SEEDS_MAX_ENTRIES = 1000000,	  /* of any kind */
	SEEDS_MAX_FILE = 5 * 1024 * 1024, /* bytes; ClusterFuzz's limit for a corpus input */
};
#define SEEDS_MAX_BYTES (UINT64_C(2) << 30) /* of kept files */
#define SEEDS_MAX_READ	(UINT64_C(4) << 30) /* uncompressed, including skipped entries */

struct seeds_result {
	uint64_t files, bytes; /* entries that are in the directory now, including earlier files */
	uint64_t known, known_bytes; /* of these: files that existed before, or duplicates */
	uint64_t skipped;
	char why[256]; /* the first reason for skipping, printable ASCII; "" if none */
};
MUST_CHECK int discover_unpack_seeds(const char *archive, int dirfd, struct seeds_result *ret,
				     struct err *e);

/* Options: other limits, or several directories. */
struct seeds_limits {
	uint64_t entries, files;
	size_t file; /* bytes; also the memory that is used at most */
	uint64_t bytes, read;
};
extern const struct seeds_limits seeds_limits_default; /* the limits above */

struct seeds_to {
	int dirfd; /* for all entries; -1 with place */
	/* Chooses the directory of an entry; the callee keeps it open.  name may contain any
	 * bytes: never open it.  *ret_dirfd -1: skip the entry, for the reason not_placed. */
	int (*place)(void *arg, const char *name, int *ret_dirfd, struct err *e);
	void *arg;
	const char *not_placed;
	const struct seeds_limits *most; /* NULL: the default */
	const struct rights *rights;	 /* for opening the archive; NULL: our own */
};
MUST_CHECK int discover_unpack(const char *archive, const struct seeds_to *to,
			       struct seeds_result *ret, struct err *e);

#endif
