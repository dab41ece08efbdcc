/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_SOURCE_H
#define RUNNER_TARGETS_SOURCE_H

#include "runner/targets/discover.h"
#include "runner/targets/optfile.h"

/* Shared by the source types.  A source fills an empty list, in any order.  discover.c sorts it and
 * merges it into the caller's list. */
typedef int source_fn(const struct discover_source *s, struct target_list *out, struct err *e);
source_fn discover_directory; /* directory.c */
source_fn discover_manifest;  /* manifest.c */
source_fn discover_bazel;     /* targets/bazel/targets.c */
/* Parses the manifest's text.  dir: absolute; relative paths start there.  On an error, *out may be
 * partly filled. */
MUST_CHECK int manifest_parse(struct slice text, const char *dir, struct target_list *out,
			      struct err *e);

/* Takes the content of *t and leaves it empty, also on an error. */
MUST_CHECK int list_add_target(struct target_list *l, struct target *t, struct err *e);

/* Adds a note on dir/name (name NULL: on dir; line 0: on the whole file).  Both texts may contain
 * any bytes.  Beyond the limits, only counts the note. */
struct place {
	const char *dir, *name;
	unsigned line;
};
void list_note(struct target_list *l, struct place at, bool warning, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The absolute path of the file behind fd, without links, in a new string. */
MUST_CHECK int source_fd_path(int fd, char **ret, struct err *e);

/* Reads an .options file through its descriptor.  Mistakes and read errors become notes. */
MUST_CHECK int source_options(struct target_list *l, struct place at, int fd,
			      const struct engine_ops *engine, struct optfile *ret, struct err *e);
/* Moves all options except the dictionary into a target without options. */
void source_use_options(struct target *t, struct optfile *o);

/* Marks the target's binary as not usable.  The first reason stays. */
void source_unbuilt(struct target *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whether a file is a program, and for which engine.  Nothing is executed, memory is bounded. */
struct binary {
	const struct engine_ops *engine; /* NULL: no engine's mark was found */
	uint64_t size;
	bool elf, script; /* neither: not a program */
	bool executable;  /* has an executable bit */
	bool too_large;	  /* more than DISCOVER_MAX_BINARY: not searched */
	bool changed;	  /* changed during the read: the other members mean nothing */
};
/* fd: a regular file.  *io_searched grows by the bytes read; -EFBIG beyond
 * DISCOVER_MAX_SEARCH. */
MUST_CHECK int binary_probe(int fd, uint64_t *io_searched, struct binary *ret, struct err *e);

#endif
