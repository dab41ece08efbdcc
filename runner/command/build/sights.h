/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_COMMAND_BUILD_SIGHTS_H
#define RUNNER_COMMAND_BUILD_SIGHTS_H

#include "cells/cell.h"
#include "runner/command/build/cell.h"

/* The directories that the cell sees besides the host's root, and their paths inside. */
struct sights {
	struct cell_mount v[CELL_MOUNTS_MAX];
	char *path[2 * CELL_MOUNTS_MAX];
	size_t n, n_paths;
};

/* dir: where the build starts.  -EPERM: the build could write files that programs outside of the
 * cell read (the owner's home directory, the repository). sights_done() frees, also after a
 * failure. */
MUST_CHECK int sights_fill(const struct builder_cell *b, const struct tool *t, const char *dir,
			   struct sights *ret, struct err *e);
void sights_done(struct sights *s);

/* -EPERM: a build in a cell can have made the repository with the work tree top.  Only .git at the
 * top of the build's own work tree is read-only; git runs what the configuration of a repository
 * names, outside of the cell. */
MUST_CHECK int sights_check_repository(const struct config *c, const char *top, struct err *e);

#endif
