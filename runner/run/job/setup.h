/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_SETUP_H
#define RUNNER_RUN_JOB_SETUP_H

#include "base/clock.h"
#include "cells/cell.h"
#include "runner/config/config.h"
#include "runner/targets/discover.h"

/* The mounts, command and limits of a target's cell.  They are made the same way for fuzzing,
 * measuring a corpus and reproducing a failure. */

#define SETUP_DIR_TARGET     "/target" /* the program, or its directory */
#define SETUP_DIR_WORK	     "/work"
#define SETUP_DIR_CORPUS     "/work/corpus"
#define SETUP_DIR_ARTIFACTS  "/work/artifacts"
#define SETUP_DIR_SEEDS	     "/seeds/0"
#define SETUP_DIR_OTHERS     "/seeds/others"
#define SETUP_DIR_INPUTS     "/seeds/inputs"
#define SETUP_FILE_DICT	     "/seeds/dictionary"
#define SETUP_FILE_LEAKS     "/seeds/known-leaks"
#define SETUP_FILE_UNDEFINED "/seeds/known-undefined"

enum { SETUP_MOUNTS_MAX = 48 };

struct setup {
	const struct target *target;
	const struct target_config *cfg;
	struct cell_mount mounts[SETUP_MOUNTS_MAX];
	size_t n;
	char *binary;		/* its path in the cell */
	struct strv flags, env; /* from the target's side files, then the configuration */
	struct engine_cmd cmd;	/* to be filled by the caller before setup_start() */
	struct strv paths;	/* strings that the mounts point to */
};

/* target and cfg are borrowed until setup_done(). */
void setup_init(struct setup *s, const struct target *t, const struct target_config *cfg);
void setup_done(struct setup *s);
/* Whether an engine flag from the target's side files applies: no key of the configuration sets
 * it. */
bool setup_flag_holds(const struct target_config *cfg, const char *flag);

/* Mounts a host path, made from a format, at `at` in the cell; never executable. */
void setup_mount(struct setup *s, const char *at, bool writable, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Mounts a further target's program, or its directory, at `at`, without the right to execute it.
 * known: its directory is mounted there already.  *ret_path: the program's path in the cell (free()
 * it).  Fails if the users who named the path could not open it. */
MUST_CHECK int setup_mount_target(struct setup *s, const struct target *t, const char *at,
				  bool known, char **ret_path, struct err *e);

/* Fill s->cmd with the command of a cell.  The target's test is added to the job. */
MUST_CHECK int setup_fuzz(struct setup *s, const struct engine_fuzz *job, struct err *e);
MUST_CHECK int setup_shorten(struct setup *s, const struct engine_shorten *job, struct err *e);
MUST_CHECK int setup_replay(struct setup *s, const struct engine_replay *job, struct err *e);

struct setup_cell {
	struct cell_host *host;
	const char *rootfs; /* NULL: the host's */
	const char *id;
	uint64_t extra_memory; /* memory for a symbolizer, beside the target's own */
	bool fixed_addresses;  /* cell_spec's */
	bool stays;	       /* cell_spec's */
	uint64_t wall_us;      /* the cell is ended after this time; a year or more: not known */
};
MUST_CHECK int setup_start(const struct setup *s, const struct setup_cell *c, uid_t uid,
			   const struct cell_ops *ops, void *arg, struct cell **ret, struct err *e);

/* The keeper kills a cell this much later than fuzzcell would.  That is enough for a busy event
 * loop, and short for the target of a suspended fuzzcell. */
#define SETUP_KEEPER_SLACK_US USEC_PER_SEC

/* The host user of the cells of the run's index-th target.  As root each target has its own user;
 * without root it is our user. */
uid_t setup_uid(size_t index);
/* The host group of that user. */
gid_t setup_gid(uid_t uid);

#endif
