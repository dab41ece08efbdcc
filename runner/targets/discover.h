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

/* What a build of a target is for (runner/targets/variants.h). */
enum target_role {
	ROLE_MAIN,     /* is fuzzed, measures coverage, and owns the corpus */
	ROLE_CHECK,    /* runs the inputs that are new in the corpus */
	ROLE_FUZZ,     /* fuzzes in turns with the main build */
	ROLE_COVERAGE, /* shows line by line what the corpus reaches */
	ROLE_COUNT,
};
const char *target_role_name(enum target_role r); /* "main", ... */

struct target {
	/* [A-Za-z0-9@_.-]+, at most 128 bytes, unique in the list.  Another build than the main
	 * build is named "<target>@<variant>". */
	char *name;
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
	/* Value of -timeout from .options or the manifest; 0: not set.  The job passes the flag to
	 * the engine.  The configuration overrides the value. */
	uint64_t input_timeout_s;
	/* Value of -rss_limit_mb from .options or the manifest; 0: not set.  The job passes the
	 * flag to the engine.  The configuration overrides the value. */
	uint64_t rss_limit_mib;
	const struct engine_ops *engine;
	/* Which of the program's tests this is (engine_ops.tests); NULL: the program is one
	 * target. */
	char *test;
	bool sanitized; /* of a program with tests: struct engine_fuzz */
	uint64_t size;	/* of the binary in bytes: a first estimate of the target's complexity */
	/* The reason why the target has no usable binary ("//a:b did not build"), printable.  Then
	 * no file exists at the path `binary`.  NULL: the binary is usable. */
	char *unbuilt;
	/* The target is known only from an earlier build: the last build failed, and did not make
	 * the target's binary.  `unbuilt` is then set, too.  If a later source has a target of this
	 * name, that target replaces this one. */
	bool missing;
	char *build; /* the command that builds the target, for users; NULL: unknown */
	/* Path of the program that `build` makes, relative to the top of the repository or
	 * workspace; NULL: unknown. */
	char *made;
	char *label; /* Bazel's label of the target; NULL: not from Bazel */
	/* Bazel only: the in-tree corpora, as paths relative to the workspace with blanks between
	 * them ("a/x b/y"), for users.  NULL: none. */
	char *corpus;
	enum target_role role;
	char *variant; /* the build's name: "undefined"; NULL: the target has this build alone */
	char *of;      /* the target's name; NULL: this is the main build */
	/* The other builds of a main build, by name; owned.  They have no builds of their own. */
	struct target *variants;
	size_t n_variants;
	/* Open every path of this target with these rights, at each use.  The owner of the manifest
	 * or the tree may have changed the file at a path since discovery. */
	struct rights rights;
};
void target_done(struct target *t);

/* A note about a file that was refused or looks like a mistake. */
struct discover_note {
	/* Path of the file as found, in printable ASCII (other bytes as \xNN).  A note about a line
	 * of the file has ":LINE" at the end. */
	char *path;
	char *why; /* "no fuzzing entry point", "dictionary without a target", ...; printable */
	/* true: probably a user's mistake (a dictionary without a target).  false: a file that is
	 * simply no target. */
	bool warning;
};

struct target_list {
	struct target *v; /* sorted by name */
	size_t n;
	struct discover_note *notes; /* in the order of the sources, files sorted by name */
	size_t n_notes;
	uint64_t notes_dropped; /* beyond DISCOVER_MAX_NOTES */
	/* The list may be incomplete: a source may have further targets, and a note says why. */
	bool partial;
};
void target_list_done(struct target_list *l);

enum {
	DISCOVER_MAX_TARGETS = 4096,
	/* Notes that are not warnings use at most half of this number, so that they displace no
	 * warning. */
	DISCOVER_MAX_NOTES = 4096,
	DISCOVER_MAX_ENTRIES = 200000,		  /* names in an output directory */
	DISCOVER_MAX_MANIFEST = 16 * 1024 * 1024, /* bytes */
};
/* Bytes of one file that discovery searches for an entry point.  A larger file is refused. */
#define DISCOVER_MAX_BINARY (UINT64_C(8) << 30)
/* Bytes of a whole output directory that discovery searches for entry points.  A larger directory
 * is an error.  OSS-Fuzz keeps its directories below 10 GB. */
#define DISCOVER_MAX_SEARCH (UINT64_C(64) << 30)

/* The failures of a source's last build.  Discovery must not take a file of an earlier build for
 * a result of the last build. */
struct discover_built {
	/* What did not build.  "bazel": the labels of targets.  "directory": the names of targets
	 * that an earlier build made. */
	struct strv labels;
	struct strv whys; /* for each element of labels, the reason; printable */
	/* If the build command failed: when the command began (CLOCK_REALTIME, microseconds).
	 * A program that was last changed before this time is from an earlier build.  0: the
	 * command did not fail. */
	uint64_t fresh_us;
};
void discover_built_done(struct discover_built *b);

