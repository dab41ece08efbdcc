/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CELLS_HOST_H
#define CELLS_HOST_H

#include "cells/cell.h"
#include "cells/cpus.h"
#include "cells/output.h"
#include "images/root.h"

#include <sys/resource.h>

/* The shared state of all cells of a host; private to cells/.  The runtime directory holds crun/
 * (crun's state, one directory a cell) and cells/ (a cell's bundle, by its id). */
struct cell_host {
	struct loop *loop;
	struct cgroup_tree *tree;
	char *dir; /* absolute */
	char *crun;
	char *crun_state;
	char *filter;		/* base64 */
	char *filter_separate;	/* for cell_spec.separate; NULL: not compiled yet */
	struct root_plan *plan; /* of the host's own root */
	int cells_fd, crun_fd;
	int mounts;    /* crun_open_mounts() */
	int init;      /* the program of process 1, in memory */
	int crun_copy; /* crun_open_copy() */
	enum cell_profile profile;
	bool best_effort;
	uint64_t output_bytes_per_s;
	uint64_t start_us;
	rlim_t files_hard, memlock_hard;
	struct cpus cpus;
	char room[OUTPUT_CHUNK]; /* one callback runs at a time */
};

/* Makes the files that crun needs: config.json and the root.  *ret_fd is the bundle's directory;
 * close() it, and remove its content with cell_host_forget().  -EEXIST: a cell of that id lives. */
MUST_CHECK int cell_host_bundle(struct cell_host *h, const struct cell_spec *spec, int *ret_fd,
				struct err *e);
/* Removes a cell's bundle and crun's state. */
MUST_CHECK int cell_host_forget(struct cell_host *h, const char *id, struct err *e);

#endif
