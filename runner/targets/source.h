/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_SOURCE_H
#define RUNNER_TARGETS_SOURCE_H

#include "runner/targets/discover.h"
#include "runner/targets/optfile.h"

/* What the sources share.  A source fills an empty list, in any order; discover.c
 * sorts it and merges it into the caller's. */
typedef int source_fn(const struct discover_source *s, struct target_list *out, struct err *e);
source_fn discover_directory; /* directory.c */
source_fn discover_manifest;  /* manifest.c */
source_fn discover_bazel;     /* targets/bazel/targets.c */
/* The manifest's text; dir: absolute, what its paths are relative to.  *out may be
 * half filled when it fails. */
MUST_CHECK int manifest_parse(struct slice text, const char *dir, struct target_list *out,
			      struct err *e);

/* Takes *t (which is empty then) also when it fails. */
MUST_CHECK int list_add_target(struct target_list *l, struct target *t, struct err *e);

/* A note on dir/name (name NULL: on dir itself; line 0: on the whole file).  Both
 * texts may hold any bytes.  Beyond the limits it counts only. */
struct place {
	const char *dir, *name;
	unsigned line;
};
MUST_CHECK int list_note(struct target_list *l, struct place at, bool warning, struct err *e,
			 const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The absolute path of what fd is open on, without links, in a new string. */
MUST_CHECK int source_fd_path(int fd, char **ret, struct err *e);

/* An .options file through its descriptor; what is wrong in it becomes notes, also
 * that it can't be read. */
MUST_CHECK int source_options(struct target_list *l, struct place at, int fd,
			      const struct engine_ops *engine, struct optfile *ret, struct err *e);
/* Moves all but the dictionary into a target that has none of it yet. */
void source_use_options(struct target *t, struct optfile *o);

/* The target's binary may not be run; the first reason stays. */
MUST_CHECK int source_unbuilt(struct target *t, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Is it a program, and whose?  Nothing is executed, memory is bounded. */
struct binary {
	const struct engine_ops *engine; /* NULL: none of its marks is in it */
	uint64_t size;
	bool elf, script; /* neither: not a program */
	bool executable;  /* an executable bit */
	bool too_large;	  /* more than DISCOVER_MAX_BINARY: not searched */
	bool changed;	  /* while it was read: what was found says nothing */
};
/* fd: a regular file.  *io_searched grows by the bytes read; -EFBIG beyond
 * DISCOVER_MAX_SEARCH. */
MUST_CHECK int binary_probe(int fd, uint64_t *io_searched, struct binary *ret, struct err *e);

#endif