/* One source of targets, as configured. */
struct discover_source {
	const char *type; /* "directory", "manifest" or "bazel" */
	/* The output directory, the manifest or the Bazel workspace: absolute, or relative to the
	 * working directory. */
	const char *path;
	/* The name of these builds.  NULL: they are main builds.  Call variants_join() when all
	 * sources are added. */
	const char *variant;
	enum target_role role;	    /* of these builds; ROLE_MAIN without a variant */
	const struct strv *taken;   /* paths of other sources: not recognised as builds; or NULL */
	const char *bazel;	    /* "bazel": the program; NULL: "bazel" */
	const char *query;	    /* "bazel": NULL or "": DISCOVER_BAZEL_QUERY */
	const struct strv *startup; /* "bazel": startup options; NULL: none */
	const struct strv *flags;   /* "bazel": NULL or empty: DISCOVER_BAZEL_FLAGS */
	bool as_root;		    /* "bazel": Bazel may run as root, in a directory of root's */
	const struct tool_group *group;	    /* "bazel": Bazel runs in this group; NULL: no limits */
	const struct discover_built *built; /* NULL: no failed build is known */
	/* The build command of the source, for users: target.build of each target that has no
	 * `build` of its own.  NULL: the source has no build command. */
	const char *shown_build;
	/* The top directory of the repository in which a user runs shown_build, for target.made.
	 * NULL: unknown. */
	const char *top;
};
/* Matches only the complete tag.  Without the brackets and commas, "not_fuzz_target" would match,
 * too. */
#define DISCOVER_BAZEL_QUERY \
	"attr(tags, \"[\\[ ]fuzz_target[,\\]]\", //...) intersect kind(\"cc_binary\", //...)"
#define DISCOVER_BAZEL_FLAGS "--config=asan-fuzzer"

/* Adds the targets of the source s to *io.  On an error, no target is added.  A directory may hold,
 * or stand beside, directories that are named after sanitizers: their builds are added as well
 * (runner/targets/variants.h).  Two targets with the
 * same name are an error (-EEXIST) that names both; a target with `missing` does not count.  All
 * files are opened with the rights of the user who controls s->path (rights_of()). */
MUST_CHECK int discover_add(const struct discover_source *s, struct target_list *io, struct err *e);

/* The default limits for a seed archive. */
enum {
	SEEDS_MAX_FILES = 200000,	  /* unpacked files */
	SEEDS_MAX_ENTRIES = 1000000,	  /* entries of any kind in the archive */
	SEEDS_MAX_FILE = 5 * 1024 * 1024, /* bytes; ClusterFuzz's limit for a corpus input */
};
#define SEEDS_MAX_BYTES (UINT64_C(2) << 30) /* of all unpacked files */
#define SEEDS_MAX_READ	(UINT64_C(4) << 30) /* uncompressed, including skipped entries */

struct seeds_result {
	/* Entries with a content that is in the directory now, whether this call wrote the file or
	 * not. */
	uint64_t files;
	uint64_t bytes; /* of the entries that `files` counts */
	uint64_t known; /* of `files`: the file existed already, or the entry is a duplicate */
	uint64_t known_bytes; /* of the entries that `known` counts */
	uint64_t skipped;     /* entries that were not unpacked, for a reason like `why` */
	char why[256];	      /* the reason of the first skipped entry, printable ASCII; "": none */
};
/* Unpacks a target's seed archive (zip or tar; gzip, bzip2, xz, lzma, zstd, lz4 or compress) into
 * the open directory dirfd, without subdirectories.
 * - The name of each file is the SHA-1 of its content.  Names in the archive are never used.
 * - Directories, links, devices and empty files are ignored.
 * - The call is idempotent: existing files stay, and a file appears only when it is complete.
 * - Nothing is fsynced, because the archive can be unpacked again.
 * - Too large, damaged or encrypted entries count as skipped.  When a limit of the whole archive is
 *   reached, the rest of the archive is skipped.
 *
 * *ret is always written, also on an error.  Files that were unpacked before the error stay.
 * -EBADMSG: the archive is damaged and cannot be read further; the message names the archive and
 * the entry.
 *
 * The call reads up to SEEDS_MAX_READ uncompressed bytes: do not call discover_unpack_seeds() in
 * the event loop's thread while cells run. */
MUST_CHECK int discover_unpack_seeds(const char *archive, int dirfd, struct seeds_result *ret,
				     struct err *e);

/* Limits for discover_unpack(). */
struct seeds_limits {
	uint64_t entries; /* as SEEDS_MAX_ENTRIES */
	uint64_t files;	  /* as SEEDS_MAX_FILES */
	size_t file;	  /* as SEEDS_MAX_FILE; the call uses up to this much memory */
	uint64_t bytes;	  /* as SEEDS_MAX_BYTES */
	uint64_t read;	  /* as SEEDS_MAX_READ */
};
extern const struct seeds_limits seeds_limits_default; /* the SEEDS_MAX_ constants above */

/* The options of discover_unpack(). */
struct seeds_to {
	int dirfd; /* the directory for all entries; -1: `place` chooses one for each entry */
	/* Chooses the directory of an entry.  NULL: dirfd is the directory.  name: the entry's
	 * name, which may contain any bytes; never open a file of this name.  The callee owns
	 * *ret_dirfd and keeps the directory open.  *ret_dirfd -1: the entry is skipped. */
	int (*place)(void *arg, const char *name, int *ret_dirfd, struct err *e);
	void *arg;		/* for place */
	const char *not_placed; /* the reason when `place` skips an entry (seeds_result.why) */
	const struct seeds_limits *most; /* NULL: seeds_limits_default */
	const struct rights *rights;	 /* of the user who names the archive; NULL: we name it */
};
/* Unpacks an archive like discover_unpack_seeds(), with options. */
MUST_CHECK int discover_unpack(const char *archive, const struct seeds_to *to,
			       struct seeds_result *ret, struct err *e);

#endif
