/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_WORKDIR_H
#define RUNNER_CORPUS_WORKDIR_H

#include "base/buf.h"
#include "base/err.h"
#include "base/file_id.h"
#include "base/owner.h"
#include "runner/engine/engine.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A job's working directory, work/<run>/<target>:
 *   corpus/     the cell writes new inputs here
 *   artifacts/  ... and artifacts here
 *   seeds/      read-only for the cell: the persistent corpus (hard links) and
 *               all in-tree seeds, each named by the SHA-1 of its content
 *   others/     read-only for the cell, only for some cells: inputs of other targets (pick.h)
 * An engine with directories of its own (engine_ops.dirs) makes them in artifacts/.
 * All functions block (copying, syncing): run them in a child process.  Everything in corpus/ and
 * artifacts/ is hostile.  Only regular files count.  They are opened without following links and
 * without waiting. */

/* Larger files are not fuzzing inputs.  No target that works correctly makes more files. */
#define WORKDIR_INPUT_MAX (UINT64_C(64) << 20) /* the greatest max_len */
enum { WORKDIR_FILES_MAX = 200000 };
/* Limits of a target's artifacts: those that a run keeps, and those of all runs that may be in the
 * queue of triage. */
enum { WORKDIR_ARTIFACTS_MAX = 1000, WORKDIR_QUEUE_MAX = 10000 };

struct workdir_prepare {
	int work; /* the run's directory below work/; open */
	const char *target;
	uid_t uid; /* owner of corpus/ and artifacts/ */
	gid_t gid;
	int corpus;		      /* the persistent corpus; open */
	const char *seed_archive;     /* NULL: none */
	const char *const *seed_dirs; /* NULL-terminated; missing directories are counted */
	/* The rights of the party that names the archive and the first n_theirs directories (NULL:
	 * ours).  The configuration names the next n_ours: rights_of_configured().  The remaining
	 * directories are in the state directory. */
	const struct rights *rights;
	size_t n_theirs, n_ours;
	bool needs_seed; /* the engine does not start without an input: one of a byte is added */
	/* Directory of the state with inputs that are left out, <target>/<sha1>: see
	 * workdir_collect.borrows.  -1: none. */
	int quarantine;
};
struct workdir_seeds {
	uint64_t files, bytes;
	uint64_t skipped; /* too large, unreadable, damaged */
};
/* Reads the beginning of a file that the cell may have written, below work/<run>.  No part of the
 * path may be a link.  Returns the number of bytes; 0: there is no such file, or it is the one
 * that *io describes.  It never waits. */
size_t workdir_read(int work, const char *path, struct file_id *io, size_t cap, char *text);
/* The engine of a killed run's directory, by the directories in it. */
const struct engine_ops *workdir_engine(int work, const char *target);
/* note: a text about the skipped files; "" if there are none. */
MUST_CHECK int workdir_prepare(const struct workdir_prepare *p, struct workdir_seeds *ret,
			       char note[200], struct err *e);

/* Counters of one target, since the run, or its day, began. */
struct workdir_kept {
	uint64_t artifacts, bytes;
	unsigned kinds; /* 1u << enum engine_artifact */
};

struct workdir_collect {
	int work;
	const char *target;
	int crashes;	/* artifacts are saved below it: <target>/<kind>-<sha1> */
	int corpus;	/* persistent corpus: new inputs are saved there */
	int quarantine; /* failing inputs of the corpus are moved below it: <target>/<sha1> */
	int triage;	/* failures are queued for triage below it, <target>/<kind>-<sha1> */
	/* Some seeds are in the corpus of another build of the target, where they do not fail: they
	 * are quarantined for this build alone, and stay in the other one's corpus. */
	bool borrows;
	const struct engine_ops *engine;
	/* The kind of the failing input by the way the cell ended.  It replaces the engine's kind:
	 * a forced dump looks like a crash.  ENGINE_ARTIFACT_NONE: the engine's kind counts. */
	enum engine_artifact cause;
	/* The cell ignored a stop signal, and the forced dump wrote the current input (cause:
	 * ENGINE_ARTIFACT_SLOW): triage replays it. */
	bool unanswered;
	/* ENGINE_ARTIFACT_SLOW: time of the forced stop.  Older artifacts keep their names. */
	int64_t forced_ns;
	/* The artifact that the engine named (NULL: none), and whether its crash is new.  It is
	 * collected first. */
	const char *named;
	bool is_new;
	/* The content of that artifact, if the engine printed it: written if the file is missing
	 * or shorter.  NULL: unknown. */
	const struct slice *printed;
	struct workdir_kept kept; /* before this call */
	/* Limits the bytes of kept artifacts, and the bytes of inputs beyond their disk space.  0:
	 * no limit for artifacts, 1 GiB for inputs. */
	uint64_t bytes_max;
	bool lost; /* no job uses the directory: remove its seeds first, for room */
};
struct workdir_found {
	uint64_t inputs, input_bytes; /* new ones in the persistent corpus */
	uint64_t failures;	      /* artifacts of this call that are failures */
	uint64_t taken;		      /* inputs that were removed from the seeds for that */
	uint64_t suspects;	      /* queued for a replay, not known to fail */
	uint64_t skipped;	      /* not regular files, too large, too many */
	uint64_t dropped;	  /* artifacts that were not kept (the first of a kind always is) */
	struct workdir_kept kept; /* this call included */
};
/* Saves the files, syncs, and then removes them from the working directory.  A failing input is
 * removed from seeds/ and quarantined, so that the next cell can start.  Other inputs are added to
 * seeds/.  On a full disk files are moved instead of copied.
 *
 * names: one saved artifact a line, as many as the buffer holds. */
MUST_CHECK int workdir_collect(const struct workdir_collect *c, struct workdir_found *ret,
			       struct buf *names, struct err *e);

#endif
