/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_RUN_JOB_SETUP_H
#define RUNNER_RUN_JOB_SETUP_H

#include "cells/cell.h"
#include "runner/config/config.h"
#include "runner/targets/discover.h"

/* What a cell of a target sees, runs and gets: the same for fuzzing, measuring a
 * corpus and reproducing a failure.  Made, filled, started, thrown away. */

#define SETUP_DIR_WORK	     "/work"
#define SETUP_DIR_CORPUS     "/work/corpus"
#define SETUP_DIR_ARTIFACTS  "/work/artifacts"
#define SETUP_DIR_SEEDS	     "/seeds/0"
#define SETUP_DIR_INPUTS     "/seeds/inputs"
#define SETUP_FILE_DICT	     "/seeds/dictionary"
#define SETUP_FILE_LEAKS     "/seeds/known-leaks"
#define SETUP_FILE_UNDEFINED "/seeds/known-undefined"

struct setup {
	const struct target *target;
	const struct target_config *cfg;
	struct cell_mount mounts[12];
	size_t n;
	char *binary;		/* its path in the cell */
	struct strv flags, env; /* from the target's side files, then the configuration */
	struct engine_cmd cmd;	/* to be filled by the caller before setup_start() */
	struct strv paths;	/* what the mounts point to */
};

/* target and cfg are borrowed until setup_done(), which is right after a failure, too. */
MUST_CHECK int setup_init(struct setup *s, const struct target *t, const struct target_config *cfg,
			  struct err *e);
void setup_done(struct setup *s);
/* Whether an engine flag from the target's side files holds: a key of the configuration does
 * before it. */
bool setup_flag_holds(const struct target_config *cfg, const char *flag);

/* Shows a host path, made from a format, at a place in the cell; never executable. */
MUST_CHECK int setup_mount(struct setup *s, const char *at, bool writable, struct err *e,
			   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

struct setup_cell {
	struct cell_host *host;
	const char *rootfs; /* NULL: the host's */
	const char *id;
	uint64_t extra_memory; /* beside the target's own: a symbolizer's */
	bool fixed_addresses;  /* cell_spec's */
	bool stays;	       /* cell_spec's */
	uint64_t wall_us;      /* the cell is ended after this time; a year or more: not known */
};
MUST_CHECK int setup_start(const struct setup *s, const struct setup_cell *c, uid_t uid,
			   const struct cell_ops *ops, void *arg, struct cell **ret, struct err *e);

/* The keeper kills a cell this much later than we would.  It is enough for a busy loop, and
 * short for a target of a stopped fuzzcell. */
#define SETUP_KEEPER_SLACK_US UINT64_C(1000000)

/* The host user of the cells of the run's index-th target: one of its own; without root
 * there is only ours. */
uid_t setup_uid(size_t index);
/* The host group that goes with it. */
gid_t setup_gid(uid_t uid);

#endif
